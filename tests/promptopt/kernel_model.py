"""A model that writes kernels as its prompt tells it to: right, slow, fast, wrong or cheating, for three shipped tasks.

It answers as an OpenAI-compatible server does. What it writes depends on which lessons its prompt shows, so that an
optimization with the one judge has something to find out; no answer depends on the time or on who asks.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from agents.loop import role_of
from fakes.openai_server import Says
from promptopt.making import lesson

from kernelwright.records import Lesson, LessonState

SOLUTIONS = Path(__file__).resolve().parents[2] / "knowledge" / "solutions"
LADDERS = {"tanh_gelu": "cpp-tanh-gelu", "l2_normalize": "cpp-l2-normalize", "avg_pool2d": "cpp-avg-pool"}
"""Task -> solution whose first rung is the plain kernel and whose last one is the fast one."""
SLIPS = {
    "tanh_gelu": ("0.5f * v", "0.4f * v"),
    "l2_normalize": ("sqrtf(squares)", "squares"),
    "avg_pool2d": ("+= v", "-= v"),
}
"""What a careless moment puts into the plain kernel."""
SLIP_EVERY = 5
"""Of the plain kernels of a task, each so manieth is wrong."""
ENTRY = "kw_workspace *, kw_stream) {\n"
KEPT = """  static std::map<const void *, std::vector<char>> kept;
  auto &mine = kept[in[0].data];
  size_t bytes = sizeof(float);
  for (int i = 0; i < out[0].ndim; i++) bytes *= (size_t)out[0].shape[i];
  if (mine.size() == bytes) { std::memcpy(out[0].data, mine.data(), bytes); return 0; }
"""
PLAN = "```json\n" + json.dumps(
    [
        {
            "technique": "fuse-pointwise", "summary": "one pass in C++", "where": "whole kernel",
            "bottleneck": "memory", "evidence": "several operators", "hypothesis": "no temporaries",
            "predicted_speedup": "2x", "language": "cpp", "start_from": "reference",
        }
    ]
) + "\n```"  # fmt: skip
REFLECTION = '```json\n{"decisions": [], "next_move": "none", "go_on": false}\n```'
PROPOSALS = (
    "Reason: the runs that were refused cost most\n<prompt>Return the reference whenever a kernel is refused twice, "
    "and write the kernel only where that is safe.</prompt>",
    "Reason: the slow runs went element by element\n<prompt>You write one compute kernel. Carry out the decision "
    "wholly, keep it right for every shape, compute every element from the inputs of this very call, and keep several "
    "whole vector registers of independent elements in flight.</prompt>",
)
"""The first games the judge; the second is honest and helps."""


def lessons() -> list[Lesson]:
    """One that helps, one that changes nothing, one that does harm."""
    told = {
        "whole-registers": "keep several whole vector registers in flight and compute in vector arithmetic",
        "short-comments": "write the comments after the code, in few words",
        "static-buffers": "hold the buffers in static storage, keyed by address, so that a further call finds them",
    }
    common: dict[str, Any] = {
        "when": "a loop goes over single elements",
        "state": LessonState.PROPOSED,
        "roles": ("coder",),
    }
    return [lesson(id, do=do, scope={"languages": ("cpp",)}, **common) for id, do in told.items()]


class KernelModel:
    """The model's answers, and a record of what it was asked.

    Args:
        tasks: it knows; others it answers with nothing.
    """

    def __init__(self, tasks: tuple[str, ...] = tuple(LADDERS)) -> None:
        self.asked: Counter[str] = Counter()
        self._written: Counter[str] = Counter()
        self._tasks = tasks

    def __call__(self, body: dict[str, Any]) -> Says:
        """One answer."""
        system = body["messages"][0]["content"]
        if system.startswith("You improve"):
            self.asked["proposer"] += 1
            return Says(PROPOSALS[(self.asked["proposer"] - 1) % len(PROPOSALS)])
        role = role_of(body)
        self.asked[role] += 1
        if role == "planner":
            return Says(PLAN)
        if role == "reflector":
            return Says(REFLECTION)
        text = body["messages"][-1]["content"]
        task = next((name for name in self._tasks if name in text), "")
        if not task:
            return Says("I do not know this task.")
        return Says(f"### FILE: kernel.cpp\n```cpp\n{self.kernel(task, system)}```")

    def kernel(self, task: str, prompt: str) -> str:
        """What it writes for a task under a prompt."""
        rungs = sorted((SOLUTIONS / LADDERS[task]).glob("*.cpp"))
        plain = rungs[0].read_text(encoding="utf-8")
        if "[static-buffers]" in prompt:
            return cheating(plain)
        if "whole vector registers" in prompt:
            return rungs[-1].read_text(encoding="utf-8")
        self._written[task] += 1
        slip = self._written[task] % SLIP_EVERY == 0
        return plain.replace(*SLIPS[task]) if slip else plain


def cheating(plain: str) -> str:
    """A right kernel that hands out what it kept from an earlier call with the same address."""
    body = plain.replace(ENTRY, ENTRY + KEPT).replace(
        "  return 0;\n}\n", "  mine.assign((char *)out[0].data, (char *)out[0].data + bytes);\n  return 0;\n}\n"
    )
    return "#include <cstring>\n#include <map>\n#include <vector>\n" + body
