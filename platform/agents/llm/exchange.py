"""What goes to a model and comes back: messages, usage, answers, and the two ways in which it can go wrong.

A ModelFault is about the connection (a server, a key, a timeout); a BadAnswer is about the text. Neither leaves
agents/: the desk turns a fault that no retry cures into errors.ModelError, roles turn bad answers into questions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol


@dataclass(frozen=True)
class Message:
    """One message of a chat."""

    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True)
class Usage:
    """Tokens of a call; None where the provider did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    """Part of ``input_tokens`` that was read from the provider's cache."""


@dataclass(frozen=True)
class Answer:
    """What a model said."""

    text: str
    finish: str = "stop"
    """``stop``, ``length`` (cut off), ``content_filter`` or ``refusal``, or the provider's own word."""
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    """The name that the provider answered with; it may be more exact than the one asked for."""


@dataclass(frozen=True)
class Question:
    """One call."""

    messages: Sequence[Message]
    max_tokens: int
    temperature: float | None
    timeout_s: float
    name: str
    """Unique in the workspace and stable over a resume: ``<run>.<number>.<role>``."""
    stopped: Callable[[], bool] = lambda: False
    """True once the user wants to stop; a provider that waits looks at it."""
    heard: Callable[[str], None] = lambda piece: None
    """Told each piece of the answer as it comes, where the provider streams; for whoever watches, never for use."""


class Provider(Protocol):
    """A place where questions are answered. ``ask`` makes one attempt; the desk decides about more."""

    name: str
    """How it was configured: ``openai``, ``relay``, ``scripted``."""
    waits_for_people: bool
    """True when an answer may take as long as the run has left."""

    def ask(self, question: Question) -> Answer:
        """Put the question once.

        Raises:
            ModelFault: no answer came.
        """
        ...

    def secrets(self) -> Sequence[str]:
        """Texts that may not be written anywhere."""
        ...


class ModelFault(Exception):
    """No answer came.

    Args:
        kind: ``unauthorised``, ``unknown-model``, ``refused-request``, ``rate-limit``, ``server``, ``connection``,
            ``timeout``, ``broken-stream``, ``no-answer``, ``stopped``.
        message: what happened, without secrets.
        again: whether another try may help.
        wait_s: how long the server asked to be left alone, seconds; None when it did not say.
        hint: what the user can do.
    """

    def __init__(self, kind: str, message: str, *, again: bool, wait_s: float | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.kind, self.message, self.again, self.wait_s, self.hint = kind, message, again, wait_s, hint


class BadAnswer(ValueError):
    """An answer that cannot be used; its text is what the model is told."""
