"""The Python face of the bound explorer; tests/book and tests/lab drive it in a browser."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest

from accessibility_lib import bounds, published, supports
from accessibility_lib.errors import AccessibilityError
from accessibility_lib.widgets.bound_explorer import FIELDS, PRESETS, BoundExplorer, compute
from accessibility_lib.widgets.host import Scale, plotly_bundle

BALL = {"d": 768, "r": 63.62, "eps": 2.0**-10, "vocab": 50304, "m": 2}


def test_compute_is_theorem_4_5_and_corollary_4_6():
    shown = compute({**BALL, "lengths": [0, 1000, 1700]})
    log_packing = 768 * math.log1p(2 * 63.62 * 1024)
    assert shown["log_packing"] == pytest.approx(log_packing, rel=1e-12)
    assert shown["slope"] == pytest.approx(log_packing / math.log(50304), rel=1e-12)
    assert shown["threshold"] == pytest.approx(2 * shown["slope"], rel=1e-12)
    beyond = (2 * log_packing - 1700 * math.log(50304)) / math.log(10)
    assert shown["log10_fraction"] == pytest.approx([0, 0, beyond], rel=1e-12)
    assert shown["log10_hard_fraction"][1] == pytest.approx(-998 * math.log10(50304), rel=1e-12)


@pytest.mark.parametrize(("preset", "ratio"), [
    ("pythia-160m", 9.24), ("pythia-410m", 9.79), ("pythia-1b", 7.77), ("qwen2.5-0.5b", 14.13),
    ("qwen2.5-1.5b", 20.47), ("llama-3.2-1b", 14.3), ("gemma-3-270m", 11.52),
])  # fmt: skip
def test_presets_give_the_ball_row_of_table_1(preset, ratio):
    explorer = BoundExplorer(preset=preset)
    assert explorer.result["slope"] / PRESETS[preset]["slope"] == pytest.approx(ratio, abs=0.006)


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_give_the_cone_and_box_of_table_1(preset):
    def ratio(support):
        return BoundExplorer(preset=preset, support=support).result["slope"] / slope

    slope = PRESETS[preset]["slope"]
    assert ratio("box") == pytest.approx(published.table_1("ellipsoid", preset), rel=1e-4)
    # The published inputs do not give the published cone row; they give this.
    assert ratio("cone") == pytest.approx(published.cone_ratio(preset), rel=1e-3)


def test_each_shape_and_precision_is_the_librarys():
    d, r, axis = 64, 5.0, 3.0
    base = {"d": d, "r": r, "axis": axis, "gain": 2.0, "angle": 60.0, "share": 0.25, "eps": 0.01}
    sizes = np.repeat([0.5, 2.0], d // 2)
    half = np.full(d, r / 4)
    shapes = {
        "ball": supports.Ball(d, r),
        "cone": supports.Cone(np.eye(d)[0], r, math.pi / 3),
        "box": supports.Box(-half, half),
        "ellipsoid": supports.Ellipsoid(axis * sizes),
        "rmsnorm": supports.NormEllipsoid.rms_norm(2 * sizes),
        "layernorm": supports.NormEllipsoid.layer_norm(2 * sizes),
    }
    assert {*shapes} == {value for value, _ in FIELDS["support"].options}
    for shape, support in shapes.items():
        settings = {**base, "support": shape, "profile": (0.5, 2.0), "dtype": "bf16"}
        shown = compute(settings)
        assert shown["log_packing"] == pytest.approx(support.log_packing(0.01), rel=1e-12)
        assert shown["rigorous"] == support.rigorous
        counted = compute({**settings, "precision": "representable"})
        assert counted["log_packing"] == pytest.approx(support.log_representable("bf16"), rel=1e-12)
        assert (counted["eps"], counted["rigorous"]) == (None, True)
    conventions = {"spacing": 2.0**-5, "machine": 2.0**-7, "roundoff": 2.0**-8, "eps": 0.01}
    for precision, eps in conventions.items():
        assert compute({**base, "precision": precision, "dtype": "bf16"})["eps"] == eps


def test_any_length_is_corollary_4_10():
    shown = compute({**BALL, "eps_w": 2.0**-10, "factor": "4", "reach_n": 200})
    log10 = bounds.log10_threshold_any_length(768, 63.62, 2**-10, 50304, factor=4)
    assert shown["log10_any_length"] == log10
    again = compute({**BALL, "eps_w": shown["eps_w_for_length"], "factor": "4"})
    assert 10 ** again["log10_any_length"] == pytest.approx(200, rel=1e-9)


def test_support_beyond_the_number_format_is_refused():
    with pytest.raises(AccessibilityError, match="beyond the largest fp8_e4m3fn value"):
        compute({**BALL, "r": 500, "precision": "spacing", "dtype": "fp8_e4m3fn"})


def test_preset_sets_the_numbers_and_a_number_leaves_the_preset():
    explorer = BoundExplorer(preset="qwen2.5-0.5b")
    assert (explorer.d, explorer.r, explorer.vocab) == (896, 309.0, 151936)
    explorer.r = 310
    assert (explorer.preset, explorer.d) == ("", 896)
    explorer.preset = "gemma-3-270m"
    assert (explorer.d, explorer.r) == (640, 10.78)
    assert BoundExplorer(preset="gemma-3-270m", d=576).preset == ""


@pytest.mark.parametrize("key", [key for key, field in FIELDS.items() if isinstance(field, Scale)])
@pytest.mark.parametrize(
    "bad", [math.nan, math.inf, -math.inf, 0, -1, 1e300, "many", None, True, [1]]
)
def test_numbers_out_of_range_are_refused(key, bad):
    with pytest.raises(AccessibilityError, match=f"{key} = .* give (a number|one) from"):
        BoundExplorer(**{key: bad})
    explorer = BoundExplorer()
    before = explorer.settings
    with pytest.raises(AccessibilityError, match=key):
        setattr(explorer, key, bad)
    assert explorer.settings == before


@pytest.mark.parametrize(("settings", "message"), [
    ({"d": 576.5}, "whole number"),
    ({"vocab": 1}, "from 2 to"),
    ({"preset": "gpt-5"}, "take one of .*pythia-1b"),
    ({"scale": "cubic"}, "take one of .*linear"),
    ({"hard": "yes"}, "neither True nor False"),
    ({"controls": ("m", "phase")}, "no control 'phase'"),
    ({"name": "Two words"}, "small letters"),
    ({"radius": 3}, "no 'radius'; it takes .*eps"),
    ({"support": "torus"}, "take one of .*ellipsoid"),
    ({"dtype": "fp64"}, "take one of .*bf16"),
    ({"angle": 181}, "from 0.1 to 180"),
    ({"profile": ()}, "relative sizes above 0"),
    ({"profile": (1.0, math.nan)}, "profile holds nan"),
    ({"measured": ({"m": 1},)}, "a label, m and n"),
    ({"measured": ({"label": "x", "m": 0, "n": 3},)}, "above 0"),
    ({"measured": ({"label": "x", "m": 10**400, "n": 3},)}, "above 0"),
    ({"measured": 5}, "measured = 5; give a tuple"),
    ({"profile": "wide"}, "profile = 'wide'; give a tuple"),
    ({"name": 5}, "name = 5; give a unicode string"),
    ({"controls": "m"}, "controls = 'm'; give a tuple"),
    ({"controls": [["m"]]}, "no control"),
    ({"preset": ["pythia-1b"]}, "preset = .* is not known"),
    ({"support": np.array(["ball", "box"])}, "support = .* is not known"),
    ({"d": 10**400}, "outside the explorer"),
    ({"d": np.array([1, 2])}, "d = .* is not a number"),
])  # fmt: skip
def test_bad_settings_say_what_would_do(settings, message):
    with pytest.raises(AccessibilityError, match=message):
        BoundExplorer(**settings)


def test_one_display_for_both_hosts_and_the_same_bytes_each_time():
    first, second = BoundExplorer(name="a"), BoundExplorer(name="a")
    data, _ = first._repr_mimebundle_()
    again, _ = second._repr_mimebundle_()
    view = data.pop("application/vnd.jupyter.widget-view+json")
    assert view["model_id"] != again.pop("application/vnd.jupyter.widget-view+json")["model_id"]
    assert data == again
    assert "threshold n* = 2234.07" in data["text/plain"]
    assert 'id="explorer-a"' in data["text/html"]
    assert BoundExplorer._esm in data["text/html"]
    assert data["text/html"].count("</script") == 1  # nothing closes the script early
    assert "import " not in BoundExplorer._esm
    assert "http" not in data["text/html"]


def test_settings_survive_json():
    explorer = BoundExplorer(m=3, hard=True, controls=("m",))
    assert json.loads(json.dumps(explorer.settings))["m"] == 3
    assert BoundExplorer(**explorer.settings).settings == explorer.settings


def test_measured_points_of_numpy_are_written_as_json():
    point = {"label": "mine", "m": np.int64(2), "n": np.float32(9.5)}
    explorer = BoundExplorer(measured=[point])
    assert explorer.measured == ({"label": "mine", "m": 2.0, "n": 9.5},)
    assert '"label": "mine"' in explorer.html()


def test_lab_gets_plotly_when_it_asks(monkeypatch):
    explorer = BoundExplorer()
    sent = []
    monkeypatch.setattr(explorer, "send", lambda content, buffers: sent.append((content, buffers)))
    explorer._handle_custom_msg({"kind": "plotly"}, [])
    explorer._handle_custom_msg({"kind": "weather"}, [])
    assert sent == [({"kind": "plotly"}, [plotly_bundle()])]
    assert b"Plotly" in plotly_bundle()


def test_explorer_comes_up_without_what_is_slow_to_import():
    code = (
        "import sys; from accessibility_lib.widgets.bound_explorer import BoundExplorer;"
        "BoundExplorer().html(); print([m for m in sys.modules if m.partition('.')[0] in"
        " ('torch', 'transformers', 'pandas', 'matplotlib', 'scipy')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
