"""What the reference worker does: build the task's own module, draw inputs, and say what is right.

Owns running reference.py: inputs under a seed, weights, and the results in float64 and as written. It never sees a
candidate, and its process is the only one that holds expected values besides the judge.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

from kernelwright.toolexec.workers.arena import Arena, lay_out
from kernelwright.toolexec.workers.describe import describe, tensor_spec
from kernelwright.toolexec.workers.influence import influence_of, run_module
from kernelwright.toolexec.workers.kernel import Array, KernelError, TensorSpec
from kernelwright.toolexec.workers.module_kernel import (
    build_module,
    import_file,
    to_array,
    to_tensor,
)
from kernelwright.toolexec.workers.serve import copy_into

FLOATS = ("float16", "bfloat16", "float32", "float64")
POSITIVE = "running_var"
RANDOMISED_BUFFERS = ("running_mean", "running_var")


@dataclass
class Loaded:
    """The reference at one workload."""

    namespace: Any
    module: torch.nn.Module
    exact: torch.nn.Module | None
    own_state: dict[str, torch.Tensor]
    call: Any = None
    inputs: list[TensorSpec] = field(default_factory=list)


class ReferenceHost:
    """The reference at every workload of a task, on one arena.

    Args:
        arena: the memory shared with the judge.
    """

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self.loaded: dict[str, Loaded] = {}
        torch.set_grad_enabled(False)
        self.handlers = {
            "about": self.about,
            "arena": self.map_arena,
            "load": self.load,
            "describe": self.describe,
            "draw": self.draw,
            "weights": self.weights,
            "expect": self.expect,
            "changed": self.changed,
            "influence": self.influence,
        }

    def go(self) -> None:
        """Nothing is timed here."""

    def about(self, message: dict[str, Any]) -> dict[str, Any]:
        """What stands behind torch here."""
        mkl = torch.backends.mkl.is_available()
        built_with = torch.__config__.show()
        return {"blas": "mkl" if mkl else "openblas" if "open" in built_with.lower().partition("blas_info=")[2] else ""}

    def map_arena(self, message: dict[str, Any]) -> dict[str, Any]:
        """Map the arena at its new size."""
        self.arena.map(int(message["size"]))
        return {}

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Import reference.py and build its module, in float64 too."""
        torch.set_num_threads(int(message["threads"]))
        namespace = import_file(message["path"], f"kernelwright_reference_{len(self.loaded)}")
        with torch.no_grad():
            module = build_module(namespace, "Model", None)
            state = {k: v.detach().clone() for k, v in module.state_dict().items()}
            exact = copy.deepcopy(module).double()
        self.loaded[message["key"]] = Loaded(namespace, module, exact, state)
        return {}

    def describe(self, message: dict[str, Any]) -> dict[str, Any]:
        """Facts of one workload; remembers how forward is called."""
        loaded = self.loaded[message["key"]]
        seed_all(int(message["seed"]))
        arguments = list(loaded.namespace.get_inputs())
        facts = describe(loaded.namespace, loaded.module, arguments, export=bool(message.get("export", True)))
        loaded.call = facts["call"]
        loaded.inputs = [tensor_spec(t) for t in facts["inputs"]]
        return facts

    def draw(self, message: dict[str, Any]) -> dict[str, Any]:
        """get_inputs() under a seed, into the arena."""
        loaded = self.loaded[message["key"]]
        seed_all(int(message["seed"]))
        leaves = [t for t in pytree.tree_leaves(list(loaded.namespace.get_inputs())) if isinstance(t, torch.Tensor)]
        if [tuple(t.shape) for t in leaves] != [t.shape for t in loaded.inputs]:
            raise KernelError("get_inputs() gives other shapes on a second call")
        for at, spec, leaf in zip(message["at"], loaded.inputs, leaves, strict=True):
            copy_into(self.arena, at, spec, to_array(leaf))
        return {}

    def weights(self, message: dict[str, Any]) -> dict[str, Any]:
        """Set and hand out a weight set: the module's own (seed null) or a random one."""
        loaded = self.loaded[message["key"]]
        seed = message["seed"]
        state = loaded.own_state if seed is None else randomised(loaded.own_state, loaded.module, int(seed))
        loaded.module.load_state_dict(state)
        if loaded.exact is not None:
            loaded.exact.load_state_dict(state)
        for at, (name, tensor) in zip(message["at"], state.items(), strict=True):
            spec = TensorSpec(name, str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))
            copy_into(self.arena, at, spec, to_array(tensor))
        return {}

    def expect(self, message: dict[str, Any]) -> dict[str, Any]:
        """The reference's result on inputs in the arena: as written, and in float64, appended after ``start``.

        Returns:
            ``reference`` and ``exact``: lists of dtype, shape and offset; ``needed`` bytes when the arena is too small;
            ``exact_error`` when float64 could not be run (``exact`` is then the result as written).
        """
        loaded = self.loaded[message["key"]]
        views = [self.arena.array(at, spec) for at, spec in zip(message["at"], loaded.inputs, strict=True)]
        with torch.no_grad():
            own = [to_tensor(v, spec).clone() for v, spec in zip(views, loaded.inputs, strict=True)]
            plain = run_module(loaded.module, loaded.call, own)
            del own
            exact, error = self._exact(loaded, views, plain) if message.get("exact", True) else (plain, "")
        arrays = [to_array(t) for t in [*plain, *exact]]
        specs = [
            TensorSpec(f"result{i}", str(t.dtype).removeprefix("torch."), tuple(t.shape))
            for i, t in enumerate([*plain, *exact])
        ]
        places, end = lay_out(specs, int(message["start"]))
        if end > self.arena.size:
            return {"needed": end}
        for at, spec, array in zip(places, specs, arrays, strict=True):
            copy_into(self.arena, at, spec, array)
        told = [{"dtype": s.dtype, "shape": list(s.shape), "at": at} for s, at in zip(specs, places, strict=True)]
        return {"reference": told[: len(plain)], "exact": told[len(plain) :], "exact_error": error}

    def influence(self, message: dict[str, Any]) -> dict[str, Any]:
        """Which inputs and parameters move the float64 result on inputs in the arena; see workers/influence.py."""
        loaded = self.loaded[message["key"]]
        views = [self.arena.array(at, spec) for at, spec in zip(message["at"], loaded.inputs, strict=True)]
        own = [to_tensor(v, spec).clone() for v, spec in zip(views, loaded.inputs, strict=True)]
        names = [spec.name for spec in loaded.inputs]
        return influence_of(loaded.exact or loaded.module, loaded.call, dict(zip(names, own, strict=True)))

    def changed(self, message: dict[str, Any]) -> dict[str, Any]:
        """Names of the buffers and parameters that forward changes by itself; they are put back."""
        loaded = self.loaded[message["key"]]
        views = [self.arena.array(at, spec) for at, spec in zip(message["at"], loaded.inputs, strict=True)]
        with torch.no_grad():
            before = {k: v.detach().clone() for k, v in loaded.module.state_dict().items()}
            own = [to_tensor(v, spec).clone() for v, spec in zip(views, loaded.inputs, strict=True)]
            run_module(loaded.module, loaded.call, own)
            after = loaded.module.state_dict()
            names = [k for k, v in before.items() if not torch.equal(v, after[k])]
            loaded.module.load_state_dict(before)
        return {"names": names}

    def _exact(
        self, loaded: Loaded, views: Sequence[Array], plain: list[torch.Tensor]
    ) -> tuple[list[torch.Tensor], str]:
        doubles = [
            to_tensor(v, spec).double() if spec.dtype in FLOATS else to_tensor(v, spec).clone()
            for v, spec in zip(views, loaded.inputs, strict=True)
        ]
        old = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            exact = run_module(loaded.exact, loaded.call, doubles)
        except Exception as error:
            return plain, f"no float64 form: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
        finally:
            torch.set_default_dtype(old)
        return [e if e.is_floating_point() else p for e, p in zip(exact, plain, strict=True)], ""


def seed_all(seed: int) -> None:
    """Seed every generator that get_inputs() may use."""
    torch.manual_seed(seed)
    np.random.seed(seed % 2**32)
    random.seed(seed)


def randomised(own: dict[str, torch.Tensor], module: torch.nn.Module, seed: int) -> dict[str, torch.Tensor]:
    """A random weight set of the module's own scale.

    Parameters keep their mean and spread; where they are all alike (a norm's ones, a bias's zeros) they get a spread of
    0.5. Of the buffers only running statistics move, variances stay positive: others may carry meaning (masks, tables).
    """
    generator = torch.Generator().manual_seed(seed)
    parameters = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    state = {}
    for name, tensor in own.items():
        moves = name in parameters or name.rpartition(".")[2] in RANDOMISED_BUFFERS
        if not (moves and tensor.is_floating_point() and bool(torch.isfinite(tensor).all())):
            state[name] = tensor.clone()
            continue
        wide = tensor.double()
        mean = float(wide.mean()) if tensor.numel() else 0.0
        spread = float(wide.std()) if tensor.numel() > 1 else 0.0
        noise = torch.randn(tensor.shape, generator=generator, dtype=torch.float64)
        value = mean + noise * (spread if spread > 1e-6 * max(abs(mean), 1e-3) else 0.5)
        if name.rpartition(".")[2] == POSITIVE:
            value = value.abs() + 0.25
        state[name] = value.to(tensor.dtype)
    return state
