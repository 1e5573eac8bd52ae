"""The bound explorer in a static page, with the network blocked: a browser against Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

from accessibility_lib.widgets.bound_explorer import FIELDS, PRESETS, BoundExplorer, compute
from accessibility_lib.widgets.host import Scale

pytestmark = pytest.mark.browser

SCALES = [key for key, field in FIELDS.items() if isinstance(field, Scale)]
EDGES = [
    {"d": 16384, "r": 1e6, "eps": 2.0**-24, "vocab": 2, "m": 64},
    {"d": 16384, "r": 1e-6, "eps": 2.0**-24, "vocab": 262144, "m": 1},
    {"d": 1_000_000, "r": 1e9, "eps": 2.0**-60, "vocab": 1_000_000_000, "m": 1_000_000},
    {"d": 1, "r": 1e-9, "eps": 1e6, "vocab": 2, "m": 1},
    {"d": 8, "r": 1e300, "eps": 1e-300, "vocab": 50304, "m": 1},  # 2r/eps overflows
]


def random_settings(count: int, generator: np.random.Generator) -> list[dict]:
    """Settings uniform in the logarithm, to the limits d = 16384, r = 1e6, ε = 2^-24."""

    def log_uniform(low, high):
        return math.exp(generator.uniform(math.log(low), math.log(high)))

    return [
        {
            "d": int(log_uniform(1, 16384)),
            "r": log_uniform(1e-3, 1e6),
            "eps": 2.0 ** int(generator.integers(-24, 6)),
            "vocab": int(log_uniform(2, 300_000)),
            "m": int(generator.integers(1, 65)),
        }
        for _ in range(count)
    ]


def with_lengths(settings: dict) -> dict:
    """Lengths on both sides of the threshold, and none close enough to it to lose all digits."""
    threshold = compute({**settings, "lengths": []})["threshold"]
    return {**settings, "lengths": [0.0, 1.0, 0.9 * threshold, 1.1 * threshold, 3 * threshold]}


@pytest.fixture(scope="module")
def module_address(folder, address):
    (folder / "explorer.mjs").write_text(BoundExplorer._esm, "utf-8")
    (folder / "blank.html").write_text('<!doctype html><link rel="icon" href="data:,">', "utf-8")
    return address


def test_module_and_python_agree(module_address, open_page):
    cases = [*map(with_lengths, random_settings(400, np.random.default_rng(7)))]
    cases += [*map(with_lengths, EDGES)]
    page, watch = open_page(f"{module_address}/blank.html")
    answers = page.evaluate(
        "async (cases) => { const module = await import('/explorer.mjs');"
        " return cases.map(module.compute); }",
        cases,
    )
    assert len(answers) == len(cases)
    for case, answer in zip(cases, answers, strict=True):
        expected = compute(case)
        assert answer.keys() == expected.keys()
        for key, value in expected.items():
            assert answer[key] == pytest.approx(value, rel=1e-9, abs=0), (key, case)
    assert watch.troubles == []


def quantities(page) -> dict[str, float]:
    return page.evaluate(
        "() => Object.fromEntries([...document.querySelectorAll('[data-quantity]')]"
        ".map((node) => [node.dataset.quantity, Number(node.dataset.value)]))"
    )


def settings_shown(page) -> dict[str, float]:
    return {key: float(number(page, key).input_value()) for key in SCALES}


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
    expected = compute({**settings_shown(page), "lengths": []})
    shown = quantities(page)
    assert len(shown) == 3
    for key, value in shown.items():
        assert value == pytest.approx(expected[key], rel=1e-9), key


@pytest.mark.parametrize("how", ["http", "file"])
def test_keyboard_and_mouse_on_every_slider(show, how):
    page, watch = show(BoundExplorer(preset="pythia-160m", m=5, hard=True), how=how)
    for key in SCALES:
        before = settings_shown(page)
        slider(page, key).focus()
        page.keyboard.press("ArrowRight")
        moved = settings_shown(page)
        assert moved[key] > before[key]
        assert {k for k in SCALES if moved[k] != before[k]} == {key}
        check_against_python(page)

        box = slider(page, key).bounding_box()
        page.mouse.click(box["x"] + 0.3 * box["width"], box["y"] + box["height"] / 2)
        clicked = settings_shown(page)
        assert clicked[key] in FIELDS[key].stops
        assert clicked[key] != moved[key]
        check_against_python(page)
    assert watch.troubles == []


def test_typed_values_are_taken_exactly_over_a_grid(show):
    page, watch = show(BoundExplorer())
    for settings in [*random_settings(8, np.random.default_rng(11)), *EDGES[:4]]:
        for key in SCALES:
            type_in(page, key, repr(settings[key]))
            assert note_of(page, key) == ""
        assert settings_shown(page) == settings
        check_against_python(page)
    assert watch.troubles == []


def test_out_of_range_is_put_right_and_says_so(show):
    page, watch = show(BoundExplorer())
    cases = [
        ("d", "0", 1, "Set to 1"),
        ("d", "-5", 1, "Set to 1"),
        ("d", "1e9", 1_000_000, "Set to 1,000,000"),
        ("d", "576.4", 576, "Set to 576: this is a whole number"),
        ("d", "", 576, "not a number; nothing has changed"),
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
        assert page.locator(".acc-message").is_hidden()
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
        assert {name: shown[name] for name in ("d", "r", "eps", "vocab")} == {
            name: preset[name] for name in ("d", "r", "eps", "vocab")
        }
        check_against_python(page)
        assert preset["label"] in page.locator("output").inner_text()
    slider(page, "d").focus()
    page.keyboard.press("ArrowLeft")
    assert model.input_value() == ""
    assert "Measured" not in page.locator("output").inner_text()
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


def test_small_explorer_beside_a_large_one(show):
    small = BoundExplorer(name="intro", controls=("preset", "m"))
    page, watch = show(small, BoundExplorer(name="chapter"))
    assert page.locator("#explorer-intro input[type=range]").count() == 1
    assert page.locator("#explorer-chapter input[type=range]").count() == 5
    page.locator("#explorer-intro").get_by_label("m: exact value").fill("3")
    threshold = page.locator("[data-quantity=threshold]")
    first, second = (float(threshold.nth(i).get_attribute("data-value")) for i in (0, 1))
    assert first == pytest.approx(3 * second, rel=1e-12)
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert len(ids) == len({*ids})
    assert watch.troubles == []


def test_without_plotly_the_numbers_hold_and_the_figure_says_why(show):
    page, watch = show(BoundExplorer(), plotly=False)
    page.locator(".acc-message").wait_for()
    assert "needs Plotly" in page.locator(".acc-message").inner_text()
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
