"""Theory over experiment, as in Table 1 of the paper, for every model with stored results."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accessibility_lib import artifacts, fits
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.predict import EPS, predict

if TYPE_CHECKING:
    from accessibility_lib.cramming import Result

DTYPE = "fp16"  # of the row of representable numbers


def complete(folder: str | Path) -> Iterator[Result]:
    """All complete cramming results below ``folder``, but for those with a ``setting`` of their own
    (fewer steps, several starts) in their note."""
    from accessibility_lib.cramming import Result
    from accessibility_lib.cramming.config import KIND

    for path in artifacts.find(folder, KIND):
        found = Result.load(path)
        if found.complete and "setting" not in found.note:
            yield found


def curves(folder: str | Path) -> dict[tuple[str, str], dict[int, fits.Curve]]:
    """The curves of :func:`complete` results by model and kind of target, then by m.

    >>> curves("no-such-folder")
    {}
    """
    from accessibility_lib.cramming import curve

    found: dict[tuple[str, str], dict[int, fits.Curve]] = {}
    for each in complete(folder):
        by_m = found.setdefault((each.model, each.note["kind"]), {})
        by_m[each.outcomes[0].m] = curve(each)
    return found


def measured(results: str | Path = "results") -> Iterator[tuple[str, str, fits.Slope]]:
    """Model, kind of target and measured slope (tokens per memory vector) of the :func:`curves`
    below ``results``/cramming, where there are enough m for a line.

    >>> list(measured("no-such-folder"))
    []
    """
    for (model, kind), by_m in curves(Path(results) / "cramming").items():
        ms = sorted(by_m)
        with contextlib.suppress(AccessibilityError):  # too few curves for a line
            yield model, kind, fits.fit_slope(ms, [by_m[m] for m in ms])


def rows(results: str | Path = "results", eps: float = EPS[0]) -> list[dict[str, Any]]:
    """One row for each model, kind of target and support: ``theory`` and ``experiment``, slopes in
    tokens per memory vector, their ``ratio`` (the larger, the looser), and 95% intervals, ``low``
    to ``high``, of the experiment and of the ratio.

    ``support``: those of :func:`accessibility_lib.predict.predict`, "unequal cells" where the
    cells were measured, and "representable numbers", fp16 values in the box of the norm.

    >>> rows("no-such-folder")
    []
    """
    return [
        {
            "model": model,
            "targets": kind,
            "support": support,
            "from": source,
            "theory": theory,
            "experiment": line.slope,
            "experiment_low": line.low,
            "experiment_high": line.high,
            "ratio": theory / line.slope,
            "ratio_low": theory / line.high,
            "ratio_high": theory / line.low if line.low > 0 else None,
        }
        for model, kind, line in measured(results)
        for support, source, theory in _theory(model, results, eps)
    ]


def _theory(model: str, results: str | Path, eps: float) -> Iterator[tuple[str, str, float]]:
    found = predict(model, [eps], [1], results=results)
    for row in found["supports"]:
        yield row["support"], row["from"], row["slope"]
    for row in found["unequal cells"] or []:
        yield "unequal cells", "cells", row["slope"]
    for row in found["precision"]:
        if row["dtype"] == DTYPE:
            yield "representable numbers", "weights", row["representable slope"]


def columns(found: list[dict[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    """:func:`rows` as the paper lays out Table 1: names of columns, one for each model and kind of
    target, and a row for each support with its ratio and interval in words, None where missing.

    >>> row = {"model": "a", "targets": "random", "support": "ball", "from": "weights"}
    >>> columns([row | {"ratio": 9.0, "ratio_low": 8.0, "ratio_high": None}])
    (['support', 'from', 'a, random'], [['ball', 'weights', '9.0 [8.0, ∞]']])
    """
    cells = {
        (row["support"], row["from"], f"{row['model']}, {row['targets']}"): (
            f"{row['ratio']:.1f} [{row['ratio_low']:.1f}, "
            + ("∞]" if row["ratio_high"] is None else f"{row['ratio_high']:.1f}]")
        )
        for row in found
    }
    names = list(dict.fromkeys(name for *_, name in cells))
    supports = dict.fromkeys(key[:2] for key in cells)
    return (
        ["support", "from", *names],
        [[*each, *(cells.get((*each, name)) for name in names)] for each in supports],
    )


def write(results: str | Path = "results") -> Path:
    """Write :func:`rows` to ``results``/table_1.csv, which has no other source.

    Raises :class:`AccessibilityError` where no model has results enough for a slope.
    """
    found = rows(results)
    if not found:
        raise AccessibilityError(
            f"no model has complete cramming results for enough m in {results}; run "
            f"`accessibility cram MODEL --m 1 2 4 --out {results}/cramming` first."
        )
    path = Path(results) / "table_1.csv"
    path.write_text(artifacts.to_csv(found), encoding="utf-8")
    return path
