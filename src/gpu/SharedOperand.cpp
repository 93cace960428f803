#include "gpu/SharedOperand.h"

#include "gpu/StoreMatrices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::gpu {

static unsigned majorOf(const LinearLayout &layout) {
  if (layout.rank() == 1)
    return 0;
  unsigned first = consecutiveRegisters(layout, 0), second = consecutiveRegisters(layout, 1);
  if (first != second)
    return first > second ? 0 : 1;
  return layout.bases(LayoutInput::Lane)[0][0] == 1 ? 0 : 1;
}

SharedOperand::SharedOperand(ArrayRef<int64_t> shape, unsigned major, unsigned elementBytes)
    : elementBytes(elementBytes), rank(shape.size()), major(major), columns(shape[major]),
      rows(rank == 1 ? 1 : shape[1 - major]),
      width(unsigned(std::clamp<int64_t>(columns * elementBytes, 16, 128))) {}

SharedOperand::SharedOperand(ArrayRef<int64_t> shape, const LinearLayout &layout,
                             unsigned elementBytes)
    : SharedOperand(shape, majorOf(layout), elementBytes) {}

SharedOperand::SharedOperand(RankedTensorType tile)
    : SharedOperand(tile.getShape(), layoutOf(tile), tile::bytesInMemory(tile.getElementType())) {}

SharedOperand SharedOperand::transposed() const {
  SharedOperand out = *this;
  out.major = 1 - major;
  return out;
}

uint64_t SharedOperand::bytes() const {
  return llvm::alignTo(llvm::divideCeil(columns * elementBytes, width) * width * rows,
                       rank == 1 ? 16 : alignment);
}

int64_t SharedOperand::plainOffset(ArrayRef<int32_t> coordinate) const {
  int64_t along = int64_t(coordinate[major]) * elementBytes;
  return along / width * rows * width + int64_t(rowOf(coordinate)) * width + along % width;
}

// Bits 4.. of an offset are XORed with bits 7..: as many as a row has 16-byte pieces.
int64_t SharedOperand::offset(ArrayRef<int32_t> coordinate) const {
  int64_t plain = plainOffset(coordinate);
  return plain ^ ((plain >> 3) & (width - 16));
}

Value SharedOperand::threadOffset(RegisterEmitter &e, const LinearLayout &layout, Value further,
                                  unsigned dim) const {
  OpBuilder &b = e.builder;
  auto times = [&](Value value, int64_t factor) -> Value {
    return b.createOrFold<arith::MulIOp>(e.loc(), value, e.i32(factor));
  };
  auto coordinate = [&](unsigned d) {
    Value part = e.threadCoordinate(layout, d);
    return further && d == dim ? e.add(part, further) : part;
  };
  int64_t perRow = width / elementBytes;
  Value along = coordinate(major), row = rank == 1 ? e.i32(0) : coordinate(1 - major);
  Value inRow = b.createOrFold<arith::AndIOp>(e.loc(), along, e.i32(perRow - 1));
  Value column =
      b.createOrFold<arith::ShRUIOp>(e.loc(), along, e.i32(int64_t(llvm::Log2_64(perRow))));
  Value offset =
      e.add(e.add(times(inRow, elementBytes), times(row, width)), times(column, rows * width));
  Value swizzle = b.create<arith::ShRUIOp>(e.loc(), offset, e.i32(3));
  swizzle = b.create<arith::AndIOp>(e.loc(), swizzle, e.i32(width - 16));
  return b.create<arith::XOrIOp>(e.loc(), offset, swizzle);
}

Value SharedOperand::address(RegisterEmitter &e, Value base, Value threadOffset,
                             ArrayRef<int32_t> constant) const {
  OpBuilder &b = e.builder;
  // The register's part shares no bit with the thread's but the permuted ones; the rest is an
  // immediate of the access.
  int64_t part = this->offset(constant), mixed = part & 0x70;
  Value offset = threadOffset;
  if (mixed)
    offset = b.create<arith::XOrIOp>(e.loc(), offset, e.i32(mixed));
  Value address = b.create<LLVM::GEPOp>(e.loc(), base.getType(), b.getI8Type(), base, offset);
  if (part == mixed)
    return address;
  return b.create<LLVM::GEPOp>(e.loc(), base.getType(), b.getI8Type(), address,
                               ArrayRef<LLVM::GEPArg>{int32_t(part - mixed)});
}

unsigned SharedOperand::vectorOf(const LinearLayout &layout) const {
  return std::min(consecutiveRegisters(layout, major), 16 / elementBytes);
}

void SharedOperand::note(RegisterEmitter &e, const char *what, const LinearLayout &layout,
                         unsigned vector) const {
  e.noteShared(what, layout, elementBytes, vector,
               [&](ArrayRef<int32_t> at) { return offset(at); });
}

namespace {
// A layout whose registers come in another order: bit i of the register index is what bit `bits[i]`
// was.
struct Ordered {
  LinearLayout layout;
  SmallVector<unsigned> bits;

  unsigned registerOf(unsigned old) const {
    unsigned out = 0;
    for (auto [i, bit] : llvm::enumerate(bits))
      out |= (old >> bit & 1) << i;
    return out;
  }
};
} // namespace

static Ordered inOrderOf(const LinearLayout &layout, SmallVector<unsigned> first) {
  auto bases = layout.bases(LayoutInput::Register);
  Ordered out{LinearLayout(layout.rank()), std::move(first)};
  for (unsigned bit = 0; bit < bases.size(); ++bit)
    if (!llvm::is_contained(out.bits, bit))
      out.bits.push_back(bit);
  for (unsigned bit : out.bits)
    out.layout.addBasis(LayoutInput::Register, bases[bit]);
  for (LayoutInput input : {LayoutInput::Lane, LayoutInput::Warp, LayoutInput::Block})
    for (const LinearLayout::Basis &basis : layout.bases(input))
      out.layout.addBasis(input, basis);
  return out;
}

// The registers that are `step` apart come first.
static Ordered firstOf(const LinearLayout &layout, const LinearLayout::Basis &step) {
  auto bases = layout.bases(LayoutInput::Register);
  return inOrderOf(layout, {unsigned(llvm::find(bases, step) - bases.begin())});
}

// Elements that lie side by side in memory come first, wherever the layout has them: `most` of
// them.
static Ordered neighboursFirst(const LinearLayout &layout, unsigned major, unsigned most) {
  auto bases = layout.bases(LayoutInput::Register);
  SmallVector<unsigned> bits;
  for (unsigned step = 1; step < most; step *= 2) {
    LinearLayout::Basis neighbour(layout.rank(), 0);
    neighbour[major] = int32_t(step);
    const auto *found = llvm::find(bases, neighbour);
    if (found == bases.end())
      break;
    bits.push_back(unsigned(found - bases.begin()));
  }
  return inOrderOf(layout, std::move(bits));
}

unsigned SharedOperand::readVector(const LinearLayout &layout) const {
  return vectorOf(neighboursFirst(layout, major, 16 / elementBytes).layout);
}

void SharedOperand::write(RegisterEmitter &e, Value base, const LinearLayout &from,
                          ArrayRef<Value> registers) const {
  OpBuilder &b = e.builder;
  if (elementBytes == 2 &&
      storeMatrices(
          e, from, major, registers, [&](ArrayRef<int32_t> at) { return offset(at); },
          [&, thread = Value()](const LinearLayout &rows, ArrayRef<int32_t> constant) mutable {
            if (!thread)
              thread = threadOffset(e, rows);
            return address(e, base, thread, constant);
          }))
    return;
  Ordered ordered = neighboursFirst(from, major, 16 / elementBytes);
  const LinearLayout &layout = ordered.layout;
  SmallVector<Value> sorted(registers.size());
  for (auto [i, value] : llvm::enumerate(registers))
    sorted[ordered.registerOf(unsigned(i))] = value;
  ArrayRef<Value> values = sorted;
  unsigned vector = vectorOf(layout);
  note(e, "store", layout, vector);
  Value thread = threadOffset(e, layout);
  for (unsigned reg = 0; reg < values.size(); reg += vector) {
    Value packed = vector > 1 ? e.vectorOf(values.slice(reg, vector)) : values[reg];
    b.create<LLVM::StoreOp>(e.loc(), packed, address(e, base, thread, layout.apply(reg, 0, 0)),
                            vector * elementBytes);
  }
}

// The smallest step along `dim` that registers make.
static LinearLayout::Basis nearestAlong(const LinearLayout &layout, unsigned dim) {
  LinearLayout::Basis nearest;
  for (const LinearLayout::Basis &basis : layout.bases(LayoutInput::Register))
    if (basis[dim] && !basis[1 - dim] && (nearest.empty() || basis[dim] < nearest[dim]))
      nearest = basis;
  return nearest;
}

std::optional<unsigned> SharedOperand::matricesAlong(const LinearLayout &layout) const {
  auto lanes = layout.bases(LayoutInput::Lane);
  if (elementBytes != 2 || layout.rank() != 2 || lanes.size() != 5 || registersOf(layout) < 4)
    return std::nullopt;
  auto step = [](unsigned dim, int64_t size) { return unit(2, dim, size); };
  for (unsigned dim : {0u, 1u}) {
    LinearLayout::Basis second = nearestAlong(layout, dim);
    if (second.empty() || lanes[2] != step(1 - dim, 1) || lanes[3] != step(1 - dim, 2) ||
        lanes[4] != step(1 - dim, 4))
      continue;
    bool isOwn = second[dim] == 1 && lanes[0] == step(dim, 2) && lanes[1] == step(dim, 4);
    auto isAlong = [&](const LinearLayout::Basis &basis) { return basis[dim] && !basis[1 - dim]; };
    if (isOwn || (dim != major && isAlong(lanes[0]) && isAlong(lanes[1])))
      return dim;
  }
  return std::nullopt;
}

SmallVector<Value> SharedOperand::read(RegisterEmitter &e, Value base, const LinearLayout &layout,
                                       Type element, ArrayRef<int32_t> start) const {
  auto along = start.empty() ? matricesAlong(layout) : std::nullopt;
  Ordered ordered = along ? firstOf(layout, nearestAlong(layout, *along))
                          : neighboursFirst(layout, major, 16 / elementBytes);
  SmallVector<Value> read;
  if (along) {
    unsigned count = registersOf(layout), group = std::min(8u, count);
    for (unsigned first = 0; first < count; first += group)
      llvm::append_range(read, readFragments(e, base, ordered.layout, *along, first, element));
  } else {
    note(e, "load", ordered.layout, vectorOf(ordered.layout));
    read = readRegisters(e, base, threadOffset(e, ordered.layout), ordered.layout, element, 0,
                         registersOf(layout), start);
  }
  SmallVector<Value> values;
  for (unsigned reg = 0; reg < read.size(); ++reg)
    values.push_back(read[ordered.registerOf(reg)]);
  return values;
}

SmallVector<Value> SharedOperand::readRegisters(RegisterEmitter &e, Value base, Value threadOffset,
                                                const LinearLayout &layout, Type element,
                                                unsigned first, unsigned count,
                                                ArrayRef<int32_t> start) const {
  OpBuilder &b = e.builder;
  unsigned vector = vectorOf(layout);
  SmallVector<Value> values;
  for (unsigned reg = first; reg < first + count; reg += vector) {
    LinearLayout::Basis at = layout.apply(reg, 0, 0);
    for (auto [place, first] : llvm::zip(at, start))
      place += first;
    Value from = address(e, base, threadOffset, at);
    if (vector == 1) {
      values.push_back(b.create<LLVM::LoadOp>(e.loc(), element, from));
      continue;
    }
    Value packed = b.create<LLVM::LoadOp>(e.loc(), VectorType::get({vector}, element), from,
                                          vector * elementBytes);
    llvm::append_range(values, e.elementsOf(packed));
  }
  return values;
}

SmallVector<Value> SharedOperand::readFragments(RegisterEmitter &e, Value base,
                                                const LinearLayout &fragments, unsigned along,
                                                unsigned first, Type element) const {
  OpBuilder &b = e.builder;
  // Lanes 8i to 8i+7 give the rows of matrix i; which matrix that is, the registers say, of which a
  // word's come first.
  unsigned word = 4 / elementBytes;
  ArrayRef<LinearLayout::Basis> regs =
      ArrayRef(fragments.bases(LayoutInput::Register)).drop_front(llvm::Log2_32(word));
  unsigned matrices = regs.size() > 1 ? 4 : 2;
  LinearLayout rowsOf(2);
  // Rows of the matrix are those of the fragments in their order; where it is turned over, two for
  // the elements of a word, and the words of four lanes.
  auto lanes = fragments.bases(LayoutInput::Lane);
  if (along == major)
    for (unsigned bit : {2u, 3u, 4u})
      rowsOf.addBasis(LayoutInput::Lane, lanes[bit]);
  else
    for (const LinearLayout::Basis &basis :
         {fragments.bases(LayoutInput::Register)[0], lanes[0], lanes[1]})
      rowsOf.addBasis(LayoutInput::Lane, basis);
  rowsOf.addBasis(LayoutInput::Lane, regs[0]);
  rowsOf.addBasis(LayoutInput::Lane, matrices == 4 ? regs[1] : LinearLayout::Basis(2, 0));
  for (const LinearLayout::Basis &basis : fragments.bases(LayoutInput::Warp))
    rowsOf.addBasis(LayoutInput::Warp, basis);

  // Each lane gives the address of 16 bytes.
  e.accesses.push_back(
      sharedAccess(e.loc(), "ldmatrix", 16, 16 / elementBytes, 1,
                   [&](unsigned lane) { return offset(rowsOf.apply(0, lane, 0)); }));
  Value from = address(e, base, threadOffset(e, rowsOf), fragments.apply(first, 0, 0));
  SmallVector<Value> values;
  for (Value piece : e.loadMatrices(from, matrices, along != major)) {
    if (word == 1) {
      values.push_back(e.cast(piece, element));
      continue;
    }
    Value all = b.create<LLVM::BitcastOp>(e.loc(), VectorType::get({word}, element), piece);
    llvm::append_range(values, e.elementsOf(all));
  }
  return values;
}

Value SharedOperand::descriptor(RegisterEmitter &e, Value base) const {
  OpBuilder &b = e.builder;
  // All fields count 16 bytes: eight rows further, and the next column.
  int64_t eightRows = 8 * width / 16, column = rows * width / 16;
  int64_t swizzle = width == 128 ? 1 : width == 64 ? 2 : 3;
  Value low = b.create<LLVM::PtrToIntOp>(e.loc(), b.getI32Type(), base);
  low = b.create<arith::ShRUIOp>(e.loc(), low, e.i32(4));
  low = b.create<arith::AndIOp>(e.loc(), low, e.i32(0x3fff));
  Value wide = b.create<arith::ExtUIOp>(e.loc(), b.getI64Type(), low);
  int64_t fields = (column & 0x3fff) << 16 | eightRows << 32 | swizzle << 62;
  return b.create<arith::OrIOp>(e.loc(), wide, e.i64(fields));
}

} // namespace nereid::gpu
