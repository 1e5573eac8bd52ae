"""The figures of chapters 06, 08 and 09 draw the numbers that the library computes."""

import math

import pytest

from accessibility_lib import bounds, published
from accessibility_lib.figures import precision, prompt_tuning, table_1
from accessibility_lib.precision import grid


def test_every_entry_of_table_1_is_a_dot():
    figure = table_1.entries(10.0)
    drawn = {trace.name: list(trace.x) for trace in figure.data}
    for model in published.MODELS.values():
        assert drawn[model.label] == [published.table_1(row, model.name) for row in table_1.ROWS]
    assert list(table_1.ROWS) == list(published.TABLE_1)


def test_the_exchange_shows_three_values_for_each_model():
    own, exchanged, as_published = table_1.exchange().data
    assert list(as_published.x) == list(published.TABLE_1["ellipsoid_nonuniform"])
    assert list(own.x) == [published.nonuniform_ratio(name) for name in published.MODELS]
    assert exchanged.x == pytest.approx(as_published.x, rel=2e-3)


def test_models_that_one_publication_measured_are_left_out():
    rows = table_1.one_vector()
    models = {row["model"] for row in rows}
    assert "llama-3.2-1b" in models
    assert "olmo-1b" not in models
    table = table_1.side_by_side()
    assert {row[0] for row in table} == models
    assert sum(cell is not None for row in table for cell in row[1:]) == len(rows)
    assert sum(len(trace.x) for trace in table_1.denominators().data) == len(rows)


def test_the_number_line_has_a_tick_for_each_value():
    figure = precision.number_line({"e5m2": grid("e5m2"), "int4": grid("int4")}, -2.0, 2.0)
    assert [len(trace.x) for trace in figure.data] == [grid("e5m2").count(-2, 2), 5]


def test_spacings_stop_at_the_largest_value_of_a_format():
    figure = precision.spacings(2**-10, {"a": 3.0})
    e4m3 = next(trace for trace in figure.data if trace.name == "fp8_e4m3fn")
    assert max(e4m3.x) == 256
    assert max(e4m3.y) == grid("e4m3fn").spacing(448)


def test_curves_of_prompt_tuning_are_the_bounds():
    figure = prompt_tuning.memorised((5, 10), 5, 3, 1.0, 0.01, 2.0, k_max=8)
    want = bounds.log_prompt_tuning_fraction(8, 3, 10, 5, 1.0, 0.01, 2.0) / math.log(10)
    assert figure.data[1].y[-1] == pytest.approx(want)
    published_, corrected = prompt_tuning.mean_field((1, 4), 0.1, k=1, c=1.0).data
    assert published_.y[1] - corrected.y[1] == pytest.approx(4 * math.log10(9))


def test_a_threshold_of_many_digits_is_still_a_short_curve():
    figure = prompt_tuning.memorised((5,), 5, 768, 1.0, 0.333333, 10.0, k_max=10**9)
    assert len(figure.data[0].x) <= 200
    assert figure.data[0].x[-1] == 10**9
