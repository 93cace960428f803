// A function of the program or a text of assembly applied to each element.

#include "ops/Build.h"

using namespace mlir;

namespace nereid::ops {
namespace {

Value buildInlineAsm(OpContext &context, Args args) {
  const std::string &text = strArgument(args[0], "asm");
  const std::string &constraints = strArgument(args[1], "constraints");
  std::vector<Tile> inputs;
  for (const Value &item : listOrOne(args[2]))
    inputs.push_back(tileArgument(context, item, "args"));
  bool several = args[3].isTuple() || args[3].isList();
  std::vector<Type> results;
  for (const Value &dtype : listOrOne(args[3]))
    results.push_back(typeArgument(dtype, "dtype").element());
  bool pure = boolArgument(args[4], "is_pure");
  int64_t pack = intArgument(args[5], "pack");
  if (pack < 1 || pack > 64)
    fail("WrongArgument", "`pack` of `tl.inline_asm_elementwise` is " + std::to_string(pack));
  if (results.empty())
    fail("WrongArgument", "`tl.inline_asm_elementwise` must return at least one tile",
         "return a dummy of any type");
  broadcastAll(context, inputs, "tl.inline_asm_elementwise");
  std::vector<int64_t> shape = inputs.empty() ? std::vector<int64_t>{} : inputs[0].type.shape();
  SmallVector<mlir::Value> values;
  SmallVector<mlir::Type> types;
  for (const Tile &input : inputs)
    values.push_back(input.value);
  for (Type &result : results) {
    result = Type::block(shape, result);
    types.push_back(lowered(context, result));
  }
  auto op = context.builder.create<tile::InlineAsmOp>(context.loc, types, text, constraints, pure,
                                                      uint32_t(pack), values);
  std::vector<Value> out;
  for (size_t i = 0; i < results.size(); ++i)
    out.push_back(Tile{op.getResult(unsigned(i)), results[i]});
  return several ? Value::tuple(std::move(out)) : out[0];
}

Value buildMap(OpContext &context, Args args) {
  auto *function = args[0].as<Callable>();
  if (!function)
    fail("WrongArgument",
         "`scalar_fn` of `tl.map_elementwise` must be a function, not " + describe(args[0]));
  int64_t pack = intArgument(args[2], "pack");
  std::vector<Tile> inputs;
  for (const Value &item : args[1].items())
    inputs.push_back(tileArgument(context, item, "args"));
  if (inputs.empty() || pack < 1 || pack > 64)
    fail("WrongArgument", "`tl.map_elementwise` needs a tile, and `pack` from 1 to 64");
  broadcastAll(context, inputs, "tl.map_elementwise");
  std::vector<int64_t> shape = inputs[0].type.shape();
  bool scalars = shape.empty();
  if (scalars) // the op works on tiles
    for (Tile &input : inputs)
      input = splat(context, input, std::vector<int64_t>{1});

  // The body is built first: its results say what the op returns.
  Region body;
  Block &block = body.emplaceBlock();
  std::vector<Value> arguments;
  for (const Tile &input : inputs)
    for (int64_t i = 0; i < pack; ++i)
      arguments.push_back(
          Tile{block.addArgument(lowered(context, input.type.element()), context.loc),
               input.type.element()});
  std::vector<Tile> results;
  bool single = false;
  {
    OpBuilder::InsertionGuard guard(context.builder);
    context.builder.setInsertionPointToStart(&block);
    Value value = function->call(context, std::move(arguments), {});
    single = !value.isTuple() && !value.isList();
    SmallVector<mlir::Value> yielded;
    for (const Value &item : listOrOne(value)) {
      results.push_back(tileArgument(context, item, "result"));
      yielded.push_back(results.back().value);
    }
    context.builder.create<tile::YieldOp>(context.loc, yielded);
  }
  if (results.empty() || results.size() % size_t(pack) != 0)
    fail("CombineResult", quote(function->name()) + " returns " + std::to_string(results.size()) +
                              " values, which is no multiple of `pack` = " + std::to_string(pack));
  std::vector<Type> types;
  SmallVector<mlir::Type> loweredTypes;
  for (size_t i = 0; i < results.size(); ++i) {
    if (i % size_t(pack) != 0 && !(results[i].type == results[i - 1].type))
      fail("CombineResult", "values that " + quote(function->name()) +
                                " returns for one tile have types " + quote(results[i - 1].type) +
                                " and " + quote(results[i].type));
    if (i % size_t(pack) == 0) {
      types.push_back(inputs[0].type.withElement(results[i].type.element()));
      loweredTypes.push_back(lowered(context, types.back()));
    }
  }
  SmallVector<mlir::Value> values;
  for (const Tile &input : inputs)
    values.push_back(input.value);
  auto op = context.builder.create<tile::MapOp>(context.loc, loweredTypes, values, uint32_t(pack));
  op.getBody().takeBody(body);
  std::vector<Value> out;
  for (size_t i = 0; i < types.size(); ++i) {
    Tile result{op.getResult(unsigned(i)), types[i]};
    out.push_back(scalars ? unsplat(context, result) : result);
  }
  return single ? out[0] : Value::tuple(std::move(out));
}

constexpr Row ElementwiseTable[] = {
    {"inline_asm_elementwise", "elementwise", "asm, constraints, args, dtype, is_pure, pack",
     buildInlineAsm, "PTX applied to `pack` elements at a time.", false, Row::Status::Partial,
     "The interpreter and the CPU know straight-line PTX: no branches, no matrix instructions, "
     "nothing between threads; the CPU no memory accesses in it."},
    {"map_elementwise", "elementwise", "scalar_fn, *args, pack=1", buildMap,
     "A function of the program applied to each element."},
};

} // namespace

std::span<const Row> elementwiseRows() { return ElementwiseTable; }

} // namespace nereid::ops
