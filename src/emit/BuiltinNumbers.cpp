// Python's builtins that compute numbers.
#include "emit/Builtins.h"
#include "ops/Objects.h"

#include <cmath>

namespace nereid::emit {

namespace {

Value minMax(Interp &interp, bool wantsMax, std::vector<Value> &args, Keywords &keywords) {
  const char *name = wantsMax ? "max" : "min";
  Value key = keyword(keywords, "key");
  Value absent = keyword(keywords, "default");
  std::vector<Value> items;
  if (args.size() == 1 && !unboxed(args[0]).isTile() && !unboxed(args[0]).isNumber()) {
    if (auto unknown = unknownAmong(interp, args))
      return *unknown;
    items = interp.iterate(args[0]);
  } else {
    items = args;
  }
  if (items.empty()) {
    if (!absent.isNone())
      return absent;
    interp.raise("ValueError", "`" + std::string(name) + "` of nothing");
  }
  if (auto unknown = unknownAmong(interp, items))
    return *unknown;
  bool tiles = false;
  for (Value &item : items) {
    unbox(item);
    tiles |= item.isTile();
  }
  if (tiles) {
    if (items.size() == 1)
      interp.fail("RuntimeIteration", "`" + std::string(name) + "` can't look into a tile",
                  "use `tl." + std::string(name) + "(x, axis)`");
    const ops::Row *row = ops::find(wantsMax ? "maximum" : "minimum");
    Value result = items[0];
    for (size_t i = 1; i < items.size(); ++i)
      result = interp.callOp(*row, {result, items[i]}, {});
    return result;
  }
  auto keyOf = [&](const Value &item) {
    return key.isNone() ? item : interp.call(key, {item}, {});
  };
  Value best = items[0], bestKey = keyOf(items[0]);
  for (size_t i = 1; i < items.size(); ++i) {
    Value candidate = keyOf(items[i]);
    Value better = interp.compare(wantsMax ? syntax::CompareOp::Gt : syntax::CompareOp::Lt,
                                  candidate, bestKey);
    if (interp.truth(better)) {
      best = items[i];
      bestKey = candidate;
    }
  }
  return best;
}

Value toInt(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "int", args, 0, 2);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  if (args.empty())
    return Value(0);
  const Value &value = args[0];
  if (value.isTile())
    interp.fail("NotConstexpr", "`int(...)` needs a value that is known while compiling",
                "convert at run time with `.to(tl.int32)`");
  if (value.isBool())
    return Value(int64_t(value.asBool()));
  if (value.isInt())
    return value;
  if (value.isFloat()) {
    if (auto whole = Integer::fromDouble(value.asFloat()))
      return Value(*whole);
    interp.raise("ValueError", "can't convert " + interp.repr(value) + " to an integer");
  }
  if (value.isStr()) {
    std::string text = value.asStr();
    int64_t base = args.size() > 1 ? interp.asInt(args[1], "a base") : 10;
    size_t at = text.find_first_not_of(" \t\n"), end = text.find_last_not_of(" \t\n");
    auto bad = [&] { interp.raise("ValueError", interp.repr(value) + " is not an integer"); };
    if (at == std::string::npos)
      bad();
    text = text.substr(at, end - at + 1);
    bool negative = text[0] == '-';
    size_t i = negative || text[0] == '+';
    if ((base == 16 || base == 0) && (text.substr(i, 2) == "0x" || text.substr(i, 2) == "0X")) {
      i += 2;
      base = 16;
    }
    if (base == 0)
      base = 10;
    if (i == text.size() || base < 2 || base > 36 || text.size() > 1200)
      bad();
    Integer number(0);
    for (; i < text.size(); ++i) {
      int c = std::tolower(uint8_t(text[i]));
      int digit = std::isdigit(c) ? c - '0' : std::isalpha(c) ? c - 'a' + 10 : 99;
      if (c == '_')
        continue;
      if (digit >= base)
        bad();
      number = number * Integer(base) + Integer(digit);
    }
    return Value(negative ? -number : number);
  }
  if (isUserObject(value))
    for (const char *method : {"__int__", "__index__"})
      if (auto convert = interp.attribute(value, method))
        return interp.call(*convert, {}, {});
  interp.raise("TypeError", "`int` has no meaning for `" + value.typeName() + "`");
}

Value toFloat(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "float", args, 0, 1);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  if (args.empty())
    return Value(0.0);
  const Value &value = args[0];
  if (value.isTile())
    interp.fail("NotConstexpr", "`float(...)` needs a value that is known while compiling",
                "convert at run time with `.to(tl.float32)`");
  if (value.isBool())
    return Value(double(value.asBool()));
  if (value.isInt())
    return Value(value.asInteger().toDouble());
  if (value.isFloat())
    return value;
  if (value.isStr()) {
    std::string text;
    for (char c : value.asStr())
      if (!std::isspace(uint8_t(c)) && c != '_')
        text += char(std::tolower(uint8_t(c)));
    char *end = nullptr;
    double number = std::strtod(text.c_str(), &end);
    if (text.empty() || *end || text.find('x') != std::string::npos)
      interp.raise("ValueError", interp.repr(value) + " is not a number");
    return Value(number);
  }
  if (isUserObject(value))
    if (auto convert = interp.attribute(value, "__float__"))
      return interp.call(*convert, {}, {});
  interp.raise("TypeError", "`float` has no meaning for `" + value.typeName() + "`");
}

Value builtinMin(Interp &interp, std::vector<Value> &args, Keywords &keywords) {
  return minMax(interp, false, args, keywords);
}

Value builtinMax(Interp &interp, std::vector<Value> &args, Keywords &keywords) {
  return minMax(interp, true, args, keywords);
}

Value builtinAbs(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "abs", args, 1, 1);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  const Value &value = args[0];
  if (value.isTile())
    return interp.callOp(*ops::find("abs"), {value}, {});
  if (value.isFloat())
    return Value(std::fabs(value.asFloat()));
  if (value.isInt())
    return Value(value.asInteger().isNegative() ? -value.asInteger() : value.asInteger());
  if (value.isBool())
    return Value(int64_t(value.asBool()));
  interp.raise("TypeError", "`abs` has no meaning for `" + value.typeName() + "`");
}

Value builtinSum(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "sum", args, 1, 2);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  if (unboxed(args[0]).isTile())
    interp.fail("RuntimeIteration", "`sum` can't look into a tile", "use `tl.sum(x, axis)`");
  Value total = args.size() > 1 ? args[1] : Value(0);
  for (const Value &item : interp.iterate(args[0]))
    total = interp.binary(syntax::BinaryOp::Add, total, item);
  return total;
}

Value builtinRound(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "round", args, 1, 2);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  if (args[0].isInt() || args[0].isBool())
    return args[0];
  if (args[0].isTile())
    interp.fail("NotConstexpr", "`round` needs a value that is known while compiling",
                ops::elsewhere("round"));
  if (!args[0].isFloat())
    interp.raise("TypeError", "`round` has no meaning for `" + args[0].typeName() + "`");
  double value = args[0].asFloat();
  if (args.size() == 1) {
    if (auto whole = Integer::fromDouble(std::nearbyint(value)))
      return Value(*whole);
    interp.raise("ValueError", "can't convert " + interp.repr(args[0]) + " to an integer");
  }
  std::string text =
      interp.format(args[0], "." + std::to_string(interp.asInt(args[1], "digits")) + "f");
  return Value(std::strtod(text.c_str(), nullptr));
}

Value builtinDivmod(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "divmod", args, 2, 2);
  return Value::tuple({interp.binary(syntax::BinaryOp::FloorDiv, args[0], args[1]),
                       interp.binary(syntax::BinaryOp::Mod, args[0], args[1])});
}

Value builtinPow(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "pow", args, 2, 2);
  return interp.binary(syntax::BinaryOp::Pow, args[0], args[1]);
}

Value builtinChr(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "chr", args, 1, 1);
  int64_t code = interp.asInt(args[0], "a character code");
  if (code < 0 || code > 127)
    interp.raise("ValueError", "`chr` knows ASCII only");
  return Value::str(std::string(1, char(code)));
}

Value builtinOrd(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "ord", args, 1, 1);
  if (!args[0].isStr() || args[0].asStr().size() != 1)
    interp.raise("TypeError", "`ord` needs one ASCII character");
  return Value(int64_t(uint8_t(args[0].asStr()[0])));
}

constexpr BuiltinRow rows[] = {
    {"int", toInt},      {"float", toFloat},  {"min", builtinMin},     {"max", builtinMax},
    {"abs", builtinAbs}, {"sum", builtinSum}, {"round", builtinRound}, {"divmod", builtinDivmod},
    {"pow", builtinPow}, {"chr", builtinChr}, {"ord", builtinOrd},
};

} // namespace

std::span<const BuiltinRow> numberBuiltins() { return rows; }

} // namespace nereid::emit
