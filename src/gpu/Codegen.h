// LLVM IR of a kernel -> PTX.
#pragma once

#include "nereid/base.h"
#include "target/Gpu.h"

#include "llvm/IR/Module.h"

#include <memory>
#include <string>

namespace llvm {
class TargetMachine;
}

namespace nereid::gpu {

std::unique_ptr<llvm::TargetMachine> createMachine(const target::GpuChip &chip,
                                                   bool contract = true);

/// Sets target and layout, and tells the optimiser what inline PTX does: pure pieces touch no
/// memory, those that all lanes run together stay where they all come by.
void prepare(llvm::Module &module, llvm::TargetMachine &machine);

/// Compares halves with zero by one instruction that joins predicates besides: the optimiser makes
/// two of it, on their bits. What is compared may be any number of 16 bits whose highest is a sign.
void compareHalvesWithZero(llvm::Module &module);

/// A bf16 at the high end of a word becomes f32 by one instruction. Comes behind the optimiser,
/// which makes a number of 16 bits of it.
void extendHighHalves(llvm::Module &module);

/// Takes words of two halves that are computed with apart at once. Comes behind the optimiser,
/// which sees through an extracted element only.
void splitWordsOfHalves(llvm::Module &module);

/// Products of 64 bits of which both factors are extended from 32 become one instruction also where
/// a factor is extended in another block, as in front of a loop: instruction selection looks at one
/// block, and multiplies all 64 bits. Comes behind the optimiser, which moves extensions there.
void multiplyWide(llvm::Module &module);

/// Extends an index of 32 bits in the block of the address that it gives, where a loop's are
/// extended in front of it: the extension and the element's size are then one product with a wide
/// result, which the assembler adds to the address, and the loop keeps 32 bits of it.
void widenBesideAddresses(llvm::Module &module);

/// Brings constants to the outside of sums whose parts share no bits, also through shifts: of rows
/// of an address what differs is then a constant behind the extension to 64 bits, which the code
/// generator puts into the instruction that reads. Comes behind the optimiser, which sinks them.
void addConstantsLast(llvm::Module &module);

/// Where a loop reaches the same places behind three pointers or more that all threads share, the
/// distance is computed once a step and added to each. The code generator would count every pointer
/// along, which takes its registers and an addition of 64 bits for each, and another for the
/// thread. Not beside products.
void shareOffsets(llvm::Module &module);

/// The f32 that a loop that may run no step begins with, and what stands for its results then, is
/// set once, in front of the branch past the loop. The code generator sets constants on either way,
/// which the assembler has to find out again. Not beside products, whose sums are zeroed by their
/// own rules. Comes last: nobody sees the constant any more.
void setOnce(llvm::Module &module);

/// LLVM 19 aborts the process on an operation that NVPTX cannot select. Fails if the module has an
/// intrinsic or instruction that is not known to work. Code of libraries may have more of them.
Status checkSelectable(const llvm::Module &module, bool hasLibraries = false);

} // namespace nereid::gpu
