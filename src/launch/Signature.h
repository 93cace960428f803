// What the launch path knows of a kernel before any of it is compiled: its parameters.
#pragma once

#include "nereid/base.h"

#include <optional>
#include <string>
#include <vector>

namespace nereid::launch {

struct Parameter {
  std::string name;
  bool isConstexpr = false;
  bool isConst = false;                    ///< annotated `tl.const`: its pointee is not written
  bool doNotSpecialize = false;            ///< neither ==1 nor alignment enter the key
  bool doNotSpecializeOnAlignment = false; ///< alignment does not
  std::optional<DType> annotated = {};     ///< `x: tl.int64`: this type, whatever the value
};

struct Signature {
  std::string name;
  std::vector<Parameter> parameters;
};

} // namespace nereid::launch
