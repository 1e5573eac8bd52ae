"""Grids of independent tasks: on the processes of one machine or on a Dask cluster, resumed.

A task is named by the hash of all that its result depends on, and its artifact is FOLDER/HASH.json.
What is there is not computed again, so a sweep that was interrupted goes on with the same call.
Only this process writes; workers send results back, so they need no common disk.  Dask's messages
are pickles: use only a scheduler that you trust.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from accessibility_lib import artifacts
from accessibility_lib._checks import at_least
from accessibility_lib.errors import AccessibilityError

KIND, MANIFEST = "sweep-task", "sweep-manifest"
Work = Callable[["Task"], Mapping[str, Any]]


@dataclass(frozen=True)
class Task:
    """One point of a grid: everything that its result depends on.

    ``model`` and ``sha256`` of its weights; ``m`` memory vectors; ``kind`` of targets; ``seed``;
    ``precision``, the dtype the model computes in; ``settings``, plain JSON: what else the work
    takes.
    """

    model: str
    sha256: str
    m: int
    kind: str
    seed: int
    precision: str = "float32"
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The first 16 hex digits of the sha256 of the task; the name does not enter, the hash of
        the weights does.

        >>> one, other = (Task("micro-llama", "ab", m, "random", 0) for m in (1, 2))
        >>> one.key == other.key, len(one.key)
        (False, 16)
        """
        plain = {name: value for name, value in asdict(self).items() if name != "model"}
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def grid(
    models: Sequence[str],
    ms: Sequence[int],
    kinds: Sequence[str],
    seeds: Sequence[int] = (0,),
    precisions: Sequence[str] = ("float32",),
    settings: Mapping[str, Any] | None = None,
) -> list[Task]:
    """Every combination, as tasks without duplicates; each model is loaded once for its hash.

    Raises :class:`AccessibilityError` for unknown models, m below 1 and an empty grid.

    >>> [task.m for task in grid(["micro-llama"], [1, 2], ["random"])]
    [1, 2]
    """
    from accessibility_lib.models import load

    hashes = {name: load(name).sha256 for name in models}
    tasks = {}
    for name, m, kind, seed, precision in itertools.product(models, ms, kinds, seeds, precisions):
        m, seed = at_least("m", m, 1), at_least("seed", seed, 0)
        task = Task(name, hashes[name], m, kind, seed, precision, dict(settings or {}))
        tasks[task.key] = task
    if not tasks:
        raise AccessibilityError(
            "the grid is empty; give at least one model, m, kind, seed and precision."
        )
    return list(tasks.values())


def cram(task: Task) -> dict[str, Any]:
    """The work of a cramming sweep: how long a target the memory vectors of ``task`` reach.

    ``task.settings``: ``count`` targets, of ``length`` tokens, and fields of
    :class:`accessibility_lib.cramming.Config`.  Returns ``reached`` tokens of each target
    (teacher-forced), ``targets``, n50 and its interval, ``low`` to ``high``, None where not finite.
    Computes on the first GPU that the worker sees, if it sees one.
    """
    import numpy as np
    import torch

    from accessibility_lib import cramming, models, targets
    from accessibility_lib.cramming.sweep import curve

    settings = dict(task.settings)
    count, length = settings.pop("count", 16), settings.pop("length", 64)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    loaded = models.load(task.model, dtype=task.precision, device=device)
    if loaded.sha256 != task.sha256:
        raise AccessibilityError(
            f"{task.model} has sha256 {loaded.sha256[:12]} on this worker and {task.sha256[:12]} "
            "in the sweep; give every worker the same weights."
        )
    draw = np.random.default_rng([task.seed, targets.KINDS.index(task.kind)])
    rows = targets.make(task.kind, loaded, length, count, draw).tolist()
    generator = torch.Generator().manual_seed(task.seed)
    config = cramming.Config(**settings)
    result = cramming.cram(loaded, rows, task.m, config, generator, progress=False)
    found = curve(result)
    return {
        "reached": [outcome.reached for outcome in result.outcomes],
        "targets": rows,
        **{
            name: value if math.isfinite(value) else None
            for name, value in (("n50", found.n50), ("low", found.low), ("high", found.high))
        },
    }


def run(
    tasks: Sequence[Task],
    out: str | Path,
    work: Work = cram,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    progress: bool | None = None,
) -> dict[str, Any]:
    """The result of every task, by key; those stored in ``out`` already are read, not computed.

    ``work``: a function of a task, importable on the workers, that returns plain JSON.  ``jobs``:
    processes on this machine.  ``scheduler``: the address of a Dask scheduler instead, whose
    workers have this package; a worker that dies loses only the task it was at, which another one
    takes.  One that should use one GPU is started with its own ``CUDA_VISIBLE_DEVICES``.

    Raises :class:`AccessibilityError` for a stored result that was changed, a scheduler that does
    not answer, and, after all others have finished and are stored, for tasks that failed.
    """
    jobs, out = at_least("jobs", jobs, 1), Path(out)
    wanted = {task.key: task for task in tasks}
    known = {row["key"]: row["task"] for row in manifest(out)}
    new = {key: asdict(task) for key, task in wanted.items() if key not in known}
    if new or not known:
        artifacts.save(out / "manifest", MANIFEST, {**known, **new})
    left = [task for key, task in wanted.items() if not _file(out, key).is_file()]
    failed: dict[str, str] = {}
    bar = tqdm(
        total=len(wanted), initial=len(wanted) - len(left), desc="tasks",
        disable=None if progress is None else not progress,
    )  # fmt: skip
    with bar:
        for task, data, seconds, problem in _compute(work, left, jobs, scheduler):
            if not problem:
                try:
                    artifacts.save(
                        _file(out, task.key), KIND, data, model=task.model, sha256=task.sha256,
                        config=task, seed=task.seed, seconds=seconds,
                    )  # fmt: skip
                except AccessibilityError as error:  # not JSON: this task's fault alone
                    problem = str(error)
            if problem:
                failed[task.key] = problem
            bar.update()
    if failed:
        key, problem = next(iter(failed.items()))
        raise AccessibilityError(
            f"{len(failed)} of {len(wanted)} tasks failed, {key} with {problem}; the others are "
            f"stored in {out}, and the same call tries these again."
        )
    return {key: artifacts.load(_file(out, key), KIND).data for key in wanted}


def manifest(out: str | Path) -> list[dict[str, Any]]:
    """Every task that was ever asked of the folder: ``key``, ``task`` and whether it is ``done``.

    >>> manifest("no-such-folder")
    []
    """
    path = Path(out) / "manifest.json"
    if not path.is_file():
        return []
    asked = artifacts.load(path, MANIFEST).data
    return [
        {"key": key, "task": task, "done": _file(out, key).is_file()} for key, task in asked.items()
    ]


def _file(out: str | Path, key: str) -> Path:
    return Path(out) / f"{key}.json"


def _one(work: Work, task: Task) -> tuple[Task, Any, float, str]:
    """One task where it runs; an error comes back in words, so that the others go on."""
    started = time.monotonic()
    try:
        data = dict(work(task))
    except Exception as error:  # whatever the work may raise
        return task, None, 0.0, f"{type(error).__name__}: {error}"
    return task, data, time.monotonic() - started, ""


def _compute(
    work: Work, tasks: Sequence[Task], jobs: int, scheduler: str | None
) -> Iterator[tuple[Task, Any, float, str]]:
    """Results as they come."""
    import joblib

    if not tasks:
        return
    with _where(scheduler):
        parallel = joblib.Parallel(
            n_jobs=-1 if scheduler else jobs, batch_size=1, return_as="generator_unordered"
        )
        yield from parallel(joblib.delayed(_one)(work, task) for task in tasks)


@contextmanager
def _where(scheduler: str | None) -> Iterator[None]:
    """Within the block joblib's tasks go to the scheduler, if there is one."""
    if scheduler is None:
        yield
        return
    import joblib
    from distributed import Client

    try:
        client = Client(scheduler, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise AccessibilityError(
            f"no Dask scheduler answers at {scheduler} ({error}); start one with `dask scheduler` "
            "and give the address it prints."
        ) from None
    with client, joblib.parallel_config(backend="dask", client=client):
        yield
