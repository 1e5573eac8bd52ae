"""How far the optimiser is to blame (E5): n50 by restarts, steps and learning rate.

The same targets are crammed with eight independent starts for each setting, and every start is
stored, so that the best of 1, 2, 4 and 8 can be read off.  Writes ``results/cramming/budget``.

    python benchmarks/cramming_budget.py micro-llama
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from accessibility_lib import models, targets
from accessibility_lib.cramming import Config, horizon

SETTINGS = {
    "steps-30": Config(steps=30),
    "steps-100": Config(steps=100),
    "steps-300": Config(steps=300),
    "lr-half": Config(steps=100, lr=1.0),
    "lr-double": Config(steps=100, lr=4.0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default="micro-llama")
    parser.add_argument("--count", type=int, default=8, help="targets")
    parser.add_argument("--starts", type=int, default=8)
    parser.add_argument("--length", type=int, default=48)
    parser.add_argument("--out", default="results/cramming/budget")
    args = parser.parse_args()
    torch.set_num_threads(1)
    loaded = models.load(args.model)
    rows = targets.natural(loaded, args.length, args.count, np.random.default_rng(0)).tolist()
    for name, config in SETTINGS.items():
        path = Path(args.out) / f"{args.model}-{name}"
        if path.with_suffix(".json").is_file():
            continue
        seed = torch.Generator().manual_seed(0)
        found = horizon(loaded, args.starts * rows, 1, config, seed, progress=True)
        note = {"kind": "natural", "seed": 0, "starts": args.starts, "setting": name}
        replace(found, note=note).save(path)


if __name__ == "__main__":
    main()
