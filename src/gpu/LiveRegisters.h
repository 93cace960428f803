// About how many registers tiles take.
#pragma once

#include "mlir/IR/Block.h"

namespace nereid::gpu {

/// The most registers of a thread that tiles of data take at once in a block of level 2, such as a
/// step of a loop, as its ops stand: what comes into it, and what is loaded or computed of it until
/// its last use. Masks, addresses and what is made of numbers alone are left out, so that the
/// assembler takes more.
unsigned liveRegisters(mlir::Block &block);

} // namespace nereid::gpu
