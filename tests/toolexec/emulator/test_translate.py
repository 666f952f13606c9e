"""CUDA's syntax becomes C++ on the same lines; what cannot be emulated is named."""

from __future__ import annotations

import pytest

from kernelwright.toolexec.emulator.build import cannot_run, lacking_header
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
        ("#include <cuda/semaphore>", "libcu++"),
        ("cg::cluster_group g;", "clusters"),
        ("auto tma = make_tma_copy(SM90_TMA_LOAD{}, tensor, layout);", "TMA"),
        ("warpgroup_arrive();", "wgmma"),
        ("__nv_fp8_e4m3 x(1.0f);", "floats of 8 bits"),
        ("attribute.id = cudaLaunchAttributeClusterDimension;", "clusters"),
        ("auto mma = make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{});", "sm_90"),
        ("auto mma = SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 64>{};", "sm_90"),
        ("__shared__ cutlass::arch::ClusterTransactionBarrier full;", "mbarriers"),
        ('#include "kittens.cuh"', "ThunderKittens"),
    ],
)
def test_what_cannot_be_emulated_is_named(text: str, name: str) -> None:
    assert name in cannot_run({"k.cu": "// first line\n" + text}) and "line 2" in cannot_run({"k.cu": "\n" + text})
    assert cannot_run({"k.cu": f"// {text}\n/* {text} */ int x;"}) == ""


@pytest.mark.parametrize(
    "said",
    [
        "b:15:3: error: static assertion failed: the emulator has barriers of a block",
        "b:15:3: error: static assertion failed due to requirement 'a::b == c': the emulator has barriers of a block",
    ],
)
def test_a_form_that_the_emulator_lacks_is_told_from_a_mistake(said: str) -> None:
    assert lacking_header(f"{said}\n 15 |\n", {}) == "the emulator has barriers of a block"
    assert lacking_header("k.cu:3:3: error: static assertion failed: rows of 32", {}) == ""


@pytest.mark.parametrize(
    "said",
    [
        "k.cu:1:10: fatal error: nvshmem.h: No such file or directory",
        "k.cu:1:10: fatal error: 'nvshmem.h' file not found",
    ],
)
def test_a_header_that_the_emulator_lacks_is_named_with_either_compiler(said: str) -> None:
    assert lacking_header(said, {"k.cu": "#include <nvshmem.h>"}) == "the emulator has no header <nvshmem.h> (k.cu:1)"
    assert lacking_header(said, {"k.cu": '#include "nvshmem.h"'}) == ""


def test_dynamic_shared_memory_outside_functions_is_an_array_where_it_is_used() -> None:
    text = "\n".join(
        [
            "extern __shared__ __align__(16) double pool[];",
            "__device__ float* at(int i) { return (float*)pool + i; }",
            "__global__ void k(double* out) { out[0] = 2 * pool[1] + *pool; s.pool = 1; }",
        ]
    )
    made = translate(text, "k.cu").splitlines()
    assert "(float*)kwemu::dynamic_shared<kwemu_t_pool>() + i" in made[1]
    assert "2 * kwemu::dynamic_shared<kwemu_t_pool>()[1] + *kwemu::dynamic_shared<kwemu_t_pool>()" in made[2]
    assert "s.pool = 1" in made[2]


@pytest.mark.parametrize("shadow", ["float* pool", "const T& pool", "int pool"])
def test_a_name_that_is_declared_again_is_left_alone(shadow: str) -> None:
    made = translate(f"extern __shared__ float pool[];\nvoid f({shadow}) {{ pool[0] = 1; }}", "k.cu")
    assert made.splitlines()[1] == f"void f({shadow}) {{ pool[0] = 1; }}"


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("(const void*)k, g", "(const void*)kwemu::kernel(k), g"),
        ("(void *) k<float, (1 > 0)>, g", "(void *) kwemu::kernel(k<float, (1 > 0)>), g"),
        ("reinterpret_cast<const void*>(&k)", "reinterpret_cast<const void*>(kwemu::kernel(&k))"),
        ("(const void*)other", "(const void*)other"),
    ],
)
def test_a_kernel_that_becomes_a_pointer_is_remembered(text: str, made: str) -> None:
    head = "template <class T, bool B> __global__ void __launch_bounds__(64) k(T* p) {}\n"
    assert translate(f"{head}void h() {{ f({text}); }}", "k.cu").splitlines()[1] == f"void h() {{ f({made}); }}"


def test_members_of_a_launch_configuration_are_no_threads_variables() -> None:
    made = translate(
        "void h() { c.gridDim = dim3(2); p->blockDim.x = 4; k<<<c.gridDim, 1>>>(); n = gridDim.x; }", "k.cu"
    )
    assert "c.kwemu_gridDim = dim3(2); p->kwemu_blockDim.x = 4;" in made
    assert "c.kwemu_gridDim, 1)" in made and "n = gridDim.x;" in made


def test_shared_memory_is_asked_for_by_the_kernels_name() -> None:
    made = translate("void h() { cudaFuncSetAttribute((const void*)n::k<4, 5>, attribute, 1 << 16); }", "k.cu")
    assert 'kwemu::function_attribute("n::k", (const void*)n::k<4, 5>, attribute' in made


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("__device__ float a[4];", "static kwemu::Apart<kwemu_t_a, 0> kwemu_v_a;"),
        ("static __constant__ int n = -1;", "kwemu_v_n = {{}, static_cast<kwemu_t_n>(-1), {}};"),
        ("__device__ __align__(16) float a[2] = {1, 2}, b[2];", "Apart<kwemu_t_a, 16> kwemu_v_a = {{}, {1, 2}, {}};"),
        ("namespace n { __device__ cuda::atomic<int, scope> turn{0}; }", "kwemu_v_turn = {{}, {0}, {}};"),
        ("/* c */ __device__ volatile int* p = nullptr;  // end", "typedef volatile int * kwemu_t_p ;"),
    ],
)
def test_device_variables_get_room_around_them(text: str, made: str) -> None:
    found = translate(f"\n{text}", "k.cu").splitlines()
    assert len(found) == 2 and made in found[1], found


@pytest.mark.parametrize(
    "text",
    [
        "__device__ const float a[2] = {1, 2};",
        "constexpr __device__ int n = 4;",
        "__device__ float f(float x) { return x; }",
        "__device__ float g(float);",
        "extern __device__ int n;",
        "struct S { static __device__ int n; __device__ int f() const; };",
        "template <class T> __device__ T zero = 0;",
        "__device__ struct { int a; } s;",
        "__device__ float unsized[] = {1, 2};",
        "__device__ int n = sizeof(A<int, 2>);",
        "#define DEVICE __device__ int",
        "auto f = [] __device__ (float x) { return x; };",
    ],
)
def test_what_is_no_such_variable_is_left_alone(text: str) -> None:
    assert translate(text, "k.cu") == text
