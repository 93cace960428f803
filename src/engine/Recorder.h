// Records the calls of nereid/tl.h: Recording.cpp takes them, RecordingText.cpp writes them as
// text, RecordingPlaces.cpp finds the way back from the text to C++.
//
// An expression is a statement as soon as it is built, so that the order of C++ is the order of the
// kernel. When it is used as a temporary it moves out of the statements into the expression around
// it; if something stands between them, it gets a name instead. So `store(p, load(q) + 1)` becomes
// one line, with operands in the order of the text whatever order the C++ compiler took them in.
#pragma once

#include "engine/Recording.h"

#include "nereid/engine.h"
#include "nereid/tl.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace nereid::tl {

using engine::Recording;

inline std::string fileName(const tl::Where &where) {
  std::string_view path = where.file_name();
  return std::string(path.substr(path.rfind('/') + 1));
}
inline SourcePos positionOf(const tl::Where &where) {
  return {where.line(), where.column() ? where.column() - 1 : 0};
}

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

/// A function as text, and the way back to C++: places by line, the first being 1, and variables by
/// name.
struct RecordedText {
  std::string text;
  std::vector<std::pair<uint32_t, Recording::Place>> places;
  std::map<std::string, Recording::Variable> names;
};

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
  RecordedText print(const std::string &functionName) const;

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

} // namespace nereid::tl
