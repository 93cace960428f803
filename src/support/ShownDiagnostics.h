// Diagnostics with the lines that they are about.
#pragma once

#include "nereid/base.h"

namespace nereid::support {

/// Each one rendered with the lines of the files that it names, as those are now; without them
/// where a file cannot be read.
std::vector<std::string> shown(const std::vector<Diagnostic> &diagnostics);

} // namespace nereid::support
