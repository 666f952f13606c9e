"""The optimizer in the simulated world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptopt.world import World

from kernelwright.promptopt.journal import Journal, Limits
from kernelwright.promptopt.optimizer import Draft, EvidenceOptimizer, Optimized, PromptOptimizer, Settings
from kernelwright.promptopt.trials import FunctionRunner, Split, TrialRequest, TrialResult
from kernelwright.records import Lesson, LessonScope, LessonState


def pool_of(world: World) -> list[Lesson]:
    """The principles as lessons, none with any evidence, in an order that tells nothing."""
    lessons = [
        Lesson(
            id=f"lesson-{p.id}", when="any kernel is written", do=p.text, scope=LessonScope(devices=("cpu",)),
            state=LessonState.PROPOSED,
        )
        for p in world.principles
    ]  # fmt: skip
    return sorted(lessons, key=lambda x: x.do)


def split_of(world: World) -> Split:
    parts = {name: tuple(tasks) for name, tasks in world.split.items()}
    families = {task: task.partition("/")[0] for tasks in parts.values() for task in tasks}
    return Split(**parts, families=families)


def trial_in(world: World) -> FunctionRunner:
    def run(request: TrialRequest) -> TrialResult:
        return TrialResult(score=world.score(request.prompt, request.task, request.repetition), seconds=1e-9)

    return FunctionRunner(run)


@dataclass(frozen=True)
class Outcome:
    seed: int
    optimized: Optimized
    found: float
    """Share of the true principles with an effect of at least 0.1 that the final prompt holds."""
    harmful: int
    null: int
    held_out: float
    """True gain of the final prompt over the seed prompt, without noise."""
    covered: tuple[bool, ...]
    """For each estimated lesson: does its interval hold its true effect?"""
    trials: int


def prove(seed: int, *, null: bool = False, trials: int = 0, optimizer: PromptOptimizer | None = None) -> Outcome:
    world = World(seed, null=null)
    trials = trials or world.trials
    optimizer = optimizer or EvidenceOptimizer(Settings(trials=trials, seed=seed))
    journal = Journal(trial_in(world), Limits(trials=trials))
    found = optimizer.optimize(Draft(world.seed_prompt), pool_of(world), split_of(world), journal)
    text = found.best.text
    strong = world.true_strong
    held = {p.id for p in world.principles if p.text in text}
    effects = {p.id: p.effect for p in world.principles}
    covered = tuple(
        e.low <= effects[name.removeprefix("lesson-")] <= e.high for name, e in found.effects.items()
    )
    return Outcome(
        seed=seed,
        optimized=found,
        found=len(held & strong) / len(strong) if strong else 0.0,
        harmful=len(held & world.harmful),
        null=sum(effects[id] == 0 for id in held),
        held_out=world.expected(text) - world.expected(world.seed_prompt),
        covered=covered,
        trials=world.asked,
    )


def table(rows: Sequence[Sequence[object]]) -> str:
    return "\n".join(" | ".join(f"{value:>10}" if i else f"{value:<22}" for i, value in enumerate(row)) for row in rows)
