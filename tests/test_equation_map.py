"""The equation map names only what exists, uses what it names, and misses no stated result."""

import ast
import importlib
import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
MAP = (ROOT / "book" / "equation_map.md").read_text(encoding="utf-8")
THEORY = (ROOT / "book" / "theory.md").read_text(encoding="utf-8")
NUMBERED = ("definition-4-1", "theorem-4-5", "corollary-4-6", "theorem-4-9", "corollary-4-10")


def rows():
    """[result, functions, tests, chapters] of each entry."""
    entries = re.findall(r"^(\[.+)\n((?:: .+\n)+)", MAP, flags=re.MULTILINE)
    found = []
    for result, lines in entries:
        parts = dict(line.removeprefix(": ").split(": ", 1) for line in lines.splitlines())
        found.append([result, *(parts.get(key, "") for key in ("function", "test", "chapter"))])
    return found


def code(text):
    return re.findall(r"`([^`]+)`", text)


def resolve(dotted):
    """The object behind ``module.name`` or ``module.Class.name``."""
    module, *names = dotted.split(".")
    found = importlib.import_module(f"accessibility_lib.{module}")
    for name in names:
        found = getattr(found, name)
    return found


def test_every_entry_has_its_four_parts():
    assert len(rows()) >= 19
    for row in rows():
        assert all(row)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_the_functions_exist_and_are_documented(row):
    assert code(row[1])
    for name in code(row[1]):
        assert resolve(name).__doc__


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_the_tests_exist(row):
    assert code(row[2])
    for name in code(row[2]):
        file, function = name.split("::")
        tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert function in defined, name


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_the_chapters_exist(row):
    links = re.findall(r"\]\(\.\./(notebooks/[^)]+)\)", row[3])
    assert links
    for link in links:
        nbformat.validate(nbformat.read(ROOT / link, as_version=4))


def test_no_result_of_the_theory_page_is_missing():
    stated = re.findall(r"^\(([a-z0-9-]+)\)=$", THEORY, flags=re.MULTILINE)
    mapped = [re.search(r"\]\(([a-z0-9-]+)\)", row[0]).group(1) for row in rows()]
    assert len(stated) == len(set(stated))
    assert sorted(mapped) == sorted(stated)
    assert set(NUMBERED) <= set(stated)


def test_the_theory_page_names_real_functions():
    names = [name for name in code(THEORY) if re.fullmatch(r"[a-z0-9_]+\.[\w.]+", name)]
    assert len(names) >= 25
    for name in names:
        assert resolve(name).__doc__
