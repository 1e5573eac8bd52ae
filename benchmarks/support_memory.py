"""Radii, ranges, angle and cone of 100,000 embeddings of width 768: ``python
benchmarks/support_memory.py``.  Prints the time of each and the largest memory of the process.

The sample has a spectrum that decays and a mean, as last-layer embeddings have.  It is made in
batches, as a model would give it; the radii, the ranges and the covariance need no more than that.
"""

from __future__ import annotations

import resource
import time

import numpy as np

from accessibility_lib.geometry.statistics import summarize
from accessibility_lib.supports import Cone
from accessibility_lib.supports.angles import largest_angles

COUNT, WIDTH, BATCH = 100_000, 768, 1000


def main() -> None:
    generator = np.random.default_rng(0)
    points = np.empty((COUNT, WIDTH), dtype=np.float32)
    scale = np.arange(1, WIDTH + 1, dtype=np.float32) ** -0.5
    for start in range(0, COUNT, BATCH):
        part = generator.standard_normal((BATCH, WIDTH), dtype=np.float32)
        points[start : start + BATCH] = part * scale + (scale > 0.2)
    report("the sample itself", time.perf_counter())

    start_time = time.perf_counter()
    found = summarize(points[k : k + BATCH] for k in range(0, COUNT, BATCH))
    report(f"radii, ranges, covariance: r = {found.linf:.3f}", start_time)

    start_time = time.perf_counter()
    angles = largest_angles(points)
    pairs = COUNT * (COUNT - 1) / 2
    report(
        f"largest angle {np.degrees(angles.radians[0]):.3f}°, "
        f"{angles.looked_at / pairs:.1e} of the pairs in full",
        start_time,
    )

    start_time = time.perf_counter()
    cone = Cone.fit(points)
    wide, least = np.degrees([cone.half_angle, cone.half_angle_floor])
    report(f"smallest cone {wide:.3f}°, at most {wide - least:.3f}° too wide", start_time)


def report(what: str, started: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # KiB on Linux
    print(f"{what:70} {time.perf_counter() - started:7.1f} s, peak {peak:6.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
