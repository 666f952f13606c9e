"""demo, optimize, resume: run the workflow and show what came of it."""

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
    SetOption,
    WorkspaceOption,
    note,
    print_json,
    say,
)

if TYPE_CHECKING:
    from kernelwright.config import RunConfig

DEMO_TASK = "box_blur_3x3"
DEMO_BUDGET_S = 45.0

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]


def demo(
    require_sandbox: RequireSandboxOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
    quiet: Quiet = False,
) -> None:
    """Make a shipped kernel faster, for real, in about two minutes."""
    options: dict[str, Any] = {
        "budget.seconds": DEMO_BUDGET_S,
        "budget.rounds": 2,
        "search.decisions_per_round": 3,
        "search.tune_measurements": 3,
        "search.tune_seconds": 4.0,
    }
    if require_sandbox is not None:
        options["judge.require_sandbox"] = require_sandbox
    _optimize(DEMO_TASK, options=options, workspace=workspace, json_=json_, quiet=quiet)


def optimize(
    task: Annotated[str, typer.Argument(help="A task's name, its folder, or a KernelBench file.")],
    target: Annotated[str, typer.Option(help="Stop when reached: 0.3ms or 2x.")] = "",
    budget: Annotated[float | None, typer.Option("--budget", help="Wall time of the run, seconds.")] = None,
    measurements: Annotated[int | None, typer.Option(help="Most measurements.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Most rounds.")] = None,
    language: LanguageOption = None,
    threads: Annotated[int | None, typer.Option(help="Threads a kernel may use.")] = None,
    device: Annotated[
        str | None, typer.Option(help="cpu; cuda:0; none compiles for GPUs and says what limits a kernel.")
    ] = None,
    start: Annotated[Path | None, typer.Option(help="A slow kernel that you bring; it becomes a baseline.")] = None,
    exclude_same_task: ExcludeSameTaskOption = False,
    no_library: NoLibraryOption = False,
    no_lessons: NoLessonsOption = False,
    no_profile: NoProfileOption = False,
    engine: EngineOption = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the search.")] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="openai/NAME, relay:DIR or scripted:FILE; engine hybrid.")
    ] = None,
    hint: Annotated[str | None, typer.Option(help="A wish that the model reads.")] = None,
    from_: Annotated[
        str, typer.Option("--from", help="RUN:CANDIDATE of an earlier run to start from.", metavar="RUN:CANDIDATE")
    ] = "",
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Show every plan first, to edit, drop or add decisions.")
    ] = False,
    no_store_prompts: Annotated[
        bool, typer.Option("--no-store-prompts", help="Keep prompts out of the run's calls/.")
    ] = False,
    require_sandbox: RequireSandboxOption = None,
    set_: SetOption = None,
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
    quiet: Quiet = False,
) -> None:
    """Make a kernel faster: plan, write, judge, reflect, within a budget."""
    values: dict[str, Any] = {
        "target": target or None,
        "budget.seconds": budget,
        "budget.measurements": measurements,
        "budget.rounds": rounds,
        "threads": threads,
        "device": device,
        "seed": seed,
        "models.model": model,
        "models.store_prompts": False if no_store_prompts else None,
        "hint": hint,
        "interactive": interactive or None,
        "judge.require_sandbox": require_sandbox,
    }
    given = {k: v for k, v in values.items() if v is not None}
    given |= switches(
        engine=engine, language=language, no_library=no_library, no_lessons=no_lessons, no_profile=no_profile,
        exclude_same_task=exclude_same_task,
    )  # fmt: skip
    _optimize(
        task,
        options=given,
        sets=set_ or (),
        files=config or (),
        overrides=option or (),
        start=start,
        start_from=from_,
        workspace=workspace,
        json_=json_,
        quiet=quiet,
    )


def _optimize(
    task_name: str,
    *,
    options: dict[str, Any],
    workspace: Path | None,
    json_: bool,
    quiet: bool,
    sets: Any = (),
    files: Any = (),
    overrides: Any = (),
    start: Path | None = None,
    start_from: str = "",
) -> None:
    from kernelwright import wiring
    from kernelwright.cli.steering import at_terminal
    from kernelwright.cli.view import open_view
    from kernelwright.config import load_config
    from kernelwright.workspace import Workspace

    run_config = load_config(files=files, overrides=overrides, values=options)
    place = Workspace.open(workspace)
    task = wiring.find_task(place, task_name, sets, start=start)
    with open_view(task=task.name, config=run_config, quiet=quiet) as view:
        desk = at_terminal(place, view, interactive=run_config.interactive)
        summary = wiring.optimize(
            place, task, run_config, view=desk.view, command=_command(), start_from=start_from, edit_plan=desk.edit_plan
        )
    _show(place, summary.run_id, json_=json_)


def resume(
    run: Annotated[str, typer.Argument(help="A run's id, a part of it, or `last`.")],
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
    quiet: Quiet = False,
) -> None:
    """Go on with a run that was killed or stopped."""
    from kernelwright import wiring
    from kernelwright.cli.steering import at_terminal
    from kernelwright.cli.view import open_view
    from kernelwright.workspace import Workspace

    place = Workspace.open(workspace)
    folder = place.run(run)
    if folder.is_over():
        note(f"{folder.run_id} is finished; nothing is done twice")
    else:
        with open_view(task=folder.summary().task_name, config=None, quiet=quiet) as view:
            desk = at_terminal(place, view, interactive=_typed_to(folder))
            wiring.resume(place, folder, view=desk.view, edit_plan=desk.edit_plan)
    _show(place, folder.run_id, json_=json_)


def _typed_to(folder: Any) -> bool:
    """Was the run begun to be steered by questions? Else a line typed while it goes on is a note to it."""
    config = _begun_with(folder)  # where it cannot be read resuming says what is wrong with it
    return config is not None and config.interactive


def _begun_with(folder: Any) -> RunConfig | None:
    """The configuration that a run was begun with; None where it cannot be read, or is of an older kernelwright."""
    import yaml

    from kernelwright.config import stored_config
    from kernelwright.errors import KernelwrightError

    try:
        return stored_config(yaml.safe_load(folder.config_file.read_text(encoding="utf-8")))
    except (OSError, yaml.YAMLError, KernelwrightError):
        return None


def _command() -> str:
    """The command as the user would type it again."""
    return shlex.join(["kernelwright", *sys.argv[1:]])


def _show(place: Any, run_id: str, *, json_: bool) -> None:
    """The result: table, where it lies, what to run next. Exit 1 when no gain was confirmed."""
    from kernelwright.cli.tables import run_text
    from kernelwright.report.loading import load_run_records, run_json

    records = load_run_records(place.run(run_id))
    if json_:
        print_json(run_json(records))
    else:
        say(run_text(records))
    if records.summary.state == "finished":
        _learn(place, run_id)
    claimed = records.claimed
    gained = claimed is not None and claimed.low > 1.0
    raise typer.Exit(0 if gained else 1)


def _learn(place: Any, run_id: str) -> None:
    """Bring the lessons up to date with the run that ended."""
    from kernelwright import wiring
    from kernelwright.promptopt.learning import learn_after_run

    config = _begun_with(place.run(run_id))  # of an older kernelwright: it teaches what its decisions say
    for line in learn_after_run(place, wiring.evidence(place, wiring.library(place)), config):
        note(line)
