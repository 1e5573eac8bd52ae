"""Fits: against brute force on a grid, and their intervals against simulated truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit

from accessibility_lib import fits
from accessibility_lib.errors import AccessibilityError

LENGTHS = np.array([4, 6, 8, 10, 12, 16])


def brute_force(n, y, trials):
    """The log-likelihood on a fine grid of n50 and scale."""
    centres = np.linspace(2, 20, 1801)
    scales = np.geomspace(0.05, 20, 400)
    p = expit((centres[:, None, None] - n) / scales[:, None])
    p = np.clip(p, 1e-300, 1 - 1e-16)
    return centres, scales, (y * np.log(p) + (trials - y) * np.log1p(-p)).sum(-1)


def test_n50_scale_and_interval_agree_with_a_grid():
    y, trials = np.array([20, 17, 15, 8, 5, 0]), np.full(6, 20)
    curve = fits.fit_curve(LENGTHS, y, trials)
    centres, scales, log = brute_force(LENGTHS, y, trials)
    best = np.unravel_index(log.argmax(), log.shape)
    assert curve.n50 == pytest.approx(centres[best[0]], abs=0.01)
    assert curve.scale == pytest.approx(scales[best[1]], rel=0.02)
    inside = centres[2 * (log.max() - log.max(1)) <= 3.8415]
    assert (curve.low, curve.high) == pytest.approx((inside.min(), inside.max()), abs=0.02)
    share = y / trials
    assert curve.r2 == pytest.approx(1 - ((share - curve(LENGTHS)) ** 2).sum() / share.var() / 6)
    free = sum(
        a * math.log(a / 20)
        if a in (0, 20) and a
        else 0
        if a in (0, 20)
        else a * math.log(a / 20) + (20 - a) * math.log(1 - a / 20)
        for a in y.tolist()
    )
    assert curve.deviance == pytest.approx(2 * (free - log.max()), abs=0.01)
    assert curve.freedom == 4


def test_more_trials_narrow_the_interval_by_the_root():
    y = np.array([20, 17, 15, 8, 5, 0])
    one = fits.fit_curve(LENGTHS, y, np.full(6, 20))
    many = fits.fit_curve(LENGTHS, 16 * y, np.full(6, 320))
    assert many.n50 == pytest.approx(one.n50, abs=1e-4)
    assert (one.high - one.low) / (many.high - many.low) == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_interval_covers_the_truth_as_often_as_it_says(confidence):
    generator = np.random.default_rng(5)
    truth, scale, hits, rounds = 9.3, 1.7, 0, 100
    for _ in range(rounds):
        y = generator.binomial(16, expit((truth - LENGTHS) / scale))
        curve = fits.fit_curve(LENGTHS, y, np.full(6, 16), confidence)
        hits += curve.low <= truth <= curve.high
    spread = math.sqrt(confidence * (1 - confidence) / rounds)
    assert abs(hits / rounds - confidence) < 3 * spread


def test_horizons_of_the_same_targets_cover_where_counts_would_not():
    generator = np.random.default_rng(6)
    truth, scale, rounds = 9.5, 2.0, 60
    hits = narrow = 0
    lengths = np.arange(1, 25)
    for _ in range(rounds):
        horizon = np.maximum(np.floor(generator.logistic(truth, scale, 16)), 0)
        curve = fits.fit_horizons(horizon, horizon + 1)
        hits += curve.low <= truth <= curve.high
        counts = (horizon[:, None] >= lengths).sum(0)
        wrong = fits.fit_curve(lengths, counts, np.full(24, 16))
        narrow += wrong.low <= truth <= wrong.high
    assert hits / rounds > 0.9
    assert narrow / rounds < 0.8


@pytest.mark.parametrize(
    ("y", "n50", "low", "high"),
    [
        ([16, 16, 16, 0, 0, 0], 9, 8, 10),  # a clean gap
        ([16, 16, 16, 7, 0, 0], 10, 8, 12),  # one mixed length
        ([16, 16, 15, 0, 0, 0], 8, 8, 10),
    ],
)
def test_separation_takes_its_interval_from_the_neighbours(y, n50, low, high):
    curve = fits.fit_curve(LENGTHS, y, np.full(6, 16))
    assert curve.separated
    assert (curve.n50, curve.scale, curve.r2) == (n50, 0.0, 1.0)
    assert low - 0.01 <= curve.low <= n50 <= curve.high <= high + 0.01
    assert curve.high - curve.low > 0.2
    assert curve(np.array([1.0, 30.0])).tolist() == [1.0, 0.0]


def test_few_trials_at_the_gap_widen_the_interval_past_it():
    few = fits.fit_curve([6, 8, 10, 12], [1, 1, 0, 0], [1, 1, 1, 1])
    assert few.separated
    assert few.low < 8 < 10 < few.high


def test_all_or_nothing_is_open_on_one_side():
    above = fits.fit_curve(LENGTHS, np.full(6, 16), np.full(6, 16))
    assert math.isnan(above.n50)
    assert above.low == pytest.approx(16, abs=0.01)
    assert above.high == math.inf
    below = fits.fit_curve(LENGTHS, np.zeros(6), np.full(6, 16))
    assert math.isnan(below.n50)
    assert below.low == 0
    assert below.high == pytest.approx(4, abs=0.01)
    assert math.isnan(below.r2)


def test_shares_that_do_not_fall_have_no_n50():
    curve = fits.fit_curve([4, 8, 12], [3, 8, 14], [16] * 3)
    assert math.isnan(curve.n50)
    assert (curve.low, curve.high) == (0.0, math.inf)
    assert np.isnan(curve([4.0, 8.0])).all()


def test_horizons_with_open_ends():
    curve = fits.fit_horizons([0, 6, 8, 12], [4, 8, 10, math.inf])  # all known everywhere
    assert curve.lengths == (4, 6, 8, 10, 12)
    assert curve.shares == (0.75, 0.75, 0.5, 0.25, 0.25)
    assert curve.low < curve.n50 < curve.high


def test_slope_is_weighted_least_squares_and_covers():
    generator = np.random.default_rng(7)
    m = np.array([1, 2, 3, 4])
    hits, rounds = 0, 40
    for _ in range(rounds):
        curves = []
        for k in m:
            n = np.arange(2, 40, 3)
            y = generator.binomial(16, expit((4 + 6 * k - n) / 2))
            curves.append(fits.fit_curve(n, y, np.full(len(n), 16)))
        line = fits.fit_slope(m, curves)
        hits += line.low <= 6 <= line.high
    assert hits / rounds > 0.88
    errors = [(c.high - c.low) / (2 * 1.959964) for c in curves]
    slope, intercept = np.polyfit(m, [c.n50 for c in curves], 1, w=1 / np.array(errors))
    assert (line.slope, line.intercept) == pytest.approx((slope, intercept))
    assert line(m).tolist() == pytest.approx((intercept + slope * m).tolist())
    assert line.r2 > 0.98


def test_slope_leaves_out_open_curves_and_may_go_through_the_origin():
    good = [fits.fit_curve([6 * k - 2, 6 * k, 6 * k + 2], [9, 5, 1], [10] * 3) for k in (1, 2, 3)]
    over = fits.fit_curve([4, 8], [9, 9], [9, 9])
    line = fits.fit_slope([1, 2, 3, 4], [*good, over], intercept=False)
    assert line.used == (1, 2, 3)
    assert (line.slope, line.intercept) == pytest.approx((6.0, 0.0))
    with pytest.raises(AccessibilityError, match="1 of 2 points have a value"):
        fits.fit_slope([1, 2], [good[0], over])


def test_scatter_beyond_the_errors_widens_the_slope():
    curves = [fits.fit_curve([c - 2, c, c + 2], [90, 50, 10], [100] * 3) for c in (10, 18, 20, 29)]
    line = fits.fit_slope([1, 2, 3, 4], curves)
    assert line.inflation > 3
    assert line.high - line.low > 1


def test_wilson():
    low, high = fits.wilson([0, 8, 16], [16, 16, 16])
    z = 1.959963984540054
    assert low[0] == pytest.approx(0, abs=1e-12)
    assert high[0] == pytest.approx(z**2 / (16 + z**2))
    assert low[1] + high[1] == pytest.approx(1)
    assert fits.wilson(8, 16, 0.5)[0] > low[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fits.fit_curve([4, 8], [1, 2], [1, 1]), "more than the trials"),
        (lambda: fits.fit_curve([4, 8], [1, 0.5], [1, 1]), "whole numbers"),
        (lambda: fits.fit_curve([4, 8], [1, 0], [1, 0]), "at least 1"),
        (lambda: fits.fit_curve([0, 8], [1, 0], [1, 1]), "length = 0.0"),
        (lambda: fits.fit_curve([4], [1, 0], [1, 1]), "of one size"),
        (lambda: fits.fit_curve([], [], []), "at least 1"),
        (lambda: fits.fit_curve([4, 8], [1, 0], [1, 1], 1.0), "confidence = 1.0"),
        (lambda: fits.fit_horizons([3], [3]), "target 0 was reached at 3.0"),
        (lambda: fits.fit_horizons([3, 4], [5]), "one pair per target"),
        (lambda: fits.fit_horizons([0], [math.inf]), "lengths that were tried"),
        (lambda: fits.fit_slope([1, 2], []), "one m per curve"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(AccessibilityError, match=message):
        call()


def test_fits_import_no_torch():
    import subprocess
    import sys

    code = "import sys, accessibility_lib.fits; assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
