"""RunConfig -> concrete objects. The only place that names concrete classes; nothing below the CLI calls it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelwright.config import RunConfig
from kernelwright.errors import LibraryError, TaskError, UnknownName
from kernelwright.protocols import Availability, EvaluationSession, Executor, JudgeSettings, Progress
from kernelwright.records import (
    Candidate,
    Depth,
    Entry,
    Environment,
    RunEvent,
    Rung,
    RunSummary,
    Solution,
    Task,
    TaskFacts,
)
from kernelwright.workspace import RunFolder, Workspace

if TYPE_CHECKING:
    from kernelwright.agents.context import Roles
    from kernelwright.agents.llm.prompt_book import PromptBook
    from kernelwright.agents.running import PlanEditor, Surroundings
    from kernelwright.memory.answers import Answers
    from kernelwright.memory.documents import Document
    from kernelwright.memory.evidence import Evidence
    from kernelwright.memory.index import Index, SyncReport
    from kernelwright.memory.library import Library
    from kernelwright.memory.measuring import LadderReport
    from kernelwright.memory.recall import LibraryRecall
    from kernelwright.memory.verifications import Verification
    from kernelwright.report.machine_check import Finding
    from kernelwright.suite.cell import Seams

EXECUTORS = {
    "local": "kernelwright.toolexec.executors.local:LocalExecutor",
    "ray": "kernelwright.toolexec.executors.ray:RayExecutor",
}
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
        counters=config.counts,
    )


def library(workspace: Workspace, config: RunConfig | None = None) -> Library:
    """The shelves of solutions: the user's over the team's over the shipped ones."""
    from kernelwright.memory.library import Library

    team = config.library.team if config is not None else ""
    return Library(user=workspace.library, team=Path(team).expanduser() if team else None)


def library_index(workspace: Workspace, config: RunConfig) -> Index:
    """The library's index, as configured; loads no model before it is asked."""
    from kernelwright.memory.index import Index

    options = config.library
    return Index(workspace.index, model=options.embedding, server=options.server)


def evidence(workspace: Workspace, shelves: Library) -> Evidence:
    """What decisions bought, over the workspace's runs and the library's ladders."""
    from kernelwright.memory.evidence import Evidence

    return Evidence(shelves, runs=workspace.runs, state_file=workspace.evidence_file)


def recall(workspace: Workspace, config: RunConfig, *, states: Sequence[str] = ("promoted",)) -> LibraryRecall:
    """Hybrid recall by hand: structure, descriptions and words."""
    from kernelwright.agents.adaptation import unmet
    from kernelwright.memory.recall import LibraryRecall
    from kernelwright.records import ReviewState

    shelves = library(workspace, config)
    index = library_index(workspace, config) if config.library.index else None
    chosen = [ReviewState(state) for state in states]
    return LibraryRecall(shelves, evidence(workspace, shelves), unmet=unmet, states=chosen, index=index)


def task_facts(workspace: Workspace, task: Task, config: RunConfig) -> TaskFacts:
    """A task's operators, shapes and dtypes, from its reference in a process of its own; nothing is timed.

    Raises:
        ReferenceBroken: the reference raises.
    """
    from kernelwright.toolexec.judge.baselines import facts_of
    from kernelwright.toolexec.judge.pool import WorkerPool
    from kernelwright.toolexec.judge.reference import Reference

    settings = judge_settings(config, workspace)
    pool = WorkerPool(threads=settings.threads, memory_limit_gib=settings.memory_limit_gib)
    try:
        reference = Reference(task, pool, settings.threads)
        reference.load(1)
        reference.export(1, workspace.cache)
        return facts_of(task, reference)
    finally:
        pool.close()


def verify_solution(
    workspace: Workspace, solution: Solution, task: Task, config: RunConfig, *, depth: Depth
) -> LadderReport:
    """Measure a ladder again through the one judge, adapted to the task as a run would adapt it."""
    from kernelwright.agents.adaptation import Binding, adapt, bind
    from kernelwright.memory.measuring import verify
    from kernelwright.search.schedule_space import PipelineSpace

    sessions: list[EvaluationSession] = []

    def open_judge(task: Task) -> EvaluationSession:
        sessions.append(open_session(workspace, task, config))
        return sessions[-1]

    def candidate_of(rung: Rung) -> Candidate | str | None:
        facts = sessions[-1].facts
        if solution.entry is not Entry.PIPELINE:
            binding = bind(solution, facts) if solution.applies else Binding(True)  # nothing stated: the judge says
            return adapt(rung, binding) if binding.fits else binding.why_not
        space = PipelineSpace()
        start = space.start(facts)
        begun = start and start.model_copy(update={"tunables": rung.candidate.tunables})
        return (space.apply(begun, rung.decision.directives) if begun else None) or space.refusal

    return verify(solution, task, open_judge, depth=depth, candidate_of=candidate_of)


def reindex(
    workspace: Workspace,
    config: RunConfig,
    *,
    anew: bool = False,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> SyncReport:
    """Bring the library's index up to date with the files, technique pages included."""
    index = library_index(workspace, config)
    try:
        return index.sync(library(workspace, config), _pages(), anew=anew, progress=progress)
    finally:
        index.close()


def synced_index(workspace: Workspace, config: RunConfig) -> Index:
    """The library's index, up to date; the caller closes it."""
    index = library_index(workspace, config)
    index.sync(library(workspace, config), _pages())
    return index


def _pages() -> list[tuple[Document, str]]:
    """The technique pages as the index holds them, with their signatures."""
    from kernelwright.memory.answers import technique_document
    from kernelwright.memory.knowledge_pages import load_techniques

    documents = [technique_document(page) for page in load_techniques()[0]]
    return [(document, document.hash) for document in documents]


def ask_library(workspace: Workspace, task: Task, config: RunConfig, **conditions: Any) -> Answers:
    """All that memory knows for a task, under the conditions of `memory.answers.Asked`; the recall is recorded."""
    from kernelwright.memory.answers import Asked, answer
    from kernelwright.memory.knowledge_pages import load_techniques
    from kernelwright.memory.recall_log import note_recall

    asked = recall(workspace, config)
    answers = answer(
        asked,
        evidence(workspace, asked.library),
        load_techniques()[0],
        task,
        task_facts(workspace, task, config),
        Asked(**conditions),
    )
    note_recall(workspace.recalls_file, answers.to_line())
    return answers


def verify_entry(
    workspace: Workspace, id: str, config: RunConfig, *, task: str = "", depth: Depth, write: bool = False
) -> Verification:
    """Measure an entry's ladder again, and record where, when and what came of it.

    Raises:
        LibraryError: a general recipe, and no task was named.
    """
    from kernelwright.memory.curation import writable
    from kernelwright.memory.measuring import write_back
    from kernelwright.memory.verifications import note_verification

    shelves = library(workspace, config)
    solution = shelves.get(id)
    name = task or solution.task or solution.measured_task
    if not name:
        raise LibraryError(f"{id} is a general recipe: it was made for no task", hint="name one with --task NAME")
    report = verify_solution(workspace, solution, find_task(workspace, name), config, depth=depth)
    if write:
        write_back(report, writable(shelves, id))
    candidate = solution.rungs[-1].candidate.id
    return note_verification(workspace.verifications_file, report, origin=solution.origin, candidate=candidate)


def here(config: RunConfig) -> Environment:
    """This machine and its versions."""
    from kernelwright.toolexec.devices import device

    found: Environment = device(config.device).environment(threads=config.threads)
    return found


def roles(config: RunConfig, workspace: Workspace, book: PromptBook | None = None) -> Roles:
    """The agents of a run, as the configuration has them, what they draw on, and are told (None: what was learned)."""
    from kernelwright.agents.adaptation import unmet
    from kernelwright.agents.coder import SearchCoder
    from kernelwright.agents.context import Roles
    from kernelwright.agents.engines import with_models
    from kernelwright.agents.planner import SearchPlanner
    from kernelwright.agents.reflector import SearchReflector
    from kernelwright.memory.recall import RANKED_WHOLE, LibraryRecall
    from kernelwright.promptopt.book import BUDGET_TOKENS, LearnedPrompts
    from kernelwright.search.gpu_space import GpuPipelineSpace
    from kernelwright.search.pipeline_tuner import PipelineTuner
    from kernelwright.search.schedule_space import PipelineSpace
    from kernelwright.search.tuner import OptunaTuner
    from kernelwright.toolexec.languages.halide_gpu import own_schedule

    shelves = library(workspace, config)
    space = GpuPipelineSpace(own_schedule) if config.device.startswith("cuda") else PipelineSpace()
    # Without a model the exported graph decides; a library that is ranked whole by it gains nothing from vectors.
    large = config.library.index and len(shelves.scan()) > RANKED_WHOLE
    index = library_index(workspace, config) if large else None
    searching = Roles(
        planner=SearchPlanner(space),
        coder=SearchCoder(space),
        reflector=SearchReflector(),
        recall=LibraryRecall(shelves, evidence(workspace, shelves), unmet=unmet, index=index),
        tuner=PipelineTuner(OptunaTuner(), measurements=config.search.schedule_measurements, threads=config.threads),
        space=space,
        executor=executor(config.executor),
        settings=judge_settings(config, workspace),
    )
    learned = LearnedPrompts(workspace, device=config.device, budget_tokens=BUDGET_TOKENS if config.lessons else 0)
    return learned.joined(with_models(searching, config, book or learned))


def surroundings(
    workspace: Workspace, view: Callable[[RunEvent], None], edit_plan: PlanEditor | None = None
) -> Surroundings:
    """What a run is given beside its configuration."""
    from kernelwright.agents.running import Surroundings
    from kernelwright.report.run_report import write_report

    return Surroundings(
        roles=lambda config: roles(config, workspace),
        view=view,
        write_report=write_report,
        # What one sample of a suite finds must not be evidence to the next.
        offer=lambda found, config: "kept in the run: a suite's samples offer nothing to the library"
        if workspace.runs.parent != workspace.root else library(workspace, config).propose(found).reason,  # fmt: skip
        edit_plan=edit_plan,
    )


def optimize(
    workspace: Workspace, task: Task, config: RunConfig, *, view: Callable[[RunEvent], None], command: str,
    start_from: str = "", edit_plan: PlanEditor | None = None,
) -> RunSummary:
    """Run the workflow on a task, from another run's candidate where ``start_from`` names one as ``RUN:CANDIDATE``.

    Raises:
        ConfigError: a lower tier of sandbox than is required, a model without key; no run is begun then.
        UnknownName: no such run or candidate.
    """
    from kernelwright.agents.running import start_run
    from kernelwright.toolexec.sandbox.tiers import require

    require(config.judge.require_sandbox)

    run, _, candidate = start_from.partition(":")
    start = (start_from, workspace.run(run).candidate(candidate)) if start_from else None
    around = surroundings(workspace, view, edit_plan)
    return start_run(workspace, task, config, surroundings=around, command=command, start_from=start)


def resume(
    workspace: Workspace, folder: RunFolder, *, view: Callable[[RunEvent], None], edit_plan: PlanEditor | None = None
) -> RunSummary:
    """Go on with a run."""
    from kernelwright.agents.running import resume_run

    return resume_run(folder, surroundings=surroundings(workspace, view, edit_plan))


def suite_seams() -> Seams:
    """What a suite's samples are run with."""
    from kernelwright.suite.cell import Seams
    from kernelwright.toolexec.preflight import preflight

    return Seams(
        find_task=find_task,
        preflight=lambda place, task, config: preflight(task, judge_settings(config, place)),
        optimize=lambda place, task, config, view, command: optimize(place, task, config, view=view, command=command),
        resume=lambda place, folder, view: resume(place, folder, view=view),
    )


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
    return executor(config.executor).open(task, settings=judge_settings(config, workspace), progress=progress)
