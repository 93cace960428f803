// What a thread keeps in shared memory for itself: pieces of 16 bytes, those of a warp side by
// side, behind all else that the kernel has there.
#include "gpu/RegisterModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

// Where the pieces of a tile lie that a thread has `words` words of.
class Place {
public:
  Place(RegisterEmitter &e, Value step, int64_t offset, int64_t stepBytes, unsigned words)
      : perPiece(std::min(words, 4u)), e(e) {
    OpBuilder &b = e.builder;
    Value at = b.create<arith::MulIOp>(
        e.loc(), b.create<arith::TruncIOp>(e.loc(), b.getI32Type(), step), e.i32(stepBytes));
    at = e.add(at, b.create<arith::MulIOp>(e.loc(), e.thread, e.i32(pieceBytes())));
    base = e.keptAddress(e.add(at, e.i32(offset)));
  }
  Value address(unsigned piece) const {
    if (!piece)
      return base;
    int64_t apart = int64_t(e.warps) * lanesPerWarp * pieceBytes();
    return e.builder.create<LLVM::GEPOp>(e.loc(), base.getType(), e.builder.getI8Type(), base,
                                         ArrayRef<LLVM::GEPArg>{int32_t(piece * apart)});
  }
  int64_t pieceBytes() const { return 4 * int64_t(perPiece); }
  void note(const char *what, unsigned pieces) const {
    e.accesses.push_back(sharedAccess(e.loc(), what, unsigned(pieceBytes()), perPiece, pieces,
                                      [&](unsigned lane) { return lane * pieceBytes(); }));
  }

  const unsigned perPiece; // words

private:
  RegisterEmitter &e;
  Value base;
};

SmallVector<Value> wordsOf(RegisterEmitter &e, ArrayRef<Value> values) {
  unsigned share = std::max(1u, 32 / bitsOf(values[0].getType()));
  SmallVector<Value> words;
  for (size_t i = 0; i < values.size(); i += share) {
    if (share == 1)
      llvm::append_range(words, e.toWords(values[i]));
    else
      words.push_back(e.cast(e.vectorOf(values.slice(i, share)), e.builder.getI32Type()));
  }
  return words;
}

SmallVector<Value> valuesOf(RegisterEmitter &e, ArrayRef<Value> words, Type type) {
  unsigned share = std::max(1u, 32 / bitsOf(type)), each = std::max(1u, bitsOf(type) / 32);
  SmallVector<Value> values;
  for (size_t i = 0; i < words.size(); i += each) {
    if (share == 1)
      values.push_back(e.fromWords(words.slice(i, each), type));
    else
      llvm::append_range(values, e.elementsOf(e.cast(words[i], VectorType::get({share}, type))));
  }
  return values;
}

struct KeptStepsRegisters : RegisterModel<KeptStepsRegisters, KeptStepsOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto steps = cast<KeptStepsOp>(op);
    OpBuilder &b = e.builder;
    e.kept.stepBytes = steps.getBytes();
    e.kept.steps = std::max(e.kept.steps, steps.getMost().value_or(0));
    Value all = e.assembly("mov.u32 $0, %dynamic_smem_size;", "=r", b.getI32Type(), {}, true);
    Value room = b.create<arith::SubIOp>(e.loc(), all, e.keptStart());
    Value count = b.create<arith::DivUIOp>(e.loc(), room, e.i32(int64_t(steps.getBytes())));
    e.setScalar(steps.getCount(), b.create<arith::ExtUIOp>(e.loc(), b.getI64Type(), count));
  }
};

struct KeepRegisters : RegisterModel<KeepRegisters, KeepOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto keep = cast<KeepOp>(op);
    SmallVector<Value> words = wordsOf(e, e.registers(keep.getTile()));
    Place place(e, e.scalar(keep.getStep()), int64_t(keep.getOffset()), int64_t(keep.getBytes()),
                words.size());
    for (unsigned i = 0; i < words.size(); i += place.perPiece)
      e.builder.create<LLVM::StoreOp>(e.loc(), e.vectorOf(ArrayRef(words).slice(i, place.perPiece)),
                                      place.address(i / place.perPiece), place.pieceBytes());
    place.note("store", words.size() / place.perPiece);
  }
};

struct KeptRegisters : RegisterModel<KeptRegisters, KeptOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto kept = cast<KeptOp>(op);
    OpBuilder &b = e.builder;
    auto type = cast<RankedTensorType>(kept.getTile().getType());
    Type element = registerType(type.getElementType());
    unsigned count = registersOf(layoutOf(type)) * bitsOf(element) / 32;
    Place place(e, e.scalar(kept.getStep()), int64_t(kept.getOffset()), int64_t(kept.getBytes()),
                count);
    SmallVector<Value> words;
    for (unsigned i = 0; i < count; i += place.perPiece) {
      Value piece =
          b.create<LLVM::LoadOp>(e.loc(), VectorType::get({place.perPiece}, b.getI32Type()),
                                 place.address(i / place.perPiece), place.pieceBytes());
      llvm::append_range(words, e.elementsOf(piece));
    }
    place.note("load", count / place.perPiece);
    e.setRegisters(kept.getTile(), valuesOf(e, words, element));
  }
};

} // namespace

void registerKeptRegisters(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TileGpuDialect *) {
    KeptStepsOp::attachInterface<KeptStepsRegisters>(*context);
    KeepOp::attachInterface<KeepRegisters>(*context);
    KeptOp::attachInterface<KeptRegisters>(*context);
  });
}

} // namespace nereid::gpu
