"""The commands on a small task: from optimize to the result to take home."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from e2e.commands import Said, environment, kernelwright, small_task

QUICK = ("-o", "judge.baselines=[eager]", "-o", "search.tune_measurements=3", "-o", "search.decisions_per_round=2")

TAKE_HOME = """
import importlib.util, sys, torch

def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

reference, mine = load(sys.argv[1], "reference"), load(sys.argv[2], "mine")
assert not any(name.startswith("kernelwright") for name in sys.modules)
torch.manual_seed(1)
inputs = reference.get_inputs()
with torch.no_grad():
    want = reference.Model(*reference.get_init_inputs())(*inputs)
    got = mine.ModelNew(*reference.get_init_inputs())(*inputs)
torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
print("same")
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Path, Path, Said]:
    """One finished run: its task, its workspace and what the command said."""
    folder = tmp_path_factory.mktemp("run")
    task = small_task(folder)
    said = kernelwright("optimize", task, "--rounds", "1", *QUICK, "--json", workspace=folder / "w")
    assert said.code in (0, 1), said.err
    return task, folder / "w", said


def test_optimize_tells_progress_on_stderr_and_one_json_document_on_stdout(finished):
    _, _, said = finished
    assert said.json["format"] == "kernelwright/run-records/1"
    assert said.json["summary"]["state"] == "finished"
    assert any(e["status"] == "PASSED" for s in said.json["steps"] for e in s["evaluations"])
    assert "round 1" in said.err


def test_the_result_to_take_home_runs_without_kernelwright(finished, tmp_path):
    task, workspace, said = finished
    run = workspace / "runs" / said.json["summary"]["run_id"]
    assert (run / "report.html").exists() and (run / "report.md").exists()
    script = tmp_path / "take_home.py"
    script.write_text(TAKE_HOME)
    done = subprocess.run(
        [sys.executable, str(script), str(task), str(run / "best" / "model_new.py")],
        capture_output=True, text=True, cwd=tmp_path, env=environment(tmp_path / "none"), check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, "same"), done.stderr


def test_runs_are_listed_shown_and_compared(finished):
    _, workspace, said = finished
    name = said.json["summary"]["run_id"]
    assert name in kernelwright("runs", "list", workspace=workspace).out
    story = kernelwright("runs", "show", "last", workspace=workspace)
    assert story.code == 0 and "Round 1" in story.out
    timing = kernelwright("runs", "show", name, "--timing", "--json", workspace=workspace)
    assert timing.code == 0 and timing.json
    assert kernelwright("runs", "compare", name, name, workspace=workspace).code == 0


def test_a_finished_run_is_not_done_again(finished):
    _, workspace, said = finished
    again = kernelwright("resume", "last", "--json", workspace=workspace)
    assert again.json["summary"] == said.json["summary"]


def test_evaluate_is_fit_for_a_gate(finished, tmp_path):
    task, workspace, _ = finished
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    body = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return {}\n"
    right.write_text(body.format("torch.relu(x * 2.0 + 1.0) * x"))
    wrong.write_text(body.format("torch.relu(x * 2.0) * x"))
    good = kernelwright("evaluate", task, right, "--depth", "screen", "--json", workspace=workspace)
    assert (good.code, good.json["status"]) == (0, "PASSED"), good.err
    bad = kernelwright("evaluate", task, wrong, "--depth", "screen", workspace=workspace)
    assert bad.code == 1 and "wrong" in bad.out
    gate = ("--against", right, "--min-speedup", "50", "--depth", "screen")
    slow = kernelwright("evaluate", task, right, *gate, workspace=workspace)
    assert slow.code == 1 and "--min-speedup" in slow.err


def test_tasks_are_listed_shown_checked_and_added(finished):
    task, workspace, _ = finished
    assert "box_blur_3x3" in kernelwright("tasks", "list", workspace=workspace).out
    assert kernelwright("tasks", "show", "softmax_rows", "--json", workspace=workspace).json["family"]
    added = kernelwright("tasks", "add", task, "--name", "mine", workspace=workspace)
    assert added.code == 0, added.err
    checked = kernelwright("tasks", "check", "mine", "--json", workspace=workspace)
    assert checked.code == 0, checked.err + checked.out
    assert "mine" in kernelwright("tasks", "list", workspace=workspace).out


def test_doctor_names_every_language(workspace_folder):
    said = kernelwright("doctor", "--json", workspace=workspace_folder)
    names = {finding["name"] for finding in said.json["findings"]}
    assert {"language cpp", "language halide", "language torch", "device cpu"} <= names
    assert json.dumps(said.json)


def test_one_candidate_is_judged_however_short_the_time(tmp_path):
    said = kernelwright("optimize", small_task(tmp_path), "--budget", "0.1", "--json", *QUICK, workspace=tmp_path / "w")
    summary = said.json["summary"]
    assert summary["candidates"] == 1, said.err
    assert summary["reason"] == "budget: time"
