"""kill -9 at any moment, then resume: finished evaluations are never lost nor done twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from e2e.commands import environment, kernelwright, small_task

from kernelwright.records import Ratio
from kernelwright.workspace import RunFolder, Workspace

OPTIONS = (
    "--rounds", "2", "-o", "judge.baselines=[eager]", "-o", "search.tune_measurements=4",
    "-o", "search.decisions_per_round=2",
)  # fmt: skip


def begin(workspace: Path, *args: object) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "kernelwright", *map(str, args)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(workspace),
        start_new_session=True,
    )


def judged(folder: RunFolder) -> Counter[tuple[str, str]]:
    """(candidate, depth) -> how many evaluations are stored; a disturbed one may be made once more."""
    found: Counter[tuple[str, str]] = Counter()
    disturbed: set[tuple[str, str]] = set()
    for file in folder.root.glob("candidates/*/*.jsonl"):
        for line in file.read_text().splitlines():
            try:
                evaluation = json.loads(line)
            except ValueError:
                continue  # half a line of the killed writer
            key = evaluation["candidate_id"], file.name + evaluation["depth"]
            if key in disturbed:
                disturbed.remove(key)
                continue
            ratio = evaluation["speedup"]
            if not found[key] and ratio is not None and Ratio.model_validate(ratio).disturbed:
                disturbed.add(key)
            found[key] += 1
    return found


def killed_and_resumed(folder: Path, task: Path, after_s: float) -> str:
    """Kill a run after so many seconds, resume it, check its files; says what happened."""
    process = begin(folder, "optimize", task, *OPTIONS)
    time.sleep(after_s)
    early = process.poll()
    process.kill()  # nothing happens where it is over
    process.wait()
    workspace = Workspace.open(folder)
    if not workspace.run_ids():
        return "killed before the run began"
    run = workspace.run("last")
    before = judged(run)
    resumed = kernelwright("resume", "last", "--json", workspace=folder)
    assert resumed.code in (0, 1), resumed.err
    after = judged(run)
    assert run.summary().state == "finished"
    lost = [key for key in before if key not in after]
    twice = [key for key, count in after.items() if count > 1]
    assert not lost and not twice, (lost, twice)
    assert after, "nothing was judged"
    assert run.report_html.exists()
    return f"killed after {after_s:.1f} s with {len(before)} of {len(after)} evaluations" + (
        ", the run was over" if early is not None else ""
    )


def test_kill_and_resume(tmp_path):
    after_s = random.SystemRandom().uniform(2, 20)
    print(killed_and_resumed(tmp_path / "w", small_task(tmp_path), after_s))


@pytest.mark.slow
def test_kill_and_resume_at_20_points(tmp_path):
    seed = random.SystemRandom().randrange(10**6)
    rng = random.Random(seed)
    task = small_task(tmp_path)
    began = time.monotonic()
    whole = kernelwright("optimize", task, *OPTIONS, workspace=tmp_path / "whole")
    wall_s = time.monotonic() - began
    assert whole.code in (0, 1), whole.err
    print(f"seed {seed}; an uninterrupted run takes {wall_s:.1f} s")
    for number in range(20):
        print(killed_and_resumed(tmp_path / f"w{number}", task, rng.uniform(0, wall_s)))


def test_ctrl_c_ends_cleanly_with_the_best_so_far(tmp_path):
    process = begin(tmp_path / "w", "optimize", small_task(tmp_path), *OPTIONS)
    workspace = Workspace.open(tmp_path / "w")
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if workspace.run_ids() and any(judged(workspace.run("last"))):
            break
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(timeout=60) in (0, 1)
    run = workspace.run("last")
    assert (run.summary().state, run.summary().reason) == ("stopped", "interrupted")
    assert run.report_html.exists()
    assert kernelwright("resume", "last", workspace=tmp_path / "w").code in (0, 1)
    assert run.summary().state == "finished"


def test_two_runs_in_one_workspace(tmp_path):
    task = small_task(tmp_path)
    both = [begin(tmp_path / "w", "optimize", task, *OPTIONS, "--seed", n) for n in (1, 2)]
    assert all(process.wait(timeout=300) in (0, 1) for process in both)
    workspace = Workspace.open(tmp_path / "w")
    assert [workspace.run(i).summary().state for i in workspace.run_ids()] == ["finished", "finished"]
    for run_id in workspace.run_ids():
        assert max(judged(workspace.run(run_id)).values()) == 1
