#include "support/Specialization.h"

#include "support/Spelling.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace nereid::support {

Constant Constant::boolean(bool value) { return {.kind = Kind::Bool, .flag = value}; }

Constant Constant::integer(int64_t value) { return integer(std::to_string(value)); }

Constant Constant::integer(std::string digits) {
  return {.kind = Kind::Int, .text = std::move(digits)};
}

Constant Constant::floating(double value) { return {.kind = Kind::Float, .number = value}; }

Constant Constant::string(std::string value) {
  return {.kind = Kind::String, .text = std::move(value)};
}

Constant Constant::dtype(DType value) { return {.kind = Kind::Type, .type = value}; }

Constant Constant::function(std::string name) {
  return {.kind = Kind::Function, .text = std::move(name)};
}

std::string Constant::source() const {
  switch (kind) {
  case Kind::None:
    return "None";
  case Kind::Bool:
    return flag ? "True" : "False";
  case Kind::Int:
    return text;
  case Kind::Float: {
    if (std::isnan(number))
      return std::signbit(number) ? "-nan" : "nan";
    if (std::isinf(number))
      return number < 0 ? "-inf" : "inf";
    char buffer[32];
    auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, number);
    std::string result(buffer, end);
    if (result.find_first_of(".e") == result.npos)
      result += ".0";
    return result;
  }
  case Kind::String: {
    static const char digits[] = "0123456789abcdef";
    std::string result = "'";
    for (char c : text) {
      auto byte = uint8_t(c);
      if (c == '\'' || c == '\\')
        (result += '\\') += c;
      else if (byte < 0x20 || byte == 0x7f)
        ((result += "\\x") += digits[byte >> 4]) += digits[byte & 15];
      else
        result += c;
    }
    return result + "'";
  }
  case Kind::Type:
    return "tl." + std::string(info(type).name);
  case Kind::Function:
    return "fn:" + text;
  }
  return {};
}

ArgumentClass ArgumentClass::pointer(DType pointee, uint32_t divisibility, bool isConst) {
  ArgumentClass argument;
  argument.kind = Kind::Pointer;
  argument.type = pointee;
  argument.divisibility = divisibility;
  argument.isConst = isConst;
  return argument;
}

ArgumentClass ArgumentClass::scalar(DType type, uint32_t divisibility) {
  ArgumentClass argument;
  argument.kind = info(type).isFloat ? Kind::Float : Kind::Int;
  argument.type = type;
  argument.divisibility = divisibility;
  return argument;
}

ArgumentClass ArgumentClass::one(DType type) {
  ArgumentClass argument = scalar(type);
  argument.isOne = true;
  return argument;
}

ArgumentClass ArgumentClass::compiledIn(Constant constant) {
  ArgumentClass argument;
  argument.constant = std::move(constant);
  return argument;
}

ArgumentClass ArgumentClass::tuple(std::vector<ArgumentClass> elements,
                                   std::vector<std::string> names) {
  ArgumentClass argument;
  argument.kind = Kind::Tuple;
  argument.elements = std::move(elements);
  argument.names = std::move(names);
  return argument;
}

ArgumentClass ArgumentClass::descriptor(DType type, std::vector<int64_t> block, bool padNan) {
  ArgumentClass argument;
  argument.kind = Kind::Descriptor;
  argument.type = type;
  argument.block = std::move(block);
  argument.padNan = padNan;
  return argument;
}

std::string ArgumentClass::text() const {
  auto divisible = [&] {
    return isOne ? ":1" : divisibility > 1 ? ":" + std::to_string(divisibility) : std::string();
  };
  std::string name(info(type).signature);
  switch (kind) {
  case Kind::Constant:
    return constant.source();
  case Kind::Pointer:
    return (isConst ? "*k" : "*") + name + divisible();
  case Kind::Int:
    return name + divisible();
  case Kind::Float:
    return name;
  case Kind::Descriptor: {
    std::string result = "tensordesc<" + name + "[";
    for (size_t i = 0; i < block.size(); ++i)
      result += (i ? ", " : "") + std::to_string(block[i]);
    return result + "]" + (padNan ? ", nan>" : ">");
  }
  case Kind::Tuple: {
    std::string result = "(";
    for (size_t i = 0; i < elements.size(); ++i) {
      result += i ? ", " : "";
      if (i < names.size())
        result += names[i] + "=";
      result += elements[i].text();
    }
    return result + (elements.size() == 1 && names.empty() ? ",)" : ")");
  }
  }
  return {};
}

size_t ArgumentClass::leafCount() const {
  if (kind != Kind::Tuple)
    return 1;
  size_t count = 0;
  for (const ArgumentClass &element : elements)
    count += element.leafCount();
  return count;
}

static void coarsen(ArgumentClass &argument) {
  if (argument.divisibility < 16)
    argument.divisibility = 1;
  for (ArgumentClass &element : argument.elements)
    coarsen(element);
}

Specialization Specialization::coarsened() const {
  Specialization coarse = *this;
  for (ArgumentClass &argument : coarse.arguments)
    coarsen(argument);
  return coarse;
}

std::string Specialization::text() const {
  std::string result;
  for (size_t i = 0; i < arguments.size(); ++i)
    result += (i ? ", " : "") + arguments[i].text();
  return result;
}

// --- reading ---

namespace {
// list  = [argument {"," argument} [","]]
// argument = pointer | descriptor | tuple | "None" | constant | scalar
class SignatureReader {
public:
  explicit SignatureReader(std::string_view text) : text(text) {}

  Result<Specialization> read() {
    Specialization result;
    if (readList(result.arguments, nullptr, '\0'))
      return result;
    constexpr size_t mostShown = 40;
    std::string_view rest = text.substr(errorAt, mostShown);
    std::string place =
        rest.empty() ? "its end"
                     : "`" + std::string(rest) + (errorAt + mostShown < text.size() ? "...`" : "`");
    return Error{"bad signature at " + place + ": " + problem, {}};
  }

private:
  static constexpr int maxDepth = 64;

  bool fail(std::string what) {
    if (problem.empty()) {
      problem = std::move(what);
      errorAt = at;
    }
    return false;
  }

  void skipSpace() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n'))
      ++at;
  }
  bool peek(char c) {
    skipSpace();
    return at < text.size() && text[at] == c;
  }
  bool take(char c) {
    if (!peek(c))
      return false;
    ++at;
    return true;
  }

  static bool isWord(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  }
  std::string_view word() {
    skipSpace();
    size_t begin = at;
    while (at < text.size() && isWord(text[at]))
      ++at;
    return text.substr(begin, at - begin);
  }

  bool readList(std::vector<ArgumentClass> &into, std::vector<std::string> *names, char end) {
    for (;;) {
      skipSpace();
      if (end ? take(end) : at == text.size())
        return true;
      if (names)
        readName(*names);
      ArgumentClass argument;
      if (!readArgument(argument))
        return false;
      into.push_back(std::move(argument));
      if (take(','))
        continue;
      if (end ? take(end) : (skipSpace(), at == text.size()))
        return true;
      // `fp32*` or `fp32 *`, and not two arguments side by side.
      if (peek('*') && (at + 1 == text.size() || !isWord(text[at + 1])))
        return fail("a pointer has its `*` before the type");
      return fail(end ? "expected `,` or `)`" : "expected `,`");
    }
  }

  // name "=" before an element of a named tuple.
  void readName(std::vector<std::string> &names) {
    size_t begin = at;
    std::string_view name = word();
    if (!name.empty() && take('='))
      names.emplace_back(name);
    else
      at = begin;
  }

  bool readArgument(ArgumentClass &argument) {
    if (take('*'))
      return readPointer(argument);
    if (take('(')) {
      if (++depth > maxDepth)
        return fail("tuples nest too deep");
      argument.kind = ArgumentClass::Kind::Tuple;
      bool good = readList(argument.elements, &argument.names, ')');
      --depth;
      if (good && !argument.names.empty() && argument.names.size() != argument.elements.size())
        return fail("a tuple in which only some elements have names");
      return good;
    }
    if (peek('\'') || peek('"'))
      return readString(argument);
    size_t begin = at;
    if (peek('-') || peek('+') || (at < text.size() && text[at] >= '0' && text[at] <= '9'))
      return readNumber(argument);
    skipSpace();
    begin = at;
    std::string_view name = word();
    if (name == "None" || name == "constexpr")
      return set(argument, Constant::none());
    if (name == "True" || name == "False")
      return set(argument, Constant::boolean(name == "True"));
    if (name == "inf" || name == "nan") {
      at = begin;
      return readNumber(argument);
    }
    if (name == "fn" && take(':')) {
      size_t start = at;
      while (at < text.size() &&
             (isWord(text[at]) || text[at] == '@' || text[at] == '<' || text[at] == '>'))
        ++at;
      return set(argument, Constant::function(std::string(text.substr(start, at - start))));
    }
    if (name == "tensordesc")
      return readDescriptor(argument);
    if (name.starts_with("tl.")) {
      if (auto type = parseDType(name.substr(3)))
        return set(argument, Constant::dtype(*type));
    } else if (auto type = parseDType(name)) {
      argument.kind = info(*type).isFloat ? ArgumentClass::Kind::Float : ArgumentClass::Kind::Int;
      argument.type = *type;
      return readDivisibility(argument);
    }
    if (!name.empty() && take('='))
      return fail("a signature goes by place: write the value alone, without `" +
                  std::string(name) + "=`");
    at = begin;
    return fail(name.empty() ? "expected a type or a value" : unknownType(name));
  }

  static std::string unknownType(std::string_view name, const std::string &where = "") {
    // As source text has it: `tl.float32`, `torch.int32`.
    std::string_view last = name.substr(name.rfind('.') + 1);
    if (auto type = last == name ? std::nullopt : parseDType(last))
      return "unknown type `" + std::string(name) + "`" + where + "; a signature has `" +
             std::string(info(*type).signature) + "`";
    Spelling spelling(name);
    for (unsigned type = 0; type <= unsigned(DType::Float8E4B15); ++type)
      spelling.consider(info(DType(type)).signature);
    return "unknown type `" + std::string(name) + "`" + where +
           (spelling.best().empty() ? "" : "; " + spelling.hint());
  }

  bool set(ArgumentClass &argument, Constant constant) {
    argument = ArgumentClass::compiledIn(std::move(constant));
    return true;
  }

  bool readPointer(ArgumentClass &argument) {
    argument.kind = ArgumentClass::Kind::Pointer;
    std::string_view name = word();
    auto type = parseDType(name);
    if (!type && name.starts_with('k')) {
      argument.isConst = true;
      type = parseDType(name.substr(1));
    }
    if (!type) {
      at -= name.size();
      return fail(unknownType(name, " behind `*`"));
    }
    argument.type = *type;
    return readDivisibility(argument);
  }

  static bool isFactAfterColon(const ArgumentClass &argument, uint32_t value) {
    bool isPointer = argument.kind == ArgumentClass::Kind::Pointer;
    return value == 1 || value == 16 || (!isPointer && (value == 8 || value == 4));
  }

  bool readDivisibility(ArgumentClass &argument) {
    if (!take(':'))
      return true;
    std::string_view digits = word();
    uint32_t value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() ||
        !isFactAfterColon(argument, value))
      return fail(
          "after `:` stands 16 (a multiple of 16), for an integer also 8 or 4, or 1 (equal to 1)");
    if (argument.kind == ArgumentClass::Kind::Float)
      return fail("a float has no `:" + std::string(digits) + "`");
    if (value == 1 && argument.kind == ArgumentClass::Kind::Int)
      argument.isOne = true;
    else
      argument.divisibility = value;
    return true;
  }

  bool readDescriptor(ArgumentClass &argument) {
    argument.kind = ArgumentClass::Kind::Descriptor;
    if (!take('<'))
      return fail("expected `<`");
    std::string_view name = word();
    auto type = parseDType(name);
    if (!type) {
      at -= name.size();
      return fail(unknownType(name));
    }
    argument.type = *type;
    if (!take('['))
      return fail("expected `[`");
    do {
      std::string_view digits = word();
      int64_t value = 0;
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (error != std::errc() || end != digits.data() + digits.size() || value < 1)
        return fail("expected a block size");
      argument.block.push_back(value);
    } while (take(','));
    if (!take(']'))
      return fail("expected `]`");
    if (argument.block.size() > 5)
      return fail("a descriptor has at most 5 dimensions");
    if (take(',')) {
      std::string_view padding = word();
      if (padding != "nan" && padding != "zero")
        return fail("padding is `nan` or `zero`");
      argument.padNan = padding == "nan";
      if (argument.padNan && !info(argument.type).isFloat)
        return fail("padding with `nan` needs float elements");
    }
    return take('>') || fail("expected `>`");
  }

  bool readNumber(ArgumentClass &argument) {
    skipSpace();
    size_t begin = at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+'))
      ++at;
    bool negative = text[begin] == '-';
    size_t digits = at;
    while (at < text.size() && (isWord(text[at]) || ((text[at] == '-' || text[at] == '+') &&
                                                     (text[at - 1] == 'e' || text[at - 1] == 'E'))))
      ++at;
    std::string_view body = text.substr(digits, at - digits);
    if (body == "inf")
      return set(argument, Constant::floating(negative ? -INFINITY : INFINITY));
    if (body == "nan")
      return set(argument, Constant::floating(negative ? -NAN : NAN));
    bool isInt = !body.empty();
    for (char c : body)
      isInt = isInt && c >= '0' && c <= '9';
    if (isInt) {
      // Canonical digits: no leading zeros, no minus zero.
      size_t first = std::min(body.find_first_not_of('0'), body.size() - 1);
      std::string canonical(body.substr(first));
      if (negative && canonical != "0")
        canonical = "-" + canonical;
      if (canonical.size() > 1300) // 4096 bits have 1234 digits
        return fail("an integer of " + std::to_string(canonical.size()) + " digits");
      return set(argument, Constant::integer(std::move(canonical)));
    }
    double value = 0;
    auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), value);
    if (error != std::errc() || end != body.data() + body.size()) {
      at = begin;
      return fail("expected a number");
    }
    return set(argument, Constant::floating(negative ? -value : value));
  }

  bool readString(ArgumentClass &argument) {
    char quote = text[at++];
    std::string value;
    while (at < text.size() && text[at] != quote) {
      char c = text[at++];
      if (c != '\\') {
        value += c;
        continue;
      }
      if (at == text.size())
        break;
      c = text[at++];
      if (c == 'x' && at + 2 <= text.size()) {
        uint8_t byte = 0;
        auto [end, error] = std::from_chars(&text[at], &text[at] + 2, byte, 16);
        if (error != std::errc() || end != &text[at] + 2)
          return fail("bad `\\x` in a string");
        value += char(byte);
        at += 2;
      } else {
        value += c == 'n' ? '\n' : c == 't' ? '\t' : c;
      }
    }
    if (at == text.size())
      return fail("a string without end");
    ++at;
    return set(argument, Constant::string(std::move(value)));
  }

  std::string_view text;
  size_t at = 0, errorAt = 0;
  int depth = 0;
  std::string problem;
};
} // namespace

Result<Specialization> Specialization::parse(std::string_view text) {
  return SignatureReader(text).read();
}

std::optional<Constant> Constant::parse(std::string_view source) {
  auto parsed = Specialization::parse(source);
  if (!parsed || parsed->arguments.size() != 1 ||
      parsed->arguments[0].kind != ArgumentClass::Kind::Constant)
    return std::nullopt;
  return std::move(parsed->arguments[0].constant);
}

Hash128 CompileKey::hash() const {
  return Hasher()
      .add("nereid compile key 1")
      .add(source)
      .add(facts)
      .add(arguments)
      .add(options)
      .add(target)
      .add(build)
      .finish();
}

} // namespace nereid::support
