"""What every explorer shares: one ES module that lives in JupyterLab and in a static page.

An explorer is an ``anywidget.AnyWidget``.  In JupyterLab its module is loaded by anywidget and its
traits follow the kernel.  In a published page there is no kernel: the display data also holds
``text/html``, a div and an inline module script with the very same text, and a small stand-in for
the model that holds the trait values.  Either way the numbers are computed in the browser.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, NoReturn

import anywidget
import traitlets
from plotly.offline import get_plotlyjs

from accessibility_lib._checks import number
from accessibility_lib.errors import AccessibilityError

FOLDER = Path(__file__).parent


def text_of(*paths: Path) -> str:
    """Several files as one text, in order."""
    return "\n".join(path.read_text("utf-8") for path in paths)


@cache
def plotly_bundle() -> bytes:
    """Plotly's script, for a JupyterLab page that has none."""
    return get_plotlyjs().encode()


@dataclass(frozen=True)
class Scale:
    """A number the reader sets: any value from ``low`` to ``high``, ``stops`` on the slider.

    Every field belongs to a ``group`` of controls.  ``when`` is (key, values): the field counts,
    and is shown, only while that other setting has one of the values.
    """

    group: str
    label: str
    hint: str
    low: float
    high: float
    stops: tuple[float, ...]
    whole: bool = False
    when: tuple[str, tuple[str, ...]] | None = None
    kind: str = "scale"


@dataclass(frozen=True)
class Choice:
    """One of several values; ``options`` are pairs (value, what the reader sees)."""

    group: str
    label: str
    hint: str
    options: tuple[tuple[str, str], ...]
    when: tuple[str, tuple[str, ...]] | None = None
    kind: str = "choice"


@dataclass(frozen=True)
class Switch:
    """On or off."""

    group: str
    label: str
    hint: str
    when: tuple[str, tuple[str, ...]] | None = None
    kind: str = "switch"


Field = Scale | Choice | Switch


def octaves(low: int, high: int, per_octave: int = 1) -> tuple[float, ...]:
    """2^low to 2^high, each octave cut evenly: the widths and vocabularies in use lie on it.

    >>> octaves(0, 2, per_octave=2)
    (1.0, 1.5, 2.0, 3.0, 4.0)
    """
    inner = (2.0**k * (1 + j / per_octave) for k in range(low, high) for j in range(per_octave))
    return (*inner, 2.0**high)


def decades(low: int, high: int, per_decade: int = 20) -> tuple[float, ...]:
    """10^low to 10^high in even steps of the logarithm, to three digits.

    >>> decades(0, 1, per_decade=3)
    (1.0, 2.15, 4.64, 10.0)
    """
    return tuple(
        float(f"{10 ** (k / per_decade):.2e}")
        for k in range(low * per_decade, high * per_decade + 1)
    )


def whole(values: tuple[float, ...]) -> tuple[float, ...]:
    """The whole numbers among the stops."""
    return tuple(value for value in values if value == int(value))


class Setting(traitlets.TraitType):
    """A synced trait with the limits of its field; a bad value is an AccessibilityError."""

    def __init__(self, field: Field, default: Any) -> None:
        super().__init__(default)
        self.field = field
        self.tag(sync=True, setting=True)

    def validate(self, obj: Any, value: Any) -> Any:
        field = self.field
        if isinstance(field, Choice):
            known = [option for option, _ in field.options]
            if not isinstance(value, str) or value not in known:
                raise AccessibilityError(
                    f"{self.name} = {value!r} is not known; take one of {known}."
                )
            return value
        if isinstance(field, Switch):
            if not isinstance(value, bool):
                raise AccessibilityError(f"{self.name} = {value!r} is neither True nor False.")
            return value
        limits = f"from {field.low:g} to {field.high:g}"
        found = number(str(self.name), value, f"give one {limits}")
        if not field.low <= found <= field.high:  # NaN fails too
            raise AccessibilityError(
                f"{self.name} = {found!r} is outside the explorer; give a number {limits}."
            )
        if not field.whole:
            return found
        if found != int(found):
            raise AccessibilityError(
                f"{self.name} = {value!r} must be a whole number; give one {limits}."
            )
        return int(found)


class _Says:
    """A trait that answers a value of another type with an AccessibilityError."""

    name: str | None

    def error(self, obj: Any, value: Any, error: Any = None, info: Any = None) -> NoReturn:
        raise AccessibilityError(f"{self.name} = {value!r}; give {self.info()}.")  # type: ignore[attr-defined]


class Text(_Says, traitlets.Unicode):
    """Text."""


class Several(_Says, traitlets.Tuple):
    """A tuple or a list."""


class Explorer(anywidget.AnyWidget):
    """Base of the explorers.  A subclass gives ``_esm``, ``_css``, ``fields`` and `Setting` traits.

    Its module defines ``render({model, el})``, as anywidget asks, and exports it by default.
    """

    fields: dict[str, Field]
    name = Text("explorer").tag(sync=True, setting=True)
    controls = Several().tag(sync=True, setting=True)
    _fields = traitlets.Dict().tag(sync=True, data=True)

    def __init__(self, **settings: Any) -> None:
        known = {*self.trait_names(setting=True), "layout"}
        for key in settings:
            if key not in known:
                raise AccessibilityError(
                    f"{type(self).__name__} has no {key!r}; it takes {', '.join(sorted(known))}."
                )
        super().__init__(
            **settings, _fields={key: asdict(field) for key, field in self.fields.items()}
        )
        self.on_msg(self._answer)

    @traitlets.validate("name")
    def _is_a_name(self, proposal: Any) -> str:
        if not re.fullmatch(r"[a-z][a-z0-9-]*", proposal["value"]):
            raise AccessibilityError(
                f"name = {proposal['value']!r}: use small letters, digits and hyphens; it becomes "
                "the id of the explorer in the page."
            )
        return proposal["value"]

    @traitlets.validate("controls")
    def _are_controls(self, proposal: Any) -> tuple[str, ...]:
        for key in proposal["value"]:
            if not isinstance(key, str) or key not in self.fields:
                raise AccessibilityError(
                    f"there is no control {key!r}; take some of {', '.join(self.fields)}."
                )
        return proposal["value"]

    def _answer(self, _: object, content: dict[str, Any], __: object) -> None:
        if content.get("kind") == "plotly":
            self.send({"kind": "plotly"}, [plotly_bundle()])

    @property
    def settings(self) -> dict[str, Any]:
        """The values of all settings, by name."""
        return {key: getattr(self, key) for key in sorted(self.traits(setting=True))}

    def summary(self) -> str:
        """What the explorer shows in a sentence, for a reader without scripts."""
        return repr(self)

    def html(self) -> str:
        """The explorer as a piece of a static page; the same settings give the same bytes."""
        state = self.settings | {key: getattr(self, key) for key in self.traits(data=True)}
        seed = json.dumps(state, sort_keys=True).replace("<", "\\u003c")
        place = f"explorer-{self.name}"
        return (
            f"<style>\n{self._css}\n</style>\n"
            f'<div id="{place}"><p>{escape(self.summary())}</p></div>\n'
            f'<script type="module">\n{self._esm}\n'
            f'standalone(document.getElementById("{place}"), {seed});\n</script>'
        )

    def __repr__(self) -> str:
        told = {key: self.settings[key] for key in self.fields}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in told.items())})"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if bundle else ({}, {})
        return {**data, "text/plain": self.summary(), "text/html": self.html()}, metadata
