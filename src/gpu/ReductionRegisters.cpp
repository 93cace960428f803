// Reductions: in the registers of a thread, then across lanes by shuffles, then across warps in one
// round through shared memory.
#include "analysis/CombineOrder.h"
#include "gpu/IndexedExtremum.h"
#include "gpu/LayoutFlow.h"
#include "gpu/RegisterModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/TypeSwitch.h"

#include <map>

using namespace mlir;

namespace nereid::gpu {

namespace {

// How `redux.sync` combines the lanes of a warp, if it knows the combination.
std::optional<NVVM::ReduxKind> reduxOf(Block &combine) {
  if (combine.getNumArguments() != 2)
    return std::nullopt;
  Type type = combine.getArgument(0).getType();
  if (!type.isInteger(1) && !type.isInteger(32))
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<NVVM::ReduxKind>>(&combine.front())
      .Case([](arith::OrIOp) { return NVVM::ReduxKind::OR; })
      .Case([](arith::AndIOp) { return NVVM::ReduxKind::AND; })
      .Case([](arith::XOrIOp) { return NVVM::ReduxKind::XOR; })
      .Case([](arith::AddIOp) { return NVVM::ReduxKind::ADD; })
      .Default([](Operation *) { return std::nullopt; });
}

class Reduction : Combination {
public:
  Reduction(tile::ReduceOp reduce, RegisterEmitter &emitter)
      : Combination(reduce, emitter), reduce(reduce),
        live(llvm::to_vector(llvm::seq(0u, registersOf(layout)))) {}

  void emit() {
    isSum = analysis::commutes(combineBlock);
    auto choice = isSum ? std::nullopt : analysis::choiceInAnyOrder(combineBlock);
    bool keepsSame = choice && !choice->passesNanOver;
    if (!isSum && !keepsSame)
      extremum = IndexedExtremum::of(reduce);
    inAnyOrder = isSum || keepsSame || extremum;
    isSymmetric = !inAnyOrder && analysis::commutesBeforeRounding(combineBlock);
    if (inAnyOrder)
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
  // Registers whose indices differ in these bits alone become one, each added to the sum of those
  // before it.
  void combineRegisters(unsigned bits) {
    SmallVector<unsigned> kept;
    for (unsigned reg : live)
      if (reg & bits)
        values[reg & ~bits] = combine(values[reg & ~bits], values[reg]);
      else
        kept.push_back(reg);
    live = kept;
  }

  void reduceInAnyOrder() {
    SmallVector<AxisBit> lanes = bitsAlong(layout, axis, LayoutInput::Lane),
                         warps = bitsAlong(layout, axis, LayoutInput::Warp);
    // Of registers the order is known: a bit that is set is the later place. Where order does not
    // matter four sums run beside one another, those of a thread's rows among them: of a tree of
    // pairs `ptxas` keeps elements of all loads until it adds any up, and one sum alone is a long
    // chain. A product that is added to a sum is one instruction, a sum of two products two.
    auto bits = bitsAlong(layout, axis, LayoutInput::Register);
    if (unsigned far = 0; isSum) {
      size_t rows = live.size() >> bits.size();
      for (; !bits.empty() && rows << (bits.size() - 1) >= 4; bits.pop_back())
        far |= 1u << bits.back().bit;
      combineRegisters(far);
    }
    for (const AxisBit &bit : bits)
      combineRegisters(1u << bit.bit);
    if (lanes.empty() && warps.empty())
      return;
    auto ofLive = [&](auto change) {
      if (extremum)
        for (unsigned reg : live)
          change(values[reg]);
    };
    ofLive([&](Tuple &tuple) { extremum->key(emitter, tuple); });
    // Both sides of an exchange compute the same sum, so copies stay equal to the last bit.
    auto redux = isSum ? reduxOf(combineBlock) : std::nullopt;
    if (redux && 1u << lanes.size() == lanesPerWarp)
      for (unsigned reg : live)
        values[reg] = {reduceWarp(*redux, values[reg][0])};
    else
      for (const AxisBit &bit : lanes)
        for (unsigned reg : live)
          values[reg] = combineLanes(values[reg], bit.bit);
    combineWarps(warps);
    ofLive([&](Tuple &tuple) { extremum->place(emitter, tuple); });
  }

  // Two parts of which either may be the earlier one, unless they are combined in order.
  Tuple combineAnyhow(ArrayRef<Value> x, ArrayRef<Value> y) {
    return extremum ? extremum->combine(emitter, x, y) : combine(x, y);
  }

  // What all lanes hold, in one instruction.
  Value reduceWarp(NVVM::ReduxKind kind, Value mine) {
    Type word = b.getI32Type();
    bool isTruth = mine.getType() != word;
    if (isTruth)
      mine = b.create<arith::ExtUIOp>(emitter.loc(), word, mine);
    Value all = b.create<NVVM::ReduxOp>(emitter.loc(), word, mine, kind, emitter.i32(-1));
    return isTruth ? b.create<arith::TruncIOp>(emitter.loc(), b.getI1Type(), all) : all;
  }

  // Of lanes whose numbers differ in the bit both get what both hold.
  Tuple combineLanes(ArrayRef<Value> mine, unsigned bit) {
    Tuple other = shuffleXor(emitter, mine, 1u << bit);
    return inAnyOrder ? combineAnyhow(mine, other)
                      : combineOrdered(mine, other, emitter.isSet(emitter.lane, bit));
  }

  // Combines what lanes hold whose numbers differ in the bit. Of two registers each lane gets one;
  // of a symmetric combination of one register lanes get what differs by rounding (`agree`):
  //
  //   lane 0  a0 b0      a0+a1       half the exchanges and combinations of a0+a1, b0+b1 in both
  //   lane 1  a1 b1      b0+b1
  void combineAcross(unsigned lane) {
    Value isLater = emitter.isSet(emitter.lane, lane);
    unsigned varying = 0;
    for (unsigned reg : live)
      varying |= reg ^ live.front();
    if (!varying) {
      Tuple &mine = values[live.front()];
      if (isSymmetric) {
        mine = combine(mine, shuffleXor(emitter, mine, 1u << lane));
        rounded |= 1u << lane;
      } else {
        mine = combineLanes(mine, lane);
      }
      return;
    }
    unsigned bit = varying & -varying;
    llvm::erase_if(live, [&](unsigned reg) { return reg & bit; });
    for (unsigned reg : live) {
      Tuple mine = select(emitter, isLater, values[reg | bit], values[reg]);
      Tuple sent = select(emitter, isLater, values[reg], values[reg | bit]);
      Tuple other = shuffleXor(emitter, sent, 1u << lane);
      values[reg] = isSymmetric ? combine(mine, other) : combineOrdered(mine, other, isLater);
    }
    apart.push_back({bit, lane});
  }

  // Lanes whose sums differ by rounding alone take that of one of them: copies are equal to the
  // last bit.
  void agree() {
    if (!rounded)
      return;
    Value from = emitter.i32(0);
    if (rounded != lanesPerWarp - 1)
      from = b.create<arith::AndIOp>(emitter.loc(), emitter.lane, emitter.i32(~int64_t(rounded)));
    for (unsigned reg : live)
      values[reg] = shuffleFrom(emitter, values[reg], from);
    rounded = 0;
  }

  // Every lane gets the registers that lie apart.
  void gather() {
    for (; !apart.empty(); apart.pop_back()) {
      auto [bit, lane] = apart.back();
      Value isSet = emitter.isSet(emitter.lane, lane);
      for (unsigned reg : SmallVector<unsigned>(live)) {
        Tuple mine = values[reg], other = shuffleXor(emitter, mine, 1u << lane);
        values[reg] = select(emitter, isSet, other, mine);
        values[reg | bit] = select(emitter, isSet, mine, other);
        live.push_back(reg | bit);
      }
    }
    llvm::sort(live);
  }

  // Lane bits of which the lanes hold different parts, once those along the axis are combined.
  SmallVector<unsigned> distinctBits() const {
    SmallVector<unsigned> bits;
    for (auto [bit, basis] : llvm::enumerate(layout.bases(LayoutInput::Lane))) {
      bool moves = llvm::any_of(llvm::enumerate(basis), [&](auto place) {
        return place.index() != axis && place.value() != 0;
      });
      if (moves || llvm::any_of(apart, [&](const Apart &pair) { return pair.lane == bit; }))
        bits.push_back(unsigned(bit));
    }
    return bits;
  }
  // Each bit of the lane at another place; null if there are none.
  struct Move {
    unsigned from, to;
  };
  Value movedBits(ArrayRef<Move> moves) {
    std::map<int, int64_t> masks; // by how far the bits move
    for (const Move &move : moves)
      masks[int(move.to) - int(move.from)] |= int64_t(1) << move.from;
    Value moved;
    for (auto [distance, mask] : masks) {
      Value part = emitter.lane;
      if (mask != lanesPerWarp - 1)
        part = b.create<arith::AndIOp>(emitter.loc(), part, emitter.i32(mask));
      if (distance < 0)
        part = b.create<arith::ShRUIOp>(emitter.loc(), part, emitter.i32(-distance));
      else if (distance > 0)
        part = b.create<arith::ShLIOp>(emitter.loc(), part, emitter.i32(distance));
      moved = moved ? Value(b.create<arith::OrIOp>(emitter.loc(), moved, part)) : part;
    }
    return moved;
  }

  // Each warp leaves its part in shared memory; all combine all parts, in the same order, that of
  // `bits`: a tree, so that few of them wait for one another. Of many parts a thread reads four,
  // lanes that hold the same rows different ones, and exchanges what it makes of them: that takes
  // fewer registers and instructions.
  void combineWarps(ArrayRef<AxisBit> bits) {
    if (bits.empty())
      return;
    SmallVector<unsigned> distinct = distinctBits(), copies;
    for (unsigned bit = 0; 1u << bit < lanesPerWarp; ++bit)
      if (!llvm::is_contained(distinct, bit))
        copies.push_back(bit);
    // One instruction combines two parts of a sum; other combinations are dearer than exchanges.
    size_t inThread = bits.size(), fewBits = isSum ? 3 : 2;
    if (bits.size() > fewBits)
      inThread = std::max<size_t>(2, bits.size() - std::min(bits.size(), copies.size()));
    ArrayRef<AxisBit> inLanes = bits.drop_front(inThread);
    copies.truncate(inLanes.size());

    SmallVector<Move> ofRow, ofPart;
    for (auto [to, bit] : llvm::enumerate(distinct))
      ofRow.push_back({bit, unsigned(to)});
    for (auto [copy, bit] : llvm::zip(copies, inLanes))
      ofPart.push_back({copy, bit.bit});
    // Lanes that hold the same share a slot.
    Value row = movedBits(ofRow);
    int64_t lanes = int64_t(1) << distinct.size(), slots = int64_t(emitter.warps) * lanes;
    SharedArrays shared(emitter, elements, slots * live.size());
    auto slot = [&](Value warp) {
      if (!row)
        return warp;
      return emitter.add(b.create<arith::MulIOp>(emitter.loc(), warp, emitter.i32(lanes)), row);
    };
    for (auto [i, reg] : llvm::enumerate(live))
      shared.store(slot(emitter.warp), slots * int64_t(i), values[reg]);
    emitter.barrier();
    int64_t mask = 0;
    for (const AxisBit &bit : bits)
      mask |= int64_t(1) << bit.bit;
    Value first = emitter.i32(0); // of the parts that this thread reads
    if (mask != emitter.warps - 1)
      first = b.create<arith::AndIOp>(emitter.loc(), emitter.warp, emitter.i32(~mask));
    if (Value part = movedBits(ofPart))
      first = b.create<arith::OrIOp>(emitter.loc(), first, part);
    auto combineParts = [&](size_t i, unsigned reg) {
      std::vector<Tuple> parts;
      for (unsigned member = 0; member < 1u << inThread; ++member) {
        int64_t offset = 0;
        for (auto [k, bit] : llvm::enumerate(bits.take_front(inThread)))
          if (member >> k & 1)
            offset |= int64_t(1) << bit.bit;
        parts.push_back(shared.load(slot(first), offset * lanes + slots * int64_t(i)));
      }
      for (; parts.size() > 1; parts.resize(parts.size() / 2))
        for (size_t k = 0; k < parts.size() / 2; ++k)
          parts[k] = combineAnyhow(parts[2 * k], parts[2 * k + 1]);
      Tuple whole = parts[0];
      for (unsigned lane : copies)
        whole = combineLanes(whole, lane);
      return whole;
    };
    bool isForFirst = isDear() && llvm::all_of(reduce.getResults(), [&](Value result) {
                        return isOnlyStored(result, mask);
                      });
    if (!isForFirst) {
      for (auto [i, reg] : llvm::enumerate(live))
        values[reg] = combineParts(i, reg);
      return;
    }
    // The warp whose copy is stored combines; the others keep what they have.
    Value others = b.create<arith::AndIOp>(emitter.loc(), emitter.warp, emitter.i32(mask));
    Value isFirst =
        b.create<arith::CmpIOp>(emitter.loc(), arith::CmpIPredicate::eq, others, emitter.i32(0));
    SmallVector<Value> own, wholes;
    for (unsigned reg : live)
      llvm::append_range(own, values[reg]);
    auto branch =
        b.create<scf::IfOp>(emitter.loc(), ValueRange(own).getTypes(), isFirst, /*else=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    for (auto [i, reg] : llvm::enumerate(live))
      llvm::append_range(wholes, combineParts(i, reg));
    b.create<scf::YieldOp>(emitter.loc(), wholes);
    b.setInsertionPointToStart(branch.elseBlock());
    b.create<scf::YieldOp>(emitter.loc(), own);
    auto result = branch.getResults().begin();
    for (unsigned reg : live)
      for (Value &value : values[reg])
        value = *result++;
  }

  // Combinations of several instructions, such as those of means and variances.
  bool isDear() {
    constexpr size_t few = 6;
    return !isSum && !extremum && combineBlock.getOperations().size() > few;
  }

  // From the nearest elements to the farthest, each pair in its order; where only rounding hangs on
  // the order, what a thread holds first, then what a warp does.
  void reduceInOrder() {
    SmallVector<AxisBit> bits = bitsInOrder(layout, axis);
    if (isSymmetric)
      llvm::stable_sort(bits, [](const AxisBit &x, const AxisBit &y) { return x.input < y.input; });
    for (ArrayRef<AxisBit> rest = bits; !rest.empty();) {
      AxisBit bit = rest.front();
      size_t count = 1;
      if (bit.input == LayoutInput::Register) {
        auto pair = llvm::find_if(
            apart, [&](const Apart &candidate) { return candidate.bit == 1u << bit.bit; });
        if (pair == apart.end()) {
          combineRegisters(1u << bit.bit);
        } else {
          unsigned lane = pair->lane;
          apart.erase(pair);
          combineAcross(lane);
        }
      } else if (bit.input == LayoutInput::Lane) {
        combineAcross(bit.bit);
      } else {
        auto isOther = [](const AxisBit &next) { return next.input != LayoutInput::Warp; };
        count = size_t(llvm::find_if(rest, isOther) - rest.begin());
        agree();
        combineWarps(rest.take_front(count));
      }
      rest = rest.drop_front(count);
    }
    agree();
    gather();
  }

  // Of registers that differ in the bit, lanes without the lane's bit hold the lower one, in its
  // place, and the others the upper one.
  struct Apart {
    unsigned bit, lane;
  };

  tile::ReduceOp reduce;
  std::optional<IndexedExtremum> extremum;
  bool isSum = false, inAnyOrder = false, isSymmetric = false;
  SmallVector<unsigned> live; // registers that still hold a part
  SmallVector<Apart> apart;
  unsigned rounded = 0; // bits of lanes that hold one sum rounded in different ways
};

struct ReduceRegisters : RegisterModel<ReduceRegisters, tile::ReduceOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    Reduction(cast<tile::ReduceOp>(op), emitter).emit();
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
                   shared.store(at, 0, emitter.i32(0));
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
    tile::MapOp::attachInterface<MapRegisters>(*context);
    tile::HistogramOp::attachInterface<HistogramRegisters>(*context);
  });
}

} // namespace nereid::gpu
