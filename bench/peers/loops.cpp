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
