"""What can be derived of a task by parsing its reference: operators, family, description, inputs.

Owns guesses that a person may correct. It must never look at a file's or task's name, nor execute anything.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from kernelwright.records.task import Domain, InputSpec
from kernelwright.tasks.source import evaluate, forward_arguments, module_constants

_FAMILIES: dict[str, tuple[str, ...]] = {
    "matmul": ("matmul", "mm", "bmm", "Linear", "linear", "einsum", "addmm", "baddbmm"),
    "convolution": (
        "Conv1d",
        "Conv2d",
        "Conv3d",
        "conv1d",
        "conv2d",
        "conv3d",
        "ConvTranspose1d",
        "ConvTranspose2d",
        "ConvTranspose3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
    ),
    "pooling": (
        "AvgPool1d",
        "AvgPool2d",
        "AvgPool3d",
        "MaxPool1d",
        "MaxPool2d",
        "MaxPool3d",
        "avg_pool1d",
        "avg_pool2d",
        "avg_pool3d",
        "max_pool1d",
        "max_pool2d",
        "max_pool3d",
        "AdaptiveAvgPool2d",
        "adaptive_avg_pool2d",
    ),
    "softmax": ("softmax", "log_softmax", "Softmax", "LogSoftmax"),
    "norm": (
        "LayerNorm",
        "layer_norm",
        "BatchNorm1d",
        "BatchNorm2d",
        "BatchNorm3d",
        "batch_norm",
        "GroupNorm",
        "group_norm",
        "InstanceNorm2d",
        "InstanceNorm3d",
        "instance_norm",
        "RMSNorm",
        "rms_norm",
        "norm",
        "normalize",
    ),
    "reduction": (
        "sum",
        "mean",
        "prod",
        "amax",
        "amin",
        "argmax",
        "argmin",
        "max",
        "min",
        "var",
        "std",
        "logsumexp",
    ),
    "scan": ("cumsum", "cumprod", "logcumsumexp"),
    "loss": (
        "cross_entropy",
        "CrossEntropyLoss",
        "mse_loss",
        "smooth_l1_loss",
        "kl_div",
        "hinge_embedding_loss",
        "TripletMarginLoss",
        "cosine_similarity",
        "nll_loss",
    ),
    "attention": ("scaled_dot_product_attention", "MultiheadAttention"),
    "elementwise": (
        "relu",
        "ReLU",
        "sigmoid",
        "Sigmoid",
        "tanh",
        "Tanh",
        "gelu",
        "GELU",
        "exp",
        "log",
        "sqrt",
        "rsqrt",
        "pow",
        "clamp",
        "abs",
        "leaky_relu",
        "LeakyReLU",
        "silu",
        "SiLU",
        "softplus",
        "Softplus",
        "softsign",
        "elu",
        "ELU",
        "selu",
        "SELU",
        "hardtanh",
        "Hardtanh",
        "hardsigmoid",
        "HardSigmoid",
        "where",
        "mish",
        "Mish",
        "square",
    ),
}
_FAMILY_OF = {op: family for family, ops in _FAMILIES.items() for op in ops}
_MODULES = ("torch", "F", "nn", "functional")
_CONTAINERS = {"Module", "Sequential", "ModuleList", "ModuleDict", "Parameter", "ParameterList"}


def torch_ops(tree: ast.Module) -> tuple[str, ...]:
    """torch's own names that ``Model`` calls: ``torch.x``, ``F.x``, ``nn.X``, and known tensor methods."""
    model = next((n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Model"), None)
    names: dict[str, None] = {}
    for node in ast.walk(model) if model is not None else ():
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            names["matmul"] = None
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        owner, name = node.func.value, node.func.attr
        of_torch = ast.unparse(owner).split(".")[-1] in _MODULES and name not in _CONTAINERS
        own_module = isinstance(owner, ast.Name) and owner.id in ("self", "super")
        if of_torch or (name in _FAMILY_OF and not own_module):
            names[name] = None
    return tuple(names)


def family_of(ops: tuple[str, ...]) -> str:
    """The one family that the operators point to; ``unknown`` when they point to none or to several.

    Elementwise operators beside another family's do not count against it.
    """
    found = {_FAMILY_OF[op] for op in ops if op in _FAMILY_OF}
    real = found - {"elementwise"}
    if len(real) == 1:
        return real.pop()
    return "elementwise" if found == {"elementwise"} else "unknown"


def first_sentence(tree: ast.Module) -> str:
    """The first line of Model's docstring; "" when it has none."""
    model = next((n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Model"), None)
    text = (ast.get_docstring(model) or "") if model is not None else ""
    return text.strip().splitlines()[0].strip() if text.strip() else ""


def inputs_of(tree: ast.Module, source: str) -> tuple[InputSpec, ...]:
    """The inputs that ``get_inputs`` plainly makes, under the names of forward's arguments.

    Read are ``return [torch.randn(m, n), ...]`` with names bound to such calls before. torch.rand gives the
    domain 0..1, torch.randint its bounds, torch.randn none.

    Returns:
        () unless every input could be read.
    """
    function = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "get_inputs"), None)
    names = forward_arguments(tree) or ()
    if function is None:
        return ()
    constants: dict[str, Any] = dict(module_constants(source))
    bound: dict[str, ast.expr] = {}
    for statement in function.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            bound[statement.targets[0].id] = statement.value
        if isinstance(statement, ast.Return) and isinstance(statement.value, (ast.List, ast.Tuple)):
            items = [bound.get(e.id, e) if isinstance(e, ast.Name) else e for e in statement.value.elts]
            if len(items) > len(names):
                return ()
            specs = [_input(n, i, constants) for n, i in zip(names, items, strict=False)]
            return tuple(s for s in specs if s is not None) if None not in specs else ()
    return ()


def _input(name: str, node: ast.expr, constants: Mapping[str, Any]) -> InputSpec | None:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return None
    if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "torch"):
        return None
    keywords = {k.arg: k.value for k in node.keywords}
    maker, sizes, domain, dtype = node.func.attr, list(node.args), Domain(), "float32"
    if maker == "randint":
        bounds = [evaluate(a, constants) for a in node.args if not isinstance(a, (ast.Tuple, ast.List))]
        sizes = [a for a in node.args if isinstance(a, (ast.Tuple, ast.List))]
        if not sizes and "size" in keywords:
            sizes = [keywords["size"]]
        if not bounds or None in bounds or len(bounds) > 2:
            return None
        low, high = (0, bounds[0]) if len(bounds) == 1 else bounds
        domain, dtype = Domain(low=low, high=high - 1), "int64"
    elif maker == "rand":
        domain = Domain(low=0.0, high=1.0)
    elif maker != "randn":
        return None
    if "dtype" in keywords:
        dtype = ast.unparse(keywords["dtype"]).removeprefix("torch.")
    axes = _axes(sizes, constants)
    return None if axes is None else InputSpec(name=name, axes=axes, dtype=dtype, domain=domain)


def _axes(sizes: list[ast.expr], constants: Mapping[str, Any]) -> tuple[str, ...] | None:
    if len(sizes) == 1 and isinstance(sizes[0], (ast.Tuple, ast.List)):
        sizes = list(sizes[0].elts)
    names: list[str] = []
    for position, size in enumerate(sizes):
        if isinstance(size, ast.Starred):
            shape = evaluate(size.value, constants)
            if not isinstance(shape, tuple):
                return None
            names += [f"{ast.unparse(size.value)}_{n}" for n in range(len(shape))]
        else:
            names.append(size.id if isinstance(size, ast.Name) else f"axis{position}")
    return tuple(names)
