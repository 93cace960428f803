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
std::unique_ptr<llvm::TargetMachine> createMachine(const target::CpuFeatureSet &features);

/// Bytes of the widest vector that the features give.
Processor processorOf(const target::CpuFeatureSet &features);

/// Sets target, layout and attributes of all functions.
void prepare(llvm::Module &module, llvm::TargetMachine &machine);

/// Fails if the object asks for a symbol that support/CpuSymbols.def does not have.
Status checkSymbols(const std::string &object);

} // namespace nereid::cpu
