// Products: wgmma on swizzled shared memory, mma.sync on fragments (ldmatrix brings them), or
// multiply-adds on operands in shared memory.
#include "gpu/ProductLayouts.h"
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
    if (number == 0 && slotOfWords(dot))
      return;
    if (auto slot = slotOperand(tile); slot && readsInPlace(dot, number, slot->shared)) {
      shared = slot->shared;
      base = e.slotAddress(slot->slot.getRing(), slot->slot.getSlot(), shared->bytes());
    } else if (layoutOf(type) != fragments) {
      // Where the instruction can't turn it over, it is written as it is read.
      shared = SharedOperand(type);
      if (perWord != 2 || !readsInPlace(dot, number, *shared))
        shared = SharedOperand(type.getShape(), along, 4 / perWord);
      findWritten();
    }
  }

  /// What it needs of the scratch area; nothing if it lies in registers or in a slot.
  uint64_t sharedBytes() const { return shared && !base ? shared->bytes() : 0; }
  void write(Value at) {
    if (!sharedBytes())
      return;
    base = at;
    shared->write(e, base, layoutOf(tile.getType()), e.registers(tile));
    if (auto source = untransposed(tile))
      e.noteWritten(source->first, majorOf(source->second), base);
    isWritten = true;
  }
  /// Tells that a product is begun that reads it.
  void isRead(bool runsOn) const {
    if (isWritten)
      e.readsScratch(runsOn, writtenBefore);
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
  // A product of the same step may have written it; turned over it is the same in memory.
  void findWritten() {
    auto source = untransposed(tile);
    auto known = source ? e.writtenOperand(source->first, majorOf(source->second)) : std::nullopt;
    if (!known)
      return;
    base = known->base;
    writtenBefore = known->use;
    isWritten = true;
  }
  unsigned majorOf(bool isTransposed) const { return shared->majorDim() ^ unsigned(isTransposed); }

  static Type elementTypeOf(Value tile) { return registerType(tile::elementType(tile.getType())); }

  Value elementAt(unsigned reg) {
    if (!shared)
      return e.registers(tile)[reg];
    if (!shared->canReadFragments(fragments, along)) {
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
  bool isWritten = false; // to scratch memory
  std::optional<unsigned> writtenBefore;
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
      Value out = e.assembly(text, constraints, registers, operands, true);
      llvm::copy(e.unpackSums(out, sum), sums.begin() + reg);
    }
  for (const Operand *operand : {&lhs, &rhs})
    operand->isRead(false);
  e.setRegisters(dot.getResult(), std::move(sums));
}

// Words of a left operand that go from its slot to registers, a piece along K after the other.
class SlotWords {
public:
  SlotWords(RegisterEmitter &e, tile::DotOp dot, SlotOperand slot, int64_t depth)
      : e(e), shared(slot.shared),
        base(e.slotAddress(slot.slot.getRing(), slot.slot.getSlot(), shared.bytes())),
        element(registerType(tile::elementType(dot.getLhs().getType()))) {
    auto shape = tile::shapeOf(dot.getType());
    pieceShape = {shape[0], depth};
    layout = *wgmmaLhs(pieceShape, shape[1], e.warps, shared.bytesOfElement());
    layout = inOrder(*layout, 0, orderTogether(*layout, 0));
    index.emplace(*layout, pieceShape);
  }

  void read(int32_t k) {
    start = k;
    values = shared.read(e, base, *layout, element, {0, k});
  }
  /// Four words from a coordinate on.
  SmallVector<Value> words(ArrayRef<int32_t> at) {
    unsigned first = index->at({at[0], at[1] - start});
    SmallVector<Value> out;
    for (unsigned reg = first; reg < first + 4; ++reg)
      out.push_back(wordOf(e, values[reg]));
    return out;
  }

private:
  RegisterEmitter &e;
  SharedOperand shared;
  Value base;
  Type element;
  SmallVector<int64_t> pieceShape;
  std::optional<LinearLayout> layout;
  std::optional<RegisterIndex> index;
  int32_t start = 0;
  SmallVector<Value> values;
};

// Instructions for a warp group's part of the product in one piece of assembly: nothing touches the
// sums between the first and the wait for the last (or, where products stay in flight, the next).
//
// Where the left operand's words come from a slot, there are two pieces for products in flight:
// registers are read to again when the instructions are done that read them in the step before,
// while those of the other piece run.
void emitWgmma(tile::DotOp dot, RegisterEmitter &e) {
  OpBuilder &b = e.builder;
  auto lhsShape = tile::shapeOf(dot.getLhs().getType()), shape = tile::shapeOf(dot.getType());
  LinearLayout layout = layoutOf(dot.getType());
  WgmmaShape parts = *wgmmaShape(shape, e.warps, /*mayBeNarrow=*/true);
  ProductKind kind = *tensorCoreKind(dot, e.chip);
  int32_t depth = int32_t(mmaDepth(kind.bytes));
  Operand lhs(e, dot, 0, *fragmentsOf(dot, true, e.warps));
  // The right operand always comes from shared memory: no layout is its fragments.
  Operand rhs(e, dot, 1, LinearLayout(2));
  writeOperands(e, lhs, rhs, "fence.proxy.async.shared::cta;");
  auto attribute = dot->getAttrOfType<IntegerAttr>(pendingAttr);
  int64_t pending = attribute ? attribute.getInt() : 0;
  int32_t wholeDepth = int32_t(lhsShape[1]), pieceDepth = wholeDepth;
  std::optional<SlotWords> slotWords;
  if (auto slot = slotOfWords(dot)) {
    if (pending && wholeDepth >= 4 * depth)
      pieceDepth /= 2;
    slotWords.emplace(e, dot, *slot, pieceDepth);
  }
  int32_t pieces = wholeDepth / pieceDepth;

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
    int64_t bytes = shared.plainOffset(unit(2, dim, step));
    Value place = b.create<arith::ShRUIOp>(e.loc(), group, e.i32(firstBit));
    place = b.create<arith::AndIOp>(e.loc(), place, e.i32(count - 1));
    place = b.create<arith::MulIOp>(e.loc(), place, e.i32(bytes / 16));
    Value wide = b.create<arith::ExtUIOp>(e.loc(), b.getI64Type(), place);
    return b.create<arith::AddIOp>(e.loc(), descriptor, wide);
  };
  Value leftDescriptor, rightDescriptor;
  if (lhs.inShared())
    leftDescriptor = descriptorOf(lhs, 0, 0, parts.alongM, 64);
  rightDescriptor = descriptorOf(rhs, 1, llvm::Log2_32(parts.alongM), parts.alongN, parts.columns);

  // Sums that start at zero are not read.
  Type sum = registerType(tile::elementType(dot.getType()));
  unsigned perWord = sum.isF16() ? 2 : 1; // sums in a register
  auto isZero = [](Value sum) {
    return matchPattern(sum, m_PosZeroFloat()) || matchPattern(sum, m_Zero());
  };
  Value acc = dot.getAcc(), startsAtZero;
  if (auto select = acc.getDefiningOp<arith::SelectOp>();
      select && select.getCondition().getType().isInteger(1) && isZero(select.getTrueValue())) {
    startsAtZero = e.scalar(select.getCondition());
    acc = select.getFalseValue();
  }
  bool isFresh = isZero(acc);
  unsigned count = registersOf(layout) / perWord;
  SmallVector<Value> sums;
  if (!isFresh)
    sums = e.packSums(e.registers(acc));

  unsigned columns = std::min(parts.columns, 256u), perInstruction = columns / 2 / perWord;
  std::string name = ("wgmma.mma_async.sync.aligned.m64n" + Twine(columns) + "k" + Twine(depth) +
                      "." + kind.sum + "." + kind.lhs + "." + kind.rhs)
                         .str();
  // Floats may be negated, those of 16 bits turned over; integers have neither operand.
  bool isFloat = isa<FloatType>(sum);
  bool canTurn = kind.bytes == 2;
  auto place = [](const SharedOperand &shared, LinearLayout::Basis at) {
    return std::to_string(shared.plainOffset(at) / 16);
  };
  Type result = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(count, sum.isF16() ? Type(b.getI32Type()) : sum));
  for (int32_t from = 0; from < wholeDepth; from += pieceDepth) {
    if (slotWords) {
      if (pending)
        e.assembly("wgmma.wait_group.sync.aligned " + std::to_string(pieces - 1) + ";", "~{memory}",
                   {}, {}, false);
      slotWords->read(from);
    }
    SmallVector<Value> operands(sums);
    std::string constraints;
    for (unsigned i = 0; i < count; ++i)
      constraints += sum.isF32() ? "=f," : "=r,";
    for (unsigned i = 0; i < operands.size(); ++i)
      constraints += std::to_string(i) + ",";
    unsigned number = count + operands.size();
    auto addOperand = [&](Value value, const char *constraint) {
      operands.push_back(value);
      constraints += std::string(constraint) + ",";
      return "$" + std::to_string(number++);
    };
    std::string left, right;
    if (leftDescriptor)
      left = addOperand(leftDescriptor, "l");
    right = addOperand(rightDescriptor, "l");
    std::string text = "{ .reg .pred p, first; .reg .b64 a, b; setp.eq.u32 p, 0, 0; ";
    if (from)
      text += "mov.pred first, p; ";
    else if (startsAtZero)
      text += "not.pred first, " + addOperand(startsAtZero, "b") + "; ";
    else
      text += isFresh ? "setp.ne.u32 first, 0, 0; " : "mov.pred first, p; ";
    text += "wgmma.fence.sync.aligned; ";
    for (int32_t k = from; k < from + pieceDepth; k += depth)
      for (unsigned reg = 0; reg < count; reg += perInstruction) {
        LinearLayout::Basis at = layout.apply(reg * perWord, 0, 0);
        std::string a = "a", transposes;
        if (const SharedOperand *shared = lhs.inShared()) {
          text += "add.s64 a, " + left + ", " + place(*shared, {at[0], k}) + "; ";
          transposes = !canTurn ? "" : shared->majorDim() == 1 ? ", 0" : ", 1";
        } else {
          std::string list;
          for (Value word : slotWords ? slotWords->words({at[0], k}) : lhs.words({at[0], k}, 4))
            list += (list.empty() ? "" : ", ") + addOperand(word, "r");
          a = "{" + list + "}";
        }
        const SharedOperand &shared = *rhs.inShared();
        text += "add.s64 b, " + right + ", " + place(shared, {k, at[1]}) + "; " + name + " {";
        for (unsigned i = 0; i < perInstruction; ++i)
          text += (i ? ", $" : "$") + std::to_string(reg + i);
        if (canTurn)
          transposes += shared.majorDim() == 0 ? ", 0" : ", 1";
        text += "}, " + a + ", b, " + (k ? "p" : "first") + (isFloat ? ", 1, 1" : "") + transposes +
                "; ";
      }
    text += "wgmma.commit_group.sync.aligned; ";
    if (from + pieceDepth == wholeDepth)
      text += waitForProducts(pending * pieces, count, dot.getResult(), !pending);
    Value out = e.assembly(text + " }", constraints + "~{memory}", result, operands, false);
    SmallVector<Value> now = e.unpackSums(out, sum);
    if (!pending)
      e.productsDone();
    for (const Operand *operand : {&lhs, &rhs})
      operand->isRead(pending);
    if (from + pieceDepth == wholeDepth)
      e.setRegisters(dot.getResult(), std::move(now));
    else
      sums = e.packSums(now);
  }
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
