"""The bound explorer in a static page, with the network blocked: a browser against Python."""

from __future__ import annotations

import numpy as np
import pytest

from accessibility_lib.widgets.bound_explorer import FIELDS, PRESETS, BoundExplorer, compute
from accessibility_lib.widgets.bound_explorer.fields import OF_PRESET
from accessibility_lib.widgets.host import Scale
from tests.book.test_explorer_module import CHOICES, EDGES, random_settings
from tests.conftest import serve
from tools.notebooks import BUILD

pytestmark = pytest.mark.browser

SCALES = [key for key, field in FIELDS.items() if isinstance(field, Scale)]
SHOWN = [key for key in SCALES if not FIELDS[key].when or FIELDS[key].when[1][0] in ("ball", "eps")]


# Below, ``page`` may also be one explorer of a page.
def quantities(page) -> dict[str, float | None]:
    return page.locator("[data-quantity]").evaluate_all(
        "(nodes) => Object.fromEntries(nodes.map((node) =>"
        " [node.dataset.quantity, JSON.parse(node.dataset.value)]))"
    )


def settings_shown(page) -> dict:
    """What the controls say, of the first explorer of the page."""
    shown = {
        key: (int if FIELDS[key].whole else float)(number(page, key).input_value())
        for key in SCALES
    }
    for key in CHOICES:
        shown[key] = page.locator(f"select[id$='-{key}']").input_value()
    return shown


def number(page, key):
    return page.get_by_label(f"{FIELDS[key].label}: exact value", exact=True)


def slider(page, key):
    return page.locator(f"input[type=range][id$='-{key}']")


def type_in(page, key, value) -> None:
    number(page, key).fill(str(value))
    number(page, key).press("Enter")


def note_of(page, key) -> str:
    return page.locator(f"[id$='-{key}-note']").inner_text()


def drawn(page, action, redraws=True) -> None:
    """Do something and, if it changes the figure, wait until that is drawn."""
    before = page.locator(".acc-chart").get_attribute("data-drawn")
    action()
    if redraws:
        page.wait_for_function(
            "(n) => document.querySelector('.acc-chart').dataset.drawn !== n", arg=before
        )


def check_against_python(page) -> None:
    expected = compute(settings_shown(page))
    shown = quantities(page)
    assert len(shown) == 7
    for key, value in shown.items():
        if value is None:  # no ε where representable numbers are counted
            assert expected[key] is None
        else:
            assert value == pytest.approx(expected[key], rel=1e-9), key


@pytest.mark.parametrize("how", ["http", "file"])
def test_keyboard_and_mouse_on_every_slider(show, how):
    page, watch = show(BoundExplorer(preset="pythia-160m", m=5, hard=True), how=how)
    for key in SHOWN:
        before = settings_shown(page)
        slider(page, key).focus()
        page.keyboard.press("ArrowRight")
        moved = settings_shown(page)
        assert moved[key] > before[key]
        assert {k for k in SCALES if moved[k] != before[k]} == {key}
        check_against_python(page)

        box = slider(page, key).bounding_box()
        slider(page, key).click(position={"x": 0.9 * box["width"], "y": box["height"] / 2})
        clicked = settings_shown(page)
        assert clicked[key] in FIELDS[key].stops
        assert clicked[key] != moved[key]
        check_against_python(page)
    assert watch.troubles == []


def test_typed_values_are_taken_exactly_over_a_grid(show):
    page, watch = show(BoundExplorer())
    for settings in [*random_settings(8, np.random.default_rng(11)), *EDGES]:
        for key in settings:
            type_in(page, key, repr(settings[key]))
            assert note_of(page, key) == ""
        assert settings_shown(page).items() >= settings.items()
        check_against_python(page)
    assert watch.troubles == []


def test_out_of_range_is_put_right_and_says_so(show):
    page, watch = show(BoundExplorer())
    cases = [
        ("d", "0", 1, "Set to 1"),
        ("d", "-5", 1, "Set to 1"),
        ("d", "1e9", 1_000_000, "Set to 1,000,000"),
        ("d", "576.4", 576, "Set to 576: this is a whole number"),
        ("d", "", 576, "not a number; this stays at 576"),
        ("r", "1e400", 65.68, "not a number"),
        ("r", "0", 1e-9, "Set to 1 × 10⁻⁹"),
        ("eps", "-1", 2.0**-60, "Set to 2⁻⁶⁰"),
        ("vocab", "1", 2, "Set to 2"),
        ("m", "0.2", 1, "Set to 1"),
    ]
    for key, typed, kept, note in cases:
        before = settings_shown(page)[key]
        drawn(page, lambda key=key, typed=typed: type_in(page, key, typed), kept != before)
        assert note in note_of(page, key), (key, typed)
        assert settings_shown(page)[key] == kept, (key, typed)
        check_against_python(page)
        assert page.locator(".acc-chart .scatterlayer .trace").count() >= 2, (key, typed)
        assert page.locator(".acc-figure-box .acc-message").is_hidden()
    slider(page, "m").focus()
    page.keyboard.press("ArrowRight")
    assert note_of(page, "m") == ""  # it spoke of what was typed
    assert watch.troubles == []


def test_presets_set_the_numbers_and_a_slider_leaves_them(show):
    page, watch = show(BoundExplorer())
    model = page.get_by_label("Model")
    for key, preset in PRESETS.items():
        model.select_option(key)
        shown = settings_shown(page)
        assert [shown[name] for name in OF_PRESET] == [preset[name] for name in OF_PRESET]
        check_against_python(page)
        assert preset["label"] in page.locator("output").inner_text()
    slider(page, "d").focus()
    page.keyboard.press("ArrowLeft")
    assert model.input_value() == ""
    assert "Measured" not in page.locator("output").inner_text()
    assert watch.troubles == []


def test_what_is_said_is_true_of_the_support(show):
    page, watch = show(BoundExplorer(preset="pythia-1b", m=3))
    words = page.locator("output")
    assert "3 memory vectors cannot name every target" in words.inner_text()
    assert "the bound is 7.77 times that" in words.inner_text()
    page.locator("select[id$='-support']").select_option("rmsnorm")
    assert "times that" not in words.inner_text()  # the gain is none of the model's
    assert "not that model's" in words.inner_text()
    assert watch.troubles == []


def curves(page) -> dict[str, list[float]]:
    return page.evaluate(
        "() => Object.fromEntries(document.querySelector('.acc-chart').data"
        ".map((trace) => [trace.name, {x: [...trace.x], y: [...trace.y]}]))"
    )


def test_the_curves_are_pythons(show):
    explorer = BoundExplorer(preset="pythia-160m", m=2)
    page, watch = show(explorer)
    names = {*curves(page)}
    assert names == {"memory vectors", "threshold n*", "measured"}
    drawn(page, page.get_by_label("hard prompts too").check)
    with_hard = curves(page)
    assert {*with_hard} - names == {"hard prompts"}
    lengths = with_hard["memory vectors"]["x"]
    expected = compute({**explorer.settings, "lengths": lengths})
    for name, key in (
        ("memory vectors", "log10_fraction"),
        ("hard prompts", "log10_hard_fraction"),
    ):
        assert with_hard[name]["y"] == pytest.approx(expected[key], rel=1e-9, abs=1e-9)
    assert with_hard["measured"]["x"] == pytest.approx([180.8, 180.8])
    drawn(page, lambda: page.get_by_label("Vertical axis").select_option("linear"))
    y = np.array(curves(page)["memory vectors"]["y"])
    assert y == pytest.approx(10.0 ** np.array(expected["log10_fraction"]), rel=1e-9, abs=1e-12)
    assert ((y > 0.01) & (y < 0.99)).any()  # the fall itself is drawn
    assert watch.troubles == []


def test_every_shape_and_precision_shows_its_own_controls(show):
    page, watch = show(BoundExplorer(preset="qwen2.5-0.5b"))
    for key in ("support", "precision", "dtype", "factor"):
        for option in CHOICES[key]:
            page.locator(f"select[id$='-{key}']").select_option(option)
            check_against_python(page)
            for name in SCALES:
                when = FIELDS[name].when
                if when and when[0] == key:
                    assert slider(page, name).is_visible() == (option in when[1]), (name, option)
                    if slider(page, name).is_visible():
                        slider(page, name).focus()
                        page.keyboard.press("ArrowLeft")
                        check_against_python(page)
    page.locator("select[id$='-support']").select_option("cone")
    assert "heuristic" not in page.locator("output").inner_text()  # numbers counted in the ball
    page.locator("select[id$='-precision']").select_option("eps")
    assert "heuristic" in page.locator("output").inner_text()
    assert watch.troubles == []


def test_what_does_not_fit_together_is_said_in_place(show):
    page, watch = show(BoundExplorer(preset="qwen2.5-0.5b", r=500))
    page.locator("select[id$='-dtype']").select_option("fp8_e4m3fn")
    page.locator("select[id$='-precision']").select_option("spacing")
    page.locator(".acc-figure-box .acc-message").wait_for()
    assert "beyond the largest fp8_e4m3fn value" in page.locator("output").inner_text()
    assert page.locator("[data-quantity=threshold]").inner_text() == "–"
    drawn(page, lambda: type_in(page, "r", 400))
    assert page.locator(".acc-chart").is_visible()
    check_against_python(page)
    type_in(page, "d", 1)
    page.locator("select[id$='-support']").select_option("cone")
    assert "at least two coordinates" in page.locator("output").inner_text()
    assert watch.troubles == []


def test_lengths_by_memory_vectors_with_measured_points(show):
    mine = ({"label": "micro", "m": 1, "n": 9.5}, {"label": "micro", "m": 2, "n": 16})
    page, watch = show(BoundExplorer(preset="pythia-160m", view="reach", hard=True, measured=mine))
    shown = curves(page)
    assert shown["measured points"] == {"x": [1, 2], "y": [9.5, 16]}
    assert sorted(shown["other publications"]["y"]) == [61, 65, 71, 80]
    assert shown["measured slope"]["y"][0] == pytest.approx(90.4)
    slope = BoundExplorer(preset="pythia-160m").result["slope"]
    assert np.array(shown["threshold n*"]["y"]) / shown["threshold n*"]["x"] == pytest.approx(slope)
    assert shown["hard prompts"]["x"] == pytest.approx(shown["hard prompts"]["y"])
    assert watch.troubles == []


def test_small_explorer_beside_a_large_one(show):
    small = BoundExplorer(name="intro", controls=("preset", "m"))
    page, watch = show(small, BoundExplorer(name="chapter"))
    assert page.locator("#explorer-intro input[type=range]").count() == 1
    assert page.locator("#explorer-chapter input[type=range]:visible").count() == len(SHOWN)
    page.locator("#explorer-intro").get_by_label("m: exact value").fill("3")
    assert page.locator("#explorer-intro legend").count() == 0
    threshold = page.locator("[data-quantity=threshold]")
    first, second = (float(threshold.nth(i).get_attribute("data-value")) for i in (0, 1))
    assert first == pytest.approx(3 * second, rel=1e-12)
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert len(ids) == len({*ids})
    assert watch.troubles == []


def test_without_plotly_the_numbers_hold_and_the_figure_says_why(show):
    page, watch = show(BoundExplorer(), plotly=False)
    page.locator(".acc-figure-box .acc-message").wait_for()
    assert "needs Plotly" in page.locator(".acc-figure-box .acc-message").inner_text()
    type_in(page, "m", 7)
    check_against_python(page)
    assert watch.troubles == []


def test_without_scripts_the_numbers_are_still_there(show):
    page, _ = show(BoundExplorer(), plotly=False, java_script_enabled=False)
    assert "threshold n* = 2234.07 tokens" in page.locator("#explorer-bounds").inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_accessible_and_fits_a_phone(show, theme):
    from axe_playwright_python.sync_playwright import Axe

    page, watch = show(
        BoundExplorer(hard=True), theme=theme, viewport={"width": 360, "height": 740}
    )
    type_in(page, "d", 0)  # with a note on show
    assert page.evaluate("document.scrollingElement.scrollWidth") == 360
    assert Axe().run(page).response["violations"] == []
    assert watch.troubles == []


def test_figure_follows_the_theme_and_the_width(show):
    page, watch = show(BoundExplorer())
    colour = (
        "() => getComputedStyle(document.querySelector('.acc-chart .scatterlayer .js-line')).stroke"
    )
    light = page.evaluate(colour)
    drawn(page, lambda: page.evaluate("document.documentElement.dataset.theme = 'dark'"))
    assert page.evaluate(colour) != light
    page.set_viewport_size({"width": 400, "height": 700})
    page.wait_for_function("document.querySelector('.acc-chart .main-svg').clientWidth < 400")
    assert page.evaluate("document.scrollingElement.scrollWidth") == 400
    assert watch.troubles == []


def test_prints_dark_on_white_in_the_dark_theme(show):
    page, watch = show(BoundExplorer(), theme="dark", viewport={"width": 720, "height": 900})
    page.emulate_media(media="print")
    colours = page.evaluate(
        """() => ['.acc-explorer', '.acc-sentence', '.acc-chart .xtick text'].map((part) => {
             const style = getComputedStyle(document.querySelector(part));
             return part.includes('tick') ? style.fill : part === '.acc-explorer'
               ? style.backgroundColor : style.color;
           })"""
    )
    assert colours == ["rgb(255, 255, 255)", "rgb(0, 0, 0)", "rgb(0, 0, 0)"]
    assert page.locator("input[type=range]:visible").count() == 0  # the numbers say it
    assert watch.troubles == []


def test_results_stay_in_view_beside_many_controls(show):
    page, _ = show(BoundExplorer(), viewport={"width": 1000, "height": 800})
    page.locator("select[id$='-view']").scroll_into_view_if_needed()
    assert page.evaluate("scrollY") > 100
    assert page.locator("[data-quantity=threshold]").bounding_box()["y"] >= 0


@pytest.mark.parametrize("how", ["http", "file"])
def test_published_page_answers_without_a_kernel(how, open_page):
    html = BUILD / "html"
    assert html.exists(), "no site to look at: run `make book` first"
    with serve(html) as site:
        root = site if how == "http" else html.as_uri()
        page, watch = open_page(f"{root}/notebooks/02_bounds.html")
        explorer = page.locator("#explorer-bounds")
        explorer.locator(".acc-chart[data-drawn]").wait_for()
        moved = [key for key in SCALES if slider(explorer, key).count()]
        assert moved == ["m", "d", "vocab", "r", "eps"]
        for key in moved:
            for act in ("press", "click"):
                before = number(explorer, key).input_value()
                if act == "press":
                    slider(explorer, key).press("ArrowRight")
                else:
                    width = slider(explorer, key).bounding_box()["width"]
                    slider(explorer, key).click(position={"x": 0.9 * width, "y": 8})
                assert number(explorer, key).input_value() != before
                settings = {k: float(number(explorer, k).input_value()) for k in moved}
                expected = compute({**settings, "d": int(settings["d"])})
                for name, value in quantities(explorer).items():
                    assert value == pytest.approx(expected[name], rel=1e-9), (name, settings)
        assert watch.troubles == []
