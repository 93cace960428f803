// Rows of `test` and `bench` as they are printed.
#pragma once

#include "engine/FolderRun.h"
#include "tools/Output.h"

namespace nereid::tools {

/// The row of the contract (design, section 9); null where a figure does not apply.
Json rowJson(const engine::FolderRow &row);

/// By a `printf` format for a double; "-" for none.
std::string numberText(const std::optional<double> &value, const char *format);

} // namespace nereid::tools
