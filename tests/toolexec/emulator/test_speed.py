"""The tiled product of 512 x 512 x 512 float32 numbers, with and without checkers: the processor time that it takes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from .conftest import Call, Emulated

GEMM = """
// axes: N = in0[0]
// launch: gemm grid(N // 32, N // 32) block(32, 32) args(in0, in1, out0, N)
extern "C" __global__ void gemm(const float* __restrict__ a, const float* __restrict__ b, float* c, int n) {
  __shared__ float as[32][32], bs[32][32];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 32 + ty, col = blockIdx.x * 32 + tx;
  float sum = 0;
  for (int k = 0; k < n; k += 32) {
    as[ty][tx] = a[row * n + k + tx];
    bs[ty][tx] = b[(k + ty) * n + col];
    __syncthreads();
    for (int i = 0; i < 32; i++) sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  c[row * n + col] = sum;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("checked", [True, False], ids=["checked", "plain"])
def test_it_is_right_at_size(emulated: Callable[..., Emulated], checked: bool) -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.random((512, 512), dtype=np.float32) for _ in range(2))
    library = emulated(GEMM, checked=checked, kernels=("gemm",), told={"source": GEMM, "tunables": {}})
    (answer,) = library.run(Call([a, b], [("float32", (512, 512))]))
    assert not answer.failure
    np.testing.assert_allclose(answer.outs[0], a @ b, rtol=1e-5)
