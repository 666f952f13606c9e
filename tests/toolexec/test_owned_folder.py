"""Temporary folders go with their owner: closed, killed, or living in another process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kernelwright.toolexec import owned_folder
from kernelwright.toolexec.owned_folder import OWNER, OwnedFolder, remove, sweep

HOLDER = (
    "import sys, time\n"
    "from pathlib import Path\n"
    "from kernelwright.toolexec.owned_folder import OwnedFolder\n"
    "print(OwnedFolder(Path(sys.argv[1]), 'mine-').path, flush=True)\n"
    "time.sleep(60)\n"
)


@pytest.fixture
def holder(tmp_path: Path):
    """Another process that owns a folder."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield process, Path(process.stdout.readline().strip())
    process.kill()
    process.wait()


def test_closing_removes_it_whatever_is_in_it(tmp_path: Path) -> None:
    own = OwnedFolder(tmp_path, "mine-")
    (own.path / "locked" / "deep").mkdir(parents=True)
    (own.path / "locked" / "deep" / "file").write_text("x")
    (tmp_path / "precious").write_text("x")
    (own.path / "link").symlink_to(tmp_path)
    (own.path / "locked").chmod(0)
    own.close()
    own.close()
    assert os.listdir(tmp_path) == ["precious"]


def test_what_a_killed_owner_left_goes_and_what_a_living_one_has_stays(holder, tmp_path: Path) -> None:
    process, folder = holder
    assert folder.is_dir() and not sweep(tmp_path, "mine-")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert sweep(tmp_path, "other-") == []
    assert sweep(tmp_path, "mine-") == [folder]
    assert not folder.exists()


def test_the_next_owner_sweeps_first(holder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process, folder = holder
    process.kill()
    process.wait()
    monkeypatch.setattr(owned_folder, "_swept", set())
    own = OwnedFolder(tmp_path, "mine-")
    assert os.listdir(tmp_path) == [own.path.name]
    own.close()
    assert not folder.exists()


def test_a_number_that_is_used_again_means_nothing(tmp_path: Path) -> None:
    """Only the lock counts: neither names nor contents speak of processes."""
    own = OwnedFolder(tmp_path, "mine-")
    assert sweep(tmp_path, "mine-") == [], "held by this very process"
    unlocked = tmp_path / "mine-half-made"
    unlocked.mkdir()
    (unlocked / OWNER).touch()
    foreign = tmp_path / "mine-nobody-knows"
    foreign.mkdir()
    assert sweep(tmp_path, "mine-") == [], "being made, or not ours"
    own.close()


def test_a_removal_that_was_cut_short_can_go_on(tmp_path: Path) -> None:
    own = OwnedFolder(tmp_path, "mine-")
    (own.path / "more").mkdir()
    assert sorted(p.name for p in own.path.iterdir()) == [OWNER, "more"]
    remove(own.path)
    assert not own.path.exists()
    own.close()
