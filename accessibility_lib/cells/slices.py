"""The cells on a plane, as exact polygons."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import ConvexHull, QhullError

from accessibility_lib._checks import at_least, cloud, numbers, positive
from accessibility_lib.cells.rows import matrix, offsets
from accessibility_lib.errors import AccessibilityError

# Logits that differ by less than this share of their range are the same number in float64.
_TIE = 1e-13
_SQUARE = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])


@dataclass(frozen=True, eq=False)
class Plane:
    """The points origin + a axes[0] + b axes[1]; ``axes`` (2, d) are orthonormal."""

    origin: np.ndarray
    axes: np.ndarray

    def coordinates(self, points: ArrayLike) -> np.ndarray:
        """(a, b) of the feet of ``points`` (N, d) on the plane, shape (N, 2)."""
        return (cloud(points, self.axes.shape[1]) - self.origin) @ self.axes.T

    def points(self, coordinates: ArrayLike) -> np.ndarray:
        """Points (N, d) of the plane with the given (a, b), shape (N, 2)."""
        return self.origin + cloud(coordinates, 2) @ self.axes


def plane_through(points: ArrayLike) -> Plane:
    """The plane through three points (3, d).

    Its origin is their centroid, its first axis points from the first to the second point, and the
    third point lies on the side of the positive second axis.

    Raises
    ------
    AccessibilityError
        If there are not three points, two of them coincide, or all lie on one line (the distance
        of one from the line of the others is below 1e-6 of the longest side).

    >>> plane = plane_through([[0, 0, 1], [2, 0, 1], [0, 5, 1]])
    >>> plane.axes.tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    array = cloud(points)
    if len(array) != 3:
        raise AccessibilityError(f"{len(array)} points were given; a plane needs exactly 3.")
    size = np.abs(array).max()
    pairs = ((0, 1), (0, 2), (1, 2))
    sides = [float(np.linalg.norm(array[j] - array[i])) for i, j in pairs]
    for (i, j), side in zip(pairs, sides, strict=True):
        if side <= 1e-9 * size:
            raise AccessibilityError(
                f"points {i + 1} and {j + 1} coincide (distance {side:.3g}); three different "
                "points span a plane, so change one of the two prompts."
            )
    first = (array[1] - array[0]) / sides[0]
    rest = array[2] - array[0]
    rest = rest - first * (first @ rest)
    rest = rest - first * (first @ rest)  # a second pass: orthogonal to the last bit
    height = float(np.linalg.norm(rest))
    if height <= 1e-6 * max(sides):
        raise AccessibilityError(
            f"the three points lie on one line (height {height:.3g}, longest side "
            f"{max(sides):.3g}) and span no plane; change one of the prompts."
        )
    return Plane(array.mean(axis=0), np.stack([first, rest / height]))


@dataclass(frozen=True, eq=False)
class Slice:
    """The cells that a window of a plane meets, the largest first.

    ``tokens`` (K,): their ids.  ``polygons``: for each its corners (k, 2) in plane coordinates,
    counterclockwise.  ``areas`` (K,).  ``neighbours`` (E, 2): positions in ``tokens`` of the cells
    that share an edge.  ``logits`` (K, 3): the logit of token k at (a, b) is ``logits[k] @ (a, b,
    1)``, less one function of (a, b) common to all tokens.  ``window``: a_min, a_max, b_min, b_max.
    ``vocab_size``: |V|.
    """

    tokens: np.ndarray
    polygons: tuple[np.ndarray, ...]
    areas: np.ndarray
    neighbours: np.ndarray
    logits: np.ndarray
    window: tuple[float, float, float, float]
    vocab_size: int

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def shares(self) -> np.ndarray:
        """Area of each cell over the area of the window, (K,); they sum to 1."""
        a_min, a_max, b_min, b_max = self.window
        return self.areas / ((a_max - a_min) * (b_max - b_min))

    def owners(self, coordinates: ArrayLike) -> np.ndarray:
        """Token that owns each (a, b) of ``coordinates`` (N, 2) in the window, shape (N,).

        Raises for a point outside the window: its owner may have no cell inside.
        """
        at = cloud(coordinates, 2)
        low, high = np.reshape(self.window, (2, 2)).T
        outside = ((at < low - 1e-9 * (high - low)) | (at > high + 1e-9 * (high - low))).any(axis=1)
        if outside.any():
            raise AccessibilityError(
                f"{outside.sum()} of {len(at)} points lie outside the window {self.window}, the "
                f"first at {at[outside][0].tolist()}; slice a wider window."
            )
        return self.tokens[np.argmax(at @ self.logits[:, :2].T + self.logits[:, 2], axis=1)]


def slice_2d(
    unembedding: Any,
    bias: Any,
    plane: Plane,
    window: tuple[float, float, float, float],
    *,
    chunk: int = 8192,
) -> Slice:
    """Cut a window of a plane into the argmax cells of F x + b, exactly.

    On the plane each logit is an affine function of (a, b), so the cells are the facets of the
    upper envelope of |V| planes in three dimensions.  A token can own a cell only if its three
    coefficients are a vertex of the convex hull of all of them.  Among those, each cell starts as
    the whole window and is cut by the winner at whichever corner it loses by most, until it loses
    at none: its corners are then checked against every token.  Cells are found edge by edge.

    Parameters
    ----------
    unembedding, bias
        F (|V|, d) and b (|V|,) or None; anything numpy reads.  All arithmetic is float64,
        ``chunk`` rows at a time.
    plane, window
        Where to look; the window is (a_min, a_max, b_min, b_max) in the plane's coordinates.

    Returns
    -------
    Slice
        Polygons that tile the window.  Where tokens tie on an area (logits on the whole plane that
        agree to 1e-13 of their range, as of equal rows), the lowest id owns it.

    Raises
    ------
    AccessibilityError
        If shapes do not fit, a number is not finite, or the window is empty.

    >>> F = [[1, 0, 0], [-1, 0, 0], [0, 0, 0]]
    >>> plane = Plane(np.zeros(3), np.eye(3)[:2])
    >>> found = slice_2d(F, [0, 0, 0.5], plane, (-1, 1, -1, 1))
    >>> found.tokens.tolist(), found.areas.tolist()
    ([2, 0, 1], [2.0, 1.0, 1.0])
    """
    window = _window(window)
    centre = np.array([window[0] + window[1], window[2] + window[3]]) / 2
    half = np.array([window[1] - window[0], window[3] - window[2]]) / 2
    # Coefficients over the square [-1, 1]^2.
    middle = plane.origin + centre @ plane.axes
    heights = _project(unembedding, bias, np.vstack([half[:, None] * plane.axes, middle]), chunk)
    vocab_size, scale = len(heights), np.abs(heights).max() or 1.0
    heights /= scale
    heights -= heights.mean(axis=0)  # common to all tokens, so it moves no argmax
    ids = _hull(heights)
    ids = ids[_first_of_ties(heights[ids])]
    cells, pairs = _partition(heights[ids])

    areas = np.array([_area(corners) for corners in cells.values()]) * half.prod()
    found = np.array(list(cells))
    order = np.lexsort((found, -areas))
    place = {int(found[k]): position for position, k in enumerate(order)}
    found = found[order]
    edges = sorted(tuple(sorted((place[i], place[j]))) for i, j in pairs)
    # From the square's coordinates back to the plane's.
    logits = heights[ids[found]] * scale
    logits[:, :2] /= half
    logits[:, 2] -= logits[:, :2] @ centre
    return Slice(
        tokens=ids[found],
        polygons=tuple(centre + half * cells[int(k)] for k in found),
        areas=areas[order],
        neighbours=np.array(edges, dtype=int).reshape(-1, 2),
        logits=logits,
        window=window,
        vocab_size=vocab_size,
    )


def window_around(coordinates: ArrayLike, scale: float = 1.5) -> tuple[float, float, float, float]:
    """A square window: ``scale`` times the smallest square that holds the points (N, 2).

    >>> window_around([[0, 0], [4, 2]], scale=2)
    (-2.0, 6.0, -3.0, 5.0)
    """
    at = cloud(coordinates, 2)
    positive("scale", scale, "take 1.5, say")
    centre = (at.min(axis=0) + at.max(axis=0)) / 2
    half = scale * float(np.ptp(at, axis=0).max()) / 2
    if half == 0:
        raise AccessibilityError("the points coincide and give a window no size; move one.")
    a, b = centre.tolist()
    return (a - half, a + half, b - half, b + half)


def _window(window: Iterable[float]) -> tuple[float, float, float, float]:
    ends = numbers("window", window)
    if ends.shape != (4,) or not np.isfinite(ends).all():
        raise AccessibilityError(
            f"window = {ends.tolist()}; give four finite numbers: a_min, a_max, b_min, b_max."
        )
    a_min, a_max, b_min, b_max = ends.tolist()
    if a_min >= a_max or b_min >= b_max:
        raise AccessibilityError(
            f"window = {ends.tolist()} is empty; give minima that are below their maxima."
        )
    return a_min, a_max, b_min, b_max


def _project(unembedding: Any, bias: Any, rows: np.ndarray, chunk: int) -> np.ndarray:
    """Coefficients (|V|, 3) of the logits: F @ rows.T, the bias added to the last."""
    F = matrix(unembedding)
    if F.shape[1] != rows.shape[1]:
        raise AccessibilityError(
            f"the unembedding has width {F.shape[1]} and the plane {rows.shape[1]}; "
            "take the plane of embeddings of the same model."
        )
    heights = np.empty((len(F), 3))
    chunk = at_least("chunk", chunk, 1)
    for start in range(0, len(F), chunk):
        part = slice(start, start + chunk)
        with np.errstate(over="ignore", invalid="ignore"):  # answered below, with the token's id
            heights[part] = numbers("the unembedding", F[part]) @ rows.T
    if bias is not None:
        heights[:, 2] += offsets(bias, len(F))
    if not np.isfinite(heights).all():
        row = int(np.flatnonzero(~np.isfinite(heights).all(axis=1))[0])
        raise AccessibilityError(
            f"the logit of token {row} is not finite on the plane; its row, its bias or the plane "
            "holds NaN, infinity or numbers too large for float64."
        )
    return heights


def _hull(heights: np.ndarray) -> np.ndarray:
    """Rows that may own a cell somewhere on the plane, ascending: vertices of the convex hull, and
    what lies on it to rounding, which decides nothing here."""
    everything = np.arange(len(heights))
    spread = heights.std(axis=0)
    if len(heights) < 100 or not spread.all():
        return everything
    try:
        hull = ConvexHull(heights / spread, qhull_options="Qt Qc")
    except QhullError:  # flat: fewer cells, so that no filter is needed
        return everything
    return np.union1d(hull.vertices, hull.coplanar[:, 0])


def _first_of_ties(heights: np.ndarray) -> np.ndarray:
    """Positions of the rows that no earlier row equals to rounding, ascending."""
    labels = np.zeros(len(heights), dtype=int)
    for column in heights.T:  # split where neighbours in this column differ by more than a tie
        order = np.lexsort((column, labels))
        new = (np.diff(column[order]) > _TIE) | (np.diff(labels[order]) > 0)
        labels[order] = np.concatenate([[0], np.cumsum(new)])
    return np.sort(np.unique(labels, return_index=True)[1])


def _partition(planes: np.ndarray) -> tuple[dict[int, np.ndarray], set[tuple[int, int]]]:
    """Cells over the square as {position: corners}, and the pairs that share an edge."""

    def winner(corner: np.ndarray) -> tuple[int, float]:
        values = planes[:, :2] @ corner + planes[:, 2]
        best = int(np.argmax(values))
        return best, float(values[best])

    outer = [winner(corner) for corner in _SQUARE]
    inside = winner(np.array([0.1234567, 0.0765432]))  # a point that no cell border is made to hit
    todo = [best for best, _ in (inside, *outer)]
    seen, cells, pairs = set(todo), {}, set()
    while todo:
        own = todo.pop()
        corners, sides, winners, met = [*_SQUARE], [-1] * 4, [*outer], {own}
        while corners:
            mine = np.array(corners) @ planes[own, :2] + planes[own, 2]
            loss = [
                0.0 if best in met else value - at
                for (best, value), at in zip(winners, mine, strict=True)
            ]
            worst = int(np.argmax(loss))
            if loss[worst] <= _TIE:
                break
            rival = winners[worst][0]
            met.add(rival)
            gain = planes[own] - planes[rival]
            corners, sides, winners = _cut(corners, sides, winners, gain, rival, winner)
        todo += sorted(met - seen)
        seen |= met
        if len(corners) >= 3:
            polygon = np.array(corners)
            values = planes[:, :2] @ polygon.mean(axis=0) + planes[:, 2]
            if values[own] - np.delete(values, own).max(initial=-np.inf) > _TIE:
                cells[own] = polygon
                lengths = np.linalg.norm(np.roll(polygon, -1, axis=0) - polygon, axis=1)
                long = (side for side, length in zip(sides, lengths, strict=True) if length > 1e-12)
                pairs |= {(min(own, side), max(own, side)) for side in long if side >= 0}
    return cells, {pair for pair in pairs if cells.keys() >= {*pair}}


def _cut(
    corners: list[np.ndarray],
    sides: list[int],
    winners: list[tuple[int, float]],
    gain: np.ndarray,
    rival: int,
    winner: Callable[[np.ndarray], tuple[int, float]],
) -> tuple[list[np.ndarray], list[int], list[tuple[int, float]]]:
    """The part of a convex polygon where gain @ (x, y, 1) >= 0; the new side is the rival's."""
    above = np.array(corners) @ gain[:2] + gain[2]
    kept: tuple[list, list, list] = ([], [], [])
    for k, (corner, side, here) in enumerate(zip(corners, sides, above, strict=True)):
        after = (k + 1) % len(corners)
        pieces = [(corner, side, winners[k])] if here >= 0 else []
        if (here >= 0) != (above[after] >= 0):
            t = here / (here - above[after])
            border = corner + t * (corners[after] - corner)
            pieces.append((border, rival if here >= 0 else side, winner(border)))
        for piece in pieces:
            for store, item in zip(kept, piece, strict=True):
                store.append(item)
    return kept


def _area(corners: np.ndarray) -> float:
    """Of a convex polygon, by triangles from its first corner."""
    x, y = (corners[1:] - corners[0]).T
    return float((x[:-1] * y[1:] - x[1:] * y[:-1]).sum() / 2)
