// Which place of the source each access of memory stands for, from ops to the bytes of an object.
//
// Places are numbers on the way: of lines while MLIR becomes LLVM IR, then of alias scopes, which
// stay with an access of memory until it is a machine instruction, also where one is folded into
// arithmetic of another line. Nothing asks for these scopes (there is no `noalias` beside them) and
// there is no debug information behind them, so code and object are the same as without.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"

#include <string>

namespace llvm {
class TargetMachine;
}

namespace nereid::cpu {

/// From `offset` in the code on, accesses are those of a place, up to the next row.
struct AccessLine {
  uint64_t offset;
  uint32_t place; ///< as `numberPlaces` counts
};

/// Gives the ops that reach memory, of the LLVM dialect, the numbers of their locations for lines,
/// and other ops none. Returns the locations in the order of their numbers.
llvm::SmallVector<mlir::Location> numberPlaces(mlir::ModuleOp module);

/// Puts the numbers on the accesses and drops what else the lines have brought into the module.
/// For use before anything is optimised.
void tagAccesses(llvm::Module &module);

/// The relocatable object, and the rows of its accesses in the order of their offsets. Empty if the
/// machine cannot emit it.
std::string emitObject(llvm::Module &module, llvm::TargetMachine &machine,
                       llvm::SmallVectorImpl<AccessLine> &lines);

} // namespace nereid::cpu
