"""Tails of known distributions, and the angle of more prompts from that of fewer."""

import numpy as np
import pytest

from accessibility_lib import AccessibilityError
from accessibility_lib.geometry.extremes import (
    Tail,
    angle_by_count,
    fit_tail,
    predict,
    predict_angle,
    radius_by_count,
)
from accessibility_lib.supports.angles import largest_angle


@pytest.mark.parametrize(
    ("draw", "shape", "median"),
    [
        # The median of the largest of n, from the distribution function itself.
        ("exponential", 0.0, lambda n: -np.log(-np.expm1(np.log(0.5) / n))),
        ("uniform", -1.0, lambda n: 0.5 ** (1 / n)),
        ("triangular", -0.5, lambda n: 1 - np.sqrt(-np.expm1(np.log(0.5) / n))),
    ],
)
def test_the_tail_of_a_known_distribution(draw, shape, median):
    rng = np.random.default_rng(3)
    values = {
        "exponential": lambda: rng.exponential(size=20_000),
        "uniform": lambda: rng.uniform(size=20_000),
        "triangular": lambda: 1 - np.sqrt(rng.uniform(size=20_000)),
    }[draw]()
    tail = fit_tail(values)
    assert tail.shape == pytest.approx(shape, abs=0.1)
    assert tail.largest(10**6) == pytest.approx(median(10**6), rel=0.12)


def test_the_interval_holds_most_maxima():
    rng, hits = np.random.default_rng(0), 0
    for _ in range(8):
        (found,) = predict(rng.exponential(size=1000), [20_000], rng, resamples=20)
        hits += found.low <= rng.exponential(size=20_000).max() <= found.high
    assert hits >= 5  # 7 expected
    # The fit's own error counts too: wider than the scatter of the maximum alone.
    (wide,) = predict(rng.exponential(size=400), [10**6], rng, resamples=40)
    own = Tail(0.0, 1.0, 0.0, 1.0, 40).largest(10**6, [0.05, 0.95])
    assert wide.high - wide.low > own[1] - own[0]


def test_the_largest_of_many_given_alone_are_the_tail_of_all():
    values = np.sort(np.random.default_rng(1).exponential(size=5000))
    whole, part = fit_tail(values, share=0.05), fit_tail(values[-251:], draws=5000)
    assert part == whole


def test_no_prediction_is_above_the_ceiling():
    values = np.random.default_rng(2).exponential(size=500)
    tail = fit_tail(values, ceiling=7.0)
    assert tail.largest(10**9) == 7.0
    (found,) = predict(values, [10**9], np.random.default_rng(0), ceiling=7.0, resamples=10)
    assert found.median == found.high == 7.0


def test_below_the_threshold_the_tail_says_the_threshold():
    tail = fit_tail(np.random.default_rng(2).exponential(size=1000))
    assert tail.largest(1) == pytest.approx(tail.threshold)


def test_radius_and_angle_of_the_first_prompts():
    points = np.random.default_rng(4).normal(size=(300, 6)) + 1
    counts = [2, 50, 300]
    linf = np.abs(points).max(axis=1)
    assert np.array_equal(radius_by_count(linf, counts), [linf[:k].max() for k in counts])
    assert np.array_equal(
        radius_by_count(np.stack([linf, linf[::-1]]), counts)[1],
        [linf[::-1][:k].max() for k in counts],
    )
    assert np.allclose(angle_by_count(points, counts), [largest_angle(points[:k]) for k in counts])
    with pytest.raises(AccessibilityError, match="there are 300 prompts"):
        radius_by_count(linf, [301])
    with pytest.raises(AccessibilityError, match="1 point has no angle"):
        angle_by_count(points, [1])


def test_the_angle_of_ten_times_as_many_points():
    """Directions about a mean, as embeddings are; the truth is measured."""
    rng = np.random.default_rng(5)
    points = rng.normal(size=(8000, 20)) + 1.5
    (found,) = predict_angle(points[:800], [8000], rng)
    assert found.draws == 8000
    truth = largest_angle(points)
    assert found.low - 0.05 <= truth <= found.high + 0.05
    assert abs(found.median - truth) < abs(largest_angle(points[:800]) - truth)


def test_values_without_a_tail_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(AccessibilityError, match="100 values leave 10 above the threshold"):
        fit_tail(rng.uniform(size=100))
    with pytest.raises(AccessibilityError, match="NaN"):
        fit_tail([*rng.uniform(size=999), np.nan])
    with pytest.raises(AccessibilityError, match="all equal"):
        fit_tail(np.ones(1000))
    with pytest.raises(AccessibilityError, match=r"share = 0\.7"):
        fit_tail(rng.uniform(size=1000), share=0.7)
    with pytest.raises(AccessibilityError, match="level = 2"):
        predict(rng.uniform(size=1000), [10], rng, level=2)
    with pytest.raises(AccessibilityError, match="draws = 10"):
        fit_tail(rng.uniform(size=1000), draws=10)
