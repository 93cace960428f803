#include "gpu/RegisterEmitter.h"

#include "gpu/LiveRegisters.h"
#include "gpu/StepsAhead.h"
#include "transforms/UnmaskWholeTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace nereid::gpu {

Type registerType(Type element) {
  if (isa<tile::PtrType>(element))
    return LLVM::LLVMPointerType::get(element.getContext(), 1);
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8)
    return IntegerType::get(element.getContext(), 8);
  return element;
}

namespace {} // namespace

RegisterEmitter::RegisterEmitter(OpBuilder &builder, const analysis::AxisAnalysis &axes,
                                 const target::GpuChip &chip, unsigned warps)
    : builder(builder), axes(axes), chip(chip), warps(warps), location(builder.getUnknownLoc()),
      order(axes, warps) {}

// --- values ---

ArrayRef<Value> RegisterEmitter::registers(Value tile) const { return tiles.find(tile)->second; }
void RegisterEmitter::setRegisters(Value tile, SmallVector<Value> values) {
  tiles[tile] = std::move(values);
}
ArrayRef<Value> RegisterEmitter::descriptor(Value source) const {
  return descriptors.find(source)->second;
}
void RegisterEmitter::setDescriptor(Value source, SmallVector<Value> fields) {
  descriptors[source] = std::move(fields);
}
SmallVector<Value> RegisterEmitter::operand(Value value, unsigned count) const {
  if (tile::isTile(value.getType()))
    return SmallVector<Value>(registers(value));
  return SmallVector<Value>(count, scalar(value));
}

tile::AxisFacts RegisterEmitter::likelyFacts(Value value) {
  if (!likelyAxes)
    likelyAxes = analysis::AxisAnalysis::likely(
        value.getParentRegion()->getParentOfType<FunctionOpInterface>());
  return likelyAxes->facts(value);
}

// --- places ---

Value RegisterEmitter::threadCoordinate(const LinearLayout &layout, unsigned dim, bool mayMeet) {
  Value sum;
  auto addBits = [&](LayoutInput input, Value index) {
    ArrayRef<LinearLayout::Basis> bases = layout.bases(input);
    for (unsigned bit = 0; bit < bases.size();) {
      if (bases[bit][dim] == 0) {
        ++bit;
        continue;
      }
      // Bits that walk together move in one shift.
      unsigned count = 1;
      while (bit + count < bases.size() && bases[bit + count][dim] == bases[bit][dim] << count)
        ++count;
      Value part = index;
      if (bit)
        part = builder.create<arith::ShRUIOp>(location, part, i32(bit));
      part = builder.create<arith::AndIOp>(location, part, i32((1 << count) - 1));
      if (bases[bit][dim] != 1)
        part = builder.create<arith::MulIOp>(location, part, i32(bases[bit][dim]));
      if (sum && mayMeet)
        sum = builder.create<arith::XOrIOp>(location, sum, part);
      else
        sum = sum ? add(sum, part) : part;
      bit += count;
    }
  };
  addBits(LayoutInput::Lane, lane);
  addBits(LayoutInput::Warp, warp);
  return sum ? sum : i32(0);
}

// Bits of a dimension belong to one input each, so parts add up.
Value RegisterEmitter::coordinate(const LinearLayout &layout, unsigned reg, unsigned dim) {
  Value part = threadCoordinate(layout, dim);
  int32_t constant = layout.apply(reg, 0, 0)[dim];
  return constant ? add(part, i32(constant)) : part;
}

Value RegisterEmitter::rowMajorIndex(const LinearLayout &layout, ArrayRef<int64_t> shape,
                                     unsigned reg) {
  Value index = i32(rowMajor(layout.apply(reg, 0, 0), shape));
  int64_t stride = 1;
  for (unsigned d = shape.size(); d-- > 0; stride *= shape[d]) {
    Value part = threadCoordinate(layout, d);
    index = add(index, builder.create<arith::MulIOp>(location, part, i32(stride)));
  }
  return index;
}

Value RegisterEmitter::isOwner(const LinearLayout &layout) {
  auto copies = [&](LayoutInput input, Value index) -> Value {
    int64_t mask = 0;
    for (auto [bit, basis] : llvm::enumerate(layout.bases(input)))
      if (isZero(basis))
        mask |= int64_t(1) << bit;
    if (!mask)
      return {};
    Value bits = builder.create<arith::AndIOp>(location, index, i32(mask));
    return builder.create<arith::CmpIOp>(location, arith::CmpIPredicate::eq, bits, i32(0));
  };
  return both(copies(LayoutInput::Lane, lane), copies(LayoutInput::Warp, warp));
}

template <typename X, typename Y, typename Z>
static Value specialRegister(OpBuilder &b, Location loc, unsigned axis) {
  Type i32 = b.getI32Type();
  if (axis == 0)
    return b.create<X>(loc, i32);
  if (axis == 1)
    return b.create<Y>(loc, i32);
  return b.create<Z>(loc, i32);
}

Value RegisterEmitter::programId(unsigned axis) {
  return specialRegister<NVVM::BlockIdXOp, NVVM::BlockIdYOp, NVVM::BlockIdZOp>(builder, location,
                                                                               axis);
}
Value RegisterEmitter::gridExtent(unsigned axis) {
  return specialRegister<NVVM::GridDimXOp, NVVM::GridDimYOp, NVVM::GridDimZOp>(builder, location,
                                                                               axis);
}
Value RegisterEmitter::programIndex() {
  auto wide = [&](Value value) -> Value {
    return builder.create<arith::ExtUIOp>(location, builder.getI64Type(), value);
  };
  Value index = wide(programId(2));
  for (unsigned axis : {1u, 0u})
    index = add(builder.create<arith::MulIOp>(location, index, wide(gridExtent(axis))),
                wide(programId(axis)));
  return index;
}

Value RegisterEmitter::isFirstThread() {
  return builder.create<arith::CmpIOp>(location, arith::CmpIPredicate::eq, thread, i32(0));
}

Value RegisterEmitter::isCopyingThread() {
  return builder.create<arith::CmpIOp>(location, arith::CmpIPredicate::eq, thread,
                                       i32(copyingWarp() * lanesPerWarp));
}

// --- small pieces of code ---

Value RegisterEmitter::number(Type type, int64_t value) {
  TypedAttr attr = isa<FloatType>(type) ? TypedAttr(builder.getFloatAttr(type, double(value)))
                                        : TypedAttr(builder.getIntegerAttr(type, value));
  return builder.create<arith::ConstantOp>(location, attr);
}
Value RegisterEmitter::i32(int64_t value) { return number(builder.getI32Type(), value); }
Value RegisterEmitter::i64(int64_t value) { return number(builder.getI64Type(), value); }
Value RegisterEmitter::zero(Type type) { return builder.create<LLVM::ZeroOp>(location, type); }
Value RegisterEmitter::undef(Type type) { return builder.create<LLVM::UndefOp>(location, type); }
Value RegisterEmitter::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(location, a, b);
}
Value RegisterEmitter::isSet(Value number, unsigned bit) {
  Value masked = builder.create<arith::AndIOp>(location, number, i32(int64_t(1) << bit));
  return builder.create<arith::CmpIOp>(location, arith::CmpIPredicate::ne, masked, i32(0));
}
Value RegisterEmitter::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return builder.create<arith::AndIOp>(location, a, b);
}

void RegisterEmitter::when(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = builder.create<scf::IfOp>(location, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  body();
}

SmallVector<Value>
RegisterEmitter::loop(Value lower, Value upper, Value step, ArrayRef<Value> carried,
                      llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = builder.create<scf::ForOp>(location, lower, upper, step, carried);
  OpBuilder::InsertionGuard guard(builder);
  if (carried.empty())
    builder.setInsertionPoint(loop.getBody()->getTerminator());
  else
    builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!carried.empty())
    builder.create<scf::YieldOp>(location, next);
  return SmallVector<Value>(loop.getResults());
}

Value RegisterEmitter::cast(Value value, Type type) {
  Type from = value.getType();
  if (from == type)
    return value;
  bool fromPointer = isa<LLVM::LLVMPointerType>(from), toPointer = isa<LLVM::LLVMPointerType>(type);
  if (fromPointer)
    return cast(builder.create<LLVM::PtrToIntOp>(location, builder.getI64Type(), value), type);
  if (toPointer)
    return builder.create<LLVM::IntToPtrOp>(location, type, cast(value, builder.getI64Type()));
  return builder.create<LLVM::BitcastOp>(location, type, value);
}

Value RegisterEmitter::vectorOf(ArrayRef<Value> values) {
  Value vector = undef(VectorType::get({int64_t(values.size())}, values[0].getType()));
  for (auto [i, value] : llvm::enumerate(values))
    vector = builder.create<LLVM::InsertElementOp>(location, vector, value, i32(int64_t(i)));
  return vector;
}
SmallVector<Value> RegisterEmitter::elementsOf(Value vector) {
  SmallVector<Value> values;
  for (int64_t i = 0; i < llvm::cast<VectorType>(vector.getType()).getNumElements(); ++i)
    values.push_back(builder.create<LLVM::ExtractElementOp>(location, vector, i32(i)));
  return values;
}

LLVM::ExtractElementOp RegisterEmitter::takenOut(Value value) {
  while (auto same = value.getDefiningOp<LLVM::BitcastOp>())
    value = same.getArg();
  return value.getDefiningOp<LLVM::ExtractElementOp>();
}

Value RegisterEmitter::wordOf(ValueRange neighbours) {
  Value vector;
  uint64_t at = 0;
  for (auto [k, value] : llvm::enumerate(neighbours)) {
    auto one = takenOut(value);
    APInt position;
    if (!one || !matchPattern(one.getPosition(), m_ConstantInt(&position)))
      return {};
    if (k == 0) {
      vector = one.getVector();
      at = position.getZExtValue();
    }
    if (one.getVector() != vector || position.getZExtValue() != at + k)
      return {};
  }
  const int64_t count = int64_t(neighbours.size()),
                elements = llvm::cast<VectorType>(vector.getType()).getNumElements();
  if (at % uint64_t(count) || elements % count)
    return {};
  Type word = builder.getIntegerType(unsigned(count) * bitsOf(neighbours[0].getType()));
  if (elements == count) {
    auto same = vector.getDefiningOp<LLVM::BitcastOp>();
    return same && same.getArg().getType() == word ? same.getArg() : cast(vector, word);
  }
  Value whole = cast(vector, VectorType::get(elements / count, word));
  return builder.create<LLVM::ExtractElementOp>(location, whole, i32(int64_t(at) / count));
}

SmallVector<Value> RegisterEmitter::packHalves(ArrayRef<Value> halves) {
  SmallVector<Value> words;
  for (size_t i = 0; i < halves.size(); i += 2) {
    Value word = wordOf(halves.slice(i, 2));
    words.push_back(word ? word : cast(vectorOf(halves.slice(i, 2)), builder.getI32Type()));
  }
  return words;
}
SmallVector<Value> RegisterEmitter::unpackHalves(ArrayRef<Value> words, Type half) {
  SmallVector<Value> halves;
  for (Value word : words)
    llvm::append_range(halves, elementsOf(cast(word, VectorType::get({2}, half))));
  return halves;
}
SmallVector<Value> RegisterEmitter::packSums(ArrayRef<Value> sums) {
  return !sums.empty() && sums[0].getType().isF16() ? packHalves(sums) : SmallVector<Value>(sums);
}
SmallVector<Value> RegisterEmitter::unpackSums(Value registers, Type sum) {
  SmallVector<Value> words;
  size_t count = llvm::cast<LLVM::LLVMStructType>(registers.getType()).getBody().size();
  for (size_t i = 0; i < count; ++i)
    words.push_back(builder.create<LLVM::ExtractValueOp>(location, registers, int64_t(i)));
  return sum.isF16() ? unpackHalves(words, sum) : words;
}

SmallVector<Value> RegisterEmitter::toWords(Value value) {
  unsigned bits = bitsOf(value.getType());
  Type i32Type = builder.getI32Type();
  Value whole = cast(value, builder.getIntegerType(bits));
  if (bits == 32)
    return {whole};
  if (bits < 32)
    return {builder.create<arith::ExtUIOp>(location, i32Type, whole)};
  Value high = builder.create<arith::ShRUIOp>(location, whole, i64(32));
  return {builder.create<arith::TruncIOp>(location, i32Type, whole),
          builder.create<arith::TruncIOp>(location, i32Type, high)};
}

Value RegisterEmitter::fromWords(ArrayRef<Value> words, Type type) {
  unsigned bits = bitsOf(type);
  Value whole = words[0];
  if (bits < 32)
    whole = builder.create<arith::TruncIOp>(location, builder.getIntegerType(bits), whole);
  if (bits == 64) {
    Type wide = builder.getI64Type();
    Value low = builder.create<arith::ExtUIOp>(location, wide, words[0]);
    Value high = builder.create<arith::ExtUIOp>(location, wide, words[1]);
    high = builder.create<arith::ShLIOp>(location, high, i64(32));
    whole = builder.create<arith::OrIOp>(location, low, high);
  }
  return cast(whole, type);
}

// The value that another lane has; what `which` says depends on the kind.
static Value shuffle(RegisterEmitter &emitter, Value value, Value which, NVVM::ShflKind kind) {
  SmallVector<Value> words;
  for (Value word : emitter.toWords(value))
    words.push_back(emitter.builder.create<NVVM::ShflOp>(emitter.loc(), word.getType(),
                                                         emitter.i32(-1), word, which,
                                                         emitter.i32(31), kind, UnitAttr()));
  return emitter.fromWords(words, value.getType());
}
Value RegisterEmitter::shuffleFrom(Value value, Value from) {
  return shuffle(*this, value, from, NVVM::ShflKind::idx);
}
Value RegisterEmitter::shuffleXor(Value value, unsigned mask) {
  return shuffle(*this, value, i32(mask), NVVM::ShflKind::bfly);
}

SmallVector<Value> RegisterEmitter::loadMatrices(Value address, unsigned matrices,
                                                 bool isTransposed) {
  Type i32 = builder.getI32Type(), words = i32;
  std::string text = "ldmatrix.sync.aligned.m8n8.x" + std::to_string(matrices) +
                     (isTransposed ? ".trans" : "") + ".shared.b16 {$0",
              constraints = "=r";
  for (unsigned i = 1; i < matrices; ++i) {
    text += ", $" + std::to_string(i);
    constraints += ",=r";
  }
  text += "}, [$" + std::to_string(matrices) + "];";
  constraints += ",r,~{memory}";
  if (matrices > 1)
    words =
        LLVM::LLVMStructType::getLiteral(builder.getContext(), SmallVector<Type>(matrices, i32));
  Value at = builder.create<LLVM::PtrToIntOp>(location, i32, address);
  Value loaded = assembly(text, constraints, words, {at}, false);
  if (matrices == 1)
    return {loaded};
  SmallVector<Value> pieces;
  for (unsigned i = 0; i < matrices; ++i)
    pieces.push_back(builder.create<LLVM::ExtractValueOp>(location, loaded, int64_t(i)));
  return pieces;
}

Value RegisterEmitter::assembly(StringRef text, StringRef constraints, Type result,
                                ValueRange operands, bool pure) {
  auto op = builder.create<LLVM::InlineAsmOp>(
      location, result ? result : LLVM::LLVMVoidType::get(builder.getContext()), operands, text,
      constraints, /*has_side_effects=*/!pure, /*is_align_stack=*/false,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
  return result ? op.getRes() : Value();
}

SmallVector<Value> RegisterEmitter::inlineRegion(Block &block, ValueRange arguments) {
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    setScalar(argument, value);
  Location outer = location;
  emit(block);
  location = outer;
  SmallVector<Value> yielded;
  for (Value value : block.getTerminator()->getOperands())
    yielded.push_back(scalar(value));
  return yielded;
}

// --- control flow ---

void RegisterEmitter::emit(Block &block) {
  for (Operation &op : block.without_terminator())
    emit(&op);
}

// A branch that the warp takes which starts copies.
static bool isForOneWarp(Operation *branch) {
  Operation *condition = cast<scf::IfOp>(branch).getCondition().getDefiningOp();
  if (auto both = dyn_cast_or_null<arith::AndIOp>(condition))
    condition = both.getRhs().getDefiningOp();
  return isa_and_nonnull<IsCopyingWarpOp>(condition);
}

void RegisterEmitter::emit(Operation *op) {
  setLocation(op->getLoc());
  // What a branch reaches is waited for in it, if the program takes it.
  if (!isInOneWarp && (!isa<scf::IfOp>(op) || isForOneWarp(op)) && order.mustWait(op))
    barrier();
  if (isa<scf::ForOp>(op))
    return emitFor(op);
  if (isa<scf::IfOp>(op))
    return emitIf(op);
  if (isa<scf::WhileOp>(op))
    return emitWhile(op);
  auto code = dyn_cast<RegistersOpInterface>(op);
  if (!code)
    return unsupported(op);
  // Barriers of an atomic stand behind it as well, those of other accesses in front.
  bool isAtomic = isa<tile::AtomicRMWOp, tile::AtomicCASOp>(op);
  if (isAtomic)
    order.add(op);
  code.emitRegisters(*this);
  if (!isAtomic)
    order.add(op);
}

// Halves cross control flow two in a word, so that nothing takes the sums of a product apart that
// is still in flight, and rows that wait for a later loop take a register for two.
static bool isCarriedInWords(Type tile) {
  Type element = tile::elementType(tile);
  return (element.isF16() || element.isBF16()) && registersOf(layoutOf(tile)) % 2 == 0;
}

SmallVector<Type> RegisterEmitter::typesOf(Type type) const {
  if (auto desc = dyn_cast<tile::DescType>(type)) {
    SmallVector<Type> types = {LLVM::LLVMPointerType::get(type.getContext(), 1)};
    types.append(2 * desc.getBlockShape().size(), IntegerType::get(type.getContext(), 64));
    return types;
  }
  if (tile::isTile(type) && isCarriedInWords(type))
    return SmallVector<Type>(registersOf(layoutOf(type)) / 2,
                             IntegerType::get(type.getContext(), 32));
  if (tile::isTile(type))
    return SmallVector<Type>(registersOf(layoutOf(type)), registerType(tile::elementType(type)));
  return {registerType(type)};
}
SmallVector<Type> RegisterEmitter::typesOf(TypeRange types) const {
  SmallVector<Type> all;
  for (Type type : types)
    llvm::append_range(all, typesOf(type));
  return all;
}
SmallVector<Value> RegisterEmitter::valuesOf(ValueRange sources) {
  SmallVector<Value> all;
  for (Value source : sources) {
    if (tile::isTile(source.getType()) && isCarriedInWords(source.getType()))
      llvm::append_range(all, packHalves(registers(source)));
    else if (tile::isTile(source.getType()))
      llvm::append_range(all, registers(source));
    else if (isa<tile::DescType>(source.getType()))
      llvm::append_range(all, descriptor(source));
    else
      all.push_back(scalar(source));
  }
  return all;
}
void RegisterEmitter::bind(ValueRange sources, ValueRange values) {
  size_t next = 0;
  for (Value source : sources) {
    SmallVector<Value> mine(values.slice(next, typesOf(source.getType()).size()));
    next += mine.size();
    if (tile::isTile(source.getType()) && isCarriedInWords(source.getType()))
      setRegisters(source, unpackHalves(mine, tile::elementType(source.getType())));
    else if (tile::isTile(source.getType()))
      setRegisters(source, std::move(mine));
    else if (isa<tile::DescType>(source.getType()))
      setDescriptor(source, std::move(mine));
    else
      setScalar(source, mine[0]);
  }
}

// Where the temporaries of a step must end. Of programs with warp groups a multiprocessor holds
// few: registers bound them. Of others, a few bytes more keep none away.
uint64_t RegisterEmitter::mostOfStep(scf::ForOp loop) const {
  uint64_t small = std::min<uint64_t>(scratchStart + smallScratch, chip.sharedBytesPerBlock);
  if (!hasWarpGroups)
    return small;
  if (warps >= 8)
    return chip.sharedBytesPerBlock;
  constexpr unsigned forAddresses = 64; // and for all else that is no tile of data
  unsigned registers = std::min(liveRegisters(*loop.getBody()) + forAddresses, 255U);
  unsigned blocks = std::max(target::occupancy(chip, warps, registers, 0).blocks, 1U);
  uint64_t most = chip.sharedBytesPerBlock;
  while (most > small && target::occupancy(chip, warps, registers, most).blocks < blocks)
    most -= 1024;
  return std::max(most, small);
}

void RegisterEmitter::emitFor(Operation *op) {
  auto source = llvm::cast<scf::ForOp>(op);
  auto made = builder.create<scf::ForOp>(op->getLoc(), scalar(source.getLowerBound()),
                                         scalar(source.getUpperBound()), scalar(source.getStep()),
                                         valuesOf(source.getInitArgs()));
  {
    OpBuilder::InsertionGuard guard(builder);
    if (made.getNumResults() == 0)
      builder.setInsertionPoint(made.getBody()->getTerminator());
    else
      builder.setInsertionPointToStart(made.getBody());
    // Loops inside would move the start of the scratch area for their rings.
    if (isInnermost(source))
      stepScratch =
          StepScratch{.body = made.getBody(), .end = scratchStart, .most = mostOfStep(source)};
    setScalar(source.getInductionVar(), made.getInductionVar());
    bind(source.getRegionIterArgs(), made.getRegionIterArgs());
    AccessOrder::Accesses before = order.accesses();
    order.enterLoop(op);
    emit(*source.getBody());
    order.join(before); // if there is no step
    if (made.getNumResults())
      builder.create<scf::YieldOp>(op->getLoc(),
                                   valuesOf(source.getBody()->getTerminator()->getOperands()));
  }
  if (stepScratch)
    finishStepScratch(made);
  bind(source.getResults(), made.getResults());
}

void RegisterEmitter::emitIf(Operation *op) {
  auto source = llvm::cast<scf::IfOp>(op);
  auto made =
      builder.create<scf::IfOp>(op->getLoc(), typesOf(source.getResultTypes()),
                                scalar(source.getCondition()), !source.getElseRegion().empty());
  auto side = [&](Region &from, Region &to) {
    if (from.empty())
      return;
    OpBuilder::InsertionGuard guard(builder);
    Block &block = to.front();
    block.clear();
    builder.setInsertionPointToStart(&block);
    emit(from.front());
    builder.create<scf::YieldOp>(op->getLoc(),
                                 valuesOf(from.front().getTerminator()->getOperands()));
  };
  AccessOrder::Accesses before = order.accesses();
  llvm::SaveAndRestore oneWarp(isInOneWarp, isInOneWarp || isForOneWarp(op));
  side(source.getThenRegion(), made.getThenRegion());
  AccessOrder::Accesses behind = order.accesses();
  order.restart(std::move(before));
  llvm::SaveAndRestore end(isAtEnd, isAtEnd || op->hasAttr(transforms::wholeTilesAttr));
  side(source.getElseRegion(), made.getElseRegion());
  order.join(behind);
  bind(source.getResults(), made.getResults());
}

void RegisterEmitter::emitWhile(Operation *op) {
  auto source = llvm::cast<scf::WhileOp>(op);
  auto made = builder.create<scf::WhileOp>(op->getLoc(), typesOf(source.getResultTypes()),
                                           valuesOf(source.getInits()));
  OpBuilder::InsertionGuard guard(builder);
  auto enter = [&](Block &from, Region &region) {
    SmallVector<Type> types = typesOf(from.getArgumentTypes());
    Block *block = builder.createBlock(&region, region.end(), types,
                                       SmallVector<Location>(types.size(), op->getLoc()));
    bind(from.getArguments(), block->getArguments());
    emit(from);
  };
  order.enterLoop(op);
  enter(*source.getBeforeBody(), made.getBefore());
  AccessOrder::Accesses behind = order.accesses();
  auto condition = source.getConditionOp();
  builder.create<scf::ConditionOp>(op->getLoc(), scalar(condition.getCondition()),
                                   valuesOf(condition.getArgs()));
  enter(*source.getAfterBody(), made.getAfter());
  builder.create<scf::YieldOp>(op->getLoc(), valuesOf(source.getYieldOp().getOperands()));
  order.restart(std::move(behind));
  builder.setInsertionPointAfter(made);
  bind(source.getResults(), made.getResults());
}

void RegisterEmitter::reportUnsupported(Operation *op, const Twine &why) {
  hasFailed = true;
  InFlightDiagnostic message = op->emitError()
                               << "`" << op->getName() << "` is not supported on the GPU yet";
  std::string reason = why.str();
  if (!reason.empty())
    message << ": " << reason;
}

void RegisterEmitter::unsupported(Operation *op, const Twine &why) {
  reportUnsupported(op, why);
  for (Value result : op->getResults()) {
    SmallVector<Value> values;
    for (Type type : typesOf(result.getType()))
      values.push_back(undef(type));
    bind(result, values);
  }
}

} // namespace nereid::gpu
