// Takes the mark of `tl.constexpr(...)` off values where they stand.
#pragma once

#include "emit/Objects.h"

#include <vector>

namespace nereid::emit {

inline void unbox(Value &value) {
  value = Value(unboxed(value)); // a copy first: the value may be the last to hold its box
}
inline void unbox(std::vector<Value> &values) {
  for (Value &value : values)
    unbox(value);
}

} // namespace nereid::emit
