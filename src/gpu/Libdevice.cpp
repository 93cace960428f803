#include "gpu/Libdevice.h"

#include "support/Knobs.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SourceMgr.h"

#include <unistd.h>

namespace nereid::gpu {

namespace {

constexpr const char *prefix = "__nv_";

// Names of declared functions of the library, for a message.
std::string missing(const llvm::Module &module) {
  std::string names;
  for (const llvm::Function &function : module)
    if (function.isDeclaration() && !function.use_empty() && function.getName().starts_with(prefix))
      names += (names.empty() ? "`" : ", `") + function.getName().str() + "`";
  return names;
}

std::string findLibdevice(const std::string &ptxas) {
  std::string beside;
  if (size_t slash = ptxas.rfind('/'); slash != std::string::npos)
    beside = ptxas.substr(0, slash) + "/..";
  for (const std::string &path :
       {support::knobs().libdevice, beside + "/nvvm/libdevice/libdevice.10.bc",
        std::string("/usr/local/cuda/nvvm/libdevice/libdevice.10.bc")})
    if (!path.empty() && access(path.c_str(), R_OK) == 0)
      return path;
  return {};
}

} // namespace

Status linkLibdevice(llvm::Module &module, const std::string &ptxas) {
  std::string wanted = missing(module);
  if (wanted.empty())
    return Success{};
  std::string path = findLibdevice(ptxas);
  if (path.empty())
    return Error{"the kernel uses " + wanted +
                     " of CUDA's libdevice.10.bc, which is not on this machine; it is part of the "
                     "CUDA toolkit, and `NEREID_LIBDEVICE` may name the file",
                 {}};
  llvm::SMDiagnostic problem;
  auto library = llvm::getLazyIRFileModule(path, problem, module.getContext());
  if (!library)
    return Error{"cannot read `" + path + "`: " + problem.getMessage().str(), {}};
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  if (llvm::Linker::linkModules(module, std::move(library), llvm::Linker::LinkOnlyNeeded))
    return Error{"cannot link `" + path + "` with the kernel", {}};
  if (std::string left = missing(module); !left.empty())
    return Error{"`" + path + "` has no " + left, {}};
  // Its functions become part of the kernel: keep denormals, as the rest of the code does.
  module.addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", uint32_t(0));
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && function.getName().starts_with(prefix)) {
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
      function.removeFnAttr(llvm::Attribute::NoInline);
      function.addFnAttr(llvm::Attribute::AlwaysInline);
    }
  return Success{};
}

} // namespace nereid::gpu
