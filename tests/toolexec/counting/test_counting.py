"""Counting real kernels: what they do is seen, what cannot be had is said, and the text stays short."""

import shutil

import numpy as np
import pytest
from fakes.kernels import RIGHT_CPP, cpp
from toolexec.conftest import needs_compiler

from kernelwright.agents.showing import PROFILE_CHARACTERS, counts_text, profile_text
from kernelwright.protocols import Availability
from kernelwright.records import Level, Profile, TaskFacts
from kernelwright.toolexec.counting import callgrind, hardware
from kernelwright.toolexec.counting.counting import Work, count
from kernelwright.toolexec.devices.cpu import CpuDevice
from kernelwright.toolexec.languages import language
from kernelwright.toolexec.profiler import from_counters, rule
from kernelwright.toolexec.workers.kernel import LoadSpec, TensorSpec

pytestmark = needs_compiler
needs_valgrind = pytest.mark.skipif(
    shutil.which("valgrind") is None, reason="valgrind is not installed: simulated caches cannot be counted"
)
SHAPES = {"x": (33, 97), "weight": (97,), "bias": (97,)}
BUSY = cpp(
    "  float s = 0;\n  for (int64_t k = 0; k < 64; k++) for (int64_t i = 0; i < rows * cols; i++) s += x[i];\n"
    "  volatile float keep = s;\n  (void)keep;\n"
    "  for (int64_t i = 0; i < rows * cols; i++) y[i] = std::max(0.0f, x[i] * w[i % cols] * factor + b[i % cols]);"
)
"""With a sum of no use that is made 64 times, and that cannot be vectorised in this order."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    folder.chmod(0o755)
    return folder


def work_on(candidate, place, *, threads=1, latency_us=10.0):
    rng = np.random.default_rng(3)
    x, weight, bias = (rng.standard_normal(shape, dtype=np.float32) for shape in SHAPES.values())
    specs = {name: TensorSpec(name, "float32", shape) for name, shape in SHAPES.items()}
    facts = TaskFacts(task_id="t", workloads=())
    built = language("cpp").build(candidate, facts, workload="small", folder=place, timeout_s=300.0)
    assert built.ok, built.log
    spec = LoadSpec(
        entry="c", language="cpp", artifact=str(built.artifact), inputs=(specs["x"],),
        parameters=(specs["weight"], specs["bias"]), outputs=(TensorSpec("y", "float32", SHAPES["x"]),),
        scalars=(1.5,), threads=threads,
    )  # fmt: skip
    return Work(candidate, facts, "small", spec, [x], [weight, bias], latency_us)


def counted(candidate, place, **options):
    return count(work_on(candidate, place, **options), CpuDevice().environment(threads=1), place)


@needs_valgrind
def test_instructions_and_misses_are_counted_and_told_in_few_words(place, monkeypatch):
    monkeypatch.setattr("kernelwright.toolexec.counting.counting.CALLGRIND_S", 300.0)
    lean, busy = counted(RIGHT_CPP, place), counted(BUSY, place)
    assert busy.metrics["sim_instructions"] > 5 * lean.metrics["sim_instructions"] > 0, (lean, busy)
    assert 0 <= lean.metrics["sim_l1_miss_share"] <= 1
    assert any("not vectorised" in note for note in busy.notes)
    assert any("of the instructions" in note and note.startswith("kernel.cpp:") for note in busy.notes)
    metrics = {"latency_us": 10.0, **busy.metrics}
    metrics |= from_counters(metrics, 4 * 2 * 33 * 97, 2.5)
    assert metrics["of_issue_rate"] == pytest.approx(busy.metrics["sim_instructions"] / (4 * 2500 * 10))
    profile = Profile(
        candidate_id="ab" * 8, level=Level.MEASURED, metrics=metrics, notes=tuple(busy.notes), reason="r", headroom=2.0
    )
    text = profile_text(profile)
    assert len(text) < PROFILE_CHARACTERS and "sim_instructions" in text and "not vectorised" in text
    assert "sim_instructions" in counts_text(profile) and "not vectorised" in counts_text(profile)


def test_what_cannot_be_had_is_said(place, monkeypatch):
    monkeypatch.setattr(callgrind, "availability", lambda: Availability(False, "no valgrind"))
    found = counted(RIGHT_CPP, place)
    assert "Caches not simulated: no valgrind." in found.notes
    told = any(note.startswith("The processor's own counters: ") for note in found.notes)
    assert told is not hardware.availability().ok
    assert not any(name.startswith("sim_") for name in found.metrics)


def test_what_would_take_too_long_is_not_simulated(place, monkeypatch):
    monkeypatch.setattr(callgrind, "availability", lambda: Availability(True, "valgrind"))
    found = counted(RIGHT_CPP, place, latency_us=1e6)
    assert any(note.startswith("Caches not simulated: it would take about") for note in found.notes)


def test_threads_are_compared_where_a_kernel_may_use_several(place, monkeypatch):
    monkeypatch.setattr(callgrind, "availability", lambda: Availability(False, "not asked"))
    found = counted(RIGHT_CPP, place, threads=2)
    assert found.metrics["threads"] == 2 and found.metrics["thread_speedup"] > 0


def test_a_kernel_that_crashes_while_it_is_counted_costs_its_counts_alone(place, monkeypatch):
    monkeypatch.setattr(callgrind, "availability", lambda: Availability(False, "not asked"))
    found = counted(cpp("  *(volatile int*)0 = 1;"), place)
    assert any("the driver ended" in note for note in found.notes) and "hw_cycles" not in found.metrics


BASE = {
    "latency_us": 100.0, "call_overhead_share": 0.01, "achieved_gbps": 1.0, "of_memory_roof": 0.1, "flop_per_byte": 1.0,
    "of_compute_roof": 0.1, "memory_roof_gbps": 10.0, "compute_roof_gflops": 100.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "bottleneck", "words"),
    [
        ({}, "latency", "waiting"),
        ({"of_issue_rate": 0.8, "sim_instructions": 8e5}, "compute", "too many instructions"),
        ({"l1_refill_gbps": 9.0, "l1_refill_of_compulsory": 9.0}, "memory", "fetched again"),
        ({"sim_branch_miss_share": 0.2, "of_issue_rate": 0.1}, "latency", "predicted wrongly"),
        ({"of_issue_rate": 0.1}, "latency", "wait for each other"),
    ],
)
def test_counters_decide_where_no_roof_is_near(more, bottleneck, words):
    found, why = rule({**BASE, **more})
    assert found == bottleneck and words in why


def test_counters_do_not_contradict_a_roof_that_is_reached():
    assert rule({**BASE, "of_memory_roof": 0.9, "of_issue_rate": 0.9})[0] == "memory"
