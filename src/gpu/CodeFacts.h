// What the emitted code does to memory and units, as facts for people to look at
// (`nereid inspect`): computed from layouts and axis facts, never measured.
#pragma once

#include "analysis/AxisAnalysis.h"
#include "gpu/Layouts.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <array>
#include <string>
#include <vector>

namespace nereid::gpu {

enum class MemorySpace : uint8_t { Global, Shared };

/// Accesses of one shape that the code of an op makes. A request is what the lanes of a warp do
/// with one instruction.
struct AccessFact {
  mlir::Location where;
  MemorySpace space;
  std::string
      what; ///< "load", "store", "atomic", "cp.async", "bulk load", "bulk store", "ldmatrix"
  unsigned bytes = 0;    ///< that a lane moves with one instruction
  unsigned elements = 0; ///< the same in elements
  unsigned count = 0;    ///< instructions of a thread
  /// Global: 32-byte sectors that a request touches. Shared: cycles that it takes.
  unsigned transactions = 0;
  unsigned fewest = 0;  ///< of them, for as many bytes
  bool isAtEnd = false; ///< made by the programs at the end alone (`transforms/UnmaskWholeTiles.h`)
};

/// The accesses of a warp to global memory with `elements` adjacent elements of a tile of pointers
/// a lane. Addresses of which nothing is known count as far apart.
AccessFact globalAccess(mlir::Location where, std::string what, const LinearLayout &layout,
                        const tile::AxisFacts &facts, unsigned elementBytes, unsigned elements,
                        unsigned count);
/// The same for a block of a tensor descriptor: rows are contiguous and begin at a multiple of 16
/// bytes.
tile::AxisFacts descriptorFacts(llvm::ArrayRef<int64_t> shape, unsigned elementBytes);
/// Transfers of the copy engine, each of `rows` rows that are contiguous and begin at a multiple of
/// 16 bytes.
AccessFact bulkAccess(mlir::Location where, std::string what, unsigned rows, unsigned rowBytes,
                      unsigned elementBytes, unsigned count);
/// One scalar, moved by one lane (or by all of them from one address).
AccessFact scalarAccess(mlir::Location where, std::string what, unsigned elementBytes);

/// The accesses of a warp to shared memory, `bytes` a lane at `offset(lane)`. They are 32 banks of
/// 4 bytes; lanes that meet in a bank at different words take a cycle each.
AccessFact sharedAccess(mlir::Location where, std::string what, unsigned bytes, unsigned elements,
                        unsigned count, llvm::function_ref<int64_t(unsigned)> offset);

/// The cycles of one of them.
unsigned sharedCycles(unsigned bytes, llvm::function_ref<int64_t(unsigned)> offset);

/// An instruction that people look for, and how often the code has it, before the optimiser.
struct InstructionFact {
  mlir::Location where;
  std::string kind; ///< "wgmma", "mma.sync", "cp.async", "bulk tensor", "ldmatrix", "barrier", ...
  std::string name; ///< in full, where there is more to say
  unsigned count = 0;
};
/// Those of a module of NVVM and inline assembly, in program order.
std::vector<InstructionFact> instructionFacts(mlir::ModuleOp module);

} // namespace nereid::gpu
