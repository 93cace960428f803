// What `nereid list` says of a pack.
#pragma once

#include "tools/Output.h"

namespace nereid::tools {

/// Whether a file begins as packs do; false if it cannot be read.
bool isPack(const std::string &path);
/// {"kernels": [...]}, and the same as text on stdout where JSON is not asked for.
Result<Json> listPack(const std::string &path, bool asJson);

} // namespace nereid::tools
