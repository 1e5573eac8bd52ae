"""The Python face of the bound explorer; tests/book and tests/lab drive it in a browser."""

import json
import math
import subprocess
import sys

import pytest

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


def test_preset_sets_the_numbers_and_a_number_leaves_the_preset():
    explorer = BoundExplorer(preset="qwen2.5-0.5b")
    assert (explorer.d, explorer.r, explorer.vocab) == (896, 309.0, 151936)
    explorer.r = 310
    assert (explorer.preset, explorer.d) == ("", 896)
    explorer.preset = "gemma-3-270m"
    assert (explorer.d, explorer.r) == (640, 10.8)
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
    ({"presets": {}}, "presets are published"),
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
    assert BoundExplorer(**{k: v for k, v in explorer.settings.items() if k != "presets"}).m == 3


def test_lab_gets_plotly_when_it_asks(monkeypatch):
    explorer = BoundExplorer()
    sent = []
    monkeypatch.setattr(explorer, "send", lambda content, buffers: sent.append((content, buffers)))
    explorer._handle_custom_msg({"kind": "plotly"}, [])
    explorer._handle_custom_msg({"kind": "weather"}, [])
    assert sent == [({"kind": "plotly"}, [plotly_bundle()])]
    assert b"Plotly" in plotly_bundle()


def test_explorer_comes_up_without_torch():
    code = (
        "import sys; from accessibility_lib.widgets.bound_explorer import BoundExplorer;"
        "BoundExplorer().html(); print([m for m in sys.modules if m.partition('.')[0] in"
        " ('torch', 'transformers', 'pandas', 'matplotlib')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
