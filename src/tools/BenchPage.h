// Rows of `nereid bench` as a page of plots and as CSV.
#pragma once

#include "tools/Output.h"

namespace nereid::tools {

/// One page with rooflines, scaling with size and all rows, drawn as SVG: it needs no script and no
/// network, and follows the reader's choice of dark or light. `rows` are those of `--json`.
std::string benchPage(const Json &rows);

/// The same rows as comma-separated values, the first line names the columns.
std::string benchCsv(const Json &rows);

} // namespace nereid::tools
