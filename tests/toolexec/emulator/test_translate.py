"""CUDA's syntax becomes C++ on the same lines; what cannot be emulated is named."""

from __future__ import annotations

import pytest

from kernelwright.toolexec.emulator.build import cannot_run
from kernelwright.toolexec.emulator.translate import Untranslatable, translate


def test_lines_stay() -> None:
    text = "\n".join(
        [
            "template <int N>",
            "__global__ void k(float* p) {",
            "  __shared__ float a[N]",
            "    [2], b;",
            "  extern __shared__ int c[];",
            "}",
            "void h(float* p, dim3 g) {",
            "  k<4>",
            "    <<<g, dim3(32, 2),",
            "      0>>>(p);",
            "  /* k<<<1, 1>>>(p) */ // __shared__",
            "}",
        ]
    )
    made = translate(text, "k.cu")
    assert made.count("\n") == text.count("\n")
    assert made.splitlines()[10] == text.splitlines()[10]
    assert "<<<" not in "".join(made.splitlines()[:10])
    assert 'kwemu::shared<kwemu_t_a>("a"' in made and "kwemu_dynamic_shared()" in made


def test_the_arguments_are_kept_whole() -> None:
    made = translate(
        'void h() { ns::k<(a < b), int><<<f(1, 2), {3, 4}>>>(g("x, y"), [](int a, int b) { return a; }); }', "k.cu"
    )
    assert 'g("x, y"), [](int a, int b) { return a; })' in made
    assert "ns::k<(a < b), int>(kwemu_a...)" in made


def test_a_declaration_outside_functions_is_refused() -> None:
    with pytest.raises(Untranslatable, match=r"k.cu:2: .*outside a function"):
        translate("\n__shared__ float a[4];", "k.cu")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('asm volatile("wgmma.fence.sync.aligned;");', "wgmma"),
        ('asm("cp.async.bulk.tensor.2d" ::);', "TMA"),
        ('asm("tcgen05.alloc" ::);', "tcgen05"),
        ("#include <mma.h>", "wmma"),
        ("cg::cluster_group g;", "clusters"),
    ],
)
def test_what_cannot_be_emulated_is_named(text: str, name: str) -> None:
    assert name in cannot_run({"k.cu": "// first line\n" + text}) and "line 2" in cannot_run({"k.cu": "\n" + text})
    assert cannot_run({"k.cu": f"// {text}\n/* {text} */ int x;"}) == ""
