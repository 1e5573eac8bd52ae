"""Supports: counts against brute force, volumes against sampling, real norms inside."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.stats import qmc

from accessibility_lib import AccessibilityError, bounds
from accessibility_lib.precision import grid
from accessibility_lib.supports import Ball, Box, Cone, Ellipsoid, NormEllipsoid, Support
from accessibility_lib.supports.cone import log_cap_fraction
from accessibility_lib.supports.ellipsoid import log_sum_volume

ALL = (Ball, Box, Cone, Ellipsoid, NormEllipsoid)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def rigorous_supports(d, rng):
    """One of each proved kind in d dimensions, with uneven axes."""
    axes = np.exp(rng.normal(0, 0.7, d))
    found = [
        Ball(d, float(axes[0])),
        Box(-axes, axes * rng.uniform(0.2, 2, d)),
        Ellipsoid(axes, rng.normal(size=d)),
        NormEllipsoid.rms_norm(axes),
        NormEllipsoid.gemma_rms_norm(axes - 1.5),
    ]
    if d > 1:
        found.append(NormEllipsoid.layer_norm(axes, rng.normal(size=d)))
    if d > 2:
        found.append(NormEllipsoid.layer_norm([0.0, *axes[1:]], rng.normal(size=d)))
    return found


def packing_found(support, gap, rng):
    """The largest packing that greedy choice among many points of the support finds.

    A lower bound on the packing number.  Besides uniform points it is offered the support's part of
    lattices of step eps, whose points are exactly eps apart.
    """
    points = [support.sample(1500, rng)]
    lo, hi = support.bounds()
    for _ in range(6):
        start = lo - gap * rng.uniform(0, 1, support.width)
        steps = [np.arange(0, h - s, g * (1 + 1e-12)) for s, h, g in zip(start, hi, gap, strict=1)]
        lattice = start + np.stack(np.meshgrid(*steps, indexing="ij"), -1).reshape(-1, len(lo))
        points.append(lattice[support.contains(lattice)])
    best = 0
    for each in points:
        for order in (np.lexsort(each.T), rng.permutation(len(each))):
            left, count = each[order], 0
            while len(left):
                apart = (np.abs(left - left[0]) >= gap).any(axis=1)
                left, count = left[apart], count + 1
            best = max(best, count)
    return best


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("size", [0.5, 0.9, 2.5])
def test_log_packing_is_above_every_packing_found(d, size, rng):
    for support in rigorous_supports(d, rng):
        assert support.rigorous
        assert not support.heuristic
        for gap in (np.full(d, size), size * np.exp(rng.normal(0, 0.4, d))):
            found = packing_found(support, gap, rng)
            assert found >= 1
            assert math.log(found) <= support.log_packing(gap) + 1e-12


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_box_count_is_the_packing_number(d, rng):
    for _ in range(5):
        box = Box(np.zeros(d), rng.uniform(0.1, 3, d))
        lattice = np.prod([len(np.arange(0, width + 1e-12, 0.5)) for width in box.hi])
        assert box.log_packing(0.5) == pytest.approx(math.log(lattice), abs=1e-12)
        assert box.log_packing(0.5) <= box.log_packing_continuous(0.5)
    assert Box([0.0], [0.3]).log_packing(0.1) == pytest.approx(math.log(4))  # 0.3/0.1 < 3 in fp64


@pytest.mark.parametrize("d", [2, 3, 5, 8])
def test_the_volume_limit_agrees_with_monte_carlo(d, rng):
    """log_packing + d ln eps tends to ln volume; the volume is measured inside the box."""
    fine = 1e-9
    for support in rigorous_supports(d, rng)[:5]:
        lo, hi = support.bounds()
        points = qmc.scale(qmc.Sobol(d, rng=rng).random(2**15), lo, hi)
        share = support.contains(points).mean()
        volume = share * np.prod(hi - lo)
        assert math.exp(support.log_packing(fine) + d * math.log(fine)) == pytest.approx(
            volume, rel=0.03 if share > 0.1 else 0.1
        )


@pytest.mark.parametrize("d", [2, 3, 5, 8])
def test_the_slice_of_layer_norm_has_the_volume_of_its_singular_values(d, rng):
    gain = np.exp(rng.normal(size=d))
    basis = np.linalg.svd(np.ones((1, d)))[2][1:].T
    axes = np.linalg.svd(np.diag(gain * math.sqrt(d)) @ basis, compute_uv=False)
    k, fine = d - 1, 1e-9
    want = np.log(axes).sum() + k / 2 * math.log(math.pi) - math.lgamma(k / 2 + 1)
    # A box of d dimensions is no match for a slice of d-1, so this is the volume bound.
    got = NormEllipsoid.layer_norm(gain).log_packing(fine) + k * math.log(fine)
    assert got == pytest.approx(want, abs=1e-5)

    logs = [
        0.5 * np.log((1 + t) * axes**2 + (1 + 1 / t) * d / 4).sum()
        for t in np.exp(np.linspace(-6, 6, 4001))
    ]
    by_axes = min(logs) + k / 2 * math.log(math.pi) - math.lgamma(k / 2 + 1)
    by_determinant = log_sum_volume(np.log(gain * math.sqrt(d)), hyperplane=True)
    assert by_determinant == pytest.approx(by_axes, abs=1e-5)


def test_an_ellipsoid_plus_a_cube_lies_in_the_set_that_is_measured(rng):
    axes, d = np.array([3.0, 1.0, 0.2]), 3
    edge = axes * (u := rng.standard_normal((4000, d))) / np.linalg.norm(u, axis=1, keepdims=True)
    corners = edge + rng.choice([-0.5, 0.5], (4000, d))
    assert (((corners / (axes + math.sqrt(d) / 2)) ** 2).sum(axis=1) > 1).any()  # not s + rho
    for t in (0.1, 1.0, 5.0):
        squares = (1 + t) * axes**2 + (1 + 1 / t) * d / 4
        assert ((corners**2 / squares).sum(axis=1) <= 1).all()


@pytest.mark.parametrize("d", [2, 3, 8])
@pytest.mark.parametrize("angle", [0.4, 1.2, math.pi / 2, 2.5])
def test_the_share_of_directions_agrees_with_monte_carlo(d, angle, rng):
    directions = rng.standard_normal((200_000, d))
    cosine = directions[:, 0] / np.linalg.norm(directions, axis=1)
    share = (cosine >= math.cos(angle)).mean()
    error = 5 * math.sqrt(max(share, 1e-5) / 200_000)
    assert math.exp(log_cap_fraction(d, angle)) == pytest.approx(share, abs=error)


@pytest.mark.parametrize(("d", "angle"), [(50, 1.0), (2048, 0.2), (100_000, 1.3), (10**6, 1.56)])
def test_the_share_of_directions_is_stable_where_it_underflows(d, angle):
    """Against the integral of sin^(d-2), scaled by its value at the edge."""
    edge = math.log(math.sin(angle))
    scale = math.sin(angle) / math.cos(angle) / d
    inner, _ = integrate.quad(
        lambda s: math.exp((d - 2) * (math.log(math.sin(angle - s * scale)) - edge)),
        0,
        min(60.0, angle / scale * 0.999),
        epsabs=0,
        epsrel=1e-11,
        limit=500,
    )
    whole = math.lgamma(d / 2) - math.lgamma((d - 1) / 2) - 0.5 * math.log(math.pi)
    want = math.log(inner * scale) + (d - 2) * edge + whole
    assert log_cap_fraction(d, angle) == pytest.approx(want, rel=1e-9, abs=1e-6)


positive = st.floats(1e-6, 1e6)


@st.composite
def supports_of_one_size(draw):
    """A function of the size r: the same shape, every length times r."""
    d = draw(st.integers(2, 12))
    axes = np.array(draw(st.lists(st.floats(0.01, 100), min_size=d, max_size=d)))
    make = draw(
        st.sampled_from(
            [
                lambda r: Ball(d, r * float(axes[0])),
                lambda r: Box(-r * axes, 2 * r * axes),
                lambda r: Ellipsoid(r * axes, r),
                lambda r: NormEllipsoid.rms_norm(r * axes),
                lambda r: NormEllipsoid.layer_norm(r * axes, r * axes),
                lambda r: Cone(axes, r, 0.7),
            ]
        )
    )
    return make


@settings(deadline=None, max_examples=60)
@given(supports_of_one_size(), positive, positive, st.floats(1, 1e3))
def test_larger_supports_and_finer_precision_never_count_less(make, r, eps, factor):
    count = make(r).log_packing(eps)
    assert count >= 0
    assert make(r * factor).log_packing(eps) >= count - 1e-6 * (1 + count)
    assert make(r).log_packing(eps * factor) <= count + 1e-6 * (1 + count)


@settings(deadline=None, max_examples=60)
@given(supports_of_one_size(), positive, positive, st.integers(-40, 40))
def test_only_the_quotient_of_radius_and_precision_matters(make, r, eps, power):
    # Powers of two scale without rounding, so the exact box may be compared too.
    k = 2.0**power
    want = make(r).log_packing(eps)
    assert make(k * r).log_packing(k * eps) == pytest.approx(want, rel=1e-9, abs=1e-9)
    d = make(r).width
    assert make(r).log_packing(np.full(d, eps)) == pytest.approx(want, rel=1e-9, abs=1e-9)


@settings(deadline=None, max_examples=40)
@given(supports_of_one_size(), positive, positive, st.integers(2, 300_000))
def test_equal_cells_give_corollary_4_6(make, r, eps, vocab):
    count = make(r).log_packing(eps)
    by_cells = bounds.slope_from_cells(count, mean_log_volume=-math.log(vocab))
    assert by_cells == pytest.approx(bounds.slope(count, vocab), rel=1e-14)


def test_extreme_sizes_stay_finite():
    for d, size in ((1, 1e-300), (3, 1e300), (10**6, 1e-3)):
        for support in (
            Ellipsoid(np.full(d, size)),
            NormEllipsoid.rms_norm(np.full(d, size / 1e3)),
        ):
            assert 0 <= support.log_packing(1.0) <= 1.0001 * Ball(d, size).log_packing(1.0) + 1e-9
    assert math.isfinite(Ball(1, 1e300).log_packing(1e-300))
    assert math.isfinite(Box([-1e300], [1e300 / 2]).log_packing(1e-300))


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_samples_lie_inside_and_fill_the_set(d, rng):
    for support in rigorous_supports(d, rng):
        points = support.sample(4000, rng)
        assert points.shape == (4000, d)
        assert support.contains(points).all()
        lo, hi = support.bounds()
        assert (points >= lo - 1e-9).all()
        assert (points <= hi + 1e-9).all()
        if d <= 3:
            reach = (points.max(axis=0) - points.min(axis=0))[hi > lo] / (hi - lo)[hi > lo]
            assert (reach > 0.85).all()


def test_ellipsoid_samples_are_uniform(rng):
    """Half of the volume lies within 2^(-1/k) of the way out, in the set's own dimension k."""
    gain = np.array([3.0, 0.5, 1.0, 2.0])
    for support in (NormEllipsoid.rms_norm(gain), NormEllipsoid.layer_norm(gain, gain)):
        z = (support.sample(20_000, rng) - support.shift) / gain
        inner = (np.linalg.norm(z, axis=1) <= 2 * 0.5 ** (1 / support.dimension)).mean()
        assert inner == pytest.approx(0.5, abs=0.015)


@pytest.mark.parametrize("angle", [0.5, math.pi / 2, 2.2])
def test_cone_samples_are_uniform(angle, rng):
    cone = Cone([1.0, 2.0, -1.0], r=2.0, half_angle=angle)
    points = cone.sample(5000, rng)
    assert cone.contains(points).all()
    # The share of a smaller cone, by rejection from the cube.
    cube = Ball(3, 2.0).sample(400_000, rng)
    small = Cone(cone.axis, 2.0, angle / 2)
    want = small.contains(cube).sum() / cone.contains(cube).sum()
    assert small.contains(points).mean() == pytest.approx(want, abs=0.03)
    # In three dimensions the cosines of uniform directions are uniform.
    cosine = cone.sample_directions(5000, rng) @ cone.axis
    assert cosine.min() >= math.cos(angle) - 1e-12
    assert cosine.mean() == pytest.approx((1 + math.cos(angle)) / 2, abs=0.03)


def test_directions_of_a_narrow_wide_cone_do_not_collapse(rng):
    """Where the share of directions underflows, the sine follows the power law of its edge."""
    d, angle = 4096, 0.3
    directions = Cone(np.ones(d), 1.0, angle).sample_directions(400, rng)
    cosine = np.clip(directions @ np.full(d, d**-0.5), -1, 1)
    share = np.exp([log_cap_fraction(d, a) - log_cap_fraction(d, angle) for a in np.arccos(cosine)])
    assert share.mean() == pytest.approx(0.5, abs=0.06)  # uniform on [0, 1]
    with pytest.raises(AccessibilityError, match="use sample_directions"):
        Cone(np.ones(d), 1.0, angle).sample(2, rng)


@pytest.mark.parametrize("kind", ALL)
def test_a_fitted_support_holds_its_points(kind, rng):
    points = rng.normal(2, 1, (200, 5))
    support = kind.fit(points)
    assert isinstance(support, Support)
    assert support.fitted_to == 200
    assert support.contains(points).all()
    assert support.width == 5
    assert support.rigorous == (not support.heuristic)


@pytest.mark.parametrize("d", [2, 3, 10, 50])
def test_the_smallest_cone_of_orthonormal_vectors(d):
    """The half-angle rule gives 45 degrees; the smallest cone has arccos(1/sqrt d)."""
    cone = Cone.fit(np.eye(d), gap=1e-6)
    assert cone.half_angle == pytest.approx(math.acos(d**-0.5), abs=2e-6)
    assert cone.half_angle - cone.half_angle_floor <= 2e-6
    rule = Cone.fit_half_angle(np.eye(d))
    assert rule.half_angle == pytest.approx(math.pi / 4)
    assert rule.contains(np.eye(d)).all() == (d == 2)
    assert (cone.rule, rule.rule) == ("smallest cone", "cone by half the largest angle")


def test_the_cone_certificate_holds_on_random_clouds(rng):
    for spread in (0.1, 0.3, 3.0):
        points = rng.normal(0, spread, (300, 8)) + np.eye(8)[0]
        cone = Cone.fit(points)
        unit = points / np.linalg.norm(points, axis=1, keepdims=True)
        axes = rng.normal(0, 0.2, (3000, 8)) + cone.axis
        axes /= np.linalg.norm(axes, axis=1, keepdims=True)
        best = np.arccos((unit @ axes.T).min(axis=0)).min()
        assert cone.half_angle_floor <= min(best, cone.half_angle)
        if spread < 1:
            assert cone.half_angle - cone.half_angle_floor <= 1e-3
        else:
            assert cone.half_angle_floor == pytest.approx(math.pi / 2, abs=0.05)


def test_opposite_points_give_a_floor_of_a_right_angle():
    cone = Cone.fit([[1.0, 0.0], [-1.0, 0.0]])
    assert cone.half_angle_floor == pytest.approx(math.pi / 2)
    assert cone.contains([[1.0, 0.0], [-1.0, 0.0]]).all()


def test_representable_counts_multiply_over_coordinates(rng):
    box = Box([-1.0, 0.5, 1.0001], [1.0, 2.0, 1.0002])
    fp16 = grid("fp16")
    counts = fp16.count(-1, 1), fp16.count(0.5, 2), 1  # the last interval holds no value
    assert box.log_representable("fp16") == pytest.approx(np.log(counts).sum())
    norm = NormEllipsoid.layer_norm([1.0, 2.0], [0.0, 1.0])
    assert norm.log_representable("int8") == pytest.approx(math.log(3 * 5))
    with pytest.raises(AccessibilityError, match="no number grid"):
        box.log_representable("complex64")


def test_a_shift_does_not_round_packings_away():
    # 2 s / eps = 8, and shifted by 1000.1 the ends of [-s, s] are 2^-43 apart from their places.
    s = 1 + 2.0**-45
    for shift in (0.0, 1000.1, 1e17):
        for support in (Ellipsoid([s, s], shift), NormEllipsoid([s / math.sqrt(2)] * 2, shift)):
            assert support.log_packing(s / 4) >= math.log(9)
    far = NormEllipsoid.layer_norm([1.0, 1e-3], [1e9, 1e17])
    assert far.log_packing(0.25) == pytest.approx(math.log(9))


@pytest.mark.parametrize("kind", [Ball(2, 1.0), Box([0, 0], [1, 1]), Ellipsoid([1.0, 1.0])])
@pytest.mark.parametrize("eps", ["abc", None, True, 1j, 10**400, {}, float("nan"), -1, 0])
def test_a_precision_that_is_no_number_is_refused(kind, eps):
    with pytest.raises(AccessibilityError, match="eps = "):
        kind.log_packing(eps)


def test_what_a_float_cannot_hold_twice_is_refused():
    for make in (
        lambda: Ball(1, 1.7e308),
        lambda: Box([-1.7e308], [1.7e308]),
        lambda: Ellipsoid([1.7e308]),
        lambda: NormEllipsoid([1.7e308]),
        lambda: Ball.fit([[1.7e308], [0.0]]),
    ):
        with pytest.raises(AccessibilityError, match=r"1e\+300"):
            make()


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Ellipsoid([1.0, 0.0]), r"axes\[1\] = 0"),
        (lambda: Ellipsoid([1.0, -1.0]), r"axes\[1\] = -1"),
        (lambda: Ellipsoid([1.0], [0.0, 1.0]), "centre has shape"),
        (lambda: Ellipsoid([]), "axes has shape"),
        (lambda: Ellipsoid([float("nan")]), "NaN or infinity"),
        (lambda: Ellipsoid(["a"]), "axes = .* holds no numbers"),
        (lambda: Box([0.0, 2.0], [1.0, 1.0]), r"lo\[1\] = 2 is above hi\[1\] = 1"),
        (lambda: Box([1.0], [1.0]), "one point is no support"),
        (lambda: Cone([0.0, 0.0], 1.0, 0.5), "axis is zero"),
        (lambda: Cone([1.0, 0.0], 1.0, 4.0), "above pi"),
        (lambda: Cone([1.0, 0.0], 1.0, 0.0), "half_angle = 0"),
        (lambda: NormEllipsoid.rms_norm([0.0, 0.0]), "every gain is 0"),
        (lambda: NormEllipsoid.layer_norm([1.0]), "d = 1"),
        (lambda: NormEllipsoid.layer_norm([1.0, 2.0], [1.0]), "shift has shape"),
        (lambda: Ball(2, 1.0).log_packing([1.0, 2.0, 3.0]), r"eps has shape \(3,\)"),
        (lambda: Ball(2, 1.0).contains([[1.0, 2.0, 3.0]]), "points have width 3"),
        (lambda: Cone.fit([[0.0, 0.0], [1.0, 0.0]]), "origin"),
        (lambda: Ellipsoid.fit([[0.0, 1.0], [0.0, 2.0]]), "coordinate 0 does not vary"),
        (lambda: Ball(2, 1.0).sample(0, np.random.default_rng(0)), "n = 0"),
    ],
)
def test_bad_supports_are_refused_with_the_reason(make, match):
    with pytest.raises(AccessibilityError, match=match):
        make()


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    ("points", "match"),
    [
        ([[1.0, 2.0]], "span no support"),
        ([[1.0, 2.0], [1.0, 2.0]], "span no support"),
        ([[1.0, 2.0], [1.0]], "rows of one width"),
        ([[1.0, float("nan")], [1.0, 2.0]], "row 0 of the points"),
        (np.empty((0, 3)), "at least one row"),
        (np.empty((2, 2, 2)), "shape"),
    ],
)
def test_bad_clouds_are_refused_with_the_reason(kind, points, match):
    with pytest.raises(AccessibilityError, match=match):
        kind.fit(points)
