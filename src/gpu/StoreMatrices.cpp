#include "gpu/StoreMatrices.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::gpu {

// The dimension of which a register of 32 bits holds two neighbours, where lanes lie as `stmatrix`
// wants them (PTX ISA): four along it, eight along the other one.
static std::optional<unsigned> wordDim(const LinearLayout &layout) {
  auto regs = layout.bases(LayoutInput::Register), lanes = layout.bases(LayoutInput::Lane);
  if (layout.rank() != 2 || regs.size() < 2 || lanes.size() != 5)
    return std::nullopt;
  auto isStep = [](const LinearLayout::Basis &basis, unsigned dim, int32_t step) {
    return basis[dim] == step && basis[1 - dim] == 0;
  };
  for (unsigned dim : {0u, 1u})
    if (isStep(regs[0], dim, 1) && isStep(lanes[0], dim, 2) && isStep(lanes[1], dim, 4) &&
        isStep(lanes[2], 1 - dim, 1) && isStep(lanes[3], 1 - dim, 2) &&
        isStep(lanes[4], 1 - dim, 4))
      return dim;
  return std::nullopt;
}

bool liesInMatrices(const LinearLayout &layout) { return wordDim(layout).has_value(); }

bool storeMatrices(RegisterEmitter &e, const LinearLayout &layout, unsigned major,
                   ArrayRef<Value> values, llvm::function_ref<int64_t(ArrayRef<int32_t>)> offset,
                   llvm::function_ref<Value(const LinearLayout &, ArrayRef<int32_t>)> address) {
  auto along = wordDim(layout);
  if (!e.chip.can(target::StoreMatrix) || !along)
    return false;
  // Lanes 8i to 8i + 7 give the rows of matrix i; which matrix that is, the registers say.
  auto regs = layout.bases(LayoutInput::Register);
  unsigned matrices = regs.size() > 2 ? 4 : 2;
  LinearLayout rows(2);
  for (int32_t row = 1; row < 8; row *= 2)
    rows.addBasis(LayoutInput::Lane, unit(2, 1 - major, row));
  rows.addBasis(LayoutInput::Lane, regs[1]);
  rows.addBasis(LayoutInput::Lane, matrices == 4 ? regs[2] : LinearLayout::Basis(2, 0));
  for (const LinearLayout::Basis &basis : layout.bases(LayoutInput::Warp))
    rows.addBasis(LayoutInput::Warp, basis);

  OpBuilder &b = e.builder;
  e.accesses.push_back(sharedAccess(e.loc(), "stmatrix", 16, 8,
                                    unsigned(values.size()) / (2 * matrices),
                                    [&](unsigned lane) { return offset(rows.apply(0, lane, 0)); }));
  std::string text = "stmatrix.sync.aligned.m8n8.x" + std::to_string(matrices) +
                     (*along != major ? ".trans" : "") + ".shared.b16 [$0], {$1, $2" +
                     (matrices == 4 ? ", $3, $4" : "") + "};";
  std::string constraints = matrices == 4 ? "r,r,r,r,r,~{memory}" : "r,r,r,~{memory}";
  for (unsigned reg = 0; reg < values.size(); reg += 2 * matrices) {
    Value to = address(rows, layout.apply(reg, 0, 0));
    SmallVector<Value> operands = {b.create<LLVM::PtrToIntOp>(e.loc(), b.getI32Type(), to)};
    for (unsigned i = 0; i < 2 * matrices; i += 2)
      operands.push_back(
          b.create<LLVM::BitcastOp>(e.loc(), b.getI32Type(), e.vectorOf(values.slice(reg + i, 2))));
    e.assembly(text, constraints, {}, operands, false);
  }
  return true;
}

} // namespace nereid::gpu
