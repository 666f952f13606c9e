"""RunConfig -> concrete objects. The only place that names concrete classes; nothing below the CLI calls it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelwright.config import RunConfig
from kernelwright.errors import TaskError, UnknownName
from kernelwright.protocols import Availability, EvaluationSession, Executor, JudgeSettings, Progress
from kernelwright.records import RunEvent, RunSummary, Task
from kernelwright.workspace import RunFolder, Workspace

if TYPE_CHECKING:
    from kernelwright.agents.context import Roles
    from kernelwright.agents.running import Surroundings
    from kernelwright.memory.library import Library
    from kernelwright.report.machine_check import Finding

EXECUTORS = {"local": "kernelwright.toolexec.executors.local:LocalExecutor"}
"""Short name -> dotted path, imported when used."""


def load_named(kind: str, registry: Mapping[str, str], name: str) -> Any:
    """The object behind a short name.

    Raises:
        UnknownName: the registry has no such name.
    """
    if name not in registry:
        raise UnknownName(kind, name, registry)
    module, _, attribute = registry[name].partition(":")
    return getattr(import_module(module), attribute)


def executor(name: str = "local") -> Executor:
    """An executor by its short name."""
    made: Executor = load_named("executor", EXECUTORS, name)()
    return made


def judge_settings(config: RunConfig, workspace: Workspace) -> JudgeSettings:
    """What the judge may spend in this run."""
    return JudgeSettings(
        device=config.device,
        threads=config.threads,
        seed=0,
        baselines=tuple(config.judge.baselines),
        timeout_s=config.judge.timeout_s,
        build_timeout_s=config.judge.build_timeout_s,
        memory_limit_gib=config.judge.memory_limit_gib,
        cache_dir=workspace.cache,
        require_sandbox=config.judge.require_sandbox,
    )


def library(workspace: Workspace) -> Library:
    """The shelves of solutions: the user's over the shipped ones."""
    from kernelwright.memory.library import Library

    return Library(user=workspace.library)


def roles(config: RunConfig, workspace: Workspace) -> Roles:
    """The agents of engine ``search`` and what they draw on."""
    from kernelwright.agents.adaptation import unmet
    from kernelwright.agents.coder import SearchCoder
    from kernelwright.agents.context import Roles
    from kernelwright.agents.planner import SearchPlanner
    from kernelwright.agents.reflector import SearchReflector
    from kernelwright.memory.evidence import Evidence
    from kernelwright.memory.recall import LibraryRecall
    from kernelwright.search.schedule_space import PipelineSpace
    from kernelwright.search.tuner import OptunaTuner

    shelves = library(workspace)
    space = PipelineSpace()
    evidence = Evidence(shelves, runs=workspace.runs, state_file=workspace.cache / "evidence.json")
    return Roles(
        planner=SearchPlanner(space),
        coder=SearchCoder(space),
        reflector=SearchReflector(),
        recall=LibraryRecall(shelves, evidence, unmet=unmet),
        tuner=OptunaTuner(),
        space=space,
        executor=executor(),
        settings=judge_settings(config, workspace),
    )


def surroundings(workspace: Workspace, view: Callable[[RunEvent], None]) -> Surroundings:
    """What a run is given beside its configuration."""
    from kernelwright.agents.running import Surroundings
    from kernelwright.report.run_report import write_report

    return Surroundings(
        roles=lambda config: roles(config, workspace),
        view=view,
        write_report=write_report,
        offer=lambda solution: library(workspace).propose(solution).reason,
    )


def optimize(
    workspace: Workspace, task: Task, config: RunConfig, *, view: Callable[[RunEvent], None], command: str
) -> RunSummary:
    """Run the workflow on a task.

    Raises:
        ConfigError: the sandbox reaches a lower tier than is required; no run is begun then.
    """
    from kernelwright.agents.running import start_run
    from kernelwright.toolexec.sandbox.tiers import require

    require(config.judge.require_sandbox)

    return start_run(workspace, task, config, surroundings=surroundings(workspace, view), command=command)


def resume(workspace: Workspace, folder: RunFolder, *, view: Callable[[RunEvent], None]) -> RunSummary:
    """Go on with a run."""
    from kernelwright.agents.running import resume_run

    return resume_run(folder, surroundings=surroundings(workspace, view))


def find_task(workspace: Workspace, name: str, sets: Sequence[str] = (), *, start: Path | None = None) -> Task:
    """A task by name or path, with ``NAME=value`` changes of its module constants.

    Raises:
        TaskError: missing, unfit, or a change that is not of the form NAME=value.
        UnknownName: no such task.
    """
    from kernelwright.tasks.loading import find_task as find
    from kernelwright.tasks.loading import standard_roots
    from kernelwright.tasks.source import parse_value

    overrides: dict[str, Any] = {}
    for text in sets:
        key, separator, value = text.partition("=")
        if not separator:
            raise TaskError(f"--set {text!r} is not of the form NAME=value", hint="e.g. --set batch_size=16")
        overrides[key.strip()] = parse_value(value)
    return find(name, overrides, standard_roots(workspace.tasks), start=start)


def diagnose(workspace: Workspace) -> list[Finding]:
    """What works on this machine, what is missing, and how to get it."""
    from kernelwright.report.machine_check import check_machine
    from kernelwright.toolexec.devices import DEVICES, device
    from kernelwright.toolexec.languages import LANGUAGES, language
    from kernelwright.toolexec.sandbox.tiers import probe

    return check_machine(
        languages={name: partial(_ask, language, name) for name in LANGUAGES},
        devices={name: partial(_ask, device, name) for name in DEVICES},
        workspace=workspace.root,
        sandbox=probe(),
    )


def _ask(registry: Callable[[str], Any], name: str) -> Availability:
    """Whether a language or device of this name can be used here."""
    found: Availability = registry(name).availability()
    return found


def open_session(
    workspace: Workspace, task: Task, config: RunConfig, progress: Progress | None = None
) -> EvaluationSession:
    """The one judge, with a task loaded."""
    return executor().open(task, settings=judge_settings(config, workspace), progress=progress)
