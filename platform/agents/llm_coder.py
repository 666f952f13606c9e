"""ModelCoder: a language model writes the child of a decision, and mends what the judge refused."""

from __future__ import annotations

from dataclasses import replace

from kernelwright.agents import showing
from kernelwright.agents.blindfold import right_or_wrong
from kernelwright.agents.llm.asking import Asked, ask_until_usable
from kernelwright.agents.llm.assembling import Section
from kernelwright.agents.llm.desk import Call, ModelDesk
from kernelwright.agents.llm.drafts import CodeDraft
from kernelwright.agents.llm.prompt_book import PromptBook
from kernelwright.agents.tuned_sources import as_tuned
from kernelwright.agents.writing import candidate_of
from kernelwright.protocols import Knowledge, Recalled
from kernelwright.records import Candidate, Decision, Entry, Evaluation

EXEMPLARS = 2


class ModelCoder:
    """The coder of engine ``llm``, and the repairer.

    Args:
        desk: the way to the models.
        book: the prompts of coder and repairer.
        blind: show it right and wrong alone, no times.
    """

    def __init__(self, desk: ModelDesk, book: PromptBook, *, blind: bool = False) -> None:
        self._desk, self._book, self._blind = desk, book, blind

    def write(self, knowledge: Knowledge, decision: Decision) -> Candidate | None:
        """The child; None when the model gave no usable sources.

        Raises:
            LimitReached: nothing more may be asked.
            ModelError: the model cannot be reached.
        """
        parent = next((c for c in knowledge.pool if c.id == decision.parent), None)
        parent = parent if parent is not None and parent.entry is not Entry.PIPELINE else None
        call = Call(slot=f"coder/r{decision.round}/{decision.id}", role="coder")
        return self._ask(knowledge, decision, parent, call, {})

    def repair(
        self, knowledge: Knowledge, decision: Decision, failed: Candidate, evaluation: Evaluation, *, attempt: int
    ) -> Candidate | None:
        """A mended candidate; None when the model gave no usable sources.

        Args:
            knowledge: what is known.
            decision: what the candidate was made for.
            failed: what the judge refused.
            evaluation: its verdict.
            attempt: 1 for the first repair of this decision's child.

        Raises:
            LimitReached: nothing more may be asked.
            ModelError: the model cannot be reached.
        """
        slot = f"repairer/r{decision.round}/{decision.id}/{attempt}"
        call = Call(slot=slot, role="repairer", candidate=failed.id)
        failure = {"failure": Section(showing.failure_text(evaluation), keep=10)}
        return self._ask(knowledge, decision, failed, call, failure)

    def _ask(
        self,
        known: Knowledge,
        decision: Decision,
        parent: Candidate | None,
        call: Call,
        more: dict[str, Section],
    ) -> Candidate | None:
        from kernelwright.toolexec.languages import language

        known = right_or_wrong(known) if self._blind else known
        name = self._language(known, decision, parent)
        spoken = language(name)
        shown = _exemplars(known, name, decision) if not more else []
        sections = {
            "task": Section(showing.task_text(known), keep=9),
            "interface": Section(showing.border_text(known), keep=9),
            "machine": Section(showing.machine_text(known), keep=7),
            "guide": Section(f"Language: {name}.\n\n{spoken.guide()}", keep=8),
            "decision": Section(showing.decision_text(decision), keep=10),
            "parent": Section(showing.candidates_text([parent], known) if parent is not None else "", keep=8),
            "profile": Section(showing.profile_of_parent(parent, known) if parent is not None else "", keep=4),
            "named": Section(showing.candidates_text(known.named, known, base=parent), keep=5),
            "exemplars": Section("\n\n".join(showing.exemplar_text(r.solution) for r in shown), keep=3),
            "wishes": Section(known.hint, keep=9),
            **more,
        }
        asked = Asked(
            kind="Write",
            prompt=self._book.prompt(call.role, known),
            sections=sections,
            budget_tokens=self._desk.options.coder_tokens,
            needless=frozenset({"machine", "profile", "named", "exemplars"}),
            call=replace(
                call,
                round=decision.round,
                decision=decision.id,
                exemplars=tuple(r.solution.id for r in shown),
            ),
        )

        base = as_tuned(parent) if parent is not None else None  # edits are of what was shown

        def check(draft: CodeDraft) -> Candidate:
            return candidate_of(draft.parsed, language=name, entry=spoken.entry, parent=base)

        return ask_until_usable(self._desk, asked, check)

    def _language(self, known: Knowledge, decision: Decision, parent: Candidate | None) -> str:
        named = decision.parameters.get("language")
        if isinstance(named, str) and named in known.languages:
            return named
        if parent is not None:
            return parent.language.value
        return next((n for n in known.languages if n != "halide"), "cpp")


def _exemplars(known: Knowledge, language: str, decision: Decision) -> list[Recalled]:
    """Recalled solutions to show whole: the one that the decision names, then others of the language."""
    usable = [r for r in known.recalled if r.solution.entry is not Entry.PIPELINE]
    named = decision.source.removeprefix("solution:").partition("#")[0]
    ranked = sorted(usable, key=lambda r: (r.solution.id != named, r.solution.language.value != language))
    fitting = [r for r in ranked if r.solution.id == named or r.solution.language.value == language]
    return fitting[:EXEMPLARS]
