"""The prompt that a role uses: its text, its version and the lessons in it. Seeds lie in agents/prompts/*.md.

Whoever keeps versions of prompts gives a PromptBook of its own; this one knows the seeds alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Protocol

from kernelwright.protocols import Knowledge
from kernelwright.records import PromptVersion, content_hash

ROLES = ("planner", "coder", "repairer", "reflector")


@dataclass(frozen=True)
class PromptUsed:
    """What a role is told before it is shown anything."""

    text: str
    version: str
    """Id of the PromptVersion."""
    lessons: tuple[str, ...] = ()
    """Ids of the lessons in the text."""


class PromptBook(Protocol):
    """Gives each role its prompt."""

    def prompt(self, role: str, knowledge: Knowledge) -> PromptUsed:
        """The prompt of a role for what is known at this point of a run."""
        ...


class SeedPrompts:
    """The prompts that come with kernelwright, without lessons."""

    def prompt(self, role: str, knowledge: Knowledge) -> PromptUsed:
        """The seed of a role."""
        return seed_prompt(role)


@cache
def seed_prompt(role: str) -> PromptUsed:
    """The seed version of a role's prompt: no parent, no lessons."""
    text = resources.files("kernelwright").joinpath(f"agents/prompts/{role}.md").read_text(encoding="utf-8").strip()
    return PromptUsed(text, PromptVersion.identity(role=role, parent="", base_hash=content_hash(text), lessons={}))
