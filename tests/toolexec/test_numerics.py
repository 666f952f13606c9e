"""When is a result right: what must pass, what must fail, what the message says."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.records import TolerancePolicy
from kernelwright.toolexec.numerics import (
    Closeness,
    Expected,
    allowed_rms,
    compare,
    longest_run,
    rms_floor,
    sum_floor,
)
from kernelwright.toolexec.precision import as_float, narrow, root_mean_square, widen

POLICY = TolerancePolicy()
SHAPE = (37, 53)


def case(seed: int = 0, scale: float = 1.0, dtype: str = "float32") -> Expected:
    exact = np.random.default_rng(seed).standard_normal(SHAPE) * scale
    return Expected.of(exact, narrow(exact, dtype), dtype)


def fails(got: np.ndarray, expected: Expected) -> str:
    """The check that failed; "" when it passed."""
    problem = compare(got, expected, POLICY).problem
    return problem.check if problem else ""


@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-20, 1e-6, 1.0, 1e4, 1e15]))
def test_an_honest_result_passes_at_any_scale(seed, scale):
    expected = case(seed, scale)
    noise = np.random.default_rng(seed + 1).uniform(-1e-6, 1e-6, SHAPE)  # a fast exp is off by about 1e-6
    got = (expected.exact * (1 + noise)).astype(np.float32)
    result = compare(got, expected, POLICY)
    assert result.problem is None
    assert 0 < result.error_rms < result.allowed_rms


@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-20, 1e-6, 1.0, 1e4, 1e15]))
def test_the_next_lower_precision_fails_at_any_scale(seed, scale):
    expected = case(seed, scale)
    assert fails(widen(narrow(expected.exact, "bfloat16"), "bfloat16").astype(np.float32), expected)
    if 1e-4 < scale < 1e4:
        assert fails(expected.exact.astype(np.float16).astype(np.float32), expected)


@given(seed=st.integers(0, 10_000), row=st.integers(0, SHAPE[0] - 1), column=st.integers(0, SHAPE[1] - 1))
def test_one_wrong_element_is_found_and_named(seed, row, column):
    expected = case(seed)
    got = expected.exact.astype(np.float32)
    got[row, column] += 0.01
    problem = compare(got, expected, POLICY).problem
    assert problem is not None
    assert problem.index == (row, column)
    assert problem.got == pytest.approx(float(got[row, column]))
    assert problem.expected == pytest.approx(float(expected.exact[row, column]))
    assert f"[{row}, {column}]" in problem.message


@pytest.mark.parametrize("wrong", ["zeros", "mean", "negated", "shifted"])
def test_nonsense_fails(wrong):
    expected = case()
    exact = expected.exact.astype(np.float32)
    results = {
        "zeros": np.zeros_like(exact),
        "mean": np.full_like(exact, exact.mean()),
        "negated": -exact,
        "shifted": np.roll(exact, 1, axis=1),
    }
    assert fails(results[wrong], expected) == "values"


def test_a_block_of_small_errors_fails_where_the_same_errors_scattered_pass():
    values = np.random.default_rng(0).uniform(-1, 1, (100, 100))
    expected = Expected.of(values, values.astype(np.float32), "float32")
    exact = values.astype(np.float32)
    shift = np.float32(6e-5)
    block = exact.copy()
    block.reshape(-1)[100:140] += shift
    scattered = exact.copy()
    scattered.reshape(-1)[np.arange(40) * 247] += shift
    assert fails(block, expected) == "block"
    assert fails(scattered, expected) == ""


def test_the_references_own_error_widens_what_is_allowed():
    exact = np.random.default_rng(0).standard_normal(SHAPE)
    off = 1e-4 * np.random.default_rng(1).standard_normal(SHAPE)
    coarse = Expected.of(exact, (exact + off).astype(np.float32), "float32")
    assert coarse.own_rms == pytest.approx(1e-4, rel=0.1)
    assert allowed_rms(coarse, POLICY) == pytest.approx(4 * coarse.own_rms)
    assert fails((exact - 2 * off).astype(np.float32), coarse) == ""
    assert not coarse.usable


def softmax_by_a_plain_loop(terms: int, seed: int) -> tuple[np.ndarray, Expected]:
    """Rows where few terms are large and thousands are small, as in the judge's input families; float32 throughout."""
    rng = np.random.default_rng(seed)
    x = rng.standard_t(3, size=(32, terms)).astype(np.float32)
    powers = np.exp(x - x.max(1, keepdims=True))
    loop = np.add.accumulate(powers, axis=1, dtype=np.float32)[:, -1:]
    exact = np.exp(np.float64(x) - np.float64(x).max(1, keepdims=True))
    exact /= exact.sum(1, keepdims=True)
    return powers / loop, Expected.of(exact, powers / powers.sum(1, keepdims=True), "float32", terms)


@pytest.mark.parametrize("terms", [2048, 8192, 16384])
def test_a_plain_loop_over_thousands_of_terms_passes(terms):
    worst = 0.0
    for seed in range(40):
        got, expected = softmax_by_a_plain_loop(terms, seed)
        result = compare(got, expected, POLICY)
        assert result.problem is None, result.problem.message
        worst = max(worst, result.error_rms)
    assert worst > allowed_rms(expected, POLICY) / 8, "a bound far above what happens would tell nothing"
    alike = replace(case(), terms=terms)
    assert compare(narrow_and_back(alike.exact, 11), alike, POLICY).problem is not None, "TF32 has eleven bits"


def narrow_and_back(values: np.ndarray, bits: int) -> np.ndarray:
    """float32 with a mantissa of so many bits."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.rint(mantissa * 2**bits) / 2**bits, exponent).astype(np.float32)


def test_only_long_sums_widen_the_floor_and_not_without_end():
    def floor(terms: int, policy: TolerancePolicy = POLICY) -> float:
        return allowed_rms(replace(case(), own_rms=0.0, terms=terms), policy)

    assert floor(0) == floor(1342) == 1e-5
    assert floor(8192) == pytest.approx(6.1e-5, rel=0.01)
    assert floor(10**5) == floor(10**9) == 1e-4
    assert floor(10**9, TolerancePolicy(rms_floor=2e-6)) == 2e-6, "what a task states is meant"
    low = [replace(case(dtype=dtype), terms=10**9) for dtype in ("float16", "bfloat16")]
    assert [sum_floor(e, POLICY) for e in low] == [0.0, 0.0], "they round more than any sum"


def test_rounding_of_the_inputs_widens_what_is_allowed():
    expected = case()
    moved = expected.exact * (1 + 3e-5)
    assert expected.with_movement(moved).own_rms == pytest.approx(3e-5, rel=0.01)
    assert expected.with_movement(expected.exact).own_rms == expected.own_rms


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_finite_must_stay_finite(bad):
    expected = case()
    got = expected.exact.astype(np.float32)
    got[3, 4] = bad
    problem = compare(got, expected, POLICY).problem
    assert problem is not None
    assert (problem.check, problem.index) == ("finite", (3, 4))


def test_nan_and_inf_keep_their_places_and_signs():
    exact = np.random.default_rng(0).standard_normal(SHAPE)
    exact[0, 0], exact[1, 1], exact[2, 2] = np.nan, np.inf, -np.inf
    expected = Expected.of(exact, exact.astype(np.float32), "float32")
    right = exact.astype(np.float32)
    assert compare(right, expected, POLICY, propagate=True).problem is None
    for index, value in (((0, 0), 0.0), ((1, 1), -np.inf), ((2, 2), np.nan), ((0, 0), np.inf)):
        got = right.copy()
        got[index] = value
        problem = compare(got, expected, POLICY, propagate=True).problem
        assert problem is not None and problem.index == index
    assert not expected.usable


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "bool"])
def test_integers_are_exact(dtype):
    right = np.random.default_rng(0).integers(0, 2, SHAPE).astype(dtype)
    expected = Expected.of(right, right, dtype)
    assert compare(right.copy(), expected, POLICY).problem is None
    got = right.copy()
    got[5, 6] = 1 - got[5, 6]
    problem = compare(got, expected, POLICY).problem
    assert problem is not None
    assert (problem.check, problem.index) == ("exact", (5, 6))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_precisions_pass_their_own_rounding_and_no_more(dtype):
    expected = case(dtype=dtype)
    assert fails(narrow(expected.exact, dtype), expected) == ""
    assert fails(narrow(expected.exact * 1.2, dtype), expected)
    assert rms_floor("float16", POLICY) < 2e-3
    assert rms_floor("bfloat16", POLICY) < 1e-2


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=50))
def test_bfloat16_keeps_eight_bits_and_is_stable(values):
    array = np.array(values, dtype=np.float32)
    once = as_float(narrow(array, "bfloat16"), "bfloat16")
    assert np.array_equal(as_float(narrow(once, "bfloat16"), "bfloat16"), once)
    finite = np.isfinite(once) & (np.abs(array) > 1e-37)
    assert np.all(np.abs(once[finite] - array[finite]) <= 2.0**-8 * np.abs(array[finite]))


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_rms_neither_overflows_nor_vanishes(scale):
    assert root_mean_square(np.full(10, scale)) == pytest.approx(scale)


@given(st.lists(st.booleans(), max_size=40))
def test_longest_run(flags):
    longest = max((len(part) for part in "".join("x" if f else " " for f in flags).split()), default=0)
    assert longest_run(np.array(flags, dtype=bool)) == longest


def test_closeness_holds_for_two_right_results_and_not_for_a_wrong_one():
    expected = case()
    right = expected.exact.astype(np.float32)
    other = (expected.exact * (1 + 3e-6)).astype(np.float32)
    close = Closeness.of(expected, POLICY)
    assert close.holds(right, other)
    wrong = right.copy()
    wrong[0, 0] += 0.01
    assert not close.holds(wrong, other)
    wrong[0, 0] = np.nan
    assert not close.holds(wrong, other)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
def test_a_scalar_is_judged_like_any_result(dtype):
    exact = np.array(3.0) if dtype != "int64" else np.array(3)
    right = narrow(exact, dtype) if dtype != "int64" else exact
    assert right.shape == ()
    expected = Expected.of(exact, right, dtype)
    assert compare(right, expected, POLICY).problem is None
    wrong = narrow(np.array(4.0), dtype) if dtype != "int64" else np.array(4)
    problem = compare(wrong, expected, POLICY).problem
    assert problem is not None and problem.index == ()
    assert "the scalar" in problem.message


def test_an_empty_result_passes():
    empty = np.zeros((0, 4))
    assert compare(empty.astype(np.float32), Expected.of(empty, empty.astype(np.float32), "float32"), POLICY)


DTYPES = ("float32", "float16", "bfloat16")
LOWER = {"float64": "float32", "float32": "bfloat16"}
shapes = st.sampled_from([(1999,), (37, 53), (3, 5, 7, 19), (1, 2048)])


def values_of(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """float64 results as kernels have them."""
    if kind == "softmax":
        raised = np.exp(rng.standard_normal(shape))
        return raised / raised.sum(axis=-1, keepdims=True)
    if kind == "relu":
        return np.maximum(rng.standard_normal(shape), 0.0)
    if kind == "heavy":
        return rng.standard_t(3, shape)
    return 100.0 + rng.standard_normal(shape)


kinds = st.sampled_from(["softmax", "relu", "heavy", "offset"])


@given(seed=st.integers(0, 10_000), shape=shapes, kind=kinds, dtype=st.sampled_from(DTYPES), part=st.floats(0.05, 0.9))
def test_perturbations_below_the_tolerance_pass(seed, shape, kind, dtype, part):
    rng = np.random.default_rng(seed)
    exact = widen(narrow(values_of(kind, shape, rng), dtype), dtype)
    expected = Expected.of(exact, narrow(exact, dtype), dtype)
    room = 1.0 if dtype == "float32" else 0.5  # rounding to the dtype itself comes on top
    size = room * part * allowed_rms(expected, POLICY) * expected.rms
    noise = rng.standard_normal(shape)
    noise *= size / root_mean_square(noise)
    got = exact + np.clip(noise, -3 * size, 3 * size)
    assert fails(narrow(got, dtype), expected) == ""


@given(seed=st.integers(0, 10_000), shape=shapes, kind=kinds, dtype=st.sampled_from(DTYPES))
def test_noise_of_one_unit_in_the_last_place_passes(seed, shape, kind, dtype):
    rng = np.random.default_rng(seed)
    exact = values_of(kind, shape, rng)
    expected = Expected.of(exact, narrow(exact, dtype), dtype)
    carrier = narrow(exact, dtype)
    whole = carrier.view({2: np.int16, 4: np.int32}[carrier.itemsize]).copy()
    whole += np.where(exact != 0, rng.integers(-1, 2, shape), 0).astype(whole.dtype)
    assert fails(whole.view(carrier.dtype), expected) == ""


@given(seed=st.integers(0, 10_000), shape=shapes, kind=st.sampled_from(["softmax", "relu", "heavy"]),
       dtype=st.sampled_from(["float64", "float32"]))  # fmt: skip
def test_the_next_lower_precision_fails_for_every_kind(seed, shape, kind, dtype):
    exact = values_of(kind, shape, np.random.default_rng(seed))
    expected = Expected.of(exact, narrow(exact, dtype), dtype)
    low = LOWER[dtype]
    assert fails(narrow(widen(narrow(exact, low), low), dtype), expected)


@given(seed=st.integers(0, 10_000), shape=shapes, kind=kinds, dtype=st.sampled_from(DTYPES), data=st.data())
def test_one_wrong_element_fails_anywhere(seed, shape, kind, dtype, data):
    exact = widen(narrow(values_of(kind, shape, np.random.default_rng(seed)), dtype), dtype)
    expected = Expected.of(exact, narrow(exact, dtype), dtype)
    place = data.draw(st.integers(0, exact.size - 1) | st.sampled_from([0, exact.size - 1]))
    got = exact.copy()
    got.reshape(-1)[place] += expected.rms * data.draw(st.sampled_from([-0.5, 0.5, 3.0]))
    problem = compare(narrow(got, dtype), expected, POLICY).problem
    assert problem is not None
    assert problem.index == tuple(int(i) for i in np.unravel_index(place, shape))


@pytest.mark.parametrize(("dtype", "small", "large"), [("float32", 1e-6, 1e-4), ("float16", 2e-4, 1e-2),
                                                       ("bfloat16", 2e-3, 5e-2)])  # fmt: skip
def test_every_precision_has_bounds_of_its_own(dtype, small, large):
    rng = np.random.default_rng(0)
    exact = rng.standard_normal(SHAPE)
    expected = Expected.of(exact, narrow(exact, dtype), dtype)
    signs = rng.choice([-1.0, 1.0], SHAPE)
    assert fails(narrow(exact * (1 + small * signs), dtype), expected) == ""
    assert fails(narrow(exact * (1 + large * signs), dtype), expected)


@given(seed=st.integers(0, 10_000), data=st.data())
def test_quantised_results_may_be_off_by_one_on_a_rounding_edge_only(seed, data):
    rng = np.random.default_rng(seed)
    scaled = rng.uniform(0, 250, SHAPE)
    edge = rng.random(SHAPE) < 0.05
    scaled[edge] = np.floor(scaled[edge]) + 0.5 - 1e-9
    right = np.rint(scaled).astype(np.uint8)
    expected = Expected.of(right, right, "uint8").with_movement(np.rint(scaled + 2e-9).astype(np.uint8))
    other = right.copy()
    up = edge & (np.rint(scaled + 2e-9) != right)
    other[up] += 1
    assert compare(other, expected, POLICY).problem is None
    flat = data.draw(st.integers(0, right.size - 1))
    place = np.unravel_index(flat, SHAPE)
    wrong = right.copy()
    wrong[place] += 2 if up[place] else 1
    problem = compare(wrong, expected, POLICY).problem
    assert problem is not None and problem.index == tuple(int(i) for i in place)


def test_bools_have_no_rounding_edges():
    right = np.array([True, False, True])
    moved = np.array([True, True, True])
    expected = Expected.of(right, right, "bool").with_movement(moved)
    assert compare(moved, expected, POLICY).problem is not None
