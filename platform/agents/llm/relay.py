"""``relay:DIR``: each prompt becomes a file in DIR/inbox, the answer is read from DIR/outbox under the same name.

For people who paste into a chat window, and for other agents. Files appear whole: ours are renamed into place, an
answer is taken once it has stood still for a moment. The name of a question is the same after a resume, so an answer
that was written in the meantime is found.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from kernelwright.agents.llm.exchange import Answer, Message, ModelFault, Question
from kernelwright.errors import ConfigError

SETTLED_S = 0.3
"""An answer's file must not have changed for so long."""
MAX_BYTES = 2_000_000


class RelayProvider:
    """Someone who reads DIR/inbox and writes DIR/outbox.

    Args:
        folder: DIR; made with inbox and outbox when missing.
        poll_s: how often to look, seconds.
        clock: wall time, seconds since the epoch.
        sleep: waits.
    """

    name = "relay"
    waits_for_people = True

    def __init__(
        self,
        folder: Path,
        *,
        poll_s: float = 0.1,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._inbox, self._outbox = folder / "inbox", folder / "outbox"
        self._poll_s, self._clock, self._sleep = poll_s, clock, sleep
        try:
            for place in (self._inbox, self._outbox):
                place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"cannot make the relay's folder {folder}: {error.strerror}") from None

    def ask(self, question: Question) -> Answer:
        """Write the question, wait for its answer."""
        name = f"{question.name}.md"
        asked, answered = self._inbox / name, self._outbox / name
        if not asked.exists():
            self._write(asked, question_text(question.messages, name))
        limit = self._clock() + question.timeout_s
        while (text := self._settled(answered)) is None:
            if question.stopped():
                raise ModelFault("stopped", "interrupted while waiting for an answer", again=False)
            if self._clock() >= limit:
                raise ModelFault(
                    "no-answer",
                    f"no answer to {asked} within {question.timeout_s:.0f} s",
                    again=False,
                    hint=f"write it to {answered} and run `kernelwright resume`",
                )
            self._sleep(self._poll_s)
        return Answer(text, model="relay")

    def secrets(self) -> Sequence[str]:
        """None."""
        return ()

    def _write(self, path: Path, text: str) -> None:
        part = path.with_name(f".{path.name}.part")
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)

    def _settled(self, path: Path) -> str | None:
        """The answer's text once it is whole; None before."""
        try:
            before = path.stat()
        except OSError:
            return None
        if self._clock() - before.st_mtime < SETTLED_S:
            return None
        if before.st_size > MAX_BYTES:
            raise ModelFault(
                "no-answer", f"{path} has {before.st_size} bytes; an answer may have {MAX_BYTES}", again=False
            )
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None


def question_text(messages: Sequence[Message], name: str) -> str:
    """A prompt as one Markdown page, to be pasted as it is."""
    head = f"<!-- Answer this page in a file of the same name ({name}) in the outbox folder beside this one. -->\n"
    return head + "\n\n".join(_spoken(m) for m in messages) + "\n"


def _spoken(message: Message) -> str:
    if message.role == "assistant":
        return f"# Your earlier answer\n\n{message.text}"
    return message.text
