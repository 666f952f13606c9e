"""Launches that are data, bound to the shapes at hand: the same for the emulator and for a GPU.

Owns nothing but that; what a launch line means is in languages/launch.py, and who launches is a kernel's business.
"""

from __future__ import annotations

from typing import Any

from kernelwright.toolexec.languages.launch import Borders, BoundPlan, LaunchError, Refused, parse_plan
from kernelwright.toolexec.workers.kernel import KernelError, LoadSpec


def bound_plan(spec: LoadSpec, source: str, tunables: dict[str, Any]) -> BoundPlan:
    """The launches that are data, at the shapes and dtypes of a LoadSpec.

    Raises:
        KernelError: the source refuses these shapes or dtypes, or cannot be launched.
    """
    borders = Borders(
        tuple(t.shape for t in spec.inputs),
        tuple(t.shape for t in spec.parameters),
        tuple(t.shape for t in spec.outputs),
        spec.scalars,
        tuple(t.dtype for t in (*spec.inputs, *spec.parameters, *spec.outputs)),
    )
    try:
        bound = parse_plan(source).bind(borders, tunables)
    except Refused as refused:
        raise KernelError(f"the kernel refused this shape: {refused}") from refused
    except LaunchError as error:
        raise KernelError(str(error)) from error
    return BoundPlan(tuple(launch for launch in bound.launches if launch.args is not None), bound.scratch_bytes)
