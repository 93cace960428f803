#include "emit/SourceUnit.h"

namespace nereid::emit {

std::string moduleName(const SourceUnit &unit) {
  if (!unit.module.empty())
    return unit.module;
  std::string name = unit.file.substr(unit.file.rfind('/') + 1);
  size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

} // namespace nereid::emit
