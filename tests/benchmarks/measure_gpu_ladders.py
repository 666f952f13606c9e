"""Measure the ladders of the GPU exemplars on a GPU: each rung on its exemplar's own reference.py.

Run, with kernelwright installed, on a machine with a GPU on which nothing else runs:
    python tests/benchmarks/measure_gpu_ladders.py --write                every exemplar that brings its reference
    python tests/benchmarks/measure_gpu_ladders.py cuda-copy cute-copy    some of them; nothing is written
These are the tasks of the suite gpu-all, which compares whole runs; here each rung is judged beside the rung before it,
and first, last and fastest beside the best baseline. With --write the figures are kept in sessions.jsonl beside each
exemplar and its decisions.yaml states what all sessions say; a rung that is not timed says why. --sessions N takes N of
them, one after the other over all exemplars. Broken off, --skip-measured goes on where it was.

A dry run without a GPU, right or wrong and no times (small sizes: the emulator is slow):
    python tests/benchmarks/measure_gpu_ladders.py cuda-copy --device emulated --set elements=1000
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from kernelwright import wiring
from kernelwright.config import load_config
from kernelwright.errors import KernelwrightError
from kernelwright.memory.documents import device_of
from kernelwright.memory.ladder_sessions import sessions_of
from kernelwright.memory.measuring import LadderReport, write_back
from kernelwright.memory.solution_files import load_solution
from kernelwright.records import Depth
from kernelwright.workspace import Workspace

SHELF = Path(__file__).parents[2] / "knowledge" / "solutions"
REFERENCE = "reference.py"


def exemplars(shelf: Path) -> list[Path]:
    """Folders of the GPU solutions that bring their reference, by name."""
    brought = sorted(p.parent for p in shelf.glob(f"*/{REFERENCE}"))
    return [d for d in brought if device_of(load_solution(d, origin="shipped")) == "cuda"]


def measured(folder: Path, options: argparse.Namespace, workspace: Workspace) -> LadderReport:
    """One ladder, one session.

    Raises:
        KernelwrightError: the judge cannot be opened, or the reference is broken.
    """
    config = load_config(overrides=[f"device={options.device}"])
    task = wiring.find_task(workspace, str(folder / REFERENCE), options.set)
    solution = load_solution(folder, origin="shipped")
    return wiring.verify_solution(workspace, solution, task, config, depth=Depth(options.depth))


def show(report: LadderReport) -> None:
    """A line a rung."""
    print(f"{report.solution_id} on {report.task_name}, {report.depth}")
    for rung in report.rungs:
        times = "  ".join(f"{name} {time.median:.1f} us" for name, time in rung.latency_us.items())
        over = f"{rung.speedup.value:.2f}x over {rung.speedup.against}" if rung.speedup else ""
        gain = f"{rung.gain.value:.2f}x over the rung before" if rung.gain and rung is not report.rungs[0] else ""
        told = rung.failure or times or "right; no times on this device"
        print(f"  {rung.name:20} {told}  {over}  {gain}", flush=True)


def main() -> int:
    """Measure, show, maybe write."""
    options = arguments()
    workspace = Workspace.open(options.workspace)
    folders = [SHELF / name for name in options.names] or exemplars(SHELF)
    failed: dict[str, str] = {}
    began = time.monotonic()
    for session in range(1, options.sessions + 1):
        for place, folder in enumerate(folders, 1):
            if options.skip_measured and len(sessions_of(folder)) >= session:
                continue
            print(f"[{place}/{len(folders)}] session {session}, {folder.name}", file=sys.stderr, flush=True)
            try:
                report = measured(folder, options, workspace)
                show(report)
                if options.write:
                    write_back(report, folder)
            except KernelwrightError as error:  # the next one may be measured all the same
                print(f"{folder.name}: {error}")
                failed[folder.name] = str(error)
                continue
            if any(not rung.passed for rung in report.rungs):
                failed[folder.name] = ", ".join(rung.name for rung in report.rungs if not rung.passed)
    print(f"{len(folders)} ladders in {(time.monotonic() - began) / 60:.1f} min; not whole: {failed or 'none'}")
    return 1 if failed else 0


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="folders of knowledge/solutions; none: all that bring their reference")
    parser.add_argument("--device", default="cuda:0", help="cuda:N, or emulated for a dry run")
    parser.add_argument("--depth", default="full", choices=[d.value for d in Depth])
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a constant of the reference")
    parser.add_argument("--sessions", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="keep the figures beside the exemplars and state them")
    parser.add_argument("--skip-measured", action="store_true", help="leave out what has as many sessions already")
    parser.add_argument("--workspace", type=Path, default=None)
    options = parser.parse_args()
    if options.write and not options.device.startswith("cuda"):
        parser.error("--write needs a GPU: only times on one are stated")
    return options


if __name__ == "__main__":
    sys.exit(main())
