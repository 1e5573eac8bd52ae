"""Byte-level BPE of an exact size, and token arrays of a corpus."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from accessibility_lib.errors import AccessibilityError

SEPARATOR = "<|endoftext|>"  # id 0: between documents, and the first token of a prompt
SMALLEST = 256  # 255 bytes and the separator, which takes the place of byte 0


def train_bpe(documents: Sequence[str], vocab_size: int) -> Tokenizer:
    """A byte-level BPE with exactly ``vocab_size`` tokens, the separator being token 0.

    Byte 0 never occurs in text, so the separator takes its place and 256 tokens make a pure byte
    model.  Raises :class:`AccessibilityError` where ``vocab_size`` is below 256
    or the documents are too few for it.

    >>> bpe = train_bpe(["to be or not to be"], 256)
    >>> bpe.get_vocab_size(), bpe.decode(bpe.encode("né").ids)
    (256, 'né')
    """
    if vocab_size < SMALLEST:
        raise AccessibilityError(
            f"vocab_size {vocab_size} cannot hold the 256 bytes; ask for at least {SMALLEST}"
        )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    null = "Ā"  # how byte-level BPE writes byte 0
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[SEPARATOR],
        initial_alphabet=sorted(set(pre_tokenizers.ByteLevel.alphabet()) - {null}),
        show_progress=False,
    )
    tokenizer.train_from_iterator(documents, trainer)
    if tokenizer.get_vocab_size() != vocab_size:
        raise AccessibilityError(
            f"the documents have merges for {tokenizer.get_vocab_size()} tokens, not {vocab_size}; "
            "give more text or ask for fewer tokens"
        )
    return tokenizer


def encode(tokenizer: Tokenizer, documents: Sequence[str]) -> np.ndarray:
    """All documents in one uint16 array, each one preceded by the separator (token 0)."""
    pieces: list[list[int]] = []
    for encoding in tokenizer.encode_batch(list(documents)):
        pieces.append([0, *encoding.ids])
    return np.concatenate([np.asarray(piece, dtype=np.uint16) for piece in pieces])
