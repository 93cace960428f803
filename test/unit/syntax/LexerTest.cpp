#include "syntax/Lexer.h"

#include <gtest/gtest.h>

using namespace nereid;
using namespace nereid::syntax;

namespace {

TokenBuffer lexText(std::string_view text, LexOptions options = {}) {
  static Arena arena; // names outlive the buffer
  static const std::string file = "t.py";
  return lex(text, file, options, arena);
}

std::string kinds(std::string_view text, LexOptions options = {}) {
  std::string out;
  for (const Token &t : lexText(text, options).tokens) {
    std::string_view word = spelling(t.kind);
    switch (t.kind) {
    case TokenKind::EndOfFile:
      word = "eof";
      break;
    case TokenKind::Newline:
      word = "nl";
      break;
    case TokenKind::Indent:
      word = "indent";
      break;
    case TokenKind::Dedent:
      word = "dedent";
      break;
    case TokenKind::Error:
      word = "error";
      break;
    case TokenKind::Name:
      word = "name";
      break;
    case TokenKind::Number:
      word = "number";
      break;
    case TokenKind::String:
      word = "string";
      break;
    case TokenKind::FStringStart:
      word = "f(";
      break;
    case TokenKind::FStringMiddle:
      word = "text";
      break;
    case TokenKind::FStringEnd:
      word = ")f";
      break;
    default:
      break;
    }
    out += out.empty() ? "" : " ";
    out += word;
  }
  return out;
}

TEST(Lexer, Operators) {
  EXPECT_EQ(kinds("a **= b // c -> d := e != f ... . << >>= @= ~g"),
            "name **= name // name -> name := name != name ... . << >>= @= ~ name nl eof");
}

TEST(Lexer, Indentation) {
  EXPECT_EQ(kinds("if a:\n  b\n\n  # c\n  d\ne\n"),
            "if name : nl indent name nl name nl dedent name nl eof");
  EXPECT_EQ(kinds("if a:\n\tb\n\t\\\n  c"), "if name : nl indent name nl name nl dedent eof");
  EXPECT_EQ(kinds("if a:\n  b\n \fc"), "if name : nl indent name nl dedent name nl eof");
}

TEST(Lexer, LinesJoinInBracketsAndAfterBackslashes) {
  EXPECT_EQ(kinds("a = (b,\n  c) \\\n + d"), "name = ( name , name ) + name nl eof");
  EXPECT_EQ(kinds("a\n b\n", {.expression = true}), "name name eof");
}

TEST(Lexer, EmptyTexts) {
  EXPECT_EQ(kinds(""), "eof");
  EXPECT_EQ(kinds("\n \n# c"), "eof");
  EXPECT_EQ(kinds("a"), "name nl eof");
}

TEST(Lexer, Positions) {
  TokenBuffer buffer = lexText("ab = '''x\ny''' + c\n", {.firstLine = 10, .firstColumn = 4});
  const Token &string = buffer.tokens[2];
  EXPECT_EQ(string.kind, TokenKind::String);
  EXPECT_EQ(string.line, 10u);
  EXPECT_EQ(string.column, 9u);
  EXPECT_EQ(string.extra, 11u); // its last line
  const Token &plus = buffer.tokens[3];
  EXPECT_EQ(plus.line, 11u);
  EXPECT_EQ(plus.column, 9u);
}

TEST(Lexer, EqualNamesShareTheirCharacters) {
  TokenBuffer buffer = lexText("alpha + beta * alpha");
  auto name = [&](size_t i) { return buffer.names[buffer.tokens[i].extra]; };
  EXPECT_EQ(name(0), "alpha");
  EXPECT_EQ(name(0).data(), name(4).data());
  EXPECT_NE(name(0).data(), name(2).data());
}

TEST(Lexer, BracketsKnowTheirPartners) {
  TokenBuffer buffer = lexText("f(a[0], {})");
  EXPECT_EQ(buffer.tokens[1].extra, 9u); // ( ... )
  EXPECT_EQ(buffer.tokens[3].extra, 5u); // [ ]
  EXPECT_EQ(buffer.tokens[7].extra, 8u); // { }
  buffer = lexText("f(a[0");
  EXPECT_EQ(buffer.unclosed, (std::vector<uint32_t>{1, 3}));
}

TEST(Lexer, FStrings) {
  EXPECT_EQ(kinds("f'a{b}c'"), "f( text { name } text )f nl eof");
  EXPECT_EQ(kinds("f'{{a}}'"), "f( text )f nl eof");
  EXPECT_EQ(kinds("f'{a:>{w}}'"), "f( { name : text { name } } )f nl eof");
  EXPECT_EQ(kinds("f'{a!r:x}'"), "f( { name ! name : text } )f nl eof");
  EXPECT_EQ(kinds("f'{a != b}'"), "f( { name != name } )f nl eof");
  EXPECT_EQ(kinds("f'{a[b:c]}'"), "f( { name [ name : name ] } )f nl eof");
  EXPECT_EQ(kinds("f'{a:=5}'"), "f( { name : text } )f nl eof");
  EXPECT_EQ(kinds(R"(rf'\{a}' f'\N{X}')"), "f( text { name } )f f( text )f nl eof");
  // PEP 701: the same quotes, line ends and comments inside.
  EXPECT_EQ(kinds("f'{a['b']}'"), "f( { name [ string ] } )f nl eof");
  EXPECT_EQ(kinds("f'{a # c\n}'"), "f( { name } )f nl eof");
  EXPECT_EQ(kinds("f'''{\na}\n'''"), "f( { name } text )f nl eof");
}

TEST(Lexer, KeywordsMayTouchNumbers) {
  EXPECT_EQ(kinds("1if 2else 0xfor x"), "number if number else number or name nl eof");
  EXPECT_EQ(kinds("1_0.5e-3j .5 5. 1..a"), "number number number number . name nl eof");
}

TEST(Lexer, UnicodeNames) {
  EXPECT_EQ(kinds("\xC3\xA9t\xC3\xA9 = \xE5\x80\xA4"), "name = name nl eof");
  TokenBuffer buffer = lexText("a = \xE2\x82\xAC");
  ASSERT_TRUE(buffer.error);
  EXPECT_EQ(buffer.error->message, "character `\xE2\x82\xAC` (U+20AC) is not part of the language");
  EXPECT_EQ(buffer.error->where.begin.column, 4u);
}

} // namespace
