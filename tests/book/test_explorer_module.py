"""The explorer's ES module in a browser, function by function, against Python."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from accessibility_lib.errors import AccessibilityError
from accessibility_lib.widgets.bound_explorer import FIELDS, BoundExplorer, compute
from accessibility_lib.widgets.bound_explorer.fields import GRIDS, START
from accessibility_lib.widgets.host import Choice

pytestmark = pytest.mark.browser

CHOICES = {
    key: [option for option, _ in field.options]
    for key, field in FIELDS.items()
    if isinstance(field, Choice) and key != "preset"
}
EDGES = [
    {"d": 16384, "r": 1e6, "eps": 2.0**-24, "vocab": 2, "m": 64},
    {"d": 16384, "r": 1e-6, "eps": 2.0**-24, "vocab": 262144, "m": 1},
    {"d": 1_000_000, "r": 1e9, "eps": 2.0**-60, "vocab": 1_000_000_000, "m": 1_000_000},
    {"d": 1, "r": 1e-9, "eps": 1e6, "vocab": 2, "m": 1},
]
OVERFLOW = {"d": 8, "r": 1e9, "eps": 1e-300, "vocab": 50304, "m": 1}  # 2r/eps is infinite


def random_settings(count: int, generator: np.random.Generator) -> list[dict]:
    """Settings uniform in the logarithm up to d = 16384, r = 1e6, ε = 2^-24."""

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


def any_shape(settings: dict, generator: np.random.Generator) -> dict:
    """The settings with a random shape, precision and Wasserstein part."""
    profile = np.exp(generator.normal(size=int(generator.integers(1, 40))))
    log_uniform = np.exp(generator.uniform(np.log(1e-3), np.log(1e4), size=3))
    return {
        **settings,
        **{key: str(generator.choice(options)) for key, options in CHOICES.items()},
        "angle": float(generator.uniform(0.5, 180)),
        "share": float(generator.uniform(0.01, 1)),
        "axis": float(log_uniform[0]),
        "gain": float(log_uniform[1]),
        "profile": profile.tolist(),
        "eps_w": float(log_uniform[2]),
        "reach_n": int(generator.integers(2, 5000)),
    }


@pytest.fixture(scope="module")
def module_address(folder, address):
    (folder / "explorer.mjs").write_text(BoundExplorer._esm, "utf-8")
    (folder / "blank.html").write_text('<!doctype html><link rel="icon" href="data:,">', "utf-8")
    return address


ASK = """async (cases) => {
  const { compute } = await import("/explorer.mjs");
  return cases.map((settings) => {
    try { return compute(settings); } catch (error) { return {error: error.message}; }
  });
}"""


def assert_module_agrees(page, cases: list[dict]) -> int:
    """Compare on every case; returns how many of them both refused."""
    asked = [{**START, **case, "lengths": [0.0, 1.0, 40.0, 2500.0]} for case in cases]
    answers = page.evaluate(ASK, [{**case, "grid": GRIDS[case["dtype"]]} for case in asked])
    refused = 0
    for case, answer in zip(asked, answers, strict=True):
        if "error" in answer:
            refused += 1
            with pytest.raises(AccessibilityError):
                compute(case)
            continue
        expected = compute(case)
        assert answer.keys() == expected.keys()
        for key, value in expected.items():
            if key.startswith("log10_") and key.endswith("fraction"):
                # A difference of two large logarithms: exact to 1e-9 of what is subtracted.
                scale = (
                    case["m"] * expected["log_packing"] + 2500 * math.log(case["vocab"])
                ) * 1e-9
                assert answer[key] == pytest.approx(value, rel=1e-9, abs=scale), (key, case)
            elif isinstance(value, float):
                assert answer[key] == pytest.approx(value, rel=1e-9, abs=1e-300), (key, case)
            else:
                assert answer[key] == value, (key, case)
    return refused


def test_module_and_python_agree(module_address, open_page):
    generator = np.random.default_rng(7)
    page, watch = open_page(f"{module_address}/blank.html")
    balls = random_settings(300, generator)
    assert assert_module_agrees(page, [*balls, *EDGES, OVERFLOW]) == 0
    shapes = [any_shape(settings, generator) for settings in random_settings(250, generator)]
    refused = assert_module_agrees(page, shapes)
    assert 0 < refused < 50  # values beyond fp8 and fp16, cones in one dimension
    wide = [
        *({"support": shape, "profile": (0.25, 1.0, 4.0)} for shape in CHOICES["support"]),
        *({"support": "cone", "angle": angle} for angle in (3.0, 90.0, 91.0, 180.0)),
    ]
    assert assert_module_agrees(page, [{**case, "d": 1_000_000} for case in wide]) == 0
    assert watch.troubles == []


def test_cone_fraction_and_gamma_against_many_digits(module_address, open_page):
    cases = [
        (d, degrees)
        for d in (2, 3, 10, 768, 16384, 1_000_000)
        for degrees in (0.1, 15.0, 45.0, 89.9, 90.0, 90.1, 135.0, 180.0)
    ]
    page, _ = open_page(f"{module_address}/blank.html")
    ask = """async (cases) => {
      const { logCapFraction, logGamma } = await import("/explorer.mjs");
      return cases.map(([d, degrees]) =>
        [logCapFraction(d, degrees * Math.PI / 180), logGamma(d / 2 + 1)]);
    }"""
    with mpmath.workdps(40):
        for (d, degrees), (fraction, gamma) in zip(cases, page.evaluate(ask, cases), strict=True):
            phi = mpmath.mpf(degrees * math.pi / 180)
            half = (
                mpmath.betainc(
                    mpmath.mpf(d - 1) / 2, 0.5, 0, mpmath.sin(phi) ** 2, regularized=True
                )
                / 2
            )
            exact = mpmath.log(half if phi <= mpmath.pi / 2 else 1 - half)
            assert fraction == pytest.approx(float(exact), rel=1e-10, abs=1e-15), (d, degrees)
            assert gamma == pytest.approx(float(mpmath.loggamma(mpmath.mpf(d) / 2 + 1)), rel=1e-14)
