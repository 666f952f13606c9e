"""The judge's guards, one switch each, so that tests can show what each of them stops.

Owns the list. All are on unless a test says otherwise: no setting, option or file reaches them, only
``LocalExecutor(guards=...)`` and ``Session(guards=...)`` in code. An Evaluation made with a guard off says so in its
notes and is no verdict. What is structural (the clock, the expected values and the comparison live in the judge's own
process) has no switch; tests/attacks/naive_judge.py shows what happens without it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

NOTE = "guards off: "
"""How the note of such an Evaluation begins."""


@dataclass(frozen=True)
class Guards:
    """Which guards are on. The docstrings say what happens without."""

    fresh_content: bool = True
    """Off: one draw of get_inputs() serves every call."""
    arm_first: bool = True
    """Off: inputs are written before the worker prepares for its next call."""
    check_timed: bool = True
    """Off: outputs of timed calls are not compared."""
    charge_collect: bool = True
    """Off: the worker may finish before its outputs are collected, and neither that nor collecting is charged."""
    plain_tensors: bool = True
    """Off: tensor subclasses are accepted, and read by their own methods."""
    real_storage: bool = True
    """Off: outputs may be expanded views."""
    no_alias: bool = True
    """Off: an output may be an input's memory."""
    inputs_unchanged: bool = True
    """Off: inputs are not compared with what was written."""
    poison: bool = True
    """Off: outputs hold zeros before each call."""
    canary: bool = True
    """Off: memory around inputs and outputs is not looked at."""
    input_families: bool = True
    """Off: correctness is judged on get_inputs() as it is."""
    random_weights: bool = True
    """Off: correctness is judged on the module's own weights."""
    hidden_shapes: bool = True
    """Off: correctness is judged at the declared workloads only."""
    error_ratio: bool = True
    """Off: an element is right within 1e-2 absolute plus 1e-2 relative."""
    element_cap: bool = True
    """Off: one element in twenty may be anything."""
    finite: bool = True
    """Off: NaN is equal to everything."""
    freeze_idle: bool = True
    """Off: workers run on while nobody waits for them."""
    affinity: bool = True
    """Off: neither cores nor processor time are looked at."""
    single_call_agrees: bool = True
    """Off: looped calls are not held against calls on their own."""
    byte_floor: bool = True
    """Off: faster than memory is believed."""
    wire_strict: bool = True
    """Off: unasked and unnumbered answers are tolerated."""
    policy: bool = True
    """Off: the task's policy on own kernels is not enforced."""
    preflight: bool = True
    """Off: a task that accepts nonsense is judged all the same."""
    sandbox: bool = True
    """Off: candidates run unconfined."""
    buffers: bool = True
    """Off: a reference that changes its own buffers is accepted, and they are not compared."""
    remeasure: bool = True
    """Off: what was measured first stands; no winner is measured again in fresh processes."""

    @property
    def off(self) -> tuple[str, ...]:
        """Names of those that are off."""
        return tuple(f.name for f in dataclasses.fields(self) if not getattr(self, f.name))

    @property
    def notes(self) -> tuple[str, ...]:
        """What an Evaluation made with them must say."""
        return (NOTE + ", ".join(self.off),) if self.off else ()


ALL = Guards()
"""As everybody is judged."""
