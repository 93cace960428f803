#include "Pool.h"

#include <nereid/launch.h>

#include <algorithm>

using namespace nereid;

namespace {
// What a GPU's memory has to begin at, and the processor's may.
size_t rounded(size_t bytes) { return (bytes + 255) / 256 * 256; }
} // namespace

Pool::Pool(const Device &device, size_t bytes)
    : block(must(Tensor::empty(device, DType::Int8, {int64_t(rounded(bytes))}))) {
  gaps[0] = block.bytes();
}

void *Pool::allocate(size_t bytes, void *) {
  std::lock_guard lock(mutex);
  const size_t wanted = rounded(bytes);
  for (auto gap = gaps.begin(); gap != gaps.end(); ++gap) {
    auto [from, size] = *gap;
    if (size < wanted)
      continue;
    gaps.erase(gap);
    if (size > wanted)
      gaps[from + wanted] = size - wanted;
    counts.current += wanted;
    counts.peak = std::max(counts.peak, counts.current);
    ++counts.pieces;
    return block.data<char>() + from;
  }
  return nullptr;
}

void Pool::free(void *pointer, size_t bytes, void *) {
  std::lock_guard lock(mutex);
  size_t from = size_t(static_cast<char *>(pointer) - block.data<char>()), size = rounded(bytes);
  counts.current -= size;
  auto after = gaps.lower_bound(from);
  if (after != gaps.end() && after->first == from + size) {
    size += after->second;
    after = gaps.erase(after);
  }
  if (after != gaps.begin())
    if (auto before = std::prev(after); before->first + before->second == from) {
      before->second += size;
      return;
    }
  gaps[from] = size;
}

Pool::Use Pool::use() const {
  std::lock_guard lock(mutex);
  return counts;
}
