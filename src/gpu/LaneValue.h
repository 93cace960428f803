// What numbers of a thread's code are in a given lane, for facts about accesses.
#pragma once

#include "mlir/IR/Value.h"

#include <optional>

namespace nereid::gpu {

class RegisterEmitter;

/// What `value`, a number that is computed of the place of a thread, is in a lane of the first
/// warp; nothing if it depends on more.
std::optional<int64_t> valueInLane(mlir::Value value, unsigned lane,
                                   const RegisterEmitter &emitter);

} // namespace nereid::gpu
