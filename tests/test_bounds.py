"""The bounds against hand calculation, against extreme inputs and against bad ones."""

import math

import numpy as np
import pytest

from accessibility_lib import AccessibilityError, bounds
from accessibility_lib.supports import Ball


@pytest.mark.parametrize("d", [1, 768, 10**6])
@pytest.mark.parametrize("ratio", [1e-300, 1e-12, 1.0, 1e12, 1e300])
def test_the_ball_is_stable_from_tiny_to_huge(d, ratio):
    got = Ball(d, ratio).log_packing(1.0)
    want = d * (math.log1p(2 * ratio) if ratio < 1e100 else math.log(2) + math.log(ratio))
    assert got == pytest.approx(want, rel=1e-14)


def test_the_ball_is_finite_where_the_ratio_overflows():
    got = Ball(1, 1e300).log_packing(1e-300)
    assert got == pytest.approx(math.log(2) + 600 * math.log(10), rel=1e-14)


def test_fraction_is_one_up_to_the_threshold_and_falls_by_the_vocabulary_after():
    n_star = bounds.threshold(20.0, 10, m=3)
    n = np.array([0.0, n_star, n_star + 1, n_star + 2])
    logs = bounds.log_accessible_fraction(20.0, 10, 3, n)
    assert logs == pytest.approx([0, 0, -math.log(10), -2 * math.log(10)], abs=1e-9)
    assert bounds.accessible_fraction(20.0, 10, 3, n) == pytest.approx([1, 1, 0.1, 0.01])


def test_hard_prompts_have_slope_one():
    logs = bounds.log_hard_prompt_fraction(7, 4, [3, 4, 6])
    assert logs == pytest.approx([0, 0, -2 * math.log(7)])


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1, 0, "ten", None, True])
@pytest.mark.parametrize(
    "call",
    [
        lambda bad: Ball(bad, 1.0),
        lambda bad: Ball(4, bad),
        lambda bad: bounds.slope(1.0, bad),
        lambda bad: bounds.threshold(1.0, 8, bad),
        lambda bad: bounds.log_hard_prompt_fraction(8, bad, 3),
        lambda bad: bounds.storage_slope(bad, 16, 8),
        lambda bad: bounds.storage_slope(4, bad, 8),
    ],
)
def test_bad_numbers_are_named(call, bad):
    with pytest.raises(AccessibilityError, match=r"= .*(nan|inf|-1|0|ten|None|True)"):
        call(bad)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0, 0.0])
def test_bad_eps_is_named(bad):
    with pytest.raises(AccessibilityError, match="eps"):
        Ball(4, 1.0).log_packing(bad)


def test_a_vocabulary_of_one_is_refused():
    with pytest.raises(AccessibilityError, match=r"\|V\| = 1"):
        bounds.slope(1.0, 1)


def test_bad_lengths_and_counts_are_named():
    with pytest.raises(AccessibilityError, match=r"n = -1"):
        bounds.log_accessible_fraction(1.0, 8, 1, [2, -1])
    with pytest.raises(AccessibilityError, match="log_packing = nan"):
        bounds.slope(float("nan"), 8)
