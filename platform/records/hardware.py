"""Hardware: a page of knowledge on one device: its peak rates, each with a source, and what limits kernels there."""

from __future__ import annotations

import math
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from kernelwright.records.citation import Citation
from kernelwright.records.record import Record

UNITS = (
    "_tflops",
    "_tops",
    "_gflops",
    "_gib",
    "_mib",
    "_kib",
    "_kib_per_sm",
    "_kib_per_block",
    "_kib_per_core",
    "_gbps",
    "_w",
    "_mhz",
    "_bits",
    "_bytes",
    "_cycles",
    "_per_cycle",
    "_per_cycle_per_core",
)
"""How the name of a figure with a unit ends. Rates are 10^12 or 10^9 a second, sizes powers of two."""
COUNTS = (
    "sms",
    "registers_per_sm",
    "max_registers_per_thread",
    "max_warps_per_sm",
    "warp_size",
    "tensor_cores_per_sm",
    "fma_units",
    "fp32_lanes",
    "vector_registers",
)
"""Figures without a unit."""
GPU_FIGURES = ("fp32_tflops", "bf16_tflops", "int8_tops", "memory_gib", "bandwidth_gbps", "sms", "warp_size")
CPU_FIGURES = ("fma_units", "fp32_lanes", "fp32_flop_per_cycle_per_core", "vector_registers", "cache_line_bytes")


class Figure(Record):
    """A number and where it is from."""

    value: float = Field(gt=0, allow_inf_nan=False)
    source: str = Field(min_length=1)
    """Id of one of the page's sources."""


class Variant(Record):
    """A model of the same kind that differs in some figures."""

    name: str = Field(min_length=2)
    figures: dict[str, Figure] = Field(min_length=1)
    """Only what differs from the page's own figures, or is added."""


class Hardware(Record):
    """A page of knowledge/hardware. Peak rates are dense, without structured sparsity; texts are Markdown."""

    FORMAT: ClassVar[str] = "hardware"

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9\-]*$")
    title: str = Field(min_length=3)
    kind: Literal["gpu", "cpu"]
    vendor: str = Field(min_length=3)
    architecture: str = Field(min_length=3)
    """Generation or instruction set, in the vendor's words."""
    compute_capability: str = Field(default="", pattern=r"^(\d+\.\d+)?$")
    """CUDA's, e.g. ``9.0``; "" on devices without CUDA."""
    targets: tuple[str, ...] = Field(min_length=1)
    """What a compiler is told, e.g. ``sm_90a`` or ``-march=x86-64-v3``."""
    sources: tuple[Citation, ...] = Field(min_length=1)
    figures: dict[str, Figure]
    variants: tuple[Variant, ...] = ()
    limits: str
    """What limits kernels here."""
    use: str
    """What to use."""
    traps: str

    def value(self, name: str, *, variant: str = "") -> float | None:
        """A figure of the page or of one of its variants; None where it is not given.

        Args:
            name: of the figure, e.g. ``bandwidth_gbps``.
            variant: a variant's name; "" for the page's own device.
        """
        own = next((v.figures for v in self.variants if v.name == variant), {})
        figure = own.get(name) or self.figures.get(name)
        return figure.value if figure else None

    @model_validator(mode="after")
    def _figures_are_complete_and_sourced(self) -> Self:
        ids = [source.id for source in self.sources]
        if "" in ids or len(set(ids)) != len(ids):
            raise ValueError("every source needs an id of its own")
        missing = [n for n in (GPU_FIGURES if self.kind == "gpu" else CPU_FIGURES) if n not in self.figures]
        if missing:
            raise ValueError(f"figures: {', '.join(missing)} missing")
        used = set()
        for where, name, figure in self._all_figures():
            if name not in COUNTS and not name.endswith(UNITS):
                raise ValueError(f"{where}.{name}: the name ends in no known unit and is no known count")
            if figure.source not in ids:
                raise ValueError(f"{where}.{name}: source {figure.source!r} is not among the page's sources")
            used.add(figure.source)
        if unused := sorted(set(ids) - used):
            raise ValueError(f"sources: no figure comes from {', '.join(unused)}")
        return self

    @model_validator(mode="after")
    def _rates_follow_from_units(self) -> Self:
        """On a CPU: FLOP a cycle and core = FMA units x lanes x 2."""
        if self.kind == "gpu":
            return self
        for variant in ("", *(v.name for v in self.variants)):
            units, lanes, flop = (
                self.value(n, variant=variant) for n in ("fma_units", "fp32_lanes", "fp32_flop_per_cycle_per_core")
            )
            if units and lanes and flop and not math.isclose(units * lanes * 2, flop):
                raise ValueError(f"{variant or 'figures'}: {units:g} FMA units x {lanes:g} lanes x 2 is not {flop:g}")
        return self

    def _all_figures(self) -> list[tuple[str, str, Figure]]:
        found = [("figures", name, figure) for name, figure in self.figures.items()]
        for variant in self.variants:
            found += [(f"variants.{variant.name}", name, figure) for name, figure in variant.figures.items()]
        return found
