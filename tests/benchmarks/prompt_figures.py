"""How long selecting lessons and `prompts log` take, and how large the distiller's input gets.

Run, with kernelwright installed:
    python tests/benchmarks/prompt_figures.py [--lessons 5000] [--versions 1000] [--decisions 10000] [--repeat 9]
Made-up lessons, versions and run folders in a temporary workspace. Selecting is timed for a family that no prompt was
built for yet and after that; reading the lessons' files happens once a run and is told apart. `prompts log` is the
whole command in a process of its own. The digest is made from run folders, as `lessons distill --model` makes it. About
two minutes on a quiet machine. Exit 1 above 10 ms, 0.5 s or the budget.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fakes.records import a_candidate, a_decision, a_ratio, a_task, an_evaluation  # noqa: E402
from promptopt.making import lesson  # noqa: E402
from promptopt.test_lessons import evidence  # noqa: E402
from promptopt.test_versions import many_versions  # noqa: E402

from kernelwright.promptopt.digest import BUDGET_TOKENS, digest, finished_decisions  # noqa: E402
from kernelwright.promptopt.lesson_files import save_lesson  # noqa: E402
from kernelwright.promptopt.scope import Situation  # noqa: E402
from kernelwright.promptopt.selection import Selector, assembled, tokens_of  # noqa: E402
from kernelwright.promptopt.shelves import LessonShelf  # noqa: E402
from kernelwright.promptopt.versions import seed_text  # noqa: E402
from kernelwright.records import Depth, RunSummary  # noqa: E402
from kernelwright.workspace import Workspace  # noqa: E402

SELECT_MS, LOG_S = 10.0, 0.5
FAMILIES = ("softmax", "norm", "convolution", "matmul", "scan")
A_RUN = 50
"""Decisions of a run folder."""


def selecting(place: Workspace, lessons: int, repeat: int) -> bool:
    """Print the times of selecting and assembling; True within the figure."""
    for n in range(lessons):
        scope = {"families": (FAMILIES[n % len(FAMILIES)],), "languages": (("cpp", "cuda")[n % 2],)}
        save_lesson(lesson(f"made-up-{n:05d}", scope=scope, evidence=evidence(3, low=1 + n % 7 / 10)), place.lessons)
    began = time.perf_counter()
    selector = Selector(LessonShelf(place.lessons).lessons)
    print(f"reading {lessons} files, once a run: {time.perf_counter() - began:.2f} s (nothing asked)")
    base, times = seed_text("coder"), []
    for number in range(repeat * len(FAMILIES)):
        here = Situation(family=FAMILIES[number % len(FAMILIES)], device="cpu", languages=("cpp",))
        began = time.perf_counter()
        text = assembled(base, selector.select(here, role="coder", call=str(number)))
        times.append((time.perf_counter() - began) * 1e3)
        assert "made-up-" in text
    told = f"median {median(times):.2f} ms, largest {max(times):.2f} ms"
    print(f"selecting and building a prompt: {told} ({SELECT_MS:g})")
    return max(times) < SELECT_MS


def logging(place: Workspace, versions: int, repeat: int) -> bool:
    """Print the times of the whole command; True within the figure."""
    place.prompts.mkdir(parents=True, exist_ok=True)
    many_versions(place.prompts / "coder", versions)
    command = [sys.executable, "-m", "kernelwright", "prompts", "log"]
    environment = {**os.environ, "KERNELWRIGHT_WORKSPACE": str(place.root)}
    times = []
    for _ in range(repeat + 1):
        began = time.perf_counter()
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        times.append(time.perf_counter() - began)
        assert len(done.stdout.splitlines()) == versions
    print(f"prompts log of {versions} versions: median {median(times[1:]):.2f} s, first {times[0]:.2f} s ({LOG_S:g})")
    return median(times[1:]) < LOG_S


def digesting(place: Workspace, decisions: int) -> bool:
    """Print how large the distiller's input is; True within its budget."""
    for number in range(max(1, decisions // A_RUN)):
        folder = place.new_run("any")
        folder.save(a_task(family=FAMILIES[number % len(FAMILIES)]), folder.task_file)
        for step in range(A_RUN):
            parent, child = a_candidate("parent"), a_candidate(f"{number} {step}")
            folder.add_candidate(child)
            folder.add_evaluation(an_evaluation(child, speedup=1.1, depth=Depth.FULL))
            measured = a_ratio(1.1, parent.id)
            folder.add_decision(
                a_decision(f"technique-{step}", parent=parent.id, child=child.id, measured=measured)
            )
        summary = RunSummary(run_id=folder.run_id, task_name="any", task_id="t", engine="search", state="finished")
        folder.save(summary, folder.summary_file)
    began = time.perf_counter()
    told = list(finished_decisions(place.runs))
    read = digest(told)
    tokens = tokens_of(read.text)
    print(f"digest of {len(told)} decisions: {tokens} tokens ({BUDGET_TOKENS}), {len(read.labels)} of them told, "
          f"{time.perf_counter() - began:.1f} s (nothing asked)")  # fmt: skip
    return 0 < tokens <= BUDGET_TOKENS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lessons", type=int, default=5000)
    parser.add_argument("--versions", type=int, default=1000)
    parser.add_argument("--decisions", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=9)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Workspace.open(Path(folder) / "workspace")
        good = [
            selecting(place, given.lessons, given.repeat),
            logging(place, given.versions, given.repeat),
            digesting(place, given.decisions),
        ]
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
