// nereid-opt: runs passes over IR files, for lit tests and for looking at one pass alone.
#include "analysis/KernelFacts.h"
#include "gpu/AssignLayouts.h"
#include "gpu/ByteOperands.h"
#include "gpu/DeferReductions.h"
#include "gpu/KeptRows.h"
#include "gpu/LoadsAhead.h"
#include "gpu/MergeReductions.h"
#include "gpu/PipelineLoads.h"
#include "gpu/TileGpu.h"
#include "ir/TileOps.h"
#include "pipeline/Gpu.h"
#include "ref/Reference.h"
#include "transforms/CountTrips.h"
#include "transforms/DropChecks.h"
#include "transforms/DropUnitDims.h"
#include "transforms/ExpandInlineAsm.h"
#include "transforms/ExpandScaledProducts.h"
#include "transforms/Expansions.h"
#include "transforms/ExternExpansions.h"
#include "transforms/FoldAddends.h"
#include "transforms/FoldCounters.h"
#include "transforms/JoinMasks.h"
#include "transforms/LoadBeforeBranches.h"
#include "transforms/LoadUniform.h"
#include "transforms/MathExpansions.h"
#include "transforms/NameExtrema.h"
#include "transforms/NestTiles.h"
#include "transforms/PeelSteps.h"
#include "transforms/SplitProducts.h"
#include "transforms/UniformSteps.h"
#include "transforms/UnmaskWholeTiles.h"
#include "transforms/UnswitchProducts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

namespace {

using namespace nereid;

// What the pipelines call as functions, as passes: with the chip and the warps of the GPU's.
struct Options {
  const target::GpuChip &chip;
  unsigned warps;
  bool bulk;
};

template <auto Run>
struct FunctionPass : mlir::PassWrapper<FunctionPass<Run>, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FunctionPass)
  using Base = mlir::PassWrapper<FunctionPass<Run>, mlir::OperationPass<mlir::ModuleOp>>;

  FunctionPass(llvm::StringRef name, llvm::StringRef description)
      : name(name), description(description) {}
  FunctionPass(const FunctionPass &other)
      : Base(other), name(other.name), description(other.description) {}

  llvm::StringRef getArgument() const final { return name; }
  llvm::StringRef getDescription() const final { return description; }
  void getDependentDialects(mlir::DialectRegistry &registry) const override {
    registry.insert<gpu::TileGpuDialect, mlir::LLVM::LLVMDialect, mlir::math::MathDialect,
                    mlir::scf::SCFDialect>();
  }
  void runOnOperation() override {
    const target::GpuChip *row = target::gpuChip(chip.getValue());
    if (!row) {
      this->getOperation().emitError("unknown chip `" + chip.getValue() + "`");
      return this->signalPassFailure();
    }
    if (mlir::failed(Run(this->getOperation(), Options{*row, warps, bulk})))
      this->signalPassFailure();
  }

  llvm::StringRef name, description;
  mlir::Pass::Option<std::string> chip{*this, "chip", llvm::cl::init("sm_90a")};
  mlir::Pass::Option<unsigned> warps{*this, "warps", llvm::cl::init(4)};
  mlir::Pass::Option<bool> bulk{*this, "bulk", llvm::cl::init(true)};
};

template <auto Run> void add(llvm::StringRef name, llvm::StringRef description) {
  mlir::registerPass([=] { return std::make_unique<FunctionPass<Run>>(name, description); });
}

// Functions and total operations on scalars, as both back ends write them.
mlir::LogicalResult expand(mlir::ModuleOp module, const Options &) {
  llvm::SmallVector<mlir::Operation *> ops;
  module.walk([&](mlir::Operation *op) {
    if (op->getNumResults() == 1)
      ops.push_back(op);
  });
  for (mlir::Operation *op : ops) {
    mlir::OpBuilder b(op);
    mlir::Location loc = op->getLoc();
    auto exp = [&](mlir::Value x) -> mlir::Value { return b.create<mlir::math::ExpOp>(loc, x); };
    auto math = [&](llvm::StringRef function, mlir::ValueRange operands) {
      return transforms::expandMath(b, loc, function, operands, {exp, nullptr, nullptr, nullptr});
    };
    using transforms::Total;
    auto total = [&](Total kind) {
      return transforms::expandTotal(b, loc, kind, op->getOperand(0), op->getOperand(1));
    };
    mlir::Value made;
    if (op->getName().getDialectNamespace() == "math" && !mlir::isa<mlir::math::ExpOp>(op))
      made = math(op->getName().stripDialect(), op->getOperands());
    else if (auto named = mlir::dyn_cast<tile::ExternOp>(op))
      made = transforms::expandExtern(b, loc, named.getSymbol().drop_front(5), op->getOperands(),
                                      op->getResult(0).getType(), math);
    else if (mlir::isa<tile::DivSIOp>(op))
      made = total(Total::DivS);
    else if (mlir::isa<tile::ShLOp>(op))
      made = total(Total::ShL);
    if (made) {
      op->getResult(0).replaceAllUsesWith(made);
      op->erase();
    }
  }
  return mlir::success();
}

template <auto Run> mlir::LogicalResult onKernel(mlir::ModuleOp module, const Options &options) {
  mlir::FunctionOpInterface kernel = analysis::findKernel(module);
  if (!kernel)
    return module.emitError("the module does not hold exactly one kernel");
  Run(kernel, options);
  return mlir::success();
}

mlir::LogicalResult assignLayouts(mlir::ModuleOp module, const Options &options) {
  return gpu::assignLayouts(module, options.chip, options.warps);
}
void mergeReductions(mlir::FunctionOpInterface kernel, const Options &) {
  gpu::mergeReductions(kernel);
}
void deferReductions(mlir::FunctionOpInterface kernel, const Options &) {
  gpu::deferReductions(kernel);
}
void keepRows(mlir::FunctionOpInterface kernel, const Options &options) {
  gpu::keepRows(kernel, options.warps);
}
void startLoadsAhead(mlir::FunctionOpInterface kernel, const Options &options) {
  gpu::startLoadsAhead(kernel, options.warps);
}
void pipelineLoads(mlir::FunctionOpInterface kernel, const Options &options) {
  gpu::pipelineLoads(kernel, options.chip, options.warps, options.chip.sharedBytesPerBlock,
                     options.bulk);
}
void readBytes(mlir::FunctionOpInterface kernel, const Options &options) {
  gpu::readBytesForProducts(kernel, options.warps);
}
void carryOffsets(mlir::FunctionOpInterface kernel, const Options &) {
  transforms::carryOffsets(kernel);
}

void registerFunctions() {
  add<expand>("tile-expand", "write functions and total operations on scalars with plain ops");
  add<onKernel<carryOffsets>>("tile-carry-offsets",
                              "carry a scalar offset for a tile that moves by one amount");
  add<assignLayouts>("gpu-assign-layouts", "give every tensor a layout");
  add<onKernel<mergeReductions>>("gpu-merge-reductions", "let reductions share an exchange");
  add<onKernel<deferReductions>>("gpu-defer-reductions",
                                 "combine what threads have of a loop's sums behind it");
  add<onKernel<keepRows>>("gpu-keep-rows", "let loops take what an earlier one loaded");
  add<onKernel<startLoadsAhead>>("gpu-start-loads-ahead",
                                 "start loads of later steps, in registers");
  add<onKernel<pipelineLoads>>("gpu-pipeline-loads",
                               "start loads of later steps, in shared memory");
  add<onKernel<readBytes>>("gpu-read-bytes", "read bytes for products from where they lie");
}

} // namespace

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<nereid::tile::TileDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::ub::UBDialect>();
  nereid::ref::registerReferenceModels(registry);
  nereid::pipeline::registerGpuPipeline(registry);
  registerFunctions();
  mlir::registerTransformsPasses();
  mlir::registerPass([] { return transforms::createCountTripsPass(); });
  mlir::registerPass(transforms::createExpandInlineAsmPass);
  mlir::registerPass([] { return transforms::createExpandScaledProductsPass(/*toHalves=*/false); });
  mlir::registerPass(transforms::createDropChecksPass);
  mlir::registerPass(transforms::createDropUnitDimsPass);
  mlir::registerPass(transforms::createFoldAddendsPass);
  mlir::registerPass(transforms::createJoinMasksPass);
  mlir::registerPass(transforms::createLoadBeforeBranchesPass);
  mlir::registerPass(transforms::createLoadUniformPass);
  mlir::registerPass(transforms::createPeelStepsPass);
  mlir::registerPass(transforms::createFoldCountersPass);
  mlir::registerPass(transforms::createUnmaskWholeTilesPass);
  mlir::registerPass(transforms::createUnswitchProductsPass);
  mlir::registerPass(transforms::createNameExtremaPass);
  mlir::registerPass(transforms::createNestTilesPass);
  mlir::registerPass(transforms::createSplitProductsPass);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "tile IR optimizer driver\n", registry));
}
