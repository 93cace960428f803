#include "transforms/CountTrips.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace nereid::transforms {

namespace {

// No value is above it.
APInt greatest(Value value) {
  unsigned width = value.getType().getIntOrFloatBitWidth();
  APInt known;
  if (matchPattern(value, m_ConstantInt(&known)))
    return known;
  Operation *op = value.getDefiningOp();
  if (isa_and_present<arith::ExtSIOp>(op))
    return greatest(op->getOperand(0)).sext(width);
  if (isa_and_present<arith::ExtUIOp>(op))
    return APInt::getMaxValue(op->getOperand(0).getType().getIntOrFloatBitWidth()).zext(width);
  if (isa_and_present<arith::MinSIOp>(op)) {
    APInt a = greatest(op->getOperand(0)), b = greatest(op->getOperand(1));
    return a.slt(b) ? a : b;
  }
  return APInt::getSignedMaxValue(width);
}

bool mayWrap(scf::ForOp loop) {
  APInt step;
  if (!matchPattern(loop.getStep(), m_ConstantInt(&step)) || !step.isStrictlyPositive())
    return true;
  // The greatest value in the loop is below the upper bound.
  bool wraps = false;
  (void)(greatest(loop.getUpperBound()).sadd_ov(step - 1, wraps));
  return wraps;
}

void countTrips(scf::ForOp loop) {
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound(), step = loop.getStep();
  Type type = lower.getType(), i64 = b.getI64Type();
  auto constant = [&](Type of, int64_t value) -> Value {
    return b.create<arith::ConstantOp>(loc, b.getIntegerAttr(of, value));
  };
  // (upper - lower - 1) / step + 1, without a sign: the difference of two signed numbers may need
  // the highest bit. A step that is not positive divides nothing.
  Value one = constant(type, 1);
  Value divisor = b.create<arith::MaxSIOp>(loc, step, one);
  Value last = b.create<arith::SubIOp>(loc, b.create<arith::SubIOp>(loc, upper, lower), one);
  Value count = b.create<arith::AddIOp>(loc, b.create<arith::DivUIOp>(loc, last, divisor), one);
  Value runs = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, lower, upper);
  count = b.create<arith::SelectOp>(loc, runs, count, constant(type, 0));
  if (type != i64)
    count = b.create<arith::ExtUIOp>(loc, i64, count);

  Value trip = loop.getInductionVar();
  trip.setType(i64);
  loop.setLowerBound(constant(i64, 0));
  loop.setUpperBound(count);
  loop.setStep(constant(i64, 1));
  b.setInsertionPointToStart(loop.getBody());
  Operation *first = nullptr;
  Value steps = trip;
  if (type != i64) {
    steps = b.create<arith::TruncIOp>(loc, type, trip);
    first = steps.getDefiningOp();
  }
  Value product = b.create<arith::MulIOp>(loc, steps, step);
  if (!first)
    first = product.getDefiningOp();
  Value variable = b.create<arith::AddIOp>(loc, lower, product);
  trip.replaceAllUsesExcept(variable, first);
}

struct CountTrips : PassWrapper<CountTrips, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CountTrips)

  StringRef getArgument() const final { return "tile-count-trips"; }
  StringRef getDescription() const final {
    return "loops whose variable may wrap around count their trips";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect>();
  }
  void runOnOperation() override {
    getOperation()->walk([](scf::ForOp loop) {
      if (isa<IntegerType>(loop.getStep().getType()) && mayWrap(loop))
        countTrips(loop);
    });
  }
};

} // namespace

std::unique_ptr<Pass> createCountTripsPass() { return std::make_unique<CountTrips>(); }

void registerCountTripsPass() { registerPass(createCountTripsPass); }

} // namespace nereid::transforms
