#include "tools/Arguments.h"

#include "engine/Files.h"
#include "engine/NativeArguments.h"
#include "support/Npy.h"
#include "support/ReadFile.h"
#include "syntax/Parser.h"

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>

namespace nereid::tools {

using engine::SpecTensor;
using engine::tensorOf;
using ops::Value;

namespace {

constexpr const char *tensorExamples =
    "tensors are `randn(8x781,f32)`, `zeros(64,i32)`, `[1, 2]:i8`, `x.npy`";
// A word that no parameter can be called.
const std::string gridName = "--grid";

// `1823x781` is a shape; Python has no such number.
std::string shapesToTuples(const std::string &text) {
  static const std::regex shape(R"((^|[^A-Za-z0-9_.])(\d+(?:x\d+)+)(?![A-Za-z0-9_]))");
  std::string out, rest = text;
  for (std::smatch match; std::regex_search(rest, match, shape); rest = match.suffix()) {
    std::string tuple = match[2].str();
    for (size_t at = 0; (at = tuple.find('x', at)) != std::string::npos;)
      tuple.replace(at, 1, ", ");
    out += match.prefix().str() + match[1].str() + "(" + tuple + ")";
  }
  return out + rest;
}

// The characters of `text` that stand inside quotes are left alone.
std::string outsideQuotes(const std::string &text, std::string (*change)(const std::string &)) {
  std::string out, piece;
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '\'' && text[i] != '"') {
      piece += text[i++];
      continue;
    }
    size_t end = text.find(text[i], i + 1);
    end = end == std::string::npos ? text.size() : end + 1;
    out += change(piece) + text.substr(i, end - i);
    piece.clear();
    i = end;
  }
  return out + change(piece);
}

Value iota() {
  return Value(std::make_shared<emit::NativeFunction>(
      "iota", [](emit::Interp &interp, std::vector<Value> &args, emit::Keywords &keywords) {
        engine::NativeArguments arguments(interp, "iota", args, keywords);
        auto tensor = std::make_shared<SpecTensor>();
        Value shape = arguments.required("shape"),
              dtype = arguments.optional("dtype", Value::str("f32"));
        arguments.finish();
        if (shape.isTuple())
          for (const Value &extent : shape.items())
            tensor->shape.push_back(interp.asInt(extent, "an extent"));
        else
          tensor->shape.push_back(interp.asInt(shape, "an extent"));
        tensor->dtype = engine::dtypeArgument(interp, dtype);
        tensor->recipe = SpecTensor::Recipe::Range;
        tensor->strides.assign(tensor->shape.size(), 1);
        for (size_t d = tensor->shape.size(); d-- > 1;)
          tensor->strides[d - 1] = tensor->strides[d] * std::max<int64_t>(tensor->shape[d], 1);
        return Value(tensor);
      }));
}

Result<Value> readNpyTensor(const std::string &path) {
  // What is no such file may have no end.
  char magic[6] = {};
  if (std::ifstream(path, std::ios::binary).read(magic, sizeof magic) &&
      std::string_view(magic, sizeof magic) != "\x93NUMPY")
    return Error{"`" + path + "` is not a .npy file", {}};
  auto bytes = support::readFile(path, UINT64_MAX);
  if (!bytes)
    return bytes.takeError();
  std::span<const uint8_t> data(reinterpret_cast<const uint8_t *>(bytes->data()), bytes->size());
  auto header = support::readNpyHeader(data);
  if (!header)
    return Error{"`" + path + "`: " + header.error().what, {}};
  auto tensor = std::make_shared<SpecTensor>();
  tensor->dtype = header->dtype;
  tensor->shape = header->shape;
  int64_t stride = 1;
  tensor->strides.assign(tensor->shape.size(), 1);
  for (size_t i = 0; i < tensor->shape.size(); ++i) {
    size_t d = header->fortranOrder ? i : tensor->shape.size() - 1 - i;
    tensor->strides[d] = stride;
    stride *= std::max<int64_t>(tensor->shape[d], 1);
  }
  tensor->recipe = SpecTensor::Recipe::Empty;
  try {
    tensor->allocate("");
  } catch (support::ArrayError &error) {
    return Error{"`" + path + "`: " + error.message, {}};
  }
  std::memcpy(tensor->memory.data(), data.data() + header->dataOffset,
              size_t(tensor->numel()) * info(tensor->dtype).bytes);
  tensor->recipe = SpecTensor::Recipe::Values; // holds data
  return Value(tensor);
}

// `load("x.npy", shape=(2, 3), strides=(8, 1))`: the file's elements as memory, seen as a tensor
// with gaps. Without `shape` it is what `x.npy` alone gives.
Value load() {
  return Value(std::make_shared<emit::NativeFunction>(
      "load", [](emit::Interp &interp, std::vector<Value> &args, emit::Keywords &keywords) {
        engine::NativeArguments arguments(interp, "load", args, keywords);
        Value path = arguments.required("path"), shape = arguments.keyword("shape", Value()),
              strides = arguments.keyword("strides", Value());
        arguments.finish();
        if (!path.isStr())
          interp.raise("TypeError", "`load` takes a path, not `" + path.typeName() + "`");
        auto tensor = readNpyTensor(path.asStr());
        if (!tensor)
          interp.raise("ValueError", tensor.error().what);
        if (shape.isNone() && strides.isNone())
          return *tensor;
        auto &file = *tensor->as<SpecTensor>();
        auto view = std::make_shared<SpecTensor>();
        view->dtype = file.dtype;
        auto extents = interp.iterate(shape), steps = interp.iterate(strides);
        int64_t span = 1;
        for (size_t d = 0; d < extents.size() && extents.size() == steps.size(); ++d) {
          int64_t extent = interp.asInt(extents[d], "an extent"),
                  stride = interp.asInt(steps[d], "a stride");
          // Products of what a file can hold do not overflow.
          if (extent < 1 || stride < 0 || extent > file.numel() || stride > file.numel())
            span = INT64_MAX;
          else if (span != INT64_MAX)
            span += (extent - 1) * stride;
          view->shape.push_back(extent);
          view->strides.push_back(stride);
        }
        if (extents.empty() || extents.size() != steps.size() || span > file.numel())
          interp.raise("ValueError", "shape " + interp.repr(shape) + " and strides " +
                                         interp.repr(strides) + " do not fit the " +
                                         std::to_string(file.numel()) + " elements of `" +
                                         path.asStr() + "`");
        view->allocate("");
        std::memcpy(view->memory.allocation(), file.memory.allocation(),
                    std::min(view->memory.allocationBytes(), file.memory.allocationBytes()));
        view->recipe = SpecTensor::Recipe::Values; // holds data
        return Value(view);
      }));
}

emit::Keywords callNames() {
  emit::Keywords names = engine::specNames();
  names.emplace_back("iota", iota());
  names.emplace_back("load", load());
  for (unsigned type = 0; type <= unsigned(DType::Float8E4B15); ++type) {
    std::string name = engine::specName(DType(type));
    // As specs, signatures and `tl` call them.
    for (std::string_view word :
         std::set<std::string_view>{name, info(DType(type)).signature, info(DType(type)).name})
      names.emplace_back(word, Value::str(name));
  }
  return names;
}

} // namespace

CallArguments::CallArguments(std::string seed, Content content)
    : seed(std::move(seed)), content(content),
      interp(std::make_unique<emit::Interp>(emit::HostOptions{})) {
  auto parsed = syntax::parseModule("", "<command line>");
  emit::SourceUnit unit;
  unit.file = "<command line>";
  module = interp->loadModule(unit, parsed.module, callNames());
  static const syntax::Node nowhere;
  module->names->set("tl", interp->importModule("triton.language", nullptr, nowhere));
  module->names->set("triton", interp->importModule("triton", nullptr, nowhere));
}
CallArguments::~CallArguments() = default;

const Value *CallArguments::find(std::string_view name) const {
  for (const auto &[key, value] : values)
    if (key == name)
      return &value;
  return nullptr;
}

void CallArguments::add(const launch::Signature &signature, const emit::Keywords &chosen) {
  for (const launch::Parameter &parameter : signature.parameters)
    for (const auto &[name, value] : chosen)
      if (name == parameter.name) {
        std::erase_if(values, [&](const auto &old) { return old.first == parameter.name; });
        values.emplace_back(name, value);
        module->names->set(interp->intern(name), value);
      }
}

SpecTensor *CallArguments::tensor(std::string_view name) const {
  const Value *value = find(name);
  return value ? tensorOf(*value) : nullptr;
}

std::vector<SpecTensor *> CallArguments::tensors() const {
  std::vector<SpecTensor *> out;
  for (const auto &[key, value] : values)
    if (auto *tensor = tensorOf(value);
        tensor && std::find(out.begin(), out.end(), tensor) == out.end())
      out.push_back(tensor);
  return out;
}

// What is evaluated, as the user wrote it.
static std::string shownWord(const std::string &name, const std::string &text) {
  constexpr size_t most = 200;
  std::string value = text.size() > most ? text.substr(0, most) + "..." : text;
  return name == gridName ? "`--grid " + value + "`" : "argument `" + name + "=" + value + "`";
}

// `waits` is set if the value uses a name that may come later.
Result<Value> CallArguments::evaluate(const std::string &name, const std::string &text,
                                      bool *waits) {
  if (text.ends_with(".npy") && text.find('(') == std::string::npos)
    return readNpyTensor(text);
  std::string source = text;
  // `[1, 2]:i8`: a list of values with their dtype.
  static const std::regex typed(R"(^\s*(\[.*\])\s*:\s*(\w+)\s*$)");
  if (std::smatch match; std::regex_match(text, match, typed))
    source = "__values(" + match[1].str() + ", " + match[2].str() + ")";
  source = outsideQuotes(source, shapesToTuples);
  auto parsed = syntax::parseExpression(source, "<" + name + ">");
  if (!parsed.module) {
    // The text is in front of the user: no need for a place in it.
    const Diagnostic &first = parsed.diagnostics.front();
    return Error{shownWord(name, text) + ": " + first.message +
                     (first.hint.empty() ? "" : "; " + first.hint),
                 {}};
  }
  trees.push_back(parsed.module);
  try {
    return interp->evaluate(*parsed.expr, module, module->names);
  } catch (emit::EvalError &error) {
    *waits = error.pythonType == "NameError";
    std::string hint = error.diagnostic.hint;
    if (*waits && hint.empty() && name == gridName) {
      for (const auto &[known, unused] : values)
        hint += (hint.empty() ? "there are `" : ", `") + known + "`";
    } else if (*waits && hint.empty() && text.find('(') != std::string::npos) {
      hint = tensorExamples;
    }
    return Error{shownWord(name, text) + ": " + error.diagnostic.message +
                     (hint.empty() ? "" : "; " + hint),
                 {}};
  }
}

Status CallArguments::parse(const std::vector<std::string> &words) {
  std::vector<std::pair<std::string, std::string>> open;
  for (const std::string &word : words) {
    size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error{"argument `" + word + "` is not NAME=VALUE", {}};
    std::string name = word.substr(0, equals);
    for (const auto &[other, unused] : open)
      if (other == name)
        return Error{"argument `" + name + "` is given twice", {}};
    if (find(name))
      return Error{"argument `" + name + "` is given twice", {}};
    open.emplace_back(name, word.substr(equals + 1));
  }
  std::map<std::string, Value> done;
  for (bool progress = true; progress && done.size() < open.size();) {
    progress = false;
    std::optional<Error> first;
    for (const auto &[name, text] : open) {
      if (done.contains(name))
        continue;
      bool waits = false;
      auto value = evaluate(name, text, &waits);
      if (!value) {
        if (!waits)
          return value.takeError();
        if (!first)
          first = value.takeError();
        continue;
      }
      if (auto *tensor = tensorOf(*value)) {
        if (tensor->name.empty())
          tensor->name = name;
        if (!tensor->allocated) {
          try {
            if (content == Content::Reserved)
              tensor->reserve();
            else
              tensor->allocate(seed + "/" + name);
          } catch (support::ArrayError &error) {
            return Error{"argument `" + name + "=" + text + "`: " + error.message, {}};
          }
        }
      }
      module->names->set(interp->intern(name), *value);
      done.emplace(name, std::move(*value));
      progress = true;
    }
    if (!progress && first)
      return std::move(*first);
  }
  for (const auto &[name, text] : open)
    values.emplace_back(name, done.at(name));
  return Success{};
}

Result<std::array<uint32_t, 3>> CallArguments::grid(const std::string &text) {
  bool waits = false;
  auto value = evaluate(gridName, text, &waits);
  if (!value)
    return value.takeError();
  // A grid as programs hold it, `lambda meta: (triton.cdiv(n, meta["BLOCK"]),)`.
  if (value->as<ops::Callable>()) {
    auto meta = std::make_shared<ops::Dict>();
    for (const auto &[name, known] : values)
      meta->entries.emplace_back(Value::str(name), known);
    try {
      *value = interp->callHost(*value, {Value(meta)}, {});
    } catch (emit::EvalError &error) {
      const std::string &hint = error.diagnostic.hint;
      return Error{shownWord(gridName, text) + ": " + error.diagnostic.message +
                       (hint.empty() ? "" : "; " + hint),
                   {}};
    }
  }
  std::vector<Value> extents;
  if (value->isTuple() || value->isList())
    extents.assign(value->items().begin(), value->items().end());
  else
    extents.push_back(*value);
  if (extents.empty() || extents.size() > 3)
    return Error{"a grid has one to three extents; `" + text + "` has " +
                     std::to_string(extents.size()),
                 {}};
  std::array<uint32_t, 3> out = {1, 1, 1};
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    auto extent = extents[axis].isInt() ? extents[axis].asInteger().toInt64() : std::nullopt;
    if (!extent || *extent < 0 || *extent > INT32_MAX)
      return Error{"extent " + std::to_string(axis) + " of the grid `" + text + "` is " +
                       extents[axis].repr() + ", not an int from 0 to 2147483647" +
                       (extents[axis].isFloat() ? "; `cdiv(x, y)` divides and rounds up" : ""),
                   {}};
    out[axis] = uint32_t(*extent);
  }
  return out;
}

} // namespace nereid::tools
