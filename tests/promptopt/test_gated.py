"""Another optimizer's best at our gates, with optimizers whose answers are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from kernelwright.promptopt.gated import PASSED_OVER, GatedOptimizer, calls_within, least_plan
from kernelwright.promptopt.journal import Journal, Limits
from kernelwright.promptopt.optimizer import Draft, Optimized, Proposal, gate_trials
from kernelwright.promptopt.trials import FunctionRunner, Split, TrialRequest, TrialResult
from kernelwright.records import Lesson

SEED, OTHER, BEST = Draft("Write kernels."), Draft("Write kernels well."), Draft("Write fast kernels.")
SPLIT = Split(("a/0",), ("b/0", "b/1"), ("c/0", "c/1"), {t: t[0] for t in ("a/0", "b/0", "b/1", "c/0", "c/1")})


class Chooses:
    """Keeps two proposals and chooses one of them, or none."""

    def __init__(self, chosen: Draft | None = BEST) -> None:
        self._chosen = chosen

    def optimize(self, seed: Draft, pool: Sequence[Lesson], split: Split, journal: Journal) -> Optimized:
        steps = ((seed, OTHER), (OTHER, BEST))
        kept = [Proposal(n, "text", old, new, "idea", accepted=True) for n, (old, new) in enumerate(steps, 1)]
        return Optimized(seed, self._chosen or seed, promoted=self._chosen is not None, proposals=kept)


def gated(score: Callable[[TrialRequest], float], *, chosen: Draft | None = BEST, cost_usd: float = 0.0) -> Optimized:
    runner = FunctionRunner(lambda request: TrialResult(score=score(request), cost_usd=1.0))
    return GatedOptimizer(Chooses(chosen), trials=60).optimize(
        SEED, [], SPLIT, Journal(runner, Limits(cost_usd=cost_usd))
    )


def better(request: TrialRequest) -> float:
    """The best is better everywhere; pairs differ a little."""
    return (0.5 if "fast" in request.prompt else 0.0) + int(request.repetition.rpartition("/")[2]) / 100


def test_what_passes_every_gate_is_promoted_with_a_gain_measured_after() -> None:
    found = gated(better)
    assert found.promoted and found.best == BEST and found.gain is not None
    other, best = found.proposals
    assert (other.accepted, other.rejected_because) == (False, PASSED_OVER)
    assert best.parent == SEED, "what its scores are over"
    assert best.accepted and [s.split for s in best.scores] == ["validation", "held_out", "remeasured"]
    assert found.gain == best.scores[-1] and found.gain.gain == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("score", "because", "spoken"),
    [
        (lambda r: 0.0 if "fast" in r.prompt else 0.1, "not shown to help", 1),
        (lambda r: better(r) if r.task.startswith("b") else -better(r), "held-out falls", 2),
    ],
    ids=["validation", "held-out"],
)
def test_what_a_gate_refuses_is_kept_with_its_reason(
    score: Callable[[TrialRequest], float], because: str, spoken: int
) -> None:
    found = gated(score)
    assert not found.promoted and found.best == SEED and found.gain is None
    assert because in found.proposals[1].rejected_because and len(found.proposals[1].scores) == spoken


def test_a_limit_before_the_gates_have_spoken_promotes_nothing() -> None:
    found = gated(better, cost_usd=12.0)
    assert found.ended.startswith("out of budget") and not found.promoted and found.best == SEED
    assert "before the gates had spoken" in found.proposals[1].rejected_because and found.proposals[1].undecided


def test_where_nothing_was_chosen_no_gate_is_paid_for() -> None:
    found = gated(better, chosen=None)
    assert not found.promoted and not any(p.accepted or p.scores for p in found.proposals)


def test_what_the_other_one_left_at_a_limit_is_not_rejected() -> None:
    class Ends(Chooses):
        def optimize(self, seed: Draft, pool: Sequence[Lesson], split: Split, journal: Journal) -> Optimized:
            found = super().optimize(seed, pool, split, journal)
            found.ended = "out of budget: trials"
            return found

    journal = Journal(FunctionRunner(lambda request: TrialResult(score=better(request))), Limits())
    found = GatedOptimizer(Ends(None), trials=60).optimize(SEED, [], SPLIT, journal)
    assert all(p.undecided and not p.accepted for p in found.proposals) and journal.spent.trials == 0


def test_a_plan_leaves_the_gates_their_trials() -> None:
    for calls in (1, 40, 300):
        plan = least_plan(calls)
        assert calls_within(plan) >= calls and plan == calls_within(plan) + gate_trials(plan, 1)
        assert calls_within(plan - 2) < calls
