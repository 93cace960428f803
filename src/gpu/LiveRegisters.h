// How many registers a step of a loop needs at least.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace nereid::gpu {

/// The most registers of a thread that tiles of data take at once in a step of an innermost loop of
/// level 2: what steps carry, and what is loaded or computed of it until its last use. Masks,
/// addresses and what is made of numbers alone are left out, so that the assembler takes more.
unsigned liveRegisters(mlir::scf::ForOp loop);

} // namespace nereid::gpu
