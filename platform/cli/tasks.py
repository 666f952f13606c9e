"""tasks list | show | check | add."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelwright.cli.output import ConfigOption, JsonOption, OptionOption, SetOption, WorkspaceOption, print_json, say

app = typer.Typer(
    help="Tasks: what there is, what it promises, and whether it is fit to be judged.", no_args_is_help=True
)

TaskArgument = Annotated[str, typer.Argument(help="A task's name, its folder, or a KernelBench file.")]


@app.command("list")
def list_(json_: JsonOption = False, workspace: WorkspaceOption = None) -> None:
    """All tasks: shipped, your own, and KernelBench's where KERNELBENCH_ROOT is set."""
    from kernelwright.cli.tables import tasks_text
    from kernelwright.tasks.loading import list_tasks, standard_roots
    from kernelwright.workspace import Workspace

    rows = list_tasks(standard_roots(Workspace.open(workspace).tasks))
    if json_:
        print_json([{"name": r.name, "path": str(r.path), "shelf": r.shelf} for r in rows])
    else:
        say(tasks_text(rows))


@app.command()
def show(
    task: TaskArgument, set_: SetOption = None, json_: JsonOption = False, workspace: WorkspaceOption = None
) -> None:
    """One task: reference, inputs, workloads, rules."""
    from kernelwright import wiring
    from kernelwright.cli.tables import task_text
    from kernelwright.workspace import Workspace

    found = wiring.find_task(Workspace.open(workspace), task, set_ or ())
    if json_:
        print_json(found.to_json())
    else:
        say(task_text(found))


@app.command()
def check(
    tasks: Annotated[list[str], typer.Argument(help="Tasks to check.")],
    set_: SetOption = None,
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Is a task fit to be judged? Runs its reference and the negative controls. Exit 1 when one is not."""
    from kernelwright import wiring
    from kernelwright.cli.tables import preflight_text
    from kernelwright.config import load_config
    from kernelwright.toolexec.preflight import preflight
    from kernelwright.workspace import Workspace

    place = Workspace.open(workspace)
    run_config = load_config(files=config or (), overrides=option or ())
    settings = wiring.judge_settings(run_config, place)
    reports = [preflight(wiring.find_task(place, name, set_ or ()), settings) for name in tasks]
    if json_:
        print_json([r.to_json() for r in reports])
    else:
        for report in reports:
            say(preflight_text(report))
    raise typer.Exit(0 if all(r.fit for r in reports) else 1)


@app.command()
def add(
    path: Annotated[Path, typer.Argument(help="A KernelBench-form reference, or with --from-cpp a C++ or CUDA file.")],
    name: Annotated[str, typer.Option(help="Name of the new task (default: the file's).")] = "",
    from_cpp: Annotated[bool, typer.Option("--from-cpp", help="Draft a reference and shim for C++ or CUDA.")] = False,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Add a task of your own to the workspace."""
    from kernelwright.tasks.drafting import add_task, draft_from_cpp
    from kernelwright.tasks.loading import standard_roots
    from kernelwright.workspace import Workspace, disk_errors

    place = Workspace.open(workspace)
    with disk_errors(place.tasks):
        folder = (draft_from_cpp if from_cpp else add_task)(path, standard_roots(place.tasks), name=name)
    if json_:
        print_json({"format": "kernelwright/task-folder/1", "folder": str(folder), "draft": from_cpp})
        return
    say(f"wrote {folder}")
    step = "fill in the marked lines of reference.py and task.yaml, then" if from_cpp else "next:"
    say(f"{step} kernelwright tasks check {folder}")
