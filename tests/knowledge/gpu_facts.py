"""Not a test: compiles the rungs of GPU exemplars as the judge on device none does and writes what they are made of.

    python tests/knowledge/gpu_facts.py cuda-row-softmax [more of them, or nothing for all]
writes knowledge/solutions/<id>/facts.yaml: for each rung and architecture the KernelFacts (registers, spills, shared
memory, occupancy, instructions by kind), and the reference's bytes and operations. Nothing of it is written by hand.
"""

import importlib.util
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parents[1]))
from knowledge.gpu_toolchain import SOLUTIONS

from kernelwright.memory.solution_files import load_solution
from kernelwright.records import Candidate, TaskFacts
from kernelwright.records.facts import ArgumentFacts, WorkloadFacts
from kernelwright.toolexec.languages import language, toolchain
from kernelwright.toolexec.languages.launch import parse_plan
from kernelwright.toolexec.languages.static_facts import Static

FORMAT = "kernelwright/gpu-facts/1"
FACTS_FILE = "facts.yaml"
BOTH = ("sm_80", "sm_90a")
ARCHITECTURES = {"cuda": BOTH, "triton": BOTH, "cute": BOTH, "cutedsl": BOTH, "tk": ("sm_90a",)}
OWN = ("kernel", "architecture")


def architectures_of(solution: str, text: str) -> tuple[str, ...]:
    """What a rung is compiled for: its `architectures:` line, else its language's."""
    known = ARCHITECTURES[solution.partition("-")[0]]
    return parse_plan(text).architectures or known


def compiler_of(solution: str) -> str:
    """Name and version of what compiles it here; registers and instructions hold for that one."""
    if solution.startswith("triton-"):
        return f"triton {version('triton')}"
    if solution.startswith("cutedsl-"):
        return f"nvidia-cutlass-dsl {version('nvidia-cutlass-dsl')}"
    tool = toolchain.nvcc()
    return f"nvcc {toolchain.nvcc_version(tool.path)}" if tool else "none"


def facts_of(solution: str) -> TaskFacts:
    """The reference's borders, bytes and operations; its own sizes on torch's meta device, so nothing is computed.

    flops are torch.utils.flop_counter's, plus one an output element where it counts none.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    spec = importlib.util.spec_from_file_location("reference", SOLUTIONS / solution / "reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with torch.device("meta"), torch.inference_mode():
        model, inputs = module.Model(*module.get_init_inputs()), module.get_inputs()
        counter = FlopCounterMode(display=False)
        with counter:
            output = model(*inputs)
    named = [(f"in{i}", "input", t) for i, t in enumerate(inputs)]
    named += [(n, "parameter", t) for n, t in model.state_dict().items()] + [("output0", "output", output)]
    arguments = tuple(
        ArgumentFacts(name=n, kind=k, dtype=str(t.dtype).removeprefix("torch."), shape=tuple(t.shape))
        for n, k, t in named
    )
    touched = sum(t.numel() * t.element_size() for _, _, t in named)
    flops = counter.get_total_flops() or output.numel()
    one = WorkloadFacts(workload="default", arguments=arguments, compulsory_bytes=touched, flops=flops)
    return TaskFacts(task_id=solution, workloads=(one,))


def compiled(candidate: Candidate, architecture: str, facts: TaskFacts, builds: Path) -> tuple[Path, Static]:
    """One rung built by its language as the judge on device none does: the artifact, and what it is made of.

    Raises:
        SystemExit: it does not compile, or its launch cannot work.
    """
    made: Any = language(candidate.language.value)
    chosen = candidate.model_copy(update={"architecture": architecture})
    built = made.build(chosen, facts, workload="default", folder=builds, timeout_s=900.0)
    if not built.ok:
        raise SystemExit(f"{candidate.entry_file} for {architecture}: {built.log}")
    static: Static = made.statics(built.artifact, chosen, facts)
    if static.problems or not static.kernels:
        raise SystemExit(f"{candidate.entry_file} for {architecture}: {static.problems or static.notes}")
    return built.artifact, static


def record(solution: str, builds: Path) -> dict[str, Any]:
    """The text of facts.yaml as data.

    Raises:
        SystemExit: a rung does not compile.
    """
    facts = facts_of(solution)
    rungs: dict[str, Any] = {}
    for rung in load_solution(SOLUTIONS / solution, origin="shipped").rungs:
        text = rung.candidate.text(rung.candidate.entry_file)
        for architecture in architectures_of(solution, text):
            _, static = compiled(rung.candidate, architecture, facts, builds)
            rungs.setdefault(rung.name, {})[architecture] = {
                k.kernel: k.model_dump(mode="json", exclude=set(OWN), exclude_defaults=True) for k in static.kernels
            }
    (one,) = facts.workloads
    told = {one.workload: {"compulsory_bytes": one.compulsory_bytes, "flops": one.flops}}
    return {"format": FORMAT, "compiler": compiler_of(solution), "reference": told, "rungs": rungs}


def main() -> int:
    wanted = sys.argv[1:] or sorted(p.parent.name for p in SOLUTIONS.glob("*/reference.py"))
    with tempfile.TemporaryDirectory() as cache:
        for solution in wanted:
            made = record(solution, Path(cache))
            text = "# Written by tests/knowledge/gpu_facts.py; static facts of compiled code, none of them a time.\n"
            text += yaml.safe_dump(made, sort_keys=False, width=120)
            (SOLUTIONS / solution / FACTS_FILE).write_text(text, encoding="utf-8")
            print(solution, "recorded", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
