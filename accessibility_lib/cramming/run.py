"""The state of a run: what waits, what is at work, what is done."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from accessibility_lib import fits
from accessibility_lib.cramming.config import Config, Outcome, Result, Status
from accessibility_lib.cramming.objective import loss_and_gradient, padded, prefix, teacher_forced
from accessibility_lib.models import LoadedModel

PLAIN = (
    "queue", "rows", "reached", "winner", "steps", "broken", "loss", "gap", "done", "seconds",
)  # fmt: skip
PADDING = 256  # tokens that cost about as much as one more forward pass of a micro model
LOOK_AHEAD = 16  # tokens past the goal that may be right already, for nothing


class Run:
    """Queue, batch and outcomes of many targets; :meth:`step` is one optimiser step of the batch.

    A row of the batch is one run: a target, a restart, a goal (how many tokens of the target it
    must give now), a memory and its AdamW moments.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        targets: list[tuple[int, ...]],
        m: int,
        config: Config,
        seeds: Tensor,
    ) -> None:
        self.loaded, self.targets, self.m, self.config = loaded, targets, m, config
        self.seeds, self.growth = seeds, config.growth
        table = loaded.adapter.input_embedding.float()
        self.std = float(table.std()) * abs(loaded.adapter.embedding_scale)
        self.width = table.shape[1]
        count = len(targets)
        # The shortest first: rows of like length share a batch and little of it is padding.
        order = sorted(range(count), key=lambda i: (len(targets[i]), i))
        self.queue = [(i, 0) for i in order]
        self.rows: list[tuple[int, int]] = []  # (target, restart) of the rows at work
        self.batch: dict[str, Tensor] = {
            "memory": torch.zeros(0, m, self.width),
            "first": torch.zeros(0, m, self.width),
            "second": torch.zeros(0, m, self.width),
            "step": torch.zeros(0, dtype=torch.int64),
            "goal": torch.zeros(0, dtype=torch.int64),
            "best": torch.zeros(0),  # the largest share of right tokens so far
            "since": torch.zeros(0, dtype=torch.int64),  # steps since it rose
        }
        self.kept = torch.full((count, m, self.width), math.nan)
        self.reached = [0] * count
        self.winner = [0] * count
        self.steps = [0] * count
        self.broken = [0] * count  # runs that met NaN or infinity
        self.loss: list[float | None] = [None] * count
        self.gap: list[float | None] = [None] * count
        self.done: list[int] = []
        self.seconds = 0.0

    def successes(self) -> int:
        """How many targets are reached in full."""
        return sum(r == len(t) for r, t in zip(self.reached, self.targets, strict=True))

    def n50(self) -> str:
        """n50 of the targets that are done, for people who watch."""
        if not self.done:
            return "?"
        reached = np.array([self.reached[i] for i in self.done])
        lengths = np.array([len(self.targets[i]) for i in self.done])
        if self.growth:
            failed = np.where(reached == lengths, np.inf, reached + self.growth)
            return f"{fits.fit_horizons(reached, failed).n50:.1f}"
        tried, place = np.unique(lengths, return_inverse=True)
        won = np.bincount(place, weights=reached == lengths)
        return f"{fits.fit_curve(tried, won, np.bincount(place)).n50:.1f}"

    def step(self) -> bool:
        """Fill the batch, take one step, let rows go; False when nothing is left."""
        self._admit()
        if not self.rows:
            return False
        b, config = self.batch, self.config
        loss, right = torch.zeros(len(self.rows)), torch.zeros(len(self.rows))
        gradient = torch.zeros_like(b["memory"])
        for part in self._parts():
            tokens, _ = padded(
                [self.targets[self.rows[k][0]] for k in part], int(b["goal"][part].max())
            )
            loss[part], right[part], gradient[part] = loss_and_gradient(
                self.loaded, b["memory"][part], tokens, b["goal"][part], config
            )
        finite = torch.isfinite(loss) & torch.isfinite(gradient).all(-1).all(-1)
        b["since"] = torch.where(right > b["best"], 0, b["since"] + 1)
        b["best"] = torch.maximum(b["best"], right)
        tired = b["step"] + 1 >= config.steps
        if config.patience is not None:
            tired |= b["since"] >= config.patience
        moving, staying = [], []
        for k, (i, _) in enumerate(self.rows):
            self.steps[i] += 1
            if self.reached[i] == 0:
                self.loss[i] = float(loss[k]) if finite[k] else None
            if finite[k] and right[k] > 1 - 1e-6 and (given := self._confirm(k)):
                if self._won(k, given):
                    staying.append(k)
            elif not finite[k] or tired[k]:
                self._lost(k, bool(finite[k]))
            else:
                staying.append(k)
                moving.append(k)
        self._update(torch.tensor(moving, dtype=torch.int64), gradient)
        self.batch = {name: tensor[staying] for name, tensor in b.items()}
        self.rows = [self.rows[k] for k in staying]
        return True

    def _admit(self) -> None:
        longest = int(self.batch["goal"].max()) if self.rows else 0
        while self.queue:
            i, restart = self.queue[0]
            goal = min(self.growth or len(self.targets[i]), len(self.targets[i]))
            longest = max(longest, goal)
            if self.rows and (len(self.rows) + 1) * (self.m + longest) > self.config.batch_tokens:
                return
            self.queue.pop(0)
            new = {
                "memory": self._start(i, restart)[None],
                "goal": torch.tensor([goal]),
                "best": torch.tensor([-1.0]),
            }
            for name, tensor in self.batch.items():
                row = new.get(name, torch.zeros(1, *tensor.shape[1:], dtype=tensor.dtype))
                self.batch[name] = torch.cat([tensor, row])
            self.rows.append((i, restart))

    def _parts(self) -> list[list[int]]:
        """The rows of the batch in groups of like goals, none too large or with much padding."""
        parts: list[list[int]] = []
        tokens = 0
        for k in self.batch["goal"].argsort(stable=True).tolist():
            goal = int(self.batch["goal"][k])
            size = (len(parts[-1]) + 1) if parts else 0
            full = size * (self.m + goal) > self.config.batch_tokens
            if not size or full or (size - 1) * goal - tokens > PADDING:
                parts.append([])
                tokens = 0
            parts[-1].append(k)
            tokens += goal
        return parts

    def _start(self, i: int, restart: int) -> Tensor:
        generator = torch.Generator().manual_seed(int(self.seeds[i, restart]))
        if self.config.init == "normal":
            return self.std * torch.randn(self.m, self.width, generator=generator)
        ids = self.loaded.adapter.token_ids
        chosen = ids[torch.randint(len(ids), (self.m,), generator=generator)]
        return self.loaded.adapter.embed(chosen).detach().float().cpu()

    def _confirm(self, k: int) -> int:
        """Check row ``k`` by exact logits of its own: the prefix it gives, 0 if not its goal."""
        i, restart = self.rows[k]
        goal = int(self.batch["goal"][k])
        memory = self.batch["memory"][k]
        seen = self.targets[i] if not self.growth else self.targets[i][: goal + LOOK_AHEAD]
        check = teacher_forced(self.loaded, memory, seen)
        given = prefix(check, self.config.score_first)
        if given < goal:
            return 0
        if given > self.reached[i]:
            self.kept[i], self.reached[i], self.winner[i] = memory, given, restart
            gaps = check.gap[0 if self.config.score_first else 1 : given]
            self.gap[i] = float(gaps.min()) if len(gaps) else None
        return given

    def _won(self, k: int, given: int) -> bool:
        """A confirmed goal: the target is done, or the goal grows and the run goes on."""
        i, _ = self.rows[k]
        if given == len(self.targets[i]):
            self.done.append(i)
            return False
        assert self.growth
        self.batch["goal"][k] = min(given + self.growth, len(self.targets[i]))
        for name in ("first", "second", "step", "since"):
            self.batch[name][k] = 0
        self.batch["best"][k] = -1.0
        return True

    def _lost(self, k: int, finite: bool) -> None:
        i, restart = self.rows[k]
        self.broken[i] += not finite
        if restart + 1 < self.config.restarts:
            self.queue.append((i, restart + 1))
        else:
            self.done.append(i)

    def _update(self, rows: Tensor, gradient: Tensor) -> None:
        """AdamW on the rows chosen, each at its own step."""
        b, config = self.batch, self.config
        g = gradient[rows]
        beta1, beta2 = config.betas
        b["first"][rows] = first = torch.lerp(g, b["first"][rows], beta1)
        b["second"][rows] = second = torch.lerp(g * g, b["second"][rows], beta2)
        taken = b["step"][rows][:, None, None]
        lr = config.lr * (self.std if config.relative else 1.0)
        rate = lr * (1 - taken / config.steps if config.schedule == "linear" else 1.0)
        move = (first / (1 - beta1 ** (taken + 1))) / (
            (second / (1 - beta2 ** (taken + 1))).sqrt() + 1e-8
        )
        memory = b["memory"][rows]
        b["memory"][rows] = memory * (1 - rate * config.weight_decay) - rate * move
        b["step"][rows] += 1

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Everything :meth:`restore` needs: tensors, and what JSON can hold."""
        return {**self.batch, "kept": self.kept}, {name: getattr(self, name) for name in PLAIN}

    def restore(self, state: tuple[dict[str, Tensor], dict[str, Any]] | None) -> None:
        """Go on from a state; None: from the start."""
        if state is None:
            return
        tensors, plain = state
        self.kept = tensors["kept"]
        self.batch = {name: tensors[name] for name in self.batch}
        for name in PLAIN:
            setattr(self, name, plain[name])

    def result(self) -> Result:
        """The outcomes so far."""
        finished = set(self.done)
        outcomes = []
        for i, target in enumerate(self.targets):
            lost = self.reached[i] == 0 and i in finished
            status: Status = "reached" if self.reached[i] == len(target) else "not reached"
            if i not in finished:
                status = "unfinished"
            elif self.broken[i] == self.config.restarts and not self.reached[i]:
                status = "not finite"
            outcomes.append(
                Outcome(
                    target=target,
                    m=self.m,
                    reached=self.reached[i],
                    status=status,
                    restart=self.config.restarts if lost else self.winner[i],
                    steps=self.steps[i],
                    loss=self.loss[i],
                    gap=self.gap[i],
                )
            )
        return Result(
            outcomes=tuple(outcomes),
            memory=self.kept,
            config=self.config,
            model=self.loaded.name,
            sha256=self.loaded.sha256,
            seconds=self.seconds,
            complete=len(finished) == len(self.targets),
        )
