// Ops that only say where an element comes from.
#include "cpu/Exchanges.h"
#include "cpu/LaneModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

struct ArangeLanes : LaneModel<ArangeLanes, tile::ArangeOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    OpBuilder &b = emitter.builder;
    Value first = b.create<arith::TruncIOp>(emitter.loc(), b.getI32Type(), where.position[0]);
    if (int32_t start = cast<tile::ArangeOp>(op).getStart())
      first = emitter.add(first, emitter.constant(b.getI32Type(), start));
    if (where.width == 1)
      return first;
    return emitter.add(emitter.splat(first, where.width),
                       emitter.iota(b.getI32Type(), where.width));
  }
};

struct SplatLanes : LaneModel<SplatLanes, tile::SplatOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    return emitter.splat(emitter.scalar(op->getOperand(0)), where.width);
  }
};

struct UnsplatLanes : LaneModel<UnsplatLanes, tile::UnsplatOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &) const {
    Lanes only;
    only.position.assign(tile::shapeOf(op->getOperand(0).getType()).size(), emitter.index(0));
    return emitter.lanes(op->getOperand(0), only);
  }
};

struct BroadcastLanes : LaneModel<BroadcastLanes, tile::BroadcastOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    Lanes there = emitter.inOperand(op, where);
    Value value = emitter.lanes(op->getOperand(0), there);
    return there.width == where.width ? value : emitter.splat(value, where.width);
  }
};

struct ExpandDimsLanes : LaneModel<ExpandDimsLanes, tile::ExpandDimsOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    return emitter.lanes(op->getOperand(0), emitter.inOperand(op, where));
  }
};

struct TransLanes : LaneModel<TransLanes, tile::TransOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    auto perm = cast<tile::TransOp>(op).getPerm();
    Lanes there = where;
    for (auto [d, from] : llvm::enumerate(perm))
      there.position[from] = where.position[d];
    there.dim = perm[where.dim];
    return emitter.lanes(op->getOperand(0), there);
  }
};

// lhs where `second` is false, else rhs.
Value choose(LaneEmitter &emitter, Value second, Value lhs, Value rhs) {
  return emitter.builder.create<LLVM::SelectOp>(emitter.loc(), second, rhs, lhs);
}

// What `shape` has behind its first `count` dimensions, in all.
int64_t elementsBehind(ArrayRef<int64_t> shape, size_t count) {
  int64_t product = 1;
  for (int64_t extent : shape.drop_front(count))
    product *= extent;
  return product;
}

// True if `tile` is made by `join`s alone of tiles that have one dimension behind the first `lead`.
bool isJoined(Value tile, size_t lead) {
  if (tile::shapeOf(tile.getType()).size() == lead + 1)
    return true;
  auto join = tile.getDefiningOp<tile::JoinOp>();
  return join && isJoined(join.getLhs(), lead) && isJoined(join.getRhs(), lead);
}

// The source lies in a buffer, row by row: the same memory under another shape. If only dimensions
// of one element come or go, lanes stay lanes. Pairs that become a row, and a row that becomes
// pairs, are exchanged in registers.
struct ReshapeLanes : LaneModel<ReshapeLanes, tile::ReshapeOp> {
  bool needsBuffer(Operation *op, unsigned) const {
    return !keepsRows(op) && !interleaves(op) && !takesPairs(op);
  }
  static bool keepsRows(Operation *op) {
    return isSameRow(tile::shapeOf(op->getOperand(0).getType()),
                     tile::shapeOf(op->getResult(0).getType()));
  }
  // [.., 2 N] to [.., N, 2].
  static bool takesPairs(Operation *op) {
    auto from = tile::shapeOf(op->getOperand(0).getType()),
         to = tile::shapeOf(op->getResult(0).getType());
    return !from.empty() && from.size() + 1 == to.size() && to.back() == 2 &&
           from.drop_back() == to.drop_back(2);
  }
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    Value tile = op->getOperand(0);
    if (keepsRows(op))
      return emitter.lanes(tile, inSameRow(op, emitter, where));
    if (emitter.plan.stored(tile)) {
      Buffer source = emitter.buffer(tile);
      source.shape.assign(tile::shapeOf(op->getResult(0).getType()).begin(),
                          tile::shapeOf(op->getResult(0).getType()).end());
      return emitter.read(source, where);
    }
    return takesPairs(op) ? ofPairs(tile, emitter, where)
                          : joined(tile, where.position.size() - 1, emitter, where);
  }
  static Lanes inSameRow(Operation *op, LaneEmitter &emitter, const Lanes &where) {
    auto from = tile::shapeOf(op->getOperand(0).getType()),
         to = tile::shapeOf(op->getResult(0).getType());
    Lanes there;
    there.width = where.width;
    size_t next = 0;
    for (size_t d = 0; d < from.size(); ++d) {
      if (from[d] == 1) {
        there.position.push_back(emitter.index(0));
        continue;
      }
      while (to[next] == 1)
        ++next;
      if (next == where.dim)
        there.dim = unsigned(d);
      there.position.push_back(where.position[next++]);
    }
    return there;
  }
  // Lanes of a row that pairs lie in: every second one from the first or from the second on.
  static Value ofPairs(Value row, LaneEmitter &emitter, const Lanes &where) {
    OpBuilder &b = emitter.builder;
    Lanes there = where;
    Value which = there.position.pop_back_val();
    const unsigned dim = there.position.size() - 1;
    there.position[dim] = emitter.doubled(there.position[dim]);
    bool isSecondKnown = false, isSecond = false;
    if (auto constant = which.getDefiningOp<arith::ConstantOp>()) {
      isSecondKnown = true;
      isSecond = cast<IntegerAttr>(constant.getValue()).getInt() == 1;
    }
    if (where.dim > dim) { // a pair, or one of it
      there.dim = dim;
      if (where.width == 1)
        there.position[dim] = emitter.add(there.position[dim], which);
      return emitter.lanes(row, there);
    }
    if (where.dim < dim || where.width == 1) {
      there.position[dim] = emitter.add(there.position[dim], which);
      return emitter.lanes(row, there);
    }
    there.width *= 2;
    Value both = emitter.lanes(row, there);
    auto half = [&](int32_t first) {
      SmallVector<int32_t> from;
      for (int64_t lane = 0; lane < where.width; ++lane)
        from.push_back(int32_t(2 * lane) + first);
      return emitter.shuffle(both, both, from);
    };
    if (isSecondKnown)
      return half(isSecond);
    Value second =
        b.create<arith::CmpIOp>(emitter.loc(), arith::CmpIPredicate::ne, which, emitter.index(0));
    return choose(emitter, second, half(0), half(1));
  }
  // Lanes of `tile` with all behind the first `lead` dimensions as one row.
  static Value joined(Value tile, size_t lead, LaneEmitter &emitter, const Lanes &where) {
    auto shape = tile::shapeOf(tile.getType());
    if (shape.size() == lead + 1)
      return emitter.lanes(tile, where);
    if (emitter.plan.stored(tile)) {
      Buffer source = emitter.buffer(tile);
      source.shape.assign(shape.begin(), shape.begin() + lead);
      source.shape.push_back(elementsBehind(shape, lead));
      return emitter.read(source, where);
    }
    auto join = tile.getDefiningOp<tile::JoinOp>();
    OpBuilder &b = emitter.builder;
    Lanes there = where;
    there.position[lead] = emitter.halved(where.position[lead]);
    if (where.dim == lead && where.width > 1) {
      there.width /= 2;
      Value lhs = joined(join.getLhs(), lead, emitter, there),
            rhs = joined(join.getRhs(), lead, emitter, there);
      if (there.width == 1) {
        Type type = laneType(tile::elementType(tile.getType()), 2);
        return emitter.insert(emitter.insert(emitter.undef(type), lhs, 0), rhs, 1);
      }
      SmallVector<int32_t> from;
      for (int32_t lane = 0; lane < there.width; ++lane)
        from.append({lane, int32_t(there.width) + lane});
      return emitter.shuffle(lhs, rhs, from);
    }
    Value bit = b.create<arith::AndIOp>(emitter.loc(), where.position[lead], emitter.index(1));
    Value second =
        b.create<arith::CmpIOp>(emitter.loc(), arith::CmpIPredicate::ne, bit, emitter.index(0));
    Value lhs = joined(join.getLhs(), lead, emitter, there),
          rhs = joined(join.getRhs(), lead, emitter, there);
    return choose(emitter, second, lhs, rhs);
  }
};

struct JoinLanes : LaneModel<JoinLanes, tile::JoinOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    Lanes there = where;
    Value which = there.position.pop_back_val();
    bool across = where.dim + 1 == where.position.size() && where.width > 1;
    if (where.dim + 1 == where.position.size()) {
      there.dim = 0;
      there.width = 1;
    }
    Value lhs = emitter.lanes(op->getOperand(0), there);
    Value rhs = emitter.lanes(op->getOperand(1), there);
    if (across) {
      Type type = laneType(tile::elementType(op->getResult(0).getType()), 2);
      return emitter.insert(emitter.insert(emitter.undef(type), lhs, 0), rhs, 1);
    }
    Value second = emitter.builder.create<arith::CmpIOp>(emitter.loc(), arith::CmpIPredicate::ne,
                                                         which, emitter.index(0));
    return choose(emitter, second, lhs, rhs);
  }
};

struct SplitLanes : LaneModel<SplitLanes, tile::SplitOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned result, const Lanes &where) const {
    Lanes there = where;
    there.position.push_back(emitter.index(result));
    return emitter.lanes(op->getOperand(0), there);
  }
};

struct CatLanes : LaneModel<CatLanes, tile::CatOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    OpBuilder &b = emitter.builder;
    int64_t half = tile::shapeOf(op->getOperand(0).getType())[0];
    Value at = where.position[0];
    Value second =
        b.create<arith::CmpIOp>(emitter.loc(), arith::CmpIPredicate::sge, at, emitter.index(half));
    // Lanes of which half are in either tile only come with tiles of one vector.
    if (where.width > half) {
      Lanes all;
      all.position = {emitter.index(0)};
      all.width = half;
      Value lhs = emitter.lanes(op->getOperand(0), all),
            rhs = emitter.lanes(op->getOperand(1), all);
      if (half == 1) {
        Type type = laneType(tile::elementType(op->getResult(0).getType()), 2);
        return emitter.insert(emitter.insert(emitter.undef(type), lhs, 0), rhs, 1);
      }
      return emitter.shuffle(lhs, rhs, llvm::to_vector(llvm::seq<int32_t>(0, 2 * half)));
    }
    Lanes there = where;
    Value beyond = b.create<arith::SubIOp>(emitter.loc(), at, emitter.index(half));
    there.position[0] = b.create<arith::SelectOp>(emitter.loc(), second, emitter.index(0), at);
    Value lhs = emitter.lanes(op->getOperand(0), there);
    there.position[0] = b.create<arith::SelectOp>(emitter.loc(), second, beyond, emitter.index(0));
    Value rhs = emitter.lanes(op->getOperand(1), there);
    return choose(emitter, second, lhs, rhs);
  }
};

struct GatherLanes : LaneModel<GatherLanes, tile::GatherOp> {
  bool needsBuffer(Operation *op, unsigned operand) const {
    auto bits = operand == 0 ? bitIndex(cast<tile::GatherOp>(op)) : std::nullopt;
    return operand == 0 && !(bits && bits->block() <= mostInRegisters);
  }
  bool isCostlyLane(Operation *op) const { return !bitIndex(cast<tile::GatherOp>(op)); }
  // Whole vectors whose lanes are exchanged.
  static Value exchanged(tile::GatherOp gather, BitIndex bits, LaneEmitter &emitter,
                         const Lanes &where) {
    const unsigned axis = gather.getAxis();
    const int64_t inside = where.dim == axis ? where.width - 1 : 0;
    Lanes there = where;
    there.position[axis] =
        emitter.withBits(where.position[axis], bits.keep | inside, bits.flip & ~inside);
    Value value = emitter.lanes(gather.getSource(), there);
    SmallVector<int32_t> from;
    for (int64_t lane = 0; lane <= inside; ++lane)
      from.push_back(int32_t((lane & bits.keep) ^ (bits.flip & inside)));
    return inside && (~bits.keep & inside || bits.flip & inside)
               ? emitter.shuffle(value, value, from)
               : value;
  }
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    auto gather = cast<tile::GatherOp>(op);
    if (auto bits = bitIndex(gather))
      return exchanged(gather, *bits, emitter, where);
    OpBuilder &b = emitter.builder;
    Location loc = emitter.loc();
    Buffer source = emitter.buffer(gather.getSource());
    unsigned axis = gather.getAxis();
    Type wide = laneType(b.getI64Type(), where.width);
    Value indices = emitter.lanes(gather.getIndices(), where);
    if (indices.getType() != wide)
      indices = b.create<arith::ExtSIOp>(loc, wide, indices);
    // An index out of range reads some element of the tile and never foreign memory.
    indices = b.create<arith::AndIOp>(
        loc, indices, emitter.constant(b.getI64Type(), source.shape[axis] - 1, where.width));
    SmallVector<Value> first(where.position.begin(), where.position.end());
    first[axis] = emitter.index(0);
    auto stride = [&](unsigned dim) {
      int64_t product = 1;
      for (unsigned d = dim + 1; d < source.shape.size(); ++d)
        product *= source.shape[d];
      return product;
    };
    Value offset = b.create<arith::MulIOp>(
        loc, indices, emitter.constant(b.getI64Type(), stride(axis), where.width));
    if (where.dim != axis && where.width > 1)
      offset = emitter.add(offset,
                           b.create<arith::MulIOp>(
                               loc, emitter.iota(b.getI64Type(), where.width),
                               emitter.constant(b.getI64Type(), stride(where.dim), where.width)));
    Value address = emitter.elementAddress(emitter.address(source, first), offset, source.element);
    return emitter.loadElements(address, source.element, where.width, {}, {});
  }
};

struct HistogramLanes : LaneModel<HistogramLanes, tile::HistogramOp> {
  bool runsWhole(Operation *) const { return true; }
  void emitWhole(Operation *op, LaneEmitter &emitter) const {
    auto histogram = cast<tile::HistogramOp>(op);
    OpBuilder &b = emitter.builder;
    Location loc = emitter.loc();
    Buffer bins = emitter.buffer(histogram.getResult());
    Value zero = emitter.constant(b.getI32Type(), 0);
    emitter.forEach(bins.shape, 0, 1,
                    [&](const Lanes &where) { emitter.write(bins, where, zero); });
    Value source = histogram.getSource();
    emitter.forEach(tile::shapeOf(source.getType()), 0, 1, [&](const Lanes &where) {
      Value bin = emitter.lanes(source, where);
      if (bin.getType() != b.getI64Type())
        bin = b.create<arith::ExtSIOp>(loc, b.getI64Type(), bin);
      Value counts = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, bin,
                                             emitter.index(bins.shape[0]));
      if (Value mask = histogram.getMask())
        counts = b.create<arith::AndIOp>(loc, counts, emitter.lanes(mask, where));
      emitter.when(counts, [&] {
        Lanes at;
        at.position = {bin};
        Value more = emitter.add(emitter.read(bins, at), emitter.constant(b.getI32Type(), 1));
        emitter.write(bins, at, more);
      });
    });
  }
};

} // namespace

bool interleaves(Operation *op) {
  auto reshape = dyn_cast<tile::ReshapeOp>(op);
  if (!reshape)
    return false;
  auto from = tile::shapeOf(reshape.getSource().getType()),
       to = tile::shapeOf(reshape.getResult().getType());
  return !to.empty() && from.size() > to.size() &&
         from.take_front(to.size() - 1) == to.drop_back() &&
         isJoined(reshape.getSource(), to.size() - 1);
}

void registerShapeLanes(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    using namespace tile;
    ArangeOp::attachInterface<ArangeLanes>(*context);
    SplatOp::attachInterface<SplatLanes>(*context);
    UnsplatOp::attachInterface<UnsplatLanes>(*context);
    BroadcastOp::attachInterface<BroadcastLanes>(*context);
    ExpandDimsOp::attachInterface<ExpandDimsLanes>(*context);
    TransOp::attachInterface<TransLanes>(*context);
    ReshapeOp::attachInterface<ReshapeLanes>(*context);
    JoinOp::attachInterface<JoinLanes>(*context);
    SplitOp::attachInterface<SplitLanes>(*context);
    CatOp::attachInterface<CatLanes>(*context);
    GatherOp::attachInterface<GatherLanes>(*context);
    HistogramOp::attachInterface<HistogramLanes>(*context);
  });
}

} // namespace nereid::cpu
