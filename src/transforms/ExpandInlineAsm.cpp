#include "transforms/ExpandInlineAsm.h"

#include "ir/AsmOperands.h"
#include "transforms/AsmEmitter.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

// The registers of one group of elements before and after the text.
SmallVector<Value> emit(AsmEmitter &e, const tile::AsmOperands &operands, const ptx::Text &text,
                        ValueRange elements, TypeRange outputs) {
  unsigned at = operands.outputRegisters;
  size_t next = 0;
  for (const tile::AsmPacking &packing : operands.inputs)
    for (unsigned r = 0; r < packing.registers; ++r, ++at) {
      SmallVector<Value> parts;
      for (unsigned i = 0; i < packing.elementsIn(r); ++i)
        parts.push_back(e.asBits(elements[next++]));
      unsigned width = packing.bits * parts.size();
      e.setBits(at, e.packed(parts, std::max(width, AsmEmitter::widthOf(parts[0]))));
      if (auto output = operands.tiedTo(at))
        e.setBits(*output, e.bitsOf(at, width));
    }
  e.run(text);
  SmallVector<Value> results;
  at = 0;
  for (auto [packing, type] : llvm::zip(operands.outputs, outputs))
    for (unsigned r = 0; r < packing.registers; ++r, ++at) {
      unsigned count = packing.elementsIn(r);
      Value whole = e.bitsOf(at, packing.bits * count);
      for (unsigned i = 0; i < count; ++i)
        results.push_back(
            e.fromBits(e.resized(e.shiftedRight(whole, i * packing.bits), packing.bits),
                       tile::elementType(type)));
    }
  return results;
}

// Throws ptx::Unknown.
void expand(tile::InlineAsmOp op) {
  tile::AsmOperands operands(op);
  if (!operands.problem.empty())
    throw ptx::Unknown{operands.problem};
  ptx::Text text = ptx::parse(std::string_view(op.getText()), operands.registers);
  OpBuilder b(op);
  Location loc = op.getLoc();
  unsigned pack = op.getPack();
  auto shape = dyn_cast<RankedTensorType>(op.getOutputs().getTypes().front());
  if (pack == 1 || !shape) {
    AsmEmitter e(b, loc, op.getOutputs().getTypes().front(), text.registers);
    op->replaceAllUsesWith(emit(e, operands, text, op.getInputs(), op.getOutputs().getTypes()));
    op.erase();
    return;
  }
  if (op.getInputs().empty())
    throw ptx::Unknown{"several elements at a time without an input"};
  auto map = b.create<tile::MapOp>(loc, op.getOutputs().getTypes(), op.getInputs(), pack);
  Block *body = b.createBlock(&map.getBody());
  for (Type type : op.getInputs().getTypes())
    for (unsigned i = 0; i < pack; ++i)
      body->addArgument(tile::elementType(type), loc);
  AsmEmitter e(b, loc, tile::elementType(shape), text.registers);
  SmallVector<Value> results =
      emit(e, operands, text, body->getArguments(), op.getOutputs().getTypes());
  b.create<tile::YieldOp>(loc, results);
  op->replaceAllUsesWith(map);
  op.erase();
}

struct ExpandInlineAsmPass : PassWrapper<ExpandInlineAsmPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandInlineAsmPass)
  StringRef getArgument() const override { return "tile-expand-inline-asm"; }
  StringRef getDescription() const override { return "inline PTX becomes tile operations"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, tile::TileDialect>();
  }
  void runOnOperation() override {
    SmallVector<tile::InlineAsmOp> texts;
    getOperation().walk([&](tile::InlineAsmOp op) { texts.push_back(op); });
    for (tile::InlineAsmOp op : texts)
      try {
        expand(op);
      } catch (ptx::Unknown &unknown) {
        op->emitError() << "inline PTX `" << op.getText().trim()
                        << "` has no meaning outside of an NVIDIA GPU: " << unknown.what;
        signalPassFailure();
      }
  }
};

} // namespace

std::unique_ptr<Pass> createExpandInlineAsmPass() {
  return std::make_unique<ExpandInlineAsmPass>();
}

} // namespace nereid::transforms
