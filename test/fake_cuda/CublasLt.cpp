// A cuBLASLt that multiplies on the host: whether matrices are described to the library as they
// lie. Knows what the runtime uses; e4m3 without NaN.
#include <cmath>
#include <cstdint>
#include <cstring>

namespace {
using Code = int;
constexpr Code notSupported = 15;

struct Description {
  int compute, scale;
  int32_t transposes[2] = {0, 0};
};
struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t leading;
};
struct Result {
  uint64_t algorithm[8];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

double readAt(int type, const void *base, int64_t i) {
  auto as = [&]<typename T>(T) { return static_cast<const T *>(base)[i]; };
  switch (type) {
  case 0:
    return as(float());
  case 1:
    return as(double());
  case 2:
    return double(as(_Float16()));
  case 3:
    return as(int8_t());
  case 14: {
    uint32_t bits = uint32_t(as(uint16_t())) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  default: { // e4m3
    uint8_t bits = as(uint8_t());
    int exponent = bits >> 3 & 15, fraction = bits & 7;
    double value = exponent ? std::ldexp(8 + fraction, exponent - 10) : std::ldexp(fraction, -9);
    return bits & 128 ? -value : value;
  }
  }
}

void writeAt(int type, void *base, int64_t i, double value) {
  if (type == 0)
    static_cast<float *>(base)[i] = float(value);
  else if (type == 1)
    static_cast<double *>(base)[i] = value;
  else if (type == 2)
    static_cast<_Float16 *>(base)[i] = _Float16(value);
  else if (type == 10)
    static_cast<int32_t *>(base)[i] = int32_t(value);
  else if (type == 14) {
    auto single = float(value);
    uint32_t bits;
    std::memcpy(&bits, &single, 4);
    static_cast<uint16_t *>(base)[i] = uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
}
} // namespace

#pragma GCC visibility push(default)
extern "C" {
size_t cublasLtGetVersion() { return 130100; }
Code cublasLtCreate(void **handle) { return *handle = new int(0), 0; }
Code cublasLtDestroy(void *handle) { return delete static_cast<int *>(handle), 0; }
Code cublasLtMatmulDescCreate(void **made, int compute, int scale) {
  return *made = new Description{compute, scale}, 0;
}
Code cublasLtMatmulDescDestroy(void *made) { return delete static_cast<Description *>(made), 0; }
Code cublasLtMatmulDescSetAttribute(void *made, int which, const void *value, size_t) {
  std::memcpy(&static_cast<Description *>(made)->transposes[which - 3], value, 4);
  return 0;
}
Code cublasLtMatrixLayoutCreate(void **made, int type, uint64_t rows, uint64_t columns,
                                int64_t leading) {
  return *made = new Layout{type, rows, columns, leading}, 0;
}
Code cublasLtMatrixLayoutDestroy(void *made) { return delete static_cast<Layout *>(made), 0; }
Code cublasLtMatmulPreferenceCreate(void **made) { return *made = new int(0), 0; }
Code cublasLtMatmulPreferenceDestroy(void *made) { return delete static_cast<int *>(made), 0; }
Code cublasLtMatmulPreferenceSetAttribute(void *, int, const void *, size_t) { return 0; }
Code cublasLtMatmulAlgoGetHeuristic(void *, void *description, void *first, void *, void *, void *,
                                    void *, int count, void *made, int *found) {
  auto *results = static_cast<Result *>(made);
  // fp8 is multiplied with the first factor transposed and the second not, as on a Hopper GPU.
  auto *how = static_cast<Description *>(description);
  if (static_cast<Layout *>(first)->type == 28 && (!how->transposes[0] || how->transposes[1]))
    return notSupported;
  *found = count < 2 ? count : 2;
  for (int i = 0; i < *found; ++i)
    results[i] = {{uint64_t(i)}, 0, 0, 1, {}};
  return 0;
}
Code cublasLtMatmul(void *, void *description, const void *alpha, const void *first,
                    void *firstLayout, const void *second, void *secondLayout, const void *beta,
                    const void *, void *, void *result, void *resultLayout, const void *, void *,
                    size_t, void *) {
  auto *how = static_cast<Description *>(description);
  auto *a = static_cast<Layout *>(firstLayout), *b = static_cast<Layout *>(secondLayout),
       *d = static_cast<Layout *>(resultLayout);
  bool isInteger = how->compute == 72;
  int scaleType = how->compute == 70 ? 1 : 0;
  double one = isInteger ? *static_cast<const int32_t *>(alpha) : readAt(scaleType, alpha, 0),
         none = isInteger ? *static_cast<const int32_t *>(beta) : readAt(scaleType, beta, 0);
  if (one != 1 || none != 0)
    return notSupported;
  uint64_t inner = how->transposes[0] ? a->rows : a->columns;
  uint64_t aRows = how->transposes[0] ? a->columns : a->rows,
           bInner = how->transposes[1] ? b->columns : b->rows,
           bColumns = how->transposes[1] ? b->rows : b->columns;
  if (aRows != d->rows || bInner != inner || bColumns != d->columns)
    return notSupported;
  auto at = [](const Layout &of, bool transposed, uint64_t row, uint64_t column) {
    return transposed ? int64_t(row) * of.leading + int64_t(column)
                      : int64_t(column) * of.leading + int64_t(row);
  };
  for (uint64_t i = 0; i < d->rows; ++i)
    for (uint64_t j = 0; j < d->columns; ++j) {
      double sum = 0;
      for (uint64_t l = 0; l < inner; ++l)
        sum += readAt(a->type, first, at(*a, how->transposes[0], i, l)) *
               readAt(b->type, second, at(*b, how->transposes[1], l, j));
      writeAt(d->type, result, at(*d, false, i, j), sum);
    }
  return 0;
}
}
#pragma GCC visibility pop
