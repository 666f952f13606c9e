"""Statistics over tasks: fast_p, pass@k, geometric mean, median, each with a 95 % interval. Pure numpy.

The task is the unit: samples of one task are averaged first, so that intervals say what other tasks of the kind would
give. Times and their own intervals are toolexec/statistics.py's business.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelwright.toolexec.statistics import T_975

Z = 1.959964
"""97.5 % point of the normal distribution."""
RESAMPLES = 4000
SEED = 20240229
"""The bootstrap's own seed: the same rows give the same interval."""


@dataclass(frozen=True)
class Estimate:
    """A figure over tasks with its 95 % interval."""

    value: float
    low: float
    high: float
    tasks: int

    @property
    def shown(self) -> bool:
        """For ratios: the interval excludes 1."""
        return not self.low <= 1.0 <= self.high


def share(parts: Sequence[float]) -> Estimate | None:
    """Mean of shares in [0, 1], one a task, with Wilson's interval (wider than it need be where shares are fractions).

    Source: Wilson, JASA 22 (1927) 209.
    """
    n = len(parts)
    if not n:
        return None
    p = sum(parts) / n
    centre, spread = p + Z * Z / (2 * n), Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    low, high = (centre - spread) / (1 + Z * Z / n), (centre + spread) / (1 + Z * Z / n)
    return Estimate(p, max(0.0, min(low, p)), min(1.0, max(high, p)), n)


def geometric_mean(logs: Sequence[float], own_half_widths: Sequence[float] = ()) -> Estimate | None:
    """exp of the mean of logarithms, one a task, with Student's interval; one task alone has none (0 to infinity).

    Args:
        logs: one a task.
        own_half_widths: of each by its measurements; the interval is never narrower than these allow.
    """
    n = len(logs)
    if not n:
        return None
    mean = math.fsum(logs) / n
    if n == 1:
        return Estimate(math.exp(mean), 0.0, math.inf, 1)
    half = student(n - 1) * math.sqrt(math.fsum((x - mean) ** 2 for x in logs) / (n - 1) / n)
    half = max(half, math.sqrt(math.fsum(h * h for h in own_half_widths)) / n)
    return Estimate(math.exp(mean), math.exp(mean - half), math.exp(mean + half), n)


def median(values: Sequence[float]) -> Estimate | None:
    """Median over tasks with its bootstrap interval."""
    if not values:
        return None
    array = np.asarray(values, dtype=np.float64)
    picks = np.random.default_rng(SEED).integers(array.size, size=(RESAMPLES, array.size))
    low, high = np.percentile(np.median(array[picks], axis=1), [2.5, 97.5])
    middle = float(np.median(array))
    return Estimate(middle, min(float(low), middle), max(float(high), middle), array.size)


def student(degrees: int) -> float:
    """Student's t at 97.5 %; beyond the table by its expansion around the normal's (Abramowitz and Stegun 26.7.5)."""
    if degrees <= len(T_975):
        return T_975[degrees - 1]
    return Z + (Z**3 + Z) / (4 * degrees) + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * degrees**2)


def pass_at_k(samples: int, correct: int, k: int) -> float:
    """Chance that one of k samples drawn without replacement is correct: 1 - C(n-c, k) / C(n, k).

    Source: Chen et al., Evaluating Large Language Models Trained on Code, 2021 (arXiv 2107.03374), section 2.1.

    Raises:
        ValueError: k is above the number of samples.
    """
    if not 1 <= k <= samples:
        raise ValueError(f"pass@{k} needs at least {k} samples, there are {samples}")
    return 1.0 - math.comb(samples - correct, k) / math.comb(samples, k)


def fast_p(speedups: Sequence[Sequence[float | None]], p: float) -> Estimate | None:
    """Share of samples that are correct and more than p times as fast as the best baseline.

    Args:
        speedups: one list a task, one value a sample; None when it is not correct.
        p: the threshold; 0 counts what is correct.

    Source: Ouyang et al., KernelBench, 2025 (arXiv 2502.10517), section 3.3.
    """
    return share([sum(s is not None and s > p for s in task) / len(task) for task in speedups if task])


def paired(logs: Sequence[float], own_half_widths: Sequence[float]) -> tuple[float, float]:
    """Mean of paired log-ratios of one task and the half-width of its 95 % interval.

    Two samples and more: Student's over the samples, never below what the measurements themselves allow. One sample:
    the measurements' own intervals.

    Args:
        logs: one log-ratio a pair of samples.
        own_half_widths: the half-width of each by its measurements.
    """
    n = len(logs)
    mean = math.fsum(logs) / n
    own = math.sqrt(math.fsum(h * h for h in own_half_widths)) / n
    if n == 1:
        return mean, own
    between = student(n - 1) * math.sqrt(math.fsum((x - mean) ** 2 for x in logs) / (n - 1) / n)
    return mean, max(own, between)
