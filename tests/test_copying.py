"""Copying: strings, training that can be killed, evaluation in one pass, and what it is worth."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from accessibility_lib import cli, copying, fits, models
from accessibility_lib.copying import CopyConfig, duplicate, results, study
from accessibility_lib.copying.train import learning_rate
from accessibility_lib.errors import AccessibilityError

pytestmark = pytest.mark.usefixtures("one_thread")

TINY = CopyConfig(
    alphabet=3, shortest=1, longest=4, batch=4, steps=12, warmup=2, check_every=4,
    check_strings=8, lengths=(1, 3, 6), strings=4, width=16, layers=1, heads=2,
)  # fmt: skip


def tiny(position="rotary", config=TINY):
    return copying.new(position, config)


def test_strings_are_copies_with_a_separator_between():
    alphabet = copying.Alphabet(torch.tensor([4, 5, 9]), 2)
    strings = copying.draw(alphabet, [3, 1, 5], np.random.default_rng(0))
    assert strings.tokens.shape == (3, 11)
    for row, n in enumerate((3, 1, 5)):
        x = strings.x(row)
        assert set(x.tolist()) <= {4, 5, 9}
        assert strings.tokens[row, n] == 2
        assert torch.equal(strings.tokens[row, n + 1 : 2 * n + 1], x)
        assert torch.equal(strings.tokens[row][strings.copied[row]], x)
        assert (strings.tokens[row, 2 * n + 1 :] == 2).all()


def test_lengths_follow_the_law_and_letters_are_uniform():
    alphabet = copying.Alphabet(torch.arange(4), 9)
    generator = np.random.default_rng(0)
    strings = copying.data.draw_law(alphabet, CopyConfig(shortest=2), 4000, 5, generator)
    counts = np.bincount(strings.lengths.numpy())
    assert counts.tolist()[:2] == [0, 0]
    assert (abs(counts[2:] - 1000) < 150).all()  # five standard deviations
    letters = strings.tokens[strings.copied]
    share = np.bincount(letters.numpy(), minlength=4) / len(letters)
    assert (abs(share - 0.25) < 0.02).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lengths": (5, 20, 10)}, r"\(5, 20, 10\) are out of order"),
        ({"lengths": ()}, "out of order"),
        ({"shortest": 9, "longest": 8}, "longest = 8.*at least 9.*shortest is 9"),
        ({"alphabet": 1}, "alphabet = 1.*at least 2"),
        ({"pace": 1.5}, r"pace = 1.5; give a share"),
        ({"betas": (0.9, 1.0)}, r"betas = \(0.9, 1.0\)"),
        ({"lr": 0.0}, "lr = 0"),
        ({"steps": 0}, "steps = 0"),
    ],
)
def test_a_bad_configuration_is_refused_with_the_numbers(change, message):
    with pytest.raises(AccessibilityError, match=message):
        replace(CopyConfig(), **change)


def test_a_model_that_is_too_small_is_refused_with_the_numbers():
    loaded = models.load("micro-llama")
    with pytest.raises(AccessibilityError, match=r"2 · 512 \+ 1 = 1025.*has 1024.*to 511"):
        copying.choose(loaded, CopyConfig(lengths=(10, 512)))
    with pytest.raises(AccessibilityError, match=r"600 letters and a separator.*511 usable"):
        copying.choose(loaded, CopyConfig(alphabet=600))
    with pytest.raises(AccessibilityError, match="position = 'sinus'; there are rotary, none"):
        copying.new("sinus", TINY)


def test_the_alphabet_is_usable_and_without_the_separator():
    loaded = models.load("micro-llama")
    alphabet = copying.choose(loaded, CopyConfig(alphabet=26))
    assert len(set(alphabet.letters.tolist())) == 26
    assert set(alphabet.letters.tolist()) <= set(loaded.adapter.token_ids.tolist())
    assert alphabet.separator not in alphabet.letters
    whole = copying.choose(tiny(), TINY)
    assert sorted([*whole.letters.tolist(), whole.separator]) == [0, 1, 2, 3]


@pytest.mark.parametrize("position", copying.POSITIONS)
def test_teacher_forced_exact_match_is_greedy_exact_match(position):
    """On a model that copies some strings and not others, string by string."""
    config = replace(TINY, alphabet=2, steps=60, lr=0.01, pace=0.6)
    trained = copying.train(tiny(position, config), config, progress=False)
    alphabet = copying.choose(trained.loaded, config)
    strings = copying.draw(alphabet, np.repeat([1, 2, 3, 5], 16), np.random.default_rng(0))
    copied = copying.teacher_forced(trained.loaded.model, strings, tokens=100)
    assert 0 < copied.exact.sum() < len(copied.exact)
    for n in (1, 2, 3, 5):
        rows = torch.where(strings.lengths == n)[0]
        given = copying.greedy(trained.loaded.model, strings.tokens[rows, : n + 1], n)
        exact = (given == strings.tokens[rows, :n]).all(1).numpy()
        assert (exact == copied.exact[rows.numpy()]).all()


def test_one_pass_counts_what_single_strings_give():
    loaded = tiny()
    alphabet = copying.choose(loaded, TINY)
    strings = copying.draw(alphabet, [4, 1, 6, 2, 2], np.random.default_rng(1))
    together = copying.teacher_forced(loaded.model, strings, tokens=30)
    for row, n in enumerate(strings.lengths.tolist()):
        ids = strings.tokens[row : row + 1, : 2 * n + 1]
        given = loaded.model(input_ids=ids).logits[0, n:-1].argmax(-1)
        assert together.right[row] == int((given == strings.x(row)).sum())
    n, exact, trials, share = together.by_length()
    assert n.tolist() == [1, 2, 4, 6]
    assert trials.tolist() == [1, 2, 1, 1]
    assert (share * n * trials).sum() == pytest.approx(together.right.sum())
    assert exact.sum() == together.exact.sum()


def test_rotations_are_what_tells_rotary_from_none():
    """Without positions and with one layer, the order of earlier tokens changes nothing."""
    rows = torch.tensor([[1, 2, 3, 0], [3, 1, 2, 0]])
    for position, same in (("none", True), ("rotary", False), ("alibi", False)):
        last = tiny(position).adapter.last_hidden(input_ids=rows)[:, -1]
        assert torch.allclose(last[0], last[1], atol=1e-5) == same, position


def weights(trained):
    return {name: p.clone() for name, p in trained.loaded.model.named_parameters()}


@pytest.mark.parametrize("position", ["rotary", "mamba"])
def test_a_broken_run_ends_with_the_weights_of_the_unbroken_one(position, tmp_path):
    whole = copying.train(tiny(position), TINY, progress=False)
    path = tmp_path / "run.checkpoint"
    copying.train(tiny(position), TINY, checkpoint=path, every=3, until=7, progress=False)
    resumed = copying.train(tiny(position), TINY, checkpoint=path, progress=False)
    assert resumed.loaded.sha256 == whole.loaded.sha256
    assert resumed.history == whole.history
    assert len(whole.history) == 3


KILLED = """
import sys, torch
from accessibility_lib import copying
from tests.test_copying import TINY, tiny
torch.set_num_threads(1)
copying.train(tiny(), TINY, checkpoint=sys.argv[1], every=1, until=5, progress=False)
draw = copying.train.__globals__["draw_law"]
def slow(*arguments):
    import time
    print("training", flush=True)
    time.sleep(60)
copying.train.__globals__["draw_law"] = slow
copying.train(tiny(), TINY, checkpoint=sys.argv[1], every=1, progress=False)
"""


def test_a_process_that_is_killed_goes_on_where_it_stood(tmp_path):
    path = tmp_path / "run.checkpoint"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.getcwd()},
    )
    assert process.stdout.readline() == b"training\n"  # in the middle of the sixth step
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    resumed = copying.train(tiny(), TINY, checkpoint=path, progress=False)
    whole = copying.train(tiny(), TINY, progress=False)
    assert resumed.loaded.sha256 == whole.loaded.sha256


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    path = tmp_path / "run.checkpoint"
    copying.train(tiny(), TINY, checkpoint=path, until=2, progress=False)
    with pytest.raises(AccessibilityError, match="of another model"):
        copying.train(tiny(), replace(TINY, lr=1e-3), checkpoint=path, progress=False)


def test_training_copies_stops_when_it_can_and_leaves_the_model_alone():
    config = replace(TINY, alphabet=2, longest=3, batch=16, steps=400, lr=0.01, check_every=20)
    config = replace(config, width=32, layers=2, heads=4)
    loaded = copying.new("rotary", config)
    before = loaded.sha256
    state = torch.get_rng_state()
    trained = copying.train(loaded, config, progress=False)
    assert trained.reached
    assert trained.steps < config.steps
    assert trained.history[-1][-1] == 1.0
    assert trained.history[-1][1] == 3  # the whole length law
    assert copying.scratch.wrap("again", loaded.model).sha256 == before
    assert torch.equal(torch.get_rng_state(), state)
    copied = copying.evaluate(trained.loaded.model, copying.choose(loaded, config), config)
    assert copied.by_length()[1][0] == config.strings  # length 1


def test_a_shipped_model_is_trained_in_all_weights():
    loaded = models.load("micro-llama")
    config = replace(TINY, steps=2)
    trained = copying.train(loaded, config, progress=False)
    moved = zip(weights(trained).values(), loaded.model.parameters(), strict=True)
    assert all(not torch.equal(a, b) for a, b in moved)
    assert trained.loaded.tokenizer is loaded.tokenizer
    assert not trained.reached


def test_the_rate_rises_stays_and_falls():
    config = CopyConfig(lr=1.0, warmup=10, steps=100, decay=0.5)
    rates = [learning_rate(config, step) for step in range(100)]
    assert rates[:2] == pytest.approx([0.1, 0.2])
    assert set(rates[10:50]) == {1.0}
    assert (np.diff(rates[50:]) <= 0).all()
    assert rates[-1] == 0.05


def test_a_result_is_stored_read_and_not_run_again(tmp_path):
    result = study.run("rotary", TINY, tmp_path, weights=True, progress=False)
    again = study.run("rotary", TINY, tmp_path)
    assert (again.config, again.history, again.sha256) == (TINY, result.history, result.sha256)
    assert again.exact.tolist() == result.exact.tolist()
    assert not list(tmp_path.glob("*.checkpoint"))
    loaded = study.restore(again)
    copied = copying.evaluate(loaded.model, copying.choose(loaded, TINY), TINY)
    assert copied.by_length()[1].tolist() == result.exact.tolist()
    with pytest.raises(AccessibilityError, match="another configuration"):
        study.run("rotary", replace(TINY, lr=1e-3), tmp_path)
    with pytest.raises(AccessibilityError, match="kept no weights"):
        study.restore(replace(result, weights={}))
    result.weights["lm_head.weight"][:] = 0
    with pytest.raises(AccessibilityError, match="not those with sha256"):
        study.restore(result)


def test_the_rule_for_a_cliff_is_the_width_over_n50():
    lengths = np.arange(2, 100, 2)
    for scale, verdict in ((2.0, "cliff"), (4.0, "slope")):
        shares = 1 / (1 + np.exp((lengths - 50) / scale))
        curve = fits.fit_curve(lengths, (shares * 10**6).round(), [10**6] * len(lengths))
        found = results.fall(curve)
        assert found.width == pytest.approx(2 * np.log(9) * scale, rel=1e-3)
        assert curve(curve.n50 - found.width / 2) == pytest.approx(0.9)
        assert found.verdict == verdict
        assert not found.weak
    assert results.fall(fits.fit_curve([4, 8], [5, 5], [5, 5])).verdict == "no fall"
    noisy = fits.fit_curve([10, 20, 30, 40], [10, 0, 10, 0], [10] * 4)
    assert results.fall(noisy).weak


def test_the_fall_is_fitted_from_the_shortest_trained_length_on():
    config = replace(TINY, shortest=3, longest=4, lengths=(1, 2, 3, 4, 5, 6), strings=10)
    run = results.CopyResult(
        "made up", config, np.array([0, 1, 10, 9, 2, 0]), np.ones(6), ((1, 4, 0.0, 1.0),), True,
        0.0, 16, 4, 1.0, 1, "", "",
    )  # fmt: skip
    assert run.curve() == fits.fit_curve([3, 4, 5, 6], [10, 9, 2, 0], [10] * 4)
    n, exact, strings = results.fitted([run, run])
    assert (n.tolist(), exact.tolist(), strings.tolist()) == (
        [3, 4, 5, 6],
        [20, 18, 4, 0],
        [20] * 4,
    )


def test_seeds_have_students_interval():
    mean, low, high = results.over_seeds([1.0, 3.0])
    assert mean == 2
    assert (high - low) / 2 == pytest.approx(12.706, abs=1e-3)  # t_0.975 with one degree, times 1
    with pytest.raises(AccessibilityError, match="no runs"):
        results.over_seeds([])


def test_failures_are_strings_that_are_not_copied(monkeypatch):
    loaded = tiny()
    found = study.failures(loaded, TINY, 5, 3, np.random.default_rng(0))
    given = copying.greedy(loaded.model, torch.cat([found, torch.zeros(3, 1).long()], 1), 5)
    assert not (given == found).all(1).any()

    def copies(model, strings):
        return copying.Copied(strings.lengths.numpy(), strings.lengths.numpy())

    monkeypatch.setattr(study, "teacher_forced", copies)
    with pytest.raises(AccessibilityError, match=r"failed 0 of 48 strings.*count = 3"):
        study.failures(loaded, TINY, 5, 3, np.random.default_rng(0))


def test_a_doubled_prompt_is_the_same_only_without_positions_and_mask():
    tokens = torch.tensor([[1, 2, 3, 1, 2]])
    for layers in (1, 2):
        config = replace(TINY, layers=layers)
        for position in ("none", "rotary"):
            loaded = tiny(position, config)
            for p in loaded.model.parameters():
                p.data *= 4 if p.ndim == 2 else 1  # attention that looks at something
            for order in ("whole", "each"):
                free = duplicate.change(loaded, tokens, causal=False, order=order)
                assert (free.max() < 1e-5) == (position == "none")
                masked = duplicate.change(loaded, tokens, order=order)
                # One layer: the last token sees every token twice.
                same = position == "none" and layers == 1
                assert (masked[0, -1] < 1e-5) == same
                assert (masked.max() < 1e-5) == (same and order == "each")
    with pytest.raises(AccessibilityError, match="order = 'twice'; there are whole and each"):
        duplicate.change(tiny(), tokens, order="twice")


def test_the_command_trains_and_says_what_came_out(tmp_path, capsys):
    options = ["--shortest", "1", "--longest", "3", "--lengths", "2", "4", "--alphabet", "2"]
    options += ["--steps", "4", "--check-every", "2", "--seeds", "0", "1", "--out", str(tmp_path)]
    assert cli.main(["copy", "none", *options]) == 0
    said = capsys.readouterr().out
    assert "none seed 1" in said
    assert "over 2 seeds" in said
    assert len(list(tmp_path.glob("*.json"))) == 2
    assert cli.main(["copy", "none", "--lengths", "5", "600", "--out", str(tmp_path)]) == 2
    assert "2 · 600 + 1 = 1201 positions" in capsys.readouterr().err
