"""The stored series of chapter 10: ``python benchmarks/scaling.py``.

Micro Llamas of width 64 that differ only in their layers or in the steps they were trained, and how
long a target memory vectors reach in each: ``results/scaling/NAME/KIND-mM``.  The weights stay in
``_build/scaling``.  About an hour on one core; what is there already is left alone.

The step series are stops of one training, whose learning rate has not fallen yet at the earlier
ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from accessibility_lib import cramming, models, targets
from accessibility_lib.micro import corpus, specs, training
from accessibility_lib.predict import predict

WORK, OUT = Path("_build/scaling"), Path("results/scaling")
BASE = replace(specs.ZOO["micro-llama-w64"], name="w64")
STOPS = (0, 150, 300, 600, 1200, BASE.steps)
LAYERS = (1, 2, 8)  # and 4, the last stop
KINDS, MS, COUNT, LENGTH, SEED = ("natural", "random"), (1, 2), 16, 64, 0


def trained(texts: corpus.Corpus) -> Iterator[tuple[str, dict[str, float]]]:
    """The name of each model, whose folder is below WORK, and what differs."""
    data = training.prepare(texts, BASE.vocab)
    series = [(BASE, stop) for stop in STOPS]
    series += [(replace(BASE, name=f"w64-layers-{n}", layers=n), BASE.steps) for n in LAYERS]
    for spec, stop in series:
        name = spec.name if spec is not BASE else f"w64-steps-{stop}"
        if not (WORK / name / "card.json").is_file():
            model = training.train(spec, data, WORK / f"training-{spec.name}", until=stop)
            training.export(model, replace(spec, name=name), data, WORK / name)
        yield name, {"layers": spec.layers, "steps": stop}


def crammed(name: str, what: dict[str, float], m: int, texts: corpus.Corpus) -> None:
    """Store what ``m`` memory vectors reach, beside the slope that theory allows the model."""
    loaded = models.load(str(WORK / name))
    theory = predict(str(WORK / name), ms=[m])["supports"][0]
    for kind in KINDS:
        path = OUT / name / f"{kind}-m{m}"
        if path.with_suffix(".json").is_file():
            continue
        draw = np.random.default_rng([SEED, targets.KINDS.index(kind)])
        rows = targets.make(kind, loaded, LENGTH, COUNT, draw, texts.held_out).tolist()
        start = torch.Generator().manual_seed(SEED)
        found = cramming.cram(loaded, rows, m, cramming.Config(), start)
        note = {"kind": kind, "seed": SEED, **what, theory["support"]: theory["slope"]}
        replace(found, model=name, note=note).save(path)
        print(path, f"n50 {cramming.curve(found).n50:.1f}, {found.seconds:.0f} s", flush=True)


def main() -> None:
    torch.set_num_threads(1)
    texts = corpus.load()
    names = {}
    for name, what in trained(texts):
        names[name] = what
        crammed(name, what, MS[0], texts)
    for m in MS[1:]:
        for name, what in names.items():
            crammed(name, what, m, texts)


if __name__ == "__main__":
    main()
