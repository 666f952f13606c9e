"""What limits a kernel on a GPU: by ncu's counts where there are some, else by roofs and its code."""

from __future__ import annotations

import pytest
from fakes.nvidia_tools import DETAILS, RAW

from kernelwright.records import KernelFacts
from kernelwright.toolexec.counting.ncu import metrics_of, parse
from kernelwright.toolexec.gpu_profile import gpu_rule, static_notes, top_stall

TIMED = {"latency_us": 40.0, "achieved_gbps": 900.0, "achieved_gflops": 100.0}


def test_the_counts_of_a_memory_bound_kernel() -> None:
    bottleneck, why = gpu_rule(TIMED | metrics_of(parse(DETAILS)))
    assert bottleneck == "memory" and why == "SMs 31%, DRAM 88% busy, L2 hit rate 50%"


def test_the_counts_of_a_kernel_that_computes() -> None:
    bottleneck, why = gpu_rule(TIMED | metrics_of(parse(RAW)))
    assert bottleneck == "compute" and why == "SMs 62%, DRAM 32% busy, tensor cores 53%"


@pytest.mark.parametrize(
    ("counts", "bottleneck", "words"),
    [
        ({"memory_utilization": 0.9, "l2_hit_rate": 0.95}, "memory", "L2 90%"),
        ({"memory_utilization": 0.9, "l2_hit_rate": 0.1}, "memory", "shared memory 90%"),
        ({"achieved_occupancy": 0.1, "stall_long_scoreboard": 8.0, "stall_selected": 9.0}, "latency",
         "achieved occupancy is only 10%; most warps stall on long_scoreboard (waits for global memory"),
    ],
)  # fmt: skip
def test_neither_sms_nor_dram_are_busy(counts: dict[str, float], bottleneck: str, words: str) -> None:
    found, why = gpu_rule(TIMED | {"sm_utilization": 0.2, "dram_utilization": 0.1} | counts)
    assert found == bottleneck and words in why


@pytest.mark.parametrize(
    ("metrics", "bottleneck", "words"),
    [
        ({"of_memory_roof": 0.8, "of_compute_roof": 0.1}, "memory", "900 GB/s is 80%"),
        ({"of_memory_roof": 0.1, "of_compute_roof": 0.7}, "compute", "100 GFLOP/s is 70%"),
        ({"of_memory_roof": 0.1, "latency_us": 3.0}, "overhead", "3.0 us is hardly longer"),
        ({}, "unknown", "ceilings"),
        ({"of_memory_roof": 0.1, "occupancy": 0.12}, "latency", "theoretical occupancy is only 12%; its code alone"),
    ],
)
def test_without_counters_roofs_and_code_decide(metrics: dict[str, float], bottleneck: str, words: str) -> None:
    found, why = gpu_rule(TIMED | metrics, "guess: latency: few warps")
    assert found == bottleneck and words in why


def test_issuing_is_no_stall() -> None:
    assert top_stall({"stall_selected": 3.0, "stall_not_selected": 2.0}) == ""
    assert "barrier" in top_stall({"stall_selected": 3.0, "stall_barrier": 1.0})


def test_static_facts_are_said_of_each_kernel() -> None:
    kernel = KernelFacts(kernel="k", architecture="sm_90a", registers=80, spill_store_bytes=16, occupancy=0.5,
                         limiter="registers")  # fmt: skip
    assert static_notes((kernel,)) == [
        "k: 80 registers; spills 16 + 0 bytes; theoretical occupancy 50%, limited by registers (static)."
    ]
