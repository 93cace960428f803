// What a search sweeps: axes over the shapes of a kernel folder's cases and over its variants'
// configurations, and which combinations it leaves out.
#pragma once

#include "engine/KernelFolder.h"

#include <functional>

namespace nereid::engine {

/// Names that take the same value together, and the values they take in turn.
struct SearchAxis {
  std::string text; ///< as it was given
  std::vector<std::string> names;
  std::vector<ops::Value> values;
};

/// "M=1024:8192:*2", "M=N=K=512,1024", "dtype=f16,bf16", "BLOCK_M=32:128:32,256". A range holds its
/// end where it meets it; words that are no number, True, False or None are text.
Result<SearchAxis> parseSearchAxis(const std::string &text);

struct SearchSpace {
  std::vector<SearchAxis> axes;
  /// A Python expression over the bindings of a case, the names of a configuration and the spec's
  /// own; combinations for which it is false are left out. Empty: all are taken.
  std::string where;

  bool empty() const { return axes.empty() && where.empty(); }
};

/// A folder's tasks as a search sees them.
class Search {
public:
  /// Fails if an axis names nothing that a case or a configuration of the folder has. `wanted` says
  /// which variants take part.
  static Result<Search>
  make(KernelFolder &folder, const SearchSpace &space, std::string_view set,
       const std::function<bool(const std::string &task, const FolderVariant &variant)> &wanted);

  /// The set's cases with every combination of the axes that name bindings of theirs; each once.
  std::vector<FolderCase> cases(const std::string &task) const;
  /// The same of a variant's configurations.
  std::vector<emit::Keywords> configs(const std::string &task, const FolderVariant &variant) const;
  /// Whether `where` holds.
  Result<bool> takes(const FolderCase &which, const emit::Keywords &config) const;

private:
  Search(KernelFolder &folder, const SearchSpace &space) : folder(folder), space(space) {}

  struct Task {
    std::vector<FolderCase> cases; ///< before the sweep
    std::vector<std::string> names;
  };

  KernelFolder &folder;
  const SearchSpace &space;
  std::map<std::string, Task> tasks;
};

} // namespace nereid::engine
