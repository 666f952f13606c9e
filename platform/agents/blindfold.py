"""Right or wrong, and nothing else: what a model is shown of its own results where a run is to do without a profile.

Owns which part of the feedback speaks of speed: times, ratios, floors, trials, verdicts by gain. Roles that are rules
go on seeing all of it, and so do the run's files: an ablation changes what a model reads, not what is measured. What
the library says of other kernels is no feedback; the switch `--no-library` takes that away.
"""

from __future__ import annotations

from dataclasses import replace

from kernelwright.protocols import Knowledge
from kernelwright.records import Decision, Evaluation

RIGHT = "right; how fast it is is not told"
"""All that is said of a decision whose child passed."""


def right_or_wrong(known: Knowledge) -> Knowledge:
    """The knowledge without any measured speed of this run."""
    best = known.best_evaluation
    return replace(
        known,
        baselines=[b.model_copy(update={"latency_us": {}}) for b in known.baselines],
        best_evaluation=untimed(best) if best is not None else None,
        profile=None,
        profiles={},
        evaluations={name: untimed(found) for name, found in known.evaluations.items()},
        trials=(),
        tried=[unmeasured(d) for d in known.tried],
    )


def untimed(evaluation: Evaluation) -> Evaluation:
    """The verdict without its times."""
    bare = {"latency_us": None, "ratios": (), "floor_us": None, "of_floor": None}
    works = tuple(w.model_copy(update=bare) for w in evaluation.workloads)
    return evaluation.model_copy(update={"workloads": works, "speedup": None, "regressed": (), "prepare_us": None})


def unmeasured(decision: Decision) -> Decision:
    """The decision with what its child was worth left out: what the judge refused stays refused, the rest is right.

    Words that a blindfolded reflector added stay: it knew no more.
    """
    if decision.verdict in ("", "failed"):
        return decision.model_copy(update={"measured": None})
    told = decision.learned if decision.learned.startswith(RIGHT) else RIGHT
    return decision.model_copy(update={"measured": None, "verdict": "", "learned": told})
