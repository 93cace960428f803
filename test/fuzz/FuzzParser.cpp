// Any bytes: a tree or one error. A tree prints to source of the same tree.
#include "syntax/Parser.h"
#include "syntax/Printer.h"

#include "TokenMutator.h"

#include <cstdio>
#include <cstdlib>

using namespace nereid;
using namespace nereid::syntax;

static void fail(const char *what, const std::string &text) {
  std::fprintf(stderr, "%s:\n%s\n", what, text.c_str());
  std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  ParseExpressionResult expression = parseExpression(text, "fuzz.py");
  if (expression.expr)
    print(*expression.expr);

  ParseResult result = parseModule(text, "fuzz.py");
  for (const Diagnostic &diagnostic : result.diagnostics)
    render(diagnostic, {{"fuzz.py", text}});
  if (!result.module) {
    if (result.diagnostics.empty())
      fail("neither a tree nor an error", text);
    return 0;
  }
  // Names of characters stand for U+FFFD, which prints as itself; all else comes back.
  std::string printed = print(*result.module);
  ParseResult again = parseModule(printed, "fuzz.py");
  if (!again.module) {
    // The printer adds parentheses, so only nesting may get worse.
    if (again.diagnostics[0].code != "NestedTooDeep")
      fail("the print does not parse", printed);
    return 0;
  }
  if (dump(*again.module, {.positions = false}) != dump(*result.module, {.positions = false}))
    fail("the print has another tree", printed);
  return 0;
}
