#include "cpu/NextRound.h"
#include "cpu/Extents.h"
#include "ir/OpKinds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

// Less than that stays in the nearest caches anyway.
constexpr int64_t leastBytes = 8 << 10;

// How far a value moves from one round of a loop to the next: integers in units, pointers in bytes,
// tiles where it is the same for all of their elements.
class StepsOfRound {
public:
  StepsOfRound(scf::ForOp loop, LaneEmitter &emitter)
      : loop(loop), emitter(emitter), b(emitter.builder), loc(emitter.loc()) {}

  // An i64, null for a value that stays. Nothing if that is not known.
  std::optional<Value> of(Value value) {
    if (!isa<BlockArgument>(value) && loop.isDefinedOutsideOfLoop(value))
      return Value();
    if (auto argument = dyn_cast<BlockArgument>(value))
      return ofArgument(argument);
    Operation *op = value.getDefiningOp();
    // Numbers that wrap around cost a useless fetch.
    if (tile::isRepeat(op) ||
        isa<tile::TransOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(op))
      return of(op->getOperand(0));
    if (isa<arith::AddIOp>(op))
      return sum(of(op->getOperand(0)), of(op->getOperand(1)));
    if (auto add = dyn_cast<tile::AddPtrOp>(op)) {
      if (add.getIsUnsigned())
        return {};
      auto type = cast<tile::PtrType>(tile::elementType(value.getType()));
      return sum(of(add.getPointer()),
                 times(of(add.getOffset()), emitter.index(tile::bytesInMemory(type.getPointee()))));
    }
    if (isa<arith::MulIOp>(op)) {
      for (unsigned side : {0, 1})
        if (Value factor = uniform(op->getOperand(side)))
          return times(of(op->getOperand(1 - side)), factor);
    }
    return {};
  }

private:
  std::optional<Value> ofArgument(BlockArgument argument) {
    if (argument.getOwner() != loop.getBody())
      return loop.isDefinedOutsideOfLoop(argument) ? std::optional(Value()) : std::nullopt;
    if (isa<RankedTensorType>(argument.getType()))
      return {};
    if (argument == loop.getInductionVar())
      return wide(emitter.scalar(loop.getStep()));
    Value next = loop.getYieldedValues()[argument.getArgNumber() - 1];
    std::optional<Value> moved = Value();
    while (next != argument) {
      Operation *op = next.getDefiningOp();
      Value step;
      int64_t unit = 1;
      if (auto add = dyn_cast_if_present<arith::AddIOp>(op)) {
        bool second = add.getLhs() == argument || !isConstant(add.getLhs());
        step = add->getOperand(second);
        next = add->getOperand(!second);
      } else if (auto add = dyn_cast_if_present<tile::AddPtrOp>(op); add && !add.getIsUnsigned()) {
        step = add.getOffset();
        next = add.getPointer();
        unit = tile::bytesInMemory(cast<tile::PtrType>(next.getType()).getPointee());
      }
      Value stays = step ? constant(step) : Value();
      if (!stays)
        return {};
      moved = sum(moved, times(wide(stays), emitter.index(unit)));
    }
    return moved;
  }

  // What a value is that is one number and stays the same, as i64.
  Value uniform(Value value) {
    DenseElementsAttr all;
    if (matchPattern(value, m_Constant(&all)) && all.isSplat() &&
        isa<IntegerType>(all.getElementType()))
      return emitter.index(all.getSplatValue<APInt>().getSExtValue());
    if (auto splat = value.getDefiningOp<tile::SplatOp>())
      value = splat->getOperand(0);
    if (isa<RankedTensorType>(value.getType()))
      return {};
    Value stays = constant(value);
    return stays ? wide(stays) : Value();
  }

  // True if an integer is the same in every round.
  bool isConstant(Value value) {
    if (!isa<IntegerType>(value.getType()))
      return false;
    if (loop.isDefinedOutsideOfLoop(value))
      return true;
    Operation *op = value.getDefiningOp();
    return isa_and_present<arith::ArithDialect>(op ? op->getDialect() : nullptr) && isPure(op) &&
           llvm::all_of(op->getOperands(), [&](Value operand) { return isConstant(operand); });
  }
  // Such an integer, here: the program may compute it further down.
  Value constant(Value value) {
    if (!isConstant(value))
      return {};
    if (loop.isDefinedOutsideOfLoop(value))
      return emitter.scalar(value);
    Operation *op = value.getDefiningOp();
    IRMapping here;
    for (Value operand : op->getOperands())
      here.map(operand, constant(operand));
    return b.clone(*op, here)->getResult(cast<OpResult>(value).getResultNumber());
  }

  Value wide(Value value) {
    return value.getType().isInteger(64)
               ? value
               : b.create<arith::ExtSIOp>(loc, b.getI64Type(), value).getResult();
  }
  std::optional<Value> sum(std::optional<Value> x, std::optional<Value> y) {
    if (!x || !y)
      return {};
    return *x && *y ? emitter.add(*x, *y) : *x ? *x : *y;
  }
  std::optional<Value> times(std::optional<Value> x, Value factor) {
    if (!x || !*x)
      return x;
    return b.create<arith::MulIOp>(loc, *x, factor).getResult();
  }

  scf::ForOp loop;
  LaneEmitter &emitter;
  OpBuilder &b;
  Location loc;
};

} // namespace

NextRound::NextRound(tile::DotOp dot, LaneEmitter &emitter)
    : emitter(emitter), loop(dyn_cast<scf::ForOp>(dot->getParentOp())) {
  if (!loop)
    return;
  fetchRows(dot);
  SmallVector<Operation *> found;
  find(dot.getLhs(), found);
  find(dot.getRhs(), found);
  for (Operation *op : found)
    if (auto load = dyn_cast<tile::LoadOp>(op))
      add(load);
    else
      add(cast<tile::DescLoadOp>(op));
  if (loads.empty())
    return;
  OpBuilder &b = emitter.builder;
  // Does not overflow: what lies beyond is not reached.
  Value left = b.create<arith::SubIOp>(emitter.loc(), emitter.scalar(loop.getUpperBound()),
                                       emitter.scalar(loop.getInductionVar()));
  more = b.create<arith::CmpIOp>(emitter.loc(), arith::CmpIPredicate::sgt, left,
                                 emitter.scalar(loop.getStep()));
}

// The loads that an operand is made of where it is packed.
void NextRound::find(Value operand, SmallVectorImpl<Operation *> &found) {
  Operation *op = operand.getDefiningOp();
  if (!op || op->getBlock() != loop.getBody())
    return;
  if (isa<tile::LoadOp, tile::DescLoadOp>(op))
    found.push_back(op);
  else if (isLazy(op))
    for (Value source : op->getOperands())
      find(source, found);
}

// Those of this product and of the ones behind it, unless one before knew them.
void NextRound::fetchRows(tile::DotOp dot) {
  auto known = [&](tile::LoadOp load, Operation *place) {
    return isKnownAt(load.getPointer(), place, emitter.plan);
  };
  SmallVector<tile::DotOp> before;
  bool behind = false;
  for (auto one : loop.getBody()->getOps<tile::DotOp>()) {
    behind |= one == dot;
    if (!behind) {
      before.push_back(one);
      continue;
    }
    SmallVector<Operation *> found;
    find(one.getLhs(), found);
    find(one.getRhs(), found);
    for (Operation *op : found) {
      auto load = dyn_cast<tile::LoadOp>(op);
      auto type = load ? dyn_cast<RankedTensorType>(load.getType()) : nullptr;
      if (!type || type.getRank() != 2 || bufferBytes(type) < leastBytes || !known(load, dot) ||
          llvm::any_of(before, [&](tile::DotOp other) { return known(load, other); }))
        continue;
      unsigned dim = emitter.adjacentDim(load.getResult());
      SmallVector<int64_t> rows(type.getShape());
      int64_t inRow = std::exchange(rows[dim], 1);
      if (emitter.axes.facts(load.getPointer()).contiguity[dim] < inRow ||
          StepsOfRound(loop, emitter).of(load.getPointer()))
        continue;
      emitter.forEach(rows, 1 - dim, 1, [&](const Lanes &where) {
        emitter.fetchLines(emitter.lanes(load.getPointer(), where),
                           inRow * tile::bytesInMemory(load.getAccessElementType()), /*hint=*/2);
      });
    }
  }
}

void NextRound::add(tile::LoadOp load) {
  auto type = dyn_cast<RankedTensorType>(load.getType());
  if (!type || bufferBytes(type) < leastBytes)
    return;
  std::optional<Value> bytes = StepsOfRound(loop, emitter).of(load.getPointer());
  if (bytes && *bytes)
    loads.push_back({type,
                     [this, load](const Lanes &where) mutable {
                       return emitter.lanes(load.getPointer(), where);
                     },
                     *bytes, emitter.adjacentDim(load.getPointer())});
}

void NextRound::add(tile::DescLoadOp load) {
  auto type = cast<RankedTensorType>(load.getType());
  unsigned rank = load.getOffsets().size();
  if (type.getRank() != rank || bufferBytes(type) < leastBytes ||
      !loop.isDefinedOutsideOfLoop(load.getDesc()))
    return;
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  ArrayRef<Value> fields = emitter.descriptor(load.getDesc());
  Value element = emitter.index(tile::bytesInMemory(type.getElementType()));
  Value bytes;
  StepsOfRound steps(loop, emitter);
  SmallVector<Value> strides, offsets;
  for (unsigned d = 0; d < rank; ++d) {
    strides.push_back(b.create<arith::MulIOp>(loc, fields[1 + rank + d], element));
    offsets.push_back(
        b.create<arith::ExtSIOp>(loc, b.getI64Type(), emitter.scalar(load.getOffsets()[d])));
    std::optional<Value> step = steps.of(load.getOffsets()[d]);
    if (!step)
      return;
    if (!*step)
      continue;
    Value more = b.create<arith::MulIOp>(loc, *step, strides[d]);
    bytes = bytes ? emitter.add(bytes, more) : more;
  }
  if (!bytes)
    return;
  auto address = [this, base = fields[0], strides, offsets](const Lanes &where) {
    OpBuilder &b = emitter.builder;
    Value offset = emitter.index(0);
    for (auto [d, stride] : llvm::enumerate(strides)) {
      Value at = emitter.add(offsets[d], where.position[d]);
      offset = emitter.add(offset, b.create<arith::MulIOp>(emitter.loc(), at, stride));
    }
    return emitter.elementAddress(base, offset, b.getI8Type());
  };
  loads.push_back({type, address, bytes, rank - 1});
}

void NextRound::fetch(Value part, int64_t parts) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  for (const Moving &moving : loads) {
    auto shape = moving.tile.getShape();
    int64_t elements = LaneEmitter::lineBytes / tile::bytesInMemory(tile::elementType(moving.tile));
    int64_t inRow = std::max<int64_t>(shape[moving.dim] / elements, 1);
    elements = shape[moving.dim] / inRow;
    int64_t lines = moving.tile.getNumElements() / elements;
    // Pieces of rows, of which the first address is computed. Rows that do not lie in one piece are
    // read a little slower.
    int64_t piece = std::clamp<int64_t>(lines / parts, 1, inRow);
    auto bound = [&](Value part) -> Value {
      Value pieces = b.create<arith::MulIOp>(loc, part, emitter.index(lines / piece));
      return b.create<arith::ShRUIOp>(loc, pieces, emitter.index(llvm::Log2_64(parts)));
    };
    Value first = bound(part), end = bound(emitter.add(part, emitter.index(1)));
    end = b.create<arith::SelectOp>(loc, more, end, first);
    emitter.loop(first, end, 1, {}, [&](Value number, ValueRange) -> SmallVector<Value> {
      Lanes where;
      where.position.resize(shape.size());
      auto take = [&](int64_t extent) -> Value {
        Value rest = b.create<arith::AndIOp>(loc, number, emitter.index(extent - 1));
        number = b.create<arith::ShRUIOp>(loc, number, emitter.index(llvm::Log2_64(extent)));
        return rest;
      };
      where.position[moving.dim] =
          b.create<arith::MulIOp>(loc, take(inRow / piece), emitter.index(piece * elements));
      for (unsigned d = shape.size(); d-- > 0;)
        if (d != moving.dim)
          where.position[d] = take(shape[d]);
      Value at = emitter.elementAddress(moving.address(where), moving.bytes, b.getI8Type());
      emitter.fetchLines(at, piece * LaneEmitter::lineBytes, /*hint=*/2);
      return {};
    });
  }
}

} // namespace nereid::cpu
