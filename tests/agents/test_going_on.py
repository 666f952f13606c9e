"""A process that goes on with a killed run decides as the killed one did: precedents, thresholds, counts."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from agents.loop import NoRecall, TextExecutor, TextSession, a_config, surroundings
from fakes.records import a_candidate, a_profile, a_summary, a_task, an_evaluation

from kernelwright.agents.context import RunContext
from kernelwright.agents.graph import profiler
from kernelwright.agents.knowledge import knowledge_of
from kernelwright.agents.state import OneCandidate, RunState
from kernelwright.protocols import Recalled
from kernelwright.records import Candidate, Decision, Depth, Evaluation, Task
from kernelwright.workspace import RunFolder, Workspace


class Asked(NoRecall):
    """Remembers the bottlenecks that precedents were asked for."""

    def __init__(self) -> None:
        self.bottlenecks: list[str] = []

    def recall(self, *_: Any, bottleneck: str = "", **__: Any) -> list[Recalled]:
        self.bottlenecks.append(bottleneck)
        return []


class HastyExecutor(TextExecutor):
    """Its screens see half of what a full judgement sees."""

    def open(self, task: Task, **_: Any) -> TextSession:
        return HastySession(task, {})


class HastySession(TextSession):
    def evaluate(self, candidate: Candidate, *, depth: Depth, **_: Any) -> Evaluation:
        found = super().evaluate(candidate, depth=depth)
        if depth is not Depth.SCREEN or found.speedup is None:
            return found
        halved = {name: getattr(found.speedup, name) / 2 for name in ("value", "low", "high")}
        return found.model_copy(update={"speedup": found.speedup.model_copy(update=halved)})


def a_context(folder: RunFolder, recall: Asked, executor: TextExecutor | None = None) -> RunContext:
    config = a_config(engine="search", models__model="")
    roles = surroundings(executor or TextExecutor()).roles(config)
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


def profiled(context: RunContext, decision: Decision, candidate: Candidate) -> RunState:
    one = OneCandidate(decision=decision.id, candidate=candidate.id, round=1)
    return profiler(one, SimpleNamespace(context=context))  # type: ignore[arg-type]


def test_a_candidate_is_judged_and_counted_as_it_was_before_the_kill(tmp_path: Path) -> None:
    """The process dies after a child was noted as the best and before the checkpoint: its node is run once more."""
    folder, candidate = Workspace.open(tmp_path).new_run("blur"), a_candidate("// us=50\n")
    decision = Decision(technique="fuse", summary="in one pass", bottleneck="memory", round=1)
    folder.add_candidate(candidate)
    folder.add_decision(decision)
    killed = a_context(folder, Asked(), HastyExecutor())
    before = profiled(killed, decision, candidate)
    assert killed.summary.best_candidate == candidate.id and killed.summary.candidates == 1
    told = [d.to_json() for d in folder.decisions()]
    going_on = a_context(folder, Asked(), HastyExecutor())
    going_on.summary = killed.summary
    assert profiled(going_on, decision, candidate) == before
    assert [d.to_json() for d in folder.decisions()] == told
    assert going_on.summary.candidates == 1
