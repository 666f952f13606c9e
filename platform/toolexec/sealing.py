"""Inputs that are of no use before "go", and sums that only finished outputs have: where a caller is a stranger's code.

Owns the arithmetic of both on the judge's side: a keystream (Philox4x64-10, as numpy draws it) over an input's bytes,
and a keyed sum of an output's bytes. The same in CUDA is workers/unseal.cu; how they are used is in devices/README.md.
The key is drawn for one call and told with "go": a process that has the sealed bytes has nothing to compute on.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np

from kernelwright.toolexec.precision import Array

KEY_BYTES = 16
BLOCK_BYTES = 32
"""Of the keystream: four words of 64 bits."""
OUTPUTS = 1 << 40
"""Streams from here on belong to outputs, those below to inputs."""
A_SLOT = 1 << 16
"""Streams a slot: nothing has as many inputs."""


def new_key() -> bytes:
    """A key that nobody knows yet."""
    return secrets.token_bytes(KEY_BYTES)


def input_stream(slot: int, number: int) -> int:
    """Which stream seals an input of a slot."""
    return slot * A_SLOT + number


def output_stream(slot: int, number: int) -> int:
    """Which stream sums an output of a slot."""
    return OUTPUTS + slot * A_SLOT + number


def keystream(key: bytes, stream: int, words: int) -> Array:
    """The first ``words`` words, uint64, of one of a key's streams."""
    drawn = np.random.Philox(key=np.frombuffer(key, dtype="<u8"), counter=np.array([0, stream, 0, 0], dtype=np.uint64))
    return np.asarray(drawn.random_raw(words), dtype=np.uint64)


def sealed(array: Array, key: bytes, stream: int) -> Array:
    """The bytes of an array under a keystream, as a flat uint8 array; doing it twice gives them back.

    Args:
        array: any dtype, C-contiguous.
        key: of the call.
        stream: of the input.
    """
    plain = array.reshape(-1).view(np.uint8)
    mask = keystream(key, stream, -(-plain.size // 8)).view(np.uint8)
    return np.bitwise_xor(plain, mask[: plain.size])


def keyed_sum(array: Array, key: bytes, stream: int) -> int:
    """A number below 2**64 that nobody can tell who lacks the key or any of the array's bytes.

    Of every 32 bytes, taken as four words w under the keystream c: (w0 + c0)(w1 + c1) + (w2 + c2)(w3 + c3), added up
    modulo 2**64; the last bytes are filled up with zeros. That is the universal hash NH (Black et al., UMAC, 1999).

    Args:
        array: any dtype, C-contiguous.
        key: of the call.
        stream: of the output.
    """
    plain = array.reshape(-1).view(np.uint8)
    blocks = -(-plain.size // BLOCK_BYTES)
    padded = np.zeros(blocks * BLOCK_BYTES, dtype=np.uint8)
    padded[: plain.size] = plain
    words = padded.view("<u8").astype(np.uint64, copy=False)
    words += keystream(key, stream, 4 * blocks)
    four = words.reshape(-1, 4)
    products = four[:, 0] * four[:, 1] + four[:, 2] * four[:, 3]
    return int(products.sum(dtype=np.uint64))


def sums_of(outputs: Sequence[Sequence[Array]], slots: Sequence[int], key: bytes) -> list[int]:
    """Keyed sums of all outputs of some slots, in order."""
    return [
        keyed_sum(array, key, output_stream(slot, number))
        for slot, arrays in zip(slots, outputs, strict=True)
        for number, array in enumerate(arrays)
    ]
