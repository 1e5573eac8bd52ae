"""Cells on a plane, against brute force and where geometry is degenerate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accessibility_lib import AccessibilityError, geometry, models
from accessibility_lib.cells import Plane, plane_through, slice_2d, window_around

FLAT = Plane(np.zeros(3), np.eye(3)[:2])
UNIT = (-1.0, 1.0, -1.0, 1.0)


def random_case(rng, vocab, d, bias=True):
    F = rng.normal(size=(vocab, d))
    return F, rng.normal(size=vocab) if bias else None, plane_through(rng.normal(size=(3, d)))


def points_of(window, rng, count=10_000):
    return rng.uniform(window[0::2], window[1::2], size=(count, 2))


def inside(polygon, points, slack):
    """Which points lie in a counterclockwise polygon, or within ``slack`` of it."""
    sides = np.roll(polygon, -1, axis=0) - polygon
    sides /= np.linalg.norm(sides, axis=1, keepdims=True) + 1e-300
    to = points[:, None] - polygon
    return (sides[:, 0] * to[..., 1] - sides[:, 1] * to[..., 0] >= -slack).all(axis=1)


def assert_partition(found, F, bias, plane, rng):
    """The polygons tile the window, and each point lies in the polygon of its largest logit."""
    assert abs(found.areas.sum() / window_area(found.window) - 1) < 1e-9
    assert found.shares.sum() == pytest.approx(1, abs=1e-9)
    assert all(np.diff(found.areas) <= 0)
    points = points_of(found.window, rng)
    F, b = np.asarray(F, dtype=float), 0 if bias is None else np.asarray(bias)
    parts = np.split(plane.points(points), 20)  # SmolLM2's logits at all points would take 4 GB
    best = np.concatenate([(part @ F.T + b).argmax(axis=1) for part in parts])
    assert np.array_equal(found.owners(points), best)
    slack = 1e-9 * (found.window[1] - found.window[0])
    for token, polygon in zip(found.tokens, found.polygons, strict=True):
        assert inside(polygon, points[best == token], slack).all()
        assert not inside(polygon, points[best != token], -slack).any()


def window_area(window):
    return (window[1] - window[0]) * (window[3] - window[2])


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("vocab", "d"), [(1, 2), (2, 4), (3, 4), (40, 2), (99, 3), (5000, 16)])
@pytest.mark.parametrize("half", [0.5, 40.0])
def test_random_matrix_against_brute_force(vocab, d, bias, half):
    rng = np.random.default_rng([vocab, d, bias])
    F, b, plane = random_case(rng, vocab, max(d, 3), bias)
    window = (-half, half / 2, -half / 3, half)
    assert_partition(slice_2d(F, b, plane, window, chunk=1000), F, b, plane, rng)


def test_real_model_against_brute_force():
    loaded = models.load("smollm2-135m")
    embeddings = geometry.prompt_embeddings(loaded, ["The sky is", "Once upon a", "2 + 2 ="])
    plane = plane_through(embeddings)
    F = loaded.adapter.unembedding.numpy().astype(float)
    at = plane.coordinates(embeddings)
    assert np.allclose(plane.points(at), embeddings)
    found = slice_2d(F, None, plane, window_around(at, 3))
    assert_partition(found, F, None, plane, np.random.default_rng(0))
    # The model itself, in fp32, decodes at each prompt what the partition says.
    own = loaded.adapter.logits(loaded.adapter.unembedding.new_tensor(embeddings)).argmax(-1)
    assert found.owners(at).tolist() == own.tolist()


def test_voronoi_diagram_of_a_grid():
    """b = -|f|^2 / 2 makes argmax cells nearest-row cells; a grid has only unit squares, four of
    which meet in each corner."""
    grid = np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), axis=-1).reshape(-1, 2)
    F, b = np.c_[grid, np.zeros(144)], -(grid**2).sum(axis=1) / 2
    found = slice_2d(F, b, FLAT, (-0.5, 11.5, -0.5, 11.5))
    assert sorted(found.tokens) == list(range(144))
    assert np.allclose(found.areas, 1, atol=1e-12)
    assert len(found.neighbours) == 2 * 12 * 11
    ids = found.tokens[found.neighbours]
    assert np.allclose(np.abs(grid[ids[:, 0]] - grid[ids[:, 1]]).sum(axis=1), 1)


def test_equal_rows_belong_to_the_lowest_id():
    rng = np.random.default_rng(3)
    F, _, plane = random_case(rng, 301, 40)
    twice = np.vstack([F, F[::-1], F])
    window = (-5, 5, -5, 5)
    assert np.array_equal(
        slice_2d(twice, None, plane, window).tokens, slice_2d(F, None, plane, window).tokens
    )


@pytest.mark.parametrize("vocab", [2, 3, 300])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_all_logits_equal(vocab, value):
    found = slice_2d(np.full((vocab, 3), value), np.full(vocab, value), FLAT, UNIT)
    assert found.tokens.tolist() == [0]
    assert found.areas.tolist() == [4.0]
    assert found.neighbours.shape == (0, 2)


def test_zero_rows_are_tokens_like_others():
    """Token 2 has logit 0 and wins where both others are negative."""
    F = [[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]]
    found = slice_2d(F, None, FLAT, UNIT)
    assert dict(zip(found.tokens.tolist(), found.areas, strict=True)) == pytest.approx(
        {0: 1.5, 1: 1.5, 2: 1.0}
    )
    assert len(found.neighbours) == 3


def test_bundle_of_cells_through_one_point():
    """Without a bias a plane through the origin is cut into wedges; the window misses none."""
    rng = np.random.default_rng(4)
    F = rng.normal(size=(2000, 3))
    assert_partition(slice_2d(F, None, FLAT, UNIT), F, None, FLAT, rng)


def test_rows_on_one_line_cut_the_plane_in_strips():
    rng = np.random.default_rng(5)
    F = rng.normal(size=(3000, 1)) * np.array([[0.6, 0.8, 0.0]])
    for b in (None, rng.normal(size=3000)):
        assert_partition(slice_2d(F, b, FLAT, UNIT), F, b, FLAT, rng)


def test_nearly_equal_rows_are_told_apart():
    rng = np.random.default_rng(6)
    base, _, plane = random_case(rng, 60, 8)
    F = np.vstack([base + 10.0**-k * rng.normal(size=base.shape) for k in range(2, 11, 2)])
    assert_partition(slice_2d(F, None, plane, (-5, 5, -5, 5)), F, None, plane, rng)


@pytest.mark.parametrize("scale", [1e-150, 1e-9, 1e9, 1e150])
def test_scale_of_logits_and_of_the_plane_moves_no_cell(scale):
    rng = np.random.default_rng(7)
    F, b, plane = random_case(rng, 800, 10)
    plain = slice_2d(F, b, plane, UNIT)
    louder = slice_2d(F * scale, b * scale, plane, UNIT)
    wider = Plane(plane.origin * scale, plane.axes)
    zoomed = slice_2d(F, b * scale, wider, tuple(scale * side for side in UNIT))
    for other in (louder, zoomed):
        assert np.array_equal(other.tokens, plain.tokens)
        assert np.allclose(other.shares, plain.shares, rtol=0, atol=1e-9)


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32 - 1), vocab=st.integers(1, 150), d=st.integers(3, 6))
def test_partition_follows_permutations_and_ignores_common_rows(seed, vocab, d):
    rng = np.random.default_rng(seed)
    F, b, plane = random_case(rng, vocab, d)
    F = np.round(F, int(rng.integers(0, 4)))  # many ties and parallels among the rounded
    window = (-2, 3, -1, 2)
    plain = slice_2d(F, b, plane, window)
    assert abs(plain.areas.sum() / 15 - 1) < 1e-9
    shifted = slice_2d(F + rng.normal(size=d), b + 7.0, plane, window)
    shuffle = rng.permutation(vocab)
    shuffled = slice_2d(F[shuffle], b[shuffle], plane, window)
    by_token = dict(zip(plain.tokens, plain.areas, strict=True))
    for other, names in ((shifted, np.arange(vocab)), (shuffled, shuffle)):
        theirs = dict(zip(names[other.tokens], other.areas, strict=True))
        for token in by_token.keys() | theirs.keys():
            assert by_token.get(token, 0) == pytest.approx(theirs.get(token, 0), abs=1e-9)
    points = points_of(window, rng, 200)
    logits = plane.points(points) @ F.T + b
    won = logits[np.arange(200), plain.owners(points)]
    assert np.allclose(won, logits.max(axis=1), rtol=0, atol=1e-11)


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32 - 1))
def test_whole_numbers_with_exact_ties_tile_too(seed):
    rng = np.random.default_rng(seed)
    F = rng.integers(-2, 3, size=(rng.integers(1, 130), 3)).astype(float)
    b = rng.integers(-1, 2, size=len(F)).astype(float)
    found = slice_2d(F, b, FLAT, UNIT)
    assert abs(found.areas.sum() / 4 - 1) < 1e-9
    # Of equal logits the lowest id: no owner repeats an earlier row.
    rows = np.c_[F[:, :2], b]
    for token in found.tokens:
        assert np.flatnonzero((rows == rows[token]).all(axis=1))[0] == token


def test_plane_through_three_points():
    rng = np.random.default_rng(8)
    points = rng.normal(size=(3, 30)) + 100
    plane = plane_through(points)
    assert np.allclose(plane.axes @ plane.axes.T, np.eye(2), atol=1e-14)
    at = plane.coordinates(points)
    assert np.allclose(plane.points(at), points)
    assert at[1, 0] > at[0, 0]
    assert at[0, 1] == pytest.approx(at[1, 1])
    assert at[2, 1] > at[0, 1]
    assert np.allclose(at.mean(axis=0), 0)


def test_points_that_span_no_plane_are_refused():
    a, b = np.arange(4.0), np.ones(4)
    with pytest.raises(AccessibilityError, match="points 1 and 3 coincide"):
        plane_through([a, b, a])
    with pytest.raises(AccessibilityError, match="points 2 and 3 coincide"):
        plane_through([a, b, b + 1e-15])
    with pytest.raises(AccessibilityError, match="lie on one line"):
        plane_through([a, b, 0.3 * a + 0.7 * b])
    with pytest.raises(AccessibilityError, match="exactly 3"):
        plane_through([a, b])
    with pytest.raises(AccessibilityError, match="NaN"):
        plane_through([a, b, np.full(4, np.nan)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"F": np.ones(3)}, r"shape \(3,\)"),
        ({"F": np.ones((0, 3))}, r"shape \(0, 3\)"),
        ({"F": np.ones((5, 4))}, "width 4 and the plane 3"),
        ({"F": np.array([[1, 0, 0], [np.nan, 0, 0]])}, "token 1 is not finite"),
        ({"F": np.full((2, 3), 1e308), "window": (-9, 9, -9, 9)}, "not finite"),
        ({"b": np.zeros(3)}, "give \\(2,\\) or None"),
        ({"b": np.array([0, np.inf])}, "not finite"),
        ({"window": (0, 1, 0)}, "four finite"),
        ({"window": (0, np.nan, 0, 1)}, "four finite"),
        ({"window": (1, 0, 0, 1)}, "empty"),
    ],
)
def test_bad_input_is_named(change, message):
    case = {"F": np.ones((2, 3)), "b": None, "window": UNIT, **change}
    with pytest.raises(AccessibilityError, match=message):
        slice_2d(case["F"], case["b"], FLAT, case["window"])


def test_owners_outside_the_window_are_not_guessed():
    found = slice_2d([[1, 0, 0], [0, 0, 0]], None, FLAT, UNIT)
    with pytest.raises(AccessibilityError, match="1 of 2 points lie outside the window"):
        found.owners([[0.5, 0.5], [-9.0, 0.5]])


def test_window_around_points():
    assert window_around([[0, 0], [2, 1]], 1) == (0, 2, -0.5, 1.5)
    with pytest.raises(AccessibilityError, match="scale = -1"):
        window_around([[0, 0], [2, 1]], -1)
    for scale in ("wide", None, float("nan"), [1, 2]):
        with pytest.raises(AccessibilityError, match="scale = "):
            window_around([[0, 0], [2, 1]], scale)
    with pytest.raises(AccessibilityError, match="coincide"):
        window_around([[1, 1], [1, 1]])
