"""Input families stay inside their domain; fresh content is fresh and valid."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.records import Domain
from kernelwright.toolexec.inputs import FAMILIES, NON_FINITE, InputFacts, Mixer, guess_domain, make_family, nudged

ALWAYS = [f for f in FAMILIES if f != NON_FINITE]
DOMAINS = [Domain(), Domain(low=0.0), Domain(high=1.0), Domain(low=-2.0, high=3.0), Domain(low=5.0, high=6.0)]


def draw_inside(domain: Domain, rng: np.random.Generator) -> np.ndarray:
    low = domain.low if domain.low is not None else (domain.high or 0) - 3
    high = domain.high if domain.high is not None else low + 3
    return rng.uniform(low, high, (7, 11)).astype(np.float32)


@given(seed=st.integers(0, 1000), family=st.sampled_from(ALWAYS), domain=st.sampled_from(DOMAINS))
def test_floats_stay_inside_the_domain(seed, family, domain):
    rng = np.random.default_rng(seed)
    fact = InputFacts("x", "float32", (7, 11), domain)
    made = make_family(family, [draw_inside(domain, rng)], [fact], rng)
    if made is None:  # the domain has no place for it
        assert family in ("denormals", "bounds", "zero-one", "non-finite")
        return
    assert made[0].shape == (7, 11) and made[0].dtype == np.float32
    assert np.isfinite(made[0]).all()
    assert domain.low is None or made[0].min() >= domain.low
    assert domain.high is None or made[0].max() <= domain.high


@given(seed=st.integers(0, 1000), family=st.sampled_from(ALWAYS))
def test_integers_stay_inside_declared_bounds_or_are_permuted(seed, family):
    rng = np.random.default_rng(seed)
    base = rng.integers(3, 9, (6, 5)).astype(np.int64)
    bounded = InputFacts("i", "int64", (6, 5), Domain(low=3, high=8))
    made = make_family(family, [base], [bounded], rng)
    assert made is not None and made[0].min() >= 3 and made[0].max() <= 8 and made[0].dtype == np.int64
    free = InputFacts("i", "int64", (6, 5), Domain())
    permuted = make_family(family, [base], [free], rng)
    assert permuted is not None and sorted(permuted[0].ravel()) == sorted(base.ravel())


def test_inputs_that_may_not_be_invented_are_left_alone():
    base = np.arange(6.0, dtype=np.float32)
    rng = np.random.default_rng(0)
    fact = InputFacts("x", "float32", (6,), Domain(structure="opaque"))
    assert make_family("outlier", [base], [fact], rng) is None
    as_is = make_family("as-is", [base], [fact], rng)
    assert as_is is not None and np.array_equal(as_is[0], base)


def test_nan_and_inf_are_drawn_only_where_a_domain_propagates_them():
    rng = np.random.default_rng(0)
    base = rng.standard_normal((30, 40)).astype(np.float32)
    never = InputFacts("x", "float32", (30, 40), Domain())
    promised = InputFacts("y", "float32", (30, 40), Domain(non_finite="propagate"))
    assert make_family(NON_FINITE, [base], [never], rng) is None
    made = make_family(NON_FINITE, [base, base], [never, promised], rng)
    assert made is not None and np.array_equal(made[0], base)
    assert {str(v) for v in made[1][~np.isfinite(made[1])]} == {"nan", "inf", "-inf"}
    assert np.isfinite(made[1]).mean() > 0.98


def test_a_nudge_moves_the_last_place_and_stays_inside():
    rng = np.random.default_rng(0)
    values = rng.standard_normal(1000).astype(np.float32)
    fact = InputFacts("x", "float32", (1000,), Domain(low=-1.0, high=1.0))
    values = np.clip(values, -1, 1)
    moved = nudged([values], [fact], rng)[0]
    assert (moved != values).any()
    assert np.all(np.abs(moved - values) <= 2.0**-23 * np.abs(values) * 1.51)  # the last half is rounding
    assert np.abs(moved).max() <= 1.0


class TestMixer:
    def mix(self, domain: Domain, draws: int = 3):
        rng = np.random.default_rng(1)
        data = [[rng.standard_normal((8, 4)).astype(np.float32)] for _ in range(draws)]
        mixer = Mixer(data, [InputFacts("x", "float32", (8, 4), domain)], rng)
        out = np.empty((8, 4), np.float32)
        seen = []
        for _ in range(30):
            mixer.fill([out])
            seen.append(out.copy())
        return data, seen

    def test_free_content_is_new_each_time(self):
        data, seen = self.mix(Domain())
        assert len({s.tobytes() for s in seen}) == 30
        values = np.sort(np.abs(np.concatenate([d[0].ravel() for d in data])))
        for v in np.abs(np.concatenate([s.ravel() for s in seen])):
            nearest = values[np.searchsorted(values, v)]  # last bits were cleared: the next larger one
            assert v <= nearest and (nearest - v) < nearest / 4

    @pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
    def test_no_run_of_elements_comes_again(self, dtype):
        rng = np.random.default_rng(2)
        draw = [rng.standard_normal(300_000).astype(dtype)]
        draw[0][::7] = 0
        mixer = Mixer([draw], [InputFacts("x", dtype, (300_000,), Domain())], rng)
        first, second = np.empty(300_000, dtype), np.empty(300_000, dtype)
        mixer.fill([first])
        mixer.fill([second])
        assert (first == 0).sum() > 40_000 and (second == 0).sum() > 40_000  # zeros stay zeros
        runs = {first[i : i + 16].tobytes() for i in range(299_984)}
        assert sum(second[i : i + 16].tobytes() in runs for i in range(0, 299_984, 16)) < 20

    @pytest.mark.parametrize(
        ("dtype", "domain"),
        [
            ("uint8", Domain()),
            ("uint8", Domain(low=10, high=200)),
            ("int8", Domain()),
            ("int32", Domain(low=-(2.0**31), high=2.0**31 - 1)),
            ("int64", Domain(low=-500, high=1000)),
            ("int64", Domain(low=-(2.0**63), high=2.0**63)),
        ],
    )
    def test_no_run_of_integers_comes_again(self, dtype, domain):
        rng, limits = np.random.default_rng(5), np.iinfo(dtype)
        low, high = int(domain.low or limits.min), min(int(domain.high or limits.max), limits.max)
        draw = [rng.integers(low, high, size=50_000, endpoint=True).astype(dtype)]
        mixer = Mixer([draw], [InputFacts("x", dtype, (50_000,), domain)], rng)
        first, second = np.empty(50_000, dtype), np.empty(50_000, dtype)
        mixer.fill([first])
        mixer.fill([second])
        for made in (first, second):
            assert int(made.min()) >= low and int(made.max()) <= high
            assert len(np.unique(made)) >= 0.9 * len(np.unique(draw[0]))  # turned round, none lost
        runs = {first[i : i + 16].tobytes() for i in range(49_984)}
        assert sum(second[i : i + 16].tobytes() in runs for i in range(0, 49_984, 16)) < 20

    def test_labels_and_integers_without_a_domain_keep_their_values(self):
        rng = np.random.default_rng(6)
        for dtype, domain in (("int64", Domain(low=0, high=9)), ("int32", Domain())):
            draw = [rng.integers(0, 10, size=1000).astype(dtype)]
            out = np.empty(1000, dtype)
            Mixer([draw], [InputFacts("x", dtype, (1000,), domain)], rng).fill([out])
            assert set(out.tolist()) <= set(draw[0].tolist())

    def test_content_stays_in_a_domain_without_zero(self):
        rng = np.random.default_rng(3)
        draw = [rng.uniform(1.0, 2.0, 1000).astype(np.float32)]
        mixer = Mixer([draw], [InputFacts("x", "float32", (1000,), Domain(low=1.0, high=2.0))], rng)
        out = np.empty(1000, np.float32)
        for _ in range(20):
            mixer.fill([out])
            assert out.min() >= 1.0

    @pytest.mark.parametrize("structure", ["opaque", "rows"])
    def test_structured_content_is_drawn_anew_where_that_can_be_asked_for(self, structure):
        rng, asked = np.random.default_rng(4), []

        def draw():
            asked.append([np.full((8, 4), len(asked), np.float32)])
            return asked[-1]

        data = [[np.full((8, 4), -1, np.float32)]]
        mixer = Mixer(data, [InputFacts("x", "float32", (8, 4), Domain(structure=structure))], rng, draw)
        out = np.empty((8, 4), np.float32)
        for turn in range(5):
            mixer.fill([out])
            assert (out == turn).all()

    def test_rows_are_exchanged_whole_and_stay_in_their_place(self):
        data, seen = self.mix(Domain(structure="rows"))
        for result in seen:
            for row in range(8):
                assert any(np.array_equal(result[row], d[0][row]) for d in data)
        assert len({s.tobytes() for s in seen}) > 10

    def test_opaque_content_is_one_of_the_draws(self):
        data, seen = self.mix(Domain(structure="opaque"))
        assert all(any(np.array_equal(s, d[0]) for d in data) for s in seen)

    def test_rows_of_several_inputs_are_exchanged_together(self):
        rng = np.random.default_rng(0)
        draws = []
        for k in range(2):
            keys = (np.arange(16) + 100 * k).astype(np.int64)
            draws.append([keys.reshape(16, 1), keys.copy()])
        rows = Domain(structure="rows")
        facts = [InputFacts("a", "int64", (16, 1), rows), InputFacts("b", "int64", (16,), rows)]
        out = [np.empty((16, 1), np.int64), np.empty(16, np.int64)]
        for _ in range(20):
            Mixer(draws, facts, rng).fill(out)
            assert np.array_equal(out[0][:, 0], out[1])


@pytest.mark.parametrize(
    ("make", "dtype", "structure"),
    [
        (lambda rng: rng.standard_normal((9, 9)).astype(np.float32), "float32", "free"),
        (lambda rng: np.triu(rng.standard_normal((9, 9))).astype(np.float32), "float32", "opaque"),
        (lambda rng: np.ones((9, 9), np.float32), "float32", "opaque"),
        (lambda rng: rng.integers(0, 5, (9,)), "int64", "rows"),
        (lambda rng: rng.random((9, 9)) < 0.5, "bool", "opaque"),
        (lambda rng: np.empty((0, 9), np.float32), "float32", "free"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_undeclared_domains_are_guessed_with_care(make, dtype, structure):
    rng = np.random.default_rng(0)
    assert guess_domain([make(rng) for _ in range(3)], dtype).structure == structure


WIDE = InputFacts("x", "float32", (40, 50), Domain())


def family_of(name: str, fact: InputFacts = WIDE) -> np.ndarray | None:
    rng = np.random.default_rng(0)
    base = rng.standard_normal(fact.shape).astype(np.float32)
    made = make_family(name, [base], [fact], rng)
    return None if made is None else made[0]


def test_every_family_says_what_it_is():
    signs = family_of("alternating").reshape(-1)
    assert (np.sign(signs[::2]) == 1).all() and (np.sign(signs[1::2]) == -1).all()
    tiny = np.abs(family_of("denormals"))
    assert 0.05 < ((tiny > 0) & (tiny < 2.0**-126)).mean() < 0.25
    assert set(np.unique(family_of("zero-one"))) == {0.0, 1.0}
    assert np.abs(family_of("outlier")).max() > 20


def test_bounds_are_reached_where_they_are_declared_and_nothing_else_is_huge():
    bounded = InputFacts("x", "float32", (40, 50), Domain(low=-1e6, high=1e6))
    values = family_of("bounds", bounded)
    assert values.max() == 1e6 and values.min() == -1e6
    assert family_of("bounds") is None
    assert family_of("zero-one", InputFacts("x", "float32", (4, 5), Domain(low=2.0))) is None


@pytest.mark.parametrize("ulps", [4.0, -4.0, 0.0])
def test_a_wider_nudge_moves_four_places(ulps):
    rng = np.random.default_rng(0)
    values = rng.uniform(1.0, 1.9, 1000).astype(np.float32)
    moved = nudged([values], [InputFacts("x", "float32", (1000,), Domain())], rng, ulps=ulps)[0]
    steps = (moved.astype(np.float64) - values) / 2.0**-23
    assert (np.abs(steps) >= 4).all() and (np.abs(steps) <= 8).all()
    assert (np.sign(steps) == np.sign(ulps)).all() if ulps else set(np.sign(steps)) == {-1.0, 1.0}
