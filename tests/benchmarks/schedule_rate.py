"""How many distinct legal schedules a second are made and scored, on pipelines of at least five stages?

Run: python tests/benchmarks/schedule_rate.py [--seconds 10] [--processes 2] [--batch 512]
Drawing genes, settling (legality, loop nests), features, cost model and the search for duplicates are all inside the
timed part; schedules are counted once, however often they were drawn. Each process takes every pipeline in turn, with
seeds of its own; keys are brought together at the end, so that no schedule counts for two processes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time

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


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each pipeline")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--stages", type=int, default=5)
    options = parser.parse_args()
    print(f"{options.processes} processes, {options.seconds:g} s each pipeline, batches of {options.batch}")
    rates = []
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        pool.map(scored, [(1, p, 0.1, 32, 5) for p in range(options.processes)])  # imports are not timed
        for pipeline in PIPELINES:
            jobs = [(pipeline, p, options.seconds, options.batch, options.stages) for p in range(options.processes)]
            found = pool.map(scored, jobs, chunksize=1)
            distinct = len(np.unique(np.concatenate([keys for keys, _ in found])))
            rates.append(distinct / max(seconds for _, seconds in found))
            funcs = len(random_pipeline(pipeline, stages=options.stages).funcs)
            print(f"pipeline {pipeline}: {funcs} stages, {distinct} distinct schedules, {rates[-1]:.0f} a second")
    print(f"slowest {min(rates):.0f}, geometric mean {np.exp(np.mean(np.log(rates))):.0f} a second")


if __name__ == "__main__":
    main()
