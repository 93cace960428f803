// Shorthands of the tests of this room.
#pragma once

#include "syntax/Parser.h"
#include "syntax/Printer.h"

#include <gtest/gtest.h>

namespace nereid::syntax {

/// The tree of a text, which must parse.
inline std::shared_ptr<const Module> parsed(const std::string &text) {
  ParseResult result = parseModule(text, "t.py");
  EXPECT_TRUE(result.module) << text << "\n"
                             << (result.diagnostics.empty()
                                     ? ""
                                     : render(result.diagnostics[0], {{"t.py", text}}));
  EXPECT_TRUE(result.diagnostics.empty()) << text;
  return result.module ? result.module : std::make_shared<const Module>();
}

/// The tree of a module, without positions.
inline std::string tree(const std::string &text) {
  return dump(*parsed(text), {.positions = false});
}

/// The tree of one expression, without positions.
inline std::string exprTree(const std::string &text) {
  ParseExpressionResult result = parseExpression(text, "t.py");
  if (!result.expr)
    return "error: " + result.diagnostics.at(0).message;
  return dump(*result.expr, {.positions = false});
}

/// The error of a text, which must not parse: "line:column: message [Code]".
inline std::string errorOf(const std::string &text) {
  ParseResult result = parseModule(text, "t.py");
  EXPECT_FALSE(result.module) << text;
  if (result.module || result.diagnostics.size() != 1)
    return "no error";
  const Diagnostic &diagnostic = result.diagnostics[0];
  return std::to_string(diagnostic.where.begin.line) + ":" +
         std::to_string(diagnostic.where.begin.column) + ": " + diagnostic.message + " [" +
         diagnostic.code + "]";
}

/// Parsing what is printed gives the tree that was printed. Returns the print.
inline std::string roundTrip(const std::string &text) {
  auto module = parsed(text);
  std::string printed = print(*module);
  EXPECT_EQ(dump(*parsed(printed), {.positions = false}), dump(*module, {.positions = false}))
      << text << "\nprinted as\n"
      << printed;
  return printed;
}

} // namespace nereid::syntax
