"""A suite of real tasks, killed at random moments and gone on with, against one that ran undisturbed.

Run, with kernelwright installed:
    python tests/benchmarks/suite_kills.py [--tasks 20] [--kills 10] [--seed 1] [--keep FOLDER]
Both use the search engine with one round, no tuning and a budget of measurements that wall time cannot cut, so that
what is judged does not hang on the clock. Compared are the candidates that decisions led to; the export of the winner,
which a run judges at its end, follows the winner and with it the noise of times. Prints which candidates each judged,
and what was judged twice. It takes hours on two cores.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from kernelwright.records import Depth
from kernelwright.suite.cells import cells_of
from kernelwright.suite.definition import read_suite
from kernelwright.suite.folder import SuiteFolder, find_suite
from kernelwright.workspace import Workspace

OPTIONS = (
    "{budget: {seconds: 3600, rounds: 1, measurements: 500}, search: {tune_measurements: 0}, "
    "judge: {baselines: [eager]}}"
)


def suite_file(folder: Path, tasks: int) -> Path:
    """The shipped tasks; further samples of the first ones where more are asked for."""
    names = [str(getattr(t, "task", t)) for t in read_suite("shipped").tasks]
    names = (names * (tasks // len(names) + 1))[:tasks]
    path = folder / "kills.yaml"
    path.write_text(f"name: kills\ntasks: [{', '.join(names)}]\npreflight: false\noptions: {OPTIONS}\n")
    return path


def command(workspace: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "kernelwright", "suite", "run", *words, "--workspace", str(workspace), "--quiet"]


def judged(folder: SuiteFolder) -> Counter[tuple[str, str, str]]:
    """(sample, candidate, depth) -> how often it was judged."""
    found: Counter[tuple[str, str, str]] = Counter()
    for cell in cells_of(folder.plan()):
        run = folder.run_of(cell.key)
        for name in {d.child for d in run.decisions() if d.child} if run is not None else ():
            found.update((cell.key, name, e.depth.value) for e in run.evaluations(name))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    told = parser.parse_args()
    root = told.keep or Path(tempfile.mkdtemp(prefix="suite-kills-"))
    root.mkdir(parents=True, exist_ok=True)
    file, draw = suite_file(root, told.tasks), random.Random(told.seed)
    began = time.monotonic()
    subprocess.run(command(root / "whole", str(file)), stdout=subprocess.DEVNULL)
    whole_s = time.monotonic() - began
    words = [str(file)]
    for kill in range(told.kills):
        process = subprocess.Popen(command(root / "killed", *words), stdout=subprocess.DEVNULL)
        try:
            process.wait(draw.uniform(0.2, 1.8) * whole_s / (told.kills + 1))
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        words = ["--resume", "last"]
        done = len(find_suite(Workspace(root / "killed"), "last").rows())
        print(f"kill {kill + 1}: {done} of {told.tasks} samples had a row", flush=True)
    subprocess.run(command(root / "killed", *words), stdout=subprocess.DEVNULL)
    one, other = (judged(find_suite(Workspace(root / name), "last")) for name in ("whole", "killed"))
    first, second = ({(c, i) for c, i, _ in found} for found in (one, other))
    print(f"undisturbed: {len(first)} candidates in {whole_s:.0f} s; killed: {len(second)}")
    print(f"only undisturbed: {len(first - second)}, only killed: {len(second - first)}")
    for name, found in (("undisturbed", one), ("killed", other)):
        print(f"{name}: judged twice at one depth: {sum(n > 1 for n in found.values())}; depths: "
              + ", ".join(f"{d.value} {sum(k[2] == d.value for k in found)}" for d in Depth))  # fmt: skip
    return int(first != second)


if __name__ == "__main__":
    sys.exit(main())
