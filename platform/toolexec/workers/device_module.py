"""Torch modules on a GPU: the reference as a baseline (eager, compiled, tuned, as a CUDA graph), and candidates.

Owns how each is made, where its inputs lie, and what is accepted as a candidate's result. A candidate's ``ModelNew`` is
a stranger's code in this process: nothing that is clocked here is believed of it (devices/README.md, "Host code").
Inputs stay in the same tensors on the device; a call reads what was brought there last.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from kernelwright.toolexec.workers.device_host import OnDevice
from kernelwright.toolexec.workers.device_runtime import Region
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
from kernelwright.toolexec.workers.policy_log import SEEN, OperatorLog, seen_so_far, watch_all, watch_jit

GRAPH = "cuda-graph"
TUNING = "max-autotune-no-cudagraphs"
"""Its own graphs would overwrite the results of a call in the next one; the row of that name captures one a slot."""
WARM_UPS = 3
"""Runs before a capture, as torch.cuda.graph wants them."""


class DeviceModule(OnDevice):
    """A loaded module.

    Args:
        spec: what is loaded; its options name class and mode of a baseline, and neither of a candidate.
        runtime: of torch; its ``torch_device`` says where tensors lie.
    """

    def __init__(self, spec: LoadSpec, runtime: Any) -> None:
        self.spec = spec
        self._device = torch.device(runtime.torch_device)
        self._mode = str(spec.options.get("mode", ""))
        self._class_name = str(spec.options.get("class", "ModelNew"))
        infer_only()
        if not self._mode:
            sys.path.insert(0, str(Path(spec.artifact).parent))  # a candidate may have several files
        namespace = import_file(spec.artifact, f"kernelwright_module_{abs(hash(spec.artifact))}")
        init_args = None if self._mode or spec.options.get("own_init") else spec.init_args
        self._module = build_module(namespace, self._class_name, init_args)
        self._forward: Callable[..., Any] = self._module
        self._arguments: dict[int, list[Any]] = {}
        self._host: dict[int, list[torch.Tensor]] = {}
        self._views: dict[int, list[Array]] = {}
        self._inputs: dict[int, list[torch.Tensor]] = {}
        self._results: dict[int, Any] = {}
        self._graphs: dict[int, Any] = {}
        self._dtypes: dict[int, list[str]] = {}
        self._off = frozenset(spec.options.get("guards_off", ()))

    def set_weights(self, params: Sequence[Array]) -> None:
        """load_state_dict, strictly; to the device; then compile where this is a baseline that does."""
        state = {
            spec.name: to_tensor(np.array(param), spec)
            for spec, param in zip(self.spec.parameters, params, strict=True)
        }
        try:
            self._module.load_state_dict(state, strict=True)
        except RuntimeError as error:
            text = " ".join(str(error).split())
            raise KernelError(
                f"{self._class_name} must keep the reference's parameters and buffers: {text[:400]}"
            ) from error
        self._module.to(self._device)
        if self._mode:
            self._forward = optimized(self._module, self._mode, tuning=TUNING)

    def prepare(self) -> bool:
        """Call a candidate's own prepare(), where it has one; what it queued is done afterwards."""
        prepare = getattr(self._module, "prepare", None)
        if not callable(prepare) or self._mode:
            return False
        prepare()
        if self._device.type == "cuda":
            torch.cuda.synchronize()
        return True

    def bind(self, slot: int, inputs: Sequence[Array]) -> None:
        """Device tensors of one slot; forward's arguments."""
        self._views[slot] = list(inputs)
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

    def views(self, slot: int) -> list[Array]:
        """The slot's inputs in the arena."""
        return self._views[slot]

    def places(self, slot: int) -> list[Region]:
        """The slot's inputs on the device."""
        return [region_of(t) for t in self._inputs[slot]]

    def results(self, slot: int) -> list[Region]:
        """The slot's outputs, made contiguous where they are not: their bytes are what is summed and handed over."""
        plain = torch.Tensor  # its functions, never the object's own: those may be anything
        leaves, shape = pytree.tree_flatten(self._results[slot])
        for i, leaf in enumerate(leaves):
            self._accept(i, leaf, slot)
        whole = [plain.contiguous(leaf) for leaf in leaves]
        self._results[slot] = pytree.tree_unflatten(whole, shape)
        return [region_of(leaf) for leaf in whole]

    def run(self, slot: int) -> None:
        """Forward, or the graph's replay."""
        if self._mode == GRAPH:
            graph, results = self._graphs[slot]
            graph.replay()
            self._results[slot] = results
        else:
            self._results[slot] = self._forward(*self._arguments[slot])

    def collect(self, slot: int) -> list[Array]:
        """The slot's results as arrays; a candidate's inputs go back into the arena, as they are now."""
        plain = torch.Tensor
        leaves = pytree.tree_leaves(self._results[slot])
        for i, leaf in enumerate(leaves):
            self._accept(i, leaf, slot)
        self._dtypes[slot] = [dtype_name(t.dtype) for t in leaves]
        if not self._mode:
            for source, target in zip(self._inputs[slot], self._host[slot], strict=True):
                target.copy_(source)
        return [to_array(plain.cpu(t)) for t in leaves]

    def output_dtypes(self, slot: int) -> list[str]:
        """dtypes of what forward returned."""
        return self._dtypes.get(slot, [])

    def _accept(self, i: int, leaf: Any, slot: int) -> None:
        if self._mode:
            return
        if not isinstance(leaf, torch.Tensor):
            raise KernelError(f"output {i} is a {type(leaf).__name__}, not a tensor")
        if type(leaf) is not torch.Tensor and "plain_tensors" not in self._off:
            raise KernelError(f"output {i} is a {type(leaf).__name__}, not a plain torch.Tensor", kind="cheated")
        if leaf.device.type != self._device.type or leaf.layout is not torch.strided:
            where = f"{leaf.device} with layout {leaf.layout}"
            raise KernelError(f"output {i} is on {where}; expected a dense tensor on {self._device.type}")
        plain = torch.Tensor
        strides = zip(plain.stride(leaf), leaf.shape, strict=True)
        if any(step == 0 and size > 1 for step, size in strides) and "real_storage" not in self._off:
            raise KernelError(f"output {i} is an expanded view: its elements share memory", kind="cheated")
        if not plain.numel(leaf) or self.spec.options.get("may_alias") or "no_alias" in self._off:
            return
        start = plain.untyped_storage(leaf).data_ptr()
        if any(t.numel() and start == t.untyped_storage().data_ptr() for t in self._inputs[slot]):
            raise KernelError(f"output {i} is the memory of an input; return a tensor of its own", kind="cheated")


class ObservedDeviceModule(DeviceModule):
    """A module candidate whose calls are seen, as policy_log.py's on a processor; the slot says what is done to its
    own kernels."""

    def __init__(self, spec: LoadSpec, runtime: Any) -> None:
        watch_all()
        super().__init__(spec, runtime)
        watch_jit()

    def run(self, slot: int) -> None:
        """Forward on the slot, observed."""
        SEEN.mode = slot
        with OperatorLog():
            super().run(slot)

    def observed(self) -> dict[str, Any]:
        """What was seen."""
        return seen_so_far()


def load(spec: LoadSpec, runtime: Any) -> DeviceModule:
    """Import and construct the module; observed where the judge asks for that.

    Raises:
        KernelError: there is no such class. Whatever the file raises passes through.
    """
    return ObservedDeviceModule(spec, runtime) if spec.options.get("observe") else DeviceModule(spec, runtime)


def region_of(tensor: torch.Tensor) -> Region:
    """A contiguous tensor's bytes."""
    plain = torch.Tensor
    return Region(plain.data_ptr(tensor), plain.numel(tensor) * plain.element_size(tensor))


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
