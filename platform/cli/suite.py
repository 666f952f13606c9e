"""suite run | ablate | list | report | compare: many tasks as one experiment."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelwright.cli.ablation import (
    EngineOption,
    ExcludeSameTaskOption,
    LanguageOption,
    ModelOption,
    NoLessonsOption,
    NoLibraryOption,
    NoProfileOption,
    switches,
)
from kernelwright.cli.output import (
    ConfigOption,
    JsonOption,
    OptionOption,
    RequireSandboxOption,
    WorkspaceOption,
    note,
    print_json,
    say,
)

if TYPE_CHECKING:
    from kernelwright.records import SuiteDefinition, SuitePlan
    from kernelwright.suite.folder import SuiteFolder
    from kernelwright.suite.running import SuiteProgress
    from kernelwright.workspace import Workspace

app = typer.Typer(help="Suites: many tasks, comparisons and ablations, in numbers.", no_args_is_help=True)

SuiteArgument = Annotated[str, typer.Argument(help="A suite file, a shipped suite's name, or a KernelBench folder.")]
RunArgument = Annotated[str, typer.Argument(help="A suite run's id, a part of it, or `last`.")]
SamplesOption = Annotated[int | None, typer.Option(help="Independent runs a task.", min=1)]
SeedOption = Annotated[int | None, typer.Option(help="Seed of the first sample; sample i gets seed + i.", min=0)]
BudgetOption = Annotated[float | None, typer.Option("--budget", help="Wall time of one run, seconds.")]
IdsOption = Annotated[list[str] | None, typer.Option("--id", help="KernelBench ids: 1/19 or 1/1-20. Repeatable.")]
FamilyOption = Annotated[list[str] | None, typer.Option("--family", help="KernelBench families. Repeatable.")]
LevelOption = Annotated[list[int] | None, typer.Option("--level", help="KernelBench levels. Repeatable.")]
ShapesOption = Annotated[str | None, typer.Option(help="KernelBench shapes: original, or reduced by the table.")]
TableOption = Annotated[Path | None, typer.Option(help="CSV of families and shape overrides (level, id, ...).")]
LimitOption = Annotated[int | None, typer.Option(help="At most this many KernelBench tasks.", min=1)]
DeviceOption = Annotated[list[str] | None, typer.Option("--device", help="Devices to share the work. Repeatable.")]
AtOnceOption = Annotated[int | None, typer.Option(help="Runs at once on a device.", min=1)]
LimitSecondsOption = Annotated[float | None, typer.Option(help="Kill a run that takes longer, seconds.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]


@app.command()
def run(
    suite: Annotated[
        str, typer.Argument(help="A suite file, a shipped suite's name, or a KernelBench folder.")
    ] = "",
    resume: Annotated[str, typer.Option(help="Go on with this suite run (an id, a part of it, `last`).")] = "",
    retry: Annotated[
        list[str] | None,
        typer.Option(help="With --resume: try rows of this outcome again (crashed, timeout, error, refused)."),
    ] = None,
    samples: SamplesOption = None,
    seed: SeedOption = None,
    budget: BudgetOption = None,
    device: DeviceOption = None,
    at_once: AtOnceOption = None,
    limit_s: LimitSecondsOption = None,
    id_: IdsOption = None,
    family: FamilyOption = None,
    level: LevelOption = None,
    shapes: ShapesOption = None,
    table: TableOption = None,
    limit: LimitOption = None,
    engine: EngineOption = None,
    model: ModelOption = None,
    language: LanguageOption = None,
    no_library: NoLibraryOption = False,
    no_lessons: NoLessonsOption = False,
    no_profile: NoProfileOption = False,
    exclude_same_task: ExcludeSameTaskOption = False,
    require_sandbox: RequireSandboxOption = None,
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
    quiet: QuietOption = False,
) -> None:
    """Run every task of a suite, k samples each; a failure is a row. Killed or stopped, it goes on where it was."""
    from kernelwright.errors import ConfigError
    from kernelwright.workspace import Workspace

    place = Workspace.open(workspace)
    if bool(suite) == bool(resume):
        raise ConfigError("name a SUITE to run, or --resume a suite run", hint="`kernelwright suite list` shows both")
    given = {"samples": samples, "seed": seed, "devices": device, "at_once": at_once, "limit_s": limit_s}
    selection = _selection(id_, family, level, shapes, table, limit)
    values = switches(
        engine=engine, model=model, language=language, no_library=no_library, no_lessons=no_lessons,
        no_profile=no_profile, exclude_same_task=exclude_same_task,
    )  # fmt: skip
    values |= {"budget.seconds": budget} if budget is not None else {}
    values |= {"judge.require_sandbox": require_sandbox} if require_sandbox is not None else {}
    if resume:
        _go_on(place, resume, retry or [], asked={**given, **selection, **values, "config": config, "option": option},
               json_=json_, quiet=quiet)  # fmt: skip
    if retry:
        raise ConfigError("--retry is for --resume: a new suite has no rows to try again")
    definition = _changed(suite, given, selection)
    folder, plan = _begin(place, definition, values=values, files=config or (), overrides=option or ())
    _drive(place, folder, plan, json_=json_, quiet=quiet)


@app.command()
def ablate(
    suite: SuiteArgument,
    arm: Annotated[
        list[str],
        typer.Option(help='NAME="SWITCHES": what an arm does differently, e.g. bare="--no-library". Repeatable.'),
    ],
    samples: SamplesOption = None,
    seed: SeedOption = None,
    budget: BudgetOption = None,
    device: DeviceOption = None,
    at_once: AtOnceOption = None,
    limit_s: LimitSecondsOption = None,
    id_: IdsOption = None,
    family: FamilyOption = None,
    level: LevelOption = None,
    shapes: ShapesOption = None,
    table: TableOption = None,
    limit: LimitOption = None,
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
    quiet: QuietOption = False,
) -> None:
    """Run arms that differ in named switches, interleaved, with the same tasks, seeds and budgets.

    The first arm is what the others are compared with; an empty one ("full=") is the configuration as it stands.
    Switches: --no-library --no-lessons --no-profile --exclude-same-task --language L --engine E --model M, -o a.b=c.
    """
    from kernelwright.cli.ablation import arms_of
    from kernelwright.workspace import Workspace

    place = Workspace.open(workspace)
    given = {"samples": samples, "seed": seed, "devices": device, "at_once": at_once, "limit_s": limit_s}
    definition = _changed(suite, given, _selection(id_, family, level, shapes, table, limit))
    definition = definition.model_copy(update={"arms": arms_of(arm)})
    values: dict[str, Any] = {"budget.seconds": budget} if budget is not None else {}
    folder, plan = _begin(place, definition, values=values, files=config or (), overrides=option or ())
    _drive(place, folder, plan, json_=json_, quiet=quiet)


@app.command("list")
def list_(json_: JsonOption = False, workspace: WorkspaceOption = None) -> None:
    """Shipped suites, and the suite runs of the workspace."""
    from kernelwright.cli.suite_text import suites_text
    from kernelwright.suite.cells import cells_of
    from kernelwright.suite.definition import read_suite, shipped_names
    from kernelwright.suite.folder import find_suite, suite_ids
    from kernelwright.workspace import Workspace

    place = Workspace.open(workspace)
    shipped = [{"name": n, "description": read_suite(n).description} for n in shipped_names()]
    runs = []
    for name in suite_ids(place):
        folder = find_suite(place, name)
        runs.append({"id": name, "done": len(folder.rows()), "total": len(cells_of(folder.plan()))})
    if json_:
        print_json({"format": "kernelwright/suites/1", "shipped": shipped, "runs": runs})
    else:
        say(suites_text(shipped, runs))


@app.command()
def report(
    suite_run: RunArgument = "last",
    export: Annotated[
        Path | None, typer.Option(help="Folder for KernelBench's own files, too: eval_results.json and baselines.")
    ] = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """A suite run in numbers: table, fast_p, pass@k, means, families. Writes report.html and report.json."""
    from kernelwright.cli.suite_text import suite_text
    from kernelwright.report.suite_page import write_suite_report
    from kernelwright.suite.export import export_kernelbench
    from kernelwright.suite.folder import find_suite
    from kernelwright.suite.summary import figures_json
    from kernelwright.workspace import Workspace

    folder = find_suite(Workspace.open(workspace), suite_run)
    figures = write_suite_report(folder)
    if export is not None:
        for arm in figures.plan.arms:
            where = export if len(figures.plan.arms) == 1 else export / arm
            for path in export_kernelbench(figures.plan, folder.rows(), arm=arm, folder=where):
                note(f"wrote {path}")
    if json_:
        print_json(figures_json(figures))
    else:
        say(suite_text(figures, folder))


@app.command()
def compare(
    first: RunArgument,
    second: Annotated[str, typer.Argument(help="Another suite run; with --arm it may be the same.")],
    arm: Annotated[list[str] | None, typer.Option(help="Arm of the first, then of the second.")] = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Two suite runs paired per task: the interval of the ratio, which families moved, what each cost."""
    from kernelwright.cli.suite_text import comparison_text
    from kernelwright.suite.comparison import compare as paired
    from kernelwright.suite.comparison import comparison_json
    from kernelwright.suite.folder import find_suite
    from kernelwright.suite.summary import summarize
    from kernelwright.workspace import Workspace

    place = Workspace.open(workspace)
    chosen, names = [], []
    for index, name in enumerate((first, second)):
        folder = find_suite(place, name)
        figures = summarize(folder.plan(), folder.rows())
        wanted = (arm or [])[index : index + 1] or list(figures.arms)[:1]
        chosen.append(_arm(figures.arms, wanted[0]))
        names.append(folder.suite_id if len(figures.arms) == 1 else f"{folder.suite_id}:{wanted[0]}")
    told = paired(*chosen, names=names)
    if json_:
        print_json(comparison_json(told))
    else:
        say(comparison_text(told))


@app.command(hidden=True)
def cell(
    suite_run: RunArgument,
    key: Annotated[str, typer.Argument(help="The sample's key.")],
    device: Annotated[str, typer.Option(help="Where to run it.")],
    workspace: WorkspaceOption = None,
) -> None:
    """One sample, as a suite starts it."""
    from kernelwright import wiring
    from kernelwright.suite.cell import die_with_parent, run_cell
    from kernelwright.suite.folder import find_suite
    from kernelwright.workspace import Workspace

    die_with_parent()
    place = Workspace.open(workspace)
    raise typer.Exit(run_cell(place, find_suite(place, suite_run), key, device=device, seams=wiring.suite_seams()))


def _selection(
    ids: Any, families: Any, levels: Any, shapes: str | None, table: Path | None, limit: int | None
) -> dict[str, Any]:
    """What the command line selects of KernelBench."""
    where = str(table.expanduser().resolve()) if table is not None else None
    return {"ids": ids, "families": families, "levels": levels, "shapes": shapes, "limit": limit, "table": where}


def _arm(arms: Any, name: str) -> Any:
    from kernelwright.errors import UnknownName

    if name not in arms:
        raise UnknownName("arm", name, arms)
    return arms[name]


def _changed(name: str, given: dict[str, Any], selection: dict[str, Any]) -> SuiteDefinition:
    """The suite with what the command line says."""
    from pydantic import ValidationError

    from kernelwright.errors import ConfigError
    from kernelwright.records import SuiteDefinition
    from kernelwright.suite.definition import read_suite

    definition = read_suite(name)
    data = definition.model_dump()
    data |= {key: value for key, value in given.items() if value is not None}
    if chosen := {key: value for key, value in selection.items() if value is not None}:
        if data["kernelbench"] is None:
            raise ConfigError(f"--{next(iter(chosen))} selects tasks of KernelBench, and {name} has none")
        if chosen.get("ids") and "levels" not in chosen:
            chosen["levels"] = ()  # ids say their level themselves, and one that is not there is an error
        data["kernelbench"] |= chosen
    try:
        return SuiteDefinition.model_validate(data)
    except ValidationError as error:
        raise ConfigError("; ".join(f"{e['loc'][-1]}: {e['msg']}" for e in error.errors())) from None


def _begin(
    place: Workspace, definition: SuiteDefinition, *, values: dict[str, Any], files: Any, overrides: Any
) -> tuple[SuiteFolder, SuitePlan]:
    """Decide everything, look devices and every task up, and only then make the folder."""
    from kernelwright import wiring
    from kernelwright.errors import TaskError
    from kernelwright.suite.definition import make_plan
    from kernelwright.suite.devices import require_devices, require_ray
    from kernelwright.suite.folder import new_suite
    from kernelwright.toolexec.devices import device
    from kernelwright.workspace import disk_errors

    command = shlex.join(["kernelwright", *sys.argv[1:]])
    plan = make_plan(definition, suite_id="", files=files, overrides=overrides, values=values, command=command)
    require_devices(plan, device)
    require_ray(plan)
    for task in plan.tasks:
        try:
            wiring.find_task(place, task.task, [f"{k}={v!r}" for k, v in task.set.items()])
        except TaskError as error:
            if not Path(task.task).exists():
                raise  # it was written down wrong: nothing is begun
            note(f"{task.key} cannot be loaded, and will be a row that says so: {error.message}")
    folder = new_suite(place, definition.name)
    plan = plan.model_copy(update={"suite_id": folder.suite_id})
    with disk_errors(folder.root):
        plan.save(folder.plan_file)
    return folder, plan


def _go_on(
    place: Workspace, resume: str, retry: list[str], *, asked: dict[str, Any], json_: bool, quiet: bool
) -> None:
    """Go on with a suite run as it was planned; what would change its plan is refused, and missing devices as well."""
    from typing import get_args

    from kernelwright.errors import ConfigError, UnknownName
    from kernelwright.records.suite import Outcome
    from kernelwright.suite.devices import require_devices, require_ray
    from kernelwright.suite.folder import find_suite
    from kernelwright.toolexec.devices import device

    folder = find_suite(place, resume)
    plan = folder.plan()
    if changes := [name for name, value in asked.items() if value not in (None, [], ())]:
        raise ConfigError(
            f"{folder.suite_id} goes on as it was planned, and {', '.join(changes)} would change that",
            hint="leave the options out, or begin a suite run of its own with them",
        )
    for outcome in retry:
        if outcome not in get_args(Outcome):
            raise UnknownName("outcome", outcome, get_args(Outcome))
    require_devices(plan, device)
    require_ray(plan)
    _drive(place, folder, plan, again=retry, json_=json_, quiet=quiet)


def _drive(
    place: Workspace, folder: SuiteFolder, plan: SuitePlan, *, json_: bool, quiet: bool, again: Any = ()
) -> None:
    """Run what has no row, write the report, show it. Exit 1 when a sample did not finish."""
    from kernelwright.cli.suite_text import progress_line, suite_text
    from kernelwright.report.suite_page import write_suite_report
    from kernelwright.suite.devices import hosts
    from kernelwright.suite.running import SuiteRun
    from kernelwright.suite.summary import figures_json

    def command(cell: Any, device: str) -> list[str]:
        words = ["-m", "kernelwright", "suite", "cell", folder.suite_id, cell.key]
        return [sys.executable, *words, "--device", device, "--workspace", str(place.root)]

    def observe(progress: SuiteProgress) -> None:
        if not quiet and (line := progress_line(progress)):
            note(line)

    try:
        with hosts(plan):
            rows = SuiteRun(folder, plan, command=command, observe=observe).run(again=again)
    except KeyboardInterrupt:
        note(f"stopped; go on with: kernelwright suite run --resume {folder.suite_id}")
        raise
    figures = write_suite_report(folder)
    if json_:
        print_json(figures_json(figures))
    else:
        say(suite_text(figures, folder))
    raise typer.Exit(0 if all(r.outcome == "finished" for r in rows) else 1)
