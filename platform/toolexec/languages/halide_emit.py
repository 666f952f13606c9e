"""Turns a Pipeline (plain JSON) into Halide Funcs and compiles it under a list of Directives (plain JSON).

Runs in candidate workers and, as source text, inside exported files: it needs the standard library and halide only
and must import nothing of kernelwright but ``halide_math.py`` (what functions mean) and ``halide_schedule.py`` (what
Directives do), which an export carries beside it.

Shapes are compile-time constants: buffers get known bounds and strides, and a call costs a microsecond or two.
"""

from __future__ import annotations

import dataclasses
import math
import struct
from collections.abc import Sequence
from typing import Any

import halide as hl

from kernelwright.toolexec.languages.halide_math import CALLS, OPERATORS
from kernelwright.toolexec.languages.halide_schedule import Scheduler, substitute

TYPES = {
    "float32": hl.Float(32),
    "float64": hl.Float(64),
    "int8": hl.Int(8),
    "uint8": hl.UInt(8),
    "int16": hl.Int(16),
    "int32": hl.Int(32),
    "int64": hl.Int(64),
    "bool": hl.Bool(),
}
"""Pipeline dtype -> Halide type. Booleans cross the border as bytes (STORED)."""
STORED = {**TYPES, "bool": hl.UInt(8)}


class EmitError(ValueError):
    """The algorithm or a Directive cannot be carried out; the message says which and why."""


class Emitted:
    """A pipeline as Halide objects, before and while it is scheduled.

    Args:
        pipeline: the algorithm as JSON.
        flat: buffers that are handed over with one axis.

    Attributes:
        params: one ImageParam a buffer that comes in, in order.
        funcs: name -> hl.Func.
        args: Func name -> its hl.Vars, innermost first.
        domains: (Func name, stage) -> {reduction variable name: hl.RVar}.
    """

    def __init__(self, pipeline: dict[str, Any], flat: set[str]) -> None:
        self.pipeline = pipeline
        self.records = {f["name"]: f for f in pipeline["funcs"]}
        self.params: dict[str, Any] = {}
        self.funcs: dict[str, Any] = {}
        self.args: dict[str, list[Any]] = {}
        self.domains: dict[tuple[str, int], dict[str, Any]] = {}
        self._kinds = {b["name"]: b["dtype"] for b in pipeline["buffers"]}
        self._shapes = {b["name"]: b["shape"] for b in pipeline["buffers"]}
        self.held: dict[str, Any] = {}
        for number, buffer in enumerate(pipeline["buffers"]):
            if buffer["kind"] == "constant":
                self.held[buffer["name"]] = _held(buffer)
            else:
                self.params[buffer["name"]] = _param(number, buffer, flat=buffer["name"] in flat)
        for record in pipeline["funcs"]:
            self._define(record)
        self.outputs = [self._output(number, name) for number, name in enumerate(pipeline["outputs"])]

    def _define(self, record: dict[str, Any]) -> None:
        name = record["name"]
        func = self.funcs[name] = hl.Func(f"{name}_f")  # a plain name could be that of a libm function
        args = self.args[name] = [hl.Var(d["name"]) for d in record["dims"]]
        names: dict[str, Any] = {d["name"]: a for d, a in zip(record["dims"], args, strict=True)}
        kind = (STORED if name in self.pipeline["outputs"] else TYPES)[record["dtype"]]
        func[tuple(args)] = hl.cast(kind, self.expression(record["value"], names))
        for number, update in enumerate(record.get("updates", ())):
            scope = dict(names)
            domain = update.get("domain") or ()
            if domain:
                ranges = [hl.Range(d.get("min", 0), d["extent"]) for d in domain]
                rdom = hl.RDom(ranges, f"{name}_r{number}")
                held = {d["name"]: rdom[i] for i, d in enumerate(domain)}
                self.domains[name, number + 1] = held
                scope.update(held)
            index = [self.index(e, scope) for e in update["index"]]
            func[tuple(index)] = hl.cast(kind, self.expression(update["value"], scope))

    def _output(self, number: int, name: str) -> Any:
        """The Func that writes a result: the record's own, or a copy where one Func is two results."""
        record = self.records[name]
        func = self.funcs[name]
        if self.pipeline["outputs"].index(name) != number:
            copy, args = hl.Func(f"result{number}"), [hl.Var(d["name"]) for d in record["dims"]]
            copy[tuple(args)] = func[tuple(args)]
            func = copy
        buffer, stride = func.output_buffer(), 1
        for axis, dim in enumerate(record["dims"]):
            buffer.dim(axis).set_bounds(0, dim["extent"]).set_stride(stride)
            stride *= dim["extent"]
        return func

    def index(self, expression: Any, names: dict[str, Any]) -> Any:
        """An index expression as Halide wants it: int32."""
        made = self.expression(expression, names)
        return made if isinstance(made, hl.Var | hl.RVar) else hl.cast(hl.Int(32), made)

    def expression(self, node: Any, names: dict[str, Any]) -> Any:
        """One JSON expression as an hl.Expr."""
        kind = node[0]
        if kind in ("var", "rvar"):
            return names[node[1]]
        if kind == "undef":
            return hl.undef(TYPES[node[1]])
        if kind == "const":
            return constant(node[1], node[2])
        if kind == "load":
            return self._load(node[1], [self.index(e, names) for e in node[2]])
        if kind == "cast":
            return convert(self.expression(node[2], names), node[1])
        if kind == "call":
            function = CALLS.get(node[1])
            if function is None:
                raise EmitError(f"no function {node[1]!r}")
            return function(*[_expr(self.expression(e, names)) for e in node[2:]])
        operator = OPERATORS.get(kind)
        if operator is None:
            raise EmitError(f"no operator {kind!r}")
        return operator(*[_expr(self.expression(e, names)) for e in node[1:]])

    def _load(self, name: str, index: list[Any]) -> Any:
        if name in self.funcs:
            value = self.funcs[name][tuple(index)]
            as_byte = self.records[name]["dtype"] == "bool" and name in self.pipeline["outputs"]
            return _expr(value) != hl.cast(hl.UInt(8), hl.Expr(0)) if as_byte else value
        if name in self.held:
            return self.held[name][index[0]]
        param = self.params[name]
        if param.dimensions() == 1 and len(index) > 1:  # loaded by place somewhere: one index throughout
            extents = list(reversed(self._shapes[name]))
            place, stride = hl.Expr(0), 1
            for position, extent in zip(index, extents, strict=True):
                place, stride = place + position * stride, stride * extent
            index = [place]
        loaded = param[tuple(index) if index else (hl.Expr(0),)]
        return loaded != hl.cast(hl.UInt(8), hl.Expr(0)) if self._kinds[name] == "bool" else loaded


def flat_buffers(pipeline: dict[str, Any]) -> set[str]:
    """Buffers that the algorithm loads by an element's place in row-major order: they are handed over flat."""
    shapes = {b["name"]: b["shape"] for b in pipeline["buffers"] if b["kind"] != "constant"}
    found: set[str] = set()
    waiting: list[Any] = [
        [f["value"], [[*u["index"], u["value"]] for u in f.get("updates", ())]] for f in pipeline["funcs"]
    ]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, list | tuple) or not node:
            continue
        if node[0] == "load" and node[1] in shapes and len(node[2]) == 1 < len(shapes[node[1]]):
            found.add(node[1])
        waiting += [item for item in node if isinstance(item, list | tuple)]
    return found


def buffer_shapes(pipeline: dict[str, Any], flat: set[str]) -> dict[str, list[int]]:
    """Name of a buffer or output -> the shape (outermost first) in which its contiguous memory is to be wrapped."""
    shapes = {
        b["name"]: [math.prod(b["shape"])] if b["name"] in flat else list(b["shape"]) or [1]
        for b in pipeline["buffers"]
        if b["kind"] != "constant"
    }
    funcs = {f["name"]: f for f in pipeline["funcs"]}
    return shapes | {n: [d["extent"] for d in reversed(funcs[n]["dims"])] for n in pipeline["outputs"]}


def _param(number: int, buffer: dict[str, Any], *, flat: bool) -> Any:
    shape = [math.prod(buffer["shape"])] if flat else list(reversed(buffer["shape"])) or [1]
    param = hl.ImageParam(STORED[buffer["dtype"]], len(shape), f"in{number}")
    stride = 1
    for axis, extent in enumerate(shape):
        param.dim(axis).set_bounds(0, extent).set_stride(stride)
        stride *= extent
    return param


def _held(buffer: dict[str, Any]) -> Any:
    """A constant of the algorithm as a buffer that is compiled in."""
    kind = STORED[buffer["dtype"]]
    held = hl.Buffer(kind, [len(buffer["values"])])
    for place, value in enumerate(buffer["values"]):
        held[place] = float(value) if kind.is_float() else int(value)
    return held


def _expr(value: Any) -> Any:
    return value if isinstance(value, hl.Expr) else hl.Expr(value)


def constant(value: Any, dtype: str) -> Any:
    """A number as an hl.Expr of a dtype; infinities become the largest finite value."""
    if dtype == "bool":
        return hl.cast(hl.Bool(), hl.Expr(int(bool(value))))
    if not dtype.startswith("float"):
        return hl.cast(TYPES[dtype], hl.i64(int(value)))
    value = float(value)
    largest = 3.4028234663852886e38 if dtype == "float32" else 1.7976931348623157e308
    if math.isinf(value):
        value = math.copysign(largest, value)
    return hl.f32(_as_float32(value)) if dtype == "float32" else hl.f64(value)


def _as_float32(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(3.4028234663852886e38, value)


def convert(value: Any, dtype: str) -> Any:
    """A conversion as torch does it: to bool by comparison with 0, to integers towards zero."""
    value = _expr(value)
    kind = TYPES[dtype]
    if value.type() == kind:
        return value
    if dtype == "bool":
        return value != hl.cast(value.type(), hl.Expr(0))
    if value.type().is_float() and dtype in ("uint8", "int8", "int16"):
        return hl.cast(kind, hl.cast(hl.Int(32), value))
    return hl.cast(kind, value)


@dataclasses.dataclass
class Compiled:
    """A kernel ready to be called.

    Attributes:
        run: hl.Callable over the buffers of ``main``, then its outputs.
        main: the pipeline behind ``run``; its last ``len(prepared)`` buffers come from ``prepare``.
        prepared: names of what ``prepare`` computes from the parameters, once per set of weights.
        prepare: hl.Callable over the buffers that come in, then the prepared ones; None when there are none.
        shapes: name of a buffer, a prepared one or an output -> the shape, outermost first, to wrap its memory in.
    """

    run: Any
    main: dict[str, Any]
    prepared: list[str]
    shapes: dict[str, list[int]]
    prepare: Any = None


def compile_pipeline(
    pipeline: dict[str, Any],
    directives: Sequence[dict[str, Any]],
    values: dict[str, Any],
    *,
    threads: int = 1,
) -> Compiled:
    """Compile an algorithm under a schedule.

    Args:
        pipeline: a Pipeline as JSON.
        directives: Directives as JSON, roles resolved, in order.
        values: tunable name -> value.
        threads: threads the kernel may use.

    Raises:
        EmitError: an expression that has no meaning here.
        ScheduleError: a Directive that cannot be carried out.
        hl.HalideError: Halide refuses the whole.
    """
    ready = substitute(directives, values)
    flat = flat_buffers(pipeline)
    names = [d["func"] for d in ready if d["verb"] == "precompute"]
    if not names:
        return Compiled(_compile(pipeline, ready, threads, flat), pipeline, [], buffer_shapes(pipeline, flat))
    packing, main = split_prepared(pipeline, names)
    own = {f["name"] for f in main["funcs"]}
    early = [d for d in ready if d["func"] not in own and d["verb"] not in ("precompute", "compute_at", "store_at")]
    late = [d for d in ready if d["func"] in own or d["func"].removesuffix("_partial") in own]
    run = _compile(main, late, threads, flat)
    prepare = _compile(packing, early, threads, flat)
    return Compiled(run, main, names, buffer_shapes(main, flat), prepare=prepare)


def split_prepared(pipeline: dict[str, Any], names: Sequence[str]) -> list[dict[str, Any]]:
    """Split off what can be computed from the parameters alone.

    Args:
        pipeline: the whole.
        names: Funcs to be computed once per set of weights.

    Returns:
        The pipeline that computes them, and the one that takes them as further parameters.

    Raises:
        EmitError: one of them is no Func of the pipeline, or needs an input.
    """
    funcs = {f["name"]: f for f in pipeline["funcs"]}
    inputs = {b["name"] for b in pipeline["buffers"] if b["kind"] == "input"}
    needed: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in inputs:
            raise EmitError(f"precompute: one of {', '.join(names)} needs the input {name!r}, not weights alone")
        if name in funcs and name not in needed:
            needed.add(name)
            waiting += [n for n in _loads(funcs[name]) if n != name]
        elif name in names and name not in funcs:
            raise EmitError(f"precompute: no Func {name!r}; there are {', '.join(funcs)}")
    packing = {
        **pipeline,
        "funcs": [f for f in pipeline["funcs"] if f["name"] in needed],
        "outputs": list(names),
    }
    extra = [
        {
            "name": name,
            "kind": "parameter",
            "dtype": funcs[name]["dtype"],
            "shape": [d["extent"] for d in reversed(funcs[name]["dims"])],
        }
        for name in names
    ]
    held = [b for b in pipeline["buffers"] if b["kind"] == "constant"]
    used: set[str] = set()
    waiting = list(pipeline["outputs"])
    while waiting:
        name = waiting.pop()
        if name in funcs and name not in names and name not in used:
            used.add(name)
            waiting += _loads(funcs[name])
    main = {
        **pipeline,
        "buffers": [*[b for b in pipeline["buffers"] if b["kind"] != "constant"], *extra, *held],
        "funcs": [f for f in pipeline["funcs"] if f["name"] in used],
    }
    return [packing, main]


def _loads(record: dict[str, Any]) -> list[str]:
    found: list[str] = []
    waiting: list[Any] = [record["value"]]
    for update in record.get("updates", ()):
        waiting += [*update["index"], update["value"]]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list | tuple) and node:
            if node[0] == "load":
                found.append(node[1])
            waiting += [item for item in node if isinstance(item, list | tuple)]
    return found


OUT_OF_BOUNDS = ("beyond the max", "before the min", "Bounds given for", "smaller than", "less than")
"""Words of Halide's run-time checks when a rounded-up loop would leave an input."""


def _compile(pipeline: dict[str, Any], directives: Sequence[dict[str, Any]], threads: int, flat: set[str]) -> Any:
    for guarded in (False, True):
        emitted = Emitted(pipeline, flat)
        scheduler = Scheduler(emitted, threads=threads, guarded=guarded)
        for directive in directives:
            scheduler.apply(directive)
        target = hl.get_jit_target_from_environment()
        compiled = hl.Pipeline(emitted.outputs).compile_to_callable(list(emitted.params.values()), target)
        try:
            compiled(*_blank_buffers(pipeline, flat))
        except hl.HalideError as error:
            if guarded or not any(sign in str(error) for sign in OUT_OF_BOUNDS):
                raise
        else:
            break
    return compiled


def _blank_buffers(pipeline: dict[str, Any], flat: set[str]) -> list[Any]:
    """Zeroed buffers of the right shapes: one call with them finds schedules that would leave an input."""
    shapes = buffer_shapes(pipeline, flat)
    kinds = {b["name"]: b["dtype"] for b in pipeline["buffers"]} | {f["name"]: f["dtype"] for f in pipeline["funcs"]}
    names = [b["name"] for b in pipeline["buffers"] if b["kind"] != "constant"] + list(pipeline["outputs"])
    buffers = [hl.Buffer(STORED[kinds[n]], list(reversed(shapes[n]))) for n in names]
    for buffer in buffers:
        buffer.fill(0)
    return buffers
