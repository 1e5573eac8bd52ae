"""What every support has in common: a set of last-layer embeddings and a count of its packings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike


class Support(ABC):
    """A bounded set K in R^d that is meant to hold the last-layer embeddings of a model.

    ``rigorous`` and ``heuristic`` are two statements, not one flag and its negation.
    ``rigorous``: :meth:`log_packing` is proved to be an upper bound for *this set*.
    ``heuristic``: the step that is not proved, in words; empty when there is none.
    Neither says that the set holds every embedding.  ``fitted_to`` does: the number of points the
    set was fitted to, or None when it was given or follows from the weights.  A set fitted to a
    sample grows with the sample, so it bounds that sample and not the model.
    """

    name: ClassVar[str]
    rigorous: ClassVar[bool] = True
    heuristic: ClassVar[str] = ""
    d: int
    fitted_to: int | None

    @abstractmethod
    def log_packing(self, eps: ArrayLike) -> float:
        """ln of a bound on P(K, eps): the most points of K pairwise at least eps apart in l-inf.

        ``eps`` is one spacing or one per coordinate, shape (d,); then two points are apart when
        some coordinate differs by at least its own spacing.
        """

    @abstractmethod
    def contains(self, points: ArrayLike) -> np.ndarray:
        """Which of the (N, d) points lie in K: booleans (N,)."""

    @abstractmethod
    def sample(self, n: int, generator: np.random.Generator) -> np.ndarray:
        """``n`` independent uniform points of K, shape (n, d)."""

    @classmethod
    @abstractmethod
    def fit(cls, points: ArrayLike) -> Self:
        """A support of this shape that holds the (N, d) points."""
