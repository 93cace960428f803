// The way from scf, arith, math and LLVM ops to optimised LLVM IR, common to both back ends.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CodeGen.h"

#include <memory>
#include <string>

namespace llvm {
class TargetMachine;
}

namespace nereid::transforms {

/// Turns control flow into branches and every op into one of the LLVM dialect. Fails with a
/// diagnostic at an op that has no such form.
mlir::LogicalResult lowerToLlvmDialect(mlir::ModuleOp module);

/// The module as LLVM IR; null if it cannot be translated.
std::unique_ptr<llvm::Module> translateToLlvm(mlir::ModuleOp module, llvm::LLVMContext &context);

/// Runs `passes`, as LLVM spells them, or its own O3 pipeline for the machine.
void optimize(llvm::Module &module, llvm::TargetMachine &machine, llvm::StringRef passes = {});

/// Object code or assembly; empty if the machine cannot emit it.
std::string emitCode(llvm::Module &module, llvm::TargetMachine &machine,
                     llvm::CodeGenFileType type);

/// The module as text.
std::string printLlvm(const llvm::Module &module);

/// Adds what the translation to LLVM IR needs of the dialects.
void registerLlvmTranslations(mlir::DialectRegistry &registry);

} // namespace nereid::transforms
