"""Six processes add and search at once, one is killed in mid-write: no entry is lost, none is half visible."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fakes.solutions import a_ladder_folder

from kernelwright.memory.catalogue import Wanted
from kernelwright.memory.index import Index
from kernelwright.memory.library import Library

WORKER = Path(__file__).with_name("index_worker.py")


def one_round(root: Path, *, processes: int, entries: int, rng: random.Random) -> None:
    """Starts the processes, kills one at some moment, and looks at what is left with fresh eyes."""
    shelf, folder = root / "shelf", root / "index"
    shelf.mkdir(parents=True)
    a_ladder_folder(root / "pattern", "box-blur")
    command = [sys.executable, str(WORKER), str(shelf), str(folder)]
    workers = [
        subprocess.Popen([*command, f"p{n}", str(entries)], stdout=subprocess.PIPE, text=True) for n in range(processes)
    ]
    victim = workers[rng.randrange(processes)]
    assert victim.stdout is not None
    victim.stdout.readline()  # it is at work
    time.sleep(rng.random() * 2)
    victim.kill()
    told = [line for worker in workers for line in worker.communicate(timeout=600)[0].split("\n") if line]
    assert all(worker.returncode == 0 for worker in workers if worker is not victim)
    assert not [line for line in told if line.startswith("MISSING")], told

    index, library = Index(folder), Library(user=shelf, shipped=None)
    shown = {key.partition(":")[2] for key in index.catalogue.signatures("solution")}
    assert set(told) <= shown, "an acknowledged entry is lost"
    assert index.missing() == [], "an entry is shown without its vector"
    report = index.sync(library)  # what the killed one had written to the shelf, but not yet indexed
    assert report.problems == [] and report.removed == 0
    assert {f"solution:{id}" for id in library.ids()} == set(index.catalogue.signatures("solution"))
    assert index.missing() == []
    for id in rng.sample(sorted(library.ids()), 5):
        title = library.get(id).title
        assert id in [hit.id for hit in index.search(title, wanted=Wanted(), limit=200)]
    index.close()


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    one_round(tmp_path / "round", processes=3, entries=3, rng=random.Random(1))


@pytest.mark.slow
def test_six_processes_and_twenty_kills_lose_nothing(tmp_path: Path) -> None:
    rng = random.Random(2)
    for number in range(20):
        one_round(tmp_path / f"round-{number}", processes=6, entries=10, rng=rng)
