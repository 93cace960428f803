// arith: integers, floats, conversions, constants.
#include "ref/Loops.h"
#include "ref/Machine.h"
#include "ref/Models.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace nereid::ref {
namespace {

template <typename Fn> Step decodeInts(Operation *op, Decoder &d) {
  Slot a = d.slot(op->getOperand(0)), b = d.slot(op->getOperand(1));
  return intBinary(d.define(op->getResult(0)), a, b, Fn());
}
template <auto fn> Step decodeFloats(Operation *op, Decoder &d) {
  Slot a = d.slot(op->getOperand(0)), b = d.slot(op->getOperand(1));
  return floatBinary(d.define(op->getResult(0)), a, b, fn);
}

#define INT_OP(NAME, EXPRESSION)                                                                   \
  struct NAME {                                                                                    \
    template <typename I> uint64_t operator()(auto x, auto y) const { return EXPRESSION; }         \
  };
INT_OP(Add, uint64_t(x) + y)
INT_OP(Subtract, uint64_t(x) - y)
INT_OP(Multiply, uint64_t(x) * y)
INT_OP(And, x &y)
INT_OP(Or, x | y)
INT_OP(Xor, x ^ y)
INT_OP(MaxSigned, I::sext(x) > I::sext(y) ? x : y)
INT_OP(MinSigned, I::sext(x) < I::sext(y) ? x : y)
INT_OP(MaxUnsigned, x > y ? x : y)
INT_OP(MinUnsigned, x < y ? x : y)
#undef INT_OP

constexpr auto add = [](auto x, auto y) { return x + y; };
constexpr auto subtract = [](auto x, auto y) { return x - y; };
constexpr auto multiply = [](auto x, auto y) { return x * y; };
constexpr auto divide = [](auto x, auto y) { return x / y; };
constexpr auto remainder = [](auto x, auto y) { return std::fmod(x, y); };
// maximumf and minimumf give NaN if one side is NaN, maxnumf and minnumf the other side.
constexpr auto maximum = [](auto x, auto y) {
  return std::isnan(x) ? x : std::isnan(y) ? y : largerOf(x, y);
};
constexpr auto minimum = [](auto x, auto y) {
  return std::isnan(x) ? x : std::isnan(y) ? y : smallerOf(x, y);
};
constexpr auto maxNum = [](auto x, auto y) {
  return std::isnan(x) ? y : std::isnan(y) ? x : largerOf(x, y);
};
constexpr auto minNum = [](auto x, auto y) {
  return std::isnan(x) ? y : std::isnan(y) ? x : smallerOf(x, y);
};

Step decodeNegF(arith::NegFOp op, Decoder &d) {
  Slot in = d.slot(op.getOperand());
  return floatUnary(d.define(op), in, [](auto x) { return -x; });
}

// --- comparisons ---

template <typename I> bool compareInts(arith::CmpIPredicate predicate, uint64_t x, uint64_t y) {
  int64_t sx = I::sext(x), sy = I::sext(y);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return x == y;
  case arith::CmpIPredicate::ne:
    return x != y;
  case arith::CmpIPredicate::slt:
    return sx < sy;
  case arith::CmpIPredicate::sle:
    return sx <= sy;
  case arith::CmpIPredicate::sgt:
    return sx > sy;
  case arith::CmpIPredicate::sge:
    return sx >= sy;
  case arith::CmpIPredicate::ult:
    return x < y;
  case arith::CmpIPredicate::ule:
    return x <= y;
  case arith::CmpIPredicate::ugt:
    return x > y;
  case arith::CmpIPredicate::uge:
    return x >= y;
  }
  return false;
}

Step decodeCmpI(arith::CmpIOp op, Decoder &d) {
  Slot a = d.slot(op.getLhs()), b = d.slot(op.getRhs()), out = d.define(op);
  return dispatchInt(a.storage, [&]<typename I>() -> Step {
    return [=, predicate = op.getPredicate()](Frame &frame) {
      using U = typename I::Unsigned;
      const U *x = frame.data<U>(a), *y = frame.data<U>(b);
      auto *to = frame.data<uint8_t>(out);
      for (uint32_t i = 0; i < out.count; ++i)
        to[i] = compareInts<I>(predicate, x[i], y[i]);
    };
  });
}

bool compareFloats(arith::CmpFPredicate predicate, double x, double y) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(x) || std::isnan(y);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::OEQ:
    return x == y;
  case P::OGT:
    return x > y;
  case P::OGE:
    return x >= y;
  case P::OLT:
    return x < y;
  case P::OLE:
    return x <= y;
  case P::ONE:
    return !unordered && x != y;
  case P::ORD:
    return !unordered;
  case P::UEQ:
    return unordered || x == y;
  case P::UGT:
    return unordered || x > y;
  case P::UGE:
    return unordered || x >= y;
  case P::ULT:
    return unordered || x < y;
  case P::ULE:
    return unordered || x <= y;
  case P::UNE:
    return unordered || x != y;
  case P::UNO:
    return unordered;
  case P::AlwaysTrue:
    return true;
  }
  return false;
}

Step decodeCmpF(arith::CmpFOp op, Decoder &d) {
  Slot a = d.slot(op.getLhs()), b = d.slot(op.getRhs()), out = d.define(op);
  return dispatchFloat<true>(a.storage, [&]<typename T>() -> Step {
    return [=, predicate = op.getPredicate()](Frame &frame) {
      const T *x = frame.data<T>(a), *y = frame.data<T>(b);
      auto *to = frame.data<uint8_t>(out);
      for (uint32_t i = 0; i < out.count; ++i)
        to[i] = compareFloats(predicate, widen(x[i]), widen(y[i]));
    };
  });
}

Step decodeSelect(arith::SelectOp op, Decoder &d) {
  Slot condition = d.slot(op.getCondition()), a = d.slot(op.getTrueValue()),
       b = d.slot(op.getFalseValue()), out = d.define(op);
  // A scalar condition chooses a whole tile.
  if (condition.count != out.count || out.storage == Storage::Descriptor)
    return [=](Frame &frame) { frame.copy(out, frame.scalar<uint8_t>(condition) ? a : b); };
  return dispatchWidth(out.storage, [&]<typename T>() -> Step {
    return [=](Frame &frame) {
      const auto *choose = frame.data<uint8_t>(condition);
      const T *x = frame.data<T>(a), *y = frame.data<T>(b);
      T *to = frame.data<T>(out);
      for (uint32_t i = 0; i < out.count; ++i)
        to[i] = choose[i] ? x[i] : y[i];
    };
  });
}

// --- conversions ---

template <bool isSigned> Step decodeIntToInt(Operation *op, Decoder &d) {
  Slot in = d.slot(op->getOperand(0)), out = d.define(op->getResult(0));
  return dispatchInt(in.storage, [&]<typename From>() -> Step {
    return dispatchInt(out.storage, [&]<typename To>() -> Step {
      return [=](Frame &frame) {
        const auto *from = frame.data<typename From::Unsigned>(in);
        auto *to = frame.data<typename To::Unsigned>(out);
        for (uint32_t i = 0; i < out.count; ++i)
          to[i] = To::wrap(isSigned ? uint64_t(From::sext(from[i])) : From::zext(from[i]));
      };
    });
  });
}

template <bool isSigned> Step decodeIntToFloat(Operation *op, Decoder &d) {
  Slot in = d.slot(op->getOperand(0)), out = d.define(op->getResult(0));
  return dispatchInt(in.storage, [&]<typename From>() -> Step {
    return dispatchFloat<false>(out.storage, [&]<typename T>() -> Step {
      return [=](Frame &frame) {
        const auto *from = frame.data<typename From::Unsigned>(in);
        T *to = frame.data<T>(out);
        for (uint32_t i = 0; i < out.count; ++i) {
          int64_t s = From::sext(from[i]);
          uint64_t u = From::zext(from[i]);
          if constexpr (std::is_floating_point_v<T>) {
            to[i] = isSigned ? T(s) : T(u);
          } else {
            // Through f64 with an odd last bit, so that rounding happens once.
            uint64_t magnitude = isSigned && s < 0 ? -uint64_t(s) : isSigned ? uint64_t(s) : u;
            if (magnitude >> 53)
              magnitude = (magnitude >> 11 | ((magnitude & 0x7ff) != 0)) << 11;
            double value = double(magnitude);
            to[i] = narrow<T>(isSigned && s < 0 ? -value : value);
          }
        }
      };
    });
  });
}

template <bool isUnsigned> Step decodeFloatToInt(Operation *op, Decoder &d) {
  Slot in = d.slot(op->getOperand(0)), out = d.define(op->getResult(0));
  return dispatchFloat<true>(in.storage, [&]<typename T>() -> Step {
    return dispatchInt(out.storage, [&]<typename I>() -> Step {
      return [=](Frame &frame) {
        const T *from = frame.data<T>(in);
        auto *to = frame.data<typename I::Unsigned>(out);
        for (uint32_t i = 0; i < out.count; ++i)
          to[i] = floatToInt<I>(widen(from[i]), isUnsigned);
      };
    });
  });
}

template <typename Op> Step decodeFloatToFloat(Op op, Decoder &d) {
  auto round = support::Round::NearestEven;
  if constexpr (requires { op.getRounding(); })
    if (op.getRounding() == tile::Rounding::RTZ)
      round = support::Round::TowardsZero;
  Slot in = d.slot(op->getOperand(0)), out = d.define(op->getResult(0));
  return dispatchFloat<true>(in.storage, [&]<typename From>() -> Step {
    return dispatchFloat<true>(out.storage, [&]<typename To>() -> Step {
      return [=](Frame &frame) {
        const From *from = frame.data<From>(in);
        To *to = frame.data<To>(out);
        for (uint32_t i = 0; i < out.count; ++i)
          to[i] = narrow<To>(widen(from[i]), round);
      };
    });
  });
}

template <typename Op> Step decodeBitcast(Op op, Decoder &d) {
  Type fromType = op->getOperand(0).getType(), toType = op->getResult(0).getType();
  Storage from = Decoder::storageInMemory(fromType), to = Decoder::storageInMemory(toType);
  // i1 is kept as a byte, but both sides are i1 then.
  if (!d.wide() || (!isFloat(from) && !isFloat(to))) {
    d.alias(op->getResult(0), op->getOperand(0));
    return {};
  }
  // Wide floats have no bits of their own: they are taken and given through the type's own format.
  Slot in = d.slot(op->getOperand(0)), out = d.define(op->getResult(0));
  return dispatchWidth(to, [&]<typename U>() -> Step {
    return [=](Frame &frame) {
      for (uint32_t i = 0; i < out.count; ++i) {
        U bits;
        if (isFloat(from))
          dispatchFloat<true>(from, [&]<typename T>() {
            if constexpr (sizeof(T) == sizeof(U))
              bits = std::bit_cast<U>(narrow<T>(frame.data<double>(in)[i]));
          });
        else
          bits = frame.data<U>(in)[i];
        if (isFloat(to))
          dispatchFloat<true>(to, [&]<typename T>() {
            if constexpr (sizeof(T) == sizeof(U))
              frame.data<double>(out)[i] = widen(std::bit_cast<T>(bits));
          });
        else
          frame.data<U>(out)[i] = bits;
      }
    };
  });
}

// --- constants ---

// The bits of a constant element as they lie in a slot.
uint64_t constantBits(const APInt &bits, Storage inMemory, bool wide) {
  if (!wide || !isFloat(inMemory))
    return bits.getZExtValue();
  double value = dispatchFloat<true>(inMemory, [&]<typename T>() {
    T element;
    uint64_t raw = bits.getZExtValue();
    std::memcpy(&element, &raw, sizeof(T));
    return double(widen(element));
  });
  return std::bit_cast<uint64_t>(value);
}

Step decodeConstant(arith::ConstantOp op, Decoder &d) {
  Storage storage = d.storageOf(op.getType()), inMemory = Decoder::storageInMemory(op.getType());
  bool tensor = isa<RankedTensorType>(op.getType());
  uint32_t count = tensor ? Decoder::countOf(op.getType()) : d.lanes();
  std::byte *bytes;
  auto fill = [&](uint32_t first, uint32_t end, const APInt &value) {
    uint64_t bits = constantBits(value, inMemory, d.wide());
    for (uint32_t i = first; i < end; ++i)
      std::memcpy(bytes + size_t(i) * widthOf(storage), &bits, widthOf(storage));
  };
  Attribute value = op.getValue();
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    d.constant(op, storage, count, bytes);
    fill(0, count, integer.getValue());
  } else if (auto number = dyn_cast<FloatAttr>(value)) {
    d.constant(op, storage, count, bytes);
    fill(0, count, number.getValue().bitcastToAPInt());
  } else if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    d.constant(op, storage, count, bytes);
    bool floats = isa<FloatType>(dense.getElementType());
    if (dense.isSplat()) {
      fill(0, count,
           floats ? dense.getSplatValue<APFloat>().bitcastToAPInt() : dense.getSplatValue<APInt>());
    } else if (floats) {
      uint32_t i = 0;
      for (APFloat element : dense.getValues<APFloat>())
        fill(i, i + 1, element.bitcastToAPInt()), ++i;
    } else {
      uint32_t i = 0;
      for (APInt element : dense.getValues<APInt>())
        fill(i, i + 1, element), ++i;
    }
  } else {
    d.unsupported(op, "a constant of this kind is not known to the interpreter");
  }
  return {};
}

template <bool isSigned> Step decodeMulExtended(Operation *op, Decoder &d) {
  Slot a = d.slot(op->getOperand(0)), b = d.slot(op->getOperand(1));
  Slot low = d.define(op->getResult(0)), high = d.define(op->getResult(1));
  return dispatchInt(low.storage, [&]<typename I>() -> Step {
    return [=](Frame &frame) {
      using U = typename I::Unsigned;
      const U *x = frame.data<U>(a), *y = frame.data<U>(b);
      U *lo = frame.data<U>(low), *hi = frame.data<U>(high);
      for (uint32_t i = 0; i < low.count; ++i) {
        __int128 product = isSigned ? __int128(I::sext(x[i])) * I::sext(y[i])
                                    : __int128((unsigned __int128)(I::zext(x[i]))*I::zext(y[i]));
        lo[i] = I::wrap(uint64_t(product));
        hi[i] = I::wrap(uint64_t(product >> I::bits));
      }
    };
  });
}

} // namespace

void attachArithModels(MLIRContext *c) {
  using namespace arith;
  attach<ConstantOp, decodeConstant>(c);
  attach<AddIOp, decodeInts<Add>>(c);
  attach<SubIOp, decodeInts<Subtract>>(c);
  attach<MulIOp, decodeInts<Multiply>>(c);
  attach<AndIOp, decodeInts<And>>(c);
  attach<OrIOp, decodeInts<Or>>(c);
  attach<XOrIOp, decodeInts<Xor>>(c);
  attach<MaxSIOp, decodeInts<MaxSigned>>(c);
  attach<MinSIOp, decodeInts<MinSigned>>(c);
  attach<MaxUIOp, decodeInts<MaxUnsigned>>(c);
  attach<MinUIOp, decodeInts<MinUnsigned>>(c);
  attach<DivSIOp, decodeInts<DivideSigned>>(c);
  attach<DivUIOp, decodeInts<DivideUnsigned>>(c);
  attach<RemSIOp, decodeInts<RemainderSigned>>(c);
  attach<RemUIOp, decodeInts<RemainderUnsigned>>(c);
  attach<ShLIOp, decodeInts<ShiftLeft>>(c);
  attach<ShRSIOp, decodeInts<ShiftRightSigned>>(c);
  attach<ShRUIOp, decodeInts<ShiftRightUnsigned>>(c);
  attach<MulSIExtendedOp, decodeMulExtended<true>>(c);
  attach<MulUIExtendedOp, decodeMulExtended<false>>(c);
  attach<CmpIOp, decodeCmpI>(c);
  attach<CmpFOp, decodeCmpF>(c);
  attach<SelectOp, decodeSelect>(c);
  attach<AddFOp, decodeFloats<add>>(c);
  attach<SubFOp, decodeFloats<subtract>>(c);
  attach<MulFOp, decodeFloats<multiply>>(c);
  attach<DivFOp, decodeFloats<divide>>(c);
  attach<RemFOp, decodeFloats<remainder>>(c);
  attach<MaximumFOp, decodeFloats<maximum>>(c);
  attach<MinimumFOp, decodeFloats<minimum>>(c);
  attach<MaxNumFOp, decodeFloats<maxNum>>(c);
  attach<MinNumFOp, decodeFloats<minNum>>(c);
  attach<NegFOp, decodeNegF>(c);
  attach<ExtSIOp, decodeIntToInt<true>>(c);
  attach<ExtUIOp, decodeIntToInt<false>>(c);
  attach<TruncIOp, decodeIntToInt<false>>(c);
  attach<IndexCastOp, decodeIntToInt<true>>(c);
  attach<IndexCastUIOp, decodeIntToInt<false>>(c);
  attach<SIToFPOp, decodeIntToFloat<true>>(c);
  attach<UIToFPOp, decodeIntToFloat<false>>(c);
  attach<FPToSIOp, decodeFloatToInt<false>>(c);
  attach<FPToUIOp, decodeFloatToInt<true>>(c);
  attach<ExtFOp, decodeFloatToFloat<ExtFOp>>(c);
  attach<TruncFOp, decodeFloatToFloat<TruncFOp>>(c);
  attach<BitcastOp, decodeBitcast<arith::BitcastOp>>(c);
}

// --- tile ---

namespace {

struct MulHi {
  template <typename I> uint64_t operator()(auto x, auto y) const {
    return uint64_t(((unsigned __int128)(I::zext(x))*I::zext(y)) >> I::bits);
  }
};
Step decodeMulHi(tile::MulHiUIOp op, Decoder &d) {
  Slot a = d.slot(op.getLhs()), b = d.slot(op.getRhs());
  return intBinary(d.define(op), a, b, MulHi());
}

Step decodeFPToInt(tile::FPToIntOp op, Decoder &d) {
  return op.getIsUnsigned() ? decodeFloatToInt<true>(op, d) : decodeFloatToInt<false>(op, d);
}

Step decodeSqrtRn(tile::SqrtRnOp op, Decoder &d) {
  Slot in = d.slot(op.getSource());
  return floatUnary(d.define(op), in, [](auto x) { return std::sqrt(x); });
}

// Another name of the same bytes.
template <typename Op> Step decodeSame(Op op, Decoder &d) {
  d.alias(op->getResult(0), op->getOperand(0));
  return {};
}

// An address of the host, read from memory as a number, becomes the one that the kernel knows.
Step decodeIntToPtr(tile::IntToPtrOp op, Decoder &d) {
  if (!d.options().check)
    return decodeSame(op, d);
  Slot in = d.slot(op.getSource()), out = d.define(op);
  return [=](Frame &frame) {
    const auto *from = frame.data<uint64_t>(in);
    auto *to = frame.data<uint64_t>(out);
    for (uint32_t i = 0; i < out.count; ++i)
      to[i] = frame.machine.memory.toKernel(from[i]);
  };
}

Step decodeAddPtr(tile::AddPtrOp op, Decoder &d) {
  Slot pointer = d.slot(op.getPointer()), offset = d.slot(op.getOffset()), out = d.define(op);
  Type pointee = cast<tile::PtrType>(tile::elementType(op.getType())).getPointee();
  return dispatchInt(offset.storage, [&]<typename I>() -> Step {
    return [=, bytes = uint64_t(tile::bytesInMemory(pointee)),
            isUnsigned = op.getIsUnsigned()](Frame &frame) {
      const auto *base = frame.data<uint64_t>(pointer);
      const auto *by = frame.data<typename I::Unsigned>(offset);
      auto *to = frame.data<uint64_t>(out);
      for (uint32_t i = 0; i < out.count; ++i)
        to[i] = base[i] + bytes * (isUnsigned ? I::zext(by[i]) : uint64_t(I::sext(by[i])));
    };
  });
}

} // namespace

void attachElementwiseModels(MLIRContext *c) {
  using namespace tile;
  attach<DivSIOp, decodeInts<DivideSigned>>(c);
  attach<DivUIOp, decodeInts<DivideUnsigned>>(c);
  attach<RemSIOp, decodeInts<RemainderSigned>>(c);
  attach<RemUIOp, decodeInts<RemainderUnsigned>>(c);
  attach<ShLOp, decodeInts<ShiftLeft>>(c);
  attach<ShRSOp, decodeInts<ShiftRightSigned>>(c);
  attach<ShRUOp, decodeInts<ShiftRightUnsigned>>(c);
  attach<MulHiUIOp, decodeMulHi>(c);
  attach<FPToIntOp, decodeFPToInt>(c);
  attach<FPConvertOp, decodeFloatToFloat<FPConvertOp>>(c);
  attach<BitcastOp, decodeBitcast<tile::BitcastOp>>(c);
  attach<PtrToIntOp, decodeSame<PtrToIntOp>>(c);
  attach<IntToPtrOp, decodeIntToPtr>(c);
  attach<SqrtRnOp, decodeSqrtRn>(c);
  attach<DivRnOp, decodeFloats<divide>>(c);
  attach<AddPtrOp, decodeAddPtr>(c);
}

} // namespace nereid::ref
