#include "gpu/OperandsInFragments.h"

#include "gpu/LayoutFlow.h"
#include "gpu/ProductLayouts.h"
#include "gpu/Rings.h"
#include "gpu/TileGpu.h"
#include "ir/OpKinds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

// The tile, moved from where it was computed.
Value converted(Value tile, const LinearLayout &layout) {
  OpBuilder b(tile.getContext());
  b.setInsertionPointAfterValue(tile);
  auto before = tile.getDefiningOp<ConvertLayoutOp>();
  return b.create<ConvertLayoutOp>(tile.getLoc(), withLayout(tile.getType(), layout),
                                   before ? before.getSource() : tile);
}

// Computes tiles again in other layouts.
class Recompute {
public:
  /// Slots that `ldmatrix` does not read are read so many bytes at once, at least.
  unsigned fewestBytes = 16;

  // What costs a thread about as much in one layout as in another.
  static bool isMade(Operation *op) {
    if (!op || !isPure(op) || op->getNumResults() != 1 || op->getNumRegions())
      return false;
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return isa<SplatElementsAttr>(constant.getValue());
    return op->hasTrait<OpTrait::Elementwise>() || tile::isRepeat(op) ||
           isa<tile::TransOp, tile::ArangeOp>(op);
  }

  // True if the tile is computed of slots, or lies so but for the order of a thread's registers,
  // and else of little that has to move.
  bool canMake(Value tile, const LinearLayout &layout) const {
    unsigned left = mostAsked;
    return canMake(tile, layout, /*isOperand=*/true, left);
  }

  Value make(Value tile, const LinearLayout &layout) {
    if (layoutOf(tile.getType()) == layout)
      return tile;
    for (auto &[known, version] : versions)
      if (known == tile && layoutOf(version.getType()) == layout)
        return version;
    Operation *op = tile.getDefiningOp();
    OpBuilder b(tile.getContext());
    b.setInsertionPointAfterValue(tile);
    Type type = withLayout(tile.getType(), layout);
    Value made;
    if (auto read = dyn_cast_or_null<ReadSlotOp>(op)) {
      made = b.create<ReadSlotOp>(tile.getLoc(), type, read.getRing(), read.getSlot());
    } else if (isMade(op)) {
      IRMapping mapping;
      for (OpOperand &operand : op->getOpOperands())
        if (tile::isTile(operand.get()))
          mapping.map(operand.get(),
                      make(operand.get(), *backward(op, 0, layout, operand.getOperandNumber())));
      Operation *copy = b.clone(*op, mapping);
      copy->getResult(0).setType(type);
      if (auto constant = dyn_cast<arith::ConstantOp>(copy))
        constant.setValueAttr(
            cast<DenseElementsAttr>(constant.getValue()).resizeSplat(cast<ShapedType>(type)));
      made = copy->getResult(0);
    } else {
      made = converted(tile, layout);
    }
    versions.push_back({tile, made});
    return made;
  }

  // True if a slot is read for what the op gives. Of what can be made.
  static bool comesOfSlot(Operation *op) {
    return llvm::any_of(op->getOperands(), [](Value operand) {
      Operation *source = operand.getDefiningOp();
      return isa_and_present<ReadSlotOp>(source) || (isMade(source) && comesOfSlot(source));
    });
  }

private:
  // Each path to a value is a question of its own: long chains stay as they are.
  static constexpr unsigned mostAsked = 4096;

  bool canMake(Value tile, const LinearLayout &layout, bool isOperand, unsigned &left) const {
    constexpr unsigned mostMoved = 16; // registers
    if (!left || !--left)
      return false;
    if (isInPlace(tile, layout))
      return true;
    Operation *op = tile.getDefiningOp();
    if (auto read = dyn_cast_or_null<ReadSlotOp>(op))
      return layout.rank() == 1 || readsWell(read, layout);
    if (isMade(op)) {
      for (OpOperand &operand : op->getOpOperands()) {
        if (!tile::isTile(operand.get()))
          continue;
        auto wanted = backward(op, 0, layout, operand.getOperandNumber());
        if (!wanted || !canMake(operand.get(), *wanted, /*isOperand=*/false, left))
          return false;
      }
      return !isOperand || comesOfSlot(op);
    }
    return !isOperand && registersOf(layout) <= mostMoved;
  }

  static bool isInPlace(Value tile, const LinearLayout &layout) {
    LinearLayout own = layoutOf(tile.getType());
    return own.bases(LayoutInput::Lane) == layout.bases(LayoutInput::Lane) &&
           own.bases(LayoutInput::Warp) == layout.bases(LayoutInput::Warp);
  }
  bool readsWell(ReadSlotOp read, const LinearLayout &layout) const {
    SharedOperand shared(read.getRing().getType().getTile());
    return shared.matricesAlong(layout) ||
           shared.readVector(layout) * shared.bytesOfElement() >= fewestBytes;
  }

  SmallVector<std::pair<Value, Value>> versions;
};

} // namespace

// How many neighbours along K a lane may have: two, as `ldmatrix` brings them; as many as it has
// where an operand lies; and what reads rows of words without bank conflicts, or nearly.
static SmallVector<unsigned> neighboursToTry(tile::DotOp dot) {
  SmallVector<unsigned> counts = {2};
  for (unsigned number : {0u, 1u})
    if (auto step = layoutOf(dot->getOperand(number).getType()).bases(LayoutInput::Lane)[0];
        step[number] == 0 && step[1 - number])
      counts.push_back(unsigned(step[1 - number]));
  counts.append({8, 4});
  int64_t depth = tile::shapeOf(dot.getLhs().getType())[1];
  llvm::erase_if(counts, [&](unsigned count) { return 4 * count > depth; });
  return counts;
}

namespace {

// A tile of at least 16 x 8 elements of 16 bits that lies in shared memory along N, as `ldmatrix`
// turns it over: a thread has four neighbours along K, so that words of them are written 16 bytes
// at once.
LinearLayout turnedMatrices(ArrayRef<int64_t> shape, unsigned warps) {
  LinearLayout layout(2);
  auto add = [&](LayoutInput input, unsigned dim, int64_t step) {
    layout.addBasis(input, unit(2, dim, step));
  };
  for (int64_t step : {1, 2})
    add(LayoutInput::Register, 0, step);
  for (int64_t step : {4, 8})
    add(LayoutInput::Lane, 0, step);
  for (int64_t step : {1, 2, 4})
    add(LayoutInput::Lane, 1, step);
  for (auto [dim, done] : {std::pair<unsigned, int64_t>(1, 8), {0, 16}})
    for (; done < shape[dim]; done *= 2)
      add(layout.bits(LayoutInput::Warp) < llvm::Log2_32(warps) ? LayoutInput::Warp
                                                                : LayoutInput::Register,
          dim, done);
  while (layout.bits(LayoutInput::Warp) < llvm::Log2_32(warps))
    layout.addBasis(LayoutInput::Warp, LinearLayout::Basis(2, 0));
  return layout;
}

// Words along K in another order, one for both operands: in each eight the even ones come first. So
// the pairs that a lane has of a sum, or of halves by `ldmatrix`, are the words that a fragment of
// the left operand has of it, four apart.
class PairsApart {
public:
  // How a tile lies whose reordered version lies in `layout`.
  static LinearLayout before(const LinearLayout &layout, ArrayRef<int64_t> shape, unsigned dim) {
    return swapped(layout, shape, dim, {2, 4});
  }
  static LinearLayout behind(const LinearLayout &layout, ArrayRef<int64_t> shape, unsigned dim) {
    return swapped(layout, shape, dim, {4, 2});
  }

  // The tile in that order; what a thread has of `dim` comes first, so that it is written at once.
  static Value make(Value tile, unsigned dim) {
    OpBuilder b(tile.getContext());
    b.setInsertionPointAfterValue(tile);
    Location loc = tile.getLoc();
    auto type = cast<RankedTensorType>(tile.getType());
    auto typed = [&](ArrayRef<int64_t> shape, const LinearLayout &layout) {
      return withLayout(RankedTensorType::get(shape, type.getElementType()), layout);
    };
    auto from = split(type.getShape(), dim, {4, 2}), to = split(type.getShape(), dim, {2, 4});
    LinearLayout layout = reshapeLayout(layoutOf(type), type.getShape(), from);
    Value parts = b.create<tile::ReshapeOp>(loc, typed(from, layout), tile, UnitAttr());
    auto turned = b.create<tile::TransOp>(loc, typed(to, exchanged(layout, dim)), parts,
                                          order(from.size(), dim));
    return b.create<tile::ReshapeOp>(
        loc, typed(type.getShape(), behind(layoutOf(type), type.getShape(), dim)), turned,
        UnitAttr());
  }

private:
  static SmallVector<int64_t> split(ArrayRef<int64_t> shape, unsigned dim,
                                    std::array<int64_t, 2> parts) {
    SmallVector<int64_t> out(shape);
    out[dim] /= 8;
    out.insert(out.begin() + dim + 1, parts.begin(), parts.end());
    return out;
  }
  static SmallVector<int32_t> order(size_t rank, unsigned dim) {
    auto out = llvm::to_vector(llvm::seq<int32_t>(0, int32_t(rank)));
    std::swap(out[dim + 1], out[dim + 2]);
    return out;
  }
  static LinearLayout exchanged(const LinearLayout &layout, unsigned dim) {
    LinearLayout out(layout.rank());
    for (LayoutInput input : {LayoutInput::Register, LayoutInput::Lane, LayoutInput::Warp})
      for (LinearLayout::Basis basis : layout.bases(input)) {
        std::swap(basis[dim + 1], basis[dim + 2]);
        out.addBasis(input, std::move(basis));
      }
    return out;
  }
  static LinearLayout swapped(const LinearLayout &layout, ArrayRef<int64_t> shape, unsigned dim,
                              std::array<int64_t, 2> parts) {
    return reshapeLayout(exchanged(reshapeLayout(layout, shape, split(shape, dim, parts)), dim),
                         split(shape, dim, {parts[1], parts[0]}), shape);
  }
};

// The layout with what a thread has next to each other along `dim` in its first registers.
LinearLayout neighboursFirst(const LinearLayout &layout, unsigned dim) {
  LinearLayout out(layout.rank());
  SmallVector<LinearLayout::Basis> bases(layout.bases(LayoutInput::Register));
  llvm::stable_sort(bases, [&](const LinearLayout::Basis &a, const LinearLayout::Basis &b) {
    return uint32_t(a[dim]) - 1 < uint32_t(b[dim]) - 1; // those without a step last
  });
  for (LinearLayout::Basis &basis : bases)
    out.addBasis(LayoutInput::Register, std::move(basis));
  for (LayoutInput input : {LayoutInput::Lane, LayoutInput::Warp})
    for (const LinearLayout::Basis &basis : layout.bases(input))
      out.addBasis(input, basis);
  return out;
}

class Operands {
public:
  explicit Operands(unsigned warps) : warps(warps) {}

  // Both come without a way through shared memory, in one order along K; or one does, and the
  // other, which takes that way as it is, arrives in the same order.
  void ofMma(tile::DotOp dot) {
    bool isLeftInSlot = slotOperand(dot.getLhs()).has_value();
    bool isRightInSlot = slotOperand(dot.getRhs()).has_value();
    if (dot->hasAttr(neighboursAttr) || dot->hasAttr(columnsTogetherAttr) ||
        (isLeftInSlot && isRightInSlot)) // `ldmatrix` reads both
      return;
    auto counts = neighboursToTry(dot);
    for (bool both : {true, false})
      for (unsigned bytes : {16u, 8u}) {
        recompute.fewestBytes = bytes;
        for (unsigned count : counts) {
          setNeighbours(dot, count);
          LinearLayout lhs = *fragmentsOf(dot, true, warps), rhs = *fragmentsOf(dot, false, warps);
          if (registersOf(lhs) > most || registersOf(rhs) > most)
            continue;
          bool makesLeft = recompute.canMake(dot.getLhs(), lhs);
          bool makesRight = recompute.canMake(dot.getRhs(), rhs);
          if (both ? !(makesLeft && makesRight)
                   : !((makesLeft && !isRightInSlot) || (makesRight && !isLeftInSlot)))
            continue;
          Value left = makesLeft ? recompute.make(dot.getLhs(), lhs) : moved(dot.getLhs(), lhs);
          Value right = makesRight ? recompute.make(dot.getRhs(), rhs) : moved(dot.getRhs(), rhs);
          dot->setOperand(0, left);
          dot->setOperand(1, right);
          return;
        }
      }
    dot->removeAttr(neighboursAttr);
  }

  // Words whose left operand lies as fragments do but for their order along K have the right one
  // in that order, too, and so have other products that read it and can.
  void reorder(ArrayRef<tile::DotOp> dots) {
    llvm::SmallDenseMap<Value, SmallVector<tile::DotOp>> byRight;
    llvm::SmallDenseSet<Value> wanted;
    for (tile::DotOp dot : dots) {
      auto lhs = fragmentsOf(dot, true, warps);
      if (!lhs || registersOf(*lhs) > most || dot->hasAttr(rowsTogetherAttr) ||
          tile::bytesInMemory(tile::elementType(dot.getLhs().getType())) != 4 ||
          slotOperand(dot.getLhs()) || slotOperand(dot.getRhs()))
        continue;
      recompute.fewestBytes = 16;
      auto canMake = [&](const LinearLayout &layout) {
        return layoutOf(dot.getLhs().getType()) == layout ||
               recompute.canMake(dot.getLhs(), layout);
      };
      if (!canMake(PairsApart::before(*lhs, tile::shapeOf(dot.getLhs().getType()), 1)))
        continue;
      byRight[dot.getRhs()].push_back(dot);
      if (!canMake(*lhs))
        wanted.insert(dot.getRhs());
    }
    for (tile::DotOp dot : dots) {
      Value right = dot.getRhs();
      if (!wanted.contains(right))
        continue;
      Value apart = rightApart(right);
      for (tile::DotOp user : byRight[right]) {
        auto lhs = PairsApart::before(*fragmentsOf(user, true, warps),
                                      tile::shapeOf(user.getLhs().getType()), 1);
        user->setOperand(0, PairsApart::make(recompute.make(user.getLhs(), lhs), 1));
        user->setOperand(1, apart);
      }
    }
  }

  // The left one comes in registers. The right one is written, 16 bytes along K at once.
  void ofWgmma(tile::DotOp dot) {
    // A thread's halves are pairs.
    bool isOfHalves = tile::bytesInMemory(tile::elementType(dot.getLhs().getType())) == 2;
    recompute.fewestBytes = isOfHalves ? 8 : 16;
    if (auto lhs = fragmentsOf(dot, true, warps);
        lhs && !slotOperand(dot.getLhs()) && registersOf(*lhs) <= most)
      makeOperand(dot, 0, *lhs);
    if (isOfHalves)
      return;
    Value right = dot.getRhs();
    auto shape = tile::shapeOf(right.getType());
    if (!slotOperand(right) && shape[0] >= 16 && shape[1] >= 8 &&
        consecutiveRegisters(layoutOf(right.getType()), 0) < 4)
      makeOperand(dot, 1, turnedMatrices(shape, warps));
  }

private:
  // A right operand with its words in the other order, as it is written: four at once along K where
  // it comes of slots of halves.
  Value rightApart(Value right) {
    auto shape = tile::shapeOf(right.getType());
    auto written = [&] {
      return neighboursFirst(PairsApart::behind(layoutOf(right.getType()), shape, 0), 0);
    };
    if (shape[0] >= 16 && shape[1] >= 8 && consecutiveRegisters(written(), 0) < 4) {
      LinearLayout turned = PairsApart::before(turnedMatrices(shape, warps), shape, 0);
      if (recompute.canMake(right, turned))
        right = recompute.make(right, turned);
    }
    LinearLayout layout = written();
    Value apart = PairsApart::make(right, 0);
    return layoutOf(apart.getType()) == layout ? apart : moved(apart, layout);
  }

  // A tile that moves, before it was widened.
  static Value moved(Value tile, const LinearLayout &layout) {
    auto widened = tile.getDefiningOp<arith::ExtFOp>();
    if (!widened)
      return converted(tile, layout);
    OpBuilder b(widened->getContext());
    b.setInsertionPointAfter(widened);
    return b.create<arith::ExtFOp>(tile.getLoc(), withLayout(tile.getType(), layout),
                                   moved(widened.getIn(), layout));
  }

  void makeOperand(tile::DotOp dot, unsigned number, const LinearLayout &layout) {
    Value operand = dot->getOperand(number);
    if (layoutOf(operand.getType()) != layout && recompute.canMake(operand, layout))
      dot->setOperand(number, recompute.make(operand, layout));
  }

  static constexpr unsigned most = 64; // registers of an operand
  unsigned warps;
  Recompute recompute;
};

// What is computed of slots and moves to another layout is computed there of slots that are read
// so, where nobody wants it as it was: the accesses to what is copied to a slot say nothing of
// where it is best computed.
//
//   r = read_slot : A                              r = read_slot : B
//   convert_layout(exp(extf(r))) : A -> B    =>    exp(extf(r)) : B
class MovedSlots {
public:
  explicit MovedSlots(FunctionOpInterface kernel) {
    kernel->walk([&](ConvertLayoutOp move) {
      if (isBetter(move))
        moves.insert(move);
    });
  }

  void computeBehind() {
    while (dropOneOfOthers())
      ;
    for (Operation *op : moves) {
      auto move = cast<ConvertLayoutOp>(op);
      move.replaceAllUsesWith(recompute.make(move.getSource(), layoutOf(move.getType())));
    }
  }

private:
  bool isBetter(ConvertLayoutOp move) {
    constexpr unsigned few = 16; // registers
    Operation *source = move.getSource().getDefiningOp();
    LinearLayout from = layoutOf(move.getSource().getType()), to = layoutOf(move.getType());
    recompute.fewestBytes = 8;
    return source && (isa<ReadSlotOp>(source) || Recompute::isMade(source)) &&
           (from.bases(LayoutInput::Lane) != to.bases(LayoutInput::Lane) ||
            from.bases(LayoutInput::Warp) != to.bases(LayoutInput::Warp)) &&
           registersOf(to) <= std::max(few, registersOf(from)) &&
           recompute.canMake(move.getSource(), to);
  }

  // The ops on the way from slots to a move's tile.
  static void addChain(Value tile, llvm::SetVector<Operation *> &chain) {
    Operation *op = tile.getDefiningOp();
    if (!Recompute::isMade(op) || !Recompute::comesOfSlot(op) || !chain.insert(op))
      return;
    for (Value operand : op->getOperands())
      if (tile::isTile(operand))
        addChain(operand, chain);
  }

  // Takes out a move of which an op would be computed twice. Moves to one layout go together.
  bool dropOneOfOthers() {
    for (Operation *op : moves) {
      auto isAlike = [&](Operation *other) {
        return moves.contains(other) &&
               layoutOf(other->getResult(0).getType()).bases(LayoutInput::Lane) ==
                   layoutOf(op->getResult(0).getType()).bases(LayoutInput::Lane);
      };
      llvm::SetVector<Operation *> all, own;
      for (Operation *other : moves)
        if (isAlike(other))
          addChain(other->getOperand(0), all);
      addChain(op->getOperand(0), own);
      auto isWanted = [&](Operation *one) {
        return llvm::any_of(one->getUsers(),
                            [&](Operation *user) { return !all.contains(user) && !isAlike(user); });
      };
      if (llvm::any_of(own, isWanted)) {
        moves.remove(op);
        return true;
      }
    }
    return false;
  }

  llvm::SetVector<Operation *> moves;
  Recompute recompute;
};

} // namespace

void computeOperandsInFragments(FunctionOpInterface kernel, unsigned warps) {
  constexpr unsigned wordBytes = 4, halfBytes = 2;
  SmallVector<tile::DotOp> dots;
  kernel->walk([&](tile::DotOp dot) {
    unsigned bytes = tile::bytesInMemory(tile::elementType(dot.getLhs().getType()));
    if ((bytes == wordBytes || (bytes == halfBytes && isWgmma(dot))) &&
        !dot->hasAttr(rowsTogetherAttr))
      dots.push_back(dot);
  });
  Operands operands(warps);
  operands.reorder(llvm::to_vector(llvm::make_filter_range(dots, isWgmma)));
  for (tile::DotOp dot : dots) {
    auto instruction = dot->getAttrOfType<StringAttr>(instructionAttr);
    if (isWgmma(dot))
      operands.ofWgmma(dot);
    else if (instruction && instruction.getValue() == "mma")
      operands.ofMma(dot);
  }
  MovedSlots(kernel).computeBehind();
  // What was read before.
  kernel->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (op->use_empty() && (isa<ReadSlotOp>(op) || isOpTriviallyDead(op)))
      op->erase();
  });
}

} // namespace nereid::gpu
