// How modules are run, and what imports bind.
#include "emit/Interp.h"

namespace nereid::emit {

using namespace syntax;

// The frame in which a module's statements run.
static Frame bodyOf(ModuleObject &module) {
  Frame body;
  body.isModule = true;
  body.module = &module;
  body.locals = module.names;
  return body;
}

void Interp::runModuleBody(ModuleObject &module) {
  Frame body = bodyOf(module);
  FrameScope scope(*this, body);
  loading.insert(&module);
  execTolerant(module.tree->body);
  loading.erase(&module);
}

// A package is run when something asks for it, not before its modules as in Python, so a circular
// import may find a module half-way that is complete in Python. The import or the definition of the
// name there is run ahead of its turn.
void Interp::runAhead(ModuleObject &module, std::string_view name) {
  if (!loading.count(&module) || !runsAhead.emplace(&module, name).second)
    return;
  Frame body = bodyOf(module);
  FrameScope scope(*this, body);
  for (Stmt *const &stmt : module.tree->body) {
    const std::vector<std::string_view> &assigned = bodyFacts(*stmt).assigned;
    bool stands =
        isa<Import>(stmt) || isa<ImportFrom>(stmt) || isa<FunctionDef>(stmt) || isa<ClassDef>(stmt);
    if (stands && std::find(assigned.begin(), assigned.end(), name) != assigned.end())
      execTolerant({&stmt, 1});
  }
}

// An unknown value as it is bound by an import.
static Value imported(Value value) {
  auto *unknown = value.as<Unknown>();
  if (!unknown)
    return value;
  auto own = std::make_shared<Unknown>(unknown->origin);
  own->isImported = true;
  return Value(own);
}

void Interp::execImport(const Import &stmt) {
  for (const Alias &alias : stmt.names) {
    std::string name(alias.name);
    Value module = imported(importModule(name, frame->module, stmt));
    if (!alias.asname.empty()) {
      bindName(alias.asname, module, stmt);
      continue;
    }
    size_t dot = name.find('.');
    if (dot == std::string::npos) {
      bindName(alias.name, module, stmt);
      continue;
    }
    std::string root = name.substr(0, dot);
    bindName(alias.name.substr(0, dot), imported(importModule(root, frame->module, stmt)), stmt);
  }
}

void Interp::execImportFrom(const ImportFrom &stmt) {
  std::string name(stmt.module);
  if (stmt.level) {
    // `from .a import b`: counted from the package of this module.
    std::string package = frame->module->package;
    for (uint32_t i = 1; i < stmt.level; ++i) {
      size_t dot = package.rfind('.');
      package = dot == std::string::npos ? "" : package.substr(0, dot);
    }
    name = package.empty() ? name : name.empty() ? package : package + "." + name;
  }
  if (name == "__future__")
    return;
  for (const Alias &alias : stmt.names) {
    if (alias.name == "*") {
      Value module = importModule(name, frame->module, stmt);
      if (auto *source = module.as<ModuleObject>())
        for (const Binding &binding : source->names->all())
          if (!binding.deleted && !binding.name.starts_with("_")) {
            if (binding.unusable)
              frame->locals->poison(binding.name, *binding.unusable);
            else
              frame->locals->set(binding.name, binding.value, binding.where);
          }
      continue;
    }
    std::string_view bound = alias.asname.empty() ? alias.name : alias.asname;
    std::string part(alias.name);
    Value module = name.empty() ? Value() : importModule(name, frame->module, stmt);
    std::optional<Value> value;
    bool isBound = false;
    if (auto *source = module.as<ModuleObject>()) {
      if (!source->names->find(part))
        runAhead(*source, intern(part));
      if (const Binding *binding = source->names->find(part)) {
        isBound = true;
        if (binding->unusable) {
          frame->locals->poison(bound, *binding->unusable);
          continue;
        }
        value = binding->value;
      } else if (runAhead(*source, "__getattr__"); source->names->find("__getattr__")) {
        // The module makes such names when they are asked for.
        isBound = true;
        value = makeUnknown(name + "." + part);
      }
    } else if (!module.isNone()) {
      value = attribute(module, part);
    }
    // A module below the package.
    if (!value || (value->as<Unknown>() && module.as<Unknown>())) {
      Value below = importModule(name.empty() ? part : name + "." + part, frame->module, stmt);
      if (!below.as<Unknown>() || !value)
        value = below;
    }
    // Packages guard Triton in a module of their own, and files of them come without it.
    if (value->as<Unknown>() && module.as<Unknown>() && alias.asname.empty() &&
        (part == "triton" || part == "tl"))
      value = nativeModule(part == "tl" ? "triton.language" : part);
    // A name that is bound to an unknown value, such as a fact of the machine, is there.
    if (!isBound && value->as<Unknown>() && !module.isNone() && !module.as<Unknown>() &&
        !module.as<NativeModule>())
      raise("ImportError", "cannot import name `" + part + "` from `" + name + "`");
    bindName(bound, imported(*value), stmt);
  }
}

} // namespace nereid::emit
