#include "analysis/UsualSteps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cstdlib>
#include <numeric>

using namespace mlir;

namespace nereid::analysis {

namespace {

constexpr UsualStep none{UsualStep::Known, 0};

// Of a sum. What is known to be zero adds nothing.
UsualStep sum(const UsualStep &a, const UsualStep &b, int64_t sign) {
  if (a.kind == UsualStep::Known && b.kind == UsualStep::Known)
    return {UsualStep::Known, a.factor + sign * b.factor};
  return {std::max(a.kind, b.kind), std::max<int64_t>(1, std::gcd(a.factor, b.factor))};
}

// Of the one of two values that changes; of both, if they change alike.
UsualStep either(const UsualStep &a, const UsualStep &b) {
  if (a.is(0))
    return b;
  return b.is(0) || (a.kind == b.kind && a.factor == b.factor) ? a : UsualStep{};
}

} // namespace

UsualStep UsualSteps::along(Value tile, unsigned dim, unsigned depth) {
  constexpr unsigned farthest = 256; // ops; the search is recursive
  auto shape = tile::shapeOf(tile.getType());
  if (dim >= shape.size() || axes.facts(tile).constancy[dim] >= shape[dim])
    return none;
  auto [found, fresh] = known.try_emplace({tile, dim}); // unknown while it is looked for
  if (!fresh || depth == farthest)
    return found->second;
  UsualStep step;
  if (Operation *op = tile.getDefiningOp()) {
    step = compute(op, dim, depth + 1);
  } else {
    // What a loop carries usually moves as a whole.
    auto argument = cast<BlockArgument>(tile);
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (loop && argument != loop.getInductionVar())
      step = along(loop.getTiedLoopInit(argument)->get(), dim, depth + 1);
  }
  return known[{tile, dim}] = step;
}

// A product with a number, or with a tile that does not change along the dimension.
UsualStep UsualSteps::scaled(Value tile, Value by, unsigned dim, unsigned depth) {
  UsualStep step = along(tile, dim, depth), factor = along(by, dim, depth);
  if (step.is(0) && factor.is(0))
    return none;
  if (!factor.is(0) || step.kind == UsualStep::Anything)
    return {};
  tile::AxisFacts facts = axes.facts(by);
  constexpr int64_t most = int64_t(1) << 30;
  if (std::abs(step.factor) >= most)
    return {};
  if (facts.constant && std::abs(*facts.constant) < most)
    return {step.kind, step.factor * *facts.constant};
  return {UsualStep::Multiple, std::abs(step.factor) * std::min(most, facts.divisibility[dim])};
}

UsualStep UsualSteps::compute(Operation *op, unsigned dim, unsigned depth) {
  auto of = [&](Value operand) { return along(operand, dim, depth); };
  auto operand = [&](unsigned number) { return of(op->getOperand(number)); };
  if (isa<tile::ArangeOp>(op))
    return {UsualStep::Known, 1};
  if (auto expand = dyn_cast<tile::ExpandDimsOp>(op)) {
    unsigned axis = expand.getAxis();
    return dim == axis ? none : along(op->getOperand(0), dim - (dim > axis), depth);
  }
  if (auto trans = dyn_cast<tile::TransOp>(op))
    return along(op->getOperand(0), unsigned(trans.getPerm()[dim]), depth);
  if (isa<tile::BroadcastOp, tile::HintOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(op))
    return operand(0);
  if (isa<arith::AddIOp, tile::AddPtrOp>(op))
    return sum(operand(0), operand(1), 1);
  if (isa<arith::SubIOp>(op))
    return sum(operand(0), operand(1), -1);
  if (isa<arith::MulIOp>(op)) {
    bool isSecond = operand(1).is(0);
    return scaled(op->getOperand(!isSecond), op->getOperand(isSecond), dim, depth);
  }
  if (isa<arith::MinSIOp, arith::MinUIOp, arith::MaxSIOp, arith::MaxUIOp>(op))
    return either(operand(0), operand(1));
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return either(of(select.getTrueValue()), of(select.getFalseValue()));
  bool isQuotient = isa<tile::DivSIOp, tile::DivUIOp>(op);
  if (!isQuotient && !isa<tile::RemSIOp, tile::RemUIOp>(op))
    return {};
  // By one number, which is taken to be large where nobody knows it.
  UsualStep step = operand(0), by = operand(1);
  if (step.kind != UsualStep::Known || !by.is(0))
    return {};
  auto divisor = axes.facts(op->getOperand(1)).constant;
  int64_t size = std::abs(step.factor), least = divisor ? std::abs(*divisor) : 2;
  if (size < least)
    return isQuotient ? none : step;
  if (!divisor || !*divisor || step.factor % *divisor)
    return {};
  return isQuotient ? UsualStep{UsualStep::Known, step.factor / *divisor} : none;
}

std::optional<unsigned> UsualSteps::nearest(Value pointers) {
  constexpr int64_t near = 8; // elements: a sector has as many words
  constexpr int64_t far = 16; // a stride that this divides is larger than one that nothing divides
  auto shape = tile::shapeOf(pointers.getType());
  std::optional<unsigned> best;
  int64_t least = 0; // of the best one, if it is known
  bool isAmbiguous = false;
  for (unsigned d = unsigned(shape.size()); d-- > 0;) {
    UsualStep step = along(pointers, d);
    int64_t size = std::abs(step.factor);
    if (shape[d] > 1 && step.kind == UsualStep::Known && size && size <= near) {
      if (!least || size < least)
        best = d, least = size;
    } else if (shape[d] > 1 && step.kind == UsualStep::Multiple && size < far && !least) {
      // Of strides that nobody knows the one is nearer that is no multiple of 16.
      isAmbiguous |= best.has_value();
      best = d;
    }
  }
  return isAmbiguous && !least ? std::nullopt : best;
}

} // namespace nereid::analysis
