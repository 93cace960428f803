// Host expressions as C and as Python.
#include "support/HostExpression.h"

#include "support/Specialization.h"

#include <bit>
#include <cmath>

namespace nereid::support {

namespace {
using Kind = HostValue::Kind;

struct Printed {
  std::string text;
  Kind kind = Kind::Int;
};

class Printer {
public:
  Printer(std::span<const HostNode> tree, const HostNames &names, bool isC)
      : tree(tree), names(names), isC(isC) {}

  Printed print(uint32_t index) const {
    const HostNode &node = tree[index];
    auto op = HostOp(node.op);
    switch (operandCount(op)) {
    case 0:
      return leaf(node);
    case 1:
      return unary(op, print(node.a));
    case 2:
      return binary(op, print(node.a), print(node.b));
    default: {
      Printed c = print(node.a), a = print(node.b), b = print(node.c);
      Kind kind = a.kind == Kind::Float || b.kind == Kind::Float ? Kind::Float : a.kind;
      if (isC)
        return {"(" + c.text + " ? " + a.text + " : " + b.text + ")", kind};
      return {"(" + a.text + " if " + c.text + " else " + b.text + ")", kind};
    }
    }
  }

private:
  static std::string nameOf(const std::vector<std::string> &names, uint32_t number,
                            const char *otherwise) {
    return number < names.size() ? names[number] : otherwise + std::to_string(number);
  }
  static Kind kindOf(const std::vector<Kind> &kinds, uint32_t number) {
    return number < kinds.size() ? kinds[number] : Kind::Int;
  }

  // "tl.float16, tl.bfloat16, "
  static std::string typesOf(int64_t set) {
    std::string text;
    for (unsigned type = 0; type <= unsigned(DType::Float8E4B15); ++type)
      if (set >> type & 1)
        text += "tl." + std::string(info(DType(type)).name) + ", ";
    return text;
  }

  std::string integer(int64_t value) const {
    if (!isC)
      return value < 0 ? "(" + std::to_string(value) + ")" : std::to_string(value);
    // The least integer has no literal in C.
    if (value == INT64_MIN)
      return "(-INT64_C(9223372036854775807) - 1)";
    std::string text = std::to_string(value);
    return value < 0 ? "(-INT64_C(" + text.substr(1) + "))" : "INT64_C(" + text + ")";
  }

  Printed leaf(const HostNode &node) const {
    std::string leafName = nameOf(names.leaves, node.a, "arg");
    std::string at = std::to_string(node.immediate);
    switch (HostOp(node.op)) {
    case HostOp::None:
      return {isC ? "0 /* None */" : "None", Kind::None};
    case HostOp::Bool:
      return {isC ? (node.immediate ? "1" : "0") : (node.immediate ? "True" : "False"), Kind::Bool};
    case HostOp::Int:
      return {integer(node.immediate), Kind::Int};
    case HostOp::Float: {
      auto value = std::bit_cast<double>(node.immediate);
      if (isC && std::isinf(value))
        return {value < 0 ? "(-INFINITY)" : "INFINITY", Kind::Float};
      if (isC && std::isnan(value))
        return {"NAN", Kind::Float};
      if (!std::isfinite(value))
        return {"float('" + Constant::floating(value).source() + "')", Kind::Float};
      std::string text = Constant::floating(value).source();
      return {std::signbit(value) ? "(" + text + ")" : text, Kind::Float};
    }
    case HostOp::Argument:
      return {leafName, kindOf(names.leafKinds, node.a)};
    case HostOp::Meta:
      return {nameOf(names.metas, node.a, "META"), kindOf(names.metaKinds, node.a)};
    case HostOp::Numel:
      return {isC ? leafName + "_numel" : leafName + ".numel()"};
    case HostOp::Rank:
      return {isC ? leafName + "_rank" : leafName + ".dim()"};
    case HostOp::ElementBytes:
      return {isC ? leafName + "_itembytes" : leafName + ".element_size()"};
    case HostOp::Shape:
      if (isC && node.immediate < 0)
        at = leafName + "_rank - " + at.substr(1);
      return {isC ? leafName + "_shape[" + at + "]" : leafName + ".shape[" + at + "]"};
    case HostOp::Address:
      return {isC ? "(int64_t)(uintptr_t)" + leafName : leafName + ".data_ptr()"};
    case HostOp::TypeIn: // in C types are numbers, those of DType
      if (isC)
        return {"(INT64_C(" + at + ") >> " + leafName + "_type & 1)", Kind::Bool};
      return {"(" + leafName + ".dtype in (" + typesOf(node.immediate) + "))", Kind::Bool};
    default:
      if (isC && node.immediate < 0)
        at = leafName + "_rank - " + at.substr(1);
      return {isC ? leafName + "_strides[" + at + "]" : leafName + ".stride(" + at + ")"};
    }
  }

  Printed unary(HostOp op, Printed x) const {
    bool isFloat = x.kind == Kind::Float;
    auto call = [&](const char *name, Kind kind) {
      return Printed{std::string(name) + "(" + x.text + ")", kind};
    };
    switch (op) {
    case HostOp::Negate:
      return {"(-" + x.text + ")", isFloat ? Kind::Float : Kind::Int};
    case HostOp::Invert:
      return {"(~" + x.text + ")"};
    case HostOp::Not:
      return {isC ? "(!" + x.text + ")" : "(not " + x.text + ")", Kind::Bool};
    case HostOp::IsNone:
      if (isC)
        return {x.kind == Kind::None ? "1" : "0", Kind::Bool};
      return {"(" + x.text + " is None)", Kind::Bool};
    case HostOp::Abs:
      return call(!isC ? "abs" : isFloat ? "fabs" : "nereid_abs", x.kind);
    case HostOp::ToInt:
      return isC ? Printed{"((int64_t)" + x.text + ")"} : call("int", Kind::Int);
    case HostOp::ToFloat:
      return isC ? Printed{"((double)" + x.text + ")", Kind::Float} : call("float", Kind::Float);
    case HostOp::ToBool:
      return isC ? Printed{"(" + x.text + " != 0)", Kind::Bool} : call("bool", Kind::Bool);
    case HostOp::Floor:
    case HostOp::Ceil:
      if (isC && isFloat)
        return {std::string("((int64_t)") + (op == HostOp::Floor ? "floor(" : "ceil(") + x.text +
                "))"};
      if (isC)
        return x;
      return call(op == HostOp::Floor ? "math.floor" : "math.ceil", Kind::Int);
    case HostOp::Sqrt:
      return call(isC ? "sqrt" : "math.sqrt", Kind::Float);
    case HostOp::Log2:
      return call(isC ? "log2" : "math.log2", Kind::Float);
    case HostOp::Exp2:
      return call(isC ? "exp2" : "math.exp2", Kind::Float);
    default:
      return call(isC ? "nereid_next_power_of_2" : "triton.next_power_of_2", Kind::Int);
    }
  }

  Printed binary(HostOp op, Printed a, Printed b) const {
    bool isFloat = a.kind == Kind::Float || b.kind == Kind::Float;
    Kind number = isFloat ? Kind::Float : Kind::Int;
    auto infix = [&](const char *symbol, Kind kind) {
      return Printed{"(" + a.text + " " + symbol + " " + b.text + ")", kind};
    };
    auto call = [&](const std::string &name, Kind kind) {
      return Printed{name + "(" + a.text + ", " + b.text + ")", kind};
    };
    switch (op) {
    case HostOp::Add:
      return infix("+", number);
    case HostOp::Subtract:
      return infix("-", number);
    case HostOp::Multiply:
      return infix("*", number);
    case HostOp::Divide:
      if (isC)
        return {"((double)" + a.text + " / (double)" + b.text + ")", Kind::Float};
      return infix("/", Kind::Float);
    case HostOp::FloorDivide:
      if (!isC)
        return infix("//", number);
      return call(isFloat ? "nereid_floordiv_f" : "nereid_floordiv", number);
    case HostOp::Modulo:
      if (!isC)
        return infix("%", number);
      return call(isFloat ? "nereid_mod_f" : "nereid_mod", number);
    case HostOp::Power:
      if (!isC)
        return infix("**", number);
      return isFloat ? call("pow", number) : call("nereid_pow", number);
    case HostOp::BitAnd:
      return infix("&", Kind::Int);
    case HostOp::BitOr:
      return infix("|", Kind::Int);
    case HostOp::BitXor:
      return infix("^", Kind::Int);
    case HostOp::ShiftLeft:
      return infix("<<", Kind::Int);
    case HostOp::ShiftRight:
      return infix(">>", Kind::Int);
    case HostOp::Less:
      return infix("<", Kind::Bool);
    case HostOp::LessEqual:
      return infix("<=", Kind::Bool);
    case HostOp::Greater:
      return infix(">", Kind::Bool);
    case HostOp::GreaterEqual:
      return infix(">=", Kind::Bool);
    case HostOp::Equal:
      return infix("==", Kind::Bool);
    case HostOp::NotEqual:
      return infix("!=", Kind::Bool);
    case HostOp::Min:
      return call(!isC ? "min" : isFloat ? "nereid_min_f" : "nereid_min", number);
    case HostOp::Max:
      return call(!isC ? "max" : isFloat ? "nereid_max_f" : "nereid_max", number);
    case HostOp::Cdiv:
      return call(!isC ? "triton.cdiv" : isFloat ? "nereid_cdiv_f" : "nereid_cdiv", number);
    case HostOp::And:
      if (!isC)
        return infix("and", b.kind);
      return {"(" + a.text + " ? " + b.text + " : " + a.text + ")", number};
    default:
      if (!isC)
        return infix("or", b.kind);
      return {"(" + a.text + " ? " + a.text + " : " + b.text + ")", number};
    }
  }

  std::span<const HostNode> tree;
  const HostNames &names;
  bool isC;
};
} // namespace

std::string HostExpression::toC(const HostNames &names) const {
  return Printer(tree, names, true).print(uint32_t(tree.size() - 1)).text;
}

std::string HostExpression::toPython(const HostNames &names) const {
  return Printer(tree, names, false).print(uint32_t(tree.size() - 1)).text;
}

std::string_view hostExpressionHelpersC() {
  return R"(#include <math.h>
#include <stdint.h>
static inline int64_t nereid_abs(int64_t x) { return x < 0 ? -x : x; }
static inline int64_t nereid_min(int64_t a, int64_t b) { return b < a ? b : a; }
static inline int64_t nereid_max(int64_t a, int64_t b) { return b > a ? b : a; }
static inline double nereid_min_f(double a, double b) { return b < a ? b : a; }
static inline double nereid_max_f(double a, double b) { return b > a ? b : a; }
static inline int64_t nereid_floordiv(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t nereid_mod(int64_t a, int64_t b) {
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static inline double nereid_mod_f(double a, double b) {
  double r = fmod(a, b);
  if (r == 0) return copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}
static inline double nereid_floordiv_f(double a, double b) {
  double q = (a - nereid_mod_f(a, b)) / b, f = floor(q);
  if (q == 0) return copysign(0.0, a / b);
  return q - f > 0.5 ? f + 1 : f;
}
static inline int64_t nereid_cdiv(int64_t a, int64_t b) { return nereid_floordiv(a + b - 1, b); }
static inline double nereid_cdiv_f(double a, double b) { return nereid_floordiv_f(a + b - 1, b); }
static inline int64_t nereid_pow(int64_t a, int64_t b) {
  int64_t r = 1;
  for (; b > 0; b >>= 1, a = (int64_t)((uint64_t)a * (uint64_t)a))
    if (b & 1) r = (int64_t)((uint64_t)r * (uint64_t)a);
  return r;
}
static inline int64_t nereid_next_power_of_2(int64_t x) {
  uint64_t n = (uint64_t)x - 1;
  if (x <= 0) return 0;
  n |= n >> 1; n |= n >> 2; n |= n >> 4; n |= n >> 8; n |= n >> 16; n |= n >> 32;
  return (int64_t)(n + 1);
}
)";
}

} // namespace nereid::support
