"""One optimization from beginning to end: plan, journal, optimizer, versions. The same plan again goes on with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kernelwright.agents.llm.desk import ModelDesk
from kernelwright.errors import UnknownName, UserError
from kernelwright.promptopt.gated import GatedOptimizer, calls_within, least_plan
from kernelwright.promptopt.journal import Journal, Limits, Step, owned
from kernelwright.promptopt.optimizer import EvidenceOptimizer, Optimized, PromptOptimizer, Settings, least_trials
from kernelwright.promptopt.rewriting import ModelProposer
from kernelwright.promptopt.run_trials import RunStarter, RunTrials
from kernelwright.promptopt.sessions import Plan, draft_of, keep_proposals, session_folder
from kernelwright.promptopt.shelves import LessonShelf, moved, noted
from kernelwright.promptopt.teleprompters import GepaOptimizer
from kernelwright.promptopt.trials import Proposer, split_by_family
from kernelwright.promptopt.upkeep import sharper
from kernelwright.promptopt.versions import PromptStore, follow_all
from kernelwright.records import LessonState, PromptVersion, Task
from kernelwright.records.wording import format_count
from kernelwright.workspace import Workspace

OPTIMIZERS = ("evidence", "gepa")
LEAST_CALLS = 40
"""Trials below which GEPA would hardly get beyond looking at the prompt in use."""


@dataclass(frozen=True)
class Wanted:
    """What is asked for."""

    role: str
    optimizer: str = "evidence"
    model: str = ""
    rewrites: int = 0
    """Proposals of a base text."""
    seed: int = 0
    lessons: tuple[str, ...] = ()
    """Ids to screen; () means all of the role that are not retired."""
    screen: bool = True
    """False: no lesson is tried, only rewrites."""


@dataclass(frozen=True)
class Done:
    """What an optimization came to, for people."""

    session: str
    optimized: Optimized
    version: PromptVersion | None
    """In use because of it; None where nothing was promoted."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        found = self.optimized
        rows = [
            {name: getattr(p, name) for name in ("kind", "accepted", "undecided", "reason", "rejected_because")}
            for p in found.proposals
        ]
        return {
            "format": "kernelwright/prompt-optimization/1",
            "session": self.session,
            "ended": found.ended,
            "promoted": self.version.id if self.version else None,
            "gain": found.gain.model_dump(mode="json") if found.gain else None,
            "effects": {name: e.model_dump(mode="json") for name, e in found.effects.items()},
            "proposals": rows,
            "spent": asdict(found.spent),
        }

    def text(self) -> str:
        """A few lines."""
        found, spent = self.optimized, self.optimized.spent
        lines = [f"{self.session}: {found.ended}"]
        lines += [
            f"{'accepted' if p.accepted else 'undecided' if p.undecided else 'rejected'}  {p.kind}: {p.reason[:100]}"
            + (f"  ({p.rejected_because})" if p.rejected_because else "")
            for p in found.proposals
        ]
        if self.version is not None:
            lines.append(f"promoted {self.version.id}")
        if found.gain is not None:
            g = found.gain
            told = f"gain {g.gain:+.3f} [{g.low:+.3f}, {g.high:+.3f}] in log speed-up"
            lines.append(f"{told}, measured after all choices")
        counts = f"{format_count(spent.trials, 'trial')}, {format_count(spent.tokens, 'token')}"
        lines.append(f"{counts}, {spent.cost_usd:.4f} USD, {spent.seconds:.0f} s")
        return "\n".join(lines)


def optimize_prompt(
    place: Workspace,
    tasks: Mapping[str, Task],
    wanted: Wanted,
    limits: Limits,
    *,
    start: RunStarter,
    desk: Callable[[Path], ModelDesk],
    told: Callable[[Step], None] = lambda step: None,
) -> Done:
    """Optimize a role's prompt; what was paid for before is not paid for again.

    Args:
        place: whose versions and lessons.
        tasks: by name; of at least three op families.
        wanted: role, optimizer and plan.
        limits: of all sessions together.
        start: starts or resumes the run of one trial.
        desk: the proposer's way to its model, given its folder of calls.
        told: of every trial, for people.

    Raises:
        UserError: tasks of fewer than three families, too few trials for the gates, or no text for the role.
        UnknownName: an unknown optimizer.
        WorkspaceError: another process works on the same optimization.
    """
    if wanted.optimizer not in OPTIMIZERS:
        raise UnknownName("optimizer", wanted.optimizer, OPTIMIZERS)
    try:
        split = split_by_family({name: task.family for name, task in tasks.items()}, seed=wanted.seed)
    except ValueError as error:
        raise UserError(str(error), hint="add tasks of other families with --task") from None
    store, shelf = PromptStore(place.prompts, wanted.role), LessonShelf(place.lessons)
    seed = draft_of(store, shelf.active)
    if not seed.base:
        raise UserError(f"the role {wanted.role} has no prompt")
    chosen = [shelf.get(id) for id in wanted.lessons] or shelf.lessons
    fit = (x for x in chosen if wanted.role in x.roles and x.state is not LessonState.RETIRED)
    pool = list(fit) if wanted.screen else []
    _enough(wanted, limits, lessons=len(pool))
    plan = Plan(
        role=wanted.role, base=seed.base, lessons=tuple(x.text_hash for x in pool), tasks=tuple(sorted(tasks)),
        trials=limits.trials, seed=wanted.seed, engine=f"{wanted.optimizer} {wanted.rewrites} {wanted.model}",
    )  # fmt: skip
    folder = session_folder(place.optimizations, plan)
    with owned(folder):
        journal = Journal(RunTrials(folder, wanted.role, start), limits, file=folder / "journal.jsonl", told=told)
        proposer = ModelProposer(desk(folder / "calls")) if wanted.rewrites or wanted.optimizer == "gepa" else None
        optimizer = _optimizer(wanted, limits, proposer, list(tasks.values()), plan.id)
        found = optimizer.optimize(seed, pool, split, journal)
        parent = store.current.id if store.current is not None else ""
        version = keep_proposals(store, found, session=plan.id, parent=parent)
        _credit(shelf, found, plan.id)
        if version is not None:
            follow_all(place.prompts, shelf.active, reason=f"lessons that optimization {plan.id} promoted")
        return Done(plan.id, found, version)


def _enough(wanted: Wanted, limits: Limits, *, lessons: int) -> None:
    """Refuse a plan whose gates could never speak, and one that tries nothing, before anything is paid."""
    if not limits.trials:
        return
    if wanted.optimizer == "gepa":
        least = least_plan(LEAST_CALLS)
        if limits.trials < least:
            why = f"{limits.trials} trials are too few: GEPA and the gates of what it chooses need {least}"
            raise UserError(why, hint=f"--trials {least} or more")
        return
    if not lessons and not wanted.rewrites:
        raise UserError(
            f"there is nothing to try: no lesson is for the {wanted.role}, and no rewrite is asked for",
            hint="learn lessons with `lessons distill`, or ask for rewrites with --rewrites",
        )
    least = least_trials(wanted.rewrites, lessons)
    if limits.trials < least:
        raise UserError(
            f"{limits.trials} trials are too few: the gates of {format_count(wanted.rewrites, 'rewrite')} and the "
            f"screening of a lesson need {least}",
            hint=f"--trials {least} or more, or fewer --rewrites",
        )


def _credit(shelf: LessonShelf, found: Optimized, session: str) -> None:
    """What screening found becomes each lesson's effect; those in a promoted prompt become active."""
    promoted = {x.id for x in found.best.lessons} if found.promoted else set()
    for id in sorted({*found.effects, *promoted}):
        lesson = shelf.get(id)
        effect = sharper(lesson.effect, found.effects.get(id))
        if effect is not None and effect != lesson.effect:
            told = f"{effect.estimate:+.3f} [{effect.low:+.3f}, {effect.high:+.3f}] in log speed-up"
            lesson = noted(lesson.model_copy(update={"effect": effect}), "screened", reason=told, by=session)
        if id in promoted and lesson.state is not LessonState.ACTIVE:
            lesson = moved(lesson, LessonState.ACTIVE, reason="in the promoted prompt", by=session)
        shelf.save_all([lesson])


def _optimizer(
    wanted: Wanted, limits: Limits, proposer: Proposer | None, tasks: list[Task], session: str
) -> PromptOptimizer:
    if wanted.optimizer == "gepa":
        assert proposer is not None
        gepa = GepaOptimizer(proposer, calls=calls_within(limits.trials), seed=wanted.seed, tasks=tasks)
        return GatedOptimizer(gepa, trials=limits.trials)
    settings = Settings(trials=limits.trials, text_proposals=wanted.rewrites, seed=wanted.seed, session=session)
    return EvidenceOptimizer(settings, proposer=proposer, tasks=tasks)
