"""Random pipelines and training: made alike from a seed, measured once, resumed, learned from, held out by pipeline."""

import json

import numpy as np
import pytest

from kernelwright.records.pipeline import check_expression
from kernelwright.search.cost_model import CostModel
from kernelwright.search.features import TERMS, features_of
from kernelwright.search.genomes import GenomeSpace
from kernelwright.search.random_pipelines import random_pipeline
from kernelwright.search.schedule_search import Measured
from kernelwright.search.settling import settle
from kernelwright.search.stage_table import StageTable
from kernelwright.search.training import TrainingPlan, candidates_of, collect, read_rows, samples_of, split, train


def test_random_pipelines_are_valid_varied_and_reproducible():
    kinds = set()
    for seed in range(40):
        pipeline = random_pipeline(seed, stages=5)
        assert pipeline == random_pipeline(seed, stages=5) and len(pipeline.funcs) >= 5
        for func in pipeline.funcs:
            check_expression(func.value)
            kinds.add((len(func.dims), bool(func.updates)))
        used = {name for func in pipeline.funcs for name in pipeline.loads_of(func) if name != func.name}
        assert {f.name for f in pipeline.funcs} - used == set(pipeline.outputs)
    assert len(kinds) == 3  # pure images, reductions of two axes, statistics of rows


def test_candidates_are_distinct_and_the_same_again():
    space = GenomeSpace(StageTable(random_pipeline(4)))
    first, again = (candidates_of(space, 10, 4) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert len(set(settle(space, first, np.random.default_rng(0)).keys.tolist())) == len(first) == 10


class Machine:
    """A made-up machine: transcendental functions are dear; every ninth schedule fails."""

    def __init__(self):
        self.calls = 0

    def __call__(self, pipeline, directives):
        self.calls += 1
        return Measured(None, "TIMEOUT") if self.calls % 9 == 0 else Measured(1e4 * (1 + self.calls % 5), "PASSED")


def test_collecting_resumes_and_measures_nothing_twice(tmp_path):
    file, machine = tmp_path / "measured.jsonl", Machine()
    collect(TrainingPlan(2, 2, seconds=100), file, machine)
    assert machine.calls == 4
    file.write_text(file.read_text() + '{"pipeline": 1, "numb')  # cut off while writing
    file.write_text(file.read_text() + "\n")
    rows = collect(TrainingPlan(2, 2, seconds=100), file, machine)
    assert machine.calls == 4 and {(r["pipeline"], r["number"]) for r in rows} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    ticks = iter(range(1000))
    collect(TrainingPlan(2, 50, seconds=3), file, machine, clock=lambda: float(next(ticks)))
    assert 4 < machine.calls < 9


def _rows(pipelines, schedules):
    """Rows as if measured on a machine whose time is a plain sum of two terms."""
    weights = np.where(np.isin(TERMS, ("load_unit", "runs")), 3.0, 0.02)
    rows = []
    for seed in range(pipelines):
        space = GenomeSpace(StageTable(random_pipeline(seed)))
        rng = np.random.default_rng(seed)
        settled = settle(space, space.random(rng, schedules), rng)
        times = 500 + (features_of(space, settled).terms * weights).sum(axis=(1, 2))
        rows += [
            {"pipeline": seed, "number": n, "threads": 1, "genome": g.tolist(), "ns": float(t), "status": "PASSED"}
            for n, (g, t) in enumerate(zip(settled.genomes, times, strict=True))
        ]
    return rows


def test_pipelines_are_held_out_as_a_whole():
    learned, held = split(samples_of(_rows(5, 4)))
    assert {s.group for s in held} == {"3"} and not {s.group for s in learned} & {"3"}


def test_training_orders_unseen_pipelines_better_than_the_formula_alone():
    model, after, before = train(_rows(8, 24), provenance={"machine": "made up"}, epochs=40)
    assert after.pipelines == 2 and after.spearman >= before.spearman and after.spearman > 0.8
    assert model.provenance["machine"] == "made up" and model.provenance["learned_from"]["pipelines"] == 6
    assert json.dumps(model.provenance)


def test_too_little_is_said_to_be_too_little():
    with pytest.raises(ValueError, match="measure more"):
        train(_rows(2, 4), provenance={})


def test_a_file_that_does_not_exist_has_no_rows(tmp_path):
    assert read_rows(tmp_path / "none.jsonl") == []


def test_the_shipped_model_says_where_it_comes_from():
    told = CostModel.shipped().provenance
    assert told["command"].startswith("kernelwright search train")
    assert {"learned_from", "held_out", "processor"} <= set(told) or (told["trained"] is False and told["why"])


def test_other_threads_are_measured_anew(tmp_path):
    machine = Machine()
    for threads in (1, 2):
        rows = collect(TrainingPlan(2, 2, seconds=100, threads=threads), tmp_path / "m.jsonl", machine)
    assert machine.calls == 8 and {r["threads"] for r in rows} == {2}
