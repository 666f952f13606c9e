"""The compute precision that an Evaluation states: by what came out, and by what the candidate was allowed to relax.

Owns the words. Sources and flags can say anything; the error against float64 is measured.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.records import Candidate
from kernelwright.toolexec.precision import EPSILONS

WITHIN = 100.0
"""Results within so many epsilons (RMS) are as good as a precision."""
RELAXED = ("-Ofast", "-ffast-math", "-funsafe-math-optimizations", "-fassociative-math", "-freciprocal-math",
           "-ffinite-math-only")  # fmt: skip
"""Flags that let a compiler change results."""
HALF = {"float32": "bfloat16", "float64": "float32"}
"""The next lower precision of a dtype, for comparison."""


def stated_precision(candidate: Candidate, dtypes: Sequence[str], error_rms: float) -> str:
    """One sentence on the precision of a candidate that passed.

    Args:
        candidate: what was judged.
        dtypes: torch's names of its outputs' dtypes.
        error_rms: largest RMS error against float64, relative to the result's RMS.
    """
    relaxed = [flag for flag in candidate.flags if flag in RELAXED]
    flags = f", built with {' '.join(relaxed)}" if relaxed else ""
    floats = [d for d in dtypes if d in EPSILONS]
    if not floats:
        return f"compute precision: whole numbers, compared exactly{flags}"
    dtype = min(floats, key=lambda d: EPSILONS[d])
    level = next((d for d, e in EPSILONS.items() if EPSILONS[dtype] <= e and error_rms <= WITHIN * e), "less")
    lower = HALF.get(dtype)
    beside = f"; rounding to {lower} alone gives {EPSILONS[lower] / 5:.0e}" if lower else ""
    return f"compute precision: as good as {level} (RMS error {error_rms:.1e} of the result's RMS{beside}){flags}"
