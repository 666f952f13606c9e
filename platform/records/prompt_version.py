"""PromptVersion: a role's base text and the hash of the active lesson set; PromptEvent: what was done with versions."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from kernelwright.records.record import Record, content_hash


class PromptScore(Record):
    """A paired comparison with another version, in log speed-up: above 0 the version is better."""

    split: Literal["train", "validation", "held_out", "remeasured", "ablation"]
    gain: float
    low: float
    high: float
    """95 % interval of the mean paired difference."""
    pairs: int = Field(ge=0)
    families: dict[str, float] = Field(default_factory=dict)
    """Task family -> mean difference."""
    against: str = ""
    """Id of the version that it was compared with; "" means its parent."""
    cost_usd: float = 0.0
    tokens: int = 0


class PromptVersion(Record):
    """One version of a role's prompt, accepted or not; its text lies in ``prompts/<role>/<id>.md``."""

    FORMAT: ClassVar[str] = "prompt-version"

    id: str = Field(pattern=r"^v[0-9a-f]{10}$")
    role: str = Field(pattern=r"^[a-z][a-z_\-]*$")
    parent: str = ""
    """"" for a seed."""
    base_hash: str
    """Hash of the base text, so that an edit by hand is noticed."""
    lesson_set: str = ""
    """:func:`lesson_set_hash` of the active lessons; "" for none."""
    lessons: dict[str, str] = Field(default_factory=dict)
    """Lesson id -> text_hash, of the active set when the version was made."""
    shown_hash: str = ""
    """Hash of the lessons' part of the file, for the same; "" for none, or where it was not kept yet."""
    origin: Literal["seed", "lesson-state", "optimizer", "user"]
    reason: str
    state: Literal["proposed", "accepted", "rejected"] = "proposed"
    """Rejected proposals stay in the history."""
    rejected_because: str = ""
    feedback: str = ""
    """What the proposer read before it proposed; shortened."""
    session: str = ""
    """Id of the optimization that proposed it; "" for none."""
    scores: tuple[PromptScore, ...] = ()
    created_at: str = ""

    @classmethod
    def identity(cls, *, role: str, parent: str, base_hash: str, lessons: dict[str, str]) -> str:
        """The id of a version: what it says and what it follows."""
        said = {"role": role, "parent": parent, "base": base_hash, "lessons": lessons}
        return f"v{content_hash(said, length=10)}"


class PromptEvent(Record):
    """One line of a lineage besides the versions themselves."""

    FORMAT: ClassVar[str] = "prompt-event"

    at: str
    kind: Literal["promoted", "rolled-back", "scored"]
    version: str
    previous: str = ""
    """The version in use before; "" for none or where it does not apply."""
    reason: str = ""
    by: str = ""
    score: PromptScore | None = None


class LessonDraw(Record):
    """One random draw: which of the fitting lessons a prompt showed and which were left out to learn what they do."""

    FORMAT: ClassVar[str] = "lesson-draw"

    call: str
    """What the prompt was for: a call's or a trial's id."""
    role: str = ""
    version: str = ""
    block: str = ""
    """Draws are compared within a block only: the task's id."""
    shown: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Fitted, and had room, but were left out at random."""
    share: float = Field(default=0.1, ge=0, le=1)
    """Probability with which each one was left out."""
    score: float | None = None
    """Log speed-up of what came of it; None until known."""
    cost_usd: float = 0.0
