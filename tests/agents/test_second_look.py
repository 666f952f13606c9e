"""A GPU kernel that the run's device only compiles, or refuses without a line, is mended by what the emulator found."""

import shutil

import pytest
from agents.loop import TextExecutor, TextSession, a_config, decisions_json, role_of, surroundings
from fakes.kernels import small_task
from fakes.openai_server import OpenAIServer, Says
from fakes.records import a_failure, an_evaluation

from kernelwright.agents.running import start_run
from kernelwright.errors import MissingTool
from kernelwright.records import Level, Status
from kernelwright.toolexec.executors.local import LocalExecutor
from kernelwright.workspace import Workspace

KERNEL = """// language: cuda
// axes: R = in0[0], C = in0[1]
// launch: scaled grid(cdiv(C, 64), R) block(64) args(in0, param0, param1, out0, C, float(scalar0))
extern "C" __global__ void scaled(const float* x, const float* w, const float* b, float* y, int c, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= c) {
    float v = x[blockIdx.y * c + i] * w[i] * factor + b[i];
    y[blockIdx.y * c + i] = v > 0 ? v : 0;
  }
}
"""
EDIT = "### EDIT: kernel.cu\n<<<<<<< SEARCH\n  if (i <= c) {\n=======\n  if (i < c) {\n>>>>>>> REPLACE"
REFLECTION = '```json\n{"decisions": [], "next_move": "tile it", "go_on": true}\n```'


class Device(TextSession):
    """Compiles only, or fails as a GPU does: without a line."""

    status = Status.UNJUDGED

    def evaluate(self, candidate, *, depth, **_):
        if self.status is Status.UNJUDGED:
            return an_evaluation(candidate, status=self.status, level=Level.COMPILED, depth=depth, best_baseline="")
        return a_failure(candidate, self.status, "illegal memory access", check="run", depth=depth)


class TwoPlaces(TextExecutor):
    """The run's own device is scripted; the emulator is the real one."""

    def __init__(self, status, *, emulator=True):
        super().__init__()
        self.status, self.emulator = status, emulator

    def open(self, task, *, settings, **more):
        if settings.device == "emulated":
            if not self.emulator:
                raise MissingTool("no g++")
            return LocalExecutor().open(task, settings=settings)
        self.sessions.append(Device(task, {}))
        self.sessions[-1].status = self.status
        return self.sessions[-1]


def repaired(tmp_path, monkeypatch, executor):
    monkeypatch.setenv("TEST_KEY", "sk-test-0123456789abcdefghij")
    asked = []

    def model(body):
        role = role_of(body)
        asked.append((role, body["messages"][-1]["content"]))
        answers = {"planner": decisions_json("One pass"), "repairer": EDIT, "reflector": REFLECTION}
        return Says(answers.get(role, f"### FILE: kernel.cu\n```cuda\n{KERNEL}```"))

    with OpenAIServer([model]) as server:
        config = a_config(models__base_url=server.base_url, models__repairs=2, languages=["cuda"])
        workspace = Workspace.open(tmp_path / "w")
        around = surroundings(executor)
        summary = start_run(workspace, small_task(), config, surroundings=around, command="test", start_from=None)
        events = workspace.run(summary.run_id).events()
    return [text for role, text in asked if role == "repairer"], [e.message for e in events if e.kind == "emulated"]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="the emulator compiles with g++")
@pytest.mark.parametrize("status", [Status.UNJUDGED, Status.RUNTIME_ERROR])
def test_the_repairer_is_shown_the_line_that_the_emulator_found(tmp_path, monkeypatch, status):
    prompts, told = repaired(tmp_path, monkeypatch, TwoPlaces(status))
    line = next(i for i, row in enumerate(KERNEL.splitlines(), 1) if "float v" in row)
    assert "out of bounds" in prompts[0] and f"kernel.cu:{line}" in prompts[0]
    assert told[0].startswith("RUNTIME_ERROR") and told[1].startswith("PASSED")
    if status is Status.UNJUDGED:
        assert len(prompts) == 1
    else:
        assert "illegal memory access" in prompts[1]


def test_without_an_emulator_the_device_has_the_last_word(tmp_path, monkeypatch):
    prompts, told = repaired(tmp_path, monkeypatch, TwoPlaces(Status.RUNTIME_ERROR, emulator=False))
    assert "illegal memory access" in prompts[0] and told[0].startswith("not asked: no g++")
