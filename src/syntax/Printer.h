// Tree to text: as source that parses to the same tree, and as CPython's `ast.dump` prints it.
#pragma once

#include "syntax/Ast.h"

#include <string>

namespace nereid::syntax {

/// Source text. Parsing it gives a tree that differs in positions only. An expression stands on one
/// line. F-strings may need Python 3.12 to be read (quotes of the same kind inside).
std::string print(const Expr &expr);
std::string print(const Stmt &stmt);
std::string print(const Pattern &pattern);
std::string print(const Module &module);

struct DumpOptions {
  bool positions = true;
  /// Prints 0 for the positions of all that is in an f-string and of itself; CPython's differ
  /// between 3.11 and 3.12 there.
  bool looseFStrings = false;
  /// Escapes all that is not ASCII; what `repr` shows plainly differs between versions of Unicode.
  bool ascii = false;
};

/// The text of `ast.dump(tree, include_attributes=True)` of CPython 3.11. Fields that came
/// with 3.12 and 3.13 are printed if they are not empty. Integers of more than 20,000 bits are in
/// hexadecimal.
std::string dump(const Module &module, DumpOptions options = {});
std::string dump(const Expr &expr, DumpOptions options = {});

/// As Python's `repr` shows them.
std::string reprString(std::string_view text, bool bytes = false, bool ascii = false);
std::string reprFloat(double value);
std::string reprImaginary(double value);
/// An integer given in hexadecimal digits (`ConstantValue::text`), in decimal.
std::string decimalDigits(std::string_view hex);

} // namespace nereid::syntax
