// tile.reduce, tile.scan, tile.map: regions applied to elements.
//
// A region made of elementwise ops runs on all lanes at once: for a reduction along an axis, on
// whole slices across it. Any other region runs a lane at a time. Elements are combined left to
// right.
#include "ref/Machine.h"
#include "ref/Models.h"

using namespace mlir;

namespace nereid::ref {
namespace {

bool runsOnLanes(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (op.getNumRegions() != 0 ||
        !(op.hasTrait<OpTrait::Elementwise>() || op.hasTrait<OpTrait::ConstantLike>()))
      return false;
    for (Type type : op.getResultTypes())
      if (isa<RankedTensorType>(type))
        return false;
  }
  return true;
}

/// Elements of a tile as seen from an axis: `outer` x `extent` x `inner`.
struct AxisView {
  uint32_t outer = 1, extent = 1, inner = 1;
  AxisView(ArrayRef<int64_t> shape, unsigned axis) : extent(shape[axis]) {
    for (int64_t size : shape.take_front(axis))
      outer *= size;
    for (int64_t size : shape.drop_front(axis + 1))
      inner *= size;
  }
  uint32_t lanes() const { return outer * inner; }
};

// Copies `count` lanes from `firstLane` on between slice k of a tile and `slice`.
template <bool ToSlice>
void moveSlice(Frame &frame, const AxisView &view, uint32_t k, Slot tile, Slot slice,
               uint32_t firstLane) {
  dispatchWidth(tile.storage, [&]<typename T>() {
    T *elements = frame.data<T>(tile), *lanes = frame.data<T>(slice);
    for (uint32_t i = 0; i < slice.count; ++i) {
      uint32_t lane = firstLane + i;
      T &element = elements[(lane / view.inner * view.extent + k) * view.inner + lane % view.inner];
      if constexpr (ToSlice)
        lanes[i] = element;
      else
        element = lanes[i];
    }
  });
}

/// A combine region and the slots of what it takes. What it gives replaces the left values.
struct Combine {
  Code code;
  SmallVector<Slot> left, right;
};

Combine decodeCombine(Block &block, unsigned lanes, Decoder &d) {
  unsigned values = block.getNumArguments() / 2;
  Combine combine;
  combine.code = d.decodeLanes(block, lanes, [&](Code &code) {
    SmallVector<Slot> to, from;
    for (unsigned i = 0; i < values; ++i) {
      to.push_back(d.slot(block.getArgument(i)));
      from.push_back(d.slot(block.getTerminator()->getOperand(i)));
    }
    if (Step step = d.copyAll(to, from)) {
      code.steps.push_back(std::move(step));
      code.places.push_back(d.place(block.getTerminator()->getLoc()));
    }
  });
  for (unsigned i = 0; i < values; ++i) {
    combine.left.push_back(d.slot(block.getArgument(i)));
    combine.right.push_back(d.slot(block.getArgument(values + i)));
  }
  return combine;
}

template <typename Op> Step decodeAlongAxis(Op op, Decoder &d) {
  constexpr bool isScan = std::is_same_v<Op, tile::ScanOp>;
  AxisView view(tile::shapeOf(op.getSources()[0].getType()), op.getAxis());
  SmallVector<Slot> sources, results;
  for (Value source : op.getSources())
    sources.push_back(d.slot(source));
  for (Value result : op.getResults())
    results.push_back(d.define(result));
  bool reverse = false;
  if constexpr (isScan)
    reverse = op.getReverse();
  Block &block = op.getCombine().front();
  uint32_t lanes = runsOnLanes(block) ? view.lanes() : 1;
  return [=, combine = decodeCombine(block, lanes, d)](Frame &frame) {
    uint32_t place = frame.place;
    for (uint32_t lane = 0; lane < view.lanes(); lane += lanes) {
      for (uint32_t step = 0; step < view.extent; ++step) {
        uint32_t k = reverse ? view.extent - 1 - step : step;
        const auto &into = step == 0 ? combine.left : combine.right;
        for (size_t i = 0; i < sources.size(); ++i)
          moveSlice<true>(frame, view, k, sources[i], into[i], lane);
        if (step != 0)
          frame.run(combine.code);
        if constexpr (isScan)
          for (size_t i = 0; i < results.size(); ++i)
            moveSlice<false>(frame, view, k, results[i], combine.left[i], lane);
      }
      if constexpr (!isScan)
        for (size_t i = 0; i < results.size(); ++i) {
          size_t width = widthOf(results[i].storage);
          std::memcpy(frame.data<std::byte>(results[i]) + lane * width,
                      frame.data<std::byte>(combine.left[i]), lanes * width);
        }
      frame.place = place;
    }
  };
}

Step decodeMap(tile::MapOp op, Decoder &d) {
  uint32_t pack = op.getPack(), groups = Decoder::countOf(op.getInputs()[0].getType()) / pack;
  SmallVector<Slot> inputs, outputs, arguments, yielded;
  for (Value input : op.getInputs())
    inputs.push_back(d.slot(input));
  for (Value output : op.getOutputs())
    outputs.push_back(d.define(output));
  Block &block = op.getBody().front();
  uint32_t lanes = runsOnLanes(block) ? groups : 1;
  // What the region yields is saved before its slots are given away.
  for (Value value : block.getTerminator()->getOperands())
    yielded.push_back(d.temporary(d.storageOf(value.getType()), lanes));
  Code code = d.decodeLanes(block, lanes, [&](Code &code) {
    SmallVector<Slot> from;
    for (Value value : block.getTerminator()->getOperands())
      from.push_back(d.slot(value));
    if (Step step = d.copyAll(yielded, from)) {
      code.steps.push_back(std::move(step));
      code.places.push_back(d.place(block.getTerminator()->getLoc()));
    }
  });
  for (BlockArgument argument : block.getArguments())
    arguments.push_back(d.slot(argument));
  // Element q of group g is element g * pack + q of a tile.
  auto move = [=](Frame &frame, Slot tile, Slot group, uint32_t q, uint32_t first, bool toGroup) {
    dispatchWidth(tile.storage, [&]<typename T>() {
      T *elements = frame.data<T>(tile), *of = frame.data<T>(group);
      for (uint32_t i = 0; i < lanes; ++i)
        if (toGroup)
          of[i] = elements[(first + i) * pack + q];
        else
          elements[(first + i) * pack + q] = of[i];
    });
  };
  return [=, code = std::move(code)](Frame &frame) {
    uint32_t place = frame.place;
    for (uint32_t first = 0; first < groups; first += lanes) {
      for (size_t i = 0; i < arguments.size(); ++i)
        move(frame, inputs[i / pack], arguments[i], i % pack, first, true);
      frame.run(code);
      for (size_t i = 0; i < yielded.size(); ++i)
        move(frame, outputs[i / pack], yielded[i], i % pack, first, false);
      frame.place = place;
    }
  };
}

} // namespace

void attachReductionModels(MLIRContext *c) {
  attach<tile::ReduceOp, decodeAlongAxis<tile::ReduceOp>>(c);
  attach<tile::ScanOp, decodeAlongAxis<tile::ScanOp>>(c);
  attach<tile::MapOp, decodeMap>(c);
}

} // namespace nereid::ref
