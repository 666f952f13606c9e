"""search trials: what a run's tuning tried, what each trial gave and what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.cli.output import JsonOption, WorkspaceOption, print_json, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelwright.records import Trial


def trials(
    run: Annotated[str, typer.Argument(help="A run's id, a part of it, or `last`.")] = "last",
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """What the tuner tried in a run: values, how they were found, the screened speed-up, and what each trial cost."""
    from kernelwright.workspace import Workspace

    folder = Workspace.open(workspace).run(run)
    found = folder.trials()
    if json_:
        rows = [trial.to_json() for trial in found]
        print_json({"format": "kernelwright/trials/1", "run": folder.run_id, "trials": rows})
    else:
        say(trials_text(found))


def trials_text(trials: Sequence[Trial]) -> str:
    """A table for each candidate that was tuned, best values first; speed-ups are of screens, so they steer only."""
    from kernelwright.cli.drawing import as_text, grid, words
    from kernelwright.records.wording import format_count
    from kernelwright.report.figures import format_factor, format_seconds

    parts: list[object] = []
    for base in dict.fromkeys(t.base_id for t in trials):
        mine = [t for t in trials if t.base_id == base]
        table = grid("Values", "Found by", "Screened", "Cost", title=f"Candidate {base}", right=["Screened", "Cost"],
                     flexible=["Values"])  # fmt: skip
        for trial in sorted(mine, key=lambda t: -(t.score or 0.0)):
            values = ", ".join(f"{k}={v}" for k, v in trial.values.items()) or "a schedule"
            told = format_factor(trial.score) if trial.score is not None else trial.status.value
            table.add_row(words(values), words(trial.sampler), words(told), words(format_seconds(trial.seconds)))
        total = f"{format_count(len(mine), 'trial')}, {format_seconds(sum(t.seconds for t in mine))}"
        parts += [table, words(total, "dim"), ""]
    return as_text(parts or ["nothing was tuned in this run"])  # type: ignore[arg-type]
