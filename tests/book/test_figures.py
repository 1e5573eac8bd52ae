"""The site's figure script: draws, follows the theme, and keeps one failure to itself."""

import plotly.graph_objects as go
import pytest
from plotly.offline import get_plotlyjs

from accessibility_lib import figures
from tools.notebooks import ROOT

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8">
<title>Figures</title><link rel="icon" href="data:,">
<style>html {{ --pst-color-text-base: rgb(1, 2, 3); }}
html[data-theme=dark] {{ --pst-color-text-base: rgb(250, 251, 252); }}</style>
{scripts}</head><body>{body}</body></html>"""


@pytest.fixture
def page_of(tmp_path, open_page):
    def opener(*shown, plotly=True, **options):
        script = (ROOT / "book/web_static/lib/figures.js").read_text("utf-8")
        (tmp_path / "figures.js").write_text(script, "utf-8")
        (tmp_path / "plotly.min.js").write_text(get_plotlyjs(), "utf-8")
        names = ["plotly.min.js"] * plotly + ["figures.js"]
        scripts = "".join(f'<script defer src="{name}"></script>' for name in names)
        body = "".join(item.html() for item in shown)
        (tmp_path / "page.html").write_text(PAGE.format(scripts=scripts, body=body), "utf-8")
        page, watch = open_page((tmp_path / "page.html").as_uri(), **options)
        page.wait_for_function("() => !document.querySelector('.acc-figure:not([data-drawn])')")
        return page, watch

    return opener


def rising(name="rise", **layout):
    return figures.show(
        go.Figure(go.Scatter(y=[1, 2, 3]), layout), alt="A line that rises.", name=name
    )


def test_figure_is_drawn_and_follows_the_theme(page_of):
    page, watch = page_of(rising())
    assert page.locator(".acc-figure .main-svg").count() > 0
    label = page.locator(".xtick text").first
    colour = "(node) => getComputedStyle(node).fill"
    assert label.evaluate(colour) == "rgb(1, 2, 3)"
    page.evaluate("() => { document.documentElement.dataset.theme = 'dark'; }")
    page.wait_for_function(
        "() => getComputedStyle(document.querySelector('.xtick text')).fill.includes('250')"
    )
    assert watch.troubles == []


def test_one_broken_figure_leaves_the_others(page_of):
    broken = figures.Shown({"data": 3}, "Words of the broken one.", "broken")
    page, _ = page_of(broken, rising())
    assert page.locator("#figure-rise .main-svg").count() > 0
    assert "Words of the broken one." in page.locator("#figure-broken .acc-plot").inner_text()


def test_without_plotly_the_words_remain(page_of):
    page, _ = page_of(rising(), plotly=False)
    text = page.locator("#figure-rise").inner_text()
    assert "could not be drawn" in text
    assert "A line that rises." in text


def test_sliders_over_precomputed_traces_work(page_of):
    figure = go.Figure(
        [go.Scatter(y=[k, k + 1], visible=k == 0) for k in range(2)],
        {
            "sliders": [
                {
                    "steps": [
                        {
                            "label": str(k),
                            "method": "update",
                            "args": [{"visible": [k == 0, k == 1]}],
                        }
                        for k in range(2)
                    ]
                }
            ]
        },
    )
    page, watch = page_of(figures.show(figure, alt="Two lines, one at a time.", name="two"))
    visible = "() => document.querySelector('.acc-plot').data.map((trace) => trace.visible)"
    assert page.evaluate(visible) == [True, False]
    rail = page.locator(".slider-rail-touch-rect").bounding_box()
    page.mouse.click(rail["x"] + rail["width"] - 2, rail["y"] + rail["height"] / 2)
    page.wait_for_function("() => document.querySelector('.acc-plot').data[1].visible === true")
    assert watch.troubles == []


def test_figure_fits_a_phone(page_of):
    page, _ = page_of(rising(), viewport={"width": 360, "height": 700})
    assert page.evaluate("() => document.scrollingElement.scrollWidth") <= 360


def test_data_can_be_downloaded(page_of):
    page, _ = page_of(rising())
    with page.expect_download() as waiting:
        page.get_by_text("Data of this figure").click()
    assert waiting.value.suggested_filename == "figure-rise.json"


def test_nothing_offers_to_send_the_figure_away(page_of):
    page, _ = page_of(rising())
    offers = page.locator(".modebar-btn").evaluate_all("(all) => all.map((b) => b.dataset.title)")
    assert "Zoom" in offers
    assert not any("share" in offer.lower() or "cloud" in offer.lower() for offer in offers)


def test_print_is_dark_on_white_whatever_the_theme(page_of):
    page, watch = page_of(rising())
    page.evaluate("() => { document.documentElement.dataset.theme = 'dark'; }")
    ink = "() => getComputedStyle(document.querySelector('.xtick text')).fill"
    page.wait_for_function(f"() => ({ink})().includes('250')")
    page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    page.wait_for_function(f"() => ({ink})() === 'rgb(31, 35, 40)'")
    page.evaluate("() => window.dispatchEvent(new Event('afterprint'))")
    page.wait_for_function(f"() => ({ink})().includes('250')")
    assert watch.troubles == []


def test_plot_with_equal_scales_leaves_no_gap_on_a_phone(page_of):
    shown = rising(height=620, yaxis={"scaleanchor": "x", "constrain": "domain"})
    page, _ = page_of(shown, viewport={"width": 360, "height": 700})
    assert page.locator(".acc-plot").bounding_box()["height"] < 500
    page, _ = page_of(shown, viewport={"width": 900, "height": 700})
    assert page.locator(".acc-plot").bounding_box()["height"] >= 620
