#include "cpu/LaneOffsets.h"

#include "analysis/Widening.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::cpu {

using Offsets = std::optional<SmallVector<int64_t>>;

static int64_t bytesOfUnit(Type type) {
  auto pointer = dyn_cast<tile::PtrType>(tile::elementType(type));
  return pointer ? tile::bytesInMemory(pointer.getPointee()) : 1;
}

static Offsets combine(Offsets a, Offsets b, llvm::function_ref<int64_t(int64_t, int64_t)> with) {
  if (!a || !b)
    return {};
  for (auto [x, y] : llvm::zip(*a, *b))
    x = with(x, y);
  return a;
}

Offsets laneOffsets(Value tile, const Lanes &where, LaneEmitter &emitter) {
  auto steps = [&](auto at) {
    SmallVector<int64_t> out;
    for (int64_t lane = 0; lane < where.width; ++lane)
      out.push_back(at(lane));
    return out;
  };
  if (!isa<RankedTensorType>(tile.getType()) || where.width == 1)
    return steps([](int64_t) { return int64_t(0); });
  if (auto step = emitter.stepInRun(tile)) {
    int64_t unit = *step * bytesOfUnit(tile.getType());
    return steps([&](int64_t lane) { return lane * unit; });
  }
  tile::AxisFacts facts = emitter.axes.facts(tile);
  int64_t constancy = facts.constancy[where.dim], contiguity = facts.contiguity[where.dim];
  if (constancy >= where.width)
    return steps([](int64_t) { return int64_t(0); });
  if (contiguity >= where.width) {
    int64_t unit = bytesOfUnit(tile.getType());
    return steps([&](int64_t lane) { return lane * unit; });
  }
  Operation *op = tile.getDefiningOp();
  if (!op || analysis::widensWrapped(op))
    return {};
  auto of = [&](unsigned operand) { return laneOffsets(op->getOperand(operand), where, emitter); };
  auto constantOf = [&](unsigned operand) {
    return emitter.axes.facts(op->getOperand(operand)).constant;
  };
  if (isa<tile::BroadcastOp, tile::ExpandDimsOp>(op)) {
    Lanes inside = emitter.inOperand(op, where);
    if (inside.width != where.width)
      return steps([](int64_t) { return int64_t(0); });
    return laneOffsets(op->getOperand(0), inside, emitter);
  }
  if (isa<tile::HintOp, arith::ExtSIOp, arith::ExtUIOp>(op))
    return of(0);
  if (isa<arith::AddIOp>(op))
    return combine(of(0), of(1), [](int64_t a, int64_t b) { return a + b; });
  if (isa<arith::SubIOp>(op))
    return combine(of(0), of(1), [](int64_t a, int64_t b) { return a - b; });
  if (isa<tile::AddPtrOp>(op)) {
    int64_t unit = bytesOfUnit(tile.getType());
    return combine(of(0), of(1), [&](int64_t a, int64_t b) { return a + b * unit; });
  }
  if (isa<arith::MulIOp>(op) && (constantOf(0) || constantOf(1))) {
    bool second = bool(constantOf(1));
    int64_t factor = *constantOf(second);
    Offsets out = of(!second);
    return combine(out, out, [&](int64_t a, int64_t) { return a * factor; });
  }
  auto amount = op->getNumOperands() == 2 ? constantOf(1) : std::nullopt;
  if (!amount || *amount < 0)
    return {};
  if (isa<tile::ShLOp>(op) && *amount < 31) {
    Offsets out = of(0);
    return combine(out, out, [&](int64_t a, int64_t) { return a * (int64_t(1) << *amount); });
  }
  // Of adjacent numbers: AxisAnalysis has told whether the lanes begin where a quotient does, and
  // that signs do no harm.
  bool isQuotient = isa<tile::DivSIOp, tile::DivUIOp, tile::ShRSOp, tile::ShRUOp>(op);
  bool isRest = isa<tile::RemSIOp, tile::RemUIOp>(op);
  if (emitter.axes.facts(op->getOperand(0)).contiguity[where.dim] < where.width)
    return {};
  int64_t divisor = isa<tile::ShRSOp, tile::ShRUOp>(op) ? int64_t(1) << *amount : *amount;
  if (isQuotient && constancy == divisor)
    return steps([&](int64_t lane) { return lane / divisor; });
  if (isRest && contiguity == divisor)
    return steps([&](int64_t lane) { return lane % divisor; });
  return {};
}

std::optional<NearLanes> NearLanes::find(ArrayRef<int64_t> offsets, Type element) {
  constexpr int64_t leastLanes = 8, mostVectors = 4;
  int64_t bytes = tile::bytesInMemory(element);
  auto [low, high] = std::minmax_element(offsets.begin(), offsets.end());
  NearLanes out;
  if (element.isInteger(1) || int64_t(offsets.size()) < leastLanes || *low % bytes)
    return {};
  out.least = *low / bytes;
  out.extent = *high / bytes - out.least + 1;
  if (out.extent > mostVectors * int64_t(offsets.size()))
    return {};
  for (int64_t offset : offsets) {
    if (offset % bytes)
      return {};
    out.places.push_back(offset / bytes - out.least);
  }
  return out;
}

std::optional<NearLanes> NearLanes::everyNth(int64_t stride, int64_t lanes, Type element) {
  SmallVector<int64_t> offsets;
  for (int64_t lane = 0; lane < lanes; ++lane)
    offsets.push_back(lane * stride * tile::bytesInMemory(element));
  return find(offsets, element);
}

// The last part may begin within the one before: none reaches beyond the elements.
void NearLanes::forEachPart(llvm::function_ref<void(int64_t, int64_t)> body) const {
  int64_t width = std::min<int64_t>(places.size(), llvm::bit_floor(uint64_t(extent)));
  for (int64_t begin = 0; begin < extent; begin += width)
    body(std::min(begin, extent - width), width);
}

bool NearLanes::allDiffer() const {
  llvm::SmallDenseSet<int64_t> all(places.begin(), places.end());
  return all.size() == places.size();
}

bool NearLanes::takesMasks(Type element, const LaneEmitter &emitter) const {
  constexpr int64_t mostAtOnePlace = 4;
  llvm::SmallDenseMap<int64_t, int64_t> count;
  return (emitter.processor.vectorBytes == 64 || tile::bytesInMemory(element) >= 4) &&
         llvm::all_of(places, [&](int64_t place) { return ++count[place] <= mostAtOnePlace; });
}

// An element of the part is on if it was not `covered` before and one of its lanes is on.
Value NearLanes::maskOfPart(Value mask, int64_t begin, int64_t width, int64_t covered,
                            LaneEmitter &emitter) const {
  auto lanes = int32_t(places.size());
  Value off = emitter.zero(mask.getType()), out;
  SmallVector<bool> taken(places.size(), false);
  for (bool more = true; more;) {
    more = false;
    SmallVector<int32_t> from(width, lanes); // the first lane of `off`
    for (auto [lane, place] : llvm::enumerate(places)) {
      if (taken[lane] || place < std::max(covered, begin) || place >= begin + width)
        continue;
      int32_t &slot = from[place - begin];
      more |= slot != lanes;
      if (slot != lanes)
        continue;
      slot = int32_t(lane);
      taken[lane] = true;
    }
    Value some = width == 1 ? emitter.extract(from[0] == lanes ? off : mask, from[0] % lanes)
                            : emitter.shuffle(mask, off, from);
    out = out ? emitter.builder.create<arith::OrIOp>(emitter.loc(), out, some).getResult() : some;
  }
  return out;
}

static Value at(LaneEmitter &emitter, Value first, int64_t element, Type type) {
  return element ? emitter.elementAddress(first, emitter.index(element), type) : first;
}

Value NearLanes::load(Value first, Type element, Value mask, bool isVolatile,
                      LaneEmitter &emitter) const {
  Value out;
  int64_t covered = 0, lanes = int64_t(places.size());
  forEachPart([&](int64_t begin, int64_t width) {
    Value on = mask ? maskOfPart(mask, begin, width, covered, emitter) : Value();
    Value part = emitter.loadElements(at(emitter, first, least + begin, element), element, width,
                                      on, {}, isVolatile);
    // What is before `covered` is there.
    SmallVector<int32_t> widen, take;
    for (int64_t place : places) {
      bool here = place >= covered && place < begin + width;
      widen.push_back(here ? int32_t(place - begin) : out ? -1 : 0);
      take.push_back(int32_t(take.size() + (here ? lanes : 0)));
    }
    if (width == 1)
      part = emitter.splat(part, lanes);
    else if (!out || width != lanes)
      part = emitter.shuffle(part, part, widen);
    else
      for (auto [taken, from] : llvm::zip(take, widen))
        taken = from < 0 ? taken : int32_t(lanes + from);
    out = out ? emitter.shuffle(out, part, take) : part;
    covered = begin + width;
  });
  return out;
}

void NearLanes::store(Value first, Type element, Value value, Value mask,
                      LaneEmitter &emitter) const {
  int64_t covered = 0;
  OpBuilder &b = emitter.builder;
  forEachPart([&](int64_t begin, int64_t width) {
    SmallVector<int32_t> lanes(width, -1);
    SmallVector<bool> taken(width, false);
    for (auto [lane, place] : llvm::enumerate(places))
      if (place >= std::max(covered, begin) && place < begin + width) {
        lanes[place - begin] = int32_t(lane);
        taken[place - begin] = true;
      }
    Value part = emitter.shuffle(value, value, lanes), which;
    if (mask)
      which = maskOfPart(mask, begin, width, covered, emitter);
    else if (!llvm::all_of(taken, [](bool on) { return on; }))
      which = b.create<arith::ConstantOp>(
          emitter.loc(), DenseElementsAttr::get(VectorType::get({width}, b.getI1Type()), taken));
    covered = begin + width;
    emitter.storeElements(at(emitter, first, least + begin, element), element, width, part, which);
  });
}

} // namespace nereid::cpu
