"""The command ``accessibility``: one subcommand per question, each a thin call of the library."""

from __future__ import annotations

import argparse
import contextlib
import os
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

    cram = commands.add_parser("cram", help="how long a target can m memory vectors reach?")
    cram.add_argument("model", help="a known name, a folder, a GGUF file or a hub id")
    cram.add_argument("--m", type=int, nargs="+", default=[1, 2, 4], help="memory vectors")
    cram.add_argument(
        "--targets", nargs="+", default=["natural", "random"], metavar="KIND",
        help="natural, random, words (default: natural random)",
    )  # fmt: skip
    cram.add_argument("--count", type=int, default=16, help="targets of each length")
    cram.add_argument(
        "--lengths", type=int, nargs="+", default=[64],
        help="tokens per target; the preset published needs a grid (default: 64)",
    )  # fmt: skip
    cram.add_argument("--text", help="a file or folder of text (default: held-out docstrings)")
    cram.add_argument("--preset", choices=["best", "published"], default="best")
    cram.add_argument("--steps", type=int, help="steps of a run, instead of the preset's")
    cram.add_argument("--restarts", type=int, help="runs per target, instead of the preset's")
    cram.add_argument("--seed", type=int, default=0)
    cram.add_argument("--every", type=float, default=60, help="seconds between checkpoints")
    cram.add_argument("--minutes", type=float, help="stop after so long with a partial result")
    cram.add_argument("--out", default="_build/cramming", help="results (default: %(default)s)")
    cram.set_defaults(run=_cram)

    copy = commands.add_parser("copy", help="train on x | x: up to which length does it copy?")
    copy.add_argument("model", help="a known name, a folder, a hub id; or a new small model: "
                      "rotary, none, alibi, learned, mamba")  # fmt: skip
    copy.add_argument("--shortest", type=int, help="letters in training, at least")
    copy.add_argument("--longest", type=int, default=50, help="letters in training, at most")
    copy.add_argument("--lengths", type=int, nargs="+", help="letters in evaluation")
    copy.add_argument("--alphabet", type=int, help="letters to choose from")
    copy.add_argument("--steps", type=int, help="the most steps")
    copy.add_argument("--lr", type=float, help="learning rate")
    copy.add_argument("--check-every", type=int, help="steps between checks of 100 %%")
    copy.add_argument("--seeds", type=int, nargs="+", default=[0], help="runs (default: 0)")
    copy.add_argument("--every", type=int, default=100, help="steps between checkpoints")
    copy.add_argument("--weights", action="store_true", help="keep the trained weights")
    copy.add_argument("--out", default="_build/copying", help="results (default: %(default)s)")
    copy.set_defaults(run=_copy)

    support = commands.add_parser(
        "support", help="radius, angles and slopes of a sample of prompts"
    )
    support.add_argument("model", help="a known name, a folder, a GGUF file or a hub id")
    support.add_argument("--prompts", type=int, default=200, help="random-token prompts")
    support.add_argument("--length", type=int, default=8, help="tokens per prompt")
    support.add_argument("--seed", type=int, default=0)
    support.add_argument("--json", action="store_true", help="print JSON instead of a table")
    support.set_defaults(run=_support)

    predict = commands.add_parser("predict", help="bounds from the weights, without running")
    predict.add_argument("model", help="a known name, a folder, a GGUF file or a hub id")
    predict.add_argument("--eps", type=float, nargs="+", default=[2**-10], help="precision")
    predict.add_argument("--m", type=int, nargs="+", default=range(1, 9), help="memory vectors")
    form = predict.add_mutually_exclusive_group()
    form.add_argument("--json", dest="form", action="store_const", const="json", default="text")
    form.add_argument("--csv", dest="form", action="store_const", const="csv")
    predict.set_defaults(run=_predict)

    sweep = commands.add_parser("sweep", help="cram over a grid, on processes or a Dask cluster")
    sweep.add_argument("models", nargs="+", metavar="MODEL", help="known names, folders, hub ids")
    sweep.add_argument("--m", type=int, nargs="+", default=[1, 2, 4], help="memory vectors")
    sweep.add_argument("--targets", nargs="+", default=["natural", "random"], metavar="KIND")
    sweep.add_argument("--seeds", type=int, nargs="+", default=[0])
    sweep.add_argument("--precisions", nargs="+", default=["float32"], metavar="DTYPE")
    sweep.add_argument("--count", type=int, help="targets of a task (default: 16)")
    sweep.add_argument("--length", type=int, help="tokens of a target (default: 64)")
    sweep.add_argument("--steps", type=int, help="steps of a run, instead of the preset's")
    sweep.add_argument("--jobs", type=int, default=1, help="processes on this machine")
    sweep.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask scheduler, instead")
    sweep.add_argument("--out", default="_build/sweep", help="results (default: %(default)s)")
    sweep.set_defaults(run=_sweep)

    stored = commands.add_parser("results", help="stored results: list, verify, export; Table 1")
    stored.add_argument("action", choices=["list", "verify", "export", "table-1"])
    stored.add_argument("folder", nargs="?", default="results", help="(default: %(default)s)")
    stored.add_argument("--out", help="file for the CSV (default: print it)")
    stored.set_defaults(run=_results)
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


def _cram(args: argparse.Namespace) -> None:
    from dataclasses import replace
    from pathlib import Path

    from accessibility_lib import cramming, fits, models

    config = cramming.Config() if args.preset == "best" else cramming.PUBLISHED
    chosen = {name: getattr(args, name) for name in ("steps", "restarts")}
    config = replace(config, **{name: value for name, value in chosen.items() if value is not None})
    cells = cramming.sweep(
        models.load(args.model),
        args.targets,
        args.m,
        config,
        args.out,
        count=args.count,
        lengths=args.lengths,
        seed=args.seed,
        documents=Path(args.text) if args.text else None,
        every=args.every,
        limit=None if args.minutes is None else 60 * args.minutes,
    )
    for kind in args.targets:
        curves = {cell.m: cell.curve for cell in cells if cell.kind == kind}
        for m, curve in curves.items():
            print(f"{kind} m = {m}: n50 {curve.n50:.1f} [{curve.low:.1f}, {curve.high:.1f}]")
        with contextlib.suppress(AccessibilityError):  # too few curves for a line
            line = fits.fit_slope(list(curves), list(curves.values()))
            print(f"{kind} slope: {line.slope:.2f} [{line.low:.2f}, {line.high:.2f}] tokens per m")


def _copy(args: argparse.Namespace) -> None:
    from accessibility_lib.copying import CopyConfig, results, study

    given = {
        name: getattr(args, name)
        for name in ("shortest", "longest", "lengths", "alphabet", "steps", "lr", "check_every")
        if getattr(args, name) is not None
    }
    if args.lengths:
        given["lengths"] = tuple(args.lengths)
    found = []
    for seed in args.seeds:
        config = CopyConfig(seed=seed, **given)
        run = study.run(args.model, config, args.out, weights=args.weights, every=args.every)
        curve = run.curve()
        fall = results.fall(curve)
        found.append(curve.n50)
        print(
            f"{run.name} seed {seed}: {run.history[-1][-1]:.1%} up to {args.longest} after "
            f"{run.steps} steps; n50 {curve.n50:.1f} [{curve.low:.1f}, {curve.high:.1f}], "
            f"{fall.verdict}"
        )
    if len(found) > 1:
        mean, low, high = results.over_seeds(found)
        print(f"{run.name}: n50 {mean:.1f} [{low:.1f}, {high:.1f}] over {len(found)} seeds")


def _support(args: argparse.Namespace) -> None:
    import json

    from accessibility_lib import models
    from accessibility_lib.geometry import survey

    found = survey.report(models.load(args.model), args.prompts, args.length, args.seed)
    if args.json:
        print(json.dumps(found, indent=1))
        return
    print(
        f"{found['model']}: {args.prompts} prompts of {args.length} random tokens, seed {args.seed}"
    )
    print("radius  " + "  ".join(f"{norm} {r:.2f}" for norm, r in found["radius"].items()))
    print(
        f"largest angle {found['largest_angle_degrees']:.1f}°, "
        f"smallest cone {found['smallest_cone_degrees']:.1f}°"
    )
    print(f"{'support':30}{'slope C':>10}{'from':>10}{'sample inside':>15}  at eps = 2^-10")
    for row in found["supports"]:
        print(
            f"{row['support']:30}{row['slope']:10.1f}{row['from']:>10}{row['inside']:15.1%}"
            + ("  (heuristic)" if row["heuristic"] else "")
        )


def _predict(args: argparse.Namespace) -> None:
    from accessibility_lib import predict

    found = predict.predict(args.model, args.eps, args.m)
    print(getattr(predict, f"to_{args.form}")(found).rstrip("\n"))


def _sweep(args: argparse.Namespace) -> None:
    from accessibility_lib import sweeps

    settings = {
        name: getattr(args, name)
        for name in ("count", "length", "steps")
        if getattr(args, name) is not None
    }
    tasks = sweeps.grid(args.models, args.m, args.targets, args.seeds, args.precisions, settings)
    found = sweeps.run(tasks, args.out, jobs=args.jobs, scheduler=args.scheduler)
    for task in tasks:
        values = (found[task.key][name] for name in ("n50", "low", "high"))
        n50, low, high = ("?" if value is None else f"{value:.1f}" for value in values)
        print(
            f"{task.model} {task.kind} m = {task.m} seed {task.seed} {task.precision}: "
            f"n50 {n50} [{low}, {high}]"
        )
    rows = sweeps.manifest(args.out)
    print(f"{sum(row['done'] for row in rows)} of {len(rows)} tasks done, in {args.out}")


def _results(args: argparse.Namespace) -> int:
    from pathlib import Path

    from accessibility_lib import artifacts, tightness

    if not Path(args.folder).is_dir():
        raise AccessibilityError(f"there is no folder {args.folder}; give one that holds results.")
    if args.action == "verify":
        rows = artifacts.verify(args.folder)
        wrong = [problem for _, problem in rows if problem]
        print("\n".join([*wrong, f"{len(rows)} files, {len(wrong)} problems"]))
        return 1 if wrong else 0
    if args.action == "table-1":
        print(tightness.write(args.folder))
        return 0
    found = artifacts.table(args.folder)
    if args.action == "export":
        text = artifacts.to_csv(found)
        print(text, end="") if args.out is None else Path(args.out).write_text(text, "utf-8")
        return 0
    for row in found:
        partial = "" if row["complete"] else "partial"
        print(f"{row['path']:44}{row['kind']:18}{row['model'] or '':20}{row['date']}  {partial}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; an :class:`AccessibilityError` becomes one line and exit status 2."""
    args = build_parser().parse_args(argv)
    try:
        status = args.run(args) or 0
        sys.stdout.flush()
    except AccessibilityError as error:
        print(f"accessibility: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `| head` has seen enough; nothing more can be written, nor need be
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status
