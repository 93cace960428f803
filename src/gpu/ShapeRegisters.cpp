// Ops that only say where an element comes from, and conversions between layouts.
#include "gpu/RegisterModels.h"

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

// Lanes that give a bit of the index away and get one that registers have, or the other way round:
// half of the registers go to the other lane of each pair. Null where elements change their warps,
// or more would be exchanged than shared memory costs.
std::optional<SmallVector<Value>> exchangeBetweenLanes(RegisterEmitter &emitter, Value source,
                                                       const LinearLayout &from,
                                                       const LinearLayout &to) {
  constexpr unsigned most = 32; // words
  if (from.bases(LayoutInput::Warp) != to.bases(LayoutInput::Warp) ||
      from.bases(LayoutInput::Block) != to.bases(LayoutInput::Block))
    return std::nullopt;
  auto shape = shapeOf(source);
  auto places = [&](const LinearLayout &layout, LayoutInput input) {
    SmallVector<int64_t> out;
    for (const auto &basis : layout.bases(input))
      out.push_back(rowMajor(basis, shape));
    return out;
  };
  SmallVector<int64_t> held = places(from, LayoutInput::Register),
                       wanted = places(to, LayoutInput::Register),
                       lanes = places(from, LayoutInput::Lane),
                       wantedLanes = places(to, LayoutInput::Lane);
  // What each lane bit does, and how many words that moves.
  struct Step {
    unsigned lane;
    int64_t gives, gets; ///< 0: nothing
  };
  SmallVector<Step> steps;
  SmallVector<int64_t> after(held);
  unsigned words = 0,
           word =
               std::max<unsigned>(1, tile::bytesInMemory(tile::elementType(source.getType())) / 4);
  for (unsigned i = 0; i < lanes.size(); ++i) {
    if (lanes[i] == wantedLanes[i])
      continue;
    Step step{i, lanes[i], wantedLanes[i]};
    words += word * (1u << after.size()) / (step.gives && step.gets ? 2 : step.gives ? 1 : 4);
    if (step.gets) {
      auto *at = llvm::find(after, step.gets);
      if (at == after.end())
        return std::nullopt;
      after.erase(at);
    }
    if (step.gives)
      after.push_back(step.gives);
    steps.push_back(step);
  }
  if (words > most || after.size() != wanted.size() ||
      !llvm::all_of(wanted, [&](int64_t bit) { return llvm::is_contained(after, bit); }))
    return std::nullopt;

  OpBuilder &b = emitter.builder;
  SmallVector<Value> values(emitter.registers(source));
  for (const Step &step : steps) {
    Value mask = emitter.i32(1 << step.lane);
    Value isUpper = b.create<arith::CmpIOp>(
        emitter.loc(), arith::CmpIPredicate::ne,
        b.create<arith::AndIOp>(emitter.loc(), emitter.lane, mask), emitter.i32(0));
    auto select = [&](Value upper, Value lower) -> Value {
      return b.create<arith::SelectOp>(emitter.loc(), isUpper, upper, lower);
    };
    // Registers without the bit that the lane gets, and with it.
    unsigned bit = step.gets ? unsigned(llvm::find(held, step.gets) - held.begin()) : 0;
    SmallVector<Value> lower, upper;
    for (unsigned reg = 0; reg < values.size(); ++reg)
      (step.gets && (reg >> bit & 1) ? upper : lower).push_back(values[reg]);
    if (step.gets)
      held.erase(held.begin() + bit);
    if (!step.gives) {
      for (unsigned reg = 0; reg < lower.size(); ++reg)
        lower[reg] = select(upper[reg], lower[reg]);
      values = std::move(lower);
      continue;
    }
    held.push_back(step.gives);
    SmallVector<Value> first, second; // where what the lane gives is clear, and set
    for (unsigned reg = 0; reg < lower.size(); ++reg) {
      Value kept = step.gets ? Value() : lower[reg];
      Value sent = step.gets ? select(lower[reg], upper[reg]) : kept;
      Value got = emitter.shuffleXor(sent, 1u << step.lane);
      first.push_back(select(got, lower[reg]));
      second.push_back(select(step.gets ? upper[reg] : kept, got));
    }
    values = std::move(first);
    values.append(second);
  }
  // The same registers in the order that is wanted.
  SmallVector<Value> out;
  for (unsigned reg = 0; reg < values.size(); ++reg) {
    unsigned index = 0;
    for (unsigned i = 0; i < wanted.size(); ++i)
      if (reg >> i & 1)
        index |= 1u << (llvm::find(held, wanted[i]) - held.begin());
    out.push_back(values[index]);
  }
  return out;
}

struct ConvertLayoutRegisters : RegisterModel<ConvertLayoutRegisters, ConvertLayoutOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    Value source = op->getOperand(0), result = op->getResult(0);
    LinearLayout from = layoutOf(source.getType()), to = layoutOf(result.getType());
    auto shape = shapeOf(source);
    // Every thread has what it needs already.
    if (from.bases(LayoutInput::Lane) == to.bases(LayoutInput::Lane) &&
        from.bases(LayoutInput::Warp) == to.bases(LayoutInput::Warp))
      return rename(emitter, result, source, [](Coordinate at) { return at; });
    if (auto values = exchangeBetweenLanes(emitter, source, from, to))
      return emitter.setRegisters(result, *std::move(values));
    Type element = tile::elementType(source.getType());
    // Rows 16 bytes apart from a multiple of the banks: eight of them, which the fragments of a
    // product write together, then meet no bank twice.
    SmallVector<int64_t> padded(shape);
    if (padded.size() > 1)
      padded.back() += std::max<int64_t>(1, 16 / tile::bytesInMemory(element));
    uint64_t bytes = tile::bytesInMemory(element);
    for (int64_t extent : padded)
      bytes *= uint64_t(extent);
    Value base = emitter.beginShared(bytes);
    emitter.writeShared(base, element, padded, from, emitter.registers(source));
    emitter.barrier();
    emitter.setRegisters(result, emitter.readShared(base, element, padded, to));
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
