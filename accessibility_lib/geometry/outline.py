"""The curve that a final norm leaves to the embeddings on a plane."""

from __future__ import annotations

import numpy as np

from accessibility_lib.cells import Plane
from accessibility_lib.supports import NormEllipsoid


def norm_outline(plane: Plane, support: NormEllipsoid, count: int = 2000) -> np.ndarray | None:
    """Where ``plane`` cuts the surface of a norm ellipsoid: a closed ellipse, (count, 2).

    The final norm makes |z|_2 = sqrt(d) but for its tiny eps, so of all the points of a plane that
    passes through three last-layer embeddings only this curve can be an embedding, of any prompt.
    A coordinate whose gain is 0 is constant and is left out.  None where the plane misses it.

    >>> unit = NormEllipsoid.rms_norm(np.full(3, 1 / np.sqrt(3)))
    >>> ring = norm_outline(Plane(np.array([0, 0, 0.6]), np.eye(3)[:2]), unit)
    >>> np.allclose(np.linalg.norm(ring, axis=1), 0.8)
    True
    """
    free = support.gain != 0
    centre = ((plane.origin - support.shift)[free]) / support.gain[free]
    axes = plane.axes[:, free] / support.gain[free]
    # |centre + a axes[0] + b axes[1]|^2 = d, a quadratic in y = (a, b): (y - y0)' M (y - y0) = rest
    matrix = axes @ axes.T
    y0 = -np.linalg.solve(matrix, axes @ centre)
    rest = support.width - centre @ centre + y0 @ matrix @ y0
    if rest <= 0:
        return None
    angle = np.linspace(0, 2 * np.pi, count)
    circle = np.sqrt(rest) * np.stack([np.cos(angle), np.sin(angle)])
    return y0 + np.linalg.solve(np.linalg.cholesky(matrix).T, circle).T
