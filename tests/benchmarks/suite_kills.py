"""A suite of real tasks, killed with kill -9 at random moments and gone on with, against one that ran undisturbed.

Run, with kernelwright installed:
    python tests/benchmarks/suite_kills.py OUT [--tasks 20] [--kills 10] [--seed 1] [--times frozen | live | hashed]
    python tests/benchmarks/suite_kills.py OUT --tasks 2 --kills 2        (a dry run)
The shipped tasks with the search engine: two rounds, tuning, flags and rewrites of the best, confirmation. First
undisturbed, then killed and resumed. A search looks at times, and no seed fixes those. Therefore
- `frozen`, as it is without a word: both judge for real, and the killed suite is told the times of the other
  (frozen_times.py). What it decides must then be the same, candidate by candidate and verdict by verdict; what it found
  itself is counted beside it. Twenty tasks twice want about two hours of a quiet machine.
- `live`: each keeps its own times; one round without tuning, and only the candidates of decisions are compared, which
  hang on no time. About an hour.
- `hashed`: nothing is built or measured, the verdict hangs on the candidate's id (tests/fakes/hashed.py); four rounds
  and more trials. It shows the search alone, in about a quarter of an hour.
OUT keeps everything: run again, it goes on where it was. Budgets are rounds and trials, never seconds. Exit 0 when
nothing differs and every kill hit.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from fakes.hashed import FACTS  # noqa: E402
from frozen_times import FIRST, MINE, read_lines  # noqa: E402

from kernelwright import wiring  # noqa: E402
from kernelwright.cli.suite_text import progress_line  # noqa: E402
from kernelwright.records import SuiteDefinition  # noqa: E402
from kernelwright.suite.cell import die_with_parent, run_cell  # noqa: E402
from kernelwright.suite.cells import Cell, cells_of  # noqa: E402
from kernelwright.suite.definition import make_plan, read_suite  # noqa: E402
from kernelwright.suite.folder import SuiteFolder  # noqa: E402
from kernelwright.suite.running import SuiteProgress, SuiteRun  # noqa: E402
from kernelwright.workspace import Workspace  # noqa: E402

SEARCHES = {
    "frozen": {"budget": {"rounds": 2}, "search": {"tune_measurements": 4, "decisions_per_round": 3}},
    "live": {"budget": {"rounds": 1}, "search": {"tune_measurements": 0, "decisions_per_round": 3}},
    "hashed": {"budget": {"rounds": 4}, "search": {"tune_measurements": 8, "patience": 4}},
}
"""By where times come from."""
EXECUTORS = {"frozen": "frozen_times:FrozenExecutor", "hashed": "fakes.hashed:HashedExecutor"}
BUDGET = {"seconds": 36_000, "measurements": 10_000}
LIMIT_S = 3600.0
TROUBLE = ("crashed", "timeout", "error", "refused")
"""Ends that the shipped tasks do not come to by themselves: the machine's fault, tried again at the next start."""
SOONEST_S = 5.0
"""No kill comes before: the suite's process would still be importing."""


def folder_of(root: Path) -> SuiteFolder:
    return SuiteFolder(root / "suites" / "kills")


def planned(root: Path, tasks: int, seed: int, times: str) -> SuiteFolder:
    """The suite's folder, with its plan when it is new."""
    folder = folder_of(root)
    if not folder.plan_file.exists():
        names = [str(getattr(t, "task", t)) for t in read_suite("shipped").tasks]
        names = (names * (tasks // len(names) + 1))[:tasks]
        options: dict[str, Any] = {
            "engine": "search",
            "budget": {**BUDGET, **SEARCHES[times]["budget"]},
            "search": {"tune_seconds": 1e6, **SEARCHES[times]["search"]},
            "judge": {"baselines": ["eager"]},
        }
        suite = SuiteDefinition(
            name="kills", tasks=tuple(names), options=options, seed=seed, preflight=False, limit_s=LIMIT_S
        )
        folder.root.mkdir(parents=True, exist_ok=True)
        make_plan(suite, suite_id="kills").save(folder.plan_file)
    return folder


def verdicts_of(root: Path, key: str) -> Path:
    return root / "verdicts" / f"{key}.jsonl"


# --- the processes ----------------------------------------------------------------------------------------------------


def run_suite(root: Path, times: str, first: str) -> None:
    """The suite's process, the one that is killed."""
    folder = folder_of(root)

    def command(cell: Cell, device: str) -> list[str]:
        words = ["--cell", cell.key, "--device", device, "--times", times, "--first", first]
        return [sys.executable, __file__, str(root), *words]

    def observe(progress: SuiteProgress) -> None:
        if line := progress_line(progress):
            print("   ", line, flush=True)

    SuiteRun(folder, folder.plan(), command=command, observe=observe).run(again=TROUBLE)


def run_sample(root: Path, key: str, device: str, *, times: str, first: str) -> int:
    """One sample's process."""
    die_with_parent()
    path = verdicts_of(root, key)
    path.parent.mkdir(exist_ok=True)
    os.environ[MINE], os.environ[FIRST] = str(path), str(verdicts_of(Path(first), key)) if first else ""
    os.environ[FACTS] = str(root.parent / "facts")
    wiring.EXECUTORS["local"] = EXECUTORS.get(times, wiring.EXECUTORS["local"])
    return run_cell(Workspace(root), folder_of(root), key, device=device, seams=wiring.suite_seams())


def start(root: Path, times: str, first: str) -> subprocess.Popen[bytes]:
    words = ["--suite", "--times", times, "--first", first]
    return subprocess.Popen([sys.executable, __file__, str(root), *words])


def run_undisturbed(root: Path, times: str) -> float:
    """Run what has no row; what an earlier go left unfinished is begun anew. Returns the seconds of all samples."""
    folder = folder_of(root)
    done = {row.cell for row in folder.rows() if row.outcome not in TROUBLE}
    for cell in cells_of(folder.plan()):
        if cell.key not in done:
            shutil.rmtree(folder.cell(cell.key), ignore_errors=True)
            verdicts_of(root, cell.key).unlink(missing_ok=True)
    start(root, times, "").wait()
    return sum(row.seconds + SOONEST_S for row in folder.rows())


def run_killed(root: Path, whole: Path, times: str, *, kills: int, seed: int, whole_s: float) -> int:
    """Kill the suite at random moments and go on, as often as asked; then to its end. Returns the kills that hit."""
    folder, log = folder_of(root), root / "kills.jsonl"
    for kill in range(len(read_lines(log)), kills):
        draw = random.Random(f"{seed} {kill}")
        process = start(root, times, str(whole))
        after = max(SOONEST_S, draw.uniform(0.2, 1.8) * whole_s / (kills + 1))
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        else:
            print(f"kill {kill + 1}: the suite had ended before")
            break
        done = len(folder.rows())
        with log.open("a") as lines:
            lines.write(json.dumps({"after_s": after, "rows": done}) + "\n")
        print(f"kill {kill + 1} of {kills} after {after:.0f} s: {done} samples had a row", flush=True)
    start(root, times, str(whole)).wait()
    return len(read_lines(log))


# --- what came of it --------------------------------------------------------------------------------------------------


def judged(folder: SuiteFolder, *, live: bool) -> Counter[tuple[str, str, str]]:
    """(sample, candidate, depth or the base that it was a trial of) -> how often it was judged."""
    found: Counter[tuple[str, str, str]] = Counter()
    for cell in cells_of(folder.plan()):
        if (run := folder.run_of(cell.key)) is None:
            continue
        names = {d.child for d in run.decisions() if d.child} if live else set(run.candidate_ids())
        found.update((cell.key, n, "" if live else e.depth.value) for n in names for e in run.evaluations(n))
        found.update((cell.key, t.candidate_id, f"trial of {t.base_id}") for t in run.trials() if not live)
    return found


def story(folder: SuiteFolder, key: str) -> list[tuple[object, ...]]:
    """A sample's decisions: what, from where, to which candidate, with which verdict."""
    run = folder.run_of(key)
    return [(d.round, d.summary, d.parent, d.child, d.verdict) for d in run.decisions()] if run is not None else []


def compared(whole: Path, killed: Path, *, times: str) -> bool:
    """Print both side by side; True when nothing differs."""
    folders = folder_of(whole), folder_of(killed)
    live = times == "live"
    one, other = (judged(f, live=live) for f in folders)
    ends = [Counter(r.outcome for r in f.rows()) for f in folders]
    print(f"\nundisturbed: {len(one)} judgements of {len({k[:2] for k in one})} candidates, {dict(ends[0])}")
    print(f"killed:      {len(other)} judgements of {len({k[:2] for k in other})} candidates, {dict(ends[1])}")
    for name, extra in (("undisturbed", one.keys() - other.keys()), ("killed", other.keys() - one.keys())):
        print(f"only {name}: {len(extra)}" + "".join(f"\n    {' '.join(k)}" for k in sorted(extra)[:20]))
    same = one.keys() == other.keys() and ends[0] == ends[1]
    if not live:
        keys = [cell.key for cell in cells_of(folders[0].plan())]
        apart = [k for k in keys if story(folders[0], k) != story(folders[1], k)]
        print(f"decisions and verdicts alike in {len(keys) - len(apart)} of {len(keys)} samples {' '.join(apart)}")
        same &= not apart
    if times == "frozen":
        print_questions(whole, killed, [cell.key for cell in cells_of(folders[0].plan())])
    return same


def print_questions(whole: Path, killed: Path, keys: list[str]) -> None:
    """How often the judge was asked, and what it found otherwise the second time."""
    for name, root in (("undisturbed", whole), ("killed", killed)):
        asked = Counter((k, line["asked"]) for k in keys for line in read_lines(verdicts_of(root, k)))
        again = sum(n - 1 for n in asked.values())
        print(f"{name}: the judge answered {asked.total()} times, {again} of them to a question that it had answered")
    told = [line for key in keys for line in read_lines(verdicts_of(killed, key))]
    differ = Counter((line["first"], line["status"]) for line in told if line["first"] != line["status"])
    words = ", ".join(f"{a}, then {b}: {n}" for (a, b), n in differ.items()) or "none"
    print(f"verdicts that came out otherwise the second time: {words}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", choices=list(SEARCHES), default="frozen")
    for hidden in ("--cell", "--device", "--first"):
        parser.add_argument(hidden, default="", help=argparse.SUPPRESS)
    parser.add_argument("--suite", action="store_true", help=argparse.SUPPRESS)
    told = parser.parse_args()
    out = told.out.resolve()
    if told.cell:
        return run_sample(out, told.cell, told.device, times=told.times, first=told.first)
    if told.suite:
        run_suite(out, told.times, told.first)
        return 0
    whole, killed = out / "whole", out / "killed"
    for root in (whole, killed):
        planned(root, told.tasks, told.seed, told.times)
    began = time.monotonic()
    print("undisturbed", flush=True)
    whole_s = run_undisturbed(whole, told.times)
    print(f"killed {told.kills} times (about {whole_s / 60:.0f} min and what the kills cost)", flush=True)
    hit = run_killed(killed, whole, told.times, kills=told.kills, seed=told.seed, whole_s=whole_s)
    same = compared(whole, killed, times=told.times)
    print(f"{hit} of {told.kills} kills hit; {(time.monotonic() - began) / 60:.0f} min in this go")
    print("the same" if same and hit == told.kills else "NOT the same" if not same else "the same, with fewer kills")
    return int(not same or hit < told.kills)


if __name__ == "__main__":
    sys.exit(main())
