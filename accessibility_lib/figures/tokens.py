"""Tokens as text that a reader can tell apart."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_SIGNS = {" ": "␣", "\n": "↵", "\t": "⇥"}


def token_names(tokenizer: Any, ids: Iterable[int]) -> list[str]:
    """The text of each token, with white space made visible: ␣ for a space, ↵ for a new line.

    A token that is only a part of a character is given by its number, as is one with no text.

    >>> from accessibility_lib import models
    >>> tokenizer = models.load("micro-llama").tokenizer
    >>> "".join(token_names(tokenizer, tokenizer("the list").input_ids))
    'the␣list'
    """
    # Behind another token, since a sentencepiece decoder drops a space at the start of a text.
    anchor = tokenizer("a", add_special_tokens=False).input_ids
    start = len(tokenizer.decode(anchor))
    names = []
    for token in map(int, ids):
        text = tokenizer.decode([*anchor, token], clean_up_tokenization_spaces=False)[start:]
        if not text or "\ufffd" in text:
            names.append(f"token {token}")
        else:
            names.append("".join(_visible(character) for character in text))
    return names


def _visible(character: str) -> str:
    if character in _SIGNS:
        return _SIGNS[character]
    return character if character.isprintable() else f"\\u{ord(character):04x}"
