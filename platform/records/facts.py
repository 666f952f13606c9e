"""TaskFacts: what running the reference once revealed, as plain data (shapes, dtypes, operators, work)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from kernelwright.records.record import Record


class ArgumentFacts(Record):
    """One tensor or scalar that crosses the kernel's border."""

    name: str
    """Argument name, state_dict key or ``output<i>``."""
    kind: Literal["input", "parameter", "output", "scalar"]
    dtype: str = ""
    """torch's name without the prefix; "" for scalars."""
    shape: tuple[int, ...] = ()
    value: float | int | bool | None = None
    """The value of a scalar; None for tensors."""


class OperationFacts(Record):
    """One core-ATen operator of the exported graph, in execution order."""

    name: str
    """Result's name in the graph."""
    op: str
    """ATen overload, e.g. ``aten.avg_pool2d.default``."""
    args: tuple[Any, ...] = ()
    """Arguments as JSON: ``{"ref": name}`` for tensors, plain values, lists of those."""
    kwargs: dict[str, Any] = Field(default_factory=dict)
    shapes: tuple[tuple[int, ...], ...] = ()
    """Shape of each result."""
    dtypes: tuple[str, ...] = ()
    """dtype of each result."""


class WorkloadFacts(Record):
    """The reference at one workload."""

    workload: str
    arguments: tuple[ArgumentFacts, ...]
    """Inputs, then parameters and buffers in state_dict order, then scalars, then outputs."""
    operations: tuple[OperationFacts, ...] = ()
    """() where the module could not be exported; ``export_error`` says why."""
    results: tuple[str, ...] = ()
    """Graph names that are the outputs, in order."""
    export_error: str = ""
    compulsory_bytes: int = 0
    """Bytes of touched inputs and parameters plus outputs, each once."""
    flops: int = 0
    """By torch.utils.flop_counter plus one an element for every other operator; 0 means unknown."""
    longest_sum: int = 0
    """Terms of the longest sum in one of its operators; 0 means unknown."""

    def of_kind(self, kind: str) -> tuple[ArgumentFacts, ...]:
        """The arguments of one kind, in order."""
        return tuple(a for a in self.arguments if a.kind == kind)


class TaskFacts(Record):
    """What is known of a task after its reference ran once at each workload."""

    FORMAT: ClassVar[str] = "facts"

    task_id: str
    workloads: tuple[WorkloadFacts, ...]

    @property
    def ops(self) -> tuple[str, ...]:
        """Distinct operator base names of the first workload, in order: ``avg_pool2d``, ``relu``."""
        names = [
            o.op.split(".")[1] if o.op.startswith("aten.") else o.op for o in self.workloads[0].operations
        ]
        return tuple(dict.fromkeys(names))
