"""D^n against enumeration, closed forms and Monte Carlo."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

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


@pytest.mark.parametrize("n", [10, 1001, 100_001])
@pytest.mark.parametrize(("some", "size"), [(3, 10), (1, 2000)])
def test_two_volumes_against_the_binomial_law(n, some, size):
    """Of n tokens, k have the small volume; k is binomial."""
    small, large = math.log(1e-6), math.log(0.9 / size)
    logs = np.r_[np.full(some, small), np.full(size - some, large)]
    levels = np.array([0.01, 0.3, 0.5, 0.77])
    many = stats.binom(n, some / size).ppf(1 - levels)
    found = convolution.log_quantiles(logs, n, levels)
    exact = many * small + (n - many) * large
    assert (found[:, 0] <= exact + 1e-6 * n).all()
    assert (found[:, 1] >= exact - 1e-6 * n).all()
    assert found[2].tolist() == [*vars(convolution.log_median(logs, n)).values()]
    if n < 10_000:  # beyond, an interval holds some neighbours: k is in steps of small - large
        assert np.ptp(found, axis=1).max() < 0.1


def test_quantiles_of_few_points_against_enumeration():
    logs = np.log([0.6, 0.3, 0.1])
    sums = np.sort([sum(draw) for draw in itertools.product(logs, repeat=5)])
    levels = (np.arange(0, 243, 11) + 0.5) / 243  # between the jumps
    found = convolution.log_quantiles(logs, 5, levels)
    assert found[:, 0] == pytest.approx(sums[::11], abs=1e-3)
    assert found[:, 1] == pytest.approx(sums[::11], abs=1e-3)


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

    share_left = 1 - 0.9**5
    found = convolution.log_quantiles(logs, 5, [share_left - 0.01, share_left + 0.01])
    assert found[0].tolist() == [-math.inf, -math.inf]
    assert found[1] == pytest.approx(-5 * math.log(9))


@pytest.mark.parametrize("budget", [0.5, 40.0, 100.0])
def test_the_critical_length_is_the_first(budget):
    """Against a walk over all lengths; cells of one share, few very small ones, and empty ones."""
    rng = np.random.default_rng(0)
    uneven = rng.gamma(0.3, size=200) + 1e-9
    for logs in (
        np.log(uneven / uneven.sum()),
        np.r_[np.full(99, -math.log(99)), -900.0],
        np.r_[np.full(98, -math.log(98)), -np.inf, -np.inf],
    ):
        found = convolution.critical_length(logs, budget)
        walk = range(1, 100)
        for end, first in (("lower", found.low), ("upper", found.high)):
            medians = (getattr(convolution.log_median(logs, n, 2**18), end) for n in walk)
            assert first == next(n for n, at in zip(walk, medians, strict=False) if at < -budget)


def test_shares_known_up_to_intervals_give_a_critical_length_up_to_one():
    shares = np.array([0.5, 0.3, 0.2])
    low, high = np.log([0.45, 0.25, 0.15]), np.log([0.55, 0.35, 0.25])
    found = convolution.critical_length(low, 50.0, upper=high)
    ends = [convolution.critical_length(logs, 50.0) for logs in (low, np.log(shares), high)]
    assert found.low == ends[0].low <= ends[1].low <= ends[1].high <= ends[2].high == found.high
    never_seen = convolution.critical_length([*low, -np.inf, -np.inf], 50.0, upper=[*high, -9, -9])
    assert never_seen.low == 2  # two of five may be empty: 0.6^2 < 1/2
    assert never_seen.high == convolution.critical_length([*high, -9, -9], 50.0).high
    with pytest.raises(AccessibilityError, match="upper has another shape"):
        convolution.critical_length(high, 50.0, upper=low)


@pytest.mark.parametrize("levels", [[0.0], [1.0], [math.nan], [[0.5]]])
def test_bad_levels_are_named(levels):
    with pytest.raises(AccessibilityError, match="levels"):
        convolution.log_quantiles([-1.0], 2, levels)


@pytest.mark.parametrize("logs", [[], [0.1], [math.nan], [[-1.0]]])
def test_bad_input_is_named(logs):
    with pytest.raises(AccessibilityError, match="log_volumes"):
        convolution.log_median(logs, 3)
