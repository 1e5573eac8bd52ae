"""Closed-form counts against enumeration of every value of the small formats."""

import numpy as np
import pytest
import torch

from accessibility_lib import AccessibilityError
from accessibility_lib.precision import FLOAT_NAMES, NAMES, grid


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def every_value(name):
    """All finite values of a format from its bit patterns, ascending, zeros merged."""
    bits, dtype = {
        "fp16": (np.int16, torch.float16),
        "bf16": (np.int16, torch.bfloat16),
        "fp8_e4m3fn": (np.uint8, torch.float8_e4m3fn),
        "fp8_e5m2": (np.uint8, torch.float8_e5m2),
    }[name]
    codes = np.arange(np.iinfo(bits).min, np.iinfo(bits).max + 1).astype(bits)
    values = torch.from_numpy(codes).view(dtype).to(torch.float64).numpy()
    return np.unique(values[np.isfinite(values)])


@pytest.mark.parametrize("name", ["fp16", "bf16", "fp8_e4m3fn", "fp8_e5m2"])
def test_counts_and_values_agree_with_every_bit_pattern(name, rng):
    format_, truth = grid(name), every_value(name)
    assert format_.largest == truth[-1]
    assert format_.smallest == truth[truth > 0][0]
    assert np.array_equal(format_.values(truth[0], truth[-1]), truth)
    assert format_.count(-1e39, 1e39) == len(truth)

    middles = (truth[:-1] + truth[1:]) / 2
    for ends in (truth, middles):  # on values and strictly between them
        rank = np.searchsorted(truth, ends, side="right")
        assert np.array_equal(format_.count(np.full(len(ends), truth[0]), ends), rank)
    lo, hi = np.sort(rng.choice(np.r_[truth, middles], (2, 5000)), axis=0)
    inside = np.searchsorted(truth, hi, side="right") - np.searchsorted(truth, lo, side="left")
    assert np.array_equal(format_.count(lo, hi), inside)


@pytest.mark.parametrize("name", ["fp16", "bf16", "fp8_e4m3fn", "fp8_e5m2"])
def test_spacing_is_the_gap_to_the_next_value(name):
    truth = every_value(name)
    positive = truth[truth >= 0]
    assert np.array_equal(grid(name).spacing(positive[:-1]), np.diff(positive))
    assert np.array_equal(grid(name).spacing(-positive[:-1]), np.diff(positive))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_wide_formats_agree_with_numpy(dtype, rng):
    format_ = grid(dtype)
    x = (rng.standard_normal(2000) * 10.0 ** rng.integers(-30, 30, 2000)).astype(dtype)
    assert np.array_equal(format_.spacing(x), np.spacing(np.abs(x)).astype(float))
    after = np.nextafter(np.abs(x), dtype(np.inf), dtype=dtype).astype(float)
    assert (format_.count(np.abs(x).astype(float), after) == 2).all()
    assert format_.machine_epsilon == np.finfo(dtype).eps
    assert format_.smallest == np.finfo(dtype).smallest_subnormal
    every = 2 ** (8 * np.dtype(dtype).itemsize)
    codes_of_nan_and_infinity = 2 ** (format_.mantissa + 1)
    assert format_.count(-format_.largest, format_.largest) == every - codes_of_nan_and_infinity - 1


def test_an_interval_without_a_value_counts_zero():
    assert grid("fp16").count(1.0001, 1.0002) == 0
    assert grid("fp64").count(1.0, 1.0) == 1


def test_three_names_for_the_precision_are_kept_apart():
    fp16, bf16 = grid("fp16"), grid("bf16")
    assert (fp16.machine_epsilon, fp16.unit_roundoff, fp16.spacing(1)) == (2**-10, 2**-11, 2**-10)
    assert (bf16.machine_epsilon, bf16.unit_roundoff, bf16.spacing(100)) == (2**-7, 2**-8, 2**-1)


def test_integer_grids_count_by_enumeration(rng):
    for name, lowest, highest in (("int8", -128, 127), ("int4", -8, 7)):
        format_ = grid(name, scale=0.25)
        truth = np.arange(lowest, highest + 1) * 0.25
        lo, hi = np.sort(rng.uniform(-40, 40, (2, 500)), axis=0)
        inside = ((truth >= lo[:, None]) & (truth <= hi[:, None])).sum(axis=1)
        assert np.array_equal(format_.count(lo, hi), inside)
        assert np.array_equal(format_.values(-1e3, 1e3), truth)
        assert format_.spacing(1.0) == 0.25


@pytest.mark.parametrize("dtype", [torch.float16, "torch.float16", "float16", np.float16, "fp16"])
def test_a_dtype_is_known_by_its_names(dtype):
    assert grid(dtype).name == "fp16"


@pytest.mark.parametrize("dtype", ["bool", torch.complex64, "int64", None, 16])
def test_a_dtype_without_a_grid_lists_the_known_ones(dtype):
    with pytest.raises(AccessibilityError, match=r"no number grid.*fp16"):
        grid(dtype)


def test_bad_intervals_and_magnitudes():
    for name in NAMES:
        with pytest.raises(AccessibilityError, match=r"lo = 2.0 is above hi = 1.0"):
            grid(name).count(2, 1)
        with pytest.raises(AccessibilityError, match="NaN or infinity"):
            grid(name).count(float("nan"), 1)
    for name in FLOAT_NAMES:
        with pytest.raises(AccessibilityError, match="takes no scale"):
            grid(name, scale=2.0)
    with pytest.raises(AccessibilityError, match="largest fp16"):
        grid("fp16").spacing(70000.0)
    with pytest.raises(AccessibilityError, match="leaves the int4 grid"):
        grid("int4").spacing(70.0)
    with pytest.raises(AccessibilityError, match="scale = 0"):
        grid("int8", scale=0)
    with pytest.raises(AccessibilityError, match="more than limit"):
        grid("fp32").values(0, 1)
    with pytest.raises(AccessibilityError, match="lo = 'a' holds no numbers"):
        grid("fp16").count("a", 1)
    with pytest.raises(AccessibilityError, match=r"hi = .* is not a number"):
        grid("fp16").values(0, [1, 2])


def test_the_values_of_an_integer_grid_are_counted_whatever_the_rounding_of_their_quotients(rng):
    for scale in (0.1, 1 / 3, *10 ** rng.uniform(-6, 6, 50)):
        format_ = grid("int8", scale=scale)
        truth = np.arange(-128, 128) * scale
        assert (format_.count(truth, truth) == 1).all()
        assert (format_.count(truth[:-1], truth[1:]) == 2).all()
        assert np.array_equal(format_.values(truth[3], truth[-3]), truth[3:-2])
        assert format_.spacing(truth).tolist() == [scale] * 256
        assert format_.count(truth[-1] * 1.01, 1e300) == 0
        assert format_.count(-1e300, truth[0] * 1.01) == 0
