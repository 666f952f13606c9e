"""Every user's mistake gets a clear error, exit code 2, no traceback, and nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from e2e.commands import SMALL_TASK, kernelwright, small_task

NO_MODEL = "import torch\n\ndef get_inputs():\n    return [torch.randn(3)]\n\ndef get_init_inputs():\n    return []\n"
NO_INPUTS = "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x\n"


def refused(said, *words: str) -> None:
    assert said.code == 2, said.err
    assert "Traceback" not in said.err + said.out
    assert said.err.startswith("error: ") or "\nerror: " in said.err
    for word in words:
        assert word in said.err, said.err


def test_a_missing_task_names_the_nearest(tmp_path, workspace_folder):
    refused(kernelwright("optimize", "box_blur", workspace=workspace_folder), "unknown task 'box_blur'", "box_blur_3x3")
    refused(kernelwright("optimize", tmp_path / "no.py", workspace=workspace_folder), "no such file")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("class Model(:\n", ("line 1",)),
        (NO_MODEL, ("Model",)),
        (NO_INPUTS, ("get_inputs",)),
    ],
    ids=["unparsable", "no Model", "no get_inputs"],
)
def test_a_broken_task_says_what_is_wrong(tmp_path, workspace_folder, text, words):
    path = small_task(tmp_path, text)
    said = kernelwright("optimize", path, workspace=workspace_folder)
    assert said.code == 2 and "Traceback" not in said.err
    assert path.name in said.err
    for word in words:
        assert word in said.err or word.replace("line ", f"{path.name}:") in said.err, said.err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("-o", "serch.patience=2"), ("unknown configuration key", "search.patience")),
        (("--language", "halid"), ("unknown language 'halid'", "did you mean 'halide'")),
        (("--device", "cdua:0"), ("unknown device 'cdua:0'", "did you mean 'cuda")),
        (("--budget", "0"), ("budget.seconds", "greater than 0")),
        (("--measurements", "0"), ("budget.measurements",)),
        (("--target", "quick"), ("target", "0.3ms")),
        (("--set", "ROWZ=3"), ("ROWZ", "ROWS")),
        (("--set", "ROWS"), ("NAME=value",)),
    ],
)
def test_bad_options(tmp_path, workspace_folder, args, words):
    refused(kernelwright("optimize", small_task(tmp_path), *args, workspace=workspace_folder), *words)


def test_an_empty_note_is_refused(workspace_folder):
    refused(kernelwright("runs", "note", "last", "  ", workspace=workspace_folder), "a note needs words")


def test_errors_are_json_on_demand(tmp_path, workspace_folder):
    said = kernelwright("optimize", small_task(tmp_path), "--language", "x", "--json", workspace=workspace_folder)
    assert (said.code, said.json["code"]) == (2, "unknown-name")


@pytest.mark.parametrize(
    ("forward", "words"),
    [
        ("raise ValueError('no such luck')", ("no such luck",)),
        ("return x / 0.0 * 0.0", ("NaN",)),
        ("return x + torch.rand_like(x)", ("same",)),
    ],
    ids=["raises", "NaN", "not deterministic"],
)
def test_a_broken_reference(tmp_path, workspace_folder, forward, words):
    text = SMALL_TASK.replace("return torch.clamp(x * 2.0 + 1.0, min=0.0) * x", forward)
    said = kernelwright("optimize", small_task(tmp_path, text), workspace=workspace_folder)
    refused(said, *words)
    listed = kernelwright("runs", "list", "--json", workspace=workspace_folder).json
    assert [run["state"] for run in listed] == ["failed"]


def test_a_workspace_that_cannot_be_written(tmp_path):
    said = kernelwright("optimize", small_task(tmp_path), workspace="/proc/kernelwright-workspace")
    refused(said, "/proc/kernelwright-workspace")


def test_a_workspace_from_a_newer_version(tmp_path, workspace_folder):
    workspace_folder.mkdir()
    marker = workspace_folder / "workspace.json"
    marker.write_text(json.dumps({"format": "kernelwright/workspace/7"}))
    refused(kernelwright("runs", "list", workspace=workspace_folder), "newer kernelwright", "--workspace")
    assert json.loads(marker.read_text())["format"].endswith("/7")


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of 3 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small file system needs root and the right to mount")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_disk_that_fills_up_in_mid_run_loses_nothing(tmp_path, tiny_disk):
    workspace = tiny_disk / "workspace"
    task = small_task(tmp_path)
    ballast = tiny_disk / "ballast"
    first = kernelwright(
        "optimize", task, "--rounds", "1", "-o", "judge.baselines=[eager]", "-o", "search.tune_measurements=0",
        workspace=workspace,
    )  # fmt: skip
    assert first.code in (0, 1), first.err
    free = os.statvfs(tiny_disk)
    ballast.write_bytes(b"x" * max(0, free.f_bavail * free.f_bsize - 40_960))
    second = kernelwright("optimize", task, "-o", "judge.baselines=[eager]", workspace=workspace)
    refused(second, "disk is full")
    ballast.unlink()
    runs = kernelwright("runs", "list", "--json", workspace=workspace).json
    assert runs[0]["state"] == "finished"
    assert runs[0]["run_id"] in kernelwright("runs", "show", runs[0]["run_id"], workspace=workspace).out
