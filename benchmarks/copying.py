"""40 lengths in one call against one length at a time, with the same strings and model.

One length at a time is done twice: by greedy decoding, a pass for every letter, as an evaluation
by generation does, and teacher-forced, a pass for every length.  All three count the same copies.

    python benchmarks/copying.py rotary
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

from accessibility_lib.copying import CopyConfig, choose, draw, greedy, study, teacher_forced
from accessibility_lib.copying.data import Strings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="?", default="rotary")
    parser.add_argument("--strings", type=int, default=6, help="of each length")
    parser.add_argument("--longest", type=int, default=200)
    args = parser.parse_args()
    torch.set_num_threads(1)
    lengths = tuple(np.linspace(args.longest / 40, args.longest, 40).round().astype(int).tolist())
    config = CopyConfig(lengths=lengths, strings=args.strings)
    loaded = study.start(args.model, config)
    model, alphabet = loaded.model, choose(loaded, config)
    strings = draw(alphabet, np.repeat(lengths, args.strings).tolist(), np.random.default_rng(0))

    def one(n: int) -> Strings:
        rows = torch.where(strings.lengths == n)[0]
        return Strings(strings.tokens[rows, : 2 * n + 1], strings.lengths[rows])

    def generated(n: int) -> int:
        part = one(n)
        given = greedy(model, part.tokens[:, : n + 1], n)
        return int((given == part.tokens[:, :n]).all(1).sum())

    counts, seconds = [], []
    for way in (
        lambda: int(teacher_forced(model, strings).exact.sum()),
        lambda: sum(int(teacher_forced(model, one(n)).exact.sum()) for n in lengths),
        lambda: sum(generated(n) for n in lengths),
    ):
        start = time.perf_counter()
        counts.append(way())
        seconds.append(time.perf_counter() - start)
    print(f"exact copies, all in one call, a pass per length, greedy: {counts}")
    print(f"seconds: {' '.join(f'{s:.2f}' for s in seconds)}")
    print(f"times as fast as greedy, one length at a time: {seconds[2] / seconds[0]:.1f}")
    print(f"times as fast as a pass per length: {seconds[1] / seconds[0]:.1f}")


if __name__ == "__main__":
    main()
