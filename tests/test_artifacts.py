"""Results on disk: what is written is what is read, and every change is found by name."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from accessibility_lib import artifacts, cli
from accessibility_lib.errors import AccessibilityError


@dataclass(frozen=True)
class Settings:
    lr: float = 0.1


@pytest.fixture
def stored(tmp_path):
    arrays = {"memory": np.arange(6, dtype=np.float32).reshape(2, 3)}
    data = {"n50": 1 / 3, "rows": ((1, 2), (3, 4)), 5: None}
    return artifacts.save(
        tmp_path / "micro-v1.5" / "natural-m1", "cramming", data, arrays,
        model="micro-llama", sha256="ab", config=Settings(), seed=3, seconds=1.23456,
        complete=False,
    )  # fmt: skip


def test_what_is_written_is_read(stored):
    found = artifacts.load(stored.with_suffix(""), "cramming")
    assert found.data == {"n50": 1 / 3, "rows": [[1, 2], [3, 4]], "5": None}
    assert found.arrays["memory"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not found.complete
    assert found.path == stored
    known = {"model": "micro-llama", "sha256": "ab", "config": {"lr": 0.1}, "seed": 3}
    assert known.items() <= found.provenance.items()
    assert found.provenance["seconds"] == 1.235


def test_nothing_is_left_beside(stored):
    assert sorted(p.suffix for p in stored.parent.iterdir()) == [".json", ".safetensors"]


def test_any_flipped_bit_is_found_by_name(stored):
    for file in (stored, stored.with_suffix(".safetensors")):
        whole = file.read_bytes()
        for place in np.random.default_rng(0).choice(len(whole), size=40, replace=False):
            spoilt = bytearray(whole)
            spoilt[place] ^= 1
            file.write_bytes(spoilt)
            wrong = [(path, text) for path, text in artifacts.verify(stored.parent) if text]
            if file == stored and json_equal(bytes(spoilt), whole):
                continue  # white space: nothing was changed
            assert [path for path, _ in wrong] == [stored], place
            assert file.name in wrong[0][1]
        file.write_bytes(whole)
    assert [text for _, text in artifacts.verify(stored.parent)] == ["", ""]


def json_equal(one, other):
    try:
        return json.loads(one) == json.loads(other)
    except ValueError:
        return False


def test_a_later_schema_is_refused_with_advice(stored):
    content = json.loads(stored.read_text())
    stored.write_text(json.dumps({**content, "schema": 2, "extra": True}))
    with pytest.raises(
        AccessibilityError, match=r"natural-m1.json has schema 2, .*up to 1; update"
    ):
        artifacts.load(stored)


class Bomb:
    def __reduce__(self):
        return pytest.fail, ("a pickle was opened",)


@pytest.mark.parametrize("suffix", [".json", ".safetensors"])
def test_a_pickle_is_never_opened(stored, suffix):
    stored.with_suffix(suffix).write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(AccessibilityError, match=f"natural-m1{suffix} holds a pickle"):
        artifacts.load(stored)
    other = stored.with_suffix(".pkl")
    other.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(AccessibilityError, match="may hold a pickle"):
        artifacts.load(other)
    wrong = {path.name: text for path, text in artifacts.verify(stored.parent)}
    assert "no artifact" in wrong["natural-m1.pkl"]


def test_wrong_kind_missing_file_and_stray_arrays(stored):
    with pytest.raises(AccessibilityError, match="of kind 'cramming', not 'support'"):
        artifacts.load(stored, "support")
    with pytest.raises(AccessibilityError, match=r"nothing.json cannot be read"):
        artifacts.load(stored.parent / "nothing")
    stored.unlink()
    assert ["no JSON beside" in text for _, text in artifacts.verify(stored.parent)] == [True]


def test_nan_is_refused_and_an_older_file_survives(stored):
    before = stored.read_bytes()
    with pytest.raises(AccessibilityError, match="None in place of NaN"):
        artifacts.save(stored, "cramming", {"n50": float("nan")})
    assert stored.read_bytes() == before


def test_find_and_table(stored):
    artifacts.save(stored.parent / "other", "support", [1])
    assert list(artifacts.find(stored.parent, "support")) == [stored.parent / "other.json"]
    rows = artifacts.table(stored.parent)
    assert [row["path"] for row in rows] == ["natural-m1.json", "other.json"]
    assert rows[0]["model"] == "micro-llama"
    assert rows[0]["complete"] is False
    assert artifacts.to_csv(rows).splitlines()[0] == "path,kind,model,seed,seconds,date,complete"


def test_the_command_lists_verifies_and_exports(stored, capsys):
    folder = str(stored.parent)
    assert cli.main(["results", "list", folder]) == 0
    line = capsys.readouterr().out
    assert all(word in line for word in ("natural-m1.json", "cramming", "micro-llama", "partial"))
    out = stored.parent / "all.csv"
    assert cli.main(["results", "export", folder, "--out", str(out)]) == 0
    assert out.read_text() == artifacts.to_csv(artifacts.table(stored.parent))
    assert cli.main(["results", "verify", folder]) == 0
    spoilt = stored.with_suffix(".safetensors")
    spoilt.write_bytes(spoilt.read_bytes()[:-1] + b"\x7f")
    assert cli.main(["results", "verify", folder]) == 1
    assert "natural-m1.safetensors was changed" in capsys.readouterr().out
    assert cli.main(["results", "list", str(stored.parent / "nowhere")]) == 2
