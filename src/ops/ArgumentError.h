// A value that a parameter does not take.
#pragma once

#include "ops/Table.h"

namespace nereid::ops {

/// The message begins with the quoted parameter; whoever knows the call says of what it is one.
struct ArgumentError : OpError {
  ArgumentError(OpError error, std::string_view parameter)
      : OpError(std::move(error)), parameter(parameter) {}

  /// "`end` must be ..." => "`end` of `tl.arange` must be ..."
  void of(const Row &row) {
    std::string name = spelling(row);
    if (name.starts_with("x.")) // a method of whatever the program calls its tile
      name.erase(0, 1);
    message.insert(parameter.size() + 2, " of `" + name + "`");
  }

  std::string parameter;
};

} // namespace nereid::ops
