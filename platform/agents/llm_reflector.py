"""ModelReflector: verdicts by rule, explanations by a language model. What a model says never becomes a verdict."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.agents import showing
from kernelwright.agents.blindfold import right_or_wrong, unmeasured, untimed
from kernelwright.agents.llm.asking import Asked, ask_until_usable
from kernelwright.agents.llm.assembling import Section
from kernelwright.agents.llm.desk import Call, LimitReached, ModelDesk
from kernelwright.agents.llm.drafts import ReflectionDraft
from kernelwright.agents.llm.prompt_book import PromptBook
from kernelwright.agents.tuned_sources import tuning_text
from kernelwright.protocols import Knowledge, Reflection, Reflector
from kernelwright.records import Decision, Evaluation


class ModelReflector:
    """The reflector of engines ``llm`` and ``hybrid``.

    Args:
        desk: the way to the model.
        book: the reflector's prompt.
        rules: gives the verdicts.
        blind: show the model right and wrong alone, no times; its words then stand without the rules' figures.
    """

    def __init__(self, desk: ModelDesk, book: PromptBook, rules: Reflector, *, blind: bool = False) -> None:
        self._desk, self._book, self._rules, self._blind = desk, book, rules, blind

    def reflect(self, knowledge: Knowledge, round_: Sequence[tuple[Decision, Evaluation]]) -> Reflection:
        """The rules' verdicts with the model's words on why; the rules alone where it has none.

        Raises:
            ModelError: the model cannot be reached.
        """
        ruled = self._rules.reflect(knowledge, round_)
        if not round_ or not ruled.go_on:
            return ruled
        try:
            draft = self._ask(*self._shown(knowledge, round_, ruled.decisions))
        except LimitReached:
            return ruled  # the run ends with this round; its verdicts stand
        if draft is None:
            return ruled
        decisions = [_with_words(d, draft) for d in self._worded(ruled.decisions)]
        if draft.next_move and decisions:
            last = decisions[-1]
            decisions[-1] = last.model_copy(update={"learned": f"{last.learned} Next: {draft.next_move}"})
        why = draft.next_move if draft.go_on else f"the model sees nothing left: {draft.next_move}"
        return Reflection(decisions=decisions, parent=ruled.parent, go_on=ruled.go_on, why=why or ruled.why)

    def _shown(
        self, known: Knowledge, round_: Sequence[tuple[Decision, Evaluation]], ruled: Sequence[Decision]
    ) -> tuple[Knowledge, Sequence[tuple[Decision, Evaluation]], Sequence[Decision]]:
        """What the model may see of a round and of the rules' verdicts on it."""
        if not self._blind:
            return known, round_, ruled
        seen = [(unmeasured(d), untimed(e)) for d, e in round_]
        return right_or_wrong(known), seen, [unmeasured(d) for d in ruled]

    def _worded(self, ruled: Sequence[Decision]) -> list[Decision]:
        """The verdicts with the words that the model's are put behind; figures stay in ``measured``."""
        words = [unmeasured(d).learned if self._blind else d.learned for d in ruled]
        return [d.model_copy(update={"learned": learned}) for d, learned in zip(ruled, words, strict=True)]

    def _ask(
        self, known: Knowledge, round_: Sequence[tuple[Decision, Evaluation]], ruled: Sequence[Decision]
    ) -> ReflectionDraft | None:
        outcomes = []
        for (decision, evaluation), judged in zip(round_, ruled, strict=True):
            text = f"### {decision.id[:8]}\n{showing.decision_text(decision)}\n"
            text += "" if decision.predicted_speedup else "Predicted: nothing\n"
            text += f"Judged: {showing.measured_text(evaluation)}\nVerdict: {_verdict(judged)}"
            text += _around(known, decision, evaluation)
            if evaluation.failure is not None and evaluation.failure.log_tail:
                text += "\n" + showing.quoted_log(evaluation.failure.log_tail, 1200)
            outcomes.append(text)
        here = {d.id for d, _ in round_}
        asked = Asked(
            kind="Reflect",
            prompt=self._book.prompt("reflector", known),
            sections={
                "task": Section(showing.task_text(known), keep=5),
                "outcomes": Section("\n\n".join(outcomes), keep=10),
                "profile": Section(showing.profile_text(known.profile), keep=8),
                "tried": Section(showing.tried_text([d for d in known.tried if d.id not in here]), keep=3),
            },
            budget_tokens=self._desk.options.reflector_tokens,
            only_form=frozenset({"task", "profile", "tried"}),
            call=Call(slot=f"reflector/r{known.round}", role="reflector", round=known.round),
        )
        return ask_until_usable(self._desk, asked, lambda draft: draft)


def _around(known: Knowledge, decision: Decision, evaluation: Evaluation) -> str:
    """Tuned values with the trials behind them, and what limited the kernel before and after."""
    lines = []
    if tuning := tuning_text(evaluation.candidate_id, known.trials):
        lines.append(tuning)
    for when, name in (("Before", decision.parent or ""), ("After", evaluation.candidate_id)):
        if (profile := known.profiles.get(name)) is not None:
            times = f" It takes {profile.headroom:.2f} times the machine's floor." if profile.headroom else ""
            lines.append(f"{when} ({name[:8]}): limited by {profile.bottleneck}: {profile.reason}.{times}")
            lines += [f"{when} ({name[:8]}): {counts}."] if (counts := showing.counts_text(profile)) else []
    return "".join(f"\n{line}" for line in lines)


def _with_words(decision: Decision, draft: ReflectionDraft) -> Decision:
    said = next((d.learned for d in draft.decisions if len(d.decision) >= 4 and decision.id.startswith(d.decision)), "")
    return decision.model_copy(update={"learned": f"{decision.learned}. {said}"}) if said else decision


def _verdict(judged: Decision) -> str:
    return f"{judged.verdict}: {judged.learned}" if judged.verdict else judged.learned
