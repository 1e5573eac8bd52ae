"""Last-layer embeddings of prompts, and where a model's final norm lets them be."""

from accessibility_lib.geometry.outline import norm_outline
from accessibility_lib.geometry.prompts import prompt_embeddings, random_embeddings

__all__ = ["norm_outline", "prompt_embeddings", "random_embeddings"]
