"""How many distinct legal schedules a second are made and scored, on pipelines of at least five stages?

Run: python tests/benchmarks/schedule_rate.py [--seconds 10] [--processes 2] [--batch 512] [--out FILE.jsonl]
With --out a pipeline's line is kept in FILE and not made again with the same options.
Drawing genes, settling (legality, loop nests), features, cost model and the search for duplicates are all inside the
timed part; schedules are counted once, however often they were drawn. Each process takes every pipeline in turn, with
seeds of its own; keys are brought together at the end, so that no schedule counts for two processes.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from pathlib import Path
from typing import Any

import numpy as np

from kernelwright.search.cost_model import CostModel
from kernelwright.search.features import features_of
from kernelwright.search.genomes import GenomeSpace
from kernelwright.search.random_pipelines import random_pipeline
from kernelwright.search.settling import settle
from kernelwright.search.stage_table import StageTable

PIPELINES = (1, 2, 3, 5, 8)
"""Seeds of random pipelines."""


def scored(job: tuple[int, int, float, int, int]) -> tuple[np.ndarray, float]:
    """(keys of distinct schedules, seconds) of one process on one pipeline."""
    pipeline, process, seconds, batch, stages = job
    space = GenomeSpace(StageTable(random_pipeline(pipeline, stages=stages)), threads=2)
    model, rng = CostModel.untrained(), np.random.default_rng([pipeline, process])
    keys = np.zeros(0, dtype=np.uint64)
    best = np.inf
    begun = time.perf_counter()
    while time.perf_counter() - begun < seconds:
        settled = settle(space, space.random(rng, batch), rng)
        best = min(best, float(model.cost_ns(features_of(space, settled)).min()))
        keys = np.concatenate([keys, settled.keys])
    distinct = np.unique(keys)
    return distinct, time.perf_counter() - begun


def measured(pool: Any, pipeline: int, settings: dict[str, Any]) -> dict[str, Any]:
    """One pipeline by all processes at once."""
    seconds, batch, stages = settings["seconds"], settings["batch"], settings["stages"]
    found = pool.map(scored, [(pipeline, p, seconds, batch, stages) for p in range(settings["processes"])], chunksize=1)
    distinct = len(np.unique(np.concatenate([keys for keys, _ in found])))
    funcs = len(random_pipeline(pipeline, stages=stages).funcs)
    rate = distinct / max(taken for _, taken in found)
    return {**settings, "pipeline": pipeline, "funcs": funcs, "distinct": distinct, "rate": rate}


def kept_in(file: Path | None, settings: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """Pipeline -> its line of an earlier sitting with the same options."""
    if file is None or not file.exists():
        return {}
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
    return {r["pipeline"]: r for r in rows if all(r[k] == v for k, v in settings.items())}


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each pipeline")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--stages", type=int, default=5)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    settings = {k: getattr(options, k) for k in ("seconds", "processes", "batch", "stages")}
    kept = kept_in(options.out, settings)
    print(f"{options.processes} processes, {options.seconds:g} s each pipeline, batches of {options.batch}")
    rates = []
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        pool.map(scored, [(1, p, 0.1, 32, 5) for p in range(options.processes)])  # imports are not timed
        for pipeline in PIPELINES:
            row = kept.get(pipeline) or measured(pool, pipeline, settings)
            if options.out is not None and pipeline not in kept:
                with options.out.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(row) + "\n")
            rates.append(row["rate"])
            print(f"pipeline {pipeline}: {row['funcs']} stages, {row['distinct']} distinct, {row['rate']:.0f} a second")
    print(f"slowest {min(rates):.0f}, geometric mean {np.exp(np.mean(np.log(rates))):.0f} a second")


if __name__ == "__main__":
    main()
