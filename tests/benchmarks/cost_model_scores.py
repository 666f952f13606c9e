"""How well does a cost model order schedules of pipelines that it never saw? For a quiet machine.

    python tests/benchmarks/cost_model_scores.py OUT [--model FILE] [--schedules 64] [--seconds 3600] [--report]

Measures schedules of the ten classic image pipelines and of twenty random ones (FIRST_SEED on; `search train` begins at
0), half of them random, half what the untrained formula finds promising; every one is a line of OUT/measured.jsonl, so
that the command goes on where it was. Then it prints, for the model and for the untrained formula: Spearman's rank
correlation with measured time over all schedules and within the fastest quartile, and the measured best of the
predicted top 20 over the best known; medians over pipelines. Pipelines, schedules and seeds are fixed, and nothing here
is ever learned from. The model is trained by `kernelwright search train` (resumable too).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from image_pipelines import PIPELINES

from kernelwright.records.pipeline import Pipeline
from kernelwright.search.cost_model import CostModel, Sample
from kernelwright.search.features import features_of
from kernelwright.search.genome_directives import directives_of
from kernelwright.search.genomes import GenomeSpace
from kernelwright.search.random_pipelines import random_pipeline
from kernelwright.search.settling import settle
from kernelwright.search.stage_table import StageTable
from kernelwright.search.training import candidates_of, read_rows, scores_of
from kernelwright.toolexec.languages.halide_timing import ScheduleTimer

FIRST_SEED, RANDOM = 900_000, 20
WIDTH, HEIGHT = 768, 512
"""Of the image pipelines."""


def pipelines() -> dict[str, Pipeline]:
    """Name -> pipeline, the classic ones first."""
    found = {name: make(WIDTH, HEIGHT) for name, make in PIPELINES.items()}
    return found | {f"random{n}": random_pipeline(FIRST_SEED + n) for n in range(RANDOM)}


def missing(known: Sequence[dict[str, Any]], chosen: dict[str, Pipeline], schedules: int) -> Iterator[tuple[str, int]]:
    """What is not measured yet: one schedule of every pipeline, then the next."""
    done = {(r["name"], r["number"]) for r in known}
    for number in range(schedules):
        for name in chosen:
            if (name, number) not in done:
                yield name, number


def measure(out: Path, chosen: dict[str, Pipeline], timer: ScheduleTimer, *, schedules: int, seconds: float) -> None:
    """Append what is missing to the data file."""
    end = time.monotonic() + seconds
    drawn: dict[str, Any] = {}
    for name, number in missing(read_rows(out), chosen, schedules):
        if time.monotonic() >= end:
            return
        if name not in drawn:
            space = GenomeSpace(StageTable(chosen[name]))
            genomes = candidates_of(space, schedules, FIRST_SEED)
            drawn[name] = space, settle(space, genomes, np.random.default_rng(0))
        space, settled = drawn[name]
        row: dict[str, Any] = {"name": name, "number": number, "genome": [], "ns": None, "status": "NONE_LEFT"}
        if number < len(settled.genomes):
            directives = [d.model_dump(mode="json") for d in directives_of(space, settled, number)]
            timed = timer.time(chosen[name].model_dump(mode="json"), directives)
            row |= {"genome": settled.genomes[number].tolist(), "ns": timed.ns, "status": timed.status}
        with out.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")


def samples_of(rows: Sequence[dict[str, Any]], chosen: dict[str, Pipeline]) -> list[Sample]:
    """Rows that were timed, as samples of their pipeline."""
    samples = []
    for name, pipeline in chosen.items():
        members = [r for r in rows if r["name"] == name and r["ns"] is not None]
        if not members:
            continue
        space = GenomeSpace(StageTable(pipeline))
        genomes = np.array([m["genome"] for m in members], dtype=np.int32)
        features = features_of(space, settle(space, genomes, np.random.default_rng(0)))
        pairs = zip(features.terms, members, strict=True)
        samples += [Sample(terms, features.facts, m["ns"], name) for terms, m in pairs]
    return samples


def print_report(rows: Sequence[dict[str, Any]], chosen: dict[str, Pipeline], model: CostModel) -> None:
    """A line a pipeline, and the medians."""
    samples = samples_of(rows, chosen)
    failed = sum(r["ns"] is None for r in rows)
    trained = model.provenance.get("trained", True)
    print(f"{len(samples)} schedules timed, {failed} failed; the model is trained: {trained}")
    for name in chosen:
        members = [s for s in samples if s.group == name]
        if len(members) >= 4:
            found = scores_of(model, members)
            line = (
                f"{found.spearman:6.3f} all  {found.spearman_fast:6.3f} fastest quartile  {found.top_ratio:6.3f} top 20"
            )
            print(f"{name:20} {len(members):4} timed  {line}")
    for label, used in (("model", model), ("untrained formula", CostModel.untrained())):
        found = scores_of(used, samples)
        print(
            f"{label:18} median over {found.pipelines} pipelines: Spearman {found.spearman:.3f} (asked 0.8), fastest "
            f"quartile {found.spearman_fast:.3f} (asked 0.5), measured best of the top 20 over the best known "
            f"{found.top_ratio:.3f} (asked 1.10)"
        )


def main() -> None:
    """Measure what is missing, then report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--model", type=Path, default=None, help="default: the shipped one")
    parser.add_argument("--schedules", type=int, default=64, help="of each pipeline")
    parser.add_argument("--seconds", type=float, default=3600.0, help="of this sitting")
    parser.add_argument("--only", nargs="*", default=None, help="pipelines, to try the command out")
    parser.add_argument("--report", action="store_true", help="print what is there")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    file = arguments.out / "measured.jsonl"
    chosen = {n: p for n, p in pipelines().items() if arguments.only is None or n in arguments.only}
    if not arguments.report:
        with ScheduleTimer() as timer:
            measure(file, chosen, timer, schedules=arguments.schedules, seconds=arguments.seconds)
    model = CostModel.load(arguments.model) if arguments.model else CostModel.shipped()
    print_report(read_rows(file), chosen, model)


if __name__ == "__main__":
    main()
