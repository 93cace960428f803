// Python's operators on values known now: exact integers, IEEE doubles, strings, tuples, lists,
// dicts.

#include "emit/Interp.h"

#include "ops/Objects.h"

#include <cmath>

namespace nereid::emit {

using syntax::BinaryOp;
using syntax::CompareOp;

namespace {

constexpr std::string_view symbols[] = {"+",  "-",  "*", "@", "/", "%", "**",
                                        "<<", ">>", "|", "^", "&", "//"};
constexpr std::string_view comparisons[] = {"==", "!=", "<",      "<=", ">",
                                            ">=", "is", "is not", "in", "not in"};

bool isIntegral(const Value &value) { return value.isInt() || value.isBool(); }
Integer integer(const Value &value) {
  return value.isBool() ? Integer(value.asBool() ? 1 : 0) : value.asInteger();
}
double number(const Value &value) {
  return value.isFloat() ? value.asFloat() : integer(value).toDouble();
}

// Python's float modulo: the sign of the divisor.
double floatMod(double a, double b) {
  double mod = std::fmod(a, b);
  if (mod != 0) {
    if ((b < 0) != (mod < 0))
      mod += b;
  } else {
    mod = std::copysign(0.0, b);
  }
  return mod;
}

double floatFloorDiv(double a, double b) {
  double mod = std::fmod(a, b);
  double div = (a - mod) / b;
  if (mod != 0 && ((b < 0) != (mod < 0)))
    div -= 1.0;
  if (div == 0)
    return std::copysign(0.0, a / b);
  double floored = std::floor(div);
  return div - floored > 0.5 ? floored + 1.0 : floored;
}

// The nearest double to a / b for integers of any size.
double trueDivide(const Integer &a, const Integer &b) {
  double x = a.toDouble(), y = b.toDouble();
  if (a.toInt64() && b.toInt64() && std::fabs(x) <= 9007199254740992.0 &&
      std::fabs(y) <= 9007199254740992.0)
    return x / y;
  // Scale so that the quotient has 66 bits or more, keep a sticky bit, and round once.
  bool negative = a.isNegative() != b.isNegative();
  Integer p = a.isNegative() ? -a : a, q = b.isNegative() ? -b : b;
  int shift = 66 - (int(p.bitLength()) - int(q.bitLength()));
  if (shift > 0)
    p = Integer::shiftLeft(p, uint64_t(shift));
  else if (shift < 0)
    q = Integer::shiftLeft(q, uint64_t(-shift));
  Integer quotient = Integer::floorDiv(p, q);
  if (!Integer::floorMod(p, q).isZero())
    quotient = quotient | Integer(1);
  double result = std::ldexp(quotient.toDouble(), -shift);
  return negative ? -result : result;
}

// Each gives nothing where the operator has no meaning for its operands.

std::optional<Value> integerBinary(Interp &in, BinaryOp op, const Value &lhs, const Value &rhs) {
  Integer a = integer(lhs), b = integer(rhs);
  bool bools = lhs.isBool() && rhs.isBool();
  try {
    switch (op) {
    case BinaryOp::Add:
      return Value(a + b);
    case BinaryOp::Sub:
      return Value(a - b);
    case BinaryOp::Mult:
      return Value(a * b);
    case BinaryOp::Div:
      if (b.isZero())
        in.raise("ZeroDivisionError", "division by zero");
      return Value(trueDivide(a, b));
    case BinaryOp::FloorDiv:
      return Value(Integer::floorDiv(a, b));
    case BinaryOp::Mod:
      return Value(Integer::floorMod(a, b));
    case BinaryOp::Pow: {
      if (b.isNegative()) {
        if (a.isZero())
          in.raise("ZeroDivisionError", "0 can't be raised to a negative power");
        return Value(std::pow(a.toDouble(), b.toDouble()));
      }
      std::optional<uint64_t> exponent = b.toUInt64();
      bool trivial = a.bitLength() <= 1;
      if (trivial && a == Integer(-1))
        return Value(Integer((b.low64() & 1) ? -1 : 1));
      if (trivial)
        return Value(b.isZero() ? Integer(1) : a);
      if (!exponent || *exponent > Integer::maxBits)
        throw Integer::TooLarge();
      return Value(Integer::pow(a, *exponent));
    }
    case BinaryOp::LShift:
    case BinaryOp::RShift: {
      if (b.isNegative())
        in.raise("ValueError", "negative shift count");
      uint64_t amount = b.toUInt64().value_or(UINT64_MAX);
      if (op == BinaryOp::RShift)
        return Value(amount > Integer::maxBits ? Integer(a.isNegative() ? -1 : 0)
                                               : Integer::shiftRight(a, amount));
      if (a.isZero())
        return Value(0);
      if (amount > Integer::maxBits)
        throw Integer::TooLarge();
      return Value(Integer::shiftLeft(a, amount));
    }
    case BinaryOp::BitOr:
      return bools ? Value(!(a | b).isZero()) : Value(a | b);
    case BinaryOp::BitXor:
      return bools ? Value(!(a ^ b).isZero()) : Value(a ^ b);
    case BinaryOp::BitAnd:
      return bools ? Value(!(a & b).isZero()) : Value(a & b);
    case BinaryOp::MatMult:
      return std::nullopt;
    }
  } catch (Integer::TooLarge &) {
    in.fail("IntegerTooLarge", "the result of `" + std::string(symbols[unsigned(op)]) +
                                   "` has more than " + std::to_string(Integer::maxBits) + " bits");
  } catch (Integer::DivisionByZero &) {
    in.raise("ZeroDivisionError", "integer division or modulo by zero");
  }
  return std::nullopt;
}

std::optional<Value> floatBinary(Interp &in, BinaryOp op, const Value &lhs, const Value &rhs) {
  double a = number(lhs), b = number(rhs);
  switch (op) {
  case BinaryOp::Add:
    return Value(a + b);
  case BinaryOp::Sub:
    return Value(a - b);
  case BinaryOp::Mult:
    return Value(a * b);
  case BinaryOp::Div:
  case BinaryOp::FloorDiv:
  case BinaryOp::Mod:
    if (b == 0)
      in.raise("ZeroDivisionError", "float division by zero");
    return Value(op == BinaryOp::Div        ? a / b
                 : op == BinaryOp::FloorDiv ? floatFloorDiv(a, b)
                                            : floatMod(a, b));
  case BinaryOp::Pow:
    if (a == 0 && b < 0)
      in.raise("ZeroDivisionError", "0.0 can't be raised to a negative power");
    if (a < 0 && b != std::floor(b) && std::isfinite(b))
      in.raise("ValueError", "a negative number to a fractional power is complex");
    return Value(std::pow(a, b));
  default:
    return std::nullopt;
  }
}

// `+` of texts, tuples and lists.
std::optional<Value> concatenate(Interp &in, const Value &lhs, const Value &rhs) {
  if (lhs.isStr() && rhs.isStr()) {
    in.step((lhs.asStr().size() + rhs.asStr().size()) / 4);
    return Value::str(lhs.asStr() + rhs.asStr());
  }
  bool tuples = lhs.isTuple() && rhs.isTuple(), lists = lhs.isList() && rhs.isList();
  if (tuples || lists ||
      (in.inKernel() && (lhs.isTuple() || lhs.isList()) && (rhs.isTuple() || rhs.isList()))) {
    in.step((lhs.items().size() + rhs.items().size()) * 4);
    std::vector<Value> items(lhs.items().begin(), lhs.items().end());
    items.insert(items.end(), rhs.items().begin(), rhs.items().end());
    if (lists)
      return Value(std::make_shared<ops::List>(std::move(items)));
    return Value::tuple(std::move(items));
  }
  return std::nullopt;
}

// `*` of a text, tuple or list and a number, in either order.
std::optional<Value> repeat(Interp &in, const Value &lhs, const Value &rhs) {
  const Value &sequence = isIntegral(lhs) ? rhs : lhs;
  int64_t times = std::max<int64_t>(0, integer(isIntegral(lhs) ? lhs : rhs).toInt64().value_or(0));
  constexpr int64_t most = 1 << 20;
  auto check = [&](size_t size) {
    if (size && times > most / int64_t(size))
      in.raise("MemoryError", "a sequence of " + std::to_string(times) + " times " +
                                  std::to_string(size) + " items is too large");
    in.step(uint64_t(times) * size / (sequence.isStr() ? 4 : 1));
  };
  if (sequence.isStr()) {
    check(sequence.asStr().size());
    std::string text;
    for (int64_t i = 0; i < times; ++i)
      text += sequence.asStr();
    return Value::str(std::move(text));
  }
  if (sequence.isTuple() || sequence.isList()) {
    check(sequence.items().size());
    std::vector<Value> items;
    for (int64_t i = 0; i < times; ++i)
      items.insert(items.end(), sequence.items().begin(), sequence.items().end());
    if (sequence.isList())
      return Value(std::make_shared<ops::List>(std::move(items)));
    return Value::tuple(std::move(items));
  }
  return std::nullopt;
}

// "%s of %d" % (a, b): the conversions of numbers and text, without flags.
Value formatPercent(Interp &in, const Value &lhs, const Value &rhs) {
  std::vector<Value> args;
  if (rhs.isTuple())
    args.assign(rhs.items().begin(), rhs.items().end());
  else
    args.push_back(rhs);
  std::string text;
  size_t next = 0;
  const std::string &pattern = lhs.asStr();
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      text += pattern[i];
      continue;
    }
    std::string spec;
    for (++i; i < pattern.size() &&
              std::string_view("0123456789.+-# ").find(pattern[i]) != std::string_view::npos;
         ++i)
      spec += pattern[i];
    if (i >= pattern.size())
      in.raise("ValueError", "incomplete format");
    if (pattern[i] == '%') {
      text += '%';
      continue;
    }
    if (next >= args.size())
      in.raise("TypeError", "not enough arguments for format string");
    const Value &arg = args[next++];
    if (pattern[i] == 's')
      text += in.str(arg);
    else if (pattern[i] == 'r')
      text += in.repr(arg);
    else
      text += in.format(arg, spec + (pattern[i] == 'i' ? 'd' : pattern[i]));
  }
  return Value::str(std::move(text));
}

// `|`, `&`, `-` and `^`.
std::optional<Value> combine(BinaryOp op, const SetObject &a, const SetObject &b) {
  bool keepsOwn = op == BinaryOp::BitOr || op == BinaryOp::BitXor || op == BinaryOp::Sub;
  bool keepsCommon = op == BinaryOp::BitOr || op == BinaryOp::BitAnd;
  bool keepsOther = op == BinaryOp::BitOr || op == BinaryOp::BitXor;
  if (!keepsOwn && !keepsCommon)
    return std::nullopt;
  auto result = std::make_shared<SetObject>();
  for (const Value &item : a.items)
    if (b.contains(item) ? keepsCommon : keepsOwn)
      result->add(item);
  if (keepsOther)
    for (const Value &item : b.items)
      if (!a.contains(item))
        result->add(item);
  return Value(std::move(result));
}

// `|`: the right one's values where both have a key.
Value merge(Interp &in, const ops::Dict &a, const ops::Dict &b) {
  auto result = std::make_shared<ops::Dict>();
  result->entries = a.entries;
  for (auto &[key, value] : b.entries) {
    auto it = std::find_if(result->entries.begin(), result->entries.end(),
                           [&](auto &entry) { return in.equal(entry.first, key); });
    if (it != result->entries.end())
      it->second = value;
    else
      result->entries.emplace_back(key, value);
  }
  return Value(std::move(result));
}

} // namespace

Value Interp::hostBinary(BinaryOp op, const Value &lhs, const Value &rhs) {
  if (lhs.as<Unknown>())
    return Value(std::make_shared<Unknown>(lhs.as<Unknown>()->origin));
  if (rhs.as<Unknown>())
    return Value(std::make_shared<Unknown>(rhs.as<Unknown>()->origin));
  std::optional<Value> result;
  auto *leftSet = lhs.as<SetObject>(), *rightSet = rhs.as<SetObject>();
  auto *leftDict = lhs.as<ops::Dict>(), *rightDict = rhs.as<ops::Dict>();
  if (isIntegral(lhs) && isIntegral(rhs))
    result = integerBinary(*this, op, lhs, rhs);
  else if (lhs.isNumber() && rhs.isNumber())
    result = floatBinary(*this, op, lhs, rhs);
  else if (op == BinaryOp::Add)
    result = concatenate(*this, lhs, rhs);
  else if (op == BinaryOp::Mult && (isIntegral(lhs) || isIntegral(rhs)))
    result = repeat(*this, lhs, rhs);
  else if (op == BinaryOp::Mod && lhs.isStr())
    result = formatPercent(*this, lhs, rhs);
  else if (leftSet && rightSet)
    result = combine(op, *leftSet, *rightSet);
  else if (op == BinaryOp::BitOr && leftDict && rightDict)
    result = merge(*this, *leftDict, *rightDict);
  else if (op == BinaryOp::BitOr &&
           (lhs.isCallable() || rhs.isCallable() || lhs.isNone() || rhs.isNone()))
    result = Value(std::make_shared<Unknown>(repr(lhs) + " | " + repr(rhs))); // an annotation's
  if (result)
    return *result;
  raise("TypeError", "`" + std::string(symbols[unsigned(op)]) + "` has no meaning for `" +
                         lhs.typeName() + "` and `" + rhs.typeName() + "`");
}

bool Interp::hostCompare(CompareOp op, const Value &lhs, const Value &rhs) {
  switch (op) {
  case CompareOp::Eq:
    return equal(lhs, rhs);
  case CompareOp::NotEq:
    return !equal(lhs, rhs);
  case CompareOp::In:
    return contains(rhs, lhs);
  case CompareOp::NotIn:
    return !contains(rhs, lhs);
  case CompareOp::Is:
  case CompareOp::IsNot:
    return identical(lhs, rhs) == (op == CompareOp::Is);
  default:
    break;
  }
  auto decide = [&](auto &&a, auto &&b) {
    switch (op) {
    case CompareOp::Lt:
      return a < b;
    case CompareOp::LtE:
      return a <= b;
    case CompareOp::Gt:
      return a > b;
    default:
      return a >= b;
    }
  };
  if (isIntegral(lhs) && isIntegral(rhs))
    return decide(integer(lhs), integer(rhs));
  if (lhs.isNumber() && rhs.isNumber())
    return decide(number(lhs), number(rhs));
  if (lhs.isStr() && rhs.isStr())
    return decide(lhs.asStr(), rhs.asStr());
  if ((lhs.isTuple() && rhs.isTuple()) || (lhs.isList() && rhs.isList())) {
    auto a = lhs.items(), b = rhs.items();
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      if (!equal(a[i], b[i])) {
        Value decision = compare(op, a[i], b[i]);
        if (decision.isTile())
          raise("TypeError", "tuples with run-time values have no order");
        return truth(decision);
      }
    return decide(a.size(), b.size());
  }
  if (auto *a = lhs.as<SetObject>())
    if (auto *b = rhs.as<SetObject>()) {
      auto within = [](const SetObject &x, const SetObject &y) {
        return std::all_of(x.items.begin(), x.items.end(),
                           [&](const Value &item) { return y.contains(item); });
      };
      bool up = op == CompareOp::Lt || op == CompareOp::LtE;
      bool strict = op == CompareOp::Lt || op == CompareOp::Gt;
      return (up ? within(*a, *b) : within(*b, *a)) &&
             (!strict || a->items.size() != b->items.size());
    }
  raise("TypeError", "`" + std::string(comparisons[unsigned(op)]) + "` has no meaning for `" +
                         lhs.typeName() + "` and `" + rhs.typeName() + "`");
}

bool Interp::contains(const Value &container, const Value &item) {
  if (container.isStr()) {
    if (!item.isStr())
      raise("TypeError", "`in` on a string needs a string, not `" + item.typeName() + "`");
    return container.asStr().find(item.asStr()) != std::string::npos;
  }
  if (auto *dict = container.as<ops::Dict>()) {
    for (auto &[key, value] : dict->entries)
      if (equal(key, item))
        return true;
    return false;
  }
  if (auto *set = container.as<SetObject>())
    return set->contains(item);
  if (container.as<Instance>())
    if (auto method = attribute(container, "__contains__"))
      return truth(call(*method, {item}, {}));
  for (const Value &one : iterate(container))
    if (equal(one, item))
      return true;
  return false;
}

void Interp::checkMembership(const Value &container, const Value &item) {
  auto isRuntime = [](const Value &value) { return unboxed(value).isTile(); };
  bool runtime = isRuntime(item);
  if (!runtime && (container.isTuple() || container.isList()))
    runtime = std::ranges::any_of(container.items(), isRuntime);
  if (runtime || container.isTile()) {
    EvalError failure =
        error(*frame->node, "TypeError",
              "`in` needs values that are known while compiling, but here is a `" +
                  (isRuntime(item)      ? item
                   : container.isTile() ? container
                                        : *std::ranges::find_if(container.items(), isRuntime))
                      .typeName() +
                  "`",
              "compare with each: `(x == 1) | (x == 2)`");
    failure.pythonType = "TypeError";
    throw failure;
  }
}

bool Interp::truth(const Value &valueIn) {
  const Value &value = unboxed(valueIn);
  if (value.isNone())
    return false;
  if (value.isBool())
    return value.asBool();
  if (value.isInt())
    return !value.asInteger().isZero();
  if (value.isFloat())
    return value.asFloat() != 0;
  if (value.isTile())
    fail("RuntimeCondition", "the truth of a run-time value is not known while compiling");
  if (value.isStr())
    return !value.asStr().empty();
  if (value.isTuple() || value.isList())
    return !value.items().empty();
  if (auto *dict = value.as<ops::Dict>())
    return !dict->entries.empty();
  if (auto *set = value.as<SetObject>())
    return !set->items.empty();
  if (auto *range = value.as<PythonRange>())
    return range->size() != 0;
  if (auto *unknown = value.as<Unknown>())
    failUnknown(*unknown, "its truth");
  if (isUserObject(value)) {
    if (auto method = attribute(value, "__bool__"))
      return truth(call(*method, {}, {}));
    if (auto method = attribute(value, "__len__"))
      return truth(call(*method, {}, {}));
  }
  return true;
}

bool Interp::equal(const Value &aIn, const Value &bIn) {
  const Value &a = unboxed(aIn), &b = unboxed(bIn);
  if (a.isTile() || b.isTile()) {
    // A tile is never None, a string or a type.
    const Value &other = a.isTile() ? b : a;
    if (!other.isTile() && !other.isNumber())
      return false;
    EvalError failure = error(*frame->node, "TypeError",
                              "whether run-time values are equal is not known while compiling",
                              "compare the elements: `(a[0] == b[0]) & (a[1] == b[1])`");
    failure.pythonType = "TypeError";
    throw failure;
  }
  checkStack();
  step();
  if ((a.isTuple() && b.isTuple()) || (a.isList() && b.isList())) {
    auto x = a.items(), y = b.items();
    if (x.size() != y.size())
      return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (!equal(x[i], y[i]))
        return false;
    return true;
  }
  if (auto *x = a.as<PythonRange>())
    if (auto *y = b.as<PythonRange>())
      return x->size() == y->size() &&
             (x->size() == 0 || (x->start == y->start && (x->size() == 1 || x->step == y->step)));
  if (auto *x = a.as<ops::Dict>())
    if (auto *y = b.as<ops::Dict>()) {
      if (x->entries.size() != y->entries.size())
        return false;
      for (auto &[key, value] : x->entries) {
        bool found = false;
        for (auto &[otherKey, other] : y->entries)
          if (equal(key, otherKey)) {
            found = equal(value, other);
            break;
          }
        if (!found)
          return false;
      }
      return true;
    }
  return ops::equal(a, b);
}

std::vector<Value> Interp::iterate(const Value &valueIn) {
  const Value &value = unboxed(valueIn);
  if (value.isTuple() || value.isList()) {
    step(value.items().size() / 2);
    return {value.items().begin(), value.items().end()};
  }
  if (auto *dict = value.as<ops::Dict>()) {
    std::vector<Value> keys;
    for (auto &[key, item] : dict->entries)
      keys.push_back(key);
    return keys;
  }
  if (auto *set = value.as<SetObject>())
    return set->items;
  if (auto *range = value.as<PythonRange>()) {
    if (uint64_t(range->size()) > stepsLeft)
      fail("TooManySteps", "a range of " + std::to_string(range->size()) +
                               " items can't be run through while compiling");
    step(uint64_t(range->size()) * 2);
    std::vector<Value> items;
    int64_t at = range->start;
    for (int64_t i = 0, n = range->size(); i < n; ++i) {
      items.push_back(Value(at));
      if (i + 1 < n)
        at += range->step;
    }
    return items;
  }
  if (auto *range = value.as<ops::RangeValue>()) {
    int64_t step = asInt(range->step, "the step of a range");
    if (step == 0)
      raise("ValueError", "the step of a range can't be 0");
    return iterate(
        Value(std::make_shared<PythonRange>(asInt(range->start, "the start of a range"),
                                            asInt(range->stop, "the end of a range"), step)));
  }
  if (value.isStr()) {
    std::vector<Value> items;
    const std::string &text = value.asStr();
    step(text.size() * 2);
    for (size_t i = 0; i < text.size();) {
      size_t end = i + 1;
      while (end < text.size() && (uint8_t(text[end]) & 0xC0) == 0x80)
        ++end;
      items.push_back(Value::str(text.substr(i, end - i)));
      i = end;
    }
    return items;
  }
  if (auto *type = value.as<ClassObject>(); type && type->flavor == ClassObject::Flavor::Enum) {
    std::vector<Value> members;
    for (const Binding &binding : type->attributes->all())
      if (auto *member = binding.value.as<Instance>(); member && member->type.get() == type)
        members.push_back(binding.value);
    return members;
  }
  if (value.as<Instance>() || value.as<AggregateValue>()) {
    if (auto method = attribute(value, "__iter__")) {
      Value iterator = call(*method, {}, {});
      if (!iterator.as<Instance>())
        return iterate(iterator);
      std::vector<Value> items;
      Value next = requireAttribute(iterator, "__next__");
      for (;;) {
        step();
        try {
          items.push_back(call(next, {}, {}));
        } catch (EvalError &failure) {
          if (failure.pythonType != "StopIteration" || failure.fatal)
            throw;
          return items;
        }
      }
    }
    if (auto method = attribute(value, "__getitem__")) {
      std::vector<Value> items;
      for (int64_t i = 0;; ++i) {
        step();
        try {
          items.push_back(call(*method, {Value(i)}, {}));
        } catch (EvalError &failure) {
          if (failure.pythonType != "IndexError" || failure.fatal)
            throw;
          return items;
        }
      }
    }
  }
  if (auto *unknown = value.as<Unknown>())
    failUnknown(*unknown, "its items");
  if (value.isTile())
    fail("RuntimeIteration", "a tile can't be iterated over", "loop over `range(...)` of indices");
  raise("TypeError", "`" + value.typeName() + "` object is not iterable");
}

int64_t Interp::asInt(const Value &valueIn, std::string_view what) {
  const Value &value = unboxed(valueIn);
  if (value.isBool())
    return value.asBool();
  if (value.isInt())
    if (auto small = value.asInteger().toInt64())
      return *small;
  if (auto *unknown = value.as<Unknown>())
    failUnknown(*unknown, what);
  if (value.isTile())
    fail("NotConstexpr", std::string(what) + " must be known while compiling, not a run-time value",
         "make it a `tl.constexpr`");
  raise("TypeError", std::string(what) + " must be an integer, not `" + value.typeName() + "`");
}

} // namespace nereid::emit
