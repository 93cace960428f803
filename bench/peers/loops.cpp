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

// Rows in memory by hand: each pass along a row is one loop, results go past the cache, and the row
// that comes 16 KiB later is fetched meanwhile. What kernels of the same passes may reach.

#ifdef __AVX512F__
namespace {

constexpr long lanes = 16, step = 4 * lanes;
typedef __m512 Vector;

Vector all(float value) { return _mm512_set1_ps(value); }
Vector at(const float *p) { return _mm512_load_ps(p); }
long distance(long n) { return n < 4096 ? 4096 / n * n : n; }
void fetch(const float *p) {
  for (long i = 0; i < step; i += lanes)
    _mm_prefetch(reinterpret_cast<const char *>(p + i), _MM_HINT_T0);
}
// Calls `each` for every vector of a row and adds what it gives.
template <typename F> float total(long n, F each) {
  Vector sums[4] = {};
  for (long i = 0; i < n; i += step)
    for (long k = 0; k < 4; ++k)
      sums[k] += each(i + k * lanes);
  return _mm512_reduce_add_ps(sums[0] + sums[1] + (sums[2] + sums[3]));
}

// As the kernels' (src/cpu/MathLanes.cpp).
struct Exponential {
  Vector low, high;
  Exponential() {
    float powers[2 * lanes];
    for (int i = 0; i < 2 * lanes; ++i)
      powers[i] = __builtin_exp2f(float(i) / (2 * lanes));
    low = _mm512_loadu_ps(powers);
    high = _mm512_loadu_ps(powers + lanes);
  }
  Vector operator()(Vector x) const {
    Vector large = all(1.5f * (1 << 23) / 32);
    Vector count = _mm512_fmadd_ps(x, all(1.44269504f), large), n = count - large;
    Vector r = _mm512_fmadd_ps(n, all(-0.693359375f), x);
    r = _mm512_range_ps(_mm512_fmadd_ps(n, all(2.12194440e-4f), r), all(0.03f), 2);
    Vector power = _mm512_permutex2var_ps(low, _mm512_castps_si512(count), high);
    Vector p = _mm512_fmadd_ps(_mm512_fmadd_ps(r, all(0.5f), all(1)), r * power, power);
    return _mm512_scalef_ps(p, n);
  }
};

} // namespace

extern "C" void rows_softmax(const float *x, float *y, long m, long n) {
  Exponential exponential;
  float *e = static_cast<float *>(__builtin_alloca(n * 4 + 64));
  e += 16 - reinterpret_cast<unsigned long>(e) / 4 % 16;
  for (long row = 0, ahead = distance(n); row < m; ++row, x += n, y += n) {
    Vector most[4] = {at(x), at(x), at(x), at(x)};
    for (long i = 0; i < n; i += step)
      for (long k = 0; k < 4; ++k)
        most[k] = _mm512_max_ps(at(x + i + k * lanes), most[k]);
    Vector max = all(_mm512_reduce_max_ps(
        _mm512_max_ps(_mm512_max_ps(most[0], most[1]), _mm512_max_ps(most[2], most[3]))));
    Vector share = all(1 / total(n, [&](long i) {
                         if (i % step == 0)
                           fetch(x + ahead + i);
                         Vector one = exponential(at(x + i) - max);
                         _mm512_store_ps(e + i, one);
                         return one;
                       }));
    for (long i = 0; i < n; i += lanes)
      _mm512_stream_ps(y + i, at(e + i) * share);
  }
  _mm_sfence();
}

extern "C" void rows_softmax_backward(const float *y, const float *dy, float *dx, long m, long n) {
  for (long row = 0, ahead = distance(n); row < m; ++row, y += n, dy += n, dx += n) {
    Vector sum = all(total(n, [&](long i) { return at(y + i) * at(dy + i); }));
    for (long i = 0; i < n; i += step) {
      fetch(y + ahead + i);
      fetch(dy + ahead + i);
      for (long k = i; k < i + step; k += lanes)
        _mm512_stream_ps(dx + k, at(y + k) * (at(dy + k) - sum));
    }
  }
  _mm_sfence();
}

extern "C" void rows_layer_norm(const float *x, const float *w, const float *b, float *y,
                                float *means, float *rstds, long m, long n) {
  for (long row = 0, ahead = distance(n); row < m; ++row, x += n, y += n) {
    means[row] = total(n, [&](long i) { return at(x + i); }) / float(n);
    Vector mean = all(means[row]);
    bool late = 4 * n * 4 <= 32 << 10; // x, w, b and the next row are in the first cache
    rstds[row] = 1 / __builtin_sqrtf(total(n,
                                           [&](long i) {
                                             if (!late && i % step == 0)
                                               fetch(x + ahead + i);
                                             Vector d = at(x + i) - mean;
                                             return d * d;
                                           }) /
                                         float(n) +
                                     1e-5f);
    Vector rstd = all(rstds[row]);
    for (long i = 0; i < n; i += step) {
      if (late)
        fetch(x + ahead + i);
      for (long k = i; k < i + step; k += lanes)
        _mm512_stream_ps(y + k, (at(x + k) - mean) * rstd * at(w + k) + at(b + k));
    }
  }
  _mm_sfence();
}

// Sums for w and b over all of the rows.
extern "C" void rows_layer_norm_backward(const float *x, const float *w, const float *dy,
                                         const float *means, const float *rstds, float *dx,
                                         float *dw, float *db, long m, long n) {
  for (long i = 0; i < n; ++i)
    dw[i] = db[i] = 0;
  for (long row = 0; row < m; ++row, x += n, dy += n, dx += n) {
    Vector mean = all(means[row]), rstd = all(rstds[row]), levels[4] = {};
    float along = total(n, [&](long i) {
      Vector g = at(w + i) * at(dy + i);
      levels[i / lanes % 4] += g;
      return (at(x + i) - mean) * rstd * g;
    });
    float level = _mm512_reduce_add_ps(levels[0] + levels[1] + (levels[2] + levels[3]));
    Vector a = all(along / float(n)), l = all(level / float(n));
    for (long i = 0; i < n; i += lanes) {
      Vector hat = (at(x + i) - mean) * rstd, d = at(dy + i);
      _mm512_stream_ps(dx + i, (at(w + i) * d - hat * a - l) * rstd);
      _mm512_store_ps(dw + i, at(dw + i) + d * hat);
      _mm512_store_ps(db + i, at(db + i) + d);
    }
  }
  _mm_sfence();
}
#endif
