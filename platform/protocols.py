"""The seams between the rooms. A leaf: it imports records and nothing else of the platform.

``toolexec``, ``memory`` and ``search`` never import each other; they meet through these protocols in the nodes of
the agents' graph. Language, Device, Executor and TaskLoader are open to third parties.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from kernelwright.records import (
    Baseline,
    Candidate,
    Ceilings,
    Decision,
    Depth,
    Directive,
    Environment,
    Evaluation,
    Profile,
    Solution,
    Task,
    TaskFacts,
    Technique,
    Trial,
)

Progress = Callable[[str, Mapping[str, Any]], None]
"""Called with a kind (``evaluation``, ``baseline``, ``trial``, ...) and data for people and events.jsonl."""


@dataclass(frozen=True)
class Availability:
    """Whether something can be used here."""

    ok: bool
    detail: str
    """Version when ok; else what is missing, why it matters and the exact command that brings it."""


@dataclass(frozen=True)
class BuildResult:
    """What building a candidate gave."""

    ok: bool
    artifact: Path | None
    """What the worker loads: a shared library, a Python file, a folder; None when it failed."""
    log: str
    """Compiler output, trimmed to what a person or a model can use."""
    seconds: float
    cached: bool = False


@runtime_checkable
class Language(Protocol):
    """How candidates of one language are built, loaded and taken home. Stateless; safe to share.

    ``build`` runs in the judge's process and may only start bounded child processes; ``load`` and what it returns
    run in the candidate's worker, next to the stranger's code.
    """

    name: str
    entry: str
    """``c``, ``module`` or ``pipeline``."""

    def availability(self) -> Availability:
        """Can this language be built and run here? Fast (well under a second), no imports of heavy packages."""
        ...

    def build(
        self, candidate: Candidate, facts: TaskFacts, *, workload: str, folder: Path, timeout_s: float
    ) -> BuildResult:
        """Build into ``folder`` (private, exists); cached by content through it. Never raises for bad sources."""
        ...

    def export(self, candidate: Candidate, task: Task, facts: TaskFacts) -> str:
        """A self-contained KernelBench file that defines ``ModelNew`` and runs without kernelwright."""
        ...

    def guide(self) -> str:
        """What a coder has to know of this language, in Markdown."""
        ...


class Device(Protocol):
    """A place where candidates run."""

    name: str
    """``cpu``, ``cuda:0``, ``emulated``, ``none``."""

    def availability(self) -> Availability:
        """Is it here?"""
        ...

    def environment(self, *, threads: int) -> Environment:
        """The machine and versions, for every number's sake."""
        ...


class EvaluationSession(Protocol):
    """The judge with one task loaded: warm workers, inputs, baselines, ceilings. Not thread-safe; close it."""

    task: Task
    facts: TaskFacts
    baselines: Sequence[Baseline]
    environment: Environment
    ceilings: Ceilings

    def evaluate(
        self,
        candidate: Candidate,
        *,
        depth: Depth,
        against: Sequence[str] = (),
        deadline_s: float | None = None,
    ) -> Evaluation:
        """Judge one candidate. Never raises for what the candidate does.

        Args:
            candidate: what to judge.
            depth: how thoroughly.
            against: baselines to time beside it; () means the best one at ``screen`` and ``full``, all that were
                measured at ``confirmed``.
            deadline_s: give up (TIMEOUT) after this much wall time; None means the judge's own limit.
        """
        ...

    def compare(self, candidate: Candidate, other: Candidate, *, depth: Depth) -> Evaluation:
        """Judge ``candidate`` with ``other`` as its only baseline, named by its candidate id."""
        ...

    def profile(self, candidate: Candidate, evaluation: Evaluation) -> Profile:
        """Metrics and bottleneck of a candidate that passed."""
        ...

    def export(self, candidate: Candidate) -> str:
        """A self-contained ``ModelNew`` file."""
        ...

    def close(self) -> None:
        """End all workers and remove temporary files. Idempotent."""
        ...


@runtime_checkable
class ShowsCode(Protocol):
    """A session that can show what differs between two candidates' machine code."""

    def difference(self, candidate: Candidate, other: Candidate, *, kind: str) -> str:
        """A unified diff of ``ptx`` or ``sass`` from ``other`` to ``candidate``; "" when they are alike."""
        ...


@dataclass(frozen=True)
class JudgeSettings:
    """What the judge may spend and how strict it is."""

    device: str = "cpu"
    threads: int = 1
    seed: int = 0
    """Mixed into the secret seeds; 0 means drawn from the system."""
    baselines: tuple[str, ...] = ("eager", "compile", "compile-max", "onednn", "start")
    timeout_s: float = 60.0
    """Limit of one candidate's judgement at depth full; screen gets a quarter, confirmed three times."""
    build_timeout_s: float = 60.0
    memory_limit_gib: float = 8.0
    """Address space of a worker; 0 means no limit."""
    cache_dir: Path | None = None
    """Builds, baselines and ceilings; None means a private temporary folder."""
    require_sandbox: str = "rlimits"
    """The lowest tier of sandbox to judge in; ``rlimits`` means any."""
    counters: bool = False
    """Profiles count instructions and misses, too: seconds for each."""


class Executor(Protocol):
    """Opens judging sessions: in local processes by default, elsewhere by plug-in."""

    def open(
        self, task: Task, *, settings: JudgeSettings, progress: Progress | None = None
    ) -> EvaluationSession:
        """Load and preflight the task, build and time its baselines, measure ceilings.

        Raises:
            ReferenceBroken: the reference raises, is not finite or not deterministic.
            TaskError: the task is unfit to be judged.
            MissingTool: the device is not here.
            ConfigError: the sandbox reaches a lower tier than is required.
        """
        ...


class TaskLoader(Protocol):
    """Parses one task format. It never executes a stranger's code."""

    def accepts(self, path: Path) -> bool:
        """Is this file or folder of my format?"""
        ...

    def load(self, path: Path, *, overrides: Mapping[str, Any]) -> Task:
        """Read the task.

        Raises:
            TaskError: missing, unparsable, without Model or get_inputs, an override that names no constant.
        """
        ...


@dataclass(frozen=True)
class Recalled:
    """A solution that recall found, with why and how well it fits."""

    solution: Solution
    score: float
    """Larger is nearer; comparable within one recall only."""
    reasons: tuple[str, ...]
    """What matched and what did not: assumptions on shape, dtype, layout."""
    same_task: bool
    """True when the solution was made for this very task."""


@dataclass(frozen=True)
class TechniqueEvidence:
    """What is known of a technique in a setting: the summary of many decisions."""

    technique: str
    n: int
    failures: int
    median_gain: float | None
    low: float | None
    high: float | None


class Recall(Protocol):
    """Finds precedents."""

    def recall(
        self,
        task: Task,
        facts: TaskFacts,
        *,
        languages: Sequence[str],
        bottleneck: str = "",
        exclude_same_task: bool = False,
        limit: int = 8,
    ) -> list[Recalled]:
        """The nearest solutions, best first."""
        ...

    def evidence(
        self, *, family: str, bottleneck: str = "", language: str = "", without: Task | None = None
    ) -> list[TechniqueEvidence]:
        """What decisions bought on similar tasks, most evidence first; nothing from solutions of ``without``."""
        ...

    def techniques(
        self,
        task: Task,
        recalled: Sequence[Recalled],
        *,
        languages: Sequence[str],
        bottleneck: str = "",
        limit: int = 6,
    ) -> list[Technique]:
        """Pages of knowledge that fit the task, what was recalled for it, and the bottleneck; best first."""
        ...


@dataclass(frozen=True)
class Knowledge:
    """All that a role is shown at one point of a run: ids and records, no live objects."""

    task: Task
    facts: TaskFacts
    baselines: Sequence[Baseline]
    best: Candidate | None = None
    pool: Sequence[Candidate] = ()
    """Candidates that passed, best first; a decision may start from any of them."""
    best_evaluation: Evaluation | None = None
    profile: Profile | None = None
    recalled: Sequence[Recalled] = ()
    evidence: Sequence[TechniqueEvidence] = ()
    techniques: Sequence[Technique] = ()
    """Pages that fit the task, its precedents and the bottleneck, best first; for roles that read."""
    tried: Sequence[Decision] = ()
    languages: Sequence[str] = ()
    round: int = 0
    hint: str = ""
    """What the user wishes: the run's hint and the notes typed since."""
    machine: str = ""
    """The machine in a few lines of words; "" where nobody described it."""
    evaluations: Mapping[str, Evaluation] = field(default_factory=dict)
    """Candidate id -> its most thorough judgement: of the pool, and of this round's parents and children."""
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    """Candidate id -> what limits it; of the same candidates, where they were profiled."""
    trials: Sequence[Trial] = ()
    """All that the tuner tried in this run."""
    named: Sequence[Candidate] = ()
    """Other candidates that the decision at hand names in its text."""


@dataclass(frozen=True)
class Reflection:
    """What the reflector concludes from a round."""

    decisions: Sequence[Decision]
    """The round's decisions with measured, verdict and learned filled in."""
    parent: str | None
    """Candidate id that the next round starts from."""
    go_on: bool
    why: str


class Planner(Protocol):
    """Decides what to try."""

    def plan(self, knowledge: Knowledge, *, limit: int) -> list[Decision]:
        """Ranked decisions, best first; [] when nothing is left to try. Never one whose key was tried."""
        ...


class Coder(Protocol):
    """Turns decisions into candidates."""

    def write(self, knowledge: Knowledge, decision: Decision) -> Candidate | None:
        """The child of ``decision``; None when it cannot be done here (the decision then counts as failed)."""
        ...


class Repairer(Protocol):
    """Mends candidates that the judge refused."""

    def repair(
        self, knowledge: Knowledge, decision: Decision, failed: Candidate, evaluation: Evaluation, *, attempt: int
    ) -> Candidate | None:
        """A mended candidate; None when there is none. ``attempt`` counts from 1 for each decision."""
        ...


class Reflector(Protocol):
    """Compares prediction with measurement."""

    def reflect(self, knowledge: Knowledge, round_: Sequence[tuple[Decision, Evaluation]]) -> Reflection:
        """Verdict per decision and where to go on."""
        ...


@dataclass
class TuningBudget:
    """What a tuning may spend."""

    measurements: int
    seconds: float
    spent_measurements: int = 0
    spent_seconds: float = field(default=0.0)


class Tuner(Protocol):
    """Chooses values of a candidate's declared tunables."""

    def tune(
        self,
        candidate: Candidate,
        *,
        screen: Callable[[Candidate], Evaluation],
        budget: TuningBudget,
        seed: int,
        on_trial: Callable[[Trial], None],
        judge: Callable[[Candidate], Evaluation] | None = None,
    ) -> Candidate:
        """The candidate at the best values found (itself when nothing is better). Every trial goes to on_trial.

        ``judge`` is the next fidelity: asked where screens cannot tell the fastest apart; None lets screens decide.
        """
        ...


class ScheduleSpace(Protocol):
    """Schedules of a pipeline candidate: how recipes from the library and rules become Directives."""

    def start(self, facts: TaskFacts) -> Candidate | None:
        """The task as a pipeline candidate with a plain schedule; None when it cannot be expressed."""
        ...

    def apply(self, candidate: Candidate, recipe: Sequence[Directive]) -> Candidate | None:
        """The candidate with a role-based recipe bound to its Funcs; None when a role has no match."""
        ...

    def proposals(self, candidate: Candidate) -> list[Decision]:
        """Decisions that the rules of scheduling suggest for this pipeline, without precedent."""
        ...
