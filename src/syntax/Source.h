// Bytes of a file to text that the lexer takes: encoding, byte-order mark, line ends.
#pragma once

#include "nereid/base.h"

#include <optional>
#include <string>

namespace nereid::syntax {

/// Makes `text` valid UTF-8 with LF line ends, no byte-order mark and no NUL, or says why it can't.
std::optional<Diagnostic> decodeSource(std::string &text, const std::string &file,
                                       uint32_t firstLine);

/// Decodes the code point at `p`, which starts valid UTF-8, and moves `p` past it.
uint32_t decodeUtf8(const char *&p);
/// Appends a code point; a surrogate becomes three bytes too (WTF-8).
void appendUtf8(std::string &out, uint32_t codePoint);

} // namespace nereid::syntax
