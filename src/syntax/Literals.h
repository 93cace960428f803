// The values of literal tokens.
#pragma once

#include "syntax/Arena.h"

#include <functional>
#include <optional>
#include <string>

namespace nereid::syntax {

/// What is wrong in a literal: the offset of the culprit in the text given, its length, and words.
struct LiteralError {
  uint32_t offset;
  uint32_t length;
  std::string code;
  std::string message;
  std::string hint;
};

/// The value of a number token as it stands in the source (`1_000`, `0xFF`, `1e-3`, `2j`).
std::optional<LiteralError> parseNumber(std::string_view text, ConstantValue &value, Arena &arena);

/// What the inside of a string stands for, appended to `out`.
struct StringDecoding {
  bool raw = false;
  bool bytes = false;
  bool doubledBraces = false; ///< `{{` and `}}` are one brace (text of an f-string)
};
/// `\N{NAME}` becomes U+FFFD, since the names of Unicode are not known here; `unknownName` gets the
/// offset and length of the last one.
struct UnknownName {
  uint32_t offset = 0, length = 0;
};
std::optional<LiteralError> decodeString(std::string_view text, StringDecoding how,
                                         std::string &out, UnknownName &unknownName);

/// Whether `decodeString` would change anything.
bool needsDecoding(std::string_view text, StringDecoding how);

} // namespace nereid::syntax
