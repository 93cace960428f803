#include "pipeline/Cpu.h"

#include "analysis/AxisAnalysis.h"
#include "cpu/AccessLines.h"
#include "cpu/Codegen.h"
#include "cpu/CountInLoops.h"
#include "cpu/EmitKernel.h"
#include "cpu/Exchanges.h"
#include "cpu/FusionPlan.h"
#include "cpu/LaneEmitter.h"
#include "cpu/OrientStores.h"
#include "cpu/ProgramOrder.h"
#include "cpu/UnrollSteps.h"
#include "pipeline/BackEnd.h"
#include "pipeline/ExternLibraries.h"
#include "support/Steps.h"
#include "transforms/CountTrips.h"
#include "transforms/DropChecks.h"
#include "transforms/ExpandInlineAsm.h"
#include "transforms/ExpandScaledProducts.h"
#include "transforms/FoldAddends.h"
#include "transforms/JoinMasks.h"
#include "transforms/LoadUniform.h"
#include "transforms/NameExtrema.h"
#include "transforms/ToLlvm.h"
#include "transforms/UniformSteps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/Constants.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace nereid::pipeline {

namespace {

struct CarryOffsetsPass : PassWrapper<CarryOffsetsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CarryOffsetsPass)
  void runOnOperation() override {
    if (FunctionOpInterface kernel = analysis::findKernel(getOperation()))
      transforms::carryOffsets(kernel);
  }
};

// A vector here is four times as long as an access of a GPU, so a hint that holds there by luck
// (runs of a remainder, cut short where that wraps) would read what lies elsewhere. Runs that other
// facts don't show are tested where they are read.
struct DistrustRunsPass : PassWrapper<DistrustRunsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DistrustRunsPass)
  void runOnOperation() override {
    getOperation().walk([](tile::HintOp hint) { hint.removeContiguityAttr(); });
  }
};

struct CountInLoopsPass : PassWrapper<CountInLoopsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CountInLoopsPass)
  void runOnOperation() override {
    if (FunctionOpInterface kernel = analysis::findKernel(getOperation()))
      cpu::countInLoops(kernel);
  }
};

struct FlattenExchangesPass : PassWrapper<FlattenExchangesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FlattenExchangesPass)
  void runOnOperation() override {
    if (FunctionOpInterface kernel = analysis::findKernel(getOperation()))
      cpu::flattenExchanges(kernel);
  }
};

struct UnrollStepsPass : PassWrapper<UnrollStepsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(UnrollStepsPass)
  void runOnOperation() override {
    if (FunctionOpInterface kernel = analysis::findKernel(getOperation()))
      cpu::unrollSteps(kernel);
  }
};

struct OrientStoresPass : PassWrapper<OrientStoresPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OrientStoresPass)
  void runOnOperation() override {
    if (FunctionOpInterface kernel = analysis::findKernel(getOperation()))
      cpu::orientStores(kernel);
  }
};

struct OrderSplitProgramsPass : PassWrapper<OrderSplitProgramsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OrderSplitProgramsPass)
  void runOnOperation() override {
    if (FunctionOpInterface kernel = analysis::findKernel(getOperation()))
      cpu::orderSplitPrograms(kernel);
  }
};

struct HoistReductionsPass : PassWrapper<HoistReductionsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(HoistReductionsPass)
  void runOnOperation() override {
    if (FunctionOpInterface kernel = analysis::findKernel(getOperation()))
      cpu::hoistReductions(kernel);
  }
};

// The passes on tile IR.
void addCpuPasses(OpPassManager &pm, bool contract) {
  // What the source leaves undefined is zero.
  pm.addPass(transforms::createDropChecksPass());
  pm.addPass(std::make_unique<DistrustRunsPass>());
  // A loop may end at the greatest integer.
  pm.addPass(transforms::createCountTripsPass());
  // Reductions to an extremum say so, in one instruction that takes its operands in any order.
  pm.addPass(transforms::createNameExtremaPass());
  // Microscaled operands are unpacked and scaled.
  pm.addPass(transforms::createExpandScaledProductsPass(/*toHalves=*/false));
  // Inline PTX becomes arithmetic.
  pm.addPass(transforms::createExpandInlineAsmPass());
  // Fold what is known and drop what is unused: the plan counts users.
  pm.addPass(createCanonicalizerPass());
  // The number of a page is loaded once for all that lies in it.
  pm.addPass(transforms::createLoadUniformPass());
  // What a few steps of a loop compute stays in registers.
  pm.addPass(std::make_unique<UnrollStepsPass>());
  // What a loop sums up to sum it along an axis is one number a row.
  pm.addPass(std::make_unique<CountInLoopsPass>());
  pm.addPass(createCanonicalizerPass());
  // Halves of pairs are found by the numbers of their elements.
  pm.addPass(std::make_unique<FlattenExchangesPass>());
  // Products start with what is added to them, which rounds in another order.
  if (contract)
    pm.addPass(transforms::createFoldAddendsPass());
  // Tiles of pointers that walk through memory become offsets.
  pm.addPass(std::make_unique<CarryOffsetsPass>());
  // What a mask says of rows or columns alone is computed once for them.
  pm.addPass(transforms::createJoinMasksPass());
  // The last dimension of a tile that is stored is the one of adjacent elements.
  pm.addPass(std::make_unique<OrientStoresPass>());
  pm.addPass(createCanonicalizerPass());
  // One value a computation, so that lanes are found again.
  pm.addPass(createCSEPass());
  // Programs that read the same lines follow each other.
  pm.addPass(std::make_unique<OrderSplitProgramsPass>());
  // Reductions of one row run together.
  pm.addPass(std::make_unique<HoistReductionsPass>());
}

// A third of what O3 runs, for the same loops: a kernel is one function of vectors that calls
// nothing to be inlined, and its loops come blocked. What looks at each loop by its number of steps
// takes time that grows faster than the number of loops, of which a sorting network that is written
// out has thousands, of two steps each: 64 products in a row, 1,752 blocks, 5.2 of 6.3 s. Kernels
// whose loops are written as loops have up to 200 blocks.
std::string llvmPassesFor(const llvm::Module &module) {
  size_t blocks = 0;
  for (const llvm::Function &function : module)
    blocks += function.size();
  bool hasManyLoops = blocks > 600;
  return std::string(
             "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,") +
         (hasManyLoops ? "loop-mssa(licm)," : "loop-mssa(loop-rotate,licm),") +
         "simplifycfg,instcombine<no-verify-fixpoint>," +
         (hasManyLoops ? "" : "loop(indvars,loop-deletion),") +
         "gvn,dse,adce,simplifycfg<sink-common-insts;hoist-common-insts>,instsimplify)";
}

// Which programs a launch starts together (runtime/GridOrder.h).
std::string programOrder(const analysis::KernelFacts &facts) {
  std::string text;
  for (unsigned axis = 0; axis < 3; ++axis)
    if (facts.sharedAxes >> axis & 1)
      text += (text.empty() ? "" : ", ") + std::string(1, char('x' + axis));
  return text.empty() ? "" : "programs along " + text + " read some of the same memory\n";
}

// The axis that programs run along first, if the strides of the launch say so.
std::string programOrder(const cpu::LeadingAxis &lead) {
  return lead.axis ? std::string("programs along ") + "xyz"[lead.axis] + " go on in memory\n" : "";
}

std::vector<CpuAccess> accessesOf(ModuleOp module) {
  std::vector<CpuAccess> out;
  auto add = [&](Location where, Type type, bool isStore, bool isScattered, bool isMasked) {
    CpuAccess access{where, isStore, isScattered, isMasked};
    if (auto vector = dyn_cast<VectorType>(type)) {
      access.lanes = unsigned(vector.getNumElements());
      type = vector.getElementType();
    }
    if (type.isIntOrFloat())
      access.elementBytes = tile::bytesInMemory(type);
    for (CpuAccess &row : out)
      if (row.where == where && row.isStore == isStore && row.isScattered == isScattered &&
          row.isMasked == isMasked && row.lanes == access.lanes &&
          row.elementBytes == access.elementBytes) {
        ++row.count;
        return;
      }
    access.count = 1;
    out.push_back(access);
  };
  module.walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<LLVM::LoadOp>([&](auto op) { add(op.getLoc(), op.getType(), false, false, false); })
        .Case<LLVM::MaskedLoadOp>(
            [&](auto op) { add(op.getLoc(), op.getType(), false, false, true); })
        .Case<LLVM::masked_gather>(
            [&](auto op) { add(op.getLoc(), op.getType(), false, true, true); })
        .Case<LLVM::StoreOp>(
            [&](auto op) { add(op.getLoc(), op.getValue().getType(), true, false, false); })
        .Case<LLVM::MaskedStoreOp>(
            [&](auto op) { add(op.getLoc(), op.getValue().getType(), true, false, true); })
        .Case<LLVM::masked_scatter>(
            [&](auto op) { add(op.getLoc(), op.getValue().getType(), true, true, true); });
  });
  return out;
}

std::vector<CpuLoop> loopsOf(const cpu::FusionPlan &plan) {
  constexpr const char *reasons[] = {"whole",  "indexed", "carried",
                                     "reused", "turned",  "memory order"};
  std::vector<CpuLoop> out;
  for (const cpu::FusionPlan::Loop &loop : plan.loops()) {
    CpuLoop row{
        loop.place->getLoc(), {}, loop.stored ? reasons[unsigned(loop.stored->reason)] : ""};
    for (Operation *op : loop.computes)
      row.computes.push_back(op->getName().getStringRef().str());
    out.push_back(std::move(row));
  }
  return out;
}

uint64_t codeBytesOf(StringRef object) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(object, "kernel"),
                                                            /*InitContent=*/true);
  if (!file) {
    llvm::consumeError(file.takeError());
    return 0;
  }
  uint64_t bytes = 0;
  for (const llvm::object::SectionRef &section : (*file)->sections())
    bytes += section.isText() ? section.getSize() : 0;
  return bytes;
}

// The story. Stops after `stage` with its text; runs to the object, and adds to `builder` and tells
// `report` if there is one.
Result<std::string> compile(ModuleOp module, CpuStage stage, const CpuOptions &options,
                            support::ArtifactBuilder *builder, CpuReport *report = nullptr) {
  MLIRContext *context = module.getContext();
  DiagnosticCollector reports(context);
  context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect, LLVM::LLVMDialect,
                       math::MathDialect, scf::SCFDialect>();
  PassManager passes(context, ModuleOp::getOperationName());
  addCpuPasses(passes, options.contract);
  addSteps(passes);
  if (failed(passes.run(module)))
    return reports.error("cannot compile the kernel for the CPU");
  FunctionOpInterface kernel = analysis::findKernel(module);
  if (!kernel)
    return reports.error("the module does not hold exactly one kernel");
  if (stage == CpuStage::Tile)
    return printed(module);

  // Choose which tiles are stored and which are recomputed in the loops of their users.
  const cpu::Processor processor = cpu::processorOf(options.features);
  cpu::FusionPlan plan = support::inStep(
      "fusion plan", [&] { return cpu::FusionPlan(kernel, processor.firstCacheBytes); });
  analysis::KernelFacts facts = analysis::kernelFacts(kernel);
  if (stage == CpuStage::Plan)
    return printed(plan) + programOrder(facts) + programOrder(cpu::leadingAxis(kernel, facts)) +
           printed(module);

  // Tiles become loops over vectors, the kernel a function that runs a range of programs.
  cpu::EmittedKernel emitted = support::inStep(
      "loops", [&] { return cpu::emitKernel(kernel, plan, facts, processor, options.contract); });
  if (!emitted.module)
    return reports.error("cannot compile `" + kernel.getName().str() + "` for the CPU");
  if (stage == CpuStage::Loops)
    return printed(*emitted.module);

  if (report) {
    report->vectorBytes = processor.vectorBytes;
    report->accesses = accessesOf(*emitted.module);
    report->loops = loopsOf(plan);
  }

  // From here on there are no tiles.

  if (failed(transforms::lowerToLlvmDialect(*emitted.module)))
    return reports.error("cannot lower `" + kernel.getName().str() + "` to LLVM");
  SmallVector<Location> places;
  if (stage == CpuStage::Object)
    places = cpu::numberPlaces(*emitted.module);
  llvm::LLVMContext llvmContext;
  auto llvmModule = transforms::translateToLlvm(*emitted.module, llvmContext);
  auto machine = cpu::createMachine(options.features, options.optimize);
  if (!llvmModule || !machine)
    return reports.error("cannot translate `" + kernel.getName().str() + "` to LLVM IR");
  std::string entry = options.entry.empty() ? cpu::entrySymbol.str() : options.entry;
  llvmModule->getFunction(cpu::entrySymbol)->setName(entry);
  cpu::prepare(*llvmModule, *machine);
  auto libraries = linkLibraries(*llvmModule, module, /*forGpu=*/false);
  if (!libraries)
    return reports.error(libraries.error().what);
  cpu::tagAccesses(*llvmModule);
  // LLVM hoists what does not change in a loop, and folds addresses.
  transforms::optimize(*llvmModule, *machine,
                       (*libraries ? "always-inline,cgscc(inline),globaldce," : "") +
                           (options.optimize ? llvmPassesFor(*llvmModule) : "function(early-cse)"));
  if (processor.vectorBytes < 64)
    cpu::splitMaskedAccesses(*llvmModule, processor.vectorBytes);
  if (processor.picksLanes && processor.vectorBytes == 32)
    cpu::keepMasksWide(*llvmModule, processor.vectorBytes);
  if (stage == CpuStage::Llvm)
    return transforms::printLlvm(*llvmModule);
  if (stage == CpuStage::Asm)
    return transforms::emitCode(*llvmModule, *machine, llvm::CodeGenFileType::AssemblyFile);

  // The object may call what the loader binds, and nothing else.
  SmallVector<cpu::AccessLine> lines;
  std::string object = cpu::emitObject(*llvmModule, *machine, lines);
  if (Status status = cpu::checkSymbols(object); !status)
    return reports.error(status.error().what);
  if (report)
    report->codeBytes = codeBytesOf(object);
  if (!builder)
    return object;

  addKernel(*builder, kernel, facts);
  support::CodeRecord code;
  code.kind = uint32_t(support::CodeKind::X86Object);
  code.arch = builder->text("x86-64");
  code.features = builder->text(options.features.text());
  code.entry = builder->text(entry);
  code.code = builder->blob({reinterpret_cast<const uint8_t *>(object.data()), object.size()});
  code.arenaBytes = uint32_t(plan.arenaBytes());
  code.flags = (facts.mayWait ? support::CodeYields : 0) |
               (emitted.sites.empty() ? 0 : support::CodeRecords) |
               (facts.isAtomic ? support::CodeAtomics : 0) |
               facts.sharedAxes * support::CodeSharesX;
  for (const cpu::AccessLine &line : lines)
    builder->lines.push_back(
        {uint32_t(builder->codes.size()), addLocation(*builder, places[line.place]), line.offset});
  builder->codes.push_back(code);
  // One table serves all codes of an artifact: the sites of a kernel are the same on every target.
  if (builder->sites.empty())
    for (const cpu::RecordSite &site : emitted.sites)
      addRecordSite(*builder, site.op, site.kind);
  return object;
}

} // namespace

Status addCpuCode(ModuleOp module, const CpuOptions &options, support::ArtifactBuilder &builder) {
  auto object = compile(module, CpuStage::Object, options, &builder);
  if (!object)
    return object.takeError();
  return Success{};
}

Result<support::Artifact> compileForCpu(ModuleOp module, const CpuOptions &options) {
  support::ArtifactBuilder builder;
  builder.kernel.target = builder.text("x86-64");
  if (Status status = addCpuCode(module, options, builder); !status)
    return status.takeError();
  return builder.finish();
}

Result<CpuReport> inspectForCpu(ModuleOp module, const CpuOptions &options) {
  support::ArtifactBuilder builder;
  builder.kernel.target = builder.text("x86-64");
  CpuReport report;
  if (auto code = compile(module, CpuStage::Object, options, &builder, &report); !code)
    return code.takeError();
  auto artifact = builder.finish();
  if (!artifact)
    return artifact.takeError();
  report.artifact = *std::move(artifact);
  return report;
}

Result<std::string> emitForCpu(ModuleOp module, CpuStage stage, const CpuOptions &options) {
  return compile(module, stage, options, nullptr);
}

Result<std::string> dataObject(std::span<const DataSymbol> symbols) {
  llvm::LLVMContext context;
  llvm::Module module("data", context);
  auto machine = cpu::createMachine({});
  if (!machine)
    return Error{"this build has no code generator for x86-64", {}};
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setDataLayout(machine->createDataLayout());
  for (const DataSymbol &symbol : symbols) {
    auto *bytes = llvm::ConstantDataArray::get(
        context, llvm::ArrayRef(symbol.bytes.data(), symbol.bytes.size()));
    auto *global = new llvm::GlobalVariable(module, bytes->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::ExternalLinkage, bytes, symbol.name);
    global->setAlignment(llvm::Align(64));
  }
  return transforms::emitCode(module, *machine, llvm::CodeGenFileType::ObjectFile);
}

void registerCpuPipeline(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                  math::MathDialect, scf::SCFDialect, tile::TileDialect>();
  analysis::registerAxisModels(registry);
  cpu::registerCpuModels(registry);
  transforms::registerLlvmTranslations(registry);
}

} // namespace nereid::pipeline
