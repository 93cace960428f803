#include "cpu/LaneEmitter.h"
#include "cpu/RunLanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace nereid::cpu {

Type laneType(Type element, int64_t width) {
  if (isa<tile::PtrType>(element)) {
    Type pointer = LLVM::LLVMPointerType::get(element.getContext());
    return width == 1 ? pointer : LLVM::getFixedVectorType(pointer, width);
  }
  // LLVM has no 8-bit floats: they travel as their bits.
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8)
    element = IntegerType::get(element.getContext(), 8);
  return width == 1 ? element : VectorType::get({width}, element);
}

int64_t widthOf(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements();
  if (auto vector = dyn_cast<LLVM::LLVMFixedVectorType>(type))
    return vector.getNumElements();
  return 1;
}

Type scalarOf(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getElementType();
  if (auto vector = dyn_cast<LLVM::LLVMFixedVectorType>(type))
    return vector.getElementType();
  return type;
}

bool LaneEmitter::LaneKey::operator<(const LaneKey &other) const {
  auto tuple = [](const LaneKey &key) {
    return std::make_tuple(key.tile.getAsOpaquePointer(), key.dim, key.width, key.position.size());
  };
  if (tuple(*this) != tuple(other))
    return tuple(*this) < tuple(other);
  for (auto [a, b] : llvm::zip(position, other.position))
    if (a != b)
      return a.getAsOpaquePointer() < b.getAsOpaquePointer();
  return false;
}

// Lanes emitted inside a region are found again until the region ends.
struct LaneEmitter::MemoScope {
  explicit MemoScope(LaneEmitter &emitter) : emitter(emitter) { emitter.memo.emplace_back(); }
  ~MemoScope() { emitter.memo.pop_back(); }
  LaneEmitter &emitter;
};

LaneEmitter::LaneEmitter(OpBuilder &builder, const FusionPlan &plan,
                         const analysis::AxisAnalysis &axes, const Processor &processor)
    : builder(builder), plan(plan), axes(axes), processor(processor),
      directions(axes, [&plan](Value tile) { return plan.stored(tile) != nullptr; }),
      location(builder.getUnknownLoc()) {}

// --- values ---

Value LaneEmitter::lanes(Value tile, const Lanes &where) {
  if (!isa<RankedTensorType>(tile.getType()))
    return scalar(tile);
  if (auto known = assumedMask(tile))
    return constant(builder.getBoolAttr(*known), where.width);
  LaneKey key = keyOf(tile, where);
  for (auto &scope : llvm::reverse(memo))
    if (auto found = scope.find(key); found != scope.end())
      return found->second;
  Value value = run ? inRun(tile, where) : Value();
  if (!value)
    value = plan.stored(tile) ? read(buffer(tile), where) : compute(tile, where);
  remember(tile, where, value);
  return value;
}

std::optional<int64_t> LaneEmitter::stepInRun(Value tile) const {
  auto found = run ? run->steps.find(tile) : decltype(run->steps)::const_iterator();
  return run && found != run->steps.end() ? std::optional<int64_t>(found->second) : std::nullopt;
}

// What stays the same in the run is found once for all lanes; what splits a number, from where the
// run began.
Value LaneEmitter::inRun(Value tile, const Lanes &where) {
  if (auto found = run->numbers.find(tile); found != run->numbers.end()) {
    const RowRun::Number &number = found->second;
    if (!number.step)
      return splat(number.base, where.width);
    Type type = number.base.getType();
    Value past = builder.create<arith::SubIOp>(location, where.position[number.dim], run->start);
    if (past.getType() != type)
      past = builder.create<arith::TruncIOp>(location, type, past);
    Value first = splat(add(number.base, past), where.width);
    return where.width == 1 ? first : add(first, iota(type, where.width));
  }
  return where.width > 1 && stepInRun(tile) == 0 ? splat(lanes(tile, where.first()), where.width)
                                                 : Value();
}

// While there are lanes: all steps of each of the widths that the run that begins here has room
// for, then one of the last width in which it ends, unless it ended between two.
SmallVector<Value> LaneEmitter::alongRuns(
    RowRuns &runs, Value runsEnd, Value upper, ArrayRef<int64_t> widths, ArrayRef<Value> carried,
    llvm::function_ref<SmallVector<Value>(Value, Value, int64_t, ArrayRef<Value>, bool)> steps) {
  SmallVector<Value> all = {index(0)};
  llvm::append_range(all, carried);
  auto loop = builder.create<scf::WhileOp>(
      location, ValueRange(all).getTypes(), all,
      [&](OpBuilder &b, Location loc, ValueRange now) {
        Value more = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, now[0], upper);
        b.create<scf::ConditionOp>(loc, more, now);
      },
      [](OpBuilder &b, Location loc, ValueRange now) { b.create<scf::YieldOp>(loc, now); });
  OpBuilder::InsertionGuard guard(builder);
  Operation *end = loop.getAfterBody()->getTerminator();
  builder.setInsertionPoint(end);
  MemoScope scope(*this);
  ValueRange now = loop.getAfterArguments();
  RowRuns::Begun begun = runs.begin(now[0]);
  auto least = [&](Value a, Value b) -> Value {
    return builder.create<arith::MinSIOp>(location, a, b);
  };
  Value left = builder.create<arith::SubIOp>(location, runsEnd, now[0]);
  if (runsEnd != upper)
    left = builder.create<arith::MaxSIOp>(location, left, index(0));
  Value room = least(begun.length, left), last = now[0];
  if (begun.isWorth)
    room = builder.create<arith::SelectOp>(location, begun.isWorth, room, index(0));
  SmallVector<Value> values = llvm::to_vector(now.drop_front());
  const RowRun *outer = std::exchange(run, &begun.run);
  for (int64_t width : widths) {
    Value whole = builder.create<arith::AndIOp>(location, room, index(-width));
    Value to = add(now[0], whole);
    values = steps(last, to, width, values, true);
    last = to;
  }
  run = outer;
  Value isDone = builder.create<arith::AndIOp>(
      location, builder.create<arith::CmpIOp>(location, arith::CmpIPredicate::ne, last, now[0]),
      builder.create<arith::CmpIOp>(location, arith::CmpIPredicate::eq, last, add(now[0], room)));
  Value next = least(add(last, index(widths.back())), upper);
  if (begun.isWorth)
    next = builder.create<arith::SelectOp>(location, begun.isWorth, next, upper);
  next = builder.create<arith::SelectOp>(location, isDone, last, next);
  values = steps(last, next, widths.back(), values, false);
  values.insert(values.begin(), next);
  end->setOperands(values);
  return llvm::to_vector(ValueRange(loop.getResults()).drop_front());
}

LaneEmitter::LaneKey LaneEmitter::keyOf(Value tile, const Lanes &where) {
  return {tile, where.width == 1 ? 0 : where.dim, where.width, where.position};
}

void LaneEmitter::remember(Value tile, const Lanes &where, Value value) {
  if (!memo.empty())
    memo.back()[keyOf(tile, where)] = value;
}

Value LaneEmitter::compute(Value tile, const Lanes &where) {
  auto result = dyn_cast<OpResult>(tile);
  auto op = result ? dyn_cast<tile::LanesOpInterface>(result.getOwner()) : nullptr;
  Type type = laneType(tile::elementType(tile.getType()), where.width);
  if (!op)
    return unsupported(result ? result.getOwner() : nullptr, type);
  Location outer = location;
  location = result.getOwner()->getLoc();
  Value value = op.emitLanes(*this, result.getResultNumber(), where);
  if (!value)
    value = unsupported(op, type);
  location = outer;
  return value;
}

Lanes LaneEmitter::inOperand(Operation *op, Lanes where) {
  if (auto expand = dyn_cast<tile::ExpandDimsOp>(op)) {
    unsigned axis = expand.getAxis();
    where.position.erase(where.position.begin() + axis);
    // One lane runs along any dimension.
    where.dim = where.dim == axis ? 0 : where.dim - (where.dim > axis);
    return where;
  }
  auto from = tile::shapeOf(op->getOperand(0).getType()),
       to = tile::shapeOf(op->getResult(0).getType());
  for (size_t d = 0; d < from.size(); ++d)
    if (from[d] != to[d])
      where.position[d] = index(0);
  return from[where.dim] == to[where.dim] ? where : where.first();
}

void LaneEmitter::before(const OpenLoop &loop, llvm::function_ref<void()> body) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.made);
  auto outer = std::exchange(memo, {});
  body();
  memo = std::move(outer);
}

Value LaneEmitter::scalar(Value source) const { return scalars.lookup(source); }
void LaneEmitter::setScalar(Value source, Value value) { scalars[source] = value; }
ArrayRef<Value> LaneEmitter::descriptor(Value source) const {
  return descriptors.find(source)->second;
}
void LaneEmitter::setDescriptor(Value source, SmallVector<Value> fields) {
  descriptors[source] = std::move(fields);
}

// --- loops ---

int64_t LaneEmitter::preferredWidth(ArrayRef<int64_t> shape, unsigned dim) const {
  return std::min<int64_t>(shape[dim], vectorLanes() * (processor.vectorBytes == 64 ? 4 : 2));
}

SmallVector<Value> LaneEmitter::loop(int64_t lower, int64_t upper, int64_t step,
                                     ArrayRef<Value> carried, LoopBody body) {
  if (upper - lower == step) {
    MemoScope scope(*this);
    return body(index(lower), carried);
  }
  return loop(index(lower), index(upper), step, carried, body);
}

SmallVector<Value> LaneEmitter::loop(Value lower, Value upper, int64_t step,
                                     ArrayRef<Value> carried, LoopBody body) {
  auto loop = builder.create<scf::ForOp>(location, lower, upper, index(step), carried);
  OpBuilder::InsertionGuard guard(builder);
  // The builder adds the terminator itself if there is nothing to carry.
  if (carried.empty())
    builder.setInsertionPoint(loop.getBody()->getTerminator());
  else
    builder.setInsertionPointToStart(loop.getBody());
  MemoScope scope(*this);
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!carried.empty())
    builder.create<scf::YieldOp>(location, next);
  return SmallVector<Value>(loop.getResults());
}

void LaneEmitter::forEach(ArrayRef<int64_t> shape, unsigned dim, int64_t width,
                          llvm::function_ref<void(const Lanes &)> body, ArrayRef<Value> ends) {
  Lanes where;
  where.dim = dim;
  where.width = width;
  where.position.resize(shape.size());
  std::function<void(unsigned)> nest = [&](unsigned d) {
    if (d == shape.size())
      return body(where);
    int64_t step = d == dim ? width : 1;
    auto inner = [&](Value at, ValueRange) -> SmallVector<Value> {
      where.position[d] = at;
      nest(d + 1);
      return {};
    };
    if (!ends.empty() && ends[d])
      loop(index(0), ends[d], step, {}, inner);
    else
      loop(0, shape[d], step, {}, inner);
  };
  if (shape.empty()) {
    MemoScope scope(*this);
    return body(where);
  }
  nest(0);
}

void LaneEmitter::either(Value condition, llvm::function_ref<void()> yes,
                         llvm::function_ref<void()> no) {
  auto branch = builder.create<scf::IfOp>(location, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  auto side = [&](Block *block, llvm::function_ref<void()> body) {
    builder.setInsertionPoint(block->getTerminator());
    MemoScope scope(*this);
    body();
  };
  side(branch.thenBlock(), yes);
  side(branch.elseBlock(), no);
}

void LaneEmitter::when(Value condition, llvm::function_ref<void()> body) {
  auto branch = builder.create<scf::IfOp>(location, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  MemoScope scope(*this);
  body();
}

Value LaneEmitter::select(Value condition, Type type, llvm::function_ref<Value()> yes,
                          llvm::function_ref<Value()> no) {
  auto branch = builder.create<scf::IfOp>(location, TypeRange{type}, condition, true);
  OpBuilder::InsertionGuard guard(builder);
  auto side = [&](Block *block, llvm::function_ref<Value()> compute) {
    builder.setInsertionPointToStart(block);
    MemoScope scope(*this);
    Value value = compute();
    builder.create<scf::YieldOp>(location, value);
  };
  side(branch.thenBlock(), yes);
  side(branch.elseBlock(), no);
  return branch.getResult(0);
}

Value LaneEmitter::choose(Value condition, Type type, llvm::function_ref<Value()> compute) {
  return select(condition, type, compute, [&] { return zero(type); });
}

// --- small pieces of code ---

Value LaneEmitter::index(int64_t value) {
  Value &found = indexConstants[value];
  if (!found) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entry);
    found = builder.create<arith::ConstantOp>(builder.getUnknownLoc(),
                                              builder.getI64IntegerAttr(value));
  }
  return found;
}

Value LaneEmitter::constant(Type element, int64_t value, int64_t width) {
  TypedAttr attr = isa<FloatType>(element) ? TypedAttr(builder.getFloatAttr(element, double(value)))
                                           : TypedAttr(builder.getIntegerAttr(element, value));
  return constant(attr, width);
}

Value LaneEmitter::constant(TypedAttr value, int64_t width) {
  if (width > 1)
    value = DenseElementsAttr::get(VectorType::get({width}, value.getType()), Attribute(value));
  return builder.create<arith::ConstantOp>(location, value);
}

Value LaneEmitter::splat(Value scalar, int64_t width) {
  if (width == 1)
    return scalar;
  Type type = LLVM::getFixedVectorType(scalar.getType(), width);
  Value one = insert(undef(type), scalar, 0);
  return shuffle(one, one, SmallVector<int32_t>(width, 0));
}

static Value laneIndex(LaneEmitter &emitter, int64_t lane) {
  return emitter.builder.create<LLVM::ConstantOp>(emitter.loc(), emitter.builder.getI32Type(),
                                                  emitter.builder.getI32IntegerAttr(lane));
}

Value LaneEmitter::extract(Value vector, int64_t lane) {
  if (widthOf(vector.getType()) == 1 && scalarOf(vector.getType()) == vector.getType())
    return vector;
  return builder.create<LLVM::ExtractElementOp>(location, vector, laneIndex(*this, lane));
}

Value LaneEmitter::insert(Value vector, Value scalar, int64_t lane) {
  if (vector.getType() == scalar.getType())
    return scalar;
  return builder.create<LLVM::InsertElementOp>(location, vector, scalar, laneIndex(*this, lane));
}

Value LaneEmitter::shuffle(Value a, Value b, ArrayRef<int32_t> mask) {
  if (mask.size() == 1)
    return mask[0] < widthOf(a.getType()) ? extract(a, mask[0])
                                          : extract(b, mask[0] - widthOf(a.getType()));
  return builder.create<LLVM::ShuffleVectorOp>(location, a, b, mask);
}

Value LaneEmitter::iota(Type element, int64_t width) {
  if (width == 1)
    return constant(element, 0);
  unsigned bits = element.getIntOrFloatBitWidth();
  SmallVector<APInt> values;
  for (int64_t i = 0; i < width; ++i)
    values.push_back(APInt(bits, uint64_t(i)));
  return builder.create<arith::ConstantOp>(
      location, DenseIntElementsAttr::get(VectorType::get({width}, element), values));
}

Value LaneEmitter::add(Value a, Value b) { return builder.create<arith::AddIOp>(location, a, b); }

Value LaneEmitter::withBits(Value position, int64_t keep, int64_t flip) {
  if (auto found = moved.find(position); found != moved.end()) {
    const Moved before = found->second;
    position = before.from;
    flip ^= before.flip & keep;
    keep &= before.keep;
  }
  if (keep == -1 && !flip)
    return position;
  APInt known;
  if (matchPattern(position, m_ConstantInt(&known)))
    return index((known.getSExtValue() & keep) ^ flip);
  // Kept with the lanes of the loop that is open.
  LaneKey key{position, ~0u, keep, {index(flip)}};
  for (auto &scope : llvm::reverse(memo))
    if (auto found = scope.find(key); found != scope.end())
      return found->second;
  Value value = position;
  if (keep != -1)
    value = builder.create<arith::AndIOp>(location, value, index(keep));
  if (flip)
    value = builder.create<arith::XOrIOp>(location, value, index(flip));
  moved[value] = {position, keep, flip};
  if (!memo.empty())
    memo.back()[key] = value;
  return value;
}

Value LaneEmitter::scaled(Value position, bool up) {
  APInt known;
  if (matchPattern(position, m_ConstantInt(&known)))
    return index(up ? known.getSExtValue() * 2 : known.getSExtValue() / 2);
  LaneKey key{position, up ? ~1u : ~2u, 0, {}};
  for (auto &scope : llvm::reverse(memo))
    if (auto found = scope.find(key); found != scope.end())
      return found->second;
  Value one = index(1);
  Value value = up ? builder.create<arith::ShLIOp>(location, position, one).getResult()
                   : builder.create<arith::ShRUIOp>(location, position, one).getResult();
  if (!memo.empty())
    memo.back()[key] = value;
  return value;
}

Value LaneEmitter::ceilDiv(Value a, int64_t powerOf2) {
  return builder.create<arith::ShRUIOp>(location, add(a, index(powerOf2 - 1)),
                                        index(llvm::Log2_64(powerOf2)));
}

Value LaneEmitter::addScaled(Value a, Value b, int64_t factor) {
  if (b == index(0))
    return a;
  if (factor != 1)
    b = builder.create<arith::MulIOp>(location, b, index(factor));
  return a == index(0) ? b : add(a, b);
}

Value LaneEmitter::undef(Type type) { return builder.create<LLVM::UndefOp>(location, type); }

Value LaneEmitter::call(StringRef symbol, Type result, ValueRange arguments) {
  auto module = entry->getParentOp()->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(symbol);
  if (!function) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    Type returned = result ? result : LLVM::LLVMVoidType::get(builder.getContext());
    function = builder.create<LLVM::LLVMFuncOp>(
        builder.getUnknownLoc(), symbol,
        LLVM::LLVMFunctionType::get(returned, llvm::to_vector(arguments.getTypes())));
  }
  auto called = builder.create<LLVM::CallOp>(location, function, arguments);
  return result ? called.getResult() : Value();
}

Value LaneEmitter::perLane(int64_t width, Type resultScalar, ValueRange operands,
                           llvm::function_ref<Value(ValueRange)> compute) {
  if (width == 1)
    return compute(operands);
  Value result = undef(LLVM::getFixedVectorType(resultScalar, width));
  for (int64_t lane = 0; lane < width; ++lane) {
    SmallVector<Value> scalars;
    for (Value operand : operands)
      scalars.push_back(extract(operand, lane));
    result = insert(result, compute(scalars), lane);
  }
  return result;
}

SmallVector<Value> LaneEmitter::inlineRegion(Block &block, ValueRange arguments, int64_t width) {
  // The region is emitted again at every use, so what it computed before must be forgotten.
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    setScalar(argument, value);
  for (Operation &op : block.without_terminator()) {
    auto lanesOp = dyn_cast<tile::LanesOpInterface>(op);
    if (width == 1 && (op.getNumRegions() || (lanesOp && lanesOp.runsWhole()))) {
      emitControlFlow(&op);
      continue;
    }
    if (!lanesOp || !isLazy(&op) || op.getNumRegions()) {
      for (Value result : op.getResults())
        setScalar(result, unsupported(&op, laneType(result.getType(), width)));
      continue;
    }
    Lanes where;
    where.width = width;
    for (auto [i, result] : llvm::enumerate(op.getResults()))
      setScalar(result, lanesOp.emitLanes(*this, i, where));
  }
  SmallVector<Value> yielded;
  for (Value value : block.getTerminator()->getOperands()) {
    Value now = scalar(value);
    // A value from outside the region is the same for all lanes.
    yielded.push_back(widthOf(now.getType()) == width ? now : splat(now, width));
  }
  return yielded;
}

// --- problems and records ---

Value LaneEmitter::unsupported(Operation *op, Type type, const Twine &why) {
  hasFailed = true;
  if (op) {
    InFlightDiagnostic message = op->emitError()
                                 << "`" << op->getName() << "` is not supported on the CPU yet";
    std::string reason = why.str();
    if (!reason.empty())
      message << ": " << reason;
  }
  return type ? undef(type) : Value();
}

uint32_t LaneEmitter::recordSite(Operation *op, uint32_t kind) {
  sites.push_back({op, kind});
  return sites.size() - 1;
}

} // namespace nereid::cpu
