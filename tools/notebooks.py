"""Run notebooks with papermill, each only when something it depends on changed.

A notebook's key is the hash of its own bytes, the profile, requirements.txt, the Python version,
the files of `results/` and every module of the package it reaches through imports (with the data
of that module's folder).  The executed copy and its key lie in `_build/executed`; a run that fails
leaves the half-run notebook in `_build/failed`.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import nbformat
from IPython.core.inputtransformer2 import TransformerManager
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from tqdm.auto import tqdm

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
EXECUTED = BUILD / "executed"
FAILED = BUILD / "failed"
PACKAGE = "accessibility_lib"

# Data a module reads from outside its own folder.
READS = {"models": ("micro_models",)}


def digest(files: Iterable[Path], base: Path, *words: str) -> str:
    """SHA-256 over words, the files' paths (relative to ``base`` if under it) and their bytes."""
    total = hashlib.sha256("\0".join(words).encode())
    for file in files:
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        name = file.relative_to(base) if file.is_relative_to(base) else Path(file.name)
        total.update(f"\0{name.as_posix()}\0{content}".encode())
    return total.hexdigest()


def _imports(source: str) -> Iterator[str]:
    """Dotted names under the package that Python source imports, anywhere in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == PACKAGE)


def _files_of(name: str) -> list[Path]:
    """Source and data files behind a dotted name: a module, or a package with all it holds."""
    path = ROOT.joinpath(*name.split("."))
    if name == PACKAGE:
        return [path / "__init__.py"]
    if path.with_suffix(".py").exists():
        found = [path.with_suffix(".py")]
    elif path.is_dir():
        found = [file for file in path.rglob("*") if file.is_file()]
    else:
        return []  # a name inside a module, not a module
    for folder in READS.get(name.removeprefix(f"{PACKAGE}."), ()):
        found += [file for file in (ROOT / PACKAGE / folder).rglob("*") if file.is_file()]
    return [file for file in found if "__pycache__" not in file.parts]


def _imports_of_cells(notebook: Path) -> Iterator[str]:
    """What the code cells of a notebook import, IPython's own syntax allowed."""
    try:
        cells = nbformat.read(notebook, as_version=4).cells
    except nbformat.reader.NotJSONError as error:
        sys.exit(f"{notebook.name} is no notebook: {error}")
    for cell in cells:
        if cell.cell_type == "code":
            # A cell that is no Python imports nothing; its run will say so, with the cell.
            with contextlib.suppress(SyntaxError):
                yield from _imports(TransformerManager().transform_cell(cell.source))


def dependencies(notebook: Path) -> list[Path]:
    """Every file of the package that a notebook reaches through imports, sorted."""
    files: set[Path] = set()
    seen: set[str] = set()
    todo = [*_imports_of_cells(notebook)]
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        if "." in name:  # a package's own __init__ runs too
            todo.append(name.rpartition(".")[0])
        for file in _files_of(name):
            if file not in files:
                files.add(file)
                if file.suffix == ".py":
                    todo.extend(_imports(file.read_text("utf-8")))
    return sorted(files)


def key(notebook: Path, profile: str) -> str:
    """What an executed notebook depends on, as one hash."""
    results = sorted(file for file in (ROOT / "results").rglob("*") if file.is_file())
    # This file too: what it drops from an executed notebook is part of the result.
    files = [notebook, Path(__file__), ROOT / "requirements.txt", *results, *dependencies(notebook)]
    return digest(files, ROOT, profile, platform.python_version(), sys.platform)


def normalise(notebook: nbformat.NotebookNode, profile: str) -> nbformat.NotebookNode:
    """Drop what differs from run to run (times, random ids, views that need a kernel), in place.

    The cell that papermill injected leaves the page, and a last line says the profile instead.
    """
    notebook.metadata.pop("papermill", None)
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.id = "injected-parameters"
            cell.metadata["tags"].append("remove-cell")
        if "outputs" in cell:  # a progress bar is a view that needs a kernel, or stands still
            cell.outputs = [o for o in cell.outputs if not _is_bar(o)]
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
    note = f"*This page was computed with the profile `{profile}`: [how](../book/rerun.md).*"
    notebook.cells.append(nbformat.v4.new_markdown_cell(note, id="run-note"))
    return notebook


def _is_bar(output: nbformat.NotebookNode) -> bool:
    """Whether an output is tqdm's widget: a view, and as text the bar at its start."""
    data = output.get("data", {})
    return "application/vnd.jupyter.widget-view+json" in data and "it/s]" in data.get(
        "text/plain", ""
    )


def execute(notebook: Path, output: Path, profile: str) -> None:
    """Run one notebook from the repository root into ``output``.

    Raises
    ------
    papermill.PapermillExecutionError
        If a cell fails; ``output`` then holds the half-run notebook.
    """
    import papermill

    output.parent.mkdir(parents=True, exist_ok=True)
    papermill.execute_notebook(
        notebook,
        output,
        parameters={"profile": profile},
        progress_bar=False,
        cwd=ROOT,
        store_widget_state=False,
        log_output=False,
        extra_arguments=["--log-level=ERROR"],  # a kernel on a local port warns of it each time
    )
    nbformat.write(normalise(nbformat.read(output, as_version=4), profile), output)


def _kept(stamp: Path) -> str | None:
    """The key in a stamp; None where there is none or a kill cut it short."""
    try:
        return json.loads(stamp.read_text("utf-8"))["key"]
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _run(notebook: Path, profile: str, force: bool) -> str:
    """Run one notebook if its key changed; what failed, "" if nothing did."""
    import papermill

    done, stamp = EXECUTED / notebook.name, EXECUTED / f"{notebook.stem}.json"
    wanted = key(notebook, profile)
    if _kept(stamp) == wanted and done.exists() and not force:
        return ""
    half_run = FAILED / notebook.name
    start = time.monotonic()
    try:
        execute(notebook, half_run, profile)
    except papermill.PapermillExecutionError as error:
        return f"{notebook.name}, cell {error.cell_index}:\n{error}"
    except (DeadKernelError, CellTimeoutError) as error:  # out of memory, for one
        return f"{notebook.name}: {error}"
    seconds = round(time.monotonic() - start, 1)
    EXECUTED.mkdir(parents=True, exist_ok=True)
    shutil.move(half_run, done)
    stamp.write_text(json.dumps({"key": wanted, "seconds": seconds}), "utf-8")
    if not sys.stderr.isatty():
        print(f"ran {notebook.name} in {seconds} s", flush=True)
    return ""


def run_notebooks(notebooks: list[Path], profile: str, *, force: bool = False) -> None:
    """Run those whose key changed, two at a time; on failing cells print them and exit with 1."""
    run = partial(_run, profile=profile, force=force)
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        results = tqdm(
            pool.map(run, notebooks), total=len(notebooks), desc="notebooks", unit="", disable=None
        )
        failures = [problem for problem in results if problem]
    if failures:
        print("\n\n".join(failures), file=sys.stderr)
        sys.exit(f"{len(failures)} notebook(s) failed; as far as they ran: {FAILED}")
