"""The sandbox as a user meets it: stated, refused where it is too low, and lower where bubblewrap does not work."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.commands import kernelwright, small_task

RIGHT = """
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.clamp(x * 2.0 + 1.0, min=0.0) * x
"""


@pytest.fixture
def path_of_a_container(tmp_path: Path) -> str:
    """A PATH on which bubblewrap is there and cannot make its namespaces."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "bwrap").write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    (folder / "bwrap").chmod(0o755)
    return str(folder)


@pytest.mark.parametrize("command", [("optimize",), ("evaluate", "CANDIDATE"), ("demo",)])
def test_a_lower_tier_than_required_is_refused(tmp_path, workspace_folder, path_of_a_container, command) -> None:
    (tmp_path / "right.py").write_text(RIGHT)
    words = [str(tmp_path / "right.py") if w == "CANDIDATE" else w for w in command]
    task = [] if command == ("demo",) else [small_task(tmp_path)]
    arguments = [words[0], *task, *words[1:], "--require-sandbox", "bubblewrap"]
    said = kernelwright(*arguments, workspace=workspace_folder, PATH=path_of_a_container)
    assert said.code == 2, said.err
    assert "Traceback" not in said.err and "'bubblewrap' is required" in said.err
    assert "No permissions to create new namespace" in said.err, "why it is not reached"
    assert not list((workspace_folder / "runs").glob("*")), "no run is begun"


def test_an_unknown_tier_is_named(tmp_path, workspace_folder) -> None:
    said = kernelwright("optimize", small_task(tmp_path), "--require-sandbox", "docker", workspace=workspace_folder)
    assert said.code == 2 and "judge.require_sandbox" in said.err and "landlock" in said.err


def test_where_bubblewrap_does_not_work_the_next_tier_is_used_and_stated(
    tmp_path, workspace_folder, path_of_a_container
) -> None:
    (tmp_path / "right.py").write_text(RIGHT)
    told = kernelwright("doctor", "--json", workspace=workspace_folder, PATH=path_of_a_container).json
    finding = next(f for f in told["findings"] if f["name"] == "sandbox")
    assert finding["detail"].startswith(("landlock: ", "rlimits: ")) and "Not held: " in finding["detail"]
    said = kernelwright(
        "evaluate", small_task(tmp_path), tmp_path / "right.py", "--depth", "screen", "-o", "judge.baselines=[eager]",
        "--json", workspace=workspace_folder, PATH=path_of_a_container,
    )  # fmt: skip
    assert said.code == 0, said.err
    assert said.json["status"] == "PASSED"
    assert said.json["sandbox"] == finding["detail"].partition(":")[0]
    assert ("NO SANDBOX" in said.err) == (said.json["sandbox"] == "rlimits")
