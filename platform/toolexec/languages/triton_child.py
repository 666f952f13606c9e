"""Compiles Triton kernels ahead: runs as a script in a confined process of its own, since it imports a stranger's file.

``python -I triton_child.py JOB`` writes N.cubin, N.ptx and N.json for each kernel of the job. What it writes is a
stranger's word: whoever reads it checks it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from typing import Any


def main(path: str) -> int:
    """Compile a job's kernels; the exit status."""
    with open(path, encoding="utf-8") as stream:
        job = json.load(stream)
    try:
        module = load(job["file"])
        for number, told in enumerate(job["kernels"]):
            compile_one(module, told, number, job["capability"])
    except BaseException as error:  # a stranger's code may raise anything; it becomes one message
        sys.stdout.write(f"\nkernelwright-error: {type(error).__name__}: {error}\n")
        return 1
    return 0


def load(file: str) -> Any:
    """Import the candidate's file."""
    sys.path.insert(0, os.getcwd())
    spec = importlib.util.spec_from_file_location("candidate", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compile_one(module: Any, told: dict[str, Any], number: int, capability: int) -> None:
    """Compile one kernel and write what came of it."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel = getattr(module, told["kernel"], None)
    while kernel is not None and not isinstance(kernel, triton.JITFunction):
        kernel = getattr(kernel, "fn", None)  # an autotuner or heuristics around it
    if kernel is None:
        raise NameError(f"{told['kernel']} is no @triton.jit function of this file")
    missing = [n for n in kernel.arg_names if n not in told["types"] and n not in told["constants"]]
    unknown = [n for n in (*told["types"], *told["constants"]) if n not in kernel.arg_names]
    if missing or unknown:
        raise TypeError(f"compile {told['kernel']}: missing {missing}, unknown {unknown}; it takes {kernel.arg_names}")
    signature = {n: told["types"].get(n, "constexpr") for n in kernel.arg_names}
    hints = {(kernel.arg_names.index(n),): [["tt.divisibility", 16]] for n in told["divisible"]}
    source = ASTSource(kernel, signature=signature, constexprs=told["constants"], attrs=hints)
    options = {"num_warps": told["num_warps"], "num_stages": told["num_stages"]}
    made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    with open(f"{number}.cubin", "wb") as out:
        out.write(made.asm["cubin"])
    with open(f"{number}.ptx", "w", encoding="utf-8") as out_text:
        out_text.write(made.asm["ptx"])
    facts = {"shared": made.metadata.shared, "num_warps": made.metadata.num_warps, "name": made.metadata.name}
    with open(f"{number}.json", "w", encoding="utf-8") as out_json:
        json.dump(facts, out_json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
