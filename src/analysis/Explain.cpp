#include "analysis/Explain.h"

#include "analysis/KernelFacts.h"
#include "ir/OpKinds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

using namespace mlir;

namespace nereid::analysis {

namespace {

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

// The integers of one program that follow from its launch, by folding ops on constants.
class ProgramValues {
public:
  ProgramValues(func::FuncOp kernel, const LaunchValues &launch, std::optional<uint64_t> program)
      : launch(&launch) {
    for (auto [argument, known] : llvm::zip(kernel.getArguments(), launch.arguments))
      if (auto integer = dyn_cast<IntegerType>(argument.getType()); integer && known)
        values[argument] = IntegerAttr::get(integer, APInt(integer.getWidth(), uint64_t(*known),
                                                           /*isSigned=*/true));
    if (!program)
      return;
    id = {uint32_t(*program % launch.grid[0]), uint32_t(*program / launch.grid[0] % launch.grid[1]),
          uint32_t(*program / launch.grid[0] / launch.grid[1])};
  }

  std::optional<int64_t> value(Value value) {
    auto attr = dyn_cast_or_null<IntegerAttr>(fold(value, 0));
    return attr ? attr.getValue().trySExtValue() : std::nullopt;
  }

  std::optional<int64_t> trips(Operation *op) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop)
      return std::nullopt;
    auto lower = value(loop.getLowerBound()), upper = value(loop.getUpperBound()),
         step = value(loop.getStep());
    if (!lower || !upper || !step || *step <= 0)
      return std::nullopt;
    // In 128 bits, where the difference of two i64 fits.
    __int128 distance = __int128(*upper) - *lower;
    return distance <= 0 ? 0 : int64_t((distance + *step - 1) / *step);
  }

private:
  Attribute fold(Value value, unsigned depth) {
    constexpr unsigned deepest = 200;
    auto [it, fresh] = values.try_emplace(value, Attribute());
    if (!fresh || depth > deepest)
      return it->second;
    Attribute result = compute(value, depth);
    return values[value] = result;
  }
  Attribute compute(Value value, unsigned depth) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getNumRegions() || !isa<IntegerType, IndexType>(value.getType()))
      return {};
    Type type = value.getType();
    auto known = [&](uint32_t number) -> Attribute {
      return id ? IntegerAttr::get(type, int64_t(number)) : Attribute();
    };
    if (auto program = dyn_cast<tile::ProgramIdOp>(op))
      return known(id ? (*id)[program.getAxis()] : 0);
    if (auto count = dyn_cast<tile::NumProgramsOp>(op))
      return known(launch->grid[count.getAxis()]);
    if (!isPure(op) || op->getNumResults() != 1)
      return {};
    SmallVector<Attribute> operands;
    for (Value operand : op->getOperands())
      operands.push_back(fold(operand, depth + 1));
    // Folding may change the op: a copy of it is folded.
    Operation *copy = op->clone();
    SmallVector<OpFoldResult> results;
    Attribute result;
    if (succeeded(copy->fold(operands, results)) && results.size() == 1) {
      if (auto attr = dyn_cast<Attribute>(results[0]))
        result = attr;
      else if (cast<Value>(results[0]) != copy->getResult(0))
        result = fold(cast<Value>(results[0]), depth + 1);
    }
    copy->erase();
    return result;
  }

  const LaunchValues *launch;
  std::optional<std::array<uint32_t, 3>> id;
  llvm::DenseMap<Value, Attribute> values;
};

class Explainer {
public:
  Explainer(func::FuncOp kernel, const LaunchValues &launch)
      : kernel(kernel), samples(samplePrograms(launch)) {}

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
    visit(kernel.getBody(), 0, std::vector<double>(samples.size(), 1.0));
    double read = 0, written = 0, operations = 0;
    for (auto &[key, line] : lines) {
      read += line.bytesRead;
      written += line.bytesWritten;
      operations += line.operations;
      if (line.ops.empty() && !line.value.empty())
        line.ops.push_back({"value", line.value, "", 0, 0, 0});
      if (!line.ops.empty())
        out.lines.push_back(std::move(line));
    }
    out.bytesRead = int64_t(std::llround(read));
    out.bytesWritten = int64_t(std::llround(written));
    out.operations = int64_t(std::llround(operations));
    std::string own = sourceLine(kernel.getLoc()).file;
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

  // How often something runs, one number a program of `samples`.
  using Times = std::vector<double>;

  void visit(Region &region, unsigned depth, const Times &times) {
    for (Block &block : region)
      for (Operation &op : block)
        visit(op, depth, times);
  }

  void visit(Operation &op, unsigned depth, const Times &times) {
    describe(op, depth, times);
    // The region of a reduction is part of the op, not lines of its own.
    if (tile::hasElementRegion(&op))
      return;
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      // Where nobody knows, both sides count.
      for (bool taken : {true, false}) {
        Times inner = times;
        for (size_t i = 0; i < samples.size(); ++i)
          if (auto condition = samples[i].value(branch.getCondition()))
            inner[i] *= (*condition != 0) == taken;
        visit(taken ? branch.getThenRegion() : branch.getElseRegion(), depth, inner);
      }
      return;
    }
    bool loop = isa<scf::ForOp, scf::WhileOp>(op);
    Times inner = times;
    if (loop)
      for (size_t i = 0; i < samples.size(); ++i) {
        auto trips = samples[i].trips(&op);
        out.hasLoops |= !trips && times[i] > 0;
        inner[i] *= double(trips.value_or(1));
      }
    for (Region &region : op.getRegions())
      visit(region, depth + loop, inner);
  }

  void describe(Operation &op, unsigned depth, const Times &each) {
    double times = std::accumulate(each.begin(), each.end(), 0.0) / double(each.size());
    SourceLine place = sourceLine(op.getLoc());
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
      Type operand = tile::elementType(dot.getLhs().getType());
      out.dotOperations[shortType(operand)] += times * double(item.operations);
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
      line.operations += times * double(countOf(op.getResult(0).getType()));
      return;
    } else {
      return;
    }
    line.bytesRead += times * double(item.bytesRead);
    line.bytesWritten += times * double(item.bytesWritten);
    line.operations += times * double(item.operations);
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

  // Some programs of the grid, evenly spread; one of which nothing is known without a grid.
  std::vector<ProgramValues> samplePrograms(const LaunchValues &launch) {
    std::vector<ProgramValues> out;
    uint64_t programs = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
    if (!programs)
      return {ProgramValues(kernel, launch, std::nullopt)};
    constexpr uint64_t most = 61; // prime: meets all remainders of extents that are powers of two
    for (uint64_t i = 0, count = std::min(programs, most); i < count; ++i)
      out.emplace_back(kernel, launch, programs * i / count);
    return out;
  }

  func::FuncOp kernel;
  std::vector<ProgramValues> samples;
  Explanation out;
  std::map<std::tuple<std::string, unsigned, std::string>, Line> lines;
};

} // namespace

Explanation explain(func::FuncOp kernel, const LaunchValues &launch) {
  return Explainer(kernel, launch).run();
}

// As the language spells it: MLIR's names of 8-bit floats are nobody's.
static std::string elementName(Type type) {
  if (isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8)
    return std::string(info(dtypeOf(type)).signature);
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

std::string shortType(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto desc = dyn_cast<tile::DescType>(type)) {
    os << "descriptor of " << elementName(desc.getElementType()) << "[";
    llvm::interleaveComma(desc.getBlockShape(), os);
    os << "]";
    return text;
  }
  Type element = tile::elementType(type);
  if (auto pointer = dyn_cast<tile::PtrType>(element))
    os << "*" << elementName(pointer.getPointee());
  else
    os << elementName(element);
  if (auto shape = tile::shapeOf(type); !shape.empty()) {
    os << "[";
    llvm::interleaveComma(shape, os);
    os << "]";
  }
  return text;
}

SourceLine sourceLine(Location location) {
  SourceLine place;
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    place = sourceLine(call.getCallee());
    SourceLine outer = sourceLine(call.getCaller());
    if (outer.line)
      place.calledFrom = outer.calledFrom.empty() ? outer.file + ":" + std::to_string(outer.line)
                                                  : outer.calledFrom;
    return place;
  }
  if (auto name = dyn_cast<NameLoc>(location))
    return sourceLine(name.getChildLoc());
  if (auto fused = dyn_cast<FusedLoc>(location))
    return fused.getLocations().empty() ? place : sourceLine(fused.getLocations().front());
  if (auto file = dyn_cast<FileLineColLoc>(location)) {
    place.file = file.getFilename().str();
    place.line = file.getLine();
  }
  return place;
}

} // namespace nereid::analysis
