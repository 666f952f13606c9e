"""Turns the examples of technique pages into files that compile: what the pages' README says is included, then them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from kernelwright.records import CodeSample, Technique

CPP_PRELUDE = """\
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__linux__)
#include <sys/mman.h>
#endif
typedef float v16 __attribute__((vector_size(64)));
typedef int i16 __attribute__((vector_size(64)));
static inline v16 load(const float* p) { v16 v; std::memcpy(&v, p, sizeof v); return v; }
static inline void store(float* p, v16 v) { std::memcpy(p, &v, sizeof v); }
static inline v16 splat(float x) { return v16{} + x; }
"""
CUDA_PRELUDE = "#include <cstdint>\n#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <mma.h>\n"
LIBRARIES = ("cute/", "kittens")
"""Includes that come from outside the CUDA toolkit: examples with them are compiled where those are."""
SIZES = {"n": 1024, "rows": 34, "cols": 256, "m": 24, "k": 96, "c": 12, "d": 32}
"""What a parameter of this name is called with."""
SIZES_OF = {
    "decouple-store-load": {"rows": 32},  # wants a multiple of 8
    "interleave-rows": {"rows": 32},  # wants a multiple of 4
    "skip-structural-zeros": {"n": 128},  # three matrices of n x n
}
"""Page -> sizes that its example wants instead."""
BUFFER = 1 << 18
"""Elements of every buffer."""


@dataclass(frozen=True)
class Half:
    """One example of one page."""

    page: str
    side: str
    sample: CodeSample

    @property
    def space(self) -> str:
        return f"{self.page.replace('-', '_')}_{self.side}"

    @property
    def includes(self) -> list[str]:
        return re.findall(r"^#include.*$", self.sample.text, re.MULTILINE)

    @property
    def needs_library(self) -> bool:
        return any(name in line for name in LIBRARIES for line in self.includes)

    @property
    def target(self) -> str:
        """The CUDA target that the example asks for, "" for any."""
        found = re.search(r"^// needs (sm_\w+)$", self.sample.text, re.MULTILINE)
        return found.group(1) if found else ""


def halves(techniques: Iterable[Technique], language: str) -> list[Half]:
    """Every example in a language."""
    pairs = [(t.id, side, sample) for t in techniques for side, sample in (("before", t.before), ("after", t.after))]
    return [Half(*pair) for pair in pairs if pair[2].language == language]


def one_file(prelude: str, found: Iterable[Half]) -> str:
    """All examples as one translation unit, a namespace each; compilers name the page in their messages."""
    found = list(found)
    includes = dict.fromkeys(line for half in found for line in half.includes)
    parts = [prelude, *includes, ""]
    for half in found:
        text = re.sub(r"^#include.*$", "", half.sample.text, flags=re.MULTILINE)
        parts += [f"namespace {half.space} {{", f'#line 1 "{half.page}.md:{half.side}"', text, "}"]
    return "\n".join(parts) + "\n"


@dataclass(frozen=True)
class Signature:
    """The last function of an example: what it returns, its name and its parameters as (type, name)."""

    returns: str
    name: str
    parameters: tuple[tuple[str, str], ...]


def signature(sample: CodeSample) -> Signature | None:
    """The entry of a C++ example, None where it cannot be called with buffers and sizes."""
    text = re.sub(r"__attribute__\(\(.*?\)\)\)? ", "", sample.text)
    found = re.findall(r"^(void|float) (\w+)\(([^)]*)\) \{", text, re.MULTILINE)
    if not found:
        return None
    returns, name, listed = found[-1]
    parameters = []
    for parameter in re.split(r",\s*", listed.strip()):
        kind, _, label = parameter.rpartition(" ")
        if kind not in ("const float*", "float*", "const uint8_t*", "uint8_t*", "int"):
            return None
        parameters.append((kind, label))
    return Signature(returns, name, tuple(parameters))


def comparison(techniques: Iterable[Technique]) -> str:
    """A program that calls both examples of each page with the same data; a line a page: id, difference, touched.

    The difference is the largest one, over the largest value; touched counts results that are not zero.
    """
    techniques = list(techniques)
    both = [Half(t.id, side, s) for t in techniques for side, s in (("before", t.before), ("after", t.after))]
    lines = [one_file(CPP_PRELUDE, both), '#line 1 "comparison"', "static unsigned seed = 1;"]
    lines += ["static unsigned next() { return (seed = seed * 1664525u + 1013904223u) >> 8; }"]
    for technique in techniques:
        lines += _check(technique, SIZES | SIZES_OF.get(technique.id, {}))
    lines += ["int main() {", *(f"  check_{t.id.replace('-', '_')}();" for t in techniques), "}"]
    return "\n".join(lines) + "\n"


def _check(technique: Technique, sizes: dict[str, int]) -> list[str]:
    """A function that runs one page's pair and prints its line."""
    entry = signature(technique.before)
    assert entry is not None and entry == signature(technique.after), f"{technique.id}: the two entries differ"
    name = technique.id.replace("-", "_")
    lines = [f"static void check_{name}() {{"]
    if "vbmi" in technique.after.text:
        lines.append('  if (!__builtin_cpu_supports("avx512vbmi")) return;')
    for kind, label in entry.parameters:
        element = "uint8_t" if "uint8_t" in kind else "float"
        value = "float(next() % 2001) / 1000 - 1" if element == "float" else "uint8_t(next())"
        if kind == "int":
            lines.append(f"  const int {label} = {sizes[label]};")
        elif kind.startswith("const"):
            lines += [f"  std::vector<{element}> {label}({BUFFER});", f"  for (auto& v : {label}) v = {value};"]
        else:
            lines += [f"  std::vector<{element}> {label}_{side}({BUFFER});" for side in ("before", "after")]
    for side in ("before", "after"):
        own = [_argument(kind, label, side) for kind, label in entry.parameters]
        call = f"{name}_{side}::{entry.name}({', '.join(own)})"
        lines.append(f"  double result_{side} = {call};" if entry.returns == "float" else f"  {call};")
    lines.append("  double worst = 0, largest = 1e-30, touched = 0;")
    for kind, label in entry.parameters:
        if kind in ("float*", "uint8_t*"):
            lines.append(f"  for (int i = 0; i < {BUFFER}; i++) {{")
            lines.append(f"    double a = {label}_before[i], b = {label}_after[i];")
            lines.append("    if (!(std::abs(a - b) <= worst)) worst = std::abs(a - b);")
            lines.append("    largest = std::max(largest, std::abs(a)), touched += a != 0;\n  }")
    if entry.returns == "float":
        lines.append(
            "  worst = std::abs(result_before - result_after), largest = std::abs(result_before), touched = 1;"
        )
    line = f'"{technique.id} %g %g\\n", worst / largest, touched'
    return [*lines, f"  std::printf({line}), std::fflush(stdout);", "}"]


def _argument(kind: str, label: str, side: str) -> str:
    if kind == "int":
        return label
    return f"{label}.data()" if kind.startswith("const") else f"{label}_{side}.data()"
