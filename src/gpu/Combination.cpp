#include "gpu/Combination.h"

#include "gpu/LaneValue.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace nereid::gpu {

Tuple select(RegisterEmitter &emitter, Value condition, ArrayRef<Value> then,
             ArrayRef<Value> otherwise) {
  Tuple chosen;
  for (auto [x, y] : llvm::zip(then, otherwise))
    chosen.push_back(emitter.builder.create<LLVM::SelectOp>(emitter.loc(), condition, x, y));
  return chosen;
}

Tuple shuffleXor(RegisterEmitter &emitter, ArrayRef<Value> tuple, unsigned mask) {
  Tuple other;
  for (Value value : tuple)
    other.push_back(emitter.shuffleXor(value, mask));
  return other;
}

Tuple shuffleFrom(RegisterEmitter &emitter, ArrayRef<Value> tuple, Value lane) {
  Tuple other;
  for (Value value : tuple)
    other.push_back(emitter.shuffleFrom(value, lane));
  return other;
}

SmallVector<AxisBit> bitsAlong(const LinearLayout &layout, unsigned axis, LayoutInput input) {
  SmallVector<AxisBit> bits;
  for (auto [bit, basis] : llvm::enumerate(layout.bases(input)))
    if (basis[axis])
      bits.push_back({input, unsigned(bit), basis[axis]});
  return bits;
}

SmallVector<AxisBit> bitsInOrder(const LinearLayout &layout, unsigned axis) {
  SmallVector<AxisBit> bits;
  for (LayoutInput input : {LayoutInput::Register, LayoutInput::Lane, LayoutInput::Warp})
    llvm::append_range(bits, bitsAlong(layout, axis, input));
  llvm::sort(bits, [](const AxisBit &x, const AxisBit &y) { return x.distance < y.distance; });
  return bits;
}

Tuple Combination::combine(ArrayRef<Value> earlier, ArrayRef<Value> later) {
  Tuple both(earlier);
  both.append(later.begin(), later.end());
  return emitter.inlineRegion(combineBlock, both);
}

Tuple Combination::combineOrdered(ArrayRef<Value> mine, ArrayRef<Value> other, Value isLater) {
  return combine(select(emitter, isLater, other, mine), select(emitter, isLater, mine, other));
}

SharedArrays::SharedArrays(RegisterEmitter &emitter, ArrayRef<Type> elements, int64_t count)
    : emitter(emitter), elements(elements) {
  uint64_t size = 0;
  for (Type element : elements) {
    offsets.push_back(size);
    size = llvm::alignTo(size + count * tile::bytesInMemory(element), 16);
  }
  base = emitter.beginShared(size);
}

Value SharedArrays::address(unsigned i, Value index, int64_t further) {
  return moved(emitter.sharedAddress(array(i), elements[i], index),
               further * tile::bytesInMemory(elements[i]));
}

Tuple SharedArrays::load(Value index, int64_t further) {
  Tuple values;
  for (unsigned i = 0; i < elements.size(); ++i) {
    note("load", i, index);
    values.push_back(emitter.loadElement(address(i, index, further), elements[i]));
  }
  return values;
}

void SharedArrays::store(Value index, int64_t further, ArrayRef<Value> values) {
  for (unsigned i = 0; i < elements.size(); ++i) {
    note("store", i, index);
    emitter.storeElement(address(i, index, further), elements[i], values[i]);
  }
}

// An index that data tells has no banks to name.
void SharedArrays::note(const char *what, unsigned i, Value index) {
  std::array<int64_t, lanesPerWarp> indices;
  for (unsigned lane = 0; lane < lanesPerWarp; ++lane) {
    auto known = valueInLane(index, lane, emitter);
    if (!known)
      return;
    indices[lane] = *known;
  }
  unsigned bytes = tile::bytesInMemory(elements[i]);
  emitter.accesses.push_back(sharedAccess(emitter.loc(), what, bytes, 1, 1, [&](unsigned lane) {
    return int64_t(offsets[i]) + indices[lane] * bytes;
  }));
}

Value SharedArrays::moved(Value address, int64_t bytes) {
  return emitter.builder.create<LLVM::GEPOp>(emitter.loc(), address.getType(),
                                             emitter.builder.getI8Type(), address,
                                             ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
}

} // namespace nereid::gpu
