"""Language models by name, each with the adapter that says how its last layer is read out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from accessibility_lib.errors import AccessibilityError
from accessibility_lib.models import files, sources
from accessibility_lib.models.adapter import Adapter, Norm, describe
from accessibility_lib.models.registry import KNOWN, Known, cache_dir

__all__ = [
    "KNOWN",
    "Adapter",
    "Known",
    "LoadedModel",
    "Norm",
    "cache_dir",
    "describe",
    "fetch",
    "load",
    "table",
]
DTYPES = ("float32", "bfloat16", "float16", "float64")


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model in evaluation mode, its tokenizer, its adapter, and the sha256 of its weights.

    One process loads a model once, so the model is shared and its weights take no gradients.  To
    train it, work on ``copy.deepcopy(loaded.model).requires_grad_()`` and :func:`describe` that.
    """

    name: str
    model: Any
    tokenizer: Any
    adapter: Adapter
    sha256: str

    def __repr__(self) -> str:
        return f"LoadedModel({self.name!r}, {self.adapter!r}, sha256={self.sha256[:12]!r})"


def load(
    name: str, *, dtype: str = "float32", device: str = "cpu", cache: str | Path | None = None
) -> LoadedModel:
    """Load a causal language model: a short name of :data:`KNOWN`, a folder, a GGUF file, a hub id.

    ``dtype``: one of float32, bfloat16, float16, float64.  ``device``: as torch names it.
    ``cache``: where downloaded and converted models are kept (see :func:`cache_dir`).  The first
    load of a pretrained model downloads or converts it; later ones need no network.

    Raises :class:`AccessibilityError` for an unknown name, a model that cannot be had, a broken
    file (named), weights that are not finite, and models that are not causal or that the adapter
    cannot describe.

    >>> model = load("micro-llama")
    >>> model.adapter.width, model.adapter.vocab_size, model.adapter.norm.kind
    (128, 512, 'rmsnorm')
    """
    if dtype not in DTYPES:
        raise AccessibilityError(f"dtype {dtype!r} is not one of {', '.join(DTYPES)}")
    folder = sources.locate(name, cache)
    stamp = tuple((p.name, p.stat().st_mtime_ns) for p in sorted(folder.iterdir()))
    return _load(name, folder, stamp, dtype, device)


def fetch(name: str, *, cache: str | Path | None = None) -> Path:
    """Get a model onto this machine without loading it; returns its folder.

    >>> fetch("micro-llama").name
    'micro-llama'
    """
    return sources.locate(name, cache)


def table(cache: str | Path | None = None) -> list[dict[str, Any]]:
    """The known models as rows: name, family, width, layers, vocab, size in MB, where from, and
    whether each can be loaded without a network.

    >>> table()[0]["offline"]
    True
    """
    origin = {"micro": "in this package", "wheel": "Python package index"}
    return [
        {
            "name": known.name,
            "family": known.family,
            "width": known.width,
            "layers": known.layers,
            "vocab": known.vocab,
            "MB": round(known.size / 1e6, 1),
            "from": origin.get(known.source) or f"hub: {known.hub}" + " (gated)" * known.gated,
            "offline": sources.is_offline(known.name, cache),
        }
        for known in KNOWN.values()
    ]


@lru_cache(maxsize=8)  # the oldest leaves memory
def _load(name: str, folder: Path, stamp: tuple, dtype: str, device: str) -> LoadedModel:
    config = files.read_config(folder)
    files.refuse_other_kinds(config, name)
    weights = files.check_weights(folder)
    import torch

    try:
        where = torch.device(device)
        torch.empty(0, device=where)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise AccessibilityError(f"device {device!r} cannot be used here: {reason}") from None
    with sources.quiet():
        tokenizer = _tokenizer(folder)
        model = _model(folder, name, getattr(torch, dtype)).to(where).eval()
    for key, parameter in model.named_parameters():
        if not torch.isfinite(parameter.sum(dtype=torch.float32)):  # one pass, no copy
            raise AccessibilityError(
                f"the weights of {name} hold NaN or infinity in {key} ({folder}); "
                "a number overflowed in training or in a conversion: take another checkpoint"
            )
        parameter.requires_grad_(False)
    with sources.quiet():  # some architectures warn at their first pass, of slow kernels
        adapter = describe(model, tokenizer)
    return LoadedModel(name, model, tokenizer, adapter, _sha256(folder, weights))


def _tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    if not any((folder / f).is_file() for f in ("tokenizer.json", "tokenizer.model", "vocab.json")):
        raise AccessibilityError(
            f"{folder} holds no tokenizer (tokenizer.json); save it beside the weights with "
            "tokenizer.save_pretrained(folder)"
        )
    if (folder / sources.NOTE).is_file():  # ours, and whole: AutoTokenizer takes thrice the time
        settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
        special = {key: value for key, value in settings.items() if key.endswith("_token")}
        template = folder / "chat_template.jinja"
        if template.is_file():
            special["chat_template"] = template.read_text(encoding="utf-8")
        return PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), **special)
    return AutoTokenizer.from_pretrained(folder, local_files_only=True)


def _model(folder: Path, name: str, dtype: Any) -> Any:
    from transformers import AutoModelForCausalLM

    loader: Any = AutoModelForCausalLM.from_pretrained  # returns a pair with the report
    try:
        model, report = loader(folder, dtype=dtype, local_files_only=True, output_loading_info=True)
    except (ValueError, KeyError, RuntimeError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise AccessibilityError(
            f"transformers cannot load {name} from {folder}: {reason}; code that comes with a "
            "model is never run, so take an architecture that transformers has itself"
        ) from None
    if missing := sorted(report["missing_keys"]):
        raise AccessibilityError(
            f"the weights of {name} lack {len(missing)} tensors, {missing[0]} among them; "
            "the checkpoint is not complete or not of a causal language model"
        )
    return model


def _sha256(folder: Path, weights: list[Path]) -> str:
    """Of the GGUF file a converted folder was made from, else of the weight files; a micro model's
    weights must be the ones its card names."""
    note, card = folder / sources.NOTE, folder / "card.json"
    if note.is_file():
        return json.loads(note.read_text(encoding="utf-8"))["gguf_sha256"]
    if card.is_file() and len(weights) == 1:
        expected = json.loads(card.read_text(encoding="utf-8")).get("sha256")
        if expected:
            files.verify(weights[0], expected)
            return expected
    return files.fingerprint(weights)
