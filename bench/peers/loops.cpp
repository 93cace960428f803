// What bench/CpuKernels.cpp compares with, compiled at its start for the machine that it runs on.
#include <immintrin.h>

namespace {

constexpr long rounds = 400000;
constexpr int chains = 12;

#define CHAINS(instruction, width)                                                                 \
  width sums[chains];                                                                              \
  for (width & sum : sums)                                                                         \
    sum = width{};                                                                                 \
  width factor{};                                                                                  \
  for (long i = 0; i < rounds; ++i)                                                                \
    _Pragma("unroll") for (int c = 0; c < chains; ++c) asm volatile(instruction " %1, %1, %0" :    \
                                                                    "+v"(sums[c]) : "v"(factor));

} // namespace

// Independent multiply-adds on registers; gives the number of operations.
extern "C" double peak_f32() {
#ifdef __AVX512F__
  CHAINS("vfmadd231ps", __m512)
  return rounds * chains * 32.0;
#else
  CHAINS("vfmadd231ps", __m256)
  return rounds * chains * 16.0;
#endif
}

extern "C" double peak_bf16() {
#ifdef __AVX512BF16__
  CHAINS("vdpbf16ps", __m512)
  return rounds * chains * 64.0;
#else
  return peak_f32();
#endif
}

extern "C" double peak_int8() {
#ifdef __AVX512VNNI__
  CHAINS("vpdpbusd", __m512i)
  return rounds * chains * 128.0;
#else
  return peak_f32();
#endif
}

// The rate of memory: a copy that does not read what it overwrites. Both at multiples of 64 bytes.
extern "C" void copy(const float *x, float *out, long n) {
#ifdef __AVX512F__
  for (long i = 0; i < n; i += 16)
    _mm512_stream_ps(out + i, _mm512_load_ps(x + i));
#else
  for (long i = 0; i < n; i += 8)
    _mm256_stream_ps(out + i, _mm256_load_ps(x + i));
#endif
  _mm_sfence();
}

extern "C" void copy_plain(const float *x, float *out, long n) {
#ifdef __AVX512F__
  for (long i = 0; i < n; i += 16)
    _mm512_store_ps(out + i, _mm512_load_ps(x + i));
#else
  for (long i = 0; i < n; i += 8)
    _mm256_store_ps(out + i, _mm256_load_ps(x + i));
#endif
}

// Plain loops. The flags let the compiler reorder sums and use vector functions.

extern "C" void add(const float *x, const float *y, float *out, long n) {
  for (long i = 0; i < n; ++i)
    out[i] = x[i] + y[i];
}

extern "C" void softmax(const float *__restrict x, float *__restrict y, long m, long n) {
  for (long row = 0; row < m; ++row, x += n, y += n) {
    float max = x[0], sum = 0;
    for (long i = 0; i < n; ++i)
      max = x[i] > max ? x[i] : max;
    for (long i = 0; i < n; ++i) {
      y[i] = __builtin_expf(x[i] - max);
      sum += y[i];
    }
    for (long i = 0; i < n; ++i)
      y[i] /= sum;
  }
}

extern "C" void softmax_backward(const float *__restrict y, const float *__restrict dy,
                                 float *__restrict dx, long m, long n) {
  for (long row = 0; row < m; ++row, y += n, dy += n, dx += n) {
    float sum = 0;
    for (long i = 0; i < n; ++i)
      sum += y[i] * dy[i];
    for (long i = 0; i < n; ++i)
      dx[i] = y[i] * (dy[i] - sum);
  }
}

extern "C" void layer_norm(const float *__restrict x, const float *__restrict w,
                           const float *__restrict b, float *__restrict y, float *__restrict means,
                           float *__restrict rstds, long m, long n) {
  for (long row = 0; row < m; ++row, x += n, y += n) {
    float sum = 0, squares = 0;
    for (long i = 0; i < n; ++i)
      sum += x[i];
    float mean = sum / n;
    for (long i = 0; i < n; ++i)
      squares += (x[i] - mean) * (x[i] - mean);
    float rstd = 1 / __builtin_sqrtf(squares / n + 1e-5f);
    for (long i = 0; i < n; ++i)
      y[i] = (x[i] - mean) * rstd * w[i] + b[i];
    means[row] = mean;
    rstds[row] = rstd;
  }
}
