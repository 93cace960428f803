#include "cpu/LaneSpread.h"
#include "cpu/Extents.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace nereid::cpu {

static int64_t bytesOf(Value pointers) {
  return tile::bytesInMemory(
      cast<tile::PtrType>(tile::elementType(pointers.getType())).getPointee());
}

static Value wideLanes(LaneEmitter &emitter, Value tile, const Lanes &where) {
  OpBuilder &b = emitter.builder;
  Type wide = laneType(b.getI64Type(), where.width);
  Value numbers = emitter.lanes(tile, where);
  if (isa<tile::PtrType>(tile::elementType(tile.getType())))
    return b.create<LLVM::PtrToIntOp>(emitter.loc(), wide, numbers);
  return numbers.getType() == wide
             ? numbers
             : b.create<arith::ExtSIOp>(emitter.loc(), wide, numbers).getResult();
}

static Value lessFirst(LaneEmitter &emitter, Value numbers) {
  return emitter.builder.create<arith::SubIOp>(
      emitter.loc(), numbers,
      emitter.splat(emitter.extract(numbers, 0), widthOf(numbers.getType())));
}

static Value sumOf(LaneEmitter &emitter, Value x, Value y) {
  return x && y ? emitter.add(x, y) : x ? x : y;
}

// What differs from lane to lane is seldom what differs from row to row, so that a loop over rows
// finds it known.
Value spread(LaneEmitter &emitter, Value tile, const Lanes &where) {
  if (emitter.axes.facts(tile).constancy[where.dim] >= where.width)
    return {};
  OpBuilder &b = emitter.builder;
  if (Operation *op = tile.getDefiningOp(); op && !emitter.plan.stored(tile)) {
    if (isa<tile::BroadcastOp, tile::ExpandDimsOp>(op))
      return spread(emitter, op->getOperand(0), emitter.inOperand(op, where));
    if (isa<arith::AddIOp>(op))
      return sumOf(emitter, spread(emitter, op->getOperand(0), where),
                   spread(emitter, op->getOperand(1), where));
    if (isa<arith::ExtSIOp>(op))
      return spread(emitter, op->getOperand(0), where);
    if (auto add = dyn_cast<tile::AddPtrOp>(op); add && !add.getIsUnsigned()) {
      Value offset = spread(emitter, add.getOffset(), where);
      if (offset)
        offset = b.create<arith::MulIOp>(
            emitter.loc(), offset, emitter.constant(b.getI64Type(), bytesOf(tile), where.width));
      return sumOf(emitter, spread(emitter, add.getPointer(), where), offset);
    }
  }
  return lessFirst(emitter, wideLanes(emitter, tile, where));
}

Value areEqual(LaneEmitter &emitter, Value numbers, Value expected) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  Value differ = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, numbers, expected);
  Type bits = b.getIntegerType(widthOf(numbers.getType()));
  return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq,
                                 b.create<LLVM::BitcastOp>(loc, bits, differ),
                                 emitter.constant(bits, 0));
}

namespace {

// Numbers that differ from lane to lane, times others that are one for all lanes.
struct Term {
  Value tile;
  Lanes where;
  int64_t factor = 1;
  SmallVector<std::pair<Value, Lanes>, 2> factors;
};

// What a spread is the sum of.
class Terms {
public:
  explicit Terms(LaneEmitter &emitter) : emitter(emitter) {}

  void add(Value tile, Term term) {
    auto isOne = [&](Value one) {
      return emitter.axes.facts(one).constancy[term.where.dim] >= term.where.width;
    };
    if (isOne(tile))
      return;
    Operation *op = tile.getDefiningOp();
    if (op && !emitter.plan.stored(tile)) {
      if (isa<tile::BroadcastOp, tile::ExpandDimsOp>(op)) {
        term.where = emitter.inOperand(op, term.where);
        return add(op->getOperand(0), term);
      }
      if (isa<arith::ExtSIOp, tile::HintOp>(op))
        return add(op->getOperand(0), term);
      if (isa<arith::AddIOp, arith::SubIOp>(op)) {
        add(op->getOperand(0), term);
        term.factor *= isa<arith::SubIOp>(op) ? -1 : 1;
        return add(op->getOperand(1), term);
      }
      if (auto sum = dyn_cast<tile::AddPtrOp>(op); sum && !sum.getIsUnsigned()) {
        add(sum.getPointer(), term);
        term.factor *= bytesOf(tile);
        return add(sum.getOffset(), term);
      }
      if (isa<arith::MulIOp>(op) && (isOne(op->getOperand(0)) || isOne(op->getOperand(1)))) {
        bool second = isOne(op->getOperand(1));
        term.factors.push_back({op->getOperand(second), term.where.first()});
        return add(op->getOperand(!second), term);
      }
    }
    term.tile = tile;
    all.push_back(std::move(term));
  }

  // Null if all lanes are one. A vector of 64-bit products is one instruction as long as both
  // factors are seen to be of 32 bits, so constants come last and the first lane is taken off once.
  Value emit() const {
    OpBuilder &b = emitter.builder;
    llvm::MapVector<int64_t, Value> sums; // by constant factor
    for (const Term &term : all) {
      Value one = wideLanes(emitter, term.tile, term.where), factor;
      for (auto &[tile, where] : term.factors) {
        Value more = emitter.lanes(tile, where);
        if (!more.getType().isInteger(64))
          more = b.create<arith::ExtSIOp>(emitter.loc(), b.getI64Type(), more);
        factor = factor ? b.create<arith::MulIOp>(emitter.loc(), factor, more) : more;
      }
      if (factor)
        one = b.create<arith::MulIOp>(emitter.loc(), one, emitter.splat(factor, term.where.width));
      Value &sum = sums[term.factor];
      sum = sumOf(emitter, sum, one);
    }
    Value all;
    for (auto [factor, sum] : sums)
      all = sumOf(emitter, all,
                  b.create<arith::MulIOp>(
                      emitter.loc(), sum,
                      emitter.constant(b.getI64Type(), factor, widthOf(sum.getType()))));
    return all ? lessFirst(emitter, all) : Value();
  }

  LaneEmitter &emitter;
  SmallVector<Term> all;
};

Value expectedSteps(LaneEmitter &emitter, Value pointers, int64_t width) {
  OpBuilder &b = emitter.builder;
  return b.create<arith::MulIOp>(emitter.loc(), emitter.iota(b.getI64Type(), width),
                                 emitter.constant(b.getI64Type(), bytesOf(pointers), width));
}

// True if a place along a row is known to be a multiple of `width`.
bool isMultiple(Value place, int64_t width) {
  auto divides = [&](Value value) {
    APInt number;
    return matchPattern(value, m_ConstantInt(&number)) && number.getSExtValue() % width == 0;
  };
  if (auto argument = dyn_cast<BlockArgument>(place)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && loop.getInductionVar() == place && divides(loop.getLowerBound()) &&
           divides(loop.getStep());
  }
  auto product = place.getDefiningOp<arith::MulIOp>();
  return divides(place) || (product && (divides(product.getLhs()) || divides(product.getRhs())));
}

// The outermost loop in front of which the terms are known.
const LaneEmitter::OpenLoop *loopToLeave(LaneEmitter &emitter, const Terms &terms) {
  const LaneEmitter::OpenLoop *found = nullptr;
  for (const LaneEmitter::OpenLoop &loop : llvm::reverse(emitter.openLoops)) {
    auto isKnown = [&](Value tile) { return isKnownAt(tile, loop.source, emitter.plan); };
    bool all = llvm::all_of(terms.all, [&](const Term &term) {
      return isKnown(term.tile) &&
             llvm::all_of(term.factors, [&](auto &factor) { return isKnown(factor.first); });
    });
    if (!all)
      break;
    found = &loop;
  }
  return found;
}

// What is the same in each round of a loop, for all vectors of a tile; null if nothing is.
Value areAdjacentInLoop(LaneEmitter &emitter, Value pointers, const Lanes &where) {
  constexpr int64_t mostVectors = 256;
  auto shape = tile::shapeOf(pointers.getType());
  const int64_t vectors = shape[where.dim] / where.width;
  if (emitter.openLoops.empty() || emitter.isInRun() || vectors > mostVectors ||
      !isMultiple(where.position[where.dim], where.width))
    return {};
  Terms terms(emitter);
  Term start;
  start.where = where;
  terms.add(pointers, start);
  // Of other rows the answer is the same.
  bool alongOne = llvm::all_of(terms.all, [](const Term &term) {
    return tile::shapeOf(term.tile.getType())[term.where.dim] ==
           cast<RankedTensorType>(term.tile.getType()).getNumElements();
  });
  const LaneEmitter::OpenLoop *loop = alongOne ? loopToLeave(emitter, terms) : nullptr;
  if (!loop || terms.all.empty())
    return {};
  OpBuilder &b = emitter.builder;
  Type byte = b.getI8Type();
  auto at = [&](Value room, Value place) -> Value {
    Value vector =
        b.create<arith::ShRUIOp>(emitter.loc(), place, emitter.index(llvm::Log2_64(where.width)));
    return b.create<LLVM::GEPOp>(emitter.loc(), room.getType(), byte, room, vector);
  };
  Value &room =
      emitter.keptTests[{loop->made, pointers.getAsOpaquePointer(), where.dim, where.width}];
  if (!room) {
    room = emitter.onStack(LLVM::LLVMArrayType::get(byte, vectors));
    emitter.before(*loop, [&] {
      emitter.loop(0, shape[where.dim], where.width, {}, [&](Value place, ValueRange) {
        Terms here(emitter);
        Term start;
        start.where = where;
        start.where.position.assign(shape.size(), emitter.index(0));
        start.where.position[where.dim] = place;
        here.add(pointers, start);
        Value follow =
            areEqual(emitter, here.emit(), expectedSteps(emitter, pointers, where.width));
        emitter.storeElements(at(room, place), b.getI1Type(), 1, follow, {});
        return SmallVector<Value>();
      });
    });
  }
  return emitter.loadElements(at(room, where.position[where.dim]), b.getI1Type(), 1, {}, {});
}

} // namespace

Value areAdjacent(LaneEmitter &emitter, Value pointers, const Lanes &where) {
  if (Value known = areAdjacentInLoop(emitter, pointers, where))
    return known;
  return areEqual(emitter, spread(emitter, pointers, where),
                  expectedSteps(emitter, pointers, where.width));
}

void prepareTest(LaneEmitter &emitter, Value pointers, const Lanes &where) {
  if (!areAdjacentInLoop(emitter, pointers, where))
    spread(emitter, pointers, where);
}

} // namespace nereid::cpu
