// Ops that only say where an element comes from, and conversions between layouts.
#include "gpu/RegisterModels.h"
#include "gpu/StoreMatrices.h"
#include "gpu/SwizzledTile.h"
#include "gpu/TurnedMatrices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::gpu {

RegisterIndex::RegisterIndex(const LinearLayout &layout, ArrayRef<int64_t> shape) : shape(shape) {
  for (unsigned reg = 0; reg < registersOf(layout); ++reg)
    found.try_emplace(rowMajor(layout.apply(reg, 0, 0), shape), reg);
}

unsigned RegisterIndex::at(ArrayRef<int32_t> coordinate) const {
  return found.lookup(rowMajor(coordinate, shape));
}

namespace {

// Where a register's element lies in lines whose places are permuted: `thread` XORed with the
// register's part, both in bytes. What is beyond a line adds up without carry.
Value permutedPlace(RegisterEmitter &e, Value base, Value thread, int32_t part) {
  OpBuilder &b = e.builder;
  int32_t within = part % SwizzledTile::lineBytes;
  if (within)
    thread = b.create<arith::XOrIOp>(e.loc(), thread, e.i32(within));
  Type byte = b.getI8Type();
  Value near = b.create<LLVM::GEPOp>(e.loc(), base.getType(), byte, base, thread);
  return b.create<LLVM::GEPOp>(e.loc(), base.getType(), byte, near,
                               ArrayRef<LLVM::GEPArg>{part - within});
}

using Coordinate = LinearLayout::Basis;

ArrayRef<int64_t> shapeOf(Value value) { return tile::shapeOf(value.getType()); }

// Takes each register of the result from the register of the source at the place that `origin`
// names. Lanes and warps agree, because the layouts follow from each other.
void rename(RegisterEmitter &emitter, Value result, Value source,
            llvm::function_ref<Coordinate(Coordinate)> origin) {
  LinearLayout to = layoutOf(result.getType()), from = layoutOf(source.getType());
  RegisterIndex index(from, shapeOf(source));
  ArrayRef<Value> registers = emitter.registers(source);
  SmallVector<Value> values;
  for (unsigned reg = 0; reg < registersOf(to); ++reg)
    values.push_back(registers[index.at(origin(to.apply(reg, 0, 0)))]);
  emitter.setRegisters(result, std::move(values));
}

struct ArangeRegisters : RegisterModel<ArangeRegisters, tile::ArangeOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    LinearLayout layout = layoutOf(op->getResult(0).getType());
    Value first = emitter.threadCoordinate(layout, 0);
    int32_t start = cast<tile::ArangeOp>(op).getStart();
    SmallVector<Value> values;
    for (unsigned reg = 0; reg < registersOf(layout); ++reg)
      values.push_back(emitter.add(first, emitter.i32(start + layout.apply(reg, 0, 0)[0])));
    emitter.setRegisters(op->getResult(0), std::move(values));
  }
};

struct SplatRegisters : RegisterModel<SplatRegisters, tile::SplatOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    emitter.setRegisters(op->getResult(0),
                         SmallVector<Value>(registersOf(layoutOf(op->getResult(0).getType())),
                                            emitter.scalar(op->getOperand(0))));
  }
};

// Every thread has the one element.
struct UnsplatRegisters : RegisterModel<UnsplatRegisters, tile::UnsplatOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    emitter.setScalar(op->getResult(0), emitter.registers(op->getOperand(0))[0]);
  }
};

struct BroadcastRegisters : RegisterModel<BroadcastRegisters, tile::BroadcastOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    Value source = op->getOperand(0), result = op->getResult(0);
    rename(emitter, result, source, [&](Coordinate at) {
      for (unsigned d = 0; d < at.size(); ++d)
        if (shapeOf(source)[d] != shapeOf(result)[d])
          at[d] = 0;
      return at;
    });
  }
};

struct ExpandDimsRegisters : RegisterModel<ExpandDimsRegisters, tile::ExpandDimsOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    rename(emitter, op->getResult(0), op->getOperand(0), [&](Coordinate at) {
      at.erase(at.begin() + cast<tile::ExpandDimsOp>(op).getAxis());
      return at;
    });
  }
};

struct TransRegisters : RegisterModel<TransRegisters, tile::TransOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    // Of a tile that stays in shared memory: its products read it there.
    if (!emitter.hasRegisters(op->getOperand(0)))
      return;
    rename(emitter, op->getResult(0), op->getOperand(0), [&](const Coordinate &at) {
      Coordinate from(at.size());
      for (auto [d, p] : llvm::enumerate(cast<tile::TransOp>(op).getPerm()))
        from[p] = at[d];
      return from;
    });
  }
};

struct ReshapeRegisters : RegisterModel<ReshapeRegisters, tile::ReshapeOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    auto from = shapeOf(op->getOperand(0)), to = shapeOf(op->getResult(0));
    rename(emitter, op->getResult(0), op->getOperand(0), [&](const Coordinate &at) {
      int64_t index = rowMajor(at, to);
      Coordinate out(from.size());
      for (unsigned d = from.size(); d-- > 0; index /= from[d])
        out[d] = int32_t(index % from[d]);
      return out;
    });
  }
};

struct JoinRegisters : RegisterModel<JoinRegisters, tile::JoinOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    Value result = op->getResult(0);
    LinearLayout to = layoutOf(result.getType());
    Value sides[2] = {op->getOperand(0), op->getOperand(1)};
    SmallVector<Value> values;
    for (unsigned reg = 0; reg < registersOf(to); ++reg) {
      Coordinate at = to.apply(reg, 0, 0);
      Value side = sides[at.pop_back_val()];
      if (at.empty()) {
        values.push_back(emitter.scalar(side));
        continue;
      }
      RegisterIndex index(layoutOf(side.getType()), shapeOf(side));
      values.push_back(emitter.registers(side)[index.at(at)]);
    }
    emitter.setRegisters(result, std::move(values));
  }
};

struct SplitRegisters : RegisterModel<SplitRegisters, tile::SplitOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    Value source = op->getOperand(0);
    for (int32_t half = 0; half < 2; ++half) {
      Value result = op->getResult(half);
      if (isa<RankedTensorType>(result.getType())) {
        rename(emitter, result, source, [&](Coordinate at) {
          at.push_back(half);
          return at;
        });
        continue;
      }
      RegisterIndex index(layoutOf(source.getType()), shapeOf(source));
      emitter.setScalar(result, emitter.registers(source)[index.at({half})]);
    }
  }
};

struct CatRegisters : RegisterModel<CatRegisters, tile::CatOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    Value result = op->getResult(0);
    LinearLayout to = layoutOf(result.getType());
    int32_t half = int32_t(shapeOf(op->getOperand(0))[0]);
    SmallVector<Value> values;
    for (unsigned reg = 0; reg < registersOf(to); ++reg) {
      Coordinate at = to.apply(reg, 0, 0);
      Value side = op->getOperand(at[0] >= half);
      at[0] %= half;
      RegisterIndex index(layoutOf(side.getType()), shapeOf(side));
      values.push_back(emitter.registers(side)[index.at(at)]);
    }
    emitter.setRegisters(result, std::move(values));
  }
};

// The source lies in shared memory, every thread picks its elements.
struct GatherRegisters : RegisterModel<GatherRegisters, tile::GatherOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    auto gather = cast<tile::GatherOp>(op);
    OpBuilder &b = emitter.builder;
    Value source = gather.getSource(), result = gather.getResult();
    auto shape = shapeOf(source);
    Type element = tile::elementType(source.getType());
    Value base = emitter.beginShared(cast<RankedTensorType>(source.getType()).getNumElements() *
                                     tile::bytesInMemory(element));
    emitter.writeShared(base, element, shape, layoutOf(source.getType()),
                        emitter.registers(source));
    emitter.barrier();
    LinearLayout layout = layoutOf(result.getType());
    unsigned axis = gather.getAxis();
    SmallVector<Value> values;
    for (unsigned reg = 0; reg < registersOf(layout); ++reg) {
      Value index = emitter.i32(0);
      for (unsigned d = 0; d < shape.size(); ++d) {
        Value at = d == axis ? emitter.registers(gather.getIndices())[reg]
                             : emitter.coordinate(layout, reg, d);
        if (at.getType().getIntOrFloatBitWidth() > 32)
          at = b.create<arith::TruncIOp>(emitter.loc(), b.getI32Type(), at);
        else if (at.getType() != b.getI32Type())
          at = b.create<arith::ExtSIOp>(emitter.loc(), b.getI32Type(), at);
        // An index out of range reads some element of the tile and never foreign memory.
        if (d == axis)
          at = b.create<arith::AndIOp>(emitter.loc(), at, emitter.i32(shape[d] - 1));
        index = b.create<arith::MulIOp>(emitter.loc(), index, emitter.i32(shape[d]));
        index = emitter.add(index, at);
      }
      values.push_back(emitter.loadElement(emitter.sharedAddress(base, element, index), element));
    }
    emitter.setRegisters(result, std::move(values));
  }
};

// The elements of a tile on their way between the lanes of a warp: several small ones in a word,
// others as they are, so that a comparator sees what it is that it compares.
class Travellers {
public:
  // Small elements share a word where they differ in bits of the register index that stay there.
  Travellers(RegisterEmitter &emitter, ArrayRef<Value> registers, const LaneExchange &exchange)
      : emitter(emitter), type(registers.front().getType()) {
    unsigned bits = unsigned(llvm::Log2_64(registers.size())), wanted = 1;
    if (type.isInteger(8) || type.isInteger(16) || type.isF16() || type.isBF16())
      wanted = 32 / type.getIntOrFloatBitWidth();
    for (unsigned bit = 0; bit < bits; ++bit) {
      bool leaves = llvm::any_of(exchange.steps, [&](const LaneExchange::Step &step) {
        return step.kind != LaneExchange::Step::Spread && step.reg == bit;
      });
      bool joins = !leaves && (1u << together.size()) < wanted;
      (joins ? together : apart).push_back(bit);
    }
    for (unsigned group = 0; group < 1u << apart.size(); ++group) {
      SmallVector<Value> members;
      for (unsigned place = 0; place < 1u << together.size(); ++place)
        members.push_back(registers[spread(group, apart) | spread(place, together)]);
      if (members.size() > 1)
        members = {emitter.cast(emitter.vectorOf(members), wholeType())};
      auto parts = emitter.toWords(members.front());
      words = unsigned(parts.size());
      values.push_back(words == 1 && !type.isF32() ? parts.front() : members.front());
    }
  }

  unsigned wordCount() const { return unsigned(values.size()) * words; }

  void step(LaneExchange::Step step) {
    Value isHigh = emitter.isSet(emitter.lane, step.lane);
    unsigned mask = 1u << step.lane;
    if (step.kind == LaneExchange::Step::Spread) {
      size_t count = values.size();
      for (size_t i = 0; i < count; ++i) {
        Value own = values[i], got = emitter.shuffleXor(own, mask);
        values[i] = select(isHigh, got, own);
        values.push_back(select(isHigh, own, got));
      }
      apart.push_back(step.reg);
      return;
    }
    const auto *place = llvm::find(apart, step.reg);
    unsigned distance = 1u << (place - apart.begin());
    bool isSwap = step.kind == LaneExchange::Step::Swap;
    SmallVector<Value> left;
    for (unsigned i = 0; i < values.size(); ++i) {
      if (i & distance)
        continue;
      Value &low = values[i], &high = values[i | distance];
      Value kept = select(isHigh, high, low);
      if (isSwap) {
        // Both by one condition from the same two: what `foldSwaps` knows.
        Value got = emitter.shuffleXor(select(isHigh, low, high), mask);
        low = select(isHigh, got, kept);
        high = select(isHigh, kept, got);
      } else {
        left.push_back(kept);
      }
    }
    if (!isSwap) {
      values = std::move(left);
      apart.erase(place);
    }
  }

  // Lane bit i is what bit `lanes[i]` was.
  void moveLanes(ArrayRef<unsigned> lanes) {
    Value from = emitter.i32(0);
    for (auto [to, bit] : llvm::enumerate(lanes))
      from = emitter.builder.create<arith::OrIOp>(emitter.loc(), from,
                                                  select(emitter.isSet(emitter.lane, unsigned(to)),
                                                         emitter.i32(int64_t(1) << bit),
                                                         emitter.i32(0)));
    for (Value &value : values)
      value = emitter.shuffleFrom(value, from);
  }

  // Bit i of the register index is what bit `bits[i]` was.
  SmallVector<Value> arrived(ArrayRef<unsigned> bits) const {
    std::vector<SmallVector<Value>> groups;
    for (Value value : values) {
      Value whole = value;
      if (Type wanted = together.empty() ? type : wholeType(); value.getType() != wanted)
        whole = emitter.fromWords(value, wanted);
      if (together.empty())
        groups.push_back({whole});
      else
        groups.push_back(emitter.elementsOf(
            emitter.cast(whole, VectorType::get({int64_t(1) << together.size()}, type))));
    }
    SmallVector<Value> registers;
    for (unsigned reg = 0; reg < 1u << bits.size(); ++reg) {
      unsigned group = 0, place = 0;
      for (auto [i, bit] : llvm::enumerate(bits)) {
        if (!(reg >> i & 1))
          continue;
        if (const auto *found = llvm::find(apart, bit); found != apart.end())
          group |= 1u << (found - apart.begin());
        else
          place |= 1u << (llvm::find(together, bit) - together.begin());
      }
      registers.push_back(groups[group][place]);
    }
    return registers;
  }

private:
  // Of a group of small elements.
  Type wholeType() const {
    return emitter.builder.getIntegerType(type.getIntOrFloatBitWidth() << together.size());
  }
  // Bit i of a number goes to bit `to[i]`.
  static unsigned spread(unsigned number, ArrayRef<unsigned> to) {
    unsigned out = 0;
    for (auto [i, bit] : llvm::enumerate(to))
      out |= (number >> i & 1) << bit;
    return out;
  }
  Value select(Value condition, Value yes, Value no) {
    return emitter.builder.create<LLVM::SelectOp>(emitter.loc(), condition, yes, no);
  }

  RegisterEmitter &emitter;
  Type type;
  SmallVector<unsigned> together, apart; // bits of the register index, within words and between
  SmallVector<Value> values;
  unsigned words = 1; // that each of them takes
};

// A conversion through shared memory, in one piece or in several one after another: threads write
// and read some of their registers in each.
class Passage {
public:
  Passage(Value source, Value result, uint64_t most, const RegisterEmitter &emitter)
      : source(source), from(layoutOf(source.getType())), to(layoutOf(result.getType())),
        shape(shapeOf(source)), element(tile::elementType(source.getType())) {
    pieces.push_back({llvm::to_vector(llvm::seq(0u, registersOf(from))),
                      llvm::to_vector(llvm::seq(0u, registersOf(to)))});
    cutRows(emitter);
    while (bytes() > most && halve())
      ;
    swizzle(emitter);
  }

  // Of shared memory, for a warp to write and read all of its elements.
  unsigned cycles(const RegisterEmitter &emitter) const {
    if (swizzled)
      return swizzled->cycles() * unsigned(pieces.size());
    unsigned cycles = 0;
    for (const LinearLayout &layout : {from, to}) {
      AccessFact fact = emitter.sharedFact("", element, padded(), layout);
      cycles += fact.count * fact.transactions;
    }
    return cycles * unsigned(pieces.size());
  }

  void emit(RegisterEmitter &emitter, Value result) {
    SmallVector<Value> values(registersOf(layoutOf(result.getType())));
    for (const Piece &piece : pieces) {
      Value base = emitter.beginShared(bytes());
      SmallVector<Value> written;
      for (unsigned reg : piece.written)
        written.push_back(emitter.registers(source)[reg]);
      if (swizzled)
        write(emitter, base, written);
      else
        emitter.writeShared(base, element, padded(), from, written);
      emitter.barrier();
      for (auto [reg, value] :
           llvm::zip(piece.read, swizzled ? read(emitter, base)
                                          : emitter.readShared(base, element, padded(), to)))
        values[reg] = value;
    }
    emitter.setRegisters(result, std::move(values));
  }

private:
  struct Piece {
    SmallVector<unsigned> written, read; // registers of the source, and of the result
  };

  // Rows 16 bytes apart from a multiple of the banks: eight of them, which the fragments of a
  // product write together, then meet no bank twice.
  SmallVector<int64_t> padded() const {
    SmallVector<int64_t> rows(shape);
    if (rows.size() > 1)
      rows.back() += std::max<int64_t>(1, 16 / tile::bytesInMemory(element));
    return rows;
  }
  uint64_t bytes() const {
    uint64_t bytes = tile::bytesInMemory(element);
    for (int64_t extent : swizzled ? shape : padded())
      bytes *= uint64_t(extent);
    return bytes;
  }

  // Without padding, where that meets fewer banks twice. Sums of 16 bits may leave as whole
  // matrices, which `cycles` does not count; truths are no numbers in memory.
  void swizzle(const RegisterEmitter &emitter) {
    unsigned size = unsigned(tile::bytesInMemory(element));
    if (!element.isIntOrFloat() || element.isInteger(1) || (size == 2 && liesInMatrices(from)))
      return;
    SwizzledTile tile(shape, from, to, size);
    if (tile.cycles() * pieces.size() < cycles(emitter))
      swizzled = tile;
  }
  static Value placeOf(RegisterEmitter &e, Value base, Value thread, const SwizzledTile &tile,
                       const SwizzledTile::Side &side, unsigned reg) {
    return permutedPlace(e, base, thread,
                         side.places.apply(reg, 0, 0)[0] * int32_t(tile.elementBytes));
  }
  Value threadPlace(RegisterEmitter &e, const SwizzledTile::Side &side) const {
    return e.builder.create<arith::MulIOp>(e.loc(),
                                           e.threadCoordinate(side.places, 0, /*mayMeet=*/true),
                                           e.i32(swizzled->elementBytes));
  }
  void note(RegisterEmitter &e, const char *what, const SwizzledTile::Side &side) const {
    unsigned size = swizzled->elementBytes;
    e.accesses.push_back(sharedAccess(
        e.loc(), what, size * side.vector, side.vector, registersOf(side.places) / side.vector,
        [&](unsigned lane) { return int64_t(side.placeOf(lane)) * size; }));
  }
  void write(RegisterEmitter &e, Value base, ArrayRef<Value> values) const {
    const SwizzledTile::Side &side = swizzled->writers;
    note(e, "store", side);
    Value thread = threadPlace(e, side);
    for (unsigned reg = 0; reg < values.size(); reg += side.vector) {
      Value packed = side.vector > 1 ? e.vectorOf(values.slice(reg, side.vector)) : values[reg];
      e.builder.create<LLVM::StoreOp>(e.loc(), packed,
                                      placeOf(e, base, thread, *swizzled, side, reg),
                                      side.vector * swizzled->elementBytes);
    }
  }
  SmallVector<Value> read(RegisterEmitter &e, Value base) const {
    const SwizzledTile::Side &side = swizzled->readers;
    note(e, "load", side);
    Value thread = threadPlace(e, side);
    Type type = registerType(element);
    SmallVector<Value> values;
    for (unsigned reg = 0; reg < registersOf(side.places); reg += side.vector) {
      Value from = placeOf(e, base, thread, *swizzled, side, reg);
      if (side.vector == 1) {
        values.push_back(e.builder.create<LLVM::LoadOp>(e.loc(), type, from));
        continue;
      }
      Value packed = e.builder.create<LLVM::LoadOp>(e.loc(), VectorType::get({side.vector}, type),
                                                    from, side.vector * swizzled->elementBytes);
      llvm::append_range(values, e.elementsOf(packed));
    }
    return values;
  }

  // Rows become runs of all banks, each 16 bytes apart from the one before, where lanes that are
  // far apart in a row would meet in a bank otherwise.
  void cutRows(const RegisterEmitter &emitter) {
    constexpr int64_t bytesOfBanks = 128;
    int64_t run = bytesOfBanks / tile::bytesInMemory(element);
    if (shape.empty() || shape.back() <= run)
      return;
    Passage cut(*this);
    cut.shape.back() /= run;
    cut.shape.push_back(run);
    cut.from = reshapeLayout(from, shape, cut.shape);
    cut.to = reshapeLayout(to, shape, cut.shape);
    if (cut.cycles(emitter) < cycles(emitter))
      *this = cut;
  }
  // Where registers choose between the halves of a dimension on both sides, the halves go one after
  // the other. False if there is no such dimension.
  bool halve() {
    for (unsigned d = 0; d < shape.size(); ++d) {
      LinearLayout::Basis half(shape.size(), 0);
      half[d] = int32_t(shape[d] / 2);
      auto writers = from.bases(LayoutInput::Register), readers = to.bases(LayoutInput::Register);
      const auto *writer = llvm::find(writers, half), *reader = llvm::find(readers, half);
      if (shape[d] < 2 || writer == writers.end() || reader == readers.end())
        continue;
      unsigned writerBit = unsigned(writer - writers.begin()),
               readerBit = unsigned(reader - readers.begin());
      std::vector<Piece> halves;
      for (const Piece &piece : pieces)
        for (unsigned side : {0u, 1u})
          halves.push_back(
              {onSide(piece.written, writerBit, side), onSide(piece.read, readerBit, side)});
      pieces = std::move(halves);
      from = without(from, half);
      to = without(to, half);
      shape[d] /= 2;
      return true;
    }
    return false;
  }
  static SmallVector<unsigned> onSide(ArrayRef<unsigned> registers, unsigned bit, unsigned side) {
    SmallVector<unsigned> out;
    for (auto [i, reg] : llvm::enumerate(registers))
      if ((i >> bit & 1) == side)
        out.push_back(reg);
    return out;
  }
  static LinearLayout without(const LinearLayout &layout, const LinearLayout::Basis &gone) {
    LinearLayout out(layout.rank());
    for (LayoutInput input :
         {LayoutInput::Register, LayoutInput::Lane, LayoutInput::Warp, LayoutInput::Block})
      for (const LinearLayout::Basis &basis : layout.bases(input))
        if (input != LayoutInput::Register || basis != gone)
          out.addBasis(input, basis);
    return out;
  }

  Value source;
  LinearLayout from, to;
  SmallVector<int64_t> shape;
  Type element;
  std::vector<Piece> pieces;
  std::optional<SwizzledTile> swizzled;
};

// A conversion of 16-bit elements that turns them over in shared memory.
class Turning {
public:
  Turning(Value source, Value result, const TurnedMatrices &plan, RegisterEmitter &emitter)
      : source(source), result(result), plan(plan), e(emitter), b(emitter.builder) {
    unsigned written = registersOf(plan.writers) / plan.vector,
             read = registersOf(plan.readers) / (2 * plan.matrices);
    auto offset = [](const LinearLayout &plain, const LinearLayout &swizzle) {
      return
          [&](unsigned lane) { return plain.apply(0, lane, 0)[0] ^ swizzle.apply(0, lane, 0)[0]; };
    };
    accesses.push_back(sharedAccess(e.loc(), "store", 2 * plan.vector, plan.vector, written,
                                    offset(plan.writers, plan.writerSwizzle)));
    accesses.push_back(
        sharedAccess(e.loc(), "ldmatrix", 16, 8, read, offset(plan.readers, plan.readerSwizzle)));
  }

  unsigned cycles() const {
    unsigned cycles = 0;
    for (const AccessFact &access : accesses)
      cycles += access.count * access.transactions;
    return cycles;
  }

  void emit() {
    Value base = e.beginShared(uint64_t(plan.bytes));
    llvm::append_range(e.accesses, accesses);
    ArrayRef<Value> written = e.registers(source);
    Value writer = thread(plan.writers, plan.writerSwizzle);
    for (unsigned reg = 0; reg < written.size(); reg += plan.vector)
      b.create<LLVM::StoreOp>(e.loc(), e.vectorOf(written.slice(reg, plan.vector)),
                              address(base, writer, plan.writers, plan.writerSwizzle, reg),
                              2 * plan.vector);
    e.barrier();
    Value reader = thread(plan.readers, plan.readerSwizzle);
    Type pair = VectorType::get({2}, written.front().getType());
    SmallVector<Value> values;
    for (unsigned reg = 0; reg < registersOf(plan.readers); reg += 2 * plan.matrices)
      for (Value word : e.loadMatrices(address(base, reader, plan.readers, plan.readerSwizzle, reg),
                                       plan.matrices, true))
        llvm::append_range(values, e.elementsOf(e.cast(word, pair)));
    e.setRegisters(result, std::move(values));
  }

private:
  Value thread(const LinearLayout &plain, const LinearLayout &swizzle) {
    return b.create<arith::XOrIOp>(e.loc(), e.threadCoordinate(plain, 0),
                                   e.threadCoordinate(swizzle, 0));
  }
  Value address(Value base, Value thread, const LinearLayout &plain, const LinearLayout &swizzle,
                unsigned reg) {
    return permutedPlace(e, base, thread, plain.apply(reg, 0, 0)[0] ^ swizzle.apply(reg, 0, 0)[0]);
  }

  Value source, result;
  const TurnedMatrices &plan;
  RegisterEmitter &e;
  OpBuilder &b;
  std::vector<AccessFact> accesses;
};

struct ConvertLayoutRegisters : RegisterModel<ConvertLayoutRegisters, ConvertLayoutOp> {
  // Within warps by shuffles, where those are cheap.
  static bool exchangeLanes(Value source, Value result, RegisterEmitter &emitter) {
    auto exchange = exchangeInWarps(layoutOf(source.getType()), layoutOf(result.getType()));
    if (!exchange)
      return false;
    Travellers travellers(emitter, emitter.registers(source), *exchange);
    if (!exchange->isCheap(travellers.wordCount()))
      return false;
    for (LaneExchange::Step step : exchange->steps)
      travellers.step(step);
    if (exchange->movesLanes())
      travellers.moveLanes(exchange->lanes);
    emitter.setRegisters(result, travellers.arrived(exchange->registers));
    return true;
  }

  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    Value source = op->getOperand(0), result = op->getResult(0);
    LinearLayout from = layoutOf(source.getType()), to = layoutOf(result.getType());
    // Every thread has what it needs already.
    if (from.bases(LayoutInput::Lane) == to.bases(LayoutInput::Lane) &&
        from.bases(LayoutInput::Warp) == to.bases(LayoutInput::Warp))
      return rename(emitter, result, source, [](Coordinate at) { return at; });
    if (exchangeLanes(source, result, emitter))
      return;
    // Half of what a block may have leaves room for rings beside it.
    uint64_t most = emitter.chip.sharedBytesPerBlock / 2;
    Passage passage(source, result, most, emitter);
    if (tile::bytesInMemory(tile::elementType(source.getType())) == 2)
      if (auto plan = TurnedMatrices::of(from, to); plan && uint64_t(plan->bytes) <= most) {
        Turning turning(source, result, *plan, emitter);
        if (turning.cycles() < passage.cycles(emitter))
          return turning.emit();
      }
    passage.emit(emitter, result);
  }
};

} // namespace

void registerShapeRegisters(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    using namespace tile;
    ArangeOp::attachInterface<ArangeRegisters>(*context);
    SplatOp::attachInterface<SplatRegisters>(*context);
    UnsplatOp::attachInterface<UnsplatRegisters>(*context);
    BroadcastOp::attachInterface<BroadcastRegisters>(*context);
    ExpandDimsOp::attachInterface<ExpandDimsRegisters>(*context);
    TransOp::attachInterface<TransRegisters>(*context);
    ReshapeOp::attachInterface<ReshapeRegisters>(*context);
    JoinOp::attachInterface<JoinRegisters>(*context);
    SplitOp::attachInterface<SplitRegisters>(*context);
    CatOp::attachInterface<CatRegisters>(*context);
    GatherOp::attachInterface<GatherRegisters>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, TileGpuDialect *) {
    ConvertLayoutOp::attachInterface<ConvertLayoutRegisters>(*context);
  });
}

} // namespace nereid::gpu
