// Promises to the compiler, barriers, printing and assertions.

#include "ops/Build.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace nereid::ops {
namespace {

// --- hints ---

enum class Fact { Divisibility, Contiguity, Constancy };

Value hint(OpContext &context, Args args, Fact fact, std::string_view operation) {
  // A number that is known now needs no promise.
  if (args[0].isNumber())
    return args[0];
  Tile x = tileArgument(context, args[0], "input");
  SmallVector<int64_t> values;
  for (const Value &item : listOrOne(args[1])) {
    int64_t value = intArgument(item, "values");
    if (value <= 0)
      fail("WrongArgument",
           "`values` of " + quote(operation) + " must be positive, not " + std::to_string(value));
    values.push_back(value);
  }
  size_t rank = std::max<size_t>(1, x.type.shape().size());
  if (values.size() != rank)
    fail("WrongArgument", quote(operation) + " needs one value for each dimension, but got " +
                              std::to_string(values.size()) + " for a tile of rank " +
                              std::to_string(x.type.shape().size()));
  if (!x.type.isInt() && !x.type.isPointer())
    fail("WrongArgument",
         quote(operation) + " is about integers or pointers, not " + quote(x.type.element()));
  auto list = context.builder.getDenseI64ArrayAttr(values);
  DenseI64ArrayAttr none;
  return build<tile::HintOp>(context, x.type, x.value, fact == Fact::Divisibility ? list : none,
                             fact == Fact::Contiguity ? list : none,
                             fact == Fact::Constancy ? list : none);
}

Value buildMultipleOf(OpContext &context, Args args) {
  return hint(context, args, Fact::Divisibility, "tl.multiple_of");
}
Value buildMaxContiguous(OpContext &context, Args args) {
  return hint(context, args, Fact::Contiguity, "tl.max_contiguous");
}
Value buildMaxConstancy(OpContext &context, Args args) {
  return hint(context, args, Fact::Constancy, "tl.max_constancy");
}

Value buildAssume(OpContext &context, Args args) {
  // A condition that is known now promises nothing.
  if (args[0].isNumber()) {
    if (!boolArgument(args[0], "cond"))
      fail("FalseAssumption", "`tl.assume` of a condition that is false");
    return None{};
  }
  context.builder.create<tile::AssumeOp>(context.loc, toCondition(context, args[0]));
  return None{};
}

Value buildBarrier(OpContext &context, Args) {
  context.builder.create<tile::BarrierOp>(context.loc);
  return None{};
}

Value buildExpectZero(OpContext &context, Args args) {
  Tile x = tileArgument(context, args[0], "x");
  Tile mask = cast(context, tileArgument(context, args[1], "mask"), int1());
  std::tie(x, mask) = broadcastPair(context, x, mask, "tl.expect_zero");
  if (context.options.debug) {
    Tile isZero = unary(context, UnaryOperator::Not, x).asTile();
    context.builder.create<tile::AssertOp>(
        context.loc, isZero.value, "a value that was promised to be zero is not", mask.value);
  }
  return x;
}

// --- debugging ---

std::string spellOut(const Value &value) { return value.isStr() ? value.asStr() : value.repr(); }

Value buildStaticPrint(OpContext &context, Args args) {
  std::string text, separator = strArgument(args[1], "sep");
  auto items = args[0].items();
  for (size_t i = 0; i < items.size(); ++i)
    text += (i ? separator : "") + spellOut(items[i]);
  // A note is a line of its own.
  if (std::string end = strArgument(args[2], "end"); end != "\n")
    text += end;
  context.note("StaticPrint", std::move(text), "");
  return None{};
}

Value buildStaticAssert(OpContext &context, Args args) {
  if (!args[0].isConstexpr())
    fail("NotConstexpr", "the condition of `tl.static_assert` is only known at run time",
         "use `tl.device_assert`");
  bool holds =
      !args[0].isNone() && (args[0].isNumber()                      ? boolArgument(args[0], "cond")
                            : args[0].isStr()                       ? !args[0].asStr().empty()
                            : args[0].isTuple() || args[0].isList() ? !args[0].items().empty()
                                                                    : true);
  if (!holds) {
    std::string message = args[1].isNone() ? "" : spellOut(args[1]);
    fail("StaticAssertFailed",
         "`tl.static_assert` failed" + (message.empty() ? "" : ": " + message));
  }
  return None{};
}

bool isPrintable(char c) { return (c >= 0x20 && c < 0x7f) || (c >= '\t' && c <= '\r'); }

Value buildDevicePrint(OpContext &context, Args args) {
  if (!args[0].isStr())
    fail("WrongArgument", "`prefix` must be a string, not " + describe(args[0]),
         "a text comes first, then what is printed: `print(\"i\", i)`");
  std::string prefix = strArgument(args[0], "prefix");
  for (char c : prefix)
    if (!isPrintable(c))
      fail("WrongArgument", "`prefix` of `tl.device_print` must be printable ASCII",
           "print only plain text");
  std::vector<Tile> tiles;
  for (const Value &item : args[1].items())
    tiles.push_back(tileArgument(context, item, "args"));
  // As Triton shows it: " prefix: value".
  if (!tiles.empty()) {
    if (!prefix.ends_with(' '))
      prefix += ' ';
    if (!prefix.ends_with(": "))
      prefix = prefix.substr(0, prefix.size() - 1) + ": ";
  }
  if (prefix.size() > 2 && !prefix.starts_with(' '))
    prefix = " " + prefix;
  SmallVector<mlir::Value> values;
  SmallVector<bool> isSigned;
  for (const Tile &tile : tiles) {
    if (tile.type.isDescriptor())
      fail("WrongArgument", "`tl.device_print` can't print a tensor descriptor");
    values.push_back(tile.value);
    isSigned.push_back(tile.type.isInt() && tile.type.isSigned());
  }
  context.builder.create<tile::PrintOp>(context.loc, prefix, boolArgument(args[2], "hex"), isSigned,
                                        values);
  return None{};
}

Value buildDeviceAssert(OpContext &context, Args args) {
  if (!context.options.debug)
    return None{};
  Tile condition = cast(context, tileArgument(context, args[0], "cond"), int1());
  auto mask = optionalTile(context, args[2], "mask");
  if (mask) {
    *mask = cast(context, *mask, int1());
    std::tie(condition, *mask) = broadcastPair(context, condition, *mask, "tl.device_assert");
  }
  context.builder.create<tile::AssertOp>(context.loc, condition.value, optionalStr(args[1], "msg"),
                                         mask ? mask->value : mlir::Value());
  return None{};
}

constexpr Row HintRows[] = {
    {"multiple_of", "hint", "input, values", buildMultipleOf,
     "Promises that values are multiples, one factor for each dimension."},
    {"max_contiguous", "hint", "input, values", buildMaxContiguous,
     "Promises that values come in runs of consecutive integers."},
    {"max_constancy", "hint", "input, values", buildMaxConstancy,
     "Promises that values come in runs of equal ones."},
    {"assume", "hint", "cond", buildAssume, "Promises that a condition holds."},
    {"debug_barrier", "hint", "", buildBarrier, "All threads of the program wait for each other."},
    {"expect_zero", "hint", "x, mask", buildExpectZero,
     "Promises that x is zero where the mask holds; checked in debug builds.", false,
     Row::Status::Supported, "New in Triton 3.7."},
};

constexpr Row DebugRows[] = {
    {"static_print", "debug", "*values, sep=' ', end='\\n', file=None, flush=False",
     buildStaticPrint, "Prints while compiling."},
    {"static_assert", "debug", "cond, msg=''", buildStaticAssert,
     "Fails to compile unless the "
     "condition holds."},
    {"device_print", "debug", "prefix, *args, hex=False", buildDevicePrint,
     "Prints at run time, each element once. `print` in a kernel is the same."},
    {"device_assert", "debug", "cond, msg='', mask=None", buildDeviceAssert,
     "Records a failure at run time; does nothing unless debugging is on."},
};

} // namespace

std::span<const Row> hintRows() { return HintRows; }
std::span<const Row> debugRows() { return DebugRows; }

} // namespace nereid::ops
