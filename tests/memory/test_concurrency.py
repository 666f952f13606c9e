"""Six processes add and search at once, one is killed in mid-write: no entry is lost, none is half visible."""

import multiprocessing
import random
import shutil
import time
from pathlib import Path

import pytest
from fakes.solutions import a_ladder_folder
from memory.index_worker import work

from kernelwright.memory.catalogue import Wanted
from kernelwright.memory.index import Index
from kernelwright.memory.library import Library

PRELOADED = ["memory.index_worker", "chromadb", "onnxruntime", "tokenizers", "kernelwright.memory.embedding"]
"""Imported once by the server that the processes are forked from: each is a process of its own, with nothing open."""


def one_round(root: Path, *, processes: int, entries: int, rng: random.Random, reader: Path) -> None:
    """Starts the processes, kills one at some moment, and looks at what is left with fresh eyes."""
    shelf, folder = root / "shelf", root / "index"
    shelf.mkdir(parents=True)
    folder.mkdir()
    shutil.copy(reader, folder)  # learned once: it is not what is tried here
    a_ladder_folder(root / "pattern", "box-blur")
    forked = multiprocessing.get_context("forkserver")
    forked.set_forkserver_preload(PRELOADED)
    files = [root / f"told-{n}" for n in range(processes)]
    workers = [
        forked.Process(target=work, args=(shelf, folder, f"p{n}", entries, file)) for n, file in enumerate(files)
    ]
    for worker in workers:
        worker.start()
    number = rng.randrange(processes)
    victim, deadline = workers[number], time.monotonic() + 300
    while not files[number].exists() and victim.is_alive() and time.monotonic() < deadline:
        time.sleep(0.005)  # until it is at work
    time.sleep(rng.random() * 2)
    victim.kill()
    for worker in workers:
        worker.join(600)
    told = [line for file in files if file.exists() for line in file.read_text().split("\n") if line]
    assert all(worker.exitcode == 0 for worker in workers if worker is not victim)
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


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    index = Index(tmp_path_factory.mktemp("learned") / "index")
    assert index.reader.concepts
    index.close()
    return index.folder / "exemplars.npz"


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path, reader: Path) -> None:
    one_round(tmp_path / "round", processes=3, entries=3, rng=random.Random(1), reader=reader)


@pytest.mark.slow
def test_six_processes_and_twenty_kills_lose_nothing(tmp_path: Path, reader: Path) -> None:
    rng = random.Random(2)
    for number in range(20):
        one_round(tmp_path / f"round-{number}", processes=6, entries=10, rng=rng, reader=reader)
        print(f"round {number + 1}: nothing lost, none half visible", flush=True)
