"""What the rounds of one judgement gave: samples of every contestant, and what work was left out of them.

Owns the raw numbers and the rules by which deferred or carried work shows in them. It takes no sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kernelwright.toolexec.statistics import bootstrap_medians, log_ratios

CHARGES = ((0.0, 0.1), (0.05, 10.0), (0.5, 100.0))
"""Collecting that costs more than this part of a call more than the checker's is charged, when this percentile of its
bootstrapped median is positive: a little only when it is certain, half a call however noisy it was."""
OFTEN = 0.1
"""Part of the rounds in which collecting may cost half a call more before that is charged, whatever its median."""
CHARGED_SLACK_US, CHARGED_PART = 8.0, 0.1
"""A call on its own may cost so much more than a looped one, or this part of it, and nobody is charged. Of 58 honest
candidates, 30 us to 8 ms a call, none cost more than 7 us or 5 % more (once, nothing else running); most cost less,
since their inputs and outputs were used a moment ago. Whatever is more is added to the looped calls."""
SINGLE_SLACK_US, SINGLE_PART = 150.0, 1.0
"""So much more, and work is said to be carried from call to call. Below, the charge takes the gain away and accuses
nobody: stores past the caches that drain during the next call, and outputs that a busy neighbour pushed out before they
were collected, were seen to cost honest kernels up to 0.9 of a call."""


@dataclass
class SingleCalls:
    """One go at calls on their own."""

    us: dict[str, list[float]]
    """Contestant -> microseconds, one entry a call."""
    collect_us: dict[str, list[float]] = field(default_factory=dict)
    """Contestant -> microseconds of collecting what each of them left."""
    beside_us: list[float] = field(default_factory=list)
    """The checker's looped calls once more, between them; empty where nobody asked how they fare."""


@dataclass
class Measured:
    """Raw results of all rounds."""

    names: list[str]
    samples: dict[str, list[float | None]]
    """Contestant -> microseconds per call, one entry a round; None where it sat out."""
    collect_us: dict[str, list[float]]
    """Contestant -> time per call of collecting outputs, in the rounds where all slots were collected."""
    singles: list[SingleCalls] = field(default_factory=list)
    """Every go at calls on their own; suspicious ones were taken again."""
    slots: int = 1
    extra_threads: int = 0
    """Threads of the candidate's process at the end, beyond those it had before the candidate was loaded."""

    def logs(self, candidate: str, baseline: str) -> list[float]:
        """log(baseline / candidate) of the rounds in which both took part."""
        return log_ratios(self.samples[candidate], self.samples[baseline])

    def times(self, name: str) -> list[float]:
        """The samples of one contestant."""
        return [s for s in self.samples[name] if s is not None]

    def carried_us(self, name: str, checker: str) -> tuple[float, float, float]:
        """How much longer single calls take than looped ones, beside what the same costs the checker; how much of that
        is charged to nobody, and how much is no proof. Of every go the quick calls count, and of all goes the quickest:
        a busy machine makes calls slow, and nothing makes one quick whose work is its own.

        A machine that has slowed down since the looped calls shows in the checker's, which a candidate that stands
        still cannot touch: all that was measured later is divided by it.
        """
        looped, usual = (float(np.median(self.times(n))) for n in (name, checker))
        excess = np.subtract(self.collect_us[name], self.collect_us[checker])
        usually = max(0.0, float(np.median(excess))) if excess.size else 0.0
        mine, theirs, late = [], [], []
        for one in self.singles:
            slower = max(1.0, _quick(one.beside_us) / usual) if one.beside_us else 1.0
            mine.append(_quick(one.us[name]) / slower)
            theirs.append(_quick(one.us[checker]) / slower)
            # Work may be left for collecting in these calls alone; what looped ones leave there is charged already.
            left = _quick(one.collect_us.get(name)) - _quick(one.collect_us.get(checker))
            late.append(max(0.0, left - usually) / slower)
        # A call and what it left belong together, or work could be in the one in one go and in the other in the next.
        shortest = min(call + left for call, left in zip(mine, late, strict=True))
        extra = shortest - looped - max(0.0, min(theirs) - usual)
        return extra, max(CHARGED_SLACK_US, CHARGED_PART * looped), max(SINGLE_SLACK_US, SINGLE_PART * looped)

    def deferred_us(self, name: str, checker: str) -> float:
        """Work per call that shows only when outputs are collected: the median of what that costs ``name`` more, of
        both in the same round. 0 where noise explains it."""
        excess = np.asarray(self.collect_us[name]) - np.asarray(self.collect_us[checker])
        if excess.size < 5:
            return 0.0
        middle, call = float(np.median(excess)), float(np.median(self.times(name)))
        medians = bootstrap_medians(excess, 1000)
        if any(middle > part * call and np.percentile(medians, q) > 0 for part, q in CHARGES):
            return middle
        # In less than half of the rounds: the median of the samples would be one that left its work for later.
        often = float(np.mean(excess > CHARGES[-1][0] * call)) > OFTEN
        return float(np.mean(excess.clip(min=0.0))) if often else 0.0


def _quick(taken: Sequence[float] | None) -> float:
    """The quick ones of several; 0 where none was taken."""
    return float(np.percentile(taken, 20)) if taken else 0.0
