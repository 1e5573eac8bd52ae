"""Figures and tables as a page holds them."""

import json

import numpy as np
import plotly.graph_objects as go
import pytest
from bs4 import BeautifulSoup

from accessibility_lib import AccessibilityError, figures
from accessibility_lib.figures.tables import table


def line(**changes):
    trace = go.Scatter(x=np.arange(3.0), y=np.array([1.0, np.nan, 4.0]), text=["<b>", "&", "ε"])
    return figures.show(go.Figure(trace), **{"alt": 'A line & "more".', "name": "line", **changes})


def test_html_holds_the_figure_and_its_words():
    page = BeautifulSoup(line().html(), "html.parser")
    holder = page.find("figure", class_="acc-figure")
    assert holder["aria-label"] == 'A line & "more".'
    assert holder["id"] == "figure-line"
    assert holder.find("div").get_text() == 'A line & "more".'
    content = json.loads(holder.find("script", type="application/json").string)
    assert content["data"][0]["x"] == [0.0, 1.0, 2.0]
    assert content["data"][0]["text"] == ["<b>", "&", "ε"]
    assert "include" not in page.get_text()  # nothing of the script leaks into the page


def test_same_figure_same_bytes_and_both_mime_types():
    bundle = line()._repr_mimebundle_()
    assert bundle == line()._repr_mimebundle_()
    assert {figures.PLOTLY_MIME, "text/html", "text/plain"} == {*bundle}
    assert bundle[figures.PLOTLY_MIME]["config"]["showSendToCloud"] is False
    json.dumps(bundle, allow_nan=False)  # NaN is no JSON and a browser would refuse it


def test_matrices_keep_their_shape():
    shown = figures.show(
        go.Figure(go.Heatmap(z=np.arange(6.0).reshape(2, 3))), alt="A small matrix.", name="m"
    )
    assert shown.figure["data"][0]["z"] == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


@pytest.mark.parametrize("alt", ["", "   ", "a figure", None])
def test_figure_without_words_is_refused(alt):
    with pytest.raises(AccessibilityError, match="says too little"):
        line(alt=alt)


@pytest.mark.parametrize("name", ["", "A", "1st", "a b", "a_b", None])
def test_name_that_is_no_id_is_refused(name):
    with pytest.raises(AccessibilityError, match="becomes an id"):
        line(name=name)


def test_table_names_rows_and_columns_and_aligns_numbers():
    shown = table(
        [["<ball>", 9.2412, 3], ["cone", None, np.int64(12345)]],
        ["support", "ratio", "count"],
        caption="Ratios & counts.",
    )
    page = BeautifulSoup(shown._repr_html_(), "html.parser")
    assert [tag.get_text() for tag in page.find_all("th", scope="col")] == [
        "support", "ratio", "count",
    ]  # fmt: skip
    assert [tag.get_text() for tag in page.find_all("th", scope="row")] == ["<ball>", "cone"]
    assert [tag.get_text() for tag in page.find_all("td")] == ["9.24", "3", "–", "12,345"]
    assert all(tag.get("class") == ["acc-number"] for tag in page.find_all("td"))
    assert page.caption.get_text() == "Ratios & counts."


def test_ragged_table_is_refused():
    with pytest.raises(AccessibilityError, match="1 cells and the table 2"):
        table([["a"]], ["x", "y"], caption="Ragged.")
    with pytest.raises(AccessibilityError, match="caption is empty"):
        table([], ["x"], caption=" ")


def test_huge_numbers_stay_short():
    shown = table([["a", 1e300, 1234.5]], ["x", "y", "z"], caption="Huge.")
    assert shown.rows == (("a", "1e+300", "1,234.50"),)
