"""The starting set in knowledge/lessons, made again from run folders: what is proposed, active, and on what evidence.

Run, with kernelwright installed:
    python tests/benchmarks/distil_lessons.py [RUNS ...] [--ladders KEPT] [--out knowledge/lessons] [--why] [--write]
RUNS are folders that hold runs anywhere below (a workspace, what shipped_tasks.py left, several of them). They are
read, never changed. With the runs count the rungs of the shipped solutions that state numbers, and the decisions that
the lessons in --out list from runs that are not at hand. --ladders measures every rung of every shipped CPU ladder over
the rung before it, at depth full, so that steps are known and not only whole kernels; KEPT is a folder, and a ladder
whose result lies there is not measured again (about a minute a ladder on a quiet machine). Without --write the set is
only shown. A lesson whose decisions do not speak for it is dropped, and one that rests on whole kernels alone: what is
shipped has to hold up when it is read.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from kernelwright import wiring
from kernelwright.cli.lessons_text import counts, why_text
from kernelwright.config import load_config
from kernelwright.errors import KernelwrightError
from kernelwright.memory.evidence import Evidence, Observation
from kernelwright.memory.knowledge_pages import load_techniques
from kernelwright.memory.library import Library
from kernelwright.promptopt.counting import remembered
from kernelwright.promptopt.lesson_files import load_folder, save_lesson
from kernelwright.promptopt.shelves import LessonShelf
from kernelwright.promptopt.states import votes
from kernelwright.promptopt.statistics_distiller import distilled
from kernelwright.promptopt.upkeep import upkeep
from kernelwright.records import Depth, Lesson, Ratio, Solution
from kernelwright.workspace import Workspace

OUT = Path(__file__).resolve().parents[2] / "knowledge" / "lessons"


def observed(roots: Iterable[Path], place: Path) -> list[Observation]:
    """Every decision of the runs below some folders, and of the shipped ladders."""
    runs = place / "runs"
    runs.mkdir()
    for root in roots:
        for file in sorted(root.rglob("decisions.jsonl")):
            link = runs / file.parent.name
            if not link.exists():
                link.symlink_to(file.parent.resolve(), target_is_directory=True)
    return Evidence(Library(), runs=runs).observations()


def measured_ladders(kept: Path, names: Iterable[str]) -> Iterator[Observation]:
    """What every step of the shipped ladders bought, measured now or read from ``kept``."""
    kept.mkdir(parents=True, exist_ok=True)
    for solution in Library().solutions:
        cpu = solution.language in ("cpp", "halide", "torch") and solution.task
        if not cpu or (names and solution.id not in names):
            continue
        file = kept / f"{solution.id}.json"
        if not file.exists():
            print(f"measuring {solution.id}", flush=True)
            file.write_text(json.dumps(steps_of(solution, Workspace.open(kept / "workspace")), indent=1))
        for row in json.loads(file.read_text()):
            yield Observation(**{**row, "gain": Ratio.model_validate(row["gain"])})


def steps_of(solution: Solution, place: Workspace) -> list[dict[str, Any]]:
    """A ladder's steps as observations; a rung that is not right, or was measured while others worked, is none."""
    config = load_config(overrides=["judge.baselines=[eager, start]"])
    try:
        task = wiring.find_task(place, solution.task or "")
        report = wiring.verify_solution(place, solution, task, config, depth=Depth.FULL)
    except KernelwrightError as error:
        print(f"  not measured: {error.message}")
        return []
    rows = []
    for number, (rung, found) in enumerate(zip(solution.rungs, report.rungs, strict=True)):
        if found.gain is None or not found.passed or found.gain.disturbed or found.evaluation is None:
            print(f"  {rung.decision.technique}: {found.why_not or 'not right, or disturbed'}")
            continue
        rows.append(
            {
                "technique": rung.decision.technique, "family": solution.family, "bottleneck": rung.decision.bottleneck,
                "language": solution.language.value, "device": "cpu", "over": "parent" if number else "baseline",
                "gain": found.gain.model_dump(mode="json"), "child": found.evaluation.candidate_id,
                "parent": found.gain.against if number else None, "source": f"solution:{solution.id}#{number}",
            }
        )  # fmt: skip
    return rows


def joined(seen: list[Observation], known: Iterable[Lesson]) -> list[Observation]:
    """The observations and those that lessons list of runs that are elsewhere."""
    sources = {o.source for o in seen}
    kept = {t.source: remembered(x.technique, t) for x in known for t in x.evidence.trials if t.source not in sources}
    return [*seen, *kept.values()]


def starting_set(seen: list[Observation], known: dict[str, Lesson], place: Path) -> list[Lesson]:
    """The lessons that statistics make of steps, with a technique page, and more for them than against them."""
    pages = load_techniques()[0]
    names = {name for page in pages for name in page.names}
    shelf = LessonShelf(place / "lessons", with_shipped=False)
    proposals = [x for x in distilled(seen, pages) if x.technique in names]
    for lesson in proposals:
        if lesson.id in known:  # it keeps its past
            old = known[lesson.id]
            shelf.save(lesson.model_copy(update={"state": old.state, "history": old.history, "effect": old.effect}))
    upkeep(shelf, seen, proposals=proposals)
    steps = (x for x in shelf.lessons if x.evidence.over == "parent")
    return [x for x in steps if votes(x.evidence, "supporting") > votes(x.evidence, "contradicting")]


def main() -> None:
    """Distil, show, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="*")
    parser.add_argument("--ladders", type=Path, metavar="KEPT", help="measure the shipped ladders, into this folder")
    parser.add_argument("--only", action="append", default=[], help="measure only this ladder; repeatable")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--why", action="store_true", help="each lesson with its decisions")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    known = {x.id: x for x in load_folder(given.out)[0]}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        ladders = list(measured_ladders(given.ladders, given.only)) if given.ladders else []
        again = {o.source for o in ladders}
        seen = [*ladders, *(o for o in observed(given.runs, place) if o.source not in again)]
        seen = joined(seen, known.values())
        lessons = starting_set(seen, known, place)
    for lesson in lessons:
        kernels = votes(lesson.evidence, "supporting"), votes(lesson.evidence, "contradicting")
        line = f"{lesson.id:44} {lesson.state.value:9} {kernels[0]} kernels for, {kernels[1]} against"
        print(why_text(lesson) + "\n" if given.why else f"{line}; {counts(lesson.evidence)}")
    gone = sorted(known.keys() - {x.id for x in lessons})
    print("".join(f"dropped: {id}: its decisions do not speak for it, or are no steps\n" for id in gone), end="")
    many = sum(x.evidence.n + x.evidence.failures >= 3 for x in lessons)
    print(f"{len(seen)} decisions, {len(lessons)} lessons, {many} of them on three decisions or more")
    if given.write:
        for lesson in lessons:
            save_lesson(lesson, given.out)
        for id in gone:
            (given.out / f"{id}.yaml").unlink()


if __name__ == "__main__":
    main()
