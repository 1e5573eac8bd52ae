"""Bounds from a checkpoint's weights: the same as of the loaded model, and cheap on a large one."""

from __future__ import annotations

import csv
import io
import json
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest

from accessibility_lib import artifacts, bounds, cli, models
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.models.registry import MICRO
from accessibility_lib.predict import predict, read
from accessibility_lib.supports import NormEllipsoid

MICROS = ["micro-llama", "micro-gpt-neox", "micro-gemma3", "micro-qwen2"]
LARGE = {"layers": 28, "width": 1536, "vocab": 151_936, "inner": 8960}  # 1.5 billion parameters


def sparse_shard(path, shapes, written):
    """A safetensors file of bf16 zeros, of which only ``written`` takes room on the disk."""
    header, end = {}, 0
    for name, shape in shapes.items():
        size = 2 * int(np.prod(shape))
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        start = file.tell()
        for name, values in written.items():
            file.seek(start + header[name]["data_offsets"][0])
            file.write((values.view(np.uint32) >> 16).astype("<u2").tobytes())
        file.truncate(start + end)
    return end // 2


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A checkpoint of 1.5 billion parameters in four shards, with a random norm."""
    folder = tmp_path_factory.mktemp("large")
    d, inner = LARGE["width"], LARGE["inner"]
    gain = np.random.default_rng(0).uniform(0.5, 4, d).astype(np.float32)
    gain = (gain.view(np.uint32) & 0xFFFF0000).view(np.float32)  # what bf16 holds
    shards = [{} for _ in range(4)]
    shards[0]["model.embed_tokens.weight"] = [LARGE["vocab"], d]
    for i in range(LARGE["layers"]):
        shapes = {"q_proj": [d, d], "o_proj": [d, d], "gate": [inner, d], "up": [inner, d]}
        shapes |= {"down": [d, inner], "input_norm": [d]}
        shards[i % 4] |= {f"model.layers.{i}.{k}.weight": v for k, v in shapes.items()}
    shards[3]["model.norm.weight"] = [d]
    names = [f"model-{i + 1:05}-of-00004.safetensors" for i in range(4)]
    count = sum(
        sparse_shard(folder / name, shard, {"model.norm.weight": gain} if i == 3 else {})
        for i, (name, shard) in enumerate(zip(names, shards, strict=True))
    )
    assert count > 1.5e9
    index = {key: name for name, shard in zip(names, shards, strict=True) for key in shard}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    config = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"}
    (folder / "config.json").write_text(json.dumps(config))
    return folder, gain


MEASURE = """
import pathlib, re, sys
from accessibility_lib import cli
assert cli.main(["predict", sys.argv[1], "--json"]) == 0
peak = re.search(r"VmHWM:\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text())
print(int(peak[1]) * 1024, file=sys.stderr)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_a_large_sharded_checkpoint_takes_under_two_gigabytes(large):
    folder, gain = large
    command = [sys.executable, "-c", MEASURE, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found, peak = json.loads(done.stdout), int(done.stderr.split()[-1])
    assert peak < 2e9
    assert (found["d"], found["vocab"]) == (LARGE["width"], LARGE["vocab"])
    packing = NormEllipsoid.rms_norm(gain).log_packing(2**-10)
    assert found["supports"][0]["log_packing"] == pytest.approx(packing, rel=1e-12)


@pytest.mark.parametrize("name", MICROS)
def test_the_weights_say_what_the_loaded_model_says(name, tmp_path):
    adapter = models.load(name).adapter
    norm = NormEllipsoid.of_norm(adapter.norm)
    shape = read(name)
    assert (shape.width, shape.vocab) == (adapter.width, adapter.vocab_size)
    assert shape.norm.centred == norm.centred
    for ours, theirs in zip(shape.norm.bounds(), norm.bounds(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    found = predict(name, eps=[2**-10, 0.1], ms=[1, 3], results=tmp_path)
    row = found["supports"][3]
    assert (row["support"], row["eps"], row["from"]) == ("norm ellipsoid", 0.1, "weights")
    slope = bounds.slope(norm.log_packing(0.1), adapter.vocab_size)
    assert row["slope"] == pytest.approx(slope, rel=1e-6)
    assert row["threshold"]["3"] == pytest.approx(3 * slope, rel=1e-6)
    assert found["precision"][1]["storage slope"] == pytest.approx(128 * 16 / 9)  # |V| = 2^9


def test_stored_surveys_and_cells_add_their_rows(tmp_path):
    survey = {"slopes": {"cone": [10.0, 30.0], "norm ellipsoid": [1.0]}}
    artifacts.save(tmp_path / "support/micro-llama", "support-survey", survey, model="micro-llama")
    artifacts.save(
        tmp_path / "cells/micro-llama", "cells", {"mean_log_volume": -12.0}, model="micro-llama"
    )
    found = predict("micro-llama", results=tmp_path)
    (row,) = [row for row in found["supports"] if row["from"] == "sample"]
    assert row["support"] == "cone"
    assert row["threshold"]["8"] == pytest.approx(160)
    (cells,) = found["unequal cells"]
    assert cells["slope"] == pytest.approx(found["supports"][0]["log_packing"] / 12)
    elsewhere = tmp_path / "micro-llama"
    shutil.copytree(MICRO / "micro-llama", elsewhere)
    other = predict(str(elsewhere), results=tmp_path)  # a folder is not the known model
    assert other["unequal cells"] is None
    assert len(other["supports"]) == 3


def test_the_command_prints_text_json_and_csv(capsys):
    assert cli.main(["predict", "micro-llama", "--eps", "0.01", "--m", "2", "--csv"]) == 0
    (first, *_) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert float(first["threshold_2"]) == pytest.approx(2 * float(first["slope"]))
    assert cli.main(["predict", "micro-llama", "--eps", "0.01", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["supports"][0]["threshold"]) == [str(m) for m in range(1, 9)]
    assert cli.main(["predict", "micro-llama", "--eps", "0.01"]) == 0
    text = capsys.readouterr().out
    assert f"{found['supports'][0]['slope']:.1f}" in text
    assert "bf16" in text


def test_what_has_no_bound_is_refused(tmp_path, capsys):
    with pytest.raises(AccessibilityError, match="eps = 0"):
        predict("micro-llama", eps=[0])
    with pytest.raises(AccessibilityError, match="m = 0"):
        predict("micro-llama", ms=[0])
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    sparse_shard(tmp_path / "model.safetensors", {"model.layers.0.norm.weight": [4]}, {})
    assert cli.main(["predict", str(tmp_path)]) == 2
    assert "holds no final norm" in capsys.readouterr().err
    shapes = {"model.norm.weight": [4], "lm_head.weight": [9, 6]}
    sparse_shard(tmp_path / "model.safetensors", shapes, {})
    with pytest.raises(AccessibilityError, match=r"width 6 and model.norm.weight 4"):
        read(str(tmp_path))
