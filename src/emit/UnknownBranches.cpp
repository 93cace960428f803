// An `if` of module-level Python whose condition only a Python process could know.
//
// Both branches run, each from the state before them. What both leave alike is known; a name, an
// entry or a field that differs is an error where it is used. Objects that a branch changes in
// place are journalled, so that the other branch finds them as they were.

#include "emit/Interp.h"

namespace nereid::emit {

using namespace syntax;

// What a mutable object holds.
struct Interp::Contents {
  std::vector<Value> items;                     // of a list or a set
  std::vector<std::pair<Value, Value>> entries; // of a dict; of an instance, its fields
  Names names;                                  // of a class or a module
};

// What objects held before a branch changed them, of all branches that are being run.
struct Interp::Journal {
  Journal *outer;
  std::map<ops::Object *, std::pair<Value, Contents>> before;
};

bool Interp::sameValue(const Value &a, const Value &b) {
  return identical(a, b) || (!a.isObject() && ops::equal(a, b)) ||
         (a.as<ConstexprBox>() && b.as<ConstexprBox>() && identical(unboxed(a), unboxed(b)));
}

Interp::Contents Interp::contentsOf(const Value &object) {
  Contents contents;
  if (auto *list = object.as<ops::List>())
    contents.items = list->items;
  else if (auto *set = object.as<SetObject>())
    contents.items = set->items;
  else if (auto *dict = object.as<ops::Dict>())
    contents.entries = dict->entries;
  else if (auto *instance = object.as<Instance>())
    for (const auto &[name, value] : instance->fields)
      contents.entries.emplace_back(Value::str(name), value);
  else if (auto *type = object.as<ClassObject>())
    contents.names = *type->attributes;
  else if (auto *module = object.as<ModuleObject>())
    contents.names = *module->names;
  step((contents.items.size() + contents.entries.size() + contents.names.all().size()) / 4);
  return contents;
}

void Interp::setContents(const Value &object, Contents contents) {
  if (auto *list = object.as<ops::List>())
    list->items = std::move(contents.items);
  else if (auto *set = object.as<SetObject>())
    set->items = std::move(contents.items);
  else if (auto *dict = object.as<ops::Dict>())
    dict->entries = std::move(contents.entries);
  else if (auto *type = object.as<ClassObject>())
    *type->attributes = std::move(contents.names);
  else if (auto *module = object.as<ModuleObject>())
    *module->names = std::move(contents.names);
  else if (auto *instance = object.as<Instance>()) {
    instance->fields.clear();
    for (auto &[name, value] : contents.entries)
      instance->fields[name.asStr()] = std::move(value);
  }
}

void Interp::noteChange(const Value &object) {
  if (!object.isObject())
    return;
  for (Journal *at = journal; at; at = at->outer)
    if (!at->before.count(object.object().get()))
      at->before.try_emplace(object.object().get(), object, contentsOf(object));
}

// A module of Triton. Where a branch imports one and the other has a placeholder, the import holds:
// whatever the condition asks, Triton is here.
static bool isTriton(const Value &value) {
  if (value.as<LanguageModule>())
    return true;
  auto *module = value.as<NativeModule>();
  return module && (module->name == "triton" || module->name.starts_with("triton."));
}

static bool isLiteral(const Binding &binding) {
  const Value &value = unboxed(binding.value);
  return binding.unusable || !value.isObject() || value.isStr();
}

// A function of Triton that both branches take, from different modules of it.
static bool areNamesakes(const Value &a, const Value &b) {
  auto *left = a.as<OpFunction>(), *right = b.as<OpFunction>();
  auto last = [](const OpFunction &one) { return one.spelled.substr(one.spelled.rfind('.') + 1); };
  return left && right && last(*left) == last(*right);
}

void Interp::joinNames(Names &into, const Names &before, const Names &other, const If &stmt,
                       const std::string &origin) {
  auto same = [&](const Binding *a, const Binding *b) {
    if (!a || !b || a->unusable || b->unusable)
      return !a && !b ? true : a && b && a->unusable == b->unusable && a->unusable;
    return sameValue(a->value, b->value);
  };
  for (const Binding &binding : other.all()) {
    if (binding.deleted)
      continue;
    const Binding *own = into.find(binding.name);
    if (!own && !before.find(binding.name) && !binding.unusable)
      into.set(binding.name, binding.value, binding.where); // in one branch only
    else if (!binding.unusable &&
             (isTriton(binding.value) ||
              (own && !own->unusable && areNamesakes(binding.value, own->value))))
      into.set(binding.name, binding.value, binding.where);
    else if (own && !own->unusable && isTriton(own->value))
      continue;
    else if (!same(&binding, own) && !(frame->isModule && defined(binding.name)))
      into.poison(binding.name, twoDefinitions(binding.name, stmt, origin,
                                               isLiteral(binding) && (!own || isLiteral(*own))));
  }
}

Unusable Interp::twoDefinitions(std::string_view name, const If &stmt, const std::string &origin,
                                bool areLiterals) {
  return {"UnknownDefinition",
          "has two definitions, and which one holds depends on " + originText(origin),
          areLiterals ? "choose with `--define " + std::string(name) + "=VALUE`"
                      : "say which with `--define '" + origin + "=True'`, or `=False`",
          rangeOf(stmt),
          {}};
}

// An object as the other branch left it joins what it holds now. False if it is a sequence on which
// the two disagree.
bool Interp::joinContents(const Value &object, const Contents &before, const Contents &other,
                          const If &stmt, const std::string &origin) {
  Contents own = contentsOf(object);
  if (!std::equal(own.items.begin(), own.items.end(), other.items.begin(), other.items.end(),
                  sameValue)) {
    own.items.assign(1, makeUnknown(origin));
    setContents(object, std::move(own));
    return false;
  }
  for (const auto &[key, value] : other.entries) {
    step(own.entries.size() / 16);
    auto entry = std::find_if(own.entries.begin(), own.entries.end(),
                              [&key = key](auto &one) { return ops::equal(one.first, key); });
    if (entry == own.entries.end())
      own.entries.emplace_back(key, value);
    else if (!sameValue(entry->second, value))
      entry->second = makeUnknown(origin);
  }
  joinNames(own.names, before.names, other.names, stmt, origin);
  setContents(object, std::move(own));
  return true;
}

// Calls `visit` with each object that names lead to, until it returns false. `locals` are the
// frame's.
void Interp::visitReachable(const Names &locals, llvm::function_ref<bool(const Value &)> visit) {
  std::set<ops::Object *> seen;
  std::vector<Value> queue;
  std::set<const Names *> scopes{frame->locals.get()};
  auto add = [&](const Value &value) {
    const Value &plain = unboxed(value);
    if (plain.isObject() && !plain.isStr() && seen.insert(plain.object().get()).second)
      queue.push_back(plain);
  };
  auto addScope = [&](const Names &names) {
    for (const Binding &binding : names.all())
      add(binding.value);
  };
  auto addShared = [&](const std::shared_ptr<Names> &names) {
    if (names && scopes.insert(names.get()).second)
      addScope(*names);
  };
  addScope(locals);
  for (const auto &scope : frame->enclosing)
    addShared(scope);
  addShared(frame->module->names);
  for (const auto &[name, module] : loaded)
    addShared(module->names);
  for (size_t at = 0; at < queue.size(); ++at) {
    step();
    Value value = queue[at];
    if (!visit(value))
      return;
    if (auto *function = value.as<FunctionObject>()) {
      for (const auto &scope : function->closure)
        addShared(scope);
      for (const Value &one : function->defaults)
        add(one);
      continue;
    }
    if (auto *instance = value.as<Instance>())
      add(Value(std::static_pointer_cast<ops::Object>(instance->type)));
    if (auto *type = value.as<ClassObject>())
      for (const auto &base : type->bases)
        add(Value(std::static_pointer_cast<ops::Object>(base)));
    if (value.isTuple())
      for (const Value &item : value.items())
        add(item);
    Contents contents = contentsOf(value);
    for (const Value &item : contents.items)
      add(item);
    for (const auto &[key, item] : contents.entries) {
      add(key);
      add(item);
    }
    addScope(contents.names);
  }
}

// Those of `changed` that could be reached before a branch ran; the others were made by the branch
// itself. `locals` is what the frame's names were then; all else stands as it was.
std::set<ops::Object *> Interp::reachedBefore(const Names &locals,
                                              const std::set<ops::Object *> &changed) {
  std::set<ops::Object *> found;
  visitReachable(locals, [&](const Value &value) {
    if (changed.count(value.object().get()))
      found.insert(value.object().get());
    return found.size() < changed.size();
  });
  return found;
}

// A sequence on which the branches disagree is not known wherever it is held: by a name, which is
// then an error to use, or in another object.
void Interp::forgetSequences(const std::vector<Value> &sequences, const If &stmt,
                             const std::string &origin) {
  std::set<ops::Object *> forgotten;
  for (const Value &sequence : sequences)
    forgotten.insert(sequence.object().get());
  auto isForgotten = [&](const Value &value) {
    const Value &plain = unboxed(value);
    return plain.isObject() && forgotten.count(plain.object().get());
  };
  auto poison = [&](Names &names) {
    for (const Binding &binding : std::vector<Binding>(names.all()))
      if (!binding.deleted && !binding.unusable && isForgotten(binding.value))
        names.poison(binding.name, twoDefinitions(binding.name, stmt, origin, isLiteral(binding)));
  };
  visitReachable(*frame->locals, [&](const Value &value) {
    Contents contents = contentsOf(value);
    auto items = llvm::make_filter_range(contents.items, isForgotten);
    auto entries = llvm::make_filter_range(
        contents.entries, [&](const auto &entry) { return isForgotten(entry.second); });
    bool holdsName = llvm::any_of(contents.names.all(), [&](const Binding &binding) {
      return !binding.deleted && !binding.unusable && isForgotten(binding.value);
    });
    if (items.begin() == items.end() && entries.begin() == entries.end() && !holdsName)
      return true;
    noteChange(value);
    for (Value &item : items)
      item = makeUnknown(origin);
    for (auto &entry : entries)
      entry.second = makeUnknown(origin);
    poison(contents.names);
    setContents(value, std::move(contents));
    return true;
  });
  poison(*frame->locals);
  poison(*frame->module->names);
}

Interp::Flow Interp::execUnknownIf(const If &stmt, const Value &condition) {
  const std::string origin = condition.as<Unknown>()->origin;
  Names before = *frame->locals;
  auto returned = frame->returned;
  // What each branch changed: the object, as it was, and as the branch leaves it.
  struct Change {
    Value object;
    Contents before;
    std::optional<Contents> after[2];
  };
  std::map<ops::Object *, Change> changes;
  auto branch = [&](Span<Stmt *> body, int which) {
    Journal notes{journal, {}};
    struct Guard {
      Interp &interp;
      Journal *outer;
      ~Guard() { interp.journal = outer; }
    } guard{*this, journal};
    journal = &notes;
    Flow flow = execTolerant(body);
    for (auto &[object, held] : notes.before) {
      auto [it, isNew] = changes.try_emplace(object);
      if (isNew) {
        it->second.object = held.first;
        it->second.before = std::move(held.second);
      }
      it->second.after[which] = contentsOf(it->second.object);
      setContents(it->second.object, it->second.before);
    }
    return flow;
  };
  Flow thenFlow = branch(stmt.body, 0);
  Names thenNames = *frame->locals;
  auto thenReturned = frame->returned;
  *frame->locals = before;
  frame->returned = returned;
  Flow elseFlow = branch(stmt.orelse, 1);

  // A branch that raises is not the one that a working program takes.
  bool isThen = thenFlow != Flow::Raise;
  if (isThen != (elseFlow != Flow::Raise)) {
    for (auto &[object, change] : changes)
      if (std::optional<Contents> &after = change.after[isThen ? 0 : 1])
        setContents(change.object, std::move(*after));
    if (isThen) {
      *frame->locals = std::move(thenNames);
      frame->returned = std::move(thenReturned);
    }
    return isThen ? thenFlow : elseFlow;
  }

  std::vector<Value> undecided;
  if (!changes.empty()) {
    std::set<ops::Object *> changed;
    for (const auto &[object, change] : changes)
      changed.insert(object);
    std::set<ops::Object *> old = reachedBefore(before, changed);
    for (auto &[object, change] : changes) {
      bool inThen = change.after[0].has_value();
      setContents(change.object, *change.after[inThen ? 0 : 1]);
      if (!old.count(object))
        continue;
      const std::optional<Contents> &other = change.after[inThen ? 1 : 0];
      if (!joinContents(change.object, change.before, other ? *other : change.before, stmt, origin))
        undecided.push_back(change.object);
    }
  }
  Flow flow = joinFlows(stmt, condition, before, thenFlow, elseFlow, thenNames, thenReturned);
  if (!undecided.empty())
    forgetSequences(undecided, stmt, origin);
  return flow;
}

// Where one branch leaves the function, the other goes on, and what the function returns is known
// only if both return the same.
Interp::Flow Interp::joinFlows(const If &stmt, const Value &condition, const Names &before,
                               Flow thenFlow, Flow elseFlow, Names &thenNames,
                               Returned &thenReturned) {
  const std::string &origin = condition.as<Unknown>()->origin;
  if (thenFlow != elseFlow) {
    bool thenReturns = thenFlow == Flow::Return;
    if (!thenReturns && elseFlow != Flow::Return)
      truth(condition); // one branch leaves a loop: refused
    Value value = *(thenReturns ? thenReturned : frame->returned).value;
    if (!thenReturns) {
      *frame->locals = std::move(thenNames);
      frame->returned = std::move(thenReturned);
    }
    returnHost(std::move(value));
    frame->returned.undecided = origin;
    return thenReturns ? elseFlow : thenFlow;
  }
  if (thenFlow == Flow::Return) {
    if (!sameValue(*thenReturned.value, *frame->returned.value))
      frame->returned.value = makeUnknown(origin);
    return Flow::Return;
  }
  if (!thenReturned.undecided.empty() && frame->returned.undecided.empty())
    frame->returned = std::move(thenReturned);
  else if (!thenReturned.undecided.empty())
    returnHost(*thenReturned.value);
  joinNames(*frame->locals, before, thenNames, stmt, origin);
  return thenFlow == Flow::Raise ? Flow::Next : thenFlow;
}

} // namespace nereid::emit
