#include "gpu/SwizzledTile.h"

#include "gpu/CodeFacts.h"

#include "mlir/IR/MLIRContext.h"

#include "llvm/ADT/bit.h"

#include <algorithm>

using namespace mlir;

namespace nereid::gpu {

int32_t SwizzledTile::swizzled(int64_t place) const {
  int64_t out = place;
  for (unsigned bit = 0; bit < sources.size(); ++bit)
    out ^= int64_t(llvm::popcount(uint64_t(place & sources[bit])) & 1) << bit;
  return int32_t(out);
}

SwizzledTile::Side SwizzledTile::sideOf(ArrayRef<int64_t> shape, const LinearLayout &layout) const {
  constexpr unsigned widest = 16; // bytes of an access
  Side side{LinearLayout(1), 1};
  for (LayoutInput input : {LayoutInput::Register, LayoutInput::Lane, LayoutInput::Warp})
    for (const LinearLayout::Basis &basis : layout.bases(input))
      side.places.addBasis(input, {swizzled(rowMajor(basis, shape))});
  unsigned most =
      std::min(std::max(widest / elementBytes, 1u), consecutiveRegisters(side.places, 0));
  // Aligned, wherever the rest of the place comes from.
  auto isAligned = [&](unsigned vector) {
    unsigned own = unsigned(llvm::countr_zero(vector));
    for (LayoutInput input : {LayoutInput::Register, LayoutInput::Lane, LayoutInput::Warp})
      for (auto [bit, basis] : llvm::enumerate(side.places.bases(input)))
        if ((input != LayoutInput::Register || bit >= own) && basis[0] & int32_t(vector - 1))
          return false;
    return true;
  };
  while (most > 1 && !isAligned(most))
    most /= 2;
  side.vector = most;
  return side;
}

unsigned SwizzledTile::Side::cycles(unsigned elementBytes) const {
  unsigned count = registersOf(places) / vector;
  return count * sharedCycles(elementBytes * vector,
                              [&](unsigned lane) { return int64_t(placeOf(lane)) * elementBytes; });
}

unsigned SwizzledTile::cycles() const {
  return writers.cycles(elementBytes) + readers.cycles(elementBytes);
}

SwizzledTile::SwizzledTile(ArrayRef<int64_t> shape, const LinearLayout &from,
                           const LinearLayout &to, unsigned elementBytes)
    : elementBytes(elementBytes) {
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  int64_t line = lineBytes / elementBytes;
  sources.assign(elements > line ? llvm::Log2_64(line) : 0, 0);
  auto place = [&] {
    writers = sideOf(shape, from);
    readers = sideOf(shape, to);
    return cycles();
  };
  for (unsigned fewest = place(), before = 0; fewest != before;) {
    before = fewest;
    int64_t *best = nullptr, source = 0;
    for (int64_t &target : sources)
      for (int64_t bit = line; bit < elements; bit *= 2) {
        target ^= bit;
        if (unsigned now = place(); now < fewest) {
          fewest = now;
          best = &target;
          source = bit;
        }
        target ^= bit;
      }
    if (best)
      *best ^= source;
  }
  place();
}

} // namespace nereid::gpu
