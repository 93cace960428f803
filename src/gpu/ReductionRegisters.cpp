// Reductions: in the registers of a thread, then across lanes by shuffles, then across warps in one
// round through shared memory. Scans: row by row through shared memory.
#include "gpu/RegisterModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

// True if the elements may be combined in any order: one op that commutes.
bool commutes(Block &combine) {
  if (combine.getOperations().size() != 2)
    return false;
  Operation &op = combine.front();
  return op.hasTrait<OpTrait::IsCommutative>() && op.getNumOperands() == 2 &&
         op.getOperand(0) == combine.getArgument(0) && op.getOperand(1) == combine.getArgument(1);
}

SmallVector<Value> joined(ArrayRef<Value> a, ArrayRef<Value> b) {
  SmallVector<Value> all(a);
  all.append(b.begin(), b.end());
  return all;
}

// Shared memory for one array of each type, one behind the other.
struct SharedArrays {
  SharedArrays(RegisterEmitter &emitter, ArrayRef<Type> elements, int64_t count)
      : emitter(emitter), elements(elements) {
    uint64_t size = 0;
    for (Type element : elements) {
      offsets.push_back(size);
      size = llvm::alignTo(size + count * tile::bytesInMemory(element), 16);
    }
    base = emitter.beginShared(size);
  }
  Value array(unsigned i) {
    return emitter.builder.create<LLVM::GEPOp>(emitter.loc(), base.getType(),
                                               emitter.builder.getI8Type(), base,
                                               ArrayRef<LLVM::GEPArg>{int32_t(offsets[i])});
  }
  Value address(unsigned i, Value index) {
    return emitter.sharedAddress(array(i), elements[i], index);
  }
  SmallVector<Value> load(Value index) {
    SmallVector<Value> values;
    for (unsigned i = 0; i < elements.size(); ++i)
      values.push_back(emitter.loadElement(address(i, index), elements[i]));
    return values;
  }
  void store(Value index, ArrayRef<Value> values) {
    for (unsigned i = 0; i < elements.size(); ++i)
      emitter.storeElement(address(i, index), elements[i], values[i]);
  }

  RegisterEmitter &emitter;
  SmallVector<Type> elements;
  SmallVector<uint64_t> offsets;
  Value base;
};

class Reduction {
public:
  Reduction(tile::ReduceOp reduce, RegisterEmitter &emitter)
      : reduce(reduce), emitter(emitter), b(emitter.builder),
        combineBlock(reduce.getCombine().front()),
        layout(layoutOf(reduce.getSources().front().getType())), axis(reduce.getAxis()) {
    for (Value source : reduce.getSources())
      elements.push_back(tile::elementType(source.getType()));
    for (unsigned reg = 0; reg < registersOf(layout); ++reg) {
      SmallVector<Value> tuple;
      for (Value source : reduce.getSources())
        tuple.push_back(emitter.registers(source)[reg]);
      values.push_back(std::move(tuple));
      live.push_back(reg);
    }
  }

  void emit() {
    if (commutes(combineBlock))
      reduceInAnyOrder();
    else
      reduceInOrder();
    for (auto [i, result] : llvm::enumerate(reduce.getResults())) {
      SmallVector<Value> registers;
      for (unsigned reg : live)
        registers.push_back(values[reg][i]);
      if (isa<RankedTensorType>(result.getType()))
        emitter.setRegisters(result, std::move(registers));
      else
        emitter.setScalar(result, registers[0]);
    }
  }

private:
  struct Bit {
    LayoutInput input;
    unsigned bit;
    int32_t distance; // along the axis
  };

  SmallVector<Bit> bitsOf(LayoutInput input) const {
    SmallVector<Bit> bits;
    for (auto [bit, basis] : llvm::enumerate(layout.bases(input)))
      if (basis[axis])
        bits.push_back({input, unsigned(bit), basis[axis]});
    return bits;
  }

  SmallVector<Value> combine(ArrayRef<Value> left, ArrayRef<Value> right) {
    return emitter.inlineRegion(combineBlock, joined(left, right));
  }

  // Registers whose index differs in the bit become one.
  void combineRegisters(unsigned bit) {
    SmallVector<unsigned> kept;
    for (unsigned reg : live)
      if (!(reg >> bit & 1)) {
        values[reg] = combine(values[reg], values[reg | 1u << bit]);
        kept.push_back(reg);
      }
    live = kept;
  }

  // (mine, other) in the order of the axis: in threads whose bit is set, mine is the later one.
  SmallVector<Value> combineOrdered(ArrayRef<Value> mine, ArrayRef<Value> other, Value index,
                                    unsigned bit) {
    Value masked = b.create<arith::AndIOp>(emitter.loc(), index, emitter.i32(int64_t(1) << bit));
    Value later =
        b.create<arith::CmpIOp>(emitter.loc(), arith::CmpIPredicate::ne, masked, emitter.i32(0));
    SmallVector<Value> left, right;
    for (auto [x, y] : llvm::zip(mine, other)) {
      left.push_back(b.create<LLVM::SelectOp>(emitter.loc(), later, y, x));
      right.push_back(b.create<LLVM::SelectOp>(emitter.loc(), later, x, y));
    }
    return combine(left, right);
  }

  SmallVector<Value> fromLane(ArrayRef<Value> tuple, unsigned bit) {
    SmallVector<Value> other;
    for (Value value : tuple)
      other.push_back(emitter.shuffleXor(value, 1u << bit));
    return other;
  }

  void reduceInAnyOrder() {
    for (const Bit &bit : bitsOf(LayoutInput::Register))
      combineRegisters(bit.bit);
    // Both sides of an exchange compute the same sum, so copies stay equal to the last bit.
    for (const Bit &bit : bitsOf(LayoutInput::Lane))
      for (unsigned reg : live)
        values[reg] = combine(values[reg], fromLane(values[reg], bit.bit));
    combineWarps(bitsOf(LayoutInput::Warp));
  }

  // Each warp leaves its part in shared memory; all add up all parts, in the same order: a tree, so
  // that few additions wait for one another.
  void combineWarps(ArrayRef<Bit> bits) {
    if (bits.empty())
      return;
    // Where all lanes hold the same, a warp has one slot, and parts are read several at once.
    bool oneRow = llvm::all_of(layout.bases(LayoutInput::Lane), [&](const auto &basis) {
      for (unsigned d = 0; d < basis.size(); ++d)
        if (d != axis && basis[d])
          return false;
      return true;
    });
    int64_t lanes = oneRow ? 1 : lanesPerWarp, slots = int64_t(emitter.warps) * lanes;
    SharedArrays shared(emitter, elements, slots * live.size());
    auto slot = [&](Value warp, unsigned i) {
      Value index = warp;
      if (!oneRow)
        index = emitter.add(b.create<arith::MulIOp>(emitter.loc(), warp, emitter.i32(lanes)),
                            emitter.lane);
      return i ? emitter.add(index, emitter.i32(slots * i)) : index;
    };
    for (auto [i, reg] : llvm::enumerate(live))
      shared.store(slot(emitter.warp, i), values[reg]);
    emitter.barrier();
    int64_t mask = 0;
    for (const Bit &bit : bits)
      mask |= int64_t(1) << bit.bit;
    Value group = b.create<arith::AndIOp>(emitter.loc(), emitter.warp, emitter.i32(~mask));
    if (mask == emitter.warps - 1)
      group = emitter.i32(0);
    for (auto [i, reg] : llvm::enumerate(live)) {
      std::vector<SmallVector<Value>> parts;
      for (unsigned member = 0; member < 1u << bits.size(); ++member) {
        int64_t offset = 0;
        for (auto [k, bit] : llvm::enumerate(bits))
          if (member >> k & 1)
            offset |= int64_t(1) << bit.bit;
        parts.push_back(shared.load(slot(emitter.add(group, emitter.i32(offset)), i)));
      }
      for (; parts.size() > 1; parts.resize(parts.size() / 2))
        for (size_t k = 0; k < parts.size() / 2; ++k)
          parts[k] = combine(parts[2 * k], parts[2 * k + 1]);
      values[reg] = parts[0];
    }
  }

  // From the nearest elements to the farthest, each pair in its order.
  void reduceInOrder() {
    SmallVector<Bit> bits = bitsOf(LayoutInput::Register);
    llvm::append_range(bits, bitsOf(LayoutInput::Lane));
    llvm::append_range(bits, bitsOf(LayoutInput::Warp));
    llvm::sort(bits, [](const Bit &x, const Bit &y) { return x.distance < y.distance; });
    for (const Bit &bit : bits) {
      if (bit.input == LayoutInput::Register) {
        combineRegisters(bit.bit);
      } else if (bit.input == LayoutInput::Lane) {
        for (unsigned reg : live)
          values[reg] =
              combineOrdered(values[reg], fromLane(values[reg], bit.bit), emitter.lane, bit.bit);
      } else {
        int64_t threads = int64_t(emitter.warps) * lanesPerWarp;
        SharedArrays shared(emitter, elements, threads * live.size());
        Value partner = b.create<arith::XOrIOp>(emitter.loc(), emitter.thread,
                                                emitter.i32(int64_t(lanesPerWarp) << bit.bit));
        for (auto [i, reg] : llvm::enumerate(live))
          shared.store(emitter.add(emitter.thread, emitter.i32(threads * i)), values[reg]);
        emitter.barrier();
        for (auto [i, reg] : llvm::enumerate(live))
          values[reg] = combineOrdered(values[reg],
                                       shared.load(emitter.add(partner, emitter.i32(threads * i))),
                                       emitter.warp, bit.bit);
      }
    }
  }

  tile::ReduceOp reduce;
  RegisterEmitter &emitter;
  OpBuilder &b;
  Block &combineBlock;
  LinearLayout layout;
  unsigned axis;
  SmallVector<Type> elements;
  std::vector<SmallVector<Value>> values; // by register
  SmallVector<unsigned> live;             // registers that still hold a part
};

struct ReduceRegisters : RegisterModel<ReduceRegisters, tile::ReduceOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    Reduction(cast<tile::ReduceOp>(op), emitter).emit();
  }
};

// One thread runs along a row.
struct ScanRegisters : RegisterModel<ScanRegisters, tile::ScanOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    auto scan = cast<tile::ScanOp>(op);
    OpBuilder &b = emitter.builder;
    Block &combine = scan.getCombine().front();
    auto tensor = cast<RankedTensorType>(scan.getSources().front().getType());
    auto shape = tensor.getShape();
    LinearLayout layout = layoutOf(tensor);
    SmallVector<Type> elements;
    for (Value source : scan.getSources())
      elements.push_back(tile::elementType(source.getType()));
    SharedArrays shared(emitter, elements, tensor.getNumElements());
    for (auto [i, source] : llvm::enumerate(scan.getSources()))
      emitter.writeShared(shared.array(i), elements[i], shape, layout, emitter.registers(source));
    emitter.barrier();

    unsigned axis = scan.getAxis();
    int64_t extent = shape[axis], stride = 1;
    for (unsigned d = axis + 1; d < shape.size(); ++d)
      stride *= shape[d];
    int64_t rows = tensor.getNumElements() / extent;
    int64_t first = scan.getReverse() ? (extent - 1) * stride : 0;
    int64_t step = scan.getReverse() ? -stride : stride;
    emitter.loop(
        emitter.thread, emitter.i32(rows), emitter.i32(int64_t(emitter.warps) * lanesPerWarp), {},
        [&](Value row, ValueRange) -> SmallVector<Value> {
          // row = outer * stride + inner
          Value inner = b.create<arith::AndIOp>(emitter.loc(), row, emitter.i32(stride - 1));
          Value outer = b.create<arith::SubIOp>(emitter.loc(), row, inner);
          Value at = emitter.add(b.create<arith::MulIOp>(emitter.loc(), outer, emitter.i32(extent)),
                                 inner);
          at = emitter.add(at, emitter.i32(first));
          SmallVector<Value> carried = shared.load(at);
          if (extent == 1)
            return {};
          emitter.loop(emitter.i32(1), emitter.i32(extent), emitter.i32(1), carried,
                       [&](Value k, ValueRange sums) {
                         Value index = emitter.add(
                             at, b.create<arith::MulIOp>(emitter.loc(), k, emitter.i32(step)));
                         SmallVector<Value> next = emitter.inlineRegion(
                             combine, joined(llvm::to_vector(sums), shared.load(index)));
                         shared.store(index, next);
                         return next;
                       });
          return {};
        });
    emitter.barrier();
    for (auto [i, result] : llvm::enumerate(scan.getResults()))
      emitter.setRegisters(result, emitter.readShared(shared.array(i), elements[i], shape, layout));
  }
};

// Applies a region to `pack` adjacent elements at a time, which lie in adjacent registers.
struct MapRegisters : RegisterModel<MapRegisters, tile::MapOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    auto map = cast<tile::MapOp>(op);
    Value first = map.getInputs().front();
    LinearLayout layout = layoutOf(first.getType());
    unsigned pack = map.getPack(), count = registersOf(layout);
    if (consecutiveRegisters(layout, layout.rank() - 1) < pack)
      return emitter.unsupported(op, "groups that cross rows");
    std::vector<SmallVector<Value>> outputs(map.getOutputs().size());
    for (unsigned reg = 0; reg < count; reg += pack) {
      SmallVector<Value> arguments;
      for (Value input : map.getInputs())
        for (unsigned i = 0; i < pack; ++i)
          arguments.push_back(emitter.registers(input)[reg + i]);
      SmallVector<Value> results = emitter.inlineRegion(map.getBody().front(), arguments);
      for (unsigned i = 0; i < results.size(); ++i)
        outputs[i / pack].push_back(results[i]);
    }
    for (auto [output, values] : llvm::zip(map.getOutputs(), outputs))
      emitter.setRegisters(output, values);
  }
};

// Counts in shared memory.
struct HistogramRegisters : RegisterModel<HistogramRegisters, tile::HistogramOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    auto histogram = cast<tile::HistogramOp>(op);
    OpBuilder &b = emitter.builder;
    Type i32 = b.getI32Type();
    auto shape = tile::shapeOf(histogram.getType());
    SharedArrays shared(emitter, i32, shape[0]);
    int64_t threads = int64_t(emitter.warps) * lanesPerWarp;
    emitter.loop(emitter.thread, emitter.i32(shape[0]), emitter.i32(threads), {},
                 [&](Value at, ValueRange) -> SmallVector<Value> {
                   shared.store(at, emitter.i32(0));
                   return {};
                 });
    emitter.barrier();
    Value source = histogram.getSource();
    Value owner = emitter.isOwner(layoutOf(source.getType()));
    ArrayRef<Value> values = emitter.registers(source);
    for (unsigned reg = 0; reg < values.size(); ++reg) {
      Value bin = values[reg];
      if (bin.getType().getIntOrFloatBitWidth() < 32)
        bin = b.create<arith::ExtSIOp>(emitter.loc(), i32, bin);
      Value counts = b.create<arith::CmpIOp>(emitter.loc(), arith::CmpIPredicate::ult, bin,
                                             emitter.number(bin.getType(), shape[0]));
      counts = emitter.both(counts, owner);
      if (histogram.getMask())
        counts = emitter.both(counts, emitter.registers(histogram.getMask())[reg]);
      if (bin.getType() != i32)
        bin = b.create<arith::TruncIOp>(emitter.loc(), i32, bin);
      Value address = shared.address(0, bin);
      emitter.assembly("@$1 red.relaxed.cta.shared.add.u32 [$0], 1;", "l,b", {},
                       {b.create<LLVM::PtrToIntOp>(emitter.loc(), b.getI64Type(), address), counts},
                       false);
    }
    emitter.barrier();
    emitter.setRegisters(histogram.getResult(), emitter.readShared(shared.array(0), i32, shape,
                                                                   layoutOf(histogram.getType())));
  }
};

} // namespace

void registerReductionRegisters(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    tile::ReduceOp::attachInterface<ReduceRegisters>(*context);
    tile::ScanOp::attachInterface<ScanRegisters>(*context);
    tile::MapOp::attachInterface<MapRegisters>(*context);
    tile::HistogramOp::attachInterface<HistogramRegisters>(*context);
  });
}

} // namespace nereid::gpu
