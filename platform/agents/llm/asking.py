"""One role's question until its answer can be used: under the budget, checked, asked again with what was wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from kernelwright.agents.llm.assembling import Section, assemble
from kernelwright.agents.llm.desk import Call, ModelDesk
from kernelwright.agents.llm.exchange import BadAnswer
from kernelwright.agents.llm.ledger import CallRecord
from kernelwright.agents.llm.prompt_book import PromptUsed

LAST_ANSWER_CHARACTERS = 16_000
"""A longer answer is not shown again: half of it would mislead."""
T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """What a role wants to know."""

    kind: Literal["Plan", "Write", "Reflect"]
    """Name of the signature."""
    prompt: PromptUsed
    sections: Mapping[str, Section]
    """Input field of the signature -> its text."""
    budget_tokens: int
    call: Call
    """Its slot gets the attempt's number at the end."""
    needless: frozenset[str] = frozenset()
    """Sections that mending an answer does not need, where that answer is shown whole."""
    only_form: frozenset[str] = frozenset()
    """More of them, where nothing but the form of the answer was wrong."""


@dataclass(frozen=True)
class _Again:
    """Why a question is put once more."""

    problem: str
    unread: bool
    """The answer was not of the asked form; False: it was read, and then refused."""
    last: str = ""
    """The answer; "" where showing it would not help."""


def ask_until_usable(desk: ModelDesk, asked: Asked, check: Callable[[Any], T]) -> T | None:
    """The checked answer; None when no attempt gave a usable one (a warning is told then).

    Args:
        desk: the way to the models.
        asked: the question.
        check: turns the signature's output into what the role needs; raises BadAnswer to ask again.

    Raises:
        LimitReached: nothing more may be asked.
        ModelError: the model cannot be reached.
    """
    again: _Again | None = None
    for attempt in range(1, desk.options.format_retries + 2):
        call = replace(asked.call, slot=f"{asked.call.slot}/a{attempt}")
        unread = True
        try:
            answer = _put(desk, asked, call, again)
            unread = False
            return check(answer)
        except BadAnswer as error:
            desk.note_problem(call, str(error))
            again = _again(str(error), desk.ledger.find(call.slot), unread=unread)
    told = again.problem.splitlines()[0][:200] if again is not None else ""
    desk.warn(f"the {asked.call.role}'s model gave no usable answer: {told}")
    return None


def _again(problem: str, written: CallRecord | None, *, unread: bool) -> _Again:
    """What a retry page says of the answer before it. One that was cut off is not shown: it cannot be mended."""
    reply = written.reply if written is not None else ""
    if not reply.strip():
        return _Again(problem, unread)
    if written is not None and written.finish == "length":
        return _Again(f"{problem} It is not repeated here, because it has no end: write the answer anew.", unread)
    if len(reply) > LAST_ANSWER_CHARACTERS:
        return _Again(f"{problem}\n\nIt is not repeated here, having {len(reply)} characters: write it anew.", unread)
    return _Again(problem, unread, reply)


def _put(desk: ModelDesk, asked: Asked, call: Call, again: _Again | None) -> Any:
    from kernelwright.agents.llm import modules

    signature = getattr(modules, asked.kind)
    (output,) = signature.output_fields
    sections = dict(asked.sections)
    if again is not None:
        sections = _for_retry(asked, again)
    ready = assemble(
        sections, budget_tokens=asked.budget_tokens, fixed=f"{asked.prompt.text}\n\n{modules.FORMS[output]}"
    )
    inputs = {**ready.texts, "dropped": ready.note}
    call = replace(call, dropped=ready.dropped, prompt_version=asked.prompt.version, lessons=asked.prompt.lessons)
    return modules.predict(signature, asked.prompt.text, inputs, desk=desk, call=call)


def _for_retry(asked: Asked, again: _Again) -> dict[str, Section]:
    """The sections of a retry page: what is wrong, the answer where it can be mended, and what mending it needs."""
    sections, problem = dict(asked.sections), again.problem
    if again.last:
        needless = asked.needless | (asked.only_form if again.unread else frozenset())
        gone = [title for title in sections if title in needless and sections[title].text.strip()]
        sections = {title: section for title, section in sections.items() if title not in gone}
        if gone:
            problem += f"\n\nAs before, and therefore left out on this page: {', '.join(gone)}."
        sections["last"] = Section(again.last, keep=8, whole=True)
    return {**sections, "problem": Section(problem, keep=10)}
