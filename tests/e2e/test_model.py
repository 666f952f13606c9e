"""From a plan to a measured speed-up with the real judge: a model over HTTP, its kernel mended three times."""

from __future__ import annotations

import json

import pytest
from agents.loop import role_of
from e2e.commands import kernelwright, small_task
from e2e.model_answers import CASES, Case, answers
from fakes.openai_server import OpenAIServer, Says

from kernelwright.workspace import Workspace

OPTIONS = (
    "--rounds", "1", "-l", "cpp", "--no-library", "-o", "judge.baselines=[eager]", "-o", "models.repairs=3",
    "-o", "engine=llm", "-o", "models.prices={tiny: {input: 1, output: 4}}", "--budget", "280",
)  # fmt: skip


def from_plan_to_speed_up(tmp_path, case: Case) -> None:
    left = answers(case)
    asked = []

    def model(body):
        role = role_of(body)
        asked.append((role, body["messages"][-1]["content"]))
        return Says(left[role].pop(0) if len(left[role]) > 1 else left[role][0])

    task = small_task(tmp_path, case.task, case.name)
    with OpenAIServer([model]) as server:
        args = (
            "optimize",
            task,
            "--model",
            "openai/tiny",
            *OPTIONS,
            "-o",
            f"models.base_url={server.base_url}",
            "--json",
        )
        said = kernelwright(*args, workspace=tmp_path / "w")
    assert said.code in (0, 1), said.err
    run = Workspace.open(tmp_path / "w").run("last")
    roles = [role for role, _ in asked]
    assert roles == ["planner", "planner", "coder", "repairer", "repairer", "repairer", "reflector"], said.err
    mended = [e.message.split(" ")[0] for e in run.events() if e.kind == "repair"]
    assert mended[:2] == ["COMPILE_ERROR", "WRONG_VALUES"] and mended[2] != "PASSED"
    shown = [text for role, text in asked if role == "repairer"]
    assert "expected ‘;’" in shown[0] or "expected ';'" in shown[0]
    assert "Status: WRONG_VALUES" in shown[1] and f"Status: {mended[2]}" in shown[2]
    (decision,) = run.decisions()
    assert run.candidate(decision.child).files[0].text == case.good()
    best = [e for e in run.evaluations(decision.child) if e.passed]
    assert best and best[0].speedup is not None  # measured, and right; how fast is the machine's business
    cost = json.loads(kernelwright("runs", "show", "last", "--cost", "--json", workspace=tmp_path / "w").out)
    assert cost["total"]["cost_usd"] > 0 and cost["total"]["calls"] == 7
    story = kernelwright("runs", "show", "last", workspace=tmp_path / "w").out
    assert "mended after" in story and "COMPILE_ERROR" in story


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_from_a_plan_to_a_measured_speed_up(tmp_path, case):
    from_plan_to_speed_up(tmp_path, case)


def test_mistakes_of_set_up_are_said_before_a_run_begins(tmp_path):
    task = small_task(tmp_path)
    for args, words in (
        (("--model", "gpt-4"), "unknown model"),
        (("--model", "openai/x", "-o", "models.api_key_env=NO_SUCH_KEY"), "NO_SUCH_KEY is not set"),
        (("-o", "engine=llm"), "needs a model"),
        (("--from", "nothing:abc"), "unknown run"),
    ):
        said = kernelwright("optimize", task, *args, workspace=tmp_path / "w")
        assert said.code == 2 and words in said.err and "Traceback" not in said.err, said.err
    assert not Workspace.open(tmp_path / "w").run_ids()
