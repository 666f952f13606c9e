"""A run that was killed is shown the precedents that it had before, whatever limits its best candidate by now."""

from pathlib import Path
from typing import Any

from agents.loop import NoRecall, TextExecutor, a_config, surroundings
from fakes.records import a_candidate, a_profile, a_summary, a_task, an_evaluation

from kernelwright.agents.context import RunContext
from kernelwright.agents.knowledge import knowledge_of
from kernelwright.protocols import Recalled
from kernelwright.workspace import RunFolder, Workspace


class Asked(NoRecall):
    """Remembers the bottlenecks that precedents were asked for."""

    def __init__(self) -> None:
        self.bottlenecks: list[str] = []

    def recall(self, *_: Any, bottleneck: str = "", **__: Any) -> list[Recalled]:
        self.bottlenecks.append(bottleneck)
        return []


def a_context(folder: RunFolder, recall: Asked) -> RunContext:
    config = a_config(engine="search", models__model="")
    roles = surroundings(TextExecutor()).roles(config)
    roles.recall = recall  # type: ignore[assignment]
    task = a_task()
    return RunContext(config=config, folder=folder, task=task, roles=roles, summary=a_summary(task))


def test_precedents_stay_what_they_were(tmp_path: Path) -> None:
    folder, asked = Workspace.open(tmp_path).new_run("blur"), Asked()
    knowledge_of(a_context(folder, asked), {"round": 1})
    best = a_candidate("// us=50\n")
    folder.add_candidate(best)
    folder.add_evaluation(an_evaluation(best))
    folder.save_profile(a_profile(best, bottleneck="latency"))
    knowledge_of(a_context(folder, asked), {"round": 2, "best": best.id})  # in the process that goes on with it
    assert asked.bottlenecks == ["", ""]


def test_a_first_recall_is_for_what_limits_the_run(tmp_path: Path) -> None:
    folder, asked = Workspace.open(tmp_path).new_run("blur"), Asked()
    best = a_candidate("// us=50\n")
    folder.add_candidate(best)
    folder.add_evaluation(an_evaluation(best))
    folder.save_profile(a_profile(best, bottleneck="latency"))
    knowledge_of(a_context(folder, asked), {"round": 2, "best": best.id})
    assert asked.bottlenecks == ["latency"]
