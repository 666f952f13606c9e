"""Runs a Triton candidate once under ttsem: a script in a confined process, since it imports a stranger's file.

``python -I ttsem_child.py JOB`` prints a line of JSON behind a mark: a verdict, how many launches, what was found.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

MARK = "kernelwright-ttsem: "


def main(path: str) -> int:
    """Run a job; 0 whatever came of it."""
    job = json.loads(Path(path).read_text(encoding="utf-8"))
    told: dict[str, Any]
    from ttsem import sanitize

    with sanitize.session(source=job["file"]) as state:
        try:
            run(job)
            told = {"verdict": "ok", "message": ""}
        except sanitize.KernelFault as fault:
            told = {"verdict": fault.fault.kind, "message": str(fault)}
        except sanitize.Unjudged as reason:
            told = {"verdict": "unsupported", "message": str(reason)}
        except BaseException as error:  # a stranger's code may raise anything
            told = {"verdict": "error", "message": f"{type(error).__name__}: {error}"}
    told |= {"launches": state.launches, "unchecked": getattr(state, "races_unchecked", 0)}
    sys.stdout.write(f"\n{MARK}{json.dumps(told)}\n")
    return 0


def run(job: dict[str, Any]) -> None:
    """Construct the module and call it on random inputs."""
    import torch

    sys.path.insert(0, os.getcwd())
    spec = importlib.util.spec_from_file_location("candidate", job["file"])
    assert spec is not None and spec.loader is not None
    namespace = importlib.util.module_from_spec(spec)
    sys.modules["candidate"] = namespace
    spec.loader.exec_module(namespace)
    init = job["init_args"]
    if init is None:
        init = namespace.get_init_inputs() if hasattr(namespace, "get_init_inputs") else []
    torch.manual_seed(0)
    module = namespace.ModelNew(*init).eval()
    tensors = [drawn(each["dtype"], each["shape"]) for each in job["inputs"]]
    if callable(prepare := getattr(module, "prepare", None)):
        prepare()
    with torch.no_grad():
        module(*(tensors if job["call"] is None else filled(job["call"], tensors)))


def drawn(dtype: str, shape: list[int]) -> Any:
    """Random contents; whole numbers are 0 or 1, which any index may be."""
    import torch

    kind = getattr(torch, dtype)
    return torch.randn(shape).to(kind) if kind.is_floating_point else torch.randint(0, 2, shape).to(kind)


def filled(template: Any, tensors: list[Any]) -> Any:
    """Arguments from their template: ``{"t": i}`` is tensor i."""
    if isinstance(template, dict):
        if set(template) == {"t"}:
            return tensors[template["t"]]
        return {key: filled(value, tensors) for key, value in template.items()}
    if isinstance(template, list):
        return [filled(value, tensors) for value in template]
    return template


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
