"""Chapter 02 in a real JupyterLab: the explorer and the kernel hold the same numbers."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.lab


def test_slider_and_kernel_follow_each_other(open_notebook):
    notebook, watch = open_notebook("02_bounds.ipynb")
    notebook.run_all()
    page = notebook.page
    page.locator(".jp-OutputArea .acc-chart[data-drawn]").first.wait_for(timeout=120_000)
    assert page.locator(".jp-RenderedText[data-mime-type*=stderr]").count() == 0
    assert notebook.ask("print(explorer.d, explorer.preset)") == "2048 pythia-1b"

    slider = page.locator(".acc-explorer input[type=range][id$='-d']").first
    slider.focus()
    page.keyboard.press("ArrowLeft")
    exact = page.get_by_label("d: exact value", exact=True).first
    assert exact.input_value() == "1920"
    assert notebook.answers("print(explorer.d, repr(explorer.preset))", "1920 ''")
    python = float(notebook.ask("print(repr(explorer.result['threshold']))"))
    shown = page.locator("[data-quantity=threshold]").first
    assert float(shown.get_attribute("data-value")) == pytest.approx(python, rel=1e-9)

    # A number typed to the last digit arrives exactly, a bad one as the page put it right.
    radius = page.get_by_label("r: exact value", exact=True).first
    radius.fill("12.3456789")
    radius.press("Enter")
    assert notebook.answers("print(explorer.r)", "12.3456789")
    radius.fill("-3")
    radius.press("Enter")
    assert notebook.answers("print(explorer.r)", "1e-09")

    # And back: what Python sets, the page shows.
    notebook.ask("explorer.preset = 'gemma-3-270m'")
    page.wait_for_function(
        "() => document.querySelector('.acc-explorer input[type=range][id$=\"-d\"]')"
        ".getAttribute('aria-valuetext') === '640'"
    )
    refused = notebook.ask("explorer.vocab = 1")
    assert "from 2 to" in refused
    assert exact.input_value() == "640"
    assert [trouble for trouble in watch.troubles if not trouble.startswith("console")] == []
