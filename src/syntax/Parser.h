// Text to tree. The whole of Python 3.8 to 3.13 parses, to the tree that CPython's `ast` makes.
//
// What the parser promises about a tree, so that walkers can be plain recursive functions:
//   - no path from the root passes more than about 5,000 nodes (200 levels of brackets with one
//     operator of each strength in them, and 1,000 of what nests without brackets), once these two
//     chains count as one node each, however long they are (walk them with a loop):
//       the left spine of BinOp, Call, Attribute and Subscript (`a + b + c`, `a.b(c).d`), and
//       the `elif` chain of If (an If alone in `orelse`).
//   - every `ctx` is set, and what stands in a Store or Del context can stand there.
// Not checked, as in `ast.parse`: what CPython's compiler finds later (`return` outside a function,
// names repeated among parameters, `break` outside a loop).
// Identifiers are not brought to Unicode normal form NFKC; they are compared byte by byte.
#pragma once

#include "syntax/Ast.h"

#include <string>
#include <vector>

namespace nereid::syntax {

/// How deep statements, expressions, and operators that bind to the right may nest, all together.
/// CPython's own limits are 99 levels of indentation and 200 of brackets; both hold here too.
inline constexpr uint32_t MaxTreeDepth = 1000;
/// Digits of a decimal integer literal; their conversion takes quadratic time.
inline constexpr uint32_t MaxDecimalDigits = 100'000;

struct ParseResult {
  std::shared_ptr<const Module> module; ///< null if and only if there is an error diagnostic
  std::vector<Diagnostic> diagnostics;
};

struct ParseExpressionResult {
  std::shared_ptr<const Module> module; ///< owns the tree; null if there is an error diagnostic
  const Expr *expr = nullptr;
  std::vector<Diagnostic> diagnostics;
};

/// Parses a module. `text` is the bytes of a file: a byte-order mark and an encoding cookie (UTF-8,
/// ASCII, Latin-1) are understood, line ends may be LF, CRLF or CR. `Module::text` holds it as
/// UTF-8 with LF, and without the mark. `firstLine` is the line of the text's first line in its
/// file. `firstColumn` is added to each column: text cut out of an indented place is dedented by
/// that much before it comes here.
ParseResult parseModule(std::string text, std::string file, uint32_t firstLine = 1,
                        uint32_t firstColumn = 0);

/// Parses one expression, as `eval` takes it; also `a, b` and `*a, b`. It may span lines.
ParseExpressionResult parseExpression(std::string text, std::string file, uint32_t firstLine = 1,
                                      uint32_t firstColumn = 0);

} // namespace nereid::syntax
