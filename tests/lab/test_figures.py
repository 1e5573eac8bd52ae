"""Chapter 01 in a real JupyterLab: figures are drawn by plotly's own extension."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.lab

# Lab draws what comes near the window, so go to the cell and look.
DRAWN = """() => {{
  const panel = window.jupyterapp.shell.currentWidget.content;
  const cell = panel.widgets.find((widget) => widget.model.id === "{cell}");
  panel.scrollToCell(cell);
  return cell.node.querySelector(".js-plotly-plot .main-svg") !== null;
}}"""


def test_figures_and_tables_are_shown(open_notebook):
    notebook, watch = open_notebook("01_cell_partition.ipynb")
    notebook.run_all()
    page = notebook.page
    for cell in ("figure-cells", "figure-growth"):
        page.wait_for_function(DRAWN.format(cell=cell), timeout=180_000)
    assert page.locator(".jp-RenderedText[data-mime-type*=stderr]").count() == 0
    assert page.locator("figure.acc-figure").count() == 0  # that is the book's, not Lab's
    assert notebook.ask("print(len(found) > 3, counts[-1] >= counts[0])") == "True True"
    assert [trouble for trouble in watch.troubles if not trouble.startswith("console")] == []
