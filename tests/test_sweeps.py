"""Sweeps: every task once, whatever runs them, and nothing computed twice."""

from __future__ import annotations

import json
import os
import signal
import threading
import time

import numpy as np
import pytest

from accessibility_lib import artifacts, cli, sweeps
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.sweeps import Task


def cheap(task: Task) -> dict:
    """Some arithmetic, slow enough to be interrupted."""
    time.sleep(task.settings.get("sleep", 0))
    draw = np.random.default_rng([task.seed, task.m])
    return {"mean": float(draw.normal(size=100).mean()), "m": task.m}


def picky(task: Task) -> dict:
    if task.m == 2 and not os.environ.get("MENDED"):
        raise RuntimeError("out of memory")
    return {"m": task.m if task.m < 9 else float("nan")}


def tasks(ms=range(1, 9), seeds=range(8), **settings):
    return [Task("a-model", "ab", m, "random", s, "float32", settings) for m in ms for s in seeds]


def test_the_key_changes_with_all_that_matters_and_not_with_the_name():
    base = {"model": "a", "sha256": "ab", "m": 1, "kind": "random", "seed": 0}
    changes = [
        {}, {"sha256": "cd"}, {"m": 2}, {"kind": "natural"}, {"seed": 1},
        {"precision": "bfloat16"}, {"settings": {"steps": 3}},
    ]  # fmt: skip
    assert len({Task(**{**base, **change}).key for change in changes}) == len(changes)
    assert Task(**{**base, "model": "b"}).key == Task(**base).key


def test_nothing_is_computed_twice(tmp_path):
    calls = []

    def counted(task):
        calls.append(task.key)
        return cheap(task)

    some = tasks(range(1, 3), range(2))
    first = sweeps.run(some[:3], tmp_path, counted)
    rows = sweeps.manifest(tmp_path)
    assert [row["done"] for row in rows] == [True] * 3
    both = sweeps.run(some + some, tmp_path, counted)
    assert sorted(calls) == sorted(task.key for task in some)
    assert first.items() <= both.items()
    assert list(both) == [task.key for task in some]
    (tmp_path / f"{some[0].key}.json").unlink()
    assert [row["done"] for row in sweeps.manifest(tmp_path)] == [False, True, True, True]
    assert sweeps.run(some, tmp_path, counted) == both
    assert len(calls) == 5
    assert all(text == "" for _, text in artifacts.verify(tmp_path))


def test_failures_leave_the_others_and_are_tried_again(tmp_path, monkeypatch):
    some = tasks(range(1, 4), [0])
    with pytest.raises(AccessibilityError, match=r"1 of 3 tasks failed.*RuntimeError: out of mem"):
        sweeps.run(some, tmp_path, picky)
    assert [row["done"] for row in sweeps.manifest(tmp_path)] == [True, False, True]
    monkeypatch.setenv("MENDED", "1")
    assert [each["m"] for each in sweeps.run(some, tmp_path, picky).values()] == [1, 2, 3]


def test_a_result_that_is_not_json_is_one_failure(tmp_path):
    with pytest.raises(AccessibilityError, match=r"1 of 2 tasks failed.*None in place of NaN"):
        sweeps.run(tasks([9, 1], [0]), tmp_path, picky)
    assert [row["done"] for row in sweeps.manifest(tmp_path)] == [False, True]


def test_processes_agree_with_serial(tmp_path):
    some = tasks(range(1, 3), range(4))
    serial = sweeps.run(some, tmp_path / "one", cheap)
    assert sweeps.run(some, tmp_path / "two", cheap, jobs=2) == serial


def test_two_dask_workers_of_which_one_is_killed(tmp_path):
    from distributed import Client, LocalCluster

    serial = sweeps.run(tasks(sleep=0.05), tmp_path / "serial", lambda task: cheap(plain(task)))
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL"
    )
    with cluster, Client(cluster) as client:
        victim = sorted(client.run(os.getpid).values())[0]
        done = tmp_path / "dask"
        killed_at = []

        def kill_half_way():
            while len(list(done.glob("*.json"))) < 20:
                time.sleep(0.02)
            os.kill(victim, signal.SIGKILL)
            killed_at.append(len(list(done.glob("*.json"))))

        killer = threading.Thread(target=kill_half_way)
        killer.start()
        found = sweeps.run(tasks(sleep=0.05), done, cheap, scheduler=cluster.scheduler_address)
        killer.join()
    assert killed_at[0] < 60  # there was work left
    assert found == serial
    assert len(found) == len(list(done.glob("*.json"))) - 1 == 64
    assert all(row["done"] for row in sweeps.manifest(done))
    assert all(text == "" for _, text in artifacts.verify(done))


def plain(task):
    return Task(task.model, task.sha256, task.m, task.kind, task.seed)


def test_no_scheduler_is_said(tmp_path):
    with pytest.raises(AccessibilityError, match="no Dask scheduler answers at nonsense"):
        sweeps.run(tasks(), tmp_path, cheap, scheduler="nonsense://1")


def test_a_cramming_sweep_by_command(tmp_path, capsys):
    command = ["sweep", "micro-llama", "--m", "1", "2", "--targets", "random", "--seeds", "0"]
    command += ["--count", "2", "--length", "6", "--steps", "4", "--out", str(tmp_path)]
    assert cli.main(command) == 0
    text = capsys.readouterr().out
    assert "2 of 2 tasks done" in text
    rows = sweeps.manifest(tmp_path)
    assert [row["task"]["m"] for row in rows] == [1, 2]
    stored = json.loads((tmp_path / f"{rows[0]['key']}.json").read_text())
    assert stored["provenance"]["config"]["settings"] == {"count": 2, "length": 6, "steps": 4}
    assert len(stored["data"]["reached"]) == 2
    with pytest.raises(AccessibilityError, match="give every worker the same weights"):
        sweeps.cram(Task("micro-llama", "ab", 1, "random", 0))
    assert cli.main(["sweep", "micro-llama", "--m", "0", "--out", str(tmp_path)]) == 2
