"""The engine against a plain implementation of the published protocol, on the same targets.

The plain one takes one target at a time: AdamW, learning rate 0.01, betas 0.9 and 0.9, weight
decay 0.01, at most 3000 steps, and it ends after 500 in which the share of right tokens did not
rise.  Both score the first token.  Both run here, one after the other, on one thread.

    python benchmarks/cramming.py micro-llama
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F
from tqdm import tqdm

from accessibility_lib import fits, models, targets
from accessibility_lib.cramming import Config, cram


def plain(loaded: models.LoadedModel, target: list[int], m: int, seed: int) -> tuple[bool, int]:
    """Whether one target was reached, and the steps it took."""
    model = loaded.model
    row = torch.tensor([target])
    table = model.get_input_embeddings().weight
    generator = torch.Generator().manual_seed(seed)
    memory = torch.randn(1, m, table.shape[1], generator=generator) * table.std()
    memory.requires_grad_()
    optimizer = torch.optim.AdamW([memory], lr=0.01, betas=(0.9, 0.9), weight_decay=0.01)
    embedded = model.get_input_embeddings()(row)
    best, since = -1.0, 0
    for step in range(3000):
        logits = model(inputs_embeds=torch.cat([memory, embedded], dim=1)).logits[:, m - 1 : -1]
        share = float((logits.argmax(-1) == row).float().mean())
        best, since = (share, 0) if share > best else (best, since + 1)
        if share == 1.0 or since >= 500:
            return share == 1.0, step + 1
        loss = F.cross_entropy(logits[0], row[0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return False, 3000


def describe(name: str, lengths: list[int], won: list[int], count: int, seconds: float) -> None:
    curve = fits.fit_curve(lengths, won, [count] * len(lengths))
    shares = " ".join(f"{n}:{k}/{count}" for n, k in zip(lengths, won, strict=True))
    interval = f"{curve.n50:.1f} [{curve.low:.1f}, {curve.high:.1f}]"
    print(f"{name}: n50 {interval}  ({shares})  {seconds:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default="micro-llama")
    parser.add_argument("--kind", default="natural", choices=targets.KINDS)
    parser.add_argument("--m", type=int, default=1)
    parser.add_argument("--lengths", type=int, nargs="+", default=[4, 8, 12, 16])
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--text", help="file or folder of text (default: held-out docstrings)")
    parser.add_argument("--steps", type=int, nargs="+", default=[100, 300], help="of the engine")
    args = parser.parse_args()
    torch.set_num_threads(1)
    loaded = models.load(args.model)
    draw = np.random.default_rng(0)
    text = Path(args.text) if args.text else None
    rows = [
        row
        for n in args.lengths
        for row in targets.make(args.kind, loaded, n, args.count, draw, text).tolist()
    ]
    fast = []
    for steps in args.steps:
        config = Config(steps=steps)
        result = cram(loaded, rows, args.m, config, torch.Generator().manual_seed(0))
        describe(f"engine, {steps} steps", *result.counts()[:2], args.count, result.seconds)
        fast.append(result.seconds)
    start = time.perf_counter()
    won = [plain(loaded, row, args.m, i)[0] for i, row in enumerate(tqdm(rows, disable=None))]
    seconds = time.perf_counter() - start
    counts = np.reshape(won, (-1, args.count)).sum(1).tolist()
    describe("published protocol", args.lengths, counts, args.count, seconds)
    for steps, own in zip(args.steps, fast, strict=True):
        print(f"published / engine ({steps} steps): {seconds / own:.1f} times the wall time")


if __name__ == "__main__":
    main()
