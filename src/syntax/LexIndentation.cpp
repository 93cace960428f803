// Indentation and continued lines.
#include "syntax/LexerImpl.h"

namespace nereid::syntax {

// Skips blank lines, then compares the indentation of a line with that of the block around it.
// False at the end of the text.
bool Lexer::lexIndentation() {
  Indentation now, continued;
  for (;;) {
    if (p == end)
      return false;
    char c = *p;
    if (c == ' ') {
      ++now.columns;
      ++now.spaces;
      ++p;
    } else if (c == '\t') {
      now.columns = (now.columns / 8 + 1) * 8;
      ++now.spaces;
      ++p;
    } else if (c == '\f') {
      now = {};
      ++p;
    } else if (c == '#') {
      skipComment();
    } else if (c == '\n') {
      nextLine(++p);
      now = continued = {};
    } else if (c == '\\') {
      // A continued indentation is that of its first line.
      if (!continued.columns)
        continued = now;
      lexContinuation();
    } else {
      break;
    }
  }
  if (continued.columns)
    now = continued;

  Indentation &top = indents.back();
  if (now.columns == top.columns) {
    if (now.spaces != top.spaces)
      failTabs();
    return true;
  }
  if (now.columns > top.columns) {
    if (now.spaces <= top.spaces)
      failTabs();
    if (indents.size() >= MaxIndents)
      fail("NestedTooDeep", "more than 99 levels of indentation", range(p, p + 1),
           "move the inner part into a function");
    indents.push_back(now);
    emit(TokenKind::Indent, p, p);
    return true;
  }
  while (indents.size() > 1 && now.columns < indents.back().columns) {
    indents.pop_back();
    emit(TokenKind::Dedent, p, p);
  }
  if (now.columns != indents.back().columns) {
    std::string seen = std::to_string(now.columns);
    fail("BadIndent", "indentation of " + seen + " columns does not match any outer block",
         range(p, p + 1),
         "the enclosing block is indented by " + std::to_string(indents.back().columns) +
             " columns");
  }
  if (now.spaces != indents.back().spaces)
    failTabs();
  return true;
}

void Lexer::failTabs() {
  fail("TabsAndSpaces", "indentation mixes tabs and spaces in a way that depends on the tab width",
       range(lineStart, p), "indent with spaces only");
}

void Lexer::lexContinuation() {
  const char *slash = p++;
  if (p == end)
    fail("InvalidSyntax", "unexpected end of file after a line continuation `\\`",
         range(slash, slash + 1));
  if (*p != '\n')
    fail("InvalidSyntax", "unexpected character after a line continuation `\\`", range(p, p + 1),
         "nothing may follow the `\\`, not even a space");
  nextLine(++p);
  if (p == end)
    fail("InvalidSyntax", "unexpected end of file after a line continuation `\\`", range(p, p));
}

} // namespace nereid::syntax
