#include "ir/PtxText.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <tuple>

namespace nereid::ptx {
namespace {

using support::formatOf;

std::optional<Type> typeNamed(std::string_view name) {
  static const std::map<std::string, Type, std::less<>> types = [] {
    std::map<std::string, Type, std::less<>> t;
    for (unsigned bits : {8, 16, 32, 64}) {
      std::string n = std::to_string(bits);
      t["b" + n] = {Kind::Bits, bits};
      t["u" + n] = {Kind::Unsigned, bits};
      t["s" + n] = {Kind::Signed, bits};
    }
    using S = support::FloatFormat::Specials;
    t["pred"] = {Kind::Predicate, 1};
    t["f64"] = {Kind::Float, 64};
    t["f32"] = {Kind::Float, 32, 1, formatOf(DType::Float32)};
    t["tf32"] = {Kind::Float, 32, 1, formatOf(DType::Float32)};
    for (auto [name, format, bits] :
         {std::tuple("f16", formatOf(DType::Float16), 16u),
          std::tuple("bf16", formatOf(DType::BFloat16), 16u),
          std::tuple("e4m3", formatOf(DType::Float8E4NV), 8u),
          std::tuple("e5m2", formatOf(DType::Float8E5), 8u),
          std::tuple("e2m1", support::FloatFormat{2, 1, 1, S::None, true}, 4u),
          std::tuple("e2m3", support::FloatFormat{2, 3, 1, S::None, true}, 8u),
          std::tuple("e3m2", support::FloatFormat{3, 2, 3, S::None, true}, 8u),
          std::tuple("ue8m0", support::FloatFormat{}, 8u)}) { // an exponent alone
      t[name] = {Kind::Float, bits, 1, format};
      t[std::string(name) + "x2"] = {Kind::Float, bits, 2, format};
    }
    for (auto &[name, type] : t)
      type.name = std::string_view(name).substr(0, name.find("x2"));
    return t;
  }();
  auto it = types.find(name);
  return it == types.end() ? std::nullopt : std::optional(it->second);
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace((unsigned char)text.front()))
    text.remove_prefix(1);
  while (!text.empty() && std::isspace((unsigned char)text.back()))
    text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == separator && depth == 0)) {
      parts.push_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    } else if (text[i] == '{' || text[i] == '[') {
      ++depth;
    } else if (text[i] == '}' || text[i] == ']') {
      --depth;
    }
  }
  return parts;
}

std::string withoutComments(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "//") {
      while (i < text.size() && text[i] != '\n')
        ++i;
    } else if (text.substr(i, 2) == "/*") {
      size_t end = text.find("*/", i + 2);
      i = end == std::string_view::npos ? text.size() : end + 2;
      result += ' ';
    } else {
      result += text[i++];
    }
  }
  return result;
}

class Parser {
public:
  Parser(std::string_view text, unsigned operands) : operands(operands), result{{}, operands} {
    std::string clean = withoutComments(text);
    std::string_view rest = clean;
    while (!(rest = trim(rest)).empty()) {
      // Braces that open and close a scope; those of operands lie inside a statement.
      if (rest.front() == '{' || rest.front() == '}' || rest.front() == ';') {
        rest.remove_prefix(1);
        continue;
      }
      size_t end = rest.find(';');
      statement(trim(rest.substr(0, end)));
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
  }

  unsigned operands;
  Text result;

private:
  void statement(std::string_view text);
  Operand operand(std::string_view text);

  std::map<std::string, unsigned, std::less<>> names;
};

Operand Parser::operand(std::string_view text) {
  Operand result;
  if (text.empty())
    throw Unknown{"an empty operand"};
  if (text == "_")
    return result;
  if (text.front() == '{' || text.front() == '[') {
    if (text.size() < 2)
      throw Unknown{std::string(text)};
    std::string_view inner = trim(text.substr(1, text.size() - 2));
    if (text.front() == '{') {
      result.form = Operand::Form::List;
      for (std::string_view part : split(inner, ','))
        result.parts.push_back(operand(part));
      return result;
    }
    result.form = Operand::Form::Memory;
    size_t plus = inner.find('+');
    result.parts.push_back(operand(trim(inner.substr(0, plus))));
    if (plus != std::string_view::npos)
      result.parts.push_back(operand(trim(inner.substr(plus + 1))));
    return result;
  }
  if (text.front() == '$') {
    unsigned index = 0;
    std::string_view digits = text.substr(1);
    // `${2}` and `${2:h}` name an operand too, the letter is the register's spelling.
    for (char c : digits) {
      if (!std::isdigit((unsigned char)c))
        throw Unknown{std::string(text)};
      index = index * 10 + (c - '0');
      if (index >= operands)
        throw Unknown{std::string(text) + ", an operand that there is not"};
    }
    if (digits.empty())
      throw Unknown{std::string(text)};
    result.form = Operand::Form::Register;
    result.reg = index;
    return result;
  }
  if (text == "%globaltimer" || text == "%clock64" || text == "%clock") {
    result.form = Operand::Form::Clock;
    return result;
  }
  if (auto it = names.find(text); it != names.end()) {
    result.form = Operand::Form::Register;
    result.reg = it->second;
    return result;
  }
  // 0f3F800000 and 0d...: the bits of a float.
  if (text.size() == 10 && (text.starts_with("0f") || text.starts_with("0F"))) {
    result.form = Operand::Form::Integer;
    result.integer = std::strtoull(std::string(text.substr(2)).c_str(), nullptr, 16);
    return result;
  }
  if (text.size() == 18 && (text.starts_with("0d") || text.starts_with("0D"))) {
    result.form = Operand::Form::Integer;
    result.integer = std::strtoull(std::string(text.substr(2)).c_str(), nullptr, 16);
    return result;
  }
  std::string number(text);
  while (!number.empty() && (number.back() == 'U' || number.back() == 'u'))
    number.pop_back();
  char *end = nullptr;
  bool negative = number.starts_with('-');
  std::string digits = negative ? number.substr(1) : number;
  if (digits.starts_with("0b") || digits.starts_with("0B"))
    result.integer = std::strtoull(digits.c_str() + 2, &end, 2);
  else
    result.integer = std::strtoull(digits.c_str(), &end, 0);
  if (!digits.empty() && std::isdigit((unsigned char)digits[0]) && end && *end == 0) {
    result.form = Operand::Form::Integer;
    if (negative)
      result.integer = -result.integer;
    return result;
  }
  result.real = std::strtod(number.c_str(), &end);
  if (!digits.empty() && std::isdigit((unsigned char)digits[0]) && end && *end == 0) {
    result.form = Operand::Form::Real;
    return result;
  }
  throw Unknown{std::string(text)};
}

// What ptxas takes of products of whole numbers: `lo`, `hi` or `wide`, of 32 bits for `mul24` and
// `mad24`; `sat` holds a sum of upper halves to s32.
void checkProduct(const Statement &statement) {
  const std::string &op = statement.operation();
  bool isShort = op == "mul24" || op == "mad24";
  if ((!isShort && op != "mul" && op != "mad") || statement.types.empty() ||
      statement.types[0].kind == Kind::Float)
    return;
  const Type &type = statement.types[0];
  bool hi = statement.has("hi"), lo = statement.has("lo"), wide = statement.has("wide"),
       adds = op.starts_with("mad");
  bool known = hi + lo + wide == 1 && type.lanes == 1 && type.bits >= 16 &&
               (type.kind == Kind::Signed || type.kind == Kind::Unsigned);
  if (isShort)
    known &= !wide && type.bits == 32;
  known &= !wide || type.bits < 64;
  if (statement.has("sat"))
    known &= adds && hi && type.kind == Kind::Signed && type.bits == 32;
  if (!known)
    throw Unknown{statement.mnemonic()};
}

void Parser::statement(std::string_view text) {
  if (text.starts_with(".reg")) {
    text = trim(text.substr(4));
    size_t space = text.find_first_of(" \t\n");
    if (!text.starts_with('.') || space == std::string_view::npos ||
        !typeNamed(text.substr(1, space - 1)))
      throw Unknown{std::string(text)};
    for (std::string_view name : split(text.substr(space), ',')) {
      size_t many = name.find('<');
      if (many == std::string_view::npos) {
        names[std::string(name)] = result.registers++;
        continue;
      }
      // `r<4>` declares r0 to r3.
      unsigned long n = std::strtoul(std::string(name.substr(many + 1)).c_str(), nullptr, 10);
      for (unsigned long i = 0; i < std::min(n, 1024ul); ++i)
        names[std::string(name.substr(0, many)) + std::to_string(i)] = result.registers++;
    }
    return;
  }
  std::optional<Operand> guard;
  bool guardIsNegated = false;
  if (text.starts_with('@')) {
    size_t space = text.find_first_of(" \t\n");
    if (space == std::string_view::npos)
      throw Unknown{std::string(text)};
    std::string_view name = text.substr(1, space - 1);
    if (name.starts_with('!')) {
      guardIsNegated = true;
      name.remove_prefix(1);
    }
    guard = operand(name);
    text = trim(text.substr(space));
  }
  size_t space = text.find_first_of(" \t\n{");
  Statement parsed{{}, {}, {}, guard, guardIsNegated};
  for (std::string_view word : split(text.substr(0, space), '.')) {
    parsed.words.emplace_back(word);
    if (auto type = typeNamed(word); type && parsed.words.size() > 1)
      parsed.types.push_back(*type);
  }
  if (space != std::string_view::npos)
    if (std::string_view rest = trim(text.substr(space)); !rest.empty())
      for (std::string_view part : split(rest, ','))
        parsed.arguments.push_back(operand(part));
  checkProduct(parsed);
  result.statements.push_back(std::move(parsed));
}

} // namespace

bool Statement::has(std::string_view modifier) const {
  return std::find(words.begin() + 1, words.end(), modifier) != words.end();
}
std::string Statement::mnemonic() const {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ".") + word;
  return text;
}

const uint16_t *selectorsOf(std::string_view mode) {
  struct Mode {
    std::string_view name;
    uint16_t selectors[4];
  };
  static constexpr Mode modes[] = {
      {"f4e", {0x3210, 0x4321, 0x5432, 0x6543}}, {"b4e", {0x5670, 0x6701, 0x7012, 0x0123}},
      {"rc8", {0x0000, 0x1111, 0x2222, 0x3333}}, {"ecl", {0x3210, 0x3211, 0x3222, 0x3333}},
      {"ecr", {0x0000, 0x1110, 0x2210, 0x3210}}, {"rc16", {0x1010, 0x3232, 0x1010, 0x3232}}};
  for (const Mode &one : modes)
    if (one.name == mode)
      return one.selectors;
  return nullptr;
}

Text parse(std::string_view text, unsigned operands) {
  return std::move(Parser(text, operands).result);
}

} // namespace nereid::ptx
