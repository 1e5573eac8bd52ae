"""Micro models: corpus, tokenizer, reproducible and resumable training, on tiny settings."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from accessibility_lib import cli, models
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.micro import corpus, scan, specs, tokenizer, training
from accessibility_lib.micro.muon import Muon, orthogonalize

NOUNS = ["sum", "norm", "mean", "rank", "matrix", "vector", "row", "column"]
TEXT = corpus.Corpus(
    tuple(f"The {a} of a {b} is the {c}." for a in NOUNS for b in NOUNS for c in NOUNS),
    tuple(f"The {a} of the {b}." for a in NOUNS for b in NOUNS),
    {"none": "0"},
    "0" * 64,
)
pytestmark = pytest.mark.usefixtures("one_thread")

TINY = replace(
    specs.ZOO["micro-llama"],
    name="tiny", width=16, layers=1, vocab=280, steps=20, batch=4, length=8, warmup=4,
)  # fmt: skip


@pytest.fixture(scope="module")
def data():
    return training.prepare(TEXT, TINY.vocab)


def weights_hash(model) -> str:
    digest = hashlib.sha256()
    for _, parameter in model.named_parameters():
        digest.update(parameter.detach().numpy().tobytes())
    return digest.hexdigest()


def test_same_seed_same_weights(data, tmp_path):
    first = training.train(TINY, data, tmp_path / "a", progress=False)
    again = training.train(TINY, data, tmp_path / "b", progress=False)
    other = training.train(replace(TINY, seed=1), data, tmp_path / "c", progress=False)
    assert weights_hash(first) == weights_hash(again) != weights_hash(other)


def test_resumed_run_equals_the_unbroken_one(data, tmp_path):
    whole = training.train(TINY, data, tmp_path / "whole", progress=False)
    training.train(TINY, data, tmp_path / "broken", every=5, until=10, progress=False)
    resumed = training.train(TINY, data, tmp_path / "broken", every=5, progress=False)
    assert weights_hash(resumed) == weights_hash(whole)


def test_kill_loses_at_most_one_interval(data, tmp_path, monkeypatch):
    class Killed(Exception):
        pass

    steps = []
    draw = training.batch

    def batch(spec, tokens, step):
        if step == 13 and not steps.count(13):
            steps.append(step)
            raise Killed
        steps.append(step)
        return draw(spec, tokens, step)

    monkeypatch.setattr(training, "batch", batch)
    with pytest.raises(Killed):
        training.train(TINY, data, tmp_path, every=5, progress=False)
    training.train(TINY, data, tmp_path, every=5, progress=False)
    assert steps == [*range(14), *range(10, 20)]  # again from step 10, the last checkpoint


def test_checkpoint_of_another_spec_is_not_resumed(data, tmp_path):
    training.train(TINY, data, tmp_path, progress=False)
    longer = replace(TINY, lr=1e-3)
    moved = training.train(longer, data, tmp_path, progress=False)
    fresh = training.train(longer, data, tmp_path / "fresh", progress=False)
    assert weights_hash(moved) == weights_hash(fresh)


def test_training_leaves_the_global_generator_alone(data, tmp_path):
    before = torch.get_rng_state()
    training.train(TINY, data, tmp_path, until=2, progress=False)
    assert torch.equal(before, torch.get_rng_state())


def test_exported_model_loads_and_says_what_it_is(tmp_path):
    spec = replace(TINY, steps=60)
    card = training.make(spec, TEXT, tmp_path / "work", tmp_path / "tiny")
    loaded = models.load(str(tmp_path / "tiny"))
    assert json.loads((tmp_path / "tiny" / "card.json").read_text()) == card
    assert loaded.sha256 == card["sha256"]
    assert loaded.model.dtype == torch.float32
    assert card["held_out"]["nats_per_token"] < np.log(spec.vocab) - 1
    # What is loaded is the model whose held-out loss the card gives.
    data = training.prepare(TEXT, spec.vocab)
    again = training.evaluate(loaded.model, spec, data)
    assert round(again["nats_per_token"], 4) == card["held_out"]["nats_per_token"]


@pytest.mark.parametrize("name", specs.ZOO)
def test_zoo_models_have_the_shape_of_their_spec(name):
    spec = specs.ZOO[name]
    config = specs.config(spec)
    assert (config.vocab_size, config.hidden_size) == (spec.vocab, spec.width)
    assert config.num_hidden_layers == spec.layers
    assert config.model_type == spec.family


def test_unknown_family_and_unknown_name_are_refused(tmp_path):
    with pytest.raises(AccessibilityError, match="no recipe for the family 'bert'"):
        specs.config(replace(TINY, family="bert"))
    with pytest.raises(AccessibilityError, match="'micro-gpt'; there are micro-llama"):
        training.train_named(["micro-gpt"], work=tmp_path)


def test_command_trains_by_name(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(specs.ZOO, "tiny", TINY)
    monkeypatch.setattr(corpus, "load", lambda: TEXT)
    work, out = str(tmp_path / "work"), str(tmp_path / "out")
    assert cli.main(["train-micro", "tiny", "--work", work, "--out", out]) == 0
    assert "bits per byte" in capsys.readouterr().out
    assert models.load(f"{out}/tiny").adapter.width == TINY.width


def test_scan_equals_transformers(data):
    spec = replace(TINY, family="mamba")
    model = training.new_model(spec)
    ids = training.batch(spec, data.train, 0)

    def run():
        model.zero_grad()
        logits = model(input_ids=ids, use_cache=False).logits
        logits.square().mean().backward()
        return logits.detach(), [p.grad.clone() for p in model.parameters()]

    logits, gradients = run()
    with scan.trainable():
        fast_logits, fast_gradients = run()
    torch.testing.assert_close(fast_logits, logits, rtol=1e-5, atol=1e-6)
    for fast, slow in zip(fast_gradients, gradients, strict=True):
        torch.testing.assert_close(fast, slow, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("size", [256, 280])
def test_bpe_has_the_exact_size_and_loses_nothing(size):
    bpe = tokenizer.train_bpe(TEXT.train, size)
    text = "Σ of the matrix\n\tnaïve 你好"
    assert bpe.get_vocab_size() == size
    assert bpe.decode(bpe.encode(text).ids) == text
    assert bpe.to_str() == tokenizer.train_bpe(TEXT.train, size).to_str()
    assert 0 not in bpe.encode(text).ids  # the separator


def test_bpe_too_small_is_refused():
    with pytest.raises(AccessibilityError, match="at least 256"):
        tokenizer.train_bpe(TEXT.train, 255)
    with pytest.raises(AccessibilityError, match="give more text"):
        tokenizer.train_bpe(TEXT.train, 2000)


def test_docstrings_are_found_without_importing():
    source = '''
"""Module."""
add_docstr(f, """
    Attached.
""")
g = _add_docstr(f, "Assigned.")
class A:
    """Class."""
    if True:
        def f(self):
            """Function."""
raise SystemExit
'''
    found = ["Module.", "Class.", "Attached.", "Assigned.", "Function."]
    assert sorted(corpus.docstrings(source)) == sorted(found)
    assert list(corpus.docstrings("not python at all")) == []


def test_corpus_is_deterministic_and_split_by_hash():
    first = corpus.build(("tornado", "traitlets"))
    again = corpus.build(("traitlets", "tornado"))
    assert first == again
    assert first.held_out
    assert not set(first.train) & set(first.held_out)
    paragraphs = [p for text in first.train + first.held_out for p in text.split("\n\n") if p]
    assert len(set(paragraphs)) > 0.99 * len(paragraphs)
    assert set(first.versions) == {"tornado", "traitlets"}


def test_corpus_is_read_once_and_then_from_the_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "PACKAGES", ("tornado",))
    built = corpus.build(("tornado",))
    monkeypatch.setattr(corpus, "build", lambda: built)
    first = corpus.load(tmp_path)
    corpus._load.cache_clear()
    monkeypatch.setattr(corpus, "build", None)
    assert corpus.load(tmp_path) == first
    corpus._load.cache_clear()


def test_missing_package_is_refused():
    with pytest.raises(AccessibilityError, match="'no_such_package', which is not installed"):
        corpus.build(("no_such_package",))


def test_muon_takes_the_steps_of_the_library_one_without_its_rounding():
    """The same run of ten steps, wide and tall matrices; the library rounds to bfloat16 inside."""
    generator = torch.Generator().manual_seed(0)
    start = [torch.randn(shape, generator=generator) for shape in ((6, 16), (16, 6), (6, 16))]
    gradients = [[torch.randn(w.shape, generator=generator) for w in start] for _ in range(10)]
    ends = []
    for kind, options in (
        (Muon, {}),
        (torch.optim.Muon, {"adjust_lr_fn": "match_rms_adamw"}),
    ):
        weights = [torch.nn.Parameter(w.clone()) for w in start]
        optimizer = kind(weights, lr=0.01, weight_decay=0.1, **options)
        for step in gradients:
            for weight, gradient in zip(weights, step, strict=True):
                weight.grad = gradient.clone()
            optimizer.step()
        ends.append(weights)
    for ours, theirs, w in zip(*ends, start, strict=True):
        moved = (theirs - w).norm()
        assert (ours - theirs).norm() < 0.01 * moved
        assert moved > 0.1


def test_muon_evens_out_the_singular_values():
    generator = torch.Generator().manual_seed(1)
    matrices = torch.randn(5, 8, 20, generator=generator) * torch.logspace(-3, 3, 5)[:, None, None]
    values = torch.linalg.svdvals(orthogonalize(matrices))
    assert values.min() > 0.6
    assert values.max() < 1.3
    assert torch.equal(orthogonalize(matrices.mT), orthogonalize(matrices).mT)
