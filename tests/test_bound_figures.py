"""The figures of chapter 02."""

import math

import numpy as np
import pytest

from accessibility_lib import AccessibilityError, bounds
from accessibility_lib.figures import bounds as figures


@pytest.mark.parametrize(("r", "eps"), [(1.0, 0.25), (1.0, 0.3), (2.5, 1.0), (0.1, 1.0)])
def test_the_packing_drawn_is_one(r, eps):
    cells, points, support, outer = figures.packing(r, eps).data
    xy = np.stack([points.x, points.y], axis=1)
    assert len(xy) == (math.floor(2 * r / eps) + 1) ** 2 <= (1 + 2 * r / eps) ** 2
    assert np.abs(xy).max() <= r
    apart = np.abs(xy[:, None] - xy[None]).max(axis=2)[~np.eye(len(xy), dtype=bool)]
    assert (apart >= eps * (1 - 1e-12)).all()
    # Each cell has its point in the middle and lies within the outer square.
    corners = np.stack([cells.x, cells.y], axis=1).reshape(len(xy), 6, 2)[:, :4]
    assert corners.mean(axis=1) == pytest.approx(xy)
    assert np.ptp(corners, axis=1) == pytest.approx(np.full_like(xy, eps))
    assert np.abs(corners).max() <= np.nanmax(outer.x) * (1 + 1e-12)
    assert (np.nanmax(support.x), np.nanmax(outer.x)) == pytest.approx((r, r + eps / 2))


def test_a_packing_too_large_to_draw_is_refused():
    with pytest.raises(AccessibilityError, match="take a larger eps"):
        figures.packing(1.0, 1e-3)


def test_the_threshold_curve_passes_through_the_solved_precision():
    figure = figures.any_length((64, 768), r=2.0, vocab=50304, target=200)
    curves = {trace.name: trace for trace in figure.data}
    assert {*curves} == {"d = 64, 2r", "d = 64, 4r", "d = 768, 2r", "d = 768, 4r"}
    for name, trace in curves.items():
        d, factor = int(name.split()[2].strip(",")), int(name[-2])
        solved = bounds.wasserstein_eps_for_length(200, d, 2.0, 50304, factor=factor)
        shown = np.isfinite(trace.x)
        at = np.interp(math.log(solved / 2.0), np.log(trace.x[shown]), np.array(trace.y)[shown])
        assert at == pytest.approx(math.log10(200), abs=0.01)
