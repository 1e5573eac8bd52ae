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
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    models = commands.add_parser("models", help="the known models: shape, size, where from")
    models.set_defaults(run=_models)

    fetch = commands.add_parser("fetch", help="get a model onto this machine")
    fetch.add_argument("name", help="a known name, a hub id or a GGUF file")
    fetch.add_argument("--cache", help="folder for models (default: ACCESSIBILITY_CACHE or yours)")
    fetch.set_defaults(run=_fetch)

    micro = commands.add_parser("train-micro", help="train micro models on docstrings")
    micro.add_argument("names", nargs="+", metavar="NAME", help="a micro model, or all")
    micro.add_argument("--work", default="_build/micro", help="checkpoints (default: %(default)s)")
    micro.add_argument("--out", help="folder for the models (default: inside the package)")
    micro.add_argument("--every", type=int, default=200, help="steps between checkpoints")
    micro.set_defaults(run=_train_micro)
    return parser


# What a command needs is imported when it runs: the command itself starts without torch.


def _models(args: argparse.Namespace) -> None:
    from accessibility_lib import models

    rows = models.table()
    head = {key: key for key in rows[0]}
    lines = [[str(cell) for cell in row.values()] for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip())


def _fetch(args: argparse.Namespace) -> None:
    from accessibility_lib import models

    print(models.fetch(args.name, cache=args.cache))


def _train_micro(args: argparse.Namespace) -> None:
    from accessibility_lib.micro import training

    training.train_named(args.names, work=args.work, out=args.out, every=args.every)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; an :class:`AccessibilityError` becomes one line and exit status 2."""
    args = build_parser().parse_args(argv)
    try:
        return args.run(args) or 0
    except AccessibilityError as error:
        print(f"accessibility: {error}", file=sys.stderr)
        return 2
