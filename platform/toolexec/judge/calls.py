"""One call of a contestant: its outputs poisoned, its inputs written, its results compared, its inputs looked at again.

Owns the order of these steps, for calls that are timed (judge/rounds.py) and for correctness cases alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelwright.records import Failure, Status
from kernelwright.toolexec.guards import Guards
from kernelwright.toolexec.judge.cases import Case, CaseBook, Tally, check_outputs
from kernelwright.toolexec.judge.contestant import Contestant
from kernelwright.toolexec.judge.rejection import Rejection
from kernelwright.toolexec.precision import Array

POISONS = (0xFF, 0xA5, 0x7F)
"""0xFF makes NaN of every float."""


def present(
    contestant: Contestant, inputs: Sequence[Sequence[Array]], guards: Guards, poison: int = POISONS[0]
) -> None:
    """Arm the first slots and write their inputs: in this order, so that nothing runs between its inputs and "go"."""
    for arming in (True, False) if guards.arm_first else (False, True):
        if arming:
            contestant.arm(range(len(inputs)), poison)
            continue
        for slot, arrays in enumerate(inputs):
            contestant.fill(slot, arrays)


def run_case(contestant: Contestant, case: Case, book: CaseBook, rng: np.random.Generator, tally: Tally) -> None:
    """Run a contestant on one correctness case and compare.

    Raises:
        Rejection, WorkerFailure: it is wrong, or failed.
    """
    contestant.cases += 1
    contestant.ensure_slots(1)
    present(contestant, [case.inputs], book.guards, int(rng.choice(POISONS)))
    contestant.go()
    if not book.guards.charge_collect:
        contestant.linger()
    outputs = contestant.collect([0])[0]
    check_intact(contestant, 0, case.inputs, book)
    check_outputs(outputs, case.expected, book, family=case.family, tally=tally, inputs=case.inputs)


def check_intact(contestant: Contestant, slot: int, inputs: Sequence[Array], book: CaseBook) -> None:
    """The inputs, and the memory beside them, must still be what was written.

    Raises:
        Rejection: they are not.
    """
    if not contestant.keeps_inputs:
        return
    if book.guards.inputs_unchanged and not contestant.intact(slot, inputs):
        message = "the kernel changed its inputs; it may only write its outputs"
        raise Rejection(Status.CHEATED, Failure(check="inputs", message=message, workload=book.workload))
    if book.guards.canary and not contestant.fenced(slot):
        message = "the kernel wrote beyond the end of an input; it may only write its outputs"
        raise Rejection(Status.RUNTIME_ERROR, Failure(check="out of bounds", message=message, workload=book.workload))
