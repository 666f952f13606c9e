"""Static facts as text: what a user sees after `evaluate ... --device none`."""

from rich.console import Console

from kernelwright.cli.code_tables import kernel_parts
from kernelwright.records import KernelFacts

KERNEL = KernelFacts(
    kernel="scale",
    architecture="sm_90a",
    registers=40,
    spill_store_bytes=8,
    spill_load_bytes=16,
    static_shared_bytes=1024,
    dynamic_shared_bytes=4096,
    block_threads=256,
    blocks_per_sm=6,
    occupancy=0.75,
    limiter="registers",
    instructions=120,
    sass={"global_load_128": 4, "fp32_fma": 32},
    bytes_per_launch={"small": 12345},
    flops_per_launch={"small": 678},
    guess="guess: local memory; 24 bytes of registers are spilled a thread",
)


def text(*kernels: KernelFacts) -> str:
    console = Console(width=140, no_color=True)
    with console.capture() as captured:
        for part in kernel_parts(kernels):
            console.print(part)
    return captured.get()


def test_every_fact_is_shown_with_its_unit():
    shown = text(KERNEL)
    for words in (
        "Compiled for sm_90a, not run", "40", "24 B", "1024 + 4096 B", "256", "75%", "registers", "120 instructions",
        "4 global load 128, 32 fp32 fma", "12,345 bytes at most at small, 678 operations", "guess: local memory",
    ):  # fmt: skip
        assert words in shown


def test_what_is_unknown_is_a_dash_and_no_zero():
    shown = text(KernelFacts(kernel="k", architecture="sm_80", registers=8))
    row = next(line for line in shown.splitlines() if line.startswith("k "))
    assert row.split()[2:] == ["-", "0", "B", "-", "-", "-"]


def test_a_mangled_name_does_not_fill_the_page():
    shown = text(KERNEL.model_copy(update={"kernel": "_Z4gemmI" + "N4cute5tupleI" * 60}))
    assert max(len(line) for line in shown.splitlines()) <= 140 and "..." in shown or "…" in shown
