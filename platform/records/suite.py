"""SuiteDefinition, SuitePlan and SuiteRow: many tasks as one experiment, and what came of each sample."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from kernelwright.records.evaluation import Ratio
from kernelwright.records.record import Record
from kernelwright.records.task import Override

Outcome = Literal["finished", "refused", "error", "timeout", "crashed"]
"""How a sample ended: its run finished; the judge refused the task (unfit or broken reference); another error; it hung
and was killed; its process died."""


class TaskEntry(Record):
    """A task of a suite file, where its name alone does not say enough."""

    task: str
    """A name or path as ``optimize`` takes it; relative paths start at the suite file. A path with ``*`` stands for
    all files that fit, be it none."""
    set: dict[str, Override] = Field(default_factory=dict)
    """Module constants to change."""
    family: str = ""
    """"" means the task's own."""


class KernelBenchSelection(Record):
    """Which files of a KernelBench checkout belong to a suite. Filters are joined by "and"."""

    root: str = ""
    """The checkout; "" means what KERNELBENCH_ROOT names."""
    levels: tuple[int, ...] = ()
    """() means all."""
    ids: tuple[str, ...] = ()
    """``1/19`` or ``1/1-20``; () means all."""
    families: tuple[str, ...] = ()
    """Families of the table; () means all."""
    table: str = ""
    """CSV with level, id, family, overrides, degenerate; "" means the shipped one."""
    shapes: Literal["original", "reduced"] = "original"
    """``reduced``: the table's overrides are applied, and reports say so."""
    limit: int = Field(default=0, ge=0)
    """At most this many tasks, in the benchmark's order; 0 means no limit."""


class SuiteDefinition(Record):
    """A suite file as its author writes it, in YAML."""

    FORMAT: ClassVar[str] = "suite"

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.\-]*$")
    description: str = ""
    tasks: tuple[str | TaskEntry, ...] = ()
    kernelbench: KernelBenchSelection | None = None
    """Tasks of KernelBench, after those of ``tasks``."""
    samples: int = Field(default=1, ge=1)
    """Independent runs a task."""
    seed: int = Field(default=0, ge=0)
    """Seed of the first sample; sample i is run with seed + i."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Overlay over configs/default.yaml for every run."""
    arms: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Name -> overlay over ``options``: the arms of an ablation. {} means one arm, ``main``."""
    devices: tuple[str, ...] = ()
    """Devices to share the work; () means the configuration's."""
    at_once: int = Field(default=1, ge=1)
    """Runs at once on a device. Above 1 their builds disturb each other's measurements."""
    limit_s: float = Field(default=0.0, ge=0)
    """Wall time after which a run counts as hung and is killed; 0 means thrice its budget and ten minutes."""
    preflight: bool = True
    """False: which tasks are degenerate is not looked at."""

    @model_validator(mode="after")
    def _holds_something(self) -> SuiteDefinition:
        if not self.tasks and self.kernelbench is None:
            raise ValueError("a suite needs `tasks` or `kernelbench`")
        return self


class SuiteTask(Record):
    """A task as a plan holds it."""

    key: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_\-]*$")
    """Its name within the suite: of rows and folders."""
    task: str
    """A name or an absolute path."""
    set: dict[str, Override] = Field(default_factory=dict)
    family: str = ""
    level: int = 0
    """KernelBench's level; 0 means not of KernelBench."""
    number: int = 0
    """KernelBench's problem id."""
    file: str = ""
    """KernelBench's file name."""
    degenerate: tuple[str, ...] = ()
    """Wrong results that a plain allclose is known to accept; told by the table."""


class SuitePlan(Record):
    """A suite run with everything decided: plan.json. It never changes once rows exist."""

    FORMAT: ClassVar[str] = "suite-plan"

    suite_id: str
    name: str
    description: str = ""
    tasks: tuple[SuiteTask, ...]
    samples: int = 1
    seed: int = 0
    arms: dict[str, dict[str, Any]]
    """Arm -> complete configuration, before seed and device are put in."""
    switches: dict[str, str] = Field(default_factory=dict)
    """Arm -> how it was asked for, for people."""
    devices: tuple[str, ...]
    at_once: int = 1
    limit_s: float = 0.0
    preflight: bool = True
    created_at: str = ""
    command: str = ""


class SampleTimes(Record):
    """Raw samples of one contestant at the first workload, summed up."""

    mean_us: float
    std_us: float
    min_us: float
    max_us: float
    samples: int


class SuiteRow(Record):
    """What came of one sample of one task in one arm: a line of rows.jsonl. Failures are rows, too."""

    FORMAT: ClassVar[str] = "suite-row"

    cell: str
    """The sample's key: task, arm and number."""
    arm: str
    task: str
    """The task's key in the plan."""
    sample: int
    seed: int
    outcome: Outcome
    detail: str = ""
    """Why it ended so."""
    family: str = "unknown"
    task_id: str = ""
    run: str = ""
    """Folder of the run, relative to the suite's; "" when none was begun."""
    reason: str = ""
    """The run's own reason to end."""
    reduced: bool = False
    """Shapes are smaller than the benchmark's own."""
    degenerate: tuple[str, ...] = ()
    """Wrong results that a plain allclose accepts here; such tasks stay out of the headline."""
    compiled: bool = False
    """A candidate was built."""
    limits: tuple[str, ...] = ()
    """What limits each kernel that was only compiled."""
    correct: bool = False
    """A candidate passed at depth full or confirmed."""
    confirmed: bool = False
    """The quoted speed-up is of depth confirmed."""
    speedup: Ratio | None = None
    """Of the best candidate over the best baseline; None when nothing passed."""
    best_baseline: str = ""
    baselines_us: dict[str, float] = Field(default_factory=dict)
    """Baseline -> weighted geometric mean of its medians over the workloads."""
    latency_us: float | None = None
    """The same of the best candidate."""
    of_floor: float | None = None
    """The smallest over the workloads; 1 is the machine's limit."""
    same_task_precedent: bool = False
    candidates: int = 0
    measurements: int = 0
    statuses: dict[str, int] = Field(default_factory=dict)
    """Status -> candidates that ended with it."""
    seconds: float = 0.0
    build_s: float = 0.0
    measure_s: float = 0.0
    model_s: float | None = None
    """Waiting for a model; None means unknown."""
    tokens: int | None = None
    """In and out; None means unknown."""
    cost_usd: float | None = None
    """None means unknown."""
    times: dict[str, SampleTimes] = Field(default_factory=dict)
    """``candidate`` and baselines -> what was sampled in the best candidate's judgement."""
    hardware: str = ""
    machine: str = ""
    """Hash of what makes times comparable."""
    device: str = ""
    at: str = ""
    """UTC, ISO 8601: when the row was written."""

    @property
    def gained(self) -> bool:
        """A confirmed gain: the interval lies above 1."""
        return self.confirmed and self.speedup is not None and self.speedup.low > 1.0

    @property
    def delivered(self) -> float:
        """What the user has in hand: the gain where one was confirmed, else 1, the best baseline itself."""
        return self.speedup.value if self.gained and self.speedup is not None else 1.0
