#include "gpu/BulkCopies.h"

#include "gpu/AssignLayouts.h"
#include "gpu/RegisterModels.h"
#include "gpu/SharedOperand.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <map>

using namespace mlir;

namespace nereid::gpu {

namespace {

constexpr int64_t mostRows = 256; // of a transfer

uint8_t swizzleOf(const SharedOperand &shared) {
  // CU_TENSOR_MAP_SWIZZLE_NONE, _32B, _64B, _128B
  return uint8_t(llvm::Log2_32(shared.rowBytes() / 16));
}

struct Transfer {
  int64_t row, column, offset;
};

// The transfers of a block, and their box (rows, elements of a row).
std::pair<int64_t, int64_t> boxOf(ArrayRef<int64_t> shape, unsigned elementBytes) {
  return {std::min(shape[0], mostRows), std::min<int64_t>(shape[1], 128 / elementBytes)};
}
SmallVector<Transfer> transfersOf(ArrayRef<int64_t> shape, unsigned elementBytes,
                                  const SharedOperand &shared) {
  auto [rows, columns] = boxOf(shape, elementBytes);
  SmallVector<Transfer> out;
  for (int64_t column = 0; column < shape[1]; column += columns)
    for (int64_t row = 0; row < shape[0]; row += rows)
      out.push_back({row, column, shared.plainOffset({int32_t(row), int32_t(column)})});
  return out;
}

TensorMap tensorMapOf(Value desc, const SharedOperand &shared) {
  auto type = cast<tile::DescType>(desc.getType());
  auto [rows, columns] =
      boxOf(type.getBlockShape(), unsigned(tile::bytesInMemory(type.getElementType())));
  return {cast<BlockArgument>(desc).getArgNumber(),
          {uint32_t(rows), uint32_t(columns)},
          swizzleOf(shared)};
}

// What a store's tile becomes in shared memory; its rows are contiguous there.
SharedOperand stagingOf(tile::DescStoreOp store) {
  return SharedOperand(cast<RankedTensorType>(store.getValue().getType()));
}

Value address32(RegisterEmitter &e, Value pointer, int64_t offset = 0) {
  OpBuilder &b = e.builder;
  Value address = b.create<LLVM::PtrToIntOp>(e.loc(), b.getI32Type(), pointer);
  return offset ? e.add(address, e.i32(offset)) : address;
}

Value barrierAddress(RegisterEmitter &e, Value arrivals, Value slot) {
  return address32(e, e.slotAddress(arrivals, slot, 8));
}

SmallVector<Value> coordinates(RegisterEmitter &e, ValueRange offsets, const Transfer &transfer) {
  // The hardware counts dimensions from the innermost one.
  return {e.add(e.scalar(offsets[1]), e.i32(transfer.column)),
          e.add(e.scalar(offsets[0]), e.i32(transfer.row))};
}

// True if threads of the kernel write global memory themselves; what they wrote is seen by the copy
// engine behind a fence that takes longer.
bool writesGlobal(Operation *op) {
  return op->getParentOfType<FunctionOpInterface>()
      ->walk([](Operation *op) {
        auto access = dyn_cast<tile::MemoryAccessOpInterface>(op);
        bool writes = isa<tile::InlineAsmOp>(op) ||
                      (access && !isa<tile::LoadOp, tile::DescLoadOp, tile::DescGatherOp>(op) &&
                       !op->hasAttr(bulkStoreAttr));
        return writes ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

struct ArrivalsRegisters : RegisterModel<ArrivalsRegisters, ArrivalsOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    Value arrivals = op->getResult(0);
    unsigned slots = cast<ArrivalsOp>(op).getArrivals().getType().getSlots();
    e.reserveRing(arrivals, SharedOperand::alignment);
    e.assembly(writesGlobal(op) ? "fence.proxy.async;" : "fence.proxy.async.shared::cta;",
               "~{memory}", {}, {}, false);
    Value base = barrierAddress(e, arrivals, {}), first = e.isFirstThread();
    for (unsigned i = 0; i < 2 * slots; ++i)
      e.assembly("@$1 mbarrier.init.shared::cta.b64 [$0], " +
                     std::to_string(i < slots ? 1 : e.warps) + ";",
                 "r,b,~{memory}", {}, {e.add(base, e.i32(8 * i)), first}, false);
    e.assembly("@$0 fence.mbarrier_init.release.cluster;", "b,~{memory}", {}, {first}, false);
    e.barrier();
  }
};

struct ExpectBulkRegisters : RegisterModel<ExpectBulkRegisters, ExpectBulkOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto expect = cast<ExpectBulkOp>(op);
    e.assembly("@$1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], " +
                   std::to_string(expect.getBytes()) + ";",
               "r,b,~{memory}", {},
               {barrierAddress(e, expect.getArrivals(), expect.getSlot()),
                e.both(e.scalar(expect.getActive()), e.isFirstThread())},
               false);
  }
};

struct CopyBulkRegisters : RegisterModel<CopyBulkRegisters, CopyBulkOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto copy = cast<CopyBulkOp>(op);
    RankedTensorType tile = copy.getRing().getType().getTile();
    SharedOperand shared(tile);
    Value base = e.slotAddress(copy.getRing(), copy.getSlot(), shared.bytes());
    Value arrival = barrierAddress(e, copy.getArrivals(), copy.getSlot());
    Value active = e.both(e.scalar(copy.getActive()), e.isFirstThread());
    unsigned elementBytes = unsigned(tile::bytesInMemory(tile.getElementType()));
    for (const Transfer &transfer : transfersOf(tile.getShape(), elementBytes, shared)) {
      SmallVector<Value> operands = {address32(e, base, transfer.offset),
                                     e.tensorMap(copy.getDesc())};
      operands.append(coordinates(e, copy.getOffsets(), transfer));
      operands.append({arrival, active});
      e.assembly("@$5 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[$0], [$1, {$2, $3}], [$4];",
                 "r,l,r,r,r,b,~{memory}", {}, operands, false);
    }
  }
};

struct FreeSlotRegisters : RegisterModel<FreeSlotRegisters, FreeSlotOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto free = cast<FreeSlotOp>(op);
    unsigned slots = free.getArrivals().getType().getSlots();
    Value barrier = e.add(barrierAddress(e, free.getArrivals(), free.getSlot()), e.i32(8 * slots));
    Value isFirstLane =
        e.builder.create<arith::CmpIOp>(e.loc(), arith::CmpIPredicate::eq, e.lane, e.i32(0));
    e.assembly("{ .reg .pred done; bar.warp.sync 0xffffffff; "
               "@$2 mbarrier.arrive.shared::cta.b64 _, [$0]; "
               "@!$3 bra past; "
               "again: mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1; @!done bra again; "
               "past: }",
               "r,r,b,b,~{memory}", {},
               {barrier, e.scalar(free.getPhase()), isFirstLane, e.isFirstThread()}, false);
  }
};

struct WaitBulkRegisters : RegisterModel<WaitBulkRegisters, WaitBulkOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto wait = cast<WaitBulkOp>(op);
    e.assembly("{ .reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1; "
               "@!done bra.uni again; }",
               "r,r,~{memory}", {},
               {barrierAddress(e, wait.getArrivals(), wait.getSlot()), e.scalar(wait.getPhase())},
               false);
  }
};

} // namespace

bool canCopyInBulk(Value desc, RankedTensorType tile, const target::GpuChip &chip) {
  auto argument = dyn_cast<BlockArgument>(desc);
  if (!chip.can(target::Tma) || !argument ||
      !isa<FunctionOpInterface>(argument.getOwner()->getParentOp()))
    return false;
  auto type = cast<tile::DescType>(desc.getType());
  if (tile.getRank() != 2 || type.getBlockShape() != tile.getShape() ||
      type.getElementType() != tile.getElementType() || tile.getElementType().isInteger(1))
    return false;
  SharedOperand shared(tile);
  auto elementBytes = int64_t(tile::bytesInMemory(tile.getElementType()));
  int64_t width = shared.rowBytes(), column = tile.getShape()[0] * width;
  // Rows of 16 bytes at least, and each transfer starts where the permutation does.
  return shared.majorDim() == 1 && tile.getShape()[1] * elementBytes >= 16 &&
         (tile.getShape()[1] * elementBytes == width ? column % 128 == 0
                                                     : column % SharedOperand::alignment == 0);
}

void chooseBulkStores(FunctionOpInterface kernel, const target::GpuChip &chip) {
  // What may tell other programs, or other threads of this one, that the data is there.
  bool mayTell = kernel
                     ->walk([](Operation *op) {
                       bool tells = isa<tile::BarrierOp, tile::InlineAsmOp>(op);
                       if (auto access = dyn_cast<tile::MemoryAccessOpInterface>(op))
                         tells |= !isa<tile::LoadOp, tile::StoreOp, tile::DescLoadOp,
                                       tile::DescStoreOp, tile::DescGatherOp>(op);
                       return tells ? WalkResult::interrupt() : WalkResult::advance();
                     })
                     .wasInterrupted();
  kernel->walk([&](tile::DescStoreOp store) {
    Value value = store.getValue();
    if (!isa<RankedTensorType>(value.getType()))
      return;
    if (auto convert = value.getDefiningOp<ConvertLayoutOp>())
      value = convert.getSource();
    for (Value candidate : {value, Value(store.getValue())}) {
      if (!canCopyInBulk(store.getDesc(), cast<RankedTensorType>(candidate.getType()), chip))
        continue;
      store.getValueMutable().assign(candidate);
      bool isRead = llvm::any_of(store.getDesc().getUsers(), [](Operation *user) {
        return isa<tile::DescLoadOp, tile::DescGatherOp>(user);
      });
      store->setAttr(bulkStoreAttr, BoolAttr::get(store.getContext(), mayTell || isRead));
      return;
    }
  });
}

std::vector<TensorMap> tensorMapsOf(FunctionOpInterface kernel) {
  std::map<unsigned, TensorMap> maps;
  auto add = [&](Value desc, const SharedOperand &shared) {
    TensorMap map = tensorMapOf(desc, shared);
    maps.try_emplace(map.argument, map);
  };
  kernel->walk([&](Operation *op) {
    if (auto copy = dyn_cast<CopyBulkOp>(op))
      add(copy.getDesc(), SharedOperand(copy.getRing().getType().getTile()));
    if (auto store = dyn_cast<tile::DescStoreOp>(op); store && store->hasAttr(bulkStoreAttr))
      add(store.getDesc(), stagingOf(store));
  });
  std::vector<TensorMap> out;
  for (auto &[argument, map] : maps)
    out.push_back(map);
  return out;
}

void emitBulkStore(tile::DescStoreOp store, RegisterEmitter &e) {
  auto tile = cast<RankedTensorType>(store.getValue().getType());
  SharedOperand shared = stagingOf(store);
  Value base = e.beginShared(shared.bytes());
  shared.write(e, base, layoutOf(tile), e.registers(store.getValue()));
  e.assembly("fence.proxy.async.shared::cta;", "~{memory}", {}, {}, false);
  e.barrier();
  Value first = e.isFirstThread();
  unsigned elementBytes = unsigned(tile::bytesInMemory(tile.getElementType()));
  for (const Transfer &transfer : transfersOf(tile.getShape(), elementBytes, shared)) {
    SmallVector<Value> operands = {address32(e, base, transfer.offset),
                                   e.tensorMap(store.getDesc())};
    operands.append(coordinates(e, store.getOffsets(), transfer));
    operands.push_back(first);
    e.assembly("@$4 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [$1, {$2, $3}], [$0];",
               "r,l,r,r,b,~{memory}", {}, operands, false);
  }
  // The barrier before the next use of shared memory waits for the thread that waits here.
  bool mustArrive = store->getAttrOfType<BoolAttr>(bulkStoreAttr).getValue();
  e.assembly("cp.async.bulk.commit_group;", "~{memory}", {}, {}, false);
  e.assembly(mustArrive ? "cp.async.bulk.wait_group 0; fence.proxy.async;"
                        : "cp.async.bulk.wait_group.read 0;",
             "~{memory}", {}, {}, false);
}

void registerBulkRegisters(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TileGpuDialect *) {
    ArrivalsOp::attachInterface<ArrivalsRegisters>(*context);
    ExpectBulkOp::attachInterface<ExpectBulkRegisters>(*context);
    CopyBulkOp::attachInterface<CopyBulkRegisters>(*context);
    FreeSlotOp::attachInterface<FreeSlotRegisters>(*context);
    WaitBulkOp::attachInterface<WaitBulkRegisters>(*context);
  });
}

} // namespace nereid::gpu
