"""The optimizer as a Teleprompter of DSPy, and GEPA in the same world with the same budget."""

from __future__ import annotations

import sys

import pytest
from promptopt.proving import pool_of, prove, split_of, table
from promptopt.rewriting import GuessingProposer
from promptopt.world import World

from kernelwright.errors import UserError
from kernelwright.promptopt.gated import GatedOptimizer, calls_within
from kernelwright.promptopt.journal import Journal, Limits
from kernelwright.promptopt.optimizer import Draft, Settings
from kernelwright.promptopt.teleprompters import GepaOptimizer, evidence_teleprompter
from kernelwright.promptopt.trials import FunctionRunner, TrialRequest, TrialResult

dspy = pytest.importorskip("dspy", reason="the llm extra is not installed")


def test_it_compiles_a_dspy_program_and_keeps_every_proposal() -> None:
    world = World(4)

    class Scripted(dspy.Predict):
        """A model that does what its instructions say, scored by the world."""

        def forward(self, **inputs: str) -> dspy.Prediction:
            asked = world.asked
            return dspy.Prediction(score=world.score(self.signature.instructions, inputs["task"], str(asked)))

    class Program(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.write = Scripted(dspy.Signature("task -> score", world.seed_prompt))

        def forward(self, task: str) -> dspy.Prediction:
            return self.write(task=task)

    sets = {
        part: [dspy.Example(task=t, family=t.partition("/")[0]).with_inputs("task") for t in tasks]
        for part, tasks in world.split.items()
    }
    metric = lambda example, prediction, trace=None: prediction.score  # noqa: E731
    teleprompter = evidence_teleprompter(Settings(seed=4), metric, lessons=pool_of(world))
    assert isinstance(teleprompter, dspy.teleprompt.Teleprompter)
    best = teleprompter.compile(
        Program(), trainset=sets["train"], valset=sets["validation"], held_out=sets["held_out"]
    )
    assert best.optimized.promoted and world.asked <= 400
    assert world.expected(best.write.signature.instructions) > 1.0
    assert set(best.optimized.gain.families) == {"scan", "attention"}


def test_gepa_behind_the_same_interface_keeps_every_proposal_and_its_budget() -> None:
    outcome = prove(1, trials=120, optimizer=GepaOptimizer(GuessingProposer(World(1)), calls=120, seed=1))
    assert outcome.trials <= 120
    proposals = outcome.optimized.proposals
    assert any(p.accepted for p in proposals) and any(p.rejected_because for p in proposals)
    assert all(p.feedback for p in proposals)


@pytest.mark.slow
def test_ours_and_gepa_in_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[list[object]] = [["400 trials, 20 seeds", "found", "harmful", "null", "gain", "promoted", "no effects"]]
    for name in ("ours", "gepa"):
        made = {
            null: [
                prove(s, null=null, optimizer=None if name == "ours" else gepa(s, null)) for s in range(20)
            ]
            for null in (False, True)
        }
        mean = [sum(getattr(o, f) for o in made[False]) / 20 for f in ("found", "harmful", "null", "held_out")]
        promoted = [sum(o.optimized.promoted for o in made[null]) for null in (False, True)]
        rows.append([name, *(f"{m:.2f}" for m in mean), *promoted])
    with capsys.disabled():
        sys.stdout.write("\n" + table(rows) + "\n")
    assert float(str(rows[1][1])) > float(str(rows[2][1])) and float(str(rows[1][4])) > float(str(rows[2][4]))


def gepa(seed: int, null: bool, *, calls: int = 400) -> GepaOptimizer:
    return GepaOptimizer(GuessingProposer(World(seed, null=null)), calls=calls, seed=seed)


def test_a_limit_ends_gepa_and_is_no_failure_of_a_prompt() -> None:
    """By itself GEPA takes every error of a trial for a failed example, and goes on."""
    world = World(1)
    dear = FunctionRunner(lambda r: TrialResult(score=world.score(r.prompt, r.task, r.repetition), cost_usd=0.5))
    journal = Journal(dear, Limits(cost_usd=20.0))
    found = GepaOptimizer(GuessingProposer(world), calls=200, seed=1).optimize(
        Draft(world.seed_prompt), [], split_of(world), journal
    )
    assert found.ended == "out of budget: cost_usd: 20 of 20 are spent"
    assert not found.promoted and found.best == found.seed and found.spent.trials == 40 == world.asked


def test_a_trial_that_cannot_be_had_ends_gepa_with_its_reason() -> None:
    world = World(1)

    def stopped(request: TrialRequest) -> TrialResult:
        if world.asked >= 30:
            raise UserError("a trial was stopped (interrupted)")
        return TrialResult(score=world.score(request.prompt, request.task, request.repetition))

    journal = Journal(FunctionRunner(stopped), Limits())
    with pytest.raises(UserError, match="interrupted"):
        GepaOptimizer(GuessingProposer(world), calls=200, seed=1).optimize(
            Draft(world.seed_prompt), [], split_of(world), journal
        )
    assert world.asked == 30, "nothing is asked for after it"


def test_gepas_best_is_promoted_only_through_the_gates() -> None:
    """In a world without effects GEPA promotes by luck, and the gates do not; what helps passes."""
    for null in (True, False):
        inner = gepa(0, null, calls=calls_within(400))
        bare, gated = prove(0, null=null, optimizer=gepa(0, null)), prove(
            0, null=null, optimizer=GatedOptimizer(inner, trials=400)
        )
        assert bare.optimized.promoted and gated.optimized.promoted is not null and gated.trials <= 400
        told = [p for p in gated.optimized.proposals if p.scores]
        assert len(told) == 1 and told[0].accepted is not null
        assert [p.accepted for p in gated.optimized.proposals].count(True) == (0 if null else 1)
        assert null or [s.split for s in told[0].scores] == ["validation", "held_out", "remeasured"]
