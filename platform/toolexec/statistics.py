"""Medians of paired log-ratios, their bootstrap intervals, and when to stop measuring. Pure numpy, no clock.

Owns every statistic of timing. Measured in this project's survey: on a noisy machine the median of paired log-ratios of
interleaved samples was off by at most 0.2 % where interleaved medians were off by 0.9 % and means by 300 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelwright.records import Interval, Ratio

RESAMPLES = 1000
SEED = 20240229
"""The bootstrap's own seed: the same samples give the same interval."""


def bootstrap_medians(values: npt.NDArray[Any], resamples: int = RESAMPLES) -> npt.NDArray[np.float64]:
    """Medians of ``resamples`` resamples with replacement. values: [samples] -> [resamples]."""
    rng = np.random.default_rng(SEED)
    picks = rng.integers(values.size, size=(resamples, values.size))
    return np.asarray(np.median(values[picks], axis=1), dtype=np.float64)


def interval(values: Sequence[float]) -> Interval:
    """Median and 95 % bootstrap interval of positive or signed values."""
    array = np.asarray(values, dtype=np.float64)
    low, high = np.percentile(bootstrap_medians(array), [2.5, 97.5])
    median = float(np.median(array))
    return Interval(median=median, low=min(float(low), median), high=max(float(high), median), samples=array.size)


def log_ratios(candidate: Sequence[float | None], baseline: Sequence[float | None]) -> list[float]:
    """log(baseline / candidate) of the rounds in which both took part."""
    return [math.log(b / c) for c, b in zip(candidate, baseline, strict=True) if c is not None and b is not None]


def ratio(logs: Sequence[float], against: str) -> Ratio:
    """The paired ratio with its 95 % interval.

    Args:
        logs: log(baseline / candidate), one per pair.
        against: the baseline's name.
    """
    found = interval(logs)
    return Ratio(
        value=math.exp(found.median),
        low=math.exp(found.low),
        high=math.exp(found.high),
        pairs=found.samples,
        against=against,
    )


def combined(logs: Mapping[str, Sequence[float]], weights: Mapping[str, float], against: str) -> Ratio:
    """Weighted geometric mean over workloads, its interval by bootstrap over each workload's own pairs.

    Args:
        logs: workload -> log-ratios.
        weights: workload -> weight.
        against: the baseline's name.
    """
    total = sum(weights[w] for w in logs)
    parts: list[npt.NDArray[np.float64]] = []
    value = 0.0
    for workload, samples in logs.items():
        array = np.asarray(samples, dtype=np.float64)
        share = weights[workload] / total
        value += share * float(np.median(array))
        parts.append(share * np.random.default_rng(len(parts)).permutation(bootstrap_medians(array)))
    low, high = np.percentile(np.sum(parts, axis=0), [2.5, 97.5])
    pairs = min(len(samples) for samples in logs.values())
    return Ratio(
        value=math.exp(value),
        low=math.exp(min(float(low), value)),
        high=math.exp(max(float(high), value)),
        pairs=pairs,
        against=against,
    )


@dataclass(frozen=True)
class StopRule:
    """When enough rounds were measured."""

    min_rounds: int
    max_rounds: int
    width: float = 0.02
    """Stop once every interval is narrower than this, high / low - 1."""
    budget_s: float = math.inf
    """Stop after so much time, once ``min_rounds`` (or three, where each round is long) are done."""
    check_every: int = 5

    def enough(self, logs: Sequence[Sequence[float]], *, rounds: int, elapsed_s: float) -> bool:
        """Is it time to stop?

        Args:
            logs: log-ratios for each baseline that decides.
            rounds: rounds done.
            elapsed_s: time spent on them.
        """
        if rounds >= self.max_rounds or (elapsed_s > self.budget_s and rounds >= min(3, self.min_rounds)):
            return True
        if rounds < self.min_rounds or (rounds - self.min_rounds) % self.check_every:
            return False
        return all(len(samples) > 2 and self._narrow(samples) for samples in logs)

    def _narrow(self, samples: Sequence[float]) -> bool:
        low, high = np.percentile(bootstrap_medians(np.asarray(samples), 300), [2.5, 97.5])
        return math.exp(float(high - low)) - 1 < self.width
