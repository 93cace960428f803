// Whatever comes in, out comes a tree or one error, in bounded time and stack.
#include "TestSupport.h"

#include "support/DiagnosticCodes.h"

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

using namespace nereid;
using namespace nereid::syntax;

namespace {

std::string repeat(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i)
    out += text;
  return out;
}

// A tree or a registered error; returns whether it is a tree.
bool survives(const std::string &text) {
  ParseResult result = parseModule(text, "t.py");
  if (result.module) {
    print(*result.module);
    return true;
  }
  EXPECT_EQ(result.diagnostics.size(), 1u);
  for (const Diagnostic &diagnostic : result.diagnostics) {
    EXPECT_TRUE(isDiagnosticCode(diagnostic.code)) << diagnostic.code;
    EXPECT_FALSE(diagnostic.message.empty());
    EXPECT_NE(diagnostic.message.back(), '.');
    EXPECT_TRUE(diagnostic.where.begin.valid());
    render(diagnostic, {{"t.py", text}});
  }
  return false;
}

const char sample[] = R"(# -*- coding: utf-8 -*-
import triton, triton.language as tl
from .a import (b, c as d,)

@triton.autotune(configs=[triton.Config({'BLOCK': 2 ** i}, num_warps=4) for i in range(4, 8)], key=['n'])
@triton.jit
def kernel(x_ptr, n, /, *args: *Ts, BLOCK: tl.constexpr = 0x1_0, **kw) -> "int":
    """Doc\x41 \
    string"""
    pid = tl.program_id(0); offs = pid * BLOCK + tl.arange(0, BLOCK)[:, None]
    for k in tl.static_range(0, n, 1):
        if k % 2 == 0 and not (k >= 1e3 or k is None):
            acc += tl.dot(a, b.T, acc=acc) @ c[::2, ...] if x else -y ** ~z
        elif (m := k) in {1, 2, *s} or {**a, 'b': lambda *a, b=1: (yield a)}:
            print(f"{pid!r:>{w}} {x = } {f'{y}'} {{}}", rb'\x', u'\u00e9' 'é')
        else:
            del a, b[0]
    try:
        with (open(x) as f, g): return await h
    except* (A, B) as e:
        raise e from None
    finally:
        match x, y:
            case [1, -2.5 + 1j, *_] | {"k": P(q=Q.r), **rest} if z: pass
type X[T: int, *Us, **P] = list[T]
)";

TEST(BadInput, NestingIsBounded) {
  EXPECT_EQ(errorOf(repeat("(", 10'000) + repeat(")", 10'000)),
            "1:200: brackets nested more than 200 deep [NestedTooDeep]");
  EXPECT_EQ(errorOf(repeat("f'{", 300) + "1" + repeat("}'", 300)),
            "1:300: brackets nested more than 200 deep [NestedTooDeep]");
  for (const char *chain : {"-", "not ", "lambda: ", "1 if 2 else ", "a ** ", "a ** -"})
    EXPECT_NE(errorOf("x = " + repeat(chain, 10'000) + "1").find("nested more than 1000 deep"),
              std::string::npos)
        << chain;
  std::string deep;
  for (int i = 0; i < 120; ++i)
    deep += std::string(i, ' ') + "if a:\n";
  EXPECT_EQ(errorOf(deep), "101:100: more than 99 levels of indentation [NestedTooDeep]");
}

TEST(BadInput, WhatCPythonNestsIsAccepted) {
  parsed(repeat("(", 200) + "1" + repeat(")", 200));
  parsed("x = " + repeat("-", 900) + "1");
  std::string deep;
  for (int i = 0; i < 99; ++i)
    deep += std::string(i, ' ') + "if a:\n";
  parsed(deep + std::string(99, ' ') + "pass\n");
}

TEST(BadInput, LongIsNotDeep) {
  parsed("x = 1" + repeat(" + 1", 100'000));
  parsed("x = a" + repeat(".b", 100'000));
  parsed("x = a" + repeat("()", 100'000));
  parsed("x = 1" + repeat(" and 1", 100'000));
  parsed("x = 1" + repeat(" < 1", 100'000));
  parsed("if a: b\n" + repeat("elif a: b\n", 50'000));
  parsed("x = [" + repeat("1, ", 300'000) + "]"); // a line of 1 MB
  parsed("x = (" + repeat("'a' ", 250'000) + ")");
  parsed(std::string(1'000'000, 'x') + " = 1");
  parsed(repeat("match(a)\n", 50'000));
  parsed(repeat("@a\n", 50'000) + "def f(): pass");
}

TEST(BadInput, EveryPrefixOfAFile) {
  std::string text = sample;
  ASSERT_TRUE(survives(text));
  for (size_t i = 0; i < text.size(); ++i)
    survives(text.substr(0, i));
}

TEST(BadInput, EverySuffixOfAFile) {
  std::string text = sample;
  for (size_t i = 0; i < text.size(); ++i)
    survives(text.substr(i));
}

TEST(BadInput, DamagedBytes) {
  std::string text = sample;
  uint32_t seed = 20240601;
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = text;
    for (int i = 0; i < 1 + round % 4; ++i) {
      size_t at = random() % damaged.size();
      switch (random() % 3) {
      case 0:
        damaged[at] = char(random());
        break;
      case 1:
        damaged.erase(at, random() % 8);
        break;
      default:
        damaged.insert(at, text.substr(random() % text.size(), random() % 12));
      }
    }
    survives(damaged);
  }
}

TEST(BadInput, Binary) {
  std::mt19937 random(7);
  std::string bytes(200'000, 0);
  for (char &c : bytes)
    c = char(random());
  EXPECT_FALSE(survives(bytes));
  for (char &c : bytes)
    c = char(32 + random() % 95);
  EXPECT_FALSE(survives(bytes));
  EXPECT_EQ(errorOf(std::string("a\0b", 3)),
            "1:1: the source contains a null byte [InvalidEncoding]");
  for (const std::string &utf16 : {std::string("\xff\xfei\0", 4), std::string("\xfe\xff\0i", 4)})
    EXPECT_EQ(errorOf(utf16), "1:0: the source is UTF-16 [InvalidEncoding]");
  EXPECT_EQ(errorOf("a = \x01"), "1:4: control character U+0001 in the source [InvalidCharacter]");
  EXPECT_EQ(errorOf("\x7F"
                    "ELF"),
            "1:0: control character U+007F in the source [InvalidCharacter]");
}

// --- places of errors ---

TEST(Errors, Brackets) {
  EXPECT_EQ(errorOf("x = (1, 2]"), "1:9: `]` does not close `(` [MismatchedBracket]");
  EXPECT_EQ(errorOf("x = 1)"), "1:5: `)` closes nothing [MismatchedBracket]");
  EXPECT_EQ(errorOf("def f(a, b:\n  return a\n"), "1:5: `(` is never closed [UnclosedBracket]");
  EXPECT_EQ(errorOf("x = [1, 2\n"), "1:4: `[` is never closed [UnclosedBracket]");
  EXPECT_EQ(errorOf("x = {'a': [1,\ny = 2\n"), "1:10: `[` is never closed [UnclosedBracket]");
}

TEST(Errors, Blocks) {
  EXPECT_EQ(errorOf("if x\n  y\n"), "1:4: expected `:` after `if` [MissingColon]");
  EXPECT_EQ(errorOf("if x y: z"), "1:5: expected `:` after `if`, not `y` [InvalidSyntax]");
  EXPECT_EQ(errorOf("if x:\ny"), "2:0: expected an indented block after `if` [MissingIndent]");
  EXPECT_EQ(errorOf("def f():"),
            "1:8: expected an indented block after the head of a function [MissingIndent]");
  EXPECT_EQ(errorOf("x = 1\n  y = 2"), "2:2: unexpected indentation [BadIndent]");
  EXPECT_EQ(errorOf("if x:\n    y\n  z"),
            "3:2: indentation of 2 columns does not match any outer block [BadIndent]");
  EXPECT_EQ(errorOf("if x:\n\ty\n        z"), "3:0: indentation mixes tabs and spaces in a way "
                                              "that depends on the tab width [TabsAndSpaces]");
  EXPECT_EQ(errorOf("else: x"), "1:0: `else` has no statement to belong to [InvalidSyntax]");
  EXPECT_EQ(errorOf("if x: y\nelse if z: w"), "2:0: `else if` is not a branch [InvalidSyntax]");
  EXPECT_EQ(
      errorOf("try: x\ny"),
      "2:0: expected `except` or `finally` after the block of `try`, not `y` [InvalidSyntax]");
}

TEST(Errors, Targets) {
  EXPECT_EQ(errorOf("f(x) = 1"), "1:0: cannot assign to a function call [InvalidTarget]");
  EXPECT_EQ(errorOf("a, b + c = 1"), "1:3: cannot assign to an expression [InvalidTarget]");
  EXPECT_EQ(errorOf("None = 1"), "1:0: cannot assign to `None` [InvalidTarget]");
  EXPECT_EQ(errorOf("a, b += 1"), "1:0: a tuple cannot be the target of `+=` [InvalidTarget]");
  EXPECT_EQ(errorOf("for 1 in x: y"), "1:4: cannot assign to a literal [InvalidTarget]");
  EXPECT_EQ(errorOf("[x for f() in y]"), "1:7: cannot assign to a function call [InvalidTarget]");
  EXPECT_EQ(errorOf("with a as b + c: d"), "1:10: cannot assign to an expression [InvalidTarget]");
  EXPECT_EQ(errorOf("del f()"), "1:4: cannot delete a function call [InvalidTarget]");
  EXPECT_EQ(errorOf("(a.b := 1)"),
            "1:1: `:=` can only bind a name, not an attribute [InvalidTarget]");
  EXPECT_EQ(errorOf("(a, b): int = 1"),
            "1:0: only a single target can be annotated, not a tuple [InvalidTarget]");
}

TEST(Errors, Arguments) {
  EXPECT_EQ(errorOf("f(a=1, b)"),
            "1:7: a positional argument follows a keyword argument [BadArgument]");
  EXPECT_EQ(errorOf("f(**a, *b)"),
            "1:7: `*` cannot follow `**` among the arguments of a call [BadArgument]");
  EXPECT_EQ(errorOf("f(a for a in b, c)"),
            "1:2: a generator expression among arguments needs parentheses [BadArgument]");
  EXPECT_EQ(errorOf("f(a.b=1)"),
            "1:2: the name of a keyword argument cannot be an attribute [BadArgument]");
  EXPECT_EQ(errorOf("f(a b)"), "1:4: expected `,` or `)` before `b` [MissingComma]");
  EXPECT_EQ(errorOf("def f(a=1, b): c"),
            "1:11: parameter `b` has no default but follows one that has [BadParameter]");
  EXPECT_EQ(errorOf("def f(*): c"), "1:6: no parameter follows the `*` [BadParameter]");
  EXPECT_EQ(errorOf("def f(/, a): c"), "1:6: `/` needs a parameter before it [BadParameter]");
  EXPECT_EQ(errorOf("def f(a, a.b): c"),
            "1:10: expected `)` or `,` after a parameter, not `.` [InvalidSyntax]");
}

TEST(Errors, WordsFromElsewhere) {
  EXPECT_EQ(errorOf("print 'a'"), "1:0: `print` is a function [PrintStatement]");
  EXPECT_EQ(errorOf("x = a && b"), "1:6: `&&` is not an operator [InvalidSyntax]");
  EXPECT_EQ(errorOf("x = !a"), "1:4: `!` is not an operator [InvalidCharacter]");
  EXPECT_EQ(errorOf("x++"), "1:1: `++` is not an operator [InvalidSyntax]");
  EXPECT_EQ(errorOf("a <> b"), "1:2: `<>` is not an operator [InvalidSyntax]");
  EXPECT_EQ(errorOf("def if(): x"),
            "1:4: `if` is a keyword and cannot be the name of a function [KeywordAsName]");
  ParseResult result = parseModule("retrun x", "t.py");
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_EQ(result.diagnostics[0].hint, "did you mean `return` for `retrun`?");
}

TEST(Errors, TheFirstOneWins) {
  EXPECT_EQ(errorOf("a b\nx = 'c\n"),
            "1:2: expected the end of the statement, not `b` [InvalidSyntax]");
  EXPECT_EQ(errorOf("x = 'c\na b\n"),
            "1:4: this string is not closed on its line [UnterminatedString]");
}

// Each code of this room is shown by a golden test, or is too large to write down.
TEST(Errors, EachCodeHasAGoldenTest) {
  std::string golden;
  for (const auto &entry :
       std::filesystem::directory_iterator(NEREID_SOURCE_DIR "/test/syntax/errors")) {
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    golden += text.str();
  }
  std::ifstream registry(NEREID_SOURCE_DIR "/src/support/DiagnosticCodes.def");
  bool ours = false;
  int seen = 0;
  for (std::string line; std::getline(registry, line);) {
    if (line.starts_with("// "))
      ours = line.starts_with("// syntax:");
    if (!ours || !line.starts_with("CODE("))
      continue;
    std::string name = line.substr(5, line.find(',') - 5);
    ++seen;
    EXPECT_TRUE(isDiagnosticCode(name)) << name;
    if (name != "IntegerTooLong" && name != "NestedTooDeep" && name != "SourceTooLarge" &&
        name != "InvalidEncoding" && name != "UnknownCharacterName")
      EXPECT_NE(golden.find("[" + name + "]"), std::string::npos) << name;
  }
  EXPECT_GE(seen, 20);
}

} // namespace
