// The hash of a kernel's source closure: first part of the compile key.
//
// What a function can reach is found by its words: each identifier in its text that names something
// in its scopes is followed. Words in comments and dead branches are followed too, which costs a
// cache hit now and then and never gives a wrong one. Lines are part of the hash, since artifacts
// hold line tables.

#include "emit/Program.h"

#include <set>

namespace nereid::emit {

namespace {

class ClosureHash {
public:
  std::string text; ///< canonical description of all that was reached

  void add(const Value &valueIn) {
    const Value &value = unboxed(valueIn);
    if (value.as<ConstexprBox>() || valueIn.as<ConstexprBox>())
      text += "constexpr ";
    if (auto *function = value.as<FunctionObject>())
      return addFunction(*function);
    if (auto *type = value.as<ClassObject>())
      return addClass(*type);
    if (auto *module = value.as<ModuleObject>())
      return addModule(*module);
    if (value.isTuple() || value.isList()) {
      // A list may hold itself.
      if (value.isList() && !seen.insert(value.object().get()).second)
        return;
      text += "(";
      for (const Value &item : value.items())
        add(item);
      text += ")\n";
      return;
    }
    if (auto *dict = value.as<ops::Dict>()) {
      if (!seen.insert(dict).second)
        return;
      text += "{";
      for (auto &[key, item] : dict->entries) {
        add(key);
        add(item);
      }
      text += "}\n";
      return;
    }
    if (auto *bound = value.as<BoundMethod>()) {
      add(bound->self);
      return add(Value(std::static_pointer_cast<ops::Object>(bound->function)));
    }
    if (auto *instance = value.as<Instance>()) {
      if (!seen.insert(instance).second)
        return;
      text += "instance of " + instance->type->className + "\n";
      for (auto &[name, field] : instance->fields) {
        text += name + "=";
        add(field);
      }
      return;
    }
    if (auto *native = value.as<NativeFunction>())
      text += "native " + native->functionName + "\n";
    else
      text += value.repr() + "\n";
  }

  void finish() {
    for (size_t i = 0; i < queue.size(); ++i)
      visitFunction(*queue[i]);
  }

private:
  // Functions wait for their turn, so that a long chain of calls needs no stack.
  void addFunction(const FunctionObject &function) {
    if (!seen.insert(function.node()).second)
      return;
    text += "-> " + function.qualifiedName + "\n";
    queue.push_back(&function);
  }

  void visitFunction(const FunctionObject &function) {
    text += "function " + function.qualifiedName + "\n";
    for (const Value &value : function.defaults)
      add(value);
    for (auto &value : function.kwDefaults)
      if (value)
        add(*value);
    const syntax::Node *node = function.node();
    addLines(*function.module, *node, [&](std::string_view word) {
      for (auto &scope : function.closure)
        if (const Binding *binding = scope->find(word))
          return addBinding(*binding);
      if (const Binding *binding = function.module->names->find(word))
        addBinding(*binding);
    });
  }

  void addClass(const ClassObject &type) {
    if (!seen.insert(&type).second)
      return;
    text += "class " + type.className + "\n";
    for (auto &base : type.bases)
      addClass(*base);
    for (const Binding &binding : type.attributes->all())
      if (!binding.deleted)
        addBinding(binding);
    for (auto &field : type.fields) {
      text += "field " + field.name + " " + field.annotation.repr() + "\n";
      if (field.defaultValue)
        add(*field.defaultValue);
    }
  }

  void addModule(const ModuleObject &module) {
    if (!seen.insert(&module).second || module.isPrelude)
      return;
    text += "module " + module.name + "\n" + (module.tree ? module.tree->text : "");
    for (const Binding &binding : module.names->all())
      if (!binding.deleted)
        addBinding(binding);
  }

  void addBinding(const Binding &binding) {
    if (!bindings.insert(&binding).second)
      return;
    text += std::string(binding.name) + " = ";
    if (binding.unusable)
      text += "unusable: " + binding.unusable->why + "\n";
    else
      add(binding.value);
  }

  template <typename F>
  void addLines(const ModuleObject &module, const syntax::Node &node, F onWord) {
    text += module.tree->file + ":" + std::to_string(node.begin.line) + "\n";
    std::set<std::string_view> words;
    for (uint32_t line = node.begin.line; line <= node.end.line; ++line) {
      std::string_view code = module.tree->line(line);
      text += std::string(code) + "\n";
      for (size_t at = 0; at < code.size();) {
        auto isWord = [](char c) {
          return std::isalnum(uint8_t(c)) || c == '_' || uint8_t(c) >= 128;
        };
        size_t end = at;
        while (end < code.size() && isWord(code[end]))
          ++end;
        if (end > at && !std::isdigit(uint8_t(code[at])))
          words.insert(code.substr(at, end - at));
        at = std::max(end, at + 1);
      }
    }
    for (std::string_view word : words)
      onWord(word);
  }

  std::set<const void *> seen;
  std::set<const Binding *> bindings;
  std::vector<const FunctionObject *> queue;
};

} // namespace

Result<support::Hash128> Program::sourceHash(const std::string &kernel) {
  try {
    std::shared_ptr<FunctionObject> function = find(kernel);
    ClosureHash closure;
    closure.add(Value(std::static_pointer_cast<ops::Object>(function)));
    closure.finish();
    return support::hash128(closure.text);
  } catch (EvalError &failure) {
    return Error{failure.diagnostic.message, {failure.diagnostic}};
  }
}

} // namespace nereid::emit
