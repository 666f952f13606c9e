"""The reference module on a GPU, as a baseline: eager, compiled, max-autotuned, or captured as a CUDA graph.

Owns how each form is made. Only the task's own ``Model`` is loaded here, never a candidate's ``ModelNew``: a module's
host code would run beside the events that time it. Inputs stay where they are on the device; a call reads what the
judge uploaded last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from kernelwright.toolexec.workers.device_host import OnDevice
from kernelwright.toolexec.workers.kernel import Array, KernelError, LoadSpec
from kernelwright.toolexec.workers.module_kernel import (
    build_module,
    dtype_name,
    fill_call,
    import_file,
    infer_only,
    optimized,
    to_array,
    to_tensor,
)

GRAPH = "cuda-graph"
TUNING = "max-autotune-no-cudagraphs"
"""Its own graphs would overwrite the results of a call in the next one; the row of that name captures one a slot."""
WARM_UPS = 3
"""Runs before a capture, as torch.cuda.graph wants them."""


class DeviceModule(OnDevice):
    """A loaded module.

    Args:
        spec: what is loaded; its options name class and mode.
        runtime: of torch; its ``torch_device`` says where tensors lie.
    """

    def __init__(self, spec: LoadSpec, runtime: Any) -> None:
        if spec.options.get("class") != "Model":
            raise KernelError("modules of candidates are not run beside the events that time them")
        self.spec = spec
        self._device = torch.device(runtime.torch_device)
        self._mode = str(spec.options.get("mode", "eager"))
        infer_only()
        namespace = import_file(spec.artifact, f"kernelwright_baseline_{abs(hash(spec.artifact))}")
        self._module = build_module(namespace, "Model", None)
        self._forward: Callable[..., Any] = self._module
        self._arguments: dict[int, list[Any]] = {}
        self._host: dict[int, list[torch.Tensor]] = {}
        self._inputs: dict[int, list[torch.Tensor]] = {}
        self._results: dict[int, Any] = {}
        self._graphs: dict[int, Any] = {}
        self._dtypes: dict[int, list[str]] = {}

    def set_weights(self, params: Sequence[Array]) -> None:
        """load_state_dict, strictly; to the device; then compile where this baseline does."""
        state = {
            spec.name: to_tensor(np.array(param), spec)
            for spec, param in zip(self.spec.parameters, params, strict=True)
        }
        self._module.load_state_dict(state, strict=True)
        self._module.to(self._device)
        self._forward = optimized(self._module, self._mode, tuning=TUNING)

    def bind(self, slot: int, inputs: Sequence[Array]) -> None:
        """Device tensors of one slot; forward's arguments."""
        self._host[slot] = [to_tensor(array, spec) for array, spec in zip(inputs, self.spec.inputs, strict=True)]
        self._inputs[slot] = [torch.empty_like(t, device=self._device) for t in self._host[slot]]
        call = self.spec.call
        self._arguments[slot] = self._inputs[slot] if call is None else fill_call(call, self._inputs[slot])

    def poison(self, slot: int, byte: int) -> None:
        """Drop the slot's results; a graph's own memory is overwritten."""
        if slot in self._graphs:
            for leaf in pytree.tree_leaves(self._graphs[slot][1]):
                leaf.view(torch.uint8).fill_(byte) if leaf.is_contiguous() and leaf.dim() else None
            return
        self._results.pop(slot, None)

    def make_ready(self, slot: int) -> None:
        """A graph is captured once, when its inputs hold something."""
        if self._mode == GRAPH and slot not in self._graphs:
            self.upload(slot)
            self._graphs[slot] = captured(self._forward, self._arguments[slot])

    def upload(self, slot: int) -> None:
        """The slot's inputs, into the same tensors each time."""
        for target, source in zip(self._inputs[slot], self._host[slot], strict=True):
            target.copy_(source)

    def run(self, slot: int) -> None:
        """Forward, or the graph's replay."""
        if self._mode == GRAPH:
            graph, results = self._graphs[slot]
            graph.replay()
            self._results[slot] = results
        else:
            self._results[slot] = self._forward(*self._arguments[slot])

    def collect(self, slot: int) -> list[Array]:
        """The slot's results as arrays."""
        leaves = pytree.tree_leaves(self._results[slot])
        self._dtypes[slot] = [dtype_name(t.dtype) for t in leaves]
        return [to_array(t.cpu()) for t in leaves]

    def output_dtypes(self, slot: int) -> list[str]:
        """dtypes of what forward returned."""
        return self._dtypes.get(slot, [])


def captured(forward: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, Any]:
    """A CUDA graph of one call on tensors that stay where they are, and the tensors that its replay fills."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UPS):
            forward(*arguments)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = forward(*arguments)
    return graph, results
