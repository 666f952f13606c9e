"""Training data and the training of the cost model: random pipelines, random and promising schedules, times from here.

Owns the data file (one line a measured schedule, appended at once, so that it resumes after any interruption), the
split into pipelines that are learned from and pipelines that are only predicted, and the provenance that a model
carries. Measuring comes in from outside.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernelwright.records import Directive
from kernelwright.records.pipeline import Pipeline
from kernelwright.search.cost_model import CostModel, Sample, spearman
from kernelwright.search.exploring import evolve
from kernelwright.search.features import features_of
from kernelwright.search.genome_directives import directives_of
from kernelwright.search.genomes import Genomes, GenomeSpace
from kernelwright.search.random_pipelines import random_pipeline
from kernelwright.search.schedule_search import Measured
from kernelwright.search.settling import settle
from kernelwright.search.stage_table import StageTable

HELD_OUT = 4
"""Every so manieth pipeline is not learned from."""
TOP = 20
"""Predicted best schedules among which the measured best is looked for."""

MeasurePipeline = Callable[[Pipeline, Sequence[Directive]], Measured]


@dataclass(frozen=True)
class TrainingPlan:
    """How much is measured."""

    pipelines: int
    schedules: int
    """Of each pipeline, half of them random, half what the untrained formula finds promising."""
    seconds: float
    """Wall time of this sitting; what is missing then is left to the next one."""
    threads: int = 1
    seed: int = 0


@dataclass(frozen=True)
class Scores:
    """How well a model orders pipelines that it has not seen."""

    pipelines: int
    schedules: int
    spearman: float
    """Median over pipelines of the rank correlation with measured time."""
    spearman_fast: float
    """The same within the fastest quarter."""
    top_ratio: float
    """Median over pipelines: measured best of the predicted top 20 over the best known, 1 is perfect."""


def candidates_of(space: GenomeSpace, count: int, seed: int) -> Genomes:
    """Distinct schedules of a pipeline to be measured; the same for the same seed."""
    rng = np.random.default_rng(seed)
    model = CostModel.untrained()
    drawn = settle(space, space.random(rng, 2 * count), rng)
    # By number of generations, never by time: a later sitting has to draw the same ones.
    good = evolve(space, model, rng, start=space.plain(1), generations=4, population=max(32, count))
    spread = good.genomes[:: max(1, len(good.genomes) // max(1, count // 2))][: count // 2]
    mixed = settle(space, np.concatenate([spread, drawn.genomes]), rng)
    _, first = np.unique(mixed.keys, return_index=True)
    genomes: Genomes = mixed.genomes[np.sort(first)][:count]
    return genomes


def read_rows(file: Path) -> list[dict[str, Any]]:
    """What was measured so far; a line that was cut off is left out."""
    rows = []
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


def collect(
    plan: TrainingPlan,
    file: Path,
    measure: MeasurePipeline,
    *,
    on_row: Callable[[Mapping[str, Any]], None] = lambda row: None,
    clock: Callable[[], float] = time.monotonic,
) -> list[dict[str, Any]]:
    """Measure what the plan asks for and the file does not hold yet.

    Args:
        plan: how much.
        file: JSON lines, appended to.
        measure: times a schedule of a pipeline and bounds its own time.
        on_row: told of every measured schedule.
        clock: seconds; replaced in tests.

    Returns:
        All rows of the file that were measured with as many threads.
    """
    end = clock() + plan.seconds
    rows = [r for r in read_rows(file) if r["threads"] == plan.threads]  # times of other counts are not comparable
    known = {(r["pipeline"], r["number"]) for r in rows}
    drawn: dict[int, Genomes] = {}
    for number in range(plan.schedules):  # one of every pipeline, then the next: a short sitting sees many pipelines
        for offset in range(plan.pipelines):
            seed = plan.seed + offset
            if (seed, number) in known:
                continue
            if clock() >= end:
                return rows
            row = _measured(seed, number, plan, measure, drawn)
            rows.append(row)
            with file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row) + "\n")
            on_row(row)
    return rows


def _measured(
    seed: int, number: int, plan: TrainingPlan, measure: MeasurePipeline, drawn: dict[int, Genomes]
) -> dict[str, Any]:
    pipeline = random_pipeline(seed)
    space = GenomeSpace(StageTable(pipeline), threads=plan.threads)
    if seed not in drawn:
        drawn[seed] = candidates_of(space, plan.schedules, seed)
    genomes = drawn[seed]
    row: dict[str, Any] = {"pipeline": seed, "number": number, "threads": plan.threads}
    if number >= len(genomes):
        return {**row, "genome": [], "ns": None, "status": "NONE_LEFT"}
    settled = settle(space, genomes[number : number + 1], np.random.default_rng(0))
    found = measure(pipeline, directives_of(space, settled, 0))
    return {**row, "genome": genomes[number].tolist(), "ns": found.ns, "status": found.status}


def samples_of(rows: Sequence[Mapping[str, Any]]) -> list[Sample]:
    """Rows that were timed, as samples; the group is the pipeline."""
    groups: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["ns"] is not None:
            groups.setdefault((row["pipeline"], row["threads"]), []).append(row)
    samples = []
    for (seed, threads), members in groups.items():
        space = GenomeSpace(StageTable(random_pipeline(seed)), threads=threads)
        genomes = np.array([m["genome"] for m in members], dtype=np.int32)
        features = features_of(space, settle(space, genomes, np.random.default_rng(0)))
        samples += [
            Sample(terms, features.facts, m["ns"], str(seed)) for terms, m in zip(features.terms, members, strict=True)
        ]
    return samples


def split(samples: Sequence[Sample]) -> tuple[list[Sample], list[Sample]]:
    """(learned from, held out), by whole pipelines."""
    groups = list(dict.fromkeys(s.group for s in samples))
    held = {g for n, g in enumerate(groups) if n % HELD_OUT == HELD_OUT - 1}
    return [s for s in samples if s.group not in held], [s for s in samples if s.group in held]


def scores_of(model: CostModel, samples: Sequence[Sample]) -> Scores:
    """How a model orders samples, pipeline by pipeline."""
    groups: dict[str, list[Sample]] = {}
    for sample in samples:
        groups.setdefault(sample.group, []).append(sample)
    whole, fast, top = [], [], []
    for members in groups.values():
        if len(members) < 4:
            continue
        predicted = [float(model.stages_ns(s.terms, s.facts).sum()) for s in members]
        measured = [s.measured_ns for s in members]
        whole.append(spearman(predicted, measured))
        quick = np.argsort(measured)[: max(4, len(members) // 4)]
        fast.append(spearman([predicted[i] for i in quick], [measured[i] for i in quick]))
        chosen = np.argsort(predicted)[:TOP]
        top.append(min(measured[i] for i in chosen) / min(measured))
    middle = [float(np.median(v)) if v else 0.0 for v in (whole, fast, top)]
    return Scores(len(whole), len(samples), *middle)


def train(
    rows: Sequence[Mapping[str, Any]], *, provenance: Mapping[str, Any], epochs: int = 150
) -> tuple[CostModel, Scores, Scores]:
    """A model from measured rows.

    Args:
        rows: of the data file.
        provenance: where and when they were measured; counts and scores are added.
        epochs: passes over the data.

    Returns:
        The model, its scores on the held-out pipelines, and those of the untrained formula on the same.

    Raises:
        ValueError: too little to hold anything out.
    """
    learned, held = split(samples_of(rows))
    if not held:
        raise ValueError(f"only {len(learned)} timed schedules of fewer than {HELD_OUT} pipelines: measure more first")
    model = CostModel.untrained()
    model.fit(learned, epochs=epochs)
    after, before = scores_of(model, held), scores_of(CostModel.untrained(), held)
    model.provenance = {
        **provenance,
        "learned_from": {"schedules": len(learned), "pipelines": len({s.group for s in learned})},
        "failed": sum(r["ns"] is None for r in rows),
        "held_out": vars(after),
        "untrained_on_held_out": vars(before),
    }
    return model, after, before
