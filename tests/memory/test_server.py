"""Server mode against a live `chroma run` on loopback: the same answers, two libraries apart, a server that is gone."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.solutions import a_ladder_folder

from kernelwright.errors import LibraryError
from kernelwright.memory.index import Index
from kernelwright.memory.library import Library

START_TIMEOUT_S = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """``host:port`` of a server of its own."""
    port = free_port()
    command = [str(Path(sys.executable).with_name("chroma")), "run", "--path", str(tmp_path / "served")]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + START_TIMEOUT_S
            while True:
                assert process.poll() is None and time.monotonic() < deadline, "the server did not start"
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield f"127.0.0.1:{port}"
        finally:
            process.kill()


def test_a_server_holds_the_vectors_of_several_libraries(server: str, tmp_path: Path) -> None:
    shelf, others = tmp_path / "shelf", tmp_path / "others"
    a_ladder_folder(shelf, "box-blur")
    a_ladder_folder(others, "theirs", edit={"Separable box blur": "A blur of another team"})
    index, other = Index(tmp_path / "index", server=server), Index(tmp_path / "other", server=server)
    assert index.sync(Library(user=shelf, shipped=None)).added == 1
    assert other.sync(Library(user=others, shipped=None)).added == 1
    assert [hit.id for hit in index.search("smooth a picture")] == ["box-blur"]
    assert [hit.id for hit in other.search("smooth a picture")] == ["theirs"]
    assert index.vectors.keys() == {"solution:box-blur"} and index.missing() == []
    assert not list((tmp_path / "index" / "chroma").glob("*")), "the vectors are the server's"

    again = Index(tmp_path / "index", server=server)  # what another process finds
    assert again.sync(Library(user=shelf, shipped=None)).embedded == 0
    assert again.search("box blur")[0].id == "box-blur"
    for one in (index, other, again):
        one.close()


def test_a_server_that_does_not_answer_is_told_with_what_to_do(tmp_path: Path) -> None:
    index = Index(tmp_path / "index", server=f"127.0.0.1:{free_port()}")
    with pytest.raises(LibraryError, match="chroma run|server"):
        index.search("box blur")
