#include "analysis/Explain.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <map>

using namespace mlir;

namespace nereid::analysis {

namespace {

struct Place {
  std::string file;
  unsigned line = 0;
  std::string calledFrom;
};

// The innermost file place of a location, and the outermost call that led there.
Place placeOf(Location location) {
  Place place;
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    place = placeOf(call.getCallee());
    Place outer = placeOf(call.getCaller());
    if (outer.line)
      place.calledFrom = outer.calledFrom.empty() ? outer.file + ":" + std::to_string(outer.line)
                                                  : outer.calledFrom;
    return place;
  }
  if (auto name = dyn_cast<NameLoc>(location))
    return placeOf(name.getChildLoc());
  if (auto fused = dyn_cast<FusedLoc>(location))
    return fused.getLocations().empty() ? place : placeOf(fused.getLocations().front());
  if (auto file = dyn_cast<FileLineColLoc>(location)) {
    place.file = file.getFilename().str();
    place.line = file.getLine();
  }
  return place;
}

int64_t countOf(Type type) {
  int64_t count = 1;
  for (int64_t extent : tile::shapeOf(type))
    count *= extent;
  return count;
}

std::string maskNote(Value mask, Value other) {
  if (!mask)
    return "every lane";
  return other ? "masked, `other` in masked lanes" : "masked";
}

const char *memoryName(Operation *op) {
  return TypeSwitch<Operation *, const char *>(op)
      .Case<tile::DescLoadOp>([](auto) { return "descriptor load"; })
      .Case<tile::DescStoreOp>([](auto) { return "descriptor store"; })
      .Case<tile::DescGatherOp>([](auto) { return "descriptor gather"; })
      .Case<tile::DescScatterOp>([](auto) { return "descriptor scatter"; })
      .Default([](Operation *o) {
        auto access = cast<tile::MemoryAccessOpInterface>(o);
        return access.isAtomicAccess() ? "atomic" : access.writesMemory() ? "store" : "load";
      });
}

// The tile that a memory op moves: its result if it has one, else the value it stores.
Type movedType(Operation *op) {
  if (op->getNumResults())
    return op->getResult(0).getType();
  for (Value operand : op->getOperands())
    if (tile::elementType(operand.getType()) ==
        cast<tile::MemoryAccessOpInterface>(op).getAccessElementType())
      return operand.getType();
  return op->getOperand(0).getType();
}

class Explainer {
public:
  explicit Explainer(func::FuncOp kernel) : kernel(kernel) {}

  Explanation run() {
    out.kernel = kernel.getName().str();
    for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
      auto name = kernel.getArgAttrOfType<StringAttr>(i, tile::argNameAttr);
      auto spelled = kernel.getArgAttrOfType<StringAttr>(i, tile::argDTypeAttr);
      std::string text = spelled ? spelled.str() : shortType(type);
      if (auto by = kernel.getArgAttrOfType<IntegerAttr>(i, tile::divisibilityAttr))
        text += ":" + std::to_string(by.getInt());
      out.parameters.emplace_back(name ? name.str() : "arg" + std::to_string(i), text);
    }
    visit(kernel.getBody(), 0, 1);
    for (auto &[key, line] : lines) {
      if (line.ops.empty() && !line.value.empty())
        line.ops.push_back({"value", line.value, "", 0, 0, 0});
      if (!line.ops.empty())
        out.lines.push_back(std::move(line));
    }
    std::string own = placeOf(kernel.getLoc()).file;
    std::stable_sort(out.lines.begin(), out.lines.end(),
                     [&](const ExplainedLine &a, const ExplainedLine &b) {
                       return std::make_tuple(a.file != own, a.file, a.line) <
                              std::make_tuple(b.file != own, b.file, b.line);
                     });
    return std::move(out);
  }

private:
  struct Line : ExplainedLine {
    std::string value; // type of the last value made on the line
  };

  void visit(Region &region, unsigned depth, int64_t times) {
    for (Block &block : region)
      for (Operation &op : block)
        visit(op, depth, times);
  }

  void visit(Operation &op, unsigned depth, int64_t times) {
    describe(op, depth, times);
    // The region of a reduction is part of the op, not lines of its own.
    if (isa<tile::ReduceOp, tile::ScanOp, tile::MapOp>(op))
      return;
    bool loop = isa<scf::ForOp, scf::WhileOp>(op);
    int64_t inner = times;
    if (loop) {
      auto trips = constantTripCount(&op);
      out.hasLoops |= !trips;
      inner = times * trips.value_or(1);
    }
    for (Region &region : op.getRegions())
      visit(region, depth + loop, inner);
  }

  void describe(Operation &op, unsigned depth, int64_t times) {
    Place place = placeOf(op.getLoc());
    if (!place.line || isa<func::ReturnOp, scf::YieldOp>(op))
      return;
    Line &line = lines[{place.file, place.line, place.calledFrom}];
    line.file = place.file;
    line.line = place.line;
    line.calledFrom = place.calledFrom;
    line.loopDepth = std::max(line.loopDepth, depth);
    for (Value result : op.getResults())
      out.largestTileBytes = std::max(out.largestTileBytes, bytesOf(result.getType()));
    if (op.getNumResults() && !op.hasTrait<OpTrait::ConstantLike>())
      line.value = shortType(op.getResult(0).getType());

    ExplainedOp item;
    if (auto access = dyn_cast<tile::MemoryAccessOpInterface>(op)) {
      Type moved = movedType(&op);
      int64_t bytes = countOf(moved) * tile::bytesInMemory(access.getAccessElementType());
      item.what = memoryName(&op);
      item.type = shortType(moved);
      auto load = dyn_cast<tile::LoadOp>(op);
      item.note = isa<tile::DescType>(access.getAccessed().getType())
                      ? "bounds checked"
                      : maskNote(access.getAccessMask(), load ? load.getOther() : Value());
      item.bytesRead = access.readsMemory() ? bytes : 0;
      item.bytesWritten = access.writesMemory() ? bytes : 0;
    } else if (auto dot = dyn_cast<tile::DotOp>(op)) {
      int64_t k = tile::shapeOf(dot.getLhs().getType()).back();
      item.what = "dot";
      item.type = shortType(dot.getLhs().getType()) + " x " + shortType(dot.getRhs().getType()) +
                  " -> " + shortType(dot.getType());
      item.operations = 2 * k * countOf(dot.getType());
    } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      item.what = "reduce";
      item.type = shortType(reduce.getSources()[0].getType()) + " -> " +
                  shortType(reduce.getResult(0).getType());
      item.note = "along axis " + std::to_string(reduce.getAxis());
      item.operations =
          countOf(reduce.getSources()[0].getType()) * combineCost(reduce.getCombine());
    } else if (auto scan = dyn_cast<tile::ScanOp>(op)) {
      item.what = "scan";
      item.type = shortType(scan.getResult(0).getType());
      item.note = "along axis " + std::to_string(scan.getAxis());
      item.operations = countOf(scan.getResult(0).getType()) * combineCost(scan.getCombine());
    } else if (op.hasTrait<OpTrait::Elementwise>() && op.getNumResults() == 1 &&
               !isAddressOrMask(op)) {
      out.operations += times * countOf(op.getResult(0).getType());
      return;
    } else {
      return;
    }
    out.bytesRead += times * item.bytesRead;
    out.bytesWritten += times * item.bytesWritten;
    out.operations += times * item.operations;
    line.ops.push_back(std::move(item));
  }

  static int64_t bytesOf(Type type) {
    if (!isa<RankedTensorType>(type))
      return 0;
    return countOf(type) * tile::bytesInMemory(tile::elementType(type));
  }
  static int64_t combineCost(Region &region) {
    return std::max<int64_t>(1, llvm::count_if(region.front(), [](Operation &op) {
                               return !op.hasTrait<OpTrait::IsTerminator>() &&
                                      !op.hasTrait<OpTrait::ConstantLike>();
                             }));
  }
  // Work on addresses and masks is overhead, not what a roofline counts.
  static bool isAddressOrMask(Operation &op) {
    Type element = tile::elementType(op.getResult(0).getType());
    return isa<tile::PtrType>(element) || element.isInteger();
  }

  func::FuncOp kernel;
  Explanation out;
  std::map<std::tuple<std::string, unsigned, std::string>, Line> lines;
};

} // namespace

Explanation explain(func::FuncOp kernel) { return Explainer(kernel).run(); }

std::string shortType(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto desc = dyn_cast<tile::DescType>(type)) {
    os << "descriptor of " << desc.getElementType() << "[";
    llvm::interleaveComma(desc.getBlockShape(), os);
    os << "]";
    return text;
  }
  Type element = tile::elementType(type);
  if (auto pointer = dyn_cast<tile::PtrType>(element))
    os << "*" << pointer.getPointee();
  else
    os << element;
  if (auto shape = tile::shapeOf(type); !shape.empty()) {
    os << "[";
    llvm::interleaveComma(shape, os);
    os << "]";
  }
  return text;
}

std::optional<int64_t> constantTripCount(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  APInt lower, upper, step;
  if (!loop || !matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) ||
      !matchPattern(loop.getStep(), m_ConstantInt(&step)) || !step.isStrictlyPositive())
    return std::nullopt;
  // In 128 bits, where the difference of two i64 fits.
  APInt distance = upper.sext(128) - lower.sext(128);
  if (!distance.isStrictlyPositive())
    return 0;
  APInt trips = (distance + step.sext(128) - 1).sdiv(step.sext(128));
  return trips.trySExtValue();
}

} // namespace nereid::analysis
