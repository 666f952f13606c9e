"""A place to be confined in, and a judge beside it, as root and as a plain user."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kernelwright.toolexec.sandbox.places import package_root

HERE = Path(__file__).parent
NOBODY = 65534
TIERS = ("bubblewrap", "landlock", "rlimits")
USERS = ("me", "nobody") if os.geteuid() == 0 else ("me",)


def python_for_all() -> str | None:
    """A Python that a plain user can start, though ours may lie in root's home."""
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        # setpriv may start what the user itself could not reach: ask from inside whether it can.
        fit = "import os, sys; sys.exit(not (sys.version_info >= (3, 11) and os.access(sys.executable, os.X_OK)))"
        command = ["setpriv", f"--reuid={NOBODY}", "--clear-groups", python, "-I", "-S", "-c", fit]
        try:
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                return python
        except OSError:
            return None
    return None


@dataclass
class Place:
    """A judge's folder: ``scratch`` to write, ``given`` to read, ``outside`` for neither."""

    tier: str
    user: str
    root: Path
    python: list[str] = field(default_factory=list)

    @property
    def scratch(self) -> Path:
        """What the confined process may write."""
        return self.root / "scratch"

    @property
    def given(self) -> Path:
        """What it may read."""
        return self.root / "given"

    @property
    def outside(self) -> Path:
        """What it may neither read nor write, though the judge's user can."""
        return self.root / "outside"

    def command(self, command: list[str], *, timeout_s: float = 20.0, abi: int = 0, **limits: int) -> list[str]:
        """What starts the judge."""
        order = {
            "tier": self.tier, "abi": abi, "command": command, "scratch": str(self.scratch),
            "readable": [str(self.given)], "limits": limits, "timeout_s": timeout_s,
        }  # fmt: skip
        return [*self.python, str(HERE / "judge_side.py"), package_root(), json.dumps(order)]

    def run(self, command: list[str], *, timeout_s: float = 20.0, abi: int = 0, **limits: int) -> dict[str, Any]:
        """Let the judge run a confined command to its end."""
        done = subprocess.run(
            self.command(command, timeout_s=timeout_s, abi=abi, **limits),
            capture_output=True, text=True, check=False, cwd="/", timeout=timeout_s + 30,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        if "missing" in told:
            pytest.skip(f"the tier {self.tier} does not work here for {self.user}: {told['missing']}")
        return told

    def run_python(self, code: str, **options: Any) -> dict[str, Any]:
        """Let it run Python code."""
        return self.run(["PYTHON", "-I", "-S", "-c", code], **options)


def make_place(tier: str, user: str) -> Iterator[Place]:
    root = Path(tempfile.mkdtemp(prefix="kernelwright-sandbox-", dir="/tmp"))
    place = Place(tier, user, root, [sys.executable, "-B"])
    try:
        for folder in (place.scratch, place.given, place.outside):
            folder.mkdir()
        (place.outside / "secret").write_text("the expected answer\n")
        for name in ("source", "kept"):
            (place.given / name).write_text("given\n")
        if user == "nobody":
            python = python_for_all()
            if python is None:
                pytest.skip("needs setpriv (util-linux) and a Python >= 3.11 that every user can start")
            place.python = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", python, "-B"]
            for path in (root, *root.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        yield place
    finally:
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(params=[(t, u) for t in TIERS for u in USERS], ids=lambda p: f"{p[0]}-{p[1]}")
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """Each tier, with the judge running as this user and, where this is root, as a plain one."""
    yield from make_place(*request.param)


@pytest.fixture(params=[(t, u) for t in TIERS[:2] for u in USERS], ids=lambda p: f"{p[0]}-{p[1]}")
def closed_place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """The tiers that hold files."""
    yield from make_place(*request.param)


@pytest.fixture
def plain_landlock() -> Iterator[Place]:
    """Landlock as a plain user has it."""
    yield from make_place("landlock", USERS[-1])
