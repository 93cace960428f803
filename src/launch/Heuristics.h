// `@triton.heuristics` at each launch: constants that are arithmetic of the arguments.
#pragma once

#include "launch/Argument.h"
#include "launch/Signature.h"
#include "support/HostExpression.h"

#include <span>
#include <string>
#include <vector>

namespace nereid::launch {

/// Those of one kernel, in the order in which decorators apply them. A launch allocates and locks
/// nothing.
class Heuristics {
public:
  struct Rule {
    uint32_t parameter = 0;
    /// Bytes of a host expression whose leaves are the parameters; aligned. Empty: only the
    /// evaluator knows.
    std::vector<uint64_t> code;

    std::span<const uint8_t> bytes() const {
      return {reinterpret_cast<const uint8_t *>(code.data()), code.size() * sizeof(uint64_t)};
    }
  };

  bool empty() const { return rules.empty(); }
  std::span<const Rule> all() const { return rules; }
  bool decides(size_t parameter) const;
  /// Fails on bytes that are no expression.
  Status add(uint32_t parameter, std::span<const uint8_t> code);

  /// Gives open arguments their values. The first rule that cannot tell, or null: its argument
  /// stays open, and so do those that follow from it.
  const Rule *fill(std::span<Argument> arguments) const;
  /// Why that is so, for a message.
  std::string whyOpen(const Rule &rule, const Signature &signature,
                      std::span<const Argument> arguments) const;

private:
  std::vector<Rule> rules;
};

} // namespace nereid::launch
