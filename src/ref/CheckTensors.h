// Where in a tensor an offset lies, in the tensor's own terms.
#pragma once

#include "ref/Machine.h"

namespace nereid::ref {

/// The index of an element by the tensor's shape and strides.
struct ElementIndex {
  std::vector<int64_t> index; ///< one entry a dimension; empty when the strides tell none
  bool inside = true;         ///< false: the offset lies between or beyond the tensor's elements
};

/// `offset` is in elements from the tensor's lowest one.
ElementIndex elementAt(const MemoryRange &range, int64_t offset);
/// True if bytes of the range lie between elements of the tensor, as in a slice of columns.
bool hasGaps(const MemoryRange &range);
/// "element (5, 0)"; `offset` is in bytes from the region's begin and may lie outside of it.
std::string elementText(const Memory::Region &region, int64_t offset);
/// "element (5, 0) of `x`"
std::string elementOfText(const Memory::Region &region, int64_t offset);

} // namespace nereid::ref
