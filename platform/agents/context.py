"""RunContext: the live objects of one run, handed to the graph's nodes through LangGraph's runtime.

Owns the budget, the way to the judge (every judgement is stored before it is used, and never made twice) and the
run's story. Nothing here is checkpointed.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kernelwright.agents.llm.desk import ModelDesk, RunLink
from kernelwright.config import RunConfig, Target, parse_target
from kernelwright.protocols import (
    Coder,
    EvaluationSession,
    Executor,
    JudgeSettings,
    Planner,
    Recall,
    Recalled,
    Reflector,
    Repairer,
    ScheduleSpace,
    Tuner,
)
from kernelwright.records import Candidate, Depth, Evaluation, RunEvent, RunSummary, Solution, Status, Task
from kernelwright.workspace import RunFolder, now

_THOROUGH = {Depth.SCREEN: 0, Depth.FULL: 1, Depth.CONFIRMED: 2}


@dataclass
class Roles:
    """The three agents of a run and what they draw on."""

    planner: Planner
    coder: Coder
    reflector: Reflector
    recall: Recall
    tuner: Tuner
    space: ScheduleSpace
    executor: Executor
    settings: JudgeSettings
    models: ModelDesk | None = None
    """The way to language models; None where no role has one."""
    repairer: Repairer | None = None
    """Mends what the judge refused; None where no model writes."""


@dataclass
class RunContext:
    """What nodes need beside the state."""

    config: RunConfig
    folder: RunFolder
    task: Task
    roles: Roles
    summary: RunSummary
    offer: Callable[[Solution], str] = lambda solution: "no library"
    """Takes the confirmed winner as a proposed Solution; says in words what became of it."""
    write_report: Callable[[RunFolder], None] = lambda folder: None
    view: Callable[[RunEvent], None] = lambda event: None
    edit_plan: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] | None = None
    """Shows a plan to the user and gives back what he wants; None: nobody is there to ask."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Set by Ctrl-C: the run ends after the measurement at hand, with the best so far."""
    clock: Callable[[], float] = time.monotonic
    recalled: list[Recalled] = field(default_factory=list)
    fingerprints: dict[str, str] = field(default_factory=dict)
    """Candidate id -> what makes it the same kernel as another."""
    judged: list[Evaluation] = field(default_factory=list)
    """Judgements made (not recalled from files) since it was last cleared; for the account of time."""

    def __post_init__(self) -> None:
        self.target: Target = parse_target(self.config.target)
        self._began = self.clock()
        self._seconds_before = self.summary.seconds
        self._session: EvaluationSession | None = None
        self.judging = threading.RLock()
        """Held by whoever uses the judge: one candidate at a time."""
        self._place = threading.local()
        if self.roles.models is not None:
            self.roles.models.bind(
                RunLink(
                    run_id=self.folder.run_id,
                    calls=self.folder.calls,
                    left_s=lambda: self.left_s - self.reserve_s,
                    stopped=self.stop.is_set,
                    emit=self.emit,
                    show=self.show,
                )
            )

    # --- the run's story -------------------------------------------------------------------------------------------

    def emit(self, kind: str, message: str = "", **data: Any) -> None:
        """Tell the run's story: to events.jsonl and to whoever is watching."""
        event = self._event(kind, message, data)
        self.folder.add_event(event)
        self.view(event)

    def show(self, kind: str, message: str = "", **data: Any) -> None:
        """Tell whoever is watching what goes on at this moment: kinds ``doing`` and ``stream``. Nothing is stored."""
        self.view(self._event(kind, message, data))

    def _event(self, kind: str, message: str, data: Mapping[str, Any]) -> RunEvent:
        spent = {
            "spent_s": round(self.spent_s, 2),
            "left_s": round(self.left_s, 1),
            "measured": self.summary.measurements,
        }
        return RunEvent(at=now(), kind=kind, node=self.node, round=self.round, message=message, data={**spent, **data})

    def enter(self, node: str, round_: int) -> None:
        """A node begins."""
        self._place.node, self._place.round = node, round_
        self.emit("node", f"round {round_}: {node}" if round_ else node)

    @property
    def node(self) -> str:
        """The node that this thread works for; "" before the first."""
        return str(getattr(self._place, "node", ""))

    @property
    def round(self) -> int:
        """The round that this thread works for."""
        return int(getattr(self._place, "round", 0))

    def update(self, **changes: Any) -> None:
        """Rewrite run.json."""
        self.summary = self.summary.model_copy(update={**changes, "seconds": self.spent_s})
        self.folder.save(self.summary, self.folder.summary_file)

    # --- budget ----------------------------------------------------------------------------------------------------

    @property
    def spent_s(self) -> float:
        """Wall time of this run over all its sessions, seconds."""
        return self._seconds_before + self.clock() - self._began

    @property
    def left_s(self) -> float:
        """Wall time left, seconds; never below 0."""
        return max(0.0, self.config.budget.seconds - self.spent_s)

    @property
    def reserve_s(self) -> float:
        """Part of the time budget kept for confirming the winner, seconds."""
        return min(20.0, 0.2 * self.config.budget.seconds)

    @property
    def left_measurements(self) -> int:
        """Measurements left; never below 0."""
        return max(0, self.config.budget.measurements - self.summary.measurements)

    def ending(self) -> str:
        """Why the run has to end now; "" when it may go on.

        Where the baselines took all the time there is, the first candidate is judged all the same, untuned: a run that
        ends with nothing has wasted the time as well.
        """
        if self.stop.is_set():
            return "interrupted"
        if self.left_s <= self.reserve_s and self.summary.candidates:
            return "budget: time"
        if self.left_measurements <= 0:
            return "budget: measurements"
        if self.config.budget.candidates and self.summary.candidates >= self.config.budget.candidates:
            return "budget: candidates"
        return ""

    def ending_of_models(self) -> str:
        """The limit of money or tokens that is reached; what was written before is judged all the same."""
        return self.roles.models.limit() if self.roles.models is not None else ""

    # --- the judge -------------------------------------------------------------------------------------------------

    @property
    def session(self) -> EvaluationSession:
        """The judge with this run's task; opened when first needed."""
        with self.judging:
            if self._session is None:
                self.emit("prepare", "loading the task, timing its baselines")
                self._session = self.roles.executor.open(
                    self.task, settings=self.roles.settings, progress=self._judge_progress
                )
            return self._session

    def _judge_progress(self, kind: str, data: Mapping[str, Any]) -> None:
        self.emit(kind, str(data.get("message", "")), **{k: v for k, v in data.items() if k != "message"})

    def evaluate(self, candidate: Candidate, depth: Depth, *, base_id: str | None = None) -> Evaluation:
        """Judge a candidate, or return the judgement of this depth that is stored already.

        Args:
            candidate: what to judge.
            depth: how thoroughly.
            base_id: set while tuning: the candidate whose tunables are tried.
        """
        with self.judging:
            if (found := self.stored(candidate.id, depth, base_id=base_id)) is not None:
                return found
            self.folder.add_candidate(candidate) if base_id is None else None
            evaluation = self.session.evaluate(candidate, depth=depth)
            self.folder.add_evaluation(evaluation, base_id=base_id)
            self.judged.append(evaluation)
            self.update(measurements=self.summary.measurements + 1)
            return evaluation

    def measured_again(self, candidate: Candidate, first: Evaluation) -> Evaluation:
        """A second judgement of the depth of one that was disturbed, made once; what counts of both."""
        with self.judging:
            lines = [e for e in self.folder.evaluations(candidate.id) if e.depth is first.depth]
            if len(lines) < 2:
                self.emit("warning", "the measurement was disturbed: it is made once more", candidate=candidate.id)
                second = self.session.evaluate(candidate, depth=first.depth)
                self.folder.add_evaluation(second)
                self.judged.append(second)
                self.update(measurements=self.summary.measurements + 1)
                lines.append(second)
            return max(enumerate(lines), key=lambda pair: _counting(*pair))[1]

    def stored(self, candidate_id: str, depth: Depth, *, base_id: str | None = None) -> Evaluation | None:
        """The latest stored judgement of this depth, or None."""
        lines = self.folder.evaluations(candidate_id) if base_id is None else self.folder.screens(base_id)
        return next((e for e in reversed(lines) if e.candidate_id == candidate_id and e.depth is depth), None)

    def best_evaluation(self, candidate_id: str) -> Evaluation | None:
        """The most thorough stored judgement: confirmed, else full, else screen."""
        lines = [e for e in self.folder.evaluations(candidate_id) if e.candidate_id == candidate_id]
        return max(enumerate(lines), key=lambda pair: _counting(*pair))[1] if lines else None

    def latency_us(self, evaluation: Evaluation) -> float | None:
        """Weighted geometric mean of the medians over the workloads, microseconds."""
        weights = {w.name: w.weight for w in self.task.workloads}
        total = logs = 0.0
        for result in evaluation.workloads:
            if result.latency_us is None:
                return None
            weight = weights.get(result.workload, 1.0)
            total, logs = total + weight, logs + weight * math.log(result.latency_us.median)
        return math.exp(logs / total) if total else None

    def reached_target(self, evaluation: Evaluation) -> bool:
        """True when the run's target is met by this judgement."""
        if not evaluation.passed or evaluation.speedup is None:
            return False
        if self.target.speedup is not None:
            return evaluation.speedup.surely >= self.target.speedup
        latency = self.latency_us(evaluation)
        return (
            self.target.latency_us is not None and latency is not None and latency <= self.target.latency_us
        )

    def counts(self, evaluation: Evaluation) -> bool:
        """True when a judgement may become the best: it passed, and regresses nowhere where that is forbidden."""
        if not evaluation.passed or evaluation.speedup is None:
            return False
        return not (self.task.policy.forbid_regression and evaluation.regressed)

    def close(self) -> None:
        """End the judge's processes."""
        if self._session is not None:
            self._session.close()
            self._session = None


def _counting(place: int, evaluation: Evaluation) -> tuple[int, bool, bool, bool, int]:
    """Orders a candidate's judgements: the more thorough, verdicts, refusals before passes, the steadier, the later."""
    decided = evaluation.status not in (Status.UNSTABLE, Status.UNJUDGED)
    steady = evaluation.speedup is not None and not evaluation.speedup.disturbed
    return _THOROUGH[evaluation.depth], decided, not evaluation.passed, steady, place
