"""Terms and cost model: amounts are right where they can be counted by hand, training learns, files survive."""

import json

import numpy as np
import pytest
from search.pipelines import KINDS, made

from kernelwright.records.pipeline import Func, FuncUpdate, LoopDim, Pipeline, PipelineBuffer
from kernelwright.search.cost_model import INPUTS, CostModel, Sample, spearman
from kernelwright.search.features import FACTS, TERMS, features_of
from kernelwright.search.genomes import INLINE, KIND, LANES, PARTIAL, VECTOR, GenomeSpace
from kernelwright.search.settling import settle
from kernelwright.search.stage_table import StageTable


def featured(kind, count=100, *, genomes=None, decided=None):
    space = GenomeSpace(StageTable(made(kind)[0]), threads=1)
    rng = np.random.default_rng(0)
    settled = settle(space, space.random(rng, count) if genomes is None else genomes, rng, decided=decided)
    return space, settled, features_of(space, settled)


def test_there_are_27_terms():
    assert len(TERMS) == 27 and INPUTS == 27 + FACTS


@pytest.mark.parametrize("kind", KINDS)
def test_terms_are_finite_amounts_and_inlined_funcs_have_none(kind):
    _, settled, features = featured(kind)
    assert np.isfinite(features.terms).all() and (features.terms >= 0).all()
    assert not features.terms[settled.genomes[:, :, KIND] == INLINE].any()
    assert features.terms.sum(axis=(1, 2)).min() > 0


def test_a_row_counts_by_itself_whatever_batch_it_is_in():
    space, settled, features = featured("blur", 40)
    alone = features_of(space, settle(space, settled.genomes[7:8], np.random.default_rng(1)))
    np.testing.assert_allclose(alone.terms[0], features.terms[7])


def test_amounts_of_a_plain_matrix_product():
    space = GenomeSpace(StageTable(made("linear")[0]), threads=1)
    features = featured("linear", genomes=space.plain(1))[2]
    product = space.table.number[next(n for n in space.table.names if n.endswith("_product_sum"))]
    amounts = dict(zip(TERMS, features.terms[0, product], strict=True))
    vectors = np.ceil(70 / 16) * 30 * 40
    assert amounts["iterations"] == vectors and amounts["load_unit"] + amounts["load_same"] >= 2 * vectors
    assert amounts["simple"] == 2 * vectors  # a product and a sum


def test_recomputation_costs():
    """An inlined producer is computed once for every user."""
    space = GenomeSpace(StageTable(made("softmax")[0]), threads=1)
    genomes = space.plain(2)
    exp = space.table.number["softmax_exp"]
    genomes[1, exp, KIND] = INLINE
    terms = featured("softmax", genomes=genomes)[2].terms[:, :, TERMS.index("transcendental")].sum(axis=1)
    assert terms[0] == 12 * 7  # rows, vectors of 16 a row
    assert terms[1] == 12 * 7 + 2 * 100  # in the result, and in the sum, whose vectors are 8 of 12 rows


def test_a_partial_schedule_costs_no_more_than_the_whole():
    space, settled, _ = featured("softmax", 50)
    model = CostModel.untrained()
    whole = model.cost_ns(features_of(space, settled))
    part = settle(space, settled.genomes, np.random.default_rng(0), decided=1)
    assert (model.cost_ns(features_of(space, part)) <= whole * 1.001).all()


def test_the_gradient_is_that_of_the_loss():
    _, _, features = featured("softmax", 4)
    samples = [Sample(features.terms[i], features.facts, 1e5 * (i + 1)) for i in range(4)]
    model = CostModel.untrained()
    rng = np.random.default_rng(0)
    model.weights["second"] += rng.normal(0, 0.1, model.weights["second"].shape)
    loss, gradient = model.loss_and_gradient(samples)
    for name in model.weights:
        place = np.unravel_index(np.abs(gradient[name]).argmax(), gradient[name].shape)
        model.weights[name][place] += 1e-3
        moved = model.loss_and_gradient(samples)[0]
        model.weights[name][place] -= 1e-3
        assert (moved - loss) / 1e-3 == pytest.approx(gradient[name][place], rel=0.05, abs=1e-4)


def test_training_learns_what_a_machine_is_like():
    """A made-up machine on which transcendental functions are dear and memory is free."""
    _, _, features = featured("softmax", 240)
    weights = np.where(np.array(TERMS) == "transcendental", 30.0, 0.05)
    times = 500 + (features.terms * weights).sum(axis=(1, 2))
    samples = [Sample(t, features.facts, float(ns)) for t, ns in zip(features.terms, times, strict=True)]
    model = CostModel.untrained()
    before = model.loss_and_gradient(samples[160:])[0]
    losses = model.fit(samples[:160], epochs=30)
    assert losses[-1] < losses[0] / 3 and model.loss_and_gradient(samples[160:])[0] < before / 3


def test_a_model_survives_its_file_and_another_file_is_refused(tmp_path):
    model = CostModel.untrained()
    model.provenance["machine"] = "here"
    model.save(tmp_path / "m.json")
    again = CostModel.load(tmp_path / "m.json")
    _, _, features = featured("blur", 5)
    np.testing.assert_allclose(again.cost_ns(features), model.cost_ns(features), rtol=1e-3)
    assert again.provenance == {"machine": "here"}
    data = json.loads((tmp_path / "m.json").read_text())
    (tmp_path / "m.json").write_text(json.dumps({**data, "terms": ["other"]}))
    with pytest.raises(ValueError, match="train one anew"):
        CostModel.load(tmp_path / "m.json")


def test_rank_correlation():
    assert spearman([1, 2, 3], [10, 20, 30]) == pytest.approx(1) and spearman([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert spearman([1], [1]) == 0.0


@pytest.mark.parametrize(("place", "moves"), [("rx", "load_unit"), ("xr", "load_strided")])
def test_partial_results_read_the_same_bytes_and_move_along_the_sum(place, moves):
    loops = {"r": ["rvar", "r"], "x": ["var", "x"]}
    value = ["add", ["load", "s", [["var", "x"]]], ["load", "a", [loops[v] for v in place]]]
    step = FuncUpdate(domain=(LoopDim(name="r", extent=4096),), index=(["var", "x"],), value=value)
    dims = (LoopDim(name="x", extent=1024),)
    func = Func(name="s", dtype="float32", dims=dims, value=["const", 0.0, "float32"], updates=(step,))
    shape = (1024, 4096) if place == "rx" else (4096, 1024)
    buffer = PipelineBuffer(name="a", kind="input", dtype="float32", shape=shape)
    space = GenomeSpace(StageTable(Pipeline(buffers=(buffer,), funcs=(func,), outputs=("s",))))
    genomes = space.plain(2)
    genomes[:, 0, VECTOR], genomes[:, 0, LANES], genomes[1, 0, PARTIAL] = -1, 0, 1
    settled = settle(space, genomes, np.random.default_rng(0))
    scalar, partial = (dict(zip(TERMS, t, strict=True)) for t in features_of(space, settled).terms[:, 0])
    for name in ("to_first_cache", "to_second_cache"):
        assert partial[name] == scalar[name] > 0
    assert partial["load_same"] == 0 < partial[moves]
