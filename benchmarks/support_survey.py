"""The stored surveys of chapter 04: ``python benchmarks/support_survey.py [NAME ...]``.

Writes ``results/support/NAME.json`` and ``.safetensors``.  About twenty minutes on one core for
all; a survey that is there already is left alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

from accessibility_lib import models
from accessibility_lib.geometry.survey import survey

FOLDER = Path("results/support")
SURVEYS = {
    # name: (model, prompts of each seed, lengths)
    "micro-llama": ("micro-llama", 20_000, (8,)),
    "smollm2-135m": ("smollm2-135m", 1000, (1, 2, 4, 8)),
    "smollm2-135m-lengths": ("smollm2-135m", 32, (1, 2, 4, 8, 16, 32, 64, 128)),
}
SEEDS = (0, 1, 2, 3, 4)


def main(names: list[str]) -> None:
    for name in names or list(SURVEYS):
        model, prompts, lengths = SURVEYS[name]
        if not (FOLDER / f"{name}.json").exists():
            survey(models.load(model), prompts, lengths, SEEDS).save(FOLDER / name)
        print(FOLDER / name)


if __name__ == "__main__":
    main(sys.argv[1:])
