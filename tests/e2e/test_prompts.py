"""Lessons in the prompts of real runs with a model over HTTP: shown, recorded, ablated in paired runs, learned from."""

from __future__ import annotations

import json

import pytest
from agents.loop import role_of
from e2e.commands import kernelwright, small_task
from e2e.model_answers import CASES, answers
from fakes.openai_server import OpenAIServer, Says
from promptopt.making import lesson

from kernelwright.agents.llm.ledger import read_calls
from kernelwright.promptopt.draws import draws_file
from kernelwright.promptopt.lesson_files import save_lesson
from kernelwright.promptopt.shelves import LessonShelf
from kernelwright.records import LessonDraw, LessonScope, LessonState
from kernelwright.workspace import Workspace, read_records

OPTIONS = (
    "-o", "budget.rounds=1", "-o", "languages=[cpp]", "-o", "library.recall=false", "-o", "judge.baselines=[eager]",
    "-o", "models.repairs=0", "-o", "budget.seconds=30", "-o", "models.prices={tiny: {input: 1, output: 4}}",
)  # fmt: skip


@pytest.mark.slow
def test_a_lesson_is_shown_recorded_and_ablated(tmp_path):
    case = CASES[0]
    place = Workspace.open(tmp_path / "w")
    taught = lesson("count-the-bytes", do="count the bytes of each pass first", scope={"languages": ("cpp",)})
    assert taught.scope == LessonScope(languages=("cpp",)) and taught.state is LessonState.ACTIVE
    save_lesson(taught, place.lessons)
    systems: list[tuple[str, str]] = []
    plan = answers(case)["planner"][-1]

    def model(body):
        role = role_of(body)
        systems.append((role, body["messages"][0]["content"]))
        if role == "coder":
            return Says(f"### FILE: kernel.cpp\n```cpp\n{case.good()}```")
        return Says(plan if role == "planner" else answers(case)[role][0])

    task = small_task(tmp_path, case.task, case.name)
    with OpenAIServer([model]) as server:
        model_options = ("--model", "openai/tiny", "-o", f"models.base_url={server.base_url}", *OPTIONS)
        run = kernelwright("optimize", task, *model_options, "-o", "engine=llm", "--json", workspace=place.root)
        assert run.code in (0, 1), run.err
        pairs = ("lessons", "ablate", "count-the-bytes", "--task", task, "--pairs", "2", *model_options, "--json")
        first = kernelwright(*pairs, workspace=place.root, timeout=900)
        asked = len(systems)
        again = kernelwright(*pairs, workspace=place.root)
    assert first.code in (0, 1), first.err
    assert len(systems) == asked, "what was paid for is not asked again"
    assert json.loads(again.out)["score"] == json.loads(first.out)["score"]
    assert json.loads(first.out)["spent"]["trials"] == 4 and json.loads(first.out)["spent"]["cost_usd"] > 0
    told = ["- [count-the-bytes]" in text for role, text in systems if role == "coder"]
    assert any(told) and not all(told)
    folder = place.run("last")
    (draw,) = [d for d in read_records(draws_file(folder), LessonDraw) if d.role == "planner"]
    written = next(c for c in read_calls(folder.root / "calls") if c.role == "planner")
    assert written.lessons == draw.shown and written.prompt_version == draw.version
    effect = LessonShelf(place.lessons).get("count-the-bytes").effect
    assert effect is not None and effect.method == "ablation"
