"""Lesson: when / do / avoid, with the scope it holds in, the decisions it rests on, and where it stands.

Two questions are kept apart: ``evidence`` says whether the technique works (decisions of runs), ``effect`` whether the
sentence helps in the prompt (draws that left it out at random).
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from kernelwright.records.evaluation import Ratio
from kernelwright.records.record import Record, content_hash


class LessonState(StrEnum):
    """Where a lesson stands; only active ones are shown to a model."""

    PROPOSED = "proposed"
    ACTIVE = "active"
    DISPUTED = "disputed"
    RETIRED = "retired"


class LessonScope(Record):
    """Where a lesson holds. An empty list means anywhere; several lists must all fit."""

    families: tuple[str, ...] = ()
    """Task families, e.g. ``softmax``."""
    devices: tuple[str, ...] = ()
    """Kinds of device: cpu, cuda, emulated, none."""
    architectures: tuple[str, ...] = ()
    """e.g. ``sm_90``, ``avx512``."""
    languages: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    bottlenecks: tuple[str, ...] = ()
    """memory, compute, latency, overhead, parallelism."""
    toolchains: tuple[str, ...] = ()
    """Compiler or framework with the start of its version, e.g. ``g++ 12`` or ``torch 2``."""

    @property
    def conditions(self) -> int:
        """How many of the lists say something: 0 holds everywhere."""
        return sum(bool(getattr(self, name)) for name in type(self).model_fields)


class LessonTrial(Record):
    """A decision that speaks for or against a lesson, with its numbers; kept so that they travel with the lesson."""

    source: str
    """``run:<run>/<decision>`` or ``solution:<id>#<rung, from 0>``."""
    side: Literal["supporting", "contradicting", "neutral"]
    """``neutral``: its interval holds 1, no difference was shown."""
    family: str = ""
    bottleneck: str = ""
    language: str = ""
    device: str = ""
    over: Literal["parent", "baseline"] = "parent"
    """``parent``: what the step bought; ``baseline``: what the whole kernel bought over the best baseline."""
    gain: Ratio | None = None
    """None: the judge refused the child."""
    child: str = ""
    """Candidate id, by which a run's decision and its copy in the library are told to be one."""


class LessonEvidence(Record):
    """What decisions say about the technique; counted, never claimed."""

    trials: tuple[LessonTrial, ...] = ()
    """Newest first."""
    n: int = Field(default=0, ge=0)
    """Decisions with a measured gain."""
    failures: int = Field(default=0, ge=0)
    """Decisions whose child the judge refused; not part of n."""
    median_gain: float | None = None
    """None: no gain was measured."""
    low: float | None = None
    high: float | None = None
    over: str = "parent"
    """What the gains are over: see :class:`LessonTrial`; the two are never mixed."""
    newest: str = ""
    """ISO date of the newest decision; "" when unknown."""

    @property
    def supporting(self) -> tuple[str, ...]:
        """Sources of the decisions for it."""
        return tuple(t.source for t in self.trials if t.side == "supporting")

    @property
    def contradicting(self) -> tuple[str, ...]:
        """Sources of the decisions against it."""
        return tuple(t.source for t in self.trials if t.side == "contradicting")

    @property
    def neutral(self) -> tuple[str, ...]:
        """Sources of the decisions that show nothing."""
        return tuple(t.source for t in self.trials if t.side == "neutral")


class LessonEffect(Record):
    """What showing the lesson changed, in log speed-up, from draws that left it out at random."""

    estimate: float
    low: float
    high: float
    shown: int = Field(ge=0)
    """Draws that showed it."""
    left_out: int = Field(ge=0)
    """Draws that it was eligible for and was left out of."""
    method: str = "holdout"
    """``holdout`` (ordinary runs), ``screening`` (the optimizer's trials) or ``ablation`` (paired runs)."""


class LessonChange(Record):
    """One line of a lesson's history."""

    at: str
    """UTC, ISO 8601."""
    what: str
    """e.g. ``proposed -> active``, ``edited``, ``merged from <id>``."""
    reason: str
    by: str = ""
    """A person, ``rules``, ``distiller:statistics``, ``distiller:model``."""


class Lesson(Record):
    """A sentence of experience for a prompt, with its evidence and its history."""

    FORMAT: ClassVar[str] = "lesson"

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9\-]{2,80}$")
    """The file's name without .yaml."""
    roles: tuple[str, ...] = ("planner", "coder")
    """Prompts it may be shown in."""
    when: str = Field(min_length=3)
    do: str = ""
    """What to do; "" for a lesson that only warns."""
    avoid: str = ""
    technique: str = ""
    """What ``Decision.technique`` says; "" when it is about none, so that no decision counts for it."""
    scope: LessonScope = LessonScope()
    state: LessonState = LessonState.PROPOSED
    expires: str = ""
    """ISO date after which it is retired unless a newer decision supports it; "" never."""
    evidence: LessonEvidence = LessonEvidence()
    effect: LessonEffect | None = None
    """None: never left out at random, so nothing is known about the sentence itself."""
    origin: str = "user"
    """distiller:statistics, distiller:model, optimizer, user."""
    history: tuple[LessonChange, ...] = ()

    @model_validator(mode="after")
    def _says_something(self) -> Lesson:
        if not (self.do.strip() or self.avoid.strip()):
            raise ValueError("a lesson needs `do` or `avoid`")
        return self

    @property
    def warns(self) -> bool:
        """True when it advises against the technique: failures and losses support it."""
        return not self.do.strip()

    @property
    def sentence(self) -> str:
        """The words that a model reads."""
        parts = [f"When {self.when.rstrip(' .')}:"]
        parts += [f"{self.do.rstrip(' .')}."] if self.do.strip() else []
        parts += [f"Avoid: {self.avoid.rstrip(' .')}."] if self.avoid.strip() else []
        return " ".join(parts)

    @property
    def text_hash(self) -> str:
        """Hash of what a model would read and where: a change of it is another lesson to a prompt."""
        return content_hash({"sentence": self.sentence, "scope": self.scope.model_dump(mode="json")})


def lesson_set_hash(lessons: dict[str, str]) -> str:
    """Hash of an active set.

    Args:
        lessons: id -> text_hash.
    """
    return content_hash(lessons, length=12)
