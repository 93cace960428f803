#include "ref/CheckTensors.h"

#include <algorithm>
#include <numeric>

namespace nereid::ref {

// Dimensions by falling stride. Nothing if an offset does not tell the index: strides that are
// negative, or rows that overlap.
static std::optional<std::vector<size_t>> dimensionsByStride(const MemoryRange &range) {
  if (range.shape.empty() || range.strides.size() != range.shape.size())
    return {};
  std::vector<size_t> order;
  for (size_t d = 0; d < range.shape.size(); ++d) {
    if (range.shape[d] == 1)
      continue;
    if (range.shape[d] < 1 || range.strides[d] <= 0)
      return {};
    order.push_back(d);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(-range.strides[a], a) < std::pair(-range.strides[b], b);
  });
  int64_t reach = 1; // elements that the dimensions so far span
  for (size_t k = order.size(); k-- > 0;) {
    if (range.strides[order[k]] < reach)
      return {};
    reach = (range.shape[order[k]] - 1) * range.strides[order[k]] + reach;
  }
  return order;
}

ElementIndex elementAt(const MemoryRange &range, int64_t offset) {
  ElementIndex at;
  auto order = dimensionsByStride(range);
  if (!order)
    return at;
  at.index.assign(range.shape.size(), 0);
  at.inside = offset >= 0;
  for (size_t d : *order) {
    int64_t stride = range.strides[d];
    int64_t index = offset >= 0 ? offset / stride : -((-offset + stride - 1) / stride);
    at.index[d] = index;
    offset -= index * stride;
    at.inside &= index >= 0 && index < range.shape[d];
  }
  at.inside &= offset == 0;
  return at;
}

bool hasGaps(const MemoryRange &range) {
  auto order = dimensionsByStride(range);
  if (!order || !range.dtype)
    return false;
  int64_t count = 1;
  for (int64_t extent : range.shape)
    count *= extent;
  return count > 0 && uint64_t(count) * info(*range.dtype).bytes < range.bytes;
}

std::string elementText(const Memory::Region &region, int64_t offset) {
  const MemoryRange &range = region.range;
  int64_t size = range.dtype ? region.elementBytes : 1;
  int64_t at = offset >= 0 ? offset / size : -((-offset + size - 1) / size);
  std::string text = range.dtype ? "element " : "byte ";
  ElementIndex element = range.dtype ? elementAt(range, at) : ElementIndex();
  if (element.index.size() < 2) {
    text += std::to_string(at);
  } else {
    for (size_t d = 0; d < element.index.size(); ++d)
      text += (d ? ", " : "(") + std::to_string(element.index[d]);
    text += ")";
  }
  return text;
}

std::string elementOfText(const Memory::Region &region, int64_t offset) {
  return elementText(region, offset) + " of `" + region.range.name + "`";
}

} // namespace nereid::ref
