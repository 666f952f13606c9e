"""The same suite in a Ray cluster: rows of the same form, a killed host replaced, nothing left afterwards."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.processes import descendants, gone
from suite.rows import a_plan
from typer.testing import CliRunner

from kernelwright.cli.app import app
from kernelwright.errors import MissingTool
from kernelwright.suite.devices import hosts
from kernelwright.toolexec.executors.ray import ADDRESS, shared_cluster

TINY = (
    "name: tiny\ntasks: [row_sum]\npreflight: false\n"
    "options: {budget: {seconds: 120, rounds: 1, measurements: 6}, search: {tune_measurements: 0},"
    " languages: [torch, cpp], judge: {baselines: [eager], confirm: false}}\n"
)
NEEDS_RAY = "needs the extra: pip install 'kernelwright[ray]'"


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    return file


def test_without_ray_nothing_is_begun(
    tiny: Path, workspace_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = CliRunner().invoke(app, ["suite", "run", str(tiny), "-o", "executor=ray"])
    assert isinstance(done.exception, MissingTool) and "kernelwright[ray]" in done.exception.hint
    assert not (workspace_folder / "suites").exists()


def test_a_cluster_that_is_named_is_used_and_a_local_plan_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delenv(ADDRESS, raising=False)
    with hosts(a_plan("a")):
        assert ADDRESS not in os.environ
    monkeypatch.setenv(ADDRESS, "10.0.0.1:6379")
    with shared_cluster() as address:
        assert address == os.environ[ADDRESS] == "10.0.0.1:6379"
    assert os.environ[ADDRESS] == "10.0.0.1:6379"


# --- with a cluster of its own ----------------------------------------------------------------------------------------


def begun(tmp_path: Path, *words: str) -> subprocess.Popen[str]:
    """A suite's process, in a workspace of its own and with no cluster named."""
    environment = {**os.environ, "KERNELWRIGHT_WORKSPACE": str(tmp_path / "w")}
    environment.pop(ADDRESS, None)
    command = [sys.executable, "-m", "kernelwright", "suite", *words]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def awaited(process: subprocess.Popen[str], seen: Callable[[], Any], limit_s: float = 600) -> Any:
    """What ``seen`` gives at last; the process must be running all the while."""
    deadline = time.monotonic() + limit_s
    while not (found := seen()):
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()[1][-2000:]
        time.sleep(0.1)
    return found


def titled(pid: int, word: bytes) -> list[int]:
    """Processes under one whose command has a word."""
    found = []
    for child in descendants(pid):
        try:
            title = Path(f"/proc/{child}/cmdline").read_bytes()
        except OSError:
            continue
        found += [child] if word in title else []
    return found


def judging(pid: int) -> list[int]:
    """Processes of Ray under one that hold a judging session."""
    return titled(pid, b"SessionHost")


def workers(pid: int) -> set[int]:
    """The judge's workers under a process."""
    return {child for host in judging(pid) for child in descendants(host)}


@pytest.mark.slow
def test_rows_over_ray_have_the_form_of_local_ones(tiny: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason=NEEDS_RAY)
    suite = begun(tmp_path, "ablate", str(tiny), "--arm", "here=", "--arm", "there=-o executor=ray", "--json")
    told, log = suite.communicate(timeout=1200)
    arms = json.loads(told)["arms"]
    (here,), (there,) = ((a["tasks"] + a["degenerate"])[0]["samples"] for a in (arms["here"], arms["there"]))
    assert here["outcome"] == there["outcome"] == "finished", log[-2000:]
    assert {k for k, v in here.items() if v} == {k for k, v in there.items() if v}
    for name in ("task_id", "machine", "hardware", "statuses", "best_baseline", "candidates", "seed"):
        assert here[name] == there[name], name


@pytest.mark.slow
def test_a_suite_goes_on_when_a_host_of_its_cluster_is_killed(tiny: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason=NEEDS_RAY)
    suite = begun(tmp_path, "run", str(tiny), "-o", "executor=ray", "--json")
    awaited(suite, lambda: workers(suite.pid))
    os.kill(judging(suite.pid)[0], signal.SIGKILL)
    told, log = suite.communicate(timeout=1200)
    assert json.loads(told)["arms"]["main"]["outcomes"] == {"finished": 1}, log[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_of_a_suites_cluster_is_left(how: signal.Signals, tiny: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason=NEEDS_RAY)
    suite = begun(tmp_path, "run", str(tiny), "-o", "executor=ray", "--samples", "2", "--at-once", "2")
    awaited(suite, lambda: workers(suite.pid))
    family = set(descendants(suite.pid))
    assert len(titled(suite.pid, b"raylet/raylet")) == 1, "both samples are judged in one cluster"
    assert len(family) > 5, "the cluster's daemons, two samples, a host and its workers"
    suite.send_signal(how)
    suite.communicate(timeout=120)
    deadline = time.monotonic() + 60
    while left := [pid for pid in family if not gone(pid)]:
        assert time.monotonic() < deadline, f"still running: {left}"
        time.sleep(0.2)
