"""The largest angles against all pairs, and the smallest cone of many points."""

import numpy as np
import pytest

from accessibility_lib import AccessibilityError
from accessibility_lib.supports import Cone
from accessibility_lib.supports.angles import BLOCK, largest_angle, largest_angles


def brute_force(points, count=1):
    """The largest angles from the whole matrix of cosines in float64."""
    unit = np.asarray(points, dtype=float)
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    upper = np.triu_indices(len(unit), 1)
    return np.arccos(np.clip(np.sort((unit @ unit.T)[upper])[:count], -1, 1))


def cloud(rng, n, d, decay, shift=1.0):
    """Gaussian points about a mean, with a spectrum that decays like a power."""
    points = rng.standard_normal((n, d)) * np.arange(1, d + 1.0) ** -decay
    points[:, 1 % d] += shift
    return points


@pytest.mark.parametrize("decay", [0.0, 0.5, 2.0])
@pytest.mark.parametrize(("n", "d"), [(2, 2), (3, 40), (700, 3), (2 * BLOCK + 5, 60)])
def test_equal_to_all_pairs(n, d, decay):
    points = cloud(np.random.default_rng(n + d), n, d, decay)
    assert largest_angle(points) == pytest.approx(brute_force(points)[0], rel=1e-9)
    narrow = points.astype(np.float32)
    assert largest_angle(narrow) == pytest.approx(brute_force(narrow)[0], rel=1e-9)


def test_equal_to_brute_force_on_5000_points_of_width_768():
    points = cloud(np.random.default_rng(0), 5000, 768, 0.5).astype(np.float32)
    found = largest_angles(points)
    assert found.radians[0] == pytest.approx(brute_force(points)[0], rel=1e-10)
    assert found.looked_at < 0.01 * 5000 * 4999 / 2
    i, j = points[found.pairs[0]].astype(float)
    assert np.arccos(i @ j / np.sqrt((i @ i) * (j @ j))) == pytest.approx(found.radians[0])


@pytest.mark.parametrize("count", [1, 7, 400])
def test_the_largest_few_are_those_of_all_pairs(count):
    points = cloud(np.random.default_rng(count), BLOCK + 300, 24, 0.3)
    found = largest_angles(points, count)
    assert np.allclose(found.radians, brute_force(points, count), rtol=1e-9)
    assert (found.pairs[:, 0] < found.pairs[:, 1]).all()
    assert len(np.unique(found.pairs, axis=0)) == count


def test_more_than_all_pairs_gives_all():
    assert len(largest_angles(np.eye(4), 99).radians) == 6


def test_opposite_and_nearly_equal_points_keep_their_digits():
    assert largest_angle([[1.0, 0.0], [-1.0, 1e-9]]) == pytest.approx(np.pi - 1e-9, abs=1e-15)
    assert largest_angle([[1.0, 0.0], [1.0, 1e-9]]) == pytest.approx(1e-9, rel=1e-6)
    assert largest_angle(np.ones((50, 4))) == 0


def test_points_without_an_angle_are_refused():
    with pytest.raises(AccessibilityError, match="1 point has no angle"):
        largest_angle(np.ones((1, 3)))
    with pytest.raises(AccessibilityError, match="at least one row"):
        largest_angle(np.ones((0, 3)))
    with pytest.raises(AccessibilityError, match="point 2 is the origin"):
        largest_angle([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    for bad in (np.nan, np.inf):
        for dtype in (np.float32, np.float64):
            points = np.ones((3000, 2), dtype=dtype)
            points[2500, 1] = bad
            with pytest.raises(AccessibilityError, match="row 2500 of the points holds NaN"):
                largest_angle(points)


def test_the_smallest_cone_of_many_points_is_certified_on_all_of_them():
    points = cloud(np.random.default_rng(5), 20_000, 30, 0.5, 9.0).astype(np.float32)
    cone = Cone.fit(points)
    assert 0 <= cone.half_angle - cone.half_angle_floor <= 1e-3
    assert cone.contains(points).all()
    assert cone.half_angle >= largest_angle(points) / 2 - 1e-9


def test_points_all_around_have_no_cone_below_a_right_angle():
    cone = Cone.fit(cloud(np.random.default_rng(5), 20_000, 30, 0.5))
    assert cone.half_angle_floor == pytest.approx(np.pi / 2, abs=2e-3)
    assert cone.half_angle > np.pi / 2
