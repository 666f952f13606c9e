"""From the operators of an exported reference to a Pipeline, by a table from ATen operator to translation.

Owns the walk over the graph, what a tensor is during it (a shape and a way to load an element, so that views cost
nothing), the naming of Funcs, and the errors. The translations are in lowering_*.py, one file a kind of operator;
none of them looks at a task's name.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from kernelwright.records import OperationFacts, TaskFacts, WorkloadFacts
from kernelwright.records.pipeline import (
    REDUCTION_VARIABLES,
    VARIABLES,
    Func,
    FuncUpdate,
    LoopDim,
    Pipeline,
    PipelineBuffer,
)
from kernelwright.search import expressions as ex
from kernelwright.search.expressions import Expr

SUPPORTED_DTYPES = ("float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool")
"""float16 and bfloat16 are left to other languages: Halide's JIT has no native arithmetic for them on most CPUs."""

FUNC_LIMIT = 400
"""Most Funcs of a pipeline: beyond it Halide's compilation takes minutes."""

TABLES = (
    "constants",
    "elementwise",
    "activations",
    "views",
    "reductions",
    "normalisations",
    "windows",
    "products",
    "lookups",
)
"""The files lowering_<name>.py that fill TRANSLATIONS when they are imported."""


class LoweringError(Exception):
    """The reference cannot be expressed as a pipeline.

    Args:
        reason: what stands in the way, in a sentence.
        operation: the operator it concerns; None when it is the module as a whole.
    """

    def __init__(self, reason: str, *, operation: OperationFacts | None = None) -> None:
        where = ""
        if operation is not None:
            shape = " x ".join(str(n) for n in operation.shapes[0]) if operation.shapes else "?"
            where = f"{operation.name}: {operation.op} -> [{shape}]: "
        super().__init__(f"{where}{reason}")
        self.reason = reason
        self.operation = operation


@dataclass(frozen=True, eq=False)
class Tensor:
    """A value of the graph while it is being translated."""

    shape: tuple[int, ...]
    dtype: str
    at: Callable[[Sequence[Expr]], Expr]
    """Loads an element; indices in torch's order, outermost first."""
    source: str = ""
    """Name of the buffer or Func that it is, element for element; "" for views and constants."""
    value: float | int | bool | None = None
    """The number that every element is, where that is known."""
    order_of: Tensor | None = None
    """The tensor that this is a mere reshape of: the same elements in the same order."""
    finite: bool = True
    """False when infinities were put in on purpose, as masks do."""
    flat: Callable[[Expr], Expr] | None = None
    """Loads an element by its place in row-major order, where that is as good: buffers only."""
    meaning: Any = None
    """What later operators may recognise, e.g. ("softmax", source); None when nothing."""


Translation = Callable[..., Tensor | tuple[Tensor, ...] | None]
TRANSLATIONS: dict[str, Translation] = {}
"""ATen operator without namespace and overload -> its translation: f(lowering, *args, **kwargs) -> Tensor(s)."""


Function = TypeVar("Function", bound=Callable[..., Any])


def translates(*names: str) -> Callable[[Function], Function]:
    """Register a translation under operator names."""

    def register(function: Function) -> Function:
        for name in names:
            TRANSLATIONS[name] = function
        return function

    return register


def base_name(op: str) -> str:
    """``aten.add.Tensor`` -> ``add``; other spellings lose their decoration."""
    if "getitem" in op:
        return "getitem"
    parts = op.split(".")
    return parts[1] if parts[0] == "aten" and len(parts) > 1 else parts[-1]


class Lowering:
    """The state of one translation: Funcs so far and what each name of the graph stands for."""

    def __init__(self, facts: WorkloadFacts) -> None:
        self.buffers: list[PipelineBuffer] = []
        self.funcs: dict[str, Func] = {}
        self.values: dict[str, Any] = {}
        self.results = facts.results
        self.operation: OperationFacts | None = None
        for kind in ("input", "parameter"):
            for argument in facts.of_kind(kind):
                self.buffers.append(
                    PipelineBuffer.model_validate(
                        {
                            "name": argument.name,
                            "kind": kind,
                            "dtype": argument.dtype,
                            "shape": argument.shape,
                        }
                    )
                )
                self.values[argument.name] = self._bordering(argument.name, argument.shape, argument.dtype)

    # What translations use

    def fail(self, reason: str) -> LoweringError:
        """The error for the operator at hand."""
        return LoweringError(reason, operation=self.operation)

    @property
    def dtype(self) -> str:
        """dtype of the operator's first result."""
        assert self.operation is not None
        return self.operation.dtypes[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the operator's first result."""
        assert self.operation is not None
        return self.operation.shapes[0]

    def named(self, name: str, shape: Sequence[int], dtype: str, *, finite: bool = True) -> Tensor:
        """A buffer or Func as a tensor."""
        return Tensor(tuple(shape), dtype, lambda i: ex.load(name, list(reversed(i))), source=name, finite=finite)

    def _bordering(self, name: str, shape: Sequence[int], dtype: str) -> Tensor:
        """A buffer as a tensor; it may also be loaded by the place of an element."""
        return replace(self.named(name, shape, dtype), flat=lambda place: ex.load(name, [place]))

    def define(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        value: Callable[[list[Expr]], Expr],
        *,
        updates: Callable[[str, list[Expr]], Sequence[FuncUpdate]] | None = None,
    ) -> Tensor:
        """Add a Func.

        Args:
            name: wanted name; made legal and unique.
            shape: in torch's order.
            dtype: of its values.
            value: indices (torch's order) -> pure definition.
            updates: (the Func's name, its indices in torch's order) -> its updates.
        """
        if dtype not in SUPPORTED_DTYPES:
            raise self.fail(f"dtype {dtype} has no pipeline form yet; use a torch or cpp candidate")
        if 0 in shape:
            raise self.fail("a tensor without elements; pipelines need every axis to be at least 1")
        if len(shape) > len(VARIABLES):
            raise self.fail(f"{len(shape)} axes; pipelines hold at most {len(VARIABLES)}")
        name = self.fresh(name)
        dims = tuple(LoopDim(name=v, extent=n) for v, n in zip(VARIABLES, reversed(shape), strict=False))
        indices = [ex.var(d.name) for d in reversed(dims)]
        made = tuple(updates(name, indices)) if updates else ()
        self.funcs[name] = Func(name=name, dtype=dtype, dims=dims, value=value(indices), updates=made)
        return self.named(name, shape, dtype)

    def reduce(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        domain: Sequence[int],
        start: Expr,
        step: Callable[[Expr, list[Expr], list[Expr]], Expr],
    ) -> Tensor:
        """Add a Func that starts at a value and is updated over a reduction domain.

        Args:
            name: wanted name.
            shape: of the result, torch's order.
            dtype: of the result.
            domain: extents of the reduction, outermost first.
            start: initial value.
            step: (old value, indices, reduction indices outermost first) -> new value.
        """
        names = REDUCTION_VARIABLES[: len(domain)]
        if len(domain) > len(REDUCTION_VARIABLES):
            raise self.fail(f"a reduction over {len(domain)} axes; at most {len(REDUCTION_VARIABLES)}")
        loops = tuple(LoopDim(name=n, extent=e) for n, e in zip(names, reversed(domain), strict=True))
        points = [ex.rvar(n) for n in reversed(names)]

        def updates(own: str, indices: list[Expr]) -> list[FuncUpdate]:
            place = tuple(reversed(indices))
            return [FuncUpdate(domain=loops, index=place, value=step(ex.load(own, list(place)), indices, points))]

        return self.define(name, shape, dtype, lambda _: start, updates=updates)

    def fresh(self, name: str) -> str:
        """A legal name that is not taken."""
        base = re.sub(r"\W", "_", name).strip("_") or "f"
        base = base if base[:1].isalpha() else f"f_{base}"
        taken = {b.name for b in self.buffers} | set(self.funcs)
        number, made = 1, base
        while made in taken:
            number += 1
            made = f"{base}_{number}"
        return made

    # The walk

    def resolve(self, argument: Any) -> Any:
        """A recorded argument with references replaced by tensors."""
        if isinstance(argument, Mapping):
            if set(argument) == {"ref"}:
                name = argument["ref"]
                if name not in self.values:
                    raise self.fail(f"it uses {name!r}, which is neither an input, a parameter nor a translated result")
                return self.values[name]
            return {k: self.resolve(v) for k, v in argument.items()}
        if isinstance(argument, list | tuple):
            return [self.resolve(a) for a in argument]
        if argument in ("inf", "-inf", "nan"):
            return float(argument)
        return argument

    def run(self, operation: OperationFacts) -> None:
        """Translate one operator.

        Raises:
            LoweringError: it is not in the table, or not in this form.
        """
        self.operation = operation
        name = base_name(operation.op)
        if name.startswith(("_assert", "sym_constrain")):
            return
        translation = TRANSLATIONS.get(name)
        if translation is None:
            raise self.fail(
                "no translation to a pipeline; use a torch or cpp candidate, or express it by core operators"
            )
        arguments = [self.resolve(a) for a in operation.args]
        options = {k: self.resolve(v) for k, v in operation.kwargs.items()}
        try:
            result = translation(self, *arguments, **options)
        except (TypeError, IndexError, KeyError) as error:
            raise self.fail(f"arguments in a form that is not translated ({error})") from error
        self.values[operation.name] = result

    def finish(self) -> Pipeline:
        """The Pipeline of everything that the results need."""
        outputs = [self._output(number, self.values.get(name)) for number, name in enumerate(self.results)]
        needed: set[str] = set()
        waiting = list(outputs)
        while waiting:
            name = waiting.pop()
            if name in self.funcs and name not in needed:
                needed.add(name)
                waiting += Pipeline.loads_of(self.funcs[name])
        funcs = tuple(f for f in self.funcs.values() if f.name in needed)
        return Pipeline(buffers=tuple(self.buffers), funcs=funcs, outputs=tuple(outputs))

    def _output(self, number: int, value: Any) -> str:
        if not isinstance(value, Tensor):
            raise LoweringError(f"result {number} is no tensor of the graph")
        if value.order_of:
            value = value.order_of  # the border holds elements in order: no other shape is needed there
        own = self.funcs.get(value.source)
        if own is not None and not any(u.domain and u.domain[0].min == 0 for u in own.updates):
            return own.name
        self.operation = None
        return self.define(f"output{number or ''}", value.shape, value.dtype, lambda i: value.at(i)).source


def lower(facts: WorkloadFacts) -> Pipeline:
    """The reference at one workload as a Pipeline.

    Raises:
        LoweringError: an operator, dtype or shape that has no pipeline form; it names the node.
    """
    for table in TABLES:
        importlib.import_module(f"kernelwright.search.lowering_{table}")
    if not facts.operations:
        reason = facts.export_error or "no operators recorded"
        raise LoweringError(f"the reference could not be exported (control flow or shapes by data?): {reason}")
    for argument in facts.arguments:
        if argument.kind in ("input", "output") and argument.dtype not in SUPPORTED_DTYPES:
            raise LoweringError(
                f"{argument.kind} {argument.name!r} is {argument.dtype}; pipelines hold {', '.join(SUPPORTED_DTYPES)}: "
                "use a torch or cpp candidate, or convert at the border of the kernel"
            )
        if argument.kind == "input" and 0 in argument.shape:
            shape = " x ".join(map(str, argument.shape))
            raise LoweringError(f"input {argument.name!r} has no elements [{shape}]: there is nothing to make faster")
    lowering = Lowering(facts)
    for operation in facts.operations:
        lowering.run(operation)
        if len(lowering.funcs) > FUNC_LIMIT:
            raise lowering.fail(f"the graph has grown beyond {FUNC_LIMIT} Funcs (an unrolled loop?); take a part of it")
    return lowering.finish()


def lower_all(facts: TaskFacts) -> dict[str, Pipeline]:
    """Workload name -> Pipeline.

    Raises:
        LoweringError: as :func:`lower`.
    """
    return {w.workload: lower(w) for w in facts.workloads}
