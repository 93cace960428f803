#include "cpu/WidenBf16.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

bool isBf16(Value value) { return getElementTypeOrSelf(value.getType()).isBF16(); }

// What all of a module shares: the 32 bits of which a bf16 is the upper half, where it was
// narrowed.
struct Widening {
  bool picksWords = false;
  llvm::DenseMap<Value, Value> words;
};

struct Widener {
  OpBuilder &b;
  Location loc;
  Widening &shared;

  Type like(Value value, Type element) {
    auto vector = dyn_cast<VectorType>(value.getType());
    return vector ? Type(vector.clone(element)) : element;
  }
  Value number(Type type, int64_t value) {
    TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, attr);
    return b.create<arith::ConstantOp>(loc, attr);
  }

  Value widened(Value value) {
    Type words = like(value, b.getI32Type()), floats = like(value, b.getF32Type());
    if (Value made = shared.words.lookup(value)) {
      Value upper = b.create<arith::AndIOp>(loc, made, number(words, int32_t(0xffff0000)));
      return b.create<arith::BitcastOp>(loc, floats, upper);
    }
    Value bits = b.create<arith::BitcastOp>(loc, like(value, b.getI16Type()), value);
    Value shifted =
        b.create<arith::ShLIOp>(loc, b.create<arith::ExtUIOp>(loc, words, bits), number(words, 16));
    return b.create<arith::BitcastOp>(loc, floats, shifted);
  }

  // Ties go to even, carries go up into the exponent, a NaN stays one: of one that arithmetic on
  // bf16 made the lower half is zero, so nothing is carried, and one that arithmetic made is quiet.
  Value fromF32(Value source, bool isOfBf16 = false) {
    Type words = like(source, b.getI32Type());
    Value bits = b.create<arith::BitcastOp>(loc, words, source);
    Value upper = b.create<arith::ShRUIOp>(loc, bits, number(words, 16));
    // Half a unit, less one where the result is even already.
    Value odd = b.create<arith::AndIOp>(loc, upper, number(words, 1));
    Value half = b.create<arith::AddIOp>(loc, number(words, 0x7fff), odd);
    Value rounded = b.create<arith::AddIOp>(loc, bits, half);
    if (!isOfBf16) {
      Value quiet = bits;
      if (!isQuiet(source))
        quiet = b.create<arith::OrIOp>(loc, bits, number(words, 0x400000));
      Value isNan = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNO, source, source);
      rounded = b.create<arith::SelectOp>(loc, isNan, quiet, rounded);
    }
    return upperHalf(rounded);
  }

  // What arithmetic makes, unless LLVM may see that it changes nothing.
  static bool isQuiet(Value value) {
    Operation *op = value.getDefiningOp();
    return isa_and_present<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, math::FmaOp>(
               op) &&
           llvm::none_of(op->getOperands(), [](Value operand) {
             return matchPattern(operand, m_AnyZeroFloat()) || matchPattern(operand, m_OneFloat());
           });
  }

  Value upperHalf(Value words) {
    Value narrow;
    auto vector = dyn_cast<VectorType>(words.getType());
    if (shared.picksWords && vector && vector.getRank() == 1 && vector.getDimSize(0) % 16 == 0) {
      int64_t lanes = vector.getDimSize(0);
      SmallVector<int32_t> mask;
      for (int32_t i = 0; i < lanes; ++i)
        mask.push_back(2 * i + 1);
      Value halves =
          b.create<LLVM::BitcastOp>(loc, VectorType::get({2 * lanes}, b.getI16Type()), words);
      narrow = b.create<LLVM::ShuffleVectorOp>(loc, halves, halves, mask);
    } else {
      Value upper = b.create<arith::ShRUIOp>(loc, words, number(words.getType(), 16));
      narrow = b.create<arith::TruncIOp>(loc, like(words, b.getI16Type()), upper);
    }
    Value result = b.create<arith::BitcastOp>(loc, like(words, b.getBF16Type()), narrow);
    shared.words[result] = words;
    return result;
  }
  // Of an f32 that is a bf16.
  Value narrowed(Value wide) {
    return upperHalf(b.create<arith::BitcastOp>(loc, like(wide, b.getI32Type()), wide));
  }

  // By way of an f32 that is made odd where it is not exact, so that rounding twice does not show.
  Value fromF64(Value source) {
    Type words = like(source, b.getI32Type());
    Value nearest = b.create<arith::TruncFOp>(loc, like(source, b.getF32Type()), source);
    Value back = b.create<arith::ExtFOp>(loc, source.getType(), nearest);
    Value grew =
        b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGT, b.create<math::AbsFOp>(loc, back),
                                b.create<math::AbsFOp>(loc, source));
    Value inexact = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::ONE, back, source);
    Value bits = b.create<arith::BitcastOp>(loc, words, nearest);
    bits = b.create<arith::SubIOp>(loc, bits, b.create<arith::ExtUIOp>(loc, words, grew));
    bits = b.create<arith::OrIOp>(loc, bits, b.create<arith::ExtUIOp>(loc, words, inexact));
    return fromF32(b.create<arith::BitcastOp>(loc, nearest.getType(), bits));
  }

  // By way of f64, which holds 53 bits: what more there is, is made odd where the rest is not zero.
  Value fromInteger(Value source, bool isSigned) {
    Type type = source.getType();
    if (getElementTypeOrSelf(type).getIntOrFloatBitWidth() > 53) {
      Value low = b.create<arith::AndIOp>(loc, source, number(type, 0x7ff));
      Value cut = b.create<arith::SubIOp>(loc, source, low);
      Value rest = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, low, number(type, 0));
      Value odd =
          b.create<arith::ShLIOp>(loc, b.create<arith::ExtUIOp>(loc, type, rest), number(type, 11));
      cut = b.create<arith::OrIOp>(loc, cut, odd);
      Value fits;
      constexpr int64_t most = int64_t(1) << 53;
      if (isSigned)
        fits = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ule,
                                       b.create<arith::AddIOp>(loc, source, number(type, most)),
                                       number(type, 2 * most));
      else
        fits = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ule, source, number(type, most));
      source = b.create<arith::SelectOp>(loc, fits, source, cut);
    }
    Type wide = like(source, b.getF64Type());
    return fromF64(isSigned ? b.create<arith::SIToFPOp>(loc, wide, source).getResult()
                            : b.create<arith::UIToFPOp>(loc, wide, source).getResult());
  }

  // The op on f32.
  Value replacement(Operation *op) {
    Value first = op->getOperand(0);
    Type result = op->getResult(0).getType();
    if (isa<arith::ExtFOp>(op)) {
      Value wide = widened(first);
      return wide.getType() == result ? wide : b.create<arith::ExtFOp>(loc, result, wide);
    }
    if (isa<arith::TruncFOp>(op))
      return getElementTypeOrSelf(first.getType()).isF64() ? fromF64(first) : fromF32(first);
    if (isa<arith::NegFOp, math::AbsFOp>(op)) { // the sign alone
      Type halves = like(first, b.getI16Type());
      Value bits = b.create<arith::BitcastOp>(loc, halves, first);
      bits = isa<arith::NegFOp>(op)
                 ? b.create<arith::XOrIOp>(loc, bits, number(halves, INT16_MIN)).getResult()
                 : b.create<arith::AndIOp>(loc, bits, number(halves, 0x7fff)).getResult();
      return b.create<arith::BitcastOp>(loc, result, bits);
    }
    if (isa<arith::SIToFPOp, arith::UIToFPOp>(op))
      return fromInteger(first, isa<arith::SIToFPOp>(op));
    IRMapping mapping;
    for (Value operand : op->getOperands())
      if (isBf16(operand) && !mapping.contains(operand))
        mapping.map(operand, widened(operand));
    Value wide = b.clone(*op, mapping)->getResult(0);
    if (!isBf16(wide)) // a comparison
      return wide;
    wide.setType(like(wide, b.getF32Type()));
    return fromF32(wide, isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp>(op));
  }
};

// Loops carry f32, so that a sum does not go through 16 bits and back in each step.
void carryWidened(scf::ForOp loop, Widening &shared) {
  auto useNarrowed = [&](Value wide, OpBuilder b) {
    wide.setType(Widener{b, loop.getLoc(), shared}.like(wide, b.getF32Type()));
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : wide.getUses())
      uses.push_back(&use);
    Value narrow = Widener{b, loop.getLoc(), shared}.narrowed(wide);
    for (OpOperand *use : uses)
      use->set(narrow);
  };
  auto widen = [&](OpOperand &operand) {
    OpBuilder b(operand.getOwner());
    operand.set(Widener{b, loop.getLoc(), shared}.widened(operand.get()));
  };
  OpBuilder after(loop->getContext());
  after.setInsertionPointAfter(loop);
  for (BlockArgument argument : loop.getRegionIterArgs())
    if (isBf16(argument)) {
      widen(*loop.getTiedLoopInit(argument));
      widen(*loop.getTiedLoopYieldedValue(argument));
      useNarrowed(argument, OpBuilder::atBlockBegin(loop.getBody()));
      useNarrowed(loop.getTiedLoopResult(argument), after);
    }
}

// What only moves bf16.
bool moves(Operation *op) {
  return !op->getNumOperands() || isa<arith::BitcastOp, arith::SelectOp>(op);
}

Type asWord(Type type) {
  if (!getElementTypeOrSelf(type).isBF16())
    return type;
  Type word = IntegerType::get(type.getContext(), 16);
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(word)) : word;
}

TypedAttr asWord(TypedAttr value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return IntegerAttr::get(asWord(number.getType()), number.getValue().bitcastToAPInt());
  return cast<DenseElementsAttr>(value).bitcast(IntegerType::get(value.getContext(), 16));
}

// What is only moved moves as words: LLVM takes a scalar from one block to another by way of f32,
// and `vcvtneps2bf16` on the way back gives 0 for denormals. Instructions on bf16 alone see it.
void moveAsWords(ModuleOp module) {
  SmallVector<std::pair<OpOperand *, Type>> taken;
  SmallVector<std::pair<Value, Type>> given;
  module.walk([&](LLVM::CallIntrinsicOp call) {
    for (OpOperand &operand : call->getOpOperands())
      if (isBf16(operand.get()))
        taken.push_back({&operand, operand.get().getType()});
    for (Value result : call->getResults())
      if (isBf16(result))
        given.push_back({result, result.getType()});
  });
  module.walk([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          argument.setType(asWord(argument.getType()));
    if (auto value = op->getAttrOfType<TypedAttr>("value"))
      if (getElementTypeOrSelf(value.getType()).isBF16())
        op->setAttr("value", asWord(value));
    for (Value result : op->getResults())
      result.setType(asWord(result.getType()));
  });
  for (auto [operand, type] : taken) {
    OpBuilder b(operand->getOwner());
    operand->set(b.create<LLVM::BitcastOp>(operand->getOwner()->getLoc(), type, operand->get()));
  }
  for (auto [result, type] : given) {
    OpBuilder b(result.getContext());
    b.setInsertionPointAfterValue(result);
    auto words = b.create<LLVM::BitcastOp>(result.getLoc(), result.getType(), result);
    result.replaceAllUsesExcept(words, words);
    result.setType(type);
  }
}

} // namespace

void widenBf16(ModuleOp module, bool picksWords) {
  Widening shared;
  shared.picksWords = picksWords;
  module.walk([&](scf::ForOp loop) { carryWidened(loop, shared); });
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (!isa_and_present<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
        op->getNumResults() != 1)
      return;
    if (!moves(op) && (isBf16(op->getResult(0)) || llvm::any_of(op->getOperands(), isBf16)))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder b(op);
    Value value = Widener{b, op->getLoc(), shared}.replacement(op);
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }
  moveAsWords(module);
}

} // namespace nereid::cpu
