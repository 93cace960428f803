// Records the calls of nereid/tl.h.
//
// An expression is a statement as soon as it is built, so that the order of C++ is the order of the
// kernel. When it is used as a temporary it moves out of the statements into the expression around
// it; if something stands between them, it gets a name instead. So `store(p, load(q) + 1)` becomes
// one line, with operands in the order of the text whatever order the C++ compiler took them in.
#include "engine/Recording.h"

#include "nereid/engine.h"
#include "nereid/tl.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Location.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

namespace nereid {

using engine::Recording;

namespace {

std::string fileName(const tl::Where &where) {
  std::string_view path = where.file_name();
  return std::string(path.substr(path.rfind('/') + 1));
}
SourcePos positionOf(const tl::Where &where) {
  return {where.line(), where.column() ? where.column() - 1 : 0};
}

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

namespace tl {

namespace {

struct Expression;

/// Text, a variable or an expression inside of an expression.
struct Piece {
  std::string text;
  std::optional<uint32_t> variable;
  std::shared_ptr<const Expression> inner;
};

struct Expression {
  std::vector<Piece> pieces;
  Where where;
};

struct Statement {
  enum class Kind : uint8_t {
    Define, ///< a new variable, named only if something reads it
    Assign, ///< variables `sign` expression
    Do,     ///< `sign` expression
    Open,   ///< `sign` [variable in] expression ":"
    Else,
    Close,
  };
  Kind kind;
  std::string sign;
  std::vector<uint32_t> variables;
  std::shared_ptr<const Expression> expression;
};

struct Variable {
  std::string name; ///< of a parameter; else given when the text is printed
  Where where;
  bool isNamed = false, isGone = false;
};

} // namespace

struct Module::State {
  Recording recording;
  std::map<std::string, std::string> functions; ///< text -> name
};

/// A function that is being recorded.
struct Recorder {
  using Kind = Statement::Kind;

  Module::State &module;
  uint64_t id;
  std::string name, parameters;
  std::vector<std::string> decorators = {};
  Where where;
  std::vector<Variable> variables = {};
  std::vector<Statement> statements = {};
  std::set<std::string> complaints = {};
  Recorder *outer;

  static inline thread_local Recorder *innermost = nullptr;
  static inline std::atomic<uint64_t> nextId = 1;

  Recorder(Module::State &module, std::string name, Where where)
      : module(module), id(nextId++), name(std::move(name)), where(where), outer(innermost) {
    innermost = this;
  }
  ~Recorder() { innermost = outer; }
  Recorder(const Recorder &) = delete;
  Recorder &operator=(const Recorder &) = delete;

  static Recorder &current() {
    if (!innermost)
      throw Exception(Error{"a name of `nereid::tl` is used outside of a kernel that is being "
                            "recorded",
                            {}});
    return *innermost;
  }

  void complain(std::string code, std::string message, std::string hint, Where at) {
    Diagnostic diagnostic;
    diagnostic.code = std::move(code);
    diagnostic.message = std::move(message);
    diagnostic.hint = std::move(hint);
    diagnostic.where = {fileName(at), positionOf(at), positionOf(at)};
    ++diagnostic.where.end.column;
    // A loop over operands says each thing once.
    if (complaints.insert(render(diagnostic, {})).second)
      module.recording.diagnostics.push_back(std::move(diagnostic));
  }

  // --- variables ---

  Value value(uint32_t variable) const {
    Value made{Value::Raw()};
    made.function = id;
    made.variable = variable;
    return made;
  }
  uint32_t newVariable(Where at) {
    variables.push_back({});
    variables.back().where = at;
    return uint32_t(variables.size() - 1);
  }
  Value define(Expression expression) {
    uint32_t variable = newVariable(expression.where);
    statements.push_back(
        {Kind::Define, "", {variable}, std::make_shared<const Expression>(std::move(expression))});
    return value(variable);
  }

  // --- operands ---

  static void leaves(const Arg &arg, std::vector<const Arg *> &all) {
    if (arg.kind == Arg::Kind::Variable)
      all.push_back(&arg);
    if (arg.kind == Arg::Kind::List)
      for (const Arg &element : *arg.elements)
        leaves(element, all);
  }

  /// The expressions of temporaries among the operands that can move into what uses them: those
  /// at the end of the statements.
  std::map<const Arg *, std::shared_ptr<const Expression>>
  take(std::initializer_list<const Arg *> operands) {
    return take(std::vector<const Arg *>(operands));
  }
  std::map<const Arg *, std::shared_ptr<const Expression>>
  take(const std::vector<const Arg *> &operands) {
    std::vector<const Arg *> all;
    for (const Arg *operand : operands)
      leaves(*operand, all);
    std::map<const Arg *, std::shared_ptr<const Expression>> taken;
    while (!statements.empty() && statements.back().kind == Kind::Define) {
      uint32_t variable = statements.back().variables[0];
      auto user = std::find_if(all.begin(), all.end(), [&](const Arg *arg) {
        return arg->isTemporary && arg->function == id && arg->variable == variable;
      });
      // What is read elsewhere keeps its name.
      if (user == all.end() || variables[variable].isNamed)
        break;
      taken[*user] = statements.back().expression;
      variables[variable].isGone = true;
      statements.pop_back();
      all.erase(user);
    }
    return taken;
  }

  using Taken = std::map<const Arg *, std::shared_ptr<const Expression>>;

  void read(uint32_t variable, Where at, std::vector<Piece> &pieces) {
    if (variables[variable].isGone)
      complain("RecordedMove", "a value is used after it was moved from",
               "use `std::move` only where the value is used last", at);
    variables[variable].isNamed = true;
    pieces.push_back({"", variable, nullptr});
  }

  void append(const Arg &arg, const Taken &taken, std::vector<Piece> &pieces,
              bool inSubscript = false) {
    auto text = [&](std::string what) { pieces.push_back({std::move(what), {}, nullptr}); };
    switch (arg.kind) {
    case Arg::Kind::Absent:
      return text("None");
    case Arg::Kind::Text:
      return text(arg.text);
    case Arg::Kind::List: {
      if (!inSubscript || arg.elements->empty())
        text("(");
      for (const Arg &element : *arg.elements) {
        append(element, taken, pieces);
        text(&element == &arg.elements->back() && arg.elements->size() > 1 ? "" : ", ");
      }
      if (!inSubscript || arg.elements->empty())
        text(")");
      return;
    }
    case Arg::Kind::Variable:
      break;
    }
    if (auto inner = taken.find(&arg); inner != taken.end()) {
      pieces.push_back({"", {}, inner->second});
      return;
    }
    if (arg.function == id)
      return read(arg.variable, arg.where, pieces);
    if (arg.function == 0)
      complain("RecordedMove", "a value is used after it was moved from",
               "use `std::move` only where the value is used last", arg.where);
    else
      complain("RecordedScope", "a value of another function is used in `" + name + "`",
               "a function sees its own parameters and constants of C++; pass the value",
               arg.where);
    text("None");
  }

  // --- whole functions ---

  void finish();
  void print(const std::string &functionName, std::string &text,
             std::vector<std::pair<uint32_t, Recording::Place>> &places,
             std::map<std::string, Recording::Variable> &names) const;

  // What Range and Arg need of the private parts.
  static Expression callExpression(const Arg *self, const char *callee,
                                   std::initializer_list<Operand> operands, Where where);
  static const Recording &recordingOf(const Module &module) { return module.state->recording; }
  static std::string defineFunction(const Arg::Function &function, Where where);
  static Value operation(const std::vector<Piece> &pattern,
                         const std::vector<const Arg *> &operands, Where where);
  static Where whereOf(const Arg &arg) {
    if (arg.kind == Arg::Kind::List && !arg.elements->empty())
      return whereOf(arg.elements->front());
    return arg.where;
  }
  static bool isVariable(const Arg &arg) { return arg.kind == Arg::Kind::Variable; }
  static bool isAbsent(const Arg &arg) { return arg.kind == Arg::Kind::Absent; }
  static bool isList(const Arg &arg) { return arg.kind == Arg::Kind::List; }
};

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

// --- text ---

// Prints the function, its first line being line 1.
void Recorder::print(const std::string &functionName, std::string &text,
                     std::vector<std::pair<uint32_t, Recording::Place>> &places,
                     std::map<std::string, Recording::Variable> &names) const {
  // No name of ours is one of the parameters'.
  std::string prefix = "v";
  while (std::any_of(variables.begin(), variables.end(), [&](const Variable &variable) {
    return variable.name.starts_with(prefix) &&
           variable.name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
  }))
    prefix += "_";
  std::vector<std::string> given(variables.size());
  size_t count = 0;
  auto nameOf = [&](uint32_t variable) -> const std::string & {
    std::string &known = given[variable];
    if (known.empty()) {
      const Variable &from = variables[variable];
      known = from.name.empty() ? prefix + std::to_string(count++) : from.name;
      if (from.name.empty() && from.where.line())
        names[functionName + "." + known] = {fileName(from.where), positionOf(from.where)};
    }
    return known;
  };

  uint32_t line = 1;
  std::string current;
  auto addPlace = [&](uint32_t begin, uint32_t end, Where at) {
    if (at.line())
      places.push_back({line, {begin, end, fileName(at), positionOf(at)}});
  };
  auto endLine = [&] {
    text += current + "\n";
    current.clear();
    ++line;
  };
  std::function<void(const Expression &)> write = [&](const Expression &expression) {
    size_t place = places.size();
    uint32_t begin = uint32_t(current.size());
    addPlace(begin, begin, expression.where);
    for (const Piece &piece : expression.pieces) {
      if (piece.variable)
        current += nameOf(*piece.variable);
      else if (piece.inner)
        write(*piece.inner);
      else
        current += piece.text;
    }
    if (expression.where.line())
      places[place].second.end = uint32_t(current.size());
  };

  for (const std::string &decorator : decorators) {
    addPlace(0, uint32_t(decorator.size()), where);
    current = decorator;
    endLine();
    line += uint32_t(std::count(decorator.begin(), decorator.end(), '\n'));
  }
  current = "@triton.jit";
  endLine();
  current = "def " + functionName + "(" + parameters + "):";
  addPlace(0, uint32_t(current.size()), where);
  endLine();

  size_t indent = 1;
  bool isEmpty = true;
  auto pass = [&] {
    if (isEmpty) {
      current = std::string(4 * indent, ' ') + "pass";
      endLine();
    }
  };
  for (const Statement &statement : statements) {
    if (statement.kind == Kind::Close || statement.kind == Kind::Else) {
      pass();
      --indent;
      isEmpty = false;
      if (statement.kind == Kind::Else) {
        current = std::string(4 * indent++, ' ') + "else:";
        endLine();
        isEmpty = true;
      }
      continue;
    }
    isEmpty = false;
    current = std::string(4 * indent, ' ');
    addPlace(uint32_t(current.size()), ~0u, statement.expression->where);
    std::string left;
    for (uint32_t variable : statement.variables)
      left += (left.empty() ? "" : ", ") + nameOf(variable);
    switch (statement.kind) {
    case Kind::Define:
      if (variables[statement.variables[0]].isNamed)
        current += left + " = ";
      write(*statement.expression);
      break;
    case Kind::Assign:
      current += left + " " + statement.sign + " ";
      write(*statement.expression);
      break;
    case Kind::Do:
      current += statement.sign + (statement.expression->pieces.empty() ? "" : " ");
      write(*statement.expression);
      break;
    default:
      current += statement.sign + " " + (left.empty() ? "" : left + " in ");
      write(*statement.expression);
      current += ":";
      ++indent;
      isEmpty = true;
    }
    endLine();
  }
  pass();
}

// Puts the function behind those of the module.
void Recorder::finish() {
  std::string text;
  std::vector<std::pair<uint32_t, Recording::Place>> places;
  std::map<std::string, Recording::Variable> names;
  print(name, text, places, names);
  Recording &recording = module.recording;
  uint32_t line = uint32_t(std::count(recording.text.begin(), recording.text.end(), '\n')) + 2;
  recording.functions[line + 1] = name;
  for (auto &[at, place] : places)
    recording.places[line + at].push_back(std::move(place));
  recording.variables.merge(names);
  recording.text += "\n\n" + text;
}

std::string Recorder::defineFunction(const Arg::Function &function, Where where) {
  Module::State &module = current().module;
  Recorder recorder(module, "_function", where);
  std::vector<Value> values;
  for (size_t i = 0; i < function.count; ++i) {
    uint32_t variable = recorder.newVariable(where);
    recorder.variables[variable].name = "p" + std::to_string(i);
    recorder.variables[variable].isNamed = true;
    recorder.parameters += (i ? ", p" : "p") + std::to_string(i);
    values.push_back(recorder.value(variable));
  }
  std::vector<Arg> results = function.body(values);
  std::vector<const Arg *> operands;
  for (const Arg &result : results)
    operands.push_back(&result);
  Taken taken = recorder.take(operands);
  Expression expression{{}, where};
  for (const Arg &result : results) {
    recorder.append(result, taken, expression.pieces);
    if (results.size() > 1)
      expression.pieces.push_back({&result == &results.back() ? "" : ", ", {}, {}});
  }
  recorder.statements.push_back(
      {Kind::Do, "return", {}, std::make_shared<const Expression>(std::move(expression))});
  // Functions of one text are one function.
  std::string text;
  std::vector<std::pair<uint32_t, Recording::Place>> places;
  std::map<std::string, Recording::Variable> names;
  recorder.print("_function", text, places, names);
  auto [known, isNew] =
      module.functions.try_emplace(text, "_function" + std::to_string(module.functions.size()));
  if (isNew) {
    recorder.name = known->second;
    recorder.finish();
  }
  return known->second;
}

// --- Module ---

Module::Module(std::string name) : state(std::make_unique<State>()) {
  state->recording.name = std::move(name);
  state->recording.text = "import triton\nimport triton.language as tl\n"
                          "from triton.language.extra import libdevice\n";
}
Module::~Module() = default;
Module::Module(Module &&) noexcept = default;
Module &Module::operator=(Module &&) noexcept = default;

namespace {
// "x, n, BLOCK: tl.constexpr = 64"  ->  x, n, BLOCK
std::vector<std::string> parameterNames(std::string_view text) {
  std::vector<std::string> names;
  int depth = 0;
  bool inName = true;
  std::string name;
  for (char c : std::string(text) + ",") {
    depth += c == '(' || c == '[' || c == '{';
    depth -= c == ')' || c == ']' || c == '}';
    if (c == ',' && depth == 0) {
      if (!name.empty())
        names.push_back(name);
      name.clear();
      inName = true;
    } else if (c == ':' || c == '=') {
      inName = false;
    } else if (inName && c != ' ' && c != '\n' && c != '\t') {
      name += c;
    }
  }
  return names;
}
} // namespace

void Module::add(std::string_view name, std::string_view parameters, size_t count,
                 const std::function<void(std::span<Value>)> &body, const KernelOptions &options,
                 Where where) {
  Recorder recorder(*state, std::string(name), where);
  recorder.parameters = parameters;
  recorder.decorators = options.decorators;
  std::vector<std::string> names = parameterNames(parameters);
  if (names.size() != count) {
    recorder.complain("RecordedParameters",
                      "`" + std::string(name) + "` names " + std::to_string(names.size()) +
                          " parameters and its function takes " + std::to_string(count),
                      "name each of them, as in \"x, n, BLOCK: tl.constexpr\"", where);
    return;
  }
  std::vector<Value> values;
  for (std::string &parameter : names) {
    uint32_t variable = recorder.newVariable(where);
    recorder.variables[variable].name = parameter;
    recorder.variables[variable].isNamed = true;
    values.push_back(recorder.value(variable));
  }
  body(values);
  recorder.finish();
}

std::string Module::text() const { return state->recording.text; }

} // namespace tl

// --- what the engine makes of it ---

namespace engine {

const Recording &recordingOf(const tl::Module &module) { return tl::Recorder::recordingOf(module); }

const Recording::Place *Recording::find(SourcePos position) const {
  auto line = places.find(position.line);
  if (line == places.end())
    return nullptr;
  const Place *innermost = nullptr;
  for (const Place &place : line->second)
    if (place.begin <= position.column && position.column < place.end)
      if (!innermost || place.end - place.begin <= innermost->end - innermost->begin)
        innermost = &place;
  return innermost ? innermost : &line->second.front();
}

Diagnostic Recording::translate(Diagnostic diagnostic) const {
  // "`v3`" means nothing to who wrote C++: a note says where it is made.
  std::string function;
  if (diagnostic.where.file == name)
    if (auto after = functions.upper_bound(diagnostic.where.begin.line); after != functions.begin())
      function = std::prev(after)->second;
  std::set<std::string> told;
  for (size_t at = 0; (at = diagnostic.message.find('`', at)) != std::string::npos;) {
    size_t end = diagnostic.message.find('`', ++at);
    if (end == std::string::npos)
      break;
    std::string word = diagnostic.message.substr(at, end - at);
    at = end + 1;
    auto variable = variables.find(function + "." + word);
    if (variable == variables.end() || !told.insert(word).second)
      continue;
    Diagnostic note;
    note.severity = Severity::Note;
    note.message = "`" + word + "` is made here";
    note.where = {variable->second.file, variable->second.position, variable->second.position};
    ++note.where.end.column;
    diagnostic.notes.push_back(std::move(note));
  }
  auto move = [&](SourceRange &range) {
    if (range.file != name)
      return;
    if (const Place *place = find(range.begin)) {
      range = {place->file, place->position, place->position};
      ++range.end.column;
    }
  };
  move(diagnostic.where);
  for (Diagnostic::Label &label : diagnostic.labels)
    move(label.where);
  for (Diagnostic &note : diagnostic.notes)
    note = translate(std::move(note));
  return diagnostic;
}

Error Recording::translate(Error error) const {
  for (Diagnostic &diagnostic : error.diagnostics)
    diagnostic = translate(std::move(diagnostic));
  return error;
}

void Recording::relocate(mlir::ModuleOp module) const {
  mlir::MLIRContext *context = module.getContext();
  mlir::AttrTypeReplacer replacer;
  replacer.addReplacement([&](mlir::FileLineColLoc location) -> std::optional<mlir::Attribute> {
    if (location.getFilename().strref() != name)
      return std::nullopt;
    const Place *place = find({location.getLine(), location.getColumn() - 1});
    if (!place)
      return std::nullopt;
    return mlir::Attribute(mlir::FileLineColLoc::get(mlir::StringAttr::get(context, place->file),
                                                     place->position.line,
                                                     place->position.column + 1));
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/false, /*replaceLocs=*/true);
}

std::string Recording::placesText() const {
  std::string text;
  for (const auto &[line, all] : places)
    for (const Place &place : all)
      text += std::to_string(line) + ":" + std::to_string(place.begin) + " " + place.file + ":" +
              std::to_string(place.position.line) + ":" + std::to_string(place.position.column) +
              "\n";
  return text;
}

} // namespace engine
} // namespace nereid
