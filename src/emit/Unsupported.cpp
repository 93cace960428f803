// What a kernel names of the language that this engine lacks, found without emitting it.
//
// Dotted names in the text of the kernel and of the jit functions that it can reach are looked up
// as the evaluator would, and statements are those of kernels. Dead branches are read too, so this
// is a list of doubts, not of errors.

#include "emit/KernelSyntax.h"
#include "emit/Program.h"

#include "syntax/Lexer.h"

#include <set>

namespace nereid::emit {

namespace {

using syntax::Token;
using syntax::TokenKind;

class Search {
public:
  explicit Search(Interp &interp) : interp(interp) {}

  std::vector<UnsupportedName> run(const FunctionObject &kernel) {
    queue.push_back(&kernel);
    for (size_t i = 0; i < queue.size(); ++i)
      if (seen.insert(queue[i]->node()).second)
        visit(*queue[i]);
    return std::move(found);
  }

private:
  void visit(const FunctionObject &function) {
    const syntax::Module &source = *function.module->tree;
    const syntax::Node &node = *function.node();
    if (function.def)
      statements(source, function.def->body);
    std::string text;
    for (uint32_t line = node.begin.line; line <= node.end.line; ++line)
      text += std::string(source.line(line)) + "\n";
    syntax::Arena arena;
    // As inside brackets: the lines may begin indented.
    syntax::TokenBuffer buffer =
        syntax::lex(text, source.file, {.firstLine = node.begin.line, .expression = true}, arena);
    const std::vector<Token> &tokens = buffer.tokens;
    Frame frame; // what fails is of the function's module
    frame.module = function.module.get();
    frame.node = &node;
    FrameScope scope(interp, frame);
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].kind != TokenKind::Name || (i && tokens[i - 1].kind == TokenKind::Dot))
        continue;
      const Binding *binding = lookUp(function, textOf(buffer, tokens[i]));
      if (!binding || binding->unusable)
        continue;
      try {
        follow(source.file, unboxed(binding->value), std::string(textOf(buffer, tokens[i])), buffer,
               i);
      } catch (EvalError &) {
        // A name of a module that did not get it: nothing is known of it.
      }
    }
  }

  void statements(const syntax::Module &source, const syntax::Span<syntax::Stmt *> &body) {
    for (const syntax::Stmt *stmt : body) {
      if (auto refused = unsupportedStatement(*stmt)) {
        std::string name = refused->name;
        std::erase(name, '`');
        add(source.file, stmt->begin.line, name, "it is not part of the kernel language");
      } else if (auto *one = syntax::dynCast<syntax::If>(stmt)) {
        statements(source, one->body);
        statements(source, one->orelse);
      } else if (auto *one = syntax::dynCast<syntax::For>(stmt)) {
        statements(source, one->body);
        statements(source, one->orelse);
      } else if (auto *one = syntax::dynCast<syntax::While>(stmt)) {
        statements(source, one->body);
        statements(source, one->orelse);
      } else if (auto *one = syntax::dynCast<syntax::With>(stmt)) {
        statements(source, one->body);
      }
    }
  }

  void follow(const std::string &file, Value value, std::string name,
              const syntax::TokenBuffer &buffer, size_t at) {
    const std::vector<Token> &tokens = buffer.tokens;
    uint32_t line = tokens[at].line;
    while (value.as<LanguageModule>() || value.as<NativeModule>() || value.as<ModuleObject>()) {
      if (at + 2 >= tokens.size() || tokens[at + 1].kind != TokenKind::Dot ||
          tokens[at + 2].kind != TokenKind::Name)
        return;
      std::string_view part = textOf(buffer, tokens[at += 2]);
      name += "." + std::string(part);
      std::optional<Value> next = interp.attribute(value, part);
      if (!next) {
        if (value.as<LanguageModule>())
          add(file, line, name, "there is no such name in the language");
        return;
      }
      value = unboxed(*next);
    }
    if (auto *op = value.as<OpFunction>(); op && op->row->status == ops::Row::Status::Unsupported)
      add(file, line, name, std::string(op->row->remark));
    auto *function = value.as<FunctionObject>();
    if (function && function->flavor == FunctionObject::Flavor::Jit && !function->module->isPrelude)
      queue.push_back(function);
  }

  void add(const std::string &file, uint32_t line, const std::string &name, std::string reason) {
    if (named.insert(name).second)
      found.push_back({name, file, line, std::move(reason)});
  }

  static const Binding *lookUp(const FunctionObject &function, std::string_view name) {
    for (auto &scope : function.closure)
      if (const Binding *binding = scope->find(name))
        return binding;
    return function.module->names->find(name);
  }
  static std::string_view textOf(const syntax::TokenBuffer &buffer, const Token &token) {
    return buffer.names[token.extra];
  }

  Interp &interp;
  std::set<const void *> seen;
  std::set<std::string> named;
  std::vector<const FunctionObject *> queue;
  std::vector<UnsupportedName> found;
};

} // namespace

std::vector<UnsupportedName> Program::unsupported(const std::string &kernel) {
  try {
    return Search(*interpreter).run(*find(kernel));
  } catch (EvalError &) {
    return {}; // not reachable from module level: nothing is known of its names
  }
}

} // namespace nereid::emit
