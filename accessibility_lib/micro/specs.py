"""The zoo: one frozen spec per micro model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from accessibility_lib.errors import AccessibilityError


@dataclass(frozen=True)
class MicroSpec:
    """What is trained, and how.  Tokens per step: ``batch * length``."""

    name: str
    family: str  # the model_type of transformers
    width: int = 128
    layers: int = 4
    vocab: int = 512
    tied: bool = True
    steps: int = 2400
    batch: int = 16
    length: int = 128
    lr: float = 0.01
    warmup: int = 100
    weight_decay: float = 0.1
    clip: float = 1.0
    seed: int = 0


def _zoo() -> dict[str, MicroSpec]:
    llama = MicroSpec("micro-llama", "llama")
    specs = [
        llama,
        MicroSpec("micro-qwen2", "qwen2"),
        MicroSpec("micro-gpt-neox", "gpt_neox", tied=False),
        MicroSpec("micro-gemma3", "gemma3_text"),
        MicroSpec("micro-mamba", "mamba", steps=2400, batch=8),
        replace(llama, name="micro-llama-w32", width=32),
        replace(llama, name="micro-llama-w64", width=64),
        replace(llama, name="micro-llama-w256", width=256),
        replace(llama, name="micro-llama-v256", vocab=256),
        replace(llama, name="micro-llama-v1024", vocab=1024),
        replace(llama, name="micro-llama-v2048", vocab=2048),
    ]
    return {spec.name: spec for spec in specs}


ZOO = _zoo()


def config(spec: MicroSpec) -> Any:
    """The ``transformers`` configuration of a spec; refuses a family it has no recipe for."""
    from transformers import AutoConfig

    heads = max(2, spec.width // 32)
    common: dict[str, Any] = {
        "vocab_size": spec.vocab,
        "hidden_size": spec.width,
        "num_hidden_layers": spec.layers,
        "tie_word_embeddings": spec.tied,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "pad_token_id": None,
    }
    attention = {
        "num_attention_heads": heads,
        "intermediate_size": 3 * spec.width,
        "max_position_embeddings": 1024,
    }
    grouped = {**attention, "num_key_value_heads": heads}
    families: dict[str, dict[str, Any]] = {
        "llama": grouped,
        "qwen2": grouped,
        "gpt_neox": {**attention, "intermediate_size": 4 * spec.width, "rotary_pct": 0.25},
        "gemma3_text": {
            **grouped,
            "head_dim": spec.width // heads,
            "query_pre_attn_scalar": spec.width // heads,
            "layer_types": ["full_attention"] * spec.layers,
        },
        "mamba": {"state_size": 8, "expand": 2, "conv_kernel": 4, "use_mambapy": False},
    }
    if spec.family not in families:
        raise AccessibilityError(
            f"no recipe for the family {spec.family!r}; there are {', '.join(families)}"
        )
    return AutoConfig.for_model(spec.family, **common, **families[spec.family])
