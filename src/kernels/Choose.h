// Which variant and configuration a call takes.
#pragma once

#include "engine/TuningFile.h"
#include "kernels/Call.h"

#include <map>

namespace nereid::kernels {

/// A measured configuration of one operation.
struct Measured {
  const Variant *variant;
  std::string target, device;
  std::vector<std::pair<char, double>> sizes; ///< letter, log2(size + 1)
  std::vector<std::pair<std::string, support::Constant>> flags;
  std::vector<std::pair<std::string_view, int64_t>> config; ///< names are literals
  double seconds;
  std::string text; ///< "M=4096 N=1024"
};

struct Chosen {
  const Variant *variant;
  Config config;
  const Measured *measured = nullptr; ///< null: by the variant's rule
  double distance = 0;                ///< of `measured`, 0 for its own shape
};

/// The measured configurations of all operations.
class Tables {
public:
  /// Adds what a folder's tuning file has. Rows that this version has no variant for, or whose
  /// constants are not the variant's, are left out.
  void add(std::string_view folder, const engine::TuningFile &file);

  Result<Chosen> choose(const Bound &bound, const Device &device) const;

private:
  std::map<Operation, std::vector<Measured>> rows;
};

} // namespace nereid::kernels
