#include "gpu/TurnedMatrices.h"

#include "llvm/ADT/STLExtras.h"

namespace nereid::gpu {

using Basis = LinearLayout::Basis;

namespace {

// Where each bit of a coordinate moves an element, in bytes: apart, and within the banks as well.
struct Offsets {
  std::map<Basis, int32_t> weights, swizzle;
  int32_t next = 2;

  void add(const Basis &basis) {
    if (!isZero(basis) && weights.try_emplace(basis, next).second)
      next *= 2;
  }
  // Along a layout, of which an offset is one-dimensional.
  LinearLayout along(const LinearLayout &layout, const std::map<Basis, int32_t> &of) const {
    LinearLayout out(1);
    for (LayoutInput input : {LayoutInput::Register, LayoutInput::Lane, LayoutInput::Warp})
      for (const Basis &basis : layout.bases(input)) {
        auto found = of.find(basis);
        out.addBasis(input, {found == of.end() ? 0 : found->second});
      }
    return out;
  }
};

} // namespace

std::optional<TurnedMatrices> TurnedMatrices::of(const LinearLayout &from, const LinearLayout &to) {
  constexpr unsigned columnBits = 3; // of the lane index, from bit 2 on
  constexpr int32_t rowBytes = 16, bankBytes = 128;
  auto written = from.bases(LayoutInput::Register), writing = from.bases(LayoutInput::Lane),
       read = to.bases(LayoutInput::Register), reading = to.bases(LayoutInput::Lane);
  if (reading.size() != 2 + columnBits || read.empty() || isZero(read[0]))
    return std::nullopt;
  auto columns = reading.drop_front(2);
  unsigned along = 0; // bits that are in registers before
  while (along < std::min<size_t>(columnBits, written.size()) && written[along] == columns[along])
    ++along;
  if (along == 0 || llvm::any_of(columns, isZero))
    return std::nullopt;

  // Rows that one matrix takes lie next to each other: they fill the banks.
  Offsets offsets;
  for (const Basis &basis : columns)
    offsets.add(basis);
  for (const Basis &basis : {read[0], reading[0], reading[1]})
    offsets.add(basis);
  for (LayoutInput input : {LayoutInput::Lane, LayoutInput::Register, LayoutInput::Warp})
    for (const Basis &basis : from.bases(input))
      offsets.add(basis);
  // So do rows that lanes write together, in all bits that none of these lanes has otherwise.
  auto together = writing.take_front(2 * columnBits - along);
  int32_t free = bankBytes - rowBytes;
  for (const Basis &basis : together)
    if (!isZero(basis))
      free &= ~offsets.weights.at(basis);
  for (const Basis &basis : together)
    if (!isZero(basis) && offsets.weights.at(basis) >= bankBytes && free) {
      offsets.swizzle[basis] = free & -free;
      free &= free - 1;
    }

  // Lanes 8i to 8i + 7 name the rows of matrix i, of which two are a word of the result.
  TurnedMatrices turned;
  turned.vector = 1u << along;
  turned.matrices = std::min(4u, 1u << (read.size() - 1));
  turned.bytes = offsets.next;
  LinearLayout rows(to.rank());
  Basis none(to.rank(), 0);
  for (const Basis &basis : {read[0], reading[0], reading[1], read.size() > 1 ? read[1] : none,
                             read.size() > 2 ? read[2] : none})
    rows.addBasis(LayoutInput::Lane, basis);
  for (const Basis &basis : to.bases(LayoutInput::Warp))
    rows.addBasis(LayoutInput::Warp, basis);
  for (const Basis &basis : read)
    rows.addBasis(LayoutInput::Register, basis);
  turned.writers = offsets.along(from, offsets.weights);
  turned.writerSwizzle = offsets.along(from, offsets.swizzle);
  turned.readers = offsets.along(rows, offsets.weights);
  turned.readerSwizzle = offsets.along(rows, offsets.swizzle);
  return turned;
}

} // namespace nereid::gpu
