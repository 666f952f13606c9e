"""The table from ATen operators to pipelines: each translation gives what torch gives, on random data."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from search.references import Lambda, facts_of, run_pipeline
from search.schedules import directives_of
from torch import nn

from kernelwright.records import TaskFacts
from kernelwright.records.pipeline import Pipeline, check_expression
from kernelwright.search.lowering import TRANSLATIONS, LoweringError, lower
from kernelwright.search.schedule_space import PipelineSpace, pipelines_of


def draw(*shape, seed=0, scale=1.0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale


def check(module, *arguments, rms=2e-6):
    """Lower, compile without a schedule, compare with torch in float64 and in dtype and shape."""
    module = module if isinstance(module, nn.Module) else Lambda(module)
    facts = facts_of(module, arguments)
    assert not facts.export_error
    pipeline = lower(facts)
    assert Pipeline.model_validate(pipeline.model_dump(mode="json")) == pipeline
    for func in pipeline.funcs:
        check_expression(func.value)
    shapes = [a.shape for a in facts.of_kind("output")]
    with torch.no_grad():
        results = run_pipeline(pipeline, [], arguments, module, shapes=shapes)
        wanted = module(*arguments)
        exact = module.double()(*[a.double() if a.is_floating_point() else a for a in arguments])
    for got, want, truth in zip(results, *[_tuple(w) for w in (wanted, exact)], strict=True):
        want, truth = want.numpy(), truth.numpy()
        assert got.dtype == want.dtype
        if want.dtype.kind != "f":
            np.testing.assert_array_equal(got, want)
            continue
        size = math.sqrt(float((truth**2).mean())) + 1e-30
        error, own = (math.sqrt(float(((a - truth) ** 2).mean())) / size for a in (got, want))
        assert error <= max(4 * own, rms)
    return pipeline


def _tuple(value):
    return (value,) if isinstance(value, torch.Tensor) else tuple(value)


# Several operators go into one module: one compilation for all of them.
UNARY = {
    "exponentials": [torch.exp, torch.expm1, torch.exp2, lambda t: torch.expm1(t * 1e-3), torch.sigmoid, torch.sinh,
                     torch.cosh, lambda t: torch.sinh(t * 1e-2)],
    "logarithms": [lambda t: torch.log(t.abs() + 0.1), lambda t: torch.log2(t.abs() + 0.1),
                   lambda t: torch.log10(t.abs() + 0.1), lambda t: torch.log1p(t.abs() * 1e-3)],
    "tanh and erf": [torch.tanh, lambda t: torch.tanh(t * 1e-2), torch.erf, lambda t: torch.erf(t * 1e-2)],
    "powers": [lambda t: t**2, lambda t: t**3, lambda t: t**5, lambda t: (t.abs() + 0.1) ** 1.7,
               lambda t: torch.sqrt(t.abs()), lambda t: torch.rsqrt(t.abs() + 1), lambda t: 1 / (t.abs() + 1)],
    "trigonometry": [torch.sin, torch.cos, torch.tan, torch.atan, torch.asinh, lambda t: torch.asin(t.clamp(-0.9, 0.9)),
                     lambda t: torch.acosh(t.abs() + 1.5), lambda t: torch.atanh(t * 0.1)],
    "rounding": [torch.floor, torch.ceil, torch.round, torch.trunc, torch.sign, torch.abs, torch.neg],
    "activations": [F.relu, F.relu6, F.leaky_relu, F.elu, F.selu, F.celu, F.silu, F.mish, F.softplus, F.logsigmoid],
    "gated": [F.gelu, lambda t: F.gelu(t, approximate="tanh"), F.hardswish, F.hardsigmoid, F.hardtanh, F.softsign,
              F.hardshrink, F.softshrink, F.glu, lambda t: F.threshold(t, 0.1, 20.0)],
    "bounds": [lambda t: t.clamp(-0.5, 0.5), lambda t: t.clamp(min=0.1), lambda t: t.clamp(max=0.1), torch.isnan],
}  # fmt: skip


@pytest.mark.parametrize("group", UNARY)
def test_elementwise_functions(group):
    check(lambda t: tuple(f(t) for f in UNARY[group]), draw(5, 38))


BINARY = [
    torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum, torch.lt, torch.eq, torch.ge,
    lambda a, b: torch.add(a, b, alpha=2), lambda a, b: 3 - a, lambda a, b: torch.where(a > 2, a, b),
    lambda a, b: a / (b.abs() + 1), lambda a, b: torch.floor_divide(a, b.abs() + 1),
    lambda a, b: torch.remainder(a, b.abs() + 1), lambda a, b: torch.fmod(a, b.abs() + 1),
    lambda a, b: a[:, :1] * b[:1],
]  # fmt: skip


@pytest.mark.parametrize(
    "dtypes", [("float32", "float32"), ("int32", "int32"), ("int32", "float32"), ("int64", "uint8")]
)
def test_arithmetic_follows_torchs_promotion(dtypes):
    made = [(draw(4, 19, seed=k, scale=20).abs()).to(getattr(torch, d)) for k, d in enumerate(dtypes)]
    check(lambda a, b: tuple(f(a, b) for f in BINARY), *made)


def test_bytes_wrap_and_convert_as_in_torch():
    a = torch.randint(0, 255, (4, 19), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    check(lambda t: (t + t, t * 3, t.float() * 1.7, (t.float() * 0.9).to(torch.uint8), t > 100, t.long().sum(1)), a)


def test_booleans_and_bits():
    a = torch.randint(-50, 50, (4, 19), dtype=torch.int32, generator=torch.Generator().manual_seed(1))
    check(lambda t: ((t > 0) & (t < 9), ~(t > 0), ((t & 7) | 3) ^ (t << 1), torch.logical_xor(t > 3, t > 5)), a)


VIEWS = {
    "reshapes": [lambda t: t.reshape(6, 80) + 1, lambda t: t.reshape(2, 3, 4, 20) * 2, lambda t: t.flatten(1) * 2,
                 lambda t: t.permute(0, 2, 3, 1).reshape(2, 80, 3) * 2, lambda t: (t * 2).reshape(3, 160)],
    "transposes": [lambda t: t.transpose(1, 2) + 0, lambda t: t.permute(3, 1, 0, 2).reshape(30, 16).clone(),
                   lambda t: t.flip(1, 3) * 1, lambda t: t.roll(2, 3), lambda t: t.unsqueeze(1) + t.unsqueeze(2)],
    "slices": [lambda t: t[:, 1:, ::2, -3:] * 1, lambda t: t[1, :, -1] * 2, lambda t: t.chunk(2, 2)[1] * 2,
               lambda t: t.split([3, 7], 3)[1] * 2, lambda t: t.unbind(2)[3] * 1],
    "joins": [lambda t: torch.cat([t, t * 2, t[:, :1]], 1), lambda t: torch.stack([t, t + 1], 1),
              lambda t: t.repeat(1, 2, 1, 3) * 1, lambda t: t[:, :1].expand(2, 3, 8, 10) * 2],
    "padding": [lambda t: F.pad(t, (1, 2, 3, 0), value=0.5), lambda t: F.pad(t, (1, 2, 3, 1), mode="replicate"),
                lambda t: F.pad(t, (1, 2, 3, 1), mode="reflect"), lambda t: torch.tril(t, 1), torch.triu],
    "constants": [lambda t: t + torch.arange(10.0) * 0.5, lambda t: t * torch.tensor([1.0, 2, 3, 4, 5, 6, 7, 8, 9, 1]),
                  lambda t: t + 1, lambda t: t > 0, lambda t: t.clone()],
}  # fmt: skip


@pytest.mark.parametrize("group", VIEWS)
def test_views(group):
    check(lambda t: tuple(f(t) for f in VIEWS[group]), draw(2, 3, 8, 10))


REDUCTIONS = {
    "sums": [torch.sum, lambda t: t.sum(3), lambda t: t.sum(1, keepdim=True), lambda t: t.mean((1, 3)), torch.mean],
    "extrema": [lambda t: t.amax(2), lambda t: t.amin((1, 3)), torch.max, lambda t: t.max(2)[0], lambda t: t.max(2)[1],
                lambda t: t.argmax(3), lambda t: t.argmin(1, keepdim=True), torch.argmax],
    "moments": [lambda t: t.var(3), lambda t: t.var((1, 2), unbiased=False), lambda t: t.std(2), lambda t: t.prod(3)],
    "norms": [torch.norm, lambda t: t.norm(p=1, dim=1), lambda t: torch.linalg.vector_norm(t, 2, dim=(2, 3)),
              lambda t: torch.logsumexp(t, 2), lambda t: F.normalize(t, dim=1)],
    "truth": [lambda t: (t > 1).any(3), lambda t: (t > -9).all(), lambda t: (t > 0).sum(3)],
    "scans": [lambda t: t.cumsum(3), lambda t: t.cumsum(1), lambda t: t.cumprod(3), lambda t: t.cummax(3)[0],
              lambda t: t.flip(3).cumsum(3).flip(3)],
    "softmax": [lambda t: F.softmax(t, 3), lambda t: F.softmax(t, 1), lambda t: F.log_softmax(t, 2)],
}  # fmt: skip


@pytest.mark.parametrize("group", REDUCTIONS)
def test_reductions(group):
    check(lambda t: tuple(f(t) for f in REDUCTIONS[group]), draw(2, 3, 8, 10))


def _trained(module):
    for tensor in module.state_dict().values():
        if tensor.is_floating_point():
            tensor.copy_(draw(*tensor.shape, seed=3).abs() + 0.5)
    return module


@pytest.mark.parametrize(
    "module",
    [
        nn.LayerNorm(10),
        nn.LayerNorm((8, 10)),
        nn.GroupNorm(2, 4),
        nn.BatchNorm2d(4),
        nn.InstanceNorm2d(4),
        nn.RMSNorm(10),
    ],
    ids=lambda m: type(m).__name__,
)
def test_normalisations(module):
    check(_trained(module), draw(2, 4, 8, 10))


WINDOWS = {
    "average": [nn.AvgPool2d(3, 1, 1), nn.AvgPool2d(2), nn.AvgPool2d(3, 2, 1, ceil_mode=True),
                nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False), nn.AdaptiveAvgPool2d(1)],
    "maximum": [nn.MaxPool2d(3, 2, 1), nn.MaxPool2d(3, 1, 1, dilation=2), nn.MaxPool2d(2, 2, ceil_mode=True)],
    "convolution": [nn.Conv2d(4, 6, 3, padding=1), nn.Conv2d(4, 6, 3, stride=2, padding=1, bias=False),
                    nn.Conv2d(4, 6, (3, 5), dilation=2, padding=2), nn.Conv2d(4, 6, 1)],
    "grouped": [nn.Conv2d(4, 4, 3, groups=4, padding=1), nn.Conv2d(4, 6, 3, groups=2), nn.Conv2d(4, 8, 3, groups=4)],
    "transposed": [nn.ConvTranspose2d(4, 6, 3), nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1),
                   nn.ConvTranspose2d(4, 6, 3, stride=3, groups=2), nn.ConvTranspose2d(4, 6, 3, dilation=2, stride=2)],
}  # fmt: skip


class Side(nn.Module):
    """Several modules on one input."""

    def __init__(self, parts):
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, x):
        return tuple(p(x) for p in self.parts)


@pytest.mark.parametrize("group", WINDOWS)
def test_windows(group):
    check(Side(WINDOWS[group]), draw(2, 4, 11, 13))


@pytest.mark.parametrize(
    ("parts", "shape"),
    [
        ([nn.Conv1d(4, 6, 3, padding=1), nn.AvgPool1d(4, 2, 1), nn.MaxPool1d(4, 2, 1), nn.ConvTranspose1d(4, 6, 3, 2)],
         (2, 4, 20)),
        ([nn.Conv3d(2, 3, 3, padding=1), nn.AvgPool3d(3, 2, 1), nn.MaxPool3d(3, 2, 1)], (1, 2, 6, 7, 8)),
    ],
    ids=["1d", "3d"],
)  # fmt: skip
def test_windows_in_other_axes(parts, shape):
    check(Side(parts), draw(*shape))


def test_matrix_products():
    a, b = draw(7, 19), draw(19, 13, seed=1)
    check(lambda a, b: (a @ b, b.T @ a.T, a @ b[:, 0], a[0] @ b[:, 0], a[:, :1] @ b[:1]), a, b)
    check(nn.Linear(19, 13), draw(2, 3, 19))
    check(lambda a, b: (torch.bmm(a, b), torch.einsum("bij,bkj->bik", a, a)), draw(3, 7, 19), draw(3, 19, 5, seed=1))


def test_attention_plain_causal_and_masked():
    q, k, v = (draw(2, 2, 9, 8, seed=s) for s in range(3))
    mask = draw(9, 9, seed=4) > -0.8
    mask[2] = False
    mask[2, 0] = True
    check(
        lambda q, k, v, m: (
            F.scaled_dot_product_attention(q, k, v),
            F.scaled_dot_product_attention(q, k, v, is_causal=True),
            F.scaled_dot_product_attention(q, k, v, attn_mask=m),
            F.softmax((q @ k.mT).masked_fill(~m, float("-inf")), -1) @ v,
        ),
        q, k, v, mask,
    )  # fmt: skip


def test_losses():
    x, y = draw(5, 37), draw(5, 37, seed=1)
    target = torch.tensor([3, 0, 36, 7, 7])
    check(
        lambda a, b, t: (
            F.cross_entropy(a, t), F.cross_entropy(a, t, reduction="none"), F.mse_loss(a, b), F.smooth_l1_loss(a, b),
            F.kl_div(F.log_softmax(a, 1), F.softmax(b, 1), reduction="batchmean"), F.cosine_similarity(a, b),
            torch.mean(torch.clamp(1 - a * b, min=0)),
        ),
        x, y, target,
    )  # fmt: skip


def test_lookups():
    table, rows = draw(37, 6), torch.tensor([3, 0, 36, 7, 7])
    check(
        lambda a, b: (a[b] * 2, a[b, b % 6], a.index_select(0, b), F.embedding(b, a),
        a.T.gather(1, b[None].expand(6, 5))),
        table, rows,
    )  # fmt: skip
    pixels = torch.randint(0, 255, (9, 9), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    check(lambda a, t: t[(a.float() * 1.2).clamp(0, 255).to(torch.uint8).long()], pixels, torch.arange(256).flip(0))


def test_the_table_knows_the_core_operators():
    lower(facts_of(Lambda(torch.relu), [draw(3, 3)]))
    for name in ("add", "convolution", "_softmax", "native_layer_norm", "mm", "max_pool2d_with_indices", "embedding"):
        assert name in TRANSLATIONS


def steps(a, count):
    for _ in range(count):
        a = a + 1
    return a


@pytest.mark.parametrize(
    ("function", "argument", "named"),
    [
        (lambda a: a.sort()[0], draw(3, 5), "aten.sort"),
        (lambda a: a * 2, draw(3, 5).bfloat16(), "bfloat16"),
        (lambda a: torch.fft.rfft(a).abs(), draw(3, 5), "aten."),
        (lambda a: a.abs(), draw(3, 5).to(torch.complex64), "complex64; .* use a torch or cpp candidate"),
        (lambda a: a * 2, draw(0, 5), r"no elements \[0 x 5\]"),
        (lambda a: a * 2 if a.sum() > 0 else a, draw(3, 5), "control flow"),
        (lambda a: a[: int(a[0, 0].abs().item()) + 1] * 2, draw(3, 5), "control flow or shapes by data"),
        (lambda a: torch.sparse.mm(a.to_sparse(), a.T), draw(3, 5), "sparse"),
        (lambda a: (a.half() * 2).float(), draw(3, 5), "float16"),
        (lambda a: steps(a, 410), draw(3, 5), "beyond 400 Funcs .an unrolled loop"),
    ],
)
def test_what_cannot_be_expressed_is_named(function, argument, named):
    with pytest.raises(LoweringError, match=named) as caught:
        lower(facts_of(Lambda(function), [argument]))
    assert str(caught.value)


def test_data_dependent_shapes_are_refused_with_exports_reason():
    with pytest.raises(LoweringError):
        lower(facts_of(Lambda(lambda a: a[a > 0] * 2), [draw(3, 5)]))


def test_functions_beyond_float32_exponents_stay_finite():
    module = Lambda(
        lambda t: (torch.tanh(t), torch.sigmoid(t), F.softplus(t), F.gelu(t, approximate="tanh"), F.mish(t))
    )
    arguments = [torch.tensor([-1e4, -200.0, -90.0, -20.0, 0.0, 20.0, 90.0, 200.0, 1e4] * 2)]
    results = run_pipeline(lower(facts_of(module, arguments)), [], arguments, module)
    for got, want in zip(results, module(*arguments), strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=2e-6, atol=1e-7)


def test_random_modules_drawn_from_the_table():
    """Chains of operators drawn at random, seeded, under the plain schedule."""
    steps = [
        lambda t: torch.relu(t), lambda t: t * 0.5 + 1, lambda t: F.softmax(t, -1),
        lambda t: t - t.mean(-1, keepdim=True),
        lambda t: torch.tanh(t), lambda t: t.transpose(-1, -2), lambda t: F.layer_norm(t, t.shape[-1:]),
        lambda t: t + t.amax(-2, keepdim=True), lambda t: torch.cat([t, -t], -1)[..., : t.shape[-1]],
        lambda t: F.avg_pool1d(t, 3, 1, 1), lambda t: t @ t.mT @ t * 0.01, lambda t: F.gelu(t),
        lambda t: t.cumsum(-1) * 0.1,
    ]  # fmt: skip
    generator = np.random.default_rng(11)
    for _ in range(4):
        drawn = [steps[i] for i in generator.integers(0, len(steps), 4)]

        def chain(t, drawn=drawn):
            for step in drawn:
                t = step(t)
            return t

        module, arguments = Lambda(chain), [draw(2, 12, 20)]
        facts = facts_of(module, arguments)
        space = PipelineSpace()
        start = space.start(TaskFacts(task_id="t", workloads=(facts,)))
        assert start is not None, space.refusal
        (got,) = run_pipeline(
            pipelines_of(start)["default"], directives_of(start), arguments, module,
            shapes=[a.shape for a in facts.of_kind("output")],
        )  # fmt: skip
        want = module.double()(arguments[0].double()).numpy()
        assert np.sqrt(((got - want) ** 2).mean() / (want**2).mean()) < 1e-5


def test_integers_round_down_whatever_the_divisors_sign():
    a = torch.tensor([-8, -7, -1, 0, 1, 7, 8], dtype=torch.int32).repeat(4)
    b = torch.tensor([-2, -3, 3, 2], dtype=torch.int32).repeat_interleave(7)
    check(lambda a, b: (a // b, a % b, torch.div(a, b, rounding_mode="floor")), a, b)


def test_quotients_next_to_whole_numbers_are_not_rounded_up():
    a = torch.arange(1, 400) * 0.1
    check(lambda a, b: (a // b, a % b, torch.fmod(a, b)), a, torch.full_like(a, 0.1))


def test_log_softmax_of_rows_far_from_zero():
    x, target = draw(6, 50) + 2.0**14, torch.tensor([3, 0, 36, 7, 7, 1])
    check(lambda t, k: (F.log_softmax(t, 1), F.cross_entropy(t, k, reduction="none")), x, target)


def test_rounding_to_decimals():
    check(lambda t: (torch.round(t, decimals=2), torch.round(t * 100, decimals=-1)), draw(5, 38))
