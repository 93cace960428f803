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

// [[fill]align][sign][#][0][width][grouping][.precision][type]
std::string Interp::format(const Value &valueIn, std::string_view spec) {
  const Value &value = unboxed(valueIn);
  if (spec.empty())
    return str(value);
  auto bad = [&]() -> std::string {
    raise("ValueError", "invalid format specification `" + std::string(spec) + "` for `" +
                            value.typeName() + "`");
  };
  size_t at = 0;
  char fill = ' ', align = 0, sign = '-', grouping = 0, type = 0;
  bool alternate = false;
  if (spec.size() > 1 && std::string_view("<>^=").find(spec[1]) != std::string_view::npos) {
    fill = spec[0];
    align = spec[1];
    at = 2;
  } else if (std::string_view("<>^=").find(spec[0]) != std::string_view::npos) {
    align = spec[0];
    at = 1;
  }
  if (at < spec.size() && std::string_view("+- ").find(spec[at]) != std::string_view::npos)
    sign = spec[at++];
  if (at < spec.size() && spec[at] == '#') {
    alternate = true;
    ++at;
  }
  if (at < spec.size() && spec[at] == '0') {
    if (!align) {
      fill = '0';
      align = '=';
    }
    ++at;
  }
  auto readNumber = [&] {
    size_t number = 0;
    while (at < spec.size() && spec[at] >= '0' && spec[at] <= '9') {
      number = number * 10 + size_t(spec[at++] - '0');
      if (number > 10000)
        bad();
    }
    return number;
  };
  size_t width = readNumber();
  if (at < spec.size() && (spec[at] == ',' || spec[at] == '_'))
    grouping = spec[at++];
  int precision = -1;
  if (at < spec.size() && spec[at] == '.') {
    ++at;
    precision = int(readNumber());
  }
  if (at < spec.size())
    type = spec[at++];
  if (at != spec.size())
    return bad();

  std::string digits, prefix;
  bool numeric = value.isNumber();
  if (numeric && (type == 0 ? !value.isFloat()
                            : std::string_view("dxXob").find(type) != std::string_view::npos)) {
    if (value.isFloat())
      return bad();
    Integer number = value.isBool() ? Integer(value.asBool()) : value.asInteger();
    if (value.isBool() && type == 0)
      return format(Value::str(value.asBool() ? "True" : "False"), spec);
    bool negative = number.isNegative();
    Integer magnitude = negative ? -number : number;
    if (type == 0 || type == 'd') {
      digits = magnitude.toString();
    } else {
      unsigned bits = type == 'b' ? 1 : type == 'o' ? 3 : 4;
      const char *alphabet = type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
      do {
        digits += alphabet[magnitude.low64() & ((1u << bits) - 1)];
        magnitude = Integer::shiftRight(magnitude, bits);
      } while (!magnitude.isZero());
      std::reverse(digits.begin(), digits.end());
      if (alternate)
        prefix = std::string("0") + type;
    }
    prefix = (negative ? "-" : sign == '+' ? "+" : sign == ' ' ? " " : "") + prefix;
  } else if (numeric) {
    double number = value.isFloat()  ? value.asFloat()
                    : value.isBool() ? double(value.asBool())
                                     : value.asInteger().toDouble();
    bool negative = std::signbit(number) && !std::isnan(number);
    double magnitude = std::fabs(number);
    char buffer[512];
    if (std::isnan(number)) {
      digits = "nan";
    } else if (std::isinf(number)) {
      digits = "inf";
    } else if (type == 0 && precision < 0) {
      digits = syntax::reprFloat(magnitude);
    } else {
      int places = precision < 0 ? 6 : std::min(precision, 100);
      char conversion = type == '%' ? 'f' : type == 0 ? 'g' : type;
      if (std::string_view("eEfFgG").find(conversion) == std::string_view::npos)
        return bad();
      char pattern[] = {'%', '.', '*', conversion, 0};
      int size = std::snprintf(buffer, sizeof buffer, pattern, places,
                               type == '%' ? magnitude * 100 : magnitude);
      digits.assign(buffer, size_t(std::clamp(size, 0, int(sizeof buffer) - 1)));
      if (type == '%')
        digits += '%';
    }
    prefix = negative ? "-" : sign == '+' ? "+" : sign == ' ' ? " " : "";
  } else {
    if (type != 0 && type != 's')
      return bad();
    digits = str(value);
    if (precision >= 0 && digits.size() > size_t(precision))
      digits.resize(size_t(precision));
    if (!align)
      align = '<';
  }
  if (grouping && numeric) {
    size_t end = digits.find_first_not_of("0123456789");
    if (end == std::string::npos)
      end = digits.size();
    for (size_t place = end; place > 3;) {
      place -= 3;
      digits.insert(place, 1, grouping);
    }
  }
  size_t size = prefix.size() + digits.size();
  if (size >= width)
    return prefix + digits;
  size_t padding = width - size;
  switch (align ? align : '>') {
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
