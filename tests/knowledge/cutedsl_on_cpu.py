"""Not a test: a CuTe DSL rung's ModelNew on the CPU: its kernels compiled by the DSL, their PTX run by ptx_on_cpu.py.

What is patched: tensors stay torch's where from_dlpack would wrap them, and what cute.compile gives runs PTX. Grid,
block and shared memory come from the rung's `launch:` lines, so these are held as well; parameters go by name.
"""

import ast
import re
import types
from typing import Any

from knowledge.ptx_on_cpu import Launch, Memory, Place, kernels

ARCHITECTURE = "sm_80"


def tensor_arguments(text: str) -> dict[str, list[str]]:
    """Function -> its arguments that are tensors."""
    return {
        node.name: [a.arg for a in node.args.args if a.annotation and ast.unparse(a.annotation) == "cute.Tensor"]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
    }


def patched(rung: Any, text: str, inputs: list[Any], parameters: list[Any]) -> None:
    """Let a rung's module run without a GPU."""
    import cutlass
    import cutlass.cute as cute
    from cutlass.cute.runtime import make_fake_compact_tensor

    names = {"float32": "Float32", "float16": "Float16"}
    told = tensor_arguments(text)

    def compiled(function: Any, *given: Any) -> Any:
        fakes = []
        for one in given:
            if hasattr(one, "shape"):
                dtype = getattr(cutlass, names[str(one.dtype).removeprefix("torch.")])
                order = tuple(reversed(range(one.ndim)))
                one = make_fake_compact_tensor(dtype, tuple(one.shape), stride_order=order, assumed_align=16)
            fakes.append(one)
        made = cute.compile(function, *fakes).__ptx__
        ptx = made.decode() if isinstance(made, bytes) else made
        own = told[function.__name__]
        return lambda *tensors: launched(text, ptx, dict(zip(own, tensors, strict=True)), inputs, parameters)

    rung.from_dlpack = lambda tensor, assumed_align: tensor
    rung.cute = types.SimpleNamespace(**{**vars(rung.cute), "compile": compiled})


def launched(text: str, ptx: str, tensors: dict[str, Any], inputs: list[Any], parameters: list[Any]) -> None:
    """The launches of a rung, in order; tensors are changed in place."""
    from kernelwright.records.facts import ArgumentFacts, WorkloadFacts
    from kernelwright.toolexec.languages.launch import Borders, parse_plan

    arguments = tuple(
        ArgumentFacts(name=f"{kind}{i}", kind=kind, dtype=str(t.dtype).removeprefix("torch."), shape=tuple(t.shape))
        for kind, group in (("input", inputs), ("parameter", parameters), ("output", [tensors["y"]]))
        for i, t in enumerate(group)
    )
    facts = WorkloadFacts(workload="w", arguments=arguments, compulsory_bytes=1, flops=1)
    tunables = {m[1]: int(m[2]) for m in re.finditer(r"^# tunable (\w+) = (\d+)", text, re.MULTILINE)}
    memory, entries, named = Memory(), kernels(ptx), tensor_arguments(text)
    addresses = {name: memory.put(t.detach().numpy()) for name, t in tensors.items()}
    for launch in parse_plan(text).bind(Borders.of(facts), tunables).launches:
        (kernel,) = [k for k in entries if launch.kernel in k.name]
        places = [addresses[n] for n in named[launch.kernel]]
        how = Place(launch.grid, launch.threads, launch.shared_bytes)
        Launch(kernel, memory, places, place=how).run()
    for name, t in tensors.items():
        t.detach().numpy()[...] = memory.get(addresses[name], t.detach().numpy())


def run(job: dict[str, Any], drawn_case: Any, module: Any, torch: Any) -> Any:
    """What a rung's ModelNew gives for a case."""
    made, model, inputs, _, _ = drawn_case
    rung = module(job["place"], "rung")
    new = rung.ModelNew(*made.get_init_inputs()).eval()
    new.load_state_dict(model.state_dict())
    with open(job["place"], encoding="utf-8") as file:
        patched(rung, file.read(), inputs, list(model.state_dict().values()))
    with torch.inference_mode():
        return new(*inputs)
