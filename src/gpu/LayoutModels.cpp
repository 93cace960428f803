// How layouts pass through ops that rename or drop dimensions. Elementwise ops and memory accesses
// keep the layout as it is and need no model.
#include "gpu/AssignLayouts.h"
#include "gpu/Layouts.h"
#include "gpu/TileGpu.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

using MaybeLayout = std::optional<LinearLayout>;

template <typename Model, typename Op>
using LayoutModel = tile::LayoutOpInterface::ExternalModel<Model, Op>;

ArrayRef<int64_t> operandShape(Operation *op, unsigned i) {
  return tile::shapeOf(op->getOperand(i).getType());
}
ArrayRef<int64_t> resultShape(Operation *op, unsigned i) {
  return tile::shapeOf(op->getResult(i).getType());
}

// All tiles of the op lie alike.
template <typename Op> struct SameLayout : LayoutModel<SameLayout<Op>, Op> {
  MaybeLayout forwardLayout(Operation *, unsigned, const LinearLayout &layout, unsigned) const {
    return layout;
  }
  MaybeLayout backwardLayout(Operation *, unsigned, const LinearLayout &layout, unsigned) const {
    return layout;
  }
};

// What is known of a tile's elements does not depend on where they lie.
struct ConvertLayoutFacts
    : tile::AxisFactsOpInterface::ExternalModel<ConvertLayoutFacts, ConvertLayoutOp> {
  SmallVector<tile::AxisFacts> transferAxisFacts(Operation *,
                                                 ArrayRef<tile::AxisFacts> operands) const {
    return {operands[0]};
  }
};

struct ExpandDimsLayout : LayoutModel<ExpandDimsLayout, tile::ExpandDimsOp> {
  MaybeLayout forwardLayout(Operation *op, unsigned, const LinearLayout &layout, unsigned) const {
    return expandLayout(layout, cast<tile::ExpandDimsOp>(op).getAxis());
  }
  MaybeLayout backwardLayout(Operation *op, unsigned, const LinearLayout &layout, unsigned) const {
    return sliceLayout(layout, cast<tile::ExpandDimsOp>(op).getAxis());
  }
};

struct BroadcastLayout : LayoutModel<BroadcastLayout, tile::BroadcastOp> {
  // The new elements go to further registers: threads that hold copies would split them, but which
  // do is known only to the user.
  MaybeLayout forwardLayout(Operation *op, unsigned, const LinearLayout &layout, unsigned) const {
    LinearLayout out = layout;
    auto from = operandShape(op, 0), to = resultShape(op, 0);
    for (unsigned d = 0; d < from.size(); ++d)
      for (int64_t at = from[d]; at < to[d]; at *= 2)
        out.addBasis(LayoutInput::Register, unit(unsigned(from.size()), d, at));
    return out;
  }
  MaybeLayout backwardLayout(Operation *op, unsigned, const LinearLayout &layout, unsigned) const {
    return unbroadcastLayout(layout, operandShape(op, 0), resultShape(op, 0));
  }
};

struct TransLayout : LayoutModel<TransLayout, tile::TransOp> {
  MaybeLayout forwardLayout(Operation *op, unsigned, const LinearLayout &layout, unsigned) const {
    return transposeLayout(layout, cast<tile::TransOp>(op).getPerm());
  }
  MaybeLayout backwardLayout(Operation *op, unsigned, const LinearLayout &layout, unsigned) const {
    auto perm = cast<tile::TransOp>(op).getPerm();
    SmallVector<int32_t> inverse(perm.size());
    for (auto [i, p] : llvm::enumerate(perm))
      inverse[p] = int32_t(i);
    return transposeLayout(layout, inverse);
  }
};

struct ReshapeLayout : LayoutModel<ReshapeLayout, tile::ReshapeOp> {
  MaybeLayout forwardLayout(Operation *op, unsigned, const LinearLayout &layout, unsigned) const {
    return reshapeLayout(layout, operandShape(op, 0), resultShape(op, 0));
  }
  MaybeLayout backwardLayout(Operation *op, unsigned, const LinearLayout &layout, unsigned) const {
    return reshapeLayout(layout, resultShape(op, 0), operandShape(op, 0));
  }
};

// With the minor dimension of size two in a register, both halves are at hand in every thread.
LinearLayout withMinorRegister(const LinearLayout &layout) {
  LinearLayout wide = expandLayout(layout, layout.rank());
  LinearLayout out(wide.rank());
  LinearLayout::Basis minor(wide.rank(), 0);
  minor.back() = 1;
  out.addBasis(LayoutInput::Register, minor);
  for (LayoutInput input :
       {LayoutInput::Register, LayoutInput::Lane, LayoutInput::Warp, LayoutInput::Block})
    for (const LinearLayout::Basis &basis : wide.bases(input))
      out.addBasis(input, basis);
  return out;
}

bool hasMinorRegister(const LinearLayout &layout) {
  return llvm::any_of(layout.bases(LayoutInput::Register),
                      [](const LinearLayout::Basis &basis) { return basis.back() == 1; });
}

struct JoinLayout : LayoutModel<JoinLayout, tile::JoinOp> {
  MaybeLayout forwardLayout(Operation *, unsigned, const LinearLayout &layout, unsigned) const {
    return withMinorRegister(layout);
  }
  MaybeLayout backwardLayout(Operation *, unsigned, const LinearLayout &layout, unsigned) const {
    if (!hasMinorRegister(layout))
      return std::nullopt;
    return sliceLayout(layout, layout.rank() - 1);
  }
};

struct SplitLayout : LayoutModel<SplitLayout, tile::SplitOp> {
  MaybeLayout forwardLayout(Operation *, unsigned, const LinearLayout &layout, unsigned) const {
    if (!hasMinorRegister(layout))
      return std::nullopt;
    return sliceLayout(layout, layout.rank() - 1);
  }
  MaybeLayout backwardLayout(Operation *, unsigned, const LinearLayout &layout, unsigned) const {
    return withMinorRegister(layout);
  }
};

struct CatLayout : LayoutModel<CatLayout, tile::CatOp> {
  MaybeLayout forwardLayout(Operation *op, unsigned, const LinearLayout &layout, unsigned) const {
    LinearLayout out = layout;
    out.addBasis(LayoutInput::Register, {int32_t(operandShape(op, 0)[0])});
    return out;
  }
  MaybeLayout backwardLayout(Operation *op, unsigned, const LinearLayout &layout, unsigned) const {
    LinearLayout out(1);
    int32_t half = int32_t(operandShape(op, 0)[0]);
    bool found = false;
    for (const LinearLayout::Basis &basis : layout.bases(LayoutInput::Register)) {
      if (basis[0] == half)
        found = true;
      else
        out.addBasis(LayoutInput::Register, basis);
    }
    for (LayoutInput input : {LayoutInput::Lane, LayoutInput::Warp, LayoutInput::Block})
      for (const LinearLayout::Basis &basis : layout.bases(input))
        out.addBasis(input, basis);
    return found ? MaybeLayout(out) : std::nullopt;
  }
};

struct ReduceLayout : LayoutModel<ReduceLayout, tile::ReduceOp> {
  MaybeLayout forwardLayout(Operation *op, unsigned, const LinearLayout &layout, unsigned) const {
    return sliceLayout(layout, cast<tile::ReduceOp>(op).getAxis());
  }
};

// The source lies in shared memory while the op runs; indices and result lie alike.
struct GatherLayout : LayoutModel<GatherLayout, tile::GatherOp> {
  MaybeLayout forwardLayout(Operation *, unsigned operand, const LinearLayout &layout,
                            unsigned) const {
    return operand == 1 ? MaybeLayout(layout) : std::nullopt;
  }
  MaybeLayout backwardLayout(Operation *, unsigned, const LinearLayout &layout,
                             unsigned operand) const {
    return operand == 1 ? MaybeLayout(layout) : std::nullopt;
  }
};

// Each row of the block has its row index beside it, in all columns.
template <typename Op> struct RowsLayout : LayoutModel<RowsLayout<Op>, Op> {
  MaybeLayout forwardLayout(Operation *op, unsigned operand, const LinearLayout &layout,
                            unsigned) const {
    return operandShape(op, operand).size() == 2 ? MaybeLayout(layout) : std::nullopt;
  }
  MaybeLayout backwardLayout(Operation *op, unsigned, const LinearLayout &layout,
                             unsigned operand) const {
    return operandShape(op, operand).size() == 2 ? layout : sliceLayout(layout, 1);
  }
};

} // namespace

void registerLayoutModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    using namespace tile;
    HintOp::attachInterface<SameLayout<HintOp>>(*context);
    ScanOp::attachInterface<SameLayout<ScanOp>>(*context);
    MapOp::attachInterface<SameLayout<MapOp>>(*context);
    InlineAsmOp::attachInterface<SameLayout<InlineAsmOp>>(*context);
    ExpandDimsOp::attachInterface<ExpandDimsLayout>(*context);
    BroadcastOp::attachInterface<BroadcastLayout>(*context);
    TransOp::attachInterface<TransLayout>(*context);
    ReshapeOp::attachInterface<ReshapeLayout>(*context);
    JoinOp::attachInterface<JoinLayout>(*context);
    SplitOp::attachInterface<SplitLayout>(*context);
    CatOp::attachInterface<CatLayout>(*context);
    ReduceOp::attachInterface<ReduceLayout>(*context);
    GatherOp::attachInterface<GatherLayout>(*context);
    DescGatherOp::attachInterface<RowsLayout<DescGatherOp>>(*context);
    DescScatterOp::attachInterface<RowsLayout<DescScatterOp>>(*context);
    AssertOp::attachInterface<SameLayout<AssertOp>>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, TileGpuDialect *) {
    ConvertLayoutOp::attachInterface<ConvertLayoutFacts>(*context);
  });
}

} // namespace nereid::gpu
