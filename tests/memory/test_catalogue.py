"""Opening the catalogue while others have it."""

import sqlite3
import threading
import time

import pytest

from kernelwright.errors import LibraryError
from kernelwright.memory import catalogue
from kernelwright.memory.catalogue import Catalogue


@pytest.fixture(params=["writing", "reading"])
def held(tmp_path, request):
    """A new file that another connection writes, or reads: both forbid going over to a write-ahead log."""
    file = tmp_path / "catalogue.sqlite"
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("create table theirs (x)")
    other.execute("begin exclusive" if request.param == "writing" else "begin")
    other.execute("select * from theirs").fetchall()
    yield file, other
    other.close()


def test_who_comes_while_another_makes_the_file_waits(held):
    file, other = held
    began = time.monotonic()
    free = threading.Timer(0.4, other.rollback)
    free.start()
    opened = Catalogue(file)
    assert time.monotonic() - began >= 0.3
    assert opened.meta("format") == catalogue.FORMAT
    opened.close()
    free.join()


def test_who_waits_too_long_is_told(held, monkeypatch):
    file, _ = held
    monkeypatch.setattr(catalogue, "WAIT_S", 0.2)
    with pytest.raises(LibraryError, match="locked"):
        Catalogue(file)
