"""What planner and reflector may answer, read leniently: a draft is a proposal, and roles check it again.

Nothing here decides: verdicts come from the judge and from rules, never from a model.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from kernelwright.agents.llm.exchange import BadAnswer
from kernelwright.agents.llm.parsing import Parsed
from kernelwright.agents.llm.shortening import shortened

BOTTLENECKS = ("memory", "compute", "latency", "overhead", "parallelism", "unknown")
MAX_DRAFTS = 16
MOST_CHARACTERS = 1000
"""Longest text of one field; longer ones are cut after a sentence."""
MOST_OF_A_SCHEDULE = 4000
"""Likewise, of a schedule as text."""


class _Draft(BaseModel):
    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, coerce_numbers_to_str=True)


class DecisionDraft(_Draft):
    """One move that the planner proposes."""

    technique: str = Field(min_length=1, max_length=80)
    summary: str = Field(min_length=1)
    where: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)
    bottleneck: str = "unknown"
    evidence: str = ""
    hypothesis: str = ""
    predicted_speedup: float | None = None
    language: str = ""
    start_from: str = ""
    """``reference``, the id of a candidate, or ``solution:ID#RUNG``."""
    schedule: str = ""
    """Directives of the task's pipeline as text; "" for a decision that is written by hand."""

    @field_validator("technique")
    @classmethod
    def _short_name(cls, text: str) -> str:
        return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "unnamed"

    @field_validator("summary", "where", "evidence", "hypothesis", mode="before")
    @classmethod
    def _cut(cls, value: Any) -> Any:
        return shortened(str(value if value is not None else ""), MOST_CHARACTERS)

    @field_validator("parameters", mode="before")
    @classmethod
    def _plain(cls, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            return {}
        return {
            str(k)[:60]: v if isinstance(v, (int, float, bool)) else str(v)[:120] for k, v in list(value.items())[:16]
        }

    @field_validator("bottleneck", mode="before")
    @classmethod
    def _known(cls, value: Any) -> str:
        text = str(value or "").lower()
        return next((b for b in BOTTLENECKS if b in text), "unknown")

    @field_validator("schedule", mode="before")
    @classmethod
    def _lines(cls, value: Any) -> str:
        text = "\n".join(map(str, value)) if isinstance(value, list) else str(value or "")
        return text[:MOST_OF_A_SCHEDULE]

    @field_validator("predicted_speedup", mode="before")
    @classmethod
    def _number(cls, value: Any) -> float | None:
        found = re.search(r"\d+(?:\.\d+)?", str(value)) if value is not None else None
        number = float(found.group()) if found else None
        return number if number is not None and 0.01 <= number <= 10_000 else None


class LearnedDraft(_Draft):
    """What one decision taught."""

    decision: str
    """The beginning of its id."""
    learned: str

    @field_validator("learned", mode="before")
    @classmethod
    def _cut(cls, value: Any) -> str:
        return shortened(str(value or ""), MOST_CHARACTERS)


class ReflectionDraft(_Draft):
    """What a round taught, in the model's words."""

    decisions: list[LearnedDraft] = Field(default_factory=list)
    next_move: str = ""
    go_on: bool = True

    @field_validator("next_move", mode="before")
    @classmethod
    def _cut(cls, value: Any) -> str:
        return shortened(str(value or ""), MOST_CHARACTERS)


class CodeDraft(_Draft):
    """What the coder wrote: a file set or edits."""

    model_config = ConfigDict(extra="ignore", arbitrary_types_allowed=True)

    parsed: Parsed


def read_decisions(value: Any) -> list[DecisionDraft]:
    """Drafts of a plan; single ones that cannot be read are left out as long as one can.

    Raises:
        BadAnswer: none can.
    """
    if isinstance(value, dict):
        value = next((value[k] for k in ("decisions", "plan", "moves") if isinstance(value.get(k), list)), [value])
    drafts, problems = [], []
    for number, item in enumerate(list(value)[:MAX_DRAFTS], 1):
        try:
            drafts.append(DecisionDraft.model_validate(item))
        except ValidationError as error:
            problems.append(f"decision {number}: {_told(error)}")
    if not drafts:
        raise BadAnswer("No decision in the answer can be read. " + ("; ".join(problems[:4]) or "The list is empty."))
    return drafts


def read_reflection(value: Any) -> ReflectionDraft:
    """The draft of a reflection.

    Raises:
        BadAnswer: it is not of that form.
    """
    try:
        return ReflectionDraft.model_validate({"decisions": value} if isinstance(value, list) else value)
    except ValidationError as error:
        raise BadAnswer(f"The reflection cannot be read: {_told(error)}") from None


def _told(error: ValidationError) -> str:
    return ", ".join(f"{'.'.join(str(p) for p in e['loc'])}: {e['msg']}" for e in error.errors()[:3])
