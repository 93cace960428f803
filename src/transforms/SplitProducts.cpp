#include "transforms/SplitProducts.h"

#include "ir/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"

#include <cmath>

using namespace mlir;

namespace nereid::transforms {

namespace {

using tile::InputPrecision;

class Splitter {
public:
  explicit Splitter(tile::DotOp dot) : dot(dot), b(dot), loc(dot.getLoc()) {}

  void run() {
    Type left = tile::elementType(dot.getLhs().getType()), sum = tile::elementType(dot.getType());
    if (left.isF32() && sum.isF32())
      splitOperands();
    else if (sum.isF16() && !left.isF16())
      sumInF32();
  }

private:
  void sumInF32() {
    auto type = RankedTensorType::get(tile::shapeOf(dot.getType()), b.getF32Type());
    Value acc = b.create<arith::ExtFOp>(loc, type, dot.getAcc());
    Value sum = product(dot.getLhs(), dot.getRhs(), acc, dot.getPrecision());
    replace(b.create<arith::TruncFOp>(loc, dot.getType(), sum));
  }

  void splitOperands() {
    InputPrecision precision = dot.getPrecision();
    bool isBf16 = precision == InputPrecision::BF16x3 || precision == InputPrecision::BF16x6;
    unsigned count = precision == InputPrecision::BF16x6 ? 3 : 2;
    if (!isBf16 && precision != InputPrecision::TF32x3)
      return;
    SmallVector<Value> left = parts(dot.getLhs(), count, isBf16),
                       right = parts(dot.getRhs(), count, isBf16);
    // The smallest first.
    Value sum = dot.getAcc();
    for (unsigned order = count; order-- > 0;)
      for (unsigned i = 0; i <= order; ++i)
        sum = product(left[i], right[order - i], sum,
                      isBf16 ? InputPrecision::IEEE : InputPrecision::TF32);
    replace(sum);
  }

  // A sum of parts, the largest first. What is not finite is its own first part.
  SmallVector<Value> parts(Value x, unsigned count, bool isBf16) {
    SmallVector<Value> out;
    for (unsigned i = 0; i < count; ++i) {
      Value wide = isBf16 ? rounded(x) : truncated(x);
      out.push_back(isBf16
                        ? b.create<arith::TruncFOp>(loc, like(x, b.getBF16Type()), wide).getResult()
                        : wide);
      if (i + 1 == count)
        break;
      Value rest = b.create<arith::SubFOp>(loc, x, wide);
      Value size = b.create<math::AbsFOp>(loc, wide);
      Value isFinite = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OLT, size,
                                               constant(x, b.getF32FloatAttr(INFINITY)));
      x = b.create<arith::SelectOp>(loc, isFinite, rest, constant(x, b.getF32FloatAttr(0)));
    }
    return out;
  }
  Value rounded(Value x) {
    Value narrow = b.create<arith::TruncFOp>(loc, like(x, b.getBF16Type()), x);
    return b.create<arith::ExtFOp>(loc, x.getType(), narrow);
  }
  // The bits that tensor cores read of an f32.
  Value truncated(Value x) {
    Type bits = like(x, b.getI32Type());
    Value whole = b.create<tile::BitcastOp>(loc, bits, x);
    Value kept = b.create<arith::AndIOp>(loc, whole,
                                         constant(whole, b.getI32IntegerAttr(int32_t(0xffffe000))));
    return b.create<tile::BitcastOp>(loc, x.getType(), kept);
  }

  Value product(Value left, Value right, Value acc, InputPrecision precision) {
    return b.create<tile::DotOp>(loc, acc.getType(), left, right, acc, precision, 0, false);
  }
  void replace(Value now) {
    dot.replaceAllUsesWith(now);
    dot.erase();
  }
  static RankedTensorType like(Value tile, Type element) {
    return RankedTensorType::get(tile::shapeOf(tile.getType()), element);
  }
  Value constant(Value of, TypedAttr value) {
    return b.create<arith::ConstantOp>(
        loc, DenseElementsAttr::get(cast<RankedTensorType>(of.getType()), Attribute(value)));
  }

  tile::DotOp dot;
  OpBuilder b;
  Location loc;
};

struct SplitProducts : PassWrapper<SplitProducts, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitProducts)

  StringRef getArgument() const final { return "tile-split-products"; }
  StringRef getDescription() const final { return "products become ones that tensor cores have"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect>();
  }
  void runOnOperation() override {
    SmallVector<tile::DotOp> dots;
    getOperation().walk([&](tile::DotOp dot) { dots.push_back(dot); });
    for (tile::DotOp dot : dots)
      Splitter(dot).run();
  }
};

} // namespace

std::unique_ptr<Pass> createSplitProductsPass() { return std::make_unique<SplitProducts>(); }

} // namespace nereid::transforms
