// kernel: twice the vector, and that turned round, with a home-made barrier over four blocks
// in: int32[400]
// out: int32[400], int32[400]
// model: (2 * in0, 2 * in0[::-1])
// fault: deadlock
// axes: N = in0[0]
// scratch: arrived = int32[1]
// launch: clear grid(1) block(1) args(arrived)
// launch: twice_and_flip grid(4) block(100) args(in0, out0, out1, arrived, N)
extern "C" __global__ void clear(int* arrived) { *arrived = 0; }

extern "C" __global__ void twice_and_flip(const int* in, int* twice, int* flipped, int* arrived, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) twice[i] = 2 * in[i];
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < gridDim.x * blockDim.x) { }  // <- fault
    __threadfence();
  }
  __syncthreads();  // <- fault
  if (i < n) flipped[i] = twice[n - 1 - i];
}
