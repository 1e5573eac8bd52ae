"""Supports: where the last-layer embeddings of a model can lie, and how many can be told apart.

Every support has ``log_packing(eps)``, ``log_representable(dtype)``, ``contains(points)``,
``sample(n, generator)``, ``fit(points)``, and says what is proved about its count (``rigorous``,
``heuristic``) and what it was fitted to (``fitted_to``).
"""

from accessibility_lib.supports.ball import Ball
from accessibility_lib.supports.base import Support
from accessibility_lib.supports.box import Box
from accessibility_lib.supports.cone import Cone
from accessibility_lib.supports.ellipsoid import Ellipsoid
from accessibility_lib.supports.norm_ellipsoid import NormEllipsoid

__all__ = ["Ball", "Box", "Cone", "Ellipsoid", "NormEllipsoid", "Support"]
