"""Table 1 for our own models follows from stored results, and from nothing else."""

from __future__ import annotations

import csv

import pytest
import torch

from accessibility_lib import cli, predict, tightness
from accessibility_lib.cramming import Config, Result
from accessibility_lib.cramming.config import Outcome


def keep(folder, m, reached, complete=True, where="cramming/micro-llama", **note):
    """A result in which memories of m vectors reach so many tokens of targets of 200."""
    outcomes = tuple(
        Outcome((5,) * 200, m, n, "not reached", 1, 9, 0.1, 0.5) for n in reached for _ in range(2)
    )
    memory = torch.zeros(len(outcomes), m, 128)
    Result(
        outcomes, memory, Config(), "micro-llama", "ab", 1.0, complete,
        {"kind": "random", "seed": 0, **note},
    ).save(folder / f"{where}/random-m{m}")  # fmt: skip


@pytest.fixture
def results(tmp_path):
    for m in (1, 2, 4):  # ten tokens for each vector
        keep(tmp_path, m, range(10 * m - 3, 10 * m + 4))
    return tmp_path


def test_rows_are_theory_over_the_measured_slope(results):
    ((model, kind, line),) = tightness.measured(results)
    assert (model, kind) == ("micro-llama", "random")
    assert line.slope == pytest.approx(10, abs=0.7)
    rows = {row["support"]: row for row in tightness.rows(results)}
    theory = predict.predict("micro-llama", results=results)["supports"][0]["slope"]
    row = rows["norm ellipsoid"]
    assert row["theory"] == theory
    assert row["ratio"] == pytest.approx(theory / line.slope)
    assert row["ratio_low"] < row["ratio"] < row["ratio_high"]
    assert rows["representable numbers"]["theory"] > 0


def test_the_table_has_a_row_for_each_support_and_a_column_for_each_kind(results):
    names, table = tightness.columns(tightness.rows(results))
    assert names == ["support", "from", "micro-llama, random"]
    assert table[0][:2] == ["norm ellipsoid", "weights"]
    assert float(table[0][2].split()[0]) == round(tightness.rows(results)[0]["ratio"], 1)


def test_a_changed_result_changes_the_table(results):
    before = tightness.rows(results)[0]["ratio"]
    for m in (1, 2, 4):
        keep(results, m, range(20 * m - 3, 20 * m + 4))
    assert tightness.rows(results)[0]["ratio"] == pytest.approx(before / 2, rel=0.1)


def test_partial_results_do_not_count(results):
    keep(results, 4, [200], complete=False)
    keep(results, 2, [200], complete=False)
    assert list(tightness.measured(results)) == []


def test_other_settings_and_other_folders_do_not_count(results):
    before = list(tightness.measured(results))
    keep(results, 2, [200], where="cramming/zoo", setting="few steps")
    keep(results, 2, [200], where="scaling/micro-llama")
    assert list(tightness.measured(results)) == before


def test_the_command_writes_the_csv(results, capsys):
    assert cli.main(["results", "table-1", str(results)]) == 0
    with (results / "table_1.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["ratio"]) == tightness.rows(results)[0]["ratio"]
    (results / "cramming").rename(results.parent / "elsewhere")
    assert cli.main(["results", "table-1", str(results)]) == 2
    assert "accessibility cram MODEL" in capsys.readouterr().err
