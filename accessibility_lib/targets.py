"""Target sequences: natural text, uniform random tokens, random words.  Seeded, so that every
restart and every program that asks again gets the same targets."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from accessibility_lib._checks import at_least
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.micro import corpus
from accessibility_lib.models import LoadedModel, cache_dir

KINDS = ("natural", "random", "words")
DATA_SET = "datasets:"  # before the id of a data set, which is no text
Documents = str | Path | Iterable[str]


def make(
    kind: str,
    loaded: LoadedModel,
    n: int,
    count: int,
    generator: np.random.Generator,
    documents: Documents | None = None,
) -> Tensor:
    """``count`` targets of ``n`` tokens, (count, n) int64, of a kind of :data:`KINDS`.

    ``documents`` (not used by "random"): see :func:`natural`.  The same generator state gives the
    same targets; take prefixes of long ones for shorter lengths.

    >>> from accessibility_lib import models
    >>> make("random", models.load("micro-llama"), 5, 3, np.random.default_rng(0)).shape
    torch.Size([3, 5])
    """
    if kind == "random":
        return random_tokens(loaded, n, count, generator)
    if kind == "natural":
        return natural(loaded, n, count, generator, documents)
    if kind == "words":
        return random_words(loaded, n, count, generator, documents)
    raise AccessibilityError(f"targets of kind {kind!r}; there are {', '.join(KINDS)}")


def natural(
    loaded: LoadedModel,
    n: int,
    count: int,
    generator: np.random.Generator,
    documents: Documents | None = None,
) -> Tensor:
    """Windows of text, (count, n) int64: all starts differ and no window leaves its document.

    ``documents``: a text, a file or a folder of ``.md`` and ``.txt`` files, or texts one by one,
    such as a column of a data set; ``"datasets:ID"`` takes the column "text" of the split "train"
    of a Hugging Face data set, where the library ``datasets`` is installed.  None: the docstrings
    that no micro model was trained on (see
    :func:`held_out`); for a pretrained model give text that is younger than the model.

    Raises :class:`AccessibilityError` where the text has fewer than ``count`` such windows.

    >>> from accessibility_lib import models
    >>> loaded = models.load("micro-llama")
    >>> rows = natural(loaded, 4, 2, np.random.default_rng(0), "The targets are windows of text.")
    >>> all(loaded.tokenizer.decode(row) in "The targets are windows of text." for row in rows)
    True
    """
    n, count = _shape(loaded, n, count)
    ids = [_encode(loaded, text) for text in _read(documents)]
    usable = np.zeros(loaded.adapter.vocab_size + 1, dtype=bool)
    usable[loaded.adapter.token_ids.cpu()] = True
    # One unusable token after each document, so that no window spans two.
    flat = np.concatenate([np.append(row, loaded.adapter.vocab_size) for row in ids])
    bad = np.concatenate([[0], np.cumsum(~usable[flat])])
    starts = np.flatnonzero(bad[n:] == bad[:-n])
    if len(starts) < count:
        raise AccessibilityError(
            f"the text has {len(starts)} windows of {n} tokens, but {count} targets are asked for; "
            "give more text or fewer or shorter targets."
        )
    chosen = generator.choice(starts, size=count, replace=False)
    return torch.from_numpy(flat[chosen[:, None] + np.arange(n)])


def random_tokens(
    loaded: LoadedModel, n: int, count: int, generator: np.random.Generator
) -> Tensor:
    """Tokens independent and uniform over the usable ones (no special tokens, no padded rows),
    (count, n) int64.

    A usable token need not occur in the training text: the micro models have about 70 bytes that a
    memory reaches only after hundreds of steps.

    >>> from accessibility_lib import models
    >>> rows = random_tokens(models.load("micro-llama"), 8, 2, np.random.default_rng(0))
    >>> bool((rows != 0).all())  # token 0 separates documents
    True
    """
    n, count = _shape(loaded, n, count)
    ids = loaded.adapter.token_ids.cpu().numpy()
    return torch.from_numpy(generator.choice(ids, size=(count, n)).astype(np.int64))


def random_words(
    loaded: LoadedModel,
    n: int,
    count: int,
    generator: np.random.Generator,
    documents: Documents | None = None,
) -> Tensor:
    """Words independent and uniform over the different words of ``documents`` (see
    :func:`natural`), with spaces between them, cut to ``n`` tokens: (count, n) int64.

    >>> from accessibility_lib import models
    >>> loaded = models.load("micro-llama")
    >>> rows = random_words(loaded, 6, 2, np.random.default_rng(0), "one two three")
    >>> set(loaded.tokenizer.decode(rows[0]).split()[:-1]) <= {"one", "two", "three"}
    True
    """
    n, count = _shape(loaded, n, count)
    words = sorted({word for text in _read(documents) for word in re.findall(r"[^\W\d_]+", text)})
    if not words:
        raise AccessibilityError("the documents hold no word; give text with letters.")
    rows = []
    for _ in range(count):  # a word has at least one token
        text = " ".join(words[i] for i in generator.integers(len(words), size=n))
        rows.append(_encode(loaded, text)[:n])
    return torch.from_numpy(np.stack(rows))


def held_out(cache: str | Path | None = None) -> tuple[str, ...]:
    """The docstrings held out from the training of the micro models.

    Reading the corpus takes a minute or two, so they are kept in :func:`models.cache_dir` under the
    versions of the packages they were read from.
    """
    names = metadata.packages_distributions()
    versions = {
        package: [metadata.version(name) for name in sorted(set(names.get(package, ())))]
        for package in corpus.PACKAGES
    }
    key = hashlib.sha256(json.dumps(versions, sort_keys=True).encode()).hexdigest()[:16]
    path = cache_dir(cache) / f"held-out-{key}.json"
    if path.is_file():
        return tuple(json.loads(path.read_text(encoding="utf-8")))
    texts = corpus.build().held_out
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(f".{os.getpid()}")
    beside.write_text(json.dumps(texts), encoding="utf-8")
    beside.replace(path)
    return texts


def _read(documents: Documents | None) -> Sequence[str]:
    if documents is None:
        return held_out()
    if isinstance(documents, str):
        name = documents.removeprefix(DATA_SET)
        return [documents] if name == documents else _data_set(name)
    if not isinstance(documents, Path):
        return list(documents)
    files = [documents] if documents.is_file() else sorted(documents.rglob("*"))
    files = [f for f in files if f.is_file() and (f == documents or f.suffix in {".md", ".txt"})]
    if not files:
        raise AccessibilityError(
            f"{documents} is no text file and no folder with .md or .txt files"
        )
    try:
        return [f.read_text(encoding="utf-8") for f in files]
    except UnicodeDecodeError as error:
        raise AccessibilityError(f"{documents} is not UTF-8 text ({error}); convert it.") from None


def _data_set(name: str) -> Sequence[str]:
    try:
        from datasets import load_dataset
    except ImportError:
        raise AccessibilityError(
            f"the data set {name!r} needs the library datasets, which is not installed; "
            "pip install datasets, or give a text, a file or a folder."
        ) from None
    rows = load_dataset(name, split="train")
    if "text" not in rows.column_names:
        raise AccessibilityError(
            f"the data set {name!r} has the columns {', '.join(rows.column_names)} and no text; "
            "give the texts of one of its columns one by one."
        )
    return list(rows["text"])


def _encode(loaded: LoadedModel, text: str) -> np.ndarray:
    ids = loaded.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    return np.asarray(ids, dtype=np.int64)


def _shape(loaded: LoadedModel, n: int, count: int) -> tuple[int, int]:
    n = at_least("n", n, 1, "a target has at least one token")
    limit = getattr(loaded.model.config, "max_position_embeddings", None)
    if limit is not None and n >= limit:
        raise AccessibilityError(
            f"n = {n}, but {loaded.name} has {limit} positions and the memory needs at least one; "
            f"ask for at most {limit - 1} tokens."
        )
    return n, at_least("count", count, 1)
