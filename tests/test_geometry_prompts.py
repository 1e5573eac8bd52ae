"""Prompts of every kind, their embeddings in batches, and the radius of each layer."""

import numpy as np
import pytest
import torch

from accessibility_lib import AccessibilityError, models
from accessibility_lib.geometry import layers
from accessibility_lib.geometry.prompts import (
    KINDS,
    adversarial_prompts,
    embed,
    make,
    memory_embeddings,
    prompt_embeddings,
    random_prompts,
)
from accessibility_lib.geometry.statistics import summarize
from accessibility_lib.supports import NormEllipsoid

TEXT = "Return the number of items in the list, or None if the list is empty. " * 3


@pytest.fixture(scope="module")
def llama():
    return models.load("micro-llama")


def seeded():
    return np.random.default_rng(0)


def test_batches_are_the_whole_one_prompt_at_a_time(llama):
    ids = random_prompts(llama, 7, 5, seeded())
    batches = [*embed(llama, ids, batch_tokens=15)]
    assert [len(batch) for batch in batches] == [3, 3, 1]
    for prompt, found in zip(ids, np.concatenate(batches), strict=True):
        own = llama.adapter.last_hidden(input_ids=prompt[None])[0, -1]
        assert np.allclose(found, own.numpy(), atol=1e-4)


@pytest.mark.parametrize("name", ["micro-llama", "micro-gpt-neox", "micro-gemma3"])
def test_one_pass_gives_the_embeddings_of_every_prefix(name):
    loaded = models.load(name)
    ids = random_prompts(loaded, 3, 9, seeded())
    lengths = [1, 4, 9]
    found = np.concatenate([*embed(loaded, ids, lengths)])
    for k, length in enumerate(lengths):
        alone = np.concatenate([*embed(loaded, ids[:, :length])])
        assert np.allclose(found[:, k], alone, atol=2e-4)


def test_texts_of_different_lengths_keep_their_order(llama):
    texts = ["Return the list", "x", "Return a list", "If it is not None then", "y"]
    found = prompt_embeddings(llama, texts)
    for text, row in zip(texts, found, strict=True):
        assert np.allclose(row, prompt_embeddings(llama, [text])[0], atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_seeded_and_lies_in_the_norm_ellipsoid(llama, kind):
    prompts = make(kind, llama, 3, 4, seeded(), TEXT)
    assert prompts.shape[:2] == (3, 4)
    assert torch.equal(prompts, make(kind, llama, 3, 4, seeded(), TEXT))
    points = np.concatenate([*embed(llama, prompts)])
    assert NormEllipsoid.of_norm(llama.adapter.norm).contains(points).all()


def test_adversarial_prompts_go_farther_than_the_tokens_they_start_from(llama):
    tokens = random_prompts(llama, 4, 2, seeded())
    before = np.abs(np.concatenate([*embed(llama, tokens)])).max(axis=1)
    vectors = adversarial_prompts(llama, 4, 2, seeded(), steps=1, lr=1e-9)
    assert np.allclose(np.abs(next(embed(llama, vectors))).max(axis=1), before, rtol=1e-3)
    vectors = adversarial_prompts(llama, 4, 2, seeded(), steps=40)
    after = np.abs(np.concatenate([*embed(llama, vectors)])).max(axis=1)
    assert (after > before).all()
    assert np.median(after / before) > 1.5


def test_vectors_of_tokens_embed_as_the_tokens(llama):
    ids = random_prompts(llama, 4, 3, seeded())
    as_vectors = next(embed(llama, llama.adapter.embed(ids)))
    assert np.allclose(as_vectors, next(embed(llama, ids)), atol=1e-5)


@pytest.mark.parametrize("name", ["micro-llama", "micro-gpt-neox", "micro-gemma3"])
def test_the_first_and_the_last_layers_are_what_their_names_say(name):
    loaded = models.load(name)
    ids = random_prompts(loaded, 30, 4, seeded())
    found = layers.layer_statistics(loaded, ids, batch_tokens=32)
    assert len(found) == loaded.model.config.num_hidden_layers + 2
    x = np.concatenate([*embed(loaded, ids)])
    assert found["post-norm"].linf == pytest.approx(np.abs(x).max(), rel=1e-4)
    table = loaded.adapter.embedding_scale * loaded.adapter.input_embedding[ids[:, -1]]
    assert found["embedding"].l2 == pytest.approx(float(table.norm(dim=1).max()), rel=1e-4)
    assert np.allclose(found["embedding"].mean, table.mean(dim=0), atol=1e-4)
    assert all(each.count == 30 for each in found.values())


def test_the_norm_of_the_last_block_is_the_last_layer_embedding(llama):
    ids = random_prompts(llama, 1, 4, seeded())
    found = layers.layer_statistics(llama, ids)
    before = torch.tensor(found["block 4"].mean, dtype=torch.float32)
    assert np.allclose(llama.adapter.norm(before), found["post-norm"].mean, atol=1e-4)


def test_choices_are_multiples_of_the_radius_they_are_compared_with(llama):
    found = layers.layer_statistics(llama, random_prompts(llama, 20, 4, seeded()))
    rows = {(layer, norm): ratio for layer, norm, ratio in layers.choices(found)}
    assert rows["post-norm", "linf"] == 1
    assert rows["block 2", "rms"] == pytest.approx(
        found["block 2"].l2 / np.sqrt(128) / found["post-norm"].linf
    )
    curves = layers.radii(found)
    assert curves["l1"][-1] == found["post-norm"].l1
    with pytest.raises(AccessibilityError, match="layer = 'top'"):
        layers.choices(found, "top")


def test_bad_prompts_are_said_plainly(llama):
    ids = random_prompts(llama, 2, 3, seeded())
    for prompts in (ids[:0], ids[:, :0], ids[0], torch.zeros(2, 3, 64), torch.zeros(2, 128)):
        with pytest.raises(AccessibilityError, match="at least one prompt"):
            next(embed(llama, prompts))
    with pytest.raises(AccessibilityError, match="prompt 1 holds NaN"):
        next(embed(llama, torch.stack([torch.zeros(3, 128), torch.full((3, 128), torch.nan)])))
    with pytest.raises(AccessibilityError, match="ids run from 0 to 512, but micro-llama has 0"):
        next(embed(llama, torch.tensor([[0, 512]])))
    with pytest.raises(AccessibilityError, match="1025 tokens, more than the context"):
        random_prompts(llama, 1, 1025, seeded())
    for lengths in ([], [0], [4]):
        with pytest.raises(AccessibilityError, match="length"):
            next(embed(llama, ids, lengths))
    with pytest.raises(AccessibilityError, match="prompts of kind 'poem'"):
        make("poem", llama, 1, 1, seeded())


def test_an_embedding_that_overflows_is_no_number(llama, monkeypatch):
    class Broken:
        adapter, model, name = llama.adapter, llama.model, "broken"

    real = type(llama.adapter).last_hidden
    monkeypatch.setattr(
        type(llama.adapter), "last_hidden", lambda *a, **k: real(*a, **k) * float("inf")
    )
    with pytest.raises(AccessibilityError, match="not finite: it overflowed"):
        summarize(embed(Broken(), torch.tensor([[1, 2]])))


def test_embeddings_of_memories_say_the_tokens_they_give(llama):
    """Token embeddings are memories whose targets greedy decoding has written down."""
    ids = random_prompts(llama, 3, 2, seeded())
    written = ids
    for _ in range(4):
        logits = llama.model(input_ids=written).logits[:, -1]
        written = torch.cat([written, logits.argmax(dim=1, keepdim=True)], dim=1)
    targets = written[:, 2:].tolist()
    found = memory_embeddings(llama, llama.adapter.embed(ids), targets, [4, 0, 2])
    said = llama.adapter.logits(torch.from_numpy(found)).argmax(dim=1)
    assert said.tolist() == [*targets[0], *targets[2][:2]]
    with pytest.raises(AccessibilityError, match="no memory gives any token"):
        memory_embeddings(llama, llama.adapter.embed(ids), targets, [0, 0, 0])
