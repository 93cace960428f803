#include "cpu/AccessLines.h"

#include "support/Steps.h"
#include "transforms/DebugScopes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCAssembler.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCELFStreamer.h"
#include "llvm/MC/MCObjectWriter.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace nereid::cpu {

// ---- From locations to numbers

SmallVector<Location> numberPlaces(ModuleOp module) {
  SmallVector<Location> places;
  DenseMap<Location, FileLineColLoc> numbers;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (function.isExternal())
      continue;
    transforms::addSubprogram(function, FileLineColLoc::get(module.getContext(), "", 1, 0),
                              LLVM::DIFileAttr::get(module.getContext(), "kernel", ""),
                              LLVM::DIEmissionKind::LineTablesOnly);
    function.getBody().walk([&](Operation *op) {
      if (isMemoryEffectFree(op))
        return op->setLoc(UnknownLoc::get(op->getContext()));
      Location place = op->getLoc();
      auto [found, isNew] = numbers.try_emplace(place);
      if (isNew) {
        places.push_back(place);
        found->second = FileLineColLoc::get(module.getContext(), "", unsigned(places.size()), 0);
      }
      op->setLoc(found->second);
    });
  }
  return places;
}

// ---- From lines to scopes

void tagAccesses(llvm::Module &module) {
  llvm::LLVMContext &context = module.getContext();
  llvm::MDBuilder metadata(context);
  llvm::MDNode *domain = metadata.createAnonymousAliasScopeDomain();
  DenseMap<unsigned, llvm::MDNode *> tags;
  for (llvm::Function &function : module) {
    for (llvm::Instruction &instruction : llvm::instructions(function)) {
      llvm::DebugLoc at = instruction.getDebugLoc();
      if (!at)
        continue;
      instruction.setDebugLoc({});
      bool isCall = isa<llvm::CallBase>(instruction) && !isa<llvm::IntrinsicInst>(instruction);
      if (isCall || !instruction.mayReadOrWriteMemory())
        continue;
      llvm::MDNode *&tag = tags[at.getLine()];
      if (!tag)
        tag = llvm::MDNode::get(
            context, metadata.createAnonymousAliasScope(domain, std::to_string(at.getLine())));
      instruction.setMetadata(llvm::LLVMContext::MD_alias_scope, tag);
    }
    function.setSubprogram(nullptr);
  }
  if (llvm::NamedMDNode *units = module.getNamedMetadata("llvm.dbg.cu"))
    units->eraseFromParent();
}

// ---- From scopes to offsets

namespace {

using Label = std::pair<llvm::MCSymbol *, uint32_t>;

const llvm::MDNode *scopesOf(const llvm::MachineMemOperand &access) {
  if (!access.isAtomic() || !access.getValue())
    return access.getAAInfo().Scope;
  // Machine instructions have none for atomics, whose pointer tells which they were.
  for (const llvm::User *user : access.getValue()->users())
    if (auto *atomic = dyn_cast<llvm::Instruction>(user); atomic && atomic->isAtomic())
      if (auto *scopes = atomic->getMetadata(llvm::LLVMContext::MD_alias_scope))
        return scopes;
  return nullptr;
}

// The number of the place that an instruction reaches memory for; 0 if there is none.
uint32_t placeOf(const llvm::MachineInstr &instruction) {
  for (const llvm::MachineMemOperand *access : instruction.memoperands()) {
    const llvm::MDNode *scopes = scopesOf(*access);
    uint32_t number;
    // Of accesses that became one, each is the place.
    if (scopes && !llvm::AliasScopeNode(cast<llvm::MDNode>(scopes->getOperand(0)))
                       .getName()
                       .getAsInteger(10, number))
      return number;
  }
  return 0;
}

// Begins a row of the table where the place changes.
class LabelAccesses final : public llvm::MachineFunctionPass {
public:
  static char ID;
  explicit LabelAccesses(SmallVectorImpl<Label> &labels)
      : MachineFunctionPass(ID), labels(labels) {}
  bool runOnMachineFunction(llvm::MachineFunction &function) override {
    uint32_t last = 0;
    for (llvm::MachineBasicBlock &block : function)
      for (llvm::MachineInstr &instruction : block) {
        uint32_t place = placeOf(instruction);
        if (place == 0 || place == last)
          continue;
        last = place;
        labels.push_back({function.getContext().createTempSymbol(), place});
        instruction.setPreInstrSymbol(function, labels.back().first);
      }
    return false;
  }

private:
  SmallVectorImpl<Label> &labels;
};
char LabelAccesses::ID = 0;

// Knows where labels stand: from when the object is laid out until the printer forgets it.
class ObjectStreamer final : public llvm::MCELFStreamer {
public:
  ObjectStreamer(llvm::MCContext &context, std::unique_ptr<llvm::MCAsmBackend> backend,
                 std::unique_ptr<llvm::MCObjectWriter> writer,
                 std::unique_ptr<llvm::MCCodeEmitter> emitter, const SmallVectorImpl<Label> &labels,
                 SmallVectorImpl<AccessLine> &lines)
      : MCELFStreamer(context, std::move(backend), std::move(writer), std::move(emitter)),
        labels(labels), lines(lines) {}
  void reset() override {
    for (auto [label, place] : labels)
      lines.push_back({getAssembler().getSymbolOffset(*label), place - 1});
    MCELFStreamer::reset();
  }

private:
  const SmallVectorImpl<Label> &labels;
  SmallVectorImpl<AccessLine> &lines;
};

} // namespace

// What LLVM's addPassesToEmitFile adds, with a pass before the printer and a streamer of our own.
std::string emitObject(llvm::Module &module, llvm::TargetMachine &machine,
                       SmallVectorImpl<AccessLine> &lines) {
  support::Step step("LLVM code generation");
  llvm::SmallString<0> code;
  llvm::raw_svector_ostream stream(code);
  SmallVector<Label> labels;
  llvm::legacy::PassManager passes;
  auto &generator = static_cast<llvm::LLVMTargetMachine &>(machine);
  auto *info = new llvm::MachineModuleInfoWrapperPass(&generator);
  llvm::TargetPassConfig *config = generator.createPassConfig(passes);
  passes.add(config);
  passes.add(info);
  if (config->addISelPasses())
    return {};
  config->addMachinePasses();
  config->setInitialized();
  passes.add(new LabelAccesses(labels));

  const llvm::Target &target = machine.getTarget();
  llvm::MCContext &context = info->getMMI().getContext();
  std::unique_ptr<llvm::MCAsmBackend> backend(target.createMCAsmBackend(
      *machine.getMCSubtargetInfo(), *machine.getMCRegisterInfo(), machine.Options.MCOptions));
  std::unique_ptr<llvm::MCCodeEmitter> emitter(
      target.createMCCodeEmitter(*machine.getMCInstrInfo(), context));
  auto writer = backend->createObjectWriter(stream);
  auto streamer = std::make_unique<ObjectStreamer>(context, std::move(backend), std::move(writer),
                                                   std::move(emitter), labels, lines);
  passes.add(target.createAsmPrinter(machine, std::move(streamer)));
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(module);
  return std::string(code);
}

} // namespace nereid::cpu
