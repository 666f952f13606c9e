"""kill -9 in every node of a run with a model, then resume: no call is made twice whose answer had been written."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from agents.loop import decisions_json, edit, kernel, role_of
from fakes.openai_server import OpenAIServer, Says

from kernelwright.agents.llm.ledger import read_calls
from kernelwright.workspace import Workspace

TESTS = Path(__file__).resolve().parents[1]
ANSWERS = {
    "planner": decisions_json("One pass"),
    "coder": kernel("WRONG"),
    "repairer": edit("WRONG", "us=44"),
    "reflector": '```json\n{"decisions": [], "next_move": "stop", "go_on": true}\n```',
}
POINTS = [
    "node:prepare:1", "node:planner:1", "model:planner:1", "model:planner:2", "plan:planner:1", "node:coder:1",
    "model:coder:2", "candidate:coder:1", "node:profiler:1", "repair:profiler:1", "model:profiler:2",
    "evaluation:profiler:1", "node:reflector:1", "model:reflector:2", "node:finish:1", "confirm:finish:1",
    "library:finish:1",
]  # fmt: skip


def run(place: Path, config: Path, kill_at: str = "") -> int:
    command = [sys.executable, str(TESTS / "agents" / "loop.py"), str(place), str(config), kill_at]
    variables = {**os.environ, "PYTHONPATH": str(TESTS), "TEST_KEY": "none-needed"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


def killed_and_resumed(tmp_path: Path, point: str) -> None:
    with OpenAIServer([lambda body: Says(ANSWERS[role_of(body)])]) as server:
        config = tmp_path / "config.json"
        config.write_text(json.dumps({"models__base_url": server.base_url}))
        assert run(tmp_path / "w", config, point) == -signal.SIGKILL
        run(tmp_path / "w", config)
        asked = [role_of(body) for body in server.requests]
    folder = Workspace.open(tmp_path / "w").run("last")
    assert folder.summary().state == "finished" and folder.summary().best.value == pytest.approx(220 / 44)
    assert sorted(asked) == ["coder", "planner", "reflector", "repairer"], f"{point}: {asked}"
    assert [c.number for c in read_calls(folder.calls)] == [1, 2, 3, 4]
    assert folder.report_html.exists() and folder.is_over()


@pytest.mark.parametrize("point", ["model:coder:2", "end:finish:1"])
def test_killed_with_an_answer_or_an_end_that_is_half_written(tmp_path, point):
    killed_and_resumed(tmp_path, point)


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_killed_in_every_node(tmp_path, point):
    killed_and_resumed(tmp_path, point)
