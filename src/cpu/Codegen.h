// LLVM IR of a kernel -> relocatable x86-64 object, in memory.
#pragma once

#include "cpu/EmitKernel.h"
#include "nereid/base.h"
#include "target/Cpu.h"

#include "llvm/IR/Module.h"

#include <memory>
#include <string>

namespace llvm {
class TargetMachine;
}

namespace nereid::cpu {

/// A machine with exactly these features beyond the x86-64 baseline.
std::unique_ptr<llvm::TargetMachine> createMachine(const target::CpuFeatureSet &features,
                                                   bool optimize = true);

/// Bytes of the widest vector that the features give.
Processor processorOf(const target::CpuFeatureSet &features);

/// Sets target, layout and attributes of all functions.
void prepare(llvm::Module &module, llvm::TargetMachine &machine);

/// Splits masked loads and stores of more than one register where masks are vectors of bits in
/// registers of `vectorBytes`. LLVM 19 splits a mask of bytes whose upper or lower half is known to
/// be off by widening bytes that it has left undefined: it then reads and writes the lanes that are
/// off. For use behind `optimize`, which would join the pieces.
void splitMaskedAccesses(llvm::Module &module, unsigned vectorBytes);
/// Without mask registers: masks that cross blocks stay as wide as what they choose, where LLVM
/// packs and unpacks them.
void keepMasksWide(llvm::Module &module, unsigned vectorBytes);

/// Fails if the object asks for a symbol that support/CpuSymbols.def does not have.
Status checkSymbols(const std::string &object);

} // namespace nereid::cpu
