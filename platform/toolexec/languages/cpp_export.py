"""The way home of a C++ candidate: one KernelBench file whose ModelNew compiles its embedded sources and calls them.

Owns the text of that file. It needs torch and a C++ compiler, nothing of kernelwright; it never falls back to the
reference's own forward.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from kernelwright.records import Candidate, Task
from kernelwright.tasks.source import with_overrides

HEAD = '''"""{title}

Made by kernelwright from candidate {candidate}. The reference's own Model gives parameters, constants and inputs;
ModelNew replaces its forward by a C++ kernel that is compiled when ModelNew is first made (CXX, g++ or clang++) and
kept in a private folder under the system's temporary one. There is no silent fallback: without a compiler it raises.
"""

'''
RUNTIME = '''

# ---------------------------------------------------------------- the C++ kernel and how it is called
import copy as _copy
import ctypes as _ctypes
import hashlib as _hashlib
import os as _os
import shutil as _shutil
import subprocess as _subprocess
import tempfile as _tempfile

import torch as _torch
from torch.utils import _pytree as _pytree

_FLAGS = {flags}
_SOURCES = {sources}
_COMPILED = {compiled}
_CODES = {{name: code for code, name in enumerate(
    ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64", "bool"))}}
_LIBRARIES = {{}}


class _Tensor(_ctypes.Structure):
    _fields_ = [("data", _ctypes.c_void_p), ("dtype", _ctypes.c_int32), ("ndim", _ctypes.c_int32),
                ("shape", _ctypes.c_int64 * 8), ("stride", _ctypes.c_int64 * 8)]


class _Scalar(_ctypes.Structure):
    _fields_ = [("f", _ctypes.c_double), ("i", _ctypes.c_int64), ("is_int", _ctypes.c_int32),
                ("reserved", _ctypes.c_int32)]


class _Workspace(_ctypes.Structure):
    _fields_ = [("threads", _ctypes.c_int32), ("n_in", _ctypes.c_int32), ("n_params", _ctypes.c_int32),
                ("n_out", _ctypes.c_int32), ("n_scalars", _ctypes.c_int32), ("reserved", _ctypes.c_int32),
                ("state", _ctypes.c_void_p)]


def _compiler():
    for name in (_os.environ.get("CXX", ""), "g++", "clang++"):
        if name and _shutil.which(name):
            return _shutil.which(name)
    raise RuntimeError("this ModelNew needs a C++ compiler (g++ or clang++) the first time it is made")


def _has_openmp(compiler):
    done = _subprocess.run([compiler, "-fopenmp", "-shared", "-fPIC", "-x", "c++", "-", "-o", _os.devnull],
                           input="#include <omp.h>\\n", text=True, capture_output=True)
    return done.returncode == 0


def _machine():
    try:
        with open("/proc/cpuinfo") as stream:
            return "".join(sorted({{line for line in stream if line.startswith(("model name", "flags"))}}))
    except OSError:
        return ""


def _library():
    """Compile the sources (once per machine and user) and load them (once per process)."""
    if "library" in _LIBRARIES:
        return _LIBRARIES["library"]
    key = _hashlib.sha256(repr((_FLAGS, sorted(_SOURCES.items()), _machine())).encode()).hexdigest()[:24]
    folder = _os.path.join(_tempfile.gettempdir(), f"kernelwright-export-{{_os.getuid()}}")
    _os.makedirs(folder, mode=0o700, exist_ok=True)
    if _os.stat(folder).st_uid != _os.getuid():
        raise RuntimeError(f"{{folder}} belongs to another user")
    target = _os.path.join(folder, key + ".so")
    if not _os.path.exists(target):
        compiler = _compiler()
        with _tempfile.TemporaryDirectory(dir=folder) as work:
            for name, text in _SOURCES.items():
                with open(_os.path.join(work, name), "w") as stream:
                    stream.write(text)
            openmp = ["-fopenmp"] if _has_openmp(compiler) else []
            done = _subprocess.run([compiler, *_FLAGS, *openmp, "-I.", *_COMPILED, "-o", "kernel.so"], cwd=work,
                                   capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError("the kernel does not compile here:\\n" + done.stderr[-2000:])
            _os.replace(_os.path.join(work, "kernel.so"), target)
    library = _ctypes.CDLL(target)
    library.kw_run.argtypes = [_ctypes.c_void_p] * 5
    if hasattr(library, "kw_prepare"):
        library.kw_prepare.argtypes = [_ctypes.c_void_p] * 3
    _LIBRARIES["library"] = library
    return library


def _describe(tensor, with_data=True):
    told = _Tensor(data=tensor.data_ptr() if with_data else None, ndim=tensor.dim())
    told.dtype = _CODES[str(tensor.dtype).replace("torch.", "")]
    for axis, (size, step) in enumerate(zip(tensor.shape, tensor.stride())):
        told.shape[axis], told.stride[axis] = size, step
    return told


def _numbers(value):
    return [v for v in _pytree.tree_leaves(value) if isinstance(v, (bool, int, float))]


class ModelNew(Model):
    """The reference's parameters with the kernel as forward."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._init_numbers = _numbers([args, kwargs])
        self._output_shapes = {{}}
        self._packed_for = None
        self._state = None
        _library()

    def _outputs(self, args):
        """Empty outputs of the shapes that the reference's forward gives, found once per shape on the meta device."""
        key = repr(_pytree.tree_map_only(_torch.Tensor, lambda t: (t.dtype, tuple(t.shape)), args))
        if key not in self._output_shapes:
            skeleton = _copy.deepcopy(self).to("meta")
            meta = _pytree.tree_map_only(_torch.Tensor, lambda t: t.to("meta"), args)
            self._output_shapes[key] = Model.forward(skeleton, *meta)
        return _pytree.tree_map_only(
            _torch.Tensor, lambda t: _torch.empty(t.shape, dtype=t.dtype, device="cpu"), self._output_shapes[key]
        )

    def forward(self, *args):
        library = _library()
        with _torch.no_grad():
            inputs = [t.detach().contiguous() for t in _pytree.tree_leaves(args) if isinstance(t, _torch.Tensor)]
            parameters = [t.detach().contiguous() for t in self.state_dict().values()]
            results = self._outputs(args)
        outputs = _pytree.tree_leaves(results)
        values = [*self._init_numbers, *_numbers(args)]
        scalars = (_Scalar * max(len(values), 1))()
        for scalar, value in zip(scalars, values):
            scalar.f, scalar.is_int = float(value), int(isinstance(value, int))
            scalar.i = int(value) if abs(float(value)) < 2.0**63 else 0
        workspace = _Workspace(threads=_torch.get_num_threads(), n_in=len(inputs) + len(parameters),
                               n_params=len(parameters), n_out=len(outputs), n_scalars=len(values), state=self._state)
        tensors = inputs + parameters
        told = (_Tensor * max(len(tensors), 1))(*(_describe(t) for t in tensors))
        if hasattr(library, "kw_prepare"):
            current = [(t.data_ptr(), t._version) for t in self.state_dict().values()]
            if self._packed_for != current:
                shapes = (_Tensor * max(len(tensors), 1))(
                    *(_describe(t, with_data=i >= len(inputs)) for i, t in enumerate(tensors)))
                code = library.kw_prepare(_ctypes.addressof(shapes), _ctypes.addressof(scalars),
                                          _ctypes.addressof(workspace))
                if code:
                    raise RuntimeError(f"kw_prepare returned {{code}}")
                self._state, self._packed_for = workspace.state, current
        filled = (_Tensor * max(len(outputs), 1))(*(_describe(t) for t in outputs))
        code = library.kw_run(_ctypes.addressof(told), _ctypes.addressof(filled), _ctypes.addressof(scalars),
                              _ctypes.addressof(workspace), None)
        if code:
            raise RuntimeError(f"kw_run returned {{code}}: the kernel refuses these arguments")
        return results
'''


def export_text(candidate: Candidate, task: Task, *, flags: Sequence[str], header: str, sources: Sequence[str]) -> str:
    """The text of the file.

    Args:
        candidate: what is taken home.
        task: gives the reference, at its first workload's constants.
        flags: compiler flags without files and -fopenmp.
        header: text of kernelwright.h.
        sources: which of the candidate's files are compiled.
    """
    files = {f.path: f.text for f in candidate.files} | {"kernelwright.h": header}
    reference = with_overrides(task.reference, task.workloads[0].set)
    title = f"{task.name}: a C++ kernel behind KernelBench's ModelNew."
    head = HEAD.format(title=title, candidate=candidate.id)
    body = RUNTIME.format(flags=json.dumps(list(flags)), sources=_literal(files), compiled=json.dumps(list(sources)))
    future, rest = _split_future(reference)
    return f"{head}{future}{rest.strip()}\n{body}"


def _literal(files: dict[str, str]) -> str:
    """A dict of texts as readable Python: raw triple-quoted where that is possible."""
    lines = []
    for name, text in files.items():
        plain = "'''" not in text and not text.endswith(("'", "\\"))
        lines.append(f"    {name!r}: " + (f"r'''{text}'''" if plain else repr(text)) + ",")
    return "{\n" + "\n".join(lines) + "\n}"


def _split_future(reference: str) -> tuple[str, str]:
    """``from __future__`` lines, which must come first, and the rest."""
    lines = reference.splitlines(keepends=True)
    future = [line for line in lines if line.startswith("from __future__")]
    return "".join(future), "".join(line for line in lines if not line.startswith("from __future__"))
