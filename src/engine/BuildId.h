// What identifies this build of the compiler in keys: different code, different id.
#pragma once

#include <string>

namespace nereid::engine {

/// The linker's build id of the binary that holds the compiler.
const std::string &buildId();

} // namespace nereid::engine
