// Elementwise ops: the same op on lanes, or a few that make an undefined case of the machine
// defined.
#include "cpu/LaneModels.h"
#include "cpu/RunLanes.h"
#include "transforms/Expansions.h"
#include "transforms/ExternExpansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;

namespace nereid::cpu {

namespace {

// The lanes of every operand; scalars among them are repeated.
SmallVector<Value> operandLanes(Operation *op, LaneEmitter &emitter, const Lanes &where) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    Value value = emitter.lanes(operand, where);
    operands.push_back(widthOf(value.getType()) == where.width ? value
                                                               : emitter.splat(value, where.width));
  }
  return operands;
}

Type resultType(Operation *op, unsigned result, const Lanes &where) {
  return laneType(tile::elementType(op->getResult(result).getType()), where.width);
}

// The op itself, on lanes.
template <typename Op> struct SameOp : LaneModel<SameOp<Op>, Op> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned result, const Lanes &where) const {
    IRMapping mapping;
    for (auto [from, to] : llvm::zip(op->getOperands(), operandLanes(op, emitter, where)))
      mapping.map(from, to);
    Operation *copy = emitter.builder.clone(*op, mapping);
    copy->setLoc(emitter.loc());
    for (OpResult value : copy->getResults())
      value.setType(resultType(op, value.getResultNumber(), where));
    return copy->getResult(result);
  }
};

struct RemLanes : LaneModel<RemLanes, arith::RemFOp> {
  bool isCostlyLane(Operation *) const { return true; }
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned result, const Lanes &where) const {
    SmallVector<Value> sides = operandLanes(op, emitter, where);
    return emitRemainder(emitter, sides[0], sides[1], [&] {
      return SameOp<arith::RemFOp>().emitLanes(op, emitter, result, where);
    });
  }
};

// Sums and products, which LLVM fuses where a product has no other use. A product that is rounded
// is no part of the sum behind it, also where LLVM makes both operations of halves (AVX512-FP16).
template <typename Op> struct ContractedOp : LaneModel<ContractedOp<Op>, Op> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned result, const Lanes &where) const {
    Value value = SameOp<Op>().emitLanes(op, emitter, result, where);
    bool isRounded = isa<arith::MulFOp>(op) && llvm::all_of(op->getUsers(), [](Operation *user) {
                       return isa<arith::TruncFOp>(user);
                     });
    if (emitter.contract && !isRounded)
      cast<Op>(value.getDefiningOp()).setFastmath(arith::FastMathFlags::contract);
    return value;
  }
};

// A quotient may be off by 2 ulp, a root by one: 1 / sqrt(x) is one operation. By a number that is
// the same for all lanes the CPU multiplies with its reciprocal, which is off by less than 1.5 ulp
// where the reciprocal is a normal number; so it does by one that is made of an integer and is the
// same for all programs, as a mean is.
struct DivLanes : LaneModel<DivLanes, arith::DivFOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned result, const Lanes &where) const {
    auto quotient = [&] { return SameOp<arith::DivFOp>().emitLanes(op, emitter, result, where); };
    OpBuilder &b = emitter.builder;
    Location loc = emitter.loc();
    Value divisor = op->getOperand(1);
    if (!emitter.contract || !tile::elementType(divisor.getType()).isF32())
      return quotient();
    if (auto root = divisor.getDefiningOp<math::SqrtOp>();
        root && !emitter.plan.stored(root) && isOne(op->getOperand(0)))
      return emitMath(emitter, "rsqrt", emitter.lanes(root.getOperand(), where));
    bool isTile = isa<RankedTensorType>(divisor.getType());
    if (isTile)
      divisor = where.width == 1 ? Value() : one(divisor);
    if (!divisor || !(isTile || (isOfInteger(divisor) && isSameForAllPrograms(divisor))))
      return quotient();
    Value number = emitter.scalar(divisor);
    auto constant = [&](double value) -> Value {
      return b.create<arith::ConstantOp>(loc, b.getF32FloatAttr(float(value)));
    };
    Value reciprocal = b.create<arith::DivFOp>(loc, constant(1), number);
    Value lhs = emitter.lanes(op->getOperand(0), where);
    auto product = [&] {
      return b.create<arith::MulFOp>(loc, lhs, emitter.splat(reciprocal, where.width)).getResult();
    };
    // 0 has infinity, which makes of every number what a division by 0 does.
    if (isOfInteger(divisor))
      return product();
    Value size = b.create<math::AbsFOp>(loc, number);
    auto compare = [&](arith::CmpFPredicate predicate, double bound) -> Value {
      return b.create<arith::CmpFOp>(loc, predicate, size, constant(bound));
    };
    Value normal = b.create<arith::AndIOp>(loc, compare(arith::CmpFPredicate::OGE, 0x1p-126),
                                           compare(arith::CmpFPredicate::OLE, 0x1p126));
    return emitter.select(normal, resultType(op, result, where), product, quotient);
  }

  static bool isOfInteger(Value scalar) {
    return isa_and_present<arith::SIToFPOp, arith::UIToFPOp>(scalar.getDefiningOp());
  }

  static bool isOne(Value value) {
    APFloat number(0.0f);
    return matchPattern(value, m_ConstantFloat(&number)) && number.isExactlyValue(1.0);
  }

  // LLVM computes it once for all programs that a call runs.
  static bool isSameForAllPrograms(Value scalar) {
    Operation *op = scalar.getDefiningOp();
    if (!op)
      return isa<FunctionOpInterface>(cast<BlockArgument>(scalar).getOwner()->getParentOp());
    return !isa<tile::ProgramIdOp>(op) && op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
           llvm::all_of(op->getOperands(), isSameForAllPrograms);
  }

  // The scalar that all elements of a tile are, or null.
  static Value one(Value tile) {
    while (Operation *op = tile.getDefiningOp()) {
      if (auto splat = dyn_cast<tile::SplatOp>(op))
        return splat.getSource();
      if (!isa<tile::BroadcastOp, tile::ExpandDimsOp>(op))
        return {};
      tile = op->getOperand(0);
    }
    return {};
  }
};

// The larger or smaller operand, NaN if one is. Not by LLVM's `maximum`: its x86 gives 0 for 0 and
// NaN of f16 and bf16, to which it also narrows the op on operands widened from them.
template <typename Op, typename NumberOp>
struct ExtremeLanes : LaneModel<ExtremeLanes<Op, NumberOp>, Op> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    SmallVector<Value> operands = operandLanes(op, emitter, where);
    OpBuilder &b = emitter.builder;
    Value chosen = b.create<NumberOp>(emitter.loc(), operands[0], operands[1]);
    for (Value operand : operands) {
      Value isNan =
          b.create<arith::CmpFOp>(emitter.loc(), arith::CmpFPredicate::UNO, operand, operand);
      chosen = b.create<arith::SelectOp>(emitter.loc(), isNan, operand, chosen);
    }
    return chosen;
  }
};

struct ConstantLanes : LaneModel<ConstantLanes, arith::ConstantOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    TypedAttr value = cast<arith::ConstantOp>(op).getValue();
    if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
      if (!dense.isSplat())
        return emitter.unsupported(op, resultType(op, 0, where), "elements differ");
      value = cast<TypedAttr>(dense.getSplatValue<Attribute>());
    }
    // An 8-bit float travels as its bits.
    if (auto number = dyn_cast<FloatAttr>(value);
        number && number.getType().getIntOrFloatBitWidth() == 8)
      value = emitter.builder.getIntegerAttr(emitter.builder.getI8Type(),
                                             number.getValue().bitcastToAPInt());
    return emitter.constant(value, where.width);
  }
};

struct SelectLanes : LaneModel<SelectLanes, arith::SelectOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    SmallVector<Value> values = operandLanes(op, emitter, where);
    if (isa<tile::PtrType>(tile::elementType(op->getResult(0).getType())))
      return emitter.builder.create<LLVM::SelectOp>(emitter.loc(), values[0], values[1], values[2]);
    return emitter.builder.create<arith::SelectOp>(emitter.loc(), values[0], values[1], values[2]);
  }
};

// --- total integer arithmetic ---

using transforms::Total;

template <typename Op, Total kind> struct TotalLanes : LaneModel<TotalLanes<Op, kind>, Op> {
  bool isCostlyLane(Operation *op) const {
    return divides && !matchPattern(op->getOperand(1), m_Constant());
  }
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    Value divisor = op->getOperand(1);
    // One lane alone is one of a loop's.
    bool same = false;
    if (auto tile = dyn_cast<RankedTensorType>(divisor.getType()); tile && tile.getRank())
      same = emitter.axes.facts(divisor).constancy[where.dim] >=
             (where.width == 1 ? tile.getShape()[where.dim] : where.width);
    auto divided = [&](Value x, Value y) {
      return transforms::expandTotal(emitter.builder, emitter.loc(), kind, x, y, same);
    };
    auto known = emitter.axes.facts(divisor).constant;
    Type type = resultType(op, 0, where);
    bool isWide = scalarOf(type).isInteger(64);
    if (!divides || isPowerOf2(known) || (known && (!isWide || where.width == 1)) ||
        (where.width == 1 && !same)) {
      SmallVector<Value> values = operandLanes(op, emitter, where);
      return divided(values[0], values[1]);
    }
    auto divide = [&](ArrayRef<Value> pair) {
      return isWide ? dividedWide(pair, divided, emitter) : divided(pair[0], pair[1]);
    };
    auto all = [&] { return divide(operandLanes(op, emitter, where)); };
    // Of adjacent numbers by one mostly one quotient, or adjacent rests.
    auto run = same ? findRun(emitter, op->getOperand(0), where) : std::nullopt;
    if (!run || run->step != 1)
      return all();
    Value y = emitter.lanes(divisor, where.first());
    Value first = divide({emitter.lanes(op->getOperand(0), where.first()), y}),
          last = divide({emitter.lanes(op->getOperand(0), lastOf(emitter, where)), y});
    constexpr bool isRest = kind == Total::RemS || kind == Total::RemU;
    Value holds =
        bothHold(emitter, run->condition, endsMeet(emitter, first, last, isRest, where.width));
    return emitter.select(
        holds, type,
        [&]() -> Value {
          Value one = emitter.splat(first, where.width);
          return isRest ? emitter.add(one, emitter.iota(first.getType(), where.width)) : one;
        },
        all);
  }

private:
  static Value dividedWide(ArrayRef<Value> values, llvm::function_ref<Value(Value, Value)> divided,
                           LaneEmitter &emitter) {
    // 64 bits are divided lane by lane. Indices are small numbers: a test of all lanes takes less
    // time than the division of one.
    OpBuilder &b = emitter.builder;
    Type wide = values[0].getType(), narrow = laneType(b.getI32Type(), widthOf(wide));
    auto cut = [&](Value value) {
      return b.createOrFold<arith::TruncIOp>(emitter.loc(), narrow, value);
    };
    return emitter.select(
        areBelow(int64_t(1) << 31, values, emitter), wide,
        [&] {
          // -1 is a result of division by zero.
          return b.create<arith::ExtSIOp>(emitter.loc(), wide,
                                          divided(cut(values[0]), cut(values[1])));
        },
        [&] { return divided(values[0], values[1]); });
  }

  static constexpr bool divides =
      kind == Total::DivS || kind == Total::DivU || kind == Total::RemS || kind == Total::RemU;
  static bool isPowerOf2(std::optional<int64_t> number) {
    return number && *number > 0 && llvm::isPowerOf2_64(uint64_t(*number));
  }
  // True if all lanes of both, as numbers without a sign, are less than a power of two.
  static Value areBelow(int64_t limit, ArrayRef<Value> values, LaneEmitter &emitter) {
    OpBuilder &b = emitter.builder;
    Location loc = emitter.loc();
    int64_t width = widthOf(values[0].getType());
    Value both = b.create<arith::OrIOp>(loc, values[0], values[1]);
    Value above = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::uge, both,
                                          emitter.constant(b.getI64Type(), limit, width));
    Type bits = b.getIntegerType(width);
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq,
                                   b.create<LLVM::BitcastOp>(loc, bits, above),
                                   emitter.constant(bits, 0));
  }
};

struct MulHiLanes : LaneModel<MulHiLanes, tile::MulHiUIOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    SmallVector<Value> values = operandLanes(op, emitter, where);
    return transforms::expandMulHigh(emitter.builder, emitter.loc(), values[0], values[1]);
  }
};

// --- conversions ---

// LLVM saturates vectors lane by lane. Here numbers are brought into the range first, NaN with
// them; a range that ends between two numbers of the source has its end put in at last.
struct FPToIntLanes : LaneModel<FPToIntLanes, tile::FPToIntOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    Value source = operandLanes(op, emitter, where)[0];
    OpBuilder &b = emitter.builder;
    Type from = tile::elementType(op->getOperand(0).getType());
    if (from.getIntOrFloatBitWidth() < 32)
      source = transforms::expandFloatConversion(b, emitter.loc(), source, from, b.getF32Type());
    bool isUnsigned = cast<tile::FPToIntOp>(op).getIsUnsigned();
    Type type = resultType(op, 0, where);
    // A boolean is not a narrow number: anything but zero is true.
    if (scalarOf(type).isInteger(1))
      return b.create<arith::CmpFOp>(emitter.loc(), arith::CmpFPredicate::UNE, source,
                                     emitter.zero(source.getType()));
    if (where.width > 1)
      return saturate(source, type, isUnsigned, emitter);
    return b
        .create<LLVM::CallIntrinsicOp>(
            emitter.loc(), type,
            b.getStringAttr(isUnsigned ? "llvm.fptoui.sat" : "llvm.fptosi.sat"), ValueRange{source})
        .getResult(0);
  }

  static Value saturate(Value source, Type type, bool isUnsigned, LaneEmitter &emitter) {
    OpBuilder &b = emitter.builder;
    Location loc = emitter.loc();
    int64_t width = widthOf(type);
    auto from = cast<FloatType>(scalarOf(source.getType()));
    unsigned bits = scalarOf(type).getIntOrFloatBitWidth();
    const llvm::fltSemantics &format = from.getFloatSemantics();
    auto number = [&](const APFloat &value) {
      return emitter.constant(b.getFloatAttr(from, value), width);
    };
    auto compare = [&](arith::CmpFPredicate predicate, Value x, Value y) -> Value {
      return b.create<arith::CmpFOp>(loc, predicate, x, y);
    };
    auto select = [&](Value c, Value x, Value y) -> Value {
      return b.create<arith::SelectOp>(loc, c, x, y);
    };
    APInt greatest = isUnsigned ? APInt::getMaxValue(bits) : APInt::getSignedMaxValue(bits);
    APFloat limit = llvm::scalbn(APFloat(format, 1), isUnsigned ? bits : bits - 1,
                                 APFloat::rmNearestTiesToEven);
    APFloat below = limit, least = isUnsigned ? APFloat(format, 0) : llvm::neg(limit);
    below.next(/*nextDown=*/true);
    Value low = number(least), high = number(below);
    Value inside = select(compare(arith::CmpFPredicate::OGT, source, low), source, low);
    inside = select(compare(arith::CmpFPredicate::OLT, inside, high), inside, high);
    // Processors convert to 32 bits and more.
    Type wide = laneType(b.getIntegerType(std::max(bits, 32u)), width);
    Value out = isUnsigned && bits >= 32 ? b.create<arith::FPToUIOp>(loc, wide, inside).getResult()
                                         : b.create<arith::FPToSIOp>(loc, wide, inside).getResult();
    if (wide != type)
      out = b.create<arith::TruncIOp>(loc, type, out);
    if (bits > APFloat::semanticsPrecision(format))
      out = select(compare(arith::CmpFPredicate::OGE, source, number(limit)),
                   emitter.constant(b.getIntegerAttr(scalarOf(type), greatest), width), out);
    return select(compare(arith::CmpFPredicate::UNO, source, source), emitter.zero(type), out);
  }
};

struct FPConvertLanes : LaneModel<FPConvertLanes, tile::FPConvertOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    auto convert = cast<tile::FPConvertOp>(op);
    return transforms::expandFloatConversion(
        emitter.builder, emitter.loc(), operandLanes(op, emitter, where)[0],
        tile::elementType(convert.getSource().getType()), tile::elementType(convert.getType()),
        convert.getRounding());
  }
};

struct BitcastLanes : LaneModel<BitcastLanes, tile::BitcastOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    Value source = operandLanes(op, emitter, where)[0];
    Type type = resultType(op, 0, where);
    if (source.getType() == type)
      return source;
    return emitter.builder.create<LLVM::BitcastOp>(emitter.loc(), type, source);
  }
};

template <typename Op, typename LLVMOp> struct CastLanes : LaneModel<CastLanes<Op, LLVMOp>, Op> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    return emitter.builder.create<LLVMOp>(emitter.loc(), resultType(op, 0, where),
                                          operandLanes(op, emitter, where)[0]);
  }
};

struct AddPtrLanes : LaneModel<AddPtrLanes, tile::AddPtrOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    auto add = cast<tile::AddPtrOp>(op);
    SmallVector<Value> values = operandLanes(op, emitter, where);
    return offsetPointer(add, values[0], values[1], emitter);
  }
};

template <typename Op> struct OperandLanes : LaneModel<OperandLanes<Op>, Op> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    return operandLanes(op, emitter, where)[0];
  }
};

// --- functions ---

template <typename Op> StringRef mathName() { return Op::getOperationName().drop_front(5); }

template <typename Op> struct MathLanes : LaneModel<MathLanes<Op>, Op> {
  bool isCostlyLane(Operation *) const { return true; }
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    Value value = emitMath(emitter, mathName<Op>(), operandLanes(op, emitter, where));
    return value ? value : emitter.unsupported(op, resultType(op, 0, where));
  }
};

struct SqrtRnLanes : LaneModel<SqrtRnLanes, tile::SqrtRnOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    return emitter.builder.create<math::SqrtOp>(emitter.loc(), operandLanes(op, emitter, where)[0]);
  }
};
struct DivRnLanes : LaneModel<DivRnLanes, tile::DivRnOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    SmallVector<Value> values = operandLanes(op, emitter, where);
    return emitter.builder.create<arith::DivFOp>(emitter.loc(), values[0], values[1]);
  }
};

struct ExternLanes : LaneModel<ExternLanes, tile::ExternOp> {
  bool isCostlyLane(Operation *) const { return true; }
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    StringRef name = cast<tile::ExternOp>(op).getSymbol();
    Type type = resultType(op, 0, where);
    Value value;
    if (name.consume_front("__nv_")) {
      SmallVector<Value> operands = operandLanes(op, emitter, where);
      value = transforms::expandExtern(
          emitter.builder, emitter.loc(), name, operands, type,
          [&](StringRef function, ValueRange v) {
            auto computed = [&] { return emitMath(emitter, function, v); };
            return function == "fmod" ? emitRemainder(emitter, v[0], v[1], computed) : computed();
          });
      if (!value)
        value = emitLibrary(emitter, name, operands, type);
    }
    if (!value)
      return emitter.unsupported(op, type, "unknown function `" + name + "`");
    return value;
  }
};

struct LibraryCallLanes : LaneModel<LibraryCallLanes, tile::LibraryCallOp> {
  bool isCostlyLane(Operation *) const { return true; }
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    auto call = cast<tile::LibraryCallOp>(op);
    Type type = resultType(op, 0, where);
    // A lane may be computed twice, and those of a loop in any order.
    if (!call.getPure())
      return emitter.unsupported(op, type,
                                 "`" + call.getSymbol() + "` has effects (`is_pure=False`)");
    std::string symbol = call.codeSymbol();
    OpBuilder &b = emitter.builder;
    // Numbers of bf16 move as words (WidenBf16.h).
    auto cast = [&](Value value, Type to) -> Value {
      return value.getType() == to
                 ? value
                 : b.create<arith::BitcastOp>(emitter.loc(), to, value).getResult();
    };
    auto asWord = [&](Type type) -> Type { return type.isBF16() ? b.getI16Type() : type; };
    return emitter.perLane(
        widthOf(type), scalarOf(type), operandLanes(op, emitter, where), [&](ValueRange values) {
          SmallVector<Value> words;
          for (Value value : values)
            words.push_back(cast(value, asWord(value.getType())));
          return cast(emitter.call(symbol, asWord(scalarOf(type)), words), scalarOf(type));
        });
  }
};

template <template <typename> typename Model, typename... Ops> void attach(MLIRContext *context) {
  (Ops::template attachInterface<Model<Ops>>(*context), ...);
}

} // namespace

Value offsetPointer(tile::AddPtrOp add, Value pointer, Value offset, LaneEmitter &emitter) {
  OpBuilder &b = emitter.builder;
  Type wide = laneType(b.getI64Type(), widthOf(offset.getType()));
  if (offset.getType() != wide)
    offset = add.getIsUnsigned()
                 ? b.create<arith::ExtUIOp>(emitter.loc(), wide, offset).getResult()
                 : b.create<arith::ExtSIOp>(emitter.loc(), wide, offset).getResult();
  Type pointee = cast<tile::PtrType>(tile::elementType(add.getType())).getPointee();
  return emitter.elementAddress(pointer, offset, pointee);
}

// f64 finds it where the quotient has up to 27 bits: that is then never rounded to the next
// integer, which is at least 2^-51 of it away, and its product has 51 bits.
Value emitRemainder(LaneEmitter &emitter, Value x, Value y, llvm::function_ref<Value()> each) {
  Type type = x.getType();
  int64_t width = widthOf(type);
  if (width == 1 || !scalarOf(type).isF32())
    return each();
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  Type wide = laneType(b.getF64Type(), width);
  Value from = b.create<arith::ExtFOp>(loc, wide, x), by = b.create<arith::ExtFOp>(loc, wide, y);
  Value quotient = b.create<math::TruncOp>(loc, b.create<arith::DivFOp>(loc, from, by));
  auto isBelow = [&](Value value, double limit) -> Value {
    return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT,
                                   b.create<math::AbsFOp>(loc, value),
                                   emitter.constant(b.getF64FloatAttr(limit), width));
  };
  Value isShort = b.create<arith::AndIOp>(loc, isBelow(quotient, double(1 << 27)),
                                          isBelow(by, std::numeric_limits<double>::infinity()));
  return emitter.select(
      allAreOn(emitter, isShort, width), type,
      [&]() -> Value {
        Value rest = b.create<arith::SubFOp>(loc, from, b.create<arith::MulFOp>(loc, quotient, by));
        return b.create<math::CopySignOp>(loc, b.create<arith::TruncFOp>(loc, type, rest), x);
      },
      each);
}

void registerElementwiseLanes(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    using namespace arith;
    attach<ContractedOp, AddFOp, SubFOp, MulFOp>(context);
    attach<SameOp, NegFOp, MaxNumFOp, MinNumFOp, AddIOp, SubIOp, MulIOp, DivSIOp, DivUIOp, RemSIOp,
           RemUIOp, AndIOp, OrIOp, XOrIOp, ShLIOp, ShRSIOp, ShRUIOp, MaxSIOp, MaxUIOp, MinSIOp,
           MinUIOp, CmpIOp, CmpFOp, ExtFOp, ExtSIOp, ExtUIOp, TruncFOp, TruncIOp, SIToFPOp,
           UIToFPOp, FPToSIOp, FPToUIOp, BitcastOp, AddUIExtendedOp, MulSIExtendedOp,
           MulUIExtendedOp>(context);
    DivFOp::attachInterface<DivLanes>(*context);
    RemFOp::attachInterface<RemLanes>(*context);
    MaximumFOp::attachInterface<ExtremeLanes<MaximumFOp, MaxNumFOp>>(*context);
    MinimumFOp::attachInterface<ExtremeLanes<MinimumFOp, MinNumFOp>>(*context);
    ConstantOp::attachInterface<ConstantLanes>(*context);
    SelectOp::attachInterface<SelectLanes>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    using namespace math;
    // One instruction, or a few.
    attach<SameOp, AbsFOp, AbsIOp, CeilOp, FloorOp, TruncOp, RoundEvenOp, FmaOp, SqrtOp, CopySignOp,
           CountLeadingZerosOp, CountTrailingZerosOp, CtPopOp>(context);
    attach<MathLanes, ExpOp, Exp2Op, ExpM1Op, LogOp, Log2Op, Log10Op, Log1pOp, SinOp, CosOp, TanOp,
           TanhOp, SinhOp, CoshOp, AsinOp, AcosOp, AtanOp, Atan2Op, AsinhOp, AcoshOp, AtanhOp,
           ErfOp, CbrtOp, PowFOp, RsqrtOp, RoundOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    using namespace tile;
    DivSIOp::attachInterface<TotalLanes<DivSIOp, Total::DivS>>(*context);
    DivUIOp::attachInterface<TotalLanes<DivUIOp, Total::DivU>>(*context);
    RemSIOp::attachInterface<TotalLanes<RemSIOp, Total::RemS>>(*context);
    RemUIOp::attachInterface<TotalLanes<RemUIOp, Total::RemU>>(*context);
    ShLOp::attachInterface<TotalLanes<ShLOp, Total::ShL>>(*context);
    ShRSOp::attachInterface<TotalLanes<ShRSOp, Total::ShRS>>(*context);
    ShRUOp::attachInterface<TotalLanes<ShRUOp, Total::ShRU>>(*context);
    MulHiUIOp::attachInterface<MulHiLanes>(*context);
    FPToIntOp::attachInterface<FPToIntLanes>(*context);
    FPConvertOp::attachInterface<FPConvertLanes>(*context);
    BitcastOp::attachInterface<BitcastLanes>(*context);
    PtrToIntOp::attachInterface<CastLanes<PtrToIntOp, LLVM::PtrToIntOp>>(*context);
    IntToPtrOp::attachInterface<CastLanes<IntToPtrOp, LLVM::IntToPtrOp>>(*context);
    AddPtrOp::attachInterface<AddPtrLanes>(*context);
    HintOp::attachInterface<OperandLanes<HintOp>>(*context);
    SqrtRnOp::attachInterface<SqrtRnLanes>(*context);
    DivRnOp::attachInterface<DivRnLanes>(*context);
    ExternOp::attachInterface<ExternLanes>(*context);
    LibraryCallOp::attachInterface<LibraryCallLanes>(*context);
  });
}

} // namespace nereid::cpu
