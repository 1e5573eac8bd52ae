"""Argmax cells of an unembedding matrix.

Token t is decoded at the last-layer embedding x when its logit (F x + b)_t is the largest; the
points where it is form its cell, a convex polyhedron.  A positive logit scale and a logit softcap
are increasing functions of the logit, the same for all tokens, so they move no cell: F and b are
all that matters here.
"""

from accessibility_lib.cells.slices import Plane, Slice, plane_through, slice_2d, window_around

__all__ = ["Plane", "Slice", "plane_through", "slice_2d", "window_around"]
