#include "ref/CheckValues.h"

#include "ir/OpKinds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace nereid::ref {

// --- what can reach an address ---

static bool isIntegerLike(Type type) {
  return isa<IntegerType, IndexType, tile::PtrType, tile::DescType>(tile::elementType(type));
}

// Calls visit(value) for the operands that the result or block argument `value` may be made of.
static void forSources(Value value, llvm::function_ref<void(Value)> visit) {
  Operation *op = value.getDefiningOp();
  if (!op)
    op = value.getParentBlock()->getParentOp();
  if (isa<func::FuncOp>(op))
    return;
  for (Value operand : op->getOperands())
    visit(operand);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Value yielded : block.getTerminator()->getOperands())
        visit(yielded);
}

void ValueWatch::findAddressed(func::FuncOp kernel) {
  SmallVector<Value> work;
  auto add = [&](Value value) {
    if (isIntegerLike(value.getType()) && addressed.insert(value).second)
      work.push_back(value);
  };
  kernel.walk([&](tile::MemoryAccessOpInterface op) {
    add(op.getAccessed());
    // The offsets of a block.
    if (isa<tile::DescType>(op.getAccessed().getType()))
      for (Value operand : op->getOperands())
        add(operand);
  });
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (op && isa<tile::MemoryAccessOpInterface, arith::CmpIOp, arith::CmpFOp>(op))
      continue;
    if (op && isa<arith::ExtUIOp, arith::IndexCastUIOp>(op))
      readsUnsigned |= !tile::elementType(op->getOperand(0).getType()).isInteger(1);
    if (auto addPtr = dyn_cast_or_null<tile::AddPtrOp>(op))
      readsUnsigned |= addPtr.getIsUnsigned();
    forSources(value, add);
  }
}

// Which arguments a pointer may come from; false if it may come from elsewhere.
static bool findRoots(Value pointer, std::vector<bool> &arguments) {
  llvm::DenseSet<Value> seen{pointer};
  SmallVector<Value> work{pointer};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && isa<func::FuncOp>(argument.getOwner()->getParentOp())) {
      arguments[argument.getArgNumber()] = true;
      continue;
    }
    if (op && isa<tile::IntToPtrOp, tile::MemoryAccessOpInterface>(op))
      return false;
    bool hasSource = false;
    forSources(value, [&](Value source) {
      if (!isa<tile::PtrType, tile::DescType>(tile::elementType(source.getType())))
        return;
      hasSource = true;
      if (seen.insert(source).second)
        work.push_back(source);
    });
    if (!hasSource)
      return false;
  }
  return true;
}

ValueWatch::ValueWatch(func::FuncOp kernel) {
  findAddressed(kernel);
  auto found = std::make_shared<CheckFacts>(kernel.getLoc());
  found->written.assign(kernel.getNumArguments(), false);
  kernel.walk([&](tile::MemoryAccessOpInterface op) {
    if (op.writesMemory() && !findRoots(op.getAccessed(), found->written))
      found->writesAnywhere = true;
  });
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
    if (auto divisibility = kernel.getArgAttrOfType<IntegerAttr>(i, tile::divisibilityAttr)) {
      auto name = kernel.getArgAttrOfType<StringAttr>(i, tile::argNameAttr);
      found->promises.push_back({i, divisibility.getInt(), name ? name.str() : std::to_string(i)});
    }
  facts = std::move(found);
}

// --- tags ---

namespace {

/// The tags of a slot, as integers of the element's width. Constants have none.
template <typename T> struct Tags {
  T *at;
  Tags(Frame &frame, const Slot &slot)
      : at(slot.constant ? nullptr : reinterpret_cast<T *>(frame.check->tags.get() + slot.offset)) {
  }
  T operator[](uint32_t i) const { return at ? at[i] : T(0); }
};

/// The two halves of the tag of an integer of type T.
template <typename T> struct Halves {
  static constexpr unsigned bits = 4 * sizeof(T);
  static constexpr T mask = T((uint64_t(1) << bits) - 1);
  static T signedOf(T tag) { return T(tag & mask); }
  static T unsignedOf(T tag) { return T(tag >> bits); }
  /// A tag that does not fit is dropped: better to miss than to name a wrong place.
  static T join(uint64_t asSigned, uint64_t asUnsigned) {
    return T((asSigned > mask ? 0 : asSigned) | (asUnsigned > mask ? 0 : asUnsigned) << bits);
  }
};

void clearTags(Frame &frame, const Slot &slot) {
  if (!slot.constant)
    std::memset(frame.check->tags.get() + slot.offset, 0, slot.bytes());
}

template <typename T> bool isNaN(T value) { return std::isnan(widen(value)); }
inline bool isNaN(F16 value) { return (value.bits & 0x7fff) > 0x7c00; }
inline bool isNaN(BF16 value) { return (value.bits & 0x7fff) > 0x7f80; }

bool anyNaN(Frame &frame, const Slot &slot) {
  return dispatchFloat<true>(slot.storage, [&]<typename T>() {
    const T *values = frame.data<T>(slot);
    bool any = false;
    for (uint32_t i = 0; i < slot.count; ++i)
      any |= isNaN(values[i]);
    return any;
  });
}
bool nanAt(Frame &frame, const Slot &slot, uint32_t i) {
  return dispatchFloat<true>(slot.storage,
                             [&]<typename T>() { return isNaN(frame.data<T>(slot)[i]); });
}
/// The tag of element i, a NaN or not, of a float slot.
uint64_t floatTag(Frame &frame, const Slot &slot, uint32_t i) {
  return dispatchWidth(slot.storage,
                       [&]<typename T>() -> uint64_t { return Tags<T>(frame, slot)[i]; });
}

// --- NaN ---

/// Looks whether an operand already was NaN where the result is: its tag, 0 for one that came from
/// memory, nothing if no operand was.
using FindNaN = std::function<std::optional<uint64_t>(Frame &, uint32_t element)>;

/// The first NaN of some elements of a slot.
std::optional<uint64_t> firstNaN(Frame &frame, const Slot &slot, uint32_t begin, uint32_t count,
                                 uint32_t stride = 1) {
  for (uint32_t k = 0; k < count; ++k)
    if (nanAt(frame, slot, begin + k * stride))
      return floatTag(frame, slot, begin + k * stride);
  return {};
}

Step watchNaN(Step step, Slot out, FindNaN find) {
  return [step = std::move(step), out, find = std::move(find)](Frame &frame) {
    step(frame);
    if (!anyNaN(frame, out))
      return;
    Checker &checker = *frame.machine.checker;
    checker.taint(frame);
    uint32_t here = 0;
    dispatchWidth(out.storage, [&]<typename T>() {
      T *tags = Tags<T>(frame, out).at;
      for (uint32_t i = 0; i < out.count; ++i) {
        if (!nanAt(frame, out, i))
          continue;
        std::optional<uint64_t> known = find(frame, i);
        if (!known && !here)
          here = checker.originHere(frame, Checker::Origin::NaN);
        uint64_t tag = known ? *known : here;
        tags[i] = tag > T(~T(0)) ? T(0) : T(tag);
      }
    });
  };
}

FindNaN amongOperands(SmallVector<Slot> operands) {
  return [operands = std::move(operands)](Frame &frame, uint32_t i) -> std::optional<uint64_t> {
    for (const Slot &operand : operands)
      if (uint32_t at = operand.count == 1 ? 0 : i; nanAt(frame, operand, at))
        return floatTag(frame, operand, at);
    return {};
  };
}

FindNaN alongAxis(SmallVector<Slot> sources, ArrayRef<int64_t> shape, unsigned axis, bool isScan) {
  uint32_t extent = shape[axis], inner = 1;
  for (int64_t size : shape.drop_front(axis + 1))
    inner *= size;
  return [=](Frame &frame, uint32_t i) -> std::optional<uint64_t> {
    uint32_t outer = isScan ? i / (inner * extent) : i / inner;
    for (const Slot &source : sources)
      if (auto tag = firstNaN(frame, source, outer * extent * inner + i % inner, extent, inner))
        return tag;
    return {};
  };
}

FindNaN amongFactors(tile::DotOp op, Decoder &d) {
  Slot lhs = d.slot(op.getLhs()), rhs = d.slot(op.getRhs()), acc = d.slot(op.getAcc());
  auto shape = tile::shapeOf(op.getType());
  uint32_t m = shape[shape.size() - 2], n = shape.back(),
           k = tile::shapeOf(op.getLhs().getType()).back();
  return [=](Frame &frame, uint32_t i) -> std::optional<uint64_t> {
    uint32_t batch = i / (m * n), row = i / n % m, column = i % n;
    if (nanAt(frame, acc, i))
      return floatTag(frame, acc, i);
    if (isFloat(lhs.storage))
      if (auto tag = firstNaN(frame, lhs, (batch * m + row) * k, k))
        return tag;
    if (isFloat(rhs.storage))
      if (auto tag = firstNaN(frame, rhs, batch * k * n + column, k, n))
        return tag;
    return {};
  };
}

// --- integers ---

/// How the tags of an op's integers make the tags of its result.
enum class IntegerRule : uint8_t {
  Clear,  ///< the result is within bounds whatever the operands, or comes from elsewhere
  Merge,  ///< wrong if an operand is
  Choose, ///< the result is one of the operands
  Add,    ///< Merge, and the op itself may wrap
  Subtract,
  Multiply,
  ShiftLeft,
};

IntegerRule ruleOf(Operation *op) {
  using R = IntegerRule;
  return llvm::TypeSwitch<Operation *, R>(op)
      .Case<arith::AddIOp>([](auto) { return R::Add; })
      .Case<arith::SubIOp>([](auto) { return R::Subtract; })
      .Case<arith::MulIOp>([](auto) { return R::Multiply; })
      .Case<arith::ShLIOp, tile::ShLOp>([](auto) { return R::ShiftLeft; })
      .Case<arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp>(
          [](auto) { return R::Choose; })
      .Case<arith::OrIOp, arith::XOrIOp, arith::DivSIOp, tile::DivSIOp, arith::DivUIOp,
            tile::DivUIOp, arith::ShRSIOp, tile::ShRSOp>([](auto) { return R::Merge; })
      // A remainder, a mask or the upper bits of a hash are meant to bring it back into bounds.
      .Default([](auto) { return R::Clear; });
}

const char *signOf(IntegerRule rule) {
  switch (rule) {
  case IntegerRule::Add:
    return "+";
  case IntegerRule::Subtract:
    return "-";
  case IntegerRule::Multiply:
    return "*";
  default:
    return "<<";
  }
}

// True if `z`, of at most 32 bits, is not what the op gives in unbounded integers.
template <typename I>
bool wraps(IntegerRule rule, typename I::Unsigned x, typename I::Unsigned y, typename I::Unsigned z,
           bool asSigned) {
  auto read = [&](typename I::Unsigned value) {
    return asSigned ? I::sext(value) : int64_t(I::zext(value));
  };
  switch (rule) {
  case IntegerRule::Add:
    return read(x) + read(y) != read(z);
  case IntegerRule::Subtract:
    return read(x) - read(y) != read(z);
  case IntegerRule::Multiply:
    return asSigned ? read(x) * read(y) != read(z) : I::zext(x) * I::zext(y) != I::zext(z);
  default: // the amount of a shift is unsigned
    return I::zext(y) >= I::bits ? x != 0 : int64_t(uint64_t(read(x)) << I::zext(y)) != read(z);
  }
}

template <typename I>
Step watchArithmetic(Step step, Slot a, Slot b, Slot out, IntegerRule rule, bool readsUnsigned) {
  using U = typename I::Unsigned;
  return [=](Frame &frame) {
    step(frame);
    const U *x = frame.data<U>(a), *y = frame.data<U>(b), *z = frame.data<U>(out);
    auto wrapsAt = [&](uint32_t i, bool asSigned) {
      return (asSigned || readsUnsigned) && wraps<I>(rule, x[i], y[i], z[i], asSigned);
    };
    bool any = false;
    for (uint32_t i = 0; i < out.count; ++i)
      any |= wrapsAt(i, true) || wrapsAt(i, false);
    if (!any && !frame.check->tags)
      return;
    Checker &checker = *frame.machine.checker;
    checker.taint(frame);
    uint32_t here = any ? checker.originHere(frame, Checker::Origin::Overflow) : 0;
    Tags<U> left(frame, a), right(frame, b);
    U *tags = Tags<U>(frame, out).at;
    using H = Halves<U>;
    for (uint32_t i = 0; i < out.count; ++i) {
      uint64_t s = H::signedOf(left[i]), u = H::unsignedOf(left[i]);
      s = s ? s : H::signedOf(right[i]);
      u = u ? u : H::unsignedOf(right[i]);
      bool wrapsSigned = wrapsAt(i, true), wrapsUnsigned = wrapsAt(i, false);
      if (wrapsSigned || wrapsUnsigned) {
        // An operand that had gone wrong before is to blame for what follows.
        s = s ? s : wrapsSigned ? here : 0;
        u = u ? u : wrapsUnsigned ? here : 0;
        Checker::Origin &origin = *checker.origin(here, Checker::Origin::Overflow);
        if (std::exchange(origin.program, frame.check->program) != frame.check->program) {
          origin.operation = signOf(rule);
          origin.left = wrapsSigned ? I::sext(x[i]) : int64_t(I::zext(x[i]));
          origin.right = wrapsSigned ? I::sext(y[i]) : int64_t(I::zext(y[i]));
          origin.bits = I::bits;
        }
      }
      tags[i] = H::join(s, u);
    }
  };
}

template <typename U> Step watchMerge(Step step, Slot a, Slot b, Slot out, bool choose) {
  return [=](Frame &frame) {
    step(frame);
    if (!frame.check->tags)
      return;
    using H = Halves<U>;
    Tags<U> left(frame, a), right(frame, b);
    U *tags = Tags<U>(frame, out).at;
    const U *x = frame.data<U>(a), *z = frame.data<U>(out);
    for (uint32_t i = 0; i < out.count; ++i) {
      U l = left[i], r = right[i];
      if (choose)
        tags[i] = z[i] == x[i] ? l : r;
      else
        tags[i] = H::join(H::signedOf(l) ? H::signedOf(l) : H::signedOf(r),
                          H::unsignedOf(l) ? H::unsignedOf(l) : H::unsignedOf(r));
    }
  };
}

// A number that has wrapped stays wrong in a wider type, whichever way it is read from there on.
Step watchResize(Step step, Slot in, Slot out, bool asUnsigned) {
  return dispatchWidth(in.storage, [&]<typename From>() -> Step {
    return dispatchWidth(out.storage, [&]<typename To>() -> Step {
      return [=](Frame &frame) {
        step(frame);
        if (!frame.check->tags)
          return;
        Tags<From> from(frame, in);
        To *to = Tags<To>(frame, out).at;
        for (uint32_t i = 0; i < out.count; ++i) {
          uint64_t s = Halves<From>::signedOf(from[i]), u = Halves<From>::unsignedOf(from[i]);
          if (sizeof(To) > sizeof(From))
            s = u = asUnsigned ? u : s;
          to[i] = Halves<To>::join(s, u);
        }
      };
    });
  });
}

Step watchAddPtr(tile::AddPtrOp op, Step step, Decoder &d) {
  Slot pointer = d.slot(op.getPointer()), offset = d.slot(op.getOffset()), out = d.slot(op);
  return dispatchWidth(offset.storage, [&]<typename U>() -> Step {
    return [=, isUnsigned = op.getIsUnsigned()](Frame &frame) {
      step(frame);
      if (!frame.check->tags)
        return;
      Tags<uint64_t> base(frame, pointer);
      Tags<U> by(frame, offset);
      uint64_t *tags = Tags<uint64_t>(frame, out).at;
      for (uint32_t i = 0; i < out.count; ++i) {
        U tag = isUnsigned ? Halves<U>::unsignedOf(by[i]) : Halves<U>::signedOf(by[i]);
        tags[i] = base[i] ? base[i] : Halves<uint64_t>::join(tag, tag);
      }
    };
  });
}

Step watchSelect(arith::SelectOp op, Step step, Decoder &d) {
  Slot condition = d.slot(op.getCondition()), a = d.slot(op.getTrueValue()),
       b = d.slot(op.getFalseValue()), out = d.slot(op);
  if (out.storage == Storage::Descriptor)
    return step;
  return dispatchWidth(out.storage, [&]<typename T>() -> Step {
    return [=](Frame &frame) {
      step(frame);
      if (!frame.check->tags)
        return;
      const auto *choose = frame.data<uint8_t>(condition);
      Tags<T> x(frame, a), y(frame, b);
      T *tags = Tags<T>(frame, out).at;
      for (uint32_t i = 0; i < out.count; ++i)
        tags[i] = choose[condition.count == 1 ? 0 : i] ? x[i] : y[i];
    };
  });
}

Step clearing(Step step, SmallVector<Slot> results) {
  return [step = std::move(step), results = std::move(results)](Frame &frame) {
    step(frame);
    if (frame.check->tags)
      for (const Slot &result : results)
        clearTags(frame, result);
  };
}

// Only scalars: a tile may divide by zero in lanes that nobody looks at.
Step watchDivision(Step step, Slot divisor) {
  return dispatchInt(divisor.storage, [&]<typename I>() -> Step {
    return [=](Frame &frame) {
      if (frame.scalar<typename I::Unsigned>(divisor) == 0)
        frame.machine.checker->divisionByZero(frame);
      step(frame);
    };
  });
}

bool isDivision(Operation *op) {
  return tile::isDivision(op) ||
         isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op);
}

} // namespace

// --- steps ---

Step ValueWatch::moving(Step copies) {
  if (!copies)
    return copies;
  return [copies = std::move(copies)](Frame &frame) {
    copies(frame);
    if (frame.check->tags)
      frame.runOn(frame.check->tags.get(), frame.machine.checker->noTags(), copies);
  };
}

Step ValueWatch::enter(Block &block, Decoder &d) {
  auto loop = dyn_cast_or_null<scf::ForOp>(block.getParentOp());
  if (!loop || !reachesAddress(loop.getInductionVar()))
    return {};
  Slot variable = d.slot(loop.getInductionVar()), low = d.slot(loop.getLowerBound());
  return dispatchWidth(variable.storage, [&]<typename U>() -> Step {
    return [=](Frame &frame) {
      if (frame.check->tags)
        *Tags<U>(frame, variable).at = Tags<U>(frame, low)[0];
    };
  });
}

Step ValueWatch::watchInteger(Operation *op, Step step, Decoder &d) {
  if (auto addPtr = dyn_cast<tile::AddPtrOp>(op))
    return watchAddPtr(addPtr, std::move(step), d);
  Slot out = d.slot(op->getResult(0));
  if (isa<tile::IntToPtrOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp,
          arith::IndexCastUIOp>(op))
    return watchResize(std::move(step), d.slot(op->getOperand(0)), out,
                       isa<arith::ExtUIOp, arith::IndexCastUIOp>(op));
  IntegerRule rule = ruleOf(op);
  if (rule == IntegerRule::Clear || op->getNumOperands() != 2)
    return clearing(std::move(step), {out});
  Slot a = d.slot(op->getOperand(0)), b = d.slot(op->getOperand(1));
  bool mayWrap =
      rule >= IntegerRule::Add && out.storage >= Storage::I8 && out.storage <= Storage::I32;
  if (mayWrap)
    return dispatchInt(out.storage, [&]<typename I>() -> Step {
      if constexpr (I::bits == 1 || I::bits == 64)
        return {};
      else
        return watchArithmetic<I>(std::move(step), a, b, out, rule, readsUnsigned);
    });
  return dispatchWidth(out.storage, [&]<typename U>() -> Step {
    return watchMerge<U>(std::move(step), a, b, out, rule == IntegerRule::Choose);
  });
}

Step ValueWatch::watchMemory(Operation *op, Step step, Decoder &d) {
  auto access = cast<tile::MemoryAccessOpInterface>(op);
  Value accessed = access.getAccessed();
  bool isBlock = isa<tile::DescType>(accessed.getType());
  // Integers that make up the address: the pointers, or the offsets of the block.
  SmallVector<Slot> integers, results;
  Value stored;
  for (Value operand : op->getOperands()) {
    bool isOffset = isBlock && isIntegerLike(operand.getType()) && operand != accessed;
    if (auto store = dyn_cast<tile::DescStoreOp>(op))
      isOffset &= operand != store.getValue();
    if (operand == accessed ? !isBlock : isOffset)
      integers.push_back(d.slot(operand));
    if (isFloat(d.slot(operand).storage) && access.writesMemory())
      stored = operand; // of two, compare and value, the last
  }
  for (Value result : op->getResults())
    results.push_back(d.slot(result));
  Value mask = access.getAccessMask();
  std::optional<Slot> active, value;
  if (mask)
    active = d.slot(mask);
  if (stored)
    value = d.slot(stored);
  std::vector<int64_t> shape(isBlock ? ArrayRef<int64_t>() : tile::shapeOf(accessed.getType()));
  std::vector<int64_t> storedShape;
  if (stored)
    storedShape.assign(tile::shapeOf(stored.getType()).begin(),
                       tile::shapeOf(stored.getType()).end());
  return [=, step = std::move(step)](Frame &frame) {
    FrameCheck &check = *frame.check;
    if (!check.tags)
      return step(frame);
    Checker &checker = *frame.machine.checker;
    auto isActive = [&](uint32_t i) {
      return !active || frame.data<uint8_t>(*active)[active->count == 1 ? 0 : i];
    };
    for (const Slot &slot : integers)
      dispatchWidth(slot.storage, [&]<typename U>() {
        Tags<U> tags(frame, slot);
        for (uint32_t i = 0; i < slot.count; ++i)
          if (auto *origin =
                  checker.origin(Halves<U>::signedOf(tags[i]), Checker::Origin::Overflow);
              origin && isActive(i))
            checker.overflowReachesMemory(frame, *origin, shape, i);
      });
    if (value && anyNaN(frame, *value))
      for (uint32_t i = 0; i < value->count; ++i)
        if (nanAt(frame, *value, i) && isActive(i))
          if (auto *origin = checker.origin(floatTag(frame, *value, i), Checker::Origin::NaN))
            checker.nanReachesMemory(frame, *origin, storedShape, i);
    check.addresses = isBlock ? nullptr : &integers[0];
    step(frame);
    check.addresses = nullptr;
    for (const Slot &result : results)
      clearTags(frame, result);
  };
}

// Threads give each other their elements here, and so wait for each other's loads.
static Step meeting(Step step) {
  return [step = std::move(step)](Frame &frame) {
    step(frame);
    frame.machine.checker->meet(frame);
  };
}

Step ValueWatch::watch(Operation *op, Step step, Decoder &d) {
  if (!step)
    return step;
  // Elements in a region of reduce, scan or map are looked at when the whole op is done.
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
    if (tile::hasElementRegion(parent))
      return step;
  if (isa<tile::MemoryAccessOpInterface>(op))
    return watchMemory(op, std::move(step), d);
  if (isa<tile::ReduceOp, tile::ScanOp, tile::DotOp, tile::DotScaledOp, tile::GatherOp,
          tile::HistogramOp>(op))
    step = meeting(std::move(step));
  if (isa<tile::SplatOp, tile::BroadcastOp, tile::TransOp, tile::JoinOp, tile::SplitOp,
          tile::CatOp>(op))
    return moving(std::move(step));
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return watchSelect(select, std::move(step), d);
  if (isa<scf::SCFDialect>(op->getDialect()) || op->getNumResults() == 0)
    return step; // their copies are watched
  if (isDivision(op) && !isa<RankedTensorType>(op->getResult(0).getType()))
    step = watchDivision(std::move(step), d.slot(op->getOperand(1)));

  SmallVector<Slot> floats, others;
  for (Value operand : op->getOperands())
    if (Slot slot = d.slot(operand); isFloat(slot.storage))
      floats.push_back(slot);
  for (Value result : op->getResults()) {
    Slot out = d.slot(result);
    if (out.storage == Storage::Descriptor)
      continue;
    if (!isFloat(out.storage)) {
      if (!reachesAddress(result))
        continue;
      if (op->getNumResults() == 1 && op->hasTrait<OpTrait::Elementwise>())
        return watchInteger(op, std::move(step), d);
      others.push_back(out);
      continue;
    }
    FindNaN find;
    if (auto reduce = dyn_cast<tile::ReduceOp>(op))
      find = alongAxis(floats, tile::shapeOf(reduce.getSources()[0].getType()), reduce.getAxis(),
                       false);
    else if (auto scan = dyn_cast<tile::ScanOp>(op))
      find = alongAxis(floats, tile::shapeOf(scan.getSources()[0].getType()), scan.getAxis(), true);
    else if (auto dot = dyn_cast<tile::DotOp>(op))
      find = amongFactors(dot, d);
    else if (op->hasTrait<OpTrait::Elementwise>() && !floats.empty())
      find = amongOperands(floats);
    else // gathered, packed, bits taken as a float: not made here
      find = [](Frame &, uint32_t) { return std::optional<uint64_t>(0); };
    step = watchNaN(std::move(step), out, std::move(find));
  }
  if (!others.empty())
    step = clearing(std::move(step), std::move(others));
  return step;
}

} // namespace nereid::ref
