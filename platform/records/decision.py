"""Decision: why a child differs from its parent, what it was expected to buy and what it bought."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from kernelwright.records.evaluation import Ratio
from kernelwright.records.record import Record, content_hash


class Directive(Record):
    """One scheduling primitive as data, e.g. ``blury: at out.x, tile 256x32, vectorize 16``."""

    func: str
    """The Func it applies to; in a recipe a role such as ``@output``."""
    verb: str
    """The primitive: rewrite, compute_at, compute_root, inline, tile, split, reorder, vectorize, parallel, ..."""
    args: tuple[Any, ...] = ()
    """Its arguments as JSON values; ``"$NAME"`` names a tunable."""
    stage: int = 0
    """0 is the pure definition, n the n-th update."""

    def __str__(self) -> str:
        where = self.func if self.stage == 0 else f"{self.func}.update({self.stage - 1})"
        return f"{where}: {self.verb} {', '.join(str(a) for a in self.args)}".rstrip()


class Rejected(Record):
    """Something that was tried at this place and not kept."""

    what: str
    why: str


class Decision(Record):
    """An edge between two candidates. Measured fields stay None until the judge has spoken."""

    FORMAT: ClassVar[str] = "decision"

    technique: str
    """Short name, e.g. ``separable-window``; a page in knowledge/techniques may explain it."""
    summary: str
    """What is done, in one sentence a person reads."""
    where: str = ""
    """The part of the kernel it changes."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    bottleneck: str = ""
    """What it attacks: memory, compute, latency, overhead, parallelism, unknown."""
    evidence: str = ""
    """Why that bottleneck is believed: a measured counter, a profile line, a recalled precedent."""
    hypothesis: str = ""
    """Why it should help."""
    predicted_speedup: float | None = None
    """Against the parent; None means no prediction."""
    directives: tuple[Directive, ...] = ()
    source: str = ""
    """Where it comes from: ``solution:<id>#<rung>``, ``search``, ``model``, ``user``, ``task``."""
    parent: str | None = None
    """Candidate id; None means it starts from the reference."""
    child: str | None = None
    """Candidate id once the coder has made it; None before, or when nothing could be made."""
    round: int = 0
    measured: Ratio | None = None
    """Speed-up of the child over its parent (over the best baseline when there is none)."""
    verdict: Literal["", "confirmed", "partly", "refuted", "failed", "neutral"] = ""
    learned: str = ""
    """What prediction against measurement taught, in a sentence."""

    @property
    def id(self) -> str:
        """Content hash of what was decided (not of what came of it)."""
        return content_hash(self.model_dump(mode="json", exclude={"child", "measured", "verdict", "learned"}))

    @property
    def key(self) -> str:
        """Content hash of the move alone: the same technique, place and parameters on the same parent."""
        fields = {"technique", "where", "parameters", "directives", "parent", "source"}
        return content_hash(self.model_dump(mode="json", include=fields))
