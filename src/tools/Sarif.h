// Diagnostics for services that show them beside a change: SARIF 2.1.0, the Static Analysis Results
// Interchange Format of OASIS.
#pragma once

#include "tools/Output.h"

namespace nereid::tools {

/// What one run of the command said.
struct SarifLog {
  std::vector<Diagnostic> results;
  std::vector<std::string> failures; ///< what has no place in a source
  bool isDone = true;                ///< the command did what it was asked to
};

/// A log of one run.
Json sarif(const SarifLog &log);

} // namespace nereid::tools
