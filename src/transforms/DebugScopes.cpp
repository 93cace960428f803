#include "transforms/DebugScopes.h"

#include "llvm/BinaryFormat/Dwarf.h"

using namespace mlir;

namespace nereid::transforms {

LLVM::DISubprogramAttr addSubprogram(LLVM::LLVMFuncOp function, FileLineColLoc start,
                                     LLVM::DIFileAttr file, LLVM::DIEmissionKind kind) {
  MLIRContext *context = function.getContext();
  auto id = [&] { return DistinctAttr::create(UnitAttr::get(context)); };
  auto unit = LLVM::DICompileUnitAttr::get(id(), llvm::dwarf::DW_LANG_Python, file,
                                           StringAttr::get(context, "nereid"),
                                           /*isOptimized=*/true, kind);
  auto type = LLVM::DISubroutineTypeAttr::get(context, llvm::dwarf::DW_CC_normal, {});
  auto flags = LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized;
  auto program =
      LLVM::DISubprogramAttr::get(id(), unit, file, function.getName(), function.getName(), file,
                                  start.getLine(), start.getLine(), flags, type);
  function->setLoc(FusedLoc::get(context, {Location(start)}, program));
  return program;
}

} // namespace nereid::transforms
