"""calls/NNNN.json: every call to a model, on the disk before anyone acts on it; and what all calls came to.

Owns the form of these files and their sums. The sums are always read off the files, so a resumed run has the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from kernelwright.records.record import Record


class CallRecord(Record):
    """One call, with all its attempts."""

    FORMAT: ClassVar[str] = "call"

    number: int
    slot: str
    """What the call is for; stable over a resume."""
    role: str
    model: str
    """As configured, e.g. ``openai/gpt-4.1-mini``."""
    answered_by: str = ""
    """The model's name as the provider gives it."""
    round: int = 0
    decision: str = ""
    """Id of the decision that the call is about; "" for planner and reflector."""
    candidate: str = ""
    """Id of the candidate that the call is about or led to; "" when there is none."""
    prompt_version: str = ""
    lessons: tuple[str, ...] = ()
    """Ids of the lessons shown."""
    exemplars: tuple[str, ...] = ()
    """Ids of the solutions shown."""
    dropped: tuple[str, ...] = ()
    """Sections left out or cut to keep the token budget."""
    prompt_tokens_estimated: int = 0
    prompt_hash: str = ""
    messages: tuple[dict[str, str], ...] = ()
    """The assembled prompt; () with models.store_prompts=false."""
    state: Literal["asked", "answered", "failed"] = "asked"
    reply: str = ""
    finish: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    """None means unknown: no price, or no count of tokens."""
    price_source: str = ""
    seconds: float = 0.0
    """Waiting for the model, all attempts together."""
    attempts: tuple[str, ...] = ()
    """What went wrong before the answer."""
    problem: str = ""
    """Why the answer could not be used; "" when it could."""
    asked_at: str = ""
    answered_at: str = ""

    @property
    def tokens(self) -> int:
        """Tokens in and out that are known of."""
        return (self.input_tokens or 0) + (self.output_tokens or 0)


@dataclass(frozen=True)
class Totals:
    """The sum of some calls."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    tokens_unknown: int = 0
    """Answered calls whose tokens the provider did not state."""
    cost_usd: float = 0.0
    """Of the calls whose cost is known."""
    cost_unknown: int = 0
    """Answered calls whose cost is not known."""
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """In and out."""
        return self.input_tokens + self.output_tokens


def total(calls: Iterable[CallRecord]) -> Totals:
    """What calls came to. Calls that were never answered count with their time only."""
    answered = list(calls)
    paid = [c for c in answered if c.state == "answered"]
    return Totals(
        calls=len(paid),
        input_tokens=sum(c.input_tokens or 0 for c in paid),
        output_tokens=sum(c.output_tokens or 0 for c in paid),
        cached_tokens=sum(c.cached_tokens or 0 for c in paid),
        tokens_unknown=sum(c.input_tokens is None or c.output_tokens is None for c in paid),
        cost_usd=sum(c.cost_usd or 0.0 for c in paid),
        cost_unknown=sum(c.cost_usd is None for c in paid),
        seconds=sum(c.seconds for c in answered),
    )


class Ledger:
    """The calls of one run. Prompts stay on the disk: a long run's would fill the memory.

    Args:
        folder: the run's ``calls/``; made when the first call is written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._calls: dict[int, CallRecord] = {c.number: _slim(c) for c in read_calls(folder)}

    @property
    def calls(self) -> list[CallRecord]:
        """All calls, by number, without their prompts."""
        return [self._calls[n] for n in sorted(self._calls)]

    def find(self, slot: str) -> CallRecord | None:
        """The call of a slot as it was written, or None."""
        number = next((c.number for c in self._calls.values() if c.slot == slot), None)
        return CallRecord.load(self._file(number)) if number is not None else None

    def next_number(self) -> int:
        """A number that no call has."""
        return max(self._calls, default=0) + 1

    def write(self, call: CallRecord) -> None:
        """Put a call on the disk, whole or not at all."""
        call.save(self._file(call.number))
        self._calls[call.number] = _slim(call)

    def _file(self, number: int) -> Path:
        return self.folder / f"{number:04d}.json"

    def totals(self) -> Totals:
        """What the run's calls came to so far."""
        return total(self._calls.values())


def _slim(call: CallRecord) -> CallRecord:
    return call.model_copy(update={"messages": ()})


def read_calls(folder: Path) -> list[CallRecord]:
    """All calls in a folder by number; an unreadable file is left out, its number stays taken by its name."""
    found = []
    for path in sorted(folder.glob("[0-9]*.json")):
        try:
            found.append(CallRecord.load(path))
        except (OSError, ValueError):
            continue
    return found


def messages_hash(messages: Iterable[Mapping[str, Any]]) -> str:
    """Content hash of an assembled prompt."""
    text = json.dumps(list(messages), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
