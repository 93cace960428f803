// The transfer functions of contiguity, divisibility and constancy. All numbers are powers of two.
#include "analysis/AxisAnalysis.h"
#include "analysis/Widening.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;

namespace nereid::analysis {

using tile::AxisFacts;

namespace {

// Zero is divisible by everything; this is enough.
constexpr int64_t limit = int64_t(1) << 30;

int64_t powerOfTwoIn(int64_t value) {
  uint64_t bits = uint64_t(value), least = bits & -bits; // the least number has one too
  return least == 0 ? limit : int64_t(std::min(uint64_t(limit), least));
}
int64_t product(int64_t a, int64_t b) { return a > limit / b ? limit : a * b; }

unsigned rankOf(const AxisFacts &facts) { return facts.contiguity.size(); }

// What divides the values at positions that are multiples of `run` along `d`. `unit` is the
// distance of consecutive values: 1, or the bytes of a pointee.
int64_t divisibilityAt(const AxisFacts &facts, unsigned d, int64_t run, int64_t unit = 1) {
  return facts.contiguity[d] > run ? std::gcd(facts.divisibility[d], product(run, unit))
                                   : facts.divisibility[d];
}
// What divides every element.
int64_t divisibilityOfAll(const AxisFacts &facts, unsigned d, int64_t unit = 1) {
  return divisibilityAt(facts, d, 1, unit);
}

AxisFacts constantFacts(const APInt &value, ArrayRef<int64_t> shape) {
  AxisFacts facts = AxisFacts::unknown(shape.size());
  facts.constant = value.getSExtValue();
  facts.scalarDivisibility = powerOfTwoIn(*facts.constant);
  for (size_t d = 0; d < shape.size(); ++d) {
    facts.divisibility[d] = facts.scalarDivisibility;
    facts.constancy[d] = shape[d];
  }
  return facts;
}

// Values that agree wherever all operands do, and about which no more is known.
AxisFacts lanewise(Operation *op, ArrayRef<AxisFacts> operands) {
  auto shape = tile::shapeOf(op->getResult(0).getType());
  AxisFacts out = AxisFacts::unknown(shape.size());
  for (unsigned d = 0; d < shape.size(); ++d) {
    int64_t constancy = shape[d];
    for (const AxisFacts &operand : operands)
      if (rankOf(operand) == shape.size())
        constancy = std::gcd(constancy, operand.constancy[d]);
    out.constancy[d] = constancy;
  }
  return out;
}

// a + b, where the values of b are `unit` times its facts (pointer arithmetic), or a - b.
AxisFacts sum(Operation *op, const AxisFacts &a, const AxisFacts &b, int64_t unit = 1,
              bool subtract = false) {
  AxisFacts out = lanewise(op, {a, b});
  for (unsigned d = 0; d < rankOf(out); ++d) {
    int64_t run = std::gcd(a.contiguity[d], b.constancy[d]);
    if (!subtract) // x - (0 1 2 3) falls
      run = std::max(run, std::gcd(a.constancy[d], b.contiguity[d]));
    out.contiguity[d] = run;
    out.divisibility[d] =
        std::gcd(divisibilityAt(a, d, run, unit), product(divisibilityAt(b, d, run), unit));
  }
  out.scalarDivisibility = std::gcd(a.scalarDivisibility, product(b.scalarDivisibility, unit));
  if (a.constant && b.constant && unit == 1)
    out.constant = subtract ? int64_t(uint64_t(*a.constant) - uint64_t(*b.constant))
                            : int64_t(uint64_t(*a.constant) + uint64_t(*b.constant));
  return out;
}

template <typename Model, typename Op>
using Base = tile::AxisFactsOpInterface::ExternalModel<Model, Op>;

struct ConstantModel : Base<ConstantModel, arith::ConstantOp> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts>) const {
    auto shape = tile::shapeOf(op->getResult(0).getType());
    Attribute value = cast<arith::ConstantOp>(op).getValue();
    if (auto integer = dyn_cast<IntegerAttr>(value))
      return {constantFacts(integer.getValue(), shape)};
    AxisFacts facts = AxisFacts::unknown(shape.size());
    auto dense = dyn_cast<DenseElementsAttr>(value);
    if (!dense || !dense.isSplat())
      return {facts};
    if (dense.getElementType().isInteger())
      return {constantFacts(dense.getSplatValue<APInt>(), shape)};
    facts.constancy.assign(shape.begin(), shape.end());
    return {facts};
  }
};

struct ArangeModel : Base<ArangeModel, tile::ArangeOp> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts>) const {
    auto arange = cast<tile::ArangeOp>(op);
    AxisFacts facts = AxisFacts::unknown(1);
    int64_t size = tile::shapeOf(arange.getType())[0];
    facts.contiguity[0] = size & -size;
    facts.divisibility[0] = powerOfTwoIn(int32_t(arange.getStart()));
    return {facts};
  }
};

struct SplatModel : Base<SplatModel, tile::SplatOp> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts> operands) const {
    auto shape = tile::shapeOf(op->getResult(0).getType());
    AxisFacts facts = AxisFacts::unknown(shape.size());
    facts.scalarDivisibility = operands[0].scalarDivisibility;
    facts.constant = operands[0].constant;
    facts.constancy.assign(shape.begin(), shape.end());
    facts.divisibility.assign(shape.size(), facts.scalarDivisibility);
    return {facts};
  }
};

struct ExpandDimsModel : Base<ExpandDimsModel, tile::ExpandDimsOp> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts> operands) const {
    unsigned axis = cast<tile::ExpandDimsOp>(op).getAxis();
    AxisFacts facts = operands[0];
    // Along the new dimension every element begins a run.
    int64_t all = 1;
    for (unsigned d = 0; d < rankOf(facts); ++d)
      all = std::max(all, facts.contiguity[d] == 1 ? facts.divisibility[d] : 1);
    facts.contiguity.insert(facts.contiguity.begin() + axis, 1);
    facts.divisibility.insert(facts.divisibility.begin() + axis, all);
    facts.constancy.insert(facts.constancy.begin() + axis, 1);
    return {facts};
  }
};

struct BroadcastModel : Base<BroadcastModel, tile::BroadcastOp> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts> operands) const {
    AxisFacts facts = operands[0];
    auto from = tile::shapeOf(op->getOperand(0).getType());
    auto to = tile::shapeOf(op->getResult(0).getType());
    for (unsigned d = 0; d < to.size(); ++d)
      if (from[d] != to[d]) {
        facts.contiguity[d] = 1;
        facts.constancy[d] = to[d];
      }
    return {facts};
  }
};

// Extents of 1 come and go; a dimension that is split or merged keeps what its last part has.
struct ReshapeModel : Base<ReshapeModel, tile::ReshapeOp> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts> operands) const {
    const AxisFacts &in = operands[0];
    auto from = tile::shapeOf(op->getOperand(0).getType());
    auto to = tile::shapeOf(op->getResult(0).getType());
    AxisFacts out = AxisFacts::unknown(to.size());
    out.constant = in.constant;
    SmallVector<unsigned> wide, wideTo; // dimensions of more than one element
    for (unsigned d = 0; d < from.size(); ++d)
      if (from[d] != 1)
        wide.push_back(d);
    for (unsigned d = 0; d < to.size(); ++d)
      if (to[d] != 1)
        wideTo.push_back(d);
    auto extents = [](ArrayRef<unsigned> dims, ArrayRef<int64_t> shape) {
      return llvm::map_to_vector(dims, [&](unsigned d) { return shape[d]; });
    };
    if (cast<tile::ReshapeOp>(op).getReorder() && extents(wide, from) != extents(wideTo, to))
      return {out};
    auto pointer = dyn_cast<tile::PtrType>(tile::elementType(op->getResult(0).getType()));
    int64_t unit = pointer ? tile::bytesInMemory(pointer.getPointee()) : 1;
    // Along a dimension of which nothing else is known, every element begins a run.
    int64_t all = 1;
    for (unsigned d = 0; d < from.size(); ++d)
      all = std::max(all, divisibilityOfAll(in, d, unit));
    out.divisibility.assign(to.size(), all);
    // From the last dimension on, those of both sides that hold the same elements.
    unsigned i = wide.size(), j = wideTo.size();
    while (i && j) {
      unsigned last = wide[i - 1], lastTo = wideTo[j - 1];
      int64_t held = from[last], heldTo = to[lastTo];
      int64_t run = std::gcd(in.contiguity[last], to[lastTo]);
      out.contiguity[lastTo] = run;
      out.divisibility[lastTo] = run == 1 ? all : divisibilityAt(in, last, run, unit);
      out.constancy[lastTo] = std::gcd(in.constancy[last], to[lastTo]);
      for (--i, --j; held != heldTo;)
        if (held < heldTo && i)
          held *= from[wide[--i]];
        else if (held > heldTo && j)
          heldTo *= to[wideTo[--j]];
        else
          return {out};
    }
    return {out};
  }
};

struct TransModel : Base<TransModel, tile::TransOp> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts> operands) const {
    AxisFacts facts = operands[0];
    for (auto [d, from] : llvm::enumerate(cast<tile::TransOp>(op).getPerm())) {
      facts.contiguity[d] = operands[0].contiguity[from];
      facts.divisibility[d] = operands[0].divisibility[from];
      facts.constancy[d] = operands[0].constancy[from];
    }
    return {facts};
  }
};

// What is counted up from the index of a program or of a step has no negative element, as it does
// not wrap around; constants beside it must not do so either.
class Counted {
public:
  // The greatest element but for the indices, if none is negative; nothing if one may be.
  std::optional<int64_t> greatest(Value value, unsigned depth = 12) {
    if (!depth)
      return std::nullopt;
    auto of = [&](Value other) { return greatest(other, depth - 1); };
    if (auto argument = dyn_cast<BlockArgument>(value))
      return ofLoop(argument, depth - 1);
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return constant.isNegative() ? std::nullopt : std::optional(constant.getSExtValue());
    Operation *op = value.getDefiningOp();
    if (auto range = dyn_cast<tile::ArangeOp>(op)) {
      int64_t start = int32_t(range.getStart());
      return start < 0 ? std::nullopt
                       : std::optional(start + tile::shapeOf(range.getType())[0] - 1);
    }
    if (isa<tile::ProgramIdOp, tile::NumProgramsOp, arith::ExtUIOp>(op))
      return 0;
    // Steps are counted in 64 bits (`transforms/CountTrips.h`), of which a range of 32 takes half.
    if (auto narrow = dyn_cast<arith::TruncIOp>(op); narrow && isa<BlockArgument>(narrow.getIn()))
      return of(narrow.getIn());
    if (isa<tile::SplatOp, tile::ExpandDimsOp, tile::BroadcastOp, tile::ReshapeOp, tile::TransOp,
            tile::HintOp, arith::ExtSIOp>(op))
      return of(op->getOperand(0));
    if (isa<tile::DivUIOp, tile::RemUIOp>(op))
      return of(op->getOperand(0));
    if (!isa<arith::AddIOp, arith::MulIOp, tile::DivSIOp, tile::RemSIOp, arith::MinSIOp>(op))
      return std::nullopt;
    auto a = of(op->getOperand(0)), b = of(op->getOperand(1));
    if (!a || !b)
      return std::nullopt;
    if (isa<tile::DivSIOp, tile::RemSIOp, arith::MinSIOp>(op))
      return a;
    int64_t bound = isa<arith::AddIOp>(op) ? *a + *b : *a * *b;
    return bound > std::numeric_limits<int32_t>::max() ? std::nullopt : std::optional(bound);
  }

private:
  // Of a value that a loop carries: that which it begins with, if each step adds to it.
  std::optional<int64_t> ofLoop(BlockArgument argument, unsigned depth) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop)
      return std::nullopt;
    if (argument == loop.getInductionVar())
      return greatest(loop.getStep(), depth) ? greatest(loop.getLowerBound(), depth) : std::nullopt;
    if (!carried.insert(argument).second)
      return 0;
    auto first = greatest(loop.getTiedLoopInit(argument)->get(), depth);
    return first && greatest(loop.getTiedLoopYieldedValue(argument)->get(), depth) ? first
                                                                                   : std::nullopt;
  }

  llvm::SmallDenseSet<Value, 4> carried; // that are not negative if what they become is not
};

// Widening keeps runs of signed numbers: one that wraps around is overflow, which the language does
// not define. Unsigned ones wrap, as `arange(0, 8) + n - 3` does behind its mask where n is 2. The
// end of the range is a multiple of every power of two: pieces from multiple to multiple stay
// whole.
AxisFacts widened(Operation *op, AxisFacts facts) {
  if (!widensWrapped(op))
    return facts;
  for (unsigned d = 0; d < rankOf(facts); ++d) {
    int64_t piece = std::gcd(facts.contiguity[d], facts.divisibility[d]);
    facts.divisibility[d] = divisibilityAt(facts, d, piece);
    facts.contiguity[d] = piece;
  }
  return facts;
}

template <typename Op> struct CastModel : Base<CastModel<Op>, Op> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts> operands) const {
    AxisFacts facts = widened(op, operands[0]);
    facts.constant.reset();
    return {facts};
  }
};

// A pointer to another pointee counts its runs in other elements.
struct BitcastModel : Base<BitcastModel, tile::BitcastOp> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts> operands) const {
    auto bytes = [](Type type) -> unsigned {
      auto pointer = dyn_cast<tile::PtrType>(tile::elementType(type));
      return pointer ? tile::bytesInMemory(pointer.getPointee()) : 0;
    };
    unsigned from = bytes(op->getOperand(0).getType()), to = bytes(op->getResult(0).getType());
    AxisFacts facts = operands[0];
    facts.constant.reset();
    for (unsigned d = 0; from != to && d < rankOf(facts); ++d) {
      facts.divisibility[d] = divisibilityOfAll(facts, d, from);
      facts.contiguity[d] = 1;
    }
    return {facts};
  }
};

template <typename Op, bool subtract> struct SumModel : Base<SumModel<Op, subtract>, Op> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts> operands) const {
    return {sum(op, operands[0], operands[1], 1, subtract)};
  }
};

struct AddPtrModel : Base<AddPtrModel, tile::AddPtrOp> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts> operands) const {
    Type pointee = cast<tile::PtrType>(tile::elementType(op->getResult(0).getType())).getPointee();
    return {sum(op, operands[0], widened(op, operands[1]), tile::bytesInMemory(pointee))};
  }
};

struct MulModel : Base<MulModel, arith::MulIOp> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts> operands) const {
    const AxisFacts &a = operands[0], &b = operands[1];
    if (a.constant == 1 || b.constant == 1)
      return {a.constant == 1 ? b : a};
    AxisFacts out = lanewise(op, operands);
    for (unsigned d = 0; d < rankOf(out); ++d)
      out.divisibility[d] = product(divisibilityOfAll(a, d), divisibilityOfAll(b, d));
    out.scalarDivisibility = product(a.scalarDivisibility, b.scalarDivisibility);
    if (a.constant && b.constant)
      out.constant = int64_t(uint64_t(*a.constant) * uint64_t(*b.constant));
    return {out};
  }
};

struct ShiftLeftModel : Base<ShiftLeftModel, tile::ShLOp> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts> operands) const {
    const AxisFacts &a = operands[0], &b = operands[1];
    AxisFacts out = lanewise(op, operands);
    if (!b.constant || *b.constant < 0 || *b.constant > 30)
      return {out};
    int64_t factor = int64_t(1) << *b.constant;
    for (unsigned d = 0; d < rankOf(out); ++d)
      out.divisibility[d] = product(divisibilityOfAll(a, d), factor);
    out.scalarDivisibility = product(a.scalarDivisibility, factor);
    return {out};
  }
};

// a % b keeps runs that b's multiples do not cut.
template <typename Op> struct RemModel : Base<RemModel<Op>, Op> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts> operands) const {
    const AxisFacts &a = operands[0], &b = operands[1];
    // A stride that is specialised to 1: the sum that this is a part of runs on.
    if (b.constant == 1)
      return {constantFacts(APInt(64, 0), tile::shapeOf(op->getResult(0).getType()))};
    AxisFacts out = lanewise(op, operands);
    for (unsigned d = 0; d < rankOf(out); ++d) {
      int64_t run = std::gcd(a.contiguity[d], b.constancy[d]);
      run = std::gcd(run, std::gcd(divisibilityAt(a, d, run), divisibilityOfAll(b, d)));
      out.contiguity[d] = run;
      out.divisibility[d] = std::gcd(divisibilityAt(a, d, run), divisibilityOfAll(b, d));
    }
    out.scalarDivisibility = std::gcd(a.scalarDivisibility, b.scalarDivisibility);
    return {out};
  }
};

// Multiples of 32 divided by 8 are multiples of 4.
void divideMultiples(AxisFacts &out, const AxisFacts &a, int64_t divisor) {
  if (divisor <= 0 || !llvm::isPowerOf2_64(uint64_t(divisor)))
    return;
  auto left = [&](int64_t divides) { return std::max<int64_t>(divides / divisor, 1); };
  out.scalarDivisibility = left(a.scalarDivisibility);
  for (unsigned d = 0; d < rankOf(out); ++d)
    out.divisibility[d] = left(divisibilityOfAll(a, d));
}

// (0 1 ... 31) // 8 is uniform over runs of 8, if no number is negative: -1 // 8 is 0, as is 1
// // 8.
template <typename Op, bool isSigned> struct DivModel : Base<DivModel<Op, isSigned>, Op> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts> operands) const {
    const AxisFacts &a = operands[0], &b = operands[1];
    if (b.constant == 1)
      return {a};
    AxisFacts out = lanewise(op, operands);
    divideMultiples(out, a, b.constant.value_or(0));
    if (isSigned && !Counted().greatest(op->getOperand(0)))
      return {out};
    for (unsigned d = 0; d < rankOf(out); ++d) {
      int64_t run = std::gcd(a.contiguity[d], b.constancy[d]);
      run = std::gcd(run, std::gcd(divisibilityAt(a, d, run), divisibilityOfAll(b, d)));
      out.constancy[d] = std::max(out.constancy[d], run);
    }
    return {out};
  }
};

// (0 1 ... 31) >> 3 likewise, whatever the signs.
template <typename Op> struct ShiftRightModel : Base<ShiftRightModel<Op>, Op> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts> operands) const {
    const AxisFacts &a = operands[0], &b = operands[1];
    AxisFacts out = lanewise(op, operands);
    if (!b.constant || *b.constant < 0 || *b.constant > 30)
      return {out};
    const int64_t divisor = int64_t(1) << *b.constant;
    divideMultiples(out, a, divisor);
    for (unsigned d = 0; d < rankOf(out); ++d) {
      int64_t run = a.contiguity[d];
      run = std::gcd(run, std::gcd(divisibilityAt(a, d, run), divisor));
      out.constancy[d] = std::max(out.constancy[d], run);
    }
    return {out};
  }
};

// (0 1 2 3) < n is uniform over runs whose first value and n are multiples of the run.
struct CompareModel : Base<CompareModel, arith::CmpIOp> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts> operands) const {
    AxisFacts out = lanewise(op, operands);
    auto uniform = [&](const AxisFacts &run, const AxisFacts &bound, unsigned d) {
      int64_t length = std::gcd(run.contiguity[d], bound.constancy[d]);
      return std::gcd(length,
                      std::gcd(divisibilityAt(run, d, length), divisibilityOfAll(bound, d)));
    };
    // a < b and a >= b cut between multiples; a <= b and a > b cut one further on.
    auto predicate = cast<arith::CmpIOp>(op).getPredicate();
    using P = arith::CmpIPredicate;
    bool below = llvm::is_contained({P::slt, P::ult, P::sge, P::uge}, predicate);
    bool above = llvm::is_contained({P::sgt, P::ugt, P::sle, P::ule}, predicate);
    for (unsigned d = 0; d < rankOf(out); ++d) {
      if (below)
        out.constancy[d] = std::max(out.constancy[d], uniform(operands[0], operands[1], d));
      if (above)
        out.constancy[d] = std::max(out.constancy[d], uniform(operands[1], operands[0], d));
    }
    return {out};
  }
};

struct SelectModel : Base<SelectModel, arith::SelectOp> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts> operands) const {
    AxisFacts out = lanewise(op, operands);
    const AxisFacts &condition = operands[0], &a = operands[1], &b = operands[2];
    for (unsigned d = 0; d < rankOf(out); ++d) {
      int64_t run = std::gcd(a.contiguity[d], b.contiguity[d]);
      if (rankOf(condition))
        run = std::gcd(run, condition.constancy[d]);
      out.contiguity[d] = run;
      // The distance of consecutive values is at least 1; for pointers it is more, which only
      // helps.
      out.divisibility[d] = std::gcd(divisibilityAt(a, d, run), divisibilityAt(b, d, run));
    }
    out.scalarDivisibility = std::gcd(a.scalarDivisibility, b.scalarDivisibility);
    return {out};
  }
};

// The smaller or greater of two: every element is one of theirs.
template <typename Op> struct BoundModel : Base<BoundModel<Op>, Op> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts> operands) const {
    const AxisFacts &a = operands[0], &b = operands[1];
    AxisFacts out = lanewise(op, operands);
    for (unsigned d = 0; d < rankOf(out); ++d)
      out.divisibility[d] = std::gcd(divisibilityOfAll(a, d), divisibilityOfAll(b, d));
    out.scalarDivisibility = std::gcd(a.scalarDivisibility, b.scalarDivisibility);
    return {out};
  }
};

struct HintModel : Base<HintModel, tile::HintOp> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts> operands) const {
    auto hint = cast<tile::HintOp>(op);
    AxisFacts facts = operands[0];
    auto raise = [](SmallVector<int64_t, 4> &into, std::optional<ArrayRef<int64_t>> promised) {
      for (size_t d = 0; promised && d < std::min(into.size(), promised->size()); ++d)
        into[d] = std::max(into[d], powerOfTwoIn(std::max<int64_t>(1, (*promised)[d])));
    };
    raise(facts.contiguity, hint.getContiguity());
    raise(facts.divisibility, hint.getDivisibility());
    raise(facts.constancy, hint.getConstancy());
    auto shape = tile::shapeOf(op->getResult(0).getType());
    for (unsigned d = 0; d < shape.size(); ++d) {
      facts.contiguity[d] = std::gcd(facts.contiguity[d], shape[d] & -shape[d]);
      facts.constancy[d] = std::gcd(facts.constancy[d], shape[d] & -shape[d]);
    }
    if (shape.empty() && hint.getDivisibility() && !hint.getDivisibility()->empty())
      facts.scalarDivisibility =
          std::max(facts.scalarDivisibility, powerOfTwoIn(hint.getDivisibility()->front()));
    return {facts};
  }
};

// What one address holds is one value: others that write meanwhile race with the program.
struct LoadModel : Base<LoadModel, tile::LoadOp> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts> operands) const {
    if (cast<tile::LoadOp>(op).getIsVolatile())
      return {AxisFacts::unknown(tile::shapeOf(op->getResult(0).getType()).size())};
    return {lanewise(op, operands)};
  }
};

template <typename Op> struct LanewiseModel : Base<LanewiseModel<Op>, Op> {
  SmallVector<AxisFacts> transferAxisFacts(Operation *op, ArrayRef<AxisFacts> operands) const {
    return {lanewise(op, operands)};
  }
};

} // namespace

bool widensWrapped(Operation *op) {
  Value narrow;
  if (isa<arith::ExtUIOp>(op))
    narrow = op->getOperand(0);
  else if (auto add = dyn_cast<tile::AddPtrOp>(op); add && add.getIsUnsigned())
    narrow = add.getOffset();
  return narrow && tile::elementType(narrow.getType()).getIntOrFloatBitWidth() < 64 &&
         !Counted().greatest(narrow);
}

void registerAxisModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    arith::ConstantOp::attachInterface<ConstantModel>(*context);
    arith::AddIOp::attachInterface<SumModel<arith::AddIOp, false>>(*context);
    arith::SubIOp::attachInterface<SumModel<arith::SubIOp, true>>(*context);
    arith::MulIOp::attachInterface<MulModel>(*context);
    arith::ExtSIOp::attachInterface<CastModel<arith::ExtSIOp>>(*context);
    arith::ExtUIOp::attachInterface<CastModel<arith::ExtUIOp>>(*context);
    arith::TruncIOp::attachInterface<CastModel<arith::TruncIOp>>(*context);
    arith::CmpIOp::attachInterface<CompareModel>(*context);
    arith::SelectOp::attachInterface<SelectModel>(*context);
    arith::AndIOp::attachInterface<LanewiseModel<arith::AndIOp>>(*context);
    arith::OrIOp::attachInterface<LanewiseModel<arith::OrIOp>>(*context);
    arith::XOrIOp::attachInterface<LanewiseModel<arith::XOrIOp>>(*context);
    arith::MinSIOp::attachInterface<BoundModel<arith::MinSIOp>>(*context);
    arith::MaxSIOp::attachInterface<BoundModel<arith::MaxSIOp>>(*context);
    arith::MinUIOp::attachInterface<BoundModel<arith::MinUIOp>>(*context);
    arith::MaxUIOp::attachInterface<BoundModel<arith::MaxUIOp>>(*context);
    arith::CmpFOp::attachInterface<LanewiseModel<arith::CmpFOp>>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    tile::ArangeOp::attachInterface<ArangeModel>(*context);
    tile::SplatOp::attachInterface<SplatModel>(*context);
    tile::ExpandDimsOp::attachInterface<ExpandDimsModel>(*context);
    tile::BroadcastOp::attachInterface<BroadcastModel>(*context);
    tile::ReshapeOp::attachInterface<ReshapeModel>(*context);
    tile::TransOp::attachInterface<TransModel>(*context);
    tile::AddPtrOp::attachInterface<AddPtrModel>(*context);
    tile::BitcastOp::attachInterface<BitcastModel>(*context);
    tile::PtrToIntOp::attachInterface<LanewiseModel<tile::PtrToIntOp>>(*context);
    tile::ShLOp::attachInterface<ShiftLeftModel>(*context);
    tile::RemSIOp::attachInterface<RemModel<tile::RemSIOp>>(*context);
    tile::RemUIOp::attachInterface<RemModel<tile::RemUIOp>>(*context);
    tile::DivSIOp::attachInterface<DivModel<tile::DivSIOp, true>>(*context);
    tile::DivUIOp::attachInterface<DivModel<tile::DivUIOp, false>>(*context);
    tile::ShRSOp::attachInterface<ShiftRightModel<tile::ShRSOp>>(*context);
    tile::ShRUOp::attachInterface<ShiftRightModel<tile::ShRUOp>>(*context);
    tile::HintOp::attachInterface<HintModel>(*context);
    tile::LoadOp::attachInterface<LoadModel>(*context);
  });
}

} // namespace nereid::analysis
