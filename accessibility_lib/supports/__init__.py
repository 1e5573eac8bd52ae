"""Supports: where the last-layer embeddings of a model can lie, and how many can be told apart."""

from accessibility_lib.supports.ball import Ball
from accessibility_lib.supports.base import Support

__all__ = ["Ball", "Support"]
