"""The figures of chapter 03 draw the shares and fits that the library computes."""

import numpy as np
import pytest

from accessibility_lib import fits
from accessibility_lib.figures import cramming as figures

REACHED = {
    ("natural", 1): {"teacher-forced": np.array([4, 6, 7, 9]), "robust": np.array([0, 0, 7, 0])},
    ("natural", 2): {
        "teacher-forced": np.array([9, 12, 12, 12]),
        "robust": np.array([9, 0, 0, 12]),
    },
}


def test_curves_show_shares_with_their_intervals():
    figure = figures.accessibility_curves(REACHED, 12)
    points, line = figure.data[:2]
    at = list(points.x).index(7)
    assert points.y[at] == 0.5
    low, high = fits.wilson([2], [4])
    assert points.error_y.array[at] == pytest.approx(high[0] - 0.5, abs=1e-3)
    assert points.error_y.arrayminus[at] == pytest.approx(0.5 - low[0], abs=1e-3)
    curve = fits.fit_horizons([4, 6, 7, 9], [5, 7, 8, 10])
    assert line.y[at] == pytest.approx(float(curve(7)), abs=1e-3)
    assert [trace.visible for trace in figure.data] == [True, True, False, False]


def test_slider_and_menu_change_different_things():
    layout = figures.accessibility_curves(REACHED, 12).layout
    menu, slider = layout.updatemenus[0].buttons, layout.sliders[0].steps
    assert [button.label for button in menu] == ["teacher-forced", "robust"]
    assert [step.label for step in slider] == ["1", "2"]
    assert slider[1].args[0]["visible"] == [False, False, True, True]
    robust = menu[1].args[0]
    assert set(robust) == {"y", "error_y.array", "error_y.arrayminus"}
    assert robust["y"][0][0] == 0.25


def test_slope_starts_and_radii():
    curves = [fits.fit_curve([n - 2, n, n + 2], [9, 5, 1], [10] * 3) for n in (10, 16, 22)]
    line = fits.fit_slope([1, 2, 3], curves)
    found = dict(zip([1, 2, 3], curves, strict=True))
    points, drawn = figures.by_memory({"natural": found}, {"natural": line}).data
    assert list(points.y) == [curve.n50 for curve in curves]
    assert drawn.y[0] == pytest.approx(line.intercept)
    best = figures.best_of([1, 2, 4], curves).data[0]
    assert list(best.x) == [1, 2, 4]
    assert best.y[0] + best.error_y.array[0] == pytest.approx(curves[0].high)
    balls = figures.radii({"natural": ([4, 6], [0.1, 0.2])}, 0.25)
    assert list(balls.data[0].y) == [0.1, 0.2]
    assert list(balls.data[1].y) == [0.125, 0.125]
