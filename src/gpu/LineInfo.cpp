#include "gpu/LineInfo.h"

#include "transforms/DebugScopes.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

FileLineColLoc firstFile(Location loc) {
  FileLineColLoc found;
  loc->walk([&](Location part) {
    if (auto file = dyn_cast<FileLineColLoc>(part)) {
      found = file;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return found;
}

class Places {
public:
  Places(LLVM::LLVMFuncOp function, FileLineColLoc start)
      : context(function.getContext()), main(start.getFilename()) {
    program = transforms::addSubprogram(function, start, fileOf(main),
                                        LLVM::DIEmissionKind::DebugDirectivesOnly);
  }

  // Lines of helpers and of other files lie in a scope that names their file; what has no place
  // gets that of the function.
  Location of(Location loc, bool isHelper = false) {
    if (auto call = dyn_cast<CallSiteLoc>(loc))
      return CallSiteLoc::get(of(call.getCallee(), true), of(call.getCaller(), isHelper));
    auto at = dyn_cast<FileLineColLoc>(loc);
    if (!at || (!isHelper && at.getFilename() == main))
      return loc;
    auto [found, fresh] = scopes.try_emplace(at.getFilename());
    if (fresh)
      found->second = LLVM::DILexicalBlockFileAttr::get(program, fileOf(at.getFilename()), 0);
    return FusedLoc::get(context, {loc}, found->second);
  }

private:
  LLVM::DIFileAttr fileOf(StringAttr path) {
    return LLVM::DIFileAttr::get(context, llvm::sys::path::filename(path.getValue()),
                                 llvm::sys::path::parent_path(path.getValue()));
  }

  MLIRContext *context;
  StringAttr main;
  LLVM::DISubprogramAttr program;
  DenseMap<StringAttr, LLVM::DILexicalBlockFileAttr> scopes;
};

} // namespace

void addLineInfo(ModuleOp module) {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    FileLineColLoc start = firstFile(function.getLoc());
    if (!start || function.isExternal() || !function->hasAttr("nvvm.kernel"))
      continue;
    Places places(function, start);
    function.getBody().walk([&](Operation *op) { op->setLoc(places.of(op->getLoc())); });
  }
}

} // namespace nereid::gpu
