// Reading the arguments of a call: messages say what was seen and what was wanted.

#include "ops/ArgumentError.h"
#include "ops/Build.h"
#include "ops/Objects.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>

namespace nereid::ops {

void fail(std::string code, std::string message, std::string hint) {
  throw OpError{std::move(code), std::move(message), std::move(hint)};
}

// `parameter` names what `message` goes on about.
[[noreturn]] static void failArgument(std::string code, std::string_view parameter,
                                      const std::string &message, std::string hint = {}) {
  throw ArgumentError({std::move(code), quote(parameter) + " " + message, std::move(hint)},
                      parameter);
}

std::string quote(std::string_view text) { return "`" + std::string(text) + "`"; }

std::string shapeText(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string describe(const Value &value) {
  if (value.isNone())
    return "`None`";
  if (value.isTile())
    return value.asTile().type.isBlock() ? "a tile of type " + quote(value.asTile().type)
                                         : "a value of type " + quote(value.asTile().type);
  if (value.isNumber())
    return "the " + value.typeName() + " " + quote(value.repr());
  if (value.isStr())
    return "the string " + quote(value.repr());
  if (value.isType())
    return "the type " + quote(value.asType());
  std::string name = value.typeName();
  bool vowel = std::string_view("aeiou").find(name[0]) != std::string_view::npos;
  return (vowel ? "an " : "a ") + quote(name);
}

Tile tileArgument(OpContext &context, const Value &value, std::string_view parameter) {
  if (value.isTile() && value.asTile().type.isDescriptor())
    failArgument("WrongArgument", parameter, "is a tensor descriptor, where a tile is needed",
                 "load a block from it: `desc.load(offsets)`");
  if (value.isTile() || value.isNumber())
    return toTile(context, value);
  if (value.as<BlockPointer>())
    failArgument("WrongArgument", parameter, "is a block pointer, where a tile is needed",
                 "block pointers are for `tl.load`, `tl.store` and `tl.advance`");
  failArgument("WrongArgument", parameter, "must be a tile or a number, not " + describe(value));
}

std::optional<Tile> optionalTile(OpContext &context, const Value &value,
                                 std::string_view parameter) {
  if (value.isNone())
    return std::nullopt;
  return tileArgument(context, value, parameter);
}

std::string constexprHint(const Tile &tile) {
  // A number that the kernel assigned, or what was computed of such numbers alone.
  auto constant = tile.value.getDefiningOp<mlir::arith::ConstantOp>();
  if (auto number = constant ? llvm::dyn_cast<mlir::IntegerAttr>(constant.getValue()) : nullptr)
    return "an assigned number is a run-time value, unless it is annotated: `NAME: tl.constexpr "
           "= " +
           std::to_string(number.getValue().getSExtValue()) + "`";
  return "annotate the kernel's parameter with `tl.constexpr`";
}

[[noreturn]] static void failRuntimeValue(const Tile &tile, std::string_view parameter) {
  failArgument("NotConstexpr", parameter,
               "must be known while compiling, but is a run-time value of type " + quote(tile.type),
               constexprHint(tile));
}

int64_t intArgument(const Value &value, std::string_view parameter) {
  if (value.isBool())
    return value.asBool();
  if (value.isTile())
    failRuntimeValue(value.asTile(), parameter);
  if (!value.isInt())
    failArgument("WrongArgument", parameter, "must be an int, not " + describe(value));
  auto number = value.asInteger().toInt64();
  if (!number)
    failArgument("WrongArgument", parameter, "is " + value.repr() + ", which is out of range");
  return *number;
}

bool boolArgument(const Value &value, std::string_view parameter) {
  if (value.isNone())
    return false;
  if (value.isTile())
    failRuntimeValue(value.asTile(), parameter);
  if (value.isBool())
    return value.asBool();
  if (value.isInt())
    return !value.asInteger().isZero();
  if (value.isFloat())
    return value.asFloat() != 0;
  failArgument("WrongArgument", parameter, "must be a bool, not " + describe(value));
}

const std::string &strArgument(const Value &value, std::string_view parameter) {
  if (!value.isStr())
    failArgument("WrongArgument", parameter, "must be a string, not " + describe(value));
  return value.asStr();
}

std::string optionalStr(const Value &value, std::string_view parameter) {
  return value.isNone() ? std::string() : strArgument(value, parameter);
}

Type typeArgument(const Value &value, std::string_view parameter) {
  if (!value.isType())
    failArgument("WrongArgument", parameter,
                 "must be a type such as `tl.float32`, not " + describe(value),
                 value.isStr() && nereid::parseDType(value.asStr())
                     ? "write `tl." +
                           std::string(nereid::info(*nereid::parseDType(value.asStr())).name) + "`"
                     : "");
  return value.asType();
}

std::span<const Value> listArgument(const Value &value, std::string_view parameter) {
  if (!value.isTuple() && !value.isList())
    failArgument("WrongArgument", parameter, "must be a list or tuple, not " + describe(value),
                 value.isInt() ? "write " + quote("[" + value.repr() + "]") : "");
  return value.items();
}

std::vector<Value> listOrOne(const Value &value) {
  if (value.isTuple() || value.isList())
    return {value.items().begin(), value.items().end()};
  return {value};
}

std::vector<int64_t> intList(const Value &value, std::string_view parameter) {
  std::vector<int64_t> numbers;
  for (const Value &item : listArgument(value, parameter))
    numbers.push_back(intArgument(item, parameter));
  return numbers;
}

std::vector<int64_t> variadicInts(const Value &value, std::string_view parameter) {
  auto items = value.items();
  if (items.size() == 1 && (items[0].isTuple() || items[0].isList()))
    return intList(items[0], parameter);
  return intList(value, parameter);
}

std::vector<int64_t> shapeArgument(const Value &value, std::string_view parameter) {
  std::vector<int64_t> shape = intList(value, parameter);
  checkShape(shape);
  return shape;
}

int64_t wrapAxis(int64_t axis, size_t rank, std::string_view operation) {
  int64_t n = int64_t(rank);
  if (axis < -n || axis >= n)
    fail("AxisOutOfRange",
         "axis " + std::to_string(axis) + " of " + quote(operation) +
             " is out of range for a tile of rank " + std::to_string(rank),
         n > 0 ? "axes are " + std::to_string(-n) + " to " + std::to_string(n - 1) : "");
  return axis < 0 ? axis + n : axis;
}

bool propagatesNan(const Value &value) {
  if (auto *member = value.as<EnumMember>()) {
    if (member->name == "PropagateNan.ALL")
      return true;
    if (member->name == "PropagateNan.NONE")
      return false;
  }
  fail("WrongArgument", "`propagate_nan` must be `tl.PropagateNan.ALL` or "
                        "`tl.PropagateNan.NONE`, not " +
                            describe(value));
}

void checkShape(std::span<const int64_t> shape) {
  // Extents are checked first, so the product below can't overflow.
  for (int64_t extent : shape) {
    if (extent <= 0 || (extent & (extent - 1)) != 0) {
      std::string hint = extent < 0 ? "write each extent out: `x.numel` is the product of all" : "";
      if (extent > 1 && extent < tile::maxTileElements) {
        int64_t above = 1;
        while (above < extent)
          above *= 2;
        hint = "use " + std::to_string(above) +
               " with a mask, or `triton.next_power_of_2` on the host";
      }
      fail("ShapeNotPowerOfTwo",
           "each extent of a tile must be a power of two, but the shape is " + shapeText(shape),
           hint);
    }
  }
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent > tile::maxTileElements || count * extent > tile::maxTileElements)
      fail("TileTooLarge",
           "a tile of shape " + shapeText(shape) + " has more than " +
               std::to_string(tile::maxTileElements) + " elements",
           "use a smaller block and a loop");
    count *= extent;
  }
}

} // namespace nereid::ops
