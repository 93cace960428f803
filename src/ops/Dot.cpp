// Matrix products.

#include "ops/Build.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>

using namespace mlir;

namespace nereid::ops {
namespace {

std::string timesText(std::span<const int64_t> shape) {
  std::string text;
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? " x " : "") + std::to_string(shape[i]);
  return text;
}

std::vector<int64_t> batchOf(const std::vector<int64_t> &shape) {
  return {shape.begin(), shape.end() - 2};
}

// Ranks, batches and inner dimensions of both sides agree.
void checkOperands(const Tile &lhs, const Tile &rhs, std::string_view operation, int64_t lhsK,
                   int64_t rhsK) {
  const auto &a = lhs.type.shape(), &b = rhs.type.shape();
  if (batchOf(a) != batchOf(b))
    fail("DotShapeMismatch", "batches of " + quote(operation) + " differ: operands are " +
                                 timesText(a) + " and " + timesText(b));
  if (lhsK != rhsK)
    fail("DotShapeMismatch",
         "inner dimensions of " + quote(operation) + " differ: " + std::to_string(lhsK) + " and " +
             std::to_string(rhsK) + ", of operands " + timesText(a) + " and " + timesText(b),
         "the last dimension of the first operand must be the last but one of the second; "
         "`tl.trans` swaps them");
}

void checkRanks(const Tile &lhs, const Tile &rhs, std::string_view operation) {
  size_t a = lhs.type.shape().size(), b = rhs.type.shape().size();
  if (a != b || a < 2)
    fail("DotShapeMismatch",
         quote(operation) + " takes two tiles of rank 2 or 3, but ranks are " + std::to_string(a) +
             " and " + std::to_string(b),
         "add dimensions with `[:, None]`, or reduce with `tl.sum(a * b, axis)` for a vector");
}

tile::InputPrecision parsePrecision(const std::string &text) {
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (lower == "tf32")
    return tile::InputPrecision::TF32;
  if (lower == "tf32x3")
    return tile::InputPrecision::TF32x3;
  if (lower == "ieee")
    return tile::InputPrecision::IEEE;
  if (lower == "bf16x3")
    return tile::InputPrecision::BF16x3;
  if (lower == "bf16x6")
    return tile::InputPrecision::BF16x6;
  fail("WrongArgument", "`input_precision` is " + quote(text),
       "it can be `tf32`, `tf32x3`, `ieee`, `bf16x3` or `bf16x6`");
}

tile::InputPrecision precisionArgument(OpContext &context, const Value &precision,
                                       const Value &allowTf32) {
  if (!precision.isNone() && !allowTf32.isNone())
    fail("WrongArgument", "`input_precision` and `allow_tf32` of `tl.dot` exclude each other",
         "drop `allow_tf32`");
  if (!allowTf32.isNone()) {
    bool allowed = boolArgument(allowTf32, "allow_tf32");
    if (context.note)
      context.note("OldSpelling",
                   "`allow_tf32=" + std::string(allowed ? "True" : "False") +
                       "` is an old spelling",
                   "write `input_precision=\"" + std::string(allowed ? "tf32" : "ieee") + "\"`");
    return allowed ? tile::InputPrecision::TF32 : tile::InputPrecision::IEEE;
  }
  if (precision.isNone())
    return parsePrecision(context.options.defaultInputPrecision);
  return parsePrecision(strArgument(precision, "input_precision"));
}

Tile transposeIf(OpContext &context, const Tile &tile, const Value &flag,
                 std::string_view parameter) {
  if (!boolArgument(flag, parameter))
    return tile;
  if (context.note)
    context.note("OldSpelling", quote(parameter) + " of `tl.dot` is an old spelling",
                 "transpose the operand with `tl.trans`");
  size_t rank = tile.type.shape().size();
  std::vector<int64_t> dims(rank);
  for (size_t i = 0; i < rank; ++i)
    dims[i] = int64_t(i);
  if (rank >= 2)
    std::swap(dims[rank - 1], dims[rank - 2]);
  return permute(context, tile, dims);
}

// Which types may meet, and the type of the product. Widens operands that no hardware multiplies.
Type productType(OpContext &context, Tile &lhs, Tile &rhs, const Type &out) {
  Type a = lhs.type.element(), b = rhs.type.element();
  bool bothF8 = a.isF8() && b.isF8();
  if (!bothF8) {
    for (const Type &type : {a, b})
      if (!type.is(DType::Int8) && !isStandardFloat(type))
        fail("DotOperandType", "`tl.dot` does not multiply " + quote(type),
             type.isInt() ? "cast to `tl.int8` or to a float" : "cast first");
    if (!(a == b))
      fail("DotOperandType", "operands of `tl.dot` have types " + quote(a) + " and " + quote(b),
           "cast one: `a.to(b.dtype)`");
  }
  auto exotic = [](const Type &type) {
    return type.is(DType::Float8E4B15) || type.is(DType::Float8E4B8) || type.is(DType::Float8E5B16);
  };
  if (bothF8 && (exotic(a) || exotic(b))) {
    lhs = cast(context, lhs, float16());
    rhs = cast(context, rhs, float16());
  }
  if (a.isInt())
    return int32();
  if (out.is(DType::BFloat16))
    fail("DotOperandType", "`out_dtype` of `tl.dot` can't be `bf16`",
         "keep the default `tl.float32` and cast the result with `.to(tl.bfloat16)`");
  if (a.is(DType::Float32) || a.is(DType::BFloat16))
    return float32();
  if (a.is(DType::Float64))
    return a;
  if (!out.is(DType::Float16) && !out.is(DType::Float32))
    fail("DotOperandType",
         "`out_dtype` of `tl.dot` on " + quote(a) + " is " + quote(out) + ", not `fp32` or `fp16`");
  return out;
}

Value buildDot(OpContext &context, Args args) {
  Tile lhs = transposeIf(context, tileArgument(context, args[0], "input"), args[7], "trans_a");
  Tile rhs = transposeIf(context, tileArgument(context, args[1], "other"), args[8], "trans_b");
  tile::InputPrecision precision = precisionArgument(context, args[3], args[4]);
  checkRanks(lhs, rhs, "tl.dot");
  std::vector<int64_t> a = lhs.type.shape(), b = rhs.type.shape();
  size_t rank = a.size();
  checkOperands(lhs, rhs, "tl.dot", a[rank - 1], b[rank - 2]);

  Type element = lhs.type.element();
  std::optional<Tile> acc = optionalTile(context, args[2], "acc");
  Type wanted = !args[6].isNone() ? typeArgument(args[6], "out_dtype").element()
                : acc             ? acc->type.element()
                                  : float32();
  Type result = productType(context, lhs, rhs, wanted);
  // The tensor cores of all supported chips pad M and N, but not K: 32 bytes of it.
  int64_t leastK = 256 / element.bits();
  if (a[rank - 1] < leastK)
    fail("DotTooSmall",
         "the inner dimension of `tl.dot` is " + std::to_string(a[rank - 1]) + ", but " +
             quote(element) + " needs at least " + std::to_string(leastK),
         "use a larger block along K, or `tl.sum(a[:, :, None] * b[None, :, :], axis=1)`");

  std::vector<int64_t> shape = a;
  shape[rank - 1] = b[rank - 1];
  checkShape(shape);
  Type type = Type::block(shape, result);
  if (acc && acc->type.shape() != shape)
    fail("DotShapeMismatch", "`acc` of `tl.dot` is " + timesText(acc->type.shape()) +
                                 ", but the product is " + timesText(shape));
  if (acc && !(acc->type.element() == result))
    fail("DotAccumulatorType",
         "`acc` of `tl.dot` has type " + quote(acc->type.element()) + ", but the product of " +
             quote(element) + " has type " + quote(result),
         acc->type.element().is(DType::Float16) && result.is(DType::Float32) &&
                 !element.is(DType::Float32)
             ? "pass `out_dtype=tl.float16`, or keep the accumulator in `tl.float32`"
             : "make the accumulator with `tl.zeros(..., dtype=tl." +
                   std::string(info(result.dtype()).name) + ")`");

  int64_t imprecise = 0;
  bool f8 = lhs.type.isF8() && rhs.type.isF8();
  if (!args[5].isNone()) {
    imprecise = intArgument(args[5], "max_num_imprecise_acc");
    if (f8 && imprecise > a[rank - 1])
      fail("WrongArgument", "`max_num_imprecise_acc` is " + std::to_string(imprecise) +
                                ", more than the inner dimension " + std::to_string(a[rank - 1]));
  }

  // More than one batch dimension becomes one.
  Tile accumulator = acc ? *acc : zero(context, type);
  if (rank > 3) {
    int64_t batch = 1;
    for (size_t i = 0; i + 2 < rank; ++i)
      batch *= shape[i];
    auto merge = [&](const Tile &tile) {
      const auto &s = tile.type.shape();
      return reshape(context, tile, {batch, s[rank - 2], s[rank - 1]}, false);
    };
    lhs = merge(lhs);
    rhs = merge(rhs);
    accumulator = merge(accumulator);
  }
  // Only f32 operands can enter a product in more than one way.
  if (!element.is(DType::Float32))
    precision = tile::InputPrecision::IEEE;
  auto *mlirContext = context.builder.getContext();
  Tile product = build<tile::DotOp>(
      context, accumulator.type, lhs.value, rhs.value, accumulator.value,
      tile::InputPrecisionAttr::get(mlirContext, precision),
      context.builder.getI32IntegerAttr(int32_t(f8 ? imprecise : 0)), UnitAttr());
  return rank > 3 ? reshape(context, product, shape, false) : product;
}

// --- microscaled operands ---

struct Format {
  tile::ScaledFormat format;
  int packed; ///< elements in one stored element
};

// The operand in the type its format names; packed fp4 stays in bytes.
Format formatArgument(OpContext &context, const Value &name, Tile &operand,
                      std::string_view parameter) {
  const std::string &text = strArgument(name, parameter);
  if (text == "e2m1") {
    if (!operand.type.is(DType::UInt8))
      fail("DotOperandType", "format `e2m1` packs two elements in a byte of type `uint8`, but the "
                             "operand has type " +
                                 quote(operand.type.element()));
    return {tile::ScaledFormat::E2M1, 2};
  }
  struct Choice {
    std::string_view name;
    tile::ScaledFormat format;
    DType type, bits;
  };
  constexpr Choice choices[] = {{"e4m3", tile::ScaledFormat::E4M3, DType::Float8E4NV, DType::UInt8},
                                {"e5m2", tile::ScaledFormat::E5M2, DType::Float8E5, DType::UInt8},
                                {"bf16", tile::ScaledFormat::BF16, DType::BFloat16, DType::UInt16},
                                {"fp16", tile::ScaledFormat::FP16, DType::Float16, DType::UInt16}};
  for (const Choice &choice : choices) {
    if (choice.name != text)
      continue;
    if (!operand.type.is(choice.type) && !operand.type.is(choice.bits))
      fail("DotOperandType", "format " + quote(text) + " needs an operand of type " +
                                 quote(Type::scalar(choice.type)) + " or " +
                                 quote(Type::scalar(choice.bits)) + ", not " +
                                 quote(operand.type.element()));
    operand = bitcast(context, operand, Type::scalar(choice.type));
    return {choice.format, 1};
  }
  fail("WrongArgument", quote(parameter) + " is " + quote(text),
       "it can be `e2m1`, `e4m3`, `e5m2`, `bf16` or `fp16`");
}

// Bytes are e8m0, of which OCP MX has one for 32 elements; of 8-bit floats nvfp4 has one for 16.
std::optional<Tile> scaleArgument(OpContext &context, const Value &value,
                                  std::string_view parameter, int64_t rows, int64_t k) {
  auto scale = optionalTile(context, value, parameter);
  if (!scale)
    return scale;
  bool isFloat = scale->type.is(DType::Float8E4NV);
  if (!isFloat && !scale->type.is(DType::UInt8) && !scale->type.is(DType::Int8))
    fail("DotOperandType",
         quote(parameter) +
             " must hold e8m0 bytes of type `uint8` or numbers of type `fp8e4nv`, "
             "not " +
             quote(scale->type.element()));
  const auto &shape = scale->type.shape();
  const int64_t group = isFloat ? 16 : 32, other = isFloat ? 32 : 16;
  std::vector<int64_t> wanted = {rows, k / group};
  if (shape.size() < 2 || shape[shape.size() - 2] != rows ||
      (shape.back() * group != k && shape.back() * other != k))
    fail("DotShapeMismatch",
         quote(parameter) + " has shape " + shapeText(shape) + ", not " + shapeText(wanted),
         parameter == "rhs_scale"
             ? "`rhs_scale` is N x K/" + std::to_string(group) + ": it is not transposed"
             : "");
  return scale;
}

Value buildDotScaled(OpContext &context, Args args) {
  Tile lhs = tileArgument(context, args[0], "lhs"), rhs = tileArgument(context, args[3], "rhs");
  checkRanks(lhs, rhs, "tl.dot_scaled");
  Format lhsFormat = formatArgument(context, args[2], lhs, "lhs_format");
  Format rhsFormat = formatArgument(context, args[5], rhs, "rhs_format");
  bool lhsAlongK = boolArgument(args[8], "lhs_k_pack"),
       rhsAlongK = boolArgument(args[9], "rhs_k_pack");
  if ((!lhsAlongK && lhsFormat.packed == 1) || (!rhsAlongK && rhsFormat.packed == 1))
    fail("WrongArgument", "only `e2m1` operands can be packed along a dimension other than K");
  if (!(typeArgument(args[10], "out_dtype") == float32()))
    fail("WrongArgument", "`out_dtype` of `tl.dot_scaled` must be `tl.float32`");
  std::vector<int64_t> shape = lhs.type.shape();
  size_t rank = shape.size();
  if (rank > 3)
    fail("DotShapeMismatch",
         "`tl.dot_scaled` takes tiles of rank 2 or 3, not " + std::to_string(rank));
  int64_t m = shape[rank - 2] * (lhsAlongK ? 1 : lhsFormat.packed);
  int64_t lhsK = shape[rank - 1] * (lhsAlongK ? lhsFormat.packed : 1);
  int64_t rhsK = rhs.type.shape()[rank - 2] * (rhsAlongK ? rhsFormat.packed : 1);
  int64_t n = rhs.type.shape()[rank - 1] * (rhsAlongK ? 1 : rhsFormat.packed);
  checkOperands(lhs, rhs, "tl.dot_scaled", lhsK, rhsK);
  auto lhsScale = scaleArgument(context, args[1], "lhs_scale", m, lhsK);
  auto rhsScale = scaleArgument(context, args[4], "rhs_scale", n, lhsK);
  shape[rank - 2] = m;
  shape[rank - 1] = n;
  checkShape(shape);
  Type type = Type::block(shape, float32());
  std::optional<Tile> acc = optionalTile(context, args[6], "acc");
  if (acc && !(acc->type == type))
    fail("DotAccumulatorType", "`acc` of `tl.dot_scaled` has type " + quote(acc->type) +
                                   ", but the product has type " + quote(type));
  auto *mlirContext = context.builder.getContext();
  Tile accumulator = acc ? *acc : zero(context, type);
  return build<tile::DotScaledOp>(
      context, type, lhs.value, lhsScale ? lhsScale->value : mlir::Value(), rhs.value,
      rhsScale ? rhsScale->value : mlir::Value(), accumulator.value,
      tile::ScaledFormatAttr::get(mlirContext, lhsFormat.format),
      tile::ScaledFormatAttr::get(mlirContext, rhsFormat.format),
      context.builder.getBoolAttr(lhsAlongK), context.builder.getBoolAttr(rhsAlongK),
      boolArgument(args[7], "fast_math") ? context.builder.getUnitAttr() : UnitAttr());
}

constexpr Row DotTable[] = {
    {"dot", "matrix",
     "input, other, acc=None, input_precision=None, allow_tf32=None, max_num_imprecise_acc=None, "
     "out_dtype=None, trans_a=False, trans_b=False",
     buildDot, "Matrix product, batched for rank 3 and more, added to `acc`.", false,
     Row::Status::Supported,
     "`allow_tf32`, `trans_a` and `trans_b` are old spellings; without `out_dtype` the type is "
     "`acc`'s (as of Triton 3.7) or f32."},
    {"dot_scaled", "matrix",
     "lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc=None, fast_math=False, "
     "lhs_k_pack=True, rhs_k_pack=True, out_dtype=float32",
     buildDotScaled, "Matrix product of microscaled operands (OCP MX, nvfp4).", false,
     Row::Status::Supported,
     "Scales are e8m0 bytes or `fp8e4nv`, one for 16 or 32 elements along K."},
};

} // namespace

std::span<const Row> dotRows() { return DotTable; }

} // namespace nereid::ops
