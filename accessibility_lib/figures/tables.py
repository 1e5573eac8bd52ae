"""The one way to show a table: with a caption, named rows and columns, and its own scroll box."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from numbers import Integral, Real

from accessibility_lib.errors import AccessibilityError


@dataclass(frozen=True)
class Table:
    """Rows of cells as text; the first cell of a row names it."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    caption: str

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.columns)
        body = "".join(
            "<tr>"
            + f'<th scope="row">{escape(row[0])}</th>'
            + "".join(
                f"{'<td class=acc-number>' if number else '<td>'}{escape(cell)}</td>"
                for cell, number in zip(row[1:], self.numeric[1:], strict=True)
            )
            + "</tr>"
            for row in self.rows
        )
        caption = escape(self.caption)
        return (
            f'<div class="acc-table" role="region" aria-label="{caption}" tabindex="0">'
            f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table></div>"
        )

    def __repr__(self) -> str:
        lines = [" | ".join(line) for line in (self.columns, *self.rows)]
        return "\n".join([self.caption, *lines])


def table(
    rows: Iterable[Sequence[object]],
    columns: Sequence[str],
    *,
    caption: str,
    digits: int = 2,
) -> Table:
    """Lay out rows for a notebook; floats get ``digits`` decimals, None becomes a dash.

    Raises
    ------
    AccessibilityError
        If there is no caption, or a row is not as long as the list of columns.

    >>> print(table([["ball", 9.2412]], ["support", "ratio"], caption="Two columns."))
    Two columns.
    support | ratio
    ball | 9.24
    """
    if not isinstance(caption, str) or not caption.strip():
        raise AccessibilityError("caption is empty: say in a sentence what the table shows.")
    kept = [list(row) for row in rows]
    for row in kept:
        if len(row) != len(columns):
            raise AccessibilityError(
                f"a row has {len(row)} cells and the table {len(columns)} columns: {row!r}."
            )

    def text(cell: object) -> str:
        if cell is None:
            return "–"
        if isinstance(cell, bool) or not isinstance(cell, Real):
            return str(cell)
        if isinstance(cell, Integral):
            return f"{int(cell):,}"
        number = float(cell)
        return f"{number:,.{digits}f}" if abs(number) < 1e15 else f"{number:.{digits + 1}g}"

    numeric = tuple(
        any(isinstance(row[i], Real) for row in kept)
        and all(row[i] is None or isinstance(row[i], Real) for row in kept)
        for i in range(len(columns))
    )
    return Table(
        tuple(columns), tuple(tuple(map(text, row)) for row in kept), numeric, caption.strip()
    )
