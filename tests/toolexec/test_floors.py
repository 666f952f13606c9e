"""Ceilings and floors, and what the profiler makes of them."""

import pytest

from kernelwright.records import ArgumentFacts, Environment, TaskFacts, WorkloadFacts
from kernelwright.toolexec.devices.cpu import cpu_info
from kernelwright.toolexec.floors import SIZES, Floors
from kernelwright.toolexec.judge.pool import WorkerPool
from kernelwright.toolexec.profiler import rule


def facts(compulsory_bytes: int, flops: int, dtype: str = "float32", export_error: str = "") -> TaskFacts:
    x = ArgumentFacts(name="x", kind="input", dtype=dtype, shape=(4,))
    work = WorkloadFacts(
        workload="w", arguments=(x,), compulsory_bytes=compulsory_bytes, flops=flops, export_error=export_error
    )
    return TaskFacts(task_id="t", workloads=(work,))


@pytest.fixture(scope="module")
def pool():
    made = WorkerPool(threads=1, memory_limit_gib=8)
    yield made
    made.close()


@pytest.mark.parametrize("compiler", [True, False])
def test_ceilings_are_measured_and_kept(pool, tmp_path, monkeypatch, compiler):
    if not compiler:
        monkeypatch.setenv("PATH", "/nowhere")
        monkeypatch.delenv("CXX", raising=False)
    floors = Floors(tmp_path, Environment(cpu="test"), pool)
    floors.load(facts(1 << 20, 10))
    assert sorted(floors.gbps) == list(SIZES)
    rates = [floors.gbps[size] for size in SIZES]
    assert rates == sorted(rates, reverse=True)
    assert 0.1 < rates[-1] <= rates[0] < 1e5
    assert 0.1 < floors.gflops < 1e5
    if compiler and {"avx2", "avx512_vnni"} & set(cpu_info().get("flags", "").split()):
        assert floors.gflops < floors.rates["int8"] < 1e6
    assert ("bfloat16" in floors.rates) == (compiler and "avx512_bf16" in cpu_info().get("flags", "").split())
    again = Floors(tmp_path, Environment(cpu="test"), pool)
    again.load(facts(1 << 20, 10))
    assert (again.gbps, again.gflops, again.rates) == (floors.gbps, floors.gflops, floors.rates)
    other_machine = Floors(tmp_path, Environment(cpu="other"), pool)
    assert not other_machine._read()


@pytest.fixture
def known(pool, tmp_path):
    """Floors of a machine with 100 GB/s in small working sets, 10 GB/s beyond 1 MiB, 50 GFLOP/s."""
    made = Floors(tmp_path, Environment(cpu="test"), pool)
    made.gbps = {1 << 14: 100.0, 1 << 20: 10.0}
    made.gflops = 50.0
    return made


def test_the_floor_is_the_higher_of_both(known):
    known._facts = {w.workload: w for w in facts(1_000_000, 0).workloads}
    assert known.byte_floor_us("w") == pytest.approx(10.0)
    known._facts = {w.workload: w for w in facts(2_000_000, 50_000_000).workloads}
    assert known.byte_floor_us("w") == pytest.approx(200.0)
    assert known.flop_floor_us("w") == pytest.approx(1000.0)
    assert known.floor_us("w") == pytest.approx(1000.0)


@pytest.mark.parametrize(("dtype", "floor_us"), [("bfloat16", 100.0), ("int8", 50.0), ("uint8", 50.0), ("int64", None)])
def test_the_rate_is_that_of_the_inputs_type(known, dtype, floor_us):
    known.rates = {"bfloat16": 500.0, "int8": 1000.0}
    known._facts = {w.workload: w for w in facts(1000, 50_000_000, dtype).workloads}
    assert known.flop_floor_us("w") == (None if floor_us is None else pytest.approx(floor_us))


def test_what_measures_is_part_of_what_is_kept(pool, tmp_path, monkeypatch, known):
    known._write()
    assert Floors(tmp_path, Environment(cpu="test"), pool)._read()
    monkeypatch.setattr("kernelwright.toolexec.floors.FLAGS", ("-O2",))
    assert not Floors(tmp_path, Environment(cpu="test"), pool)._read()


def test_what_is_not_known_puts_no_floor(known):
    known._facts = {w.workload: w for w in facts(1000, 0, export_error="no").workloads}
    assert known.floor_us("w") is None
    known._facts = {w.workload: w for w in facts(1000, 1000, dtype="uint8").workloads}
    assert known.flop_floor_us("w") is None


def metrics(**changes: float) -> dict[str, float]:
    base = {"latency_us": 1000.0, "call_overhead_share": 0.001, "achieved_gbps": 1.0, "achieved_gflops": 1.0}
    base |= {"memory_roof_gbps": 10.0, "compute_roof_gflops": 100.0, "flop_per_byte": 1.0}
    base |= {"of_memory_roof": 0.1, "of_compute_roof": 0.01}
    return base | changes


@pytest.mark.parametrize(
    ("changes", "bottleneck"),
    [
        ({"call_overhead_share": 0.5}, "overhead"),
        ({"of_memory_roof": 0.8}, "memory"),
        ({"of_compute_roof": 0.8, "of_memory_roof": 0.1}, "compute"),
        ({"flop_per_byte": 50.0}, "compute"),
        ({"of_memory_roof": 0.3}, "memory"),
        ({}, "latency"),
        ({"of_memory_roof": 0.0, "of_compute_roof": 0.0}, "unknown"),
    ],
)
def test_the_bottleneck_follows_from_the_numbers(changes, bottleneck):
    found, reason = rule(metrics(**changes))
    assert found == bottleneck
    assert reason
