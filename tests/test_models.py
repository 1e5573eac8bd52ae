"""Loading by name: what is found, and what is refused and why."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoTokenizer

from accessibility_lib import cli, models
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.models import sources
from accessibility_lib.models.registry import KNOWN, MICRO


@pytest.fixture
def folder(tmp_path):
    """A copy of micro-llama without its card, to be spoilt."""
    target = tmp_path / "model"
    shutil.copytree(MICRO / "micro-llama", target)
    (target / "card.json").unlink()
    return target


def edit_config(folder, **changes) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def complete(loaded: models.LoadedModel, prompt: str, tokens: int) -> str:
    ids = loaded.tokenizer(prompt, return_tensors="pt").input_ids
    out = loaded.model.generate(ids, max_new_tokens=tokens, do_sample=False)
    return loaded.tokenizer.decode(out[0, ids.shape[1] :])


# Names


def test_unknown_name_lists_the_known_and_the_closest():
    with pytest.raises(AccessibilityError, match="did you mean 'micro-llama'") as error:
        models.load("micro-lama")
    assert all(name in str(error.value) for name in models.KNOWN)


@pytest.mark.parametrize("name", ["", None, 5, True])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(AccessibilityError, match="is no name; known are micro"):
        models.load(name)


def test_a_cache_that_cannot_be_written_is_named_before_anything_is_downloaded(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(AccessibilityError, match=r"cannot write to .*file.* ACCESSIBILITY_CACHE"):
        models.fetch("smollm2-135m", cache=tmp_path / "file")


@pytest.mark.parametrize("name", [n for n, known in KNOWN.items() if known.source == "micro"])
def test_shipped_micro_models_are_what_their_cards_say(name):
    loaded = models.load(name)
    card = json.loads((MICRO / name / "card.json").read_text())
    assert loaded.sha256 == card["sha256"]
    assert loaded.adapter.width == card["spec"]["width"]
    assert loaded.adapter.vocab_size == card["spec"]["vocab"] == len(loaded.tokenizer)
    assert loaded.adapter.tied == card["spec"]["tied"]
    assert sum(p.numel() for p in loaded.model.parameters()) == card["parameters"]
    assert loaded.model.dtype == torch.float32
    text = "Returns the eigenvalues of a matrix, naïve or not."
    assert loaded.tokenizer.decode(loaded.tokenizer(text).input_ids) == text


def test_micro_models_stay_small():
    total = sum(path.stat().st_size for path in MICRO.rglob("*") if path.is_file())
    assert total < 40e6


def test_micro_llama_writes_docstrings():
    text = complete(
        models.load("micro-llama"), "Parameters\n----------\nx : array_like\n    The ", 8
    )
    assert text.strip()
    assert text.isascii()


def test_one_load_per_process():
    assert models.load("micro-llama") is models.load("micro-llama")


def test_a_changed_folder_is_loaded_again(folder):
    first = models.load(str(folder))
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"] *= 2
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    second = models.load(str(folder))
    assert first.sha256 != second.sha256
    torch.testing.assert_close(second.adapter.norm.gain, 2 * first.adapter.norm.gain)


def test_dtype_and_device():
    loaded = models.load("micro-llama", dtype="bfloat16")
    assert loaded.adapter.unembedding.dtype == torch.bfloat16
    with pytest.raises(AccessibilityError, match="dtype 'int8' is not one of"):
        models.load("micro-llama", dtype="int8")
    with pytest.raises(AccessibilityError, match="device 'no-such-device' cannot be used"):
        models.load("micro-llama", device="no-such-device")


def test_published_models_are_known_with_their_hub_ids():
    hubs = {name: known.hub for name, known in KNOWN.items() if known.hub}
    assert len(hubs) == 7
    assert hubs["pythia-160m"] == "EleutherAI/pythia-160m"
    assert KNOWN["llama-3.2-1b"].gated
    assert KNOWN["gemma-3-270m"].terms


# Files and folders that are refused


def test_truncated_safetensors_names_file_and_checksum(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(AccessibilityError, match=r"model\.safetensors is cut short") as error:
        models.load(str(folder))
    assert sha256 in str(error.value)


def test_weights_other_than_the_card_says_are_refused(tmp_path):
    shutil.copytree(MICRO / "micro-llama", tmp_path / "m")
    path = tmp_path / "m" / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-2] ^= 1  # one bit of the last weight
    path.write_bytes(content)
    with pytest.raises(AccessibilityError, match=r"model\.safetensors is corrupted: sha256"):
        models.load(str(tmp_path / "m"))


def test_sharded_checkpoint_loads_and_a_missing_shard_is_named(folder):
    whole = models.load("micro-llama")
    whole.model.save_pretrained(folder, max_shard_size="500KB")
    (folder / "model.safetensors").unlink()
    sharded = models.load(str(folder))
    assert torch.equal(sharded.adapter.unembedding, whole.adapter.unembedding)
    shard = sorted(folder.glob("model-*.safetensors"))[1]
    shard.unlink()
    with pytest.raises(AccessibilityError, match=f"{shard.name} is missing"):
        models.load(str(folder))


def test_nan_weights_are_refused(folder):
    weights = load_file(folder / "model.safetensors")
    weights["model.layers.1.mlp.up_proj.weight"][3, 4] = float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(AccessibilityError, match=r"NaN or infinity in model\.layers\.1\.mlp\.up_"):
        models.load(str(folder))


def test_missing_tensors_are_refused(folder):
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(AccessibilityError, match="lack 1 tensors"):
        models.load(str(folder))


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("tokenizer.json", "holds no tokenizer"),
        ("config.json", "holds no config.json"),
        ("model.safetensors", "pickled weights are not read"),
    ],
)
def test_incomplete_folder_is_refused(folder, missing, message):
    (folder / missing).unlink()
    with pytest.raises(AccessibilityError, match=message):
        models.load(str(folder))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"architectures": ["T5ForConditionalGeneration"], "is_encoder_decoder": True},
            "T5ForConditionalGeneration, an encoder-decoder",
        ),
        ({"architectures": ["BertForMaskedLM"], "model_type": "bert"}, "BertForMaskedLM, an encod"),
        ({"architectures": ["BertLMHeadModel"], "model_type": "bert"}, "BertLMHeadModel, an encod"),
        (
            {"architectures": ["LlavaForConditionalGeneration"], "vision_config": {}},
            "LlavaForConditionalGeneration, a model of images",
        ),
        (
            {"architectures": ["NewForCausalLM"], "model_type": "no-such-type"},
            "transformers cannot load .* code that comes with a model is never run",
        ),
    ],
)
def test_other_kinds_are_refused_by_name(folder, changes, message):
    edit_config(folder, **changes)
    with pytest.raises(AccessibilityError, match=message):
        models.load(str(folder))


def test_encoder_decoder_without_architecture_is_refused(tmp_path):
    AutoConfig.for_model("t5").save_pretrained(tmp_path)
    with pytest.raises(AccessibilityError, match="t5, an encoder-decoder"):
        models.load(str(tmp_path))


# Pretrained models


def test_smollm2_completes_a_sentence():
    loaded = models.load("smollm2-135m")
    assert loaded.adapter.width == 576
    assert loaded.adapter.vocab_size == 49152
    assert "Paris" in complete(loaded, "The capital of France is", 4)


def test_converted_tokenizer_is_the_one_transformers_makes():
    ours = models.load("smollm2-135m").tokenizer
    theirs = AutoTokenizer.from_pretrained(models.fetch("smollm2-135m"))
    text = "Hello  world, naïve 你好\n\t<|im_start|> 1 2 3"
    ids = theirs(text).input_ids
    assert ours(text).input_ids == ids
    assert ours.decode(ids) == theirs.decode(ids)
    assert ours.all_special_ids == theirs.all_special_ids
    assert ours.chat_template == theirs.chat_template


@pytest.mark.gemma
def test_gemma_completes_a_sentence():
    loaded = models.load("gemma-3-270m")
    adapter = loaded.adapter
    assert (adapter.width, adapter.vocab_size) == (640, 262144)
    assert adapter.embedding_scale == pytest.approx(640**0.5, rel=1e-2)
    assert adapter.norm.gain.median() == pytest.approx(9.25, abs=0.1)
    assert "cold" in complete(loaded, "The opposite of hot is", 4)


# The command


def test_models_command_prints_the_table(capsys):
    assert cli.main(["models"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["name", "family", "width"]
    assert [line.split()[0] for line in lines[1:]] == list(KNOWN)


def test_a_closed_pipe_ends_a_command_quietly():
    read, write = os.pipe()
    os.close(read)
    code = "from accessibility_lib.cli import main; raise SystemExit(main(['models']))"
    done = subprocess.run([sys.executable, "-c", code], stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_fetch_command(capsys):
    assert cli.main(["fetch", "micro-llama"]) == 0
    assert capsys.readouterr().out.strip() == str(MICRO / "micro-llama")
    assert cli.main(["fetch", "micro-lama"]) == 2
    assert "did you mean 'micro-llama'" in capsys.readouterr().err


def test_the_command_and_the_registry_need_no_torch():
    code = (
        "import sys; from accessibility_lib import cli\n"
        "cli.build_parser(); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_loading_says_nothing_and_restores_what_it_silenced(tmp_path, capfd):
    from transformers.utils import logging

    shutil.copytree(MICRO / "micro-llama", tmp_path / "m")
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    models.load(str(tmp_path / "m"))
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
    assert capfd.readouterr() == ("", "")


def test_the_first_pass_says_nothing():
    code = """
import torch
from accessibility_lib import models
models.load("micro-mamba").adapter.last_hidden(input_ids=torch.tensor([[5, 6]]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_locate_treats_paths_and_hub_ids_apart(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(sources, "_from_hub", lambda hub, cache: asked.append(hub) or tmp_path)
    sources.locate("owner/name")
    assert asked == ["owner/name"]
    with pytest.raises(AccessibilityError, match=r"unknown model '\./name'"):
        sources.locate("./name")
