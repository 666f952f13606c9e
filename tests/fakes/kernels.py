"""A small real task and candidates for it, right and wrong in many ways: for tests that run the real judge."""

from __future__ import annotations

from kernelwright.records import (
    Candidate,
    Domain,
    Entry,
    InputSpec,
    LanguageName,
    SourceFile,
    StartKernel,
    Task,
    Tunable,
    Workload,
)

REFERENCE = """
import torch
import torch.nn as nn

rows = 33
cols = 97


class Model(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.weight = nn.Parameter(torch.ones(cols))
        self.bias = nn.Parameter(torch.zeros(cols))

    def forward(self, x):
        return torch.relu(x * self.weight * self.factor + self.bias)


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return [1.5]
"""
"""relu(x * weight * factor + bias): parameters that are all alike, a number, signed inputs."""


def small_task(reference: str = REFERENCE, **changes: object) -> Task:
    """The small task; two workloads, so that shapes must be read."""
    fields: dict[str, object] = {
        "name": "scaled_relu",
        "reference": reference,
        "inputs": (InputSpec(name="x", axes=("rows", "cols"), dtype="float32", domain=Domain()),),
        "workloads": (Workload(name="small"), Workload(name="wide", set={"cols": 201}, weight=2.0)),
        "licence": "Apache-2.0",
        "source": "kernelwright's tests",
    }
    return Task.model_validate(fields | changes)


def cpp(body: str, *, before: str = "", **changes: object) -> Candidate:
    """A C++ candidate from the body of kw_run: x, y, w, b, rows, cols, factor are at hand."""
    text = f"""
#include "kernelwright.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>
{before}
KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar* scalars, kw_workspace* ws, kw_stream) {{
  const float* x = (const float*)in[0].data; const float* w = (const float*)in[1].data;
  const float* b = (const float*)in[2].data; float* y = (float*)out[0].data;
  const int64_t rows = in[0].shape[0], cols = in[0].shape[1]; const float factor = (float)scalars[0].f;
  (void)x; (void)w; (void)b; (void)y; (void)rows; (void)cols; (void)factor; (void)ws;
{body}
  return 0;
}}
"""
    return source(LanguageName.CPP, Entry.C, "kernel.cpp", text, **changes)


def module(forward: str, *, before: str = "", body: str = "", **changes: object) -> Candidate:
    """A torch candidate from the body of forward; ``before`` goes to module level, ``body`` into the class."""
    text = f"""
import torch
import torch.nn as nn
{before}

class ModelNew(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.weight = nn.Parameter(torch.ones(SIZE))
        self.bias = nn.Parameter(torch.zeros(SIZE))
{body}
    def forward(self, x):
        right = torch.relu(x * self.weight * self.factor + self.bias)
{forward}
"""
    return source(LanguageName.TORCH, Entry.MODULE, "kernel.py", text.replace("SIZE", "97"), **changes)


def source(language: LanguageName, entry: Entry, name: str, text: str, **changes: object) -> Candidate:
    """A candidate of one file."""
    fields: dict[str, object] = {
        "language": language,
        "entry": entry,
        "files": (SourceFile(path=name, text=text),),
        "entry_file": name,
    }
    return Candidate.model_validate(fields | changes)


RIGHT = """
  for (int64_t i = 0; i < rows * cols; i++) y[i] = std::max(0.0f, x[i] * w[i % cols] * factor + b[i % cols]);
"""
RIGHT_CPP = cpp(RIGHT)
TUNED_CPP = cpp(
    "#ifndef STEP\n#define STEP 1\n#endif\n"
    "  for (int64_t r = 0; r < rows; r += STEP)\n"
    "    for (int64_t i = r * cols; i < std::min(rows, r + STEP) * cols; i++)\n"
    "      y[i] = std::max(0.0f, x[i] * w[i % cols] * factor + b[i % cols]);",
    tunables=(Tunable(name="STEP", values=(1, 4, 16), value=4),),
)
RIGHT_MODULE = module("        return right")

START = StartKernel(language=LanguageName.CPP, files={"start.cpp": RIGHT_CPP.files[0].text}, entry_file="start.cpp")
