"""mma.sync of each shape and type gives NumPy's product. Where elements lie is written here as in PTX's manual."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from .conftest import Call, Emulated

Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Shape:
    """One instruction."""

    k: int
    left: str
    right: str
    total: str

    @property
    def each(self) -> int:
        """Elements in a register of A and B."""
        return {"f16": 2, "bf16": 2, "tf32": 1}.get(self.left, 4)

    @property
    def registers(self) -> tuple[int, int, int]:
        """Of A, B and C."""
        b = self.k // (4 * self.each)
        return 2 * b, b, 2 if self.total == "f16" else 4

    @property
    def instruction(self) -> str:
        """As PTX names it."""
        return f"mma.sync.aligned.m16n8k{self.k}.row.col.{self.total}.{self.left}.{self.right}.{self.total}"


FP8 = ("e4m3", "e5m2")
SHAPES = (
    *(Shape(k, "f16", "f16", total) for k in (8, 16) for total in ("f32", "f16")),
    *(Shape(k, "bf16", "bf16", "f32") for k in (8, 16)),
    *(Shape(k, "tf32", "tf32", "f32") for k in (4, 8)),
    *(Shape(k, left, right, "s32") for k in (16, 32) for left in ("s8", "u8") for right in ("s8", "u8")),
    *(Shape(32, left, right, total) for left in FP8 for right in FP8 for total in ("f32", "f16")),
)


def text() -> str:
    """One kernel a shape."""
    made = '#include "kernelwright.h"\n'
    for number, shape in enumerate(SHAPES):
        a, b, c = shape.registers
        slots = ["{" + ", ".join(f"%{i}" for i in range(at, at + n)) + "}" for at, n in ((0, c), (c, a), (c + a, b))]
        slots.append("{" + ", ".join(f"%{i}" for i in range(c + a + b, c + a + b + c)) + "}")
        outs = ", ".join(f'"=r"(d[{i}])' for i in range(c))
        ins = ", ".join(
            f'"r"({p}[threadIdx.x * {n} + {i}])' for p, n in (("a", a), ("b", b), ("c", c)) for i in range(n)
        )
        made += (
            f"__global__ void mma{number}(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out) {{\n"
            f'  unsigned d[4];\n  asm volatile("{shape.instruction} {", ".join(slots)};" : {outs} : {ins});\n'
            f"  for (int i = 0; i < {c}; i++) out[threadIdx.x * {c} + i] = d[i];\n}}\n"
        )
    calls = "".join(f"  if (s[0].i == {n}) mma{n}<<<1, 32, 0, q>>>(a, b, c, d);\n" for n in range(len(SHAPES)))
    return made + (
        "int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar* s, kw_workspace*, kw_stream stream) {\n"
        "  cudaStream_t q = (cudaStream_t)stream;\n"
        "  auto at = [&](int i) { return (const unsigned*)in[i].data; };\n"
        "  const unsigned *a = at(0), *b = at(1), *c = at(2);\n  unsigned* d = (unsigned*)out[0].data;\n"
        f"{calls}  return cudaGetLastError();\n}}\n"
    )


def bits(values: Numbers, kind: str) -> Numbers:
    """Elements as they lie in a register, each in 32 bits."""
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16).astype(np.uint32)
    if kind == "bf16":
        return values.astype(np.float32).view(np.uint32) >> 16
    if kind in ("f32", "tf32"):
        return values.astype(np.float32).view(np.uint32)
    if kind == "e5m2":
        return bits(values, "f16") >> 8
    if kind == "e4m3":  # a half's exponent is biased by 8 more
        half = bits(values / 256, "f16")
        return half >> 8 & 0x80 | half >> 7 & 0x7F
    return values.astype(np.int32).view(np.uint32) & np.uint32(0xFFFFFFFF if kind == "s32" else 0xFF)


def packed(elements: Numbers, each: int) -> Numbers:
    """[32, registers, each] elements as int32 registers."""
    made = np.zeros(elements.shape[:2], np.uint32)
    for e in range(each):
        made |= elements[:, :, e].astype(np.uint32) << np.uint32(e * 32 // each)
    return made.reshape(-1).view(np.int32)


def registers(shape: Shape, a: Numbers, b: Numbers, c: Numbers) -> list[Numbers]:
    """The three matrices as all lanes hold them."""
    count_a, count_b, count_c = shape.registers
    e, lanes = shape.each, np.arange(32)
    g, t = (lanes // 4)[:, None, None], (lanes % 4)[:, None, None]
    r, i = np.arange(4)[None, :, None], np.arange(e)[None, None, :]
    ra, rb = r[:, :count_a], r[:, :count_b]
    left = bits(a, shape.left)[g + 8 * (ra % 2), e * t + i + 4 * e * (ra // 2)]
    right = bits(b, shape.right)[e * t + i + 4 * e * rb, np.broadcast_to(g, (32, count_b, e))]
    return [packed(left, e), packed(right, e), packed(accumulated(bits(c, shape.total), count_c), 4 // count_c)]


def accumulated(c: Numbers, count: int) -> Numbers:
    """[16, 8] as lanes hold it."""
    g, t, n = (np.arange(32) // 4)[:, None], (np.arange(32) % 4)[:, None], np.arange(4)[None, :]
    return c[g + 8 * (n // 2), 2 * t + n % 2].reshape(32, count, 4 // count)


@pytest.fixture(scope="module")
def library(emulated: Callable[..., Emulated]) -> Emulated:
    """All shapes in one source."""
    return emulated(text(), name="mma.cu")


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(SHAPES)), ids=[s.instruction[17:] for s in SHAPES])
def test_the_product_is_numpys(library: Emulated, number: int) -> None:
    shape, rng = SHAPES[number], np.random.default_rng(number)
    unsigned = {"u8": 0, "s8": -128}
    low = [unsigned.get(kind, -8) for kind in (shape.left, shape.right)]
    high = [256 if kind == "u8" else 128 if kind == "s8" else 9 for kind in (shape.left, shape.right)]
    a = rng.integers(low[0], high[0], size=(16, shape.k))
    b, c = rng.integers(low[1], high[1], size=(shape.k, 8)), rng.integers(-50, 51, size=(16, 8))
    count = shape.registers[2]
    (answer,) = library.run(Call(registers(shape, a, b, c), [("int32", [32 * count])], [number]))
    assert not answer.failure
    wanted = packed(accumulated(bits(a @ b + c, shape.total), count), 4 // count)
    assert np.array_equal(answer.outs[0], wanted)
