"""Small new models that differ in how they know a position."""

from __future__ import annotations

import hashlib
from typing import Any

import torch

from accessibility_lib.copying.config import CopyConfig
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.models import LoadedModel, describe

POSITIONS = ("rotary", "none", "alibi", "learned", "mamba")
CONTEXT = 1024


def new(position: str, config: CopyConfig) -> LoadedModel:
    """A model with random weights, drawn from ``config.seed``; its size is in ``config`` and its
    vocabulary is the alphabet and one separator.

    ``position``: "rotary" and "none" are one architecture (SmolLM3, a Llama) with its rotations on
    and off; "alibi" is BLOOM, which lowers scores linearly with the distance; "learned" is GPT-2,
    with a vector for each of 1,024 positions; "mamba" has a state instead of attention.

    Raises :class:`AccessibilityError` for another ``position``.

    >>> new("none", CopyConfig(alphabet=9)).adapter.vocab_size
    10
    """
    from transformers import AutoConfig, AutoModelForCausalLM

    width, layers, heads = config.width, config.layers, config.heads
    size = {
        "vocab_size": config.alphabet + 1,
        "hidden_size": width,
        "num_hidden_layers": layers,
        "tie_word_embeddings": False,
        "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None,
    }  # fmt: skip
    attention = {"num_attention_heads": heads}
    llama = {
        **attention,
        "num_key_value_heads": heads,
        "intermediate_size": 4 * width,
        "max_position_embeddings": CONTEXT,
    }
    dropout = dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), 0.0)
    recipes: dict[str, tuple[str, dict[str, Any]]] = {
        "rotary": ("smollm3", {**llama, "no_rope_layers": [1] * layers}),  # 1: with rotations
        "none": ("smollm3", {**llama, "no_rope_layers": [0] * layers}),
        "alibi": ("bloom", attention),
        "learned": ("gpt2", {**attention, "n_positions": CONTEXT, **dropout}),
        "mamba": ("mamba", {"state_size": 16, "expand": 2, "conv_kernel": 4, "use_mambapy": False}),
    }
    if position not in recipes:
        raise AccessibilityError(
            f"position = {position!r}; there are {', '.join(recipes)}, or give a known model."
        )
    family, options = recipes[position]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        model: Any = AutoModelForCausalLM.from_config(
            AutoConfig.for_model(family, **size, **options), dtype=torch.float32
        )
    return wrap(position, model.eval().requires_grad_(False))


def wrap(name: str, model: Any, tokenizer: Any = None) -> LoadedModel:
    """A model in memory as :func:`accessibility_lib.models.load` would give it; sha256 of all its
    weights in the order of the model."""
    digest = hashlib.sha256()
    for key, parameter in model.named_parameters():
        digest.update(key.encode() + parameter.detach().contiguous().numpy().tobytes())
    return LoadedModel(name, model, tokenizer, describe(model, tokenizer), digest.hexdigest())
