/* nvcuda::wmma: matrices of a warp. Owns which lane holds which element (element 32 i + lane, by rows), and the product.
 * Products are summed exactly and rounded once. */
#pragma once
#include "prelude.h"

namespace nvcuda {
namespace wmma {
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision { struct tf32 {}; }

template <class T> struct Stored { using type = T; };
template <> struct Stored<precision::tf32> { using type = float; };

template <class Use, int M, int N, int K, class T, class Layout = void>
struct fragment {
  static constexpr bool is_a = std::is_same_v<Use, matrix_a>, is_b = std::is_same_v<Use, matrix_b>;
  static constexpr int rows = is_b ? K : M, columns = is_a ? K : N, num_elements = rows * columns / 32;
  static_assert((M == 16 && N == 16 && (K == 16 || K == 8)) || (M == 32 && N == 8 && K == 16) || (M == 8 && N == 32 && K == 16) || (M == 8 && N == 8 && K == 4), "no shape of wmma");
  using element_type = T;
  using storage_element_type = typename Stored<T>::type;
  storage_element_type x[num_elements];
};

template <class Use, int M, int N, int K, class T, class L, class V>
inline void fill_fragment(fragment<Use, M, N, K, T, L>& f, const V& value) {
  for (auto& x : f.x) x = typename Stored<T>::type(value);
}
inline float __float_to_tf32(float v) { return __uint_as_float((__float_as_uint(v) + 0x1000u) & 0xffffe000u); }

/* All lanes are here with the same address and stride, and both are aligned as wmma wants them. */
template <class Fragment>
KWEMU_BARE void together(const void* p, unsigned stride, size_t size, const char* what, int line, const char* file) {
  unsigned arrived;
  kwemu::Values all = kwemu_warp(kwemu::COLLECTIVE, 0xffffffffu, uint64_t(uintptr_t(p)) ^ uint64_t(stride) << 48, &arrived, line, file);
  if (arrived != 0xffffffffu) kwemu_stop("wrong mask", "wmma needs all 32 lanes of the warp", line, file);
  for (int i = 1; i < 32; i++)
    if (all[i] != all[0]) kwemu_stop("wrong mask", "wmma needs one address and one stride in all lanes of the warp", line, file);
  if (uintptr_t(p) & 31 || stride * size & 15) {
    if (std::strcmp(what, "load")) kwemu_stop("misaligned", "store_matrix_sync needs an address that is a multiple of 32 bytes, and rows of a multiple of 16", line, file);
    kwemu_stop("misaligned", "load_matrix_sync needs an address that is a multiple of 32 bytes, and rows of a multiple of 16", line, file);
  }
}
template <class Fragment>
inline size_t place(int i, unsigned stride, bool by_rows) {
  int e = 32 * i + int(kwemu::lane_id()), row = e / Fragment::columns, column = e % Fragment::columns;
  return by_rows ? size_t(row) * stride + column : size_t(column) * stride + row;
}
template <class Fragment, class P>
KWEMU_BARE void load(Fragment& f, const P* p, unsigned stride, bool by_rows, void* pc, int line, const char* file) {
  together<Fragment>(p, stride, sizeof(P), "load", line, file);
  for (int i = 0; i < Fragment::num_elements; i++) {
    const P* from = p + place<Fragment>(i, stride, by_rows);
    kwemu_touch(from, sizeof(P), 0, pc);
    std::memcpy(&f.x[i], from, sizeof(P));
  }
}
template <class Use, int M, int N, int K, class T, class L, class P>
__attribute__((always_inline)) inline void load_matrix_sync(fragment<Use, M, N, K, T, L>& f, const P* p, unsigned stride, KWEMU_HERE) {
  static_assert(!std::is_void_v<L>, "an accumulator is loaded with a layout_t");
  load(f, p, stride, std::is_same_v<L, row_major>, kwemu::this_place(), line, file);
}
template <int M, int N, int K, class T, class P>
__attribute__((always_inline)) inline void load_matrix_sync(fragment<accumulator, M, N, K, T>& f, const P* p, unsigned stride, layout_t layout, KWEMU_HERE) {
  load(f, p, stride, layout == mem_row_major, kwemu::this_place(), line, file);
}
template <class Fragment, class P>
KWEMU_BARE void store(P* p, const Fragment& f, unsigned stride, bool by_rows, void* pc, int line, const char* file) {
  together<Fragment>(p, stride, sizeof(P), "store", line, file);
  for (int i = 0; i < Fragment::num_elements; i++) {
    P* to = p + place<Fragment>(i, stride, by_rows);
    kwemu_touch(to, sizeof(P), 1, pc);
    std::memcpy(static_cast<void*>(to), &f.x[i], sizeof(P));
  }
}
template <int M, int N, int K, class T, class P>
__attribute__((always_inline)) inline void store_matrix_sync(P* p, const fragment<accumulator, M, N, K, T>& f, unsigned stride, layout_t layout, KWEMU_HERE) {
  store(p, f, stride, layout == mem_row_major, kwemu::this_place(), line, file);
}

/* All elements of a matrix, in the order of their numbers. */
template <class Fragment, class Number>
KWEMU_BARE void gather(const Fragment& f, Number* all, int line, const char* file) {
  using T = typename Fragment::storage_element_type;
  for (int i = 0; i < Fragment::num_elements; i++) {
    uint64_t bits = 0;
    std::memcpy(&bits, &f.x[i], sizeof(T));
    unsigned arrived;
    kwemu::Values lanes = kwemu_warp(kwemu::COLLECTIVE, 0xffffffffu, bits, &arrived, line, file);
    if (arrived != 0xffffffffu) kwemu_stop("wrong mask", "wmma needs all 32 lanes of the warp", line, file);
    for (int lane = 0; lane < 32; lane++) {
      T value;
      std::memcpy(static_cast<void*>(&value), &lanes[lane], sizeof(T));
      all[32 * i + lane] = std::is_same_v<typename Fragment::element_type, precision::tf32> ? double(__uint_as_float(unsigned(lanes[lane]) & 0xffffe000u)) : double(value);
    }
  }
}
template <class LA, class LB, int M, int N, int K, class T, class D, class C>
KWEMU_BARE void mma_sync(fragment<accumulator, M, N, K, D>& d, const fragment<matrix_a, M, N, K, T, LA>& a, const fragment<matrix_b, M, N, K, T, LB>& b,
                         const fragment<accumulator, M, N, K, C>& c, bool = false, KWEMU_HERE) {
  double as[M * K], bs[K * N];
  gather(a, as, line, file);
  gather(b, bs, line, file);
  using To = typename Stored<D>::type;
  for (int i = 0; i < d.num_elements; i++) {
    int e = 32 * i + int(kwemu::lane_id()), row = e / N, column = e % N;
    double sum = double(c.x[i]);
    for (int k = 0; k < K; k++) sum += as[row * K + k] * bs[k * N + column];
    if constexpr (std::is_integral_v<To>) d.x[i] = To(int64_t(sum));
    else if constexpr (sizeof(To) == 8) d.x[i] = sum;
    else d.x[i] = To(float(sum));
  }
}
}  // namespace wmma
}  // namespace nvcuda
