// Tensor descriptors as plain fields: each thread checks and addresses its own elements, a vector
// at once where it reads rows. BulkCopies.h moves whole blocks.
#include "gpu/BulkCopies.h"
#include "gpu/RegisterModels.h"
#include "gpu/SharedOperand.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

Value extend(RegisterEmitter &e, Value value) {
  return e.builder.create<arith::ExtSIOp>(e.loc(), e.builder.getI64Type(), value);
}

// Where a register of a tile lies along a dimension of a descriptor's block, of which the tile may
// lack the first ones; null for 0.
Value coordinateInBlock(RegisterEmitter &e, const LinearLayout &layout, unsigned reg, size_t dim,
                        size_t rank) {
  size_t missing = rank - layout.rank();
  return dim < missing ? Value() : extend(e, e.coordinate(layout, reg, unsigned(dim - missing)));
}
Value sumOf(RegisterEmitter &e, Value a, Value b) { return b ? e.add(a, b) : a; }

// Coordinates (i64) of a register of a tile in `layout`.
template <typename Op>
SmallVector<Value> coordinatesOf(Op op, RegisterEmitter &e, const LinearLayout &layout,
                                 unsigned reg) {
  SmallVector<Value> out;
  if constexpr (requires { op.getRows(); }) {
    // rows[i], column + j; the rows lie as the tile does, but for the columns.
    RegisterIndex index(layoutOf(op.getRows().getType()), tile::shapeOf(op.getRows().getType()));
    LinearLayout::Basis at = layout.apply(reg, 0, 0);
    out.push_back(extend(e, e.registers(op.getRows())[index.at({at[0]})]));
    out.push_back(
        e.add(extend(e, e.scalar(op.getColumn())), extend(e, e.coordinate(layout, reg, 1))));
  } else {
    for (auto [d, offset] : llvm::enumerate(op.getOffsets()))
      out.push_back(sumOf(e, extend(e, e.scalar(offset)),
                          coordinateInBlock(e, layout, reg, d, op.getOffsets().size())));
  }
  return out;
}

struct Element {
  Value pointer, inside;
};

Element reach(RegisterEmitter &e, Value desc, ArrayRef<Value> coordinates) {
  OpBuilder &b = e.builder;
  ArrayRef<Value> fields = e.descriptor(desc);
  size_t rank = coordinates.size();
  Value offset, inside;
  for (size_t d = 0; d < rank; ++d) {
    // Unsigned: a negative coordinate lies outside too.
    Value within =
        b.create<arith::CmpIOp>(e.loc(), arith::CmpIPredicate::ult, coordinates[d], fields[1 + d]);
    inside = e.both(inside, within);
    Value part = b.create<arith::MulIOp>(e.loc(), coordinates[d], fields[1 + rank + d]);
    offset = offset ? e.add(offset, part) : part;
  }
  Type element = cast<tile::DescType>(desc.getType()).getElementType();
  Type memory = element.isInteger(1) ? b.getI8Type() : registerType(element);
  return {b.create<LLVM::GEPOp>(e.loc(), fields[0].getType(), memory, fields[0], offset), inside};
}

// The same for elements that lie in a row, whose stride is 1. What a loop does not change of an
// address is a sum of its own: a step adds the scalar part to it.
template <typename Op>
Element reachRow(Op op, RegisterEmitter &e, const LinearLayout &layout, unsigned reg) {
  OpBuilder &b = e.builder;
  ArrayRef<Value> fields = e.descriptor(op.getDesc());
  size_t rank = op.getOffsets().size();
  Value start, own, inside;
  auto addTo = [&](Value &sum, Value part) { sum = sum ? e.add(sum, part) : part; };
  for (auto [d, offset] : llvm::enumerate(op.getOffsets())) {
    Value first = extend(e, e.scalar(offset)), further = coordinateInBlock(e, layout, reg, d, rank);
    Value within = b.create<arith::CmpIOp>(e.loc(), arith::CmpIPredicate::ult,
                                           sumOf(e, first, further), fields[1 + d]);
    inside = e.both(inside, within);
    if (d + 1 < rank) {
      Value stride = fields[1 + rank + d];
      first = b.create<arith::MulIOp>(e.loc(), first, stride);
      if (further)
        further = b.create<arith::MulIOp>(e.loc(), further, stride);
    }
    addTo(start, first);
    if (further)
      addTo(own, further);
  }
  Type element = cast<tile::DescType>(op.getDesc().getType()).getElementType();
  Type pointer = fields[0].getType();
  Value place = b.create<LLVM::GEPOp>(e.loc(), pointer, registerType(element), fields[0], own);
  return {b.create<LLVM::GEPOp>(e.loc(), pointer, registerType(element), place, start), inside};
}

// How many elements of a row are inside from a coordinate on that is: `vector` at most, i64.
Value leftInRow(RegisterEmitter &e, Value desc, Value coordinate, unsigned vector) {
  OpBuilder &b = e.builder;
  Value extent = e.descriptor(desc)[cast<tile::DescType>(desc.getType()).getBlockShape().size()];
  Value left = b.create<arith::SubIOp>(e.loc(), extent, coordinate);
  return b.create<arith::MinUIOp>(e.loc(), left, e.i64(vector));
}

// How many elements of a row one access moves. The language promises that address and strides are
// multiples of 16 bytes.
unsigned rowVector(const analysis::AxisAnalysis &axes, ValueRange offsets, Type element,
                   const LinearLayout &layout) {
  if (element.isInteger(1))
    return 1;
  int64_t most = std::min<int64_t>(axes.facts(offsets.back()).scalarDivisibility,
                                   16 / tile::bytesInMemory(element));
  return unsigned(std::min<int64_t>(std::max<int64_t>(most, 1),
                                    consecutiveRegisters(layout, layout.rank() - 1)));
}

Value padding(RegisterEmitter &e, tile::DescType desc) {
  auto format = dyn_cast<FloatType>(desc.getElementType());
  if (!desc.getPaddingIsNan() || !format)
    return {};
  llvm::APFloat nan = llvm::APFloat::getNaN(format.getFloatSemantics());
  OpBuilder &b = e.builder;
  if (format.getWidth() == 8)
    return b.create<arith::ConstantOp>(e.loc(),
                                       b.getIntegerAttr(b.getI8Type(), nan.bitcastToAPInt()));
  return b.create<arith::ConstantOp>(e.loc(), b.getFloatAttr(format, nan));
}

template <typename Op> struct ReadRegisters : RegisterModel<ReadRegisters<Op>, Op> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto read = cast<Op>(op);
    LinearLayout layout = layoutOf(read.getType());
    auto desc = cast<tile::DescType>(read.getDesc().getType());
    Value outside = padding(e, desc);
    e.noteDescriptor("load", desc, layout, 1);
    SmallVector<Value> values;
    for (unsigned reg = 0; reg < registersOf(layout); ++reg) {
      Element place = reach(e, read.getDesc(), coordinatesOf(read, e, layout, reg));
      Value value = emitLoad(e, {place.pointer, desc.getElementType(), place.inside}, 1)[0];
      if (outside)
        value = e.builder.create<LLVM::SelectOp>(e.loc(), place.inside, value, outside);
      values.push_back(value);
    }
    e.setRegisters(read.getResult(), std::move(values));
  }
};

template <typename Op> struct WriteRegisters : RegisterModel<WriteRegisters<Op>, Op> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto write = cast<Op>(op);
    LinearLayout layout = layoutOf(write.getValue().getType());
    Type element = cast<tile::DescType>(write.getDesc().getType()).getElementType();
    Value owner = e.isOwner(layout);
    e.noteDescriptor(std::is_same_v<Op, tile::DescReduceOp> ? "atomic" : "store",
                     write.getDesc().getType(), layout, 1);
    ArrayRef<Value> values = e.registers(write.getValue());
    for (unsigned reg = 0; reg < values.size(); ++reg) {
      Element place = reach(e, write.getDesc(), coordinatesOf(write, e, layout, reg));
      Value active = e.both(owner, place.inside);
      if constexpr (std::is_same_v<Op, tile::DescReduceOp>)
        if (write.getKind() == tile::AtomicKind::FAdd && sumVector(e.chip, element, 1))
          emitSum(e, ".gpu", place.pointer, element, values.slice(reg, 1), active);
        else
          emitAtomicInstruction(e, op, write.getKind(), ".gpu.relaxed", place.pointer, values[reg],
                                active);
      else
        emitStore(e, {place.pointer, element, active}, values.slice(reg, 1));
    }
  }
};

struct DescReduceRegisters : RegisterModel<DescReduceRegisters, tile::DescReduceOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    if (op->hasAttr(bulkStoreAttr))
      return emitBulkReduction(cast<tile::DescReduceOp>(op), e);
    WriteRegisters<tile::DescReduceOp>().emitRegisters(op, e);
  }
};

// A vector at once where all of it is inside, else one by one.
struct DescLoadRegisters : RegisterModel<DescLoadRegisters, tile::DescLoadOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    OpBuilder &b = e.builder;
    auto read = cast<tile::DescLoadOp>(op);
    LinearLayout layout = layoutOf(read.getType());
    unsigned vector = descVector(e.axes, read, layout);
    if (vector == 1)
      return ReadRegisters<tile::DescLoadOp>().emitRegisters(op, e);
    auto desc = cast<tile::DescType>(read.getDesc().getType());
    Type element = desc.getElementType();
    Value outside = padding(e, desc);
    e.noteDescriptor("load", desc, layout, vector);
    SmallVector<Value> values;
    for (unsigned reg = 0; reg < registersOf(layout); reg += vector) {
      SmallVector<Value> at = coordinatesOf(read, e, layout, reg);
      Element place = reachRow(read, e, layout, reg);
      Value left = leftInRow(e, read.getDesc(), at.back(), vector);
      Value all = b.create<arith::CmpIOp>(e.loc(), arith::CmpIPredicate::eq, left, e.i64(vector));
      Value whole = e.both(place.inside, all);
      SmallVector<Value> loaded = emitLoad(e, {place.pointer, element, whole}, vector);
      for (unsigned i = 0; i < vector; ++i) {
        Value within = b.create<arith::CmpIOp>(e.loc(), arith::CmpIPredicate::ugt, left, e.i64(i));
        within = e.both(place.inside, within);
        Value alone = b.create<arith::AndIOp>(
            e.loc(), within, b.create<arith::XOrIOp>(e.loc(), whole, e.number(b.getI1Type(), 1)));
        Value pointer =
            b.create<LLVM::GEPOp>(e.loc(), place.pointer.getType(), registerType(element),
                                  place.pointer, ArrayRef<LLVM::GEPArg>{int32_t(i)});
        Value one = emitLoad(e, {pointer, element, alone}, 1)[0];
        Value value = b.create<LLVM::SelectOp>(e.loc(), whole, loaded[i], one);
        if (outside)
          value = b.create<LLVM::SelectOp>(e.loc(), within, value, outside);
        values.push_back(value);
      }
    }
    e.setRegisters(read.getResult(), std::move(values));
  }
};

struct DescStoreRegisters : RegisterModel<DescStoreRegisters, tile::DescStoreOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    OpBuilder &b = e.builder;
    auto write = cast<tile::DescStoreOp>(op);
    if (op->hasAttr(bulkStoreAttr))
      return emitBulkStore(write, e);
    LinearLayout layout = layoutOf(write.getValue().getType());
    Type element = write.getAccessElementType();
    unsigned vector = rowVector(e.axes, write.getOffsets(), element, layout);
    if (vector == 1)
      return WriteRegisters<tile::DescStoreOp>().emitRegisters(op, e);
    e.noteDescriptor("store", write.getDesc().getType(), layout, vector);
    Value owner = e.isOwner(layout);
    ArrayRef<Value> values = e.registers(write.getValue());
    for (unsigned reg = 0; reg < values.size(); reg += vector) {
      SmallVector<Value> at = coordinatesOf(write, e, layout, reg);
      Element place = reachRow(write, e, layout, reg);
      Value left = leftInRow(e, write.getDesc(), at.back(), vector);
      Value whole = b.create<arith::CmpIOp>(e.loc(), arith::CmpIPredicate::eq, left, e.i64(vector));
      Value active = e.both(owner, place.inside);
      emitStore(e, {place.pointer, element, e.both(active, whole)}, values.slice(reg, vector));
      Value part = b.create<arith::CmpIOp>(e.loc(), arith::CmpIPredicate::ne, left, e.i64(vector));
      e.when(e.both(active, part), [&] {
        for (unsigned i = 0; i + 1 < vector; ++i) {
          Value pointer =
              b.create<LLVM::GEPOp>(e.loc(), place.pointer.getType(), registerType(element),
                                    place.pointer, ArrayRef<LLVM::GEPArg>{int32_t(i)});
          Value within =
              b.create<arith::CmpIOp>(e.loc(), arith::CmpIPredicate::ugt, left, e.i64(i));
          emitStore(e, {pointer, element, within}, values.slice(reg + i, 1));
        }
      });
    }
  }
};

struct CopyDescRegisters : RegisterModel<CopyDescRegisters, CopyDescOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    OpBuilder &b = e.builder;
    auto copy = cast<CopyDescOp>(op);
    e.countSharedUse();
    RankedTensorType tile = copy.getRing().getType().getTile();
    LinearLayout layout = layoutOf(tile);
    SharedOperand shared(tile);
    Value base = e.slotAddress(copy.getRing(), copy.getSlot(), shared.bytes());
    Value active = e.scalar(copy.getActive()), owner = e.isOwner(layout);
    unsigned vector = copy.getVector(), size = tile::bytesInMemory(tile.getElementType());
    e.noteDescriptor("cp.async", copy.getDesc().getType(), layout, vector);
    shared.note(e, "cp.async", layout, vector);
    Value thread = shared.threadOffset(e, layout);
    for (unsigned reg = 0; reg < registersOf(layout); reg += vector) {
      SmallVector<Value> at = coordinatesOf(copy, e, layout, reg);
      Element place = reachRow(copy, e, layout, reg);
      Value count = b.create<arith::TruncIOp>(e.loc(), b.getI32Type(),
                                              leftInRow(e, copy.getDesc(), at.back(), vector));
      count = b.create<arith::MulIOp>(e.loc(), count, e.i32(size));
      count = b.create<arith::SelectOp>(e.loc(), e.both(active, place.inside), count, e.i32(0));
      emitCopy(e, shared.address(e, base, thread, layout.apply(reg, 0, 0)), place.pointer,
               vector * size, count, owner);
    }
  }
};

struct MakeDescRegisters : RegisterModel<MakeDescRegisters, tile::MakeDescOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    SmallVector<Value> fields;
    for (Value operand : op->getOperands())
      fields.push_back(e.scalar(operand));
    e.setDescriptor(op->getResult(0), std::move(fields));
    for (const TensorMap &map : e.madeMaps)
      if (map.desc == op->getResult(0))
        emitTensorMap(cast<tile::MakeDescOp>(op), map, e.tensorMap(map.desc), e);
  }
};

struct DescFieldRegisters : RegisterModel<DescFieldRegisters, tile::DescFieldOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    auto field = cast<tile::DescFieldOp>(op);
    ArrayRef<Value> fields = e.descriptor(field.getDesc());
    size_t rank = (fields.size() - 1) / 2;
    if (field.getField() == "base")
      return e.setScalar(field.getResult(), e.cast(fields[0], e.builder.getI64Type()));
    e.setScalar(field.getResult(),
                fields[1 + field.getDim() + (field.getField() == "shape" ? 0 : rank)]);
  }
};

} // namespace

unsigned descVector(const analysis::AxisAnalysis &axes, tile::DescLoadOp load,
                    const LinearLayout &layout) {
  return rowVector(axes, load.getOffsets(), load.getAccessElementType(), layout);
}

void registerDescriptorRegisters(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    using namespace tile;
    MakeDescOp::attachInterface<MakeDescRegisters>(*context);
    DescFieldOp::attachInterface<DescFieldRegisters>(*context);
    DescLoadOp::attachInterface<DescLoadRegisters>(*context);
    DescGatherOp::attachInterface<ReadRegisters<DescGatherOp>>(*context);
    DescStoreOp::attachInterface<DescStoreRegisters>(*context);
    DescScatterOp::attachInterface<WriteRegisters<DescScatterOp>>(*context);
    DescReduceOp::attachInterface<DescReduceRegisters>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, TileGpuDialect *) {
    CopyDescOp::attachInterface<CopyDescRegisters>(*context);
  });
}

} // namespace nereid::gpu
