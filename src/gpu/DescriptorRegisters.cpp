// Tensor descriptors as plain fields: each thread checks and addresses its own elements.
#include "gpu/RegisterModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

Value extend(RegisterEmitter &e, Value value) {
  return e.builder.create<arith::ExtSIOp>(e.loc(), e.builder.getI64Type(), value);
}

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
      out.push_back(e.add(extend(e, e.scalar(offset)), extend(e, e.coordinate(layout, reg, d))));
  }
  return out;
}

struct Reached {
  Value pointer, inside;
};

Reached reach(RegisterEmitter &e, Value desc, ArrayRef<Value> coordinates) {
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
    SmallVector<Value> values;
    for (unsigned reg = 0; reg < registersOf(layout); ++reg) {
      Reached place = reach(e, read.getDesc(), coordinatesOf(read, e, layout, reg));
      Value value =
          emitLoad(e, place.pointer, desc.getElementType(), 1, place.inside, ".global")[0];
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
    ArrayRef<Value> values = e.registers(write.getValue());
    for (unsigned reg = 0; reg < values.size(); ++reg) {
      Reached place = reach(e, write.getDesc(), coordinatesOf(write, e, layout, reg));
      Value active = e.both(owner, place.inside);
      if constexpr (std::is_same_v<Op, tile::DescReduceOp>)
        emitAtomicInstruction(e, op, write.getKind(), ".relaxed.gpu", place.pointer, values[reg],
                              active);
      else
        emitStore(e, place.pointer, element, values.slice(reg, 1), active, ".global");
    }
  }
};

struct MakeDescRegisters : RegisterModel<MakeDescRegisters, tile::MakeDescOp> {
  void emitRegisters(Operation *op, RegisterEmitter &e) const {
    SmallVector<Value> fields;
    for (Value operand : op->getOperands())
      fields.push_back(e.scalar(operand));
    e.setDescriptor(op->getResult(0), std::move(fields));
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

void registerDescriptorRegisters(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    using namespace tile;
    MakeDescOp::attachInterface<MakeDescRegisters>(*context);
    DescFieldOp::attachInterface<DescFieldRegisters>(*context);
    DescLoadOp::attachInterface<ReadRegisters<DescLoadOp>>(*context);
    DescGatherOp::attachInterface<ReadRegisters<DescGatherOp>>(*context);
    DescStoreOp::attachInterface<WriteRegisters<DescStoreOp>>(*context);
    DescScatterOp::attachInterface<WriteRegisters<DescScatterOp>>(*context);
    DescReduceOp::attachInterface<WriteRegisters<DescReduceOp>>(*context);
  });
}

} // namespace nereid::gpu
