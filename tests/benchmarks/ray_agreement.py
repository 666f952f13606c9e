"""Do the Ray executor and the local one agree on candidates that are judged for real?

Run, with kernelwright[ray] installed:
    python tests/benchmarks/ray_agreement.py OUT [--candidates 200] [--task NAME ...]
The shipped tasks at small sizes, with all of their right and wrong candidates, and these again with a comment more,
until there are as many as asked. Each is judged by both executors with the same seed: right ones at depth screen, wrong
ones in full. Prints every status that differs; a status that hangs on times (UNSTABLE) is counted apart. OUT keeps
what is done. About half an hour on a quiet machine for 200. Exit 1 when a status differs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

from tasks.test_shipped_judged import SHIPPED, small_task  # noqa: E402

from kernelwright.protocols import Executor, JudgeSettings  # noqa: E402
from kernelwright.records import Candidate, Depth, Status, Task  # noqa: E402
from kernelwright.tasks.candidate_files import load_candidate  # noqa: E402
from kernelwright.tasks.loading import shipped_tasks  # noqa: E402
from kernelwright.toolexec.executors.local import LocalExecutor  # noqa: E402
from kernelwright.toolexec.executors.ray import RayExecutor  # noqa: E402

TIMED = {Status.UNSTABLE.value}


def again(candidate: Candidate, number: int) -> Candidate:
    """The same kernel with a comment more: another candidate to every cache."""
    if number == 0:
        return candidate
    mark = "#" if candidate.entry_file.endswith(".py") else "//"
    files = tuple(
        f.model_copy(update={"text": f"{f.text}\n{mark} copy {number}\n"}) if f.path == candidate.entry_file else f
        for f in candidate.files
    )
    return candidate.model_copy(update={"files": files})


def wanted(names: list[str], count: int) -> dict[str, list[tuple[str, int]]]:
    """Task -> its candidates as (kind/file, copy), so many in all."""

    def every() -> Iterator[tuple[str, str, int]]:
        for number in itertools.count():
            for name in names:
                for kind in ("correct", "wrong"):
                    for file in sorted((shipped_tasks() / name / kind).iterdir()):
                        yield name, f"{kind}/{file.name}", number

    found: dict[str, list[tuple[str, int]]] = {name: [] for name in names}
    for name, file, number in itertools.islice(every(), count):
        found[name].append((file, number))
    return found


def statuses(executor: Executor, task: Task, files: list[tuple[str, int]], cache: Path) -> list[str]:
    """What an executor says of each."""
    settings = JudgeSettings(baselines=("eager",), seed=1, cache_dir=cache)
    session = executor.open(task, settings=settings)
    try:
        told = []
        for file, number in files:
            candidate = again(load_candidate(shipped_tasks() / task.name / file), number)
            depth = Depth.SCREEN if file.startswith("correct") else Depth.FULL
            told.append(session.evaluate(candidate, depth=depth).status.value)
        return told
    finally:
        session.close()


def judged(name: str, files: list[tuple[str, int]], out: Path) -> dict[str, Any]:
    """Both executors on a task's candidates; kept in OUT."""
    kept = out / f"{name}-{len(files)}.json"
    if kept.exists():
        return dict(json.loads(kept.read_text()))
    task, began = small_task(name), time.monotonic()
    local = statuses(LocalExecutor(), task, files, out / "cache" / "local")
    there = statuses(RayExecutor(), task, files, out / "cache" / "ray")
    found = {"files": files, "local": local, "ray": there, "seconds": time.monotonic() - began}
    kept.write_text(json.dumps(found))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--candidates", type=int, default=200)
    parser.add_argument("--task", action="append")
    told = parser.parse_args()
    told.out.mkdir(parents=True, exist_ok=True)
    out, total, differ, timed = told.out.resolve(), 0, 0, 0
    for name, files in wanted(told.task or SHIPPED, told.candidates).items():
        if not files:
            continue
        found = judged(name, files, out)
        for (file, number), one, other in zip(found["files"], found["local"], found["ray"], strict=True):
            total += 1
            if one != other:
                by_time = bool({one, other} & TIMED)
                timed, differ = timed + by_time, differ + (not by_time)
                print(f"{name}/{file} copy {number}: local {one}, ray {other}")
        print(f"{name}: {len(files)} candidates, {found['seconds']:.0f} s", flush=True)
    print(f"{total} candidates judged by both: {differ} statuses differ, {timed} more hang on times")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
