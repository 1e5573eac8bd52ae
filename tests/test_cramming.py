"""Cramming micro models: successes are real, failures are reported, kills are cheap."""

from __future__ import annotations

import copy
import json
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from accessibility_lib import models, targets
from accessibility_lib.cramming import (
    PUBLISHED,
    Config,
    Result,
    cram,
    horizon,
    objective,
    run,
    teacher_forced,
    verify,
)
from accessibility_lib.errors import AccessibilityError

TEXT = (
    "Return the sum of the elements of an array along a given axis, as a new array of floats. " * 2
)
SHORT = Config(steps=80, restarts=2)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def loaded():
    return models.load("micro-llama")


@pytest.fixture(scope="module")
def rows(loaded):
    """Ragged natural targets, the last too long for one vector and so few steps."""
    draw = np.random.default_rng(0)
    return [
        row.tolist() for n in (2, 3, 4, 5, 24) for row in targets.natural(loaded, n, 2, draw, TEXT)
    ]


@pytest.fixture(scope="module")
def result(loaded, rows):
    return cram(loaded, rows, 1, SHORT, seeded())


def test_short_targets_are_reached_and_long_ones_reported(result, rows):
    lengths, won, trials = result.counts()
    assert lengths == [2, 3, 4, 5, 24]
    assert trials == [2] * 5
    assert won[0] >= 1
    assert won[-1] == 0
    assert sum(won) >= 4
    assert result.complete
    for outcome, row, memory in zip(result.outcomes, rows, result.memory, strict=True):
        assert outcome.target == tuple(row)
        assert outcome.success == (outcome.status == "reached")
        assert (outcome.reached > 0) == bool(memory.isfinite().all()) == (outcome.gap is not None)
        assert outcome.restart < 2 if outcome.reached else outcome.restart == 2
        assert outcome.steps >= 1


def test_every_success_is_exact_and_greedy(loaded, result):
    won = [i for i, o in enumerate(result.outcomes) if o.success]
    for i in won:
        check = teacher_forced(loaded, result.memory[i], result.outcomes[i].target)
        assert check.right.all()
        assert float(check.gap.min()) == result.outcomes[i].gap
    assert all(verify.decodes(loaded, result.memory[won], [result.outcomes[i].target for i in won]))


def test_a_run_does_not_depend_on_its_company(loaded, rows, result):
    alone = cram(loaded, rows, 1, replace(SHORT, batch_tokens=25), seeded())
    same = [a.reached == b.reached for a, b in zip(alone.outcomes, result.outcomes, strict=True)]
    assert sum(same) >= len(same) - 1  # rounding of batched products may turn one
    short = next(i for i, o in enumerate(result.outcomes) if o.success)
    assert torch.allclose(alone.memory[short], result.memory[short], atol=1e-3)


def whole(loaded, leaf, row):
    """Logits of every token of ``row`` (1, n) behind ``leaf`` (1, m, d), by the model itself."""
    inputs = torch.cat([leaf, loaded.adapter.embed(row[:, :-1])], dim=1)
    return loaded.model(inputs_embeds=inputs).logits[0, leaf.shape[1] - 1 :]


def margin_loss(logits, wanted, margin):
    """By the definition, over all tokens."""
    own = logits.gather(1, wanted[:, None])[:, 0]
    others = logits.scatter(1, wanted[:, None], -torch.inf).amax(1)
    return (margin - own + others).clamp_min(0).square().mean()


@pytest.mark.parametrize("loss", ["likelihood", "margin"])
def test_the_gradient_is_that_of_whole_logits(loaded, loss):
    config = Config(loss=loss, margin=5.0, chunk=512 * 3)  # three positions at a time
    tokens, goal = objective.padded([[5, 6, 7, 8], [9, 10]])
    memory = 0.1 * torch.randn(2, 2, 128, generator=seeded())
    losses, right, gradient = objective.loss_and_gradient(loaded, memory, tokens, goal, config)
    for k, n in enumerate(goal.tolist()):
        leaf = memory[k : k + 1].clone().requires_grad_()
        row = tokens[k : k + 1, :n]
        logits = whole(loaded, leaf, row)
        if loss == "likelihood":
            expected = torch.nn.functional.cross_entropy(logits, row[0])
        else:
            expected = margin_loss(logits, row[0], 5.0)
        expected.backward()
        assert float(losses[k]) == pytest.approx(expected.item(), rel=1e-4)
        assert (gradient[k] - leaf.grad[0]).norm() < 1e-4 * leaf.grad.norm()
        assert float(right[k]) == pytest.approx((logits.argmax(-1) == row[0]).float().mean().item())


def test_adamw_is_the_one_of_torch(loaded):
    config = replace(PUBLISHED, steps=4, patience=None)
    target = (5, 6, 7, 8, 9, 10, 11, 12)
    seeds = torch.tensor([[3]])
    own = run.Run(loaded, [target], 1, config, seeds)
    own.step()  # fills the batch, one step
    leaf = own._start(0, 0)[None].requires_grad_()
    optimizer = torch.optim.AdamW([leaf], lr=0.01, betas=(0.9, 0.9), weight_decay=0.01)
    for step in range(3):
        if step:
            own.step()
        _, _, gradient = objective.loss_and_gradient(
            loaded, leaf, *objective.padded([target]), config
        )
        leaf.grad = gradient
        optimizer.step()
        assert torch.allclose(own.batch["memory"], leaf, atol=1e-6)


def test_patience_ends_a_run_that_does_not_improve(loaded, rows):
    config = Config(steps=500, patience=5, restarts=1, lr=1e-6, growth=None)
    result = cram(loaded, rows[-1:], 1, config, seeded())
    assert result.outcomes[0].status == "not reached"
    assert result.outcomes[0].steps < 100


def test_the_published_convention_gives_the_first_token(loaded):
    draw = np.random.default_rng(4)
    rows = targets.random_tokens(loaded, 3, 6, draw)
    given = cram(loaded, rows, 1, replace(SHORT, score_first=False), seeded())
    won = [i for i, o in enumerate(given.outcomes) if o.success]
    assert len(won) >= 3
    alone = verify.decodes(loaded, given.memory[won], [given.outcomes[i].target for i in won])
    assert not any(alone)  # nothing asked the memory for the first token
    single = cram(loaded, [[7]], 1, replace(SHORT, score_first=False), seeded())
    assert single.outcomes[0].success


def test_horizon_grows_past_what_it_starts_with(loaded, rows):
    result = horizon(loaded, rows[-2:], 1, replace(SHORT, restarts=1, growth=None), seeded())
    assert result.config.growth == 1
    for outcome, memory in zip(result.outcomes, result.memory, strict=True):
        assert 2 <= outcome.reached < 24
        assert outcome.status == "not reached"
        check = teacher_forced(loaded, memory, outcome.target[: outcome.reached])
        assert check.right.all()


def test_growth_reaches_more_than_the_whole_target_at_once(loaded, rows):
    whole = cram(loaded, rows[-2:], 1, replace(SHORT, growth=None), seeded())
    assert [o.reached for o in whole.outcomes] == [0, 0]
    assert whole.memory.isnan().all()


@pytest.mark.parametrize("growth", [None, 2])
def test_a_kill_loses_one_interval(loaded, rows, tmp_path, monkeypatch, growth):
    arguments = (loaded, rows[4:], 1, replace(SHORT, steps=30, growth=growth))
    whole = cram(*arguments, seeded())
    path = tmp_path / "run.safetensors"
    step, count = run.Run.step, 0

    def killed(self):
        nonlocal count
        count += 1
        if count == 20:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(run.Run, "step", killed)
    with pytest.raises(KeyboardInterrupt):
        cram(*arguments, seeded(), checkpoint=path, every=0)
    monkeypatch.setattr(run.Run, "step", step)
    resumed = cram(*arguments, seeded(), checkpoint=path)
    assert resumed.outcomes == whole.outcomes
    assert torch.equal(resumed.memory.nan_to_num(), whole.memory.nan_to_num())
    again = cram(*arguments, seeded(), checkpoint=path)  # nothing left to do
    assert again.outcomes == whole.outcomes
    with pytest.raises(AccessibilityError, match="of another model, targets, m"):
        cram(*arguments, seeded(1), checkpoint=path)
    path.write_bytes(b"torn")
    with pytest.raises(AccessibilityError, match="cannot be read"):
        cram(*arguments, seeded(), checkpoint=path)


def test_successes_reproduce_in_a_fresh_process(loaded, result, tmp_path):
    result.save(tmp_path / "kept")
    back = Result.load(tmp_path / "kept.json")
    assert back.outcomes == result.outcomes
    assert back.config == result.config
    assert torch.equal(back.memory.nan_to_num(), result.memory.nan_to_num())
    code = """
import json, sys
from accessibility_lib import models
from accessibility_lib.cramming import Result, verify
result = Result.load(sys.argv[1])
won = [i for i, o in enumerate(result.outcomes) if o.success]
loaded = models.load(result.model)
assert loaded.sha256 == result.sha256
rows = [result.outcomes[i].target for i in won]
print(json.dumps(verify.decodes(loaded, result.memory[won], rows)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "kept")], capture_output=True, check=True
    )
    answers = json.loads(done.stdout)
    assert len(answers) == sum(o.success for o in result.outcomes)
    assert all(answers)


def test_a_broken_result_is_refused(result, tmp_path):
    result.save(tmp_path / "kept")
    raw = bytearray((tmp_path / "kept.safetensors").read_bytes())
    raw[-1] ^= 1
    (tmp_path / "kept.safetensors").write_bytes(raw)
    with pytest.raises(AccessibilityError, match=r"kept.safetensors was changed"):
        Result.load(tmp_path / "kept")


def test_verification(loaded, result):
    checks = verify.verify(loaded, result, 2**-10, seeded(), draws=4, attack=4)
    assert [c.target for c in checks] == [i for i, o in enumerate(result.outcomes) if o.reached]
    assert all(c.greedy for c in checks)
    assert all(c.robust == (c.radius >= 2**-11) or math.isclose(c.radius, 2**-11) for c in checks)
    assert any(c.radius > 0 for c in checks)
    memory = result.memory[[c.target for c in checks]]
    rows = [o.target[: o.reached] for o in result.outcomes if o.reached]
    wide = torch.full((len(rows),), 100.0)
    assert not verify.survives(loaded, memory, rows, wide, seeded()).all()
    still = torch.zeros(len(rows))
    assert verify.survives(loaded, memory, rows, still, seeded()).all()


def test_prefixes_by_notion(loaded, result):
    spoilt = replace(result, memory=result.memory.clone())
    first = next(i for i, o in enumerate(result.outcomes) if o.reached)
    spoilt.memory[first] = 0.0
    whole = verify.prefixes(loaded, result, 2**-10, seeded(), draws=2, attack=2)
    broken = verify.prefixes(loaded, spoilt, 2**-10, seeded(), draws=2, attack=2)
    reached = [o.reached for o in result.outcomes]
    assert whole["teacher-forced"].tolist() == reached
    assert whole["greedy"].tolist() == reached
    said = verify.decode(loaded, spoilt.memory[[first]], reached[first])[0].tolist()
    target = result.outcomes[first].target
    same = next(k for k in range(reached[first]) if said[k] != target[k])
    assert broken["greedy"][first] == same < reached[first]
    assert broken["robust"][first] == 0
    wide = verify.prefixes(loaded, result, 100.0, seeded(), draws=2, attack=2)
    assert sum(wide["robust"]) < sum(whole["robust"]) <= sum(reached)


def test_the_attack_finds_what_random_draws_miss(loaded, result):
    chosen = [i for i, o in enumerate(result.outcomes) if o.success]
    memory, rows = result.memory[chosen], [result.outcomes[i].target for i in chosen]
    random = verify.largest_radius(loaded, memory, rows, seeded(), draws=8, attack=0)
    both = verify.largest_radius(loaded, memory, rows, seeded(), draws=8, attack=10)
    assert both.log().mean() < random.log().mean()


def test_nan_is_reported_and_the_rest_finished(rows):
    loaded = copy.deepcopy(models.load("micro-llama"))

    def poison(module, args, out):
        return torch.where((args[0] == 7)[..., None], math.nan, out)

    loaded.model.get_input_embeddings().register_forward_hook(poison)
    result = cram(loaded, [rows[0], [7, 8, 9], rows[2]], 1, SHORT, seeded())
    assert [o.status for o in result.outcomes][1] == "not finite"
    assert result.outcomes[1].loss is None
    assert result.outcomes[0].success
    assert result.complete


def test_other_families_are_crammed_as_well():
    tiny = models.load("micro-gpt-neox")
    result = cram(tiny, [[72, 73], [80, 81]], 2, SHORT, seeded())
    assert result.memory.shape == (2, 2, 128)
    assert any(o.success for o in result.outcomes)


@pytest.mark.parametrize(
    ("bad", "m", "message"),
    [
        ([[5, 6]], 0, "m = 0"),
        ([], 1, "no target"),
        ([[5], []], 1, "target 1 is empty"),
        ([[5, 512]], 1, "token 512"),
        ([[5, -1]], 1, "token -1"),
        ([[5] * 1024], 1, "cut it to 1023"),
    ],
)
def test_bad_targets_are_refused(loaded, bad, m, message):
    with pytest.raises(AccessibilityError, match=message):
        cram(loaded, bad, m, SHORT, seeded())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 0}, "steps = 0"),
        ({"lr": 0.0}, "lr = 0.0"),
        ({"betas": (0.9, 1.0)}, "betas"),
        ({"patience": 0}, "patience = 0"),
        ({"schedule": "cosine"}, "constant and linear"),
        ({"loss": "hinge"}, "margin and likelihood"),
    ],
)
def test_bad_configurations_are_refused(change, message):
    with pytest.raises(AccessibilityError, match=message):
        replace(Config(), **change)


def test_a_result_of_another_model_is_refused(result):
    with pytest.raises(AccessibilityError, match="load the model it was made with"):
        verify.verify(models.load("micro-gpt-neox"), result, 2**-10, seeded())


def test_a_restart_starts_with_a_goal_of_its_own(loaded, rows):
    """The goal of a run follows what this run gives, not what an earlier one reached."""
    config = Config(steps=40, restarts=2)
    target = tuple(rows[-1])
    own = run.Run(loaded, [target], 1, config, torch.tensor([[1, 2]]))
    goals: list[tuple[int, int]] = []
    while own.step():
        goals += [(own.rows[0][1], int(own.batch["goal"][0]))] if own.rows else []
    first = max(goal for restart, goal in goals if restart == 0)
    second = [goal for restart, goal in goals if restart == 1]
    assert first > 2
    assert second[0] <= 2
    steps = np.diff([goal for restart, goal in goals if restart == 1])
    assert steps.max(initial=0) <= 1 + run.LOOK_AHEAD
    assert own.reached[0] >= first - 1


def test_no_forward_pass_holds_more_than_batch_tokens(loaded, rows, monkeypatch):
    seen: list[int] = []
    real = run.loss_and_gradient

    def watch(loaded, memory, tokens, goal, config):
        seen.append(len(memory) * (memory.shape[1] + tokens.shape[1]))
        return real(loaded, memory, tokens, goal, config)

    monkeypatch.setattr(run, "loss_and_gradient", watch)
    cram(loaded, rows, 1, Config(steps=20, batch_tokens=30), seeded())
    assert max(seen) <= 30
