"""Curves over kinds of targets and m: run once, read after, stopped and completed."""

from __future__ import annotations

import importlib
from dataclasses import replace
from types import SimpleNamespace

import pytest

from accessibility_lib import cli, models
from accessibility_lib.cramming import Config, Result, sweep
from accessibility_lib.errors import AccessibilityError

TEXT = (
    "Return the sum of the elements of an array along a given axis, as a new array of floats. " * 2
)


@pytest.fixture(scope="module")
def loaded():
    return models.load("micro-llama")


@pytest.mark.parametrize("growth", [None, 1])
def test_sweep_runs_once_and_reads_after(loaded, tmp_path, growth):
    config = Config(steps=20, restarts=1, growth=growth)
    options = {"count": 4, "lengths": (2, 6), "documents": TEXT}
    cells = sweep(loaded, ["natural", "random"], [1, 2], config, tmp_path, **options)
    assert [(c.kind, c.m) for c in cells] == [
        ("natural", 1), ("natural", 2), ("random", 1), ("random", 2),
    ]  # fmt: skip
    files = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "micro-llama").iterdir()}
    assert len(files) == 8  # no checkpoint is left
    again = sweep(loaded, ["natural", "random"], [1, 2], config, tmp_path, **options)
    assert [c.path for c in again] == [c.path for c in cells]
    for path in (tmp_path / "micro-llama").iterdir():
        assert path.stat().st_mtime_ns == files[path.name]
    first, second = (Result.load(cell.path) for cell in cells[:2])
    assert [o.target for o in first.outcomes] == [o.target for o in second.outcomes]
    with pytest.raises(AccessibilityError, match="of other targets"):
        sweep(loaded, ["natural"], [1], replace(config, steps=21), tmp_path, **options)


def test_a_limit_leaves_a_partial_result_that_the_same_call_completes(
    loaded, tmp_path, monkeypatch
):
    config = Config(steps=20)
    options = {"count": 4, "lengths": (6,), "documents": TEXT}
    clock = iter([0, 0, 1])  # the second curve would begin too late
    sweeping = importlib.import_module("accessibility_lib.cramming.sweep")
    with monkeypatch.context() as patch:
        patch.setattr(sweeping, "time", SimpleNamespace(monotonic=lambda: next(clock)))
        sweep(loaded, ["natural"], [1, 2], config, tmp_path / "a", limit=1e-9, **options)
    partial = Result.load(tmp_path / "a/micro-llama/natural-m1")
    assert not partial.complete
    assert not (tmp_path / "a/micro-llama/natural-m2.json").exists()
    unfinished = [o for o in partial.outcomes if o.status == "unfinished"]
    assert len(unfinished) == 4
    assert partial.counts()[2] == [0]
    (cell,) = sweep(loaded, ["natural"], [1], config, tmp_path / "a", **options)
    (whole,) = sweep(loaded, ["natural"], [1], config, tmp_path / "b", **options)
    ends = [Result.load(c.path) for c in (cell, whole)]
    assert all(end.complete for end in ends)
    assert ends[0].outcomes == ends[1].outcomes


def test_the_command_says_n50(tmp_path, capsys):
    text = tmp_path / "text.md"
    text.write_text(TEXT, encoding="utf-8")
    arguments = ["cram", "micro-llama", "--m", "1", "2", "--targets", "natural", "--steps", "20"]
    more = ["--count", "4", "--lengths", "12", "--text", str(text), "--out", str(tmp_path / "out")]
    assert cli.main([*arguments, *more]) == 0
    out = capsys.readouterr().out
    assert "natural m = 1: n50" in out
    assert "natural m = 2: n50" in out
