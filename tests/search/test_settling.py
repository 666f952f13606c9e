"""The primitive schedule space: every sampled schedule is legal, distinct by its key, and gives the right result."""

import numpy as np
import pytest
from search.pipelines import KINDS, made
from search.references import run_pipeline

from kernelwright.search.genome_directives import directives_of
from kernelwright.search.genomes import AT, INLINE, KIND, ROOT, STORE, TILE, GenomeSpace
from kernelwright.search.schedule_text import print_schedule
from kernelwright.search.settling import settle
from kernelwright.search.stage_table import StageTable


def space_of(kind, *, threads=2):
    pipeline, module, argument = made(kind)
    return GenomeSpace(StageTable(pipeline), threads=threads), pipeline, module, argument


def drawn(space, count, seed=0):
    rng = np.random.default_rng(seed)
    return settle(space, space.random(rng, count), rng)


def compiled_right(kind, count, seed):
    space, pipeline, module, argument = space_of(kind)
    settled = drawn(space, count, seed)
    want = module(argument).detach().numpy()
    for row in range(count):
        directives = directives_of(space, settled, row)
        (got,) = run_pipeline(pipeline, directives, [argument], module, threads=2, shapes=[want.shape])
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4, err_msg=print_schedule(directives))


@pytest.mark.parametrize("kind", ["softmax", "linear", "scan", "all"])
def test_a_random_schedule_compiles_and_is_right(kind):
    compiled_right(kind, 1, seed=5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_random_schedules_compile_and_are_right(kind):
    compiled_right(kind, 25, seed=0)


@pytest.mark.parametrize("kind", KINDS)
def test_settled_schedules_stay_as_they_are(kind):
    space, *_ = space_of(kind)
    once = drawn(space, 200)
    again = settle(space, once.genomes, np.random.default_rng(9))
    np.testing.assert_array_equal(once.genomes, again.genomes)
    np.testing.assert_array_equal(once.keys, again.keys)


@pytest.mark.parametrize("kind", KINDS)
def test_keys_tell_schedules_apart_and_nothing_else(kind):
    space, *_ = space_of(kind)
    settled = drawn(space, 300)
    by_text: dict[str, set[int]] = {}
    for row in range(300):
        by_text.setdefault(print_schedule(directives_of(space, settled, row)), set()).add(int(settled.keys[row]))
    assert all(len(keys) == 1 for keys in by_text.values())
    assert len(by_text) == len(set(settled.keys.tolist()))


def test_the_space_holds_every_kind_of_choice():
    space, *_ = space_of("softmax")
    settled = drawn(space, 2000)
    kinds = settled.genomes[:, :-1, KIND]
    assert {INLINE, ROOT, AT} == set(np.unique(kinds).tolist())
    text = "\n".join(print_schedule(directives_of(space, settled, row)) for row in range(300))
    for word in ("inline", "root", ": at ", "store at", "split", "order", "vectorize", "unroll", "parallel", "rfactor"):
        assert word in text, word
    assert (settled.genomes[:, :, STORE] > 0).any()


def test_one_thread_has_nothing_parallel():
    space, *_ = space_of("blur", threads=1)
    settled = drawn(space, 100)
    assert "parallel" not in "".join(print_schedule(directives_of(space, settled, r)) for r in range(100))


def test_what_must_be_stored_is_never_inline():
    space, pipeline, *_ = space_of("blur")
    settled = drawn(space, 500)
    for i, func in enumerate(pipeline.funcs):
        if func.updates or func.name in pipeline.outputs:
            assert not (settled.genomes[:, i, KIND] == INLINE).any()
        if func.name in pipeline.outputs:
            assert (settled.genomes[:, i, KIND] == ROOT).all()


def test_children_are_legal_and_take_after_their_parents():
    space, *_ = space_of("blur")
    rng = np.random.default_rng(3)
    parents = drawn(space, 200, seed=1).genomes
    children = settle(space, space.mutated(rng, parents), rng)
    changed = (children.genomes != parents).any(axis=(1, 2))
    assert 0.5 < changed.mean() and (children.genomes == parents).mean() > 0.6
    crossed = space.crossed(rng, parents[:100], parents[100:])
    same = (crossed == parents[:100]).all(axis=2) | (crossed == parents[100:]).all(axis=2)
    assert same.all()


def test_a_partial_schedule_decides_the_consumers_only():
    space, *_ = space_of("softmax")
    rng = np.random.default_rng(0)
    settled = settle(space, space.random(rng, 10), rng, decided=2)
    assert [n is not None for n in settled.nests] == [False, False, False, True, True]
    assert {d.func for d in directives_of(space, settled, 0)} <= set(space.table.names[3:5])


def test_one_level_of_tiles_is_one_schedule():
    space, *_ = space_of("blur")
    genomes = space.plain(2)
    genomes[0, -1, TILE], genomes[1, -1, TILE + 1] = 4, 4
    settled = settle(space, genomes, np.random.default_rng(0))
    assert settled.genomes[0, -1, TILE] == 4 and settled.keys[0] == settled.keys[1]
