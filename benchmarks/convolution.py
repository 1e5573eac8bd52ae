"""The median of D^n at |V| = 262,144 and n = 1000: ``python benchmarks/convolution.py``.

One transform against ten million Monte Carlo draws, and against a plain loop that convolves the
atoms of two distributions densely and compresses the result to 1000 atoms of equal chance, 999
times.  Errors are distances from the certified interval on a grid 16 times as fine.  About four
minutes on one core.
"""

from __future__ import annotations

import math
import time

import numpy as np
from tqdm.auto import trange

from accessibility_lib import convolution

VOCAB, N, DRAWS, ATOMS = 262_144, 1000, 10**7, 1000


def log_volumes(generator: np.random.Generator) -> np.ndarray:
    """Uneven cells, (|V|,): with KL(uniform || v) near 2, as the cells of a model have."""
    shares = generator.gamma(0.3, size=VOCAB) + 1e-12
    return np.log(shares / shares.sum())


def monte_carlo(logs: np.ndarray, generator: np.random.Generator) -> tuple[float, float]:
    """(median, its standard error) of the sum of N draws; only the sums are held."""
    sums = np.zeros(DRAWS)
    for _ in trange(N, disable=None):
        sums += logs[generator.integers(VOCAB, size=DRAWS)]
    return float(np.median(sums)), float(sums.std()) * math.sqrt(math.pi / 2 / DRAWS)


def compress(values: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most ATOMS atoms of about equal chance, each at its mean."""
    order = np.argsort(values)
    values, chances = values[order], chances[order]
    group = np.minimum((np.cumsum(chances) * ATOMS).astype(int), ATOMS - 1)
    mass = np.bincount(group, chances, ATOMS)
    mean = np.bincount(group, chances * values, ATOMS) / np.maximum(mass, 1e-300)
    return mean[mass > 0], mass[mass > 0] / mass.sum()


def dense_loop(logs: np.ndarray) -> float:
    """The median by N - 1 dense convolutions."""
    one = compress(logs, np.full(VOCAB, 1 / VOCAB))
    values, chances = one
    for _ in trange(N - 1, disable=None):
        values, chances = compress(
            (values[:, None] + one[0]).ravel(), (chances[:, None] * one[1]).ravel()
        )
    return float(values[np.searchsorted(np.cumsum(chances), 0.5)])


def main() -> None:
    generator = np.random.default_rng(0)
    logs = log_volumes(generator)
    print(f"KL(uniform || v) = {convolution.divergence_from_uniform(logs):.2f}")

    convolution.log_median(logs, N)
    start = time.perf_counter()
    found = convolution.log_median(logs, N)
    ours = time.perf_counter() - start
    best = convolution.log_median(logs, N, 2**24)
    truth = (best.lower + best.upper) / 2
    error = abs((found.lower + found.upper) / 2 - truth)
    print(f"transform   {ours:7.2f} s  ln median in [{found.lower:.3f}, {found.upper:.3f}]")
    print(f"16 x finer            in [{best.lower:.3f}, {best.upper:.3f}], middle {truth:.3f}")

    start = time.perf_counter()
    low, high = vars(convolution.critical_length(logs, 9000.0)).values()
    print(f"critical n  {time.perf_counter() - start:7.2f} s  in [{low}, {high}] for ln P = 9000")

    start = time.perf_counter()
    median, spread = monte_carlo(logs, generator)
    seconds = time.perf_counter() - start
    print(
        f"Monte Carlo {seconds:7.2f} s  {median:.3f} with standard error {spread:.3f}, "
        f"{abs(median - truth) / spread:.1f} of them off, {seconds / ours:.0f} x as long"
    )

    start = time.perf_counter()
    looped = dense_loop(logs)
    seconds = time.perf_counter() - start
    print(
        f"dense loop  {seconds:7.2f} s  {looped:.3f}: error {abs(looped - truth):.3f} against "
        f"{error:.4f}, {seconds / ours:.0f} x as long"
    )


if __name__ == "__main__":
    main()
