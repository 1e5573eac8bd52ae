"""How memory vectors are optimised, and what came out for each target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from accessibility_lib import artifacts
from accessibility_lib._checks import adamw, at_least, positive
from accessibility_lib.errors import AccessibilityError

CHOICES = {
    "schedule": ("constant", "linear"),
    "init": ("normal", "rows"),
    "loss": ("margin", "likelihood"),
}
KIND = "cramming"
Status = Literal["reached", "not reached", "not finite", "unfinished"]


@dataclass(frozen=True)
class Config:
    """AdamW on the memory vectors alone, one independent run per target and restart.

    ``growth``: the goal of a run starts at so many tokens; when it is reached, the run goes on from
    there with a goal so many tokens past the prefix the memory gives already.  None: the goal is
    the whole target from the start.  ``steps``: the most steps for one goal.  ``restarts``: runs
    per target, the next one only where all before it failed.  ``patience``: a run ends after so
    many steps in which the share of right tokens rose no further; None: never.

    ``loss``: per token, "likelihood" is minus the log-likelihood and "margin" the square of what
    the logit's lead over the closest rival lacks to ``margin``: it leaves alone what is right
    already, and reaches far more targets.  ``score_first``: the first token must follow from the
    memory alone; False is the published convention, which gives the first token.

    ``lr``: the learning rate, in units of the standard deviation of the input embeddings where
    ``relative``.  ``schedule``: constant, or linear to 0 at the last step.  ``init``: "normal"
    draws from the normal distribution with that standard deviation, "rows" takes random rows of
    the table.  ``batch_tokens``: the most tokens in one forward pass; ``chunk``: the most logits at
    a time.

    The default is the best preset measured on micro models; :data:`PUBLISHED` has the settings of
    the paper's protocol, but scores the first token unless told not to.
    """

    growth: int | None = 1
    steps: int = 300
    restarts: int = 1
    patience: int | None = None
    loss: Literal["margin", "likelihood"] = "margin"
    margin: float = 0.3
    score_first: bool = True
    lr: float = 2.0
    relative: bool = True
    betas: tuple[float, float] = (0.9, 0.9)
    weight_decay: float = 0.0
    schedule: Literal["constant", "linear"] = "constant"
    init: Literal["normal", "rows"] = "normal"
    batch_tokens: int = 1024
    chunk: int = 1 << 24

    def __post_init__(self) -> None:
        at_least("steps", self.steps, 1)
        at_least("restarts", self.restarts, 1)
        at_least("batch_tokens", self.batch_tokens, 1)
        at_least("chunk", self.chunk, 1)
        positive("lr", self.lr)
        positive("margin", self.margin)
        for name in ("growth", "patience"):
            if getattr(self, name) is not None:
                at_least(name, getattr(self, name), 1)
        adamw(self.weight_decay, self.betas)
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise AccessibilityError(
                    f"{name} = {getattr(self, name)!r}; there are {' and '.join(choices)}."
                )


PUBLISHED = Config(
    growth=None,
    steps=3000,
    lr=0.01,
    relative=False,
    betas=(0.9, 0.9),
    weight_decay=0.01,
    schedule="constant",
    loss="likelihood",
    patience=500,
    restarts=1,
)


@dataclass(frozen=True)
class Outcome:
    """What became of one target.

    ``reached``: the longest prefix whose every token the memory gives teacher-forced, confirmed by
    a forward pass of its own; the target's length in case of success.  ``status``: "not finite"
    where every run met NaN or infinity, "unfinished" where the time was up before the last run
    ended.  ``restart``: the run that reached it (the first is 0) or
    the number of runs that failed.  ``steps``: over all runs.  ``loss``: the mean per token at
    the end of the last run, None where not finite.  ``gap``: the smallest lead of a target token's
    logit over its closest rival's, None where nothing was reached.
    """

    target: tuple[int, ...]
    m: int
    reached: int
    status: Status
    restart: int
    steps: int
    loss: float | None
    gap: float | None

    @property
    def success(self) -> bool:
        """Whether the whole target was reached (teacher-forced)."""
        return self.reached == len(self.target)


@dataclass(frozen=True, eq=False)
class Result:
    """Outcomes in the order of the targets, with the memory (targets, m, d_in) in fp32 behind each
    ``reached`` prefix; NaN where none was reached.

    ``model`` and ``sha256``: of the model.  ``complete``: False where the run was cut short.
    ``seconds``: of computing, over all sessions of a resumed run.
    """

    outcomes: tuple[Outcome, ...]
    memory: Tensor
    config: Config
    model: str
    sha256: str
    seconds: float
    complete: bool = True
    note: dict[str, Any] = field(default_factory=dict)

    def lengths(self) -> list[int]:
        """The different lengths of the targets, ascending."""
        return sorted({len(o.target) for o in self.outcomes})

    def counts(self, restarts: int | None = None) -> tuple[list[int], list[int], list[int]]:
        """Lengths, successes and trials, as :func:`accessibility_lib.fits.fit_curve` takes them.
        ``restarts``: count only successes within that many runs.

        >>> import torch
        >>> def outcome(n, reached):
        ...     return Outcome((5,) * n, 1, reached, "reached", 0, 9, 0.1, 0.5)
        >>> some = (outcome(4, 4), outcome(4, 4), outcome(6, 0))
        >>> Result(some, torch.zeros(3, 1, 8), Config(), "micro-llama", "", 1.0).counts()
        ([4, 6], [2, 0], [2, 1])
        """
        lengths = self.lengths()
        known = [o for o in self.outcomes if o.status != "unfinished"]
        rows = [[o for o in known if len(o.target) == n] for n in lengths]
        won = [
            sum(o.success and (restarts is None or o.restart < restarts) for o in row)
            for row in rows
        ]
        return lengths, won, [len(row) for row in rows]

    def save(self, path: str | Path) -> None:
        """Write the artifact ``path``: memory as an array, the rest as JSON."""
        data = {"outcomes": [asdict(o) for o in self.outcomes], "note": self.note}
        artifacts.save(
            path, KIND, data, {"memory": self.memory.numpy()}, model=self.model,
            sha256=self.sha256, config=self.config, seed=self.note.get("seed"),
            seconds=self.seconds, complete=self.complete,
        )  # fmt: skip

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read what :meth:`save` wrote; errors of :func:`accessibility_lib.artifacts.load`."""
        found = artifacts.load(path, KIND)
        return cls(
            outcomes=tuple(
                Outcome(**{**o, "target": tuple(o["target"])}) for o in found.data["outcomes"]
            ),
            memory=torch.from_numpy(found.arrays["memory"]),
            config=config_from(found.provenance["config"]),
            model=found.provenance["model"],
            sha256=found.provenance["sha256"],
            seconds=found.provenance["seconds"],
            complete=found.complete,
            note=found.data["note"],
        )


def config_from(state: dict[str, Any]) -> Config:
    """A configuration from its JSON form."""
    return Config(**{**state, "betas": tuple(state["betas"])})


def check_targets(
    targets: Sequence[Any] | Tensor, vocab: int, positions: int | None, m: int
) -> list[tuple[int, ...]]:
    """Targets as tuples of token ids; refuses what no memory of ``m`` vectors could be tried on."""
    rows = [tuple(int(t) for t in row) for row in targets]
    if not rows:
        raise AccessibilityError("there is no target; give at least one.")
    for i, row in enumerate(rows):
        if not row:
            raise AccessibilityError(f"target {i} is empty; give at least one token.")
        if not all(0 <= token < vocab for token in row):
            bad = next(token for token in row if not 0 <= token < vocab)
            raise AccessibilityError(
                f"target {i} has the token {bad}, but the model has ids 0 to {vocab - 1}; "
                "encode with the model's own tokenizer."
            )
        if positions is not None and len(row) + m > positions:
            raise AccessibilityError(
                f"target {i} has {len(row)} tokens and with m = {m} needs {len(row) + m} "
                f"positions, but the model has {positions}; cut it to {positions - m}."
            )
    return rows
