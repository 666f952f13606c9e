"""Relations are asked of the reference, and what they derive is what the reference would have said."""

from types import SimpleNamespace

import numpy as np
import pytest
from fakes.kernels import REFERENCE, small_task

from kernelwright.records import Domain, Status, TolerancePolicy
from kernelwright.toolexec.guards import ALL
from kernelwright.toolexec.inputs import InputFacts
from kernelwright.toolexec.judge.cases import CaseBook, Tally, check_outputs, whole_problem
from kernelwright.toolexec.judge.pool import WorkerPool
from kernelwright.toolexec.judge.reference import Reference
from kernelwright.toolexec.judge.rejection import Rejection
from kernelwright.toolexec.judge.relations import COMBINED, RELATIONS, ROWS_JOINED, ROWS_PERMUTED
from kernelwright.toolexec.numerics import Expected, compare
from kernelwright.toolexec.precision import narrow

FORWARD = "return torch.relu(x * self.weight * self.factor + self.bias)"
CASES = {
    "row-wise": (FORWARD, {ROWS_PERMUTED, ROWS_JOINED}),
    "affine": ("return x * self.weight * self.factor + 1.0", {ROWS_PERMUTED, ROWS_JOINED, COMBINED}),
    "over all rows": ("return torch.softmax(x, 0)", {ROWS_PERMUTED}),
    "of the place": ("return torch.cumsum(x, 0)", {COMBINED}),
    "index": ("return x.argmax(1)", {ROWS_PERMUTED, ROWS_JOINED}),
    "quantised": ("return torch.round(x * 20).clamp(-99, 99).to(torch.int32)", {ROWS_PERMUTED, ROWS_JOINED}),
}
WANTED = [(name, wanted) for name, (_, wanted) in CASES.items()]


@pytest.fixture
def book(request):
    pool = WorkerPool(threads=1, memory_limit_gib=8.0)
    try:
        task = small_task(REFERENCE.replace(FORWARD, CASES[request.param][0]), workloads=({"name": "small"},))
        reference = Reference(task, pool, 1)
        reference.load(3)
        yield CaseBook(task, reference, "small", np.random.default_rng(0))
    finally:
        pool.close()


@pytest.mark.parametrize(("book", "wanted"), WANTED, indirect=["book"], ids=list(CASES))
def test_the_reference_is_asked_and_derived_cases_are_right(book, wanted):
    assert book.cases(list(RELATIONS), None) == []  # nothing is derived before it was asked
    assert book.ask_relations() == wanted
    for case in book.cases(list(RELATIONS), None):
        for mine, theirs in zip(case.expected, book.expect(case.inputs), strict=True):
            got = mine.exact.astype(np.float32) if mine.dtype == "float32" else mine.exact
            assert compare(got, theirs, TolerancePolicy()).problem is None
    assert book.cases(list(RELATIONS), 17) == []  # of other weights nothing is known


@pytest.mark.parametrize("book", ["row-wise"], indirect=True)
def test_a_relation_only_accuses(book):
    book.ask_relations()
    case = next(c for c in book.cases([ROWS_JOINED], None))
    right = [e.exact.astype(np.float32) for e in book.expect(case.inputs)]
    misled = [e.__class__.of(e.exact + 1.0, (e.exact + 1.0).astype(np.float32), e.dtype) for e in case.expected]
    check_outputs(right, misled, book, family=ROWS_JOINED, tally=Tally(), inputs=case.inputs)
    wrong = [r + np.float32(2.0) for r in right]
    with pytest.raises(Rejection) as told:
        check_outputs(wrong, misled, book, family=ROWS_JOINED, tally=Tally(), inputs=case.inputs)
    assert told.value.status is Status.WRONG_VALUES


@pytest.mark.parametrize("book", ["affine"], indirect=True)
def test_a_sum_of_equal_terms_may_drift(book):
    """16,384 equal terms added one after the other, in float32: honest, and 2e-4 off."""
    terms = np.full(16_384, np.float32(0.77))
    right, drifted = float(terms.sum(dtype=np.float64)), np.cumsum(terms, dtype=np.float32)[-1]
    assert 3e-5 < abs(float(drifted) / right - 1) < 3e-4
    expected = [Expected.of(np.full((4, 4), right), np.full((4, 4), right, np.float32), "float32")]
    got = [np.full((4, 4), drifted)]
    for family in ("constant", "alternating", "zero-one"):
        check_outputs(got, expected, book, family=family, tally=Tally())
    for other, factor in (("as-is", 1.0), ("constant", 1.002)):
        with pytest.raises(Rejection):
            check_outputs([g * np.float32(factor) for g in got], expected, book, family=other, tally=Tally())


def test_a_whole_number_that_the_reference_misses_too_is_asked_of_nobody():
    exact = np.array([255.0, 257.0])
    rounded = narrow(exact, "bfloat16")
    assert whole_problem(rounded, Expected.of(exact, rounded, "bfloat16"), "zero-one") is None
    exact, wrong = np.array([255.0]), narrow(np.array([254.0]), "bfloat16")
    expected = Expected.of(exact, narrow(exact, "bfloat16"), "bfloat16")
    assert whole_problem(wrong, expected, "zero-one").check == "whole numbers"


def test_selecting_equal_elements_of_a_mask_shows_nothing():
    x, mask = np.array([[1.0, 7.0, 7.0]], np.float32), np.ones((1, 3), np.float32)
    facts = [
        InputFacts("x", "float32", x.shape, Domain()),
        InputFacts("m", "float32", x.shape, Domain(structure="opaque")),
    ]
    book = SimpleNamespace(facts=facts, propagate=False, guards=ALL, task=small_task(), workload="w")
    expected = [Expected.of(np.array([1]), np.array([1]), "int64")]
    check_outputs([np.array([2])], expected, book, family="as-is", tally=Tally(), inputs=[x, mask])
    with pytest.raises(Rejection):
        check_outputs([np.array([0])], expected, book, family="as-is", tally=Tally(), inputs=[x, mask])


@pytest.mark.parametrize("book", ["quantised"], indirect=True)
def test_quantised_results_know_their_edges(book):
    inputs = [np.array(book.draws[0][0])]
    inputs[0][0, :3] = (0.125, 0.175, 0.3)  # 2.5 and 3.5: edges up to rounding; 6.0: none
    expected = book.expect(inputs)[0]
    assert expected.edge is not None and expected.edge[0, :3].tolist() == [True, True, False]
    assert expected.edge.mean() < 0.01


@pytest.mark.parametrize("book", ["affine"], indirect=True)
def test_zeros_and_ones_must_give_the_right_whole_numbers(book):
    case = next(c for c in book.cases(("zero-one",), None))
    right = [e.exact.astype(np.float32) for e in case.expected]
    check_outputs(right, case.expected, book, family=case.family, tally=Tally(), inputs=case.inputs)
