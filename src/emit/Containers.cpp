// Methods of lists, tuples, dicts, sets and ranges: one row a method.

#include "emit/Interp.h"

#include "ops/Objects.h"

#include <algorithm>

namespace nereid::emit {

using namespace syntax;

namespace {

using Args = std::vector<Value> &;

/// A method of a container of C++ type `T`. Only what changes a container is noted: `noteStore`
/// where something goes in, else `noteChange`.
template <typename T> struct Method {
  std::string_view name;
  size_t least, most; ///< positional arguments
  Value (*call)(Interp &interp, const std::shared_ptr<T> &self, Args args, Keywords &keywords);
};
constexpr size_t any = size_t(-1);

template <typename T, size_t N>
std::optional<Value> methodOf(Interp &interp, const Value &object, std::string_view name,
                              const Method<T> (&methods)[N]) {
  const Method<T> *found =
      std::find_if(methods, methods + N, [&](const Method<T> &one) { return one.name == name; });
  if (found == methods + N)
    return std::nullopt;
  auto self = std::static_pointer_cast<T>(object.object());
  return interp.native(std::string(name),
                       [self, found](Interp &interp, Args args, Keywords &keywords) {
                         if (args.size() < found->least || args.size() > found->most)
                           interp.raise("TypeError", "wrong number of arguments");
                         return found->call(interp, self, args, keywords);
                       });
}

const Method<ops::List> listMethods[] = {
    {"append", 1, 1,
     [](Interp &interp, auto &list, Args args, Keywords &) {
       interp.weigh(args[0], 1);
       interp.noteStore(Value(list), args[0]);
       list->items.push_back(args[0]);
       return Value();
     }},
    {"extend", 1, 1,
     [](Interp &interp, auto &list, Args args, Keywords &) {
       for (Value &item : interp.iterate(args[0])) {
         interp.noteStore(Value(list), item);
         list->items.push_back(std::move(item));
       }
       return Value();
     }},
    {"insert", 2, 2,
     [](Interp &interp, auto &list, Args args, Keywords &) {
       int64_t size = int64_t(list->items.size()), at = interp.asInt(args[0], "an index");
       at = std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
       interp.weigh(args[1], 1);
       interp.noteStore(Value(list), args[1]);
       interp.step(uint64_t(size) / 16);
       list->items.insert(list->items.begin() + at, args[1]);
       return Value();
     }},
    {"pop", 0, 1,
     [](Interp &interp, auto &list, Args args, Keywords &) {
       int64_t size = int64_t(list->items.size());
       int64_t at = args.empty() ? size - 1 : interp.asInt(args[0], "an index");
       if (at < 0)
         at += size;
       if (at < 0 || at >= size)
         interp.raise("IndexError", "pop index out of range");
       interp.step(uint64_t(size - at) / 16);
       Value item = list->items[size_t(at)];
       interp.noteChange(Value(list));
       list->items.erase(list->items.begin() + at);
       return item;
     }},
    {"remove", 1, 1,
     [](Interp &interp, auto &list, Args args, Keywords &) {
       for (size_t i = 0; i < list->items.size(); ++i)
         if (interp.equal(list->items[i], args[0])) {
           interp.noteChange(Value(list));
           list->items.erase(list->items.begin() + long(i));
           return Value();
         }
       interp.raise("ValueError", "the list does not hold the item");
     }},
    {"clear", 0, 0,
     [](Interp &interp, auto &list, Args, Keywords &) {
       interp.noteChange(Value(list));
       list->items.clear();
       return Value();
     }},
    {"reverse", 0, 0,
     [](Interp &interp, auto &list, Args, Keywords &) {
       interp.noteChange(Value(list));
       std::reverse(list->items.begin(), list->items.end());
       return Value();
     }},
    {"sort", 0, 0,
     [](Interp &interp, auto &list, Args, Keywords &keywords) {
       Value sorted = interp.call(*interp.builtin("sorted"), {Value(list)}, keywords);
       interp.noteChange(Value(list));
       list->items.assign(sorted.items().begin(), sorted.items().end());
       return Value();
     }},
    {"copy", 0, 0,
     [](Interp &, auto &list, Args, Keywords &) {
       return Value(std::make_shared<ops::List>(list->items));
     }},
};

// Of lists and tuples.
const Method<ops::Object> sequenceMethods[] = {
    {"index", 1, 1,
     [](Interp &interp, auto &self, Args args, Keywords &) {
       const auto &items = Value(self).items();
       for (size_t i = 0; i < items.size(); ++i)
         if (interp.equal(items[i], args[0]))
           return Value(int64_t(i));
       interp.raise("ValueError", interp.repr(args[0]) + " is not in the sequence");
     }},
    {"count", 1, 1,
     [](Interp &interp, auto &self, Args args, Keywords &) {
       int64_t count = 0;
       for (const Value &item : Value(self).items())
         count += interp.equal(item, args[0]);
       return Value(count);
     }},
};

const Method<ops::Tuple> namedTupleMethods[] = {
    {"_asdict", 0, 0,
     [](Interp &, auto &tuple, Args, Keywords &) {
       auto dict = std::make_shared<ops::Dict>();
       for (size_t i = 0; i < tuple->items.size(); ++i)
         dict->entries.emplace_back(Value::str((*tuple->fieldNames)[i]), tuple->items[i]);
       return Value(std::move(dict));
     }},
    {"_replace", 0, 0,
     [](Interp &interp, auto &tuple, Args, Keywords &keywords) {
       std::vector<Value> items = tuple->items;
       for (auto &[key, value] : keywords) {
         auto it = std::find(tuple->fieldNames->begin(), tuple->fieldNames->end(), key);
         if (it == tuple->fieldNames->end())
           interp.raise("ValueError", "there is no field `" + key + "`");
         items[size_t(it - tuple->fieldNames->begin())] = value;
       }
       return tupleLike(*tuple, std::move(items));
     }},
};

/// The index of the entry of `key`, or the number of entries.
size_t position(Interp &interp, const ops::Dict &dict, const Value &key) {
  size_t i = 0;
  while (i < dict.entries.size() && !interp.equal(dict.entries[i].first, key))
    ++i;
  return i;
}

Value listOf(const ops::Dict &dict, Value (*part)(const std::pair<Value, Value> &entry)) {
  std::vector<Value> all;
  for (const std::pair<Value, Value> &entry : dict.entries)
    all.push_back(part(entry));
  return Value(std::make_shared<ops::List>(std::move(all)));
}

const Method<ops::Dict> dictMethods[] = {
    {"keys", 0, 0,
     [](Interp &, auto &dict, Args, Keywords &) {
       return listOf(*dict, [](auto &entry) { return entry.first; });
     }},
    {"values", 0, 0,
     [](Interp &, auto &dict, Args, Keywords &) {
       return listOf(*dict, [](auto &entry) { return entry.second; });
     }},
    {"items", 0, 0,
     [](Interp &, auto &dict, Args, Keywords &) {
       return listOf(*dict, [](auto &entry) { return Value::tuple({entry.first, entry.second}); });
     }},
    {"get", 1, 2,
     [](Interp &interp, auto &dict, Args args, Keywords &) {
       size_t at = position(interp, *dict, unboxed(args[0]));
       if (at < dict->entries.size())
         return dict->entries[at].second;
       return args.size() > 1 ? args[1] : Value();
     }},
    {"setdefault", 1, 2,
     [](Interp &interp, auto &dict, Args args, Keywords &) {
       size_t at = position(interp, *dict, unboxed(args[0]));
       if (at < dict->entries.size())
         return dict->entries[at].second;
       Value value = args.size() > 1 ? args[1] : Value();
       interp.weigh(value, 1);
       interp.noteStore(Value(dict), value);
       dict->entries.emplace_back(unboxed(args[0]), value);
       return value;
     }},
    {"pop", 1, 2,
     [](Interp &interp, auto &dict, Args args, Keywords &) {
       size_t at = position(interp, *dict, unboxed(args[0]));
       if (at == dict->entries.size()) {
         if (args.size() == 1)
           interp.raiseKeyError(args[0], &*dict);
         return args[1];
       }
       Value value = dict->entries[at].second;
       interp.noteChange(Value(dict));
       dict->entries.erase(dict->entries.begin() + long(at));
       return value;
     }},
    {"update", 0, any,
     [](Interp &interp, auto &dict, Args args, Keywords &keywords) {
       auto put = [&](const Value &key, const Value &value) {
         size_t at = position(interp, *dict, key);
         interp.weigh(value, 1);
         interp.noteStore(Value(dict), value);
         if (at < dict->entries.size())
           dict->entries[at].second = value;
         else
           dict->entries.emplace_back(key, value);
       };
       for (Value &arg : args) {
         if (auto *other = unboxed(arg).as<ops::Dict>()) {
           for (auto &[key, value] : other->entries)
             put(key, value);
           continue;
         }
         for (Value &pair : interp.iterate(arg)) {
           std::vector<Value> two = interp.iterate(pair);
           if (two.size() != 2)
             interp.raise("ValueError", "`update` needs pairs");
           put(two[0], two[1]);
         }
       }
       for (auto &[key, value] : keywords)
         put(Value::str(key), value);
       return Value();
     }},
    {"copy", 0, 0,
     [](Interp &, auto &dict, Args, Keywords &) {
       auto copy = std::make_shared<ops::Dict>();
       copy->entries = dict->entries;
       return Value(std::move(copy));
     }},
    {"clear", 0, 0,
     [](Interp &interp, auto &dict, Args, Keywords &) {
       interp.noteChange(Value(dict));
       dict->entries.clear();
       return Value();
     }},
};

void discard(Interp &interp, const std::shared_ptr<SetObject> &set, const Value &gone) {
  interp.noteChange(Value(set));
  std::erase_if(set->items, [&](const Value &item) { return interp.equal(item, gone); });
}

/// The set combined with each argument in turn.
Value combined(Interp &interp, BinaryOp op, const std::shared_ptr<SetObject> &set, Args args) {
  Value result(set);
  for (Value &arg : args) {
    auto other = std::make_shared<SetObject>();
    for (Value &item : interp.iterate(arg))
      interp.addTo(*other, std::move(item));
    result = interp.binary(op, result, Value(std::move(other)));
  }
  return result;
}

const Method<SetObject> setMethods[] = {
    {"add", 1, 1,
     [](Interp &interp, auto &set, Args args, Keywords &) {
       interp.noteStore(Value(set), args[0]);
       interp.addTo(*set, unboxed(args[0]));
       return Value();
     }},
    {"discard", 1, 1,
     [](Interp &interp, auto &set, Args args, Keywords &) {
       discard(interp, set, args[0]);
       return Value();
     }},
    {"remove", 1, 1,
     [](Interp &interp, auto &set, Args args, Keywords &) {
       size_t before = set->items.size();
       discard(interp, set, args[0]);
       if (set->items.size() == before)
         interp.raiseKeyError(args[0]);
       return Value();
     }},
    {"update", 0, any,
     [](Interp &interp, auto &set, Args args, Keywords &) {
       for (Value &arg : args)
         for (Value &item : interp.iterate(arg)) {
           interp.noteStore(Value(set), item);
           interp.addTo(*set, std::move(item));
         }
       return Value();
     }},
    {"copy", 0, 0,
     [](Interp &, auto &set, Args, Keywords &) {
       auto copy = std::make_shared<SetObject>();
       copy->items = set->items;
       return Value(std::move(copy));
     }},
    {"union", 0, any,
     [](Interp &interp, auto &set, Args args, Keywords &) {
       return combined(interp, BinaryOp::BitOr, set, args);
     }},
    {"intersection", 0, any,
     [](Interp &interp, auto &set, Args args, Keywords &) {
       return combined(interp, BinaryOp::BitAnd, set, args);
     }},
    {"difference", 0, any,
     [](Interp &interp, auto &set, Args args, Keywords &) {
       return combined(interp, BinaryOp::Sub, set, args);
     }},
};

} // namespace

std::optional<Value> Interp::containerMethod(const Value &object, std::string_view name) {
  if (object.isList())
    if (std::optional<Value> found = methodOf(*this, object, name, listMethods))
      return found;
  if (object.isList() || object.isTuple())
    if (std::optional<Value> found = methodOf(*this, object, name, sequenceMethods))
      return found;
  if (object.as<ops::Dict>())
    return methodOf(*this, object, name, dictMethods);
  if (object.as<SetObject>())
    return methodOf(*this, object, name, setMethods);
  if (object.isTuple()) {
    auto *tuple = object.as<ops::Tuple>();
    if (name == "values")
      return object;
    if (tuple->fieldNames && name == "_fields") {
      std::vector<Value> fields;
      for (const std::string &field : *tuple->fieldNames)
        fields.push_back(Value::str(field));
      return Value::tuple(std::move(fields));
    }
    if (tuple->fieldNames)
      return methodOf(*this, object, name, namedTupleMethods);
  }
  if (auto *range = object.as<PythonRange>()) {
    if (name == "start")
      return Value(range->start);
    if (name == "stop")
      return Value(range->stop);
    if (name == "step")
      return Value(range->step);
  }
  return std::nullopt;
}

} // namespace nereid::emit
