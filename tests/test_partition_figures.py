"""The figures of chapter 01, and tokens as a reader sees them."""

import numpy as np
import pytest

from accessibility_lib import cells, models
from accessibility_lib.figures import PALETTE, partition, show
from accessibility_lib.figures.tokens import token_names

AT = np.array([[0.0, 0.0], [1.0, 0.5], [-1.0, 1.0]])


def a_slice(seed=0, vocab=400):
    rng = np.random.default_rng(seed)
    plane = cells.plane_through(rng.normal(size=(3, 6)))
    return cells.slice_2d(rng.normal(size=(vocab, 6)), None, plane, (-9.0, 9.0, -9.0, 9.0))


def drawn(found, names=None):
    names = names or [f"t{token}" for token in found.tokens]
    return partition.partition(found, names, ["one", "two", "three"], AT, np.zeros((5, 2)))


def test_each_cell_is_a_closed_polygon_with_its_token_on_hover():
    found = a_slice()
    filled = [trace for trace in drawn(found).data if trace.fill]
    assert len(filled) == len(found)
    for trace, token, polygon in zip(filled, found.tokens, found.polygons, strict=True):
        assert f"<b>t{token}</b>" in trace.text
        assert (trace.x[0], trace.y[0]) == (trace.x[-1], trace.y[-1])
        assert np.allclose(np.c_[trace.x, trace.y][:-1], polygon, atol=1e-3)


def test_neighbours_differ_in_colour_and_the_same_slice_gives_the_same_bytes():
    found = a_slice()
    colours = [trace.line.color for trace in drawn(found).data if trace.fill]
    assert {*colours} <= {*PALETTE}
    assert all(colours[i] != colours[j] for i, j in found.neighbours)
    pages = [show(drawn(a_slice()), alt="Cells on a plane.", name="c").html() for _ in range(2)]
    assert pages[0] == pages[1]
    assert len(pages[0]) < 100_000


def test_a_token_cannot_smuggle_markup_into_the_label():
    found = a_slice(vocab=2)
    figure = drawn(found, ["<a href='x'>", "<b>"][: len(found)])
    assert "<a" not in str(figure.to_json().replace("\\u003c", "<"))


def test_quotes_and_dollars_are_shown_as_they_are():
    # Plotly knows no &quot; and sets what stands between dollars as TeX.
    found = a_slice(vocab=2)
    figure = drawn(found, ['"$x$"'] * len(found))
    for text in (trace.text for trace in figure.data if trace.fill):
        assert text.startswith('<b>"&#36;x&#36;"</b>')


def test_names_keep_clear_of_prompts():
    found = a_slice()
    figure = drawn(found)
    written = next(trace for trace in figure.data if trace.mode == "text")
    away = np.abs(np.c_[written.x, written.y][:, None] - AT).max(axis=2)
    assert away.min() > 0.05 * 18


def test_growth_draws_both_counts():
    figure = partition.growth([0.5, 1, 2], [3, 9, 20], [2, 5, 7])
    assert [list(trace.y) for trace in figure.data] == [[3, 9, 20], [2, 5, 7]]


def test_white_space_is_visible_and_every_token_has_its_own_name():
    loaded = models.load("micro-llama")
    ids = loaded.tokenizer("a list\n    of").input_ids
    assert "".join(token_names(loaded.tokenizer, ids)) == "a␣list↵␣␣␣␣of"
    names = token_names(loaded.tokenizer, range(loaded.adapter.vocab_size))
    assert len({*names}) == loaded.adapter.vocab_size
    assert not any(character in name for name in names for character in "\n\t\ufffd")


@pytest.mark.parametrize(("text", "shown"), [("\t", "⇥"), ("x\x00", "x\\u0000"), (" é", "␣é")])
def test_characters_that_cannot_be_seen(text, shown):
    class Decoder:
        """A tokenizer whose one token is ``text``, behind whatever comes before."""

        def __call__(self, _, add_special_tokens):
            return type("Encoding", (), {"input_ids": [0]})

        def decode(self, ids, **_):
            return "a" + text * (len(ids) - 1)

    assert token_names(Decoder(), [1]) == [shown]
