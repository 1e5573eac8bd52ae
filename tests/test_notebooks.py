"""House rules of the notebooks that a program can see."""

import nbformat
import pytest
from papermill.inspection import inspect_notebook

from tools.notebooks import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_keeps_the_rules(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code), "outputs kept in git"
    assert all(cell.source.count("\n") < 25 for cell in code), "long code belongs in the library"
    assert notebook.cells[0].cell_type == "markdown"
    assert notebook.cells[0].source.startswith("# ")
    assert "parameters" in notebook.cells[1].metadata.get("tags", [])
    assert "profile: str = " in notebook.cells[1].source
    suppressed = {"raises-exception", "skip-execution", "nbval-skip", "remove-stderr"}
    assert not any(suppressed & {*cell.metadata.get("tags", [])} for cell in code)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_papermill_explains_each_parameter(path):
    parameters = inspect_notebook(str(path))
    assert "profile" in parameters
    assert all(item["help"] for item in parameters.values()), parameters
    assert all(item["inferred_type_name"] != "None" for item in parameters.values()), parameters
