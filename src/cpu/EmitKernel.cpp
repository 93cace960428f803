#include "cpu/EmitKernel.h"
#include "cpu/CompareHalves.h"
#include "cpu/Extents.h"

#include "cpu/LaneModels.h"
#include "cpu/ProgramOrder.h"
#include "cpu/WidenBf16.h"
#include "ir/FloatOptions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "support/LaunchAbi.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

// Walks the kernel in program order: control flow stays, tiles become loops.
class KernelWalker {
public:
  explicit KernelWalker(LaneEmitter &emitter) : emitter(emitter), b(emitter.builder) {
    emitter.emitControlFlow = [this](Operation *op) { emit(op); };
  }

  void emit(Block &block) {
    for (Operation &op : block)
      emit(&op);
  }

private:
  void emit(Operation *op) {
    emitter.setLocation(op->getLoc());
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return emitFor(loop);
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return emitWhile(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return emitIf(branch);
    if (op->hasTrait<OpTrait::IsTerminator>())
      return; // what a region ends with is the affair of its owner
    auto lanes = dyn_cast<tile::LanesOpInterface>(op);
    if (!lanes) {
      emitter.unsupported(op, {});
      for (Value result : op->getResults())
        if (!tile::isTile(result))
          emitter.setScalar(result, emitter.undef(laneType(result.getType(), 1)));
      return;
    }
    if (auto load = dyn_cast<tile::LoadOp>(op); load && emitter.plan.fetchesAhead(op))
      emitter.noteStart(load);
    if (const FusionPlan::RowLoop *loop = emitter.plan.rowLoop(op)) {
      if (op == loop->ops.back())
        emitRowLoop(*loop);
      return;
    }
    if (emitter.plan.runsInYield(op))
      return;
    if (lanes.runsWhole())
      return lanes.emitWhole(emitter);
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      if (!tile::isTile(result))
        emitter.setScalar(result, lanes.emitLanes(emitter, i, {}));
      else if (emitter.plan.stored(result))
        emitter.materialize(result);
    }
  }

  void emitRowLoop(const FusionPlan::RowLoop &loop) {
    SmallVector<RowTask> tasks;
    SmallVector<Value> results;
    const FusionPlan::LeavingRow *leaving = emitter.plan.leavingRow();
    bool leaves = leaving && llvm::is_contained(loop.ops, leaving->row.getDefiningOp());
    if (leaves)
      tasks.push_back(emitter.leaving());
    for (Operation *op : loop.ops) {
      if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
        tasks.push_back(reducing(reduce, emitter));
        llvm::append_range(results, op->getResults());
      } else {
        tasks.push_back(emitter.materializing(op->getResult(0)));
      }
    }
    SmallVector<Value> values = alongRow(tasks, loop);
    for (auto [result, value] : llvm::zip(results, values))
      emitter.setScalar(result, value);
    if (leaves)
      b.create<LLVM::StoreOp>(emitter.loc(), emitter.index(0), emitter.program.leavingCount);
  }

  // --- values that cross regions: tiles lie in buffers, descriptors are several scalars ---

  void addTypes(Type type, SmallVectorImpl<Type> &types) {
    if (auto desc = dyn_cast<tile::DescType>(type)) {
      types.push_back(laneType(tile::PtrType::get(type.getContext(), desc.getElementType()), 1));
      types.append(2 * desc.getBlockShape().size(), b.getI64Type());
    } else if (!isa<RankedTensorType>(type)) {
      types.push_back(laneType(type, 1));
    }
  }
  SmallVector<Type> typesOf(TypeRange sources) {
    SmallVector<Type> types;
    for (Type type : sources)
      addTypes(type, types);
    return types;
  }
  SmallVector<Value> valuesOf(ValueRange sources) {
    SmallVector<Value> values;
    for (Value source : sources) {
      if (isa<tile::DescType>(source.getType()))
        llvm::append_range(values, emitter.descriptor(source));
      else if (!tile::isTile(source))
        values.push_back(emitter.scalar(source));
    }
    return values;
  }
  // Binds sources to the values that stand for them now.
  void bind(ValueRange sources, ValueRange values) {
    size_t next = 0;
    for (Value source : sources) {
      SmallVector<Type> types;
      addTypes(source.getType(), types);
      SmallVector<Value> mine(values.slice(next, types.size()));
      next += types.size();
      if (isa<tile::DescType>(source.getType()))
        emitter.setDescriptor(source, std::move(mine));
      else if (!tile::isTile(source))
        emitter.setScalar(source, mine[0]);
    }
  }
  // Computes tiles into the buffers of what they become.
  void fillAll(ValueRange into, ValueRange from) {
    for (auto [target, source] : llvm::zip(into, from))
      if (tile::isTile(target) && !sameBuffer(target, source))
        emitter.fill(emitter.buffer(target), source);
  }
  bool sameBuffer(Value a, Value c) {
    const FusionPlan::Stored *x = emitter.plan.stored(a), *y = emitter.plan.stored(c);
    return x && y && x->offset == y->offset;
  }

  // --- control flow ---

  void emitFor(scf::ForOp loop) {
    for (auto [argument, init] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
      if (tile::isTile(argument) && !sameBuffer(argument, init))
        fillCarried(emitter.buffer(argument), argument, init, loop);
    Value lower = emitter.scalar(loop.getLowerBound()),
          upper = emitter.scalar(loop.getUpperBound()), step = emitter.scalar(loop.getStep());
    Value outer = emitter.program.count;
    emitter.program.count =
        b.create<arith::MulIOp>(loop.getLoc(), outer, trips(loop.getLoc(), lower, upper, step));
    auto made =
        b.create<scf::ForOp>(loop.getLoc(), lower, upper, step, valuesOf(loop.getInitArgs()));
    {
      OpBuilder::InsertionGuard guard(b);
      if (made.getNumResults() == 0)
        b.setInsertionPoint(made.getBody()->getTerminator());
      else
        b.setInsertionPointToStart(made.getBody());
      emitter.setScalar(loop.getInductionVar(), made.getInductionVar());
      bind(loop.getRegionIterArgs(), made.getRegionIterArgs());
      emitter.openLoops.push_back({loop, made});
      emit(*loop.getBody());
      emitter.setLocation(loop.getLoc());
      carryTiles(loop);
      if (made.getNumResults())
        b.create<scf::YieldOp>(loop.getLoc(),
                               valuesOf(loop.getBody()->getTerminator()->getOperands()));
      emitter.openLoops.pop_back();
    }
    emitter.program.count = outer;
    bind(loop.getResults(), made.getResults());
  }

  // How often a loop runs, or a little less.
  Value trips(Location loc, Value lower, Value upper, Value step) {
    auto wide = [&](Value value) -> Value {
      return value.getType().isInteger(64)
                 ? value
                 : b.create<arith::ExtSIOp>(loc, b.getI64Type(), value).getResult();
    };
    Value span = b.create<arith::SubIOp>(loc, wide(upper), wide(lower));
    return b.create<arith::DivSIOp>(loc, b.create<arith::MaxSIOp>(loc, span, emitter.index(0)),
                                    b.create<arith::MaxSIOp>(loc, wide(step), emitter.index(1)));
  }

  // Moves the tiles that a round yields to where the next round expects them. Those that cannot be
  // computed in place are put aside first, so that no value is lost before it is read.
  void carryTiles(scf::ForOp loop) {
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    SmallVector<std::pair<Buffer, Buffer>> moves;
    uint64_t offset = emitter.plan.scratchOffset(yield);
    auto each = [&](bool inPlace, auto action) {
      for (OpOperand &operand : yield->getOpOperands()) {
        Value argument = loop.getRegionIterArg(operand.getOperandNumber());
        if (tile::isTile(argument) && emitter.plan.yieldsInPlace(operand) == inPlace &&
            !sameBuffer(argument, operand.get()))
          action(argument, operand.get());
      }
    };
    each(false, [&](Value argument, Value yielded) {
      Buffer into = emitter.buffer(argument);
      Buffer aside = emitter.arenaBuffer(offset, into.element, into.shape);
      offset = llvm::alignTo(offset + bufferBytes(argument.getType()), 64);
      fillCarried(aside, argument, yielded, loop);
      moves.push_back({into, aside});
    });
    if (const FusionPlan::RowLoop *row = emitter.plan.rowLoop(yield))
      yieldAlongRow(loop, *row);
    else
      each(true, [&](Value argument, Value yielded) {
        fillCarried(emitter.buffer(argument), argument, yielded, loop);
      });
    for (auto &[into, from] : moves)
      emitter.copy(into, from);
  }

  // `source` is what the loop begins with, or what a round yields.
  void fillCarried(const Buffer &into, Value argument, Value source, scf::ForOp loop) {
    Value result = loop.getTiedLoopResult(cast<BlockArgument>(argument));
    OpOperand *operand = loop.getTiedLoopYieldedValue(cast<BlockArgument>(argument));
    emitter.fill(
        into, source, {},
        endsOfReaders({argument, result}, loop, emitter, LaneEmitter::preferredDim(into.shape)),
        operand->get() == source ? emitter.plan.fetchedDuring(*operand)
                                 : ArrayRef<FusionPlan::Ahead>());
  }

  void yieldAlongRow(scf::ForOp loop, const FusionPlan::RowLoop &row) {
    SmallVector<RowTask> tasks;
    for (OpOperand *operand : row.yielded) {
      Value argument = loop.getRegionIterArg(operand->getOperandNumber()), yielded = operand->get();
      if (sameBuffer(argument, yielded))
        continue;
      RowTask task;
      task.tiles = {yielded};
      Buffer into = emitter.buffer(argument);
      task.body = [this, into, yielded](const Lanes &where, ValueRange) -> SmallVector<Value> {
        emitter.write(into, where, emitter.lanes(yielded, where));
        return {};
      };
      tasks.push_back(std::move(task));
    }
    auto yieldAll = [&] {
      if (!tasks.empty())
        alongRow(tasks, row);
    };
    if (tile::StoreOp store = emitter.plan.storeInYield(loop.getBody()->getTerminator()))
      return storeBeside(store, tasks, row.ahead, emitter, yieldAll);
    yieldAll();
  }

  SmallVector<Value> alongRow(ArrayRef<RowTask> tasks, const FusionPlan::RowLoop &loop) {
    Lanes row;
    row.position = {emitter.index(0)};
    int64_t extent = tile::shapeOf(tasks.back().tiles.front().getType())[0];
    return emitter.alongRow(row, extent, tasks, loop.ahead);
  }

  void emitIf(scf::IfOp branch) {
    auto made =
        b.create<scf::IfOp>(branch.getLoc(), typesOf(branch.getResultTypes()),
                            emitter.scalar(branch.getCondition()), !branch.getElseRegion().empty());
    auto side = [&](Region &from, Region &to) {
      if (from.empty())
        return;
      OpBuilder::InsertionGuard guard(b);
      Block &block = to.front();
      if (!block.empty() && block.back().hasTrait<OpTrait::IsTerminator>())
        b.setInsertionPoint(&block.back());
      else
        b.setInsertionPointToStart(&block);
      emit(from.front());
      emitter.setLocation(branch.getLoc());
      auto yielded = from.front().getTerminator()->getOperands();
      fillAll(branch.getResults(), yielded);
      if (made.getNumResults())
        b.create<scf::YieldOp>(branch.getLoc(), valuesOf(yielded));
    };
    side(branch.getThenRegion(), made.getThenRegion());
    side(branch.getElseRegion(), made.getElseRegion());
    bind(branch.getResults(), made.getResults());
  }

  void emitWhile(scf::WhileOp loop) {
    fillAll(loop.getBeforeArguments(), loop.getInits());
    auto condition = loop.getConditionOp();
    auto made = b.create<scf::WhileOp>(loop.getLoc(), typesOf(loop.getResultTypes()),
                                       valuesOf(loop.getInits()));
    OpBuilder::InsertionGuard guard(b);
    auto enter = [&](Region &region, TypeRange sources) {
      SmallVector<Type> types = typesOf(sources);
      b.createBlock(&region, region.end(), types,
                    SmallVector<Location>(types.size(), loop.getLoc()));
    };
    enter(made.getBefore(), ValueRange(loop.getBeforeArguments()).getTypes());
    bind(loop.getBeforeArguments(), made.getBeforeArguments());
    emit(*loop.getBeforeBody());
    emitter.setLocation(loop.getLoc());
    fillAll(loop.getAfterArguments(), condition.getArgs());
    b.create<scf::ConditionOp>(loop.getLoc(), emitter.scalar(condition.getCondition()),
                               valuesOf(condition.getArgs()));
    enter(made.getAfter(), ValueRange(loop.getAfterArguments()).getTypes());
    bind(loop.getAfterArguments(), made.getAfterArguments());
    emit(*loop.getAfterBody());
    emitter.setLocation(loop.getLoc());
    auto yielded = loop.getYieldOp().getOperands();
    fillAll(loop.getBeforeArguments(), yielded);
    if (analysis::waitsForOthers(loop))
      emitYield();
    b.create<scf::YieldOp>(loop.getLoc(), valuesOf(yielded));
    b.setInsertionPointAfter(made);
    bind(loop.getResults(), made.getResults());
  }

  // Lets the other programs run: what this one waits for, one of them will write.
  void emitYield() {
    Type pointer = LLVM::LLVMPointerType::get(b.getContext());
    Value field = b.create<LLVM::GEPOp>(
        emitter.loc(), pointer, b.getI8Type(), emitter.program.context,
        ArrayRef<LLVM::GEPArg>{int32_t(offsetof(support::CpuContext, yield))});
    Value function = b.create<LLVM::LoadOp>(emitter.loc(), pointer, field);
    Value exists = b.create<LLVM::ICmpOp>(emitter.loc(), LLVM::ICmpPredicate::ne, function,
                                          emitter.zero(pointer));
    emitter.when(exists, [&] {
      auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {pointer});
      b.create<LLVM::CallOp>(emitter.loc(), type, ValueRange{function, emitter.program.context});
    });
  }

  LaneEmitter &emitter;
  OpBuilder &b;
};

// Reads what the launch packed for one argument.
void bindArgument(LaneEmitter &emitter, BlockArgument argument, const analysis::ArgumentSlot &slot,
                  Value block) {
  OpBuilder &b = emitter.builder;
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto field = [&](uint32_t offset, Type type) -> Value {
    Value address = b.create<LLVM::GEPOp>(emitter.loc(), pointer, b.getI8Type(), block,
                                          ArrayRef<LLVM::GEPArg>{int32_t(offset)});
    return emitter.loadElements(address, type, 1, {}, {});
  };
  auto desc = dyn_cast<tile::DescType>(argument.getType());
  if (!desc)
    return emitter.setScalar(argument, field(slot.offset, argument.getType()));
  SmallVector<Value> fields = {
      field(slot.offset, tile::PtrType::get(b.getContext(), desc.getElementType()))};
  for (uint32_t i = 0; i < 2 * desc.getBlockShape().size(); ++i)
    fields.push_back(field(slot.offset + 8 + 8 * i, b.getI64Type()));
  emitter.setDescriptor(argument, std::move(fields));
}

// Whether programs run along the axis first in this launch.
Value leads(LaneEmitter &emitter, const LeadingAxis &lead) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  auto wide = [&](const ProgramStep &step) {
    Value value = emitter.index(step.factor);
    for (BlockArgument argument : step.arguments) {
      Value factor = emitter.scalar(argument);
      if (factor.getType() != b.getI64Type())
        factor = b.create<arith::ExtSIOp>(loc, b.getI64Type(), factor);
      value = b.create<arith::MulIOp>(loc, value, factor);
    }
    return value;
  };
  auto isLess = [&](Value a, Value than) -> Value {
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, a, than);
  };
  Value all;
  auto require = [&](Value one) { all = all ? b.create<arith::AndIOp>(loc, all, one) : one; };
  for (const LeadingAxis::Condition &condition : lead.conditions) {
    Value step = wide(condition.along);
    require(isLess(emitter.index(0), step));
    require(isLess(step, emitter.index(condition.reach + 1)));
    if (condition.across)
      require(isLess(step, wide(*condition.across)));
  }
  return all;
}

// The place of a program in the grid: p = x + grid.x * (y + grid.y * z), but for the axis that
// leads, which stands in front of the others where `isLed`.
void splitProgram(LaneEmitter &emitter, Value isLed, unsigned lead) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  Type i64 = b.getI64Type();
  ProgramValues &program = emitter.program;
  unsigned order[3] = {0, 1, 2};
  if (isLed)
    std::rotate(order, order + lead, order + lead + 1);
  auto either = [&](Value led, Value other) {
    return led == other ? led : b.create<arith::SelectOp>(loc, isLed, led, other).getResult();
  };
  // Most grids have one axis, and a division takes as long as some tens of elements.
  Value rest = program.program, places[3];
  for (unsigned i = 0; i < 3; ++i) {
    Value id = rest;
    if (i < 2) {
      Value extent =
          b.create<arith::ExtUIOp>(loc, i64, either(program.grid[order[i]], program.grid[i]));
      Value inside = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, rest, extent);
      auto split = b.create<scf::IfOp>(loc, TypeRange{i64, i64}, inside, /*withElse=*/true);
      OpBuilder yes = split.getThenBodyBuilder(), no = split.getElseBodyBuilder();
      yes.create<scf::YieldOp>(loc, ValueRange{rest, emitter.index(0)});
      no.create<scf::YieldOp>(loc, ValueRange{no.create<arith::RemUIOp>(loc, rest, extent),
                                              no.create<arith::DivUIOp>(loc, rest, extent)});
      id = split.getResult(0);
      rest = split.getResult(1);
    }
    places[i] = b.create<arith::TruncIOp>(loc, b.getI32Type(), id);
  }
  for (unsigned i = 0; i < 3; ++i) {
    unsigned axis = order[i];
    program.id[axis] = either(places[i], places[axis]);
  }
}

// Reductions begin with NaN: the first element follows. MLIR 19 would fold two constants of which
// one is NaN to NaN.
void dropNan(ModuleOp module) {
  module->walk([](Operation *op) {
    if (!isa<arith::MaxNumFOp, arith::MinNumFOp>(op))
      return;
    for (unsigned i : {0u, 1u}) {
      APFloat number(0.0f);
      if (matchPattern(op->getOperand(i), m_ConstantFloat(&number)) && number.isNaN()) {
        op->getResult(0).replaceAllUsesWith(op->getOperand(1 - i));
        return;
      }
    }
  });
}

} // namespace

EmittedKernel emitKernel(FunctionOpInterface kernel, const FusionPlan &plan,
                         const analysis::KernelFacts &facts, const Processor &processor,
                         bool contract) {
  MLIRContext *context = kernel.getContext();
  OpBuilder b(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  b.setInsertionPointToStart(module->getBody());
  Location loc = kernel.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(context), i64 = b.getI64Type(), i32 = b.getI32Type();
  auto function = b.create<LLVM::LLVMFuncOp>(
      loc, entrySymbol,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {i64, i64, pointer}));
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToEnd(entry);

  analysis::AxisAnalysis axes(kernel);
  LaneEmitter emitter(b, plan, axes, processor);
  emitter.entry = entry;
  emitter.contract =
      contract && !kernel->getParentOfType<ModuleOp>()->hasAttr(tile::noFpFusionAttr);
  emitter.setLocation(loc);
  ProgramValues &program = emitter.program;
  program.context = entry->getArgument(2);
  auto field = [&](size_t offset, Type type) -> Value {
    Value address = b.create<LLVM::GEPOp>(loc, pointer, b.getI8Type(), program.context,
                                          ArrayRef<LLVM::GEPArg>{int32_t(offset)});
    return b.create<LLVM::LoadOp>(loc, type, address);
  };
  for (unsigned axis = 0; axis < 3; ++axis)
    program.grid[axis] = field(offsetof(support::CpuContext, grid) + 4 * axis, i32);
  Value above = field(offsetof(support::CpuContext, streamAboveKiB), i32);
  program.streamAbove =
      b.create<arith::ShLIOp>(loc, b.create<arith::ExtUIOp>(loc, i64, above), emitter.index(10));
  program.count = emitter.index(1);
  for (Value extent : program.grid)
    program.count =
        b.create<arith::MulIOp>(loc, program.count, b.create<arith::ExtUIOp>(loc, i64, extent));
  if (facts.isAtomic)
    program.isAlone = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne,
                                              field(offsetof(support::CpuContext, isAlone), i32),
                                              emitter.zero(i32));
  program.arena = field(offsetof(support::CpuContext, arena), pointer);
  Value packed = field(offsetof(support::CpuContext, arguments), pointer);
  for (auto [argument, slot] : llvm::zip(kernel.getArguments(), facts.slots))
    bindArgument(emitter, argument, slot, packed);

  if (plan.leavingRow()) {
    program.leavingTo = emitter.zeroSlot();
    program.leavingCount = emitter.zeroSlot();
  }
  LeadingAxis lead = leadingAxis(kernel, facts);
  Value isLed = lead.axis ? leads(emitter, lead) : Value();
  Value first = entry->getArgument(0);
  Value last = b.create<arith::AddIOp>(loc, first, entry->getArgument(1));
  auto programs = b.create<scf::ForOp>(loc, first, last, emitter.index(1));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(programs.getBody()->getTerminator());
    program.program = programs.getInductionVar();
    splitProgram(emitter, isLed, lead.axis);
    KernelWalker walker(emitter);
    walker.emit(kernel.getFunctionBody().front());
  }
  b.setInsertionPointToEnd(entry);
  if (plan.leavingRow())
    emitter.leaveAll();
  // What went past the cache is not seen by others before this.
  if (program.streams)
    b.create<LLVM::CallIntrinsicOp>(loc, TypeRange{}, "llvm.x86.sse.sfence", ValueRange{});
  b.create<LLVM::ReturnOp>(loc, ValueRange{});

  EmittedKernel out;
  dropNan(*module);
  widenBf16(*module, processor.picksWords);
  compareHalvesWide(*module);
  if (!emitter.failed())
    out.module = std::move(module);
  out.sites.assign(emitter.recordSites().begin(), emitter.recordSites().end());
  return out;
}

} // namespace nereid::cpu
