// nereid bench --search: sweeps shapes and configurations of kernel folders, best per shape.
#pragma once

#include "tools/BenchPage.h"
#include "tools/FolderRows.h"

namespace nereid::tools {

struct SearchWords {
  std::vector<std::string> axes; ///< as engine/Search.h reads them
  std::string where;
  /// A file with one row a line: rows that it has are not measured again, new ones are added as
  /// they come. Empty: none.
  std::string output;
  /// Cases of at most so many operations are compared with the reference.
  double compareUpTo = 2e9;
};

int runSearch(const FolderWords &folders, const SearchWords &words,
              engine::FolderRunOptions options, const BenchFiles &files, Attempts &attempts);

} // namespace nereid::tools
