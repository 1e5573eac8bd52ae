"""The survey behind chapter 04, its figures, and the command that prints one sample."""

import json
from dataclasses import replace

import numpy as np
import pytest

from accessibility_lib import AccessibilityError, bounds, cli, models
from accessibility_lib.figures import support
from accessibility_lib.geometry import layers, survey
from accessibility_lib.geometry.extremes import Prediction
from accessibility_lib.geometry.prompts import random_embeddings, random_prompts
from accessibility_lib.supports import Ball, Cone, NormEllipsoid
from accessibility_lib.supports.angles import largest_angle


@pytest.fixture(scope="module")
def llama():
    return models.load("micro-llama")


@pytest.fixture(scope="module")
def found(llama):
    return survey.survey(llama, 60, [1, 4], seeds=[0, 5])


def test_a_survey_is_its_samples_measured_one_by_one(llama, found):
    points = random_embeddings(llama, 60, 4, np.random.default_rng(5))
    assert found.radii[1, 1, -1] == pytest.approx(np.abs(points).max(), rel=1e-4)
    assert found.angles[1, 1, -1] == pytest.approx(largest_angle(points), rel=1e-4)
    half = found.counts.index(30)
    assert found.radii[1, 1, half] == pytest.approx(np.abs(points[:30]).max(), rel=1e-4)
    ball = Ball.fit(points).log_packing(2**-10)
    assert found.slopes["ball"][1] == pytest.approx(bounds.slope(ball, 512), rel=1e-4)
    first = random_prompts(llama, 60, 4, np.random.default_rng(0))[:, :1]
    alone = llama.adapter.last_hidden(input_ids=first)[:, -1].abs().max()
    assert found.radii[0, 0, -1] == pytest.approx(float(alone), rel=1e-4)


def test_what_the_weights_say_is_the_same_for_each_seed(llama, found):
    certain = NormEllipsoid.of_norm(llama.adapter.norm)
    own = bounds.slope(certain.log_packing(2**-10), 512)
    assert found.slopes["norm ellipsoid"] == (own, own)
    assert found.ceiling == pytest.approx(certain.ball().r)
    assert (found.linf <= found.ceiling).all()


def test_the_smallest_cone_holds_its_sample_and_half_the_angle_need_not(llama):
    points = random_embeddings(llama, 100, 4, np.random.default_rng(0))
    shapes = survey.sampled_supports(points)
    outside = survey.shares_outside(shapes, points)
    assert all(outside[name] == 0 for name in ("ball", survey.SMALLEST, "box", "ellipsoid"))
    assert outside[survey.HALF_ANGLE] > 0.5
    assert isinstance(shapes[survey.SMALLEST], Cone)
    assert max(survey.shares_outside(shapes, 100 * points).values()) == 1.0


def test_surveys_without_prompts_seeds_or_lengths_are_refused(llama):
    for prompts in (0, 1):
        with pytest.raises(AccessibilityError, match=r"prompts = .*no angle"):
            survey.survey(llama, prompts, [4])
    with pytest.raises(AccessibilityError, match="at least one seed"):
        survey.survey(llama, 5, [4], seeds=[])
    with pytest.raises(AccessibilityError, match="at least one length"):
        survey.survey(llama, 5, [])
    with pytest.raises(AccessibilityError, match="context of micro-llama, 1024"):
        survey.survey(llama, 5, [2000])
    assert survey.survey(llama, 2, [1], seeds=[0]).counts == (2,)


def test_a_stored_survey_is_the_same_again(found, tmp_path, monkeypatch):
    pytest.importorskip("accessibility_lib.artifacts")
    monkeypatch.chdir(tmp_path)
    assert survey.stored("it") is None
    found.save(tmp_path / "results" / "support" / "it")
    again = survey.stored("it")
    assert np.array_equal(again.linf, found.linf)
    assert np.array_equal(again.angles, found.angles)
    assert again.slopes == found.slopes
    assert again.row() == found.row()


def visible(figure, step):
    """The traces that a step of the slider shows."""
    flags = figure.layout.sliders[0].steps[step].args[0]["visible"]
    assert len(flags) == len(figure.data)
    return [trace for trace, flag in zip(figure.data, flags, strict=True) if flag]


def test_a_step_of_the_length_figure_has_a_line_for_each_seed(found):
    figure = support.by_length(found)
    for step, count in enumerate(found.counts):
        lines = visible(figure, step)
        assert [line.name for line in lines] == ["seed 0", "seed 5"]
        assert np.allclose(lines[1].y, found.linf[1, :, :count].max(axis=1), atol=1e-4)
    assert [t for t in figure.data if t.visible] == visible(figure, len(found.counts) - 1)


def test_the_figure_over_counts_has_what_was_foretold_and_the_ceiling(found):
    foretold = {4: [Prediction(10**6, 6.0, 5.5, 7.0)]}
    figure = support.radius_by_count(found, foretold)
    short, long = visible(figure, 0), visible(figure, 1)
    assert len(short) == len(long) == 4
    assert not short[2].x
    assert (long[2].x, long[2].y) == ((10**6,), (6.0,))
    assert long[2].error_y.array[0] == pytest.approx(1.0)
    assert list(long[3].y) == [found.ceiling] * 2
    assert np.allclose(long[0].y, found.radii[0, 1], atol=1e-4)
    angles = visible(support.angle_by_count(found), 1)
    assert np.allclose(angles[1].y, np.degrees(found.angles[1, 1]), atol=1e-4)


def test_the_bars_of_a_seed_are_all_its_prompts(found):
    figure = support.prompt_norms(found, bins=10)
    for step in range(2):
        bars, mark = visible(figure, step)
        assert sum(bars.y) == 60
        assert mark.x[0] == pytest.approx(found.radii[step, -1, -1])


def test_layers_are_drawn_in_every_norm(llama):
    measured = layers.layer_statistics(llama, random_prompts(llama, 4, 3, np.random.default_rng(0)))
    figure = support.by_layer(measured)
    assert [len(trace.x) for trace in figure.data] == [6] * 4
    assert figure.data[2].y[-1] == measured["post-norm"].linf


def test_the_command_prints_a_table_or_json(capsys):
    arguments = ["support", "micro-llama", "--prompts", "30", "--length", "3", "--seed", "2"]
    assert cli.main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    points = random_embeddings(models.load("micro-llama"), 30, 3, np.random.default_rng(2))
    assert found["radius"]["linf"] == pytest.approx(np.abs(points).max(), rel=1e-5)
    assert found["largest_angle_degrees"] == pytest.approx(
        np.degrees(largest_angle(points)), rel=1e-5
    )
    assert cli.main(arguments) == 0
    printed = capsys.readouterr().out
    for row in found["supports"]:
        assert f"{row['support']:30}{row['slope']:10.1f}" in printed


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--prompts", "1", "no angle to another"),
        ("--prompts", "0", "no angle to another"),
        ("--length", "0", "length = 0"),
        ("--length", "1025", "context"),
        ("--seed", "-1", "seed = -1"),
    ],
)
def test_the_command_says_what_is_wrong(capsys, option, value, says):
    assert cli.main(["support", "micro-llama", option, value]) == 2
    assert says in capsys.readouterr().err


def test_equal_embeddings_span_nothing():
    with pytest.raises(AccessibilityError, match="all equal"):
        survey.sampled_supports(np.ones((5, 3)))


def test_a_row_of_table_2_has_the_mean_and_the_range(found):
    row = replace(found, model="other").row()
    assert row[:3] == ["other", 128, 512]
    assert row[3] == survey.spread(found.radii[:, -1, -1])
    assert row[5] == pytest.approx(np.mean(found.slopes["ball"]))
