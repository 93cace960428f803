#include "analysis/AxisAnalysis.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numeric>

using namespace mlir;

namespace nereid::analysis {

using tile::AxisFacts;

namespace {

// What holds of both.
AxisFacts meet(const AxisFacts &a, const AxisFacts &b) {
  AxisFacts out = AxisFacts::unknown(a.contiguity.size());
  for (size_t d = 0; d < a.contiguity.size(); ++d) {
    // A longer run is cut into shorter ones whose first values are `shorter` apart.
    int64_t run = std::gcd(a.contiguity[d], b.contiguity[d]);
    auto firsts = [&](const AxisFacts &facts) {
      return facts.contiguity[d] > run ? std::gcd(facts.divisibility[d], run)
                                       : facts.divisibility[d];
    };
    out.contiguity[d] = run;
    out.divisibility[d] = std::gcd(firsts(a), firsts(b));
    out.constancy[d] = std::gcd(a.constancy[d], b.constancy[d]);
  }
  out.scalarDivisibility = std::gcd(a.scalarDivisibility, b.scalarDivisibility);
  if (a.constant && a.constant == b.constant)
    out.constant = a.constant;
  return out;
}

bool same(const AxisFacts &a, const AxisFacts &b) {
  return a.contiguity == b.contiguity && a.divisibility == b.divisibility &&
         a.constancy == b.constancy && a.scalarDivisibility == b.scalarDivisibility &&
         a.constant == b.constant;
}

AxisFacts unknownFor(Value value) {
  return AxisFacts::unknown(tile::shapeOf(value.getType()).size());
}

} // namespace

AxisAnalysis::AxisAnalysis(FunctionOpInterface function, bool isLikely) {
  if (function.isExternal())
    return;
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    AxisFacts facts = unknownFor(argument);
    if (auto attr = function.getArgAttrOfType<IntegerAttr>(i, tile::divisibilityAttr))
      if (int64_t value = attr.getInt(); value > 0)
        facts.scalarDivisibility = value & -value;
    if (isLikely && isa<tile::PtrType>(argument.getType()))
      facts.scalarDivisibility = std::max<int64_t>(facts.scalarDivisibility, 256);
    else if (isLikely && facts.scalarDivisibility == 16)
      facts.scalarDivisibility = 32;
    known[argument] = facts;
  }
  for (Block &block : function.getFunctionBody())
    visit(block);
}

AxisFacts AxisAnalysis::facts(Value value) const {
  auto found = known.find(value);
  return found != known.end() ? found->second : unknownFor(value);
}

// Returns true if `into` knew more than what now holds.
bool AxisAnalysis::join(Value into, const AxisFacts &facts) {
  AxisFacts now = meet(known[into], facts);
  if (same(now, known[into]))
    return false;
  known[into] = now;
  return true;
}

void AxisAnalysis::visit(Block &block) {
  for (Operation &op : block)
    visit(&op);
}

void AxisAnalysis::visit(Operation *op) {
  if (isa<LoopLikeOpInterface>(op) && op->getNumRegions())
    return visitLoop(op);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      visit(block);
  if (auto transfer = dyn_cast<tile::AxisFactsOpInterface>(op)) {
    SmallVector<AxisFacts> operands;
    for (Value operand : op->getOperands())
      operands.push_back(facts(operand));
    SmallVector<AxisFacts> results = transfer.transferAxisFacts(operands);
    for (auto [result, facts] : llvm::zip(op->getResults(), results))
      known[result] = facts;
    return;
  }
  // The results of a branch hold what all its ends yield.
  if (auto branch = dyn_cast<scf::IfOp>(op); branch && branch.getNumResults()) {
    for (auto [result, a, b] : llvm::zip(branch.getResults(), branch.thenYield().getResults(),
                                         branch.elseYield().getResults()))
      known[result] = meet(facts(a), facts(b));
    return;
  }
}

// Starts from the facts of the initial values and weakens them until a step keeps them. Facts only
// get weaker and each has few steps to fall, but a pointer that doubles could take many rounds.
void AxisAnalysis::visitLoop(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  auto whileLoop = dyn_cast<scf::WhileOp>(op);
  if (!loop && !whileLoop) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        visit(block);
    return;
  }
  Block::BlockArgListType carried =
      loop ? loop.getRegionIterArgs() : whileLoop.getBeforeArguments();
  for (auto [argument, init] : llvm::zip(carried, loop ? loop.getInitArgs() : whileLoop.getInits()))
    known[argument] = facts(init);
  if (loop) {
    AxisFacts induction = AxisFacts::unknown(0);
    induction.scalarDivisibility = std::gcd(facts(loop.getLowerBound()).scalarDivisibility,
                                            facts(loop.getStep()).scalarDivisibility);
    known[loop.getInductionVar()] = induction;
  }
  auto pass = [&](ValueRange from, ValueRange to) {
    for (auto [source, target] : llvm::zip(from, to))
      known[target] = facts(source);
  };
  // What a step ends with.
  auto step = [&]() -> ValueRange {
    if (loop) {
      visit(*loop.getBody());
      return loop.getYieldedValues();
    }
    visit(*whileLoop.getBeforeBody());
    pass(whileLoop.getConditionOp().getArgs(), whileLoop.getAfterArguments());
    visit(*whileLoop.getAfterBody());
    return whileLoop.getYieldOp().getResults();
  };

  constexpr unsigned rounds = 16;
  for (unsigned round = 0;; ++round) {
    bool changed = false;
    for (auto [argument, yielded] : llvm::zip(carried, step())) {
      if (round < rounds) {
        changed |= join(argument, facts(yielded));
      } else if (!same(known[argument], unknownFor(argument))) {
        known[argument] = unknownFor(argument);
        changed = true;
      }
    }
    if (!changed)
      break;
  }
  pass(loop ? ValueRange(carried) : ValueRange(whileLoop.getConditionOp().getArgs()),
       op->getResults());
}

int64_t accessWidth(const AxisFacts &pointer, const AxisFacts *mask, unsigned dim,
                    unsigned elementBytes, unsigned limitBytes) {
  int64_t width = pointer.contiguity[dim];
  if (mask)
    width = std::gcd(width, mask->constancy[dim]);
  width = std::min<int64_t>(width, std::max(1u, limitBytes / elementBytes));
  // Runs are cut into pieces of `width` elements: the first address of a piece must be aligned.
  int64_t firsts = pointer.contiguity[dim] > width
                       ? std::gcd(pointer.divisibility[dim], width * elementBytes)
                       : pointer.divisibility[dim];
  return std::max<int64_t>(1, std::min<int64_t>(width, firsts / elementBytes));
}

} // namespace nereid::analysis
