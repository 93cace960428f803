// Atomics through pointers.
#include "cpu/LaneModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

LLVM::AtomicOrdering orderingOf(tile::MemSemantic semantic) {
  switch (semantic) {
  case tile::MemSemantic::Relaxed:
    return LLVM::AtomicOrdering::monotonic;
  case tile::MemSemantic::Acquire:
    return LLVM::AtomicOrdering::acquire;
  case tile::MemSemantic::Release:
    return LLVM::AtomicOrdering::release;
  case tile::MemSemantic::AcqRel:
    return LLVM::AtomicOrdering::acq_rel;
  }
  return LLVM::AtomicOrdering::acq_rel;
}

LLVM::AtomicBinOp binaryOf(tile::AtomicKind kind) {
  using K = tile::AtomicKind;
  using B = LLVM::AtomicBinOp;
  switch (kind) {
  case K::Add:
    return B::add;
  case K::FAdd:
    return B::fadd;
  case K::Max:
    return B::max;
  case K::Min:
    return B::min;
  case K::UMax:
    return B::umax;
  case K::UMin:
    return B::umin;
  case K::And:
    return B::_and;
  case K::Or:
    return B::_or;
  case K::Xor:
    return B::_xor;
  case K::Xchg:
    return B::xchg;
  case K::FMax:
  case K::FMin:
    break; // by emitFloatExtreme
  }
  return B::xchg;
}

// Runs `access` for each element whose mask is true, in row-major order, and keeps what it returns.
void forEachElement(Operation *op, LaneEmitter &emitter, Value mask,
                    llvm::function_ref<Value(const Lanes &)> access) {
  Value result = op->getResult(0);
  bool isTile = isa<RankedTensorType>(result.getType());
  bool used = !result.use_empty();
  Type element = tile::elementType(result.getType());
  Buffer into = isTile && used ? emitter.buffer(result) : Buffer();
  auto shape = tile::shapeOf(result.getType());
  emitter.forEach(shape, shape.empty() ? 0 : shape.size() - 1, 1, [&](const Lanes &where) {
    Value old;
    if (mask)
      old = emitter.choose(emitter.lanes(mask, where), laneType(element, 1),
                           [&] { return access(where); });
    else
      old = access(where);
    if (!isTile)
      emitter.setScalar(result, old);
    else if (used)
      emitter.write(into, where, old);
  });
}

// What the words of memory become, lane by lane; null if that is not one instruction.
Value combined(LaneEmitter &emitter, tile::AtomicKind kind, Value old, Value value) {
  using K = tile::AtomicKind;
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  switch (kind) {
  case K::Add:
    return b.create<arith::AddIOp>(loc, old, value);
  case K::FAdd:
    return b.create<arith::AddFOp>(loc, old, value);
  case K::Max:
    return b.create<arith::MaxSIOp>(loc, old, value);
  case K::Min:
    return b.create<arith::MinSIOp>(loc, old, value);
  case K::UMax:
    return b.create<arith::MaxUIOp>(loc, old, value);
  case K::UMin:
    return b.create<arith::MinUIOp>(loc, old, value);
  case K::And:
    return b.create<arith::AndIOp>(loc, old, value);
  case K::Or:
    return b.create<arith::OrIOp>(loc, old, value);
  case K::Xor:
    return b.create<arith::XOrIOp>(loc, old, value);
  case K::Xchg:
    return value;
  case K::FMax:
  case K::FMin:
    break;
  }
  return {};
}

struct AtomicRMWLanes : LaneModel<AtomicRMWLanes, tile::AtomicRMWOp> {
  static constexpr int64_t pairBytes = 16, mostFetched = 4096;

  bool runsWhole(Operation *) const { return true; }
  void emitWhole(Operation *op, LaneEmitter &emitter) const {
    auto atomic = cast<tile::AtomicRMWOp>(op);
    auto shape = tile::shapeOf(atomic.getType());
    if (shape.empty())
      return forEachElement(op, emitter, atomic.getMask(), [&](const Lanes &where) -> Value {
        return changeOne(atomic, emitter.lanes(atomic.getPointer(), where),
                         emitter.lanes(atomic.getValue(), where), emitter);
      });
    unsigned dim = LaneEmitter::preferredDim(shape);
    bool isRange = emitter.axes.facts(atomic.getPointer()).contiguity[dim] >= shape[dim];
    int64_t fetched = std::min(
        shape[dim] * tile::bytesInMemory(tile::elementType(atomic.getType())), mostFetched);
    RowTask task;
    task.tiles = {atomic.getPointer(), atomic.getValue()};
    if (atomic.getMask())
      task.tiles.push_back(atomic.getMask());
    task.body = [&](const Lanes &where, ValueRange) -> SmallVector<Value> {
      change(atomic, where, emitter);
      return {};
    };
    SmallVector<int64_t> rows(shape);
    rows[dim] = 1;
    emitter.forEach(rows, dim, 1, [&](const Lanes &row) {
      if (isRange && fetched > LaneEmitter::lineBytes && mayPair(atomic, emitter))
        fetchRow(emitter, emitter.lanes(atomic.getPointer(), row), fetched);
      emitter.alongRow(row, shape[dim], task);
    });
  }

  // True if elements that lie side by side may change together: each is still changed once, and by
  // one instruction, which takes as long for all of them as for one.
  static bool mayPair(tile::AtomicRMWOp atomic, LaneEmitter &emitter) {
    using K = tile::AtomicKind;
    Type element = tile::elementType(atomic.getType());
    return emitter.processor.atomicPairs && atomic.getResult().use_empty() &&
           atomic.getKind() != K::FMax && atomic.getKind() != K::FMin && element.isIntOrFloat() &&
           !element.isInteger(1) && lanesOfPair(atomic) > 1;
  }
  static int64_t lanesOfPair(tile::AtomicRMWOp atomic) {
    return pairBytes / tile::bytesInMemory(tile::elementType(atomic.getType()));
  }

  // Some lanes of a row: what is read for them is read first.
  static void change(tile::AtomicRMWOp atomic, const Lanes &where, LaneEmitter &emitter) {
    Value mask = atomic.getMask();
    if (mask && emitter.assumedMask(mask) == false && atomic.getResult().use_empty())
      return;
    // Lanes that lie side by side differ, so that they may change as a vector.
    if (where.width > 1 && atomic.getResult().use_empty() && needsNoLockAlone(atomic) &&
        isAdjacent(emitter, atomic.getPointer(), where))
      return emitter.either(
          emitter.program.isAlone, [&] { changeAlone(atomic, where, emitter); },
          [&] { changeLocked(atomic, where, emitter); });
    changeLocked(atomic, where, emitter);
  }

  static void changeAlone(tile::AtomicRMWOp atomic, const Lanes &where, LaneEmitter &emitter) {
    Type element = tile::elementType(atomic.getType());
    Value pointer = emitter.lanes(atomic.getPointer(), where.first());
    Value value = emitter.lanes(atomic.getValue(), where);
    Value mask = maskLanes(emitter, atomic.getMask(), where);
    Value old = emitter.loadElements(pointer, element, where.width, mask, {});
    emitter.storeElements(pointer, element, where.width,
                          combined(emitter, atomic.getKind(), old, value), mask);
  }

  static void changeLocked(tile::AtomicRMWOp atomic, const Lanes &where, LaneEmitter &emitter) {
    Value mask = atomic.getMask();
    int64_t pair = lanesOfPair(atomic);
    if (where.width >= pair && mayPair(atomic, emitter) &&
        isAdjacent(emitter, atomic.getPointer(), {where.position, where.dim, pair})) {
      emitter.loop(0, where.width, pair, {}, [&](Value at, ValueRange) -> SmallVector<Value> {
        Lanes some = where;
        some.position[where.dim] = emitter.add(where.position[where.dim], at);
        some.width = pair;
        changeAdjacent(atomic, some, emitter);
        return {};
      });
      return;
    }
    Value pointers = emitter.lanes(atomic.getPointer(), where);
    Value values = emitter.lanes(atomic.getValue(), where);
    Value on = maskLanes(emitter, mask, where);
    bool used = !atomic.getResult().use_empty();
    Buffer into = used ? emitter.buffer(atomic.getResult()) : Buffer();
    if (where.width == 1) {
      auto one = [&] { return changeOne(atomic, pointers, values, emitter); };
      if (!used)
        on ? emitter.when(on, one) : void(one());
      else
        emitter.write(into, where, on ? emitter.choose(on, values.getType(), one) : one());
      return;
    }
    auto pointer = emitter.takeApart(pointers), value = emitter.takeApart(values);
    if (used && on)
      emitter.write(into, where, emitter.zero(values.getType()));
    emitter.forEachLane(on, where.width, [&](Value lane) {
      Value old = changeOne(atomic, pointer(lane), value(lane), emitter);
      if (!used)
        return;
      Lanes single = where.first();
      single.position[where.dim] = emitter.add(where.position[where.dim], lane);
      emitter.write(into, single, old);
    });
  }

  // True if plain loads and stores do where the launch is alone: whoever else may observe the
  // change is of the device, and what changes is known by one instruction.
  static bool needsNoLockAlone(tile::AtomicRMWOp atomic) {
    using K = tile::AtomicKind;
    Type element = tile::elementType(atomic.getType());
    return atomic.getScope() != tile::MemScope::Sys && atomic.getKind() != K::FMax &&
           atomic.getKind() != K::FMin && element.isIntOrFloat() && !element.isInteger(1);
  }

  // Gives the old value.
  static Value changeOne(tile::AtomicRMWOp atomic, Value pointer, Value value,
                         LaneEmitter &emitter) {
    auto locked = [&] {
      return emitAtomic(emitter, atomic, atomic.getKind(), atomic.getSem(), pointer, value);
    };
    if (!needsNoLockAlone(atomic))
      return locked();
    Type element = tile::elementType(atomic.getType());
    return emitter.select(
        emitter.program.isAlone, value.getType(),
        [&] {
          Value old = emitter.loadElements(pointer, element, 1, {}, {});
          emitter.storeElements(pointer, element, 1,
                                combined(emitter, atomic.getKind(), old, value), {});
          return old;
        },
        locked);
  }

  static void changeAdjacent(tile::AtomicRMWOp atomic, const Lanes &where, LaneEmitter &emitter) {
    OpBuilder &b = emitter.builder;
    Type element = tile::elementType(atomic.getType());
    Location loc = emitter.loc();
    Value pointer = emitter.lanes(atomic.getPointer(), where.first());
    Value value = emitter.lanes(atomic.getValue(), where);
    Value mask = maskLanes(emitter, atomic.getMask(), where);
    Value address = b.create<LLVM::PtrToIntOp>(loc, b.getI64Type(), pointer);
    Value whole = b.create<arith::CmpIOp>(
        loc, arith::CmpIPredicate::eq,
        b.create<arith::AndIOp>(loc, address, emitter.index(pairBytes - 1)), emitter.index(0));
    if (mask)
      whole = b.create<arith::AndIOp>(loc, whole, allAreOn(emitter, mask, where.width));
    emitter.either(
        whole, [&] { changePair(atomic, emitter, pointer, value); },
        [&] {
          emitter.loop(0, where.width, 1, {}, [&](Value lane, ValueRange) -> SmallVector<Value> {
            auto at = [&](Value lanes) -> Value {
              return b.create<LLVM::ExtractElementOp>(loc, lanes, lane);
            };
            auto one = [&] {
              changeOne(atomic, emitter.elementAddress(pointer, lane, element), at(value), emitter);
            };
            mask ? emitter.when(at(mask), one) : one();
            return {};
          });
        });
  }

  // A row that is somewhere in memory comes at once: atomics wait for each line in turn.
  static void fetchRow(LaneEmitter &emitter, Value pointer, int64_t bytes) {
    emitter.loop(
        0, bytes, LaneEmitter::lineBytes, {}, [&](Value byte, ValueRange) -> SmallVector<Value> {
          Value at = emitter.builder.create<LLVM::GEPOp>(
              emitter.loc(), pointer.getType(), emitter.builder.getI8Type(), pointer, byte);
          emitter.fetchLines(at, LaneEmitter::lineBytes, /*hint=*/3);
          return {};
        });
  }

  // Read, combine, and write if nobody else has written meanwhile.
  static void changePair(tile::AtomicRMWOp atomic, LaneEmitter &emitter, Value pointer,
                         Value value) {
    OpBuilder &b = emitter.builder;
    Type half = b.getI64Type(), bits = b.getIntegerType(8 * pairBytes), type = value.getType(),
         halves = laneType(half, 2);
    auto read = [&](int32_t byte) -> Value {
      Value at = b.create<LLVM::GEPOp>(emitter.loc(), pointer.getType(), b.getI8Type(), pointer,
                                       ArrayRef<LLVM::GEPArg>{byte});
      return b.create<LLVM::LoadOp>(emitter.loc(), half, at, 8, /*isVolatile=*/false,
                                    /*isNonTemporal=*/false, /*isInvariant=*/false,
                                    LLVM::AtomicOrdering::monotonic);
    };
    Value first = emitter.insert(emitter.undef(halves), read(0), 0);
    first = b.create<LLVM::BitcastOp>(emitter.loc(), bits, emitter.insert(first, read(8), 1));
    b.create<scf::WhileOp>(
        emitter.loc(), TypeRange{bits}, ValueRange{first},
        [&](OpBuilder &, Location loc, ValueRange seen) {
          Value old = b.create<LLVM::BitcastOp>(loc, type, seen[0]);
          Value next =
              b.create<LLVM::BitcastOp>(loc, bits, combined(emitter, atomic.getKind(), old, value));
          Value pair = b.create<LLVM::AtomicCmpXchgOp>(loc, pointer, seen[0], next,
                                                       orderingOf(atomic.getSem()),
                                                       LLVM::AtomicOrdering::monotonic);
          Value now = b.create<LLVM::ExtractValueOp>(loc, pair, ArrayRef<int64_t>{0});
          Value written = b.create<LLVM::ExtractValueOp>(loc, pair, ArrayRef<int64_t>{1});
          Value again = b.create<arith::XOrIOp>(loc, written, emitter.constant(b.getI1Type(), 1));
          b.create<scf::ConditionOp>(loc, again, now);
        },
        [](OpBuilder &b, Location loc, ValueRange now) { b.create<scf::YieldOp>(loc, now); });
  }
};

struct AtomicCASLanes : LaneModel<AtomicCASLanes, tile::AtomicCASOp> {
  bool runsWhole(Operation *) const { return true; }
  void emitWhole(Operation *op, LaneEmitter &emitter) const {
    auto atomic = cast<tile::AtomicCASOp>(op);
    OpBuilder &b = emitter.builder;
    forEachElement(op, emitter, {}, [&](const Lanes &where) -> Value {
      Value pointer = emitter.lanes(atomic.getPointer(), where);
      Value compare = emitter.lanes(atomic.getCompare(), where);
      Value value = emitter.lanes(atomic.getValue(), where);
      Type type = value.getType();
      // Bits are compared, not numbers.
      Type bits = isa<FloatType>(type) ? b.getIntegerType(type.getIntOrFloatBitWidth()) : type;
      if (bits != type) {
        compare = b.create<LLVM::BitcastOp>(emitter.loc(), bits, compare);
        value = b.create<LLVM::BitcastOp>(emitter.loc(), bits, value);
      }
      LLVM::AtomicOrdering success = orderingOf(atomic.getSem());
      LLVM::AtomicOrdering failure =
          success == LLVM::AtomicOrdering::acq_rel || success == LLVM::AtomicOrdering::acquire
              ? LLVM::AtomicOrdering::acquire
              : LLVM::AtomicOrdering::monotonic;
      Value pair =
          b.create<LLVM::AtomicCmpXchgOp>(emitter.loc(), pointer, compare, value, success, failure);
      Value old = b.create<LLVM::ExtractValueOp>(emitter.loc(), pair, ArrayRef<int64_t>{0});
      return bits == type ? old : b.create<LLVM::BitcastOp>(emitter.loc(), type, old).getResult();
    });
  }
};

// `max` and `min` of floats as a GPU has them: a non-negative operand orders with what is in memory
// as a signed integer, a negative one the other way round as an unsigned one.
Value emitFloatExtreme(LaneEmitter &emitter, bool isMax, LLVM::AtomicOrdering ordering,
                       Value pointer, Value value) {
  using B = LLVM::AtomicBinOp;
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  Type type = value.getType();
  Type bits = b.getIntegerType(type.getIntOrFloatBitWidth());
  Value word = b.create<LLVM::BitcastOp>(loc, bits, value);
  Value negative =
      b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, word, emitter.zero(bits));
  auto by = [&](B kind) {
    return [&, kind]() -> Value {
      return b.create<LLVM::AtomicRMWOp>(loc, kind, pointer, word, ordering);
    };
  };
  Value old =
      emitter.select(negative, bits, by(isMax ? B::umin : B::umax), by(isMax ? B::max : B::min));
  return b.create<LLVM::BitcastOp>(loc, type, old);
}

// A sum of bf16, which LLVM would round as `widenBf16` says: read, add, and write if nobody else
// has written meanwhile.
Value emitBf16Sum(LaneEmitter &emitter, LLVM::AtomicOrdering ordering, Value pointer, Value value) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  Type type = value.getType(), bits = b.getI16Type();
  Value first = b.create<LLVM::LoadOp>(loc, bits, pointer, 2, /*isVolatile=*/false,
                                       /*isNonTemporal=*/false, /*isInvariant=*/false,
                                       LLVM::AtomicOrdering::monotonic);
  auto again = b.create<scf::WhileOp>(
      loc, TypeRange{bits}, ValueRange{first},
      [&](OpBuilder &b, Location loc, ValueRange seen) {
        Value old = b.create<arith::BitcastOp>(loc, type, seen[0]);
        Value sum = b.create<arith::AddFOp>(loc, old, value);
        Value pair = b.create<LLVM::AtomicCmpXchgOp>(loc, pointer, seen[0],
                                                     b.create<arith::BitcastOp>(loc, bits, sum),
                                                     ordering, LLVM::AtomicOrdering::monotonic);
        Value now = b.create<LLVM::ExtractValueOp>(loc, pair, ArrayRef<int64_t>{0});
        Value failed = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, now, seen[0]);
        b.create<scf::ConditionOp>(loc, failed, now);
      },
      [](OpBuilder &b, Location loc, ValueRange now) { b.create<scf::YieldOp>(loc, now); });
  return b.create<arith::BitcastOp>(loc, type, again.getResult(0));
}

} // namespace

Value emitAtomic(LaneEmitter &emitter, Operation *op, tile::AtomicKind kind,
                 tile::MemSemantic semantic, Value pointer, Value value) {
  if (value.getType().isInteger(1))
    return emitter.unsupported(op, value.getType(), "an atomic on booleans");
  if (isa<LLVM::LLVMPointerType>(value.getType()))
    return emitter.unsupported(op, value.getType(), "an atomic on pointers");
  if (kind == tile::AtomicKind::FMax || kind == tile::AtomicKind::FMin)
    return emitFloatExtreme(emitter, kind == tile::AtomicKind::FMax, orderingOf(semantic), pointer,
                            value);
  if (kind == tile::AtomicKind::FAdd && value.getType().isBF16())
    return emitBf16Sum(emitter, orderingOf(semantic), pointer, value);
  return emitter.builder.create<LLVM::AtomicRMWOp>(emitter.loc(), binaryOf(kind), pointer, value,
                                                   orderingOf(semantic));
}

void registerAtomicLanes(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    tile::AtomicRMWOp::attachInterface<AtomicRMWLanes>(*context);
    tile::AtomicCASOp::attachInterface<AtomicCASLanes>(*context);
  });
}

} // namespace nereid::cpu
