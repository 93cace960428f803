// `@triton.heuristics` at each launch: constants that functions compute from the arguments.
#pragma once

#include "emit/Program.h"
#include "engine/ExpressionReader.h"
#include "launch/Argument.h"
#include "launch/Signature.h"
#include "support/HostExpression.h"

#include <span>
#include <string>
#include <vector>

namespace nereid::engine {

/// Those of one kernel. Functions that are arithmetic of the arguments become host expressions, so
/// that a launch allocates and locks nothing; others are left to the evaluator.
class Heuristics {
public:
  Heuristics() = default;
  /// The caller holds the program's evaluator.
  static Result<Heuristics> of(emit::Program &program, const launch::Signature &signature);

  bool empty() const { return rules.empty(); }
  bool decides(size_t parameter) const;
  /// Gives open arguments their values, in the order in which decorators do. False if some need the
  /// evaluator: these stay open, and what depends on them.
  bool fill(std::span<launch::Argument> arguments) const;

private:
  struct Rule {
    size_t parameter = 0;
    std::vector<uint64_t> code; ///< bytes of the expression, aligned; empty: the evaluator's
    std::vector<ExpressionReader::Asked> asked;
  };
  std::vector<Rule> rules;
};

} // namespace nereid::engine
