// Takes the calls of nereid/tl.h: values, operators, calls, control flow.
#include "engine/Recorder.h"

#include <charconv>
#include <cmath>

namespace nereid::tl {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    char digits[8];
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (uint8_t(c) < 0x20 || c == 0x7f) {
      std::snprintf(digits, sizeof digits, "\\x%02x", unsigned(uint8_t(c)));
      out += digits;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string floatText(double value) {
  if (std::isnan(value))
    return "float(\"nan\")";
  if (std::isinf(value))
    return value < 0 ? "float(\"-inf\")" : "float(\"inf\")";
  char room[64];
  std::string text(room, std::to_chars(room, std::end(room), value).ptr);
  return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

} // namespace

// --- Arg ---

Arg::Arg(const Value &value, Where where)
    : kind(Kind::Variable), function(value.function), variable(value.variable), where(where) {}
Arg::Arg(Value &&value, Where where) : Arg(static_cast<const Value &>(value), where) {
  isTemporary = true;
}
Arg::Arg(bool value, Where where)
    : kind(Kind::Text), text(value ? "True" : "False"), where(where) {}
Arg::Arg(Symbol symbol, Where where) : kind(Kind::Text), text(symbol.text), where(where) {}
Arg::Arg(DType type, Where where)
    : kind(Kind::Text), text("tl." + std::string(info(type).name)), where(where) {}
Arg::Arg(std::string_view text, Where where) : kind(Kind::Text), text(quoted(text)), where(where) {}
Arg::Arg(const char *text, Where where) : Arg(std::string_view(text), where) {}
Arg::Arg(const std::string &text, Where where) : Arg(std::string_view(text), where) {}
Arg::Arg(std::nullptr_t, Where where) : Arg(None, where) {}
Arg::Arg(bool isNegative, uint64_t magnitude, Where where)
    : kind(Kind::Text), text(std::to_string(magnitude)), where(where) {
  if (isNegative)
    text = "(-" + text + ")";
}
Arg::Arg(std::in_place_t, double number, Where where)
    : kind(Kind::Text), text(floatText(number)), where(where) {
  if (text.starts_with('-'))
    text = "(" + text + ")";
}
Arg::Arg(std::initializer_list<Arg> elements) : Arg(std::vector<Arg>(elements)) {}
Arg::Arg(std::vector<Arg> elements)
    : kind(Kind::List), elements(std::make_shared<const std::vector<Arg>>(std::move(elements))) {
  if (!this->elements->empty())
    where = this->elements->front().where;
}
Arg::Arg(std::in_place_t, const Function &function, Where where)
    : kind(Kind::Text), text(Recorder::defineFunction(function, where)), where(where) {}

// --- Value ---

Value::Value() {
  Recorder &recorder = Recorder::current();
  function = recorder.id;
  variable = recorder.newVariable({});
}
Value::Value(const Value &other) : Value(Arg(other, {})) {}
Value::Value(Value &&other) noexcept : function(other.function), variable(other.variable) {
  other.function = 0;
}
Value::Value(const Arg &arg) {
  Recorder &recorder = Recorder::current();
  auto taken = recorder.take({&arg});
  Expression expression{{}, Recorder::whereOf(arg)};
  recorder.append(arg, taken, expression.pieces);
  Value made = recorder.define(std::move(expression));
  function = made.function;
  variable = made.variable;
}

Value &Value::assign(const char *sign, const Arg &value) {
  Recorder &recorder = Recorder::current();
  auto taken = recorder.take({&value});
  Expression expression{{}, Recorder::whereOf(value)};
  recorder.append(value, taken, expression.pieces);
  if (function == 0 && !sign) { // a new variable in the place of the one that moved on
    function = recorder.id;
    variable = recorder.newVariable(expression.where);
  }
  if (function != recorder.id) {
    recorder.complain(
        "RecordedScope", "a value of another function is assigned in `" + recorder.name + "`",
        "a function assigns its own variables only; return the value", expression.where);
    return *this;
  }
  if (recorder.variables[variable].isGone)
    recorder.complain("RecordedMove", "a value is assigned after it was moved into an expression",
                      "use `std::move` only where the value is used last", expression.where);
  recorder.variables[variable].isNamed = true;
  recorder.statements.push_back({Statement::Kind::Assign,
                                 sign ? sign : "=",
                                 {variable},
                                 std::make_shared<const Expression>(std::move(expression))});
  return *this;
}

std::vector<Value> Value::split(const Arg &tuple, size_t count, Where where) {
  Recorder &recorder = Recorder::current();
  auto taken = recorder.take({&tuple});
  Expression expression{{}, where};
  recorder.append(tuple, taken, expression.pieces);
  Statement statement{Statement::Kind::Assign, "=", {}, nullptr};
  std::vector<Value> parts;
  for (size_t i = 0; i < count; ++i) {
    uint32_t variable = recorder.newVariable(where);
    recorder.variables[variable].isNamed = true;
    statement.variables.push_back(variable);
    parts.push_back(recorder.value(variable));
  }
  statement.expression = std::make_shared<const Expression>(std::move(expression));
  recorder.statements.push_back(std::move(statement));
  return parts;
}

// `pattern` with an operand for each piece without text.
Value Recorder::operation(const std::vector<Piece> &pattern,
                          const std::vector<const Arg *> &operands, Where where) {
  Recorder &recorder = current();
  Taken taken = recorder.take(operands);
  Expression expression{{}, where};
  size_t next = 0;
  for (const Piece &piece : pattern) {
    if (!piece.text.empty())
      expression.pieces.push_back(piece);
    else
      recorder.append(*operands[next++], taken, expression.pieces);
  }
  return recorder.define(std::move(expression));
}

Value operation(const char *sign, const Arg &left, const Arg &right) {
  Where where = Recorder::isVariable(left) ? Recorder::whereOf(left) : Recorder::whereOf(right);
  return Recorder::operation(
      {{"(", {}, {}}, {}, {" " + std::string(sign) + " ", {}, {}}, {}, {")", {}, {}}},
      {&left, &right}, where);
}
Value operation(const char *sign, const Arg &operand) {
  return Recorder::operation({{"(" + std::string(sign), {}, {}}, {}, {")", {}, {}}}, {&operand},
                             Recorder::whereOf(operand));
}
Value choose(const Arg &condition, const Arg &a, const Arg &b) {
  return Recorder::operation(
      {{"(", {}, {}}, {}, {" if ", {}, {}}, {}, {" else ", {}, {}}, {}, {")", {}, {}}},
      {&a, &condition, &b}, Recorder::whereOf(condition));
}

Value Value::attribute(const char *name, Where where) const & {
  Arg self(*this, where);
  return Recorder::operation({{}, {"." + std::string(name), {}, {}}}, {&self}, where);
}
Value Value::attribute(const char *name, Where where) && {
  Arg self(std::move(*this), where);
  return Recorder::operation({{}, {"." + std::string(name), {}, {}}}, {&self}, where);
}

namespace {
Value subscript(const Arg &self, const Arg &index) {
  Recorder &recorder = Recorder::current();
  auto taken = recorder.take({&self, &index});
  Expression expression{{}, Recorder::whereOf(index)};
  recorder.append(self, taken, expression.pieces);
  expression.pieces.push_back({"[", {}, {}});
  recorder.append(index, taken, expression.pieces, true);
  expression.pieces.push_back({"]", {}, {}});
  return recorder.define(std::move(expression));
}
} // namespace

Value Value::operator[](const Arg &index) const & { return subscript(Arg(*this), index); }
Value Value::operator[](const Arg &index) && { return subscript(Arg(std::move(*this)), index); }

Expression Recorder::callExpression(const Arg *self, const char *callee,
                                    std::initializer_list<Operand> operands, Where where) {
  Recorder &recorder = current();
  std::vector<const Arg *> all;
  if (self)
    all.push_back(self);
  for (const Operand &operand : operands)
    all.push_back(operand.value);
  Taken taken = recorder.take(all);
  Expression expression{{}, where};
  auto text = [&](std::string what) { expression.pieces.push_back({std::move(what), {}, {}}); };
  if (self) {
    recorder.append(*self, taken, expression.pieces);
    text(".");
  }
  text(std::string(callee) + "(");
  bool isFirst = true;
  auto add = [&](const std::string &keyword, const Arg &value) {
    text((isFirst ? "" : ", ") + (keyword.empty() ? "" : keyword + "="));
    isFirst = false;
    recorder.append(value, taken, expression.pieces);
  };
  for (const Operand &operand : operands) {
    std::string keyword = operand.keyword;
    if (isAbsent(*operand.value) && !keyword.empty())
      continue;
    if (keyword == "*" && isList(*operand.value)) {
      for (const Arg &element : *operand.value->elements)
        add("", element);
    } else {
      add(keyword == "*" ? "" : keyword, *operand.value);
    }
  }
  text(")");
  return expression;
}

Value Value::call(const char *callee, std::initializer_list<Operand> operands, Where where) {
  Expression expression = Recorder::callExpression(nullptr, callee, operands, where);
  return Recorder::current().define(std::move(expression));
}
Value Value::call(const Arg &self, const char *method, std::initializer_list<Operand> operands,
                  Where where) {
  Expression expression = Recorder::callExpression(&self, method, operands, where);
  return Recorder::current().define(std::move(expression));
}

// --- control flow ---

struct Range::State {
  std::shared_ptr<const Expression> expression;
  size_t depth = 0; // statements before the body
  uint32_t variable = 0;
  bool isOpen = false;
  int exceptions = std::uncaught_exceptions();
};

Range::Range(std::unique_ptr<State> state) : state(std::move(state)) {}
Range Range::call(const char *callee, std::initializer_list<Operand> operands, Where where) {
  Expression expression = Recorder::callExpression(nullptr, callee, operands, where);
  auto state = std::make_unique<State>();
  state->expression = std::make_shared<const Expression>(std::move(expression));
  return Range(std::move(state));
}
Range::Iterator Range::begin() {
  Recorder &recorder = Recorder::current();
  state->variable = recorder.newVariable(state->expression->where);
  recorder.variables[state->variable].isNamed = true;
  recorder.statements.push_back(
      {Statement::Kind::Open, "for", {state->variable}, state->expression});
  state->isOpen = true;
  return Iterator(*this);
}
Value Range::Iterator::operator*() const {
  return Recorder::current().value(range.state->variable);
}
Range::Iterator &Range::Iterator::operator++() {
  Recorder::current().statements.push_back({Statement::Kind::Close, "", {}, nullptr});
  range.state->isOpen = false;
  isDone = true;
  return *this;
}
Range::~Range() {
  if (!state || !state->isOpen || !Recorder::innermost)
    return;
  Recorder &recorder = *Recorder::innermost;
  recorder.statements.push_back({Statement::Kind::Close, "", {}, nullptr});
  if (std::uncaught_exceptions() == state->exceptions)
    recorder.complain("RecordedExit", "`break` or `return` of C++ leaves a loop of the kernel",
                      "loops of a kernel run to their end; use `tl::while_` with a condition",
                      state->expression->where);
}

void if_(const Arg &condition, const std::function<void()> &then,
         const std::function<void()> &otherwise) {
  Recorder &recorder = Recorder::current();
  auto taken = recorder.take({&condition});
  Expression expression{{}, Recorder::whereOf(condition)};
  recorder.append(condition, taken, expression.pieces);
  using Kind = Statement::Kind;
  recorder.statements.push_back(
      {Kind::Open, "if", {}, std::make_shared<const Expression>(std::move(expression))});
  then();
  if (otherwise) {
    recorder.statements.push_back({Kind::Else, "", {}, nullptr});
    otherwise();
  }
  recorder.statements.push_back({Kind::Close, "", {}, nullptr});
}

void while_(const std::function<Value()> &condition, const std::function<void()> &body,
            Where where) {
  Recorder &recorder = Recorder::current();
  using Kind = Statement::Kind;
  size_t before = recorder.statements.size();
  Arg seen(condition(), where);
  auto taken = recorder.take({&seen});
  Expression expression{{}, where};
  recorder.append(seen, taken, expression.pieces);
  if (recorder.statements.size() != before)
    recorder.complain("RecordedCondition",
                      "the condition of `tl::while_` is more than an expression",
                      "assign in the body of the loop, and let the condition compare", where);
  recorder.statements.push_back(
      {Kind::Open, "while", {}, std::make_shared<const Expression>(std::move(expression))});
  body();
  recorder.statements.push_back({Kind::Close, "", {}, nullptr});
}

void return_(Where where) {
  Recorder::current().statements.push_back(
      {Statement::Kind::Do,
       "return",
       {},
       std::make_shared<const Expression>(Expression{{}, where})});
}

} // namespace nereid::tl
