"""The journal of an optimization: every paid trial, written before it is used and never made again; every limit.

One file of lines, one folder an optimization. A killed process goes on from it: what is in the journal is read, what
the runner kept but the journal missed is fetched from the runner, and only the rest is paid for.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from kernelwright.errors import WorkspaceError
from kernelwright.promptopt.trials import (
    ProposalRequest,
    ProposedText,
    Proposer,
    TrialRequest,
    TrialResult,
    TrialRunner,
)
from kernelwright.workspace import append_line, disk_errors

log = logging.getLogger(__name__)

FORMAT = "kernelwright/prompt-trial/1"


@dataclass(frozen=True)
class Limits:
    """What an optimization may spend over all its sessions; 0 means no limit."""

    trials: int = 0
    cost_usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    measurements: int = 0


class OutOfBudget(Exception):
    """A limit is reached: no error, the optimization ends with what it has."""


@dataclass
class Spent:
    """What was spent so far."""

    trials: int = 0
    cost_usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    measurements: int = 0

    def add(self, result: TrialResult) -> None:
        """Count a trial."""
        self.trials += 1
        self.cost_usd += result.cost_usd
        self.tokens += result.tokens
        self.seconds += result.seconds
        self.measurements += result.measurements


@dataclass(frozen=True)
class Step:
    """Something that a journal is about to pay for, or has paid for: what people see of the progress."""

    what: Literal["resumed", "trial", "proposal"]
    spent: Spent
    """As it stands; do not change it."""
    request: TrialRequest | None = None
    result: TrialResult | None = None
    """None: the trial begins."""
    kept: bool = False
    """The result was paid for earlier, by a process that died before it could write it down."""


class Journal:
    """Paid trials by key. One process at a time; not thread-safe."""

    def __init__(
        self,
        runner: TrialRunner,
        limits: Limits,
        *,
        file: Path | None = None,
        told: Callable[[Step], None] = lambda step: None,
    ) -> None:
        """
        Args:
            runner: who makes trials.
            limits: of all sessions together.
            file: the journal; None keeps it in memory.
            told: of every step, for people.
        """
        self._runner, self._limits, self._file = runner, limits, file
        self._known: dict[str, TrialResult] = {}
        self._proposed: dict[str, ProposedText] = {}
        self.spent, self._told = Spent(), told
        for line in _lines(file) if file else ():
            self._take(line)
        if self._known or self._proposed:
            told(Step("resumed", self.spent))

    def trial(self, request: TrialRequest) -> TrialResult:
        """The result of a trial; paid for at most once.

        Raises:
            OutOfBudget: it would have to be paid for and a limit is reached.
        """
        if (known := self._known.get(request.key)) is not None:
            return known
        result = self._runner.recorded(request)
        kept = result is not None
        if result is None:
            self._check()
            self._told(Step("trial", self.spent, request))
            began = time.monotonic()
            result = self._runner.run(request)
            if not result.seconds:
                result = TrialResult(**{**result.to_json(), "seconds": round(time.monotonic() - began, 3)})
        self._keep({"format": FORMAT, "key": request.key, "task": request.task, **result.to_json()})
        self._known[request.key] = result
        self.spent.add(result)
        self._told(Step("trial", self.spent, request, result, kept))
        return result

    def proposal(self, proposer: Proposer, request: ProposalRequest) -> ProposedText:
        """A proposer's answer; paid for at most once.

        Raises:
            OutOfBudget: it would have to be paid for and a limit is reached.
        """
        if (known := self._proposed.get(request.key)) is not None:
            return known
        answer = proposer.recorded(request)
        if answer is None:
            self._check()
            self._told(Step("proposal", self.spent))
            answer = proposer.propose(request)
        self._keep({"format": FORMAT, "proposal": request.key, **vars(answer)})
        self._proposed[request.key] = answer
        self._count(answer)
        return answer

    def room(self, trials: int) -> bool:
        """True when so many trials are left."""
        return not self._limits.trials or self.spent.trials + trials <= self._limits.trials

    def _check(self) -> None:
        for name in ("trials", "cost_usd", "tokens", "seconds", "measurements"):
            limit, spent = getattr(self._limits, name), getattr(self.spent, name)
            if limit and spent >= limit:
                raise OutOfBudget(f"{name}: {spent:g} of {limit:g} are spent")

    def _keep(self, line: dict[str, Any]) -> None:
        if self._file is not None:
            append_line(self._file, json.dumps(line, ensure_ascii=False))

    def _take(self, line: dict[str, Any]) -> None:
        if "proposal" in line:
            fields = {k: line[k] for k in ProposedText.__dataclass_fields__ if k in line}
            answer = self._proposed.setdefault(line["proposal"], ProposedText(**fields))
            self._count(answer)
            return
        fields = {k: line[k] for k in TrialResult.__dataclass_fields__ if k in line}
        if "key" in line and "score" in fields and line["key"] not in self._known:
            self._known[line["key"]] = TrialResult(**fields)
            self.spent.add(self._known[line["key"]])

    def _count(self, answer: ProposedText) -> None:
        self.spent.cost_usd += answer.cost_usd
        self.spent.tokens += answer.tokens


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Hold an optimization's folder for this process; a killed holder frees it.

    Raises:
        WorkspaceError: another process is working on it.
    """
    import fcntl
    import os

    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WorkspaceError(f"{folder.name} is being worked on by another process") from None
        yield
    finally:
        os.close(handle)


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a journal; a torn one is skipped, its trial is asked of the runner again."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return
    for number, line in enumerate(text.rstrip("\n").split("\n") if text else (), 1):
        try:
            data = json.loads(line)
        except ValueError:
            log.warning("%s:%d: skipped an unreadable line", file, number)
            continue
        if isinstance(data, dict) and data.get("format") == FORMAT:
            yield data
