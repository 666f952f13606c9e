"""Float precisions as numpy carries them, and cache-sized passes over large arrays. Pure numpy.

Owns conversion between dtypes (bfloat16 travels as uint16) and the plain measures of arrays. It judges nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

EPSILONS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""dtype -> distance from 1 to the next number."""
CHUNK = 1 << 14
"""Elements compared at a time, so that temporaries stay in the cache."""


def widen(array: Array, dtype: str) -> npt.NDArray[np.float64]:
    """The values as float64; ``array`` holds bfloat16 as uint16."""
    with np.errstate(invalid="ignore"):  # poisoned memory may read as a signalling NaN
        return np.asarray(as_float(array, dtype), dtype=np.float64)


def as_float(array: Array, dtype: str) -> Array:
    """The values as a numpy float array of at least 32 bits (float64 stays)."""
    if dtype == "bfloat16":
        return (array.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float32)


def narrow(values: Array, dtype: str) -> Array:
    """Round float values to ``dtype`` in its carrier (bfloat16: uint16, round to nearest even)."""
    if dtype == "bfloat16":
        bits = np.array(values, dtype=np.float32, order="C").view(np.uint32)
        rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
        return np.where(np.isnan(values), np.uint32(0x7FC0), rounded).astype(np.uint16)
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(dtype)


def sum_of_squares(flat: Array) -> float:
    """sum(x^2) of a flat array, on this thread alone: BLAS would wake threads of its own for it."""
    return float(np.einsum("i,i->", flat, flat))


def root_mean_square(values: Array) -> float:
    """sqrt(mean(x^2)); 0 for nothing. Scaled where the squares would overflow or vanish."""
    if values.size == 0:
        return 0.0
    flat = values.reshape(-1)
    squares = sum_of_squares(flat)
    if flat.dtype == np.float64 and 1e-200 < squares < 1e300:
        return float(np.sqrt(squares / flat.size))
    top = float(np.abs(flat).max())
    if top == 0.0 or not np.isfinite(top):
        return top
    scaled = flat / top
    return top * float(np.sqrt(sum_of_squares(scaled) / flat.size))


@dataclass(frozen=True)
class Distance:
    """How far two arrays are apart."""

    finite: bool
    """False: a difference is NaN or Inf, and the numbers mean nothing."""
    rms: float
    """RMS of the second."""
    error_rms: float
    largest: float


def distance(values: Array, exact: Array, dtype: str) -> Distance:
    """Distance of ``values`` (in ``dtype``) from ``exact`` (float64), in steps that stay in the cache."""
    flat, right = values.reshape(-1), exact.reshape(-1)
    room = np.empty(min(CHUNK, flat.size))
    squares = errors = largest = 0.0
    for start in range(0, flat.size, CHUNK):
        there = right[start : start + CHUNK]
        step = room[: there.size]
        with np.errstate(invalid="ignore"):
            np.subtract(as_float(flat[start : start + CHUNK], dtype), there, out=step)
        squares += sum_of_squares(there)
        errors += sum_of_squares(step)
        largest = max(largest, float(step.max()), -float(step.min()))
    count = max(flat.size, 1)
    finite = bool(np.isfinite(squares) and np.isfinite(errors))
    return Distance(finite, (squares / count) ** 0.5, (errors / count) ** 0.5, largest)
