"""Lowers TileLang programs to CUDA: runs as a script in a confined process, since it imports a stranger's file.

``python -I tilelang_child.py JOB`` writes N.cu for each function of the job. What it writes is a stranger's
word: whoever reads it checks it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any


def main(path: str) -> int:
    """Lower a job's programs; the exit status."""
    job = json.loads(Path(path).read_text(encoding="utf-8"))
    os.environ.setdefault("TILELANG_CACHE_DIR", os.path.join(os.getcwd(), ".tilelang"))
    os.environ["TILELANG_DISABLE_CACHE"] = "1"
    try:
        module = load(job["file"])
        for number, told in enumerate(job["functions"]):
            Path(f"{number}.cu").write_text(lowered(module, told, job["architecture"]), encoding="utf-8")
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


def lowered(module: Any, told: dict[str, Any], architecture: str) -> str:
    """CUDA of one program: a function that returns a ``@T.prim_func``, called with the constants of its line."""
    import tilelang

    made = getattr(module, told["function"], None)
    if made is None:
        raise NameError(f"{told['function']} is no function of this file")
    values = {}
    for each in told["arguments"]:
        if "constant" not in each:
            raise TypeError(f"{told['function']} is called with numbers and texts only; {each['name']} is none")
        values[each["name"]] = each["constant"]
    with target(architecture) as chosen:  # TileLang 0.1.15 asks for it while it traces
        program = getattr(made, "get_tir", made)(**values)
        return str(tilelang.lower(program, target=chosen).kernel_source)


def target(architecture: str) -> Any:
    """TVM's word for an architecture."""
    from tilelang import tvm

    return tvm.target.Target({"kind": "cuda", "arch": architecture})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
