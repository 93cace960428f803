#include "pipeline/Gpu.h"

#include "analysis/AxisAnalysis.h"
#include "gpu/AssembleKernel.h"
#include "gpu/AssignLayouts.h"
#include "gpu/BulkLoads.h"
#include "gpu/ByteOperands.h"
#include "gpu/Codegen.h"
#include "gpu/DeferReductions.h"
#include "gpu/EmitKernel.h"
#include "gpu/FoldSwaps.h"
#include "gpu/KeptRows.h"
#include "gpu/Layouts.h"
#include "gpu/Libdevice.h"
#include "gpu/LineInfo.h"
#include "gpu/LiveRegisters.h"
#include "gpu/LoadsAhead.h"
#include "gpu/LoopOverPrograms.h"
#include "gpu/MachineCode.h"
#include "gpu/MergeReductions.h"
#include "gpu/OperandsInFragments.h"
#include "gpu/PipelineLoads.h"
#include "gpu/Ptxas.h"
#include "gpu/RegisterEmitter.h"
#include "gpu/Rings.h"
#include "gpu/ShortSteps.h"
#include "gpu/TilesAhead.h"
#include "ir/FloatOptions.h"
#include "pipeline/BackEnd.h"
#include "pipeline/ExternLibraries.h"
#include "support/Steps.h"
#include "transforms/CountTrips.h"
#include "transforms/DropChecks.h"
#include "transforms/DropUnitDims.h"
#include "transforms/ExpandScaledProducts.h"
#include "transforms/FoldAddends.h"
#include "transforms/FoldCounters.h"
#include "transforms/LoadBeforeBranches.h"
#include "transforms/LoadUniform.h"
#include "transforms/NameExtrema.h"
#include "transforms/NestTiles.h"
#include "transforms/PeelSteps.h"
#include "transforms/SplitProducts.h"
#include "transforms/ToLlvm.h"
#include "transforms/UniformSteps.h"
#include "transforms/UnmaskWholeTiles.h"
#include "transforms/UnswitchProducts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace nereid::pipeline {

namespace {

// A carried row or column of numbers, as offsets are, would move from the layout of one access to
// those of others in each step. Pointers stay: each thread moves its own.
struct CarryNumbersPass : PassWrapper<CarryNumbersPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CarryNumbersPass)
  void runOnOperation() override {
    if (FunctionOpInterface kernel = analysis::findKernel(getOperation()))
      transforms::carryOffsets(kernel, [](Value init) {
        auto type = cast<RankedTensorType>(init.getType());
        return type.getElementType().isInteger(32) && transforms::isMadeOfNumbers(init);
      });
  }
};

// The passes on tile IR.
void addTilePasses(OpPassManager &pm) {
  // What the source leaves undefined is zero.
  pm.addPass(transforms::createDropChecksPass());
  // What goes through the steps of all tiles at once goes through tiles, and steps.
  pm.addPass(transforms::createNestTilesPass());
  // Steps do not ask what their number is within its bounds anyhow.
  pm.addPass(transforms::createFoldCountersPass());
  // Steps that ask whether they are the first or the last leave that one to code of its own.
  pm.addPass(transforms::createPeelStepsPass());
  // A loop may end at the greatest integer.
  pm.addPass(transforms::createCountTripsPass(/*narrow=*/true));
  // Reductions to an extremum say so, in one instruction that takes its operands in any order.
  pm.addPass(transforms::createNameExtremaPass());
  // Microscaled operands are unpacked and scaled: tensor cores take them as halves.
  pm.addPass(transforms::createExpandScaledProductsPass(/*toHalves=*/true));
  // `acc += tl.dot(a, b)` sums in the registers of the product.
  pm.addPass(transforms::createFoldAddendsPass());
  // Products of f32 in parts and sums in f16 become products that tensor cores have.
  pm.addPass(transforms::createSplitProductsPass());
  // Blocks one element deep in a batch or head are matrices: the copy engine brings those.
  pm.addPass(transforms::createDropUnitDimsPass());
  // The number of a page is loaded once for all that lies in it.
  pm.addPass(transforms::createLoadUniformPass());
  // What a program adds its share to behind a lock comes while it asks whether it is the first.
  pm.addPass(transforms::createLoadBeforeBranchesPass());
  // Steps that branch on what the loop does not change load all they multiply at once, if they do.
  pm.addPass(transforms::createUnswitchProductsPass());
  // Masks that may end anywhere end nowhere in most programs.
  pm.addPass(transforms::createUnmaskWholeTilesPass());
  // Offsets of a loop's steps are computed where they are wanted.
  pm.addPass(std::make_unique<CarryNumbersPass>());
  // Fold what is known and drop what is unused.
  pm.addPass(createCanonicalizerPass());
  // One value a computation, so that a tile meets itself in one layout.
  pm.addPass(createCSEPass());
}

// The passes on level 2.
void addGpuPasses(OpPassManager &pm) {
  // Layout assignment computes cheap tiles where they are wanted; the same ones are one again, and
  // what a loop does not change is moved between threads once.
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
}

// A third of what O3 runs, for the same code but for its order: a kernel is one function in which
// libdevice's are inlined. The range of thread indices makes sums of addresses disjoint,
// `reassociate` joins their parts, and inferred alignment lets accesses to shared memory be
// vectors.
constexpr llvm::StringLiteral llvmPasses =
    "always-inline,function(nvvm-reflect,nvvm-intr-range,sroa,early-cse<memssa>,simplifycfg,"
    "instcombine<no-verify-fixpoint>,reassociate,"
    "loop-mssa(licm,loop-rotate,licm,simple-loop-unswitch<nontrivial;trivial>),simplifycfg,"
    "instcombine<no-verify-fixpoint>,loop(indvars,loop-deletion),gvn,correlated-propagation,adce,"
    "loop-mssa(licm),simplifycfg<sink-common-insts;hoist-common-insts>,infer-alignment,"
    "instcombine<no-verify-fixpoint>),globaldce";

unsigned warpsOf(ModuleOp module, const GpuOptions &options) {
  unsigned warps = options.numWarps;
  if (auto attr = module->getAttrOfType<IntegerAttr>(tile::numWarpsAttr); !warps && attr)
    warps = unsigned(attr.getInt());
  return warps ? warps : 4;
}

// Behind the slots of the kernel's own parameters, of which there is one an argument, come those of
// tensor maps.
bool isTensorMap(const support::SlotRecord &slot) {
  return support::SlotKind(slot.kind) == support::SlotKind::TensorMap;
}

std::vector<gpu::ParameterMap> tensorMapsOf(const support::ArtifactBuilder &builder) {
  std::vector<gpu::ParameterMap> maps;
  for (const support::SlotRecord &slot : builder.slots) {
    if (!isTensorMap(slot))
      continue;
    const support::DescriptorRecord &record = builder.descriptors[slot.descriptor];
    unsigned argument = 0;
    while (builder.slots[argument].parameter != slot.parameter)
      ++argument;
    maps.push_back({argument, {record.box, record.box + record.rank}, record.swizzle});
  }
  return maps;
}

bool canAddTensorMaps(const support::ArtifactBuilder &builder,
                      const std::vector<gpu::ParameterMap> &maps) {
  auto present = tensorMapsOf(builder);
  return maps.empty() || present.empty() || present == maps;
}

void addTensorMaps(support::ArtifactBuilder &builder, const std::vector<gpu::ParameterMap> &maps) {
  if (!tensorMapsOf(builder).empty())
    return;
  for (const gpu::ParameterMap &map : maps) {
    support::SlotRecord from = builder.slots[map.argument];
    support::DescriptorRecord record = builder.descriptors[from.descriptor];
    llvm::copy(map.box, record.box);
    record.swizzle = map.swizzle;
    record.l2Promotion = 2; // CU_TENSOR_MAP_L2_PROMOTION_L2_128B
    uint32_t index =
        builder.addSlot("", support::SlotKind::TensorMap, DType(from.type), from.parameter);
    builder.slots[index].name = from.name;
    builder.slots[index].access = from.access;
    builder.slots[index].descriptor = uint32_t(builder.descriptors.size());
    builder.descriptors.push_back(record);
  }
}

// Which buffers take more shared memory than there is, the largest first.
Error tooMuchShared(const std::string &name, const gpu::EmittedKernel &emitted,
                    const target::GpuChip &chip) {
  nereid::Diagnostic diagnostic;
  diagnostic.code = "SharedMemory";
  diagnostic.message = "`" + name + "` needs " + std::to_string(emitted.sharedBytes) +
                       " bytes of shared memory, " + std::string(chip.name) + " has " +
                       std::to_string(chip.sharedBytesPerBlock);
  diagnostic.hint = "take smaller blocks";
  std::vector<gpu::SharedBuffer> buffers = emitted.sharedBuffers;
  llvm::stable_sort(buffers, [](const gpu::SharedBuffer &a, const gpu::SharedBuffer &b) {
    return a.bytes > b.bytes;
  });
  for (const gpu::SharedBuffer &buffer : buffers) {
    nereid::Diagnostic note;
    note.severity = Severity::Note;
    note.message = std::to_string(buffer.bytes) + " bytes " +
                   (buffer.isRing ? "for loads ahead of this loop's steps" : "for tiles here");
    note.where = sourceRange(buffer.where);
    diagnostic.notes.push_back(std::move(note));
    if (buffer.isRing)
      diagnostic.hint = "take smaller blocks, or fewer `num_stages`";
  }
  if (!buffers.empty())
    diagnostic.where = sourceRange(buffers.front().where);
  return Error{"`" + name + "` cannot be compiled", {std::move(diagnostic)}};
}

// A kernel's code for a number of warps; of one that is stopped after a stage, the text alone.
struct GpuCode {
  std::string text; ///< PTX, if the stage is behind it
  unsigned warps;
  OwningOpRef<ModuleOp> pipelined; ///< sites of records are ops of it
  gpu::EmittedKernel emitted;
  std::optional<gpu::Cubin> cubin;
  bool isTooNarrow = false;                       ///< it stops before it is assembled
  std::vector<gpu::InstructionFact> instructions; ///< if wanted

  /// What a launch gives a program.
  uint64_t sharedBytes(const target::GpuChip &chip) const {
    const gpu::KeptPlaces &kept = emitted.kept;
    return emitted.sharedBytes +
           // What is spilled needs the first-level cache, of which that would be taken.
           (kept.stepBytes && !spilledBytes()
                ? gpu::bytesForKept(chip, cubin ? cubin->registers : 0, warps, emitted.sharedBytes,
                                    kept.stepBytes, kept.steps)
                : 0);
  }
  uint32_t spilledBytes() const {
    return cubin ? cubin->spillStoreBytes + cubin->spillLoadBytes : 0;
  }
};

// What stands against a loop over programs, as far as its code is made; empty: nothing. It gains
// where the copy engine makes the copies: by descriptors 5 to 22% (one H200, 8192 x 8192 outputs,
// 8 to 64 steps), by pointers the code of each step grows by more.
std::string whatLoopCosts(const GpuCode &code, const target::GpuChip &chip, StringAttr which) {
  scf::ForOp loop = gpu::programLoop(analysis::findKernel(*code.pipelined));
  auto runsOn = loop->getAttrOfType<BoolAttr>(gpu::runsOnAttr);
  if (!runsOn)
    return "copies that can't run on into the next program's steps";
  if (which.getValue() == "all")
    return "";
  // In no loop the copy engine brings them; several programs cover for each other's ends.
  if (gpu::loadsBlocksAlone(analysis::findKernel(*code.pipelined), chip))
    return "blocks of descriptors that are loaded beside the product";
  if (!runsOn.getValue())
    return "copies that the copy engine does not make";
  // What a step brings stays where it is while the sums leave, which one program would do in its
  // place.
  uint64_t all = code.emitted.sharedBytes, rings = 0;
  for (const gpu::SharedBuffer &buffer : code.emitted.sharedBuffers)
    rings += buffer.isRing ? buffer.bytes : 0;
  unsigned alone = target::occupancy(chip, code.warps, 0, std::max(rings, all - rings)).blocks;
  unsigned registers = code.cubin ? code.cubin->registers : 0;
  if (target::occupancy(chip, code.warps, registers, all).blocks < alone)
    return registers ? "registers for as many blocks at once"
                     : "shared memory for as many blocks at once";
  if (code.spilledBytes() || (code.cubin && gpu::isSerial(*code.cubin)))
    return "registers for all that it keeps";
  return "";
}

// What a kernel's code is made for.
struct CodeRequest {
  const target::GpuChip &chip;
  GpuStage stage;
  const GpuOptions &options;
  const support::ArtifactBuilder *builder; ///< of the artifact whose slots the code shares, or null
  unsigned warps;
  bool wantsFacts;
  DiagnosticCollector &reports;
  bool mayWiden = false; ///< code that spills much is given up for that of more warps
};

// Gives every tile a place in the threads.
Status layOut(ModuleOp module, const std::string &name, const CodeRequest &request) {
  // Memory accesses and products say where they want theirs.
  if (failed(support::inStep(
          "layouts", [&] { return gpu::assignLayouts(module, request.chip, request.warps); })))
    return request.reports.error("cannot lay `" + name + "` out on the GPU");
  PassManager gpuPasses(module.getContext(), ModuleOp::getOperationName());
  addGpuPasses(gpuPasses);
  addSteps(gpuPasses);
  if (failed(gpuPasses.run(module)))
    return request.reports.error("cannot compile `" + name + "` for the GPU");

  // From here on every tensor has a layout.

  // Sums that a loop adds up meet behind it.
  gpu::deferReductions(analysis::findKernel(module));
  // Sums of a step meet behind one barrier.
  gpu::mergeReductions(analysis::findKernel(module));
  return Success{};
}

// Starts loads ahead of their step, then writes down what one thread does (but for
// GpuStage::Gpu). How much shared memory that needs besides the rings is known at the end only:
// with too much of it, again with less for them.
Status writeOneThread(ModuleOp module, const std::string &name, const CodeRequest &request,
                      GpuCode &out) {
  const target::GpuChip &chip = request.chip;
  unsigned warps = request.warps;
  gpu::EmittedKernel &emitted = out.emitted;
  bool bulk = !module->hasAttr(standsAloneAttr);
  for (uint64_t forRings = chip.sharedBytesPerBlock;;) {
    out.pipelined = module.clone();
    FunctionOpInterface kernel = analysis::findKernel(*out.pipelined);
    uint64_t rings = support::inStep("pipeline loads", [&] {
      // Programs that must all be resident give each other no shared memory away.
      if (!module->hasAttr(launchCooperativeAttr))
        gpu::keepRows(kernel, warps);
      gpu::joinShortSteps(kernel);
      uint64_t bytes = gpu::pipelineLoads(kernel, chip, warps, forRings, bulk);
      gpu::startLoadsAhead(kernel, warps);
      return bytes;
    });
    support::inStep("byte operands", [&] { gpu::readBytesForProducts(kernel, warps); });
    support::inStep("operands in fragments",
                    [&] { gpu::computeOperandsInFragments(kernel, warps); });
    if (request.stage == GpuStage::Gpu)
      return Success{};
    emitted = support::inStep("registers", [&] { return gpu::emitKernel(kernel, chip, warps); });
    if (!emitted.module)
      return request.reports.error("cannot compile `" + name + "` for the GPU");
    // All codes of an artifact share its slots: other tensor maps than those of the code before
    // can't be passed.
    if (request.builder && bulk && !canAddTensorMaps(*request.builder, emitted.maps)) {
      bulk = false;
      continue;
    }
    if (emitted.sharedBytes <= chip.sharedBytesPerBlock || !rings)
      return Success{};
    if (gpu::programLoop(kernel))
      return Error{"shared memory for as many steps ahead", {}};
    uint64_t over = emitted.sharedBytes - chip.sharedBytesPerBlock;
    forRings = rings > over ? rings - over : 0;
  }
}

// From one thread's code to PTX, or with GpuStage::Llvm to LLVM IR, in `out.text`.
Status writePtx(ModuleOp module, const std::string &name, const CodeRequest &request,
                const std::string &ptxas, GpuCode &out) {
  ModuleOp emitted = *out.emitted.module;
  DiagnosticCollector &reports = request.reports;
  if (failed(transforms::lowerToLlvmDialect(emitted)))
    return reports.error("cannot lower `" + name + "` to LLVM");
  gpu::addLineInfo(emitted);
  llvm::LLVMContext llvmContext;
  auto llvmModule = transforms::translateToLlvm(emitted, llvmContext);
  auto machine = gpu::createMachine(request.chip, !module->hasAttr(tile::noFpFusionAttr));
  if (!llvmModule || !machine)
    return reports.error("cannot translate `" + name + "` to LLVM IR");
  gpu::prepare(*llvmModule, *machine);
  auto libraries = linkLibraries(*llvmModule, module, /*forGpu=*/true);
  if (!libraries)
    return reports.error(libraries.error().what);
  if (Status linked =
          support::inStep("libdevice", [&] { return gpu::linkLibdevice(*llvmModule, ptxas); });
      !linked)
    return reports.error(linked.error().what);
  transforms::optimize(*llvmModule, *machine,
                       (*libraries ? "cgscc(inline)," : "") + llvmPasses.str());
  gpu::compareHalvesWithZero(*llvmModule);
  gpu::extendHighHalves(*llvmModule);
  gpu::splitWordsOfHalves(*llvmModule);
  gpu::multiplyWide(*llvmModule);
  gpu::widenBesideAddresses(*llvmModule);
  gpu::addConstantsLast(*llvmModule);
  gpu::shareOffsets(*llvmModule);
  gpu::setOnce(*llvmModule);
  if (request.stage == GpuStage::Llvm) {
    out.text = transforms::printLlvm(*llvmModule);
    return Success{};
  }
  // The code generator ends the process on what it cannot select.
  if (Status status = gpu::checkSelectable(*llvmModule, *libraries); !status)
    return reports.error(status.error().what);
  gpu::InlinedPlaces inlined(*llvmModule);
  out.text = inlined.write(
      transforms::emitCode(*llvmModule, *machine, llvm::CodeGenFileType::AssemblyFile));
  return Success{};
}

// What the assembler's runs ask of a kernel.
gpu::AssemblyFacts factsOf(ModuleOp module, const CodeRequest &request, const GpuCode &code) {
  FunctionOpInterface kernel = analysis::findKernel(*code.pipelined);
  gpu::AssemblyFacts facts{.warps = request.warps, .sharedBytes = code.emitted.sharedBytes};
  if (auto limit = module->getAttrOfType<IntegerAttr>(tile::maxRegistersAttr))
    facts.maxRegisters = uint32_t(limit.getInt());
  facts.hasProducts = code.text.find("mma") != std::string::npos;
  facts.productsWait = gpu::takesBytesFromSlots(kernel) || gpu::writesRightOperands(kernel);
  if (!facts.maxRegisters && !facts.hasProducts)
    facts.sums = gpu::loadsOfSums(kernel);
  return facts;
}

// True of code that is known to spill before it is assembled, which for such code takes many
// seconds. What is live at once is counted as the ops stand. The assembler keeps to that where
// thousands of instructions do one op after the other; those of products it moves.
//
//   Liger's jsd, 4, 8 and 16 warps: 1536, 768 and 384 registers live, 15,000, 7,200 and 500 spilled
//   fla's kda, a warp: 752 live, none spilled; 912 and 400; two warps: 1110 and 1500
bool wantsWiderCode(ModuleOp pipelined) {
  constexpr unsigned most = 512, mostWithProducts = 1024;
  FunctionOpInterface kernel = analysis::findKernel(pipelined);
  bool hasProducts = false;
  kernel->walk([&](tile::DotOp) { hasProducts = true; });
  return gpu::liveRegisters(kernel.getFunctionBody().front()) >
         (hasProducts ? mostWithProducts : most);
}

// Every tile in the threads, and then code for one of them. `module` is at level 1 and changes.
Result<GpuCode> codeFor(ModuleOp module, const CodeRequest &request) {
  const target::GpuChip &chip = request.chip;
  std::string name = analysis::findKernel(module).getName().str();
  GpuCode out;
  out.warps = request.warps;
  auto stopped = [&](std::string text) {
    out.text = std::move(text);
    return std::move(out);
  };
  if (Status status = layOut(module, name, request); !status)
    return status.takeError();
  if (Status status = writeOneThread(module, name, request, out); !status)
    return status.takeError();
  if (request.stage == GpuStage::Gpu)
    return stopped(printed(*out.pipelined));
  if (gpu::programLoop(analysis::findKernel(*out.pipelined))) {
    auto which = module->getAttrOfType<StringAttr>(programLoopsAttr);
    if (std::string cost = whatLoopCosts(out, chip, which); !cost.empty())
      return Error{cost, {}};
  }
  gpu::foldSwaps(*out.emitted.module);
  if (request.stage == GpuStage::Nvvm)
    return stopped(printed(*out.emitted.module));
  if (out.emitted.sharedBytes > chip.sharedBytesPerBlock)
    return tooMuchShared(name, out.emitted, chip);

  // From here on there are no tiles.

  if (request.wantsFacts)
    out.instructions = gpu::instructionFacts(*out.emitted.module);
  std::string ptxas = gpu::findPtxas(request.options.ptxas);
  bool isAssembled = request.stage > GpuStage::Ptx && request.options.assemble && !ptxas.empty();
  if (isAssembled && request.mayWiden && wantsWiderCode(*out.pipelined)) {
    out.isTooNarrow = true;
    return out;
  }
  if (Status status = writePtx(module, name, request, ptxas, out); !status)
    return status.takeError();
  if (request.stage == GpuStage::Llvm)
    return out;
  gpu::AssemblyFacts facts = factsOf(module, request, out);
  if (!isAssembled)
    return stopped(gpu::limitedUnseen(out.text, chip, facts));
  auto assembled = gpu::assembleKernel(ptxas, out.text, chip, facts);
  if (!assembled)
    return assembled.takeError();
  out.text = std::move(assembled->ptx);
  out.cubin = std::move(assembled->cubin);
  return out;
}

// How launches of the kernel are queued, beyond their grid.
uint32_t launchFlags(ModuleOp module, const target::GpuChip &chip) {
  uint32_t flags = module->hasAttr(launchCooperativeAttr) ? support::CodeCooperative : 0;
  // Without a wait of its own the kernel would read what the one before has not written yet.
  if (module->hasAttr(launchPdlAttr) && chip.can(target::Pdl) && analysis::waitsForGrid(module))
    flags |= support::CodePdl;
  return flags;
}

// True if nothing in the kernel depends on how many warps run it.
bool isFreeOfWarps(ModuleOp module) {
  return !module->hasAttr(tile::maxRegistersAttr) && !analysis::hasForeignCode(module);
}

// The code of a kernel that was chosen of those that were made.
struct ChosenCode {
  Result<GpuCode> code;
  bool loopsOverPrograms = false;
  std::string whyNoLoop; ///< empty: it loops, or was not asked to
};

// As a loop over programs, where that is wanted and costs nothing, or else program by program.
// `module` stays as it is.
ChosenCode codeLoopingIfFree(ModuleOp module, const CodeRequest &request) {
  OwningOpRef<ModuleOp> lowered = module.clone();
  auto programLoops = module->getAttrOfType<StringAttr>(programLoopsAttr);
  std::string why;
  bool loops = programLoops && !module->hasAttr(standsAloneAttr) &&
               !module->hasAttr(launchCooperativeAttr) &&
               gpu::loopOverPrograms(analysis::findKernel(*lowered), why);
  auto code = codeFor(*lowered, request);
  if (loops) {
    why = code ? whatLoopCosts(*code, request.chip, programLoops) : code.error().what;
    loops = why.empty();
    if (!loops) {
      lowered = module.clone();
      code = codeFor(*lowered, request);
    }
  }
  return {std::move(code), loops, std::move(why)};
}

// A kernel that spills has more registers in more warps, up to the threads of which each can have
// half of them. `ptxas` gives up where products alone want more than there are.
ChosenCode codeInEnoughWarps(ModuleOp module, CodeRequest request) {
  constexpr uint32_t fewSpills = 256;
  constexpr unsigned mostWarps = 16;
  // Of the instructions that are issued: what costs nothing, and what costs less than programs that
  // run beside it, which cover for each other's waits.
  constexpr double hardlyAny = 1.0 / 64, few = 1.0 / 32;
  auto mayWiden = [&] { return 2 * request.warps <= mostWarps && isFreeOfWarps(module); };
  request.mayWiden = mayWiden();
  ChosenCode chosen = codeLoopingIfFree(module, request);
  Result<GpuCode> &code = chosen.code;
  auto share = [&] {
    auto read = code->cubin ? gpu::readMachineCode(code->cubin->code) : std::nullopt;
    return read ? read->spilledShare : 1;
  };
  auto isTooNarrow = [&] {
    return code ? code->isTooNarrow || (code->spilledBytes() > fewSpills && share() > hardlyAny)
                : code.error().what.find("Register allocation failed") != std::string::npos;
  };
  auto blocks = [&](const GpuCode &one) {
    unsigned registers = one.cubin ? one.cubin->registers : 0;
    return target::occupancy(request.chip, one.warps, registers, one.emitted.sharedBytes).blocks;
  };
  auto isBetter = [&](const GpuCode &wider) {
    return code->isTooNarrow || (wider.spilledBytes() <= code->spilledBytes() / 2 &&
                                 (share() > few || blocks(wider) >= blocks(*code)));
  };
  while (mayWiden() && isTooNarrow()) {
    request.warps *= 2;
    request.mayWiden = mayWiden();
    OwningOpRef<ModuleOp> lowered = module.clone();
    auto wider = codeFor(*lowered, request);
    if (code && (!wider || !isBetter(*wider)))
      break;
    code = std::move(wider);
    chosen.loopsOverPrograms = false;
  }
  if (!code || !code->isTooNarrow)
    return chosen;
  // More warps can't be had.
  request.warps = code->warps;
  request.mayWiden = false;
  return codeLoopingIfFree(module, request);
}

// Adds the machine code, if it is there, and the PTX, which newer chips take.
void addCodes(support::ArtifactBuilder &builder, FunctionOpInterface kernel, const GpuCode &code,
              const target::GpuChip &chip, uint32_t flags) {
  addKernel(builder, kernel, analysis::kernelFacts(kernel));
  addTensorMaps(builder, code.emitted.maps);
  support::CodeRecord record;
  record.arch = builder.text(std::string(chip.name));
  record.entry = builder.text(kernel.getName().str());
  record.numWarps = code.warps;
  record.sharedBytes = uint32_t(code.sharedBytes(chip));
  record.scratchBytes = code.emitted.scratchBytes;
  record.flags = (code.emitted.sites.empty() ? 0 : support::CodeRecords) | flags;
  if (const std::optional<gpu::Cubin> &cubin = code.cubin) {
    record.kind = uint32_t(support::CodeKind::Cubin);
    record.code = builder.blob(cubin->code);
    record.registers = cubin->registers;
    record.spillStoreBytes = cubin->spillStoreBytes;
    record.spillLoadBytes = cubin->spillLoadBytes;
    record.stackBytes = cubin->stackBytes;
    builder.codes.push_back(record);
  }
  record.kind = uint32_t(support::CodeKind::Ptx);
  record.arch = builder.text(gpu::createMachine(chip)->getTargetCPU().str());
  record.code = builder.ptx(code.text);
  builder.codes.push_back(record);
  // One table serves all codes of an artifact: the sites of a kernel are the same on every target.
  if (builder.sites.empty())
    for (const gpu::RecordSite &site : code.emitted.sites)
      addRecordSite(builder, site.op, site.kind);
}

void tell(GpuReport &report, const GpuCode &code, std::string whyNoLoop) {
  report.accesses = code.emitted.accesses;
  report.instructions = code.instructions;
  report.whyNoProgramLoop = std::move(whyNoLoop);
  if (const std::optional<gpu::Cubin> &cubin = code.cubin) {
    report.isAssembled = true;
    report.warnings = cubin->warnings;
  }
}

Result<std::string> machineText(const std::optional<gpu::Cubin> &cubin, GpuStage stage) {
  if (!cubin)
    return Error{"no `ptxas` found to assemble a cubin", {}};
  if (stage == GpuStage::Cubin)
    return std::string(cubin->code.begin(), cubin->code.end());
  std::string disassembler = gpu::findDisassembler();
  if (disassembler.empty())
    return Error{"no `nvdisasm` found to show machine code; it comes with the CUDA toolkit", {}};
  return gpu::disassemble(disassembler, cubin->code);
}

// The story. Stops after `stage` with its text; runs to the end, and adds to `builder` and tells
// `report` if there is one.
Result<std::string> compile(ModuleOp module, const target::GpuChip &chip, GpuStage stage,
                            const GpuOptions &options, support::ArtifactBuilder *builder,
                            GpuReport *report = nullptr) {
  MLIRContext *context = module.getContext();
  DiagnosticCollector reports(context);
  context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
                       gpu::TileGpuDialect, LLVM::LLVMDialect, math::MathDialect, NVVM::NVVMDialect,
                       scf::SCFDialect>();
  unsigned warps = warpsOf(module, options);
  if (warps > 32 || !llvm::isPowerOf2_32(warps))
    return Error{"num_warps is " + std::to_string(warps) + "; it is a power of two up to 32", {}};

  PassManager tilePasses(context, ModuleOp::getOperationName());
  addTilePasses(tilePasses);
  addSteps(tilePasses);
  if (failed(tilePasses.run(module)))
    return reports.error("cannot compile the kernel for the GPU");
  FunctionOpInterface kernel = analysis::findKernel(module);
  if (!kernel)
    return reports.error("the module does not hold exactly one kernel");
  if (stage == GpuStage::Tile)
    return printed(module);

  ChosenCode chosen =
      codeInEnoughWarps(module, {chip, stage, options, builder, warps, report != nullptr, reports});
  if (!chosen.code)
    return chosen.code.takeError();
  GpuCode &code = *chosen.code;
  if (report)
    tell(*report, code, std::move(chosen.whyNoLoop));
  if (builder)
    addCodes(*builder, kernel, code, chip,
             (chosen.loopsOverPrograms ? support::CodeLoopsOverPrograms : 0) |
                 launchFlags(*code.pipelined, chip));
  else if (stage == GpuStage::Sass || stage == GpuStage::Cubin)
    return machineText(code.cubin, stage);
  return std::move(code.text);
}

} // namespace

Status addGpuCode(ModuleOp module, const target::GpuChip &chip, const GpuOptions &options,
                  support::ArtifactBuilder &builder) {
  auto code = compile(module, chip, GpuStage::Cubin, options, &builder);
  if (!code)
    return code.takeError();
  return Success{};
}

Result<support::Artifact> compileForGpu(ModuleOp module, const target::GpuChip &chip,
                                        const GpuOptions &options) {
  support::ArtifactBuilder builder;
  builder.kernel.target = builder.text(std::string(chip.name));
  if (Status status = addGpuCode(module, chip, options, builder); !status)
    return status.takeError();
  return builder.finish();
}

Result<GpuReport> inspectForGpu(ModuleOp module, const target::GpuChip &chip,
                                const GpuOptions &options) {
  support::ArtifactBuilder builder;
  builder.kernel.target = builder.text(std::string(chip.name));
  GpuReport report;
  if (auto code = compile(module, chip, GpuStage::Cubin, options, &builder, &report); !code)
    return code.takeError();
  auto artifact = builder.finish();
  if (!artifact)
    return artifact.takeError();
  report.artifact = *std::move(artifact);
  return report;
}

Result<std::string> emitForGpu(ModuleOp module, const target::GpuChip &chip, GpuStage stage,
                               const GpuOptions &options) {
  return compile(module, chip, stage, options, nullptr);
}

void registerGpuPipeline(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
                  gpu::TileGpuDialect, LLVM::LLVMDialect, math::MathDialect, NVVM::NVVMDialect,
                  scf::SCFDialect, tile::TileDialect>();
  analysis::registerAxisModels(registry);
  gpu::registerLayoutModels(registry);
  gpu::registerRegisterModels(registry);
  transforms::registerLlvmTranslations(registry);
  registerNVVMDialectTranslation(registry);
}

} // namespace nereid::pipeline
