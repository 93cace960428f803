// Python's builtins that make or walk sequences.
#include "emit/Builtins.h"
#include "ops/Objects.h"

#include <cmath>

namespace nereid::emit {

namespace {

Value makeRange(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "range", args, 1, 3);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  Value start = args.size() > 1 ? args[0] : Value(0);
  Value stop = args.size() > 1 ? args[1] : args[0];
  Value step = args.size() > 2 ? args[2] : Value(1);
  if (interp.inKernel() && !interp.top().isPython) {
    // A loop at run time, whatever is known of its bounds.
    auto range = std::make_shared<ops::RangeValue>();
    range->start = start;
    range->stop = stop;
    range->step = step;
    return Value(std::static_pointer_cast<ops::Object>(range));
  }
  int64_t stride = interp.asInt(step, "the step of a range");
  if (stride == 0)
    interp.raise("ValueError", "the step of a range can't be 0");
  return Value(std::make_shared<PythonRange>(interp.asInt(start, "the start of a range"),
                                             interp.asInt(stop, "the end of a range"), stride));
}

int64_t length(Interp &interp, const Value &value) {
  if (value.isTuple() || value.isList())
    return int64_t(value.items().size());
  if (value.isStr())
    return int64_t(interp.iterate(value).size());
  if (auto *dict = value.as<ops::Dict>())
    return int64_t(dict->entries.size());
  if (auto *set = value.as<SetObject>())
    return int64_t(set->items.size());
  if (auto *range = value.as<PythonRange>())
    return range->size();
  if (auto *type = value.as<ClassObject>(); type && type->flavor == ClassObject::Flavor::Enum)
    return int64_t(interp.iterate(value).size());
  if (value.isTile() && value.asTile().type.isBlock())
    return value.asTile().type.shape()[0];
  if (auto method = isUserObject(value) ? interp.attribute(value, "__len__") : std::nullopt)
    return interp.asInt(interp.call(*method, {}, {}), "`__len__`");
  interp.raise("TypeError", value.isTile() ? "pointers and numbers have no length: pass it as an "
                                             "argument of the kernel"
                                           : "`" + value.typeName() + "` object has no length");
}

Value builtinLen(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "len", args, 1, 1);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  return Value(length(interp, args[0]));
}

Value builtinNext(Interp &interp, std::vector<Value> &args, Keywords &) {
  if (args.empty())
    interp.raise("TypeError", "`next` takes an iterator");
  if (auto unknown = unknownAmong(interp, {args[0]}))
    return *unknown;
  if (auto *list = unboxed(args[0]).as<ops::List>(); list && !list->items.empty()) {
    Value item = list->items.front();
    interp.noteChange(unboxed(args[0]));
    list->items.erase(list->items.begin());
    return item;
  }
  if (args.size() > 1)
    return args[1];
  interp.raise("StopIteration", "");
}

Value builtinDict(Interp &interp, std::vector<Value> &args, Keywords &keywords) {
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  auto dict = std::make_shared<ops::Dict>();
  Value result(dict);
  interp.call(interp.requireAttribute(result, "update"), args, keywords);
  return result;
}

Value builtinEnumerate(Interp &interp, std::vector<Value> &args, Keywords &keywords) {
  needArgs(interp, "enumerate", args, 1, 2);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  Value start = args.size() > 1 ? args[1] : keyword(keywords, "start");
  int64_t at = start.isNone() ? 0 : interp.asInt(start, "`start`");
  std::vector<Value> pairs;
  for (Value &item : interp.iterate(args[0]))
    pairs.push_back(Value::tuple({Value(at++), item}));
  return interp.inKernel() ? Value::tuple(std::move(pairs))
                           : Value(std::make_shared<ops::List>(std::move(pairs)));
}

Value builtinZip(Interp &interp, std::vector<Value> &args, Keywords &) {
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  std::vector<std::vector<Value>> columns;
  size_t size = args.empty() ? 0 : SIZE_MAX;
  for (const Value &arg : args) {
    columns.push_back(interp.iterate(arg));
    size = std::min(size, columns.back().size());
  }
  std::vector<Value> rows;
  for (size_t i = 0; i < size; ++i) {
    std::vector<Value> row;
    for (auto &column : columns)
      row.push_back(column[i]);
    rows.push_back(Value::tuple(std::move(row)));
  }
  return interp.inKernel() ? Value::tuple(std::move(rows))
                           : Value(std::make_shared<ops::List>(std::move(rows)));
}

Value builtinSorted(Interp &interp, std::vector<Value> &args, Keywords &keywords) {
  needArgs(interp, "sorted", args, 1, 1);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  Value key = keyword(keywords, "key"), reverse = keyword(keywords, "reverse");
  std::vector<std::pair<Value, Value>> keyed;
  for (Value &item : interp.iterate(args[0]))
    keyed.emplace_back(key.isNone() ? item : interp.call(key, {item}, {}), item);
  bool down = !reverse.isNone() && interp.truth(reverse);
  // Insertion by merging halves: comparisons may throw, which std::stable_sort does not mind.
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto &a, const auto &b) {
    return down ? interp.truth(interp.compare(syntax::CompareOp::Lt, b.first, a.first))
                : interp.truth(interp.compare(syntax::CompareOp::Lt, a.first, b.first));
  });
  std::vector<Value> items;
  for (auto &[order, item] : keyed)
    items.push_back(item);
  return Value(std::make_shared<ops::List>(std::move(items)));
}

Value builtinSlice(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, "slice", args, 1, 3);
  return Value(std::make_shared<ops::Slice>(args.size() > 1 ? args[0] : Value(),
                                            args.size() > 1 ? args[1] : args[0],
                                            args.size() > 2 ? args[2] : Value()));
}

template <bool filters> Value mapOrFilter(Interp &interp, std::vector<Value> &args, Keywords &) {
  if (args.size() != 2)
    interp.raise("TypeError", "`map` and `filter` take a function and one iterable here");
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  std::vector<Value> results;
  for (Value &item : interp.iterate(args[1])) {
    Value result = args[0].isNone() ? item : interp.call(args[0], {item}, {});
    if (!filters)
      results.push_back(std::move(result));
    else if (interp.truth(result))
      results.push_back(item);
  }
  return Value(std::make_shared<ops::List>(std::move(results)));
}

template <bool wantsAll> Value allOrAny(Interp &interp, std::vector<Value> &args, Keywords &) {
  needArgs(interp, wantsAll ? "all" : "any", args, 1, 1);
  if (auto unknown = unknownAmong(interp, args))
    return *unknown;
  std::vector<Value> items = interp.iterate(args[0]);
  for (const Value &item : items)
    if (!unboxed(item).as<Unknown>() && interp.truth(item) != wantsAll)
      return Value(!wantsAll);
  if (auto unknown = unknownAmong(interp, items))
    return *unknown;
  return Value(wantsAll);
}

// What is made of the items of one iterable, or of none.
Value listOf(Interp &interp, std::vector<Value> items) {
  return interp.inKernel() && !interp.top().isPython
             ? Value::tuple(std::move(items))
             : Value(std::make_shared<ops::List>(std::move(items)));
}

Value tupleOf(Interp &, std::vector<Value> items) { return Value::tuple(std::move(items)); }

Value iteratorOf(Interp &, std::vector<Value> items) {
  return Value(std::make_shared<ops::List>(std::move(items)));
}

Value setOf(Interp &interp, std::vector<Value> items) {
  auto set = std::make_shared<SetObject>();
  for (Value &item : items)
    interp.addTo(*set, unboxed(item));
  return Value(std::move(set));
}

Value frozenSetOf(Interp &, std::vector<Value> items) {
  auto set = std::make_shared<SetObject>();
  for (Value &item : items)
    set->add(unboxed(item));
  return Value(std::move(set));
}

Value reversedOf(Interp &, std::vector<Value> items) {
  std::reverse(items.begin(), items.end());
  return Value(std::make_shared<ops::List>(std::move(items)));
}

constexpr BuiltinRow sequenceTable[] = {
    {"range", makeRange},
    {"len", builtinLen},
    {"next", builtinNext},
    {"dict", builtinDict},
    {"enumerate", builtinEnumerate},
    {"zip", builtinZip},
    {"sorted", builtinSorted},
    {"slice", builtinSlice},
    {"map", mapOrFilter<false>},
    {"filter", mapOrFilter<true>},
    {"any", allOrAny<false>},
    {"all", allOrAny<true>},
};

constexpr CollectionRow collections[] = {
    {"list", listOf}, {"tuple", tupleOf},         {"iter", iteratorOf},
    {"set", setOf},   {"frozenset", frozenSetOf}, {"reversed", reversedOf},
};

} // namespace

std::span<const BuiltinRow> sequenceBuiltins() { return sequenceTable; }
std::span<const CollectionRow> collectionBuiltins() { return collections; }

} // namespace nereid::emit
