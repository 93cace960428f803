// Tensor descriptors: plain fields on the CPU, blocks read and written with a check of each
// coordinate.
#include "cpu/LaneModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

// Lanes of one access: the address of each, or of the first if they are adjacent, and which of them
// lie inside the tensor.
struct Reached {
  Value pointer;
  Value mask;
};

class BlockAccess {
public:
  BlockAccess(LaneEmitter &emitter, Value desc)
      : emitter(emitter), b(emitter.builder), fields(emitter.descriptor(desc)),
        element(cast<tile::DescType>(desc.getType()).getElementType()),
        rank(cast<tile::DescType>(desc.getType()).getBlockShape().size()) {}

  // `coordinates`: i64 scalars, or vectors of `width` where they differ from lane to lane. Lanes
  // that run along the last dimension are adjacent: its stride is 1.
  Reached reach(ArrayRef<Value> coordinates, int64_t width, bool adjacent) {
    Reached out;
    Value offset;
    for (unsigned d = 0; d < rank; ++d) {
      Value at = coordinates[d];
      bool varies = widthOf(at.getType()) > 1;
      Value extent = fields[1 + d], stride = fields[1 + rank + d];
      // Unsigned: a negative coordinate lies outside too.
      Value inside = b.create<arith::CmpIOp>(emitter.loc(), arith::CmpIPredicate::ult, at,
                                             varies ? emitter.splat(extent, width) : extent);
      if (!varies)
        inside = emitter.splat(inside, width);
      out.mask =
          out.mask ? b.create<arith::AndIOp>(emitter.loc(), out.mask, inside).getResult() : inside;
      if (adjacent && varies)
        at = emitter.extract(at, 0);
      bool stays = varies && !adjacent;
      Value part =
          b.create<arith::MulIOp>(emitter.loc(), at, stays ? emitter.splat(stride, width) : stride);
      offset = sum(offset, part, width);
    }
    out.pointer = emitter.elementAddress(fields[0], offset, element);
    return out;
  }

  Type elementType() const { return element; }

private:
  Value sum(Value a, Value c, int64_t width) {
    if (!a)
      return c;
    int64_t wide = std::max(widthOf(a.getType()), widthOf(c.getType()));
    auto widen = [&](Value v) {
      return widthOf(v.getType()) == wide ? v : emitter.splat(v, width);
    };
    return emitter.add(widen(a), widen(c));
  }

  LaneEmitter &emitter;
  OpBuilder &b;
  ArrayRef<Value> fields;
  Type element;
  unsigned rank;
};

Value extend(LaneEmitter &emitter, Value value) {
  Type wide = laneType(emitter.builder.getI64Type(), widthOf(value.getType()));
  return emitter.builder.create<arith::ExtSIOp>(emitter.loc(), wide, value);
}

// offsets + position, a vector along the dimension of the lanes.
SmallVector<Value> blockCoordinates(LaneEmitter &emitter, ValueRange offsets, const Lanes &where) {
  SmallVector<Value> out;
  for (auto [d, offset] : llvm::enumerate(offsets)) {
    Value at = emitter.add(extend(emitter, emitter.scalar(offset)), where.position[d]);
    if (d == where.dim && where.width > 1)
      at = emitter.add(emitter.splat(at, where.width),
                       emitter.iota(emitter.builder.getI64Type(), where.width));
    out.push_back(at);
  }
  return out;
}

// rows[i], column + j
SmallVector<Value> rowCoordinates(LaneEmitter &emitter, Value rows, Value column,
                                  const Lanes &where) {
  Lanes row;
  row.position = {where.position[0]};
  row.width = where.dim == 0 ? where.width : 1;
  Value across = emitter.add(extend(emitter, emitter.scalar(column)), where.position[1]);
  if (where.dim == 1 && where.width > 1)
    across = emitter.add(emitter.splat(across, where.width),
                         emitter.iota(emitter.builder.getI64Type(), where.width));
  return {extend(emitter, emitter.lanes(rows, row)), across};
}

template <typename Op>
SmallVector<Value> coordinatesOf(Op op, LaneEmitter &emitter, const Lanes &where) {
  if constexpr (requires { op.getRows(); })
    return rowCoordinates(emitter, op.getRows(), op.getColumn(), where);
  else
    return blockCoordinates(emitter, op.getOffsets(), where);
}

template <typename Op> struct ReadLanes : LaneModel<ReadLanes<Op>, Op> {
  bool isCostlyLane(Operation *) const { return true; }
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &where) const {
    auto read = cast<Op>(op);
    BlockAccess access(emitter, read.getDesc());
    unsigned rank = where.position.size();
    bool adjacent = where.dim + 1 == rank || where.width == 1;
    Reached lanes = access.reach(coordinatesOf(read, emitter, where), where.width, adjacent);
    Type element = access.elementType();
    Value padding;
    if (cast<tile::DescType>(read.getDesc().getType()).getPaddingIsNan())
      padding = nan(emitter, element, where.width);
    return emitter.loadElements(lanes.pointer, element, where.width, lanes.mask, padding);
  }

  static Value nan(LaneEmitter &emitter, Type element, int64_t width) {
    auto format = dyn_cast<FloatType>(element);
    if (!format)
      return {};
    llvm::APFloat value = llvm::APFloat::getNaN(format.getFloatSemantics());
    OpBuilder &b = emitter.builder;
    if (format.getWidth() == 8)
      return emitter.constant(b.getIntegerAttr(b.getI8Type(), value.bitcastToAPInt()), width);
    return emitter.constant(b.getFloatAttr(format, value), width);
  }
};

template <typename Op> struct WriteLanes : LaneModel<WriteLanes<Op>, Op> {
  bool runsWhole(Operation *) const { return true; }
  void emitWhole(Operation *op, LaneEmitter &emitter) const {
    auto write = cast<Op>(op);
    auto shape = tile::shapeOf(write.getValue().getType());
    unsigned dim = LaneEmitter::preferredDim(shape);
    emitter.forEach(shape, dim, emitter.preferredWidth(shape, dim), [&](const Lanes &where) {
      BlockAccess access(emitter, write.getDesc());
      Value value = emitter.lanes(write.getValue(), where);
      bool adjacent = dim + 1 == shape.size() || where.width == 1;
      Reached lanes = access.reach(coordinatesOf(write, emitter, where), where.width, adjacent);
      emitter.storeElements(lanes.pointer, access.elementType(), where.width, value, lanes.mask);
    });
  }
};

struct DescReduceLanes : LaneModel<DescReduceLanes, tile::DescReduceOp> {
  bool runsWhole(Operation *) const { return true; }
  void emitWhole(Operation *op, LaneEmitter &emitter) const {
    auto reduce = cast<tile::DescReduceOp>(op);
    auto shape = tile::shapeOf(reduce.getValue().getType());
    emitter.forEach(shape, shape.size() - 1, 1, [&](const Lanes &where) {
      BlockAccess access(emitter, reduce.getDesc());
      Value value = emitter.lanes(reduce.getValue(), where);
      Reached lane = access.reach(coordinatesOf(reduce, emitter, where), 1, true);
      emitter.when(lane.mask, [&] {
        emitAtomic(emitter, op, reduce.getKind(), tile::MemSemantic::Relaxed, lane.pointer, value);
      });
    });
  }
};

struct MakeDescLanes : LaneModel<MakeDescLanes, tile::MakeDescOp> {
  bool runsWhole(Operation *) const { return true; }
  void emitWhole(Operation *op, LaneEmitter &emitter) const {
    SmallVector<Value> fields;
    for (Value operand : op->getOperands())
      fields.push_back(emitter.scalar(operand));
    emitter.setDescriptor(op->getResult(0), std::move(fields));
  }
};

struct DescFieldLanes : LaneModel<DescFieldLanes, tile::DescFieldOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &) const {
    auto field = cast<tile::DescFieldOp>(op);
    ArrayRef<Value> fields = emitter.descriptor(field.getDesc());
    size_t rank = (fields.size() - 1) / 2;
    if (field.getField() == "base")
      return emitter.builder.create<LLVM::PtrToIntOp>(emitter.loc(), emitter.builder.getI64Type(),
                                                      fields[0]);
    return fields[1 + field.getDim() + (field.getField() == "shape" ? 0 : rank)];
  }
};

} // namespace

void registerDescriptorLanes(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    using namespace tile;
    MakeDescOp::attachInterface<MakeDescLanes>(*context);
    DescFieldOp::attachInterface<DescFieldLanes>(*context);
    DescLoadOp::attachInterface<ReadLanes<DescLoadOp>>(*context);
    DescGatherOp::attachInterface<ReadLanes<DescGatherOp>>(*context);
    DescStoreOp::attachInterface<WriteLanes<DescStoreOp>>(*context);
    DescScatterOp::attachInterface<WriteLanes<DescScatterOp>>(*context);
    DescReduceOp::attachInterface<DescReduceLanes>(*context);
  });
}

} // namespace nereid::cpu
