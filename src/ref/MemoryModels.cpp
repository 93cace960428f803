// tile.load, tile.store and the atomics: every address is verified, masked lanes touch nothing.
#include "ref/Machine.h"
#include "ref/Models.h"

using namespace mlir;

namespace nereid::ref {
namespace {

AccessSite siteOf(AccessKind kind, Value pointer, bool masked,
                  tile::MemSemantic order = tile::MemSemantic::Relaxed) {
  return {kind, std::vector<int64_t>(tile::shapeOf(pointer.getType())), order, masked};
}

/// The slot of a mask; `present` is false for none.
struct Mask {
  Slot slot;
  bool present = false;
  Mask(Value value, Decoder &d) : present(bool(value)) {
    if (present)
      slot = d.slot(value);
  }
  const uint8_t *lanes(Frame &frame) const { return present ? frame.data<uint8_t>(slot) : nullptr; }
};

Step decodeLoad(tile::LoadOp op, Decoder &d) {
  Slot pointer = d.slot(op.getPointer()), out = d.define(op);
  Mask mask(op.getMask(), d);
  bool hasOther = bool(op.getOther());
  Slot other = hasOther ? d.slot(op.getOther()) : Slot();
  AccessSite site = siteOf(op.getIsVolatile() ? AccessKind::VolatileLoad : AccessKind::Load,
                           op.getPointer(), mask.present);
  Storage inMemory = Decoder::storageInMemory(op.getType());
  bool loadsPointers = d.options().check && isa<tile::PtrType>(tile::elementType(op.getType()));
  // Calls read(element, spot) for each active lane, and gives the others their value.
  auto loop = [=]<typename T>(Frame &frame, auto read) {
    frame.machine.beginAccess(frame, site);
    const auto *addresses = frame.data<uint64_t>(pointer);
    const uint8_t *active = mask.lanes(frame);
    const T *fallback = hasOther ? frame.data<T>(other) : nullptr;
    T *to = frame.data<T>(out);
    unsigned bytes = widthOf(inMemory);
    uint64_t loaded = 0;
    for (uint32_t i = 0; i < out.count; ++i) {
      if (active && !active[i]) {
        to[i] = fallback ? fallback[i] : T();
        continue;
      }
      Memory::Spot spot = frame.machine.reach(frame, site, addresses[i], bytes, i);
      to[i] = spot ? read(spot) : T();
      loaded += bytes;
    }
    // Pointers in memory are the host's.
    if constexpr (std::is_same_v<T, uint64_t>)
      if (loadsPointers)
        for (uint32_t i = 0; i < out.count; ++i)
          to[i] = frame.machine.memory.toKernel(to[i]);
    frame.machine.statistics.bytesLoaded += loaded;
  };
  if (d.wide() && isFloat(inMemory))
    return [=](Frame &frame) {
      loop.template operator()<double>(
          frame, [&](const Memory::Spot &spot) { return Memory::loadWide(spot, inMemory); });
    };
  return dispatchWidth(inMemory, [&]<typename T>() -> Step {
    return [=](Frame &frame) {
      loop.template operator()<T>(frame, [&](const Memory::Spot &spot) {
        T value;
        std::memcpy(&value, spot.host(), sizeof(T));
        return inMemory == Storage::I1 ? T(value != 0) : value;
      });
    };
  });
}

Step decodeStore(tile::StoreOp op, Decoder &d) {
  Slot pointer = d.slot(op.getPointer()), value = d.slot(op.getValue());
  Mask mask(op.getMask(), d);
  AccessSite site = siteOf(AccessKind::Store, op.getPointer(), mask.present);
  Storage inMemory = Decoder::storageInMemory(op.getValue().getType());
  bool wide = d.wide();
  auto loop = [=](Frame &frame, auto write) {
    frame.machine.beginAccess(frame, site);
    const auto *addresses = frame.data<uint64_t>(pointer);
    const uint8_t *active = mask.lanes(frame);
    unsigned bytes = widthOf(inMemory);
    const std::byte *bits = wide && isFloat(inMemory) ? nullptr : frame.data<std::byte>(value);
    uint64_t stored = 0;
    for (uint32_t i = 0; i < value.count; ++i) {
      if (active && !active[i])
        continue;
      if (Memory::Spot spot = frame.machine.reach(frame, site, addresses[i], bytes, i,
                                                  bits ? bits + size_t(i) * bytes : nullptr))
        write(i, spot);
      stored += bytes;
    }
    frame.machine.statistics.bytesStored += stored;
  };
  if (wide && isFloat(inMemory))
    return [=](Frame &frame) {
      const double *from = frame.data<double>(value);
      loop(frame, [&](uint32_t i, const Memory::Spot &spot) {
        ++frame.writes;
        ++frame.machine.changes;
        Memory::storeWide(spot, inMemory, from[i]);
      });
    };
  return dispatchWidth(inMemory, [&]<typename T>() -> Step {
    return [=](Frame &frame) {
      const T *from = frame.data<T>(value);
      loop(frame, [&](uint32_t i, const Memory::Spot &spot) {
        frame.machine.write(frame, spot, from + i, sizeof(T));
        if (wide)
          Memory::refreshWide(spot, sizeof(T));
      });
    };
  });
}

// --- atomics ---

/// A pattern as an integer in the order that the GPU's float max and min see: -0 is below +0.
template <typename U> U orderKey(U bits) {
  constexpr U sign = U(1) << (8 * sizeof(U) - 1);
  return bits & sign ? U(~bits) : U(bits | sign);
}

template <typename I>
typename I::Unsigned combineInts(tile::AtomicKind kind, auto old, auto value) {
  using U = typename I::Unsigned;
  int64_t a = I::sext(old), b = I::sext(value);
  switch (kind) {
  case tile::AtomicKind::Add:
    return I::wrap(uint64_t(old) + value);
  case tile::AtomicKind::Max:
    return a > b ? old : value;
  case tile::AtomicKind::Min:
    return a < b ? old : value;
  case tile::AtomicKind::UMax:
    return old > value ? old : value;
  case tile::AtomicKind::UMin:
    return old < value ? old : value;
  case tile::AtomicKind::And:
    return U(old & value);
  case tile::AtomicKind::Or:
    return U(old | value);
  case tile::AtomicKind::Xor:
    return U(old ^ value);
  default:
    return value;
  }
}

template <typename T> T combineFloats(tile::AtomicKind kind, T old, T value) {
  using U = std::conditional_t<
      sizeof(T) == 1, uint8_t,
      std::conditional_t<sizeof(T) == 2, uint16_t,
                         std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;
  U a = std::bit_cast<U>(old), b = std::bit_cast<U>(value);
  switch (kind) {
  case tile::AtomicKind::FAdd:
    return narrow<T>(ComputeOf<T>(widen(old) + widen(value)));
  case tile::AtomicKind::FMax:
    return orderKey(a) > orderKey(b) ? old : value;
  case tile::AtomicKind::FMin:
    return orderKey(a) < orderKey(b) ? old : value;
  default:
    return std::bit_cast<T>(combineInts<Int<8 * sizeof(T)>>(kind, a, b));
  }
}

bool isFloatKind(tile::AtomicKind kind) {
  return kind == tile::AtomicKind::FAdd || kind == tile::AtomicKind::FMax ||
         kind == tile::AtomicKind::FMin;
}

} // namespace

void applyAtomic(Frame &frame, const Memory::Spot &spot, tile::AtomicKind kind, Storage inMemory,
                 const void *value, void *old) {
  if (isFloat(inMemory))
    return dispatchFloat<true>(inMemory, [&]<typename T>() {
      if (frame.program.options.precision == Precision::Wide) {
        double before = Memory::loadWide(spot, inMemory), by;
        std::memcpy(&by, value, sizeof by);
        if (old)
          std::memcpy(old, &before, sizeof before);
        double after = combineFloats<double>(kind, before, by);
        if (before != after) {
          ++frame.writes;
          ++frame.machine.changes;
        }
        return Memory::storeWide(spot, inMemory, after);
      }
      T before, by;
      std::memcpy(&before, spot.host(), sizeof(T));
      std::memcpy(&by, value, sizeof(T));
      T after = combineFloats<T>(kind, before, by);
      if (old)
        std::memcpy(old, &before, sizeof(T));
      frame.machine.write(frame, spot, &after, sizeof(T));
    });
  dispatchInt(inMemory, [&]<typename I>() {
    typename I::Unsigned before, by, after;
    std::memcpy(&before, spot.host(), sizeof before);
    std::memcpy(&by, value, sizeof by);
    after = combineInts<I>(kind, before, by);
    if (old)
      std::memcpy(old, &before, sizeof before);
    frame.machine.write(frame, spot, &after, sizeof after);
    Memory::refreshWide(spot, sizeof after);
  });
}

namespace {

Step decodeAtomicRMW(tile::AtomicRMWOp op, Decoder &d) {
  Slot pointer = d.slot(op.getPointer()), value = d.slot(op.getValue()), out = d.define(op);
  Mask mask(op.getMask(), d);
  AccessSite site = siteOf(AccessKind::Atomic, op.getPointer(), mask.present, op.getSem());
  site.overwrites = op.getKind() == tile::AtomicKind::Xchg;
  site.answers = !op->use_empty();
  Storage inMemory = Decoder::storageInMemory(op.getValue().getType());
  if (isFloatKind(op.getKind()) != isFloat(inMemory) && op.getKind() != tile::AtomicKind::Xchg)
    d.unsupported(op, "this kind of atomic does not fit its element type");
  return [=, kind = op.getKind()](Frame &frame) {
    frame.machine.beginAccess(frame, site);
    const auto *addresses = frame.data<uint64_t>(pointer);
    const uint8_t *active = mask.lanes(frame);
    const auto *from = frame.data<std::byte>(value);
    auto *old = frame.data<std::byte>(out);
    unsigned bytes = widthOf(inMemory), width = widthOf(out.storage);
    std::memset(old, 0, out.bytes());
    for (uint32_t i = 0; i < out.count; ++i) {
      if (active && !active[i])
        continue;
      Memory::Spot spot = frame.machine.reach(frame, site, addresses[i], bytes, i);
      if (!spot)
        continue;
      applyAtomic(frame, spot, kind, inMemory, from + i * width, old + i * width);
      frame.machine.statistics.bytesLoaded += bytes;
      frame.machine.statistics.bytesStored += bytes;
    }
  };
}

Step decodeAtomicCAS(tile::AtomicCASOp op, Decoder &d) {
  Slot pointer = d.slot(op.getPointer()), compare = d.slot(op.getCompare()),
       value = d.slot(op.getValue()), out = d.define(op);
  AccessSite site = siteOf(AccessKind::Atomic, op.getPointer(), false, op.getSem());
  site.compares = true;
  Storage inMemory = Decoder::storageInMemory(op.getValue().getType());
  bool wide = d.wide();
  return dispatchWidth(inMemory, [&]<typename U>() -> Step {
    // The bits that an element of a slot has in memory.
    auto bitsOf = [=](Frame &frame, Slot slot, uint32_t i) -> U {
      if (!wide || !isFloat(inMemory))
        return frame.data<U>(slot)[i];
      return dispatchFloat<true>(inMemory, [&]<typename T>() -> U {
        if constexpr (sizeof(T) == sizeof(U))
          return std::bit_cast<U>(narrow<T>(frame.data<double>(slot)[i]));
        return 0;
      });
    };
    return [=](Frame &frame) {
      frame.machine.beginAccess(frame, site);
      const auto *addresses = frame.data<uint64_t>(pointer);
      for (uint32_t i = 0; i < out.count; ++i) {
        U expected = bitsOf(frame, compare, i);
        Memory::Spot spot = frame.machine.reach(frame, site, addresses[i], sizeof(U), i, &expected);
        if (!spot) {
          std::memset(frame.data<std::byte>(out) + i * widthOf(out.storage), 0,
                      widthOf(out.storage));
          continue;
        }
        U before, after = bitsOf(frame, value, i);
        std::memcpy(&before, spot.host(), sizeof(U));
        if (wide && isFloat(inMemory))
          frame.data<double>(out)[i] = Memory::loadWide(spot, inMemory);
        else
          frame.data<U>(out)[i] = before;
        if (before == expected) {
          frame.machine.write(frame, spot, &after, sizeof(U));
          if (wide)
            Memory::refreshWide(spot, sizeof(U));
        }
        frame.machine.statistics.bytesLoaded += sizeof(U);
        frame.machine.statistics.bytesStored += sizeof(U);
      }
    };
  });
}

} // namespace

void attachMemoryModels(MLIRContext *c) {
  attach<tile::LoadOp, decodeLoad>(c);
  attach<tile::StoreOp, decodeStore>(c);
  attach<tile::AtomicRMWOp, decodeAtomicRMW>(c);
  attach<tile::AtomicCASOp, decodeAtomicCAS>(c);
}

} // namespace nereid::ref
