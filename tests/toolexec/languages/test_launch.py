"""Launches as data: what lines mean at stated shapes, and what is refused with which words."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.toolexec.languages import launch
from kernelwright.toolexec.languages.launch import Argument, Borders, LaunchError, Refused, parse_plan
from kernelwright.toolexec.languages.launch_expressions import evaluate

TEXT = """
// language: cute
// architectures: sm_80, sm_90a    (elsewhere it does not compile)
// axes: M = in0[0], K = in0[-1], N = param0[1], tiles = cdiv(M, TILE) * cdiv(N, TILE)
// require: K % 4 == 0, N >= TILE
// scratch: partial = float16[M * N]
// launch: gemm grid(tiles, 2) block(TILE, 4)
//     shared(4 * TILE * max(K, 8)) args(in0, param0, partial, M, int64(K), scalar0, scalar1)
// launch: finish grid(cdiv(numel(out0), 256)) block(256) args(partial, out0, float(N), double(scalar0))
extern "C" __global__ void gemm();   // launch: not this one
"""
BORDERS = Borders(inputs=((96, 32),), parameters=((32, 48), (48,)), outputs=((96, 48),), scalars=(0.5, 3))


def bound(text=TEXT, borders=BORDERS, **tunables):
    return parse_plan(text).bind(borders, {"TILE": 16} | tunables)


def test_lines_become_grids_blocks_memory_and_arguments():
    plan = parse_plan(TEXT)
    assert (plan.language, plan.architectures) == ("cute", ("sm_80", "sm_90a"))
    made = plan.bind(BORDERS, {"TILE": 16})
    gemm, finish = made.launches
    assert (gemm.kernel, gemm.grid, gemm.block, gemm.shared_bytes) == ("gemm", (18, 2, 1), (16, 4, 1), 2048)
    assert gemm.args == (
        Argument("in", 0), Argument("in", 1), Argument("scratch", "partial"), Argument("int", 96),
        Argument("int64", 32), Argument("float", 0.5), Argument("int", 3),
    )  # fmt: skip
    assert [a.size for a in gemm.args] == [8, 8, 8, 4, 8, 4, 4]
    assert finish.grid == (18, 1, 1) and finish.args[2:] == (Argument("float", 48.0), Argument("double", 0.5))
    assert made.scratch_bytes == {"partial": 96 * 48 * 2}


def test_another_shape_or_tunable_gives_other_launches():
    assert bound(TILE=32).launches[0].grid == (6, 2, 1)
    wider = Borders(((96, 64),), ((64, 480), (48,)), ((96, 480),), (0.5, 3))
    assert bound(borders=wider).launches[0].shared_bytes == 4096


def test_a_shape_it_is_not_for_is_refused_with_the_numbers():
    with pytest.raises(Refused, match=r"K % 4 == 0 does not hold \(K = 30\)"):
        bound(borders=Borders(((96, 30),), ((30, 48), (48,)), ((96, 48),), (0.5, 3)))


def test_a_dtype_that_the_kernels_do_not_read_is_refused():
    dtypes = "// dtypes: in0 = float16, param1 = float32, out0 = bfloat16"
    plan = parse_plan(f"// axes: M = in0[0]\n{dtypes}\n// launch: k grid(M) block(1)")
    shapes = (BORDERS.inputs, BORDERS.parameters, BORDERS.outputs, ())
    told = ("float16", "float16", "float32", "bfloat16")
    assert plan.bind(Borders(*shapes, told)).launches[0].grid == (96, 1, 1)
    assert plan.bind(Borders(*shapes)).launches, "where dtypes are not known nothing is refused"
    with pytest.raises(Refused, match="out0 is float32, and the kernel reads it as bfloat16"):
        plan.bind(Borders(*shapes, ("float16", "float16", "float32", "float32")))
    with pytest.raises(LaunchError, match="in9"):
        parse_plan("// dtypes: in9 = float32").bind(BORDERS)


def test_lines_without_args_only_describe():
    made = parse_plan("// launch: _Z4gemmPf grid(4) block(128) shared(100 * 1024) cluster(2)").bind(BORDERS)
    assert made.launches[0].args is None and made.launches[0].cluster == (2, 1, 1)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("launch: k grid(4)", "block"),
        ("launch: k grid(4) block(1) blok(2)", "none of grid"),
        ("launch: k grid(4 block(1)", "stays open"),
        ("launch: k grid(1) grid(1) block(1)", "given twice"),
        ("launch: k grid(1, 1, 1, 1) block(1)", "1 to 3 sizes"),
        ("axes: M in0[0]", "NAME = expression"),
        ("scratch: p = float8[3]", "dtype"),
        ("dtypes: in0 = half", "names none of"),
        ("dtypes: in0", "NAME = expression"),
    ],
)
def test_lines_that_cannot_be_understood_are_quoted(line, words):
    with pytest.raises(LaunchError, match=words):
        parse_plan(f"// {line}")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("grid(UNKNOWN) block(1)", "not known here"),
        ("grid(in7[0]) block(1)", "in7"),
        ("grid(in0[5]) block(1)", "its shape is"),
        ("grid(1 // 0) block(1)", "division by zero"),
        ("grid(0) block(1)", "not within 1"),
        ("grid(1) block(2048)", "not within 1"),
        ("grid(1) block(64, 64)", "more than 1024 threads"),
        ("grid(1) block(1) shared(-4)", "negative"),
        ("grid(1) block(1) args(in0[0] * 2 ** 40)", "not allowed"),
        ("grid(1) block(1) args(1 << 40)", "not allowed"),
        ("grid(1) block(1) args(5000000000)", "int64"),
        ("grid(1) block(1) args(99999999999 * 99999999999)", "64 bits"),
        ("grid(__import__('os').getpid()) block(1)", "not allowed"),
        ("grid((lambda: 1)()) block(1)", "not allowed"),
        ("grid([1][0]) block(1)", "not allowed"),
        ("grid('1') block(1)", "not allowed"),
    ],
)
def test_sizes_that_no_gpu_takes_and_code_are_refused(line, words):
    with pytest.raises(LaunchError, match=words):
        parse_plan(f"// launch: k {line}").bind(BORDERS)


def test_deep_and_long_expressions_end_in_words():
    for text in ("(" * 150 + "1" + ")" * 150, "1+" * 300 + "1", "-" * 350 + "1"):
        with pytest.raises(LaunchError):
            parse_plan(f"// launch: k grid({text}) block(UNKNOWN)").bind(BORDERS)


@given(st.integers(-1000, 1000), st.integers(1, 1000), st.sampled_from(["+", "-", "*", "//", "%", "<", ">=", "=="]))
def test_arithmetic_is_pythons(a, b, operator):
    known = {"a": a, "b": b}
    assert evaluate(f"a {operator} b", BORDERS, known) == eval(f"a {operator} b", {}, known)
    assert evaluate("cdiv(a, b)", BORDERS, known) == -(-a // b)
    assert evaluate("max(a, min(b, 7), 0 - a)", BORDERS, known) == max(a, min(b, 7), -a)


def test_the_readmes_own_example_is_one():
    text = (Path(launch.__file__).parent / "README.md").read_text(encoding="utf-8")
    example = text.partition("```cuda\n")[2].partition("```")[0]
    plan = parse_plan(example)
    assert plan.language == "cuda" and plan.architectures == ("sm_80", "sm_90a")
    borders = Borders(((128, 64), (64, 256)), (), ((128,),), (0.5,))
    made = plan.bind(borders, {"TILE": 16})
    assert [(n.kernel, n.grid) for n in made.launches] == [("gemm", (16, 8, 1)), ("finish", (1, 1, 1))]
    assert made.scratch_bytes == {"partial": 128 * 4 * 4}
