#include "gpu/Addresses.h"

#include "gpu/TileGpu.h"
#include "ir/OpKinds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <numeric>

using namespace mlir;

namespace nereid::gpu {

std::optional<int64_t> constantOf(Value value) {
  APInt number;
  if (value && matchPattern(value, m_ConstantInt(&number)))
    return number.getSExtValue();
  return std::nullopt;
}

bool SameStep::operator()(Value a, Value b) {
  if (!a || !b)
    return a == b;
  if (a == b || (a == first && b == second))
    return true;
  if (a.getType() != b.getType())
    return false;
  auto [known, isNew] = seen.try_emplace({a, b}, false);
  if (!isNew)
    return known->second;
  bool isSame = isSameOp(a, b) || distance(a, b) == 0;
  return seen[{a, b}] = isSame;
}

bool SameStep::isSameOp(Value a, Value b) {
  auto one = dyn_cast<OpResult>(a), other = dyn_cast<OpResult>(b);
  if (!one || !other || one.getResultNumber() != other.getResultNumber())
    return false;
  Operation *x = one.getOwner(), *y = other.getOwner();
  return x->getName() == y->getName() && x->getAttrDictionary() == y->getAttrDictionary() &&
         !x->getNumRegions() && x->getNumOperands() == y->getNumOperands() &&
         isMemoryEffectFree(x) &&
         llvm::all_of(llvm::zip(x->getOperands(), y->getOperands()),
                      [&](auto pair) { return (*this)(std::get<0>(pair), std::get<1>(pair)); });
}

void SameStep::addTo(Sum &sum, Value value, int64_t factor, unsigned depth) {
  Operation *op = value.getDefiningOp();
  auto addOperand = [&](unsigned i, int64_t by) {
    addTo(sum, op->getOperand(i), factor * by, depth - 1);
  };
  if (auto number = constantOf(value)) {
    sum.constant += factor * *number;
  } else if (op && depth && isa<arith::AddIOp>(op)) {
    addOperand(0, 1);
    addOperand(1, 1);
  } else if (op && depth && isa<arith::SubIOp>(op)) {
    addOperand(0, 1);
    addOperand(1, -1);
  } else if (auto step = dyn_cast_or_null<tile::AddPtrOp>(op);
             step && depth && !step.getIsUnsigned()) {
    addOperand(0, 1);
    addOperand(1, 1);
  } else if (op && depth && isa<arith::ExtSIOp, tile::SplatOp>(op)) {
    addOperand(0, 1);
  } else if (auto by = op && depth && isa<arith::MulIOp>(op) ? constantOf(op->getOperand(1))
                                                             : std::nullopt) {
    addOperand(0, *by);
  } else {
    auto *same = llvm::find_if(sum.terms, [&](auto &term) { return term.first == value; });
    if (same != sum.terms.end())
      same->second += factor;
    else
      sum.terms.push_back({value, factor});
  }
}

std::optional<int64_t> SameStep::distance(Value a, Value b) {
  Type element = tile::elementType(a.getType());
  if (a.getType() != b.getType() || !isa<IntegerType, tile::PtrType>(element) ||
      element.isInteger(1))
    return std::nullopt;
  Sum one, other;
  addTo(one, a, 1);
  addTo(other, b, 1);
  if (one.terms.size() != other.terms.size() ||
      (one.terms.size() == 1 && one.terms[0].first == a && a != b))
    return std::nullopt;
  for (auto [value, factor] : one.terms) {
    auto *same = llvm::find_if(other.terms, [&, value = value, factor = factor](auto &term) {
      return term.second == factor && (*this)(value, term.first);
    });
    if (same == other.terms.end())
      return std::nullopt;
    other.terms.erase(same);
  }
  return other.constant - one.constant;
}

std::optional<int64_t> slopeOf(Value value, scf::ForOp loop) {
  if (value == loop.getInductionVar())
    return 1;
  if (loop.isDefinedOutsideOfLoop(value))
    return 0;
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  auto of = [&](unsigned i) { return slopeOf(op->getOperand(i), loop); };
  if (tile::isRepeat(op) ||
      isa<arith::TruncIOp, arith::ExtSIOp, arith::ExtUIOp, ConvertLayoutOp>(op))
    return of(0);
  if (isa<tile::ArangeOp, arith::ConstantOp>(op))
    return 0;
  if (isa<arith::AddIOp, tile::AddPtrOp, arith::SubIOp, arith::MulIOp>(op)) {
    auto a = of(0), b = of(1);
    if (!a || !b)
      return std::nullopt;
    if (!isa<arith::MulIOp>(op))
      return isa<arith::SubIOp>(op) ? *a - *b : *a + *b;
    if (!*a && !*b)
      return 0;
    auto factor = constantOf(op->getOperand(*a ? 1 : 0));
    return !*a || !*b ? factor ? std::optional(*factor * (*a + *b)) : std::nullopt : std::nullopt;
  }
  if (!isMemoryEffectFree(op) || op->getNumRegions())
    return std::nullopt;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (of(i) != 0)
      return std::nullopt;
  return 0;
}

int64_t gapOf(Value tile, unsigned depth) {
  Operation *op = tile.getDefiningOp();
  if (!tile::isTile(tile) || constantOf(tile) || isa_and_nonnull<tile::SplatOp>(op))
    return 0;
  if (!op || !depth)
    return 1;
  auto of = [&](unsigned i) { return gapOf(op->getOperand(i), depth - 1); };
  auto step = dyn_cast<tile::AddPtrOp>(op);
  if (isa<arith::AddIOp, arith::SubIOp>(op) || (step && !step.getIsUnsigned()))
    return std::gcd(of(0), of(1));
  if (tile::isRepeat(op) || isa<arith::ExtSIOp, ConvertLayoutOp>(op))
    return of(0);
  constexpr int64_t most = int64_t(1) << 31; // whose products fit
  auto by = isa<arith::MulIOp>(op) ? constantOf(op->getOperand(1)) : std::nullopt;
  int64_t inner = by ? of(0) : 1;
  return by && std::abs(*by) <= most && inner < most ? std::abs(*by) * inner : 1;
}

} // namespace nereid::gpu
