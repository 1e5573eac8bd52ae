"""How many tokens m memory vectors can reach at most, from the weights of a model alone.

Of a checkpoint only the final norm is read, and of the unembedding only the shape: the model is
neither built nor run, so a folder of many shards costs seconds and little memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from accessibility_lib import artifacts, bounds, precision
from accessibility_lib._checks import at_least, positive
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.supports import NormEllipsoid, Support

EPS = (2.0**-10,)  # the paper's
MS = tuple(range(1, 9))
DTYPES = {"fp32": 32, "fp16": 16, "bf16": 16}  # bits of one number
HEADS = ("lm_head", "embed_out")
EMBEDDINGS = ("embed_tokens", "wte", "embed_in", "word_embeddings", "embeddings", "embedding")
# Architectures whose RMSNorm multiplies by 1 + w; the weights alone do not tell.
ONE_PLUS = (
    "gemma", "gemma2", "gemma3", "gemma3_text", "qwen3_5_text", "qwen3_5_moe_text", "qwen3_next",
    "recurrent_gemma", "vaultgemma",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Shape:
    """What the bounds need of a model: its ``norm`` ellipsoid and ``vocab``, |V|."""

    name: str
    vocab: int
    norm: NormEllipsoid

    @property
    def width(self) -> int:
        """d."""
        return self.norm.width

    def certain(self) -> dict[str, Support]:
        """The supports that hold every embedding, the smallest first."""
        return {
            "norm ellipsoid": self.norm,
            "box of the norm": self.norm.box(),
            "ball of the norm": self.norm.ball(),
        }


def read(name: str, cache: str | Path | None = None) -> Shape:
    """The shape of a model, by known name, folder, GGUF file or hub id, without building it.

    A LayerNorm is known by its bias; one without a bias is taken for an RMSNorm, whose ellipsoid
    is the larger one without the condition on the sum, so the bounds hold either way.

    Raises :class:`AccessibilityError` where there are no safetensors, no final norm or no
    unembedding, or where their widths differ.

    >>> shape = read("micro-llama")
    >>> shape.width, shape.vocab, shape.norm.centred
    (128, 512, False)
    """
    from accessibility_lib.models import files, sources
    from accessibility_lib.models.adapter import FINAL_NORMS

    folder = sources.locate(name, cache)
    config = files.read_config(folder)
    files.refuse_other_kinds(config, name)
    where = dict(_tensors(files.check_weights(folder)))
    norm = _one(where, FINAL_NORMS, folder, "final norm")
    head = _one(where, HEADS, folder, "") or _one(where, EMBEDDINGS, folder, "unembedding")
    gain = _vector(where[norm], norm)
    bias = norm.removesuffix("weight") + "bias"
    rows, width = _dimensions(where[head], head)
    if width != len(gain):
        raise AccessibilityError(
            f"{folder}: {head} has width {width} and {norm} {len(gain)}; load the model and take "
            "supports.NormEllipsoid.of_norm(loaded.adapter.norm), which folds projections in."
        )
    if config.get("model_type") in ONE_PLUS:
        return Shape(name, rows, NormEllipsoid.gemma_rms_norm(gain))
    if bias in where:
        return Shape(name, rows, NormEllipsoid.layer_norm(gain, _vector(where[bias], bias)))
    return Shape(name, rows, NormEllipsoid.rms_norm(gain))


def _tensors(paths: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """The name of every tensor and its file; only headers are read."""
    from safetensors import safe_open

    for path in paths:
        with safe_open(path, "pt") as file:
            yield from ((key, path) for key in file.keys())  # noqa: SIM118 (no iterator)


def _one(where: dict[str, Path], names: Sequence[str], folder: Path, what: str) -> str:
    """The tensor NAME.weight outside the numbered layers; "" or an error where there is none."""
    for name in names:
        for key in where:
            parts = key.split(".")
            if parts[-2:] == [name, "weight"] and not any(p.isdigit() for p in parts):
                return key
    if what:
        raise AccessibilityError(
            f"{folder} holds no {what} ({', '.join(names)}); use a causal language model of text "
            "whose weights have one of these names."
        )
    return ""


def _vector(path: Path, key: str) -> np.ndarray:
    from safetensors import safe_open

    with safe_open(path, "pt") as file:  # numpy has no bf16
        return file.get_tensor(key).double().numpy()


def _dimensions(path: Path, key: str) -> tuple[int, int]:
    from safetensors import safe_open

    with safe_open(path, "pt") as file:
        rows, width = file.get_slice(key).get_shape()
    return rows, width


def predict(
    name: str,
    eps: Sequence[float] = EPS,
    ms: Sequence[int] = MS,
    *,
    results: str | Path = "results",
    cache: str | Path | None = None,
) -> dict[str, Any]:
    """The bounds of a model, as plain JSON.

    ``supports``: for each precision ``eps`` of the embedding and each support ln of its packing
    number (Theorem 4.5), slope C in tokens per memory vector (Corollary 4.6) and ``threshold``, n*
    in tokens for each of ``ms``.  ``from``: "weights" is certain; "sample" is a survey in
    ``results``/support, which bounds that sample and not the model.  ``precision``: for each number
    format its spacing at the largest coordinate, the slope by the count of representable embeddings
    (exact for the box, no eps) and the slope if every stored bit named a sequence.  ``unequal
    cells``: the slope with E ln D of the model's cells, where an artifact of kind "cells" in
    ``results``/cells has their ``mean_log_volume``, else None.

    Raises :class:`AccessibilityError` for eps not above 0, m below 1 and models that :func:`read`
    refuses.

    >>> found = predict("micro-llama", ms=[1, 8])
    >>> [row["support"] for row in found["supports"]][:2]
    ['norm ellipsoid', 'box of the norm']
    >>> low, high = found["supports"][0]["threshold"].values()
    >>> round(high / low, 9)
    8.0
    """
    eps = tuple(positive("eps", each, "give a spacing such as 2**-10") for each in eps)
    ms = tuple(at_least("m", m, 1, "a prompt has at least one memory vector") for m in ms)
    shape = read(name, cache)
    rows = [
        _row(shape, ms, each, support, "weights", kind.log_packing(each))
        for each in eps
        for support, kind in shape.certain().items()
    ]
    survey = stored(Path(results) / "support", "support-survey", name)
    cells = stored(Path(results) / "cells", "cells", name)
    if survey:  # of the same eps, the paper's
        fitted = {k: v for k, v in survey["slopes"].items() if k not in shape.certain()}
        rows += [
            _row(shape, ms, EPS[0], support, "sample", float(np.mean(each)) * np.log(shape.vocab))
            for support, each in fitted.items()
            if EPS[0] in eps
        ]
    volume = (cells or {}).get("mean_log_volume")
    return {
        "model": name,
        "d": shape.width,
        "vocab": shape.vocab,
        "norm": "LayerNorm" if shape.norm.centred else "RMSNorm",
        "supports": rows,
        "precision": [_format(shape, dtype, bits) for dtype, bits in DTYPES.items()],
        "unequal cells": None if volume is None else [
            {"eps": each, "slope": bounds.slope_from_cells(shape.norm.log_packing(each), volume)}
            for each in eps
        ],
    }  # fmt: skip


def _row(
    shape: Shape, ms: Sequence[int], eps: float, support: str, source: str, packing: float
) -> dict[str, Any]:
    return {
        "support": support,
        "from": source,
        "eps": eps,
        "log_packing": float(packing),
        "slope": bounds.slope(packing, shape.vocab),
        "threshold": {str(m): bounds.threshold(packing, shape.vocab, m) for m in ms},
    }


def _format(shape: Shape, dtype: str, bits: int) -> dict[str, Any]:
    radius = float(shape.norm.ball().bounds()[1][0])
    count = shape.norm.log_representable(dtype)
    return {
        "dtype": dtype,
        "spacing": precision.grid(dtype).spacing(radius),
        "radius": radius,
        "representable slope": bounds.slope(count, shape.vocab),
        "storage slope": bounds.storage_slope(shape.width, bits, shape.vocab),
    }


def stored(folder: str | Path, kind: str, model: str) -> dict[str, Any] | None:
    """The data of the artifact ``folder``/MODEL of a ``kind`` and a known model, or None.

    >>> stored("no-such-folder", "cells", "micro-llama") is None
    True
    """
    path = Path(folder) / f"{Path(model).name}.json"
    if not path.is_file():
        return None
    found = artifacts.load(path, kind)
    return found.data if found.provenance["model"] == model else None


def to_text(found: dict[str, Any]) -> str:
    """What :func:`predict` found, for a terminal."""
    ms = list(found["supports"][0]["threshold"])
    lines = [
        f"{found['model']}: d = {found['d']}, |V| = {found['vocab']}, {found['norm']}; "
        "n* = C m tokens, beyond which almost no target is accessible",
        f"{'support':30}{'from':>9}{'eps':>11}{'slope C':>10}"
        + "".join(f"{'n*(' + m + ')':>9}" for m in ms),
    ]
    lines += [
        f"{row['support']:30}{row['from']:>9}{row['eps']:11.3g}{row['slope']:10.1f}"
        + "".join(f"{row['threshold'][m]:9.0f}" for m in ms)
        for row in found["supports"]
    ]
    for row in found["unequal cells"] or []:
        lines.append(f"{'unequal cells':30}{'':>9}{row['eps']:11.3g}{row['slope']:10.1f}")
    lines.append(
        f"{'format':30}{'spacing':>20}{'C, representable':>18}{'C, every bit':>14}"
        f"  at the largest coordinate, {found['precision'][0]['radius']:.2f}"
    )
    lines += [
        f"{row['dtype']:30}{row['spacing']:20.3g}{row['representable slope']:18.1f}"
        f"{row['storage slope']:14.1f}"
        for row in found["precision"]
    ]
    return "\n".join(lines)


def to_csv(found: dict[str, Any]) -> str:
    """The bounds as CSV, one line for each support and eps, one column for each n*(m)."""
    rows = []
    for row in found["supports"]:
        plain = {"model": found["model"], **row}
        thresholds = plain.pop("threshold")
        rows.append(plain | {f"threshold_{m}": n for m, n in thresholds.items()})
    return artifacts.to_csv(rows)


def to_json(found: dict[str, Any]) -> str:
    """The bounds as JSON."""
    return json.dumps(found, indent=1)
