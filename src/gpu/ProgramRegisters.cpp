// Where a program stands in the grid, and what orders its threads.
#include "gpu/RegisterModels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

struct ProgramIdRegisters : RegisterModel<ProgramIdRegisters, tile::ProgramIdOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    auto id = cast<tile::ProgramIdOp>(op);
    emitter.setScalar(id.getResult(), emitter.programId(id.getAxis()));
  }
};
struct NumProgramsRegisters : RegisterModel<NumProgramsRegisters, tile::NumProgramsOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    auto count = cast<tile::NumProgramsOp>(op);
    emitter.setScalar(count.getResult(), emitter.gridExtent(count.getAxis()));
  }
};
struct BarrierRegisters : RegisterModel<BarrierRegisters, tile::BarrierOp> {
  void emitRegisters(Operation *, RegisterEmitter &emitter) const { emitter.barrier(); }
};
struct AssumeRegisters : RegisterModel<AssumeRegisters, tile::AssumeOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    emitter.builder.create<LLVM::AssumeOp>(emitter.loc(), emitter.scalar(op->getOperand(0)));
  }
};
// One thread's time for all: what depends on it, such as the end of a loop with barriers in it, is
// the same for the whole program.
struct ClockRegisters : RegisterModel<ClockRegisters, tile::ClockOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    Type type = emitter.builder.getI64Type();
    Value time = emitter.assembly("mov.u64 $0, %globaltimer;", "=l", type, {}, false);
    if (op->use_empty())
      return;
    Value base = emitter.beginShared(sizeof(uint64_t));
    emitter.storeElementWhen(emitter.isFirstThread(), base, type, time);
    emitter.barrier();
    emitter.setScalar(op->getResult(0), emitter.loadElement(base, type));
  }
};
struct SmIdRegisters : RegisterModel<SmIdRegisters, tile::SmIdOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    emitter.setScalar(op->getResult(0), emitter.assembly("mov.u32 $0, %smid;", "=r",
                                                         emitter.builder.getI32Type(), {}, false));
  }
};
struct GridDependencyRegisters : RegisterModel<GridDependencyRegisters, tile::GridDependencyOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    if (!emitter.chip.can(target::Pdl))
      return;
    emitter.assembly(cast<tile::GridDependencyOp>(op).getWait()
                         ? "griddepcontrol.wait;"
                         : "griddepcontrol.launch_dependents;",
                     "", {}, {}, false);
  }
};

} // namespace

void registerProgramRegisters(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    using namespace tile;
    ProgramIdOp::attachInterface<ProgramIdRegisters>(*context);
    NumProgramsOp::attachInterface<NumProgramsRegisters>(*context);
    BarrierOp::attachInterface<BarrierRegisters>(*context);
    AssumeOp::attachInterface<AssumeRegisters>(*context);
    ClockOp::attachInterface<ClockRegisters>(*context);
    SmIdOp::attachInterface<SmIdRegisters>(*context);
    GridDependencyOp::attachInterface<GridDependencyRegisters>(*context);
  });
}

void registerRegisterModels(DialectRegistry &registry) {
  registerElementwiseRegisters(registry);
  registerConversionRegisters(registry);
  registerMathRegisters(registry);
  registerShapeRegisters(registry);
  registerMemoryRegisters(registry);
  registerReductionRegisters(registry);
  registerScanRegisters(registry);
  registerDotRegisters(registry);
  registerDescriptorRegisters(registry);
  registerRecordRegisters(registry);
  registerInlineAsmRegisters(registry);
  registerProgramRegisters(registry);
  registerRingRegisters(registry);
  registerKeptRegisters(registry);
  registerBulkRegisters(registry);
}

} // namespace nereid::gpu
