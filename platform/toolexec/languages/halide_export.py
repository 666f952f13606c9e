"""The way home of a Halide candidate: one KernelBench file whose ModelNew compiles its pipeline in memory.

Owns the text of that file: the algorithm and the schedule as JSON, and the sources of halide_math.py,
halide_schedule.py and halide_emit.py behind one another. It needs torch, numpy and halide, nothing of kernelwright.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from pathlib import Path

from kernelwright.records import Candidate, Directive, Task, WorkloadFacts
from kernelwright.records.pipeline import Pipeline
from kernelwright.tasks.source import with_overrides

PARTS = ("halide_math.py", "halide_schedule.py", "halide_emit.py")

HEAD = '''"""{title}

Made by kernelwright from candidate {candidate}. ModelNew holds the reference's parameters and replaces its forward by
a Halide pipeline that is compiled in memory when it is first called: {requirement}. The schedule below can be edited.
HL_NUM_THREADS sets the threads of a parallel schedule.
"""

'''

RUNTIME = '''

# ---------------------------------------------------------------- the kernel: its algorithm and its schedule
import json as _json

_ALGORITHM = _json.loads(r"""
{algorithm}
""")
_SCHEDULE = [
{schedule}
]
_TUNABLES = {tunables}
_SHAPES = {shapes}
_OUTPUTS = {outputs}
_NAMES = [b["name"] for b in _ALGORITHM["buffers"] if b["kind"] != "constant"]

# ---------------------------------------------------------------- how it becomes code: a module of its own
_EMITTER = r{quote}
{emitter}
{quote}

# ---------------------------------------------------------------- and how it is called
import os as _os
import sys as _sys
import types as _types

import halide as _hl
import torch as _torch
from torch.utils import _pytree as _pytree

_COMPILED = {{}}


def _kernel():
    if "kernel" not in _COMPILED:
        _os.environ.setdefault("HL_NUM_THREADS", str(_torch.get_num_threads()))
        threads = int(_os.environ["HL_NUM_THREADS"])
        emitter = _sys.modules["kernelwright_emitter"] = _types.ModuleType("kernelwright_emitter")
        exec(compile(_EMITTER, "kernelwright_emitter.py", "exec"), emitter.__dict__)
        _COMPILED["kernel"] = emitter.compile_pipeline(_ALGORITHM, _SCHEDULE, _TUNABLES, threads=threads)
    return _COMPILED["kernel"]


def _wrap(name, tensor):
    tensor = tensor.detach()
    if tensor.dtype is _torch.bool:
        tensor = tensor.view(_torch.uint8)
    return _hl.Buffer(tensor.numpy().reshape(_kernel().shapes[name]))


class ModelNew(Model):
    """The reference's parameters with the pipeline as forward."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._packed_for, self._weights, self._packed = None, [], []

    def prepare(self):
        """Wrap the weights, and compute what the schedule keeps per set of weights."""
        kernel = _kernel()
        tensors = [t.detach().contiguous() for t in self.state_dict().values()]
        self._kept, self._packed = tensors, []
        self._weights = [_wrap(n, t) for n, t in zip(_NAMES[len(_SHAPES) :], tensors)]
        dtypes = {{b["name"]: b["dtype"] for b in kernel.main["buffers"]}}
        for name in kernel.prepared:
            packed = _torch.empty(kernel.shapes[name], dtype=getattr(_torch, dtypes[name]))
            self._kept.append(packed)
            self._packed.append(_wrap(name, packed))
        if kernel.prepare is not None:
            idle = [_torch.empty(shape, dtype=getattr(_torch, dtype)) for dtype, shape in _SHAPES]
            kernel.prepare(*[_wrap(n, t) for n, t in zip(_NAMES, idle)], *self._weights, *self._packed)
        self._packed_for = self._versions()

    def _versions(self):
        return [(t.data_ptr(), t._version) for t in self.state_dict().values()]

    def forward(self, *args):
        with _torch.no_grad():
            kernel = _kernel()
            if self._packed_for is None or self._packed_for != self._versions():
                self.prepare()
            inputs = [t.detach().contiguous() for t in _pytree.tree_leaves(args) if isinstance(t, _torch.Tensor)]
            found = [(str(t.dtype).replace("torch.", ""), list(t.shape)) for t in inputs]
            if found != _SHAPES:
                raise RuntimeError(f"this kernel was made for inputs {{_SHAPES}}, got {{found}}")
            outputs = [_torch.empty(shape, dtype=getattr(_torch, dtype)) for dtype, shape in _OUTPUTS]
            results = [_wrap(n, t) for n, t in zip(_ALGORITHM["outputs"], outputs)]
            kernel.run(*[_wrap(n, t) for n, t in zip(_NAMES, inputs)], *self._weights, *self._packed, *results)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)
'''


def export_text(
    candidate: Candidate,
    task: Task,
    facts: WorkloadFacts,
    pipeline: Pipeline,
    directives: Sequence[Directive],
) -> str:
    """The text of the file.

    Args:
        candidate: what is taken home; its tunables are written as they stand.
        task: gives the reference, at its first workload's constants.
        facts: the border at that workload.
        pipeline: the algorithm at that workload.
        directives: the schedule.
    """
    head = HEAD.format(
        title=f"{task.name}: a Halide pipeline behind KernelBench's ModelNew.",
        candidate=candidate.id,
        requirement="pip install 'halide>=21,<22' numpy torch; no compiler needed",
    )
    rows = [f"    {json.dumps(d.model_dump(mode='json'))}," for d in directives if d.verb != "rewrite"]
    body = RUNTIME.format(
        algorithm=algorithm_text(pipeline),
        schedule="\n".join(rows),
        tunables=repr(candidate.tunable_values()),
        shapes=repr([(a.dtype, list(a.shape)) for a in facts.of_kind("input")]),
        outputs=repr([(a.dtype, list(a.shape)) for a in facts.of_kind("output")]),
        emitter=embedded(),
        quote="'''",
    )
    future, rest = split_future(with_overrides(task.reference, task.workloads[0].set))
    return f"{head}{future}{rest.strip()}\n{body}"


def algorithm_text(pipeline: Pipeline) -> str:
    """The Pipeline as JSON with a line for each buffer and Func."""
    data = pipeline.model_dump(mode="json")
    rows = [f' "{key}": [\n' + ",\n".join(f"  {json.dumps(v)}" for v in data[key]) + "\n ]" for key in data]
    return "{\n" + ",\n".join(rows) + "\n}"


def embedded() -> str:
    """The sources that compile a pipeline, without their imports of kernelwright and of __future__."""
    folder = Path(__file__).parent
    texts = []
    for name in PARTS:
        source = (folder / name).read_text(encoding="utf-8")
        tree = ast.parse(source)
        dropped: set[int] = set()
        for node in tree.body:
            internal = isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                ("kernelwright", "__future__")
            )
            described = node is tree.body[0] and isinstance(node, ast.Expr)
            if internal or described:
                dropped |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        kept = [line for number, line in enumerate(source.splitlines(), start=1) if number not in dropped]
        texts.append("\n".join(kept).strip())
    return "from __future__ import annotations\n\n" + "\n\n\n".join(texts)


def split_future(source: str) -> tuple[str, str]:
    """The reference's ``from __future__`` lines, which must come first (with annotations put in), and the rest."""
    tree = ast.parse(source)
    lines = source.splitlines(keepends=True)
    dropped: set[int] = set()
    names = {"annotations"}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            names |= {a.name for a in node.names}
            dropped |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    kept = "".join(line for number, line in enumerate(lines, start=1) if number not in dropped)
    return f"from __future__ import {', '.join(sorted(names))}\n\n", kept
