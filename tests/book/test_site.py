"""Every page of the finished site, in a browser with the network blocked."""

from __future__ import annotations

import json

import pytest

from tests.conftest import serve
from tools import build_book, check_site
from tools.notebooks import BUILD

pytestmark = pytest.mark.browser

HTML = BUILD / "html"
PAGES = build_book.toc_pages()
SERIOUS = {"serious", "critical"}


@pytest.fixture(scope="module")
def site():
    assert HTML.exists(), "no site to look at: run `make book` first"
    with serve(HTML) as address:
        yield address


def address_of(page: str, how: str, site: str) -> str:
    return f"{site}/{page}.html" if how == "http" else (HTML / f"{page}.html").as_uri()


def test_every_page_is_there_with_text():
    assert check_site.missing_or_empty(HTML, PAGES) == []


def test_every_link_and_anchor_resolves():
    assert check_site.broken_links(HTML) == []


def test_site_is_small():
    assert check_site.size_in_bytes(HTML) < 25e6
    assert [p for p in PAGES if (HTML / f"{p}.html").stat().st_size > 3e6] == []


@pytest.mark.parametrize("how", ["http", "file"])
@pytest.mark.parametrize("page", PAGES)
def test_page_is_quiet_and_whole(page, how, site, open_page):
    opened, watch = open_page(address_of(page, how, site))
    opened.wait_for_load_state("networkidle")
    # Every figure has been drawn, and none is an empty frame.
    figures = opened.locator(".acc-figure:not([data-drawn])")
    opened.wait_for_function("() => !document.querySelector('.acc-figure:not([data-drawn])')")
    assert figures.count() == 0
    assert watch.troubles == []


@pytest.mark.parametrize("page", PAGES)
def test_page_fits_a_phone(page, site, open_page):
    opened, _ = open_page(address_of(page, "http", site), viewport={"width": 360, "height": 740})
    opened.wait_for_load_state("networkidle")
    wide = opened.evaluate(
        """() => {
          const width = document.documentElement.clientWidth;
          const scrolled = (node) => node.closest('[style*=overflow], pre, table, .math,'
            + ' mjx-container, .acc-table, .bd-sidebar-primary, .bd-sidebar-secondary, dialog');
          return {page: document.scrollingElement.scrollWidth - width,
                  out: [...document.querySelectorAll('article *')]
                    .filter((n) => n.getBoundingClientRect().right > width + 1 && !scrolled(n))
                    .slice(0, 5).map((n) => n.outerHTML.slice(0, 120))};
        }"""
    )
    assert wide == {"page": 0, "out": []}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_page_is_accessible(page, theme, site, open_page):
    from axe_playwright_python.sync_playwright import Axe

    opened, _ = open_page(address_of(page, "http", site), color_scheme=theme)
    opened.evaluate("(t) => { document.documentElement.dataset.theme = t; }", theme)
    opened.wait_for_load_state("networkidle")
    found = Axe().run(opened).response["violations"]
    serious = [
        (item["id"], node["html"][:160], node["failureSummary"][:200])
        for item in found
        if item["impact"] in SERIOUS
        for node in item["nodes"]
    ]
    assert serious == []


def test_every_picture_has_words(site, open_page):
    silent = {}
    for page in PAGES:
        opened, _ = open_page(address_of(page, "http", site))
        found = opened.evaluate(
            """() => [...document.querySelectorAll('article img:not([alt]), article img[alt=""],'
              + ' .acc-figure:not([aria-label])')].map((node) => node.outerHTML.slice(0, 120))"""
        )
        if found:
            silent[page] = found
    assert silent == {}, json.dumps(silent, indent=1)
