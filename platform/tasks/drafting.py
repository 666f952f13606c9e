"""``tasks add``: a task folder drafted from a KernelBench-form reference, or from a C++ or CUDA function.

Owns the texts of drafts. What parsing can tell is filled in; what only a person knows is marked ``KW-FILL-IN``, and
the loader refuses the task until those lines are complete. It must never compile or execute what it reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from kernelwright.errors import TaskError, UnknownName
from kernelwright.records.task import StartKernel, Task
from kernelwright.tasks.derivation import inputs_of
from kernelwright.tasks.loading import Roots, list_tasks, load_path
from kernelwright.tasks.native import CPP_SUFFIXES, read_text, save_task, start_kernel
from kernelwright.tasks.source import FILL_IN, parse_module

_DTYPES = {
    "float": "float32", "double": "float64", "bool": "bool", "int8_t": "int8", "signed char": "int8", "char": "int8",
    "uint8_t": "uint8", "unsigned char": "uint8", "int16_t": "int16", "short": "int16", "int": "int32",
    "int32_t": "int32", "int64_t": "int64", "long": "int64", "long long": "int64",
}  # fmt: skip
_SIZES = ("unsigned", "unsigned int", "uint32_t", "unsigned long", "uint64_t", "size_t")
"""Types that may count, but that no tensor has."""
_NOT_FUNCTIONS = {"if", "for", "while", "switch", "catch", "main", "return", "kw_run", "kw_prepare"}
_FUNCTION = re.compile(
    r"((?:[A-Za-z_][\w:]*(?:\s*[*&]+\s*|\s+))+)([A-Za-z_]\w*)\s*\(([^(){};]*)\)\s*(?:noexcept\s*)?\{"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|^[ \t]*#[^\n]*", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a C function."""

    name: str
    c_type: str
    """Without const and ``*``."""
    dtype: str
    kind: str
    """``input``, ``output``, ``size`` (an integer) or ``scalar`` (a float)."""


@dataclass(frozen=True)
class Function:
    """A C function that a draft wraps."""

    name: str
    signature: str
    parameters: tuple[Parameter, ...]
    launched: bool
    """True for a CUDA ``__global__`` function."""

    def of_kind(self, kind: str) -> tuple[Parameter, ...]:
        """The parameters of one kind, in order."""
        return tuple(p for p in self.parameters if p.kind == kind)


def add_task(path: Path, roots: Roots, *, name: str = "", start: Path | None = None) -> Path:
    """Copy a task into the user's folder, in the native format.

    Args:
        path: a KernelBench-form file or a native task folder.
        roots: its ``user`` folder receives the task.
        name: the new task's name; "" keeps the file's.
        start: a kernel (file or folder) to keep as start kernel.

    Returns:
        The new folder.

    Raises:
        TaskError: the file is unfit (see the loaders), the name is taken, or the folder cannot be written.
    """
    task = load_path(path, overrides={})
    known = task.format_kind == "native"
    changes: dict[str, object] = {"name": name or task.name}
    if not known:
        changes["inputs"] = inputs_of(parse_module(task.reference, where=str(path)), task.reference)
    if start is not None:
        changes["start"] = start_kernel(start)
    task = Task.model_validate({**task.model_dump(), **changes})
    return _save(task, roots, comment="" if known else _REFERENCE_NOTE)


def draft_from_cpp(path: Path, roots: Roots, *, name: str = "", function: str = "") -> Path:
    """Draft a task around a C++ or CUDA function: a reference skeleton and the function as start kernel.

    Args:
        path: the source file.
        roots: its ``user`` folder receives the draft.
        name: the new task's name; "" takes the function's.
        function: the function to wrap; "" takes the only one.

    Returns:
        The new folder. Its marked lines have to be completed before the task loads.

    Raises:
        TaskError: no such file, no function that can be wrapped, several and none chosen, or the name is taken.
        UnknownName: ``function`` is not in the file.
    """
    if path.suffix not in CPP_SUFFIXES:
        raise TaskError(f"{path}: is no C++ or CUDA source", hint=f"known: {', '.join(CPP_SUFFIXES)}")
    text = read_text(path)
    found = choose_function(text, function, where=str(path))
    entry = f"kernel{'.cu' if path.suffix == '.cu' else '.cpp'}"
    task = Task(
        name=name or found.name,
        description=f"Drafted from {found.name} in {path.name}.",
        reference=reference_skeleton(found, path.name),
        start=StartKernel.model_validate(
            {
                "language": CPP_SUFFIXES[path.suffix],
                "files": {entry: text.rstrip("\n") + "\n\n" + entry_shim(found)},
                "entry_file": entry,
            }
        ),
        licence="unstated",
        source=f"file {path.name}",
    )
    return _save(task, roots, comment=_CPP_NOTE)


def choose_function(text: str, name: str, *, where: str) -> Function:
    """The function to wrap.

    Raises:
        TaskError: there is none, or several and none is named, or a parameter is no pointer and no number.
        UnknownName: the named one is not there.
    """
    bare = _COMMENT.sub(" ", text)
    found = {m[2]: m for m in _FUNCTION.finditer(bare) if m[2] not in _NOT_FUNCTIONS}
    if name and name not in found:
        raise UnknownName("function", name, found)
    if not found:
        raise TaskError(
            f"{where}: no function definition found",
            hint="bring a plain C function such as `void f(const float *in, float *out, int n) { ... }`",
        )
    if not name and len(found) > 1:
        raise TaskError(f"{where}: several functions: {', '.join(found)}", hint="say which one with --function NAME")
    match = found[name or next(iter(found))]
    parameters = tuple(_parameter(p, where=where) for p in match[3].split(",") if p.strip() not in ("", "void"))
    signature = " ".join(f"{match[1]}{match[2]}({match[3]})".split())
    result = Function(match[2], signature, parameters, launched="__global__" in match[1])
    if not result.of_kind("output"):
        raise TaskError(
            f"{where}: {result.name} writes to no pointer, so it has no output",
            hint="give it a non-const pointer parameter that receives the result",
        )
    return result


def reference_skeleton(function: Function, origin: str) -> str:
    """The text of a reference.py whose marked lines a person completes."""
    inputs, scalars = function.of_kind("input"), function.of_kind("scalar")
    outputs = function.of_kind("output")
    sizes = [f"{p.name} = 1024  # {FILL_IN}: a size you care about" for p in function.of_kind("size")]
    values = [f"{p.name} = 1.0  # {FILL_IN}: the value you use" for p in scalars]
    shape = function.of_kind("size")[0].name if sizes else "1024"
    made = [f"    {p.name} = {_draw(p, shape)}  # {FILL_IN}: the shape of {p.name}" for p in inputs]
    names = ", ".join(p.name for p in inputs)
    wanted = ", ".join(f"{p.name} ({p.dtype})" for p in outputs)
    numbers = ", ".join(p.name for p in scalars)
    lines = [
        f'"""What {function.name} of {origin} computes, in torch: the judge holds every kernel against it."""',
        "",
        "import torch",
        "import torch.nn as nn",
        "",
        *sizes,
        *values,
        "",
        "",
        "class Model(nn.Module):",
        f"    # {FILL_IN}: say in a docstring what is computed; the C++ signature is",
        f"    # {function.signature}",
        "",
        f"    def __init__(self{', ' + numbers if numbers else ''}):",
        "        super().__init__()",
        *(f"        self.{p.name} = {p.name}" for p in scalars),
        "",
        f"    def forward(self{', ' + names if names else ''}):",
        f"        raise NotImplementedError  # {FILL_IN}: compute and return {wanted}",
        "",
        "",
        "def get_inputs():",
        *made,
        f"    return [{names}]",
        "",
        "",
        "def get_init_inputs():",
        f"    return [{numbers}]",
        "",
    ]
    return "\n".join(lines)


def entry_shim(function: Function) -> str:
    """``kw_run`` around the function: pointers and floats are bound, integers are guessed and marked."""
    counters = {"input": 0, "output": 0, "scalar": 0, "size": 0}
    lines: list[str] = []
    for position, parameter in enumerate(function.parameters):
        number = counters[parameter.kind]
        counters[parameter.kind] += 1
        comma = "," if position + 1 < len(function.parameters) else ""
        guess = f"in[0].shape[{number}]" if function.of_kind("input") else f"out[0].shape[{number}]"
        argument, note = {
            "input": (f"(const {parameter.c_type} *)in[{number}].data", ""),
            "output": (f"({parameter.c_type} *)out[{number}].data", ""),
            "scalar": (f"({parameter.c_type})scalars[{number}].f", ""),
            "size": (f"({parameter.c_type}){guess}", f"  // {FILL_IN}: which axis is {parameter.name}?"),
        }[parameter.kind]
        lines.append(f"      {argument}{comma}{note}")
    launch = "<<<1, 256, 0, (cudaStream_t)stream>>>" if function.launched else ""
    marked = f"  // {FILL_IN}: the launch" if function.launched else ""
    stream = "kw_stream stream" if function.launched else "kw_stream"
    return "\n".join(
        [
            '#include "kernelwright.h"',
            "",
            f"int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *scalars, kw_workspace *, {stream}) {{",
            f"  {function.name}{launch}({marked}",
            *lines,
            "  );",
            "  return 0;",
            "}",
            "",
        ]
    )


def _parameter(text: str, *, where: str) -> Parameter:
    words = re.sub(r"\b(?:const|__restrict__|__restrict|restrict|struct)\b", " ", text.replace("*", " * "))
    constant = re.search(r"\bconst\b", text.partition("*")[0]) is not None
    parts = re.sub(r"\[\s*\]", " * ", words).split()
    stars, names = parts.count("*"), [p for p in parts if p != "*"]
    c_type, name = " ".join(names[:-1]).removeprefix("std::"), names[-1] if names else ""
    known = c_type in _DTYPES or (c_type in _SIZES and stars == 0)
    if len(names) < 2 or stars > 1 or not known:
        raise TaskError(
            f"{where}: parameter `{' '.join(text.split())}` is neither a pointer to numbers nor a number",
            hint=f"write a plain C function around it; known types: {', '.join(sorted(_DTYPES))}",
        )
    if stars:
        kind = "input" if constant else "output"
    else:
        kind = "scalar" if c_type in ("float", "double") else "size"
    return Parameter(name, c_type, _DTYPES.get(c_type, ""), kind)


def _draw(parameter: Parameter, shape: str) -> str:
    if parameter.dtype.startswith("float"):
        dtype = "" if parameter.dtype == "float32" else f", dtype=torch.{parameter.dtype}"
        return f"torch.randn({shape}{dtype})"
    high = {"bool": 2, "uint8": 256}.get(parameter.dtype, 100)
    return f"torch.randint(0, {high}, ({shape},), dtype=torch.{parameter.dtype})"


def _save(task: Task, roots: Roots, *, comment: str) -> Path:
    if roots.user is None:
        raise TaskError("there is no folder of your own for tasks", hint="name a workspace with --workspace")
    taken = {row.name: row.path for row in list_tasks(roots) if row.shelf != "kernelbench"}
    if task.name in taken:
        raise TaskError(f"there is a task {task.name!r} already, at {taken[task.name]}", hint="choose another --name")
    return save_task(task, roots.user / task.name, comment=comment).parent


_REFERENCE_NOTE = """Drafted from a reference in KernelBench's form.
Derived by parsing: description, family, inputs, torch_ops. Please check:
  inputs     axes and domain (torch.rand gives 0..1): kernels are judged inside it and nowhere else
  workloads  the sizes you care about, as overrides of reference.py's constants, with weights
  licence    under which the reference may be used"""

_CPP_NOTE = """Drafted from a C++ or CUDA function.
Complete the lines marked in reference.py and start/, then check here:
  family, torch_ops   how others would look for it
  inputs              name, axes, dtype, domain of each input; without them shapes are read off get_inputs()
  workloads           the sizes you care about, as overrides of reference.py's constants, with weights
  licence             under which the source may be used"""
