#pragma once

#include <cstddef>

namespace nereid::support {

/// Memory of `bytes` bytes for tensors, aligned to `alignment` (a power of two) or more; null where
/// there is none. Given back by `std::free`. Large blocks ask for huge pages: a first touch of
/// fresh memory costs a fault a page, and streams through small pages miss the TLB.
void *allocateHost(size_t bytes, size_t alignment);

} // namespace nereid::support
