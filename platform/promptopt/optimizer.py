"""The optimizer: screen lessons by design, propose, validate in pairs, hold out, measure again. Every proposal is kept.

Screening shows each lesson in half of its trials, so that all of them get an effect with an interval at the price of
one; those whose interval clears zero make one proposal. A proposer, where there is one, then rewrites the base text.
What passed validation has to hold on families that nothing was chosen on, and its gain is reported from trials made
after that. Given the same journal the same things happen, which is what makes a killed optimization resumable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from kernelwright.promptopt.designs import balanced_blocks, block_size
from kernelwright.promptopt.effects import lesson_effects
from kernelwright.promptopt.gates import Comparison, Verdict, compare, not_fallen, validated
from kernelwright.promptopt.journal import Journal, OutOfBudget, Spent
from kernelwright.promptopt.screening import prompt_refusals
from kernelwright.promptopt.selection import lessons_block, strength
from kernelwright.promptopt.trials import ProposalRequest, Proposer, Split, TrialRequest
from kernelwright.records import Lesson, LessonDraw, LessonEffect, PromptScore, Task

VALIDATION_SHARE, HELD_OUT_SHARE, REMEASURED_SHARE = 0.05, 0.045, 0.045
"""Pairs per trial of the budget: with 400 trials 20, 18 and 18 pairs, which leaves 288 for screening."""
SHOWN_CHARACTERS = 8000
"""What a proposer reads at most, whatever the runs wrote."""
LEAST_PAIRS = 4


@dataclass(frozen=True)
class Draft:
    """A prompt that is tried: base text and lessons."""

    base: str
    lessons: tuple[Lesson, ...] = ()

    @property
    def text(self) -> str:
        """The whole prompt."""
        block = lessons_block(self.lessons)
        return f"{self.base.rstrip()}\n\n{block}\n" if block else f"{self.base.rstrip()}\n"


@dataclass(frozen=True)
class Proposal:
    """One proposal and what became of it."""

    number: int
    kind: Literal["lessons", "text"]
    parent: Draft
    draft: Draft
    reason: str
    feedback: str = ""
    """What the proposer had read."""
    accepted: bool = False
    rejected_because: str = ""
    scores: tuple[PromptScore, ...] = ()
    undecided: bool = False
    """A limit was reached before its gates had spoken: with a higher one they go on, so it is no version yet."""


@dataclass(frozen=True)
class Settings:
    """How an optimization goes about it."""

    trials: int = 400
    """Trials that the plan is made for."""
    text_proposals: int = 0
    """Rewrites of the base text; 0 without a proposer."""
    seed: int = 0
    session: str = ""


@dataclass
class Optimized:
    """What an optimization came to."""

    seed: Draft
    best: Draft
    promoted: bool = False
    """True when the best passed every gate."""
    effects: dict[str, LessonEffect] = field(default_factory=dict)
    proposals: list[Proposal] = field(default_factory=list)
    gain: PromptScore | None = None
    """Measured after all choices were made; None: nothing to report."""
    spent: Spent = field(default_factory=Spent)
    ended: str = "finished"


class PromptOptimizer(Protocol):
    """Ours, or another behind the same interface."""

    def optimize(self, seed: Draft, pool: Sequence[Lesson], split: Split, journal: Journal) -> Optimized:
        """Improve a prompt on the split's tasks within the journal's limits."""


def pairs_of(trials: int, share: float) -> int:
    """Pairs of one gate in a plan of so many trials."""
    return max(LEAST_PAIRS, round(share * trials))


def gate_trials(trials: int, proposals: int) -> int:
    """Trials of a plan that are kept for the gates: every proposal's validation, held-out, and the re-measurement."""
    pairs = pairs_of(trials, VALIDATION_SHARE) * proposals
    return 2 * (pairs + pairs_of(trials, HELD_OUT_SHARE) + pairs_of(trials, REMEASURED_SHARE))


def least_trials(rewrites: int, lessons: int) -> int:
    """The smallest plan in which all gates can speak, and one lesson at least is screened in two blocks."""
    trials = 2
    while trials < gate_trials(trials, rewrites + bool(lessons)) + (2 * block_size(1) if lessons else 0):
        trials += 2
    return trials


class EvidenceOptimizer:
    """Our own optimizer.

    Args:
        settings: the plan.
        proposer: of base texts; None: lessons only.
        tasks: whose texts no proposal may copy.
        on_proposal: told of every proposal when all gates have spoken.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        proposer: Proposer | None = None,
        tasks: Sequence[Task] = (),
        on_proposal: Callable[[Proposal], None] = lambda proposal: None,
    ) -> None:
        self._settings, self._proposer, self._tasks, self._told = settings, proposer, tasks, on_proposal
        self._rewrites = settings.text_proposals if proposer is not None else 0
        self._proposals = 1 + self._rewrites

    def optimize(self, seed: Draft, pool: Sequence[Lesson], split: Split, journal: Journal) -> Optimized:
        """See :class:`PromptOptimizer`."""
        found = Optimized(seed=seed, best=seed, spent=journal.spent)
        try:
            self._run(found, list(pool), split, journal)
        except OutOfBudget as reached:
            found.best, found.promoted, found.gain = seed, False, None
            found.ended = f"out of budget: {reached}"
            because = f"out of budget before the held-out gate had spoken ({reached})"
            for i, p in enumerate(found.proposals):
                if p.accepted:
                    found.proposals[i] = replace(p, accepted=False, rejected_because=because, undecided=True)
        for proposal in found.proposals:
            self._told(proposal)
        return found

    def _run(self, found: Optimized, pool: list[Lesson], split: Split, journal: Journal) -> None:
        self._proposals = self._rewrites + bool(pool)
        draws, shown = self._screen(found.seed, self._affordable(pool), split, journal)
        found.effects = lesson_effects(draws, method="screening")
        helping = [x for x in pool if x.id in found.effects and found.effects[x.id].low > 0]
        if helping:
            kept = tuple(x for x in found.seed.lessons if x.id not in {y.id for y in helping})
            draft = Draft(found.seed.base, (*kept, *helping))
            reason = "screening: the intervals of " + ", ".join(x.id for x in helping) + " clear zero"
            self._validate(found, Proposal(0, "lessons", found.best, draft, reason), split, journal)
        for number in range(1, 1 + self._rewrites):
            self._rewrite(found, number, shown, split, journal)
        if found.best != found.seed:
            self._finish(found, split, journal)

    def _pairs(self, share: float) -> int:
        return pairs_of(self._settings.trials, share)

    def _for_screening(self) -> int:
        return self._settings.trials - gate_trials(self._settings.trials, self._proposals)

    def _affordable(self, pool: list[Lesson]) -> list[Lesson]:
        """The lessons that fit into two blocks at least, best evidence first."""
        most = self._for_screening() // 2
        ranked = sorted(pool, key=lambda x: (-strength(x), x.id))
        if most < block_size(1):
            return []
        while ranked and block_size(len(ranked)) > most:
            ranked = ranked[: block_size(len(ranked)) // 2 - 1]
        return ranked

    def _screen(
        self, seed: Draft, pool: list[Lesson], split: Split, journal: Journal
    ) -> tuple[list[LessonDraw], list[str]]:
        """Trials of the design, one block a task; their draws, and what was seen, worst first."""
        by_id = {x.id: x for x in pool}
        always = tuple(x for x in seed.lessons if x.id not in by_id)
        blocks = self._for_screening() // block_size(len(pool)) if pool else 0
        draws, seen = [], []
        design = balanced_blocks(list(by_id), blocks=blocks, seed=self._settings.seed)
        for number, block in enumerate(design):
            task = split.train[number % len(split.train)]
            for row, names in enumerate(block):
                draft = Draft(seed.base, (*always, *(by_id[n] for n in by_id if n in names)))
                result = journal.trial(TrialRequest(draft.text, task, f"screening/{number}/{row}"))
                draws.append(
                    LessonDraw(
                        call=f"{self._settings.session}/{number}/{row}",
                        block=task,
                        shown=tuple(sorted(names)),
                        left_out=tuple(sorted(set(by_id) - names)),
                        share=0.5,
                        score=result.score,
                        cost_usd=result.cost_usd,
                    )
                )
                seen.append((result.score, f"{split.families.get(task, '')} {result.score:+.3f}: {result.feedback}"))
        return draws, [text for _, text in sorted(seen)]

    def _rewrite(self, found: Optimized, number: int, seen: list[str], split: Split, journal: Journal) -> None:
        """One proposal of a base text: refused unpaid, or validated."""
        assert self._proposer is not None
        told = _bounded(seen, SHOWN_CHARACTERS)
        rejected = [f"rejected: {p.rejected_because}" for p in found.proposals if p.rejected_because][-3:]
        shown = "\n".join([*rejected, told])[:SHOWN_CHARACTERS]
        answer = journal.proposal(self._proposer, ProposalRequest(found.best.base, shown, number))
        draft = Draft(answer.text, found.best.lessons)
        proposal = Proposal(number, "text", found.best, draft, answer.reason or "a proposer's rewrite", shown)
        wrong = prompt_refusals(answer.text, parent=found.best.base, tasks=self._tasks, finish=answer.finish)
        if wrong:
            self._decide(found, proposal, rejected_because="; ".join(wrong))
        else:
            self._validate(found, proposal, split, journal)

    def _validate(self, found: Optimized, proposal: Proposal, split: Split, journal: Journal) -> None:
        plan = Comparison("validation", split.validation, self._pairs(VALIDATION_SHARE), str(proposal.number))
        differences, score = compare(journal, proposal.parent.text, proposal.draft.text, plan, split)
        verdict = validated(differences, score, proposals=self._proposals)
        if verdict.passed:
            found.best = proposal.draft
        self._decide(found, proposal, verdict=verdict)

    def _finish(self, found: Optimized, split: Split, journal: Journal) -> None:
        """Held-out gate, then the gain that is reported."""
        gate = Comparison("held_out", split.held_out, self._pairs(HELD_OUT_SHARE), "gate")
        _, held = compare(journal, found.seed.text, found.best.text, gate, split)
        verdict = not_fallen(held)
        last = max(i for i, p in enumerate(found.proposals) if p.accepted)
        if not verdict.passed:
            for i, p in enumerate(found.proposals):
                if p.accepted:
                    found.proposals[i] = _replaced(p, accepted=False, because=verdict.reason, score=held)
            found.best = found.seed
            return
        report = Comparison("remeasured", split.held_out, self._pairs(REMEASURED_SHARE), "report")
        _, again = compare(journal, found.seed.text, found.best.text, report, split)
        found.proposals[last] = _replaced(found.proposals[last], accepted=True, score=held, also=again)
        found.promoted, found.gain = True, again

    def _decide(
        self, found: Optimized, proposal: Proposal, *, verdict: Verdict | None = None, rejected_because: str = ""
    ) -> None:
        if verdict is not None:
            proposal = _replaced(
                proposal, accepted=verdict.passed, because="" if verdict.passed else verdict.reason, score=verdict.score
            )
        else:
            proposal = _replaced(proposal, accepted=False, because=rejected_because)
        found.proposals.append(proposal)


def _replaced(
    proposal: Proposal, *, accepted: bool, because: str = "", score: PromptScore | None = None,
    also: PromptScore | None = None,
) -> Proposal:  # fmt: skip
    scores = (*proposal.scores, *(s for s in (score, also) if s is not None))
    changed = {"accepted": accepted, "rejected_because": because, "scores": scores}
    return Proposal(**{**vars(proposal), **changed})


def _bounded(lines: Sequence[str], characters: int) -> str:
    """As many lines as fit; a single one is cut."""
    kept: list[str] = []
    left = characters
    for line in lines:
        line = line[: characters // 4]
        if len(line) + 1 > left:
            break
        kept.append(line)
        left -= len(line) + 1
    return "\n".join(kept)
