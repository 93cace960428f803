// Any bytes as a .npy file: a header or an error; what the header promises lies inside the file.
#include "support/Npy.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto header = nereid::support::readNpyHeader({data, size});
  if (!header.ok())
    return 0;
  unsigned __int128 bytes = nereid::info(header->dtype).bytes;
  for (int64_t extent : header->shape) {
    if (extent < 0)
      std::abort();
    bytes *= static_cast<uint64_t>(extent);
  }
  if (header->dataOffset > size || bytes > size - header->dataOffset)
    std::abort();
  return 0;
}
