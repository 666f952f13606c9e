"""runs list | show | note | compare."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelwright.cli.output import JsonOption, WorkspaceOption, print_json, say
from kernelwright.errors import ConfigError

app = typer.Typer(help="Look at runs: what was tried, what it bought, where time went.", no_args_is_help=True)


@app.command("list")
def list_(json_: JsonOption = False, workspace: WorkspaceOption = None) -> None:
    """All runs of the workspace, oldest first."""
    from kernelwright.cli.tables import runs_text
    from kernelwright.workspace import Workspace

    place = Workspace.open(workspace)
    summaries = [place.run(run_id).summary() for run_id in place.run_ids()]
    if json_:
        print_json([s.to_json() for s in summaries])
    else:
        say(runs_text(summaries))


@app.command()
def show(
    run: Annotated[str, typer.Argument(help="A run's id, a part of it, or `last`.")] = "last",
    timing: Annotated[bool, typer.Option("--timing", help="Where the time of each candidate went.")] = False,
    cost: Annotated[bool, typer.Option("--cost", help="Tokens, money and time by role and candidate.")] = False,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """One run in words: per round the plan, the change, the verdict, the numbers."""
    from kernelwright.cli.cost_text import cost_text
    from kernelwright.cli.story import run_story
    from kernelwright.cli.tables import timing_text
    from kernelwright.report.costs import cost_json, run_costs
    from kernelwright.report.loading import load_run_records, run_json
    from kernelwright.report.timings import timing_json
    from kernelwright.workspace import Workspace

    folder = Workspace.open(workspace).run(run)
    records = load_run_records(folder)
    if cost:
        if json_:
            print_json(cost_json(records, folder.calls))
        else:
            say(cost_text(run_costs(records, folder.calls)))
    elif json_:
        print_json(timing_json(records) if timing else run_json(records))
    else:
        say(timing_text(records) if timing else run_story(records))


@app.command()
def note(
    run: Annotated[str, typer.Argument(help="A run's id, a part of it, or `last`.")],
    text: Annotated[str, typer.Argument(help="What the model should know; its next planner and coder read it.")],
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Leave a note for a run that is going on."""
    from kernelwright.agents.steering import add_note
    from kernelwright.workspace import Workspace

    if not text.strip():
        raise ConfigError("a note needs words")
    folder = Workspace.open(workspace).run(run)
    add_note(folder, text)
    if json_:
        print_json({"run": folder.run_id, "note": text})
    else:
        say(f"noted for {folder.run_id}")


@app.command()
def compare(
    first: Annotated[str, typer.Argument(help="A run.")],
    second: Annotated[str, typer.Argument(help="Another run of the same task.")],
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Two runs side by side. Their times come from different sessions: only ratios to a baseline compare."""
    from kernelwright.cli.tables import compare_text
    from kernelwright.report.loading import load_run_records, run_json
    from kernelwright.workspace import Workspace

    place = Workspace.open(workspace)
    pair = [load_run_records(place.run(name)) for name in (first, second)]
    if json_:
        print_json([run_json(records) for records in pair])
    else:
        say(compare_text(*pair))
