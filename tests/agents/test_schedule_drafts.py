"""Engine hybrid: a model proposes a schedule as text, search carries it out and tunes around it."""

import pytest
import torch
from fakes.records import a_baseline, a_task
from search.references import task_facts

from kernelwright.agents.coder import SearchCoder
from kernelwright.agents.hybrid import HybridCoder
from kernelwright.agents.llm.drafts import read_decisions
from kernelwright.agents.llm.exchange import BadAnswer
from kernelwright.agents.llm_planner import ModelPlanner
from kernelwright.agents.schedule_drafts import directives_in, offer
from kernelwright.protocols import Knowledge
from kernelwright.records import Entry
from kernelwright.search.schedule_space import PipelineSpace, concrete, pipelines_of
from kernelwright.search.schedule_text import print_schedule

FACTS = task_facts(torch.nn.Softmax(-1), [torch.randn(64, 600)])
SCHEDULE = "softmax: split x $TILE -> xo xi, order xi xo y, vectorize xi 16"
KNOWN = Knowledge(
    task=a_task(), facts=FACTS, baselines=[a_baseline()], languages=["halide", "cpp"], round=2
)  # fmt: skip


def planner(space=None):
    return ModelPlanner(None, None, ["cpp"], space=space)


def drafts(*items):
    return read_decisions([{"technique": "t", "summary": "s", **item} for item in items])


def test_the_pipeline_is_offered_with_its_funcs_and_tunables():
    told = offer(PipelineSpace(), KNOWN)
    assert "`schedule`" in told and "TILE" in told and "reduced over r 600" in told
    assert all(f.name in told for f in next(iter(pipelines_of(PipelineSpace().start(FACTS)).values())).funcs)
    without = Knowledge(task=a_task(), facts=FACTS, baselines=[], languages=["cpp"])
    nothing = task_facts(torch.nn.ReLU(), [torch.randn(4, 8).bfloat16()])
    assert offer(PipelineSpace(), without) == ""
    assert offer(PipelineSpace(), Knowledge(task=a_task(), facts=nothing, baselines=[], languages=["halide"])) == ""


def test_a_proposal_of_the_rules_reads_as_a_models_would():
    space = PipelineSpace()
    start = space.start(FACTS)
    for decision in space.proposals(start):
        steps = concrete(space.apply(start, decision.directives))
        assert list(directives_in(print_schedule(steps), space, KNOWN)) == steps


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("make it fast", "cannot be read: line 1"), ("", "empty"),
        ("softmax: split q 8 -> qo qi", "no loop 'q'"), ("nobody: root", "nobody"),
        ("softmax: split x $SIZE -> xo xi", "SIZE is no declared tunable"),
        ("softmax: vectorise x 8", "unknown verb"),
    ],
)  # fmt: skip
def test_what_cannot_be_carried_out_is_told_with_the_reason(text, said):
    with pytest.raises(BadAnswer, match=said):
        directives_in(text, PipelineSpace(), KNOWN)


def test_a_drafted_schedule_becomes_a_decision_that_search_carries_out():
    items = drafts({"schedule": SCHEDULE}, {"schedule": "nonsense"}, {"language": "cpp", "summary": "by hand"})
    scheduled, by_hand = planner(PipelineSpace())._decisions(items, KNOWN)
    assert scheduled.source == by_hand.source == "model" and not by_hand.directives
    coder = HybridCoder(None, SearchCoder(PipelineSpace()), pytest.fail)
    made = coder.write(KNOWN, scheduled)
    assert made.entry is Entry.PIPELINE and [t.name for t in made.tunables] == ["TILE"], "there is something to tune"
    with pytest.raises(BadAnswer, match="cannot be read"):
        planner(PipelineSpace())._decisions(drafts({"schedule": "nonsense"}), KNOWN)


def test_without_search_to_carry_it_out_a_schedule_is_nothing():
    (decision,) = planner()._decisions(drafts({"schedule": SCHEDULE}), KNOWN)
    assert decision.directives == () and decision.parameters["language"] == "cpp"
