"""Sealed inputs and keyed sums: numpy's stream is the one that unseal.cu draws, and both need key and all bytes."""

from __future__ import annotations

import numpy as np
import pytest

from kernelwright.toolexec.sealing import (
    input_stream,
    keyed_sum,
    keystream,
    new_key,
    output_stream,
    sealed,
    sums_of,
)

KEY = bytes(range(16))
MASK = (1 << 64) - 1


def philox(key: bytes, stream: int, block: int) -> list[int]:
    """Philox4x64-10 by the paper's definition, on Python's integers."""
    k0, k1 = (int.from_bytes(key[i : i + 8], "little") for i in (0, 8))
    a, b, c, d = block + 1, stream, 0, 0
    for _ in range(10):
        first, second = 0xD2E7470EE14C6C93 * a, 0xCA5A826395121157 * c
        a, b, c, d = (second >> 64) ^ b ^ k0, second & MASK, (first >> 64) ^ d ^ k1, first & MASK
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) & MASK, (k1 + 0xBB67AE8584CAA73B) & MASK
    return [a, b, c, d]


def test_the_stream_is_philox_as_the_kernel_computes_it() -> None:
    expected = [word for block in range(3) for word in philox(KEY, 7, block)]
    assert keystream(KEY, 7, 12).tolist() == expected


@pytest.mark.parametrize("shape", [(), (1,), (7,), (33, 97), (0, 4)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8", "int64", "bool"])
def test_sealing_twice_gives_the_bytes_back(shape: tuple[int, ...], dtype: str) -> None:
    array = np.random.default_rng(1).integers(0, 2, shape).astype(dtype)
    once = sealed(array, KEY, 3)
    assert once.dtype == np.uint8 and once.size == array.nbytes
    assert np.array_equal(sealed(once, KEY, 3), array.reshape(-1).view(np.uint8))
    assert once.size < 8 or not np.array_equal(once, array.reshape(-1).view(np.uint8))


def test_no_two_inputs_or_calls_share_a_stream() -> None:
    zeros = np.zeros(64, np.float32)
    seals = [sealed(zeros, KEY, input_stream(slot, n)).tobytes() for slot in (0, 1, 2) for n in (0, 1, 5)]
    seals += [sealed(zeros, new_key(), 0).tobytes(), sealed(zeros, KEY, output_stream(0, 0)).tobytes()]
    assert len(set(seals)) == len(seals)


def test_a_sum_moves_with_every_byte_and_with_the_key() -> None:
    outputs = np.random.default_rng(2).standard_normal(1001).astype(np.float32)
    told = keyed_sum(outputs, KEY, 9)
    for at in (0, 500, 1000):
        other = outputs.copy()
        other[at] = np.nextafter(other[at], np.float32(9))
        assert keyed_sum(other, KEY, 9) != told
    assert keyed_sum(outputs, new_key(), 9) != told and keyed_sum(outputs, KEY, 8) != told
    assert keyed_sum(outputs.copy(), KEY, 9) == told < 1 << 64


def test_a_sum_is_what_its_words_say() -> None:
    data = np.arange(40, dtype=np.uint8)
    words = np.zeros(8, dtype="<u8")
    words.view(np.uint8)[:40] = data
    stream = [word for block in range(2) for word in philox(KEY, 4, block)]
    w = [(int(a) + b) & MASK for a, b in zip(words, stream, strict=True)]
    assert keyed_sum(data, KEY, 4) == (w[0] * w[1] + w[2] * w[3] + w[4] * w[5] + w[6] * w[7]) & MASK
    assert sums_of([[data], [data]], [0, 2], KEY) == [
        keyed_sum(data, KEY, output_stream(slot, 0)) for slot in (0, 2)
    ]
