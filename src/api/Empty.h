// What a call says of a handle that holds nothing: default-constructed, or moved from.
#pragma once

#include "nereid/base.h"

namespace nereid {

inline Error emptyHandle(const char *type, const char *maker) {
  return {std::string("this `") + type + "` is empty, default-constructed or moved from: `" +
              maker + "` gives one",
          {}};
}

inline const std::string emptyName;

} // namespace nereid
