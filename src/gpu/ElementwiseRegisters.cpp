// Elementwise ops that are the same op on each register, or a few instructions.
#include "gpu/ElementwiseModels.h"
#include "ir/FloatOptions.h"
#include "ir/OpKinds.h"
#include "transforms/Expansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

#include <map>

using namespace mlir;

namespace nereid::gpu {

// Of each register of a layout the first that lies in the same run, a run's length by dimension.
static SmallVector<unsigned> firstInRuns(const LinearLayout &layout, ArrayRef<int64_t> run,
                                         unsigned count) {
  SmallVector<unsigned> first(count);
  std::map<std::vector<int64_t>, unsigned> seen;
  for (unsigned reg = 0; reg < count; ++reg) {
    std::vector<int64_t> which;
    for (auto [at, length] : llvm::zip(layout.apply(reg, 0, 0), run))
      which.push_back(at / length);
    first[reg] = seen.try_emplace(which, reg).first->second;
  }
  return first;
}

SmallVector<unsigned> firstOfEqual(Operation *op, RegisterEmitter &emitter, unsigned count) {
  LinearLayout layout = layoutOf(op->getResult(0).getType());
  SmallVector<int64_t> run(layout.rank(), std::numeric_limits<int64_t>::max());
  for (Value result : op->getResults())
    for (auto [length, equal] : llvm::zip(run, emitter.axes.facts(result).constancy))
      length = std::min(length, equal);
  return firstInRuns(layout, run, count);
}

void emitElementwise(Operation *op, RegisterEmitter &emitter,
                     llvm::function_ref<Value(ValueRange)> compute) {
  Value result = op->getResult(0);
  if (!isa<RankedTensorType>(result.getType())) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(emitter.scalar(operand));
    return emitter.setScalar(result, compute(operands));
  }
  unsigned count = registersOf(layoutOf(result.getType()));
  SmallVector<SmallVector<Value>> operands;
  for (Value operand : op->getOperands())
    operands.push_back(emitter.operand(operand, count));
  SmallVector<unsigned> first = firstOfEqual(op, emitter, count);
  SmallVector<Value> values;
  for (unsigned reg = 0; reg < count; ++reg) {
    if (first[reg] != reg) {
      values.push_back(values[first[reg]]);
      continue;
    }
    SmallVector<Value> one;
    for (auto &operand : operands)
      one.push_back(operand[reg]);
    values.push_back(compute(one));
  }
  emitter.setRegisters(result, std::move(values));
}

// Of bf16 sm_80 has `fma` alone: a + b = a * 1 + b, a - b = b * -1 + a, a * b = a * b + -0.
Value emitHalves(RegisterEmitter &e, HalvesOp op, Type half, Value a, Value b) {
  Type word = e.builder.getI32Type();
  if (half.isF16()) {
    StringRef name = op == HalvesOp::Sum ? "add" : op == HalvesOp::Difference ? "sub" : "mul";
    return e.assembly((name + ".rn.f16x2 $0, $1, $2;").str(), "=r,r,r", word, {a, b},
                      /*pure=*/true);
  }
  SmallVector<Value, 3> factors;
  switch (op) {
  case HalvesOp::Sum:
    factors = {a, e.i32(0x3f803f80), b};
    break;
  case HalvesOp::Difference:
    factors = {b, e.i32(int32_t(0xbf80bf80)), a};
    break;
  case HalvesOp::Product:
    factors = {a, b, e.i32(int32_t(0x80008000))};
    break;
  }
  return e.assembly("fma.rn.bf16x2 $0, $1, $2, $3;", "=r,r,r,r", word, factors, /*pure=*/true);
}

namespace {

template <typename Op> struct SameOp : RegisterModel<SameOp<Op>, Op> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    bool tiles = isa<RankedTensorType>(op->getResult(0).getType());
    unsigned count = tiles ? registersOf(layoutOf(op->getResult(0).getType())) : 1;
    SmallVector<unsigned> first =
        tiles ? firstOfEqual(op, emitter, count) : SmallVector<unsigned>{0};
    SmallVector<SmallVector<Value>> results(op->getNumResults());
    for (unsigned reg = 0; reg < count; ++reg) {
      if (first[reg] != reg) {
        for (auto &values : results)
          values.push_back(values[first[reg]]);
        continue;
      }
      IRMapping mapping;
      for (Value operand : op->getOperands())
        mapping.map(operand, emitter.operand(operand, count)[reg]);
      Operation *copy = emitter.builder.clone(*op, mapping);
      copy->setLoc(emitter.loc());
      for (OpResult value : copy->getResults()) {
        value.setType(resultElement(op, value.getResultNumber()));
        results[value.getResultNumber()].push_back(value);
      }
    }
    for (auto [result, values] : llvm::zip(op->getResults(), results)) {
      if (tiles)
        emitter.setRegisters(result, values);
      else
        emitter.setScalar(result, values[0]);
    }
  }
};

// Bits of 16-bit integers, two in a word.
template <typename Op> struct BitsRegisters : RegisterModel<BitsRegisters<Op>, Op> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    constexpr bool isShift =
        std::is_same_v<Op, arith::ShLIOp> || std::is_same_v<Op, arith::ShRUIOp>;
    Value result = op->getResult(0);
    auto type = dyn_cast<RankedTensorType>(result.getType());
    unsigned count = type ? registersOf(layoutOf(type)) : 1;
    DenseIntElementsAttr by;
    uint64_t bits = 0; // of a shift
    if (isShift)
      bits = matchPattern(op->getOperand(1), m_Constant(&by)) && by.isSplat()
                 ? by.template getSplatValue<APInt>().getLimitedValue(16)
                 : 16;
    if (!type || !type.getElementType().isInteger(16) || count % 2 || bits > 15)
      return SameOp<Op>().emitRegisters(op, e);
    SmallVector<Value> left = e.packHalves(e.operand(op->getOperand(0), count)), words;
    if constexpr (isShift) {
      const uint32_t half =
          std::is_same_v<Op, arith::ShLIOp> ? uint16_t(0xffff << bits) : uint16_t(0xffff >> bits);
      for (Value word : left)
        words.push_back(e.builder.create<arith::AndIOp>(
            e.loc(), e.builder.create<Op>(e.loc(), word, e.i32(int32_t(bits))),
            e.i32(int32_t(half * 0x10001))));
    } else {
      for (auto [a, b] : llvm::zip(left, e.packHalves(e.operand(op->getOperand(1), count))))
        words.push_back(e.builder.create<Op>(e.loc(), a, b));
    }
    e.setRegisters(result, e.unpackHalves(words, type.getElementType()));
  }
};

struct ConstantRegisters : RegisterModel<ConstantRegisters, arith::ConstantOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    TypedAttr value = cast<arith::ConstantOp>(op).getValue();
    if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
      if (!dense.isSplat())
        return emitter.unsupported(op, "elements differ");
      value = cast<TypedAttr>(dense.getSplatValue<Attribute>());
    }
    if (auto number = dyn_cast<FloatAttr>(value);
        number && number.getType().getIntOrFloatBitWidth() == 8)
      value = emitter.builder.getIntegerAttr(emitter.builder.getI8Type(),
                                             number.getValue().bitcastToAPInt());
    Value constant = emitter.builder.create<arith::ConstantOp>(emitter.loc(), value);
    emitElementwise(op, emitter, [&](ValueRange) { return constant; });
  }
};

// Of a half by its instruction, which works on two at a time: a mask is applied to each by itself.
struct AbsCode {
  static Value emit(math::AbsFOp, RegisterEmitter &e, ValueRange v) {
    Type type = v[0].getType();
    if (!type.isF16() && !type.isBF16())
      return e.builder.create<math::AbsFOp>(e.loc(), v[0]);
    Type bits = e.builder.getI16Type();
    Value size = e.assembly(type.isF16() ? "abs.f16 $0, $1;" : "abs.bf16 $0, $1;", "=h,h", bits,
                            e.cast(v[0], bits), /*pure=*/true);
    return e.cast(size, type);
  }
};

// A sum, difference or product in f32 of halves (or of bf16) that is rounded to halves: the exact
// result has at most twice the bits, so the halves' own operation gives the same number.
struct HalfOperand {
  Value halves;
  std::optional<APFloat> number; ///< of all elements, where there is no tile
};
struct HalfOperation {
  HalvesOp op;
  HalfOperand left, right;
};
std::optional<HalfOperand> asHalves(Value wide, Type half) {
  if (auto widen = wide.getDefiningOp<arith::ExtFOp>())
    return tile::elementType(widen.getIn().getType()) == half
               ? std::optional(HalfOperand{widen.getIn(), {}})
               : std::nullopt;
  DenseFPElementsAttr elements;
  if (!matchPattern(wide, m_Constant(&elements)) || !elements.isSplat())
    return std::nullopt;
  APFloat number = elements.getSplatValue<APFloat>();
  bool isRounded = false;
  number.convert(cast<FloatType>(half).getFloatSemantics(), APFloat::rmNearestTiesToEven,
                 &isRounded);
  return isRounded ? std::nullopt : std::optional(HalfOperand{{}, number});
}
std::optional<HalfOperation> asHalfOperation(arith::TruncFOp round) {
  Type half = tile::elementType(round.getType());
  Operation *op = round.getIn().getDefiningOp();
  if ((!half.isF16() && !half.isBF16()) || round.getRoundingmode() || !op ||
      !isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(op) || !op->hasOneUse() ||
      !tile::elementType(op->getResult(0).getType()).isF32())
    return std::nullopt;
  HalfOperation found{isa<arith::AddFOp>(op)   ? HalvesOp::Sum
                      : isa<arith::SubFOp>(op) ? HalvesOp::Difference
                                               : HalvesOp::Product,
                      {},
                      {}};
  for (auto [place, operand] :
       {std::pair(&found.left, op->getOperand(0)), std::pair(&found.right, op->getOperand(1))}) {
    auto halves = asHalves(operand, half);
    if (!halves)
      return std::nullopt;
    *place = *halves;
  }
  return found;
}

SmallVector<Value> registersOfHalves(RegisterEmitter &e, const HalfOperand &operand, Type half,
                                     unsigned count) {
  if (operand.halves)
    return e.operand(operand.halves, count);
  OpBuilder &b = e.builder;
  return {count, b.create<arith::ConstantOp>(e.loc(), b.getFloatAttr(half, *operand.number))};
}

// Whether some two neighbours lie in one word, as vectors are loaded: others are not put together.
bool hasWords(ArrayRef<Value> halves) {
  auto vectorOf = [](Value half) {
    auto element = RegisterEmitter::takenOut(half);
    return element ? element.getVector() : Value();
  };
  for (size_t i = 0; i + 1 < halves.size(); i += 2)
    if (Value vector = vectorOf(halves[i]); vector && vector == vectorOf(halves[i + 1]))
      return true;
  return false;
}

struct RoundedRegisters : RegisterModel<RoundedRegisters, arith::TruncFOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    Value result = op->getResult(0);
    unsigned count =
        isa<RankedTensorType>(result.getType()) ? registersOf(layoutOf(result.getType())) : 1;
    auto half = asHalfOperation(cast<arith::TruncFOp>(op));
    Type type = resultElement(op);
    SmallVector<Value> left, right;
    if (half && count % 2 == 0) {
      left = registersOfHalves(e, half->left, type, count);
      right = registersOfHalves(e, half->right, type, count);
    }
    if (!hasWords(left) && !hasWords(right))
      return SameOp<arith::TruncFOp>().emitRegisters(op, e);
    SmallVector<Value> words;
    for (auto [a, b] : llvm::zip(e.packHalves(left), e.packHalves(right)))
      words.push_back(emitHalves(e, half->op, type, a, b));
    e.setRegisters(result, e.unpackHalves(words, type));
  }
};

// Whether one bound is the other's negative, each element of a tile its own.
bool areOpposite(Value low, Value high) {
  FloatAttr least, most;
  if (matchPattern(low, m_Constant(&least)) && matchPattern(high, m_Constant(&most)))
    return least.getValue() == -most.getValue();
  auto splatOf = [](Value value) {
    DenseFPElementsAttr elements;
    return matchPattern(value, m_Constant(&elements)) && elements.isSplat()
               ? std::optional(elements.getSplatValue<APFloat>())
               : std::nullopt;
  };
  if (auto below = splatOf(low), above = splatOf(high); below && above)
    return *below == -*above;
  if (auto negated = low.getDefiningOp<arith::NegFOp>())
    return negated.getOperand() == high;
  if (auto rest = low.getDefiningOp<arith::SubFOp>())
    return rest.getRhs() == high && matchPattern(rest.getLhs(), m_AnyZeroFloat());
  Operation *a = low.getDefiningOp(), *b = high.getDefiningOp();
  return a && b && a->getName() == b->getName() && a->getNumOperands() == 1 && tile::isRepeat(a) &&
         a->getAttrs() == b->getAttrs() && areOpposite(a->getOperand(0), b->getOperand(0));
}

// A clamp between -y and y is one instruction where the chip has it: the smaller size with the sign
// of x.
struct MinNumRegisters : RegisterModel<MinNumRegisters, arith::MinNumFOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    auto inner = op->getOperand(0).getDefiningOp<arith::MaxNumFOp>();
    Value bound = op->getOperand(1);
    if (!emitter.chip.can(target::MinMaxSign) || !op->hasAttr(tile::clampAttr) || !inner ||
        inner->getBlock() != op->getBlock() || !resultElement(op).isF32() ||
        !areOpposite(inner.getRhs(), bound))
      return SameOp<arith::MinNumFOp>().emitRegisters(op, emitter);
    Value result = op->getResult(0), x = inner.getLhs();
    bool isTile = isa<RankedTensorType>(result.getType());
    unsigned count = isTile ? registersOf(layoutOf(result.getType())) : 1;
    auto numbers = emitter.operand(x, count), sizes = emitter.operand(bound, count);
    SmallVector<Value> values;
    for (auto [number, size] : llvm::zip(numbers, sizes))
      values.push_back(emitter.assembly("min.xorsign.abs.f32 $0, $1, $2;", "=f,f,f",
                                        emitter.builder.getF32Type(), {number, size},
                                        /*pure=*/true));
    if (isTile)
      return emitter.setRegisters(result, std::move(values));
    emitter.setScalar(result, values[0]);
  }
};

struct SelectCode {
  static Value emit(arith::SelectOp, RegisterEmitter &e, ValueRange v) {
    return e.builder.create<LLVM::SelectOp>(e.loc(), v[0], v[1], v[2]);
  }
};
template <transforms::Total kind> struct TotalCode {
  static Value emit(Operation *, RegisterEmitter &e, ValueRange v) {
    using transforms::Total;
    if constexpr (kind < Total::ShL)
      if (v[0].getType().isInteger(32) && !matchPattern(v[1], m_Constant()))
        return divided(e, v);
    return transforms::expandTotal(e.builder, e.loc(), kind, v[0], v[1]);
  }

  // What the assembler makes of a division of 32 bits has a step for a divisor of zero, whose
  // quotient has all bits set, and wraps where -1 divides the least number: what is wanted. LLVM
  // leaves both open, so around its division each would be asked for once more.
  static Value divided(RegisterEmitter &e, ValueRange v) {
    using transforms::Total;
    OpBuilder &b = e.builder;
    constexpr bool isSigned = kind == Total::DivS || kind == Total::RemS;
    constexpr bool isQuotient = kind == Total::DivS || kind == Total::DivU;
    std::string text = std::string(isQuotient ? "div" : "rem") + (isSigned ? ".s32" : ".u32");
    Value result = e.assembly(text + " $0, $1, $2;", "=r,r,r", b.getI32Type(), v, /*pure=*/true);
    if (isQuotient)
      return result;
    Value byZero =
        b.create<arith::CmpIOp>(e.loc(), arith::CmpIPredicate::eq, v[1], e.zero(b.getI32Type()));
    return b.create<arith::SelectOp>(e.loc(), byZero, v[0], result);
  }
};

// A remainder of numbers that are divided, too, is what the quotient leaves. Neighbours that have
// one quotient divide once.
template <typename Op, typename Quotient, transforms::Total kind, transforms::Total divide>
struct RemRegisters : RegisterModel<RemRegisters<Op, Quotient, kind, divide>, Op> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    Operation *quotient = nullptr;
    for (Operation *user : op->getOperand(0).getUsers())
      if (isa<Quotient>(user) && llvm::equal(user->getOperands(), op->getOperands()))
        quotient = user;
    if (!quotient || !isa<RankedTensorType>(op->getResult(0).getType()))
      return emitElementwise(op, e, [&](ValueRange v) {
        if (!quotient)
          return TotalCode<kind>::emit(op, e, v);
        return rest(e, v[0], TotalCode<divide>::emit(op, e, v), v[1]);
      });
    LinearLayout layout = layoutOf(op->getResult(0).getType());
    unsigned count = registersOf(layout);
    auto numbers = e.operand(op->getOperand(0), count), by = e.operand(op->getOperand(1), count);
    auto first = firstInRuns(layout, e.axes.facts(quotient->getResult(0)).constancy, count);
    SmallVector<Value> quotients, values;
    for (unsigned reg = 0; reg < count; ++reg) {
      quotients.push_back(first[reg] == reg
                              ? TotalCode<divide>::emit(op, e, {numbers[reg], by[reg]})
                              : quotients[first[reg]]);
      values.push_back(rest(e, numbers[reg], quotients[reg], by[reg]));
    }
    e.setRegisters(op->getResult(0), std::move(values));
  }

  static Value rest(RegisterEmitter &e, Value x, Value quotient, Value by) {
    Value whole = e.builder.create<arith::MulIOp>(e.loc(), quotient, by);
    return e.builder.create<arith::SubIOp>(e.loc(), x, whole);
  }
};

// Both halves of a product of 32 bits come from one instruction. LLVM and the assembler make two of
// them where both are wanted, as Philox does in each of its rounds. Here each half takes the whole
// product, and LLVM drops the copy of it.
Value wholeProduct(RegisterEmitter &e, ValueRange v) {
  return e.assembly("mul.wide.u32 $0, $1, $2;", "=l,r,r", e.builder.getI64Type(), v, /*pure=*/true);
}
bool isSameFactor(Value a, Value b) {
  Attribute x, y;
  return a == b || (matchPattern(a, m_Constant(&x)) && matchPattern(b, m_Constant(&y)) && x == y);
}
// Whether the other half of the product is wanted too, of the factors in this order.
template <typename Half> Half otherHalf(Operation *op) {
  Value a = op->getOperand(0), b = op->getOperand(1);
  if (!tile::elementType(op->getResult(0).getType()).isInteger(32))
    return nullptr;
  for (Value factor : {a, b})
    for (Operation *user : factor.getUsers())
      if (auto half = dyn_cast<Half>(user); half && half->getBlock() == op->getBlock() &&
                                            half.getType() == op->getResult(0).getType() &&
                                            isSameFactor(half.getLhs(), a) &&
                                            isSameFactor(half.getRhs(), b))
        return half;
  return nullptr;
}

struct MulHighCode {
  static Value emit(tile::MulHiUIOp op, RegisterEmitter &e, ValueRange v) {
    if (otherHalf<arith::MulIOp>(op)) {
      Value upper = e.builder.create<arith::ShRUIOp>(e.loc(), wholeProduct(e, v), e.i64(32));
      return e.builder.create<arith::TruncIOp>(e.loc(), v[0].getType(), upper);
    }
    return transforms::expandMulHigh(e.builder, e.loc(), v[0], v[1]);
  }
};
struct MulLowCode {
  static Value emit(arith::MulIOp op, RegisterEmitter &e, ValueRange v) {
    if (otherHalf<tile::MulHiUIOp>(op))
      return e.builder.create<arith::TruncIOp>(e.loc(), v[0].getType(), wholeProduct(e, v));
    return e.builder.create<arith::MulIOp>(e.loc(), v[0], v[1], op.getOverflowFlags());
  }
};
struct CastCode {
  static Value emit(Operation *op, RegisterEmitter &e, ValueRange v) {
    return e.cast(v[0], resultElement(op));
  }
};
struct AddPtrCode {
  static Value emit(tile::AddPtrOp op, RegisterEmitter &e, ValueRange v) {
    OpBuilder &b = e.builder;
    Value offset = v[1];
    if (offset.getType() != b.getI64Type())
      offset = op.getIsUnsigned()
                   ? b.create<arith::ExtUIOp>(e.loc(), b.getI64Type(), offset).getResult()
                   : b.create<arith::ExtSIOp>(e.loc(), b.getI64Type(), offset).getResult();
    Type pointee = cast<tile::PtrType>(tile::elementType(op.getType())).getPointee();
    Type memory = pointee.isInteger(1) ? b.getI8Type() : registerType(pointee);
    return b.create<LLVM::GEPOp>(e.loc(), v[0].getType(), memory, v[0], offset);
  }
};
struct OperandCode {
  static Value emit(Operation *, RegisterEmitter &, ValueRange v) { return v[0]; }
};

template <template <typename> typename Model, typename... Ops> void attach(MLIRContext *context) {
  (Ops::template attachInterface<Model<Ops>>(*context), ...);
}

} // namespace

void registerElementwiseRegisters(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    using namespace arith;
    attach<SameOp, AddFOp, SubFOp, MulFOp, NegFOp, MaximumFOp, MinimumFOp, MaxNumFOp, AddIOp,
           SubIOp, DivSIOp, DivUIOp, RemSIOp, RemUIOp, ShRSIOp, MaxSIOp, MaxUIOp, MinSIOp, MinUIOp,
           CmpIOp, CmpFOp, ExtFOp, ExtSIOp, TruncIOp, FPToSIOp, FPToUIOp, BitcastOp,
           AddUIExtendedOp, MulSIExtendedOp, MulUIExtendedOp>(context);
    attach<BitsRegisters, AndIOp, OrIOp, XOrIOp, ShLIOp, ShRUIOp>(context);
    attachCode<MulLowCode, MulIOp>(context);
    ConstantOp::attachInterface<ConstantRegisters>(*context);
    MinNumFOp::attachInterface<MinNumRegisters>(*context);
    TruncFOp::attachInterface<RoundedRegisters>(*context);
    attachCode<SelectCode, SelectOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    using namespace math;
    attachCode<AbsCode, AbsFOp>(context);
    attach<SameOp, AbsIOp, CeilOp, FloorOp, TruncOp, RoundEvenOp, FmaOp, CopySignOp,
           CountLeadingZerosOp, CountTrailingZerosOp, CtPopOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    using namespace tile;
    using transforms::Total;
    attachCode<TotalCode<Total::DivS>, DivSIOp>(context);
    attachCode<TotalCode<Total::DivU>, DivUIOp>(context);
    RemSIOp::attachInterface<RemRegisters<RemSIOp, DivSIOp, Total::RemS, Total::DivS>>(*context);
    RemUIOp::attachInterface<RemRegisters<RemUIOp, DivUIOp, Total::RemU, Total::DivU>>(*context);
    attachCode<TotalCode<Total::ShL>, ShLOp>(context);
    attachCode<TotalCode<Total::ShRS>, ShRSOp>(context);
    attachCode<TotalCode<Total::ShRU>, ShRUOp>(context);
    attachCode<MulHighCode, MulHiUIOp>(context);
    attachCode<CastCode, BitcastOp, PtrToIntOp, IntToPtrOp>(context);
    attachCode<AddPtrCode, AddPtrOp>(context);
    attachCode<OperandCode, HintOp>(context);
  });
}

} // namespace nereid::gpu
