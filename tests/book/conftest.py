"""A page with explorers on it and nothing else, as the book would hold them."""

from __future__ import annotations

import pytest
from plotly.offline import get_plotlyjs

from tests.conftest import serve

PAGE = """<!doctype html>
<html lang="en" data-theme="{theme}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,"><title>Explorers</title>{script}
<style>html[data-theme=dark] {{ background: #14181e; color: #d8dee6; }}</style></head>
<body><main id="main-content"><h1>Explorers</h1>{body}</main></body></html>
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A served folder that holds Plotly's script."""
    path = tmp_path_factory.mktemp("page")
    (path / "plotly.min.js").write_text(get_plotlyjs(), "utf-8")
    return path


@pytest.fixture(scope="session")
def address(folder):
    with serve(folder) as url:
        yield url


@pytest.fixture
def show(folder, address, open_page):
    """``show(explorers, how="http")`` -> (page, Watch), with every figure drawn."""

    def opener(*explorers, how="http", plotly=True, theme="light", **options):
        script = '<script defer src="plotly.min.js"></script>' if plotly else ""
        body = "\n".join(explorer.html() for explorer in explorers)
        file = folder / "page.html"
        file.write_text(PAGE.format(theme=theme, script=script, body=body), "utf-8")
        url = f"{address}/page.html" if how == "http" else file.as_uri()
        page, watch = open_page(url, **options)
        if plotly:
            page.wait_for_function(
                "(n) => document.querySelectorAll('.acc-chart[data-drawn]').length === n",
                arg=len(explorers),
            )
        return page, watch

    return opener
