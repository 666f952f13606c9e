"""Tasks and a model's answers to them, good, bad and broken: what the scripted server of test_model.py replays."""

from __future__ import annotations

import json
from dataclasses import dataclass

HEAD = """#include "kernelwright.h"
#include <cstring>
#include <map>
#include <vector>
KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream) {
  const float* x = (const float*)in[0].data;
  float* y = (float*)out[0].data;
  const int64_t rows = in[0].shape[0], cols = in[0].shape[1];
"""
CACHE = """  static std::map<const void*, std::vector<float>> kept;
  auto& mine = kept[x];
  const size_t n = (size_t)rows * OUT;
  if (mine.size() == n) { std::memcpy(y, mine.data(), n * sizeof(float)); return 0; }
"""
KEEP = "  mine.assign(y, y + n);\n"


@dataclass(frozen=True)
class Case:
    """A task and the loop that does its work."""

    name: str
    forward: str
    out_cols: str
    """Elements of a row of the output, in C."""
    loop: str
    """Right and fast."""
    slip: tuple[str, str]
    """What to replace by what for wrong values."""

    @property
    def task(self) -> str:
        """The task's file."""
        return (
            "import torch\n\nROWS = 48\nCOLUMNS = 515\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
            f"        return {self.forward}\n\n\ndef get_inputs():\n    return [torch.randn(ROWS, COLUMNS)]\n\n\n"
            "def get_init_inputs():\n    return []\n"
        )

    def good(self) -> str:
        """An honest kernel."""
        return HEAD + self.loop + "  return 0;\n}\n"

    def wrong(self) -> str:
        """A kernel with a slip."""
        return self.good().replace(*self.slip)

    def broken(self) -> str:
        """The wrong kernel with a missing semicolon besides."""
        return self.wrong().replace("  return 0;\n}", "  return 0\n}")

    def cheat(self) -> str:
        """Results of earlier calls, by the address of the input."""
        return HEAD + CACHE.replace("OUT", self.out_cols) + self.loop + KEEP + "  return 0;\n}\n"


CASES = [
    Case(
        "chain",
        "torch.clamp(x * 2.0 + 1.0, min=0.0) * x",
        "cols",
        "  for (int64_t i = 0; i < rows * cols; ++i) {\n    const float v = x[i] * 2.0f + 1.0f;\n"
        "    y[i] = (v > 0.0f ? v : 0.0f) * x[i];\n  }\n",
        ("v > 0.0f ? v : 0.0f", "v"),
    ),
    Case(
        "row_scale",
        "x / (x.abs().sum(dim=1, keepdim=True) + 1.0)",
        "cols",
        "  for (int64_t r = 0; r < rows; ++r) {\n    const float* a = x + r * cols;\n    double sum = 1.0;\n"
        "    for (int64_t c = 0; c < cols; ++c) sum += a[c] < 0 ? -a[c] : a[c];\n"
        "    const float f = (float)(1.0 / sum);\n"
        "    for (int64_t c = 0; c < cols; ++c) y[r * cols + c] = a[c] * f;\n  }\n",
        ("double sum = 1.0", "double sum = 2.0"),
    ),
    Case(
        "neighbours",
        "(x[:, :-2] + x[:, 1:-1] * 2.0 + x[:, 2:]) * 0.25",
        "(cols - 2)",
        "  const int64_t w = cols - 2;\n  for (int64_t r = 0; r < rows; ++r) {\n    const float* a = x + r * cols;\n"
        "    for (int64_t c = 0; c < w; ++c) y[r * w + c] = (a[c] + a[c + 1] * 2.0f + a[c + 2]) * 0.25f;\n  }\n",
        ("a[c + 2]) * 0.25f", "a[c + 1]) * 0.25f"),
    ),
]

PLAN = "Memory is not the limit here.\n\n```json\n" + json.dumps(
    [
        {
            "technique": "Fuse all passes", "summary": "One pass in C++ without temporaries", "where": "whole kernel",
            "bottleneck": "overhead", "evidence": "several operators on a small tensor", "hypothesis": "no temporaries",
            "predicted_speedup": "2x", "language": "C++", "start_from": "reference",
        }
    ]
) + "\n```\nGood luck!"  # fmt: skip
REFLECTION = 'The calls were the cost.\n```json\n{"decisions": [], "next_move": "none shown", "go_on": true,}\n```'


def answers(case: Case) -> dict[str, list[str]]:
    """Role -> its answers in order."""
    edited = (
        "The semicolon is missing.\r\n\r\n### EDIT: kernel.cpp\r\n<<<<<<< SEARCH\r\n  return 0\r\n}\r\n=======\r\n"
        "  return 0;\r\n}\r\n>>>>>>> REPLACE\r\n"
    )
    return {
        "planner": ["Let me think about it.", PLAN],
        "coder": [f"Sure! Here is größer → schneller:\n```cpp\n{case.broken()}```\nEnjoy."],
        "repairer": [
            edited,
            f"**kernel.cpp**\n```c++\n{case.cheat()}```",
            f"### FILE: kernel.cpp\n~~~\n{case.good()}~~~",
        ],
        "reflector": [REFLECTION],
    }
