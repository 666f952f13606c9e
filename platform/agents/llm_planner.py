"""ModelPlanner: a language model ranks what to try next. Its drafts become Decisions here, or are asked for again."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.agents import showing
from kernelwright.agents.blindfold import right_or_wrong
from kernelwright.agents.llm.asking import Asked, ask_until_usable
from kernelwright.agents.llm.assembling import Section
from kernelwright.agents.llm.desk import Call, ModelDesk
from kernelwright.agents.llm.drafts import DecisionDraft
from kernelwright.agents.llm.exchange import BadAnswer
from kernelwright.agents.llm.prompt_book import PromptBook
from kernelwright.agents.schedule_drafts import directives_in, offer
from kernelwright.protocols import Knowledge, ScheduleSpace
from kernelwright.records import Candidate, Decision

SHOWN_PARENTS = 3


class ModelPlanner:
    """The planner of engine ``llm``.

    Args:
        desk: the way to the model.
        book: the planner's prompt.
        writable: languages that a model can write here: those with entry ``c`` or ``module``.
        blind: show it right and wrong alone, no times.
        space: schedules of pipelines, which the model may propose and search carries out; None offers none.
    """

    def __init__(
        self,
        desk: ModelDesk,
        book: PromptBook,
        writable: Sequence[str],
        *,
        blind: bool = False,
        space: ScheduleSpace | None = None,
    ) -> None:
        self._desk, self._book, self._writable = desk, book, tuple(writable)
        self._blind, self._space = blind, space

    def plan(self, knowledge: Knowledge, *, limit: int) -> list[Decision]:
        """Ranked decisions; [] when the model gave no usable plan.

        Raises:
            LimitReached: nothing more may be asked.
            ModelError: the model cannot be reached.
        """
        knowledge = right_or_wrong(knowledge) if self._blind else knowledge
        asked = Asked(
            kind="Plan",
            prompt=self._book.prompt("planner", knowledge),
            sections=self._sections(knowledge, limit),
            budget_tokens=self._desk.options.planner_tokens,
            only_form=frozenset({"machine", "parents", "profile", "precedents", "evidence", "tried"}),
            call=Call(
                slot=f"planner/r{knowledge.round}",
                role="planner",
                round=knowledge.round,
                exemplars=tuple(r.solution.id for r in knowledge.recalled),
            ),
        )

        def check(drafts: list[DecisionDraft]) -> list[Decision]:
            return self._decisions(drafts, knowledge)[:limit]

        return ask_until_usable(self._desk, asked, check) or []

    def _sections(self, known: Knowledge, limit: int) -> dict[str, Section]:
        best = f"{known.best.id}: {showing.measured_text(known.best_evaluation)}" if known.best is not None else ""
        parents = showing.candidates_text(list(known.pool)[:SHOWN_PARENTS], known)
        return {
            "task": Section(showing.task_text(known) + "\n\n" + showing.border_text(known), keep=9),
            "machine": Section(showing.machine_text(known), keep=8),
            "baselines": Section(showing.baselines_text(known), keep=8),
            "best": Section(best or "Nothing has passed yet.", keep=9),
            "parents": Section(parents, keep=5),
            "profile": Section(showing.profile_text(known.profile), keep=7),
            "precedents": Section(showing.precedents_text(known.recalled), keep=4),
            "evidence": Section(showing.evidence_text(known), keep=3),
            "tried": Section(showing.tried_text(known.tried), keep=6),
            "wishes": Section(known.hint, keep=10),
            "asked": Section(self._order(known, limit), keep=10),
        }

    def _order(self, known: Knowledge, limit: int) -> str:
        starts = ["reference", *(c.id for c in known.pool)]
        return (
            f"Up to {limit} decisions for round {known.round}. Languages you can have written: "
            f"{', '.join(self._writable)}. `start_from` is one of: {', '.join(starts)}"
            + (", or a recalled `solution:ID#RUNG`" if known.recalled else "")
            + ". A prediction is over what it starts from; where that is the reference, over the baseline to be beaten "
            "at the time it has beside a candidate." + (offer(self._space, known) if self._space is not None else "")
        )

    def _decisions(self, drafts: Sequence[DecisionDraft], known: Knowledge) -> list[Decision]:
        """Drafts as decisions that were not tried.

        Raises:
            BadAnswer: all were.
        """
        tried = {d.key for d in known.tried}
        said = {(d.technique, d.summary.casefold(), d.parent) for d in known.tried}
        fresh: dict[str, Decision] = {}
        problems: list[str] = []
        for draft in drafts:
            try:
                decision = self._decision(draft, known)
            except BadAnswer as error:  # of a schedule; the others stand
                problems.append(str(error))
                continue
            if (
                decision.key not in tried
                and (decision.technique, decision.summary.casefold(), decision.parent) not in said
            ):
                fresh.setdefault(decision.key, decision)
        if not fresh:
            raise BadAnswer(" ".join(problems) or "Every one of these decisions was tried already on the same parent; "
                            "propose others.")  # fmt: skip
        return list(fresh.values())

    def _decision(self, draft: DecisionDraft, known: Knowledge) -> Decision:
        if draft.schedule and self._space is not None:
            return self._schedule(draft, known, self._space)
        parent, source = _start(draft, known)
        language = self._language(draft, parent)
        return Decision(
            technique=draft.technique,
            summary=draft.summary,
            where=draft.where,
            parameters={**draft.parameters, "language": language} if source == "model" else draft.parameters,
            bottleneck=draft.bottleneck,
            evidence=draft.evidence,
            hypothesis=draft.hypothesis,
            predicted_speedup=draft.predicted_speedup,
            source=source,
            parent=parent.id if parent is not None else None,
            round=known.round,
        )

    def _schedule(self, draft: DecisionDraft, known: Knowledge, space: ScheduleSpace) -> Decision:
        """A draft that schedules the task's pipeline, from the reference.

        Raises:
            BadAnswer: the schedule cannot be read or carried out.
        """
        return Decision(
            technique=draft.technique,
            summary=draft.summary,
            where=draft.where,
            parameters={"language": "halide"},
            bottleneck=draft.bottleneck,
            evidence=draft.evidence,
            hypothesis=draft.hypothesis,
            predicted_speedup=draft.predicted_speedup,
            directives=directives_in(draft.schedule, space, known),
            source="model",
            round=known.round,
        )

    def _language(self, draft: DecisionDraft, parent: Candidate | None) -> str:
        """What it shall be written in: as drafted, as its parent, or the first that a model can write here."""
        named = draft.language.strip().lower()
        if named in self._writable:
            return named
        if parent is not None and parent.language.value in self._writable:
            return parent.language.value
        return self._writable[0]


def _start(draft: DecisionDraft, known: Knowledge) -> tuple[Candidate | None, str]:
    """The candidate that a draft starts from (None: the reference) and the decision's source."""
    named = draft.start_from.strip().strip("`").removeprefix("candidate ").strip()
    if named.startswith("solution:"):
        name, _, rung = named.removeprefix("solution:").partition("#")
        solution = next((r.solution for r in known.recalled if r.solution.id == name), None)
        if solution is not None:
            index = int(rung) if rung.isdigit() and int(rung) < len(solution.rungs) else len(solution.rungs) - 1
            return None, f"solution:{name}#{index}"
    if not named or named.lower().startswith("reference"):
        return None, "model"
    found = next((c for c in known.pool if len(named) >= 4 and c.id.startswith(named)), None)
    return found or known.best, "model"
