// The part of `RegisterEmitter` that is about shared memory: scratch area, rings, tiles in rows;
// and the notes of what the code does to memory.
#include "gpu/RegisterEmitter.h"
#include "gpu/SharedOperand.h"
#include "gpu/StoreMatrices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace nereid::gpu {

Type memoryType(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8) : registerType(element);
}

// A program of one warp waits for its lanes, not for the barrier unit.
void RegisterEmitter::barrier() {
  Operation *made = warps == 1 ? builder.create<NVVM::SyncWarpOp>(location, i32(-1)).getOperation()
                               : builder.create<NVVM::Barrier0Op>(location).getOperation();
  order.clear();
  if (stepScratch && !stepScratch->uses.empty() && !stepScratch->uses.back().inner &&
      made->getBlock() == stepScratch->body)
    stepScratch->uses.back().inner = made;
  if (lastScratch && made->getBlock() == lastScratch->block)
    lastScratch->hasBarrier = true;
}

void RegisterEmitter::waitForStores() {
  if (mayStillBeRead)
    assembly("cp.async.bulk.wait_group.read 0;", "~{memory}", {}, {}, false);
}
void RegisterEmitter::sharedBarrier() {
  waitForStores();
  barrier();
}

bool RegisterEmitter::isBeforeShared(Block *block) const {
  if (sharedUses)
    return false;
  for (Operation *op = block->getParentOp(); op; op = op->getParentOp())
    if (isa<scf::ForOp, scf::WhileOp>(op))
      return false;
  return true;
}

// The area that the launch gives, from `offset` on.
static Value sharedArea(OpBuilder &b, Location loc, uint64_t offset) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext(), 3);
  Value base = b.create<LLVM::AddressOfOp>(loc, pointer, "nereid_shared");
  if (!offset)
    return base;
  return b.create<LLVM::GEPOp>(loc, pointer, b.getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{int32_t(offset)});
}

// No operand of a product is as small as that: what warps tell each other of a reduction.
static uint64_t scratchApart(uint64_t bytes) {
  return bytes < SharedOperand::alignment ? 128 : SharedOperand::alignment;
}

std::optional<uint64_t> RegisterEmitter::besideLast(uint64_t bytes) const {
  if (!lastScratch || lastScratch->block != builder.getInsertionBlock() ||
      lastScratch->number != sharedUses || !lastScratch->hasBarrier || mayStillBeRead)
    return std::nullopt;
  if (scratchStart + bytes <= lastScratch->begin)
    return scratchStart;
  uint64_t start = llvm::alignTo(std::max(lastScratch->end, scratchStart), scratchApart(bytes));
  if (start + bytes > std::max(sharedSize, scratchStart + smallScratch))
    return std::nullopt;
  return start;
}

// What `barrier` makes.
static bool isBarrier(Operation *op) { return isa<NVVM::Barrier0Op, NVVM::SyncWarpOp>(op); }

// True if all threads have just met: nothing behind that touches memory.
static bool haveMet(OpBuilder &b) {
  Block *block = b.getInsertionBlock();
  for (auto at = b.getInsertionPoint(); at != block->begin();) {
    Operation *op = &*--at;
    if (isBarrier(op))
      return true;
    if (op->getNumRegions() || !isMemoryEffectFree(op))
      return false;
  }
  return false;
}

Value RegisterEmitter::beginShared(uint64_t bytes) {
  Block *block = builder.getInsertionBlock();
  bool isOfStep = stepScratch && block == stepScratch->body;
  std::optional<uint64_t> beside = isOfStep ? std::nullopt : besideLast(bytes);
  bool isFirst = !isOfStep && isBeforeShared(block);
  countSharedUse();
  uint64_t start = beside.value_or(scratchStart);
  if (isOfStep) {
    uint64_t first = llvm::alignTo(stepScratch->end, scratchApart(bytes));
    stepScratch->isApart &= first + bytes <= stepScratch->most;
    if (stepScratch->isApart) {
      start = first;
      stepScratch->end = first + bytes;
    }
  } else if (stepScratch) {
    stepScratch->isApart = false;
  }
  if (start + bytes > sharedSize) {
    sharedSize = start + bytes;
    largest = ringsInUse;
    if (start > scratchStart)
      largest.push_back({location, start - scratchStart, false});
    largest.push_back({location, bytes, false});
  }
  // Products that run on still read what may lie there.
  if (stepScratch && !stepScratch->isApart &&
      llvm::any_of(stepScratch->uses, [](StepScratch::Use &use) { return use.isRead; })) {
    assembly("wgmma.wait_group.sync.aligned 0;", "~{memory}", {}, {}, false);
    productsDone();
  }
  size_t before = std::distance(block->begin(), builder.getInsertionPoint());
  if (!beside && !isFirst && (mayStillBeRead || !haveMet(builder)))
    sharedBarrier();
  lastScratch = ScratchUse{block, start, start + bytes, sharedUses};
  if (isOfStep) {
    StepScratch::Use &use = stepScratch->uses.emplace_back();
    for (auto at = std::next(block->begin(), long(before)); at != builder.getInsertionPoint(); ++at)
      use.before.push_back(&*at);
  }
  return sharedArea(builder, location, start);
}

void RegisterEmitter::readsScratch(bool runsOn, std::optional<unsigned> before) {
  if (!stepScratch || builder.getInsertionBlock() != stepScratch->body || stepScratch->uses.empty())
    return;
  StepScratch::Use &use = stepScratch->uses[before.value_or(stepScratch->uses.size() - 1)];
  use.isRead |= runsOn;
  use.done = &*std::prev(builder.getInsertionPoint());
}

void RegisterEmitter::productsDone() {
  if (!stepScratch || builder.getInsertionBlock() != stepScratch->body)
    return;
  for (StepScratch::Use &use : stepScratch->uses)
    if (std::exchange(use.isRead, false))
      use.done = &*std::prev(builder.getInsertionPoint());
}

std::optional<RegisterEmitter::WrittenOperand>
RegisterEmitter::writtenOperand(Value tile, unsigned major) const {
  // Where areas are not apart, something else may lie there by now.
  if (!stepScratch || !stepScratch->isApart || builder.getInsertionBlock() != stepScratch->body)
    return std::nullopt;
  for (const WrittenOperand &operand : stepScratch->written)
    if (operand.tile == tile && operand.major == major)
      return operand;
  return std::nullopt;
}

void RegisterEmitter::noteWritten(Value tile, unsigned major, Value base) {
  if (stepScratch && stepScratch->isApart && builder.getInsertionBlock() == stepScratch->body)
    stepScratch->written.push_back({tile, base, major, unsigned(stepScratch->uses.size() - 1)});
}

// True if all threads meet in a step before the op.
static bool isBehindBarrier(Operation *op) {
  for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode())
    if (isBarrier(before))
      return true;
  return false;
}

void RegisterEmitter::finishStepScratch(Operation *loop) {
  auto own = std::move(*std::exchange(stepScratch, std::nullopt));
  // The only one of a step, read to the end within it: where threads meet before it is written,
  // as they do to wait for copies, nobody still reads what the step before wrote.
  if (own.isApart && own.uses.size() == 1) {
    StepScratch::Use &use = own.uses[0];
    if (use.before.size() == 1 && use.inner && !use.isRead && isBehindBarrier(use.before[0]))
      use.before[0]->erase();
    return;
  }
  if (!own.isApart || own.uses.size() < 2 ||
      llvm::any_of(own.uses, [](StepScratch::Use &use) { return !use.inner || use.isRead; }))
    return;
  // What is read beyond the next barrier needs one of another behind that, or in the next step
  // before it is written.
  for (auto [i, use] : llvm::enumerate(own.uses))
    if (use.done && i == 0 && !use.done->isBeforeInBlock(own.uses.back().inner))
      return;
  OpBuilder::InsertionGuard guard(builder);
  for (StepScratch::Use &use : own.uses) {
    for (Operation *op : llvm::reverse(use.before)) // users before what they use
      op->erase();
    // What a store of the step before reads is written again behind the barrier.
    builder.setInsertionPoint(use.inner);
    waitForStores();
  }
  builder.setInsertionPoint(loop);
  sharedBarrier();
}

void RegisterEmitter::reserveRing(Value ring, uint64_t bytes) {
  rings[ring] = scratchStart;
  scratchStart += bytes;
  ringsInUse.push_back({location, bytes, true});
  if (scratchStart > sharedSize) {
    sharedSize = scratchStart;
    largest = ringsInUse;
  }
}

void RegisterEmitter::releaseRing(Value ring) {
  scratchStart = std::min(scratchStart, rings.lookup(ring));
  // Rings lie one behind the other: those from here on are free.
  uint64_t kept = 0, at = 0;
  while (kept < ringsInUse.size() && at < scratchStart)
    at += ringsInUse[kept++].bytes;
  ringsInUse.truncate(kept);
}

Value RegisterEmitter::slotAddress(Value ring, Value slot, uint64_t bytes) {
  Value base = sharedArea(builder, location, rings.lookup(ring));
  if (!slot)
    return base;
  Value offset = builder.createOrFold<arith::MulIOp>(location, scalar(slot), i32(int64_t(bytes)));
  return builder.create<LLVM::GEPOp>(location, base.getType(), builder.getI8Type(), base, offset);
}

Value RegisterEmitter::keptStart() { return keptStarts.emplace_back(i32(0)); }

Value RegisterEmitter::keptAddress(Value offset) {
  Value base = sharedArea(builder, location, 0);
  return builder.create<LLVM::GEPOp>(location, base.getType(), builder.getI8Type(), base,
                                     add(keptStart(), offset));
}

void RegisterEmitter::finishKept() {
  if (keptStarts.empty())
    return;
  constexpr uint64_t line = 128;
  sharedSize = llvm::alignTo(sharedSize, line);
  for (Value start : keptStarts)
    start.getDefiningOp<arith::ConstantOp>().setValueAttr(
        builder.getI32IntegerAttr(int32_t(sharedSize)));
}

Value RegisterEmitter::sharedAddress(Value base, Type element, Value index) {
  return builder.create<LLVM::GEPOp>(location, base.getType(), memoryType(element), base, index);
}

void RegisterEmitter::storeElement(Value address, Type element, Value value) {
  if (element.isInteger(1))
    value = builder.create<arith::ExtUIOp>(location, builder.getI8Type(), value);
  builder.create<LLVM::StoreOp>(location, value, address);
}

// The address is in a register: of a store in a branch that names the area itself `ptxas` (12.8)
// computes the address by uniform instructions within the branch, and then takes no number of the
// loops around it for uniform, so that each descriptor of a `wgmma` is moved there in each step.
void RegisterEmitter::storeElementWhen(Value condition, Value address, Type element, Value value) {
  if (!condition)
    return storeElement(address, element, value);
  unsigned bits = 8 * tile::bytesInMemory(element);
  if (isa<LLVM::LLVMPointerType>(value.getType()))
    value = cast(value, builder.getI64Type());
  value = cast(value, builder.getIntegerType(bitsOf(value.getType())));
  if (bits == 8)
    value = builder.create<arith::ExtUIOp>(location, builder.getI16Type(), value);
  Value at = builder.create<LLVM::PtrToIntOp>(location, builder.getI32Type(), address);
  assembly("@$0 st.shared.b" + std::to_string(bits) + " [$1], $2;",
           std::string("b,r,") +
               (bits == 64   ? 'l'
                : bits == 32 ? 'r'
                             : 'h') +
               ",~{memory}",
           {}, {condition, at, value}, false);
}

Value RegisterEmitter::loadElement(Value address, Type element) {
  Value value = builder.create<LLVM::LoadOp>(location, memoryType(element), address);
  if (!element.isInteger(1))
    return value;
  return builder.create<arith::CmpIOp>(location, arith::CmpIPredicate::ne, value,
                                       number(builder.getI8Type(), 0));
}

// Registers with adjacent elements move together, up to 16 bytes.
static unsigned sharedVector(Type element, ArrayRef<int64_t> shape, const LinearLayout &layout) {
  Type memory = memoryType(element);
  if (isa<LLVM::LLVMPointerType>(memory))
    return 1;
  unsigned bytes = tile::bytesInMemory(element);
  return std::min(consecutiveRegisters(layout, shape.size() - 1), std::max(1u, 16 / bytes));
}

void RegisterEmitter::writeShared(Value base, Type element, ArrayRef<int64_t> shape,
                                  const LinearLayout &layout, ArrayRef<Value> values) {
  unsigned vector = sharedVector(element, shape, layout),
           elementBytes = tile::bytesInMemory(element);
  auto matrixAddress = [&](const LinearLayout &rows, ArrayRef<int32_t> constant) {
    Value index = rowMajorIndex(rows, shape, 0);
    return sharedAddress(base, element, add(index, i32(rowMajor(constant, shape))));
  };
  if (elementBytes == 2 && shape.size() == 2 && shape.back() % 8 == 0 &&
      storeMatrices(
          *this, layout, 1, values,
          [&](ArrayRef<int32_t> at) { return rowMajor(at, shape) * elementBytes; }, matrixAddress))
    return;
  accesses.push_back(sharedFact("store", element, shape, layout));
  for (unsigned reg = 0; reg < values.size(); reg += vector) {
    Value address = sharedAddress(base, element, rowMajorIndex(layout, shape, reg));
    if (vector == 1) {
      storeElement(address, element, values[reg]);
      continue;
    }
    Type memory = memoryType(element);
    SmallVector<Value> packed(values.slice(reg, vector));
    if (element.isInteger(1))
      for (Value &value : packed)
        value = builder.create<arith::ExtUIOp>(location, memory, value);
    builder.create<LLVM::StoreOp>(location, vectorOf(packed), address,
                                  vector * tile::bytesInMemory(element));
  }
}

SmallVector<Value> RegisterEmitter::readShared(Value base, Type element, ArrayRef<int64_t> shape,
                                               const LinearLayout &layout) {
  unsigned vector = sharedVector(element, shape, layout);
  accesses.push_back(sharedFact("load", element, shape, layout));
  SmallVector<Value> values;
  for (unsigned reg = 0; reg < registersOf(layout); reg += vector) {
    Value address = sharedAddress(base, element, rowMajorIndex(layout, shape, reg));
    if (vector == 1) {
      values.push_back(loadElement(address, element));
      continue;
    }
    Type memory = memoryType(element);
    Value packed = builder.create<LLVM::LoadOp>(location, VectorType::get({vector}, memory),
                                                address, vector * tile::bytesInMemory(element));
    for (Value value : elementsOf(packed)) {
      if (element.isInteger(1))
        value = builder.create<arith::CmpIOp>(location, arith::CmpIPredicate::ne, value,
                                              number(memory, 0));
      values.push_back(value);
    }
  }
  return values;
}

// --- what the code does to memory ---

void RegisterEmitter::noteGlobal(const char *what, Value pointer, Type element, unsigned elements) {
  unsigned bytes = tile::bytesInMemory(element);
  if (!isa<RankedTensorType>(pointer.getType())) {
    accesses.push_back(scalarAccess(location, what, bytes));
  } else {
    LinearLayout layout = layoutOf(pointer.getType());
    accesses.push_back(globalAccess(location, what, layout, axes.facts(pointer), bytes, elements,
                                    registersOf(layout) / elements));
  }
  accesses.back().isAtEnd = isAtEnd;
}

void RegisterEmitter::noteDescriptor(const char *what, Type desc, const LinearLayout &layout,
                                     unsigned elements) {
  auto type = llvm::cast<tile::DescType>(desc);
  unsigned bytes = tile::bytesInMemory(type.getElementType());
  accesses.push_back(globalAccess(
      location, what, layout, descriptorFacts(type.getBlockShape().take_back(layout.rank()), bytes),
      bytes, elements, registersOf(layout) / elements));
}

void RegisterEmitter::noteShared(const char *what, const LinearLayout &layout,
                                 unsigned elementBytes, unsigned elements,
                                 llvm::function_ref<int64_t(ArrayRef<int32_t>)> offset) {
  accesses.push_back(sharedAccess(location, what, elementBytes * elements, elements,
                                  registersOf(layout) / elements,
                                  [&](unsigned lane) { return offset(layout.apply(0, lane, 0)); }));
}

AccessFact RegisterEmitter::sharedFact(const char *what, Type element, ArrayRef<int64_t> shape,
                                       const LinearLayout &layout) const {
  unsigned vector = sharedVector(element, shape, layout), bytes = tile::bytesInMemory(element);
  return sharedAccess(
      location, what, bytes * vector, vector, registersOf(layout) / vector,
      [&](unsigned lane) { return rowMajor(layout.apply(0, lane, 0), shape) * bytes; });
}

} // namespace nereid::gpu
