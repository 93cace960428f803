// CUDA's library functions that are not written with ops: calls of support/SpecialFunctions.h and
// of the C library, a lane at a time.
#include "cpu/LaneModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace nereid::cpu {
namespace {

unsigned argumentsOfSpecial(StringRef name) {
  static const llvm::StringMap<unsigned> counts = {
#define SPECIAL(arguments, name) {#name, arguments},
#include "support/SpecialFunctions.def"
  };
  return counts.lookup(name);
}

struct Library {
  LaneEmitter &emitter;
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  Type real = b.getF64Type();

  Value toDouble(Value x, bool isUnsigned = false) {
    if (x.getType().isF64())
      return x;
    if (x.getType().isF32())
      return b.create<arith::ExtFOp>(loc, real, x);
    return isUnsigned ? b.create<arith::UIToFPOp>(loc, real, x).getResult()
                      : b.create<arith::SIToFPOp>(loc, real, x).getResult();
  }
  /// From a double that `type` holds, or to the nearest float.
  Value fromDouble(Value x, Type type) {
    if (type.isF64())
      return x;
    if (type.isF32())
      return b.create<arith::TruncFOp>(loc, type, x);
    return b.create<arith::FPToSIOp>(loc, type, x);
  }
  Value special(StringRef name, ValueRange doubles) {
    return emitter.call(("nereid_" + name).str(), real, doubles);
  }

  Value number(double value) { return emitter.constant(b.getF64FloatAttr(value), 1); }

  /// `float2int_rd`, `double2ull_rn`: rounded to an integer, held in its range.
  Value toInteger(StringRef target, StringRef mode, Value x, Type result) {
    Value whole = mode == "rz"   ? b.create<math::TruncOp>(loc, x).getResult()
                  : mode == "rd" ? b.create<math::FloorOp>(loc, x).getResult()
                  : mode == "ru" ? b.create<math::CeilOp>(loc, x).getResult()
                                 : b.create<math::RoundEvenOp>(loc, x).getResult();
    return saturate(whole, result, target.starts_with("u"));
  }
  Value saturate(Value whole, Type result, bool isUnsigned) {
    return b
        .create<LLVM::CallIntrinsicOp>(
            loc, result, b.getStringAttr(isUnsigned ? "llvm.fptoui.sat" : "llvm.fptosi.sat"),
            ValueRange{whole})
        .getResult(0);
  }

  /// `int2float_rz`, `ull2double_ru`: an integer of 64 bits is the sum of two doubles.
  Value fromInteger(bool isUnsigned, StringRef mode, Value x, Type result) {
    Type wide = b.getI64Type();
    Value exact;
    if (mode == "rn")
      return isUnsigned ? b.create<arith::UIToFPOp>(loc, result, x).getResult()
                        : b.create<arith::SIToFPOp>(loc, result, x).getResult();
    if (x.getType() != wide) {
      exact = toDouble(x, isUnsigned);
    } else {
      Value bits = b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(32));
      Value upper = isUnsigned ? b.create<arith::ShRUIOp>(loc, x, bits).getResult()
                               : b.create<arith::ShRSIOp>(loc, x, bits).getResult();
      Value lower = b.create<arith::TruncIOp>(loc, b.getI32Type(), x);
      Value scaled = b.create<arith::MulFOp>(loc, toDouble(upper, isUnsigned), number(0x1p32));
      exact = special(("add_" + mode).str(), {scaled, toDouble(lower, true)});
    }
    return result.isF64() ? exact : fromDouble(special(("narrow_" + mode).str(), exact), result);
  }

  /// One lane; null for an unknown function.
  Value lane(StringRef name, ValueRange v, Type result) {
    Type type = v[0].getType();
    bool isFloat = isa<FloatType>(type), isSingle = type.isF32();
    auto [base, mode] = name.rsplit('_');
    bool isRounding = mode == "rn" || mode == "rz" || mode == "ru" || mode == "rd";
    if (isRounding && base.contains('2')) {
      auto [source, target] = base.split('2');
      if (!isFloat)
        return fromInteger(source.starts_with("u"), mode, v[0], result);
      if (!isa<FloatType>(result))
        return toInteger(target, mode, v[0], result);
      return fromDouble(mode == "rn" ? v[0] : special(("narrow_" + mode).str(), v[0]), result);
    }
    if (isRounding && isFloat)
      return directed(base, mode, v, result);
    if (isFloat && !isa<FloatType>(result) && v.size() == 1) {
      StringRef plain = name;
      if (isSingle)
        plain.consume_back("f");
      if (plain == "signbit" || plain == "signbitd") {
        Type bits = b.getIntegerType(type.getIntOrFloatBitWidth());
        Value sign = b.create<arith::CmpIOp>(
            loc, arith::CmpIPredicate::slt, b.create<LLVM::BitcastOp>(loc, bits, v[0]),
            b.create<arith::ConstantOp>(loc, b.getIntegerAttr(bits, 0)));
        return b.create<arith::ExtUIOp>(loc, result, sign);
      }
      if (plain == "llrint" || plain == "lrint")
        return saturate(b.create<math::RoundEvenOp>(loc, v[0]), result, false);
      if (plain == "llround" || plain == "lround")
        return saturate(b.create<math::RoundOp>(loc, v[0]), result, false);
    }
    // The type's letter at the end; `norm3d` has a letter of its own.
    StringRef plain = name;
    plain.consume_front("fast_");
    if (!argumentsOfSpecial(plain))
      plain.consume_back("f");
    if (plain == "scalbn")
      plain = "ldexp";
    if (argumentsOfSpecial(plain) != v.size())
      return {};
    SmallVector<Value> doubles;
    for (Value x : v)
      doubles.push_back(toDouble(x));
    return fromDouble(special(plain, doubles), result);
  }

  /// `fadd_rz`, `drcp_ru`, `fmaf_rd`: rounded twice in one direction is rounded once.
  Value directed(StringRef base, StringRef mode, ValueRange v, Type result) {
    SmallVector<Value> doubles;
    for (Value x : v)
      doubles.push_back(toDouble(x));
    if (base == "fmaf" || base == "fma")
      base = "fma";
    else if (!base.consume_front("f"))
      base.consume_front("d");
    if (base == "sub") {
      doubles[1] = b.create<arith::NegFOp>(loc, doubles[1]);
      base = "add";
    } else if (base == "rcp") {
      doubles.insert(doubles.begin(), number(1));
      base = "div";
    }
    std::string name = (base + "_" + mode).str();
    if (argumentsOfSpecial(name) != doubles.size())
      return {};
    Value exact = special(name, doubles);
    return result.isF64() ? exact : fromDouble(special(("narrow_" + mode).str(), exact), result);
  }
};

} // namespace

Value emitLibrary(LaneEmitter &emitter, StringRef name, ValueRange operands, Type result) {
  bool known = true;
  Value value =
      emitter.perLane(widthOf(result), scalarOf(result), operands, [&](ValueRange scalars) {
        Value lane = known ? Library{emitter}.lane(name, scalars, scalarOf(result)) : Value();
        known = bool(lane);
        return known ? lane : emitter.undef(scalarOf(result));
      });
  return known ? value : Value();
}

} // namespace nereid::cpu
