// Reductions: in the registers of a thread, then across lanes by shuffles, then across warps in one
// round through shared memory. Scans the same way, in the order of the axis.
#include "gpu/IndexedExtremum.h"
#include "gpu/MergeReductions.h"
#include "gpu/RegisterModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include "llvm/ADT/TypeSwitch.h"

#include <map>

using namespace mlir;

namespace nereid::gpu {

namespace {

SmallVector<Value> joined(ArrayRef<Value> a, ArrayRef<Value> b) {
  SmallVector<Value> all(a);
  all.append(b.begin(), b.end());
  return all;
}

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
  Value array(unsigned i) { return moved(base, offsets[i]); }
  // Of `index` and so many elements further: a number that is part of the instruction.
  Value address(unsigned i, Value index, int64_t further = 0) {
    return moved(emitter.sharedAddress(array(i), elements[i], index),
                 further * tile::bytesInMemory(elements[i]));
  }
  SmallVector<Value> load(Value index, int64_t further = 0) {
    SmallVector<Value> values;
    for (unsigned i = 0; i < elements.size(); ++i)
      values.push_back(emitter.loadElement(address(i, index, further), elements[i]));
    return values;
  }
  void store(Value index, int64_t further, ArrayRef<Value> values) {
    for (unsigned i = 0; i < elements.size(); ++i)
      emitter.storeElement(address(i, index, further), elements[i], values[i]);
  }
  Value moved(Value address, int64_t bytes) {
    return emitter.builder.create<LLVM::GEPOp>(emitter.loc(), address.getType(),
                                               emitter.builder.getI8Type(), address,
                                               ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
  }

  RegisterEmitter &emitter;
  SmallVector<Type> elements;
  SmallVector<uint64_t> offsets;
  Value base;
};

// A bit of the place of an element: which moves it along the axis.
struct Bit {
  LayoutInput input;
  unsigned bit;
  int32_t distance; // along the axis
};

SmallVector<Bit> bitsAlong(const LinearLayout &layout, unsigned axis, LayoutInput input) {
  SmallVector<Bit> bits;
  for (auto [bit, basis] : llvm::enumerate(layout.bases(input)))
    if (basis[axis])
      bits.push_back({input, unsigned(bit), basis[axis]});
  return bits;
}

// From the nearest elements to the farthest.
SmallVector<Bit> bitsInOrder(const LinearLayout &layout, unsigned axis) {
  SmallVector<Bit> bits;
  for (LayoutInput input : {LayoutInput::Register, LayoutInput::Lane, LayoutInput::Warp})
    llvm::append_range(bits, bitsAlong(layout, axis, input));
  llvm::sort(bits, [](const Bit &x, const Bit &y) { return x.distance < y.distance; });
  return bits;
}

SmallVector<Value> fromLane(RegisterEmitter &emitter, ArrayRef<Value> tuple, unsigned bit) {
  SmallVector<Value> other;
  for (Value value : tuple)
    other.push_back(emitter.shuffleXor(value, 1u << bit));
  return other;
}

SmallVector<Value> fromLane(RegisterEmitter &emitter, ArrayRef<Value> tuple, Value lane) {
  SmallVector<Value> other;
  for (Value value : tuple) {
    SmallVector<Value> words;
    for (Value word : emitter.toWords(value))
      words.push_back(emitter.shuffle(word, lane));
    other.push_back(emitter.fromWords(words, value.getType()));
  }
  return other;
}

SmallVector<Value> select(RegisterEmitter &emitter, Value condition, ArrayRef<Value> then,
                          ArrayRef<Value> otherwise) {
  SmallVector<Value> chosen;
  for (auto [x, y] : llvm::zip(then, otherwise))
    chosen.push_back(emitter.builder.create<LLVM::SelectOp>(emitter.loc(), condition, x, y));
  return chosen;
}

// What reductions and scans have alike: tuples of elements that a region combines along an axis.
class Combination {
protected:
  template <typename Op>
  Combination(Op op, RegisterEmitter &emitter)
      : emitter(emitter), b(emitter.builder), combineBlock(op.getCombine().front()),
        layout(layoutOf(op.getSources().front().getType())), axis(op.getAxis()) {
    for (Value source : op.getSources())
      elements.push_back(tile::elementType(source.getType()));
    for (unsigned reg = 0; reg < registersOf(layout); ++reg) {
      SmallVector<Value> tuple;
      for (Value source : op.getSources())
        tuple.push_back(emitter.registers(source)[reg]);
      values.push_back(std::move(tuple));
    }
  }

  SmallVector<Value> combine(ArrayRef<Value> earlier, ArrayRef<Value> later) {
    return emitter.inlineRegion(combineBlock, joined(earlier, later));
  }

  // (mine, other) in the order of the axis: in threads where `isLater` holds, mine is the later
  // one.
  SmallVector<Value> combineOrdered(ArrayRef<Value> mine, ArrayRef<Value> other, Value isLater) {
    return combine(select(emitter, isLater, other, mine), select(emitter, isLater, mine, other));
  }

  RegisterEmitter &emitter;
  OpBuilder &b;
  Block &combineBlock;
  LinearLayout layout;
  unsigned axis;
  SmallVector<Type> elements;
  std::vector<SmallVector<Value>> values; // by register
};

// A reduction to the greatest or least element and where it is, whose parts are combined in any
// order. What its region says depends on the order where both are NaN, or equal without a rule for
// that; places are told from each other by their numbers there: `key` makes numbers that have an
// order among elements that are equal, and among NaN.
class Extremum {
public:
  static std::optional<Extremum> of(tile::ReduceOp reduce) {
    auto says = IndexedExtremum::of(reduce);
    return says ? std::optional(Extremum(*says, reduce.getCombine().front())) : std::nullopt;
  }

  // NaN comes behind all elements and the lowest place of them first, as they are found in order.
  // Of equal elements the lowest place comes first, or the highest.
  void key(RegisterEmitter &e, SmallVector<Value> &tuple) const {
    if (!hasKeys())
      return;
    OpBuilder &b = e.builder;
    Value isNaN = b.create<arith::CmpFOp>(e.loc(), arith::CmpFPredicate::UNO, tuple[0], tuple[0]);
    Value last = says.isLeft ? Value(b.create<arith::OrIOp>(e.loc(), tuple[1], e.i32(INT32_MIN)))
                             : Value(b.create<arith::XOrIOp>(e.loc(), tuple[1], e.i32(-1)));
    tuple[1] = b.create<LLVM::SelectOp>(e.loc(), isNaN, last, tuple[1]);
  }
  void place(RegisterEmitter &e, SmallVector<Value> &tuple) const {
    if (!hasKeys())
      return;
    OpBuilder &b = e.builder;
    if (says.isLeft)
      tuple[1] = b.create<arith::AndIOp>(e.loc(), tuple[1], e.i32(INT32_MAX));
    else
      tuple[1] = b.create<arith::XOrIOp>(e.loc(), tuple[1],
                                         b.create<arith::ShRSIOp>(e.loc(), tuple[1], e.i32(31)));
  }

  // Of two with keys, in any order.
  SmallVector<Value> combine(RegisterEmitter &e, ArrayRef<Value> x, ArrayRef<Value> y) const {
    if (says.isTotal)
      return e.inlineRegion(*combineBlock, joined(x, y));
    OpBuilder &b = e.builder;
    Operation *isBetter = b.clone(*says.better);
    isBetter->setOperands({x[0], y[0]});
    Value same =
        says.isFloat
            ? Value(b.create<arith::CmpFOp>(e.loc(), arith::CmpFPredicate::UEQ, x[0], y[0]))
            : Value(b.create<arith::CmpIOp>(e.loc(), arith::CmpIPredicate::eq, x[0], y[0]));
    Value first = b.create<arith::CmpIOp>(
        e.loc(), says.isLeft ? arith::CmpIPredicate::ult : arith::CmpIPredicate::sgt, x[1], y[1]);
    Value chosen = b.create<arith::OrIOp>(e.loc(), isBetter->getResult(0),
                                          b.create<arith::AndIOp>(e.loc(), same, first));
    return select(e, chosen, x, y);
  }

private:
  Extremum(const IndexedExtremum &says, Block &combineBlock)
      : says(says), combineBlock(&combineBlock) {}
  bool hasKeys() const { return says.isFloat && !says.isTotal; }

  IndexedExtremum says;
  Block *combineBlock;
};

class Reduction : Combination {
public:
  Reduction(tile::ReduceOp reduce, RegisterEmitter &emitter)
      : Combination(reduce, emitter), reduce(reduce),
        live(llvm::to_vector(llvm::seq(0u, registersOf(layout)))) {}

  void emit() {
    extremum = Extremum::of(reduce);
    inAnyOrder = extremum || combinesInAnyOrder(combineBlock);
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
    SmallVector<Bit> lanes = bitsAlong(layout, axis, LayoutInput::Lane),
                     warps = bitsAlong(layout, axis, LayoutInput::Warp);
    // Of registers the order is known: a bit that is set is the later place. Where order does not
    // matter four sums run beside one another, those of a thread's rows among them: of a tree of
    // pairs `ptxas` keeps elements of all loads until it adds any up, and one sum alone is a long
    // chain. A product that is added to a sum is one instruction, a sum of two products two.
    auto bits = bitsAlong(layout, axis, LayoutInput::Register);
    if (unsigned far = 0; !extremum) {
      size_t rows = live.size() >> bits.size();
      for (; !bits.empty() && rows << (bits.size() - 1) >= 4; bits.pop_back())
        far |= 1u << bits.back().bit;
      combineRegisters(far);
    }
    for (const Bit &bit : bits)
      combineRegisters(1u << bit.bit);
    if (lanes.empty() && warps.empty())
      return;
    auto ofLive = [&](auto change) {
      if (extremum)
        for (unsigned reg : live)
          change(values[reg]);
    };
    ofLive([&](SmallVector<Value> &tuple) { extremum->key(emitter, tuple); });
    // Both sides of an exchange compute the same sum, so copies stay equal to the last bit.
    auto redux = reduxOf(combineBlock);
    if (redux && 1u << lanes.size() == lanesPerWarp)
      for (unsigned reg : live)
        values[reg] = {reduceWarp(*redux, values[reg][0])};
    else
      for (const Bit &bit : lanes)
        for (unsigned reg : live)
          values[reg] = combineLanes(values[reg], bit.bit);
    combineWarps(warps);
    ofLive([&](SmallVector<Value> &tuple) { extremum->place(emitter, tuple); });
  }

  // Two parts of which either may be the earlier one, unless they are combined in order.
  SmallVector<Value> combineAnyhow(ArrayRef<Value> x, ArrayRef<Value> y) {
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
  SmallVector<Value> combineLanes(ArrayRef<Value> mine, unsigned bit) {
    SmallVector<Value> other = fromLane(emitter, mine, bit);
    return inAnyOrder ? combineAnyhow(mine, other)
                      : combineOrdered(mine, other, emitter.isSet(emitter.lane, bit));
  }

  // Combines what lanes hold whose numbers differ in the bit. Of two registers each lane gets one:
  //
  //   lane 0  a0 b0      a0+a1       half the exchanges and combinations of a0+a1, b0+b1 in both
  //   lane 1  a1 b1      b0+b1
  void combineAcross(unsigned lane) {
    Value isLater = emitter.isSet(emitter.lane, lane);
    unsigned varying = 0;
    for (unsigned reg : live)
      varying |= reg ^ live.front();
    if (!varying) {
      values[live.front()] = combineLanes(values[live.front()], lane);
      return;
    }
    unsigned bit = varying & -varying;
    llvm::erase_if(live, [&](unsigned reg) { return reg & bit; });
    for (unsigned reg : live) {
      SmallVector<Value> mine = select(emitter, isLater, values[reg | bit], values[reg]);
      SmallVector<Value> sent = select(emitter, isLater, values[reg], values[reg | bit]);
      values[reg] = combineOrdered(mine, fromLane(emitter, sent, lane), isLater);
    }
    apart.push_back({bit, lane});
  }

  // Every lane gets the registers that lie apart.
  void gather() {
    for (; !apart.empty(); apart.pop_back()) {
      auto [bit, lane] = apart.back();
      Value isSet = emitter.isSet(emitter.lane, lane);
      for (unsigned reg : SmallVector<unsigned>(live)) {
        SmallVector<Value> mine = values[reg], other = fromLane(emitter, mine, lane);
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
  // Those bits of the lane, without gaps; null if there are none.
  Value distinctLane() {
    std::map<unsigned, int64_t> masks; // by how far the bits move
    for (auto [to, bit] : llvm::enumerate(distinctBits()))
      masks[bit - unsigned(to)] |= int64_t(1) << bit;
    Value packed;
    for (auto [shift, mask] : masks) {
      Value part = emitter.lane;
      if (mask != lanesPerWarp - 1)
        part = b.create<arith::AndIOp>(emitter.loc(), part, emitter.i32(mask));
      if (shift)
        part = b.create<arith::ShRUIOp>(emitter.loc(), part, emitter.i32(shift));
      packed = packed ? Value(b.create<arith::OrIOp>(emitter.loc(), packed, part)) : part;
    }
    return packed;
  }

  // Each warp leaves its part in shared memory; all combine all parts, in the same order, that of
  // `bits`: a tree, so that few of them wait for one another. Where all lanes hold the same and
  // parts are many, each lane reads one, which takes fewer registers and instructions.
  void combineWarps(ArrayRef<Bit> bits) {
    if (bits.empty())
      return;
    constexpr size_t fewBits = 3;
    if (bits.size() > fewBits)
      gather();
    // Lanes that hold the same share a slot; of one row, parts are read several at once.
    Value row = distinctLane();
    int64_t lanes = int64_t(1) << distinctBits().size(), slots = int64_t(emitter.warps) * lanes;
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
    for (const Bit &bit : bits)
      mask |= int64_t(1) << bit.bit;
    if (!row && mask == emitter.warps - 1 && bits.size() > fewBits) {
      Value member = b.create<arith::AndIOp>(emitter.loc(), emitter.lane, emitter.i32(mask));
      for (auto [i, reg] : llvm::enumerate(live)) {
        values[reg] = shared.load(slot(member), slots * int64_t(i));
        for (const Bit &bit : bits)
          values[reg] = combineLanes(values[reg], bit.bit);
      }
      return;
    }
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
        parts.push_back(shared.load(slot(group), offset * lanes + slots * int64_t(i)));
      }
      for (; parts.size() > 1; parts.resize(parts.size() / 2))
        for (size_t k = 0; k < parts.size() / 2; ++k)
          parts[k] = combineAnyhow(parts[2 * k], parts[2 * k + 1]);
      values[reg] = parts[0];
    }
  }

  // From the nearest elements to the farthest, each pair in its order.
  void reduceInOrder() {
    SmallVector<Bit> bits = bitsInOrder(layout, axis);
    for (ArrayRef<Bit> rest = bits; !rest.empty();) {
      Bit bit = rest.front();
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
        auto isOther = [](const Bit &next) { return next.input != LayoutInput::Warp; };
        count = size_t(llvm::find_if(rest, isOther) - rest.begin());
        combineWarps(rest.take_front(count));
      }
      rest = rest.drop_front(count);
    }
    gather();
  }

  // Of registers that differ in the bit, lanes without the lane's bit hold the lower one, in its
  // place, and the others the upper one.
  struct Apart {
    unsigned bit, lane;
  };

  tile::ReduceOp reduce;
  std::optional<Extremum> extremum;
  bool inAnyOrder = false;
  SmallVector<unsigned> live; // registers that still hold a part
  SmallVector<Apart> apart;
};

struct ReduceRegisters : RegisterModel<ReduceRegisters, tile::ReduceOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    Reduction(cast<tile::ReduceOp>(op), emitter).emit();
  }
};

// Neighbours along the axis are groups, neighbouring groups are larger ones, as the runs of bits
// that are of registers, of lanes and of warps put them in order. Each run scans the sums of its
// groups, then the next run says what lies before them all, and each group puts that in front of
// its own: an element is combined once in its thread and once more at the end, whatever is between.
//
//   registers  [a b c d]          one after the other: a, ab, abc, abcd
//   lanes      abcd | efgh | ...  later halves of 2, 4, ... put the earlier one's sum in front
//   warps      a-h | i-p | ...    meet in shared memory; a thread adds up those before its own
class Scan : Combination {
public:
  Scan(tile::ScanOp scan, RegisterEmitter &emitter)
      : Combination(scan, emitter), scan(scan), reversed(scan.getReverse()) {}

  void emit() {
    scanGroups(bitsInOrder(layout, axis), 0, values, emitter.lane, /*wantsBefore=*/false);
    for (auto [i, result] : llvm::enumerate(scan.getResults())) {
      SmallVector<Value> registers;
      for (ArrayRef<Value> tuple : values)
        registers.push_back(tuple[i]);
      emitter.setRegisters(result, std::move(registers));
    }
  }

private:
  using Bits = ArrayRef<Bit>;
  // By register; those of a group share the entry of its first one.
  using Sums = std::vector<SmallVector<Value>>;

  // What lies before a group: nothing, something, or something if `exists` holds.
  struct Before {
    SmallVector<Value> sum; // empty: nothing
    Value exists;           // null: always
  };

  // The groups whose registers differ in the bits of `inside`, which the runs of `bits` put in
  // order: their sums become those of all elements up to their last one. What lies before each
  // group is told if it is wanted. Where warps come first, `lane` has the sum that counts.
  std::vector<Before> scanGroups(Bits bits, unsigned inside, Sums &sums, Value lane,
                                 bool wantsBefore = true) {
    std::vector<Before> before(values.size());
    if (bits.empty())
      return before;
    LayoutInput input = bits.front().input;
    Bits run = bits.take_while([&](const Bit &bit) { return bit.input == input; });
    Bits rest = bits.drop_front(run.size());
    if (input == LayoutInput::Register)
      scanRegisters(run, rest, inside, sums, before);
    else if (input == LayoutInput::Lane)
      scanLanes(run, rest, inside, sums, before, wantsBefore);
    else
      scanWarps(run, rest, inside, sums, before, lane);
    return before;
  }

  void each(unsigned inside, llvm::function_ref<void(unsigned)> body) const {
    for (unsigned reg = 0; reg < values.size(); ++reg)
      if (!(reg & inside))
        body(reg);
  }

  void scanRegisters(Bits run, Bits rest, unsigned inside, Sums &sums,
                     std::vector<Before> &before) {
    unsigned mask = 0;
    for (const Bit &bit : run)
      mask |= 1u << bit.bit;
    unsigned count = 1u << run.size();
    // The i-th of a larger group.
    auto member = [&](unsigned group, unsigned i) {
      for (auto [k, bit] : llvm::enumerate(run))
        group |= unsigned((i >> k & 1) != reversed) << bit.bit;
      return group;
    };
    Sums totals(values.size());
    each(inside | mask, [&](unsigned group) {
      for (unsigned i = 1; i < count; ++i) {
        SmallVector<Value> &sum = sums[member(group, i)];
        sum = combine(sums[member(group, i - 1)], sum);
      }
      totals[group] = sums[member(group, count - 1)];
    });
    std::vector<Before> outer = scanGroups(rest, inside | mask, totals, emitter.lane);
    each(inside | mask, [&](unsigned group) {
      sums[member(group, count - 1)] = totals[group];
      before[member(group, 0)] = outer[group];
      for (unsigned i = 1; i < count; ++i) {
        SmallVector<Value> &sum = sums[member(group, i - 1)];
        sum = joined(outer[group], sum);
        before[member(group, i)] = {sum, Value()};
      }
    });
  }

  void scanLanes(Bits run, Bits rest, unsigned inside, Sums &sums, std::vector<Before> &before,
                 bool wantsBefore) {
    // Bits up to the one of a step are all as in the last lane of the earlier half. Of the lane
    // before this one those bits differ up to the lowest that says later.
    int64_t mask = 0;
    Value previous = emitter.lane, notFirst;
    for (const Bit &bit : run) {
      int64_t weight = int64_t(1) << bit.bit;
      Value later = isLater(emitter.lane, bit.bit);
      Value half = lanesAs(mask | weight, reversed ? weight : mask);
      mask |= weight;
      each(inside, [&](unsigned group) {
        SmallVector<Value> &sum = sums[group];
        sum = select(emitter, later, combine(fromLane(emitter, sum, half), sum), sum);
      });
      Value flipped = b.create<arith::XOrIOp>(emitter.loc(), previous, emitter.i32(weight));
      previous = notFirst ? select(emitter, notFirst, previous, flipped).front() : flipped;
      notFirst = notFirst ? b.create<arith::OrIOp>(emitter.loc(), notFirst, later) : later;
    }
    if (!rest.empty()) {
      Value last = lanesAs(mask, reversed ? 0 : mask);
      bool byWarps = rest.front().input == LayoutInput::Warp;
      Sums totals(values.size());
      each(inside, [&](unsigned group) {
        totals[group] = byWarps ? sums[group] : fromLane(emitter, sums[group], last);
      });
      before = scanGroups(rest, inside, totals, byWarps ? last : emitter.lane);
      each(inside, [&](unsigned group) { sums[group] = joined(before[group], sums[group]); });
    }
    if (wantsBefore)
      each(inside, [&](unsigned group) {
        replace(before[group], fromLane(emitter, sums[group], previous), notFirst);
      });
  }
  // The lane whose bits of `mask` are those of `bits`, and all others as here.
  Value lanesAs(int64_t mask, int64_t bits) {
    Value others = b.create<arith::AndIOp>(emitter.loc(), emitter.lane, emitter.i32(~mask));
    return b.create<arith::OrIOp>(emitter.loc(), others, emitter.i32(bits));
  }

  // The bit's value in the half that comes later.
  bool isLater(unsigned index, unsigned bit) const { return (index >> bit & 1) != reversed; }
  Value isLater(Value index, unsigned bit) {
    Value set = emitter.isSet(index, bit);
    return reversed ? b.create<arith::XOrIOp>(emitter.loc(), set, emitter.number(b.getI1Type(), 1))
                    : set;
  }

  SmallVector<Value> joined(const Before &before, ArrayRef<Value> sum) {
    if (before.sum.empty())
      return SmallVector<Value>(sum);
    SmallVector<Value> whole = combine(before.sum, sum);
    return before.exists ? select(emitter, before.exists, whole, sum) : whole;
  }
  // Where the condition holds, `sum` is what lies before.
  void replace(Before &before, ArrayRef<Value> sum, Value condition) {
    if (before.sum.empty()) {
      before = {SmallVector<Value>(sum), condition};
      return;
    }
    before.sum = select(emitter, condition, sum, before.sum);
    if (before.exists)
      before.exists = b.create<arith::OrIOp>(emitter.loc(), before.exists, condition);
  }

  void scanWarps(Bits run, Bits rest, unsigned inside, Sums &sums, std::vector<Before> &before,
                 Value lane) {
    SmallVector<unsigned> groups;
    each(inside, [&](unsigned group) { groups.push_back(group); });
    // A slot for each lane: lanes may be in different groups.
    int64_t threads = int64_t(emitter.warps) * lanesPerWarp;
    SharedArrays shared(emitter, elements, threads * groups.size());
    for (auto [i, group] : llvm::enumerate(groups))
      shared.store(emitter.thread, threads * int64_t(i), sums[group]);
    emitter.barrier();
    int64_t mask = 0;
    Value rank = emitter.i32(0);
    for (auto [k, bit] : llvm::enumerate(run)) {
      mask |= int64_t(1) << bit.bit;
      Value later =
          b.create<arith::ExtUIOp>(emitter.loc(), b.getI32Type(), isLater(emitter.warp, bit.bit));
      rank = b.create<arith::OrIOp>(emitter.loc(), rank,
                                    b.create<arith::ShLIOp>(emitter.loc(), later, emitter.i32(k)));
    }
    Value first = b.create<arith::AndIOp>(emitter.loc(), emitter.warp, emitter.i32(~mask));
    first =
        emitter.add(b.create<arith::MulIOp>(emitter.loc(), first, emitter.i32(lanesPerWarp)), lane);
    Value notFirst =
        b.create<arith::CmpIOp>(emitter.loc(), arith::CmpIPredicate::ne, rank, emitter.i32(0));
    unsigned members = 1u << run.size();
    Sums totals(values.size()), earlier(values.size());
    for (auto [i, group] : llvm::enumerate(groups)) {
      SmallVector<Value> &sum = totals[group], &mine = earlier[group];
      for (unsigned member = 0; member + 1 < members + !rest.empty(); ++member) {
        int64_t offset = threads * i;
        for (auto [k, bit] : llvm::enumerate(run))
          if (isLater(member, k))
            offset += int64_t(lanesPerWarp) << bit.bit;
        SmallVector<Value> part = shared.load(first, offset);
        sum = member ? combine(sum, part) : part;
        if (member + 1 == members)
          break;
        Value isMine = b.create<arith::CmpIOp>(emitter.loc(), arith::CmpIPredicate::eq, rank,
                                               emitter.i32(member + 1));
        mine = member ? select(emitter, isMine, sum, mine) : sum;
      }
    }
    before = scanGroups(rest, inside, totals, emitter.lane);
    for (unsigned group : groups) {
      replace(before[group], joined(before[group], earlier[group]), notFirst);
      sums[group] = joined(before[group], sums[group]);
    }
  }

  tile::ScanOp scan;
  bool reversed;
};

struct ScanRegisters : RegisterModel<ScanRegisters, tile::ScanOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    Scan(cast<tile::ScanOp>(op), emitter).emit();
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
    tile::ScanOp::attachInterface<ScanRegisters>(*context);
    tile::MapOp::attachInterface<MapRegisters>(*context);
    tile::HistogramOp::attachInterface<HistogramRegisters>(*context);
  });
}

} // namespace nereid::gpu
