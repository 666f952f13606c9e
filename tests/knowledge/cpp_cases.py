"""What the C++ solutions are tested with: inputs, parameters, macros and the torch reference of each.

A case's reference runs in float64 where the dtype allows. Shapes are odd, prime, tile plus or minus one and
smaller than a vector; values include large offsets, outliers and denormals where a kernel could stumble over them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F

Tensors = Sequence[torch.Tensor]


@dataclass(frozen=True)
class Case:
    """One set of inputs and what must come of it."""

    inputs: Tensors
    reference: Callable[..., torch.Tensor | tuple[torch.Tensor, ...]]
    """Called with inputs, then parameters."""
    params: Tensors = ()
    macros: dict[str, float] = field(default_factory=dict)


def normal(*shape: int, scale: float = 1.0, offset: float = 0.0) -> torch.Tensor:
    return torch.randn(*shape) * scale + offset


def spread(*shape: int) -> torch.Tensor:
    """Normal values, and among them large ones of both signs, zeros and denormals."""
    x = torch.randn(*shape)
    flat = x.view(-1)
    special = torch.tensor([0.0, -0.0, 1e-40, -1e-40, 100.0, -100.0, 1e4, -1e4])
    flat[torch.randperm(flat.numel())[: special.numel()]] = special[: flat.numel()]
    return x


def rows(
    reference: Callable[..., torch.Tensor], *, params: Callable[[int], Tensors] = lambda n: ()
) -> list[Case]:
    """Cases of a kernel that works on rows."""
    shapes = [(1, 1), (3, 15), (5, 64), (2, 3, 131), (4, 1003), (2, 5003)]
    made = [Case([normal(*s)], reference, params(s[-1])) for s in shapes]
    return [
        *made,
        Case([spread(7, 257)], reference, params(257)),
        Case([normal(3, 300, offset=1e3)], reference, params(300)),
    ]


def affine(n: int) -> Tensors:
    return (normal(n, scale=0.2, offset=1.0), normal(n))


def rms(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, ...]:
    total = x + residual
    return total * torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + 1e-6) * weight, total


def gelu(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def pipeline(image: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    wide = image.to(torch.int32)
    along = wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]
    mean = torch.div(along[:-2] + along[1:-1] + along[2:], 9, rounding_mode="floor")
    return table[torch.clamp(mean + 40, 0, 255).long()]


def image_cases() -> list[Case]:
    shapes = [(3, 3), (9, 67), (20, 130), (5, 18)]
    table = torch.randint(0, 256, (256,), dtype=torch.uint8)
    images = [torch.randint(0, 256, s, dtype=torch.uint8) for s in shapes] + [
        torch.full((8, 40), 255, dtype=torch.uint8)
    ]
    return [Case([i, table], pipeline, macros={"BRIGHTNESS": 40}) for i in images]


def blur_cases() -> list[Case]:
    made = [((3, 3), 3), ((1, 1, 19, 45), 3), ((2, 40, 300), 3), ((9, 22), 5), ((12, 33), 2), ((21, 16), 4)]
    return [Case([normal(*s)], lambda x, k=k: blur(x, k)) for s, k in made]


def blur(x: torch.Tensor, k: int) -> torch.Tensor:
    y = F.avg_pool2d(x.reshape(1, -1, *x.shape[-2:]), k, 1)
    return y.reshape(*x.shape[:-2], *y.shape[-2:])


def pool_cases(pool: Callable[..., torch.Tensor]) -> list[Case]:
    made = [Case([normal(*s)], lambda x: pool(x, 3, 2, 1)) for s in [(1, 1, 2), (1, 3, 7, 9), (2, 2, 35, 70)]]
    macros = {"KH": 2, "KW": 2, "SH": 2, "SW": 2, "PH": 0, "PW": 0}
    made += [
        Case([normal(*s)], lambda x: pool(x, 2, 2, 0), macros=macros) for s in [(2, 2, 2), (1, 3, 17, 68)]
    ]
    macros = {"KH": 4, "KW": 5, "SH": 1, "SW": 3, "PH": 2, "PW": 1}
    return [*made, Case([normal(2, 3, 21, 77)], lambda x: pool(x, (4, 5), (1, 3), (2, 1)), macros=macros)]


def convolution_cases(*, depthwise: bool, relu: bool) -> list[Case]:
    made = []
    shapes = [
        (1, 3, 5, 7, 4, 3, 1),
        (2, 5, 20, 33, 9, 3, 1),
        (1, 8, 14, 14, 8, 3, 1),
        (1, 2, 30, 18, 17, 5, 0),
    ]
    for b, c, h, w, o, k, p in shapes:
        groups, o = (c, c) if depthwise else (1, o)

        def reference(
            x: torch.Tensor, *params: torch.Tensor, p: int = p, groups: int = groups
        ) -> torch.Tensor:
            y = F.conv2d(x, *params, padding=p, groups=groups)
            return torch.relu(y) if relu else y

        weight = normal(o, 1 if depthwise else c, k, k)
        params = (weight, normal(o)) if b == 1 else (weight,)
        made.append(Case([normal(b, c, h, w)], reference, params))
    return made


def linear_cases() -> list[Case]:
    shapes = [(1, 1, 1), (5, 7, 3), (13, 129, 65), (2, 17, 64), (70, 300, 203)]
    return [Case([normal(m, k)], linear_relu, (normal(n, k), normal(n))) for m, k, n in shapes]


def linear_relu(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.relu(F.linear(x, weight, bias))


def attention_cases() -> list[Case]:
    shapes = [
        (1, 1, 1, 1, 1),
        (2, 7, 9, 8, 8),
        (3, 13, 67, 40, 20),
        (1, 20, 700, 64, 64),
        (2, 6, 64, 16, 130),
    ]
    made = []
    for heads, q, k, d, e in shapes:
        inputs = [normal(1, heads, q, d, scale=3), normal(1, heads, k, d), normal(1, heads, k, e)]
        made.append(Case(inputs, F.scaled_dot_product_attention))
    return made


def loss_cases() -> list[Case]:
    made = []
    for r, n in [(1, 1), (4, 17), (9, 131), (3, 5003)]:
        targets = torch.randint(0, n, (r,))
        if r > 1:
            targets[1] = -100
        made.append(Case([spread(r, n), targets], lambda x, t: F.cross_entropy(x, t, reduction="none")))
    inputs = [normal(5, 40), torch.tensor([0, 39, -100, 7, 8])]
    made.append(Case(inputs, lambda x, t: F.cross_entropy(x, t), macros={"REDUCTION": 1}))
    return made


def axis_cases(operation: Callable[..., torch.Tensor]) -> list[Case]:
    made = [Case([normal(*s)], lambda x: operation(x, -1)) for s in [(1,), (3, 5), (2, 3, 131), (3, 1003)]]
    return made + [
        Case([normal(2, 70, n)], lambda x: operation(x, 1), macros={"AXIS": 1}) for n in (3, 45, 130)
    ]


def all_cases() -> dict[str, list[Case]]:
    """Solution id -> its cases, the same at every call."""
    torch.manual_seed(7)
    return {
        "cpp-attention": attention_cases(),
        "cpp-avg-pool": pool_cases(F.avg_pool2d),
        "cpp-box-blur": blur_cases(),
        "cpp-conv-relu": convolution_cases(depthwise=False, relu=True),
        "cpp-cross-entropy": loss_cases(),
        "cpp-cumsum": axis_cases(torch.cumsum),
        "cpp-depthwise-conv": convolution_cases(depthwise=True, relu=False),
        "cpp-l2-normalize": rows(lambda x: F.normalize(x, dim=-1)),
        "cpp-layer-norm": rows(lambda x, w, b: F.layer_norm(x, w.shape, w, b), params=affine),
        "cpp-linear-relu": linear_cases(),
        "cpp-max-pool": pool_cases(F.max_pool2d),
        "cpp-rms-norm-residual": [
            Case([normal(*s), normal(*s)], rms, affine(s[-1])[:1]) for s in [(1, 3), (5, 131), (2, 4, 1003)]
        ],
        "cpp-row-sum": axis_cases(torch.sum),
        "cpp-softmax": rows(lambda x: torch.softmax(x, -1)),
        "cpp-tanh-gelu": [Case([x], gelu) for x in (normal(1), normal(5, 1003, scale=3), spread(300))],
        "cpp-u8-blur-lut": image_cases(),
    }
