// Products: wgmma on swizzled shared memory (WgmmaRegisters.cpp), mma.sync on fragments (ldmatrix
// brings them), or multiply-adds on operands in shared memory.
#include "gpu/ProductLayouts.h"
#include "gpu/ProductOperand.h"
#include "gpu/RegisterModels.h"
#include "gpu/Rings.h"
#include "transforms/Expansions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

// Chips of capability 90 multiply bytes of floats by warp groups alone: `ptxas` makes halves of
// them for each `mma.sync`, and adds what two products of halves give to the sum by the plain
// units. As halves they are summed by the tensor cores themselves.
bool multipliesAsHalves(const ProductKind &kind, Type sum, const target::GpuChip &chip) {
  return chip.capability == 90 && kind.lhs.starts_with("e") && kind.rhs.starts_with("e") &&
         sum.isF32();
}

// The four bytes of a word, two in each of two words of halves.
std::pair<Value, Value> halvesOf(RegisterEmitter &e, Value word, StringRef kind) {
  Type i32 = e.builder.getI32Type();
  Type pair = LLVM::LLVMStructType::getLiteral(e.builder.getContext(), {i32, i32});
  std::string convert = ("cvt.rn.f16x2." + kind + "x2 ").str();
  Value words = e.assembly("{ .reg .b16 a, b; mov.b32 {a, b}, $2; " + convert + "$0, a; " +
                               convert + "$1, b; }",
                           "=r,=r,r", pair, word, true);
  return {e.builder.create<LLVM::ExtractValueOp>(e.loc(), words, int64_t(0)),
          e.builder.create<LLVM::ExtractValueOp>(e.loc(), words, int64_t(1))};
}

// 32 along K of bytes as twice 16 of halves: what a lane has of one half of them, neighbours along
// K in both operands alike.
Value multiplyAsHalves(RegisterEmitter &e, const ProductKind &kind, ArrayRef<Value> operands,
                       Type registers) {
  Value out;
  SmallVector<Value> sums(operands.drop_front(6));
  for (unsigned half = 0; half < 2; ++half) {
    auto row = halvesOf(e, operands[2 * half], kind.lhs),
         lower = halvesOf(e, operands[2 * half + 1], kind.lhs),
         column = halvesOf(e, operands[4 + half], kind.rhs);
    SmallVector<Value> words = {row.first,    lower.first,  row.second,
                                lower.second, column.first, column.second};
    words.append(sums);
    out = e.assembly("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0, $1, $2, $3}, {$4, "
                     "$5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};",
                     "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f", registers, words, true);
    for (auto [i, sum] : llvm::enumerate(sums))
      sum = e.builder.create<LLVM::ExtractValueOp>(e.loc(), out, int64_t(i));
  }
  return out;
}

void emitMma(tile::DotOp dot, RegisterEmitter &e) {
  OpBuilder &b = e.builder;
  ProductKind kind = *tensorCoreKind(dot, e.chip);
  LinearLayout layout = layoutOf(dot.getType());
  ProductOperand lhs(e, dot, 0, *fragmentsOf(dot, true, e.warps));
  ProductOperand rhs(e, dot, 1, *fragmentsOf(dot, false, e.warps));
  writeOperands(e, lhs, rhs, "");
  SmallVector<Value> sums(e.registers(dot.getAcc()));
  Type sum = sums[0].getType();
  int32_t depth = int32_t(mmaDepth(kind.bytes));
  std::string text = ("mma.sync.aligned.m16n8k" + Twine(depth) + ".row.col." + kind.sum + "." +
                      kind.lhs + "." + kind.rhs + "." + kind.sum + " ")
                         .str();
  text += sum.isF16() ? "{$0, $1}, {$2, $3, $4, $5}, {$6, $7}, {$8, $9};"
                      : "{$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};";
  StringRef constraints = sum.isF32()   ? "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f"
                          : sum.isF16() ? "=r,=r,r,r,r,r,r,r,r,r"
                                        : "=r,=r,=r,=r,r,r,r,r,r,r,r,r,r,r";
  SmallVector<Type> results(sum.isF16() ? 2 : 4, sum.isF16() ? Type(b.getI32Type()) : sum);
  Type registers = LLVM::LLVMStructType::getLiteral(b.getContext(), results);
  unsigned neighbours = neighboursOf(dot).value_or(4 / kind.bytes);
  for (int32_t k = 0; k < tile::shapeOf(dot.getLhs().getType())[1]; k += depth)
    for (unsigned reg = 0; reg < sums.size(); reg += 4) {
      LinearLayout::Basis at = layout.apply(reg, 0, 0);
      int32_t place = placeAlongDepth(k, kind.bytes, neighbours);
      SmallVector<Value> operands = lhs.words({at[0], place}, 4);
      operands.append(rhs.words({place, at[1]}, 2));
      operands.append(e.packSums(ArrayRef(sums).slice(reg, 4)));
      Value out = multipliesAsHalves(kind, sum, e.chip)
                      ? multiplyAsHalves(e, kind, operands, registers)
                      : e.assembly(text, constraints, registers, operands, true);
      llvm::copy(e.unpackSums(out, sum), sums.begin() + reg);
    }
  for (const ProductOperand *operand : {&lhs, &rhs})
    operand->isRead(false);
  e.setRegisters(dot.getResult(), std::move(sums));
}

// An operand of multiply-adds: a matrix in shared memory, of which a thread reads the rows (of the
// right operand the columns) of its sums, a few steps along K at once. The matrices of a batch lie
// one below the other.
class FmaOperand {
public:
  FmaOperand(RegisterEmitter &e, tile::DotOp dot, unsigned number)
      : e(e), tile(dot->getOperand(number)), depthDim(1 - number),
        shape(matrixShape(tile::shapeOf(tile.getType()))),
        memory(tile::elementType(tile.getType())),
        layout(reshapeLayout(layoutOf(tile.getType()), tile::shapeOf(tile.getType()), shape)),
        shared(shape, layout, tile::bytesInMemory(memory)) {
    if (readsSlots(dot))
      if (auto slot = slotOperand(tile)) {
        shared = slot->shared;
        base = e.slotAddress(slot->slot.getRing(), slot->slot.getSlot(), shared.bytes());
        isSlot = true;
      }
  }

  uint64_t sharedBytes() const { return isSlot ? 0 : shared.bytes(); }
  void write(Value at) {
    if (isSlot)
      return;
    base = at;
    shared.write(e, base, layout, e.registers(tile));
  }

  Type element() const { return memory; }
  /// Steps along K that one access gives.
  unsigned vector() const {
    unsigned most = 16 / unsigned(tile::bytesInMemory(memory));
    return shared.majorDim() == depthDim ? std::min(most, unsigned(depth())) : 1;
  }
  /// Makes a thread's pieces `chunk` steps deep, of which `step` are read at once.
  void cut(tile::DotOp dot, int64_t chunk, unsigned step) {
    auto sum = tile::shapeOf(dot.getType());
    unsigned n = sum.size() - 1, own = n - depthDim;
    place = [=, k = depth(), dim = depthDim](ArrayRef<int32_t> at, int64_t along) {
      int64_t batch = rowMajor(at.drop_back(2), sum.drop_back(2));
      return dim == 1 ? LinearLayout::Basis{int32_t(batch * sum[own] + at[own]), int32_t(along)}
                      : LinearLayout::Basis{int32_t(batch * k + along), at[own]};
    };
    reads = fmaOperand(layoutOf(dot.getType()), chunk, vector(), place);
    perStep = registersOf(reads) / unsigned(chunk / step);
    index.emplace(reads, shape);
    shared.note(e, "load", reads, shared.vectorOf(reads));
  }
  /// Begins to read at `start` (i32, null: 0) along K.
  void begin(Value start) { thread = shared.threadOffset(e, reads, start, depthDim); }
  /// Reads the next steps, from `k` behind the start on.
  void read(int64_t k) {
    first = index->at(place(SmallVector<int32_t>(sumRank(), 0), k));
    values = shared.readRegisters(e, base, thread, reads, registerType(memory), first, perStep);
  }
  /// The value for a sum's coordinate (of its register) `k` behind the start.
  Value &at(ArrayRef<int32_t> coordinate, int64_t k) {
    return values[index->at(place(coordinate, k)) - first];
  }
  MutableArrayRef<Value> read() { return values; }

private:
  static SmallVector<int64_t> matrixShape(ArrayRef<int64_t> shape) {
    int64_t rows = shape[shape.size() - 2];
    for (int64_t extent : shape.drop_back(2))
      rows *= extent;
    return {rows, shape.back()};
  }
  int64_t depth() const {
    auto own = tile::shapeOf(tile.getType());
    return own[own.size() - 2 + depthDim];
  }
  size_t sumRank() const { return tile::shapeOf(tile.getType()).size(); }

  RegisterEmitter &e;
  Value tile;
  unsigned depthDim;
  SmallVector<int64_t> shape;
  Type memory;
  LinearLayout layout;
  SharedOperand shared;
  Value base, thread;
  bool isSlot = false;
  std::function<LinearLayout::Basis(ArrayRef<int32_t>, int64_t)> place;
  LinearLayout reads{2};
  std::optional<RegisterIndex> index;
  unsigned perStep = 0, first = 0;
  SmallVector<Value> values;
};

// Outer products of what a thread reads of both operands.
void emitFma(tile::DotOp dot, RegisterEmitter &e) {
  constexpr int64_t longest = 1024; // multiply-adds in straight code
  OpBuilder &b = e.builder;
  Type element = tile::elementType(dot.getType());
  LinearLayout layout = layoutOf(dot.getType());
  FmaOperand lhs(e, dot, 0), rhs(e, dot, 1);
  uint64_t left = lhs.sharedBytes(), right = rhs.sharedBytes();
  if (left || right) {
    Value base = e.beginShared(left + right);
    lhs.write(base);
    rhs.write(b.create<LLVM::GEPOp>(e.loc(), base.getType(), b.getI8Type(), base,
                                    ArrayRef<LLVM::GEPArg>{int32_t(left)}));
    e.barrier();
  }

  bool isInteger = isa<IntegerType>(lhs.element());
  Type sum = isInteger ? element : lhs.element().isF64() ? lhs.element() : Type(b.getF32Type());
  auto widen = [&](Value value, Type from) -> Value {
    if (isInteger && value.getType() != sum)
      return dot.getIsUnsigned() ? b.create<arith::ExtUIOp>(e.loc(), sum, value).getResult()
                                 : b.create<arith::ExtSIOp>(e.loc(), sum, value).getResult();
    return isInteger ? value : transforms::expandFloatConversion(b, e.loc(), value, from, sum);
  };
  SmallVector<Value> sums;
  for (Value value : e.registers(dot.getAcc()))
    sums.push_back(widen(value, element));

  int64_t depth = tile::shapeOf(dot.getLhs().getType()).back();
  unsigned step = std::max(lhs.vector(), rhs.vector());
  int64_t chunk = std::clamp<int64_t>(longest / int64_t(sums.size()), step, depth);
  lhs.cut(dot, chunk, step);
  rhs.cut(dot, chunk, step);
  SmallVector<LinearLayout::Basis> places;
  for (unsigned reg = 0; reg < sums.size(); ++reg)
    places.push_back(layout.apply(reg, 0, 0));
  auto multiply = [&](Value start, ValueRange carried) {
    SmallVector<Value> next(carried);
    for (FmaOperand *operand : {&lhs, &rhs})
      operand->begin(start);
    for (int64_t k = 0; k < chunk; k += step) {
      for (FmaOperand *operand : {&lhs, &rhs}) {
        operand->read(k);
        for (Value &value : operand->read())
          value = widen(value, operand->element());
      }
      for (int64_t at = k; at < k + step; ++at)
        for (auto [value, place] : llvm::zip(next, places)) {
          Value x = lhs.at(place, at), y = rhs.at(place, at);
          if (isInteger)
            value = e.add(b.create<arith::MulIOp>(e.loc(), x, y), value);
          else
            value = b.create<LLVM::FMAOp>(e.loc(), x, y, value);
        }
    }
    return next;
  };
  sums = chunk == depth ? multiply({}, sums)
                        : e.loop(e.i32(0), e.i32(depth), e.i32(chunk), sums, multiply);
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
