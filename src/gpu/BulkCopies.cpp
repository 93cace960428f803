#include "gpu/BulkCopies.h"

#include "gpu/RegisterModels.h"
#include "gpu/SharedOperand.h"
#include "ir/OpKinds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "support/LaunchAbi.h"

#include "llvm/ADT/SetVector.h"

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

// The matrix that a block is behind first dimensions of extent 1; of others the copy engine moves
// none.
ArrayRef<int64_t> matrixOf(tile::DescType type) { return type.getBlockShape().take_back(2); }

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

unsigned elementBytesOf(tile::DescType type) {
  return unsigned(tile::bytesInMemory(type.getElementType()));
}

// What a descriptor's block is in shared memory: the same for all who copy it.
SharedOperand sharedBlock(tile::DescType type) {
  return SharedOperand(matrixOf(type), 1, elementBytesOf(type));
}

// A parameter of the kernel, or made in it where the rules of the copy engine are not known to be
// broken: strides are multiples of 16 bytes.
bool mayHaveTensorMap(Value desc, const target::GpuChip &chip) {
  if (!chip.can(target::Tma))
    return false;
  if (auto argument = dyn_cast<BlockArgument>(desc))
    return isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
  auto make = desc.getDefiningOp<tile::MakeDescOp>();
  if (!make || !chip.can(target::ReplaceInMap))
    return false;
  return llvm::all_of(make.getStrides().drop_back(), [&](Value stride) {
    APInt value;
    unsigned bytes = elementBytesOf(make.getType());
    return !matchPattern(stride, m_ConstantInt(&value)) ||
           (value.isStrictlyPositive() && value.getSExtValue() * bytes % 16 == 0);
  });
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
  SmallVector<Value> out(llvm::map_range(offsets, [&](Value offset) { return e.scalar(offset); }));
  // The hardware counts dimensions from the innermost one.
  std::reverse(out.begin(), out.end());
  out[0] = e.add(out[0], e.i32(transfer.column));
  out[1] = e.add(out[1], e.i32(transfer.row));
  return out;
}

// "$n, $n+1, ..." and the constraints of so many coordinates.
std::string namesOf(unsigned first, unsigned count) {
  std::string names;
  for (unsigned i = first; i < first + count; ++i)
    names += (i == first ? "$" : ", $") + std::to_string(i);
  return names;
}
std::string constraintsOf(unsigned count) {
  std::string constraints;
  for (unsigned i = 0; i < count; ++i)
    constraints += "r,";
  return constraints;
}

// True if threads of the kernel may write global memory themselves before `op`; what they wrote is
// seen by the copy engine behind a fence that takes longer.
bool writesGlobalBefore(Operation *op) {
  auto isBehind = [&](Operation *other) {
    Operation *place = nullptr; // the op around `op` in a block that `other` is in too
    for (Operation *around = op; around; around = around->getParentOp()) {
      // A later step is before.
      if (isa<scf::ForOp, scf::WhileOp>(around) && around->isAncestor(other))
        return false;
      if (!place && around->getBlock() && around->getBlock()->findAncestorOpInBlock(*other))
        place = around;
    }
    return place && place->isBeforeInBlock(place->getBlock()->findAncestorOpInBlock(*other));
  };
  return op->getParentOfType<FunctionOpInterface>()
      ->walk([&](Operation *other) {
        auto access = dyn_cast<tile::MemoryAccessOpInterface>(other);
        bool writes = tile::isForeignCode(other) ||
                      (access && !isa<tile::LoadOp, tile::DescLoadOp, tile::DescGatherOp>(other) &&
                       !other->hasAttr(bulkStoreAttr));
        return writes && !isBehind(other) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

void noteBulk(RegisterEmitter &e, const char *what, tile::DescType type, size_t count) {
  unsigned elementBytes = elementBytesOf(type);
  auto [rows, columns] = boxOf(matrixOf(type), elementBytes);
  e.accesses.push_back(bulkAccess(e.loc(), what, unsigned(rows), unsigned(columns) * elementBytes,
                                  elementBytes, unsigned(count)));
}

struct ArrivalsRegisters : RegisterModel<ArrivalsRegisters, ArrivalsOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    Value arrivals = op->getResult(0);
    unsigned slots = cast<ArrivalsOp>(op).getArrivals().getType().getSlots();
    // What lies behind is aligned again.
    bool isFirst = isa_and_present<ArrivalsOp>(op->getNextNode()),
         isSecond = isa_and_present<ArrivalsOp>(op->getPrevNode());
    constexpr unsigned half = SharedOperand::alignment / 2;
    e.reserveRing(arrivals, isFirst || isSecond ? half : SharedOperand::alignment);
    if (writesGlobalBefore(op))
      e.assembly("fence.proxy.async;", "~{memory}", {}, {}, false);
    else if (!e.isBeforeShared(op->getBlock()))
      e.assembly("fence.proxy.async.shared::cta;", "~{memory}", {}, {}, false);
    std::string text;
    for (unsigned i = 0; i < 2 * slots; ++i)
      text += "mbarrier.init.shared::cta.b64 [$0+" + std::to_string(8 * i) + "], " +
              std::to_string(i < slots ? 1 : e.warps) + "; ";
    Value base = barrierAddress(e, arrivals, {});
    e.when(e.isFirstThread(), [&] {
      e.assembly(text + "fence.mbarrier_init.release.cluster;", "r,~{memory}", {}, base, false);
    });
    // One barrier for those that are made together.
    Operation *next = op->getNextNode();
    while (isa_and_present<RingOp, arith::ConstantOp>(next))
      next = next->getNextNode();
    if (!isa_and_present<ArrivalsOp>(next))
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
                e.both(e.scalar(expect.getActive()), e.isCopyingThread())},
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
    Value active = e.both(e.scalar(copy.getActive()), e.isCopyingThread());
    auto type = cast<tile::DescType>(copy.getDesc().getType());
    SmallVector<Transfer> transfers = transfersOf(tile.getShape(), elementBytesOf(type), shared);
    noteBulk(e, "bulk load", type, transfers.size());
    for (const Transfer &transfer : transfers) {
      SmallVector<Value> operands = {address32(e, base, transfer.offset),
                                     e.tensorMap(copy.getDesc())};
      operands.append(coordinates(e, copy.getOffsets(), transfer));
      operands.append({arrival, active});
      unsigned rank = type.getBlockShape().size();
      e.assembly("@$" + std::to_string(3 + rank) + " cp.async.bulk.tensor." + std::to_string(rank) +
                     "d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {" +
                     namesOf(2, rank) + "}], [$" + std::to_string(2 + rank) + "];",
                 "r,l," + constraintsOf(rank) + "r,b,~{memory}", {}, operands, false);
    }
  }
};

// The mbarriers of freed slots lie behind those that count bytes.
Value freedAddress(RegisterEmitter &e, TypedValue<ArrivalsType> arrivals, Value slot) {
  return e.add(barrierAddress(e, arrivals, slot), e.i32(8 * arrivals.getType().getSlots()));
}

struct FreeSlotRegisters : RegisterModel<FreeSlotRegisters, FreeSlotOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto free = cast<FreeSlotOp>(op);
    Value isFirstLane =
        e.builder.create<arith::CmpIOp>(e.loc(), arith::CmpIPredicate::eq, e.lane, e.i32(0));
    std::string wait;
    if (std::optional<uint32_t> pending = free.getPending())
      wait = "wgmma.wait_group.sync.aligned " + std::to_string(*pending) + "; ";
    e.assembly(wait + "bar.warp.sync 0xffffffff; @$1 mbarrier.arrive.shared::cta.b64 _, [$0];",
               "r,b,~{memory}", {},
               {freedAddress(e, free.getArrivals(), free.getSlot()), isFirstLane}, false);
  }
};

void waitFor(RegisterEmitter &e, Value barrier, Value phase) {
  e.assembly("{ .reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1; "
             "@!done bra.uni again; }",
             "r,r,~{memory}", {}, {barrier, e.scalar(phase)}, false);
}

struct AcquireSlotRegisters : RegisterModel<AcquireSlotRegisters, AcquireSlotOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto acquire = cast<AcquireSlotOp>(op);
    waitFor(e, freedAddress(e, acquire.getArrivals(), acquire.getSlot()), acquire.getPhase());
  }
};

struct IsCopyingWarpRegisters : RegisterModel<IsCopyingWarpRegisters, IsCopyingWarpOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    e.setScalar(op->getResult(0),
                e.builder.create<arith::CmpIOp>(e.loc(), arith::CmpIPredicate::eq, e.uniformWarp,
                                                e.i32(e.copyingWarp())));
  }
};

struct WaitBulkRegisters : RegisterModel<WaitBulkRegisters, WaitBulkOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto wait = cast<WaitBulkOp>(op);
    waitFor(e, barrierAddress(e, wait.getArrivals(), wait.getSlot()), wait.getPhase());
  }
};

} // namespace

static bool canMoveInBulk(Value desc, RankedTensorType tile, const target::GpuChip &chip) {
  if (!mayHaveTensorMap(desc, chip))
    return false;
  auto type = cast<tile::DescType>(desc.getType());
  // Only loads and stores of matrices that are one element deep in the other dimensions have a tile
  // of the matrix alone.
  if (tile.getRank() != 2 || type.getBlockShape().size() > support::maxRank ||
      matrixOf(type) != tile.getShape() || type.getElementType() != tile.getElementType() ||
      tile.getElementType().isInteger(1))
    return false;
  // Rows of 16 bytes at least; transfers begin at multiples of 128 bytes, and permute by the bits
  // of addresses, as SharedOperand does.
  return tile.getShape()[1] * elementBytesOf(type) >= 16 &&
         tile.getShape()[0] * sharedBlock(type).rowBytes() % 128 == 0;
}

bool canCopyInBulk(Value desc, RankedTensorType tile, const target::GpuChip &chip) {
  return canMoveInBulk(desc, tile, chip) && SharedOperand(tile).majorDim() == 1;
}

// What the copy engine calls a reduction of elements of a type, and the type (PTX ISA,
// "tensormap.replace", .elemtype); null where it has none such.
struct BulkReduction {
  StringRef name;
  unsigned type;
};
static std::optional<BulkReduction> bulkReduction(tile::AtomicKind kind, Type element) {
  constexpr unsigned u32 = 2, s32 = 3, f16 = 6, f32 = 7, bf16 = 10;
  if (kind == tile::AtomicKind::FAdd) {
    if (element.isF32())
      return BulkReduction{"add", f32};
    if (element.isF16() || element.isBF16())
      return BulkReduction{"add", element.isF16() ? f16 : bf16};
    return {};
  }
  if (!element.isInteger(32))
    return {};
  switch (kind) {
  case tile::AtomicKind::Add:
    return BulkReduction{"add", u32};
  case tile::AtomicKind::Max:
    return BulkReduction{"max", s32};
  case tile::AtomicKind::Min:
    return BulkReduction{"min", s32};
  case tile::AtomicKind::UMax:
    return BulkReduction{"max", u32};
  case tile::AtomicKind::UMin:
    return BulkReduction{"min", u32};
  case tile::AtomicKind::And:
    return BulkReduction{"and", u32};
  case tile::AtomicKind::Or:
    return BulkReduction{"or", u32};
  case tile::AtomicKind::Xor:
    return BulkReduction{"xor", u32};
  default:
    return {};
  }
}
static std::optional<BulkReduction> bulkReduction(tile::DescReduceOp reduce) {
  return bulkReduction(reduce.getKind(),
                       cast<tile::DescType>(reduce.getDesc().getType()).getElementType());
}

// True if the memory that a descriptor names is read in the kernel too, by descriptors that are
// seen to be of the same memory.
static bool isReadToo(Value desc) {
  auto isRead = [](Value desc) {
    return llvm::any_of(desc.getUsers(), [](Operation *user) {
      return isa<tile::DescLoadOp, tile::DescGatherOp>(user);
    });
  };
  auto make = desc.getDefiningOp<tile::MakeDescOp>();
  return isRead(desc) || (make && llvm::any_of(make.getBase().getUsers(), [&](Operation *user) {
                            return isa<tile::MakeDescOp>(user) && isRead(user->getResult(0));
                          }));
}

void chooseBulkStores(FunctionOpInterface kernel, const target::GpuChip &chip) {
  // What may tell other programs, or other threads of this one, that the data is there.
  bool mayTell = kernel
                     ->walk([](Operation *op) {
                       bool tells = isa<tile::BarrierOp>(op) || tile::isForeignCode(op);
                       if (auto access = dyn_cast<tile::MemoryAccessOpInterface>(op))
                         tells |=
                             !isa<tile::LoadOp, tile::StoreOp, tile::DescLoadOp, tile::DescStoreOp,
                                  tile::DescReduceOp, tile::DescGatherOp>(op);
                       return tells ? WalkResult::interrupt() : WalkResult::advance();
                     })
                     .wasInterrupted();
  auto choose = [&](auto store) {
    Value value = store.getValue();
    if (!isa<RankedTensorType>(value.getType()))
      return;
    auto convert = value.template getDefiningOp<ConvertLayoutOp>();
    if (convert)
      value = convert.getSource();
    // Threads write it to shared memory in the order of the block, however it lies in them.
    if (!canMoveInBulk(store.getDesc(), cast<RankedTensorType>(value.getType()), chip))
      return;
    store.getValueMutable().assign(value);
    bool isRead = isReadToo(store.getDesc());
    store->setAttr(bulkStoreAttr, BoolAttr::get(store.getContext(), mayTell || isRead));
    if (convert && convert->use_empty())
      convert.erase();
  };
  kernel->walk([&](Operation *op) {
    if (auto store = dyn_cast<tile::DescStoreOp>(op))
      choose(store);
    else if (auto reduce = dyn_cast<tile::DescReduceOp>(op); reduce && bulkReduction(reduce))
      choose(reduce);
  });
}

std::vector<TensorMap> tensorMapsOf(FunctionOpInterface kernel) {
  llvm::SetVector<Value> descs;
  kernel->walk([&](Operation *op) {
    if (auto copy = dyn_cast<CopyBulkOp>(op))
      descs.insert(copy.getDesc());
    if (op->hasAttr(bulkStoreAttr))
      descs.insert(cast<tile::MemoryAccessOpInterface>(op).getAccessed());
  });
  std::vector<TensorMap> maps;
  for (Value desc : descs) {
    auto type = cast<tile::DescType>(desc.getType());
    auto [rows, columns] = boxOf(matrixOf(type), elementBytesOf(type));
    SmallVector<uint32_t> box(type.getBlockShape().size() - 2, 1);
    box.append({uint32_t(rows), uint32_t(columns)});
    maps.push_back({desc, box, swizzleOf(sharedBlock(type))});
  }
  return maps;
}

// PTX ISA, "tensormap.replace": the fields of a map in shared memory are set one by one; then a
// copy, which is a fence too, puts it where the copy engine can read it. The first warp does all
// that, and its first thread starts the transfers, so nobody waits.
void emitTensorMap(tile::MakeDescOp make, const TensorMap &map, Value place, RegisterEmitter &e) {
  OpBuilder &b = e.builder;
  Value staged = address32(e, e.beginShared(support::tensorMapBytes));
  ArrayRef<Value> fields = e.descriptor(make.getResult());
  unsigned rank = map.box.size(), bytes = elementBytesOf(make.getType());
  Value isFirstWarp = b.create<arith::CmpIOp>(e.loc(), arith::CmpIPredicate::eq, e.warp, e.i32(0));
  e.when(isFirstWarp, [&] {
    Value word = b.create<arith::MulIOp>(e.loc(), e.lane, e.i32(4));
    e.assembly("st.shared.b32 [$0], 0; bar.warp.sync 0xffffffff;", "r,~{memory}", {},
               e.add(staged, word), false);
    std::string text, constraints;
    SmallVector<Value> operands;
    auto operand = [&](Value value, const char *constraint) {
      operands.push_back(value);
      constraints += std::string(constraint) + ",";
      return "$" + std::to_string(operands.size() - 1);
    };
    std::string first = operand(e.isFirstThread(), "b"), at = operand(staged, "r");
    auto replace = [&](const char *field, const char *type, const std::string &value) {
      text += "@" + first + " tensormap.replace.tile." + field + ".shared::cta.b1024." + type +
              " [" + at + "], " + value + "; ";
    };
    replace("global_address", "b64", operand(fields[0], "l"));
    replace("rank", "b32", std::to_string(rank - 1));
    // The hardware counts dimensions from the innermost one.
    for (unsigned i = 0; i < rank; ++i) {
      unsigned from = rank - 1 - i;
      std::string number = std::to_string(i) + ", ";
      replace("box_dim", "b32", number + std::to_string(map.box[from]));
      Value extent = b.create<arith::TruncIOp>(e.loc(), b.getI32Type(), fields[1 + from]);
      replace("global_dim", "b32", number + operand(extent, "r"));
      replace("element_stride", "b32", number + "1");
      if (i + 1 == rank)
        continue;
      Value stride =
          b.create<arith::MulIOp>(e.loc(), fields[1 + rank + from - 1], e.i64(int64_t(bytes)));
      replace("global_stride", "b64", number + operand(stride, "l"));
    }
    // .u8, .u16, .u32 and .u64: what is copied is not computed with, and zero is zero. Of the types
    // that reductions ask for the signed one serves all (its number is the larger).
    static constexpr unsigned copied[] = {0, 1, 2, 4};
    unsigned type = copied[llvm::Log2_32(bytes)];
    for (Operation *user : make->getUsers())
      if (auto reduce = dyn_cast<tile::DescReduceOp>(user);
          reduce && reduce->hasAttr(bulkStoreAttr))
        type = std::max(type, bulkReduction(reduce)->type);
    replace("elemtype", "b32", std::to_string(type));
    replace("interleave_layout", "b32", "0");
    replace("swizzle_mode", "b32", std::to_string(map.swizzle));
    replace("fill_mode", "b32", "0");
    e.assembly(text, constraints + "~{memory}", {}, operands, false);
    std::string size = ", " + std::to_string(support::tensorMapBytes) + "; ";
    // The empty group keeps ptxas from moving what follows before the fence has done its work.
    e.assembly("bar.warp.sync 0xffffffff; tensormap.cp_fenceproxy.global.shared::cta."
               "tensormap::generic.release.gpu.sync.aligned [$0], [$1]" +
                   size + "fence.proxy.tensormap::generic.acquire.gpu [$0]" + size +
                   "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;",
               "l,r,~{memory}", {}, {place, staged}, false);
  });
}

// The tile goes to shared memory, and from there one transfer after the other as `instruction` and
// its `kind` say.
template <typename Op>
static void emitTransfers(Op store, StringRef instruction, const Twine &kind, const char *what,
                          RegisterEmitter &e) {
  auto tile = cast<RankedTensorType>(store.getValue().getType());
  auto type = cast<tile::DescType>(store.getDesc().getType());
  SharedOperand shared = sharedBlock(type);
  Value base = e.beginShared(shared.bytes());
  shared.write(e, base, layoutOf(tile), e.registers(store.getValue()));
  e.assembly("fence.proxy.async.shared::cta;", "~{memory}", {}, {}, false);
  e.barrier();
  Value first = e.isFirstThread();
  SmallVector<Transfer> transfers = transfersOf(tile.getShape(), elementBytesOf(type), shared);
  noteBulk(e, what, type, transfers.size());
  for (const Transfer &transfer : transfers) {
    SmallVector<Value> operands = {address32(e, base, transfer.offset),
                                   e.tensorMap(store.getDesc())};
    operands.append(coordinates(e, store.getOffsets(), transfer));
    operands.push_back(first);
    unsigned rank = type.getBlockShape().size();
    e.assembly("@$" + std::to_string(2 + rank) + " " + instruction.str() + "." +
                   std::to_string(rank) + "d.global.shared::cta" + kind.str() +
                   ".bulk_group [$1, {" + namesOf(2, rank) + "}], [$0];",
               "r,l," + constraintsOf(rank) + "b,~{memory}", {}, operands, false);
  }
  e.assembly("cp.async.bulk.commit_group;", "~{memory}", {}, {}, false);
  if (store->template getAttrOfType<BoolAttr>(bulkStoreAttr).getValue()) {
    // One thread waits; the others read or tell behind it.
    e.assembly("cp.async.bulk.wait_group 0; fence.proxy.async;", "~{memory}", {}, {}, false);
    e.barrier();
  } else {
    e.mayStillBeRead = true;
  }
}
void emitBulkStore(tile::DescStoreOp store, RegisterEmitter &e) {
  emitTransfers(store, "cp.async.bulk.tensor", "", "bulk store", e);
}
void emitBulkReduction(tile::DescReduceOp reduce, RegisterEmitter &e) {
  emitTransfers(reduce, "cp.reduce.async.bulk.tensor", "." + bulkReduction(reduce)->name + ".tile",
                "bulk atomic", e);
}

void registerBulkRegisters(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TileGpuDialect *) {
    ArrivalsOp::attachInterface<ArrivalsRegisters>(*context);
    ExpectBulkOp::attachInterface<ExpectBulkRegisters>(*context);
    CopyBulkOp::attachInterface<CopyBulkRegisters>(*context);
    FreeSlotOp::attachInterface<FreeSlotRegisters>(*context);
    AcquireSlotOp::attachInterface<AcquireSlotRegisters>(*context);
    IsCopyingWarpOp::attachInterface<IsCopyingWarpRegisters>(*context);
    WaitBulkOp::attachInterface<WaitBulkRegisters>(*context);
  });
}

} // namespace nereid::gpu
