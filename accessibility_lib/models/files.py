"""Checks of files before anything is loaded from them, and folders that are whole or absent."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from accessibility_lib.errors import AccessibilityError

CAUSAL = ("ForCausalLM", "LMHeadModel")


def sha256_of(path: Path) -> str:
    """The sha256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify(path: Path, expected: str) -> None:
    """Raise :class:`AccessibilityError` unless the file has the sha256 ``expected``."""
    found = sha256_of(path)
    if found != expected:
        raise AccessibilityError(
            f"{path} is corrupted: sha256 {found}, expected {expected}; delete it and fetch again"
        )


def make_folder(folder: Path) -> None:
    """Make a folder unless it is there; raise where nothing can be written to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise AccessibilityError(
            f"cannot write to {folder} ({error.strerror}); set ACCESSIBILITY_CACHE to a folder "
            "that can be written"
        ) from None


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Yield a folder beside ``target`` that takes its name only if the block succeeds."""
    make_folder(target.parent)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as scratch:
        beside = Path(scratch) / "new"
        beside.mkdir()
        yield beside
        if not target.exists():  # another process may have been quicker
            beside.rename(target)


def read_config(folder: Path) -> dict[str, Any]:
    """The parsed ``config.json`` of a model folder."""
    path = folder / "config.json"
    if not path.is_file():
        raise AccessibilityError(f"{folder} holds no config.json; a model folder needs one")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise AccessibilityError(f"{path} is not JSON ({error}); fetch it again") from None


def refuse_other_kinds(config: dict[str, Any], where: str) -> None:
    """Refuse, by name, whatever is not a causal language model of text."""
    names = config.get("architectures") or []
    name = ", ".join(names) or config.get("model_type") or "a model without a type"
    remedy = "use a causal language model of text (decoder only)"
    if config.get("is_encoder_decoder"):
        raise AccessibilityError(f"{where} is {name}, an encoder-decoder; {remedy}")
    if any(key in config for key in ("vision_config", "audio_config", "image_size")):
        raise AccessibilityError(f"{where} is {name}, a model of images or sound; {remedy}")
    if names and not any(n.endswith(CAUSAL) for n in names):
        raise AccessibilityError(
            f"{where} is {name}, an encoder or a model without a head; {remedy}"
        )
    if names and any(n.startswith(("Bert", "Roberta", "Electra", "XLMRoberta")) for n in names):
        raise AccessibilityError(f"{where} is {name}, an encoder; {remedy}")


def check_weights(folder: Path) -> list[Path]:
    """The safetensors files of a folder, each one opened to see that it is complete.

    Raises :class:`AccessibilityError` where there are none, where a shard of the index is missing
    and where a file is cut short.
    """
    from safetensors import SafetensorError, safe_open

    index = folder / "model.safetensors.index.json"
    if index.is_file():
        shards = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
        files = [folder / name for name in sorted(set(shards))]
    else:
        files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise AccessibilityError(
            f"{folder} holds no .safetensors file; pickled weights are not read: "
            "convert them with save_pretrained first"
        )
    for path in files:
        if not path.is_file():
            raise AccessibilityError(f"{path} is missing, though {index.name} names it")
        try:
            with safe_open(path, "pt"):
                pass
        except SafetensorError as error:
            raise AccessibilityError(
                f"{path} is cut short or corrupted ({error}; sha256 {sha256_of(path)}); "
                "copy or fetch it again"
            ) from None
    return files


def check_gguf(path: Path) -> None:
    """Raise :class:`AccessibilityError` unless the GGUF file is complete."""
    from gguf import GGUFReader

    try:
        end = max(int(t.data_offset) + int(t.n_bytes) for t in GGUFReader(path).tensors)
        whole = path.stat().st_size >= end
        reason = f"{path.stat().st_size} bytes, {end} needed"
    except (ValueError, IndexError, KeyError, OSError, UnicodeDecodeError) as error:
        whole, reason = False, str(error)
    if not whole:
        raise AccessibilityError(
            f"{path} is cut short or no GGUF file ({reason}; sha256 {sha256_of(path)}); "
            "copy or fetch it again"
        )


def fingerprint(files: list[Path]) -> str:
    """One sha256 for a list of weight files: of the file, or of the digests of several."""
    digests = [sha256_of(path) for path in files]
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("".join(digests).encode()).hexdigest()
