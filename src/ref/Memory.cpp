#include "ref/Machine.h"

#include <cstring>

namespace nereid::ref {

static Storage storageOf(DType type) {
  switch (type) {
  case DType::Int1:
    return Storage::I1;
  case DType::Float16:
    return Storage::F16;
  case DType::BFloat16:
    return Storage::BF16;
  case DType::Float32:
    return Storage::F32;
  case DType::Float64:
    return Storage::F64;
  case DType::Float8E4NV:
    return Storage::E4M3FN;
  case DType::Float8E5:
    return Storage::E5M2;
  case DType::Float8E4B8:
    return Storage::E4M3FNUZ;
  case DType::Float8E5B16:
    return Storage::E5M2FNUZ;
  case DType::Float8E4B15:
    return Storage::E4M3B15;
  default:
    switch (info(type).bytes) {
    case 1:
      return Storage::I8;
    case 2:
      return Storage::I16;
    case 4:
      return Storage::I32;
    default:
      return Storage::I64;
    }
  }
}

static double decodeElement(Storage storage, const std::byte *host) {
  return dispatchFloat<true>(storage, [&]<typename T>() {
    T value;
    std::memcpy(&value, host, sizeof(T));
    return double(widen(value));
  });
}

// Tensors of a checking launch lie this far apart, so an offset that is wrong by less finds no
// other.
static constexpr unsigned separateShift = 44;
static constexpr uint64_t separateBit = uint64_t(1) << 62;

Memory::Memory(const std::vector<MemoryRange> &ranges, const Options &options)
    : separate(options.check) {
  std::vector<MemoryRange> sorted;
  for (const MemoryRange &range : ranges)
    if (range.bytes != 0)
      sorted.push_back(range);
  std::sort(sorted.begin(), sorted.end(), [](auto &a, auto &b) { return a.base < b.base; });
  for (MemoryRange &range : sorted) {
    if (!regions.empty()) {
      MemoryRange &before = regions.back()->range;
      if (range.base < before.base + before.bytes) {
        // Views of one buffer: the region is all of them.
        bool same = range.base == before.base && range.bytes == before.bytes;
        if (range.name != before.name)
          before.name += ", " + range.name;
        before.bytes = std::max(before.bytes, range.base + range.bytes - before.base);
        if (range.dtype != before.dtype)
          before.dtype.reset();
        if (!same || range.shape != before.shape || range.strides != before.strides) {
          before.shape.clear();
          before.strides.clear();
        }
        before.initialized |= range.initialized;
        if (!before.wide && same)
          before.wide = range.wide;
        continue;
      }
    }
    regions.push_back(std::make_unique<Region>());
    regions.back()->range = std::move(range);
  }
  for (auto &region : regions) {
    const MemoryRange &range = region->range;
    region->index = &region - regions.data();
    region->bytes = range.bytes;
    region->host = reinterpret_cast<std::byte *>(range.base);
    region->begin = range.base;
    if (separate) // the low bits stay, alignment is a fact that kernels use
      region->begin =
          separateBit | uint64_t(region->index + 1) << separateShift | (range.base & 0xffff);
    if (range.dtype) {
      region->element = storageOf(*range.dtype);
      region->elementBytes = info(*range.dtype).bytes;
    }
    if (options.precision == Precision::Wide && isFloat(region->element)) {
      region->wide = range.wide;
      if (!region->wide) {
        size_t count = range.bytes / region->elementBytes;
        region->ownWide.resize(count);
        for (size_t i = 0; i < count; ++i)
          region->ownWide[i] =
              decodeElement(region->element, region->host + i * region->elementBytes);
        region->wide = region->ownWide.data();
      }
    }
  }
}

Memory::Spot Memory::search(uint64_t address, unsigned bytes) {
  auto at = [&](auto beginOf) -> Spot {
    auto it = std::upper_bound(regions.begin(), regions.end(), address,
                               [&](uint64_t a, auto &region) { return a < beginOf(*region); });
    if (it == regions.begin())
      return {};
    Region &region = **std::prev(it);
    uint64_t offset = address - beginOf(region);
    if (offset >= region.bytes || region.bytes - offset < bytes)
      return {};
    return {&region, offset};
  };
  Spot spot = at([](const Region &region) { return region.begin; });
  // A pointer that was read from memory has the host's address.
  if (!spot && separate && !(address & separateBit))
    return at([](const Region &region) { return region.range.base; });
  if (spot)
    last = spot.region;
  return spot;
}

uint64_t Memory::toKernel(uint64_t address) const {
  if (!separate)
    return address;
  for (auto &region : regions)
    // One past the end belongs to a tensor too, if no other begins there.
    if (uint64_t offset = address - region->range.base; offset < region->bytes)
      return region->begin + offset;
  return address;
}

const Memory::Region *Memory::nearest(uint64_t address) const {
  const Region *best = nullptr;
  uint64_t bestDistance = separate ? uint64_t(1) << (separateShift - 1) : 1 << 20;
  for (auto &region : regions) {
    uint64_t end = region->begin + region->bytes;
    uint64_t distance = address < region->begin ? region->begin - address
                        : address >= end        ? address - end
                                                : 0;
    if (distance < bestDistance) {
      best = region.get();
      bestDistance = distance;
    }
  }
  return best;
}

double Memory::loadWide(const Spot &spot, Storage memory) {
  const Region &region = *spot.region;
  if (region.wide && region.element == memory && spot.offset % region.elementBytes == 0)
    return region.wide[spot.offset / region.elementBytes];
  return decodeElement(memory, spot.host());
}

void Memory::storeWide(const Spot &spot, Storage memory, double value) {
  dispatchFloat<true>(memory, [&]<typename T>() {
    T element = narrow<T>(value);
    std::memcpy(spot.host(), &element, sizeof(T));
  });
  Region &region = *spot.region;
  if (!region.wide)
    return;
  if (region.element == memory && spot.offset % region.elementBytes == 0)
    region.wide[spot.offset / region.elementBytes] = value;
  else
    refreshWide(spot, widthOf(memory));
}

void Memory::refreshWide(const Spot &spot, unsigned bytes) {
  Region &region = *spot.region;
  if (!region.wide)
    return;
  uint64_t first = spot.offset / region.elementBytes,
           last = (spot.offset + bytes - 1) / region.elementBytes;
  for (uint64_t i = first; i <= last && (i + 1) * region.elementBytes <= region.bytes; ++i)
    region.wide[i] = decodeElement(region.element, region.host + i * region.elementBytes);
}

} // namespace nereid::ref
