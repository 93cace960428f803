#include "transforms/ExpandScaledProducts.h"

#include "ir/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <cmath>

using namespace mlir;

namespace nereid::transforms {

namespace {

class Expander {
public:
  Expander(tile::DotScaledOp dot, bool toHalves)
      : dot(dot), b(dot), loc(dot.getLoc()), rank(int(tile::shapeOf(dot.getType()).size())) {
    bool isF16 = dot.getLhsFormat() == tile::ScaledFormat::FP16 ||
                 dot.getRhsFormat() == tile::ScaledFormat::FP16;
    element = !toHalves ? Type(b.getF32Type()) : isF16 ? Type(b.getF16Type()) : b.getBF16Type();
  }

  void run() {
    Value lhs = operand(dot.getLhs(), dot.getLhsScale(), dot.getLhsFormat(), dot.getLhsPackedK(),
                        rank - 1, rank - 2);
    Value rhs = operand(dot.getRhs(), dot.getRhsScale(), dot.getRhsFormat(), dot.getRhsPackedK(),
                        rank - 2, rank - 1);
    Value product = b.create<tile::DotOp>(loc, dot.getType(), lhs, rhs, dot.getAcc(),
                                          tile::InputPrecision::IEEE, 0, false);
    dot.replaceAllUsesWith(product);
    dot.erase();
  }

private:
  // `along` is the dimension of K, `across` that of M or N.
  Value operand(Value tile, Value scale, tile::ScaledFormat format, bool packedAlongK, int along,
                int across) {
    Value value = tile;
    switch (format) {
    case tile::ScaledFormat::E2M1:
      value = unpacked(tile, packedAlongK ? along : across);
      break;
    case tile::ScaledFormat::E4M3:
      value = widened(tile, b.getFloat8E4M3FNType(), element);
      break;
    case tile::ScaledFormat::E5M2:
      value = widened(tile, b.getFloat8E5M2Type(), element);
      break;
    case tile::ScaledFormat::BF16:
    case tile::ScaledFormat::FP16:
      break;
    }
    if (scale)
      value = product(value,
                      scaleTile(scale, tile::shapeOf(value.getType())[along], along == rank - 1));
    return converted(value, element);
  }

  // As f32 and rounded, which is what a product of halves is.
  Value product(Value x, Value y) {
    Value wide =
        b.create<arith::MulFOp>(loc, converted(x, b.getF32Type()), converted(y, b.getF32Type()));
    return converted(wide, element);
  }

  // 8-bit floats come as themselves or as bytes.
  Value widened(Value tile, Type format, Type to) {
    if (tile::elementType(tile.getType()) != format)
      tile = b.create<tile::BitcastOp>(loc, like(tile, format), tile);
    return b.create<tile::FPConvertOp>(loc, like(tile, to), tile, tile::Rounding::RTNE);
  }

  // Pairs of 4-bit floats along `dim`, low half first.
  Value unpacked(Value tile, int dim) {
    Value code = b.create<arith::ExtUIOp>(loc, like(tile, bitsOf(element)), tile);
    Value low = fromE2M1(code);
    Value high = fromE2M1(b.create<arith::ShRUIOp>(loc, code, constant(code, 4)));
    SmallVector<int64_t> shape(tile::shapeOf(tile.getType()));
    SmallVector<int64_t> pairs = shape, moved = shape;
    pairs.push_back(2);
    moved.insert(moved.begin() + dim + 1, 2);
    shape[dim] *= 2;
    auto type = [&](ArrayRef<int64_t> of) { return RankedTensorType::get(of, element); };
    Value joined = b.create<tile::JoinOp>(loc, type(pairs), low, high);
    SmallVector<int32_t> perm;
    for (int d = 0; d < rank; ++d) {
      perm.push_back(d);
      if (d == dim)
        perm.push_back(rank);
    }
    if (dim != rank - 1)
      joined = b.create<tile::TransOp>(loc, type(moved), joined, perm);
    return b.create<tile::ReshapeOp>(loc, type(shape), joined, UnitAttr());
  }

  // Two bits of exponent with bias 1 and one of fraction, as an element. With exponent and fraction
  // where an element has them the number is too small by a power of two, denormals too: the product
  // is exact.
  Value fromE2M1(Value code) {
    const auto &format = cast<FloatType>(element).getFloatSemantics();
    const int fraction = int(APFloat::semanticsPrecision(format)) - 1;
    const int bits = int(APFloat::semanticsSizeInBits(format));
    auto field = [&](int mask, int by) -> Value {
      Value masked = b.create<arith::AndIOp>(loc, code, constant(code, mask));
      return b.create<arith::ShLIOp>(loc, masked, constant(code, by));
    };
    Value value = b.create<arith::OrIOp>(loc, field(7, fraction - 1), field(8, bits - 4));
    double power = std::ldexp(1.0, -APFloat::semanticsMinExponent(format));
    auto large = RankedTensorType::get(tile::shapeOf(code.getType()), b.getF32Type());
    return product(
        b.create<tile::BitcastOp>(loc, like(code, element), value),
        b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(large, APFloat(float(power)))));
  }

  // 2^(code - 127), NaN for 255, as f32 or bf16.
  Value fromE8M0(Value codes, Type to) {
    const int32_t fraction = to.isF32() ? 23 : 7;
    Value code = b.create<arith::ExtUIOp>(loc, like(codes, bitsOf(to)), codes);
    Value bits = b.create<arith::ShLIOp>(loc, code, constant(code, fraction));
    auto unless = [&](int32_t special, int32_t value) {
      Value is =
          b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, code, constant(code, special));
      bits = b.create<arith::SelectOp>(loc, is, constant(code, value), bits);
    };
    unless(0, 1 << (fraction - 1));
    unless(255, 0x1ff << (fraction - 1));
    return b.create<tile::BitcastOp>(loc, like(bits, to), bits);
  }

  // Scales, each repeated for its elements along K, the last dimension or the last but one. Powers
  // of two have the exponents of bf16 and f32, other scales have few bits.
  Value scaleTile(Value codes, int64_t k, bool alongLast) {
    bool isPower = tile::elementType(codes.getType()).isInteger(8);
    Type to = isPower && element.isF16() ? Type(b.getF32Type()) : element;
    Value scale = isPower ? fromE8M0(codes, to) : widened(codes, b.getFloat8E4M3FNType(), to);
    const int64_t group = tile::DotScaledOp::groupOf(k, codes.getType());
    SmallVector<int64_t> shape(tile::shapeOf(codes.getType()));
    auto type = [&](ArrayRef<int64_t> of) { return RankedTensorType::get(of, to); };
    SmallVector<int64_t> wide = shape;
    wide.push_back(1);
    scale = b.create<tile::ExpandDimsOp>(loc, type(wide), scale, uint32_t(rank));
    wide.back() = group;
    scale = b.create<tile::BroadcastOp>(loc, type(wide), scale);
    shape.back() *= group;
    scale = b.create<tile::ReshapeOp>(loc, type(shape), scale, UnitAttr());
    if (alongLast)
      return scale;
    SmallVector<int32_t> perm = llvm::to_vector(llvm::seq<int32_t>(0, rank));
    std::swap(perm[rank - 1], perm[rank - 2]);
    std::swap(shape[rank - 1], shape[rank - 2]);
    return b.create<tile::TransOp>(loc, type(shape), scale, perm);
  }

  static RankedTensorType like(Value tile, Type element) {
    return RankedTensorType::get(tile::shapeOf(tile.getType()), element);
  }
  Value constant(Value of, int32_t value) {
    auto type = cast<RankedTensorType>(of.getType());
    APInt number(type.getElementTypeBitWidth(), uint32_t(value));
    return b.create<arith::ConstantOp>(loc, DenseElementsAttr::get(type, number));
  }
  Type bitsOf(Type number) { return b.getIntegerType(number.getIntOrFloatBitWidth()); }
  Value converted(Value tile, Type to) {
    Type from = tile::elementType(tile.getType());
    if (from == to)
      return tile;
    if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
      return b.create<arith::ExtFOp>(loc, like(tile, to), tile);
    if (from.getIntOrFloatBitWidth() == to.getIntOrFloatBitWidth())
      return converted(converted(tile, b.getF32Type()), to);
    return b.create<arith::TruncFOp>(loc, like(tile, to), tile);
  }

  tile::DotScaledOp dot;
  OpBuilder b;
  Location loc;
  int rank;
  Type element;
};

struct ExpandScaledProducts : PassWrapper<ExpandScaledProducts, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandScaledProducts)
  explicit ExpandScaledProducts(bool halves) { toHalves = halves; }
  ExpandScaledProducts(const ExpandScaledProducts &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "tile-expand-scaled-products"; }
  StringRef getDescription() const final {
    return "products of microscaled operands become products of floats";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect>();
  }
  void runOnOperation() override {
    SmallVector<tile::DotScaledOp> dots;
    getOperation().walk([&](tile::DotScaledOp dot) { dots.push_back(dot); });
    for (tile::DotScaledOp dot : dots)
      Expander(dot, toHalves).run();
  }

  Option<bool> toHalves{*this, "to-halves", llvm::cl::desc("multiply 16-bit floats")};
};

} // namespace

std::unique_ptr<Pass> createExpandScaledProductsPass(bool toHalves) {
  return std::make_unique<ExpandScaledProducts>(toHalves);
}

} // namespace nereid::transforms
