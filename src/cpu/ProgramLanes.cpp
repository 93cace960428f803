// Where a program stands in the grid, and what it records.
#include "cpu/LaneModels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "support/LaunchAbi.h"

using namespace mlir;

namespace nereid::cpu {

namespace {

struct ProgramIdLanes : LaneModel<ProgramIdLanes, tile::ProgramIdOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &) const {
    return emitter.program.id[cast<tile::ProgramIdOp>(op).getAxis()];
  }
};
struct NumProgramsLanes : LaneModel<NumProgramsLanes, tile::NumProgramsOp> {
  Value emitLanes(Operation *op, LaneEmitter &emitter, unsigned, const Lanes &) const {
    return emitter.program.grid[cast<tile::NumProgramsOp>(op).getAxis()];
  }
};

// One thread runs a program in its order: nothing to wait for, nothing to promise.
template <typename Op> struct NothingLanes : LaneModel<NothingLanes<Op>, Op> {
  bool runsWhole(Operation *) const { return true; }
};

// The bits of a scalar, zero-extended.
Value bitsOf(LaneEmitter &emitter, Value value) {
  OpBuilder &b = emitter.builder;
  Type type = value.getType();
  if (isa<LLVM::LLVMPointerType>(type))
    return b.create<LLVM::PtrToIntOp>(emitter.loc(), b.getI64Type(), value);
  if (isa<FloatType>(type))
    value = b.create<LLVM::BitcastOp>(emitter.loc(), b.getIntegerType(type.getIntOrFloatBitWidth()),
                                      value);
  if (value.getType() == b.getI64Type())
    return value;
  return b.create<arith::ExtUIOp>(emitter.loc(), b.getI64Type(), value);
}

void emitRecord(LaneEmitter &emitter, uint32_t site, unsigned operand, support::RecordKind kind,
                Value index, Value bits) {
  OpBuilder &b = emitter.builder;
  auto number = [&](uint32_t value) { return emitter.constant(b.getI32Type(), int32_t(value)); };
  emitter.call("nereid_record", {},
               {emitter.program.context, number(site), number(operand | uint32_t(kind) << 16),
                emitter.program.program,
                b.create<arith::TruncIOp>(emitter.loc(), b.getI32Type(), index), bits});
}

// Calls `body` for each element with its row-major index.
void forEachElement(LaneEmitter &emitter, Type type,
                    llvm::function_ref<void(const Lanes &, Value)> body) {
  auto shape = tile::shapeOf(type);
  emitter.forEach(shape, shape.empty() ? 0 : shape.size() - 1, 1,
                  [&](const Lanes &where) { body(where, emitter.linear(shape, where.position)); });
}

struct PrintLanes : LaneModel<PrintLanes, tile::PrintOp> {
  bool runsWhole(Operation *) const { return true; }
  void emitWhole(Operation *op, LaneEmitter &emitter) const {
    uint32_t site = emitter.recordSite(op, uint32_t(support::RecordKind::Print));
    auto values = cast<tile::PrintOp>(op).getValues();
    if (values.empty()) // a text alone, once a program
      emitRecord(emitter, site, 0, support::RecordKind::Print, emitter.index(0), emitter.index(0));
    for (auto [i, value] : llvm::enumerate(values))
      forEachElement(emitter, value.getType(),
                     [&, i = i, value = value](const Lanes &where, Value index) {
                       emitRecord(emitter, site, i, support::RecordKind::Print, index,
                                  bitsOf(emitter, emitter.lanes(value, where)));
                     });
  }
};

struct AssertLanes : LaneModel<AssertLanes, tile::AssertOp> {
  bool runsWhole(Operation *) const { return true; }
  void emitWhole(Operation *op, LaneEmitter &emitter) const {
    auto check = cast<tile::AssertOp>(op);
    OpBuilder &b = emitter.builder;
    uint32_t site = emitter.recordSite(op, uint32_t(support::RecordKind::Assert));
    forEachElement(emitter, check.getCondition().getType(), [&](const Lanes &where, Value index) {
      Value fails =
          b.create<arith::XOrIOp>(emitter.loc(), emitter.lanes(check.getCondition(), where),
                                  emitter.constant(b.getI1Type(), 1));
      if (check.getMask())
        fails =
            b.create<arith::AndIOp>(emitter.loc(), fails, emitter.lanes(check.getMask(), where));
      emitter.when(fails, [&] {
        emitRecord(emitter, site, 0, support::RecordKind::Assert, index, emitter.index(0));
      });
    });
  }
};

struct ClockLanes : LaneModel<ClockLanes, tile::ClockOp> {
  bool runsWhole(Operation *) const { return true; }
  void emitWhole(Operation *op, LaneEmitter &emitter) const {
    emitter.setScalar(op->getResult(0),
                      emitter.call("nereid_clock", emitter.builder.getI64Type(), {}));
  }
};

struct SmIdLanes : LaneModel<SmIdLanes, tile::SmIdOp> {
  Value emitLanes(Operation *, LaneEmitter &emitter, unsigned, const Lanes &) const {
    return emitter.constant(emitter.builder.getI32Type(), 0);
  }
};

} // namespace

void registerProgramLanes(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    using namespace tile;
    ProgramIdOp::attachInterface<ProgramIdLanes>(*context);
    NumProgramsOp::attachInterface<NumProgramsLanes>(*context);
    BarrierOp::attachInterface<NothingLanes<BarrierOp>>(*context);
    AssumeOp::attachInterface<NothingLanes<AssumeOp>>(*context);
    GridDependencyOp::attachInterface<NothingLanes<GridDependencyOp>>(*context);
    PrintOp::attachInterface<PrintLanes>(*context);
    AssertOp::attachInterface<AssertLanes>(*context);
    ClockOp::attachInterface<ClockLanes>(*context);
    SmIdOp::attachInterface<SmIdLanes>(*context);
  });
}

void registerCpuModels(DialectRegistry &registry) {
  registerElementwiseLanes(registry);
  registerShapeLanes(registry);
  registerMemoryLanes(registry);
  registerAtomicLanes(registry);
  registerReductionLanes(registry);
  registerDotLanes(registry);
  registerDescriptorLanes(registry);
  registerProgramLanes(registry);
}

} // namespace nereid::cpu
