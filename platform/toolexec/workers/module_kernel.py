"""The ``module`` entry inside a worker: a Python file with a torch module, ``ModelNew`` for candidates.

Owns building it (seeded, eval mode, under inference mode), loading its weights, and what is accepted as a result: real
tensors of torch's own type, in memory of their own. Also hosts the judge's torch baselines, which differ from a
candidate only by ``options``: the class, and how the module is compiled. Runs in workers only.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from kernelwright.toolexec.workers.kernel import Array, Kernel, KernelError, LoadSpec, TensorSpec

SEED = 1234
"""Seed of construction; weights are loaded afterwards, so it only has to be the same for everybody."""


def dtype_name(dtype: torch.dtype) -> str:
    """torch's name without the prefix."""
    return str(dtype).removeprefix("torch.")


def to_tensor(array: Array, spec: TensorSpec) -> torch.Tensor:
    """A tensor on the array's memory; uint16 becomes bfloat16 where the spec says so."""
    if array.size == 0:
        return torch.empty(spec.shape, dtype=getattr(torch, spec.dtype))
    tensor = torch.frombuffer(array.data, dtype=getattr(torch, spec.dtype)) if array.ndim else None
    if tensor is None:
        tensor = torch.frombuffer(array.reshape(1).data, dtype=getattr(torch, spec.dtype))
    return tensor.reshape(spec.shape)


def to_array(tensor: torch.Tensor) -> Array:
    """The tensor's bytes as a C-contiguous array; bfloat16 as uint16. Calls no method of the object's own."""
    plain = torch.Tensor
    tensor = plain.contiguous(plain.detach(tensor))
    if tensor.dtype is torch.bfloat16:
        return np.asarray(plain.numpy(plain.view(tensor, torch.int16))).view(np.uint16)
    return np.asarray(plain.numpy(tensor))


def to_array_by_its_own(tensor: Any) -> Array:
    """The same by the object's own methods, whatever they do; only tests of the guard want that."""
    return np.asarray(tensor.contiguous().numpy())


_LASTING: list[Any] = []
"""Inference mode ends with the object that began it, so that is kept."""


def infer_only() -> None:
    """Let nothing in this process record gradients from now on.

    Modules are timed as people run them. With gradients, eager records a graph, torch.compile keeps what a backward
    pass would need, and Inductor leaves its freezing out without a word.
    """
    if not torch.is_inference_mode_enabled():
        _LASTING.append(torch.inference_mode(True))
        _LASTING[-1].__enter__()


def import_file(path: str, name: str) -> Any:
    """Run a Python file as module ``name``."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise KernelError(f"cannot import {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def build_module(namespace: Any, class_name: str, init_args: Sequence[Any] | None) -> torch.nn.Module:
    """Construct the module: seeded, in eval mode.

    Args:
        namespace: the imported file.
        class_name: ``ModelNew`` or ``Model``.
        init_args: arguments; None calls the file's own get_init_inputs().
    """
    if not hasattr(namespace, class_name):
        raise KernelError(f"the file defines no class {class_name}")
    if init_args is None:
        init_args = namespace.get_init_inputs() if hasattr(namespace, "get_init_inputs") else []
    torch.manual_seed(SEED)
    module: torch.nn.Module = getattr(namespace, class_name)(*init_args)
    return module.eval()


def fill_call(template: Any, tensors: Sequence[torch.Tensor]) -> Any:
    """Arguments of forward from their template: ``{"t": i}`` becomes tensor i."""
    if isinstance(template, dict):
        if set(template) == {"t"}:
            return tensors[template["t"]]
        return {key: fill_call(value, tensors) for key, value in template.items()}
    if isinstance(template, (list, tuple)):
        return [fill_call(value, tensors) for value in template]
    return template


class ModuleKernel(Kernel):
    """A loaded torch module."""

    def __init__(self, spec: LoadSpec) -> None:
        self.spec = spec
        torch.set_num_threads(spec.threads)
        infer_only()
        self._class_name = str(spec.options.get("class", "ModelNew"))
        self._mode = str(spec.options.get("mode", ""))
        if not self._mode:
            sys.path.insert(0, str(Path(spec.artifact).parent))  # a candidate may have several files
        namespace = import_file(spec.artifact, f"kernelwright_kernel_{abs(hash(spec.artifact))}")
        init_args = None if self._mode or spec.options.get("own_init") else spec.init_args
        self._module = build_module(namespace, self._class_name, init_args)
        self._forward: Callable[..., Any] = self._module
        self._arguments: dict[int, list[Any]] = {}
        self._inputs: dict[int, list[torch.Tensor]] = {}
        self._results: dict[int, Any] = {}
        self._off = frozenset(spec.options.get("guards_off", ()))
        self._dtypes: dict[int, list[str]] = {}

    def set_weights(self, params: Sequence[Array]) -> None:
        """load_state_dict, strictly; then compile or convert where this is a baseline that does."""
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
        if self._mode:
            self._forward = optimized(self._module, self._mode)

    def prepare(self) -> bool:
        """Call the module's own prepare(), where it has one."""
        prepare = getattr(self._module, "prepare", None)
        if not callable(prepare) or self._mode:
            return False
        prepare()
        return True

    def bind(self, slot: int, inputs: Sequence[Array]) -> None:
        """Wrap the views as tensors and fill forward's arguments."""
        tensors = [to_tensor(array, spec) for array, spec in zip(inputs, self.spec.inputs, strict=True)]
        call = self.spec.call
        self._inputs[slot] = tensors
        self._arguments[slot] = tensors if call is None else fill_call(call, tensors)

    def poison(self, slot: int, byte: int) -> None:
        """Drop the slot's results; torch allocates new ones."""
        self._results.pop(slot, None)

    def run(self, slot: int) -> None:
        """Forward on the slot."""
        self._results[slot] = self._forward(*self._arguments[slot])

    def collect(self, slot: int) -> list[Array]:
        """The slot's results, accepted and as arrays."""
        leaves = pytree.tree_leaves(self._results[slot])
        for i, leaf in enumerate(leaves):
            self._accept(i, leaf, slot)
        self._dtypes[slot] = [dtype_name(t.dtype) for t in leaves]
        return [to_array_by_its_own(t) if "plain_tensors" in self._off else to_array(t) for t in leaves]

    def output_dtypes(self, slot: int) -> list[str]:
        """dtypes of what forward returned."""
        return self._dtypes.get(slot, [])

    def _accept(self, i: int, leaf: Any, slot: int) -> None:
        if not isinstance(leaf, torch.Tensor):
            raise KernelError(f"output {i} is a {type(leaf).__name__}, not a tensor")
        if type(leaf) is not torch.Tensor and "plain_tensors" not in self._off:
            raise KernelError(f"output {i} is a {type(leaf).__name__}, not a plain torch.Tensor", kind="cheated")
        if leaf.device.type != "cpu" or leaf.layout is not torch.strided:
            raise KernelError(f"output {i} is on {leaf.device} with layout {leaf.layout}; expected a dense CPU tensor")
        # The same work for baselines, whose results are not refused: what collecting costs is compared.
        plain = torch.Tensor  # its functions, never the object's own: those may be anything
        strides = zip(plain.stride(leaf), leaf.shape, strict=True)
        expanded = any(step == 0 and size > 1 for step, size in strides)
        if expanded and not self._mode and "real_storage" not in self._off:
            raise KernelError(f"output {i} is an expanded view: its elements share memory", kind="cheated")
        if not plain.numel(leaf):
            return
        may_alias = self._mode or self.spec.options.get("may_alias") or "no_alias" in self._off
        start = plain.untyped_storage(leaf).data_ptr()
        for tensor in self._inputs[slot]:
            if tensor.numel() and start == tensor.untyped_storage().data_ptr() and not may_alias:
                raise KernelError(f"output {i} is the memory of an input; return a tensor of its own", kind="cheated")


def optimized(module: torch.nn.Module, mode: str, *, tuning: str = "max-autotune") -> Callable[..., Any]:
    """A baseline's form of the reference module: eager, compile, onednn, or else tuned and frozen.

    Args:
        module: with its weights.
        mode: the baseline's name.
        tuning: torch.compile's mode where it is tuned.
    """
    if mode == "eager":
        plain: Callable[..., Any] = module
        return plain
    if mode == "onednn":
        return onednn_form(module)
    import torch._inductor.config as inductor

    inductor.compile_threads = 1
    torch._dynamo.config.cache_size_limit = 64
    if mode == "compile":
        compiled: Callable[..., Any] = torch.compile(module)
        return compiled
    inductor.freezing = True
    tuned: Callable[..., Any] = torch.compile(module, mode=tuning)
    return tuned


def onednn_form(module: torch.nn.Module) -> Callable[..., Any]:
    """The module with its convolution, linear and norm layers converted by torch.utils.mkldnn."""
    from torch.utils import mkldnn

    converted: Callable[..., Any] = mkldnn.to_mkldnn(module)

    def forward(*args: Any) -> Any:
        return converted(*pytree.tree_map_only(torch.Tensor, lambda t: t.to_mkldnn(), args))

    def dense(*args: Any) -> Any:
        return pytree.tree_map_only(torch.Tensor, lambda t: t.to_dense() if t.is_mkldnn else t, forward(*args))

    return dense


def load(spec: LoadSpec) -> Kernel:
    """Import and construct the module.

    Raises:
        KernelError: there is no such class. Whatever the file raises passes through.
    """
    if spec.options.get("observe"):
        from kernelwright.toolexec.workers.policy_log import ObservedModule

        return ObservedModule(spec)
    return ModuleKernel(spec)
