"""The command ``accessibility``: one subcommand per question, each a thin call of the library."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from accessibility_lib import __version__
from accessibility_lib.errors import AccessibilityError


def build_parser() -> argparse.ArgumentParser:
    """The argument parser; every subcommand sets ``run``, a function of the parsed arguments."""
    parser = argparse.ArgumentParser(prog="accessibility", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; an :class:`AccessibilityError` becomes one line and exit status 2."""
    args = build_parser().parse_args(argv)
    try:
        return args.run(args) or 0
    except AccessibilityError as error:
        print(f"accessibility: {error}", file=sys.stderr)
        return 2
