"""retune: an existing result, tuned again on this machine."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelwright.cli.output import (
    ConfigOption,
    JsonOption,
    OptionOption,
    SetOption,
    WorkspaceOption,
    note,
    print_json,
    say,
)

if TYPE_CHECKING:
    from kernelwright.config import RunConfig
    from kernelwright.records import Candidate, Task
    from kernelwright.workspace import Workspace


def retune(
    source: Annotated[str, typer.Argument(metavar="RUN|SOLUTION", help="A run's id or folder, or a library entry.")],
    task: Annotated[str, typer.Option(help="Another task than the one it was made for.")] = "",
    budget: Annotated[float | None, typer.Option("--budget", help="Wall time, seconds.")] = None,
    trials: Annotated[int | None, typer.Option(help="Most trials.", min=1)] = None,
    threads: Annotated[int | None, typer.Option(help="Threads a kernel may use.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the search.")] = None,
    set_: SetOption = None,
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Search the tunables of an existing result (of a pipeline without any: its schedule) again on this machine, and
    confirm the best. Exit 1 without a gain."""
    from kernelwright import wiring
    from kernelwright.agents.retuning import TRIALS
    from kernelwright.agents.retuning import retune as tune_again
    from kernelwright.cli.view import open_view
    from kernelwright.config import load_config
    from kernelwright.report.loading import load_run_records, run_json
    from kernelwright.workspace import Workspace

    named = {text.partition("=")[0].strip() for text in option or ()}
    values: dict[str, Any] = {
        "budget.seconds": budget,
        "threads": threads,
        "seed": seed,
        "search.tune_measurements": trials or (None if "search.tune_measurements" in named else TRIALS),
    }
    given = {k: v for k, v in values.items() if v is not None}
    run_config = load_config(files=config or (), overrides=option or (), values=given)
    if "search.tune_seconds" not in named:
        longest = run_config.search.model_copy(update={"tune_seconds": run_config.budget.seconds})
        run_config = run_config.model_copy(update={"search": longest})
    place = Workspace.open(workspace)
    judged, candidate = _source(place, source, task, set_ or (), run_config)
    with open_view(task=judged.name, config=run_config, quiet=quiet) as view:
        told = tune_again(
            place, judged, candidate, run_config, origin=source, surroundings=wiring.surroundings(place, view),
            command=shlex.join(["kernelwright", *sys.argv[1:]]),
        )  # fmt: skip
    records = load_run_records(place.run(told.summary.run_id))
    before = ", ".join(f"{k}={v}" for k, v in told.before.items()) or "a schedule without tunables"
    after = ", ".join(f"{k}={v}" for k, v in told.after.items()) or "another schedule"
    if json_:
        values_told = {"before": told.before, "after": told.after, "changed": told.changed}
        values_told |= {"screened_gain": told.screened_gain}
        print_json({"format": "kernelwright/retuned/1", **values_told, "run": run_json(records)})
    else:
        from kernelwright.cli.tables import run_text

        say(run_text(records))
        words = f", {told.screened_gain:.2f}x in screening" if told.screened_gain else ""
        same = not told.changed
        say(f"\nas it was: {before}\n{'nothing better' if same else f'tuned:     {after}{words}'}")
        if not same:
            original = place.run(told.summary.run_id).candidate_folder(candidate.id)
            note(f"measure both: kernelwright evaluate {judged.name} {original.parents[1]}/best --against {original}")
    claimed = records.claimed
    raise typer.Exit(0 if claimed is not None and claimed.low > 1.0 else 1)


def _source(place: Workspace, source: str, task: str, sets: Any, config: RunConfig) -> tuple[Task, Candidate]:
    """What is tuned and on which task: a run of this workspace, a run's folder from elsewhere, or a library entry."""
    from kernelwright import wiring
    from kernelwright.agents.retuning import best_of, candidate_of
    from kernelwright.errors import LibraryError, UnknownName
    from kernelwright.records import Task
    from kernelwright.search.schedule_space import PipelineSpace
    from kernelwright.workspace import RunFolder

    folder = RunFolder(Path(source)) if (Path(source) / "run.json").is_file() else None
    if folder is None:
        try:
            folder = place.run(source)
        except UnknownName as unknown:
            shelves = wiring.library(place, config)
            if source not in (entries := shelves.scan()):
                raise UnknownName("run or solution", source, [*place.run_ids(), *entries]) from unknown
            solution = shelves.get(source)
            if not (name := task or solution.task):
                raise LibraryError(f"{source} is a general recipe: it was made for no task",
                                   hint="name one with --task NAME") from None  # fmt: skip
            chosen = wiring.find_task(place, name, sets)
            return chosen, candidate_of(solution, wiring.task_facts(place, chosen, config), PipelineSpace())
    chosen = wiring.find_task(place, task, sets) if task else Task.load(folder.task_file)
    return chosen, best_of(folder)
