// Scans: in the registers of a thread, then across lanes by shuffles, then across warps in one
// round through shared memory, in the order of the axis.
#include "gpu/Combination.h"
#include "gpu/RegisterModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

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
  using Bits = ArrayRef<AxisBit>;
  // By register; those of a group share the entry of its first one.
  using Sums = std::vector<Tuple>;

  // What lies before a group: nothing, something, or something if `exists` holds.
  struct Before {
    Tuple sum;    // empty: nothing
    Value exists; // null: always
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
    Bits run = bits.take_while([&](const AxisBit &bit) { return bit.input == input; });
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
    for (const AxisBit &bit : run)
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
        Tuple &sum = sums[member(group, i)];
        sum = combine(sums[member(group, i - 1)], sum);
      }
      totals[group] = sums[member(group, count - 1)];
    });
    std::vector<Before> outer = scanGroups(rest, inside | mask, totals, emitter.lane);
    each(inside | mask, [&](unsigned group) {
      sums[member(group, count - 1)] = totals[group];
      before[member(group, 0)] = outer[group];
      for (unsigned i = 1; i < count; ++i) {
        Tuple &sum = sums[member(group, i - 1)];
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
    for (const AxisBit &bit : run) {
      int64_t weight = int64_t(1) << bit.bit;
      Value later = isLater(emitter.lane, bit.bit);
      Value half = lanesAs(mask | weight, reversed ? weight : mask);
      mask |= weight;
      each(inside, [&](unsigned group) {
        Tuple &sum = sums[group];
        sum = select(emitter, later, combine(shuffleFrom(emitter, sum, half), sum), sum);
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
        totals[group] = byWarps ? sums[group] : shuffleFrom(emitter, sums[group], last);
      });
      before = scanGroups(rest, inside, totals, byWarps ? last : emitter.lane);
      each(inside, [&](unsigned group) { sums[group] = joined(before[group], sums[group]); });
    }
    if (wantsBefore)
      each(inside, [&](unsigned group) {
        replace(before[group], shuffleFrom(emitter, sums[group], previous), notFirst);
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

  Tuple joined(const Before &before, ArrayRef<Value> sum) {
    if (before.sum.empty())
      return Tuple(sum);
    Tuple whole = combine(before.sum, sum);
    return before.exists ? select(emitter, before.exists, whole, sum) : whole;
  }
  // Where the condition holds, `sum` is what lies before.
  void replace(Before &before, ArrayRef<Value> sum, Value condition) {
    if (before.sum.empty()) {
      before = {Tuple(sum), condition};
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
      Tuple &sum = totals[group], &mine = earlier[group];
      for (unsigned member = 0; member + 1 < members + !rest.empty(); ++member) {
        int64_t offset = threads * i;
        for (auto [k, bit] : llvm::enumerate(run))
          if (isLater(member, k))
            offset += int64_t(lanesPerWarp) << bit.bit;
        Tuple part = shared.load(first, offset);
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

} // namespace

void registerScanRegisters(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    tile::ScanOp::attachInterface<ScanRegisters>(*context);
  });
}

} // namespace nereid::gpu
