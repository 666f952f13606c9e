"""Facts of a reference module, read off one run and one export: arguments, operators, compulsory work.

Runs in the reference worker only. Gives plain JSON; the judge makes TaskFacts of it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from kernelwright.toolexec.workers.kernel import KernelError, TensorSpec
from kernelwright.toolexec.workers.sums import SumLog

MAX_CONSTANT = 4096
"""Elements of a lifted constant that are written into the facts; larger ones make the export count as failed."""
ONEDNN_LAYERS = (torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d, torch.nn.BatchNorm2d)
"""Layers that torch.utils.mkldnn can convert."""
PARTIAL = ("embedding", "index", "index_select", "gather", "slice", "select")
"""Operators that touch only what they return."""
FREE = ("view", "_unsafe_view", "permute", "expand", "unsqueeze", "squeeze", "slice", "select", "getitem", "t",
        "transpose", "alias", "detach", "split_with_sizes", "constant", "lift_fresh_copy", "as_strided")  # fmt: skip
"""Operators without arithmetic."""


def tensor_spec(told: dict[str, Any]) -> TensorSpec:
    """TensorSpec of its JSON form."""
    return TensorSpec(told["name"], told["dtype"], tuple(told["shape"]))


def tensor_json(name: str, tensor: torch.Tensor) -> dict[str, Any]:
    """JSON form of a tensor's border facts."""
    return {"name": name, "dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape)}


def plain(value: Any) -> Any:
    """A value as JSON, or None where it has no such form (then ``representable`` is False)."""
    if isinstance(value, bool) or value is None or isinstance(value, (int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else ("nan" if math.isnan(value) else "inf" if value > 0 else "-inf")
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    raise TypeError(f"{type(value).__name__} has no JSON form")


def numbers(value: Any) -> list[float | int | bool]:
    """Numbers in nested values, flattened, in order."""
    return [v for v in pytree.tree_leaves(value) if isinstance(v, (bool, int, float))]


def call_template(arguments: Any, count: list[int]) -> Any:
    """Arguments with tensors replaced by ``{"t": i}``."""
    if isinstance(arguments, torch.Tensor):
        count[0] += 1
        return {"t": count[0] - 1}
    if isinstance(arguments, (list, tuple)):
        return [call_template(a, count) for a in arguments]
    if isinstance(arguments, dict):
        return {str(k): call_template(a, count) for k, a in arguments.items()}
    return plain(arguments)


def argument_names(module: torch.nn.Module, arguments: Sequence[Any]) -> list[str]:
    """A name for each tensor among the arguments, after forward's parameters."""
    import inspect

    signature = [
        p.name
        for p in inspect.signature(module.forward).parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    names = []
    for i, argument in enumerate(arguments):
        base = signature[i] if i < len(signature) else f"input{i}"
        tensors = [t for t in pytree.tree_leaves(argument) if isinstance(t, torch.Tensor)]
        names += [base] if tensors == [argument] else [f"{base}_{j}" for j in range(len(tensors))]
    return names


def describe(namespace: Any, module: torch.nn.Module, arguments: list[Any], *, export: bool) -> dict[str, Any]:
    """All facts of one workload as JSON.

    Raises:
        KernelError: a result is no tensor, or an argument has no JSON form.
    """
    init = list(namespace.get_init_inputs()) if hasattr(namespace, "get_init_inputs") else []
    tensors = [t for t in pytree.tree_leaves(arguments) if isinstance(t, torch.Tensor)]
    try:
        call = call_template(arguments, [0])
    except TypeError as error:
        raise KernelError(f"get_inputs() returned something that is neither tensor nor number: {error}") from error
    with torch.no_grad():
        fresh = pytree.tree_map_only(torch.Tensor, lambda t: t.clone(), arguments)
        with SumLog() as sums:
            results = pytree.tree_leaves(module(*fresh))
        if not results or not all(isinstance(r, torch.Tensor) for r in results):
            raise KernelError("Model.forward must return a tensor or a tuple of tensors")
        starts = {t.untyped_storage().data_ptr() for t in pytree.tree_leaves(fresh) if isinstance(t, torch.Tensor)}
        aliases = any(r.untyped_storage().data_ptr() in starts for r in results)
    state = module.state_dict()
    names = argument_names(module, arguments)
    facts: dict[str, Any] = {
        "inputs": [tensor_json(n, t) for n, t in zip(names, tensors, strict=True)],
        "parameters": [tensor_json(n, t) for n, t in state.items()],
        "outputs": [tensor_json(f"output{i}", r) for i, r in enumerate(results)],
        "scalars": [*numbers(init), *numbers(arguments)],
        "call": call,
        "longest_sum": sums.longest,
        "may_alias": aliases,
        "onednn_form": any(isinstance(m, ONEDNN_LAYERS) for m in module.modules()),
    }
    try:
        facts["init_args"] = plain(init)
    except TypeError:
        facts["init_args"] = None
    graph = exported(module, arguments, names) if export else {"operations": [], "results": [], "export_error": "off"}
    facts.update(graph)
    facts["flops"] = count_flops(module, arguments, facts) if export else 0
    facts["compulsory_bytes"] = compulsory_bytes(facts)
    return facts


def exported(module: torch.nn.Module, arguments: list[Any], names: list[str]) -> dict[str, Any]:
    """The core-ATen graph as OperationFacts in JSON, or why there is none."""
    try:
        with torch.no_grad():
            fresh = pytree.tree_map_only(torch.Tensor, lambda t: t.clone(), arguments)
            program = torch.export.export(module, tuple(fresh)).run_decompositions()
            return graph_json(program, names)
    except Exception as error:  # whatever export or its passes raise is a fact about the module, and is kept
        text = " ".join(str(error).split())
        return {"operations": [], "results": [], "export_error": f"{type(error).__name__}: {text[:400]}"}


def graph_json(program: Any, names: list[str]) -> dict[str, Any]:
    """Nodes of an exported program, names of placeholders replaced by argument names and state_dict keys."""
    from torch.export.graph_signature import InputKind, OutputKind

    rename: dict[str, str] = {}
    operations: list[dict[str, Any]] = []
    user = iter(names)
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:
            if hasattr(spec.arg, "value"):  # a number, not a tensor
                continue
            rename[spec.arg.name] = next(user)
        elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER) and spec.target in program.state_dict:
            rename[spec.arg.name] = spec.target
        else:
            operations.append(constant_json(spec.arg.name, program.constants[spec.target]))
    for node in program.graph.nodes:
        if node.op == "call_function":
            operations.append(node_json(node, rename))
    kept = [s.arg for s in program.graph_signature.output_specs if s.kind is OutputKind.USER_OUTPUT]
    return {"operations": operations, "results": [rename.get(a.name, a.name) for a in kept], "export_error": ""}


def constant_json(name: str, tensor: torch.Tensor) -> dict[str, Any]:
    """A lifted constant as an operation with its values."""
    if tensor.numel() > MAX_CONSTANT:
        raise ValueError(f"the constant {name} has {tensor.numel()} elements")
    told = tensor_json(name, tensor)
    return {"name": name, "op": "constant", "args": [plain(tensor.tolist())], "kwargs": {},
            "shapes": [told["shape"]], "dtypes": [told["dtype"]]}  # fmt: skip


def node_json(node: Any, rename: dict[str, str]) -> dict[str, Any]:
    """One call of the graph."""

    def convert(value: Any) -> Any:
        if isinstance(value, torch.fx.Node):
            return {"ref": rename.get(value.name, value.name)}
        if isinstance(value, (list, tuple)):
            return [convert(v) for v in value]
        if isinstance(value, torch.dtype):
            return str(value).removeprefix("torch.")
        if isinstance(value, (torch.device, torch.layout, torch.memory_format)):
            return str(value)
        return plain(value)

    results = [v for v in pytree.tree_leaves(node.meta.get("val")) if isinstance(v, torch.Tensor)]
    return {
        "name": node.name,
        "op": "getitem" if node.target is operator.getitem else str(node.target),
        "args": [convert(a) for a in node.args],
        "kwargs": {k: convert(v) for k, v in node.kwargs.items()},
        "shapes": [[int(n) for n in r.shape] for r in results],
        "dtypes": [str(r.dtype).removeprefix("torch.") for r in results],
    }


def base_name(op: str) -> str:
    """``aten.relu.default`` -> ``relu``."""
    return op.split(".")[1] if op.startswith("aten.") else op


def refs(value: Any) -> list[str]:
    """Names referred to in an operation's arguments."""
    if isinstance(value, dict):
        return [value["ref"]] if set(value) == {"ref"} else [r for v in value.values() for r in refs(v)]
    return [r for v in value for r in refs(v)] if isinstance(value, (list, tuple)) else []


def byte_count(shape: Sequence[int], dtype: str) -> int:
    """Bytes of a tensor."""
    return math.prod(shape) * int(getattr(torch, dtype).itemsize)


def compulsory_bytes(facts: dict[str, Any]) -> int:
    """Bytes that any kernel must move: touched inputs and parameters once, outputs once.

    An argument that only gathers read counts as what they return; one that is only read through tril or triu counts
    half. Where the module could not be exported all arguments count.
    """
    total = sum(byte_count(t["shape"], t["dtype"]) for t in facts["outputs"])
    users: dict[str, list[dict[str, Any]]] = {}
    for operation in facts["operations"]:
        for name in set(refs(operation["args"]) + refs(operation["kwargs"])):
            users.setdefault(name, []).append(operation)
    for tensor in [*facts["inputs"], *facts["parameters"]]:
        whole = byte_count(tensor["shape"], tensor["dtype"])
        if facts["export_error"]:
            total += whole
            continue
        ops = users.get(tensor["name"], [])
        names = {base_name(o["op"]) for o in ops}
        if not ops:
            continue
        if names <= set(PARTIAL):
            touched = sum(byte_count(s, tensor["dtype"]) for o in ops for s in o["shapes"])
            total += min(whole, touched)
        else:
            total += whole // 2 if names <= {"tril", "triu"} else whole
    return total


def count_flops(module: torch.nn.Module, arguments: list[Any], facts: dict[str, Any]) -> int:
    """FLOPs of one call.

    Products and convolutions by torch.utils.flop_counter or by their shapes in the graph, whichever is more: it
    knows no fused attention on CPUs. Every other operator counts the elements of its largest operand or result.
    """
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        module(*pytree.tree_map_only(torch.Tensor, lambda t: t.clone(), arguments))
    shapes = {t["name"]: t["shape"] for t in [*facts["inputs"], *facts["parameters"]]}
    shapes |= {o["name"]: o["shapes"][0] for o in facts["operations"] if o["shapes"]}
    products = rest = 0
    for operation in facts["operations"]:
        name = base_name(operation["op"])
        if name in FREE or not operation["shapes"]:
            continue
        operands = [shapes[r] for r in refs(operation["args"]) if r in shapes]
        found = product_flops(name, operands, operation)
        products += found
        rest += 0 if found else max(math.prod(s) for s in [*operands, *operation["shapes"]])
    return max(int(counter.get_total_flops()), products) + rest


def product_flops(name: str, operands: list[list[int]], operation: dict[str, Any]) -> int:
    """FLOPs of a matrix product or a convolution; 0 for other operators."""
    result: int = math.prod(operation["shapes"][0])
    if name in ("mm", "bmm") and len(operands) >= 2:
        return int(2 * result * operands[0][-1])
    if name in ("addmm", "baddbmm", "addbmm") and len(operands) >= 3:
        return int(2 * result * operands[1][-1])
    if name == "convolution" and len(operands) >= 2:
        transposed = len(operation["args"]) > 6 and operation["args"][6] is True
        source, weight = operands[0], operands[1]
        positions = math.prod(source) if transposed else result
        return int(2 * positions * math.prod(weight[1:]))
    return 0
