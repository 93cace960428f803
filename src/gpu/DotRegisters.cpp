// Products: wgmma on swizzled shared memory, mma.sync on fragments (ldmatrix brings them), or
// multiply-adds on operands in shared memory.
#include "gpu/AssignLayouts.h"
#include "gpu/RegisterModels.h"
#include "gpu/Rings.h"
#include "transforms/Expansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

#include <map>

using namespace mlir;

namespace nereid::gpu {

namespace {

// Elements in a 32-bit register, the first in its lowest bits.
Value wordOf(RegisterEmitter &e, ArrayRef<Value> elements) {
  OpBuilder &b = e.builder;
  if (elements.size() == 1)
    return e.cast(elements[0], b.getI32Type());
  return b.create<LLVM::BitcastOp>(e.loc(), b.getI32Type(), e.vectorOf(elements));
}

// An operand of an instruction that works on fragments: they lie in registers already, or come from
// shared memory as they are needed.
class Operand {
public:
  Operand(RegisterEmitter &e, tile::DotOp dot, unsigned number, const LinearLayout &fragments)
      : e(e), tile(dot->getOperand(number)), fragments(fragments), along(1 - number),
        index(fragments, tile::shapeOf(tile.getType())), element(elementTypeOf(tile)),
        perWord(32 / element.getIntOrFloatBitWidth()) {
    auto type = cast<RankedTensorType>(tile.getType());
    if (auto slot = slotOperand(tile); slot && readsInPlace(dot, number, slot->shared)) {
      shared = slot->shared;
      base = e.slotAddress(slot->slot.getRing(), slot->slot.getSlot(), shared->bytes());
    } else if (layoutOf(type) != fragments) {
      // Where the instruction can't turn it over, it is written as it is read.
      shared =
          perWord == 2 ? SharedOperand(type) : SharedOperand(type.getShape(), along, 4 / perWord);
    }
  }

  /// What it needs of the scratch area; nothing if it lies in registers or in a slot.
  uint64_t sharedBytes() const { return shared && !base ? shared->bytes() : 0; }
  void write(Value at) {
    if (!sharedBytes())
      return;
    base = at;
    shared->write(e, base, layoutOf(tile.getType()), e.registers(tile));
  }
  /// `count` words from the register at a coordinate on.
  SmallVector<Value> words(ArrayRef<int32_t> at, unsigned count) {
    unsigned first = index.at(at);
    SmallVector<Value> out;
    for (unsigned reg = first; reg < first + perWord * count; reg += perWord) {
      SmallVector<Value> elements;
      for (unsigned i = 0; i < perWord; ++i)
        elements.push_back(elementAt(reg + i));
      out.push_back(wordOf(e, elements));
    }
    return out;
  }
  /// Where wgmma finds it; null if it lies in registers.
  const SharedOperand *inShared() const { return shared ? &*shared : nullptr; }
  Value sharedBase() const { return base; }

private:
  static Type elementTypeOf(Value tile) { return registerType(tile::elementType(tile.getType())); }

  Value elementAt(unsigned reg) {
    if (!shared)
      return e.registers(tile)[reg];
    if (!shared->canReadFragments(along)) {
      if (all.empty())
        all = shared->read(e, base, fragments, element);
      return all[reg];
    }
    unsigned group = std::min(4 * perWord, registersOf(fragments)), first = reg / group * group;
    auto [found, fresh] = loaded.try_emplace(first);
    if (fresh)
      found->second = shared->readFragments(e, base, fragments, along, first, element);
    return found->second[reg - first];
  }

  RegisterEmitter &e;
  Value tile;
  LinearLayout fragments;
  unsigned along;
  RegisterIndex index;
  Type element;
  unsigned perWord;
  std::optional<SharedOperand> shared;
  Value base;
  SmallVector<Value> all;
  std::map<unsigned, SmallVector<Value>> loaded;
};

// Writes the operands that do not lie in registers to shared memory.
void writeOperands(RegisterEmitter &e, Operand &lhs, Operand &rhs, StringRef fence) {
  uint64_t left = lhs.sharedBytes(), right = rhs.sharedBytes();
  if (!left && !right)
    return;
  OpBuilder &b = e.builder;
  Value base = e.beginShared(left + right);
  lhs.write(base);
  rhs.write(b.create<LLVM::GEPOp>(e.loc(), base.getType(), b.getI8Type(), base,
                                  ArrayRef<LLVM::GEPArg>{int32_t(left)}));
  if (!fence.empty())
    e.assembly(fence, "~{memory}", {}, {}, false);
  e.barrier();
}

void emitMma(tile::DotOp dot, RegisterEmitter &e) {
  OpBuilder &b = e.builder;
  ProductKind kind = *tensorCoreKind(dot, e.chip);
  LinearLayout layout = layoutOf(dot.getType());
  Operand lhs(e, dot, 0, *fragmentsOf(dot, true, e.warps));
  Operand rhs(e, dot, 1, *fragmentsOf(dot, false, e.warps));
  writeOperands(e, lhs, rhs, "");
  SmallVector<Value> sums(e.registers(dot.getAcc()));
  int32_t depth = int32_t(mmaDepth(kind.bytes));
  std::string text = ("mma.sync.aligned.m16n8k" + Twine(depth) + ".row.col." + kind.sum + "." +
                      kind.lhs + "." + kind.rhs + "." + kind.sum +
                      " {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};")
                         .str();
  bool isFloat = kind.sum == "f32";
  StringRef constraints =
      isFloat ? "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f" : "=r,=r,=r,=r,r,r,r,r,r,r,r,r,r,r";
  Type four =
      LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(4, sums[0].getType()));
  for (int32_t k = 0; k < tile::shapeOf(dot.getLhs().getType())[1]; k += depth)
    for (unsigned reg = 0; reg < sums.size(); reg += 4) {
      LinearLayout::Basis at = layout.apply(reg, 0, 0);
      SmallVector<Value> operands = lhs.words({at[0], k}, 4);
      operands.append(rhs.words({k, at[1]}, 2));
      operands.append(sums.begin() + reg, sums.begin() + reg + 4);
      Value out = e.assembly(text, constraints, four, operands, true);
      for (unsigned i = 0; i < 4; ++i)
        sums[reg + i] = b.create<LLVM::ExtractValueOp>(e.loc(), out, int64_t(i));
    }
  e.setRegisters(dot.getResult(), std::move(sums));
}

// Instructions for a warp group's part of the product in one piece of assembly: nothing touches the
// sums between the first and the wait for the last (or, where products stay in flight, the next).
void emitWgmma(tile::DotOp dot, RegisterEmitter &e) {
  OpBuilder &b = e.builder;
  auto lhsShape = tile::shapeOf(dot.getLhs().getType()), shape = tile::shapeOf(dot.getType());
  LinearLayout layout = layoutOf(dot.getType());
  WgmmaShape parts = *wgmmaShape(shape, e.warps);
  ProductKind kind = *tensorCoreKind(dot, e.chip);
  int32_t depth = int32_t(mmaDepth(kind.bytes));
  Operand lhs(e, dot, 0, *fragmentsOf(dot, true, e.warps));
  // The right operand always comes from shared memory: no layout is its fragments.
  Operand rhs(e, dot, 1, LinearLayout(2));
  writeOperands(e, lhs, rhs, "fence.proxy.async.shared::cta;");

  // Part of the offset that the warp group's place gives, in 16 bytes.
  Value group;
  if (e.warps > 4)
    group = b.create<arith::ShRUIOp>(e.loc(), e.uniformWarp, e.i32(2));
  auto descriptorOf = [&](const Operand &operand, unsigned dim, unsigned firstBit, unsigned count,
                          int32_t step) -> Value {
    const SharedOperand &shared = *operand.inShared();
    Value descriptor = shared.descriptor(e, operand.sharedBase());
    if (count == 1)
      return descriptor;
    LinearLayout::Basis basis(2, 0);
    basis[dim] = step;
    Value place = b.create<arith::ShRUIOp>(e.loc(), group, e.i32(firstBit));
    place = b.create<arith::AndIOp>(e.loc(), place, e.i32(count - 1));
    place = b.create<arith::MulIOp>(e.loc(), place, e.i32(shared.plainOffset(basis) / 16));
    Value wide = b.create<arith::ExtUIOp>(e.loc(), b.getI64Type(), place);
    return b.create<arith::AddIOp>(e.loc(), descriptor, wide);
  };

  // Sums that start at zero are not read.
  bool isFloat = kind.sum == "f32";
  bool isFresh =
      matchPattern(dot.getAcc(), m_PosZeroFloat()) || matchPattern(dot.getAcc(), m_Zero());
  unsigned count = registersOf(layout);
  SmallVector<Value> operands;
  if (!isFresh)
    operands.assign(e.registers(dot.getAcc()).begin(), e.registers(dot.getAcc()).end());
  std::string constraints;
  for (unsigned i = 0; i < count; ++i)
    constraints += isFloat ? "=f," : "=r,";
  for (unsigned i = 0; i < operands.size(); ++i)
    constraints += std::to_string(i) + ",";
  unsigned number = count + operands.size();
  auto addOperand = [&](Value value, const char *constraint) {
    operands.push_back(value);
    constraints += std::string(constraint) + ",";
    return "$" + std::to_string(number++);
  };
  std::string left;
  if (lhs.inShared())
    left = addOperand(descriptorOf(lhs, 0, 0, parts.alongM, 64), "l");
  std::string right = addOperand(
      descriptorOf(rhs, 1, llvm::Log2_32(parts.alongM), parts.alongN, parts.columns), "l");

  unsigned columns = std::min(parts.columns, 256u), perInstruction = columns / 2;
  std::string name = ("wgmma.mma_async.sync.aligned.m64n" + Twine(columns) + "k" + Twine(depth) +
                      "." + kind.sum + "." + kind.lhs + "." + kind.rhs)
                         .str();
  // Floats may be negated, those of 16 bits turned over; integers have neither operand.
  bool canTurn = kind.bytes == 2;
  auto place = [](const SharedOperand &shared, LinearLayout::Basis at) {
    return std::to_string(shared.plainOffset(at) / 16);
  };
  std::string text = "{ .reg .pred p, first; .reg .b64 a, b; setp.eq.u32 p, 0, 0; ";
  text += isFresh ? "setp.ne.u32 first, 0, 0; " : "mov.pred first, p; ";
  text += "wgmma.fence.sync.aligned; ";
  for (int32_t k = 0; k < lhsShape[1]; k += depth)
    for (unsigned reg = 0; reg < count; reg += perInstruction) {
      LinearLayout::Basis at = layout.apply(reg, 0, 0);
      std::string a = "a", transposes;
      if (const SharedOperand *shared = lhs.inShared()) {
        text += "add.s64 a, " + left + ", " + place(*shared, {at[0], k}) + "; ";
        transposes = !canTurn ? "" : shared->majorDim() == 1 ? ", 0" : ", 1";
      } else {
        std::string list;
        for (Value word : lhs.words({at[0], k}, 4))
          list += (list.empty() ? "" : ", ") + addOperand(word, "r");
        a = "{" + list + "}";
      }
      const SharedOperand &shared = *rhs.inShared();
      text += "add.s64 b, " + right + ", " + place(shared, {k, at[1]}) + "; " + name + " {";
      for (unsigned i = 0; i < perInstruction; ++i)
        text += (i ? ", $" : "$") + std::to_string(reg + i);
      if (canTurn)
        transposes += shared.majorDim() == 0 ? ", 0" : ", 1";
      text +=
          "}, " + a + ", b, " + (k ? "p" : "first") + (isFloat ? ", 1, 1" : "") + transposes + "; ";
    }
  auto pending = dot->getAttrOfType<IntegerAttr>(pendingAttr);
  text += "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned " +
          std::to_string(pending ? pending.getInt() : 0) + "; }";
  constraints += "~{memory}";
  Type result = LLVM::LLVMStructType::getLiteral(
      b.getContext(),
      SmallVector<Type>(count, isFloat ? Type(b.getF32Type()) : Type(b.getI32Type())));
  Value out = e.assembly(text, constraints, result, operands, false);
  SmallVector<Value> sums;
  for (unsigned i = 0; i < count; ++i)
    sums.push_back(b.create<LLVM::ExtractValueOp>(e.loc(), out, int64_t(i)));
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
  for (auto [isLhs, of, tile] : {std::tuple(true, lhsShape, lhs), std::tuple(false, rhsShape, rhs)})
    e.noteShared("load", layout, tile::bytesInMemory(tile::elementType(tile.getType())), 1,
                 [&](ArrayRef<int32_t> at) {
                   SmallVector<int32_t> place(at);
                   place[isLhs ? n : m] = 0;
                   return rowMajor(place, of) *
                          tile::bytesInMemory(tile::elementType(tile.getType()));
                 });
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
    if (instruction && instruction.getValue() == "wgmma")
      return emitWgmma(cast<tile::DotOp>(op), emitter);
    if (instruction && instruction.getValue() == "mma")
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
