// Text: str, repr, format specifications, methods of strings.

#include "emit/Interp.h"

#include "syntax/Printer.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace nereid::emit {

std::string Interp::repr(const Value &valueIn) {
  checkStack();
  const Value &value = unboxed(valueIn);
  if (value.isTuple() || value.isList()) {
    auto *tuple = value.as<ops::Tuple>();
    bool named = tuple && tuple->fieldNames;
    std::string text = named ? tuple->className + "(" : value.isTuple() ? "(" : "[";
    std::span<const Value> items = value.items();
    for (size_t i = 0; i < items.size(); ++i)
      text += (i ? ", " : "") + (named ? (*tuple->fieldNames)[i] + "=" : "") + repr(items[i]);
    if (value.isTuple() && !named && items.size() == 1)
      text += ",";
    return text + (value.isTuple() ? ")" : "]");
  }
  if (auto *dict = value.as<ops::Dict>()) {
    std::string text = "{";
    for (size_t i = 0; i < dict->entries.size(); ++i)
      text += (i ? ", " : "") + repr(dict->entries[i].first) + ": " + repr(dict->entries[i].second);
    return text + "}";
  }
  if (value.as<Instance>() && value.as<Instance>()->type->find("__repr__"))
    return str(call(requireAttribute(value, "__repr__"), {}, {}));
  if (auto *function = value.as<FunctionObject>())
    return "<function " + function->name() + ">";
  if (auto *set = value.as<SetObject>()) {
    std::string text = set->items.empty() ? "set(" : "{";
    for (size_t i = 0; i < set->items.size(); ++i)
      text += (i ? ", " : "") + repr(set->items[i]);
    return text + (set->items.empty() ? ")" : "}");
  }
  return value.repr();
}

std::string Interp::str(const Value &valueIn) {
  const Value &value = unboxed(valueIn);
  if (value.isStr())
    return value.asStr();
  if (value.isType())
    return value.asType().str();
  if (auto *instance = value.as<Instance>()) {
    if (instance->type->find("__str__"))
      return str(call(requireAttribute(value, "__str__"), {}, {}));
    if (instance->type->flavor == ClassObject::Flavor::Exception) {
      auto it = instance->fields.find("args");
      if (it == instance->fields.end() || it->second.items().empty())
        return "";
      if (it->second.items().size() != 1)
        return repr(it->second);
      const Value &only = it->second.items()[0];
      return instance->type->className == "KeyError" ? repr(only) : str(only);
    }
    if (instance->type->flavor == ClassObject::Flavor::Enum)
      return instance->type->className + "." + instance->fields["name"].asStr();
  }
  return repr(value);
}

namespace {

bool isOneOf(std::string_view characters, char c) {
  return characters.find(c) != std::string_view::npos;
}

// spec = [[fill]align][sign]["#"]["0"][width][grouping]["." precision][type]
struct FormatSpec {
  char fill = ' ', align = 0, sign = '-', grouping = 0, type = 0; // 0: none is given
  bool alternate = false;
  size_t width = 0;
  int precision = -1;

  static std::optional<FormatSpec> parse(std::string_view text);

  std::string signOf(bool negative) const {
    return negative ? "-" : sign == '+' ? "+" : sign == ' ' ? " " : "";
  }
  std::string padded(const std::string &prefix, const std::string &digits) const;
};

std::optional<FormatSpec> FormatSpec::parse(std::string_view text) {
  constexpr std::string_view alignments = "<>^=";
  FormatSpec spec;
  size_t at = 0;
  auto isNext = [&](std::string_view characters) {
    return at < text.size() && isOneOf(characters, text[at]);
  };
  auto readNumber = [&]() -> std::optional<int> {
    int number = 0;
    while (isNext("0123456789"))
      if ((number = number * 10 + (text[at++] - '0')) > 10000)
        return {};
    return number;
  };
  if (text.size() > 1 && isOneOf(alignments, text[1]))
    spec.fill = text[at++];
  if (isNext(alignments))
    spec.align = text[at++];
  if (isNext("+- "))
    spec.sign = text[at++];
  if (isNext("#")) {
    spec.alternate = true;
    ++at;
  }
  if (isNext("0")) {
    if (!spec.align) {
      spec.fill = '0';
      spec.align = '=';
    }
    ++at;
  }
  auto width = readNumber();
  if (!width)
    return {};
  spec.width = size_t(*width);
  if (isNext(",_"))
    spec.grouping = text[at++];
  if (isNext(".")) {
    ++at;
    auto precision = readNumber();
    if (!precision)
      return {};
    spec.precision = *precision;
  }
  if (at < text.size())
    spec.type = text[at++];
  return at == text.size() ? std::optional(spec) : std::nullopt;
}

std::string FormatSpec::padded(const std::string &prefix, const std::string &digits) const {
  size_t size = prefix.size() + digits.size();
  if (size >= width)
    return prefix + digits;
  size_t padding = width - size;
  switch (align) {
  case '<':
    return prefix + digits + std::string(padding, fill);
  case '^':
    return std::string(padding / 2, fill) + prefix + digits +
           std::string(padding - padding / 2, fill);
  case '=':
    return prefix + std::string(padding, fill) + digits;
  default:
    return std::string(padding, fill) + prefix + digits;
  }
}

// The digits of a number that is not negative, by type `d`, `x`, `X`, `o` or `b`.
std::string integerDigits(Integer magnitude, char type) {
  if (type == 0 || type == 'd')
    return magnitude.toString();
  unsigned bits = type == 'b' ? 1 : type == 'o' ? 3 : 4;
  const char *alphabet = type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string digits;
  do {
    digits += alphabet[magnitude.low64() & ((1u << bits) - 1)];
    magnitude = Integer::shiftRight(magnitude, bits);
  } while (!magnitude.isZero());
  std::reverse(digits.begin(), digits.end());
  return digits;
}

// The digits of a number without its sign; none if floats have no such type.
std::optional<std::string> floatDigits(double number, const FormatSpec &spec) {
  double magnitude = std::fabs(number);
  if (std::isnan(number))
    return "nan";
  if (std::isinf(number))
    return "inf";
  if (spec.type == 0 && spec.precision < 0)
    return syntax::reprFloat(magnitude);
  const bool isPercentage = spec.type == '%';
  int places = spec.precision < 0 ? 6 : std::min(spec.precision, 100);
  char conversion = isPercentage ? 'f' : spec.type == 0 ? 'g' : spec.type;
  if (!isOneOf("eEfFgG", conversion))
    return {};
  char buffer[512], pattern[] = {'%', '.', '*', conversion, 0};
  int size = std::snprintf(buffer, sizeof buffer, pattern, places,
                           isPercentage ? magnitude * 100 : magnitude);
  std::string digits(buffer, size_t(std::clamp(size, 0, int(sizeof buffer) - 1)));
  return isPercentage ? digits + '%' : digits;
}

// Sets `mark` between each three digits before a point.
void groupDigits(std::string &digits, char mark) {
  for (size_t place = std::min(digits.find_first_not_of("0123456789"), digits.size()); place > 3;) {
    place -= 3;
    digits.insert(place, 1, mark);
  }
}

} // namespace

std::string Interp::format(const Value &valueIn, std::string_view text) {
  const Value &value = unboxed(valueIn);
  if (text.empty())
    return str(value);
  auto bad = [&]() -> std::string {
    raise("ValueError", "invalid format specification `" + std::string(text) + "` for `" +
                            value.typeName() + "`");
  };
  auto spec = FormatSpec::parse(text);
  if (!spec)
    return bad();
  if (!value.isNumber()) {
    if (spec->type != 0 && spec->type != 's')
      return bad();
    std::string shown = str(value);
    if (spec->precision >= 0 && shown.size() > size_t(spec->precision))
      shown.resize(size_t(spec->precision));
    if (!spec->align)
      spec->align = '<';
    return spec->padded("", shown);
  }
  std::string prefix, digits;
  if (spec->type == 0 ? !value.isFloat() : isOneOf("dxXob", spec->type)) {
    if (value.isFloat())
      return bad();
    Integer number = value.isBool() ? Integer(value.asBool()) : value.asInteger();
    prefix = spec->signOf(number.isNegative());
    if (spec->alternate && spec->type != 0 && spec->type != 'd')
      prefix += std::string("0") + spec->type;
    digits = integerDigits(number.isNegative() ? -number : number, spec->type);
  } else {
    double number = value.isFloat()  ? value.asFloat()
                    : value.isBool() ? double(value.asBool())
                                     : value.asInteger().toDouble();
    auto made = floatDigits(number, *spec);
    if (!made)
      return bad();
    prefix = spec->signOf(std::signbit(number) && !std::isnan(number));
    digits = *std::move(made);
  }
  if (spec->grouping)
    groupDigits(digits, spec->grouping);
  return spec->padded(prefix, digits);
}

namespace {

std::string trimmed(const std::string &text, const std::string &characters, bool left, bool right) {
  size_t first = left ? text.find_first_not_of(characters) : 0;
  if (first == std::string::npos)
    return "";
  size_t last = right ? text.find_last_not_of(characters) : text.size() - 1;
  return last == std::string::npos || last < first ? "" : text.substr(first, last - first + 1);
}

} // namespace

// ---- Methods of strings

namespace {
namespace string_methods {

// What one is called on, and its name, since some share a function.
struct StringCall {
  Interp &interp;
  const std::string &text;
  std::string_view name;
  std::vector<Value> &args;
  Keywords &keywords;

  const std::string &argument(size_t i) const {
    if (i >= args.size() || !unboxed(args[i]).isStr())
      interp.raise("TypeError", "argument " + std::to_string(i + 1) + " must be a string");
    return unboxed(args[i]).asStr();
  }
};

Value changeCase(StringCall &call) {
  std::string result = call.text;
  for (size_t i = 0; i < result.size(); ++i) {
    bool up = call.name == "upper" || (call.name == "capitalize" && i == 0);
    result[i] = char(up ? std::toupper(uint8_t(result[i])) : std::tolower(uint8_t(result[i])));
  }
  return Value::str(std::move(result));
}

// `startswith`, `endswith`: a string, or one of a tuple.
Value hasEnd(StringCall &call) {
  auto matches = [&](const Value &part) {
    if (!part.isStr())
      call.interp.raise("TypeError", "a prefix must be a string");
    return call.name == "startswith" ? call.text.starts_with(part.asStr())
                                     : call.text.ends_with(part.asStr());
  };
  if (call.args.empty())
    call.interp.raise("TypeError", "missing argument");
  const Value &parts = unboxed(call.args[0]);
  if (!parts.isTuple())
    return Value(matches(parts));
  for (const Value &part : parts.items())
    if (matches(part))
      return Value(true);
  return Value(false);
}

constexpr const char *spaces = " \t\n\r\f\v";

Value strip(StringCall &call) {
  std::string characters = call.args.empty() ? spaces : call.argument(0);
  return Value::str(trimmed(call.text, characters, call.name != "rstrip", call.name != "lstrip"));
}

std::vector<Value> words(const std::string &text) {
  std::vector<Value> parts;
  for (size_t at = 0; (at = text.find_first_not_of(spaces, at)) != std::string::npos;) {
    size_t end = text.find_first_of(spaces, at);
    parts.push_back(Value::str(text.substr(at, end - at)));
    if (end == std::string::npos)
      break;
    at = end;
  }
  return parts;
}

// At most `most` times, from the right; all of them if it is negative.
std::vector<Value> splitRight(std::string rest, const std::string &separator, int64_t most) {
  std::vector<Value> parts;
  for (size_t at; most != 0 && (at = rest.rfind(separator)) != std::string::npos; --most) {
    parts.insert(parts.begin(), Value::str(rest.substr(at + separator.size())));
    rest.resize(at);
  }
  parts.insert(parts.begin(), Value::str(rest));
  return parts;
}

std::vector<Value> splitLeft(const std::string &text, const std::string &separator, int64_t most) {
  std::vector<Value> parts;
  for (size_t at = 0;; --most) {
    size_t end = most == 0 ? std::string::npos : text.find(separator, at);
    parts.push_back(Value::str(text.substr(at, end - at)));
    if (end == std::string::npos)
      return parts;
    at = end + separator.size();
  }
}

Value split(StringCall &call) {
  auto listed = [](std::vector<Value> parts) {
    return Value(std::make_shared<ops::List>(std::move(parts)));
  };
  int64_t most = call.args.size() > 1 ? call.interp.asInt(call.args[1], "maxsplit") : -1;
  if (call.args.empty() || unboxed(call.args[0]).isNone())
    return listed(words(call.text));
  const std::string &separator = call.argument(0);
  if (separator.empty())
    call.interp.raise("ValueError", "empty separator");
  return listed(call.name == "rsplit" && most >= 0 ? splitRight(call.text, separator, most)
                                                   : splitLeft(call.text, separator, most));
}

Value join(StringCall &call) {
  if (call.args.empty())
    call.interp.raise("TypeError", "missing argument");
  std::string joined;
  bool isFirst = true;
  for (const Value &part : call.interp.iterate(call.args[0])) {
    if (!unboxed(part).isStr())
      call.interp.raise("TypeError", "`join` needs strings, not `" + part.typeName() + "`");
    call.interp.step((call.text.size() + unboxed(part).asStr().size()) / 4);
    joined += (isFirst ? "" : call.text) + unboxed(part).asStr();
    isFirst = false;
  }
  return Value::str(std::move(joined));
}

Value replace(StringCall &call) {
  const std::string &from = call.argument(0), &to = call.argument(1), &text = call.text;
  std::string result;
  size_t at = 0;
  while (!from.empty()) {
    size_t next = text.find(from, at);
    if (next == std::string::npos)
      break;
    call.interp.step((next - at + to.size()) / 4);
    result += text.substr(at, next - at) + to;
    at = next + from.size();
  }
  return Value::str(result + text.substr(at));
}

// What `{field}` stands for; an empty one is the next argument.
Value fieldValue(StringCall &call, const std::string &field, size_t &next) {
  if (field.empty() || std::isdigit(uint8_t(field[0]))) {
    size_t index = field.empty() ? next++ : size_t(std::atoi(field.c_str()));
    if (index < call.args.size())
      return call.args[index];
  } else {
    for (auto &[key, item] : call.keywords)
      if (key == field)
        return item;
  }
  call.interp.raise("IndexError", "no value for `{" + field + "}`");
}

Value formatFields(StringCall &call) {
  const std::string &text = call.text;
  std::string result;
  size_t next = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if ((c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c) {
      result += c;
      ++i;
      continue;
    }
    if (c != '{') {
      result += c;
      continue;
    }
    size_t end = text.find('}', i);
    if (end == std::string::npos)
      call.interp.raise("ValueError", "`{` is not closed in a format string");
    std::string field = text.substr(i + 1, end - i - 1), spec;
    if (size_t colon = field.find(':'); colon != std::string::npos) {
      spec = field.substr(colon + 1);
      field.resize(colon);
    }
    result += call.interp.format(fieldValue(call, field, next), spec);
    i = end;
  }
  return Value::str(std::move(result));
}

Value find(StringCall &call) {
  const std::string &part = call.argument(0);
  size_t at = call.name == "find" ? call.text.find(part) : call.text.rfind(part);
  return Value(at == std::string::npos ? int64_t(-1) : int64_t(at));
}

Value countParts(StringCall &call) {
  const std::string &part = call.argument(0);
  int64_t count = 0;
  for (size_t at = 0; !part.empty() && (at = call.text.find(part, at)) != std::string::npos;
       at += part.size())
    ++count;
  return Value(count);
}

Value isAll(StringCall &call) {
  return Value(!call.text.empty() && std::ranges::all_of(call.text, [&](char c) {
    return call.name == "isalpha" ? std::isalpha(uint8_t(c)) : std::isdigit(uint8_t(c));
  }));
}

Value withoutEnd(StringCall &call) {
  const std::string &part = call.argument(0), &text = call.text;
  if (call.name == "removeprefix")
    return Value::str(text.starts_with(part) ? text.substr(part.size()) : text);
  return Value::str(text.ends_with(part) ? text.substr(0, text.size() - part.size()) : text);
}

Value fillWithZeros(StringCall &call) {
  int64_t width = call.args.empty() ? 0 : call.interp.asInt(call.args[0], "a width");
  std::string result = call.text;
  if (width > int64_t(result.size()) && width < 10000)
    result.insert(0, size_t(width) - result.size(), '0');
  return Value::str(std::move(result));
}

Value encode(StringCall &call) { return Value::str(call.text); }

constexpr std::pair<std::string_view, Value (*)(StringCall &)> stringMethods[] = {
    {"lower", changeCase},
    {"upper", changeCase},
    {"capitalize", changeCase},
    {"startswith", hasEnd},
    {"endswith", hasEnd},
    {"strip", strip},
    {"lstrip", strip},
    {"rstrip", strip},
    {"split", split},
    {"rsplit", split},
    {"join", join},
    {"replace", replace},
    {"format", formatFields},
    {"find", find},
    {"rfind", find},
    {"count", countParts},
    {"isdigit", isAll},
    {"isalpha", isAll},
    {"isnumeric", isAll},
    {"removeprefix", withoutEnd},
    {"removesuffix", withoutEnd},
    {"zfill", fillWithZeros},
    {"encode", encode},
};

} // namespace string_methods
} // namespace

std::optional<Value> Interp::strMethod(const Value &object, std::string_view name) {
  step(object.asStr().size() / 16);
  for (const auto &[known, method] : string_methods::stringMethods)
    if (known == name)
      return native(std::string(name),
                    [text = object.asStr(), known, method](Interp &interp, std::vector<Value> &args,
                                                           Keywords &keywords) {
                      string_methods::StringCall call{interp, text, known, args, keywords};
                      return method(call);
                    });
  return std::nullopt;
}

} // namespace nereid::emit
