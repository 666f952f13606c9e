"""The interpreter of PTX: small kernels by hand, right ones and ones that it has to refuse."""

import numpy as np
import pytest
from knowledge.ptx_on_cpu import Launch, Memory, Place, Wrong, kernels

HEAD = """
.visible .entry k(
	.param .align 8 .b8 k_param_0[8],
	.param .align 8 .b8 k_param_1[8]
)
{
	.reg .pred 	%p<4>;
	.reg .b32 	%r<12>;
	.reg .b64 	%rd<8>;

	ld.param.b64 	%rd1, [k_param_0];
	ld.param.b64 	%rd2, [k_param_1];
	mov.u32 	%r1, %tid.x;
	mov.u32 	%r2, %ctaid.x;
	shl.b32 	%r3, %r2, 5;
	or.b32 	%r4, %r3, %r1;
	mul.wide.u32 	%rd3, %r4, 4;
	add.s64 	%rd4, %rd1, %rd3;
	add.s64 	%rd5, %rd2, %rd3;
"""
GUARD = "\tsetp.gt.u32 \t%p1, %r4, 39;\n\t@%p1 bra \t$L__BB0_2;\n"
COPY = "\tld.global.b32 \t%r5, [%rd4];\n\tst.global.b32 \t[%rd5], %r5;\n"
END = "$L__BB0_2:\n\tret;\n\n}\n"
SUM = "\tld.global.b32 \t%r5, [%rd4];\n" + "".join(
    f"\tshfl.sync.bfly.b32 \t%r6, %r5, {far}, 31, -1;\n\tadd.f32 \t%r5, %r5, %r6;\n" for far in (16, 8, 4, 2, 1)
)
THROUGH_SHARED = """	shl.b32 	%r7, %r1, 4;
	mul.wide.u32 	%rd6, %r1, 16;
	add.s64 	%rd7, %rd1, %rd6;
	cp.async.cg.shared.global 	[%r7], [%rd7], 16, 16;
	cp.async.commit_group;
	cp.async.wait_group 	0;
	bar.sync 	0;
	ld.shared.b32 	%r5, [%r7+4];
	st.global.b32 	[%rd5], %r5;
"""


def ran(body: str, x: np.ndarray, outputs: int, *, blocks: int = 1, shared_bytes: int = 0) -> np.ndarray:
    memory, y = Memory(), np.zeros(outputs, np.float32)
    places = [memory.put(x), memory.put(y)]
    (kernel,) = kernels(HEAD + body + END)
    Launch(kernel, memory, places, place=Place((blocks, 1, 1), 32, shared_bytes)).run()
    return memory.get(places[1], y)


def numbers(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.float32) + 1


def test_lanes_that_part_are_joined_again() -> None:
    assert (ran(GUARD + COPY, numbers(40), 40, blocks=2) == numbers(40)).all()


def test_an_access_beyond_a_tensor_is_told() -> None:
    with pytest.raises(Wrong, match=r"ld\.global\.b32 .*outside of every tensor"):
        ran(COPY, numbers(40), 40, blocks=2)


def test_a_butterfly_adds_a_warp() -> None:
    assert (ran(SUM + "\tst.global.b32 \t[%rd5], %r5;\n", numbers(32), 32) == 528).all()


def test_a_shuffle_that_half_a_warp_reaches_is_told() -> None:
    with pytest.raises(Wrong, match="only some lanes"):
        ran(GUARD.replace("39", "15") + SUM, numbers(32), 32)


def test_what_cp_async_brings_is_there_after_the_wait_and_not_before() -> None:
    x = numbers(128)
    assert (ran(THROUGH_SHARED, x, 32, shared_bytes=512) == x[1::4]).all()
    hasty = ran(THROUGH_SHARED.replace("wait_group \t0", "wait_group \t1"), x, 32, shared_bytes=512)
    assert np.isnan(hasty).all()
    with pytest.raises(Wrong, match="beyond 256 bytes of shared memory"):
        ran(THROUGH_SHARED, x, 32, shared_bytes=256)
