#include "ops/Value.h"

#include <charconv>
#include <cmath>

namespace nereid::ops {
namespace {

// Python's repr of a float: the shortest digits that read back, in positional notation where the
// decimal exponent is between -4 and 15.
std::string reprFloat(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[40];
  auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::string text(buffer, end);
  size_t e = text.find('e');
  int exponent = std::atoi(text.c_str() + e + 1);
  bool negative = text[0] == '-';
  std::string digits = text.substr(negative, e - negative);
  if (digits.size() > 1)
    digits.erase(1, 1); // the point
  std::string sign = negative ? "-" : "";
  if (exponent < -4 || exponent > 15) {
    std::string mantissa = digits.substr(0, 1);
    if (digits.size() > 1)
      mantissa += "." + digits.substr(1);
    std::string power = std::to_string(std::abs(exponent));
    return sign + mantissa + (exponent < 0 ? "e-" : "e+") + (power.size() < 2 ? "0" : "") + power;
  }
  if (exponent < 0)
    return sign + "0." + std::string(size_t(-exponent - 1), '0') + digits;
  if (digits.size() <= size_t(exponent) + 1)
    return sign + digits + std::string(size_t(exponent) + 1 - digits.size(), '0') + ".0";
  return sign + digits.substr(0, size_t(exponent) + 1) + "." + digits.substr(size_t(exponent) + 1);
}

std::string reprStr(const std::string &text) {
  bool quotes = text.find('\'') != std::string::npos && text.find('"') == std::string::npos;
  char quote = quotes ? '"' : '\'';
  std::string out(1, quote);
  for (unsigned char c : text) {
    if (c == quote || c == '\\')
      out += {'\\', char(c)};
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (c < 0x20 || c == 0x7f) {
      constexpr char hex[] = "0123456789abcdef";
      out += {'\\', 'x', hex[c >> 4], hex[c & 15]};
    } else
      out += char(c);
  }
  return out + quote;
}

std::string join(std::span<const Value> items) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i)
    text += (i ? ", " : "") + items[i].repr();
  return text;
}

std::string reprObject(const Object &object) {
  switch (object.kind) {
  case Object::Kind::Str:
    return reprStr(static_cast<const Str &>(object).text);
  case Object::Kind::Tuple: {
    auto &tuple = static_cast<const Tuple &>(object);
    if (tuple.fieldNames) {
      std::string text = tuple.typeName() + "(";
      for (size_t i = 0; i < tuple.items.size(); ++i)
        text += (i ? ", " : "") + (*tuple.fieldNames)[i] + "=" + tuple.items[i].repr();
      return text + ")";
    }
    return "(" + join(tuple.items) + (tuple.items.size() == 1 ? ",)" : ")");
  }
  case Object::Kind::List:
    return "[" + join(static_cast<const List &>(object).items) + "]";
  case Object::Kind::Dict: {
    std::string text = "{";
    for (auto &[key, value] : static_cast<const Dict &>(object).entries)
      text += (text.size() > 1 ? ", " : "") + key.repr() + ": " + value.repr();
    return text + "}";
  }
  case Object::Kind::Slice: {
    auto &slice = static_cast<const Slice &>(object);
    return "slice(" + slice.start.repr() + ", " + slice.stop.repr() + ", " + slice.step.repr() +
           ")";
  }
  case Object::Kind::TypeObject:
    return static_cast<const TypeObject &>(object).type.str();
  case Object::Kind::Callable:
    return "<function " + static_cast<const Callable &>(object).name() + ">";
  case Object::Kind::Aggregate:
  case Object::Kind::Host:
    break;
  }
  return object.repr();
}

// Python compares True with 1 and 1 with 1.0; an int and a float compare exactly.
bool equalNumbers(const Value &a, const Value &b) {
  auto integer = [](const Value &v) {
    return v.isBool() ? Integer(int64_t(v.asBool())) : v.asInteger();
  };
  if (a.isFloat() && b.isFloat())
    return a.asFloat() == b.asFloat();
  if (!a.isFloat() && !b.isFloat())
    return integer(a) == integer(b);
  double real = a.isFloat() ? a.asFloat() : b.asFloat();
  if (std::isnan(real) || std::isinf(real) || real != std::trunc(real))
    return false;
  auto whole = Integer::fromDouble(real);
  return whole && *whole == integer(a.isFloat() ? b : a);
}

} // namespace

std::string Object::repr() const { return "<" + typeName() + " object>"; }

Value Value::str(std::string text) { return std::make_shared<Str>(std::move(text)); }
Value Value::tuple(std::vector<Value> items) { return std::make_shared<Tuple>(std::move(items)); }
Value Value::type(Type type) { return std::make_shared<TypeObject>(std::move(type)); }

bool Value::isConstexpr() const {
  if (isTile())
    return false;
  if (!isObject())
    return true;
  if (isTuple() || isList()) {
    for (const Value &item : items())
      if (!item.isConstexpr())
        return false;
    return true;
  }
  if (auto *dict = as<Dict>()) {
    for (auto &[key, value] : dict->entries)
      if (!key.isConstexpr() || !value.isConstexpr())
        return false;
    return true;
  }
  if (auto *slice = as<Slice>())
    return slice->start.isConstexpr() && slice->stop.isConstexpr() && slice->step.isConstexpr();
  return !hasKind(Object::Kind::Aggregate);
}

const std::string &Value::asStr() const { return as<Str>()->text; }

std::span<const Value> Value::items() const {
  if (auto *tuple = as<Tuple>())
    return tuple->items;
  return as<List>()->items;
}

Type Value::asType() const { return as<TypeObject>()->type; }

std::string Value::typeName() const {
  if (isNone())
    return "NoneType";
  if (isBool())
    return "bool";
  if (isInt())
    return "int";
  if (isFloat())
    return "float";
  if (isTile())
    return asTile().type.isDescriptor() ? "tensor_descriptor" : "tensor";
  return object()->typeName();
}

std::string Value::repr() const {
  if (isNone())
    return "None";
  if (isBool())
    return asBool() ? "True" : "False";
  if (isInt())
    return asInteger().toString();
  if (isFloat())
    return reprFloat(asFloat());
  if (isTile())
    return asTile().type.str();
  return reprObject(*object());
}

bool equal(const Value &a, const Value &b) {
  if (a.isTile() || b.isTile())
    return false;
  if (a.isNumber() && b.isNumber())
    return equalNumbers(a, b);
  if (a.isNone() || b.isNone() || a.isNumber() || b.isNumber())
    return a.isNone() && b.isNone();
  const Object &x = *a.object(), &y = *b.object();
  if (&x == &y)
    return true;
  if (x.kind != y.kind)
    return false;
  auto equalItems = [](std::span<const Value> p, std::span<const Value> q) {
    if (p.size() != q.size())
      return false;
    for (size_t i = 0; i < p.size(); ++i)
      if (!equal(p[i], q[i]))
        return false;
    return true;
  };
  switch (x.kind) {
  case Object::Kind::Str:
    return a.asStr() == b.asStr();
  case Object::Kind::Tuple:
  case Object::Kind::List:
    return equalItems(a.items(), b.items());
  case Object::Kind::Dict: {
    auto &p = static_cast<const Dict &>(x).entries, &q = static_cast<const Dict &>(y).entries;
    if (p.size() != q.size())
      return false;
    for (auto &[key, value] : p) {
      bool found = false;
      for (auto &[otherKey, otherValue] : q)
        if (equal(key, otherKey)) {
          found = equal(value, otherValue);
          break;
        }
      if (!found)
        return false;
    }
    return true;
  }
  case Object::Kind::Slice: {
    auto &p = static_cast<const Slice &>(x), &q = static_cast<const Slice &>(y);
    return equal(p.start, q.start) && equal(p.stop, q.stop) && equal(p.step, q.step);
  }
  case Object::Kind::TypeObject:
    return a.asType() == b.asType();
  case Object::Kind::Callable:
  case Object::Kind::Aggregate:
  case Object::Kind::Host:
    break;
  }
  return x.equals(y);
}

} // namespace nereid::ops
