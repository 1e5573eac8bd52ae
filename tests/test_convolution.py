"""D^n against enumeration, closed forms and Monte Carlo."""

import itertools
import math

import numpy as np
import pytest

from accessibility_lib import AccessibilityError, bounds, convolution


@pytest.mark.parametrize("shares", [[0.7, 0.3], [0.6, 0.3, 0.1], [0.9, 0.09, 0.01]])
@pytest.mark.parametrize("n", [1, 3, 5, 7])
def test_few_points_against_enumeration(shares, n):
    logs = np.log(shares)
    sums = np.sort([sum(draw) for draw in itertools.product(logs, repeat=n)])
    found = convolution.log_median(logs, n)
    # With an even number of sums every number between the middle two is a median.
    assert found.lower == pytest.approx(sums[(len(sums) - 1) // 2], abs=1e-3)
    assert found.upper == pytest.approx(sums[len(sums) // 2], abs=1e-3)


def test_equal_cells_give_corollary_4_6():
    for vocab, packing, m in [(8, 11.0, 2), (50304, 9045.2, 1)]:
        found = convolution.critical_length(np.full(vocab, -math.log(vocab)), packing, m)
        assert found.low == found.high
        assert found.low == math.floor(bounds.threshold(packing, vocab, m)) + 1


def test_against_monte_carlo():
    rng = np.random.default_rng(0)
    shares = rng.gamma(0.5, size=2000) + 1e-9
    logs = np.log(shares / shares.sum())
    draws = rng.choice(logs, (100_000, 50)).sum(axis=1)
    found = convolution.log_median(logs, 50)
    assert found.upper - found.lower < 0.05
    assert abs(np.median(draws) - found.lower) < 5 * draws.std() * 1.2533 / math.sqrt(100_000)


def test_empty_cells_make_the_median_zero():
    logs = np.r_[np.full(9, -math.log(9)), -np.inf]
    last = math.floor(math.log(2) / -math.log(0.9))
    assert math.isfinite(convolution.log_median(logs, last).upper)
    assert convolution.log_median(logs, last + 1).upper == -math.inf


@pytest.mark.parametrize("logs", [[], [0.1], [math.nan], [[-1.0]]])
def test_bad_input_is_named(logs):
    with pytest.raises(AccessibilityError, match="log_volumes"):
        convolution.log_median(logs, 3)
