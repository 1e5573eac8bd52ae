"""n50(1) of the micro models by plain cramming: one memory vector, held-out docstrings.

Each of 16 targets has one memory vector; the first token must follow from the vector alone.  Adam,
learning rate 0.1; a target is reached when every token is the argmax (teacher-forced).

    python benchmarks/micro_cramming.py micro-llama micro-qwen2
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time

import numpy as np
import torch
from torch.nn import functional as F

from accessibility_lib import models
from accessibility_lib.micro import corpus, scan, tokenizer
from accessibility_lib.models.registry import MICRO


def targets(held_out: np.ndarray, n: int, count: int, seed: int) -> torch.Tensor:
    """``count`` random windows (count, n) of held-out tokens without a separator (token 0)."""
    generator = np.random.default_rng(seed)
    rows: list[np.ndarray] = []
    while len(rows) < count:
        start = generator.integers(0, len(held_out) - n)
        window = held_out[start : start + n]
        if window.all():
            rows.append(window.astype(np.int64))
    return torch.from_numpy(np.stack(rows))


def crammed(loaded: models.LoadedModel, rows: torch.Tensor, steps: int, lr: float) -> int:
    """How many of the targets (count, n) one memory vector each makes the model output."""
    adapter = loaded.adapter
    table = adapter.embedding_scale * adapter.input_embedding
    noise = torch.randn(len(rows), 1, table.shape[1], generator=torch.Generator().manual_seed(0))
    memory = (noise * table.std()).requires_grad_()
    optimizer = torch.optim.Adam([memory], lr=lr)
    embedded = adapter.embed(rows[:, :-1])
    reached = torch.zeros(len(rows), dtype=torch.bool)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = lr * (1 - step / steps)
        x = adapter.last_hidden(inputs_embeds=torch.cat([memory, embedded], dim=1))
        logits = adapter.logits(x)
        reached |= (logits.argmax(-1) == rows).all(-1)
        if reached.all():
            break
        loss = F.cross_entropy(logits.transpose(1, 2), rows, reduction="none").sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return int(reached.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--lengths", type=int, nargs="+", default=[2, 4, 6, 8, 10, 12, 16])
    parser.add_argument("--record", action="store_true", help="write n50(1) into the card")
    args = parser.parse_args()
    torch.set_num_threads(1)
    held_out = corpus.load().held_out
    for name in args.names:
        start = time.perf_counter()
        loaded = models.load(name)
        tokens = tokenizer.encode(loaded.tokenizer.backend_tokenizer, held_out)
        counts = []
        with scan.trainable() if "mamba" in name else contextlib.nullcontext():
            for n in args.lengths:
                counts.append(crammed(loaded, targets(tokens, n, 16, n), args.steps, args.lr))
        # Where the share of reached targets crosses a half, linear between the lengths tried.
        shares = np.maximum.accumulate(np.array(counts[::-1]))[::-1] / 16
        if not shares[-1] < 0.5 <= shares[0]:
            raise SystemExit(
                f"{name}: half of the targets is not crossed by {counts}; other lengths"
            )
        n50 = float(np.interp(0.5, shares[::-1], args.lengths[::-1]))
        seconds = time.perf_counter() - start
        reached = " ".join(f"{n}:{c}/16" for n, c in zip(args.lengths, counts, strict=True))
        if args.record:
            path = MICRO / name / "card.json"
            card = json.loads(path.read_text(encoding="utf-8"))
            card["cramming"] = {
                "n50": round(n50, 1),
                "memory_vectors": 1,
                "reached_of_16": dict(zip(map(str, args.lengths), counts, strict=True)),
                "steps": args.steps,
                "lr": args.lr,
            }
            path.write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
        print(f"{name}: n50(1) = {n50:.1f} ({reached}; {seconds:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
