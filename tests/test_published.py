"""The published tables recomputed: what agrees, what was exchanged, what the radii imply."""

import pytest

from accessibility_lib import AccessibilityError, bounds, published
from accessibility_lib.supports import Ball

NAMES = list(published.MODELS)
WITH_R = [name for name in NAMES if published.MODELS[name].r_table2]


def digits(row, name):
    """Half a unit of the last digit that the table prints."""
    return 0.051 if row == "ball" and name.startswith(("qwen", "llama")) else 0.0051


def test_the_ball_row_is_reproduced_to_the_published_digits():
    assert len(WITH_R) == 5
    want = (9.24, 9.79, 7.77, 14.13, 20.47)
    got = [published.ball_ratio(name) for name in WITH_R]
    assert got == pytest.approx(want, abs=0.005)
    for name, each in zip(WITH_R, got, strict=True):
        # Qwen-2.5-1.5B is printed as 20.4 for 20.474: cut, not rounded.
        slack = 0.08 if name == "qwen2.5-1.5b" else digits("ball", name)
        assert each == pytest.approx(published.table_1("ball", name), abs=slack)


def test_the_radii_that_the_ball_row_implies():
    assert published.implied_radius("llama-3.2-1b") == pytest.approx(40.1, abs=0.05)
    assert published.implied_radius("gemma-3-270m") == pytest.approx(10.8, abs=0.05)
    for name in NAMES:
        again = published.ball_ratio(name, published.implied_radius(name))
        assert again == pytest.approx(published.table_1("ball", name), rel=1e-12)


def test_the_seven_entries_with_cells_of_their_own_model():
    got = [published.nonuniform_ratio(name) for name in NAMES]
    assert got == pytest.approx([6.66, 6.07, 4.50, 7.93, 10.82, 8.83, 10.65], abs=0.0051)


def test_the_published_entries_follow_from_exchanged_models():
    for name in NAMES:
        got = published.nonuniform_ratio(name, exchanged=True)
        # The inputs are printed to two decimals, which leaves about 0.1 percent.
        assert got == pytest.approx(published.table_1("ellipsoid_nonuniform", name), rel=2e-3)
    exchanged = {name for name in NAMES if published.volume_source(name).name != name}
    assert exchanged == {"pythia-410m", "pythia-1b", "llama-3.2-1b", "gemma-3-270m"}


def test_the_notebooks_convention():
    got = [published.notebook_ball_ratio(name) for name in NAMES]
    assert got == pytest.approx([6.53, 7.00, 5.48, 8.80, 13.45, 10.51, 9.58], abs=0.0051)
    other_r = Ball(768, 63.62).log_packing(63.62 * 2**-11)
    assert published.ratio(other_r, "pythia-160m") == pytest.approx(got[0], rel=1e-12)


def test_eighteen_of_thirty_five_entries_are_above_ten():
    assert sum(map(len, published.TABLE_1.values())) == 35
    assert published.entries_above(10) == 18


def test_the_cone_never_exceeds_the_ball():
    for name in NAMES:
        assert published.cone_ratio(name) < published.ball_ratio(name)
        assert published.table_1("cone", name) < published.table_1("ball", name)


def test_six_variable_eps_entries_name_more_values_than_sixteen_bits_have():
    above = []
    for name in NAMES:
        of = published.model(name)
        limit = bounds.storage_slope(of.d, 16, of.vocab) / of.slope_empirical
        assert published.representable_ratio(name, "fp16") < limit
        if published.table_1("ellipsoid_variable_eps", name) > limit:
            above.append(name)
    assert above == NAMES[1:]


def test_the_implied_boxes_fit_into_their_balls():
    for name in NAMES:
        assert 0 < published.implied_half_width(name) < published.radius(name)


def test_recomputed_and_corrected_cover_what_the_data_allow():
    known = {"ball", "cone", "ellipsoid_nonuniform"}
    for name in NAMES:
        for row in published.TABLE_1:
            again, better = published.recomputed(row, name), published.corrected(row, name)
            assert (again is not None) == (row in known)
            assert (better is not None) == (row == "ellipsoid_nonuniform")
            if row == "ball":
                assert again == pytest.approx(published.table_1(row, name), abs=0.08)


def test_the_conventions_hold_the_known_ones_and_the_published_row_exceeds_the_count():
    for name in NAMES:
        found = published.ratios_by_convention(name)
        assert found["ε = machine epsilon"] == pytest.approx(published.ball_ratio(name))
        assert found["ε = r · unit roundoff"] == pytest.approx(published.notebook_ball_ratio(name))
        count = found["fp16 values in [−r, r]"]
        assert count < published.representable_ratio(name)
        assert published.table_1("ellipsoid_variable_eps", name) > count


def test_every_number_of_one_vector_names_a_source():
    assert set(published.ONE_VECTOR) <= set(published.SOURCES)
    for by_model in published.ONE_VECTOR.values():
        for by_kind in by_model.values():
            assert set(by_kind) <= {"pg19", "random"}
            assert all(tokens > 0 for tokens in by_kind.values())


def test_unknown_names_list_the_known_ones():
    with pytest.raises(AccessibilityError, match="pythia-160m"):
        published.model("gpt-9")
    with pytest.raises(AccessibilityError, match="ellipsoid_nonuniform"):
        published.table_1("sphere", "pythia-160m")
    with pytest.raises(AccessibilityError, match="its models"):
        published.model([])


def test_a_radius_of_zero_is_not_taken_for_none():
    with pytest.raises(AccessibilityError, match="r = 0"):
        published.ball_ratio("pythia-160m", r=0)


def test_every_value_of_an_asymmetric_grid_is_counted():
    of = published.model("pythia-160m")
    want = bounds.storage_slope(of.d, 8, of.vocab) / of.slope_empirical
    assert published.representable_ratio("pythia-160m", "int8") == pytest.approx(want)
