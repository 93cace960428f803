// Products: mma.sync on fragments in registers, or multiply-adds on operands in shared memory.
#include "gpu/AssignLayouts.h"
#include "gpu/RegisterModels.h"
#include "transforms/Expansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

// Two 16-bit floats in a 32-bit register.
Value pairOf(RegisterEmitter &e, Value low, Value high) {
  OpBuilder &b = e.builder;
  Value pair = e.undef(VectorType::get({2}, low.getType()));
  pair = b.create<LLVM::InsertElementOp>(e.loc(), pair, low, e.i32(0));
  pair = b.create<LLVM::InsertElementOp>(e.loc(), pair, high, e.i32(1));
  return b.create<LLVM::BitcastOp>(e.loc(), b.getI32Type(), pair);
}

// The registers of each operand follow gpu/Layouts.h: pairs of neighbours along K, then what the
// instruction holds, then its repetitions.
void emitMma(tile::DotOp dot, RegisterEmitter &e) {
  OpBuilder &b = e.builder;
  Value lhs = dot.getLhs(), rhs = dot.getRhs();
  auto lhsShape = tile::shapeOf(lhs.getType()), rhsShape = tile::shapeOf(rhs.getType());
  LinearLayout layout = layoutOf(dot.getType());
  RegisterIndex lhsIndex(layoutOf(lhs.getType()), lhsShape),
      rhsIndex(layoutOf(rhs.getType()), rhsShape);
  ArrayRef<Value> a = e.registers(lhs), c = e.registers(rhs);
  SmallVector<Value> sums(e.registers(dot.getAcc()));
  std::string type = tile::elementType(lhs.getType()).isBF16() ? "bf16" : "f16";
  std::string text = "mma.sync.aligned.m16n8k16.row.col.f32." + type + "." + type +
                     ".f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};";
  Type four =
      LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(4, b.getF32Type()));
  for (unsigned reg = 0; reg < sums.size(); reg += 4) {
    LinearLayout::Basis at = layout.apply(reg, 0, 0);
    for (int32_t k = 0; k < lhsShape[1]; k += 16) {
      unsigned left = lhsIndex.at({at[0], k}), right = rhsIndex.at({k, at[1]});
      SmallVector<Value> operands;
      for (unsigned i = 0; i < 8; i += 2)
        operands.push_back(pairOf(e, a[left + i], a[left + i + 1]));
      for (unsigned i = 0; i < 4; i += 2)
        operands.push_back(pairOf(e, c[right + i], c[right + i + 1]));
      operands.append(sums.begin() + reg, sums.begin() + reg + 4);
      Value out = e.assembly(text, "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f", four, operands, true);
      for (unsigned i = 0; i < 4; ++i)
        sums[reg + i] = b.create<LLVM::ExtractValueOp>(e.loc(), out, int64_t(i));
    }
  }
  e.setRegisters(dot.getResult(), std::move(sums));
}

// Every thread runs along K for its own elements, reading rows and columns from shared memory.
void emitFma(tile::DotOp dot, RegisterEmitter &e) {
  OpBuilder &b = e.builder;
  Value lhs = dot.getLhs(), rhs = dot.getRhs();
  auto lhsShape = tile::shapeOf(lhs.getType()), rhsShape = tile::shapeOf(rhs.getType()),
       shape = tile::shapeOf(dot.getType());
  Type lhsElement = tile::elementType(lhs.getType()), rhsElement = tile::elementType(rhs.getType()),
       element = tile::elementType(dot.getType());
  LinearLayout layout = layoutOf(dot.getType());
  auto bytes = [](Value tile) {
    auto tensor = cast<RankedTensorType>(tile.getType());
    return llvm::alignTo(tensor.getNumElements() * tile::bytesInMemory(tensor.getElementType()),
                         16);
  };
  Value lhsBase = e.beginShared(bytes(lhs) + bytes(rhs));
  Value rhsBase = b.create<LLVM::GEPOp>(e.loc(), lhsBase.getType(), b.getI8Type(), lhsBase,
                                        ArrayRef<LLVM::GEPArg>{int32_t(bytes(lhs))});
  e.writeShared(lhsBase, lhsElement, lhsShape, layoutOf(lhs.getType()), e.registers(lhs));
  e.writeShared(rhsBase, rhsElement, rhsShape, layoutOf(rhs.getType()), e.registers(rhs));
  e.barrier();

  bool isInteger = isa<IntegerType>(lhsElement);
  Type sum = isInteger ? element : lhsElement.isF64() ? lhsElement : Type(b.getF32Type());
  auto widen = [&](Value value, Type from) -> Value {
    if (isInteger && value.getType() != sum)
      return dot.getIsUnsigned() ? b.create<arith::ExtUIOp>(e.loc(), sum, value).getResult()
                                 : b.create<arith::ExtSIOp>(e.loc(), sum, value).getResult();
    return isInteger ? value : transforms::expandFloatConversion(b, e.loc(), value, from, sum);
  };
  SmallVector<Value> sums;
  for (Value value : e.registers(dot.getAcc()))
    sums.push_back(widen(value, element));

  unsigned m = shape.size() - 2, n = shape.size() - 1;
  int64_t depth = lhsShape[n];
  // Index of (batch, m, 0) in lhs and of (batch, 0, n) in rhs.
  auto index = [&](unsigned reg, ArrayRef<int64_t> of, bool isLhs) {
    Value row = e.i32(0);
    for (unsigned d = 0; d < shape.size(); ++d) {
      bool skip = isLhs ? d == n : d == m;
      row = b.create<arith::MulIOp>(e.loc(), row, e.i32(of[d]));
      if (!skip)
        row = e.add(row, e.coordinate(layout, reg, d));
    }
    return row;
  };
  SmallVector<Value> rows, columns;
  for (unsigned reg = 0; reg < sums.size(); ++reg) {
    rows.push_back(index(reg, lhsShape, true));
    columns.push_back(index(reg, rhsShape, false));
  }
  sums = e.loop(e.i32(0), e.i32(depth), e.i32(1), sums, [&](Value k, ValueRange carried) {
    Value down = b.create<arith::MulIOp>(e.loc(), k, e.i32(shape[n]));
    SmallVector<Value> next;
    for (unsigned reg = 0; reg < carried.size(); ++reg) {
      // Elements of one row or column read the same word; the optimiser merges the loads.
      Value x = widen(
          e.loadElement(e.sharedAddress(lhsBase, lhsElement, e.add(rows[reg], k)), lhsElement),
          lhsElement);
      Value y = widen(e.loadElement(e.sharedAddress(rhsBase, rhsElement, e.add(columns[reg], down)),
                                    rhsElement),
                      rhsElement);
      if (isInteger)
        next.push_back(e.add(b.create<arith::MulIOp>(e.loc(), x, y), carried[reg]));
      else
        next.push_back(b.create<LLVM::FMAOp>(e.loc(), x, y, carried[reg]));
    }
    return next;
  });
  if (!isInteger)
    for (Value &value : sums)
      value = transforms::expandFloatConversion(b, e.loc(), value, sum, element);
  e.setRegisters(dot.getResult(), std::move(sums));
}

struct DotRegisters : RegisterModel<DotRegisters, tile::DotOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    auto instruction = op->getAttrOfType<StringAttr>(instructionAttr);
    if (instruction && instruction.getValue() == "mma.m16n8k16")
      return emitMma(cast<tile::DotOp>(op), emitter);
    emitFma(cast<tile::DotOp>(op), emitter);
  }
};

} // namespace

void registerDotRegisters(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    tile::DotOp::attachInterface<DotRegisters>(*context);
  });
}

} // namespace nereid::gpu
