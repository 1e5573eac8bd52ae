"""The share of a support that each token's cell takes, by sampling, with honest intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from tqdm.auto import tqdm

from accessibility_lib._checks import at_least, cloud, number
from accessibility_lib.cells.rows import finite, first_of_equal
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.supports import Ball, Box, Ellipsoid, NormEllipsoid, Support

Method = Literal["points", "pairs", "signs"]
Cells = Literal["argmax", "nearest"]
BLOCKS = 16  # of coordinates, whose signs are exchanged; a power of two, halved while above d
POINTS, FAMILIES = 256, 64  # drawn at a time


@dataclass(frozen=True)
class Estimate:
    """A number with the interval from ``low`` to ``high``."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Volumes:
    """How often each cell was met.  Made by :func:`estimate`.

    Points come in ``families``, which are independent of each other; all points of a family are
    uniform in the support.  ``counts`` (|V|,): points in each cell, of ``draws`` in all.
    ``squares`` (|V|,): the sum over families of the square of the family's points in the cell.
    ``met_by`` (|V|,): families with a point in the cell.  ``centre``: the token that owns the
    support's centre, where there is one.

    ``groups`` (3, G): tokens grouped by their counts in the first half of the families (0, 1, 2-3,
    4-7, ...): the number of tokens, their points in the second half, and the sum of squares of
    those points by family.  The groups do not depend on the second half, so their masses are
    estimated without bias.  ``second``: points and families of the second half.
    """

    counts: np.ndarray
    squares: np.ndarray
    met_by: np.ndarray
    draws: int
    families: int
    groups: np.ndarray
    second: tuple[int, int]
    method: Method
    cells: Cells
    centre: int | None = None

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def shares(self) -> np.ndarray:
        """Share of the points in each cell, (|V|,); they sum to 1."""
        return self.counts / self.draws

    @property
    def met(self) -> int:
        """Tokens whose cell holds at least one of the points."""
        return int(np.count_nonzero(self.counts))

    def intervals(self, level: float = 0.95) -> np.ndarray:
        """For each token an interval of its share, (|V|, 2), each at the given level.

        "points": Clopper and Pearson's, exact.  "pairs": the same of twice the share, exact too: a
        cell is convex, so one that holds both points of a pair holds the centre between them, and
        for any other the points of a pair exclude each other.  For the owner of the centre, as if
        both points of a pair always agreed.  "signs": Clopper and Pearson's for the number of
        independent points that has the variance seen between families, or the number of points if
        that is less (Korn and Graubard, 1998); a token never met is given the ratio of those met
        least.  Tested on cells of known share, not proved.
        """
        alpha = 1 - _level(level)
        if self.method == "pairs":
            exact = _clopper_pearson(self.counts, float(self.families), alpha) / 2
            if self.centre is not None:
                own = self.counts[self.centre] / 2
                exact[self.centre] = _clopper_pearson(own, float(self.families), alpha)
            return exact
        effect = _design_effect(self.counts, self.squares, self.draws, self.families)
        rare = (self.counts > 0) & (self.counts <= 8)
        if rare.any():
            effect[self.counts == 0] = self.squares[rare].sum() / self.counts[rare].sum()
        return _clopper_pearson(self.counts / effect, self.draws / effect, alpha)

    def unseen_mass(self, level: float = 0.95) -> Estimate:
        """The share of the support in cells that hold none of the points.

        ``value``: of Good and Turing, the share of the points in cells that only one family met.
        ``high``: the upper limit of the mass, in the second half of the families, of the tokens
        that the first half did not meet; ``low`` is 0.
        """
        once = float(self.counts[self.met_by == 1].sum()) / self.draws
        return Estimate(once, 0.0, float(self._masses(1 - _level(level))[0]))

    def log_shares(self) -> np.ndarray:
        """ln of an estimate of every share, (|V|,): the mass of Good and Turing is spread evenly
        over the tokens never met, and the others share the rest as they were met.

        Their exponentials sum to 1.  -inf for tokens never met where every cell met was met twice.
        """
        missing = min(self.unseen_mass().value, 0.5)
        never = self.counts == 0
        missing = missing if never.any() else 0.0
        shares = self.shares * (1 - missing)
        shares[never] = missing / max(1, never.sum())
        with np.errstate(divide="ignore"):
            return np.log(shares)

    def mean_log_volume(self, level: float = 0.95) -> Estimate:
        """E ln D over tokens, each once, as ``bounds.slope_from_cells`` takes it.

        Tokens never met make this an interval.  The mean of ln over a group of tokens is at most
        ln of its mean (Jensen), so with the groups' masses from the second half ``value`` estimates
        an upper bound of E ln D, and ``high`` is that bound at the given level: -lnP/high is an
        upper bound of the slope C.  ``low`` is the mean of ln of lower limits that hold for all
        tokens at once, -inf where a token was never met, for its cell may be empty.
        """
        alpha = (1 - _level(level)) / 2
        sizes, hits = self.groups[:2]
        some = sizes > 0
        weight = sizes[some] / len(self)

        def mean(masses: np.ndarray) -> float:
            return float(weight @ np.log(np.minimum(masses[some], 1.0) / sizes[some]))

        low = self.intervals(1 - 2 * alpha / len(self))[:, 0]
        with np.errstate(divide="ignore"):
            least = float(np.log(low).mean())
        value = mean((hits + 0.5 * (hits == 0)) / self.second[0])
        return Estimate(value, least, mean(self._masses(alpha / some.sum())))

    def largest(self, count: int = 10) -> np.ndarray:
        """Ids of the ``count`` tokens met most, the first the most."""
        return np.argsort(-self.counts, kind="stable")[: at_least("count", count, 1)]

    def smallest(self, count: int = 10) -> np.ndarray:
        """Ids of the ``count`` tokens met least among those met, the first the least."""
        met = np.flatnonzero(self.counts)
        order = np.argsort(self.counts[met], kind="stable")
        return met[order[: at_least("count", count, 1)]]

    def _masses(self, alpha: float) -> np.ndarray:
        """Upper limits of the groups' masses, each missed with a chance of alpha, (G,)."""
        _, hits, squares = self.groups
        points, families = self.second
        effect = _design_effect(hits, squares, points, families)
        return _clopper_pearson(hits / effect, points / effect, 2 * alpha)[:, 1]


def estimate(
    unembedding: Any,
    source: Support | ArrayLike,
    count: int | None = None,
    generator: np.random.Generator | None = None,
    *,
    bias: Any = None,
    cells: Cells = "argmax",
    method: Method | None = None,
    chunk: int = 2048,
) -> Volumes:
    """The share of the support in each token's cell (Table 3, Figure 3).

    Parameters
    ----------
    unembedding, bias
        F (|V|, d) and b (|V|,) or None; anything numpy reads.  Float32 is computed in float32.
    source
        A support, of which ``count`` points are drawn, or embeddings (N, d), which are all used as
        they are, without ``count`` and ``generator``.
    count
        Points to draw, at least; rounded up to whole families.
    cells
        "argmax": the token that is decoded.  "nearest": the nearest row, as in the paper's released
        code; the same only where all rows are equally long and there is no bias.
    method
        "points": independent points.  "pairs": a point and its mirror image about the centre of the
        support share one product with F.  "signs": coordinates come in 16 blocks, and the support
        stays what it is when the offsets from the centre of one block change sign; from one product
        with F, split by block, come 32 points, mirror images and orthogonal patterns of signs.
        None: the last of these that the support allows (a cone: points; a centred norm ellipsoid:
        pairs; the others: signs).
    chunk
        Rows of F at a time; memory does not grow with |V| beyond a few numbers a token.

    Raises
    ------
    AccessibilityError
        For shapes that do not fit, NaN, fewer than 2 families, a bias with nearest rows, a method
        that the support does not allow, and a support that does not hold its own sample.

    Equal rows (of equal bias) tie everywhere; the lowest id owns their cell and the others nothing.
    A zero row is a token like any other, whose logit is its bias.

    >>> F = np.vstack([np.eye(3), -np.eye(3)])
    >>> found = estimate(F, Ball(3, 1.0), 10_000, np.random.default_rng(0))
    >>> found.met, bool((np.abs(found.shares - 1 / 6) < 0.02).all())
    (6, True)
    """
    F, b = finite(unembedding, bias)
    if cells not in ("argmax", "nearest"):
        raise AccessibilityError(f"cells = {cells!r}; give 'argmax' or 'nearest'.")
    if cells == "nearest":
        if b is not None:
            raise AccessibilityError("nearest rows know no bias; give bias=None or cells='argmax'.")
        b = -0.5 * np.einsum("ij,ij->i", F, F, dtype=float)  # argmax f.x - |f|^2/2 is the nearest
    chunk = at_least("chunk", chunk, 1)
    first = first_of_equal(F, b)
    kept = np.flatnonzero(first == np.arange(len(F)))
    if len(kept) < len(F):
        F, b = F[kept], None if b is None else b[kept]
    method, families, offsets, centre = _plan(source, F.shape[1], count, generator, method)
    if centre is not None and centre.any():
        b = F @ centre.astype(F.dtype) + (0.0 if b is None else b)
    b = None if b is None else b.astype(F.dtype)
    middle = None
    if method != "points":
        middle = int(kept[0 if b is None else int(np.argmax(b))])
    patterns = _patterns(method, F.shape[1])
    sides = 1 if method == "points" else 2
    tally = _Tally(len(first))
    half = families // 2
    bar = tqdm(total=families, desc="cells", unit=" families", disable=None, delay=2, leave=False)
    with bar:
        for y in offsets:
            owners = kept[_owners(F, b, y.astype(F.dtype, copy=False), patterns, sides, chunk)]
            cut = min(max(half - tally.families, 0), len(owners))
            for part in (owners[:cut], owners[cut:]):
                if len(part):
                    tally.add(part)
                if tally.families == half:
                    tally.group()
            bar.update(len(owners))
    size = sides * len(patterns)
    return Volumes(
        counts=tally.counts,
        squares=tally.squares,
        met_by=tally.met_by,
        draws=families * size,
        families=families,
        groups=tally.groups,
        second=((families - half) * size, families - half),
        method=method,
        cells=cells,
        centre=middle,
    )


def _plan(
    source: Support | ArrayLike,
    d: int,
    count: int | None,
    generator: np.random.Generator | None,
    method: Method | None,
) -> tuple[Method, int, Iterator[np.ndarray], np.ndarray | None]:
    """Method, number of families, their offsets from the centre in batches, and the centre."""
    if not isinstance(source, Support):
        if count is not None or generator is not None or method not in (None, "points"):
            raise AccessibilityError(
                "embeddings are used as they are, each once; give no count, generator or method, "
                "or fit a support to them and draw from that."
            )
        points = cloud(source, minimum=2, keep=True)
        _check_width(points.shape[1], d)
        parts = (points[k : k + POINTS] for k in range(0, len(points), POINTS))
        return "points", len(points), parts, None
    _check_width(source.width, d)
    count = at_least("count", 0 if count is None else count, 1, "say how many points to draw")
    if not isinstance(generator, np.random.Generator):
        raise AccessibilityError("give a generator, such as np.random.default_rng(0).")
    allowed = _methods(source)
    chosen = method or allowed[-1]
    if chosen not in allowed:
        raise AccessibilityError(
            f"method = {method!r}, but a {source.name} allows {', '.join(allowed)}."
        )
    size = (1 if chosen == "points" else 2) * len(_patterns(chosen, d))
    families = max(2, -(-count // size))
    centre = None if chosen == "points" else np.mean(source.bounds(), axis=0)
    batch = FAMILIES if chosen == "signs" else POINTS

    def draw() -> Iterator[np.ndarray]:
        for start in range(0, families, batch):
            points = source.sample(min(batch, families - start), generator)
            if start == 0 and not source.contains(points).all():
                raise AccessibilityError(
                    f"{int((~source.contains(points)).sum())} of {len(points)} points drawn from "
                    f"the {source.name} lie outside it; its sample and contains must agree."
                )
            yield points if centre is None else points - centre

    return chosen, families, draw(), centre


def _check_width(width: int, d: int) -> None:
    if width != d:
        raise AccessibilityError(
            f"the support has width {width} and the unembedding {d}; "
            "take a support of embeddings of the same model."
        )


def _methods(source: Support) -> tuple[Method, ...]:
    """What the symmetry of a support allows, the fastest last."""
    if isinstance(source, NormEllipsoid) and source.centred:
        return "points", "pairs"  # sum z = 0 ties the signs of the coordinates
    if isinstance(source, Ball | Box | Ellipsoid | NormEllipsoid):
        return "points", "pairs", "signs"
    return ("points",)


def _patterns(method: Method, d: int) -> np.ndarray:
    """Signs of the blocks for each point of a family, (points, blocks): orthogonal rows."""
    patterns: np.ndarray = np.ones((1, 1))
    while method == "signs" and len(patterns) < min(BLOCKS, d // 2 + 1):  # Sylvester's
        patterns = np.kron([[1, 1], [1, -1]], patterns)
    return patterns


def _owners(
    F: np.ndarray, b: np.ndarray | None, y: np.ndarray, patterns: np.ndarray, sides: int, chunk: int
) -> np.ndarray:
    """Tokens that own the points of each family, (m, sides * len(patterns)); y (m, d)."""
    count, blocks = patterns.shape
    patterns = patterns.astype(F.dtype)
    ends = np.linspace(0, F.shape[1], blocks + 1).astype(int)
    spans = [slice(*pair) for pair in pairwise(ends)]
    best = np.full((sides, count, len(y)), -np.inf)
    owner = np.zeros(best.shape, dtype=np.int64)
    for start in range(0, len(F), chunk):
        rows = F[start : start + chunk]
        logits = np.stack([y[:, span] @ rows[:, span].T for span in spans])
        if blocks > 1:
            logits = (patterns @ logits.reshape(blocks, -1)).reshape(count, len(y), -1)
        for side in range(sides):
            if side:
                np.negative(logits, out=logits)
            at = logits if b is None else logits + b[start : start + chunk]
            place = at.argmax(axis=-1)
            value = np.take_along_axis(at, place[..., None], axis=-1)[..., 0]
            above = value > best[side]
            best[side][above] = value[above]
            owner[side][above] = place[above] + start
    return owner.reshape(-1, len(y)).T


class _Tally:
    """Running sums over families."""

    def __init__(self, vocab: int) -> None:
        self.counts = np.zeros(vocab, dtype=np.int64)
        self.squares = np.zeros(vocab, dtype=np.int64)
        self.met_by = np.zeros(vocab, dtype=np.int64)
        self.families = 0
        self.groups = np.zeros((3, 0), dtype=np.int64)
        self._group: np.ndarray | None = None

    def group(self) -> None:
        """Group tokens by their counts so far: 0, 1, 2-3, 4-7, ...; once."""
        if self._group is None:
            self._group = np.frexp(self.counts)[1]  # the bits of the count
            self.groups = np.zeros((3, int(self._group.max()) + 1), dtype=np.int64)
            self.groups[0] = np.bincount(self._group)

    def add(self, owners: np.ndarray) -> None:
        """Count the owners (m, size) of m families."""
        m = len(owners)
        vocab = len(self.counts)
        family = np.arange(m)[:, None]
        pairs, hits = np.unique(family * vocab + owners, return_counts=True)
        tokens = pairs % vocab
        np.add.at(self.counts, tokens, hits)
        np.add.at(self.squares, tokens, hits**2)
        np.add.at(self.met_by, tokens, 1)
        self.families += m
        if self._group is not None:
            kinds = self.groups.shape[1]
            by = np.bincount((family * kinds + self._group[owners]).ravel(), minlength=m * kinds)
            by = by.reshape(m, kinds)
            self.groups[1] += by.sum(axis=0)
            self.groups[2] += (by**2).sum(axis=0)


def _level(level: float) -> float:
    found = number("level", level, "give a confidence such as 0.95")
    if not 0 < found < 1:
        raise AccessibilityError(f"level = {found}, but a confidence lies between 0 and 1.")
    return found


def _design_effect(
    counts: np.ndarray, squares: np.ndarray, draws: int, families: int
) -> np.ndarray:
    """Variance of a share between families over that of independent points, at least 1."""
    size = draws / families
    if size == 1:
        return np.ones(len(counts))
    p = counts / draws
    between = (squares - counts * counts / families) / (families - 1) / size**2
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = between / (p * (1 - p) / size)
    return np.where(np.isfinite(effect), np.clip(effect, 1.0, size), 1.0)


def _clopper_pearson(hits: Any, trials: Any, alpha: float) -> np.ndarray:
    """Limits (..., 2) that miss the chance of a hit with at most alpha/2 on each side."""
    from scipy.special import betaincinv

    k, n = np.asarray(hits, dtype=float), np.asarray(trials, dtype=float)
    with np.errstate(invalid="ignore"):
        low = np.where(k > 0, betaincinv(np.maximum(k, 1e-9), n - k + 1, alpha / 2), 0.0)
        high = np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1e-9), 1 - alpha / 2), 1.0)
    return np.stack([low, high], axis=-1)
