"""What the rounds of one judgement gave: samples of every contestant, and what work was left out of them.

Owns the raw numbers and the rules by which deferred or carried work shows in them. It takes no sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kernelwright.toolexec.statistics import bootstrap_medians, log_ratios

CHARGES = ((0.0, 0.1), (0.05, 10.0), (0.5, 100.0))
"""Collecting that costs more than this part of a call more than the checker's is charged, when this percentile of its
bootstrapped median is positive: a little only when it is certain, half a call however noisy it was."""
OFTEN = 0.1
"""Part of the rounds in which collecting may cost half a call more before that is charged, whatever its median."""
SINGLE_SLACK_US, SINGLE_PART = 20.0, 0.2
"""A call on its own may cost so much more than a looped one, or this part of it, before work is said to be carried from
call to call. Of 58 honest candidates, 30 us to 8 ms a call, none cost more than 7 us or 5 % more (once, nothing else
running); most cost less, since their inputs and outputs were used a moment ago."""
CHARGED_SLACK_US, CHARGED_PART = 8.0, 0.1
"""What is between these and those accuses nobody, and is not given away either: it is added to the looped calls."""


@dataclass
class Measured:
    """Raw results of all rounds."""

    names: list[str]
    samples: dict[str, list[float | None]]
    """Contestant -> microseconds per call, one entry a round; None where it sat out."""
    collect_us: dict[str, list[float]]
    """Contestant -> time per call of collecting outputs, in the rounds where all slots were collected."""
    singles: dict[str, list[float]] = field(default_factory=dict)
    single_collect_us: dict[str, list[float]] = field(default_factory=dict)
    """Contestant -> microseconds of collecting what each call on its own left."""
    beside_us: list[float] = field(default_factory=list)
    """The checker's looped calls once more, between calls on their own; empty where nobody asked how they fare."""
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
        is charged to nobody, and how much is no proof. The quick ones are compared: some are slow on a busy machine.

        A machine that has slowed down since the looped calls shows in the checker's, which a candidate that stands
        still cannot touch: all that was measured later is divided by it.
        """
        looped, usual = (float(np.median(self.times(n))) for n in (name, checker))
        slower = max(1.0, float(np.percentile(self.beside_us, 20)) / usual) if self.beside_us else 1.0
        mine, theirs = (float(np.percentile(self.singles[n], 20)) for n in (name, checker))
        # Work may be left for collecting in these calls alone; what looped ones leave there is charged already.
        usually = max(0.0, _excess(self.collect_us, name, checker, 50))
        late = max(0.0, _excess(self.single_collect_us, name, checker, 20) - usually)
        extra = (mine / slower - looped) - max(0.0, theirs / slower - usual) + late / slower
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


def _excess(taken: Mapping[str, Sequence[float]], name: str, checker: str, percentile: float) -> float:
    """How much longer collecting takes ``name`` than the checker, call by call; 0 where it was not taken."""
    excess = np.asarray(taken.get(name, [])) - np.asarray(taken.get(checker, []))
    return float(np.percentile(excess, percentile)) if excess.size else 0.0
