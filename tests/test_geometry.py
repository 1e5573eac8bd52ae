"""Embeddings of prompts, and the curve that the final norm leaves them."""

import numpy as np
import pytest
import torch

from accessibility_lib import AccessibilityError, models
from accessibility_lib.cells import Plane, plane_through
from accessibility_lib.geometry import norm_outline, prompt_embeddings, random_embeddings
from accessibility_lib.supports import NormEllipsoid

PROMPTS = ["Return the number of", "If the list is empty", "x = np.array("]


def test_embeddings_are_those_of_the_last_token():
    loaded = models.load("micro-llama")
    found = prompt_embeddings(loaded, PROMPTS)
    assert found.shape == (3, loaded.adapter.width)
    assert found.dtype == np.float64
    ids = torch.tensor([loaded.tokenizer(PROMPTS[1]).input_ids])
    own = loaded.model(input_ids=ids).logits[0, -1]
    ours = loaded.adapter.logits(torch.tensor(found[1], dtype=torch.float32))
    assert torch.allclose(ours, own, atol=1e-4)


@pytest.mark.parametrize("prompts", [[], "a text", ["fine", ""], ["fine", 3], [None], {"a": 1}])
def test_prompts_without_tokens_are_refused(prompts):
    with pytest.raises(AccessibilityError, match=r"nothing|list of at least one"):
        prompt_embeddings(models.load("micro-llama"), prompts)


def test_a_prompt_longer_than_the_context_is_refused():
    with pytest.raises(AccessibilityError, match=r"more than the context of micro-llama, 1024"):
        prompt_embeddings(models.load("micro-llama"), ["fine", "x " * 5000])


def test_random_embeddings_are_seeded_and_lie_in_the_norm_ellipsoid():
    loaded = models.load("micro-llama")
    found = random_embeddings(loaded, 300, 4, np.random.default_rng(0))
    assert found.shape == (300, 128)
    assert NormEllipsoid.of_norm(loaded.adapter.norm).contains(found).all()
    again = random_embeddings(loaded, 300, 4, np.random.default_rng(0))
    assert np.array_equal(found, again)
    for count, length in ((0, 4), (-1, 4), (2, 0), ("many", 4)):
        with pytest.raises(AccessibilityError, match=r"(count|length) = "):
            random_embeddings(loaded, count, length, np.random.default_rng(0))


def test_equal_prompts_span_no_plane():
    embeddings = prompt_embeddings(models.load("micro-llama"), [PROMPTS[0], PROMPTS[1], PROMPTS[0]])
    with pytest.raises(AccessibilityError, match="points 1 and 3 coincide"):
        plane_through(embeddings)


def test_prompts_lie_on_the_outline_of_the_norm():
    loaded = models.load("micro-llama")
    embeddings = prompt_embeddings(loaded, PROMPTS)
    plane = plane_through(embeddings)
    ring = norm_outline(plane, NormEllipsoid.of_norm(loaded.adapter.norm))
    for point in plane.coordinates(embeddings):
        distance = np.linalg.norm(ring - point, axis=1).min()
        assert distance < 0.01 * np.ptp(ring, axis=0).max()


def test_outline_lies_on_the_surface_with_shift_and_frozen_coordinates():
    rng = np.random.default_rng(0)
    support = NormEllipsoid.layer_norm([2.0, 0.5, 0.0, 1.0], [0.1, -0.2, 3.0, 0.0])
    z = rng.normal(size=(3, 4))
    z /= np.linalg.norm(z[:, [0, 1, 3]], axis=1, keepdims=True) / 2
    plane = plane_through(support.shift + support.gain * z)
    points = plane.points(norm_outline(plane, support, 50))
    free = [0, 1, 3]
    back = (points - support.shift)[:, free] / support.gain[free]
    assert np.allclose(np.linalg.norm(back, axis=1), 2)
    assert np.allclose(points[:, 2], 3)


def test_plane_beside_the_ellipsoid_has_no_outline():
    support = NormEllipsoid.rms_norm([1.0, 1.0, 1.0])
    assert norm_outline(Plane(np.array([0, 0, 1.8]), np.eye(3)[:2]), support) is None
