// Numbers: every rounding of CUDA's intrinsics, halves and bfloat16 in comparisons, saturation and conversions. Each is
// right: out is 1 everywhere. Launched by scalar 0.
#include "kernelwright.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ bool near(double a, double b) { return fabs(a - b) <= 1e-6 * (1 + fabs(b)); }
__global__ void n0(const float* in, float* out, int n) {  // rounded to zero, down, up
  float x = in[threadIdx.x] + 1.0f, tiny = 1e-12f, third = 1.0f / 3;
  bool fine = __fadd_rd(x, tiny) == x && __fadd_rz(x, tiny) == x && __fadd_ru(x, tiny) == nextafterf(x, 9.0f) && __fadd_rn(x, tiny) == x;
  fine &= __fsub_ru(x, tiny) == x && __fsub_rd(x, tiny) == nextafterf(x, 0.0f) && __fsub_rz(-x, -tiny) == nextafterf(-x, 0.0f);
  fine &= __fdiv_rd(1.0f, 3.0f) < __fdiv_ru(1.0f, 3.0f) && __fdiv_rz(-1.0f, 3.0f) == -__fdiv_rd(1.0f, 3.0f) && third == __fdiv_ru(1.0f, 3.0f);
  fine &= __fmul_rd(third, third) <= double(third) * third && __fmul_ru(third, third) >= double(third) * third && __fmul_rd(third, third) != __fmul_ru(third, third);
  fine &= __frcp_rz(3.0f) == __fdiv_rz(1.0f, 3.0f) && __fsqrt_ru(2.0f) == nextafterf(__fsqrt_rd(2.0f), 2.0f) && __fmaf_ru(x, 1.0f, tiny) > x && __fmaf_rz(x, 1.0f, tiny) == x;
  fine &= __dadd_ru(1.0, 1e-30) > 1.0 && __dadd_rd(1.0, 1e-30) == 1.0 && __dsub_rz(1.0, 1e-30) < 1.0 && __ddiv_ru(1.0, 3.0) > __ddiv_rd(1.0, 3.0);
  fine &= __dmul_rz(0.1, 0.1) <= __dmul_ru(0.1, 0.1) && __drcp_rn(4.0) == 0.25 && __dsqrt_rd(2.0) < __dsqrt_ru(2.0) && __fma_rd(1.0, 1.0, -1e-30) < 1.0;
  fine &= __int2float_rz(16777217) == 16777216.0f && __int2float_ru(16777217) == 16777218.0f && __int2float_rd(-16777217) == -16777218.0f;
  fine &= __uint2float_rz(0xffffffffu) == 4294967040.0f && __ull2float_ru(~0ull) == 18446744073709551616.0f && __ull2double_rz(~0ull) == 18446744073709549568.0;
  fine &= __ll2float_rd(-(1ll << 40) - 1) < -1099511627776.0f && __ll2double_rz((1ll << 53) + 1) == 9007199254740992.0 && __double2float_ru(0.1) > 0.1 && __double2float_rz(0.1) < 0.1;
  fine &= __float2int_rn(2.5f) == 2 && __float2int_ru(2.1f) == 3 && __float2int_rd(-2.1f) == -3 && __float2int_rz(NAN) == 0 && __double2int_rz(NAN) == INT_MIN && __float2ll_rn(NAN) == LLONG_MIN;
  fine &= __double2ull_rn(1e30) == ~0ull && __double2hiint(__hiloint2double(7, 9)) == 7 && __double2loint(__hiloint2double(7, 9)) == 9 && 1.0f + tiny == 1.0f;
  out[threadIdx.x] = fine;
}
template <class T, class P>
__device__ bool of_pairs(P one_two, P two_two, T not_a_number) {
  P odd = two_two;
  odd.x = not_a_number;
  bool fine = float(__heq2(one_two, two_two).y) == 1.0f && float(__heq2(one_two, two_two).x) == 0.0f && !__hbeq2(one_two, two_two) && __hble2(one_two, two_two);
  fine &= __hlt2_mask(one_two, two_two) == 0x0000ffffu && __hge2_mask(one_two, two_two) == 0xffff0000u && __hbgeu2(odd, two_two) && !__hbge2(odd, two_two);
  fine &= !__hne(odd.x, odd.y) && __hneu(odd.x, odd.y) && float(__hisnan2(odd).x) == 1.0f && float(__hisnan2(odd).y) == 0.0f && __hltu(odd.x, odd.y);
  fine &= float(__hadd2_sat(one_two, two_two).x) == 1.0f && float(__hsub_sat(one_two.x, two_two.x)) == 0.0f && float(__hfma_relu(one_two.x, one_two.y, -two_two.x * two_two.x)) == 0.0f;
  fine &= __hisnan(__hmax_nan(odd.x, odd.y)) && float(__hmax(odd.x, odd.y)) == 2.0f && float(__hmin2_nan(one_two, two_two).x) == 1.0f && float(__habs2(-one_two).y) == 2.0f;
  fine &= float(__lowhigh2highlow(one_two).x) == 2.0f && float(__hcmadd(one_two, two_two, one_two).x) == -1.0f && float(__hcmadd(one_two, two_two, one_two).y) == 8.0f;
  fine &= float(hceil(T(1.25f))) == 2.0f && float(hfloor(T(-1.25f))) == -2.0f && float(htrunc(T(-1.75f))) == -1.0f && float(hrint(T(2.5f))) == 2.0f && float(h2sqrt(two_two + two_two).x) == 2.0f;
  fine &= float(h2exp2(one_two).y) == 4.0f && float(h2log2(two_two).x) == 1.0f && float(h2rcp(one_two).y) == 0.5f && float(hexp10(T(1.0f))) == 10.0f && float(h2floor(one_two).x) == 1.0f;
  return fine;
}
__global__ void n1(const float* in, float* out, int n) {  // halves and bfloat16
  bool fine = of_pairs(__floats2half2_rn(1, 2), __float2half2_rn(2), __half(NAN)) && of_pairs(__floats2bfloat162_rn(1, 2), __float2bfloat162_rn(2), __nv_bfloat16(NAN));
  __half h = __float2half(2.5f), big = __float2half(60000.0f), odd = __float2half(NAN);
  fine &= __half2int_rn(h) == 2 && __half2int_ru(h) == 3 && __half2uint_rd(h) == 2u && __half2short_rz(-h) == -2 && __half2short_rn(big) == 32767 && __half2uchar_rz(big) == 255;
  fine &= __half2ushort_rn(-h) == 0 && __half2ll_rz(big) == 60000 && __half2int_rz(odd) == 0 && __half2ll_rn(odd) == LLONG_MIN && __half2char_rz(-big) == -128;
  fine &= float(__int2half_rn(2049)) == 2048.0f && float(__int2half_ru(2049)) == 2050.0f && float(__uint2half_rz(70000u)) == 65504.0f && float(__short2half_rd(-2049)) == -2050.0f;
  fine &= float(__ll2half_rn(1ll << 40)) == INFINITY && float(__ull2half_rd(~0ull)) == 65504.0f && __half_as_short(__short_as_half(-7)) == -7;
  fine &= __bfloat162int_rn(__nv_bfloat16(3.5f)) == 4 && float(__int2bfloat16_rn(257)) == 256.0f && float(__int2bfloat16_ru(257)) == 258.0f && float(__ll2bfloat16_rz(-257)) == -256.0f;
  // 2^32 + 2^24 + 1: to float and then to bfloat16 it would be rounded down, to even, twice
  fine &= float(__ull2bfloat16_rn((1ull << 32) + (1ull << 24) + 1)) == 4328521728.0f && float(__ull2bfloat16_rn((1ull << 32) + (1ull << 24))) == 4294967296.0f;
  fine &= float(__float2bfloat16_ru(1.001f)) > 1.001f && float(__float2bfloat16_rd(1.001f)) == 1.0f && __bfloat16_as_short(__short_as_bfloat16(9)) == 9;
  fine &= float(__lows2half2(__floats2half2_rn(1, 2), __floats2half2_rn(3, 4)).y) == 3.0f && float(__high2half2(__floats2half2_rn(1, 2)).x) == 2.0f;
  out[threadIdx.x] = fine;
}
__global__ void n2(const float* in, float* out, int n) {  // functions of numbers
  double x = in[threadIdx.x] * 0.98 + 0.01;
  bool fine = near(erf(erfinv(x)), x) && near(erfc(erfcinv(x)), x) && near(normcdf(normcdfinv(x)), x) && near(erfcf(erfcinvf(1e-6f)) * 1e6, 1) && erfinv(1.0) == INFINITY;
  fine &= near(erfcx(x), exp(x * x) * erfc(x)) && near(erfcx(100.0), 0.0056416137829894) && near(sinpi(x), sin(3.14159265358979 * x)) && near(cospi(0.5), 0);
  double p[4] = {1, 2, 2, 4}, s, c;
  sincospi(x, &s, &c);
  fine &= near(s * s + c * c, 1) && norm(4, p) == 5.0 && norm3d(1.0, 2.0, 2.0) == 3.0 && rnorm4d(1.0, 2.0, 2.0, 4.0) == 0.2 && near(rhypotf(3.0f, 4.0f), 0.2) && near(rcbrt(8.0), 0.5);
  fine &= __brevll(1ull) == 1ull << 63 && __mul64hi(-1ll, 1ll) == -1 && __rhadd(3, 4) == 4 && __uhadd(3u, 4u) == 3u && __urhadd(3u, 4u) == 4u && __usad(3u, 5u, 1u) == 3u;
  out[threadIdx.x] = fine;
}
__global__ void n3(const float* in, float* out, int n) {  // bytes and half words, and the steps of dynamic programs
  unsigned t = threadIdx.x, lanes = 0x80ff017fu;
  bool fine = __vaddss4(lanes, 0xff01017fu) == 0x8000027fu && __vaddus4(lanes, 0x80020101u) == 0xffff0280u && __vsubus2(0x00050003u, 0x00030005u) == 0x00020000u;
  fine &= __vabs4(lanes) == 0x8001017fu && __vabsss4(lanes) == 0x7f01017fu && __vneg2(0x80000001u) == 0x8000ffffu && __vnegss2(0x80000001u) == 0x7fffffffu;
  fine &= __vcmpges4(lanes, 0u) == 0x0000ffffu && __vcmpgeu4(lanes, 0x80808080u) == 0xffff0000u && __vsetlts2(0xffff0001u, 0u) == 0x00010000u && __vsetne4(lanes, lanes) == 0u;
  fine &= __vsads4(0xff01ff01u, 0u) == 4u && __vsadu4(0xff010000u, 0u) == 256u && __vhaddu4(0xff000000u, 0xff000000u) == 0xff000000u && __vavgs2(0xfffe0002u, 0xffff0001u) == 0xfffe0002u;
  fine &= __viaddmax_s32(3, -5, -9) == -2 && __viaddmax_s32_relu(3, -5, -9) == 0 && __viaddmin_u32(3u, 4u, 9u) == 7u && __vimax3_s16x2(0x0001ffffu, 0x00020003u, 0x00000001u) == 0x00020003u;
  bool first = false, high = false, low = true;
  fine &= __vibmax_s32(4, 4, &first) == 4 && first && __vibmin_u16x2(0x00010005u, 0x00020003u, &high, &low) == 0x00010003u && high && !low;
  fine &= __vimax_s32_relu(-3, -4) == 0 && __vimin_s16x2_relu(0x00058000u, 0x00030001u) == 0x00030000u;
  out[t] = fine;
}
typedef void (*kernel)(const float*, float*, int);
const kernel kernels[] = {n0, n1, n2, n3};

int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar* scalars, kw_workspace*, kw_stream stream) {
  kernels[int(scalars[0].i)]<<<1, 64, 0, (cudaStream_t)stream>>>((const float*)in[0].data, (float*)out[0].data, 64);
  return cudaGetLastError();
}
