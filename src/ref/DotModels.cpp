// tile.dot and tile.dot_scaled: products summed in order of k, in f32 (i32, f64), from the
// accumulator on.
#include "ref/Machine.h"
#include "ref/Models.h"

using namespace mlir;

namespace nereid::ref {
namespace {

struct Extents {
  uint32_t batch = 1, m, n, k;
};
Extents extentsOf(ArrayRef<int64_t> result, int64_t k) {
  Extents e;
  size_t rank = result.size();
  e.batch = rank == 3 ? result[0] : 1;
  e.m = result[rank - 2];
  e.n = result[rank - 1];
  e.k = k;
  return e;
}

/// sums[m][n] += a[m][k] * b[k][n]. The middle loop is k, so each sum still grows in order of k.
template <typename T> void multiplyTiles(const Extents &e, const T *a, const T *b, T *sums) {
  for (uint32_t batch = 0; batch < e.batch; ++batch) {
    for (uint32_t m = 0; m < e.m; ++m)
      for (uint32_t k = 0; k < e.k; ++k) {
        T left = a[m * e.k + k];
        const T *right = b + k * e.n;
        T *row = sums + m * e.n;
        for (uint32_t n = 0; n < e.n; ++n)
          row[n] += left * right[n];
      }
    a += e.m * e.k;
    b += e.k * e.n;
    sums += e.m * e.n;
  }
}

/// A step that reads `in` as numbers of type T into `out`.
template <typename T> Step convertTo(Slot in, Slot out, bool toTf32, bool isUnsigned) {
  if (isFloat(in.storage))
    return dispatchFloat<true>(in.storage, [&]<typename From>() -> Step {
      return [=](Frame &frame) {
        const From *from = frame.data<From>(in);
        T *to = frame.data<T>(out);
        for (uint32_t i = 0; i < in.count; ++i) {
          to[i] = T(widen(from[i]));
          if (toTf32)
            to[i] = T(roundToTf32(float(to[i])));
        }
      };
    });
  return dispatchInt(in.storage, [&]<typename I>() -> Step {
    return [=](Frame &frame) {
      const auto *from = frame.data<typename I::Unsigned>(in);
      T *to = frame.data<T>(out);
      for (uint32_t i = 0; i < in.count; ++i)
        to[i] = T(isUnsigned ? int64_t(I::zext(from[i])) : I::sext(from[i]));
    };
  });
}

template <typename T> constexpr Storage sumStorage = Storage::F32;
template <> constexpr Storage sumStorage<double> = Storage::F64;
template <> constexpr Storage sumStorage<uint32_t> = Storage::I32;

template <typename T> Step decodeSums(tile::DotOp op, Decoder &d) {
  Slot a = d.slot(op.getLhs()), b = d.slot(op.getRhs()), acc = d.slot(op.getAcc()),
       out = d.define(op);
  Extents e = extentsOf(tile::shapeOf(op.getType()), tile::shapeOf(op.getLhs().getType()).back());
  bool f32 = tile::elementType(op.getLhs().getType()).isF32();
  bool tf32 = d.options().emulateTf32 && f32 && op.getPrecision() == tile::InputPrecision::TF32;
  constexpr Storage storage = sumStorage<T>;
  Slot left = d.temporary(storage, a.count), right = d.temporary(storage, b.count),
       sums = d.temporary(storage, out.count);
  Step readLeft = convertTo<T>(a, left, tf32, op.getIsUnsigned()),
       readRight = convertTo<T>(b, right, tf32, op.getIsUnsigned()),
       readAcc = convertTo<T>(acc, sums, false, false);
  return [=](Frame &frame) {
    readLeft(frame);
    readRight(frame);
    readAcc(frame);
    multiplyTiles(e, frame.data<T>(left), frame.data<T>(right), frame.data<T>(sums));
    const T *from = frame.data<T>(sums);
    if constexpr (std::is_integral_v<T>)
      std::copy_n(from, out.count, frame.data<T>(out));
    else
      dispatchFloat<false>(out.storage, [&]<typename To>() {
        To *to = frame.data<To>(out);
        for (uint32_t i = 0; i < out.count; ++i)
          to[i] = narrow<To>(from[i]);
      });
  };
}

Step decodeDot(tile::DotOp op, Decoder &d) {
  Storage sum = d.storageOf(op.getType());
  if (sum == Storage::I32)
    return decodeSums<uint32_t>(op, d);
  if (sum == Storage::F64)
    return decodeSums<double>(op, d);
  return decodeSums<float>(op, d);
}

// --- microscaled ---

unsigned packingOf(tile::ScaledFormat format) { return format == tile::ScaledFormat::E2M1 ? 2 : 1; }

double scaledElement(tile::ScaledFormat format, const Slot &slot, Frame &frame, uint32_t at,
                     bool high) {
  switch (format) {
  case tile::ScaledFormat::E2M1:
    return support::decodeFloat(e2m1Format, frame.data<uint8_t>(slot)[at] >> (high ? 4 : 0) & 0xf);
  case tile::ScaledFormat::E4M3:
    if (slot.storage == Storage::F64) // wide
      return frame.data<double>(slot)[at];
    return support::decodeFloat(formatOf<E4M3FN>, frame.data<uint8_t>(slot)[at]);
  case tile::ScaledFormat::E5M2:
    if (slot.storage == Storage::F64)
      return frame.data<double>(slot)[at];
    return support::decodeFloat(formatOf<E5M2>, frame.data<uint8_t>(slot)[at]);
  default:
    return dispatchFloat<false>(
        slot.storage, [&]<typename T>() { return double(widen(frame.data<T>(slot)[at])); });
  }
}

/// The scales of an operand, which may have none.
struct Scales {
  Scales(Value scales, int64_t k, Decoder &d) {
    if (!scales)
      return;
    slot = d.slot(scales);
    group = tile::DotScaledOp::groupOf(k, scales.getType());
    isE8M0 = tile::elementType(scales.getType()).isInteger(8);
  }
  double at(Frame &frame, uint32_t row, uint32_t k, uint32_t extent) const {
    if (group == 0)
      return 1;
    uint32_t at = row * (extent / group) + k / group;
    if (!isE8M0)
      return scaledElement(tile::ScaledFormat::E4M3, slot, frame, at, false);
    uint8_t s = frame.data<uint8_t>(slot)[at];
    return s == 0xff ? std::nan("") : std::ldexp(1.0, int(s) - 127);
  }

private:
  Slot slot;
  uint32_t group = 0; // elements along K; 0 without scales
  bool isE8M0 = false;
};

Step decodeDotScaled(tile::DotScaledOp op, Decoder &d) {
  tile::ScaledFormat leftFormat = op.getLhsFormat(), rightFormat = op.getRhsFormat();
  bool leftAlongK = op.getLhsPackedK(), rightAlongK = op.getRhsPackedK();
  Slot a = d.slot(op.getLhs()), b = d.slot(op.getRhs()), acc = d.slot(op.getAcc()),
       out = d.define(op);
  int64_t k =
      tile::shapeOf(op.getLhs().getType()).back() * (leftAlongK ? packingOf(leftFormat) : 1);
  Scales leftScales(op.getLhsScale(), k, d), rightScales(op.getRhsScale(), k, d);
  Extents e = extentsOf(tile::shapeOf(op.getType()), k);
  // Scaled operands are f32, the widest they can be: a scale times any of these formats is exact
  // but for underflow of the smallest scales.
  Storage storage = d.wide() ? Storage::F64 : Storage::F32;
  Slot left = d.temporary(storage, e.batch * e.m * e.k),
       right = d.temporary(storage, e.batch * e.k * e.n), sums = d.temporary(storage, out.count);
  auto run = [=]<typename T>(Frame &frame) {
    T *x = frame.data<T>(left), *y = frame.data<T>(right), *s = frame.data<T>(sums);
    unsigned lp = packingOf(leftFormat), rp = packingOf(rightFormat);
    for (uint32_t batch = 0; batch < e.batch; ++batch) {
      for (uint32_t m = 0; m < e.m; ++m)
        for (uint32_t kk = 0; kk < e.k; ++kk) {
          uint32_t at = leftAlongK ? (batch * e.m + m) * (e.k / lp) + kk / lp
                                   : (batch * (e.m / lp) + m / lp) * e.k + kk;
          double value = scaledElement(leftFormat, a, frame, at, (leftAlongK ? kk : m) % 2) *
                         leftScales.at(frame, batch * e.m + m, kk, e.k);
          x[(batch * e.m + m) * e.k + kk] = T(value);
        }
      for (uint32_t kk = 0; kk < e.k; ++kk)
        for (uint32_t n = 0; n < e.n; ++n) {
          uint32_t at = rightAlongK ? (batch * (e.k / rp) + kk / rp) * e.n + n
                                    : (batch * e.k + kk) * (e.n / rp) + n / rp;
          double value = scaledElement(rightFormat, b, frame, at, (rightAlongK ? kk : n) % 2) *
                         rightScales.at(frame, batch * e.n + n, kk, e.k);
          y[(batch * e.k + kk) * e.n + n] = T(value);
        }
    }
    dispatchFloat<false>(acc.storage, [&]<typename From>() {
      for (uint32_t i = 0; i < out.count; ++i)
        s[i] = T(widen(frame.data<From>(acc)[i]));
    });
    multiplyTiles(e, x, y, s);
    dispatchFloat<false>(out.storage, [&]<typename To>() {
      for (uint32_t i = 0; i < out.count; ++i)
        frame.data<To>(out)[i] = narrow<To>(s[i]);
    });
  };
  if (d.wide())
    return [run](Frame &frame) { run.template operator()<double>(frame); };
  return [run](Frame &frame) { run.template operator()<float>(frame); };
}

} // namespace

void attachDotModels(MLIRContext *c) {
  attach<tile::DotOp, decodeDot>(c);
  attach<tile::DotScaledOp, decodeDotScaled>(c);
}

} // namespace nereid::ref
