// What module-level code learns of the machine: the answers of a process with an NVIDIA GPU and
// current packages. Each answer used is a recorded fact.

#include "emit/Interp.h"

namespace nereid::emit {

namespace {

// A value by its path; calls are written "(...)".
struct PlatformFact {
  std::string_view origin;
  enum class Kind { None, False, True, Zero, One, Text, Capability } kind;
  std::string_view text = {};
};

constexpr PlatformFact platformFacts[] = {
    {"torch.version.hip", PlatformFact::Kind::None},
    {"torch.version.xpu", PlatformFact::Kind::None},
    {"torch.version.cuda", PlatformFact::Kind::Text, "13.0"},
    {"torch.__version__", PlatformFact::Kind::Text, "2.11.0"},
    {"torch.version.__version__", PlatformFact::Kind::Text, "2.11.0"},
    {"torch.cuda.is_available(...)", PlatformFact::Kind::True},
    {"torch.cuda.is_bf16_supported(...)", PlatformFact::Kind::True},
    {"torch.cuda.device_count(...)", PlatformFact::Kind::One},
    {"torch.cuda.current_device(...)", PlatformFact::Kind::Zero},
    {"torch.cuda.get_device_capability(...)", PlatformFact::Kind::Capability},
    {"torch.are_deterministic_algorithms_enabled(...)", PlatformFact::Kind::False},
    {"torch.utils._triton.has_triton(...)", PlatformFact::Kind::True},
    {"torch.utils._triton.has_triton_package(...)", PlatformFact::Kind::True},
    {"torch.xpu.is_available(...)", PlatformFact::Kind::False},
    {"torch.npu.is_available(...)", PlatformFact::Kind::False},
    {"torch.mlu.is_available(...)", PlatformFact::Kind::False},
    {"torch.backends.mps.is_available(...)", PlatformFact::Kind::False},
    {"triton.runtime.driver.active.get_current_target(...).backend", PlatformFact::Kind::Text,
     "cuda"},
    {"transformers.utils.is_torch_npu_available(...)", PlatformFact::Kind::False},
    {"transformers.utils.is_torch_xpu_available(...)", PlatformFact::Kind::False},
    {"transformers.utils.import_utils.is_torch_npu_available(...)", PlatformFact::Kind::False},
};

// 3.0.0, 2.11.0+cu130, 3.6.0.post1: the numbers, as far as they go.
std::vector<Value> versionNumbers(std::string_view text) {
  std::vector<Value> numbers;
  size_t at = 0;
  if (at < text.size() && text[at] == 'v')
    ++at;
  while (at < text.size() && std::isdigit(uint8_t(text[at]))) {
    int64_t number = 0;
    while (at < text.size() && std::isdigit(uint8_t(text[at])) && number < 100'000'000)
      number = number * 10 + (text[at++] - '0');
    numbers.push_back(Value(number));
    if (at >= text.size() || text[at] != '.')
      break;
    ++at;
  }
  while (numbers.size() > 1 && numbers.back().asInteger().isZero())
    numbers.pop_back();
  return numbers;
}

} // namespace

// A version, compared by its release numbers: an object like `packaging.version.Version`.
Value Interp::makeVersion(const std::string &text) {
  if (!versionType) {
    versionType = std::make_shared<ClassObject>();
    versionType->interp = this;
    versionType->className = "Version";
    static constexpr std::pair<const char *, syntax::CompareOp> comparisons[] = {
        {"__lt__", syntax::CompareOp::Lt}, {"__le__", syntax::CompareOp::LtE},
        {"__gt__", syntax::CompareOp::Gt}, {"__ge__", syntax::CompareOp::GtE},
        {"__eq__", syntax::CompareOp::Eq}, {"__ne__", syntax::CompareOp::NotEq}};
    for (auto &[name, op] : comparisons) {
      auto method = native(name, [op = op](Interp &interp, std::vector<Value> &args, Keywords &) {
        auto numbers = [](const Value &value) {
          auto *instance = unboxed(value).as<Instance>();
          if (instance && instance->fields.count("release"))
            return instance->fields["release"];
          return Value::tuple(versionNumbers(unboxed(value).isStr() ? unboxed(value).asStr() : ""));
        };
        if (args.size() != 2)
          interp.raise("TypeError", "a comparison takes one other value");
        return interp.compare(op, numbers(args[0]), numbers(args[1]));
      });
      method.as<NativeFunction>()->isMethod = true;
      versionType->attributes->set(name, method);
    }
  }
  auto instance = std::make_shared<Instance>(versionType);
  std::vector<Value> numbers = versionNumbers(text);
  auto part = [&](size_t i) { return i < numbers.size() ? numbers[i] : Value(0); };
  instance->fields["major"] = part(0);
  instance->fields["minor"] = part(1);
  instance->fields["micro"] = part(2);
  instance->fields["text"] = Value::str(text);
  instance->fields["base_version"] = Value::str(text);
  instance->fields["public"] = Value::str(text);
  instance->fields["release"] = Value::tuple(std::move(numbers));
  return Value(std::move(instance));
}

Value Interp::makeUnknown(std::string origin) {
  if (frame && frame->module)
    if (std::optional<Value> value = defined(origin))
      return *value;
  for (const PlatformFact &fact : platformFacts) {
    if (fact.origin != origin)
      continue;
    Value value;
    switch (fact.kind) {
    case PlatformFact::Kind::None:
      break;
    case PlatformFact::Kind::False:
    case PlatformFact::Kind::True:
      value = Value(fact.kind == PlatformFact::Kind::True);
      break;
    case PlatformFact::Kind::Zero:
    case PlatformFact::Kind::One:
      value = Value(int64_t(fact.kind == PlatformFact::Kind::One));
      break;
    case PlatformFact::Kind::Text:
      value = Value::str(std::string(fact.text));
      break;
    case PlatformFact::Kind::Capability:
      value =
          Value::tuple({Value(hostOptions.deviceArch / 10), Value(hostOptions.deviceArch % 10)});
      break;
    }
    recordFact("device", origin, repr(value));
    return value;
  }
  return Value(std::make_shared<Unknown>(std::move(origin)));
}

Value Interp::unknownCall(const Unknown &callee, const std::vector<Value> &args) {
  // `Version("3.0.0")` and `version.parse("3.0.0")`, whichever package they come from.
  std::string_view name = callee.origin;
  std::string_view last = name.substr(name.rfind('.') + 1);
  bool isVersion = last == "Version" || last == "LooseVersion" || last == "parse_version" ||
                   name.ends_with("version.parse");
  if (isVersion && args.size() == 1 && unboxed(args[0]).isStr())
    return makeVersion(unboxed(args[0]).asStr());
  if (name == "importlib.import_module" && args.size() == 1 && unboxed(args[0]).isStr() && frame &&
      frame->node)
    return importModule(unboxed(args[0]).asStr(), frame->module, *frame->node);
  // A module that can be imported has a spec, and the module of the spec is that module.
  if (name == "importlib.util.find_spec" && args.size() == 1 && unboxed(args[0]).isStr() && frame &&
      frame->node) {
    Value module = importModule(unboxed(args[0]).asStr(), frame->module, *frame->node);
    if (!module.as<Unknown>()) {
      auto type = std::make_shared<ClassObject>();
      type->interp = this;
      type->className = "ModuleSpec";
      auto spec = std::make_shared<Instance>(type);
      spec->fields["name"] = unboxed(args[0]);
      spec->fields["loader"] = makeUnknown(callee.origin + "(...).loader");
      return Value(std::move(spec));
    }
  }
  if (name == "importlib.util.module_from_spec" && args.size() == 1 && frame && frame->node)
    if (auto *spec = unboxed(args[0]).as<Instance>(); spec && spec->type->className == "ModuleSpec")
      return importModule(spec->fields["name"].asStr(), frame->module, *frame->node);
  if (name.ends_with("importlib.metadata.version") && args.size() == 1 &&
      unboxed(args[0]).isStr()) {
    const std::string &package = unboxed(args[0]).asStr();
    if (package == "triton")
      return *tritonAttribute("__version__");
    if (package == "torch")
      return makeUnknown("torch.__version__");
  }
  return makeUnknown(callee.origin + "(...)");
}

} // namespace nereid::emit
