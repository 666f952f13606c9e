"""Technique: a page of knowledge on one move: what it does, when, an example, its risks and how it shows."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from kernelwright.records.citation import Citation
from kernelwright.records.record import Record
from kernelwright.records.status import DeviceKind, LanguageName

Bottleneck = Literal["memory", "compute", "latency", "overhead", "parallelism"]
"""What a technique can attack: the words of ``Decision.bottleneck``."""
ID = r"^[a-z0-9][a-z0-9\-]*$"


class CodeSample(Record):
    """One half of an example."""

    language: Literal["cpp", "cuda", "python"]
    """Of the text; Halide, Triton and torch examples are python, CuTe and ThunderKittens ones cuda."""
    text: str = Field(min_length=1)
    """Self-contained but for what the pages' README says is included."""


class AppliesTo(Record):
    """Where a technique can be used. An empty list means anywhere."""

    families: tuple[str, ...] = ()
    """Task families, e.g. ``softmax``."""
    languages: tuple[LanguageName, ...] = ()
    devices: tuple[DeviceKind, ...] = ()


class Technique(Record):
    """A page of knowledge/techniques; texts are Markdown."""

    FORMAT: ClassVar[str] = "technique"

    id: str = Field(pattern=ID)
    """What ``Decision.technique`` says."""
    title: str = Field(min_length=3)
    aliases: tuple[str, ...] = ()
    """Other values of ``Decision.technique`` that mean this page."""
    applies_to: AppliesTo
    bottlenecks: tuple[Bottleneck, ...] = Field(min_length=1)
    """What it addresses, the most usual first."""
    related: tuple[str, ...] = ()
    """Ids of pages to read next."""
    sources: tuple[Citation, ...] = Field(min_length=1)
    what: str
    when: str
    change: str = ""
    """What is said beside the example; "" when it speaks for itself."""
    before: CodeSample
    after: CodeSample
    risks: str
    in_profile: str
    """How its absence and its effect show in a profile."""
    source_notes: str
    """Which source gave what; links every source."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every value of ``Decision.technique`` that this page explains."""
        return (self.id, *self.aliases)
