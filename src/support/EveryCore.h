// Work that is a number of independent parts.
#pragma once

#include <cstddef>
#include <functional>

namespace nereid::support {

/// Calls `part` with each number below `count`, on as many threads as the machine has cores, this
/// one among them, and returns when all are done. Parts are begun in order; once one has thrown, no
/// other is begun, and what it threw is thrown here.
void onEveryCore(size_t count, const std::function<void(size_t)> &part);

} // namespace nereid::support
