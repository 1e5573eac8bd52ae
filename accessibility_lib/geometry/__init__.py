"""Last-layer embeddings of prompts, and where a model's final norm lets them be."""

from accessibility_lib.geometry import extremes, survey
from accessibility_lib.geometry.layers import layer_statistics
from accessibility_lib.geometry.outline import norm_outline
from accessibility_lib.geometry.prompts import (
    adversarial_prompts,
    embed,
    prompt_embeddings,
    random_embeddings,
    random_prompts,
)
from accessibility_lib.geometry.statistics import Statistics, summarize

__all__ = [
    "Statistics",
    "adversarial_prompts",
    "embed",
    "extremes",
    "layer_statistics",
    "norm_outline",
    "prompt_embeddings",
    "random_embeddings",
    "random_prompts",
    "summarize",
    "survey",
]
