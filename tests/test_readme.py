"""The README's example runs, its numbers hold, and its map names every room."""

import re

import pytest

from accessibility_lib import cli
from tools.notebooks import ROOT

README = (ROOT / "README.md").read_text("utf-8")


def test_example_gives_the_number_beside_it():
    (block,) = re.findall(r"```python\n(.*?)```", README, flags=re.S)
    *lines, last = block.strip().split("\n")
    call, comment = last.split("#")
    names: dict[str, object] = {}
    exec("\n".join(lines), names)
    stated = float(re.search(r"[\d.]+(?= tokens)", comment)[0])
    assert eval(call, names) == pytest.approx(stated, abs=0.05)


def test_map_names_every_room():
    rooms = [path for path in (ROOT / "accessibility_lib").iterdir() if path.name[0] not in "_."]
    missing = [
        path.name
        for path in rooms
        if path.suffix in {".py", ""}
        and not re.search(rf"^  {re.escape(path.name)}[/ ]", README, re.M)
    ]
    assert missing == []


def test_commands_named_exist():
    parser = cli.build_parser()
    text = parser.format_help()
    for command in re.findall(r"^accessibility ([a-z-]+)", README, flags=re.M):
        assert command in text
