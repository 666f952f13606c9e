"""One role's question until its answer can be used: under the budget, checked, asked again with what was wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from kernelwright.agents.llm.assembling import Section, assemble
from kernelwright.agents.llm.desk import Call, ModelDesk
from kernelwright.agents.llm.exchange import BadAnswer
from kernelwright.agents.llm.prompt_book import PromptUsed

LAST_ANSWER_CHARACTERS = 6000
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
    problem = last = ""
    for attempt in range(1, desk.options.format_retries + 2):
        call = replace(asked.call, slot=f"{asked.call.slot}/a{attempt}")
        try:
            return check(_put(desk, asked, call, problem, last))
        except BadAnswer as error:
            problem = str(error)
            desk.note_problem(call, problem)
            written = desk.ledger.find(call.slot)
            last = written.reply if written is not None else ""
    desk.warn(f"the {asked.call.role}'s model gave no usable answer: {problem.splitlines()[0][:200]}")
    return None


def _put(desk: ModelDesk, asked: Asked, call: Call, problem: str, last: str) -> Any:
    from kernelwright.agents.llm import modules

    signature = getattr(modules, asked.kind)
    (output,) = signature.output_fields
    sections = dict(asked.sections)
    if problem:
        told = f"{problem}\n\nYour last answer was:\n\n{last[:LAST_ANSWER_CHARACTERS] or '(nothing)'}"
        sections["problem"] = Section(told, keep=9)
    ready = assemble(
        sections, budget_tokens=asked.budget_tokens, fixed=f"{asked.prompt.text}\n\n{modules.FORMS[output]}"
    )
    inputs = {**ready.texts, "dropped": ready.note}
    call = replace(call, dropped=ready.dropped, prompt_version=asked.prompt.version, lessons=asked.prompt.lessons)
    return modules.predict(signature, asked.prompt.text, inputs, desk=desk, call=call)
