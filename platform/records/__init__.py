"""Every noun of the platform, one file each: frozen pydantic records.

This package owns the data model and its JSON form. It imports only the standard library and pydantic, runs no
code of others and touches no file but through :meth:`Record.save` and :meth:`Record.load`.
"""

from kernelwright.records.baseline import Baseline
from kernelwright.records.candidate import Candidate, SourceFile, Tunable
from kernelwright.records.citation import Citation
from kernelwright.records.decision import Decision, Directive, Rejected
from kernelwright.records.environment import Ceilings, Environment
from kernelwright.records.evaluation import (
    Evaluation,
    Failure,
    Interval,
    Ratio,
    WorkloadResult,
)
from kernelwright.records.facts import ArgumentFacts, OperationFacts, TaskFacts, WorkloadFacts
from kernelwright.records.hardware import Figure, Hardware, Variant
from kernelwright.records.kernel_facts import KernelFacts
from kernelwright.records.lesson import (
    Lesson,
    LessonChange,
    LessonEffect,
    LessonEvidence,
    LessonScope,
    LessonState,
    LessonTrial,
    lesson_set_hash,
)
from kernelwright.records.pipeline import Func, FuncUpdate, LoopDim, Pipeline, PipelineBuffer
from kernelwright.records.profile import Profile
from kernelwright.records.prompt_version import LessonDraw, PromptEvent, PromptScore, PromptVersion
from kernelwright.records.record import Record, content_hash
from kernelwright.records.run import RunEvent, RunSummary
from kernelwright.records.solution import Provenance, Review, Rung, Solution
from kernelwright.records.status import Depth, DeviceKind, Entry, LanguageName, Level, ReviewState, Status
from kernelwright.records.suite import (
    KernelBenchSelection,
    SampleTimes,
    SuiteDefinition,
    SuitePlan,
    SuiteRow,
    SuiteTask,
    TaskEntry,
)
from kernelwright.records.task import (
    Domain,
    InputSpec,
    KernelPolicy,
    StartKernel,
    Task,
    TolerancePolicy,
    Workload,
)
from kernelwright.records.technique import AppliesTo, CodeSample, Technique
from kernelwright.records.trajectory import Step, Trajectory
from kernelwright.records.trial import Trial

__all__ = [
    "AppliesTo",
    "ArgumentFacts",
    "Baseline",
    "Candidate",
    "Ceilings",
    "Citation",
    "CodeSample",
    "Decision",
    "Depth",
    "DeviceKind",
    "Directive",
    "Domain",
    "Entry",
    "Environment",
    "Evaluation",
    "Failure",
    "Figure",
    "Func",
    "FuncUpdate",
    "Hardware",
    "InputSpec",
    "KernelBenchSelection",
    "KernelFacts",
    "Interval",
    "KernelPolicy",
    "LanguageName",
    "Lesson",
    "LessonChange",
    "LessonDraw",
    "LessonEffect",
    "LessonEvidence",
    "LessonScope",
    "LessonState",
    "LessonTrial",
    "Level",
    "LoopDim",
    "OperationFacts",
    "Pipeline",
    "PipelineBuffer",
    "Profile",
    "PromptEvent",
    "PromptScore",
    "PromptVersion",
    "Provenance",
    "Ratio",
    "Record",
    "Rejected",
    "Review",
    "ReviewState",
    "RunEvent",
    "RunSummary",
    "Rung",
    "SampleTimes",
    "Solution",
    "SourceFile",
    "StartKernel",
    "Status",
    "Step",
    "SuiteDefinition",
    "SuitePlan",
    "SuiteRow",
    "SuiteTask",
    "Task",
    "TaskEntry",
    "TaskFacts",
    "Technique",
    "TolerancePolicy",
    "Trajectory",
    "Trial",
    "Tunable",
    "Variant",
    "Workload",
    "WorkloadFacts",
    "WorkloadResult",
    "content_hash",
    "lesson_set_hash",
]
