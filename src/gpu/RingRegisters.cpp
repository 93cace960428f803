// Tiles that wait in shared memory: copies that run beside the code, and their readers.
#include "gpu/ProductLayouts.h"
#include "gpu/RegisterModels.h"
#include "gpu/Rings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace nereid::gpu {

static StringRef instructionOf(tile::DotOp dot) {
  auto instruction = dot->getAttrOfType<StringAttr>(instructionAttr);
  return instruction ? instruction.getValue() : "";
}
bool isWgmma(tile::DotOp dot) { return instructionOf(dot) == "wgmma"; }

bool hasWgmma(FunctionOpInterface kernel) {
  return kernel
      ->walk([](tile::DotOp dot) {
        return isWgmma(dot) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

// True if halves of a tile are computed with, here or where control flow brings them.
static bool isComputedWith(Value tile) {
  SmallVector<Value> tiles = {tile};
  llvm::DenseSet<Value> seen;
  while (!tiles.empty()) {
    Value now = tiles.pop_back_val();
    if (!seen.insert(now).second)
      continue;
    for (OpOperand &use : now.getUses()) {
      Operation *user = use.getOwner(), *parent = user->getParentOp();
      if (isa<scf::YieldOp>(user) && isa<scf::ForOp, scf::IfOp>(parent)) {
        tiles.push_back(parent->getResult(use.getOperandNumber()));
        if (auto loop = dyn_cast<scf::ForOp>(parent))
          tiles.push_back(loop.getRegionIterArg(use.getOperandNumber()));
      } else if (OpTrait::hasElementwiseMappableTraits(user) && !isa<arith::ExtFOp>(user)) {
        return true;
      }
    }
  }
  return false;
}

std::string waitForProducts(int64_t pending, unsigned count, Value sums, bool areDone) {
  std::string text = "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";";
  // Where halves of a sum's register are multiplied, ptxas serialises the products before
  // (C7514), but not where the register is written once more.
  if (areDone && tile::elementType(sums.getType()).isF16() && isComputedWith(sums))
    for (unsigned i = 0; i < count; ++i)
      text += (" prmt.b32 $" + Twine(i) + ", $" + Twine(i) + ", 0, 0x3210;").str();
  return text;
}

bool readsSlots(tile::DotOp dot) { return tile::shapeOf(dot.getType()).size() == 2; }

static unsigned operandBytes(tile::DotOp dot) {
  return unsigned(tile::bytesInMemory(tile::elementType(dot.getLhs().getType())));
}

void setNeighbours(tile::DotOp dot, unsigned count) {
  dot->setAttr(neighboursAttr, Builder(dot).getI32IntegerAttr(int32_t(count)));
}

std::optional<unsigned> neighboursOf(tile::DotOp dot) {
  if (auto count = dot->getAttrOfType<IntegerAttr>(neighboursAttr))
    return unsigned(count.getInt());
  return std::nullopt;
}

std::optional<LinearLayout> fragmentsOf(tile::DotOp dot, bool isLhs, unsigned warps) {
  auto lhs = tile::shapeOf(dot.getLhs().getType()), rhs = tile::shapeOf(dot.getRhs().getType());
  StringRef instruction = instructionOf(dot);
  if (instruction.empty() || instruction == "fma")
    return std::nullopt;
  unsigned bytes = operandBytes(dot);
  if (isWgmma(dot)) {
    auto layout = isLhs ? wgmmaLhs(lhs, rhs[1], warps, bytes, /*mayBeNarrow=*/true) : std::nullopt;
    if (layout && dot->hasAttr(rowsTogetherAttr))
      layout = inOrder(*layout, 0, orderTogether(*layout, 0));
    return layout;
  }
  auto layout = isLhs ? mmaLhs(lhs, rhs[1], warps, bytes) : mmaRhs(rhs, lhs[0], warps, bytes);
  unsigned own = isLhs ? 0 : 1;
  if (layout && dot->hasAttr(isLhs ? rowsTogetherAttr : columnsTogetherAttr))
    return inOrder(*layout, own, orderTogether(*layout, own));
  if (auto count = neighboursOf(dot); layout && count)
    return withNeighbours(*layout, isLhs ? 1 : 0, bytes, *count);
  return layout;
}

// True if a warp group's columns are less than a column of swizzled shared memory holds.
static bool isNarrow(tile::DotOp dot) {
  constexpr int32_t column = 64;
  return llvm::any_of(
      layoutOf(dot.getType()).bases(tile::LayoutInput::Warp),
      [](const LinearLayout::Basis &basis) { return basis[1] && basis[1] < column; });
}

bool readsInPlace(tile::DotOp dot, unsigned operand, const SharedOperand &shared) {
  return !isWgmma(dot) || shared.majorDim() == 1 - operand ||
         (operandBytes(dot) == 2 && !(operand == 1 && isNarrow(dot)));
}

std::optional<SlotOperand> slotOfWords(tile::DotOp dot) {
  return isWgmma(dot) && dot->hasAttr(rowsTogetherAttr) ? slotOperand(dot.getLhs()) : std::nullopt;
}

std::optional<std::pair<Value, bool>> untransposed(Value operand) {
  bool isTransposed = false;
  while (auto trans = operand.getDefiningOp<tile::TransOp>()) {
    if (trans.getPerm().size() != 2)
      return std::nullopt;
    isTransposed ^= trans.getPerm()[0] == 1;
    operand = trans->getOperand(0);
  }
  return std::pair(operand, isTransposed);
}

std::optional<SlotOperand> slotOperand(Value operand) {
  auto source = untransposed(operand);
  auto slot = source ? source->first.getDefiningOp<ReadSlotOp>() : ReadSlotOp();
  if (!slot)
    return std::nullopt;
  SharedOperand shared(slot.getRing().getType().getTile());
  return SlotOperand{slot, source->second ? shared.transposed() : shared};
}

bool writesRightOperands(FunctionOpInterface kernel) {
  return kernel
      ->walk([](tile::DotOp dot) {
        Operation *source = dot.getRhs().getDefiningOp();
        bool isWritten = isWgmma(dot) && isa<scf::ForOp>(dot->getParentOp()) && source &&
                         source->getBlock() == dot->getBlock() && !slotOperand(dot.getRhs());
        return isWritten ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

void emitCopy(RegisterEmitter &e, Value to, Value from, unsigned bytes, Value count, Value owner,
              Value policy, Value passesFirst) {
  to = e.builder.create<LLVM::PtrToIntOp>(e.loc(), e.builder.getI32Type(), to);
  // An address that `ptxas` (12.8, 12.9) may write as the sum of a register and a uniform one has
  // no room for the policy beside it: what it emits is an illegal instruction. Of a mask it makes
  // no sum, and shared memory ends below it.
  if (policy)
    to = e.builder.create<arith::AndIOp>(e.loc(), to, e.i32(0xfffffc));
  SmallVector<Value> operands = {to, from, count};
  std::string constraints = "r,l,r", text;
  auto operand = [&](Value value, const char *constraint) {
    operands.push_back(value);
    constraints += std::string(",") + constraint;
    return "$" + std::to_string(operands.size() - 1);
  };
  std::string hint = policy ? operand(policy, "l") : "";
  auto copyBy = [&](const char *cache, const std::string &guard) {
    text += guard + "cp.async." + cache + ".shared.global" + (policy ? ".L2::cache_hint" : "") +
            " [$0], [$1], " + std::to_string(bytes) + ", $2" + (policy ? ", " + hint : "") + ";";
  };
  auto guard = [&](Value condition) {
    return condition ? "@" + operand(condition, "b") + " " : std::string();
  };
  // Only copies of 16 bytes may pass the L1 cache by.
  if (bytes == 16 && passesFirst) {
    Value isKept =
        e.builder.create<arith::XOrIOp>(e.loc(), passesFirst, e.number(passesFirst.getType(), 1));
    copyBy("cg", guard(e.both(passesFirst, owner)));
    text += " ";
    copyBy("ca", guard(e.both(isKept, owner)));
  } else {
    copyBy(bytes == 16 ? "cg" : "ca", guard(owner));
  }
  e.assembly(text, constraints + ",~{memory}", {}, operands, false);
}

namespace {

// True if someone wants the tile in registers.
bool isWanted(Value tile) {
  return llvm::any_of(tile.getUses(), [&](OpOperand &use) {
    if (auto trans = dyn_cast<tile::TransOp>(use.getOwner()); trans && trans.getPerm().size() == 2)
      return isWanted(trans.getResult());
    auto dot = dyn_cast<tile::DotOp>(use.getOwner());
    if (!dot || use.getOperandNumber() > 1 || !readsSlots(dot))
      return true;
    if (use.getOperandNumber() == 0 && slotOfWords(dot))
      return false;
    auto slot = slotOperand(use.get());
    return slot && !readsInPlace(dot, use.getOperandNumber(), slot->shared);
  });
}

// What other threads or the async copies wrote is seen by the tensor cores behind this. Only wgmma
// reads shared memory by another way than threads do.
void fenceProxy(RegisterEmitter &e) {
  if (e.hasWarpGroups)
    e.assembly("fence.proxy.async.shared::cta;", "~{memory}", {}, {}, false);
}

struct RingRegisters : RegisterModel<RingRegisters, RingOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    RingType type = cast<RingOp>(op).getRing().getType();
    e.reserveRing(op->getResult(0),
                  llvm::alignTo(type.getSlots() * SharedOperand(type.getTile()).bytes(),
                                SharedOperand::alignment));
    // Nobody still reads what lay there.
    if (!isa_and_present<RingOp>(op->getPrevNode()) && !e.isBeforeShared(op->getBlock()))
      e.sharedBarrier();
  }
};

constexpr int64_t sectorBytes = 32;

// Whether the rows of a thread's pieces of 16 bytes begin with a sector of memory, all of them or
// none, as they are an even number apart; null where they likely do. A row that begins within a
// sector has sectors of which two pieces read a half each.
Value rowsBeginSectors(RegisterEmitter &e, CopyAsyncOp copy, const SharedOperand &shared,
                       unsigned bytes) {
  if (bytes != 16)
    return {};
  unsigned along = shared.majorDim(), element = shared.bytesOfElement();
  tile::AxisFacts facts = e.likelyFacts(copy.getPointer());
  if (facts.contiguity[along] * element >= sectorBytes &&
      facts.divisibility[along] % sectorBytes == 0)
    return {};
  OpBuilder &b = e.builder;
  Value first =
      b.create<LLVM::PtrToIntOp>(e.loc(), b.getI64Type(), e.registers(copy.getPointer()).front());
  Value inRow = b.createOrFold<arith::MulIOp>(
      e.loc(), e.threadCoordinate(layoutOf(copy.getPointer().getType()), along), e.i32(element));
  Value start = b.create<arith::SubIOp>(
      e.loc(), b.create<arith::TruncIOp>(e.loc(), b.getI32Type(), first), inRow);
  start = b.create<arith::AndIOp>(e.loc(), start, e.i32(sectorBytes - 1));
  return b.create<arith::CmpIOp>(e.loc(), arith::CmpIPredicate::eq, start, e.i32(0));
}

struct CopyAsyncRegisters : RegisterModel<CopyAsyncRegisters, CopyAsyncOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto copy = cast<CopyAsyncOp>(op);
    e.countSharedUse();
    RankedTensorType tile = copy.getRing().getType().getTile();
    LinearLayout layout = layoutOf(copy.getPointer().getType());
    SharedOperand shared(tile);
    Value base = e.slotAddress(copy.getRing(), copy.getSlot(), shared.bytes());
    ArrayRef<Value> pointers = e.registers(copy.getPointer());
    Value active = e.scalar(copy.getActive()), owner = e.isOwner(layout);
    unsigned vector = copy.getVector();
    unsigned bytes = vector * tile::bytesInMemory(tile.getElementType());
    e.noteGlobal("cp.async", copy.getPointer(), tile.getElementType(), vector);
    shared.note(e, "cp.async", layout, vector);
    Value thread = shared.threadOffset(e, layout),
          policy = cachePolicy(e, tile::EvictionPolicy(copy.getEvict()));
    Value beginsSector = rowsBeginSectors(e, copy, shared, bytes);
    for (unsigned reg = 0; reg < pointers.size(); reg += vector) {
      Value inside = e.both(active, copy.getMask() ? e.registers(copy.getMask())[reg] : Value());
      Value count =
          e.builder.create<arith::SelectOp>(e.loc(), inside, e.i32(int64_t(bytes)), e.i32(0));
      emitCopy(e, shared.address(e, base, thread, layout.apply(reg, 0, 0)), pointers[reg], bytes,
               count, owner, policy, beginsSector);
    }
  }
};

struct CommitCopiesRegisters : RegisterModel<CommitCopiesRegisters, CommitCopiesOp> {
  void emitRegisters(Operation *, RegisterEmitter &e) const {
    e.assembly("cp.async.commit_group;", "~{memory}", {}, {}, false);
  }
};

void waitCopies(RegisterEmitter &e, unsigned pending) {
  e.assembly("cp.async.wait_group " + std::to_string(pending) + ";", "~{memory}", {}, {}, false);
}

// Without a fence for the tensor cores: what `cp.async` wrote they see, as the main loops of
// CUTLASS and Triton with such copies take for granted. It would wait for the later copies too.
struct WaitCopiesRegisters : RegisterModel<WaitCopiesRegisters, WaitCopiesOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    waitCopies(e, cast<WaitCopiesOp>(op).getPending());
    e.barrier();
  }
};

struct MeetRegisters : RegisterModel<MeetRegisters, MeetOp> {
  void emitRegisters(Operation *, RegisterEmitter &e) const { e.barrier(); }
};

struct WriteSlotRegisters : RegisterModel<WriteSlotRegisters, WriteSlotOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto write = cast<WriteSlotOp>(op);
    e.countSharedUse();
    SharedOperand shared(write.getRing().getType().getTile());
    Value base = e.slotAddress(write.getRing(), write.getSlot(), shared.bytes());
    shared.write(e, base, layoutOf(write.getTile().getType()), e.registers(write.getTile()));
    fenceProxy(e);
    e.barrier();
  }
};

struct ReadSlotRegisters : RegisterModel<ReadSlotRegisters, ReadSlotOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto read = cast<ReadSlotOp>(op);
    if (!isWanted(read.getTile()))
      return;
    RankedTensorType tile = read.getRing().getType().getTile();
    SharedOperand shared(tile);
    Value base = e.slotAddress(read.getRing(), read.getSlot(), shared.bytes());
    e.setRegisters(read.getTile(), shared.read(e, base, layoutOf(read.getTile().getType()),
                                               registerType(tile.getElementType())));
  }
};

struct DrainRegisters : RegisterModel<DrainRegisters, DrainOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    waitCopies(e, 0);
    e.countSharedUse();
    std::string text, constraints;
    SmallVector<Value> places;
    for (Value ring : op->getOperands())
      if (auto arrivals = dyn_cast<ArrivalsType>(ring.getType())) {
        for (unsigned i = 0; i < 2 * arrivals.getSlots(); ++i)
          text += "mbarrier.inval.shared::cta.b64 [$" + std::to_string(places.size()) + "+" +
                  std::to_string(8 * i) + "]; ";
        constraints += "r,";
        places.push_back(e.builder.create<LLVM::PtrToIntOp>(e.loc(), e.builder.getI32Type(),
                                                            e.slotAddress(ring, {}, 8)));
      }
    if (!places.empty()) {
      // All threads are done waiting; then the memory may serve for something else.
      e.barrier();
      e.when(e.isFirstThread(),
             [&] { e.assembly(text, constraints + "~{memory}", {}, places, false); });
    }
    for (Value ring : op->getOperands())
      e.releaseRing(ring);
  }
};

// Named barriers, one a warp group: that it is its turn. Between turns the last group has told the
// first one.
void turnBarrier(RegisterEmitter &e, const char *what, Value group, Value condition = {}) {
  constexpr unsigned threads =
      2 * 4 * lanesPerWarp; // of the group that tells and the one that waits
  std::string text =
      std::string(condition ? "@$1 " : "") + what + " $0, " + std::to_string(threads) + ";";
  SmallVector<Value> operands = {e.add(group, e.i32(1))};
  if (condition)
    operands.push_back(condition);
  e.assembly(text, condition ? "r,b,~{memory}" : "r,~{memory}", {}, operands, false);
}
Value warpGroup(RegisterEmitter &e) {
  return e.builder.create<arith::ShRUIOp>(e.loc(), e.uniformWarp, e.i32(2));
}
Value isWarpGroup(RegisterEmitter &e, unsigned group) {
  return e.builder.create<arith::CmpIOp>(e.loc(), arith::CmpIPredicate::eq, warpGroup(e),
                                         e.i32(group));
}

struct OpenTurnsRegisters : RegisterModel<OpenTurnsRegisters, OpenTurnsOp> {
  void emitRegisters(Operation *, RegisterEmitter &e) const {
    turnBarrier(e, "bar.arrive", e.i32(0), isWarpGroup(e, e.warps / 4 - 1));
  }
};

struct BeginTurnRegisters : RegisterModel<BeginTurnRegisters, BeginTurnOp> {
  void emitRegisters(Operation *, RegisterEmitter &e) const {
    turnBarrier(e, "bar.sync", warpGroup(e));
  }
};

struct EndTurnRegisters : RegisterModel<EndTurnRegisters, EndTurnOp> {
  void emitRegisters(Operation *, RegisterEmitter &e) const {
    Value next = e.add(warpGroup(e), e.i32(1));
    turnBarrier(e, "bar.arrive",
                e.builder.create<arith::AndIOp>(e.loc(), next, e.i32(e.warps / 4 - 1)));
  }
};

struct CloseTurnsRegisters : RegisterModel<CloseTurnsRegisters, CloseTurnsOp> {
  void emitRegisters(Operation *, RegisterEmitter &e) const {
    turnBarrier(e, "bar.sync", e.i32(0), isWarpGroup(e, 0));
  }
};

struct WaitProductsRegisters : RegisterModel<WaitProductsRegisters, WaitProductsOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    OpBuilder &b = e.builder;
    ArrayRef<Value> sums = e.registers(op->getOperand(0));
    SmallVector<Value> words = e.packSums(sums);
    Type word = words[0].getType();
    // The sums pass through, so that nobody reads them before.
    std::string constraints;
    for (size_t i = 0; i < words.size(); ++i)
      constraints += word.isF32() ? "=f," : "=r,";
    for (size_t i = 0; i < words.size(); ++i)
      constraints += std::to_string(i) + ",";
    Type result =
        LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(words.size(), word));
    Value out = e.assembly(waitForProducts(cast<WaitProductsOp>(op).getPending(), words.size(),
                                           op->getResult(0), true),
                           constraints + "~{memory}", result, words, false);
    e.setRegisters(op->getResult(0), e.unpackSums(out, sums[0].getType()));
    if (!cast<WaitProductsOp>(op).getPending())
      e.productsDone();
  }
};

struct UnsetRegisters : RegisterModel<UnsetRegisters, UnsetOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto tile = cast<RankedTensorType>(op->getResult(0).getType());
    Value none = e.builder.create<LLVM::UndefOp>(e.loc(), registerType(tile.getElementType()));
    e.setRegisters(op->getResult(0), SmallVector<Value>(registersOf(layoutOf(tile)), none));
  }
};

} // namespace

void registerRingRegisters(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TileGpuDialect *) {
    RingOp::attachInterface<RingRegisters>(*context);
    CopyAsyncOp::attachInterface<CopyAsyncRegisters>(*context);
    CommitCopiesOp::attachInterface<CommitCopiesRegisters>(*context);
    WaitCopiesOp::attachInterface<WaitCopiesRegisters>(*context);
    MeetOp::attachInterface<MeetRegisters>(*context);
    WriteSlotOp::attachInterface<WriteSlotRegisters>(*context);
    ReadSlotOp::attachInterface<ReadSlotRegisters>(*context);
    DrainOp::attachInterface<DrainRegisters>(*context);
    OpenTurnsOp::attachInterface<OpenTurnsRegisters>(*context);
    BeginTurnOp::attachInterface<BeginTurnRegisters>(*context);
    EndTurnOp::attachInterface<EndTurnRegisters>(*context);
    CloseTurnsOp::attachInterface<CloseTurnsRegisters>(*context);
    WaitProductsOp::attachInterface<WaitProductsRegisters>(*context);
    UnsetOp::attachInterface<UnsetRegisters>(*context);
  });
}

} // namespace nereid::gpu
