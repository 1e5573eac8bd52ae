"""The builder: what reruns, what a failing cell leaves behind, what an empty page is called."""

from pathlib import Path

import nbformat
import pytest

from tools import build_book, check_site, chromium, notebooks
from tools.notebooks import ROOT


def notebook_with(tmp_path: Path, *code: str) -> Path:
    cells = [
        nbformat.v4.new_code_cell('profile = "book"', id="p", metadata={"tags": ["parameters"]})
    ]
    cells += [nbformat.v4.new_code_cell(source, id=f"c{i}") for i, source in enumerate(code)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path = tmp_path / "chapter.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), path)
    return path


def test_dependencies_follow_imports_and_nothing_else(tmp_path):
    path = notebook_with(tmp_path, "from accessibility_lib import bounds")
    names = {file.relative_to(ROOT).as_posix() for file in notebooks.dependencies(path)}
    assert "accessibility_lib/bounds.py" in names
    assert "accessibility_lib/errors.py" in names  # bounds imports it
    assert "accessibility_lib/cli.py" not in names
    assert not any("micro_models" in name for name in names)


def test_dependencies_of_an_explorer_hold_its_script(tmp_path):
    path = notebook_with(tmp_path, "from accessibility_lib.widgets import bound_explorer")
    names = {file.relative_to(ROOT).as_posix() for file in notebooks.dependencies(path)}
    assert any(name.endswith(".js") for name in names)


def test_dependencies_of_models_hold_the_weights(tmp_path):
    path = notebook_with(tmp_path, "from accessibility_lib import models")
    names = {file.relative_to(ROOT).as_posix() for file in notebooks.dependencies(path)}
    assert "accessibility_lib/micro_models/micro-llama/model.safetensors" in names


def test_key_changes_with_profile_text_and_requirements(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    (tmp_path / "requirements.txt").write_text("numpy==1\n")
    path = notebook_with(tmp_path, "1 + 1")
    first = notebooks.key(path, "smoke")
    assert notebooks.key(path, "smoke") == first
    assert notebooks.key(path, "book") != first
    (tmp_path / "requirements.txt").write_text("numpy==2\n")
    second = notebooks.key(path, "smoke")
    assert second != first
    notebook_with(tmp_path, "1 + 2")
    assert notebooks.key(path, "smoke") != second


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.setattr(notebooks, "EXECUTED", tmp_path / "executed")
    monkeypatch.setattr(notebooks, "FAILED", tmp_path / "failed")
    return tmp_path


def test_failing_cell_stops_the_build_and_keeps_what_ran(folders, capsys):
    path = notebook_with(folders, "print('so far')", "raise ValueError('the reason')", "print(2)")
    with pytest.raises(SystemExit, match="1 notebook"):
        notebooks.run_notebooks([path], "smoke")
    message = capsys.readouterr().err
    assert "chapter.ipynb, cell" in message
    assert "the reason" in message
    half = nbformat.read(folders / "failed" / "chapter.ipynb", as_version=4)
    assert any("so far" in out.get("text", "") for c in half.cells for out in c.get("outputs", []))
    assert not (folders / "executed" / "chapter.ipynb").exists()


def test_a_cell_that_is_no_python_fails_with_its_place(folders, capsys):
    path = notebook_with(
        folders, "print('so far')", "for in", "from accessibility_lib import bounds"
    )
    assert any(file.name == "bounds.py" for file in notebooks.dependencies(path))
    with pytest.raises(SystemExit, match="1 notebook"):
        notebooks.run_notebooks([path], "smoke")
    message = capsys.readouterr().err
    assert "chapter.ipynb, cell" in message
    assert "SyntaxError" in message


def test_a_kernel_that_dies_is_reported_and_the_next_notebook_runs(folders, capsys):
    path = notebook_with(folders, "import os; os._exit(1)")
    path = path.rename(folders / "dies.ipynb")
    with pytest.raises(SystemExit, match="1 notebook"):
        notebooks.run_notebooks([path, notebook_with(folders, "1")], "smoke")
    assert "dies.ipynb" in capsys.readouterr().err
    assert (folders / "executed" / "chapter.ipynb").exists()


def test_a_file_that_is_no_notebook_is_named(tmp_path):
    (tmp_path / "broken.ipynb").write_text("{")
    with pytest.raises(SystemExit, match=r"broken.ipynb is no notebook"):
        notebooks.run_notebooks([tmp_path / "broken.ipynb"], "smoke")


def test_ipython_syntax_hides_no_import(tmp_path):
    path = notebook_with(
        tmp_path, "%matplotlib inline\nfiles = !ls", "%%bash\nls -l | cat", "if 1:\n    !ls",
        "from accessibility_lib import bounds",
    )  # fmt: skip
    assert any(file.name == "bounds.py" for file in notebooks.dependencies(path))


@pytest.mark.parametrize("left", ["", '{"key": "ab', "[]", "3"])
def test_a_stamp_cut_short_means_run_again(folders, left):
    path = notebook_with(folders, "print(profile)")
    notebooks.run_notebooks([path], "smoke")
    stamp = folders / "executed" / "chapter.json"
    stamp.write_text(left)
    notebooks.run_notebooks([path], "smoke")
    assert notebooks.key(path, "smoke") in stamp.read_text()


def test_a_progress_bar_leaves_nothing_on_the_page(folders):
    path = notebook_with(folders, "from tqdm.auto import tqdm\nfor k in tqdm([1]):\n    print(k)")
    notebooks.run_notebooks([path], "smoke")
    done = nbformat.read(folders / "executed" / "chapter.ipynb", as_version=4)
    (cell,) = (cell for cell in done.cells if "tqdm" in cell.source)
    assert [output.get("text") for output in cell.outputs] == ["1\n"]


def test_unchanged_notebook_runs_once_and_two_runs_are_identical(folders):
    path = notebook_with(folders, "print(profile)")
    done = folders / "executed" / "chapter.ipynb"
    notebooks.run_notebooks([path], "smoke")
    first, stamp = done.read_bytes(), done.stat().st_mtime_ns
    assert b"smoke" in first
    notebooks.run_notebooks([path], "smoke")
    assert done.stat().st_mtime_ns == stamp
    notebooks.run_notebooks([path], "smoke", force=True)
    assert done.stat().st_mtime_ns != stamp
    assert done.read_bytes() == first


def test_every_notebook_is_in_the_contents():
    pages = build_book.toc_pages()
    assert len(set(pages)) == len(pages)
    assert build_book.chapters(pages)


def test_missing_and_empty_pages_are_named(tmp_path):
    (tmp_path / "empty.html").write_text("<article><h1>Title</h1></article>")
    (tmp_path / "good.html").write_text(f"<article>{'word ' * 200}</article>")
    problems = check_site.missing_or_empty(tmp_path, ["empty", "good", "absent"])
    assert [problem.split(":")[0] for problem in problems] == ["empty", "absent"]


def test_broken_links_and_external_loads_are_named(tmp_path):
    (tmp_path / "a.html").write_text('<p id="x"></p><a href="#x">1</a><a href="b.html#y">2</a>')
    (tmp_path / "b.html").write_text(
        '<a href="a.html#x">3</a><a href="c.html">4</a><script src="https://example.org/s.js"></script>'
        '<a href="https://example.org">5</a>'
    )
    assert check_site.broken_links(tmp_path) == [
        "a.html: b.html#y has no such anchor",
        "b.html: c.html leads nowhere",
        "b.html: loads https://example.org/s.js",
    ]


def test_no_browser_is_a_clear_failure(monkeypatch):
    monkeypatch.setattr(chromium, "_candidates", lambda: iter([None, ""]))
    with pytest.raises(RuntimeError, match="set CHROMIUM"):
        chromium.find()
    ran = []
    monkeypatch.setattr(
        chromium.subprocess,
        "run",
        lambda command, **_: (
            ran.append(command) or chromium.subprocess.CompletedProcess(command, 1)
        ),
    )
    with pytest.raises(RuntimeError, match=r"playwright install chromium.*exit 1"):
        chromium.ensure()
    assert ran
