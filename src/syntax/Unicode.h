// What Python asks of code points beyond ASCII.
#pragma once

#include <cstdint>

namespace nereid::syntax {

/// Can start or continue an identifier (XID_Start, XID_Continue and `_`).
bool isIdentifierStart(uint32_t codePoint);
bool isIdentifierContinue(uint32_t codePoint);
/// `repr` shows it as it is.
bool isPrintable(uint32_t codePoint);

} // namespace nereid::syntax
