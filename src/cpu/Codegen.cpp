#include "cpu/Codegen.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Function.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

namespace nereid::cpu {

static constexpr const char *triple = "x86_64-unknown-linux-gnu";

std::unique_ptr<llvm::TargetMachine> createMachine(const target::CpuFeatureSet &features) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  std::string enabled;
  llvm::SmallVector<llvm::StringRef> names;
  std::string text = features.text();
  llvm::StringRef(text).split(names, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef name : names)
    enabled += (enabled.empty() ? "+" : ",+") + name.str();
  llvm::TargetOptions options;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, "x86-64", enabled, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

Processor processorOf(const target::CpuFeatureSet &features) {
  Processor out;
  out.vectorBytes = features.has("avx512f") ? 64 : features.has("avx") ? 32 : 16;
  out.bf16Pairs = features.has("avx512bf16");
  out.byteQuads = features.has("avx512vnni");
  return out;
}

void prepare(llvm::Module &module, llvm::TargetMachine &machine) {
  module.setTargetTriple(triple);
  module.setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : module) {
    function.setDoesNotThrow();
    if (function.isDeclaration()) {
      // What kernels call works on its arguments alone, but for records.
      if (!function.isIntrinsic() && !function.getName().starts_with("nereid_"))
        function.setDoesNotAccessMemory();
      continue;
    }
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.addFnAttr("prefer-vector-width", "512");
  }
}

Status checkSymbols(const std::string &object) {
  static const llvm::StringSet<llvm::MallocAllocator> known = {
#define MEMORY(name) #name,
#define UNARY(type, name) #name,
#define BINARY(type, name) #name,
#define TERNARY(type, name) #name,
#define RUNTIME(name, definition) #name,
#include "support/CpuSymbols.def"
  };
  auto file = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object), "kernel"));
  if (!file) {
    return Error{"cannot read the object just made: " + llvm::toString(file.takeError()), {}};
  }
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name) {
      llvm::consumeError(flags.takeError());
      llvm::consumeError(name.takeError());
      continue;
    }
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) && !name->empty() &&
        !known.contains(*name))
      return Error{"the compiled kernel calls `" + name->str() +
                       "`, which kernels cannot have (a fault of the compiler)",
                   {}};
  }
  return Success{};
}

} // namespace nereid::cpu
