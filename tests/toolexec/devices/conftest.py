"""What tests of GPUs share: one folder of builds, so that the emulator's parts are compiled once."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def gpu_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache of all sessions on a stand-in."""
    folder = tmp_path_factory.mktemp("fake-gpu")
    (folder / "builds").mkdir()
    return folder
