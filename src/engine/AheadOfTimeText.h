// Pieces of the C headers that go with kernels built ahead of time.
#pragma once

#include "support/Artifact.h"

#include <string>
#include <utility>
#include <vector>

namespace nereid::engine {

/// The parameters of a launch in C, all slots together.
struct ParameterText {
  std::string fields;      ///< of a structure that is the packed block
  std::string parameters;  ///< ", const float * x, int32_t n"
  std::string assignments; ///< statements that put them into `block`
  std::string given;       ///< ", x, n"
  std::string checks;      ///< statements that return `unaligned` where a promise is broken
  std::string places;      ///< "&block.x, &block.n, ": where each slot begins
};
ParameterText parametersOf(const support::Artifact &artifact, const std::string &prefix,
                           const std::string &unaligned);

/// The signature, and what was compiled in, as text for comments.
std::string signatureOf(const support::Artifact &artifact);
std::string constantsOf(const support::Artifact &artifact);

/// "pair[0].scale" as a name of C.
std::string nameInC(std::string_view name);
/// What the slots are called as parameters of the functions that begin with `prefix`, each
/// differently: a name that the headers, C or C++ keep for themselves has a `_` more ("count" is
/// "count_").
std::vector<std::string> parametersInC(const support::Artifact &artifact,
                                       const std::string &prefix);
/// Text of the user in a C comment.
std::string inComment(std::string text);
std::string upperCase(std::string text);
/// `text` with each $KEY replaced; of keys that begin alike the later one wins.
std::string replaced(std::string_view text,
                     const std::vector<std::pair<std::string_view, std::string>> &values);

/// Fails if C names cannot begin with `name`.
Status checkPrefix(const std::string &name);

} // namespace nereid::engine
