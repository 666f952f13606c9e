"""Facts of a torch module made in the test's own process, and its pipeline compiled and run beside it."""

from types import SimpleNamespace

import numpy as np
import torch

from kernelwright.records import ArgumentFacts, OperationFacts, TaskFacts, WorkloadFacts
from kernelwright.toolexec.workers.describe import describe


def facts_of(module, arguments, *, workload="default"):
    """WorkloadFacts of a module, as the reference worker gives them."""
    told = describe(SimpleNamespace(), module.eval(), list(arguments), export=True)
    rows = []
    for kind in ("input", "parameter", "output"):
        rows += [ArgumentFacts(kind=kind, **t) for t in told[f"{kind}s"]]
    return WorkloadFacts(
        workload=workload,
        arguments=tuple(rows),
        operations=tuple(OperationFacts(**o) for o in told["operations"]),
        results=tuple(told["results"]),
        export_error=told["export_error"],
    )


def task_facts(module, arguments):
    """TaskFacts with one workload."""
    return TaskFacts(task_id="test", workloads=(facts_of(module, arguments),))


class Lambda(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *arguments):
        return self.function(*arguments)


def run_pipeline(pipeline, directives, arguments, module, *, values=None, threads=1, shapes=None):
    """Compile a pipeline and run it on torch tensors; outputs as numpy arrays."""
    import halide as hl

    from kernelwright.toolexec.languages import halide_emit

    data = pipeline.model_dump(mode="json")
    compiled = halide_emit.compile_pipeline(data, [d.model_dump() for d in directives], values or {}, threads=threads)
    arrays = [a.detach().contiguous().numpy() for a in arguments if isinstance(a, torch.Tensor)]
    weights = [np.ascontiguousarray(t.detach().numpy()) for t in module.state_dict().values()]

    def wrap(name, array):
        array = array.view(np.uint8) if array.dtype == np.bool_ else array
        return hl.Buffer(array.reshape(compiled.shapes[name]))

    names = [b.name for b in pipeline.buffers if b.kind != "constant"]
    dtypes = {b["name"]: b["dtype"] for b in compiled.main["buffers"]}
    held = [wrap(n, a) for n, a in zip(names, arrays + weights, strict=True)]
    outputs = [
        np.zeros([d.extent for d in reversed(pipeline.func(n).dims)], dtype=np.dtype(pipeline.func(n).dtype))
        for n in pipeline.outputs
    ]
    prepared = [np.zeros(compiled.shapes[n], dtype=np.dtype(dtypes[n])) for n in compiled.prepared]
    packed = [wrap(n, p) for n, p in zip(compiled.prepared, prepared, strict=True)]
    if compiled.prepare is not None:
        compiled.prepare(*held, *packed)
    compiled.run(*held, *packed, *[wrap(n, o) for n, o in zip(pipeline.outputs, outputs, strict=True)])
    shapes = shapes or [o.shape for o in outputs]
    return [o.reshape(s) for o, s in zip(outputs, shapes, strict=True)]
