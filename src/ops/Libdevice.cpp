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

Value callExtern(OpContext &context, Args args, const Function &function) {
  std::vector<Tile> inputs;
  std::string given;
  bool narrow = false;
  for (const Value &arg : args) {
    inputs.push_back(tileArgument(context, arg, "arg"));
    const Type element = inputs.back().type.element();
    given += (given.empty() ? "" : ", ") + element.str();
    narrow |= element.isFloat() && element.bits() < 32;
  }
  std::string known;
  for (std::string_view rest = function.overloads; !rest.empty();) {
    std::string_view overload = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), overload.size() + 1));
    size_t colon = overload.find(':');
    std::string_view types = overload.substr(2, colon - 2);
    bool fits = types.size() == inputs.size();
    for (size_t i = 0; fits && i < inputs.size(); ++i)
      fits = inputs[i].type.element() == typeOf(types[i]);
    if (!fits) {
      known += (known.empty() ? "" : " or ") + listTypes(types);
      continue;
    }
    broadcastAll(context, inputs, function.name);
    SmallVector<mlir::Value> values;
    for (const Tile &input : inputs)
      values.push_back(input.value);
    Tile result = build<tile::ExternOp>(context, inputs[0].type.withElement(typeOf(overload[0])),
                                        "__nv_" + std::string(overload.substr(colon + 1)), values);
    return overload[0] == 'b' ? cast(context, result, int1()) : result;
  }
  fail("UnsupportedDType", quote(function.name) + " takes " + known + ", not `(" + given + ")`",
       narrow ? "cast first: `x.to(tl.float32)`" : "cast the arguments with `.to(...)`");
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

constexpr auto Rows = makeRows(std::make_index_sequence<std::size(Functions)>());

} // namespace

std::span<const Row> libdeviceRows() { return Rows; }

} // namespace nereid::ops
