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

// Of steps of three or more, the type of the bounds counts all that there can be.
bool countsInOwnType(scf::ForOp loop) {
  APInt step;
  return matchPattern(loop.getStep(), m_ConstantInt(&step)) && step.sgt(2);
}

void countTrips(scf::ForOp loop, bool isNarrow) {
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound(), step = loop.getStep();
  Type type = lower.getType();
  Type counter = isNarrow && countsInOwnType(loop) ? type : b.getI64Type();
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
  if (type != counter)
    count = b.create<arith::ExtUIOp>(loc, counter, count);

  Value trip = loop.getInductionVar();
  trip.setType(counter);
  loop.setLowerBound(constant(counter, 0));
  loop.setUpperBound(count);
  loop.setStep(constant(counter, 1));
  b.setInsertionPointToStart(loop.getBody());
  Operation *first = nullptr;
  Value steps = trip;
  if (type != counter) {
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

  explicit CountTrips(bool isNarrow = false) { narrow = isNarrow; }
  CountTrips(const CountTrips &other) : PassWrapper(other) { narrow = other.narrow; }

  Option<bool> narrow{*this, "narrow", llvm::cl::desc("count in the type of the bounds if it fits"),
                      llvm::cl::init(false)};

  StringRef getArgument() const final { return "tile-count-trips"; }
  StringRef getDescription() const final {
    return "loops whose variable may wrap around count their trips";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect>();
  }
  void runOnOperation() override {
    getOperation()->walk([&](scf::ForOp loop) {
      if (isa<IntegerType>(loop.getStep().getType()) && mayWrap(loop))
        countTrips(loop, narrow);
    });
  }
};

} // namespace

std::unique_ptr<Pass> createCountTripsPass(bool narrow) {
  return std::make_unique<CountTrips>(narrow);
}

} // namespace nereid::transforms
