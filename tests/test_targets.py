"""Targets: seeded, of usable tokens only, from text that is given or held out."""

from __future__ import annotations

import json
import sys
import types

import numpy as np
import pytest
import torch

from accessibility_lib import models, targets
from accessibility_lib.errors import AccessibilityError

TEXT = "Every target is a window of some text. The windows start where the generator says. " * 4


@pytest.fixture(scope="module")
def loaded():
    return models.load("micro-llama")


@pytest.mark.parametrize("kind", targets.KINDS)
def test_the_same_seed_gives_the_same_targets(loaded, kind):
    one, two, other = (
        targets.make(kind, loaded, 9, 5, np.random.default_rng(seed), TEXT) for seed in (3, 3, 4)
    )
    assert one.shape == (5, 9)
    assert one.dtype == torch.int64
    assert torch.equal(one, two)
    assert not torch.equal(one, other)
    assert torch.isin(one, loaded.adapter.token_ids).all()


def test_random_tokens_are_uniform_over_the_usable_ones(loaded):
    rows = targets.random_tokens(loaded, 100, 200, np.random.default_rng(0))
    counts = torch.bincount(rows.flatten(), minlength=512)
    usable = loaded.adapter.token_ids
    assert counts[0] == 0
    expected = rows.numel() / len(usable)
    chi2 = float(((counts[usable] - expected) ** 2 / expected).sum())
    assert abs(chi2 - (len(usable) - 1)) < 5 * (2 * len(usable)) ** 0.5


def test_natural_windows_stay_inside_their_documents(loaded):
    documents = ["first words of one", "then the second text", "a third"]
    rows = targets.natural(loaded, 3, 8, np.random.default_rng(1), documents)
    for row in rows:
        text = loaded.tokenizer.decode(row)
        assert any(text in document for document in documents)
    assert len({tuple(row) for row in rows.tolist()}) == 8


def test_natural_windows_hold_no_special_token(loaded):
    text = ["ab<|endoftext|>cd" * 5]
    rows = targets.natural(loaded, 2, 4, np.random.default_rng(1), text)
    assert (rows != 0).all()


def test_files_and_folders(loaded, tmp_path):
    (tmp_path / "page.md").write_text(TEXT, encoding="utf-8")
    (tmp_path / "data.bin").write_bytes(b"\xff\xfe\x00")
    given = targets.natural(loaded, 6, 3, np.random.default_rng(2), TEXT)
    for source in (tmp_path, tmp_path / "page.md"):
        assert torch.equal(targets.natural(loaded, 6, 3, np.random.default_rng(2), source), given)
    with pytest.raises(AccessibilityError, match="not UTF-8"):
        targets.natural(loaded, 6, 3, np.random.default_rng(2), tmp_path / "data.bin")
    with pytest.raises(AccessibilityError, match="no text file"):
        targets.natural(loaded, 6, 3, np.random.default_rng(2), tmp_path / "nothing")


def test_words_are_whole_and_separate(loaded):
    rows = targets.random_words(loaded, 12, 3, np.random.default_rng(2), "alpha beta, gamma 17")
    for row in rows:
        assert set(loaded.tokenizer.decode(row).split()[:-1]) <= {"alpha", "beta", "gamma"}


def test_held_out_docstrings_are_kept(tmp_path, monkeypatch):
    made = targets.corpus.Corpus(("train",), ("one text", "another"), {}, "")
    monkeypatch.setattr(targets.corpus, "build", lambda: made)
    assert targets.held_out(tmp_path) == ("one text", "another")
    (kept,) = tmp_path.iterdir()
    assert json.loads(kept.read_text(encoding="utf-8")) == ["one text", "another"]
    monkeypatch.setattr(targets.corpus, "build", lambda: pytest.fail("read again"))
    assert targets.held_out(tmp_path) == ("one text", "another")


@pytest.mark.parametrize(
    ("kind", "n", "count", "message"),
    [
        ("natural", 500, 1, "windows of 500 tokens"),
        ("natural", 0, 1, "n = 0"),
        ("random", 5000, 1, "at most 1023 tokens"),
        ("random", 5, 0, "count = 0"),
        ("verse", 5, 1, "there are natural, random, words"),
    ],
)
def test_bad_requests_are_refused(loaded, kind, n, count, message):
    with pytest.raises(AccessibilityError, match=message):
        targets.make(kind, loaded, n, count, np.random.default_rng(0), TEXT)


def test_text_without_words_is_refused(loaded):
    with pytest.raises(AccessibilityError, match="no word"):
        targets.random_words(loaded, 5, 1, np.random.default_rng(0), "17 + 4")


def test_a_data_set_is_read_where_the_library_is(loaded, monkeypatch):
    class Rows(dict):
        column_names = property(list)

    def load_dataset(name, split):
        return Rows({"text": [TEXT]} if (name, split) == ("owner/prose", "train") else {"code": []})

    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=load_dataset))
    found = targets.natural(loaded, 6, 3, np.random.default_rng(2), "datasets:owner/prose")
    assert torch.equal(found, targets.natural(loaded, 6, 3, np.random.default_rng(2), TEXT))
    with pytest.raises(AccessibilityError, match="has the columns code and no text"):
        targets.natural(loaded, 6, 3, np.random.default_rng(2), "datasets:owner/code")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(AccessibilityError, match="pip install datasets"):
        targets.natural(loaded, 6, 3, np.random.default_rng(2), "datasets:owner/prose")
