"""The largest angles between points, exact, without the matrix of all pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from accessibility_lib._checks import at_least, cloud
from accessibility_lib.errors import AccessibilityError

BLOCK = 1024  # rows at a time; a block of pairs is a few megabytes
SPARE = 0.1  # share of the squared length that the short coordinates may leave out


@dataclass(frozen=True, eq=False)
class Angles:
    """The largest pairwise angles, largest first.

    ``radians`` (count,), ``pairs`` (count, 2): the rows, and ``looked_at``: of all pairs of rows,
    how many had to be computed in full width.
    """

    radians: np.ndarray
    pairs: np.ndarray
    looked_at: int


def row_lengths(array: np.ndarray) -> np.ndarray:
    """l2 length of each row in float64, (N,); a row at the origin has no direction and is
    refused."""
    length = np.empty(len(array))
    for start in range(0, len(array), BLOCK):
        part = array[start : start + BLOCK].astype(float)
        length[start : start + BLOCK] = np.linalg.norm(part, axis=1)
    if (length == 0).any():
        raise AccessibilityError(
            f"point {int(np.flatnonzero(length == 0)[0])} is the origin and has no direction; "
            "drop it."
        )
    return length


def largest_angle(points: ArrayLike) -> float:
    """The largest angle between two of the (N, d) points, in radians; exact.

    See :func:`largest_angles`.

    >>> round(float(np.degrees(largest_angle([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]]))), 6)
    90.0
    """
    return float(largest_angles(points, 1).radians[0])


def largest_angles(points: ArrayLike, count: int = 1) -> Angles:
    """The ``count`` largest angles between two of the (N, d) points, N >= 2; exact.

    The time is quadratic in N and the memory is not: float32 points stay float32, with k + 1
    numbers a point beside them.  Split unit vectors into k leading principal coordinates and the
    rest, of length q: the cosine of two is at least a_i . a_j - q_i q_j, whatever the rest is.
    Only pairs where that falls below the best so far are computed in full, in float64.  k is the
    least that leaves out a tenth of the squared length.  The rounding of the bound is allowed for,
    so no pair is missed.  Blocks whose angles to the mean direction add up to too little are
    skipped.

    Raises :class:`AccessibilityError` for fewer than two points, NaN, and a point at the origin.

    >>> found = largest_angles(np.eye(3) + 1.0, 3)
    >>> np.degrees(found.radians).round(2).tolist(), found.looked_at
    ([33.56, 33.56, 33.56], 3)
    """
    array = cloud(points, keep=True)
    n = len(array)
    if n < 2:
        raise AccessibilityError("1 point has no angle to another; give at least 2 points.")
    count = min(at_least("count", count, 1), n * (n - 1) // 2)
    length = row_lengths(array)
    short, rest = _short(array, length)
    slack = (short.shape[1] + 2) * 2.0**-22  # rounding of a float32 product of unit vectors
    pole = short.sum(axis=0, dtype=float)
    pole = (pole / max(float(np.linalg.norm(pole)), 1e-30)).astype(np.float32)
    from_pole = np.arccos(np.clip(short @ pole, -1, 1))
    order = np.argsort(-from_pole, kind="stable")
    short, rest, from_pole = short[order], rest[order], from_pole[order]
    worst = _far_pair(array, length) if count == 1 else 1.0  # the cosine to beat
    cosines, pairs, looked_at = np.empty(0), np.empty((0, 2), int), 0
    for i in range(0, n, BLOCK):
        limit = np.arccos(np.clip(worst, -1, 1)) - 2e-3  # an arccos of float32 errs by less
        for j in range(i, n, BLOCK):
            if from_pole[i] + from_pole[j] < limit:  # and so for every later j
                break
            floor = short[i : i + BLOCK] @ short[j : j + BLOCK].T
            floor -= np.outer(rest[i : i + BLOCK], rest[j : j + BLOCK])
            near = floor <= worst + slack
            if i == j:
                near &= np.tri(near.shape[0], near.shape[1], -1, dtype=bool)
            if not near.any():
                continue
            rows, columns = np.flatnonzero(near.any(axis=1)), np.flatnonzero(near.any(axis=0))
            full = (
                _unit(array, length, order[i + rows]) @ _unit(array, length, order[j + columns]).T
            )
            full[~near[np.ix_(rows, columns)]] = np.inf
            looked_at += int(near.sum())
            some = np.flatnonzero(full.ravel() <= worst + 1e-12)
            a, b = np.unravel_index(some, full.shape)
            cosines = np.concatenate([cosines, full[a, b]])
            pairs = np.concatenate(
                [pairs, np.stack([order[i + rows[a]], order[j + columns[b]]], 1)]
            )
            kept = np.argsort(cosines, kind="stable")[:count]
            cosines, pairs = cosines[kept], pairs[kept]
            if len(kept) == count:
                worst = min(worst, float(cosines[-1]))
    u, v = (_unit(array, length, column) for column in pairs.T)
    # Half the chord over half the sum: accurate for angles near 0 and pi, where a cosine is not.
    radians = 2 * np.arctan2(np.linalg.norm(u - v, axis=1), np.linalg.norm(u + v, axis=1))
    return Angles(radians, np.sort(pairs, axis=1), looked_at)


def _unit(array: np.ndarray, length: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return array[rows].astype(float) / length[rows, None]


def _short(array: np.ndarray, length: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors in k orthonormal coordinates, (N, k) in float32, and a bound on the length of
    what they leave out, (N,)."""
    n, d = array.shape
    sample = _unit(array, length, np.linspace(0, n - 1, min(n, 2 * BLOCK)).astype(int))
    values, vectors = np.linalg.eigh(sample.T @ sample)  # ascending
    left_out = np.cumsum(np.maximum(values, 0)) / np.maximum(values, 0).sum()
    k = d - int((left_out <= SPARE).sum())
    basis = vectors[:, d - k :][:, ::-1]
    short = np.empty((n, k), dtype=np.float32)
    rest = np.empty(n, dtype=np.float32)
    for start in range(0, n, BLOCK):
        rows = np.arange(start, min(start + BLOCK, n))
        coordinates = _unit(array, length, rows) @ basis
        short[rows] = coordinates
        rest[rows] = np.sqrt(np.maximum(1 - (coordinates**2).sum(axis=1), 0) + 1e-12)
    return short, rest


def _far_pair(array: np.ndarray, length: np.ndarray, starts: int = 8) -> float:
    """The cosine of a pair that is far apart: from a few rows, to the farthest and on from there.
    Any pair would do as the first to beat; a good one saves most of the work."""
    best = 1.0
    for start in np.linspace(0, len(array) - 1, min(len(array), starts)).astype(int):
        here, cosine = int(start), 1.0
        while True:
            u = _unit(array, length, np.array([here]))[0].astype(array.dtype)
            dots = (
                np.concatenate([array[k : k + BLOCK] @ u for k in range(0, len(array), BLOCK)])
                / length
            )
            there = int(dots.argmin())
            u, v = _unit(array, length, np.array([here, there]))
            if not float(u @ v) < cosine:
                break
            here, cosine = there, float(u @ v)
        best = min(best, cosine)
    return best
