// Recorded functions and modules as text of the Triton language.
#include "engine/Recorder.h"

namespace nereid::tl {

namespace {

// Writes a recorded function as text, its first line being line 1.
class FunctionWriter {
public:
  FunctionWriter(const Recorder &function, const std::string &name, RecordedText &out)
      : function(function), name(name), out(out), given(function.variables.size()) {
    // No name of ours is one of the parameters'.
    while (std::ranges::any_of(function.variables, [&](const Variable &variable) {
      return variable.name.starts_with(prefix) &&
             variable.name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
    }))
      prefix += "_";
  }

  void write() {
    writeHead();
    for (const Statement &statement : function.statements)
      write(statement);
    passIfEmpty();
  }

private:
  using Kind = Statement::Kind;

  void writeHead() {
    for (const std::string &decorator : function.decorators) {
      addPlace(0, uint32_t(decorator.size()), function.where);
      current = decorator;
      endLine();
      line += uint32_t(std::count(decorator.begin(), decorator.end(), '\n'));
    }
    current = "@triton.jit";
    endLine();
    current = "def " + name + "(" + function.parameters + "):";
    addPlace(0, uint32_t(current.size()), function.where);
    endLine();
  }

  void write(const Statement &statement) {
    if (statement.kind == Kind::Close || statement.kind == Kind::Else)
      return close(statement.kind == Kind::Else);
    isEmpty = false;
    current = std::string(4 * indent, ' ');
    addPlace(uint32_t(current.size()), ~0u, statement.expression->where);
    std::string left;
    for (uint32_t variable : statement.variables)
      left += (left.empty() ? "" : ", ") + nameOf(variable);
    switch (statement.kind) {
    case Kind::Define:
      if (function.variables[statement.variables[0]].isNamed)
        current += left + " = ";
      break;
    case Kind::Assign:
      current += left + " " + statement.sign + " ";
      break;
    case Kind::Do:
      current += statement.sign + (statement.expression->pieces.empty() ? "" : " ");
      break;
    default:
      current += statement.sign + " " + (left.empty() ? "" : left + " in ");
    }
    write(*statement.expression);
    if (statement.kind == Kind::Open) {
      current += ":";
      ++indent;
      isEmpty = true;
    }
    endLine();
  }

  void close(bool hasElse) {
    passIfEmpty();
    --indent;
    isEmpty = false;
    if (!hasElse)
      return;
    current = std::string(4 * indent++, ' ') + "else:";
    endLine();
    isEmpty = true;
  }

  void write(const Expression &expression) {
    size_t place = out.places.size();
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
      out.places[place].second.end = uint32_t(current.size());
  }

  const std::string &nameOf(uint32_t variable) {
    std::string &known = given[variable];
    if (known.empty()) {
      const Variable &from = function.variables[variable];
      known = from.name.empty() ? prefix + std::to_string(count++) : from.name;
      if (from.name.empty() && from.where.line())
        out.names[name + "." + known] = {fileName(from.where), positionOf(from.where)};
    }
    return known;
  }

  void addPlace(uint32_t begin, uint32_t end, Where at) {
    if (at.line())
      out.places.push_back({line, {begin, end, fileName(at), positionOf(at)}});
  }
  void endLine() {
    out.text += current + "\n";
    current.clear();
    ++line;
  }
  void passIfEmpty() {
    if (!isEmpty)
      return;
    current = std::string(4 * indent, ' ') + "pass";
    endLine();
  }

  const Recorder &function;
  const std::string &name;
  RecordedText &out;
  std::vector<std::string> given; // names of variables
  std::string prefix = "v";
  size_t count = 0; // of names that were made
  uint32_t line = 1;
  std::string current; // the line as far as it is written
  size_t indent = 1;
  bool isEmpty = true; // the block that is open has no statement yet
};

} // namespace

RecordedText Recorder::print(const std::string &functionName) const {
  RecordedText out;
  FunctionWriter(*this, functionName, out).write();
  return out;
}

// Puts the function behind those of the module.
void Recorder::finish() {
  RecordedText printed = print(name);
  Recording &recording = module.recording;
  uint32_t line = uint32_t(std::count(recording.text.begin(), recording.text.end(), '\n')) + 2;
  recording.functions[line + 1] = name;
  for (auto &[at, place] : printed.places)
    recording.places[line + at].push_back(std::move(place));
  recording.variables.merge(printed.names);
  recording.text += "\n\n" + printed.text;
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
  auto [known, isNew] = module.functions.try_emplace(
      recorder.print("_function").text, "_function" + std::to_string(module.functions.size()));
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

} // namespace nereid::tl
