#include "analysis/CombineOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include <set>

using namespace mlir;

namespace nereid::analysis {

bool commutes(Block &combine) {
  auto yielded = combine.getTerminator()->getOperands();
  unsigned count = unsigned(yielded.size());
  if (combine.getOperations().size() != count + 1)
    return false;
  for (unsigned i = 0; i < count; ++i) {
    Operation *op = yielded[i].getDefiningOp();
    if (!op || op->getBlock() != &combine || !op->hasTrait<OpTrait::IsCommutative>() ||
        op->getNumOperands() != 2 ||
        !llvm::is_contained(op->getOperands(), combine.getArgument(i)) ||
        !llvm::is_contained(op->getOperands(), combine.getArgument(count + i)))
      return false;
  }
  return true;
}

namespace {

using Element = SmallVector<TypedAttr, 2>; // one attribute for each source

// True if no more than how two elements compare, source by source, can decide what is yielded. Then
// a few elements that compare in all ways stand for all.
bool onlyCompares(Block &combine) {
  unsigned sources = combine.getNumArguments() / 2;
  DenseMap<Value, unsigned> sourceOf; // of arguments, and of what selects between them
  for (BlockArgument argument : combine.getArguments())
    sourceOf[argument] = argument.getArgNumber() % sources;
  auto ofOneSource = [&](Value a, Value b) {
    return sourceOf.count(a) && sourceOf.count(b) && sourceOf[a] == sourceOf[b];
  };
  for (Operation &op : combine.without_terminator()) {
    if (isa<arith::CmpFOp, arith::CmpIOp>(op)) {
      if (!ofOneSource(op.getOperand(0), op.getOperand(1)))
        return false;
    } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
      if (!ofOneSource(select.getTrueValue(), select.getFalseValue()))
        return false;
      sourceOf[select] = sourceOf[select.getTrueValue()];
    } else if (!isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::ConstantOp>(op) ||
               !op.getResult(0).getType().isInteger(1)) {
      return false;
    }
  }
  for (auto [i, value] : llvm::enumerate(combine.getTerminator()->getOperands())) {
    auto source = sourceOf.find(value);
    if (source == sourceOf.end() || source->second != i)
      return false;
  }
  return true;
}

// Numbers of a type that compare with each other in all ways, signed and unsigned.
SmallVector<TypedAttr> samples(Type type) {
  if (auto number = dyn_cast<FloatType>(type); number && number.getWidth() > 8)
    return {FloatAttr::get(type, 1.0), FloatAttr::get(type, 2.0),
            FloatAttr::get(type, APFloat::getNaN(number.getFloatSemantics()))};
  if (isa<IntegerType>(type) && type.getIntOrFloatBitWidth() > 1)
    return {IntegerAttr::get(type, 0), IntegerAttr::get(type, 1), IntegerAttr::get(type, -1)};
  return {};
}

// The least and the greatest ones of a type that has samples.
SmallVector<TypedAttr> extremes(Type type) {
  if (auto number = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &format = number.getFloatSemantics();
    return {FloatAttr::get(type, APFloat::getInf(format, /*Negative=*/true)),
            FloatAttr::get(type, APFloat::getInf(format))};
  }
  unsigned bits = type.getIntOrFloatBitWidth();
  return {IntegerAttr::get(type, APInt::getSignedMinValue(bits)),
          IntegerAttr::get(type, APInt::getSignedMaxValue(bits)),
          IntegerAttr::get(type, APInt::getZero(bits)),
          IntegerAttr::get(type, APInt::getAllOnes(bits))};
}

bool isNan(TypedAttr value) {
  auto number = dyn_cast<FloatAttr>(value);
  return number && number.getValue().isNaN();
}

// All elements that can be made of some numbers for each source.
std::vector<Element> elementsOf(ArrayRef<SmallVector<TypedAttr>> numbers) {
  std::vector<Element> elements = {{}};
  for (ArrayRef<TypedAttr> ofSource : numbers) {
    std::vector<Element> longer;
    for (const Element &element : elements)
      for (TypedAttr number : ofSource) {
        longer.push_back(element);
        longer.back().push_back(number);
      }
    elements = std::move(longer);
  }
  return elements;
}

// What `combine` makes of two elements, or nothing if that does not fold.
Element folded(Block &combine, const Element &left, const Element &right) {
  DenseMap<Value, TypedAttr> known;
  for (auto [i, argument] : llvm::enumerate(combine.getArguments()))
    known[argument] = i < left.size() ? left[i] : right[i - left.size()];
  for (Operation &op : combine.without_terminator()) {
    SmallVector<Attribute> operands;
    for (Value operand : op.getOperands()) {
      Attribute constant; // one that stands outside of the region
      operands.push_back(matchPattern(operand, m_Constant(&constant)) ? constant
                                                                      : known.lookup(operand));
    }
    SmallVector<OpFoldResult> results;
    if (failed(op.fold(operands, results)) || results.size() != 1)
      return {};
    auto value = dyn_cast<Attribute>(results.front());
    known[op.getResult(0)] =
        value ? cast<TypedAttr>(value) : known.lookup(cast<Value>(results.front()));
  }
  Element kept;
  for (Value value : combine.getTerminator()->getOperands())
    kept.push_back(known.lookup(value));
  return kept;
}

// An element that each one is kept in place of, of numbers that nothing lies beyond.
std::optional<Element> leastOf(Block &combine, ArrayRef<SmallVector<TypedAttr>> numbers) {
  SmallVector<SmallVector<TypedAttr>> beyond;
  for (ArrayRef<TypedAttr> ofSource : numbers)
    beyond.push_back(extremes(ofSource.front().getType()));
  for (const Element &least : elementsOf(beyond)) {
    SmallVector<SmallVector<TypedAttr>> others(numbers);
    for (auto [ofSource, number] : llvm::zip(others, least))
      ofSource.push_back(number); // where the rest decides
    if (llvm::all_of(elementsOf(others),
                     [&](const Element &other) { return folded(combine, least, other) == other; }))
      return least;
  }
  return {};
}

} // namespace

std::optional<Choice> choiceInAnyOrder(Block &combine) {
  constexpr unsigned mostSources = 2; // each one more makes nine times as many pairs
  unsigned sources = combine.getNumArguments() / 2;
  if (sources > mostSources || !onlyCompares(combine))
    return {};
  SmallVector<SmallVector<TypedAttr>> numbers;
  for (unsigned i = 0; i < sources; ++i)
    numbers.push_back(samples(combine.getArgument(i).getType()));
  if (llvm::any_of(numbers, [](ArrayRef<TypedAttr> ofSource) { return ofSource.empty(); }))
    return {};
  std::vector<Element> elements = elementsOf(numbers);
  std::set<unsigned> leftKept;
  for (unsigned i = 0; i < elements.size(); ++i)
    for (unsigned j = 0; j < i; ++j) {
      Element there = folded(combine, elements[i], elements[j]);
      Element back = folded(combine, elements[j], elements[i]);
      if (there.empty() || back.empty())
        return {};
      if (there == back)
        continue;
      if (there != elements[i] || back != elements[j])
        return {};
      leftKept.insert({i, j});
    }
  if (leftKept.empty()) {
    std::optional<Element> least = leastOf(combine, numbers);
    return least ? std::optional(Choice{*least, {}}) : std::nullopt;
  }
  // Those must be the ones with NaN at some place, and all others be kept in place of them.
  const Element &least = elements[*leftKept.begin()];
  unsigned place = llvm::find_if(least, isNan) - least.begin();
  if (place == sources)
    return {};
  for (unsigned i = 0; i < elements.size(); ++i)
    if (leftKept.count(i) != isNan(elements[i][place]) ||
        (!leftKept.count(i) && folded(combine, least, elements[i]) != elements[i]))
      return {};
  return Choice{least, place};
}

} // namespace nereid::analysis
