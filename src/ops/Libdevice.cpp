// CUDA's library of scalar functions (libdevice), by name and types of arguments.

#include "ops/Build.h"

#include <array>
#include <utility>

using namespace mlir;

namespace nereid::ops {
namespace {

// Overloads are "result=arguments:symbol", with a letter for each type: i, l for signed and u, v
// for unsigned integers of 32 and 64 bits, f and d for floats; b is an int32 result that is
// compared with 0. The symbol has the prefix "__nv_".
struct Function {
  std::string_view name, signature, overloads, summary;
};

constexpr Function Functions[] = {
// clang-format off
#include "ops/LibdeviceFunctions.def"
    // clang-format on
};

Type typeOf(char letter) {
  switch (letter) {
  case 'i':
  case 'b':
    return int32();
  case 'l':
    return int64();
  case 'u':
    return uint32();
  case 'v':
    return Type::scalar(DType::UInt64);
  case 'f':
    return float32();
  default:
    return Type::scalar(DType::Float64);
  }
}

std::string listTypes(std::string_view letters) {
  std::string text;
  for (char letter : letters)
    text += (text.empty() ? "" : ", ") + typeOf(letter).str();
  return "`(" + text + ")`";
}

// The overload for arguments of these types; none if there is none. `known` lists them all.
std::string_view findOverload(const Function &function, std::span<const Tile> inputs,
                              std::string &known) {
  known.clear();
  for (std::string_view rest = function.overloads; !rest.empty();) {
    std::string_view overload = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), overload.size() + 1));
    std::string_view types = overload.substr(2, overload.find(':') - 2);
    bool fits = types.size() == inputs.size();
    for (size_t i = 0; fits && i < inputs.size(); ++i)
      fits = inputs[i].type.element() == typeOf(types[i]);
    if (fits)
      return overload;
    known += (known.empty() ? "" : " or ") + listTypes(types);
  }
  return {};
}

Value callExtern(OpContext &context, Args args, const Function &function) {
  std::vector<Tile> inputs;
  std::string given, known;
  bool narrow = false;
  for (const Value &arg : args) {
    inputs.push_back(tileArgument(context, arg, "arg"));
    const Type element = inputs.back().type.element();
    given += (given.empty() ? "" : ", ") + element.str();
    narrow |= element.isFloat() && element.bits() < 32;
  }
  std::string_view overload = findOverload(function, inputs, known);
  if (overload.empty() && inputs.size() > 1) {
    // Arguments of different types meet as operands do: `pow(f32, bf16)` is one of f32.
    Type common = inputs[0].type.element();
    for (const Tile &input : inputs)
      common = computationType(common, false, input.type.element(), false, false, function.name);
    std::vector<Tile> converted;
    for (const Tile &input : inputs)
      converted.push_back(cast(context, input, common));
    overload = findOverload(function, converted, known);
    inputs = std::move(converted);
  }
  if (overload.empty())
    fail("UnsupportedDType", quote(function.name) + " takes " + known + ", not `(" + given + ")`",
         narrow ? "cast first: `x.to(tl.float32)`" : "cast the arguments with `.to(...)`");
  broadcastAll(context, inputs, function.name);
  SmallVector<mlir::Value> values;
  for (const Tile &input : inputs)
    values.push_back(input.value);
  std::string symbol = "__nv_" + std::string(overload.substr(overload.find(':') + 1));
  Tile result = build<tile::ExternOp>(context, inputs[0].type.withElement(typeOf(overload[0])),
                                      symbol, values);
  return overload[0] == 'b' ? cast(context, result, int1()) : result;
}

template <size_t I> Value buildExtern(OpContext &context, Args args) {
  return callExtern(context, args, Functions[I]);
}

template <size_t... I> constexpr std::array<Row, sizeof...(I)> makeRows(std::index_sequence<I...>) {
  return {Row{.name = Functions[I].name,
              .family = "libdevice",
              .signature = Functions[I].signature,
              .build = buildExtern<I>,
              .summary = Functions[I].summary}...};
}

constexpr auto LibdeviceTable = makeRows(std::make_index_sequence<std::size(Functions)>());

} // namespace

std::span<const Row> libdeviceRows() { return LibdeviceTable; }

} // namespace nereid::ops
