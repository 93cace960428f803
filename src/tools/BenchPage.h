// Rows of `nereid bench` as a page of plots and as CSV.
#pragma once

#include "tools/Output.h"

namespace nereid::tools {

/// One page with rooflines, scaling with size and all rows, drawn as SVG: it needs no script and no
/// network, and follows the reader's choice of dark or light. `rows` are those of `--json`.
std::string benchPage(const Json &rows);

struct PlotWords {
  std::string axes = "bytes_moved:seconds"; ///< X:Y, columns of rows or names of their cases
  std::vector<std::string> by = {"variant", "dtype"}; ///< what makes rows of one line
  std::string title;
  bool peers = false; ///< draw theirs beside
};
/// The files that a run leaves; those without a name are not written.
struct BenchFiles {
  std::string html, csv, plot;
  PlotWords words;
};
/// `machines` say on what the rows were measured, for the plot's note.
Status writeFiles(const BenchFiles &files, const Json &rows, const Json &machines);
/// What `machineJson` says of each device of the rows.
Json machinesOf(const Json &rows);

/// One plot on logarithmic axes as an SVG file that needs nothing else.
Result<std::string> benchPlot(const Json &rows, const PlotWords &words, const std::string &note);

/// The same rows as comma-separated values, the first line names the columns.
std::string benchCsv(const Json &rows);

} // namespace nereid::tools
