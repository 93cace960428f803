#include "support/HostMemory.h"

#include <algorithm>
#include <cstdlib>
#include <sys/mman.h>

namespace nereid::support {

void *allocateHost(size_t bytes, size_t alignment) {
  constexpr size_t hugePage = size_t(2) << 20;
  bool large = bytes >= 2 * hugePage;
  void *memory = nullptr;
  if (posix_memalign(&memory, std::max({alignment, sizeof(void *), large ? hugePage : 1}),
                     std::max<size_t>(bytes, 1)) != 0)
    return nullptr;
  if (large) // a wish: where it is not granted, speed alone is lost
    madvise(memory, bytes & ~(hugePage - 1), MADV_HUGEPAGE);
  return memory;
}

} // namespace nereid::support
