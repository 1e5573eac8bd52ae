"""Exact cells on a plane against the pixels of a plain grid: ``python benchmarks/slice_2d.py``.

262,144 tokens of width 640 (the size of Gemma-3-270M's head), random rows with bias, on one plane.
The grid evaluates the argmax of every pixel in chunks; the slice gives exact polygons.
"""

from __future__ import annotations

import time

import numpy as np

from accessibility_lib import cells

VOCAB, WIDTH, PIXELS = 262_144, 640, 64


def main() -> None:
    generator = np.random.default_rng(0)
    F = generator.standard_normal((VOCAB, WIDTH), dtype=np.float32)
    bias = generator.standard_normal(VOCAB)
    plane = cells.plane_through(generator.standard_normal((3, WIDTH)))
    window = (-30.0, 30.0, -30.0, 30.0)

    start = time.perf_counter()
    found = cells.slice_2d(F, bias, plane, window)
    exact = time.perf_counter() - start

    axis = np.linspace(-30, 30, PIXELS)
    grid = plane.points(np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)).astype(
        np.float32
    )
    start = time.perf_counter()
    seen = [(chunk @ F.T + bias).argmax(axis=1) for chunk in np.array_split(grid, 64)]
    pixels = time.perf_counter() - start

    tokens = np.unique(np.concatenate(seen))
    print(f"exact slice     {exact:6.2f} s  {len(found.tokens)} cells")
    print(f"{PIXELS} x {PIXELS} grid  {pixels:6.2f} s  {len(tokens)} cells seen")
    print(f"ratio           {pixels / exact:6.1f}")
    print(f"area missing    {abs(found.shares.sum() - 1):.1e} of the window")


if __name__ == "__main__":
    main()
