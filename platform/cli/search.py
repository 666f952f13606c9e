"""search run | train | diff | code: schedules searched by model and measurements, without the workflow around it."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelwright.cli.output import JsonOption, SetOption, WorkspaceOption, note, print_json, say
from kernelwright.cli.trials import trials
from kernelwright.records.wording import format_count

if TYPE_CHECKING:
    from kernelwright.records import Candidate, Directive, Task
    from kernelwright.records.pipeline import Pipeline
    from kernelwright.search.cost_model import CostModel
    from kernelwright.search.schedule_search import Measured, Point, ScheduleSearch, SearchState
    from kernelwright.workspace import Workspace

app = typer.Typer(help="Schedules of pipelines: search them, teach the cost model, compare them.", no_args_is_help=True)
app.command()(trials)

OutOption = Annotated[Path, typer.Option("--out", help="Folder of the results; what lies there is gone on with.")]
SecondsOption = Annotated[float, typer.Option(help="Wall time.")]
ThreadsOption = Annotated[int, typer.Option(help="Threads a kernel may use.")]
ModelOption = Annotated[Path | None, typer.Option("--model", help="Cost model (default: the shipped one).")]
AlgorithmOption = Annotated[
    Path | None,
    typer.Option("--algorithm", help="A hand-written algorithm.json, instead of what is imported from the reference."),
]


@app.command()
def run(
    task: Annotated[str, typer.Argument(help="A task's name, its folder, or a KernelBench file.")],
    out: OutOption,
    method: Annotated[str, typer.Option(help="greedy, beam, evolution or random.")] = "beam",
    seconds: SecondsOption = 60.0,
    measurements: Annotated[int, typer.Option(help="Most measured schedules.")] = 200,
    threads: ThreadsOption = 1,
    seed: Annotated[int, typer.Option(help="Seed of all chances.")] = 0,
    model: ModelOption = None,
    algorithm: AlgorithmOption = None,
    seeded: Annotated[bool, typer.Option("--seeded", help="Begin with the library's schedules that fit, too.")] = False,
    portfolio: Annotated[
        bool, typer.Option("--portfolio", help="Begin with the schedules of Halide's own autoschedulers, too.")
    ] = False,
    set_: SetOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Search the schedules of a task's pipeline; the best is written as text and as a candidate to be judged."""
    from kernelwright import wiring
    from kernelwright.errors import ConfigError
    from kernelwright.search.exploring import METHODS
    from kernelwright.search.schedule_search import ScheduleSearch
    from kernelwright.search.schedule_space import PipelineSpace, pipelines_of
    from kernelwright.workspace import Workspace

    if method not in METHODS:
        raise ConfigError(f"unknown search method {method!r}", hint=f"known: {', '.join(METHODS)}")
    place = Workspace.open(workspace)
    begun = _state(out / "search.json")
    found = wiring.find_task(place, task, set_ or (), start=None)
    start = _started(place, found, algorithm, out, threads=threads)
    pipeline = next(iter(pipelines_of(start).values()))
    seeds = [("rules", _directives(start.text("schedule.json"))), *PipelineSpace().seeds(start)]
    seeds += _precedents(place, start) if seeded else []
    seeds += _autoschedules(pipeline, threads) if portfolio else []
    with _timer(threads) as timer:
        searching = ScheduleSearch(
            pipeline,
            lambda directives: timer(pipeline, directives),
            model=_model(model),
            method=method,
            threads=threads,
            seed=seed,
            seeds=seeds,
            on_point=_progress,
            state=begun,
        )
        state = searching.run(seconds=seconds, measurements=measurements, save=out / "search.json")
    _show_search(searching, state, start, out, json_=json_)


def _started(place: Workspace, task: Task, algorithm: Path | None, out: Path, *, threads: int) -> Candidate:
    """The task's pipeline, after the judge found that it computes what the reference computes; asked once for each OUT.

    Raises:
        TaskError: it has no pipeline form or computes something else; the message says why.
        WorkspaceError: OUT is of another task or algorithm.
    """
    from kernelwright import wiring
    from kernelwright.agents.pipeline_start import checked_start
    from kernelwright.config import load_config
    from kernelwright.errors import WorkspaceError
    from kernelwright.records import Candidate
    from kernelwright.records.record import write_whole
    from kernelwright.workspace import disk_errors

    asked: dict[str, Any] = {"format": "kernelwright/search-start/1", "task": task.id, "threads": threads}
    asked["algorithm"] = _text_of(algorithm)
    kept = out / "start.json"
    if kept.exists():
        found = json.loads(kept.read_text(encoding="utf-8"))
        if any(found.get(key) != value for key, value in asked.items()):
            told = f"{out} holds a search of another task or algorithm, or for another number of threads"
            raise WorkspaceError(told, hint="choose another --out")
        return Candidate.from_json(found["candidate"])
    config = load_config(values={"judge.baselines": ["eager"], "threads": threads})
    session = wiring.open_session(place, task, config)
    try:
        start, judged = checked_start(session, task.name, algorithm=str(asked["algorithm"]))
    finally:
        session.close()
    if not judged.passed:
        note(f"whether the algorithm is right could not be seen: {judged.status}; the judge will say it of the result")
    with disk_errors(out):
        write_whole(kept, json.dumps({**asked, "candidate": start.to_json()}) + "\n")
    return start


def _precedents(place: Workspace, start: Candidate) -> list[tuple[str, list[Directive]]]:
    from kernelwright import wiring
    from kernelwright.agents.pipeline_start import precedents
    from kernelwright.config import load_config

    return precedents(start, wiring.library(place, load_config()).solutions)


def _text_of(algorithm: Path | None) -> str:
    from kernelwright.errors import UserError

    try:
        return algorithm.read_text(encoding="utf-8") if algorithm is not None else ""
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the algorithm {algorithm}: {error}") from None


def _state(file: Path) -> SearchState | None:
    from kernelwright.errors import WorkspaceError
    from kernelwright.search.schedule_search import SearchState

    if not file.exists():
        return None
    try:
        return SearchState.load(file)
    except (ValueError, TypeError) as error:
        raise WorkspaceError(f"{file} cannot be resumed: {error}", hint="choose another --out") from error


def _model(file: Path | None) -> CostModel:
    from kernelwright.errors import ConfigError
    from kernelwright.search.cost_model import CostModel

    try:
        return CostModel.load(file) if file else CostModel.shipped()
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(f"no cost model in {file}: {error}") from error


@contextmanager
def _timer(threads: int) -> Iterator[Callable[[Pipeline, Sequence[Directive]], Measured]]:
    """Times schedules in a bounded child."""
    from kernelwright.search.schedule_search import Measured
    from kernelwright.toolexec.languages.halide_timing import ScheduleTimer

    with ScheduleTimer(threads=threads) as child:

        def measure(pipeline: Pipeline, directives: Sequence[Directive]) -> Measured:
            rows = [d.model_dump(mode="json") for d in directives]
            timed = child.time(pipeline.model_dump(mode="json"), rows)
            return Measured(timed.ns, timed.status, timed.detail)

        yield measure


def _autoschedules(pipeline: Pipeline, threads: int) -> Iterator[tuple[str, list[Directive]]]:
    """Name and schedule of every autoscheduler of Halide that has one for this pipeline."""
    from kernelwright.search.autoschedule_text import directives_of_source
    from kernelwright.toolexec.languages.halide_timing import AUTOSCHEDULERS, autoschedule_source

    for name in AUTOSCHEDULERS:
        try:
            source = autoschedule_source(pipeline.model_dump(mode="json"), name, threads=threads)
            yield name, directives_of_source(source, pipeline)
        except ValueError as error:
            note(f"{name} gives no seed: {error}")


def _progress(point: Point) -> None:
    what = f"{point.ns / 1e3:.1f} us" if point.ns is not None else point.status
    note(f"{point.seconds:6.1f} s  {point.source:10} {what}")


def _show_search(searching: ScheduleSearch, state: SearchState, start: Candidate, out: Path, *, json_: bool) -> None:
    """Write the best schedule and say how it was found. Exit 1 when nothing passed."""
    from kernelwright.search.schedule_space import candidate_of, pipelines_of
    from kernelwright.search.schedule_text import print_schedule

    best = state.best
    text = print_schedule(searching.best_directives())
    if best is not None:
        candidate = candidate_of(pipelines_of(start), searching.best_directives(), imported=None, tunables=())
        (out / "schedule.txt").write_text(text, encoding="utf-8")
        (out / "candidate.json").write_text(json.dumps(candidate.to_json(), indent=1), encoding="utf-8")
    told = {
        "format": "kernelwright/schedule_search_result/1",
        "measured": len(state.points),
        "scored": state.scored,
        "failed": state.invalid,
        "seconds": state.spent_s,
        "best_us": best.ns / 1e3 if best is not None and best.ns is not None else None,
        "best_source": best.source if best is not None else None,
        "curve": [{"measurement": n, "seconds": s, "us": ns / 1e3} for n, s, ns in state.curve()],
        "schedule": text,
    }
    if json_:
        print_json(told)
    else:
        failed = ", ".join(f"{n} {status}" for status, n in state.invalid.items()) or "none"
        scored = format_count(state.scored, "schedule")
        say(f"{scored} scored, {told['measured']} measured ({failed} failed), {state.spent_s:.0f} s")
        for number, at, ns in state.curve():
            say(f"  measurement {number:4}  {at:7.1f} s  {ns / 1e3:10.1f} us")
        say(f"\n{text}\nwritten to {out}; these times steer a search, `kernelwright evaluate` judges." if best else "")
    raise typer.Exit(0 if best is not None else 1)


@app.command()
def train(
    out: OutOption,
    pipelines: Annotated[int, typer.Option(help="Random pipelines.")] = 64,
    schedules: Annotated[int, typer.Option(help="Schedules of each.")] = 64,
    seconds: SecondsOption = 3600.0,
    threads: ThreadsOption = 1,
    seed: Annotated[int, typer.Option(help="The first pipeline.")] = 0,
    json_: JsonOption = False,
) -> None:
    """Measure random schedules of random pipelines here, on a quiet machine, and train a cost model on them.

    Stop it at any time; the same command goes on where it was. The model lands in OUT/cost_model.json.
    """
    from kernelwright.errors import UserError
    from kernelwright.search.training import TrainingPlan, collect
    from kernelwright.search.training import train as train_model
    from kernelwright.workspace import disk_errors

    with disk_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    plan = TrainingPlan(pipelines, schedules, seconds, threads=threads, seed=seed)
    with _timer(threads) as measure:
        rows = collect(plan, out / "measured.jsonl", measure, on_row=_told_row)
    origin = {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": f"kernelwright search train --pipelines {pipelines} --schedules {schedules} --threads {threads}",
        "processor": _processor(),
        "halide": version("halide"),
    }
    try:
        model, after, before = train_model(rows, provenance=origin)
    except ValueError as error:
        raise UserError(str(error), hint="run it again with more --seconds or --pipelines") from error
    model.save(out / "cost_model.json")
    if json_:
        print_json({"format": "kernelwright/training/1", **model.provenance})
        return
    failed = sum(r["ns"] is None for r in rows)
    held_out = format_count(after.pipelines, "pipeline")
    say(f"{format_count(len(rows), 'schedule')}, {failed} failed; held out: {held_out}")
    for name in ("spearman", "spearman_fast", "top_ratio"):
        say(f"  {name:14} {getattr(after, name):6.3f}   (untrained {getattr(before, name):.3f})")
    say(f"written to {out / 'cost_model.json'}")


def _told_row(row: Any) -> None:
    what = f"{row['ns'] / 1e3:.1f} us" if row["ns"] is not None else row["status"]
    note(f"pipeline {row['pipeline']}, schedule {row['number']}: {what}")


def _processor() -> str:
    """Model name of the processor, where the system tells."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return next((ln.split(":", 1)[1].strip() for ln in lines if ln.startswith("model name")), platform.machine())


@app.command()
def diff(
    old: Annotated[Path, typer.Argument(help="A schedule as text, or schedule.json.")],
    new: Annotated[Path, typer.Argument(help="Another one.")],
    json_: JsonOption = False,
) -> None:
    """What changed from one schedule to another, stage by stage. Exit 1 when something did."""
    from kernelwright.search.schedule_text import diff_schedules

    lines = diff_schedules(_read(old), _read(new))
    if json_:
        print_json({"format": "kernelwright/schedule_diff/1", "lines": lines})
    else:
        say("\n".join(lines) or "no difference")
    raise typer.Exit(1 if lines else 0)


@app.command()
def code(
    source: Annotated[Path, typer.Argument(help="A run's best/, a search's --out, or a folder of a Halide candidate.")],
    out: Annotated[Path, typer.Option("--out", help="C++ file to write; with --object the object.")],
    workload: Annotated[str, typer.Option(help="Its shapes (default: the first workload's).")] = "",
    object_: Annotated[
        bool, typer.Option("--object", help="An object for this machine and its headers, which need no compiler.")
    ] = False,
    json_: JsonOption = False,
) -> None:
    """A pipeline under its schedule as one C++ file that needs a compiler and nothing else, or as an object with its
    header; for one thread."""
    from kernelwright.errors import UnknownName, UserError
    from kernelwright.search.schedule_space import pipelines_of
    from kernelwright.tasks.candidate_files import load_candidate
    from kernelwright.toolexec.languages.halide_ahead import object_files, portable_source

    candidate = load_candidate(source)
    try:
        pipelines = pipelines_of(candidate)
        chosen = workload or next(iter(pipelines))
        if chosen not in pipelines:
            raise UnknownName("workload", chosen, pipelines)
        data = pipelines[chosen].model_dump(mode="json")
        rows = [d.model_dump(mode="json") for d in _directives(candidate.text("schedule.json"))]
        made = object_files if object_ else portable_source
        found = made(data, rows, candidate.tunable_values())
        files = _placed(found, out) if isinstance(found, dict) else {out: found.encode()}
        for file, content in files.items():
            file.write_bytes(content)
    except (ValueError, OSError) as error:
        raise UserError(f"no {'object' if object_ else 'C++'} of {source}: {error}") from error
    _tell_code(out, chosen, files, object_=object_, json_=json_)


def _placed(files: dict[str, bytes], out: Path) -> dict[Path, bytes]:
    """The object where it was asked for, its header beside it under its name, others under their own."""
    named = {"kernel.o": out, "kernel.h": out.with_suffix(".h")}
    return {named.get(name, out.parent / name): content for name, content in files.items()}


def _tell_code(out: Path, workload: str, files: dict[Path, bytes], *, object_: bool, json_: bool) -> None:
    if object_:
        told: dict[str, Any] = {"format": "kernelwright/object_code/1", "files": [str(f) for f in files]}
        words = f"{out}: workload {workload}; {', '.join(f.name for f in files if f != out)} say how to call it"
    else:
        lines = files[out].count(b"\n")
        told = {"format": "kernelwright/portable_code/1", "file": str(out), "lines": lines}
        words = (
            f"{out}: {format_count(lines, 'line')}, workload {workload}; how to call it stands at the end "
            "(g++ -O3 -shared -fPIC)"
        )
    told["workload"] = workload
    if json_:
        print_json(told)
    else:
        say(words)


def _directives(text: str) -> list[Directive]:
    from kernelwright.records import Directive

    return [Directive.model_validate(d) for d in json.loads(text)["directives"]]


def _read(file: Path) -> list[Directive]:
    from kernelwright.errors import UserError
    from kernelwright.search.schedule_text import parse_schedule

    try:
        text = file.read_text(encoding="utf-8")
        return _directives(text) if file.suffix == ".json" else parse_schedule(text)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file} is no schedule: {error}") from error
