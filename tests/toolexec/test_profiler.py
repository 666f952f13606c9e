"""What limits a candidate, by rule."""

import pytest

from kernelwright.records.facts import OperationFacts, WorkloadFacts
from kernelwright.toolexec.profiler import heavy_operations, rule


def metrics(**values):
    return {
        "latency_us": 750.0, "call_overhead_share": 0.001, "achieved_gbps": 11.0, "achieved_gflops": 11.0,
        "memory_roof_gbps": 51.0, "compute_roof_gflops": 84.0, "flop_per_byte": 1.0, **values,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("values", "bottleneck", "words"),
    [
        ({"of_memory_roof": 0.7, "of_compute_roof": 0.1}, "memory", "70% of the memory roof"),
        ({"of_memory_roof": 0.2, "of_compute_roof": 0.1}, "latency", "waiting, not working"),
        ({"of_memory_roof": 0.2, "of_compute_roof": 0.1, "of_compute_roof_weighed": 0.75}, "compute", "counts 20"),
        ({"of_memory_roof": 0.2, "of_compute_roof": 0.1, "of_compute_roof_weighed": 0.3}, "latency", "counts 20"),
        ({"call_overhead_share": 0.5, "of_compute_roof_weighed": 0.9}, "overhead", "calling costs"),
    ],
)
def test_the_bottleneck(values, bottleneck, words):
    found, why = rule(metrics(**values))
    assert found == bottleneck and words in why


def test_functions_that_cost_many_operations_are_weighed_and_small_powers_are_not():
    def operation(op, *args):
        return OperationFacts(name=op, op=f"aten.{op}.default", args=args, shapes=((4, 8),))

    plain = (operation("mul"), operation("pow", {"ref": "x"}, 3.0), operation("sqrt"))
    work = WorkloadFacts(workload="w", arguments=(), operations=plain)
    assert heavy_operations(work) == 0
    work = work.model_copy(update={"operations": (*plain, operation("tanh"), operation("pow", {"ref": "x"}, 2.5))})
    assert heavy_operations(work) == 2 * 32 * 19
