"""What holds for every test: no network, one thread, a workspace of its own, and `slow` only with --full."""

import os
import shutil
import socket
import tempfile
from pathlib import Path

import pytest

# Set before anything imports numpy, torch or halide, which read them once. Subprocesses inherit them.
for _name in ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "HL"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"
# One arena: glibc's heap history alone can change a timing several times over.
os.environ["MALLOC_ARENA_MAX"] = "1"
os.environ["MPLBACKEND"] = "Agg"

WORKSPACE = "KERNELWRIGHT_WORKSPACE"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the long proofs too (marked slow)")


def pytest_configure(config: pytest.Config) -> None:
    """Gives what runs outside a test function (session fixtures, subprocesses) a throw-away workspace too."""
    folder = tempfile.mkdtemp(prefix="kernelwright-tests-")
    os.environ[WORKSPACE] = folder
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    forbid_network(config)
    try:
        from hypothesis import settings
    except ImportError:
        return
    settings.register_profile("kernelwright", deadline=None)
    settings.load_profile("kernelwright")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Whole runs first, so that of several processes none ends minutes after the others; long proofs only on demand."""
    items.sort(key=lambda item: item.path.parent.name != "e2e")
    if config.getoption("--full"):
        return
    skip = pytest.mark.skip(reason="a long proof: runs with --full")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)


def is_local(family: int, address: object) -> bool:
    if family not in (socket.AF_INET, socket.AF_INET6):
        return True
    host = address[0] if isinstance(address, tuple) else address
    return isinstance(host, str) and (host in ("localhost", "::1") or host.startswith("127."))


def forbid_network(config: pytest.Config) -> None:
    """Lets a socket connect to this machine only, for the whole run, whatever thread or library asks."""
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    for name in ("connect", "connect_ex"):
        original = getattr(socket.socket, name)

        def guarded(self, address, original=original):
            if not is_local(self.family, address):
                raise ConnectionRefusedError(f"tests use no network, and this one asked for {address!r}")
            return original(self, address)

        patch.setattr(socket.socket, name, guarded)


@pytest.fixture(autouse=True)
def workspace_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace that no other test sees; it does not exist yet.

    Returns:
        The path that KERNELWRIGHT_WORKSPACE names while the test runs.
    """
    folder = tmp_path / "workspace"
    monkeypatch.setenv(WORKSPACE, str(folder))
    return folder
