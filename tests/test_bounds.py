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


def test_the_count_is_a_power_of_the_packing_number():
    packing = Ball(3, 1.0).log_packing(0.5)
    assert bounds.log_accessible_count(packing, m=2) == pytest.approx(math.log(5 ** (3 * 2)))


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


def test_the_inverse_problems_undo_the_slope():
    for d, vocab, r, eps in ((768, 50304, 63.62, 2**-10), (1, 2, 1e-5, 3.0), (8192, 10**6, 1e6, 1)):
        slope = bounds.slope(Ball(d, r).log_packing(eps), vocab)
        assert bounds.radius_for_slope(slope, d, vocab, eps) == pytest.approx(r, rel=1e-9)
        assert bounds.eps_for_slope(slope, d, vocab, r) == pytest.approx(eps, rel=1e-9)
    with pytest.raises(AccessibilityError, match="does not fit a float"):
        bounds.radius_for_slope(1e6, 2, 50304, 1.0)


@pytest.mark.parametrize("factor", [2, 4])
@pytest.mark.parametrize("q", [1.0, 2.0, 7.5])
def test_theorem_4_9_against_direct_evaluation_where_it_fits(factor, q):
    r, eps_w, d, vocab = 1.5, 0.2, 7, 100
    x = factor * r / eps_w
    log_count = (1 + x) ** d * math.log(math.e + math.e * x**q)
    got = bounds.log10_log_count_any_length(d, r, eps_w, q, factor)
    assert got == pytest.approx(math.log10(log_count), rel=1e-13)
    n = log_count / math.log(vocab)
    threshold = bounds.log10_threshold_any_length(d, r, eps_w, vocab, q, factor)
    assert threshold == pytest.approx(math.log10(n), rel=1e-13)
    back = bounds.wasserstein_eps_for_length(n, d, r, vocab, q, factor)
    assert back == pytest.approx(eps_w, rel=1e-9)


def test_corollary_4_10_is_finite_on_real_widths_and_has_an_eps_for_200_tokens():
    for d in (768, 16384, 10**6):
        for r in (1e-3, 63.62, 1e6):
            for factor in (2, 4):
                log10_n = bounds.log10_threshold_any_length(d, r, 2**-10, 50304, factor=factor)
                assert math.isfinite(log10_n)
                eps_w = bounds.wasserstein_eps_for_length(200, d, r, 50304, factor=factor)
                again = bounds.log10_threshold_any_length(d, r, eps_w, 50304, factor=factor)
                assert again == pytest.approx(math.log10(200), abs=1e-9)
    assert bounds.log10_threshold_any_length(768, 63.62, 2**-10, 50304) > 3900


def test_no_wasserstein_precision_gives_less_than_the_least_threshold():
    with pytest.raises(AccessibilityError, match="least threshold"):
        bounds.wasserstein_eps_for_length(0.01, 8, 1.0, 100)
    with pytest.raises(AccessibilityError, match="factor = 3"):
        bounds.log10_log_count_any_length(8, 1.0, 0.1, factor=3)
    with pytest.raises(AccessibilityError, match=r"q = 0.5"):
        bounds.log10_log_count_any_length(8, 1.0, 0.1, q=0.5)


def test_prompt_tuning_against_direct_evaluation():
    d, m_p, m, r, eps, lipschitz = 2, 3, 2, 1.0, 0.1, 1.5
    for k in (1, 2, 3, 4):
        want = (1 + 2 * r * lipschitz / eps) ** (d * m_p) / (r / (3 * eps)) ** (d * m * k)
        got = bounds.log_prompt_tuning_fraction(k, d, m_p, m, r, eps, lipschitz)
        assert math.exp(got) == pytest.approx(min(1.0, want), rel=1e-12)
    star = bounds.prompt_tuning_threshold(m_p, m, r, eps, lipschitz)
    logs = bounds.log_prompt_tuning_fraction([star, star + 1], d, m_p, m, r, eps, lipschitz)
    assert logs == pytest.approx([0, -d * m * math.log(r / (3 * eps))], abs=1e-9)
    with pytest.raises(AccessibilityError, match="says nothing"):
        bounds.prompt_tuning_threshold(m_p, m, 1.0, 0.4, lipschitz)


def test_the_two_mean_field_rates_differ_by_nine_to_the_d():
    for d in (1, 768):
        published = bounds.log10_mean_field_exponent(5, d, 0.01, corrected=False)
        corrected = bounds.log10_mean_field_exponent(5, d, 0.01, corrected=True, c=0.5)
        assert published - corrected == pytest.approx(d * math.log10(9) - math.log10(0.5))


def test_unequal_cells_only_lower_the_slope():
    shares = np.array([0.7, 0.2, 0.1])
    uneven = bounds.slope_from_cells(50.0, float(np.log(shares).mean()))
    assert uneven < bounds.slope(50.0, 3)
    with pytest.raises(AccessibilityError, match="mean_log_volume"):
        bounds.slope_from_cells(50.0, 0.1)


def test_storage_is_the_count_of_bit_patterns():
    assert bounds.storage_slope(3, 8, 2) == pytest.approx(24)


def test_the_inverses_hold_where_their_parts_overflow_or_underflow():
    # C ln|V| / d = 2^-1074 ln 2 / 10^6 is below the least float.
    r = bounds.radius_for_slope(2.0**-1074, 10**6, 2, 1e300)
    assert r == pytest.approx(2.0**-1000 * (1e300 * 2.0**-75 * math.log(2) / 1e6), rel=1e-9)
    assert bounds.radius_for_slope(1e4, 1000, 50304, 5e-324) > 0
    with pytest.raises(AccessibilityError, match="does not fit a float"):
        bounds.eps_for_slope(1e300, 1, 50304, 1.0)


def test_prompt_tuning_is_finite_where_quotients_overflow():
    star = bounds.prompt_tuning_threshold(10, 5, 1e300, 1e-300, 1e300)
    ten = math.log(10)
    assert star == pytest.approx(2 * (900 * ten + math.log(2)) / (600 * ten - math.log(3)))
    for corrected in (True, False):
        assert math.isfinite(bounds.log10_mean_field_exponent(1, 1, 5e-324, corrected))


NO_NUMBERS = ("abc", None, True, [1.0, 2.0], 1 + 2j, 10**400, float("nan"))


@pytest.mark.parametrize("value", NO_NUMBERS)
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("log_packing", lambda value: bounds.slope(value, 100)),
        ("mean_log_volume", lambda value: bounds.slope_from_cells(1.0, value)),
        ("m", lambda value: bounds.threshold(1.0, 100, value)),
        (r"\|V\|", lambda value: bounds.slope(1.0, value)),
        ("d", lambda value: bounds.storage_slope(value, 16, 100)),
        ("bits", lambda value: bounds.storage_slope(8, value, 100)),
        ("factor", lambda value: bounds.wasserstein_eps_for_length(9, 8, 1.0, 100, factor=value)),
        ("r", lambda value: bounds.eps_for_slope(9.0, 8, 100, value)),
    ],
)
def test_what_is_no_number_is_named_and_refused(name, call, value):
    with pytest.raises(AccessibilityError, match=f"{name} = "):
        call(value)


@pytest.mark.parametrize("value", ["abc", None, True, 1 + 2j, 10**400, float("nan"), {}])
def test_lengths_that_are_no_numbers_are_refused(value):
    with pytest.raises(AccessibilityError, match="n = "):
        bounds.accessible_fraction(1.0, 100, 1, value)
    with pytest.raises(AccessibilityError, match="k = "):
        bounds.log_prompt_tuning_fraction(value, 2, 3, 2, 1.0, 0.1, 1.0)
