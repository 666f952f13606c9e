"""Not a test: the rungs of a CUDA or Triton exemplar against its reference.py, at sizes of one's choice.

CUDA is built by the emulator with all checkers and called through its `c` entry; Triton runs in its own interpreter,
every address watched; CuTe DSL's kernels run as PTX (cutedsl_on_cpu.py). All run in a child, a line of JSON for each
rung and case, so that a crash is an answer too.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from knowledge.gpu_toolchain import SOLUTIONS

from kernelwright.memory.solution_files import load_solution
from kernelwright.records import Candidate
from kernelwright.toolexec.emulator.build import Source, build_library
from kernelwright.toolexec.emulator.lines import with_lines
from kernelwright.toolexec.languages.gpu_language import has_host_code, plan_of

CHILD = Path(__file__).with_name("gpu_emulation_child.py")


@dataclass(frozen=True)
class Outcome:
    """One rung at one case."""

    rung: str
    case: int
    error: float | None
    """Largest deviation over the tolerance of its dtype, 1 is just allowed; None where it refused or failed."""
    refused: str = ""
    """Its words where it was not for these sizes."""
    failure: str = ""


def _library(solution: str, candidate: Candidate, builds: Path) -> Path:
    plan, host = plan_of(candidate), has_host_code(candidate)
    told = None if host else {"source": candidate.text(candidate.entry_file), "tunables": candidate.tunable_values()}
    source = Source(
        {f.path: f.text for f in candidate.files},
        candidate.entry_file,
        flags=(*candidate.flags, *(f"-D{t.name}={t.value}" for t in candidate.tunables)),
        kernels=() if host else tuple(launch.kernel for launch in plan.launches),
        told=told,
    )
    built = build_library(source, folder=builds, timeout_s=900.0)
    assert built.ok and built.artifact is not None, f"{solution} {candidate.entry_file}:\n{built.log}"
    return built.artifact


def run_rungs(
    solution: str, cases: Sequence[dict[str, Any]], builds: Path, *, names: Sequence[str] = ()
) -> list[Outcome]:
    """Every rung (or those named) at every case.

    Args:
        solution: the folder's name.
        cases: values of reference.py's module constants.
        builds: a folder that keeps what the emulator builds.
        names: of rungs; () for all.
    """
    folder = SOLUTIONS / solution
    interpreted = solution.startswith(("triton-", "cutedsl-"))
    jobs = []
    for rung in load_solution(folder, origin="shipped").rungs:
        if not names or rung.name in names:
            entry_file = rung.candidate.entry_file
            place = folder / entry_file if interpreted else _library(solution, rung.candidate, builds)
            jobs.append({"rung": rung.name, "place": str(place), "files": [f.path for f in rung.candidate.files]})
    asked = {"reference": str(SOLUTIONS / solution / "reference.py"), "cases": list(cases), "jobs": jobs}
    done = subprocess.run(
        [sys.executable, str(CHILD)], input=json.dumps(asked), capture_output=True, text=True, timeout=3000, check=False
    )
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"rung"')]
    answers = {(row["rung"], row["case"]): Outcome(**row) for row in rows}
    found = []
    for job in jobs:
        for case in range(len(cases)):
            lost = Outcome(job["rung"], case, None, failure=f"process ended {done.returncode}: {done.stderr[-1500:]}")
            one = answers.get((job["rung"], case), lost)
            if one.failure and not interpreted:
                told = with_lines(one.failure, Path(job["place"]), job["files"])
                one = Outcome(one.rung, one.case, None, failure=told)
            found.append(one)
    return found
