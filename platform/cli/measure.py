"""measure: the candidates of a run judged on a device that times them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelwright.cli.output import ConfigOption, JsonOption, OptionOption, WorkspaceOption, note, print_json, say
from kernelwright.records.wording import format_count

if TYPE_CHECKING:
    from kernelwright.records import Candidate, Evaluation


def measure(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id, `last`, or a run's folder from elsewhere.")],
    device: Annotated[str, typer.Option(help="Where: cpu, cuda:0, ...")] = "",
    threads: Annotated[int | None, typer.Option(help="Threads a kernel may use.")] = None,
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Judge all candidates of a run on this machine, confirm the fastest and fill in the run's numbers.

    For runs that were made where nothing could be timed. Stopped, it goes on where it was. Exit 1 without a gain.
    """
    from kernelwright import wiring
    from kernelwright.agents.measuring import measure_run
    from kernelwright.config import load_config
    from kernelwright.report.loading import load_run_records, run_json
    from kernelwright.report.run_report import write_report
    from kernelwright.workspace import RunFolder, Workspace

    values = {"device": device or None, "threads": threads}
    given = {k: v for k, v in values.items() if v is not None}
    run_config = load_config(files=config or (), overrides=option or (), values=given)
    place = Workspace.open(workspace)
    elsewhere = (Path(run) / "run.json").is_file()
    folder = RunFolder(Path(run)) if elsewhere else place.run(run)
    made = measure_run(
        folder, wiring.executor(run_config.executor), wiring.judge_settings(run_config, place),
        command=shlex.join(["kernelwright", *sys.argv[1:]]), progress=_progress, told=_told,
    )  # fmt: skip
    write_report(folder)
    records = load_run_records(folder)
    if json_:
        counts = {"device": made.device, "judged": made.judged, "kept": made.kept}
        print_json({"format": "kernelwright/measured/1", **counts, "run": run_json(records)})
    else:
        from kernelwright.cli.tables import run_text

        say(run_text(records))
        say(f"\nmeasured on {made.device}: {format_count(made.judged, 'judgement')} made, {made.kept} there already")
    best = made.best.speedup if made.best is not None else None
    raise typer.Exit(0 if best is not None and best.low > 1.0 else 1)


def _progress(kind: str, data: Any) -> None:
    if message := data.get("message"):
        note(f"  {message}")


def _told(candidate: Candidate, evaluation: Evaluation) -> None:
    words = f"{evaluation.speedup.value:.2f}x" if evaluation.speedup else evaluation.status.value
    note(f"  {candidate.id[:8]} {evaluation.depth.value}: {words}")
