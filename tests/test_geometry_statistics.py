"""One pass over embeddings against numpy on the whole array."""

import numpy as np
import pytest

from accessibility_lib import AccessibilityError
from accessibility_lib.geometry.statistics import NORMS, Statistics, summarize

RADII = {
    "l1": lambda x: np.abs(x).sum(axis=1).max(),
    "l2": lambda x: np.linalg.norm(x, axis=1).max(),
    "linf": lambda x: np.abs(x).max(),
    "rms": lambda x: np.sqrt((x**2).mean(axis=1)).max(),
}


@pytest.mark.parametrize("cuts", [(), (1,), (1, 2, 3), (500, 501, 900)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_to_numpy_on_the_whole_array(cuts, dtype):
    x = np.random.default_rng(len(cuts)).standard_normal((1000, 7)) * np.arange(1, 8) + 3
    x = x.astype(dtype)
    found, whole = summarize(np.split(x, cuts)), x.astype(float)
    assert found.count == 1000
    for norm in NORMS:
        assert found.radius(norm) == pytest.approx(RADII[norm](whole), rel=1e-12)
    assert np.array_equal(found.lo, whole.min(axis=0))
    assert np.array_equal(found.hi, whole.max(axis=0))
    assert np.allclose(found.mean, whole.mean(axis=0), rtol=1e-12)
    assert np.allclose(found.covariance, np.cov(whole, rowvar=False), rtol=1e-10, atol=1e-12)
    assert np.allclose(found.spread, whole.std(axis=0, ddof=1), rtol=1e-12)


def test_a_mean_far_from_the_spread_loses_no_digits():
    """The plain sum of squares has none left here."""
    x = 1e8 + np.random.default_rng(0).standard_normal((6000, 3))
    assert np.allclose(
        summarize(np.split(x, 60)).covariance, np.cov(x, rowvar=False), rtol=0, atol=1e-7
    )
    plain = (x.T @ x) / len(x) - np.outer(x.mean(axis=0), x.mean(axis=0))
    assert np.abs(plain - np.cov(x, rowvar=False)).max() > 0.1


def test_the_order_of_batches_does_not_matter():
    a, b, c = (Statistics.of(part) for part in np.random.default_rng(1).normal(size=(3, 40, 5)))
    one, other = (a + b) + c, a + (c + b)
    assert np.allclose(one.scatter, other.scatter, rtol=1e-12)
    assert (one.count, one.l2) == (other.count, other.l2)


def test_supports_hold_the_sample():
    x = np.random.default_rng(2).normal(size=(50, 4))
    found = summarize(np.split(x, 5))
    assert found.ball().contains(x).all()
    assert found.box().contains(x).all()
    assert found.ball().fitted_to == found.box().fitted_to == 50


def test_samples_that_are_none_are_said_plainly():
    with pytest.raises(AccessibilityError, match="no prompts to measure; give at least one"):
        summarize([])
    with pytest.raises(AccessibilityError, match="batch 1: row 2 of the points holds NaN"):
        summarize([np.ones((4, 2)), [[0, 0], [1, 1], [np.nan, 0]]])
    with pytest.raises(AccessibilityError, match="batch 0: points have shape"):
        summarize([np.ones((0, 2))])
    one = summarize([[1.0, 2.0]])
    assert (one.count, one.linf) == (1, 2.0)
    with pytest.raises(AccessibilityError, match="1 embedding has no covariance"):
        one.covariance  # noqa: B018
    with pytest.raises(AccessibilityError, match="widths 2 and 3"):
        one + Statistics.of([1.0, 2.0, 3.0])
    same = summarize([np.ones((6, 3)), np.ones((2, 3))])
    assert not same.covariance.any()
    with pytest.raises(AccessibilityError, match="all 8 embeddings are equal"):
        same.box()
    with pytest.raises(AccessibilityError, match="norm = 'l3'"):
        same.radius("l3")
