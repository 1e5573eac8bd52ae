"""What every support has in common: a set of last-layer embeddings and a count of its packings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from accessibility_lib.precision import grid


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
    fitted_to: int | None

    @property
    @abstractmethod
    def width(self) -> int:
        """d, the number of coordinates."""

    @abstractmethod
    def log_packing(self, eps: ArrayLike) -> float:
        """ln of a bound on P(K, eps): the most points of K pairwise at least eps apart in l-inf.

        ``eps`` is one spacing or one per coordinate, shape (d,); then two points are apart when
        some coordinate differs by at least its own spacing.
        """

    @abstractmethod
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The smallest and the largest value of each coordinate in K: lo (d,) and hi (d,)."""

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

    def log_representable(self, dtype: Any) -> float:
        """ln of a bound on the points of K whose coordinates are values of a number format.

        The product over coordinates of the exact number of values between the least and the
        greatest that K allows; a coordinate whose interval holds none counts as one value.  No
        eps: an alternative to :meth:`log_packing` for embeddings stored in ``dtype``.
        """
        count = grid(dtype).count(*self.bounds())
        return float(np.log(np.maximum(count, 1).astype(float)).sum())
