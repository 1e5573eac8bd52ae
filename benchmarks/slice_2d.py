"""Exact cells on a plane against the pixels of a plain grid: ``python benchmarks/slice_2d.py``.

262,144 tokens of width 640 (the size of Gemma-3-270M's head), random rows with bias, on one plane.
A grid takes the argmax at every pixel, in chunks: in full width, or of the three numbers that are
left of each row on the plane.  The slice gives exact polygons.
"""

from __future__ import annotations

import time

import numpy as np

from accessibility_lib import cells

VOCAB, WIDTH, HALF = 262_144, 640, 30.0


def pixels(count: int) -> np.ndarray:
    """Plane coordinates (count^2, 2) of a grid over the window."""
    axis = np.linspace(-HALF, HALF, count)
    return np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)


def main() -> None:
    generator = np.random.default_rng(0)
    F = generator.standard_normal((VOCAB, WIDTH), dtype=np.float32)
    bias = generator.standard_normal(VOCAB, dtype=np.float32)
    plane = cells.plane_through(generator.standard_normal((3, WIDTH)))

    start = time.perf_counter()
    found = cells.slice_2d(F, bias, plane, (-HALF, HALF, -HALF, HALF))
    exact = time.perf_counter() - start
    print(f"exact slice               {exact:6.2f} s  {len(found)} cells")
    print(f"area missing              {abs(found.shares.sum() - 1):.1e} of the window")

    start = time.perf_counter()
    x = plane.points(pixels(64)).astype(np.float32)
    full = [(part @ F.T + bias).argmax(axis=1) for part in np.array_split(x, 64)]
    report("64 x 64, full width", full, time.perf_counter() - start, exact)

    start = time.perf_counter()
    u, v, o = (F @ row.astype(np.float32) for row in (*plane.axes, plane.origin))
    rows, heights = np.stack([u, v]), o + bias
    three = [
        (part.astype(np.float32) @ rows + heights).argmax(axis=1)
        for part in np.array_split(pixels(128), 256)
    ]
    report("128 x 128, three numbers", three, time.perf_counter() - start, exact)


def report(name: str, winners: list[np.ndarray], seconds: float, exact: float) -> None:
    seen = len(np.unique(np.concatenate(winners)))
    print(f"{name:25} {seconds:6.2f} s  {seen} cells seen, {seconds / exact:.0f} x as long")


if __name__ == "__main__":
    main()
