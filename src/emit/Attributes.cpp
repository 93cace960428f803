// `x.name`, for each kind of object.

#include "emit/Interp.h"

#include "ops/Objects.h"

namespace nereid::emit {

using namespace syntax;

namespace {

// A method of a type, `x.dtype.is_fp16`, waiting for its call.
struct TypeMethod : ops::Callable {
  TypeMethod(Interp &interp, Type type, std::string method)
      : interp(interp), type(std::move(type)), method(std::move(method)) {}
  std::string typeName() const override { return "method"; }
  std::string name() const override { return method; }
  Value call(ops::OpContext &context, std::vector<Value> args, Keywords keywords) override {
    for (auto &[name, value] : keywords)
      args.push_back(value);
    return interp.building([&]() -> Value {
      if (std::optional<Value> result = ops::typeMethod(context, type, method, args))
        return *result;
      interp.fail("NoAttribute", "`dtype` has no method `" + method + "`");
    });
  }
  Interp &interp;
  Type type;
  std::string method;
};

} // namespace

std::optional<Value> Interp::bindToInstance(const Value &self, const Value &member) {
  if (auto *function = member.as<FunctionObject>()) {
    if (function->isStatic)
      return member;
    if (function->isProperty)
      return callFunction(*function, {self}, {});
    return Value(std::make_shared<BoundMethod>(
        self, std::static_pointer_cast<ops::Callable>(member.object())));
  }
  if (auto *native = member.as<NativeFunction>(); native && native->isMethod)
    return Value(std::make_shared<BoundMethod>(
        self, std::static_pointer_cast<ops::Callable>(member.object())));
  return member;
}

std::optional<Value> Interp::instanceAttribute(const Value &self, const ClassObject &type,
                                               std::string_view name) {
  if (name == "__class__")
    return Value(std::const_pointer_cast<ClassObject>(type.shared_from_this()));
  const Value *member = type.find(name);
  if (!member)
    return std::nullopt;
  if (auto *function = member->as<FunctionObject>(); function && function->isClassMethod)
    return Value(std::make_shared<BoundMethod>(
        Value(std::const_pointer_cast<ClassObject>(type.shared_from_this())),
        std::static_pointer_cast<ops::Callable>(member->object())));
  return bindToInstance(self, *member);
}

std::optional<Value> Interp::functionAttribute(const Value &object, std::string_view name) {
  auto *function = object.as<FunctionObject>();
  if (name == "__name__")
    return Value::str(function->name());
  if (name == "__qualname__")
    return Value::str(function->qualifiedName);
  if (name == "__module__")
    return Value::str(function->module->name);
  if (name == "__doc__") {
    if (function->def && !function->def->body.empty())
      if (auto *expr = dynCast<ExprStmt>(function->def->body[0]))
        if (auto *text = dynCast<Constant>(expr->value))
          if (text->value.kind == ConstantValue::Kind::Str)
            return Value::str(std::string(text->value.text));
    return Value();
  }
  if (name == "fn" || name == "__wrapped__" || name == "_fn" || name == "func")
    return object;
  if (name == "arg_names") {
    std::vector<Value> all;
    for (const Arg &arg : function->parameters->args)
      all.push_back(Value::str(std::string(arg.arg)));
    return Value(std::make_shared<ops::List>(std::move(all)));
  }
  if (!inKernel())
    return Value(std::make_shared<Unknown>(function->name() + "." + std::string(name)));
  return std::nullopt;
}

std::optional<Value> Interp::numberAttribute(const Value &object, std::string_view name) {
  // `.value` of a constexpr is the value itself.
  if (name == "value")
    return object;
  auto method = [&](NativeFunction::Body body) { return native(std::string(name), body); };
  if (name == "bit_length" && !object.isFloat())
    return method([object](Interp &, std::vector<Value> &, Keywords &) {
      return Value(int64_t(object.isBool() ? object.asBool() : object.asInteger().bitLength()));
    });
  if (name == "is_integer" && object.isFloat())
    return method([object](Interp &, std::vector<Value> &, Keywords &) {
      return Value(std::floor(object.asFloat()) == object.asFloat());
    });
  if (name == "real" || name == "numerator")
    return object;
  if (inKernel()) {
    // A parameter that is compiled in as a number (`n == 1`) has the attributes of a scalar too.
    Tile tile = building([&] { return ops::toTile(opContext(), object); });
    if (ops::findMethod(Value(tile), name) ||
        building([&] { return ops::attribute(opContext(), Value(tile), name); }))
      return attribute(Value(tile), name);
    return operatorMethod(object, name);
  }
  return std::nullopt;
}

namespace {
// The one of that name.
std::optional<Value> named(std::string_view name,
                           std::initializer_list<std::pair<std::string_view, Value>> all) {
  for (const auto &[known, value] : all)
    if (known == name)
      return value;
  return std::nullopt;
}
} // namespace

std::optional<Value> Interp::typeAttribute(const Value &object, std::string_view name) {
  if (name == "value")
    return object;
  if (auto value = building([&] { return ops::attribute(opContext(), object, name); }))
    return value;
  Type type = object.asType();
  bool exists = building([&] { return ops::typeMethod(opContext(), type, name, {}).has_value(); });
  if (exists || name == "with_element_ty" || name == "to")
    return Value(std::make_shared<TypeMethod>(*this, type, std::string(name)));
  return std::nullopt;
}

std::optional<Value> Interp::moduleAttribute(const ModuleObject &module, std::string_view name) {
  const Binding *binding = module.names->find(name);
  if (!binding) {
    // A module below a package.
    if (auto it = loaded.find(module.name + "." + std::string(name)); it != loaded.end())
      return Value(it->second);
    return std::nullopt;
  }
  if (inKernel() || binding->unusable)
    return useBinding(*binding, true);
  return binding->value;
}

std::optional<Value> Interp::classAttribute(const Value &object, std::string_view name) {
  const auto *type = object.as<ClassObject>();
  if (const Value *member = type->find(name)) {
    if (auto *function = member->as<FunctionObject>(); function && function->isClassMethod)
      return bindToInstance(object, *member);
    return *member;
  }
  if (name == "__name__" || name == "__qualname__")
    return Value::str(type->className);
  if (name == "__members__" && type->flavor == ClassObject::Flavor::Enum) {
    auto dict = std::make_shared<ops::Dict>();
    for (Value &member : iterate(object))
      dict->entries.emplace_back(member.as<Instance>()->fields["name"], member);
    return Value(std::move(dict));
  }
  return std::nullopt;
}

// A field of an object, or what its class has under that name.
std::optional<Value> Interp::instanceField(const Value &object, std::string_view name) {
  auto *instance = object.as<Instance>();
  auto it = instance->fields.find(name);
  if (it != instance->fields.end())
    return it->second;
  if (auto member = instanceAttribute(object, *instance->type, name))
    return member;
  if (name == "__dict__") {
    auto dict = std::make_shared<ops::Dict>();
    for (auto &[key, value] : instance->fields)
      dict->entries.emplace_back(Value::str(key), value);
    return Value(std::move(dict));
  }
  return std::nullopt;
}

std::optional<Value> Interp::attribute(const Value &objectIn, std::string_view name) {
  const Value object = unboxed(objectIn);
  if (name == "value" && objectIn.as<ConstexprBox>())
    return object;
  if (object.isTile()) {
    if (auto value = building([&] { return ops::attribute(opContext(), object, name); }))
      return value;
    if (const ops::Row *row = ops::findMethod(object, name))
      return Value(std::make_shared<BoundMethod>(
          object, std::make_shared<OpFunction>(row, false, std::string(row->name), this)));
    return operatorMethod(object, name);
  }
  if (object.isNumber())
    return numberAttribute(object, name);
  if (auto *module = object.as<LanguageModule>())
    return languageAttribute(*module, name);
  if (object.isNone())
    return name == "value" ? std::optional<Value>(object) : std::nullopt;
  if (object.isStr()) {
    if (name == "value" && inKernel())
      return object;
    return strMethod(object, name);
  }
  if (object.isType())
    return typeAttribute(object, name);
  if (auto *tuple = object.as<ops::Tuple>()) {
    if (tuple->fieldNames)
      for (size_t i = 0; i < tuple->fieldNames->size(); ++i)
        if ((*tuple->fieldNames)[i] == name)
          return tuple->items[i];
    if (auto *type = dynamic_cast<ClassObject *>(tuple->classObject.get()))
      if (auto member = instanceAttribute(object, *type, name))
        return member;
    return containerMethod(object, name);
  }
  if (object.isList() || object.as<ops::Dict>() || object.as<SetObject>() ||
      object.as<PythonRange>())
    return containerMethod(object, name);
  if (auto *slice = object.as<ops::Slice>())
    return named(name, {{"start", slice->start}, {"stop", slice->stop}, {"step", slice->step}});
  if (auto *module = object.as<ModuleObject>())
    return moduleAttribute(*module, name);
  if (auto *native = object.as<NativeObject>())
    return native->attribute(*this, name);
  if (auto *module = object.as<NativeModule>())
    return module->lookup(*this, name);
  if (auto *unknown = object.as<Unknown>()) {
    Value value = makeUnknown(unknown->origin + "." + std::string(name));
    if (inKernel() && value.as<Unknown>())
      failUnknown(*unknown, "`." + std::string(name) + "`");
    return value;
  }
  if (object.as<FunctionObject>())
    return functionAttribute(object, name);
  if (auto *bound = object.as<BoundMethod>()) {
    if (name == "__self__")
      return bound->self;
    if (name == "__name__")
      return Value::str(bound->name());
    return std::nullopt;
  }
  if (object.as<ClassObject>())
    return classAttribute(object, name);
  if (object.as<Instance>())
    return instanceField(object, name);
  if (auto *aggregate = object.as<AggregateValue>()) {
    if (Value *field = aggregate->field(name))
      return *field;
    return instanceAttribute(object, *aggregate->type, name);
  }
  if (object.isCallable()) {
    auto *callable = object.as<ops::Callable>();
    if (name == "__name__")
      return Value::str(callable->name());
    return std::nullopt;
  }
  // What only the vocabulary knows: block pointers, ranges, enumerations.
  if (auto *range = object.as<ops::RangeValue>())
    return named(name, {{"start", range->start},
                        {"end", range->stop},
                        {"stop", range->stop},
                        {"step", range->step}});
  if (auto value = building([&] { return ops::attribute(opContext(), object, name); }))
    return value;
  if (const ops::Row *row = ops::findMethod(object, name))
    return Value(std::make_shared<BoundMethod>(
        object, std::make_shared<OpFunction>(row, false, std::string(row->name), this)));
  return std::nullopt;
}

Value Interp::requireAttribute(const Value &object, std::string_view name) {
  if (std::optional<Value> value = attribute(object, name))
    return *std::move(value);
  const Value &plain = unboxed(object);
  std::string what;
  std::string hint;
  if (auto *language = plain.as<LanguageModule>()) {
    std::string module =
        language->path.empty() ? "tl" : "tl." + language->path.substr(0, language->path.size() - 1);
    what = "`" + module + "` has no `" + std::string(name) + "`";
    hint = ops::suggestion(language->path, name);
    if (hint.empty())
      hint = "`docs/language.md` lists the names that there are";
  } else if (plain.as<ModuleObject>() || plain.as<NativeModule>()) {
    what = "module `" +
           (plain.as<ModuleObject>() ? plain.as<ModuleObject>()->name
                                     : plain.as<NativeModule>()->name) +
           "` has no attribute `" + std::string(name) + "`";
  } else if (plain.isTile()) {
    what = "a tile has no attribute `" + std::string(name) + "`";
    hint = ops::suggestion("tensor.", name);
  } else if (plain.isTuple() && inKernel()) {
    what = "`tuple` has no attribute `" + std::string(name) + "`";
    hint = ops::elsewhere(name);
  } else if (plain.isNone()) {
    what = "`None` has no attribute `" + std::string(name) + "`";
    if (inKernel())
      hint = "an argument that is `None` needs an `if x is not None` around its uses";
  } else {
    what = "`" + plain.typeName() + "` has no attribute `" + std::string(name) + "`";
  }
  fail("NoAttribute", std::move(what), std::move(hint));
}

void Interp::setAttribute(const Value &objectIn, std::string_view name, Value value) {
  const Value &object = unboxed(objectIn);
  noteStore(object, value);
  if (auto *instance = object.as<Instance>()) {
    instance->fields[std::string(name)] = std::move(value);
    return;
  }
  if (auto *aggregate = object.as<AggregateValue>())
    return setField(*aggregate, name, std::move(value), aggregate == frame->constructing);
  if (auto *type = object.as<ClassObject>()) {
    type->attributes->set(intern(name), std::move(value));
    return;
  }
  if (auto *module = object.as<ModuleObject>()) {
    module->names->set(intern(name), std::move(value));
    return;
  }
  if (object.as<FunctionObject>() || object.as<Unknown>() || object.as<NativeModule>())
    return; // `fn.attribute = x` on functions means nothing to a kernel
  if (auto *native = object.as<NativeObject>(); native && native->setAttribute(*this, name, value))
    return;
  raise("AttributeError",
        "`" + object.typeName() + "` object has no attribute `" + std::string(name) + "`");
}

void Interp::setField(AggregateValue &object, std::string_view name, Value value,
                      bool isConstructing) {
  const std::string &className = object.type->className;
  auto refuse = [&](std::string code, std::string message, std::string hint) {
    EvalError failure = error(*frame->node, std::move(code), std::move(message), std::move(hint));
    failure.pythonType = "AttributeError";
    throw failure;
  };
  const ClassObject::Field *field = nullptr;
  for (const ClassObject::Field &one : object.type->fields)
    if (one.name == name)
      field = &one;
  if (!field)
    refuse("NoAttribute", "`" + className + "` has no field `" + std::string(name) + "`",
           "declare it in the class: `" + std::string(name) + ": tl.tensor`");
  if (!isConstructing)
    refuse("ImmutableAggregate",
           "field `" + std::string(name) + "` of `" + className + "` can't be assigned to",
           "make a changed copy with `tl.aggregate_replace`");
  unbox(value);
  if (value.isList())
    value = Value::tuple({value.items().begin(), value.items().end()});
  checkField(className, *field, value);
  if (Value *slot = object.field(name))
    *slot = std::move(value);
  else
    object.fields.emplace_back(intern(name), std::move(value));
}

// A field of an aggregate holds what its annotation says.
void Interp::checkField(const std::string &className, const ClassObject::Field &field,
                        Value &value) {
  const Value &annotation = field.annotation;
  auto mismatch = [&](const std::string &wanted) {
    fail("FieldMismatch", "field `" + field.name + "` of `" + className + "` must be " + wanted +
                              ", not `" + value.typeName() + "`");
  };
  auto *op = annotation.as<OpFunction>();
  if (op && op->row->name == "constexpr") {
    if (!value.isConstexpr())
      mismatch("a `tl.constexpr`");
  } else if (op && op->row->name == "tensor") {
    if (value.isNumber() && inKernel())
      value = building([&] { return Value(ops::toTile(opContext(), value)); });
    if (!value.isTile())
      mismatch("a `tl.tensor`");
  } else if (op && op->row->name == "tuple") {
    if (!value.isTuple())
      mismatch("a `tl.tuple`");
  } else if (auto *type = annotation.as<ClassObject>()) {
    if (type->flavor == ClassObject::Flavor::Aggregate && !isInstance(value, annotation))
      mismatch("a `" + type->className + "`");
  }
}

// --- subscripts ---

// The place of an item in what has `size` of them.
size_t Interp::itemPosition(const Value &index, size_t size, const char *what) {
  if (index.isTile())
    fail("NotConstexpr", std::string("the index of ") + what + " must be known while compiling",
         "loop with `tl.static_range`, whose variable is a constexpr");
  int64_t at = asInt(index, "an index");
  if (at < 0)
    at += int64_t(size);
  if (at < 0 || at >= int64_t(size)) {
    EvalError failure = error(*frame->node, "IndexError",
                              "index " + repr(index) + " is out of range for " + what + " of " +
                                  std::to_string(size) + " items" +
                                  (size ? "" : ", as pointers and numbers have for a shape"),
                              size ? "" : "pass the size of a tensor as an argument of its own");
    failure.pythonType = "IndexError";
    throw failure;
  }
  return size_t(at);
}

// The places of the items that a slice selects.
std::vector<size_t> Interp::slicePositions(const ops::Slice &slice, size_t size) {
  int64_t stride = slice.step.isNone() ? 1 : asInt(slice.step, "a slice step");
  if (stride == 0)
    raise("ValueError", "slice step can't be zero");
  // A longer one leaves the items as well, and its sums fit.
  stride = std::clamp(stride, -int64_t(size) - 1, int64_t(size) + 1);
  auto clamp = [&](const Value &value, int64_t absent) {
    if (value.isNone())
      return absent;
    int64_t at = asInt(value, "a slice bound");
    if (at < 0)
      at += int64_t(size);
    int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? int64_t(size) : int64_t(size) - 1;
    return std::min(std::max(at, low), high);
  };
  int64_t start = clamp(slice.start, stride > 0 ? 0 : int64_t(size) - 1);
  int64_t stop = clamp(slice.stop, stride > 0 ? int64_t(size) : -1);
  std::vector<size_t> positions;
  for (int64_t at = start; stride > 0 ? at < stop : at > stop; at += stride)
    positions.push_back(size_t(at));
  return positions;
}

Value Interp::subscript(const Value &objectIn, const Value &index) {
  const Value &object = unboxed(objectIn);
  if (object.isTile())
    return building([&] { return ops::subscript(opContext(), object, index); });
  auto *slice = index.as<ops::Slice>();
  if (object.isTuple() || object.isList()) {
    std::span<const Value> items = object.items();
    if (!slice)
      return items[itemPosition(index, items.size(), object.isList() ? "a list" : "a tuple")];
    std::vector<Value> chosen;
    for (size_t at : slicePositions(*slice, items.size()))
      chosen.push_back(items[at]);
    if (object.isList())
      return Value(std::make_shared<ops::List>(std::move(chosen)));
    return Value::tuple(std::move(chosen));
  }
  if (object.isStr()) {
    std::vector<Value> characters = iterate(object);
    if (!slice)
      return characters[itemPosition(index, characters.size(), "a string")];
    std::string text;
    for (size_t at : slicePositions(*slice, characters.size()))
      text += characters[at].asStr();
    return Value::str(std::move(text));
  }
  if (auto *dict = object.as<ops::Dict>()) {
    for (auto &[key, value] : dict->entries)
      if (equal(key, index))
        return value;
    if (!inKernel() && index.as<Unknown>())
      return index;
    raiseKeyError(index, dict);
  }
  if (auto *range = object.as<PythonRange>()) {
    if (!slice)
      return Value(range->start +
                   int64_t(itemPosition(index, size_t(range->size()), "a range")) * range->step);
  }
  if (object.as<Unknown>()) {
    if (inKernel())
      failUnknown(*object.as<Unknown>(), "an item");
    return Value(std::make_shared<Unknown>(object.as<Unknown>()->origin + "[...]"));
  }
  if (isUserObject(object))
    if (auto method = attribute(object, "__getitem__"))
      return call(*method, {index}, {});
  if (auto *type = object.as<ClassObject>()) {
    if (type->flavor == ClassObject::Flavor::Enum && index.isStr())
      if (const Value *member = type->find(index.asStr()))
        return *member;
    return object; // `list[int]` in annotations
  }
  if (auto *function = object.as<FunctionObject>(); function && !inKernel())
    // `kernel[grid]` is a launch; running it is not this evaluator's.
    return Value(std::make_shared<Unknown>(function->name() + "[grid]"));
  if (object.isCallable() && !inKernel())
    return Value(std::make_shared<Unknown>(object.typeName() + "[...]"));
  if (const ops::Row *row = object.isNone() ? nullptr : ops::findMethod(object, "__getitem__"))
    return callOp(*row, {object, index}, {});
  if (auto *function = object.as<FunctionObject>();
      function && function->flavor == FunctionObject::Flavor::Jit)
    fail("NotCallable", "`" + function->name() + "` can't be launched by a kernel",
         "launch it on the host, or call it as a function: `" + function->name() + "(...)`");
  raise("TypeError", "`" + object.typeName() + "` object can't be indexed");
}

} // namespace nereid::emit
