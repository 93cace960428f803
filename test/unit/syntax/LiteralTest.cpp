#include "TestSupport.h"

#include <cmath>
#include <limits>

using namespace nereid;
using namespace nereid::syntax;

namespace {

ConstantValue constant(const std::string &text, std::shared_ptr<const Module> &keep) {
  ParseExpressionResult result = parseExpression(text, "t.py");
  EXPECT_TRUE(result.expr && isa<Constant>(result.expr)) << text;
  keep = result.module;
  return result.expr && isa<Constant>(result.expr) ? cast<Constant>(result.expr).value
                                                   : ConstantValue();
}

std::string hexOf(const std::string &text) {
  std::shared_ptr<const Module> keep;
  ConstantValue value = constant(text, keep);
  EXPECT_EQ(value.kind, ConstantValue::Kind::Int) << text;
  return std::string(value.text);
}

double number(const std::string &text) {
  std::shared_ptr<const Module> keep;
  return constant(text, keep).number;
}

std::string contents(const std::string &text) {
  std::shared_ptr<const Module> keep;
  return std::string(constant(text, keep).text);
}

TEST(Literals, Integers) {
  EXPECT_EQ(hexOf("0"), "0");
  EXPECT_EQ(hexOf("00_0"), "0");
  EXPECT_EQ(hexOf("7"), "7");
  EXPECT_EQ(hexOf("255"), "ff");
  EXPECT_EQ(hexOf("1_000_000"), "f4240");
  EXPECT_EQ(hexOf("0xDEAD_beef"), "deadbeef");
  EXPECT_EQ(hexOf("0x_0"), "0");
  EXPECT_EQ(hexOf("0X00Ff"), "ff");
  EXPECT_EQ(hexOf("0o777"), "1ff");
  EXPECT_EQ(hexOf("0b1_0000_0001"), "101");
  EXPECT_EQ(hexOf("4294967296"), "100000000");
  EXPECT_EQ(hexOf("18446744073709551615"), "ffffffffffffffff");
  EXPECT_EQ(hexOf("18446744073709551616"), "10000000000000000");
  EXPECT_EQ(hexOf("340282366920938463463374607431768211456"), "1" + std::string(32, '0'));
}

// 2^n by doubling decimal digits, the slow and obvious way.
std::string decimalPowerOfTwo(int n) {
  std::string digits = "1"; // lowest first
  for (int i = 0; i < n; ++i) {
    int carry = 0;
    for (char &c : digits) {
      int twice = 2 * (c - '0') + carry;
      c = char('0' + twice % 10);
      carry = twice / 10;
    }
    if (carry)
      digits += '1';
  }
  return {digits.rbegin(), digits.rend()};
}

TEST(Literals, LongIntegers) {
  std::string decimal = decimalPowerOfTwo(33220);
  ASSERT_GE(decimal.size(), 10'000u);
  std::string hex = hexOf(decimal);
  EXPECT_EQ(hex, "1" + std::string(33220 / 4, '0'));
  EXPECT_EQ(decimalDigits(hex), decimal);
  EXPECT_EQ(errorOf("x = " + std::string(100'001, '9')),
            "1:4: a decimal integer of 100001 digits, more than 100000 [IntegerTooLong]");
  // Leading zeros of hexadecimal ones do not count; nor is their length bounded.
  EXPECT_EQ(hexOf("0x" + std::string(200'000, '0') + "1"), "1");
}

TEST(Literals, Floats) {
  EXPECT_EQ(number("1.5"), 1.5);
  EXPECT_EQ(number("1."), 1.0);
  EXPECT_EQ(number(".5"), 0.5);
  EXPECT_EQ(number("1_0.2_5e-0_1"), 1.025);
  EXPECT_EQ(number("1e400"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(number("1e-400"), 0.0);
  EXPECT_EQ(number("0e999999999999999999999"), 0.0);
  EXPECT_EQ(number("1e999999999999999999999"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(number("0.000001e-999999999999999999999"), 0.0);
  EXPECT_EQ(number("5e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(number("1.7976931348623157e308"), std::numeric_limits<double>::max());
  EXPECT_EQ(number("2j"), 2.0);
  EXPECT_EQ(number("01.5j"), 1.5);
  EXPECT_EQ(number("0" + std::string(2000, '0') + ".5"), 0.5);
  EXPECT_EQ(number("1" + std::string(400, '0') + "."), std::numeric_limits<double>::infinity());
}

TEST(Literals, BadNumbers) {
  EXPECT_EQ(errorOf("012"), "1:0: a decimal integer may not start with `0` [InvalidNumber]");
  EXPECT_EQ(errorOf("1__0"), "1:1: a digit must follow `_` in a decimal literal [InvalidNumber]");
  EXPECT_EQ(errorOf("1_"), "1:1: a digit must follow `_` in a decimal literal [InvalidNumber]");
  EXPECT_EQ(errorOf("0b12"), "1:3: digit `2` is not a binary digit [InvalidNumber]");
  EXPECT_EQ(errorOf("0o8"), "1:0: no digits in this octal literal [InvalidNumber]");
  EXPECT_EQ(errorOf("0xg"), "1:0: no digits in this hexadecimal literal [InvalidNumber]");
  EXPECT_EQ(errorOf("1abc"), "1:1: `abc` follows a decimal literal [InvalidNumber]");
  EXPECT_EQ(errorOf("1e"), "1:1: `e` follows a decimal literal [InvalidNumber]");
  EXPECT_EQ(errorOf("1.5x"), "1:3: `x` follows a number literal [InvalidNumber]");
}

TEST(Literals, Strings) {
  EXPECT_EQ(contents("'a' \"b\" '''c\n''' r'\\d'"), "abc\n\\d");
  EXPECT_EQ(contents(R"('\a\b\f\n\r\t\v\\\'\"')"), "\a\b\f\n\r\t\v\\'\"");
  EXPECT_EQ(contents(R"('\x41\101\u00e9\U0001F40D')"), "AA\xC3\xA9\xF0\x9F\x90\x8D");
  EXPECT_EQ(contents(R"('\7\08\777')"), std::string("\7\0008\xC7\xBF", 5));
  EXPECT_EQ(contents("'a\\\nb'"), "ab");
  EXPECT_EQ(contents(R"('\d\ ')"), "\\d\\ "); // no escapes: the backslash stays
  EXPECT_EQ(contents(R"('\ud800')"), "\xED\xA0\x80");
  EXPECT_EQ(contents(R"(r'\'')"), "\\'");
  EXPECT_EQ(contents("''"), "");
  EXPECT_EQ(contents("Rb'\\x' bR'y'"), "\\xy");
  EXPECT_EQ(contents(R"(b'\xff\377\u00e9')"), "\xFF\xFF\\u00e9");
  EXPECT_EQ(exprTree("u'a' 'b'"), "Constant(value='ab', kind='u')");
  EXPECT_EQ(exprTree("'a' u'b'"), "Constant(value='ab')");
  EXPECT_EQ(exprTree("b'\\x00\"'"), "Constant(value=b'\\x00\"')");
}

TEST(Literals, BadStrings) {
  EXPECT_EQ(errorOf("x = '\\x4'"), "1:5: `\\x` needs 2 hexadecimal digits, not 1 [InvalidEscape]");
  EXPECT_EQ(errorOf("'''a\nbc\\u12'''"),
            "2:2: `\\u` needs 4 hexadecimal digits, not 2 [InvalidEscape]");
  EXPECT_EQ(errorOf("'\\U00110000'"),
            "1:1: no character has a number above 10FFFF [InvalidEscape]");
  EXPECT_EQ(errorOf("'\\N'"), "1:1: `\\N` needs the name of a character in braces [InvalidEscape]");
  EXPECT_EQ(errorOf("b'\xC3\xA9'"),
            "1:2: a bytes literal holds ASCII characters only [InvalidCharacter]");
  EXPECT_EQ(errorOf("'a' b'b'"), "1:4: cannot join a bytes literal and a string [MixedBytes]");
  EXPECT_EQ(errorOf("f'a' b'b'"), "1:5: cannot join a bytes literal and a string [MixedBytes]");
  EXPECT_EQ(errorOf("x = 'ab\n"),
            "1:4: this string is not closed on its line [UnterminatedString]");
  EXPECT_EQ(
      errorOf("x = '''ab\n"),
      "1:4: this triple-quoted string is not closed; the file ends at line 2 [UnterminatedString]");
  EXPECT_EQ(errorOf("x = f'ab\n"),
            "1:4: this f-string is not closed on its line [UnterminatedString]");
  EXPECT_EQ(errorOf("x = f'''ab\n"), "1:4: this triple-quoted f-string is not closed; the file "
                                     "ends at line 2 [UnterminatedString]");
}

TEST(Literals, CharactersByNameAreNotKnown) {
  ParseResult result = parseModule("x = 'a\\N{BULLET}b'\n", "t.py");
  ASSERT_TRUE(result.module);
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_EQ(result.diagnostics[0].severity, Severity::Warning);
  EXPECT_EQ(result.diagnostics[0].code, "UnknownCharacterName");
  EXPECT_EQ(result.diagnostics[0].where.begin.column, 6u);
  EXPECT_EQ(result.diagnostics[0].where.end.column, 16u);
  EXPECT_EQ(cast<Constant>(cast<Assign>(result.module->body[0]).value).value.text, "a\xEF\xBF\xBD"
                                                                                   "b");
}

TEST(Repr, Floats) {
  EXPECT_EQ(reprFloat(0), "0.0");
  EXPECT_EQ(reprFloat(1), "1.0");
  EXPECT_EQ(reprFloat(-1.5), "-1.5");
  EXPECT_EQ(reprFloat(1e15), "1000000000000000.0");
  EXPECT_EQ(reprFloat(1e16), "1e+16");
  EXPECT_EQ(reprFloat(123456789012345680.0), "1.2345678901234568e+17");
  EXPECT_EQ(reprFloat(0.0001), "0.0001");
  EXPECT_EQ(reprFloat(0.00001), "1e-05");
  EXPECT_EQ(reprFloat(0.1), "0.1");
  EXPECT_EQ(reprFloat(1e-100), "1e-100");
  EXPECT_EQ(reprFloat(INFINITY), "inf");
}

TEST(Repr, Strings) {
  EXPECT_EQ(reprString("a'b"), "\"a'b\"");
  EXPECT_EQ(reprString("a'\"b"), "'a\\'\"b'");
  EXPECT_EQ(reprString("\n\t\x7F\\"), "'\\n\\t\\x7f\\\\'");
  EXPECT_EQ(reprString("\xC3\xA9\xC2\xA0"), "'\xC3\xA9\\xa0'");
  EXPECT_EQ(reprString("\xC3\xA9", false, true), "'\\xe9'");
  EXPECT_EQ(reprString("\xED\xA0\x80"), "'\\ud800'");
  EXPECT_EQ(reprString("\xFF"
                       "a",
                       true),
            "b'\\xffa'");
}

} // namespace
