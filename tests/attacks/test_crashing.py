"""Candidates that crash, hang, flood or attack their surroundings: each gets its status and the judge lives on."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from attacks.harness import SANDBOXES, Sessions, complaint, still_judges
from attacks.reading import Sample, parameters, rotating, task_of, with_headers
from attacks.remains import Footprint, process_table, wait_until_gone

CRASHING = with_headers("crashing")
SLOW_STATUSES = {"TIMEOUT"}
QUICK = [s for s in CRASHING if not s.expect & SLOW_STATUSES and not s.needs_sandbox]
REPRESENTATIVE = {
    "segfault_at_run",
    "clean_daemon",
    "kills_parent",
    "allocate_100gb",
    "garbage_on_channel",
    "truncates_arena",
}
DAILY = REPRESENTATIVE | {s.name for s in rotating([s for s in QUICK if s.name not in REPRESENTATIVE], 4)}
VICTIM = Path("/tmp/kw_attack_victim")
"""Where crashing/symlinks.py points; whoever cleans up must leave it alone."""
TOLERATED_FILES = 40
"""A worker that was replaced by another, a build more in the cache."""
TOLERATED_BYTES = 8 << 20


@pytest.fixture(scope="module")
def temporary() -> Iterator[Path]:
    """A temporary folder that only this module's judge uses."""
    folder = Path(tempfile.mkdtemp(prefix="kernelwright-crashing-"))
    folder.chmod(0o755)
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    yield folder
    tempfile.tempdir = before
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def sessions(temporary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    made = Sessions(tmp_path_factory.mktemp("cache"), timeout_s=8.0)
    yield made
    made.close()


@pytest.fixture(scope="module")
def tier(sessions: Sessions) -> str:
    """The sandbox that candidates get on this machine."""
    sample = next(s for s in CRASHING if s.name == "refuses")
    found = sessions.judge(sample).evaluation
    return found.sandbox if found else ""


@pytest.fixture
def victim() -> Iterator[Path]:
    VICTIM.mkdir(exist_ok=True)
    (VICTIM / "precious").write_text("x")
    yield VICTIM / "precious"
    shutil.rmtree(VICTIM, ignore_errors=True)


@pytest.mark.parametrize("sample", parameters(CRASHING, DAILY))
def test_the_judge_survives(sample: Sample, sessions: Sessions, temporary: Path, tier: str, victim: Path) -> None:
    if sample.needs_sandbox and tier not in SANDBOXES:
        pytest.skip(f"the tier {tier!r} does not stop it, and it would hit this very test")
    task = task_of(sample)
    assert still_judges(sessions, task) == ""
    sessions.settle()
    before, processes = Footprint.of(temporary), set(process_table())
    wrong = complaint(sample, sessions.judge(sample))
    left = wait_until_gone(processes)
    alive = still_judges(sessions, task)
    sessions.settle()
    after = Footprint.of(temporary)
    assert not wrong, wrong
    assert not left, f"{sample.name} left processes behind: {left}"
    assert alive == "", f"after {sample.name} the judge calls a good candidate {alive}"
    assert victim.exists(), f"cleaning up after {sample.name} followed a link"
    assert after.files <= before.files + TOLERATED_FILES, f"{before} -> {after}"
    assert after.nbytes <= before.nbytes + TOLERATED_BYTES, f"{before} -> {after}"
    assert after.children <= before.children, f"{before} -> {after}"
    assert after.descriptors <= before.descriptors + 4, f"{before} -> {after}"


def test_there_are_enough_of_them() -> None:
    assert len(CRASHING) >= 60
