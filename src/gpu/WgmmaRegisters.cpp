// Products of warp groups: wgmma on swizzled shared memory.
#include "gpu/ProductLayouts.h"
#include "gpu/ProductOperand.h"
#include "gpu/Rings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

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

// Inline PTX as it is put together: its text names operands by their number behind the results.
struct Assembly {
  // `tied` operands are the registers of the first results.
  Assembly(unsigned results, const char *result, ValueRange tied)
      : operands(tied), number(results + tied.size()) {
    for (unsigned i = 0; i < results; ++i)
      constraints += std::string(result) + ",";
    for (unsigned i = 0; i < tied.size(); ++i)
      constraints += std::to_string(i) + ",";
  }
  std::string operand(Value value, const char *constraint) {
    operands.push_back(value);
    constraints += std::string(constraint) + ",";
    return "$" + std::to_string(number++);
  }

  std::string text, constraints;
  SmallVector<Value> operands;
  unsigned number;
};

// Instructions for a warp group's part of the product in one piece of assembly: nothing touches the
// sums between the first and the wait for the last (or, where products stay in flight, the next).
//
// Where the left operand's words come from a slot, there are two pieces for products in flight:
// registers are read to again when the instructions are done that read them in the step before,
// while those of the other piece run.
class WgmmaProduct {
public:
  WgmmaProduct(tile::DotOp dot, RegisterEmitter &e)
      : e(e), b(e.builder), dot(dot), kind(*tensorCoreKind(dot, e.chip)),
        parts(*wgmmaShape(tile::shapeOf(dot.getType()), e.warps, /*mayBeNarrow=*/true)),
        layout(layoutOf(dot.getType())), sum(registerType(tile::elementType(dot.getType()))),
        perWord(sum.isF16() ? 2 : 1), count(registersOf(layout) / perWord),
        depth(int32_t(mmaDepth(kind.bytes))),
        wholeDepth(int32_t(tile::shapeOf(dot.getLhs().getType())[1])), pieceDepth(wholeDepth),
        lhs(e, dot, 0, *fragmentsOf(dot, true, e.warps)),
        // The right operand always comes from shared memory: no layout is its fragments.
        rhs(e, dot, 1, LinearLayout(2)) {
    if (auto attribute = dot->getAttrOfType<IntegerAttr>(pendingAttr))
      pending = attribute.getInt();
  }

  void emit() {
    writeOperands(e, lhs, rhs, "fence.proxy.async.shared::cta;");
    cutIntoPieces();
    describeOperands();
    SmallVector<Value> sums = sumsBefore();
    for (int32_t from = 0; from < wholeDepth; from += pieceDepth) {
      if (slotWords)
        readWords(from);
      sums = emitPiece(from, sums);
      if (from + pieceDepth < wholeDepth)
        sums = e.packSums(sums);
    }
    e.setRegisters(dot.getResult(), std::move(sums));
  }

private:
  void cutIntoPieces() {
    auto slot = slotOfWords(dot);
    if (!slot)
      return;
    if (pending && wholeDepth >= 4 * depth)
      pieceDepth /= 2;
    slotWords.emplace(e, dot, *slot, pieceDepth);
  }
  int32_t pieces() const { return wholeDepth / pieceDepth; }

  void describeOperands() {
    // Part of the offset that the warp group's place gives, in 16 bytes.
    Value group;
    if (e.warps > 4)
      group = b.create<arith::ShRUIOp>(e.loc(), e.uniformWarp, e.i32(2));
    if (lhs.inShared())
      leftDescriptor = descriptorOf(lhs, group, 0, 0, parts.alongM, 64);
    rightDescriptor =
        descriptorOf(rhs, group, 1, llvm::Log2_32(parts.alongM), parts.alongN, parts.columns);
  }
  // The part of an operand that a group reads: `count` groups, told apart by bits of their number
  // from `firstBit` on, lie `step` apart along `dim`.
  Value descriptorOf(const ProductOperand &operand, Value group, unsigned dim, unsigned firstBit,
                     unsigned count, int32_t step) {
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
  }

  // The sums to which the first piece adds; none if they are zero. Sums that start at zero are not
  // read.
  SmallVector<Value> sumsBefore() {
    auto isZero = [](Value sum) {
      return matchPattern(sum, m_PosZeroFloat()) || matchPattern(sum, m_Zero());
    };
    Value acc = dot.getAcc();
    if (auto select = acc.getDefiningOp<arith::SelectOp>();
        select && select.getCondition().getType().isInteger(1) && isZero(select.getTrueValue())) {
      startsAtZero = e.scalar(select.getCondition());
      acc = select.getFalseValue();
    }
    isFresh = isZero(acc);
    return isFresh ? SmallVector<Value>() : e.packSums(e.registers(acc));
  }

  void readWords(int32_t from) {
    if (pending)
      e.assembly("wgmma.wait_group.sync.aligned " + std::to_string(pieces() - 1) + ";", "~{memory}",
                 {}, {}, false);
    slotWords->read(from);
  }

  // The sums behind the piece along K from `from` on.
  SmallVector<Value> emitPiece(int32_t from, ArrayRef<Value> sums) {
    Assembly piece(count, sum.isF32() ? "=f" : "=r", sums);
    std::string left, right;
    if (leftDescriptor)
      left = piece.operand(leftDescriptor, "l");
    right = piece.operand(rightDescriptor, "l");
    piece.text = "{ .reg .pred p, first; .reg .b64 a, b; setp.eq.u32 p, 0, 0; ";
    if (from)
      piece.text += "mov.pred first, p; ";
    else if (startsAtZero)
      piece.text += "not.pred first, " + piece.operand(startsAtZero, "b") + "; ";
    else
      piece.text += isFresh ? "setp.ne.u32 first, 0, 0; " : "mov.pred first, p; ";
    piece.text += "wgmma.fence.sync.aligned; ";
    for (int32_t k = from; k < from + pieceDepth; k += depth)
      for (unsigned reg = 0; reg < count; reg += perInstruction())
        addInstruction(piece, left, right, reg, k);
    piece.text += "wgmma.commit_group.sync.aligned; ";
    if (from + pieceDepth == wholeDepth)
      piece.text += waitForProducts(pending * pieces(), count, dot.getResult(), !pending);
    Type result = LLVM::LLVMStructType::getLiteral(
        b.getContext(), SmallVector<Type>(count, sum.isF16() ? Type(b.getI32Type()) : sum));
    Value out = e.assembly(piece.text + " }", piece.constraints + "~{memory}", result,
                           piece.operands, false);
    SmallVector<Value> now = e.unpackSums(out, sum);
    if (!pending)
      e.productsDone();
    for (const ProductOperand *operand : {&lhs, &rhs})
      operand->isRead(pending);
    return now;
  }

  unsigned columns() const { return std::min(parts.columns, 256u); }
  /// Registers of sums that an instruction adds to.
  unsigned perInstruction() const { return columns() / 2 / perWord; }

  // The instruction for the sums from `reg` on and the step along K at `k`; `left` and `right` name
  // the descriptors.
  void addInstruction(Assembly &piece, const std::string &left, const std::string &right,
                      unsigned reg, int32_t k) {
    auto place = [](const SharedOperand &shared, LinearLayout::Basis at) {
      return std::to_string(shared.plainOffset(at) / 16);
    };
    // Floats may be negated, those of 16 bits turned over; integers have neither operand.
    const bool isFloat = isa<FloatType>(sum), canTurn = kind.bytes == 2;
    LinearLayout::Basis at = layout.apply(reg * perWord, 0, 0);
    std::string a = "a", transposes;
    if (const SharedOperand *shared = lhs.inShared()) {
      piece.text += "add.s64 a, " + left + ", " + place(*shared, {at[0], k}) + "; ";
      transposes = !canTurn ? "" : shared->majorDim() == 1 ? ", 0" : ", 1";
    } else {
      std::string list;
      for (Value word : slotWords ? slotWords->words({at[0], k}) : lhs.words({at[0], k}, 4))
        list += (list.empty() ? "" : ", ") + piece.operand(word, "r");
      a = "{" + list + "}";
    }
    const SharedOperand &shared = *rhs.inShared();
    if (canTurn)
      transposes += shared.majorDim() == 0 ? ", 0" : ", 1";
    piece.text += "add.s64 b, " + right + ", " + place(shared, {k, at[1]}) + "; ";
    piece.text += ("wgmma.mma_async.sync.aligned.m64n" + Twine(columns()) + "k" + Twine(depth) +
                   "." + kind.sum + "." + kind.lhs + "." + kind.rhs + " {")
                      .str();
    for (unsigned i = 0; i < perInstruction(); ++i)
      piece.text += (i ? ", $" : "$") + std::to_string(reg + i);
    piece.text +=
        "}, " + a + ", b, " + (k ? "p" : "first") + (isFloat ? ", 1, 1" : "") + transposes + "; ";
  }

  RegisterEmitter &e;
  OpBuilder &b;
  tile::DotOp dot;
  ProductKind kind;
  WgmmaShape parts;
  LinearLayout layout;
  Type sum;
  unsigned perWord; // sums in a register
  unsigned count;   // registers of sums
  int32_t depth, wholeDepth, pieceDepth;
  int64_t pending = 0;
  ProductOperand lhs, rhs;
  std::optional<SlotWords> slotWords;
  Value leftDescriptor, rightDescriptor;
  Value startsAtZero; // i1, null: they don't, or `isFresh`
  bool isFresh = false;
};

} // namespace

void emitWgmma(tile::DotOp dot, RegisterEmitter &e) { WgmmaProduct(dot, e).emit(); }

} // namespace nereid::gpu
