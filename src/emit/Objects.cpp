#include "emit/Objects.h"

#include "emit/Interp.h"

#include <bit>

namespace nereid::emit {

const Value *findKeyword(const Keywords &keywords, std::string_view name) {
  for (const auto &[key, value] : keywords)
    if (key == name)
      return &value;
  return nullptr;
}

void setKeyword(Keywords &keywords, const std::string &name, const Value &value) {
  for (auto &[key, old] : keywords)
    if (key == name) {
      old = value;
      return;
    }
  keywords.emplace_back(name, value);
}

std::string LanguageModule::repr() const {
  std::string name = "triton.language";
  if (!path.empty())
    name += "." + path.substr(0, path.size() - 1);
  return "<module '" + name + "'>";
}

Value FunctionObject::call(ops::OpContext &, std::vector<Value> args, Keywords keywords) {
  return interp->callFunction(*this, std::move(args), std::move(keywords));
}

void drop(Value value) {
  if (!value.isObject() || value.object().use_count() > 1)
    return;
  thread_local std::vector<Value> *waiting = nullptr;
  if (waiting) {
    waiting->push_back(std::move(value));
    return;
  }
  std::vector<Value> queue;
  waiting = &queue;
  queue.push_back(std::move(value));
  while (!queue.empty()) {
    Value last = std::move(queue.back());
    queue.pop_back();
    last = Value(); // its destructor adds to the queue
  }
  waiting = nullptr;
}

Value NativeFunction::call(ops::OpContext &, std::vector<Value> args, Keywords keywords) {
  return body(*interp, args, keywords);
}

Value OpFunction::call(ops::OpContext &, std::vector<Value> args, Keywords keywords) {
  return interp->callOp(*row, std::move(args), std::move(keywords));
}

Value ClassObject::call(ops::OpContext &, std::vector<Value> args, Keywords keywords) {
  return interp->callClass(*this, std::move(args), std::move(keywords));
}

bool ClassObject::isSame(const ClassObject &other) const {
  if (this == &other)
    return true;
  return def && other.def && className == other.className && module && other.module &&
         module->tree && other.module->tree && module->tree->file == other.module->tree->file &&
         def->begin.line == other.def->begin.line;
}

bool ClassObject::derivesFrom(const ClassObject &other) const {
  if (isSame(other))
    return true;
  for (auto &base : bases)
    if (base->derivesFrom(other))
      return true;
  return false;
}

const Value *ClassObject::find(std::string_view name) const {
  if (const Binding *own = attributes->find(name))
    return &own->value;
  for (auto &base : bases)
    if (const Value *inherited = base->find(name))
      return inherited;
  return nullptr;
}

const Value &plainMember(const Value &value) {
  if (auto *instance = value.as<Instance>(); instance && instance->type->isPlainValued)
    if (auto found = instance->fields.find("value"); found != instance->fields.end())
      return found->second;
  return value;
}

std::string Instance::repr() const {
  if (type->flavor == ClassObject::Flavor::Enum) {
    auto it = fields.find("name");
    auto value = fields.find("value");
    if (it != fields.end() && value != fields.end())
      return "<" + type->className + "." + it->second.asStr() + ": " + value->second.repr() + ">";
  }
  if (type->flavor == ClassObject::Flavor::Dataclass) {
    std::string text = type->className + "(";
    for (size_t i = 0; i < type->fields.size(); ++i) {
      auto it = fields.find(type->fields[i].name);
      text += (i ? ", " : "") + type->fields[i].name + "=" +
              (it == fields.end() ? "?" : it->second.repr());
    }
    return text + ")";
  }
  if (type->flavor == ClassObject::Flavor::Exception) {
    auto it = fields.find("args");
    std::string text = type->className + "(";
    if (it != fields.end() && it->second.isTuple())
      for (size_t i = 0; i < it->second.items().size(); ++i)
        text += (i ? ", " : "") + it->second.items()[i].repr();
    return text + ")";
  }
  return "<" + type->className + " object>";
}

bool Instance::equals(const Object &other) const {
  if (this == &other)
    return true;
  auto *instance = dynamic_cast<const Instance *>(&other);
  if (!instance || !instance->type->isSame(*type))
    return false;
  if (type->flavor == ClassObject::Flavor::Enum) {
    auto a = fields.find("name"), b = instance->fields.find("name");
    return a != fields.end() && b != instance->fields.end() && ops::equal(a->second, b->second);
  }
  if (type->flavor != ClassObject::Flavor::Dataclass)
    return false;
  for (auto &field : type->fields) {
    auto a = fields.find(field.name), b = instance->fields.find(field.name);
    if (a == fields.end() || b == instance->fields.end() || !ops::equal(a->second, b->second))
      return false;
  }
  return true;
}

std::string AggregateValue::repr() const {
  std::string text = type->className + "(";
  for (size_t i = 0; i < fields.size(); ++i)
    text += (i ? ", " : "") + std::string(fields[i].first) + "=" + fields[i].second.repr();
  return text + ")";
}

bool AggregateValue::equals(const Object &other) const {
  auto *aggregate = dynamic_cast<const AggregateValue *>(&other);
  if (!aggregate || aggregate->type != type)
    return false;
  for (size_t i = 0; i < fields.size(); ++i)
    if (!identical(fields[i].second, aggregate->fields[i].second) &&
        !ops::equal(fields[i].second, aggregate->fields[i].second))
      return false;
  return true;
}

std::vector<Tile> AggregateValue::tiles() const {
  std::vector<Tile> all;
  for (auto &[name, value] : fields)
    forEachTile(value, [&](const Tile &tile) { all.push_back(tile); });
  return all;
}

Value AggregateValue::withTiles(std::span<const Tile> tiles) const {
  auto copy = std::make_shared<AggregateValue>(*this);
  size_t next = 0;
  for (auto &[name, value] : copy->fields)
    value = mapTiles(value, [&](const Tile &) { return tiles[next++]; });
  return Value(std::move(copy));
}

namespace {

// Two values that differ at most in which tiles they hold.
bool sameForm(const Value &a, const Value &b) {
  if (a.isTile() && b.isTile())
    return a.asTile().type == b.asTile().type;
  if (a.isTuple() && b.isTuple()) {
    if (a.items().size() != b.items().size())
      return false;
    for (size_t i = 0; i < a.items().size(); ++i)
      if (!sameForm(a.items()[i], b.items()[i]))
        return false;
    return true;
  }
  if (auto *x = a.as<ops::Aggregate>())
    if (auto *y = b.as<ops::Aggregate>())
      return x->sameShape(*y);
  return ops::equal(a, b) || identical(a, b);
}

} // namespace

bool AggregateValue::sameShape(const ops::Aggregate &other) const {
  auto *aggregate = dynamic_cast<const AggregateValue *>(&other);
  if (!aggregate || aggregate->type != type || aggregate->fields.size() != fields.size())
    return false;
  for (size_t i = 0; i < fields.size(); ++i)
    if (!sameForm(fields[i].second, aggregate->fields[i].second))
      return false;
  return true;
}

std::string SetObject::repr() const {
  if (items.empty())
    return "set()";
  std::string text = "{";
  for (size_t i = 0; i < items.size(); ++i)
    text += (i ? ", " : "") + items[i].repr();
  return text + "}";
}

bool SetObject::contains(const Value &value) const {
  for (const Value &item : items)
    if (ops::equal(item, value))
      return true;
  return false;
}

bool SetObject::equals(const Object &other) const {
  auto *set = dynamic_cast<const SetObject *>(&other);
  if (!set || set->items.size() != items.size())
    return false;
  for (const Value &item : items)
    if (!set->contains(item))
      return false;
  return true;
}

int64_t PythonRange::size() const {
  if (step > 0 ? start >= stop : start <= stop)
    return 0;
  uint64_t span = step > 0 ? uint64_t(stop) - uint64_t(start) : uint64_t(start) - uint64_t(stop);
  uint64_t stride = step > 0 ? uint64_t(step) : -uint64_t(step);
  uint64_t count = (span - 1) / stride + 1;
  return int64_t(std::min<uint64_t>(count, INT64_MAX));
}

std::string PythonRange::repr() const {
  std::string text = "range(" + std::to_string(start) + ", " + std::to_string(stop);
  if (step != 1)
    text += ", " + std::to_string(step);
  return text + ")";
}

void forEachTile(const Value &value, llvm::function_ref<void(const Tile &)> f) {
  if (value.isTile())
    f(value.asTile());
  else if (value.isTuple() || value.isList())
    for (const Value &item : value.items())
      forEachTile(item, f);
  else if (auto *aggregate = value.as<ops::Aggregate>())
    for (const Tile &tile : aggregate->tiles())
      f(tile);
}

Value mapTiles(const Value &value, llvm::function_ref<Tile(const Tile &)> f) {
  if (value.isTile())
    return Value(f(value.asTile()));
  if (value.isTuple()) {
    std::vector<Value> items;
    for (const Value &item : value.items())
      items.push_back(mapTiles(item, f));
    return tupleLike(*value.as<ops::Tuple>(), std::move(items));
  }
  if (auto *aggregate = value.as<ops::Aggregate>()) {
    std::vector<Tile> tiles = aggregate->tiles();
    for (Tile &tile : tiles)
      tile = f(tile);
    return aggregate->withTiles(tiles);
  }
  return value;
}

std::string describeValue(const Value &value) {
  if (value.isTile())
    return "`" + value.asTile().type.str() + "`";
  if (value.isNumber())
    return "the number " + value.repr();
  if (value.isNone())
    return "`None`";
  if (value.isTuple())
    return "a tuple of " + std::to_string(value.items().size());
  return "`" + value.repr() + "`";
}

bool identical(const Value &a, const Value &b) {
  if (a.isTile() || b.isTile())
    return a.isTile() && b.isTile() && a.asTile().value == b.asTile().value;
  if (a.isNone() || b.isNone())
    return a.isNone() && b.isNone();
  if (a.isBool() || b.isBool())
    return a.isBool() && b.isBool() && a.asBool() == b.asBool();
  if (a.isInt() || b.isInt())
    return a.isInt() && b.isInt() && a.asInteger() == b.asInteger();
  if (a.isFloat() || b.isFloat()) {
    if (!a.isFloat() || !b.isFloat())
      return false;
    return std::bit_cast<uint64_t>(a.asFloat()) == std::bit_cast<uint64_t>(b.asFloat());
  }
  if (a.object() == b.object())
    return true;
  if (a.isStr() && b.isStr())
    return a.asStr() == b.asStr();
  if (a.isType() && b.isType())
    return a.asType() == b.asType();
  if (a.isTuple() && b.isTuple()) {
    if (a.items().size() != b.items().size())
      return false;
    for (size_t i = 0; i < a.items().size(); ++i)
      if (!identical(a.items()[i], b.items()[i]))
        return false;
    return true;
  }
  if (auto *x = a.as<OpFunction>())
    return x->equals(*b.object());
  if (auto *x = a.as<ops::Aggregate>()) {
    auto *y = b.as<ops::Aggregate>();
    if (!y || !x->sameShape(*y))
      return false;
    auto s = x->tiles(), t = y->tiles();
    for (size_t i = 0; i < s.size(); ++i)
      if (s[i].value != t[i].value)
        return false;
    return true;
  }
  return a.object()->kind == b.object()->kind && a.object()->kind == ops::Object::Kind::Host &&
         !a.as<Instance>() && !a.as<SetObject>() && a.object()->equals(*b.object());
}

Value tupleLike(const ops::Tuple &like, std::vector<Value> items) {
  auto tuple = std::make_shared<ops::Tuple>(std::move(items));
  tuple->fieldNames = like.fieldNames;
  tuple->className = like.className;
  tuple->classObject = like.classObject;
  return Value(std::move(tuple));
}

} // namespace nereid::emit
