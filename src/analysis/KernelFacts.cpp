#include "analysis/KernelFacts.h"

#include "ir/OpKinds.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

#include "support/LaunchAbi.h"
#include "llvm/ADT/SetVector.h"

#include <numeric>

using namespace mlir;

namespace nereid::analysis {

DType dtypeOf(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    switch (integer.getWidth()) {
    case 1:
      return DType::Int1;
    case 8:
      return DType::Int8;
    case 16:
      return DType::Int16;
    case 64:
      return DType::Int64;
    default:
      return DType::Int32;
    }
  if (type.isF16())
    return DType::Float16;
  if (type.isBF16())
    return DType::BFloat16;
  if (type.isF64())
    return DType::Float64;
  if (isa<Float8E4M3FNType>(type))
    return DType::Float8E4NV;
  if (isa<Float8E5M2Type>(type))
    return DType::Float8E5;
  if (isa<Float8E4M3FNUZType>(type))
    return DType::Float8E4B8;
  if (isa<Float8E5M2FNUZType>(type))
    return DType::Float8E5B16;
  if (isa<Float8E4M3B11FNUZType>(type))
    return DType::Float8E4B15;
  return DType::Float32;
}

namespace {

ArgumentSlot slotOf(FunctionOpInterface kernel, unsigned argument) {
  ArgumentSlot slot;
  Type type = kernel.getArgument(argument).getType();
  if (auto name = kernel.getArgAttrOfType<StringAttr>(argument, tile::argNameAttr))
    slot.name = name.str();
  else
    slot.name = "arg" + std::to_string(argument);
  if (auto divisibility = kernel.getArgAttrOfType<IntegerAttr>(argument, tile::divisibilityAttr))
    slot.divisibility = uint32_t(std::max<int64_t>(1, divisibility.getInt()));

  Type scalar = type;
  if (auto pointer = dyn_cast<tile::PtrType>(type)) {
    slot.kind = support::SlotKind::Pointer;
    scalar = pointer.getPointee();
    slot.width = slot.alignment = 8;
  } else if (auto desc = dyn_cast<tile::DescType>(type)) {
    slot.kind = support::SlotKind::Descriptor;
    scalar = desc.getElementType();
    slot.width = 8 + 16 * desc.getBlockShape().size();
    slot.alignment = 8;
  } else {
    slot.kind = isa<FloatType>(type) ? support::SlotKind::Float : support::SlotKind::Int;
    slot.width = slot.alignment = tile::bytesInMemory(type);
  }
  slot.type = isa<tile::PtrType>(scalar) ? DType::UInt64 : dtypeOf(scalar);
  if (auto text = kernel.getArgAttrOfType<StringAttr>(argument, tile::argDTypeAttr)) {
    // "*u32", "u32", or "tensordesc<u32[8, 16]>".
    StringRef spelled = text.getValue();
    spelled.consume_front("*");
    if (spelled.consume_front("tensordesc<"))
      spelled = spelled.take_until([](char c) { return c == '['; });
    if (auto parsed = parseDType(std::string_view(spelled.data(), spelled.size())))
      slot.type = *parsed;
  }
  return slot;
}

// The values that a pointer or descriptor may have been computed from.
void addSources(Value value, SmallVectorImpl<Value> &out) {
  auto add = [&](ValueRange values) {
    for (Value from : values)
      if (isa<tile::PtrType, tile::DescType>(tile::elementType(from.getType())))
        out.push_back(from);
  };
  auto result = dyn_cast<OpResult>(value);
  Operation *op = result ? result.getOwner() : cast<BlockArgument>(value).getOwner()->getParentOp();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    unsigned i = result ? result.getResultNumber()
                        : cast<BlockArgument>(value).getArgNumber() - loop.getNumInductionVars();
    return add({loop.getInitArgs()[i], loop.getYieldedValues()[i]});
  }
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return add({branch.thenYield().getOperand(result.getResultNumber()),
                branch.elseYield().getOperand(result.getResultNumber())});
  if (isa<FunctionOpInterface>(op))
    return;
  // Of other ops with regions any.
  add(op->getOperands());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (block.mightHaveTerminator())
        add(block.getTerminator()->getOperands());
}

// Calls `visit` for each value that an address may have been computed from.
void walkSources(Value address, function_ref<void(Value)> visit) {
  SmallVector<Value> work = {address};
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    visit(value);
    addSources(value, work);
  }
}

bool isOfFunction(BlockArgument argument) {
  return isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
}

// Which axes of the grid a value depends on, as far as the place of a program decides where it
// reads: a branch taken, or how far a loop goes, only decides whether.
class GridAxes {
public:
  explicit GridAxes(FunctionOpInterface kernel) {
    // Loops hand values back to their beginning.
    do {
      changed = false;
      kernel->walk<WalkOrder::PreOrder>([&](Operation *op) { visit(op); });
    } while (changed);
  }
  uint8_t of(Value value) const { return known.lookup(value); }

private:
  void visit(Operation *op) {
    if (auto id = dyn_cast<tile::ProgramIdOp>(op))
      return join(op->getResult(0), uint8_t(1) << id.getAxis());
    if (auto loop = dyn_cast<scf::ForOp>(op))
      join(loop.getInductionVar(), of(loop.getLowerBound()));
    if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
      for (auto [argument, first] : llvm::zip(loop.getRegionIterArgs(), loop.getInits()))
        join(argument, of(first));
    } else if (op->hasTrait<OpTrait::IsTerminator>()) {
      return leave(op);
    }
    if (isa<scf::ForOp>(op))
      for (auto [result, first] : llvm::zip(op->getResults(), cast<scf::ForOp>(op).getInits()))
        join(result, of(first));
    if (op->getNumRegions() == 0 || !isa<scf::SCFDialect>(op->getDialect())) {
      uint8_t axes = 0;
      for (Value operand : op->getOperands())
        axes |= of(operand);
      for (Value result : op->getResults())
        join(result, axes);
    }
  }

  // The values that the end of a region hands on.
  void leave(Operation *end) {
    Operation *parent = end->getParentOp();
    auto hand = [&](ValueRange from, ValueRange to) {
      for (auto [value, target] : llvm::zip(from, to))
        join(target, of(value));
    };
    if (auto condition = dyn_cast<scf::ConditionOp>(end)) {
      auto loop = cast<scf::WhileOp>(parent);
      hand(condition.getArgs(), loop.getAfterArguments());
      hand(condition.getArgs(), loop.getResults());
    } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
      hand(end->getOperands(), loop.getBeforeArguments());
    } else if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      hand(end->getOperands(), loop.getRegionIterArgs());
      hand(end->getOperands(), loop.getResults());
    } else if (isa<scf::IfOp>(parent)) {
      hand(end->getOperands(), parent->getResults());
    }
  }

  void join(Value value, uint8_t axes) {
    uint8_t &mine = known[value];
    changed |= (mine | axes) != mine;
    mine |= axes;
  }

  DenseMap<Value, uint8_t> known;
  bool changed = false;
};

uint8_t sharedAxesOf(FunctionOpInterface kernel, unsigned rank) {
  if (rank < 2)
    return 0;
  bool multiplies =
      kernel->walk([](tile::DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
  GridAxes axes(kernel);
  struct Read {
    uint64_t bytes;
    uint8_t axes;
  };
  SmallVector<Read> reads;
  // An index that is loaded and added as it is falls somewhere in a row, whose lines all programs
  // share that have the row.
  bool isIndexed = false;
  std::function<uint8_t(Value)> ofRow = [&](Value value) -> uint8_t {
    Operation *op = value.getDefiningOp();
    if (isa_and_present<tile::LoadOp>(op) && isa<IntegerType>(tile::elementType(value.getType()))) {
      isIndexed = true;
      return 0;
    }
    if (!isa_and_present<tile::AddPtrOp, arith::AddIOp, arith::ExtSIOp, arith::ExtUIOp,
                         arith::SelectOp, tile::BroadcastOp, tile::ExpandDimsOp, tile::HintOp,
                         tile::SplatOp>(op))
      return axes.of(value);
    uint8_t all = 0;
    for (Value operand : op->getOperands().drop_front(isa<arith::SelectOp>(op)))
      all |= ofRow(operand);
    return all;
  };
  kernel->walk([&](tile::MemoryAccessOpInterface access) {
    if (!access.readsMemory() || access.isAtomicAccess() || access->getNumResults() != 1)
      return;
    auto tile = dyn_cast<RankedTensorType>(access->getResult(0).getType());
    if (!tile)
      return;
    uint8_t places = axes.of(access.getAccessed());
    isIndexed = false;
    uint8_t row = ofRow(access.getAccessed());
    if (isIndexed)
      places = row;
    else if (!access->getParentOfType<LoopLikeOpInterface>() && !(multiplies && tile.getRank() > 1))
      return;
    if (!isa<tile::LoadOp>(access)) // a descriptor, and where in it
      for (Value operand : access->getOperands())
        places |= axes.of(operand);
    reads.push_back(
        {uint64_t(tile.getNumElements()) * tile::bytesInMemory(access.getAccessElementType()),
         places});
  });
  uint64_t most = 0;
  for (const Read &read : reads)
    most = std::max(most, read.bytes);
  uint8_t shared = 0;
  for (const Read &read : reads)
    if (4 * read.bytes >= most)
      shared |= ~read.axes;
  return shared & ((1u << rank) - 1);
}

} // namespace

BlockArgument argumentOf(tile::MemoryAccessOpInterface access) {
  return argumentOf(access.getAccessed());
}

std::optional<SmallVector<BlockArgument, 2>> argumentsOf(Value address) {
  SmallVector<BlockArgument, 2> arguments;
  bool isKnown = true;
  walkSources(address, [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (isOfFunction(argument))
        arguments.push_back(argument);
      return;
    }
    SmallVector<Value> sources;
    addSources(value, sources);
    isKnown &= !sources.empty() && !isa<tile::MemoryAccessOpInterface>(value.getDefiningOp());
  });
  return isKnown ? std::optional(arguments) : std::nullopt;
}

BlockArgument argumentOf(Value address) {
  auto arguments = argumentsOf(address);
  return arguments && arguments->size() == 1 ? arguments->front() : BlockArgument();
}

FunctionOpInterface findKernel(ModuleOp module) {
  FunctionOpInterface found;
  for (auto function : module.getOps<FunctionOpInterface>())
    if (function->hasAttr(tile::kernelAttr)) {
      if (found)
        return {};
      found = function;
    }
  return found;
}

bool hasForeignCode(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return tile::isForeignCode(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool waitsForGrid(Operation *op) {
  return op
      ->walk([](Operation *one) {
        auto dependency = dyn_cast<tile::GridDependencyOp>(one);
        auto assembly = dyn_cast<tile::InlineAsmOp>(one);
        bool waits = (dependency && dependency.getWait()) ||
                     (assembly && assembly.getText().contains("griddepcontrol.wait"));
        return waits ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool waitsForOthers(Operation *loop) {
  if (!isa<scf::WhileOp>(loop))
    return false;
  return loop
      ->walk([](Operation *op) {
        auto access = dyn_cast<tile::MemoryAccessOpInterface>(op);
        auto load = dyn_cast<tile::LoadOp>(op);
        // What gives nothing that is used cannot end a loop.
        bool waits = access && !op->use_empty() && access.readsMemory() &&
                     (access.isAtomicAccess() || (load && load.getIsVolatile()));
        return waits ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

KernelFacts kernelFacts(FunctionOpInterface kernel) {
  KernelFacts facts;
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
    ArgumentSlot slot = slotOf(kernel, i);
    slot.offset = support::placeSlot(facts.packedBytes, slot.alignment);
    facts.packedBytes = slot.offset + slot.width;
    facts.slots.push_back(std::move(slot));
  }
  kernel->walk([&](Operation *op) {
    if (auto id = dyn_cast<tile::ProgramIdOp>(op))
      facts.gridRank = std::max(facts.gridRank, id.getAxis() + 1);
    if (auto count = dyn_cast<tile::NumProgramsOp>(op))
      facts.gridRank = std::max(facts.gridRank, count.getAxis() + 1);
    facts.mayWait |= waitsForOthers(op);
    auto access = dyn_cast<tile::MemoryAccessOpInterface>(op);
    if (!access)
      return;
    facts.isAtomic |= access.isAtomicAccess();
    uint8_t flags = (access.readsMemory() ? support::AccessRead : 0) |
                    (access.writesMemory() ? support::AccessWrite : 0) |
                    (access.isAtomicAccess() ? support::AccessAtomic : 0);
    walkSources(access.getAccessed(), [&](Value value) {
      if (auto argument = dyn_cast<BlockArgument>(value); argument && isOfFunction(argument))
        facts.slots[argument.getArgNumber()].access |= flags;
    });
  });
  facts.sharedAxes = sharedAxesOf(kernel, facts.gridRank);
  return facts;
}

} // namespace nereid::analysis
