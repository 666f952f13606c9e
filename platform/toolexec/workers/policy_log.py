"""A module candidate observed: which operators of libraries it calls, which kernels of its own, and do they matter?

Runs in the candidate's worker, in a process of its own that nothing is timed in. Slot 0 is logged, in slot 1 every
kernel of the candidate's own raises, in slot 2 it does nothing (or its results are spoilt). Slot 3, which is run first,
is seen from below alone: the kernels behind the operators are counted, and no dispatch mode is on that a module could
look for. Owns what is seen, not what it means: that is judge/policy.py's. How right the slots are the judge finds.
"""

from __future__ import annotations

import ctypes
import importlib.machinery
import math
import sys
import sysconfig
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import BuiltinFunctionType, ModuleType
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.toolexec.workers.describe import FREE, base_name
from kernelwright.toolexec.workers.kernel import LoadSpec
from kernelwright.toolexec.workers.module_kernel import ModuleKernel

LOG, FAIL, GHOST, BELOW = 0, 1, 2, 3
"""The slots, and what is done to the candidate's own kernels in them; in the last one operators are counted unseen."""
LIBRARY_SPACES = ("aten", "prim", "prims", "mkldnn", "mkl", "onednn", "quantized", "quantized_decomposed", "profiler")
MOVES = (*FREE, "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted", "zeros",
         "zeros_like", "new_zeros", "ones", "ones_like", "new_ones", "full", "full_like", "new_full", "scalar_tensor",
         "fill_", "zero_", "copy_", "clone", "contiguous", "_to_copy", "to", "reshape", "_reshape_alias", "resize_",
         "narrow", "unbind", "split", "chunk", "flatten", "squeeze_", "unsqueeze_", "set_", "arange", "item",
         "_local_scalar_dense", "is_pinned", "stack", "cat", "view_as", "expand_as", "numpy_T", "mT", "T",
         "constant_pad_nd", "resolve_conj", "resolve_neg", "lift_fresh", "is_same_size", "unfold")  # fmt: skip
"""Operators that allocate, fill, view or copy: no arithmetic."""
SYSTEM_LIBRARIES = ("libc.", "libm.", "libdl.", "libpthread.", "librt.", "libgomp.", "libstdc++.", "libgcc_s.",
                    "libomp")  # fmt: skip
"""Libraries that are nobody's kernels."""
MATHS_LIBRARIES = ("mkl", "blas", "lapack", "dnnl", "onednn", "torch", "cudnn", "cutensor", "cufft", "nvrtc", "miopen")
"""Parts of the names of libraries that do the work of others."""


class Observation:
    """What was seen so far, and what is done to own kernels now."""

    def __init__(self) -> None:
        self.mode = LOG
        self.operators: dict[str, dict[str, Any]] = {}
        self.below: dict[str, dict[str, Any]] = {}
        """The same of slot 3."""
        self._depth = 0
        self.own: dict[str, int] = {}
        self.libraries: dict[str, int] = {}

    def operator(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Note one call of a library's operator."""
        name = base_name(str(func))
        if self.mode == LOG and name not in MOVES and not name.startswith("sym_"):
            self._note(self.operators, func, args, kwargs, result)

    def from_below(self, func: Any, kernel: Any, keys: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator's kernel; note it in slot 3, unless another operator called it."""
        names = func._schema.arguments
        given = [number_as_tensor(a, names[i].type) if i < len(names) else a for i, a in enumerate(args)]
        self._depth += 1
        try:
            result = kernel.call_boxed(keys, *given, **kwargs)
        finally:
            self._depth -= 1
        if self.mode == BELOW and not self._depth:
            self._note(self.below, func, args, kwargs, result)
        return result

    @staticmethod
    def _note(noted_in: dict[str, dict[str, Any]], func: Any, args: Any, kwargs: Any, result: Any) -> None:
        tensors = [t for t in pytree.tree_leaves((args, kwargs, result)) if isinstance(t, torch.Tensor)]
        noted = noted_in.setdefault(str(func), {"calls": 0, "flops": 0, "dtypes": []})
        noted["calls"] += 1
        noted["flops"] += work_of(func, args, kwargs, result, tensors)
        noted["dtypes"] = sorted({*noted["dtypes"], *(str(t.dtype).removeprefix("torch.") for t in tensors)})

    def call(self, name: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """One call of a kernel of the candidate's own, as the mode wants it."""
        if self.mode == BELOW:
            return function(*args, **kwargs)
        if self.mode == LOG:
            self.own[name] = self.own.get(name, 0) + 1
            return function(*args, **kwargs)
        if self.mode == FAIL:
            raise RuntimeError(f"{name} was made to fail")
        return spoilt(function(*args, **kwargs)) if not name.startswith("ctypes ") else 0


SEEN = Observation()


def work_of(func: Any, args: Any, kwargs: Any, result: Any, tensors: Sequence[torch.Tensor]) -> int:
    """FLOPs of one operator, counted as describe.count_flops counts the task's."""
    from torch.utils.flop_counter import flop_registry

    formula = flop_registry.get(func._overloadpacket)
    if formula is not None:
        return int(formula(*args, **kwargs, out_val=result))
    return max((math.prod(t.shape) for t in tensors), default=0)


def spoilt(result: Any) -> Any:
    """Floats among a result's tensors become NaN, everything else zero."""
    for leaf in pytree.tree_leaves(result):
        if isinstance(leaf, torch.Tensor):
            leaf.fill_(math.nan if leaf.is_floating_point() else 0)
    return result


class OperatorLog(TorchDispatchMode):
    """Every operator that torch dispatches while it is on."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.namespace not in LIBRARY_SPACES:
            return SEEN.call(f"operator {func}", func, args, kwargs)
        from torch.utils.flop_counter import flop_registry

        if func._overloadpacket not in flop_registry:
            with self:
                parts = func.decompose(*args, **kwargs)
            if parts is not NotImplemented:
                return parts
        result = func(*args, **kwargs)
        SEEN.operator(func, args, kwargs, result)
        return result


def number_as_tensor(value: Any, wanted: Any) -> Any:
    """What stands for a tensor in an operator's call, as the kernel takes it: Python's numbers come unwrapped."""
    plain = isinstance(value, bool | int | float | complex) and str(wanted) == "Tensor"
    return torch.tensor(value) if plain else value


def watch_kernels() -> torch.library.Library:
    """The kernels behind all operators that do arithmetic on a CPU are seen, for as long as what it returns lives."""
    library = torch.library.Library("aten", "IMPL")
    for name in torch._C._dispatch_get_all_op_names():
        space, _, rest = name.partition("::")
        plain, _, overload = rest.partition(".")
        there = torch._C._dispatch_has_kernel_for_dispatch_key(name, "CPU")
        if space != "aten" or not there or base_name(f"aten.{plain}") in MOVES:
            continue
        func = getattr(getattr(torch.ops.aten, plain), overload or "default")
        kernel = torch.library.get_kernel(name, "CPU")

        def seen(keys: Any, *args: Any, _func: Any = func, _kernel: Any = kernel, **kwargs: Any) -> Any:
            return SEEN.from_below(_func, _kernel, keys, args, kwargs)

        library.impl(rest, seen, "CPU", with_keyset=True, allow_override=True)
    return library


def watch_ctypes() -> None:
    """Functions of libraries that are opened from now on are watched."""
    plain = ctypes.CDLL.__init__

    def opened(self: Any, name: Any, *args: Any, **kwargs: Any) -> None:
        plain(self, name, *args, **kwargs)
        file = Path(str(name)).name if name is not None else ""
        if not file or file.startswith(SYSTEM_LIBRARIES):
            return
        if any(part in file.lower() for part in MATHS_LIBRARIES):
            SEEN.libraries[file] = SEEN.libraries.get(file, 0) + 1
            return
        base = self._FuncPtr

        class Watched(base):  # type: ignore[misc, valid-type]
            _flags_ = base._flags_
            _restype_ = base._restype_

            def __call__(self, *values: Any, **named: Any) -> Any:
                label = f"ctypes {file}:{getattr(self, '__name__', 'function')}"
                return SEEN.call(label, lambda *v, **n: base.__call__(self, *v, **n), values, named)

        self._FuncPtr = Watched

    ctypes.CDLL.__init__ = opened  # type: ignore[method-assign]


def watch_extensions() -> None:
    """Functions of extension modules that are not installed packages are watched."""
    plain = importlib.machinery.ExtensionFileLoader.exec_module
    installed = tuple({sysconfig.get_path(k) for k in ("stdlib", "platstdlib", "purelib", "platlib")})

    def executed(self: Any, module: ModuleType) -> None:
        plain(self, module)
        file = str(getattr(module, "__file__", "") or "")
        if file.startswith(installed):
            return
        for name, value in list(vars(module).items()):
            if isinstance(value, BuiltinFunctionType) or type(value).__name__ in ("builtin_function_or_method",
                                                                                 "nb_func"):  # fmt: skip
                setattr(module, name, watched(f"extension {module.__name__}.{name}", value))

    importlib.machinery.ExtensionFileLoader.exec_module = executed  # type: ignore[method-assign]


def watch_jit() -> None:
    """Launches of Triton's kernels are watched, where the candidate imported it."""
    jit = sys.modules.get("triton.runtime.jit")
    if jit is not None:
        run = jit.JITFunction.run

        def launched(self: Any, *args: Any, **kwargs: Any) -> Any:
            name = f"triton {getattr(self, '__name__', 'kernel')}"
            if SEEN.mode == GHOST:
                return None
            return SEEN.call(name, lambda *a, **k: run(self, *a, **k), args, kwargs)

        jit.JITFunction.run = launched


def watched(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose calls are seen."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return SEEN.call(name, function, args, kwargs)

    return call


def watch_all() -> None:
    """All but Triton, before the candidate's file is imported; watch_jit() after it."""
    watch_ctypes()
    watch_extensions()


def seen_so_far() -> dict[str, Any]:
    """What was seen: ``operators``, ``below``, ``own``, ``libraries`` by name, and graphs that torch.compile made."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    graphs = int(dynamo.counters["stats"]["unique_graphs"]) if dynamo is not None else 0
    seen = {"operators": SEEN.operators, "below": SEEN.below, "own": SEEN.own, "libraries": SEEN.libraries}
    return {**seen, "compiled_graphs": graphs}


class ObservedModule(ModuleKernel):
    """A module candidate whose calls are seen; the slot says what is done to its own kernels."""

    def __init__(self, spec: LoadSpec) -> None:
        self._kernels = watch_kernels()
        watch_all()
        super().__init__(spec)
        watch_jit()

    def run(self, slot: int) -> None:
        """Forward on the slot, observed."""
        SEEN.mode = slot
        with nullcontext() if slot == BELOW else OperatorLog():
            super().run(slot)

    def observed(self) -> dict[str, Any]:
        """What was seen."""
        return seen_so_far()
