"""evaluate: judge any file by hand, alone or against another."""

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
    RequireSandboxOption,
    SetOption,
    WorkspaceOption,
    note,
    print_json,
    say,
)

if TYPE_CHECKING:
    from kernelwright.protocols import EvaluationSession
    from kernelwright.records import Candidate


def evaluate(
    task: Annotated[str, typer.Argument(help="A task's name, its folder, or a KernelBench file.")],
    candidate: Annotated[Path, typer.Argument(help="A .cpp or .cu file, a ModelNew file, or a folder.")],
    against: Annotated[
        str, typer.Option("--against", help="A second candidate, or a baseline's name (eager, compile, ...).")
    ] = "",
    min_speedup: Annotated[
        float | None,
        typer.Option("--min-speedup", help="Exit 1 unless the lower end of the 95 % interval reaches it."),
    ] = None,
    depth: Annotated[str, typer.Option(help="screen, full or confirmed.")] = "full",
    threads: Annotated[int | None, typer.Option(help="Threads a kernel may use.")] = None,
    device: Annotated[
        str | None,
        typer.Option(help="cpu; cuda:0; emulated proves CUDA right on the CPU; none compiles and tells of its code."),
    ] = None,
    arch: Annotated[str, typer.Option("--arch", help="GPU architecture to compile for, e.g. sm_90a.")] = "",
    diff: Annotated[str, typer.Option("--diff", help="With --against and --device none: also show ptx or sass.")] = "",
    require_sandbox: RequireSandboxOption = None,
    set_: SetOption = None,
    config: ConfigOption = None,
    option: OptionOption = None,
    json_: JsonOption = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Judge a kernel: is it right, and how fast? Exit 1 when it is not PASSED or too slow.

    On device none nothing is run: exit 0 when it compiles and can be launched.
    """
    from kernelwright import wiring
    from kernelwright.cli.tables import evaluation_text
    from kernelwright.config import load_config
    from kernelwright.errors import UnknownName
    from kernelwright.records import Depth, Level
    from kernelwright.tasks.candidate_files import load_candidate
    from kernelwright.workspace import Workspace

    if depth not in list(Depth):
        raise UnknownName("depth", depth, list(Depth))
    values = {"threads": threads, "device": device, "judge.require_sandbox": require_sandbox}
    given = {k: v for k, v in values.items() if v is not None}
    run_config = load_config(files=config or (), overrides=option or (), values=given)
    place = Workspace.open(workspace)
    loaded = wiring.find_task(place, task, set_ or ())
    judged = _for_architecture(load_candidate(candidate), arch)
    is_file = bool(against) and Path(against).exists()
    other = _for_architecture(load_candidate(Path(against)), arch) if is_file else None
    session = wiring.open_session(place, loaded, run_config, progress=_progress)
    try:
        if other is not None:
            verdict = session.compare(judged, other, depth=Depth(depth))
        else:
            names = _baseline(against, session.baselines)
            verdict = session.evaluate(judged, depth=Depth(depth), against=names)
        verdict = verdict.model_copy(update={"command": shlex.join(["kernelwright", *sys.argv[1:]])})
        baselines = session.baselines
        shown = _difference(session, judged, other, diff)
    finally:
        session.close()
    if json_:
        print_json({**verdict.to_json(), "baselines": [b.to_json() for b in baselines], "difference": shown})
    else:
        say(evaluation_text(verdict, baselines) + (f"\n{shown}" if shown else ""))
    slow = min_speedup is not None and (verdict.speedup is None or verdict.speedup.low < min_speedup)
    if slow and verdict.speedup is not None:
        note(f"the interval's lower end {verdict.speedup.low:.3f}x is below --min-speedup {min_speedup}")
    elif slow and verdict.passed:
        note(f"no speed-up was measured on {verdict.device}: --min-speedup cannot be met there")
    fine = verdict.passed or (verdict.level is Level.COMPILED and verdict.failure is None)
    raise typer.Exit(1 if not fine or slow else 0)


def _for_architecture(candidate: Candidate, architecture: str) -> Candidate:
    from kernelwright.errors import ConfigError

    if not architecture:
        return candidate
    if candidate.language in ("cpp", "halide", "torch"):
        raise ConfigError(f"--arch is for GPU languages; this candidate is {candidate.language}", hint="leave it out")
    return candidate.model_copy(update={"architecture": architecture})


def _difference(session: EvaluationSession, candidate: Candidate, other: Candidate | None, kind: str) -> str:
    """The code of two candidates, compared; "" when that was not asked for."""
    from kernelwright.errors import ConfigError
    from kernelwright.protocols import ShowsCode

    if not kind:
        return ""
    if other is None or not isinstance(session, ShowsCode):
        raise ConfigError("--diff compares the code of two candidates", hint="give --against FILE and --device none")
    return session.difference(candidate, other, kind=kind) or f"the {kind} of both is alike"


def _baseline(name: str, baselines: Any) -> tuple[str, ...]:
    from kernelwright.errors import CandidateError, UnknownName

    if not name:
        return ()
    found = next((b for b in baselines if b.name == name), None)
    if found is None:
        if "/" in name or "." in name:
            raise CandidateError(f"no such candidate: {name}")
        raise UnknownName("baseline", name, [b.name for b in baselines])
    if found.not_measured:
        raise CandidateError(f"baseline {name} is not measured here: {found.not_measured}")
    return (name,)


def _progress(kind: str, data: Any) -> None:
    if message := data.get("message"):
        note(f"  {message}")
