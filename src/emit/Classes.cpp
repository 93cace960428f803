// `class`: plain classes, named tuples, Enums, exceptions; aggregates and dataclasses are made of
// plain ones by their decorators.

#include "emit/Interp.h"

namespace nereid::emit {

using namespace syntax;

Value Interp::makeClass(const ClassDef &def) {
  auto type = std::make_shared<ClassObject>();
  type->interp = this;
  type->attributes = newScope(); // members of an enumeration hold their class
  type->className = std::string(def.name);
  type->module = frame->module->shared_from_this();
  type->def = &def;
  for (const Expr *base : def.bases) {
    if (auto *plain = dynCast<Name>(base))
      type->isPlainValued |= plain->id == "int" || plain->id == "str" || plain->id == "float";
    Value value = unboxed(eval(base));
    if (auto *other = value.as<ClassObject>()) {
      auto parent = other->shared_from_this();
      type->isPlainValued |= parent->isPlainValued || parent->className == "IntEnum" ||
                             parent->className == "StrEnum" || parent->className == "IntFlag";
      if (type->flavor == ClassObject::Flavor::Plain)
        type->flavor = parent->flavor;
      if (parent->flavor == ClassObject::Flavor::Dataclass ||
          parent->flavor == ClassObject::Flavor::Aggregate)
        type->fields = parent->fields;
      type->bases.push_back(std::move(parent));
    }
    // A base from a module that we lack adds nothing that we know.
  }

  Frame body;
  body.mode = Frame::Mode::Host;
  body.isClassBody = true;
  body.module = frame->module;
  body.function = frame->function;
  body.locals = type->attributes;
  body.enclosing = frame->enclosing;
  if (!frame->isModule && !frame->isClassBody)
    body.enclosing.insert(body.enclosing.begin(), frame->locals);
  body.node = &def;
  body.qualifiedPrefix = frame->qualifiedPrefix + type->className + ".";
  {
    FrameScope scope(*this, body);
    execHost(def.body);
    for (const Frame::Annotated &one : body.annotated) {
      Value annotation;
      try {
        annotation = unboxed(eval(one.annotation));
        if (annotation.isStr() && isConstexprAnnotation(annotation))
          annotation = *languageAttribute(LanguageModule(""), "constexpr");
      } catch (EvalError &failure) {
        if (failure.fatal)
          throw;
        annotation = Value(std::make_shared<Unknown>("annotation"));
        frame = &body;
      }
      ClassObject::Field field{std::string(one.name), annotation, std::nullopt};
      if (one.hasValue)
        if (const Binding *binding = type->attributes->find(one.name))
          field.defaultValue = binding->value;
      bool known = false;
      for (ClassObject::Field &other : type->fields)
        if (other.name == field.name) {
          other = field;
          known = true;
        }
      if (!known)
        type->fields.push_back(std::move(field));
    }
  }
  for (const Binding &binding : type->attributes->all())
    if (auto *function = binding.value.as<FunctionObject>(); function && !binding.deleted)
      function->owner = type;

  if (type->flavor == ClassObject::Flavor::Enum && !type->bases.empty()) {
    // Each plain assignment is a member.
    std::vector<std::string_view> members;
    for (const Binding &binding : type->attributes->all())
      if (!binding.deleted && !binding.name.starts_with("_") && !binding.value.isCallable())
        members.push_back(binding.name);
    int64_t next = 1;
    for (std::string_view name : members) {
      Value value = unboxed(type->attributes->find(name)->value);
      if (auto *automatic = value.as<Instance>(); automatic && automatic->type->className == "auto")
        value = Value(next);
      if (value.isInt())
        if (auto number = value.asInteger().toInt64())
          next = *number + 1;
      auto member = std::make_shared<Instance>(type);
      member->fields["name"] = Value::str(std::string(name));
      member->fields["value"] = value;
      type->attributes->set(name, Value(std::move(member)));
    }
  }
  return Value(std::move(type));
}

} // namespace nereid::emit
