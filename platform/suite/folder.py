"""SuiteFolder: the names of a suite's files, ``suites/<id>/`` in the workspace, its lock and its rows.

plan.json  rows.jsonl  suite.lock  report.html  report.json  preflight/<task>.json
cells/<cell>/{runs/<run id>/, error.json, output.log, evidence.json}
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from kernelwright.errors import UnknownName, WorkspaceError
from kernelwright.records import SuitePlan, SuiteRow
from kernelwright.workspace import RunFolder, Workspace, append_line, disk_errors, read_records


class SuiteFolder:
    """The files of one suite run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.plan_file = root / "plan.json"
        self.rows_file = root / "rows.jsonl"
        self.lock_file = root / "suite.lock"
        self.report_html = root / "report.html"
        self.report_json = root / "report.json"

    @property
    def suite_id(self) -> str:
        """The suite run's name."""
        return self.root.name

    def cell(self, key: str) -> Path:
        """Where a sample's files lie."""
        return self.root / "cells" / key

    def output_log(self, key: str) -> Path:
        """What a sample's process wrote."""
        return self.cell(key) / "output.log"

    def error_file(self, key: str) -> Path:
        """Why a sample could not be run."""
        return self.cell(key) / "error.json"

    def preflight_file(self, task: str) -> Path:
        """What preflight found on a task."""
        return self.root / "preflight" / f"{task}.json"

    def workspace_of(self, key: str, workspace: Workspace) -> Workspace:
        """The workspace as a sample sees it: with runs of its own only."""
        return workspace.with_runs_in(self.cell(key))

    def run_of(self, key: str) -> RunFolder | None:
        """The sample's run, or None when none was begun; a folder without run.json is none."""
        found = sorted(p.parent for p in (self.cell(key) / "runs").glob("*/run.json"))
        return RunFolder(found[-1]) if found else None

    def plan(self) -> SuitePlan:
        """What is run.

        Raises:
            WorkspaceError: unreadable, or of a newer format.
        """
        try:
            return SuitePlan.load(self.plan_file)
        except (OSError, ValueError) as error:
            raise WorkspaceError(f"cannot read {self.plan_file}: {error}") from None

    def add_row(self, row: SuiteRow) -> None:
        """Append a row; a later one of the same sample replaces it."""
        append_line(self.rows_file, row.to_line())

    def rows(self) -> list[SuiteRow]:
        """The latest row of every sample, in the order they came."""
        return list({row.cell: row for row in read_records(self.rows_file, SuiteRow)}.values())

    @contextmanager
    def owned(self) -> Iterator[None]:
        """Hold the suite for this process; a killed holder frees it.

        Raises:
            WorkspaceError: another process is running it.
        """
        with disk_errors(self.lock_file):
            handle = os.open(self.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise WorkspaceError(f"suite {self.suite_id} is being run by another process") from None
            yield
        finally:
            os.close(handle)


def new_suite(workspace: Workspace, name: str) -> SuiteFolder:
    """A fresh folder; its name sorts by time and never clashes."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    folder = SuiteFolder(workspace.suites / f"{stamp}-{re.sub(r'[^A-Za-z0-9_-]', '-', name)}-{secrets.token_hex(2)}")
    with disk_errors(folder.root):
        folder.root.mkdir(parents=True)
    return folder


def suite_ids(workspace: Workspace) -> list[str]:
    """All suite runs, oldest first."""
    return sorted(p.parent.name for p in workspace.suites.glob("*/plan.json"))


def find_suite(workspace: Workspace, name: str) -> SuiteFolder:
    """A suite run by its id, an unambiguous part of it, or ``last``.

    Raises:
        UnknownName: no such suite run, or several.
    """
    ids = suite_ids(workspace)
    if name == "last" and ids:
        return SuiteFolder(workspace.suites / ids[-1])
    match = [i for i in ids if i == name] or [i for i in ids if name in i]
    if len(match) != 1:
        raise UnknownName("suite run", name, match or ids)
    return SuiteFolder(workspace.suites / match[0])
