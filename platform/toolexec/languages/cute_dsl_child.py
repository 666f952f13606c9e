"""Compiles CuTe DSL functions ahead: runs as a script in a confined process, since it imports a stranger's file.

``python -I cute_dsl_child.py JOB`` writes N.cubin and N.ptx for each function of the job. What it writes is a
stranger's word: whoever reads it checks it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

DTYPES = {
    "float64": "Float64", "float32": "Float32", "float16": "Float16", "bfloat16": "BFloat16",
    "float8_e4m3fn": "Float8E4M3FN", "float8_e5m2": "Float8E5M2", "int64": "Int64", "int32": "Int32",
    "int16": "Int16", "int8": "Int8", "uint8": "Uint8", "bool": "Boolean",
}  # fmt: skip


def main(path: str) -> int:
    """Compile a job's functions; the exit status."""
    job = json.loads(Path(path).read_text(encoding="utf-8"))
    os.environ["CUTE_DSL_ARCH"] = job["architecture"]
    os.environ["CUTE_DSL_KEEP"] = "ptx,cubin"
    os.environ["CUTE_DSL_DUMP_DIR"] = os.getcwd()
    os.environ["CUTE_DSL_DISABLE_FILE_CACHING"] = "1"
    try:
        module = load(job["file"])
        for number, told in enumerate(job["functions"]):
            compile_one(module, told, number)
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
    sys.modules["candidate"] = module
    spec.loader.exec_module(module)
    return module


def compile_one(module: Any, told: dict[str, Any], number: int) -> None:
    """Compile one function and write what came of it."""
    import cutlass.cute as cute

    function = getattr(module, told["function"], None)
    if function is None:
        raise NameError(f"{told['function']} is no function of this file")
    made = cute.compile(function, **{each["name"]: argument(each) for each in told["arguments"]})
    for kind, mode in (("cubin", "wb"), ("ptx", "w")):
        text = getattr(made, f"__{kind}__", None)
        if text:
            if mode == "w" and isinstance(text, bytes):
                text = text.decode("utf-8", "replace")
            with open(f"{number}.{kind}", mode) as out:
                out.write(text)


def argument(told: dict[str, Any]) -> Any:
    """A stand-in for a tensor or a number, or the constant itself."""
    import cutlass
    from cutlass.cute.runtime import make_fake_compact_tensor

    if "constant" in told:
        return told["constant"]
    if "number" in told:
        return getattr(cutlass, DTYPES[told["number"]])(1)
    dtype, shape = told["tensor"]
    order = tuple(reversed(range(len(shape))))  # the last axis lies closest, as torch's
    return make_fake_compact_tensor(getattr(cutlass, DTYPES[dtype]), tuple(shape), stride_order=order, assumed_align=16)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
