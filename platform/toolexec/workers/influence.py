"""What moves a reference's results: every input and parameter is changed on its own, in float64.

Runs in the reference worker only. Gives facts; what they mean for a task is preflight's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from kernelwright.toolexec.workers.kernel import KernelError
from kernelwright.toolexec.workers.module_kernel import fill_call

BUDGET_S = 8.0
"""For trying parameters; what is left over is counted."""
MOVED = 1e-9
"""Movement relative to the result's RMS below which a float64 result has not moved."""


def run_module(module: Any, call: Any, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """forward on tensors that it may change; its results, flattened.

    Raises:
        KernelError: a result is no tensor.
    """
    arguments = tensors if call is None else fill_call(call, tensors)
    leaves: list[torch.Tensor] = pytree.tree_leaves(module(*arguments))
    for i, leaf in enumerate(leaves):
        if not isinstance(leaf, torch.Tensor):
            raise KernelError(f"the reference's result {i} is a {type(leaf).__name__}, not a tensor")
    return leaves


def influence_of(module: torch.nn.Module, call: Any, inputs: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    """Which inputs and parameters move the result.

    Args:
        module: the reference in float64.
        call: how forward is called.
        inputs: name -> tensor, in order, as get_inputs() gave them.

    Returns:
        ``inputs`` and ``parameters``: name -> moved; ``untried``: parameters for which there was no time.
    """
    old = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    generator = torch.Generator().manual_seed(7)
    try:
        with torch.no_grad():
            run = runner(module, call)
            plain = {n: t.double() if t.is_floating_point() else t for n, t in inputs.items()}
            right = run(plain)
            moved = {n: differs(run({**plain, n: changed(t, generator)}), right) for n, t in plain.items()}
            found: dict[str, bool] = {}
            parameters = [(n, p) for n, p in module.named_parameters() if p.is_floating_point() and p.numel()]
            start = time.monotonic()
            for name, parameter in parameters:
                if time.monotonic() - start > BUDGET_S:
                    break
                kept = parameter.detach().clone()
                parameter.copy_(changed(kept, generator))
                found[name] = differs(run(plain), right)
                parameter.copy_(kept)
    finally:
        torch.set_default_dtype(old)
    return {"inputs": moved, "parameters": found, "untried": len(parameters) - len(found)}


def runner(module: torch.nn.Module, call: Any) -> Callable[[Mapping[str, torch.Tensor]], list[torch.Tensor]]:
    """forward on copies of named inputs; [] where it refuses them (a changed index may be invalid)."""

    def run(named: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
        try:
            return run_module(module, call, [t.clone() for t in named.values()])
        except (RuntimeError, IndexError, ValueError):
            return []

    return run


def changed(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """The tensor at other values: floats get noise of their own spread, everything else is reversed and rolled."""
    if not tensor.is_floating_point():
        if tensor.dtype is torch.bool:
            return tensor.logical_not()
        return tensor.flip(0).roll(1) if tensor.dim() else tensor
    spread = float(tensor.std()) if tensor.numel() > 1 else 0.0
    noise = torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype)
    return tensor + noise * (spread or float(tensor.abs().max()) or 1.0)


def differs(results: Sequence[torch.Tensor], right: Sequence[torch.Tensor]) -> bool:
    """Has any result moved? A refusal counts as having moved."""
    if len(results) != len(right):
        return True
    for a, b in zip(results, right, strict=True):
        if a.shape != b.shape or not a.is_floating_point():
            if a.shape != b.shape or bool((a != b).any()):
                return True
            continue
        scale = float(b.double().square().mean().sqrt()) or 1.0
        apart = float((a - b).double().square().mean().sqrt()) if a.numel() else 0.0
        if not apart <= MOVED * scale:
            return True
    return False
