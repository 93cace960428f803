// CUDA's library of scalar functions (libdevice), by name and types of arguments.

#include "ops/Build.h"

#include <algorithm>
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

// The overload that a symbol names, without its prefix; none if there is none.
std::string_view overloadOf(std::string_view symbol) {
  constexpr std::string_view prefix = "__nv_";
  if (!symbol.starts_with(prefix))
    return {};
  symbol.remove_prefix(prefix.size());
  for (const Function &function : Functions)
    for (std::string_view rest = function.overloads; !rest.empty();) {
      std::string_view overload = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), overload.size() + 1));
      if (overload.substr(overload.find(':') + 1) == symbol)
        return overload;
    }
  return {};
}

// Which symbol a dict of `extern_elementwise` has for types of arguments, and the type of its
// result.
struct Choice {
  std::string symbol;
  Type result;
};

// Where no entry takes the types as they are, the inputs are cast to their common type.
Choice chooseSymbol(OpContext &context, const Dict &choices, std::vector<Tile> &inputs,
                    const std::string &name) {
  auto chosen = [&]() -> const Value * {
    for (const auto &[types, function] : choices.entries) {
      bool fits = types.isTuple() && types.items().size() == inputs.size();
      for (size_t i = 0; fits && i < inputs.size(); ++i)
        fits = types.items()[i].isType() && types.items()[i].asType() == inputs[i].type.element();
      if (fits)
        return &function;
    }
    return nullptr;
  };
  const Value *function = chosen();
  bool arePointers = std::ranges::any_of(
      inputs, [](const Tile &input) { return input.type.element().isPointer(); });
  if (!function && inputs.size() > 1 && !arePointers) {
    Type common = inputs[0].type.element();
    for (const Tile &input : inputs)
      common = computationType(common, false, input.type.element(), false, false, name);
    for (Tile &input : inputs)
      input = cast(context, input, common);
    function = chosen();
  }
  std::string given;
  for (const Tile &input : inputs)
    given += (given.empty() ? "" : ", ") + input.type.element().str();
  if (!function)
    fail("UnsupportedDType", "the dict of " + quote(name) + " has no symbol for `(" + given + ")`",
         "cast the arguments with `.to(...)`");
  if (!function->isTuple() || function->items().size() != 2 || !function->items()[0].isStr() ||
      !function->items()[1].isType())
    fail("WrongArgument", "the dict of " + quote(name) + " maps `(" + given + ")` to " +
                              describe(*function) + ", not to a symbol and the type of its result");
  return {function->items()[0].asStr(), function->items()[1].asType().element()};
}

// CUDA's own functions have one meaning everywhere; others are in files of the program.
void verifyLibdevice(std::string_view overload, const Choice &choice,
                     const std::vector<Tile> &inputs) {
  std::string_view types = overload.substr(2, overload.find(':') - 2);
  bool fits = types.size() == inputs.size() && choice.result == typeOf(overload[0]);
  std::string given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Type element = inputs[i].type.element();
    fits = fits && element == typeOf(types[i]);
    given += (given.empty() ? "" : ", ") + element.str();
  }
  if (!fits)
    fail("UnsupportedDType", quote(choice.symbol) + " takes " + listTypes(types) + " and gives " +
                                 quote(typeOf(overload[0])) + ", not `(" + given + ")` and " +
                                 quote(choice.result));
}

// Functions of a library by name, as Triton's own wrappers of libdevice call them: which one is
// chosen by the types of the arguments.
Value buildExternElementwise(OpContext &context, Args args) {
  const std::string name = "tl.core.extern_elementwise";
  auto text = [](const Value &value) { return value.isStr() ? value.asStr() : std::string(); };
  std::string library = text(args[0]), path = text(args[1]);
  if (!args[2].isTuple() && !args[2].isList())
    fail("WrongArgument", "`args` of " + quote(name) + " is " + describe(args[2]) + ", not a list");
  std::vector<Tile> inputs;
  for (const Value &arg : args[2].items())
    inputs.push_back(tileArgument(context, arg, "args"));
  auto *choices = args[3].as<Dict>();
  if (!choices)
    fail("WrongArgument", quote(name) + " takes a list of arguments and a dict from their types to "
                                        "a symbol and the type of its result");
  Choice choice = chooseSymbol(context, *choices, inputs, name);
  std::string_view overload = overloadOf(choice.symbol);
  if (!overload.empty())
    verifyLibdevice(overload, choice, inputs);
  else if (path.empty() && context.options.externLibs.empty())
    fail("UnsupportedOp",
         quote(choice.symbol) + " is not one of CUDA's library functions, and no other is given",
         "name a file of LLVM bitcode that has it: `kernel[grid](..., extern_libs={\"" +
             (library.empty() ? "mine" : library) + "\": \"mine.bc\"})`");
  broadcastAll(context, inputs, name);
  SmallVector<mlir::Value> values;
  for (const Tile &input : inputs)
    values.push_back(input.value);
  Type result = inputs.empty() ? choice.result : inputs[0].type.withElement(choice.result);
  if (!overload.empty())
    return build<tile::ExternOp>(context, result, choice.symbol, values);
  return build<tile::LibraryCallOp>(context, result, choice.symbol, library, path,
                                    boolArgument(args[4], "is_pure"), values);
}

template <size_t I> Value buildExtern(OpContext &context, Args args) {
  return callExtern(context, args, Functions[I]);
}

template <size_t... I>
constexpr std::array<Row, sizeof...(I) + 1> makeRows(std::index_sequence<I...>) {
  return {
      Row{.name = "extern_elementwise",
          .family = "elementwise",
          .signature = "lib_name, lib_path, args, arg_type_symbol_dict, is_pure=True",
          .build = buildExternElementwise,
          .summary = "A function of CUDA's libdevice or of the program's own LLVM bitcode by its "
                     "symbol, chosen by the types of `args`.",
          .remark = "The interpreter runs libdevice's alone; a CPU also what is pure and no code "
                    "of another processor."},
      Row{.name = Functions[I].name,
          .family = "libdevice",
          .signature = Functions[I].signature,
          .build = buildExtern<I>,
          .summary = Functions[I].summary}...};
}

constexpr auto LibdeviceTable = makeRows(std::make_index_sequence<std::size(Functions)>());

} // namespace

std::span<const Row> libdeviceRows() { return LibdeviceTable; }

} // namespace nereid::ops
