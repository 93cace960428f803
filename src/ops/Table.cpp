#include "ops/Build.h"
#include "ops/Objects.h"
#include "support/Spelling.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

namespace nereid::ops {
namespace {

// --- signatures ---

// signature = [parameter {"," parameter}]
// parameter = "*" | ["*"] name ["=" literal]
// literal   = "None" | "True" | "False" | number | string | "()" | dtype | "PropagateNan.NONE"
class SignatureParser {
public:
  explicit SignatureParser(std::string_view text) : rest(text) {}

  std::vector<Parameter> parse() {
    std::vector<Parameter> parameters;
    bool keywordOnly = false;
    for (skip(); !rest.empty(); skip()) {
      bool star = take('*');
      skip();
      if (star && (rest.empty() || rest[0] == ',')) {
        keywordOnly = true;
      } else {
        Parameter parameter;
        parameter.name = word();
        parameter.variadic = star;
        parameter.keywordOnly = keywordOnly;
        keywordOnly |= star;
        skip();
        if (take('=')) {
          parameter.hasDefault = true;
          parameter.defaultValue = literal();
        }
        parameters.push_back(std::move(parameter));
      }
      skip();
      if (!take(','))
        break;
    }
    if (!rest.empty())
      throw std::logic_error("bad signature near: " + std::string(rest));
    return parameters;
  }

private:
  void skip() {
    while (!rest.empty() && rest[0] == ' ')
      rest.remove_prefix(1);
  }
  bool take(char c) {
    if (rest.empty() || rest[0] != c)
      return false;
    rest.remove_prefix(1);
    return true;
  }
  std::string_view word() {
    size_t n = 0;
    while (n < rest.size() && (std::isalnum(uint8_t(rest[n])) || rest[n] == '_' || rest[n] == '.'))
      ++n;
    if (n == 0)
      throw std::logic_error("a name is missing in a signature near: " + std::string(rest));
    std::string_view name = rest.substr(0, n);
    rest.remove_prefix(n);
    return name;
  }
  Value literal() {
    skip();
    if (take('\'')) {
      size_t end = rest.find('\'');
      std::string text(rest.substr(0, end));
      rest.remove_prefix(end + 1);
      return Value::str(text == "\\n" ? "\n" : text);
    }
    if (take('(')) {
      take(')');
      return Value::tuple({});
    }
    bool negative = take('-');
    std::string_view text = word();
    if (std::isdigit(uint8_t(text[0]))) {
      if (text.find('.') != text.npos)
        return std::stod(std::string(text)) * (negative ? -1 : 1);
      int64_t number = 0;
      std::from_chars(text.data(), text.data() + text.size(), number);
      return negative ? -number : number;
    }
    if (text == "None")
      return None{};
    if (text == "True" || text == "False")
      return text == "True";
    if (text == "PropagateNan.NONE")
      return std::make_shared<EnumMember>(std::string(text));
    if (auto dtype = parseDType(text))
      return Value::type(Type::scalar(*dtype));
    throw std::logic_error("unknown default in a signature: " + std::string(text));
  }

  std::string_view rest;
};

// --- the index ---

struct Index {
  std::vector<Row> rows;
  struct Entry {
    const Row *row;
    bool old;
  };
  std::unordered_map<std::string_view, Entry> byName;
  std::unordered_map<std::string_view, const Row *> methods, descriptorMethods, pointerMethods;
  std::unordered_map<const Row *, std::vector<Parameter>> parameters;

  Index() {
    for (auto family :
         {programRows(),    typeRows(),      creationRows(), shapeRows(),       memoryRows(),
          descriptorRows(), operatorRows(),  mathRows(),     elementwiseRows(), dotRows(),
          reductionRows(),  combineRows(),   scanRows(),     sortRows(),        atomicRows(),
          randomRows(),     iterationRows(), hintRows(),     debugRows(),       targetRows(),
          libdeviceRows()})
      rows.insert(rows.end(), family.begin(), family.end());
    for (const Row &row : rows) {
      add(row.name, row, false);
      parameters.emplace(&row, SignatureParser(row.signature).parse());
      std::string_view rest = row.aliases;
      while (!rest.empty()) {
        std::string_view alias = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(rest.size(), alias.size() + 1));
        bool old = alias.starts_with("old:");
        add(alias.substr(old ? 4 : 0), row, old);
      }
      constexpr std::string_view tensor = "tensor.", descriptor = "tensor_descriptor.",
                                 pointer = "block_ptr.";
      if (row.name.starts_with(descriptor))
        descriptorMethods.emplace(row.name.substr(descriptor.size()), &row);
      else if (row.name.starts_with(pointer))
        pointerMethods.emplace(row.name.substr(pointer.size()), &row);
      else if (row.method)
        methods.emplace(row.name.substr(row.name.starts_with(tensor) ? tensor.size() : 0), &row);
    }
  }

  void add(std::string_view name, const Row &row, bool old) {
    if (!byName.emplace(name, Entry{&row, old}).second)
      throw std::logic_error("two rows are called " + std::string(name));
  }
};

const Index &index() {
  static const Index instance;
  return instance;
}

// Modules whose names are those of `tl` itself.
constexpr std::string_view Modules[] = {"core.", "standard.", "semantic.", "random.", "math."};
constexpr std::string_view LibdeviceModules[] = {"extra.cuda.libdevice.", "extra.libdevice.",
                                                 "extra.hip.libdevice."};

} // namespace

std::span<const Row> table() { return index().rows; }

const Row *find(std::string_view name, bool *oldSpelling) {
  if (oldSpelling)
    *oldSpelling = false;
  const Index &all = index();
  auto look = [&](std::string_view key) -> const Row * {
    auto found = all.byName.find(key);
    if (found == all.byName.end())
      return nullptr;
    if (oldSpelling)
      *oldSpelling |= found->second.old;
    return found->second.row;
  };
  if (const Row *row = look(name))
    return row;
  for (std::string_view module : LibdeviceModules)
    if (name.starts_with(module))
      return look("libdevice." + std::string(name.substr(module.size())));
  for (std::string_view module : Modules) {
    if (!name.starts_with(module))
      continue;
    std::string_view rest = name.substr(module.size());
    if (const Row *row = look(rest))
      return row;
    // Before 3.0 `tl.math` held libdevice.
    if (module == "math.")
      if (const Row *row = look("libdevice." + std::string(rest))) {
        if (oldSpelling)
          *oldSpelling = true;
        return row;
      }
  }
  return nullptr;
}

const Row *findMethod(std::string_view name) {
  auto found = index().methods.find(name);
  return found == index().methods.end() ? nullptr : found->second;
}

const Row *findMethod(const Value &self, std::string_view name) {
  const Index &all = index();
  auto look = [&](const auto &methods) -> const Row * {
    auto found = methods.find(name);
    return found == methods.end() ? nullptr : found->second;
  };
  if (self.isTile())
    return look(self.asTile().type.isDescriptor() ? all.descriptorMethods : all.methods);
  if (self.as<BlockPointer>())
    return look(all.pointerMethods);
  // A number that is known now has the methods of a tensor: a stride may be specialised to 1.
  return self.isNumber() ? look(all.methods) : nullptr;
}

// What other libraries, or the language of a GPU's threads, call something else or write otherwise.
constexpr std::pair<std::string_view, std::string_view> Elsewhere[] = {
    {"all", "`tl.min(x.to(tl.int32), axis)`"},
    {"amax", "`tl.max(x, axis)`"},
    {"amin", "`tl.min(x, axis)`"},
    {"any", "`tl.max(x.to(tl.int32), axis)`"},
    {"append", "`items + (x,)`: lists in kernels are tuples"},
    {"asarray", "`tl.full(shape, value, dtype)`"},
    {"astype", "`x.to(dtype)`"},
    {"bitcast", "`x.to(dtype, bitcast=True)`"},
    {"bitwise_and", "`x & y`"},
    {"bitwise_not", "`~x`"},
    {"bitwise_or", "`x | y`"},
    {"bitwise_xor", "`x ^ y`"},
    {"block_dim", "`tl.arange`: a program works on whole tiles"},
    {"block_id", "`tl.program_id(axis)`"},
    {"blockDim", "`tl.arange`: a program works on whole tiles"},
    {"blockdim_x", "`tl.arange`: a program works on whole tiles"},
    {"blockIdx", "`tl.program_id(axis)`"},
    {"bool", "`x.to(tl.int1)`"},
    {"clip", "`tl.clamp(x, min, max)`"},
    {"clone", "the tile itself: tiles never change"},
    {"concat", "`tl.cat` or `tl.join`"},
    {"concatenate", "`tl.cat` or `tl.join`"},
    {"copy", "the tile itself: tiles never change"},
    {"double", "`x.to(tl.float64)`"},
    {"einsum", "`tl.dot`"},
    {"empty", "`tl.zeros(shape, dtype)`"},
    {"float", "`x.to(tl.float32)`"},
    {"full_like", "`tl.full(x.shape, value, x.dtype)`"},
    {"gelu", "`0.5 * x * (1 + tl.erf(x * 0.7071067811865476))`"},
    {"half", "`x.to(tl.float16)`"},
    {"inf", "`float(\"inf\")`"},
    {"int", "`x.to(tl.int32)`"},
    {"isnan", "`x != x`"},
    {"len", "`x.shape[0]`"},
    {"linspace", "`tl.arange` and arithmetic"},
    {"logical_and", "`x & y`"},
    {"logical_not", "`~x`"},
    {"logical_or", "`x | y`"},
    {"long", "`x.to(tl.int64)`"},
    {"matmul", "`tl.dot(a, b)`"},
    {"mean", "`tl.sum(x, axis) / n`"},
    {"mm", "`tl.dot(a, b)`"},
    {"nan", "`float(\"nan\")`"},
    {"new_zeros", "`tl.zeros(shape, dtype)`"},
    {"norm", "`tl.sqrt(tl.sum(x * x, axis))`"},
    {"numel", "`x.numel`"},
    {"ones", "`tl.full(shape, 1, dtype)`"},
    {"ones_like", "`tl.full(x.shape, 1, x.dtype)`"},
    {"pi", "`3.141592653589793`"},
    {"pow", "`libdevice.pow(x, y)`"},
    {"power", "`libdevice.pow(x, y)`"},
    {"print", "`tl.device_print(\"prefix\", x)`"},
    {"prod", "`tl.reduce(x, axis, combine)`"},
    {"relu", "`tl.maximum(x, 0)`"},
    {"round", "`libdevice.rint(x)`"},
    {"select", "`tl.where(condition, x, y)`"},
    {"sign", "`tl.where(x > 0, 1, tl.where(x < 0, -1, 0))`"},
    {"silu", "`x * tl.sigmoid(x)`"},
    {"size", "`x.shape` and `x.numel`"},
    {"square", "`x * x`"},
    {"stack", "`tl.join(a, b)`"},
    {"std", "`tl.sqrt` of a sum of squares"},
    {"syncthreads", "`tl.debug_barrier()`"},
    {"tanh", "`libdevice.tanh(x)` or `2 * tl.sigmoid(2 * x) - 1`"},
    {"tensor", "`tl.full(shape, value, dtype)`"},
    {"thread_id", "`tl.arange`: a program works on whole tiles"},
    {"thread_id_x", "`tl.arange`: a program works on whole tiles"},
    {"threadIdx", "`tl.arange`: a program works on whole tiles"},
    {"transpose", "`tl.trans(x)`"},
    {"unsqueeze", "`tl.expand_dims(x, axis)` or `x[:, None]`"},
    {"var", "`tl.sum` of squares of `x - mean`"},
    {"vstack", "`tl.cat`"},
};

std::string elsewhere(std::string_view name) {
  for (auto [other, own] : Elsewhere)
    if (other == name)
      return "use " + std::string(own);
  return "";
}

std::string suggestion(std::string_view path, std::string_view name) {
  if (std::string own = elsewhere(name); !own.empty())
    return own;
  support::Spelling spelling(name);
  const Index &all = index();
  if ((path.empty() || path == "math.") && all.byName.contains("libdevice." + std::string(name)))
    return "write `libdevice." + std::string(name) +
           "` after `from triton.language.extra import libdevice`";
  if (path == "tensor.") {
    for (const auto &[method, row] : all.methods)
      spelling.consider(method);
    return spelling.hint();
  }
  if (path.ends_with("libdevice."))
    path = "libdevice.";
  if (std::ranges::find(Modules, path) != std::end(Modules) && path != "math.")
    path = "";
  for (const auto &[full, entry] : all.byName) {
    if (entry.old || !full.starts_with(path))
      continue;
    std::string_view rest = full.substr(path.size());
    if (rest.find('.') == std::string_view::npos)
      spelling.consider(rest);
  }
  return spelling.hint();
}

std::string spelling(const Row &row) {
  constexpr std::string_view tensor = "tensor.", block = "block_ptr.";
  if (row.name.starts_with("libdevice."))
    return std::string(row.name);
  if (row.name.starts_with(tensor))
    return "x" + std::string(row.name.substr(tensor.size() - 1));
  if (row.name.starts_with(block))
    return "block" + std::string(row.name.substr(block.size() - 1));
  if (row.name.starts_with("tensor_descriptor."))
    return "desc" + std::string(row.name.substr(row.name.find('.')));
  return "tl." + std::string(row.name);
}

std::string callSpelling(const Row &row) {
  std::string_view signature = row.signature;
  // The object of a method stands before the dot.
  if (row.name.starts_with("tensor.") || row.name.starts_with("tensor_descriptor.") ||
      row.name.starts_with("block_ptr.")) {
    signature.remove_prefix(std::min(signature.size(), signature.find(',')));
    while (signature.starts_with(',') || signature.starts_with(' '))
      signature.remove_prefix(1);
  }
  return spelling(row) + "(" + std::string(signature) + ")";
}

std::span<const Parameter> parameters(const Row &row) { return index().parameters.at(&row); }

std::vector<Value> bind(const Row &row, std::vector<Value> positional,
                        std::vector<std::pair<std::string, Value>> keywords) {
  auto formal = parameters(row);
  // Calls are many and refusals few: what a message says is made where it is needed.
  auto refuse = [&](std::string code, std::string what) {
    fail(std::move(code), quote(spelling(row)) + std::move(what),
         "the signature is " + quote(callSpelling(row)));
  };
  std::vector<Value> bound(formal.size());
  std::vector<bool> given(formal.size());
  size_t next = 0;
  for (size_t i = 0; i < formal.size(); ++i) {
    if (formal[i].variadic) {
      std::vector<Value> rest(std::make_move_iterator(positional.begin() + std::ptrdiff_t(next)),
                              std::make_move_iterator(positional.end()));
      next = positional.size();
      bound[i] = Value::tuple(std::move(rest));
      given[i] = true;
    } else if (next < positional.size() && !formal[i].keywordOnly) {
      bound[i] = std::move(positional[next++]);
      given[i] = true;
    }
  }
  if (next < positional.size())
    refuse("TooManyArguments", " takes " + std::to_string(next) + " positional arguments, but " +
                                   std::to_string(positional.size()) + " were given");
  for (auto &[key, value] : keywords) {
    size_t i = 0;
    while (i < formal.size() && formal[i].name != key)
      ++i;
    // A shape may be given by name: `tl.reshape(x, shape=[4, 4])`.
    if (i < formal.size() && formal[i].variadic && bound[i].items().empty()) {
      bound[i] = Value::tuple({std::move(value)});
      continue;
    }
    if (i == formal.size() || formal[i].variadic)
      refuse("UnknownArgument", " has no parameter " + quote(key));
    if (given[i])
      refuse("RepeatedArgument", " got two values for " + quote(key));
    bound[i] = std::move(value);
    given[i] = true;
  }
  for (size_t i = 0; i < formal.size(); ++i) {
    if (given[i])
      continue;
    if (!formal[i].hasDefault)
      refuse("MissingArgument", " needs a value for " + quote(formal[i].name));
    bound[i] = formal[i].defaultValue;
  }
  return bound;
}

} // namespace nereid::ops
