// Each row of the table as a C++ function that records its call.
//
//   "input, other, acc=None, *, fast=False"  ==>
//   struct DotOptions { Arg acc = {}; Arg fast = {}; };
//   Value dot(const Arg &input, const Arg &other, const DotOptions &options = {});
//   Value dot(const Arg &input, const Arg &other, const Arg &acc, const DotOptions &options = {});
//
// What has a default may be named, as `{.acc = x}`, or follow by position; of several, also the
// first by position and others by name.

#include "ops/CppVocabulary.h"

#include "ops/Table.h"

#include <algorithm>
#include <map>
#include <vector>

namespace nereid::ops {
namespace {

// Names of types that kernels ask about in Python's way; C++ has its own ways.
constexpr std::string_view NotInCpp[] = {
    "constexpr",
    "const",
    "tensor",
    "tensor_descriptor",
    "dtype",
    "tuple",
    "slice",
    "tensor_descriptor_type",
    "constexpr_type",
    "tuple_type",
    "aggregate_replace",
    "extern_elementwise",
    "PropagateNan",
};

constexpr std::string_view Keywords[] = {"asm",           "const", "signed",
                                         "static_assert", "void",  "volatile"};

std::string identifier(std::string_view name) {
  bool taken = std::find(std::begin(Keywords), std::end(Keywords), name) != std::end(Keywords);
  return std::string(name) + (taken ? "_" : "");
}

// "sum" -> "SumOptions", "atomic_add" -> "AtomicAddOptions".
std::string optionsName(std::string_view name) {
  std::string text;
  bool upper = true;
  for (char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    text += upper ? char(std::toupper(uint8_t(c))) : c;
    upper = false;
  }
  return text + "Options";
}

std::string lastPart(std::string_view name) {
  size_t dot = name.rfind('.');
  return std::string(dot == name.npos ? name : name.substr(dot + 1));
}
std::string path(std::string_view name) {
  size_t dot = name.rfind('.');
  return std::string(dot == name.npos ? "" : name.substr(0, dot));
}

bool isMethodOnly(const Row &row) {
  return row.name.starts_with("tensor.") || row.name.starts_with("tensor_descriptor.") ||
         row.name.starts_with("block_ptr.");
}

bool isLeftOut(const Row &row) {
  return row.status == Row::Status::Unsupported ||
         std::find(std::begin(NotInCpp), std::end(NotInCpp), row.name) != std::end(NotInCpp);
}

/// How often, and on what, one function is written.
struct Form {
  std::string name;   ///< in C++
  std::string callee; ///< in the recorded text
  std::string returnType = "Value";
  std::string qualifier; ///< "const &", "&&"; empty for a function
  std::string self;      ///< the first operand of a method; empty for a function
  std::string indent;
  std::string options; ///< the name of the structure with what has defaults
};

// One overload: `formal` by position, and those of `options` behind them that `optional` has.
std::string overload(const Form &form, std::span<const Parameter> formal, size_t required,
                     std::span<const Parameter> optional) {
  std::string head, list, body;
  auto add = [](std::string &to, const std::string &what) {
    to += (to.empty() ? "" : ", ") + what;
  };
  for (size_t i = 0; i < formal.size(); ++i) {
    const Parameter &parameter = formal[i];
    std::string name = identifier(parameter.name);
    if (i >= required && i <= required + 1) {
      // What decides between the overloads is no list in braces: that means the options.
      add(head, "Given auto &&" + name);
      // "const_" becomes "const_given": names with two underscores in a row are the compiler's.
      std::string chosen = name + (name.ends_with('_') ? "given" : "_given");
      body += form.indent + "  const Arg " + chosen + " = given(std::forward<decltype(" + name +
              ")>(" + name + "), where);\n";
      name = chosen;
    } else {
      add(head, "const Arg &" + name + (parameter.variadic || i > required ? " = {}" : ""));
    }
    std::string keyword(parameter.variadic ? "*" : i < required ? "" : parameter.name);
    add(list, "{\"" + keyword + "\", &" + name + "}");
  }
  if (!optional.empty())
    add(head, "const " + form.options + " &options = {}");
  for (const Parameter &parameter : optional)
    add(list,
        "{\"" + std::string(parameter.name) + "\", &options." + identifier(parameter.name) + "}");
  add(head, "Where where = Where::current()");
  bool isMethod = !form.self.empty();
  return form.indent + (isMethod ? "" : "inline ") + form.returnType + " " + form.name + "(" +
         head + ")" + (isMethod ? " " + form.qualifier : "") + " {\n" + body + form.indent +
         "  return " + form.returnType + "::call(" + (isMethod ? form.self + ", " : "") + "\"" +
         form.callee + "\", {" + list + "}, where);\n" + form.indent + "}\n";
}

std::string optionsStruct(const std::string &name, const std::string &of,
                          std::span<const Parameter> optional, const std::string &indent) {
  std::string text =
      indent + "/// What may be left out of `" + of + "`.\n" + indent + "struct " + name + " {\n";
  for (const Parameter &parameter : optional)
    text += indent + "  Arg " + identifier(parameter.name) + " = {};\n";
  return text + indent + "};\n";
}

std::string comment(const Row &row, const std::string &indent) {
  bool isName = row.constant || (row.emitter && row.signature.empty());
  std::string text = "`" + (isName ? spelling(row) : callSpelling(row)) + "`";
  for (size_t at = 0; (at = text.find('\n', at)) != text.npos; at += 2)
    text.replace(at, 1, "\\n");
  return indent + "/// " + text + ": " + std::string(row.summary) + "\n";
}

// Operands that must be given; what follows has defaults.
size_t requiredCount(std::span<const Parameter> formal) {
  size_t count = 0;
  while (count < formal.size() && !formal[count].hasDefault &&
         (formal[count].variadic || !formal[count].keywordOnly))
    ++count;
  return count;
}

std::string function(const Row &row, const Form &form, std::span<const Parameter> formal) {
  size_t required = requiredCount(formal);
  std::string text = comment(row, form.indent) +
                     overload(form, formal.first(required), required, formal.subspan(required));
  size_t positional = required;
  while (positional < formal.size() && !formal[positional].keywordOnly)
    ++positional;
  if (positional > required && formal.size() > required + 1)
    text += overload(form, formal.first(required + 1), required, formal.subspan(required + 1));
  if (positional > required + 1 || (positional > required && formal.size() == required + 1))
    text += overload(form, formal.first(positional), required, {});
  return text;
}

std::string optionsOf(const Form &form, std::span<const Parameter> formal) {
  std::span<const Parameter> optional = formal.subspan(requiredCount(formal));
  return optional.empty() ? "" : optionsStruct(form.options, form.callee, optional, form.indent);
}

constexpr std::string_view Title =
    "// Generated from the table of the vocabulary by scripts/language-doc.py.\n";

} // namespace

namespace {
// A name is one method: that of descriptors before that of block pointers before that of tiles,
// which are functions too.
std::map<std::string, const Row *> allMethods() {
  std::map<std::string, const Row *> methods;
  for (const Row &row : table()) {
    if (isLeftOut(row) || (!row.method && !isMethodOnly(row)) || parameters(row).empty())
      continue;
    auto rank = [](const Row &of) {
      return of.name.starts_with("tensor_descriptor.") ? 0
             : of.name.starts_with("block_ptr.")       ? 1
                                                       : 2;
    };
    auto [place, isNew] = methods.emplace(lastPart(row.name), &row);
    if (!isNew && rank(row) < rank(*place->second))
      place->second = &row;
  }
  return methods;
}

// What a method takes besides its object.
std::span<const Parameter> methodParameters(const Row &row) { return parameters(row).subspan(1); }
} // namespace

std::string cppOptions() {
  std::string text(Title);
  std::map<std::string, std::string> seen; // name -> text
  auto add = [&](const std::string &of, std::span<const Parameter> formal) {
    Form form;
    form.callee = of;
    form.options = optionsName(lastPart(of));
    std::string made = optionsOf(form, formal);
    std::string body = made.substr(std::min(made.size(), made.find('\n')));
    auto [known, isNew] = seen.try_emplace(form.options, body);
    if (isNew && !made.empty())
      text += "\n" + made;
    else if (known->second != body)
      throw std::logic_error("two kinds of `" + form.options + "`");
  };
  for (const Row &row : table())
    if (!isLeftOut(row) && !isMethodOnly(row) && !row.constant)
      if (requiredCount(parameters(row)) < parameters(row).size())
        add(spelling(row), parameters(row));
  for (const auto &[name, row] : allMethods())
    if (requiredCount(methodParameters(*row)) < methodParameters(*row).size())
      add(name, methodParameters(*row));
  return text;
}

std::string cppMethods() {
  std::string text(Title);
  for (const auto &[name, row] : allMethods()) {
    std::span<const Parameter> formal = methodParameters(*row);
    Form form;
    form.name = identifier(name);
    form.callee = name;
    form.indent = "  ";
    form.options = optionsName(name);
    form.qualifier = "const &";
    form.self = "*this";
    text += "\n" + function(*row, form, formal);
    form.qualifier = "&&";
    form.self = "std::move(*this)";
    text += function(*row, form, formal);
  }
  return text;
}

std::string cppFunctions() {
  std::vector<std::string> order;
  std::map<std::string, std::string> spaces;
  for (const Row &row : table()) {
    if (isLeftOut(row) || isMethodOnly(row))
      continue;
    std::string space = path(row.name), name = lastPart(row.name);
    if (!spaces.contains(space))
      order.push_back(space);
    std::string &text = spaces[space];
    text += "\n";
    if (row.constant || (row.emitter && row.signature.empty())) {
      text += comment(row, "") + "inline constexpr Symbol " + identifier(name) + "{\"" +
              spelling(row) + "\"};\n";
      continue;
    }
    Form form;
    form.name = identifier(name);
    form.callee = spelling(row);
    form.options = optionsName(name);
    if (name == "range" || name == "static_range")
      form.returnType = "Range";
    text += function(row, form, parameters(row));
  }
  std::string text(Title);
  for (const std::string &space : order) {
    if (space.empty()) {
      text += spaces[space];
      continue;
    }
    std::string cpp;
    for (char c : space)
      cpp += c == '.' ? std::string("::") : std::string(1, c);
    text += "\nnamespace " + cpp + " {\n" + spaces[space] + "} // namespace " + cpp + "\n";
  }
  return text;
}

} // namespace nereid::ops
