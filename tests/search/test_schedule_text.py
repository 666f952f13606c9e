"""Schedules as text: what is printed is read back, and differences are named."""

import numpy as np
import pytest
from search.pipelines import made

from kernelwright.records import Directive
from kernelwright.search.genome_directives import directives_of
from kernelwright.search.genomes import GenomeSpace
from kernelwright.search.schedule_space import PipelineSpace
from kernelwright.search.schedule_text import ScheduleTextError, diff_schedules, parse_schedule, print_schedule
from kernelwright.search.settling import settle
from kernelwright.search.stage_table import StageTable


def test_it_reads_as_a_person_writes():
    text = "blury: at out.x, tile 256x32, vectorize 16\nout: parallel y  # rows\n\n"
    tile = ("x", "y", "xo", "yo", "xi", "yi", 256, 32)
    assert parse_schedule(text) == [
        Directive(func="blury", verb="compute_at", args=("out", "x")),
        Directive(func="blury", verb="tile", args=tile),
        Directive(func="blury", verb="vectorize", args=("xi", 16)),
        Directive(func="out", verb="parallel", args=("y",)),
    ]
    assert print_schedule(parse_schedule(text)) == "blury: at out.x, tile 256x32, vectorize 16\nout: parallel y\n"


@pytest.mark.parametrize("kind", ["blur", "softmax", "convolution"])
def test_sampled_schedules_survive_printing(kind):
    space = GenomeSpace(StageTable(made(kind)[0]), threads=2)
    rng = np.random.default_rng(0)
    settled = settle(space, space.random(rng, 60), rng)
    for row in range(60):
        directives = list(directives_of(space, settled, row))
        assert parse_schedule(print_schedule(directives)) == directives


def test_arguments_of_any_kind_survive():
    directives = [
        Directive(func="@rowstats?", verb="rows", args=("$LANES", 4, "a b", "16", -1.5, True, [1, 2])),
        Directive(func="f", verb="split", args=("x", "xo", "xi", "$TILE", "GuardWithIf", 16)),
        Directive(func="f", verb="tile", args=("y", "z", "a", "b", "c", "d", 8, 8)),
        Directive(func="f", verb="vectorize", args=("x", "$LANES"), stage=2),
        Directive(func="f", verb="unroll", args=("y",)),
        Directive(func="f", verb="store_in", args=("Stack",)),
        Directive(func="f", verb="store_root"),
        Directive(func="g", verb="rewrite", args=("expand, window",)),
    ]
    assert parse_schedule(print_schedule(directives)) == directives


def test_recipes_of_the_rules_survive():
    from search.references import task_facts

    _, module, argument = made("blur")
    space = PipelineSpace()
    for decision in space.proposals(space.start(task_facts(module, [argument]))):
        assert parse_schedule(print_schedule(decision.directives)) == list(decision.directives)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("no colon here", "line 1"),
        ("f: at x", "FUNC.LOOP"),
        ("f: root\nf: tile 8", "line 2"),
        ("f: split x -> a b", "FACTOR"),
    ],
)
def test_what_cannot_be_read_is_named(text, named):
    with pytest.raises(ScheduleTextError, match=named):
        parse_schedule(text)


def test_differences_are_shown_by_stage():
    old = parse_schedule("a: root, vectorize 8\nb: inline\nc: root")
    new = parse_schedule("c: root\na: root, vectorize 16\nd: root")
    assert diff_schedules(old, new) == ["- a: root, vectorize 8", "+ a: root, vectorize 16", "- b: inline", "+ d: root"]
    assert diff_schedules(old, old) == []
