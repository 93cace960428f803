#include "analysis/KernelFacts.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

#include "support/LaunchAbi.h"
#include "llvm/ADT/SetVector.h"

#include <numeric>

using namespace mlir;

namespace nereid::analysis {

namespace {

// The data type of a value whose signature text is missing.
DType typeOf(Type type) {
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
  slot.type = isa<tile::PtrType>(scalar) ? DType::UInt64 : typeOf(scalar);
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
  auto isAddress = [](Value value) {
    return isa<tile::PtrType, tile::DescType>(tile::elementType(value.getType()));
  };
  if (auto result = dyn_cast<OpResult>(value)) {
    Operation *op = result.getOwner();
    for (Value operand : op->getOperands())
      if (isAddress(operand))
        out.push_back(operand);
    // Results of loops and branches come out of their ends.
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (block.mightHaveTerminator())
          for (Value operand : block.getTerminator()->getOperands())
            if (isAddress(operand))
              out.push_back(operand);
    return;
  }
  auto argument = cast<BlockArgument>(value);
  Operation *parent = argument.getOwner()->getParentOp();
  if (isa<FunctionOpInterface>(parent))
    return;
  for (Value operand : parent->getOperands())
    if (isAddress(operand))
      out.push_back(operand);
  for (Region &region : parent->getRegions())
    for (Block &block : region)
      if (block.mightHaveTerminator())
        for (Value operand : block.getTerminator()->getOperands())
          if (isAddress(operand))
            out.push_back(operand);
}

// Calls `visit` for each value that the address of an access may have been computed from.
void walkSources(tile::MemoryAccessOpInterface access, function_ref<void(Value)> visit) {
  SmallVector<Value> work = {access.getAccessed()};
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

} // namespace

BlockArgument argumentOf(tile::MemoryAccessOpInterface access) {
  llvm::SmallSetVector<BlockArgument, 2> arguments;
  bool isKnown = true;
  walkSources(access, [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (isOfFunction(argument))
        arguments.insert(argument);
      return;
    }
    SmallVector<Value> sources;
    addSources(value, sources);
    isKnown &= !sources.empty() && !isa<tile::MemoryAccessOpInterface>(value.getDefiningOp());
  });
  return isKnown && arguments.size() == 1 ? arguments.front() : BlockArgument();
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

bool hasInlineAssembly(Operation *op) {
  return op->walk([](tile::InlineAsmOp) { return WalkResult::interrupt(); }).wasInterrupted();
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
    uint8_t flags = (access.readsMemory() ? support::AccessRead : 0) |
                    (access.writesMemory() ? support::AccessWrite : 0) |
                    (access.isAtomicAccess() ? support::AccessAtomic : 0);
    walkSources(access, [&](Value value) {
      if (auto argument = dyn_cast<BlockArgument>(value); argument && isOfFunction(argument))
        facts.slots[argument.getArgNumber()].access |= flags;
    });
  });
  return facts;
}

} // namespace nereid::analysis
