#include "gpu/ProductOperand.h"

#include "gpu/ProductLayouts.h"
#include "gpu/Rings.h"

using namespace mlir;

namespace nereid::gpu {

Value wordOf(RegisterEmitter &e, ArrayRef<Value> elements) {
  OpBuilder &b = e.builder;
  if (elements.size() == 1)
    return e.cast(elements[0], b.getI32Type());
  return b.create<LLVM::BitcastOp>(e.loc(), b.getI32Type(), e.vectorOf(elements));
}

ProductOperand::ProductOperand(RegisterEmitter &e, tile::DotOp dot, unsigned number,
                               const LinearLayout &fragments)
    : e(e), tile(dot->getOperand(number)), fragments(fragments), along(1 - number),
      index(fragments, tile::shapeOf(tile.getType())),
      element(registerType(tile::elementType(tile.getType()))),
      perWord(32 / element.getIntOrFloatBitWidth()) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (number == 0 && slotOfWords(dot))
    return;
  if (auto slot = slotOperand(tile); slot && readsInPlace(dot, number, slot->shared)) {
    shared = slot->shared;
    base = e.slotAddress(slot->slot.getRing(), slot->slot.getSlot(), shared->bytes());
  } else if (layoutOf(type) != fragments) {
    // Where the instruction can't turn it over, it is written as it is read.
    shared = SharedOperand(type);
    if (perWord != 2 || !readsInPlace(dot, number, *shared))
      shared = SharedOperand(type.getShape(), along, 4 / perWord);
    findWritten();
  }
}

void ProductOperand::write(Value at) {
  if (!sharedBytes())
    return;
  base = at;
  shared->write(e, base, layoutOf(tile.getType()), e.registers(tile));
  if (auto source = untransposed(tile))
    e.noteWritten(source->first, majorOf(source->second), base);
  isWritten = true;
}

SmallVector<Value> ProductOperand::words(ArrayRef<int32_t> at, unsigned count) {
  unsigned first = index.at(at);
  SmallVector<Value> out;
  for (unsigned reg = first; reg < first + perWord * count; reg += perWord) {
    SmallVector<Value> elements;
    for (unsigned i = 0; i < perWord; ++i)
      elements.push_back(elementAt(reg + i));
    out.push_back(wordOf(e, elements));
  }
  return out;
}

// A product of the same step may have written it; turned over it is the same in memory.
void ProductOperand::findWritten() {
  auto source = untransposed(tile);
  auto known = source ? e.writtenOperand(source->first, majorOf(source->second)) : std::nullopt;
  if (!known)
    return;
  base = known->base;
  writtenBefore = known->use;
  isWritten = true;
}

Value ProductOperand::elementAt(unsigned reg) {
  if (!shared)
    return e.registers(tile)[reg];
  if (!shared->canReadFragments(fragments, along)) {
    if (all.empty())
      all = shared->read(e, base, fragments, element);
    return all[reg];
  }
  unsigned group = std::min(4 * perWord, registersOf(fragments)), first = reg / group * group;
  auto [found, fresh] = loaded.try_emplace(first);
  if (fresh)
    found->second = shared->readFragments(e, base, fragments, along, first, element);
  return found->second[reg - first];
}

void writeOperands(RegisterEmitter &e, ProductOperand &lhs, ProductOperand &rhs, StringRef fence) {
  uint64_t left = lhs.sharedBytes(), right = rhs.sharedBytes();
  if (!left && !right)
    return;
  OpBuilder &b = e.builder;
  Value base = e.beginShared(left + right);
  lhs.write(base);
  rhs.write(b.create<LLVM::GEPOp>(e.loc(), base.getType(), b.getI8Type(), base,
                                  ArrayRef<LLVM::GEPArg>{int32_t(left)}));
  if (!fence.empty())
    e.assembly(fence, "~{memory}", {}, {}, false);
  e.barrier();
}

} // namespace nereid::gpu
