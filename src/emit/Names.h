// A scope: names and what they stand for, in the order of their definition.
#pragma once

#include "ops/Value.h"
#include "syntax/Ast.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nereid::emit {

/// Lets go of a value. Objects may hang in a chain of a million links; destroyed here, they take no
/// nested destructor for each link. Objects that hold others without limit let go of them so.
void drop(ops::Value value);

/// Why a name can't be used although something was assigned to it: the two arms of a run-time `if`
/// disagree, it was defined inside a loop only, its module-level statement failed.
struct Unusable {
  std::string code;
  std::string why; ///< continues "`x` ..."
  std::string hint;
  SourceRange where;             ///< the place that explains it; may be invalid
  std::vector<Diagnostic> notes; ///< the failure behind it, if there was one
  /// The run-time loop that could hand on what its last step gave the name, or null.
  const syntax::Node *loop = nullptr;
};

/// A name whose value is that of the last step of a run-time loop, which may have had none.
struct LastStep {
  mlir::Value first, end; ///< the loop ran if `first` is below `end`, or where `end` is null
                          ///< if `first` is true
};

/// What a name stands for.
struct Binding {
  std::string_view name;
  ops::Value value;
  const syntax::Node *where = nullptr;      ///< the assignment; null for what the engine defined
  std::shared_ptr<const Unusable> unusable; ///< set if the name must not be used
  std::shared_ptr<const LastStep> lastStep; ///< set if it may have no value at run time
  bool deleted = false;
};

/// Names are views: into the syntax tree, into static text, or into `Interp::intern`. Copying takes
/// a snapshot, which is how run-time control flow visits its arms.
class Names {
public:
  Names() = default;
  Names(const Names &) = default;
  Names(Names &&) = default;
  Names &operator=(const Names &) = default;
  Names &operator=(Names &&) = default;
  ~Names() {
    for (Binding &binding : bindings)
      if (binding.value.isObject())
        drop(std::move(binding.value));
  }
  const Binding *find(std::string_view name) const {
    auto it = index.find(key(name));
    if (it == index.end() || bindings[it->second].deleted)
      return nullptr;
    return &bindings[it->second];
  }
  Binding &set(std::string_view name, ops::Value value, const syntax::Node *where = nullptr) {
    Binding &binding = slot(name);
    binding.value = std::move(value);
    binding.where = where;
    binding.unusable = nullptr;
    binding.lastStep = nullptr;
    binding.deleted = false;
    return binding;
  }
  void poison(std::string_view name, Unusable why) {
    Binding &binding = slot(name);
    binding.value = {};
    binding.unusable = std::make_shared<const Unusable>(std::move(why));
    binding.lastStep = nullptr;
    binding.deleted = false;
  }
  bool erase(std::string_view name) {
    auto it = index.find(key(name));
    if (it == index.end() || bindings[it->second].deleted)
      return false;
    bindings[it->second].deleted = true;
    bindings[it->second].value = {};
    return true;
  }
  /// In order of definition; skip those that are `deleted`.
  const std::vector<Binding> &all() const { return bindings; }

private:
  static llvm::StringRef key(std::string_view name) { return {name.data(), name.size()}; }
  Binding &slot(std::string_view name) {
    auto [it, isNew] = index.try_emplace(key(name), unsigned(bindings.size()));
    if (isNew)
      bindings.push_back({name, {}, nullptr, nullptr, nullptr, false});
    return bindings[it->second];
  }

  std::vector<Binding> bindings;
  llvm::DenseMap<llvm::StringRef, unsigned> index;
};

} // namespace nereid::emit
