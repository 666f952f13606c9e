"""Workspace: the only owner of file names under ``.kernelwright/``. The files are the truth of every run.

Records are appended as whole lines under a lock and flushed to the disk before the call returns, so that a killed
process loses nothing it had finished. Readers skip a half-written last line.
"""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from kernelwright.errors import UnknownName, WorkspaceError
from kernelwright.records import Candidate, Decision, Evaluation, Profile, Record, RunEvent, RunSummary, Trial
from kernelwright.records.record import write_whole

log = logging.getLogger(__name__)

FORMAT = "kernelwright/workspace/1"
R = TypeVar("R", bound=Record)


def now() -> str:
    """UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn the file system's refusals into WorkspaceError."""
    try:
        yield
    except OSError as error:
        raise workspace_error(error, path) from error


def workspace_error(error: OSError, path: Path) -> WorkspaceError:
    """The user's form of an operating-system error on ``path``."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = "free some space; finished work is kept, and `kernelwright resume` goes on from it"
        return WorkspaceError(f"the disk is full while writing {path}", hint=hint)
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        hint = "choose another place with --workspace DIR or KERNELWRIGHT_WORKSPACE"
        return WorkspaceError(f"cannot write to {path}: {error.strerror}", hint=hint)
    return WorkspaceError(f"{path}: {error.strerror or error}")


def append_line(path: Path, line: str) -> None:
    """Append one line, whole and durable, whoever else is writing."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            size = os.fstat(handle).st_size
            data = line.encode("utf-8") + b"\n"
            if size and os.pread(handle, 1, size - 1) != b"\n":
                data = b"\n" + data  # a killed writer left half a line: close it, it will be skipped
            written = 0
            try:
                while written < len(data):
                    written += os.write(handle, data[written:])
            except OSError:
                os.ftruncate(handle, size)
                raise
            os.fsync(handle)
        finally:
            os.close(handle)


def read_record(path: Path, kind: type[R]) -> R:
    """A record's file. WorkspaceError when it cannot be read."""
    try:
        return kind.load(path)
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"cannot read {path}: {error}") from None


def read_records(path: Path, kind: type[R]) -> list[R]:
    """All whole lines of a ``.jsonl`` file as records; [] when there is none. A torn line is skipped and logged.

    Raises:
        WorkspaceError: a line is of a newer format.
    """
    try:
        return _parsed(path, path.read_text(encoding="utf-8", errors="replace"), kind)
    except FileNotFoundError:
        return []


def _parsed(path: Path, text: str, kind: type[R]) -> list[R]:
    found: list[R] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found.append(kind.from_json(json.loads(line)))
        except ValueError as error:
            if "newer than" in str(error):
                raise WorkspaceError(f"{path}:{number}: {error}") from None
            log.warning("%s:%d: skipped an unreadable line", path, number)
    return found


class GrowingFiles:
    """Records of append-only files, of which only what was appended since is read again. Safe to share by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: dict[Path, tuple[int, list[Any]]] = {}

    def records(self, path: Path, kind: type[R]) -> list[R]:
        """As :func:`read_records`; a half-written last line is read once it is whole."""
        with self._lock:
            try:
                offset, known = self._read.get(path, (0, []))
                if (size := path.stat().st_size) < offset:
                    offset, known = 0, []
                if size > offset:
                    whole = (data := path.read_bytes()[offset:])[: data.rfind(b"\n") + 1]
                    known = [*known, *_parsed(path, whole.decode("utf-8", "replace"), kind)]
                    self._read[path] = (offset + len(whole), known)
            except FileNotFoundError:
                return []
            return list(known)


class RunFolder:
    """The files of one run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config_file = root / "config.yaml"
        self.task_file = root / "task.json"
        self.facts_file = root / "facts.json"
        self.baselines_file = root / "baselines.json"
        self.environment_file = root / "environment.json"
        self.summary_file = root / "run.json"
        self.events_file = root / "events.jsonl"
        self.checkpoint_file = root / "checkpoint.sqlite"
        self.decisions_file = root / "decisions.jsonl"
        self.trials_file = root / "trials.jsonl"
        self.recalls_file = root / "recalls.jsonl"
        self.notes_file = root / "notes.jsonl"
        self.calls = root / "calls"
        self.report_html = root / "report.html"
        self.report_md = root / "report.md"
        self.best = root / "best"
        self.lock_file = root / "run.lock"
        self._growing = GrowingFiles()
        self._candidates: dict[str, Candidate] = {}
        self._decisions: tuple[int, dict[str, Decision]] = (0, {})

    @property
    def run_id(self) -> str:
        """The run's name."""
        return self.root.name

    def is_over(self) -> bool:
        """Finished, with its last files written: the checkpoint goes after them."""
        return self.summary().state == "finished" and not self.checkpoint_file.exists()

    def candidate_folder(self, candidate_id: str) -> Path:
        """Where a candidate's files lie."""
        return self.root / "candidates" / candidate_id

    def evaluations_file(self, candidate_id: str) -> Path:
        """All judgements of a candidate, in order."""
        return self.candidate_folder(candidate_id) / "evaluations.jsonl"

    def screens_file(self, base_id: str) -> Path:
        """Screened judgements made while this candidate's tunables were tuned."""
        return self.candidate_folder(base_id) / "screens.jsonl"

    def save(self, record: Record, path: Path) -> None:
        """Write a record whole or not at all."""
        with disk_errors(path):
            record.save(path)

    def write_text(self, path: Path, text: str) -> None:
        """Write a text file whole or not at all."""
        with disk_errors(path):
            write_whole(path, text)

    def add_candidate(self, candidate: Candidate) -> Path:
        """Store a candidate's record and files; nothing happens when it is there already."""
        folder = self.candidate_folder(candidate.id)
        if not (folder / "candidate.json").exists():
            for file in candidate.files:
                self.write_text(folder / "files" / file.path, file.text)
            self.save(candidate, folder / "candidate.json")
        return folder

    def candidate(self, candidate_id: str) -> Candidate:
        """Read a candidate back.

        Raises:
            UnknownName: the run has no such candidate; an unambiguous prefix is enough.
        """
        if candidate_id in self._candidates:
            return self._candidates[candidate_id]
        names = self.candidate_ids()
        match = [n for n in names if n == candidate_id] or [n for n in names if n.startswith(candidate_id)]
        if len(match) != 1:
            raise UnknownName("candidate", candidate_id, names)
        found = read_record(self.candidate_folder(match[0]) / "candidate.json", Candidate)
        self._candidates[match[0]] = found  # its id is a hash of its content: it never changes
        return found

    def candidate_ids(self) -> list[str]:
        """Ids of all stored candidates."""
        return sorted(p.parent.name for p in self.root.glob("candidates/*/candidate.json"))

    def add_evaluation(self, evaluation: Evaluation, *, base_id: str | None = None) -> None:
        """Append a judgement; with ``base_id`` it is a screen of that candidate's tuning."""
        path = self.evaluations_file(evaluation.candidate_id) if base_id is None else self.screens_file(base_id)
        append_line(path, evaluation.to_line())

    def evaluations(self, candidate_id: str) -> list[Evaluation]:
        """All judgements of a candidate, oldest first."""
        return self._growing.records(self.evaluations_file(candidate_id), Evaluation)

    def screens(self, base_id: str) -> list[Evaluation]:
        """All screens made while tuning ``base_id``."""
        return self._growing.records(self.screens_file(base_id), Evaluation)

    def add_decision(self, decision: Decision) -> None:
        """Append a decision; a later line with the same id replaces an earlier one."""
        append_line(self.decisions_file, decision.to_line())

    def decisions(self) -> list[Decision]:
        """The latest form of every decision, in order of first appearance."""
        return list(self._latest_decisions().values())

    def decision(self, decision_id: str) -> Decision:
        """The latest form of one decision; KeyError when the run has none of that id."""
        return self._latest_decisions()[decision_id]

    def _latest_decisions(self) -> dict[str, Decision]:
        lines = self._growing.records(self.decisions_file, Decision)
        seen, latest = self._decisions
        if len(lines) != seen:
            seen, latest = (seen, latest) if len(lines) > seen else (0, {})
            self._decisions = (len(lines), {**latest, **{d.id: d for d in lines[seen:]}})
        return self._decisions[1]

    def add_trial(self, trial: Trial) -> None:
        """Append a screened point."""
        append_line(self.trials_file, trial.to_line())

    def trials(self) -> list[Trial]:
        """All screened points."""
        return self._growing.records(self.trials_file, Trial)

    def add_event(self, event: RunEvent) -> None:
        """Append to the run's story."""
        append_line(self.events_file, event.to_line())

    def events(self) -> list[RunEvent]:
        """The run's story."""
        return read_records(self.events_file, RunEvent)

    def save_profile(self, profile: Profile) -> None:
        """Store a candidate's profile."""
        self.save(profile, self.candidate_folder(profile.candidate_id) / "profile.json")

    def profile(self, candidate_id: str) -> Profile | None:
        """A candidate's profile, or None."""
        path = self.candidate_folder(candidate_id) / "profile.json"
        return read_record(path, Profile) if path.exists() else None

    def summary(self) -> RunSummary:
        """The run's state.

        Raises:
            WorkspaceError: unreadable, or of a newer format.
        """
        try:
            return RunSummary.load(self.summary_file)
        except (OSError, ValueError) as error:
            raise WorkspaceError(f"cannot read {self.summary_file}: {error}") from None

    @contextmanager
    def owned(self) -> Iterator[None]:
        """Hold the run for this process; a killed holder frees it.

        Raises:
            WorkspaceError: another process is working on this run.
        """
        with disk_errors(self.lock_file):
            self.root.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise WorkspaceError(f"run {self.run_id} is being worked on by another process") from None
            yield
        finally:
            os.close(handle)


class Workspace:
    """A folder of runs, the user's library and caches."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.runs = root / "runs"
        self.suites = root / "suites"
        self.tasks = root / "tasks"
        self.library = root / "library" / "solutions"
        self.recalls_file = root / "library" / "recalls.jsonl"
        self.verifications_file = root / "library" / "verifications.jsonl"
        self.prompts = root / "prompts"
        self.lessons = root / "prompts" / "lessons"
        self.optimizations = root / "optimizations"
        self.index = root / "index"
        self.cache = root / "cache"
        self.evidence_file = self.cache / "evidence.json"

    def with_runs_in(self, folder: Path) -> Workspace:
        """The same workspace with runs of its own, in ``folder``: what others ran is not evidence there."""
        apart = Workspace(self.root)
        apart.runs, apart.evidence_file = folder / "runs", folder / "evidence.json"
        return apart

    @classmethod
    def open(cls, root: Path | None = None) -> Workspace:
        """The workspace at ``root``, else at KERNELWRIGHT_WORKSPACE, else ``.kernelwright/`` here; made if missing.

        Raises:
            WorkspaceError: it cannot be written, or was made by a newer kernelwright.
        """
        chosen = root or Path(os.environ.get("KERNELWRIGHT_WORKSPACE") or ".kernelwright")
        workspace = cls(chosen.expanduser().absolute())
        workspace._check_format()
        return workspace

    def _check_format(self) -> None:
        marker = self.root / "workspace.json"
        with disk_errors(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            if not marker.exists():
                part = self.root / f".workspace.{os.getpid()}.part"
                part.write_text(json.dumps({"format": FORMAT}) + "\n", encoding="utf-8")
                os.replace(part, marker)
                kept_out = "runs/\nsuites/\noptimizations/\ncache/\nindex/\n"
                (self.root / ".gitignore").write_text(kept_out, encoding="utf-8")
            text = marker.read_text(encoding="utf-8")
        try:
            found = str(json.loads(text)["format"])
            kind, _, version = found.rpartition("/")
            newer = kind == "kernelwright/workspace" and int(version) > int(FORMAT.rpartition("/")[2])
        except (ValueError, KeyError, TypeError):
            raise WorkspaceError(f"{marker} is not a workspace marker", hint=f"expected {FORMAT}") from None
        if newer:
            hint = "upgrade kernelwright, or choose another workspace with --workspace DIR"
            raise WorkspaceError(f"{self.root} was made by a newer kernelwright ({found})", hint=hint)
        if found != FORMAT:
            raise WorkspaceError(f"{marker} has format {found}, expected {FORMAT}")

    def new_run(self, task_name: str) -> RunFolder:
        """A fresh run folder; its name sorts by time and never clashes."""
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        folder = RunFolder(self.runs / f"{stamp}-{task_name}-{secrets.token_hex(2)}")
        with disk_errors(folder.root):
            folder.root.mkdir(parents=True)
        return folder

    def run_ids(self) -> list[str]:
        """All runs, oldest first."""
        return sorted(p.parent.name for p in self.runs.glob("*/run.json"))

    def run(self, name: str) -> RunFolder:
        """A run by its id, an unambiguous part of it, or ``last``.

        Raises:
            UnknownName: no such run, or several.
        """
        ids = self.run_ids()
        match = ids[-1:] if name == "last" else [i for i in ids if i == name] or [i for i in ids if name in i]
        if len(match) != 1:
            raise UnknownName("run", name, match or ids)
        return RunFolder(self.runs / match[0])


def dump_yaml(data: dict[str, Any]) -> str:
    """YAML with the keys in the given order."""
    import yaml

    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
