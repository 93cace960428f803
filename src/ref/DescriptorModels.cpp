// Tensor descriptors: blocks at offsets; what lies outside of the shape reads as padding and is
// never written.
#include "ref/Machine.h"
#include "ref/Models.h"

using namespace mlir;

namespace nereid::ref {
namespace {

Step decodeMakeDesc(tile::MakeDescOp op, Decoder &d) {
  SmallVector<Slot> shape, strides;
  for (Value value : op.getShape())
    shape.push_back(d.slot(value));
  for (Value value : op.getStrides())
    strides.push_back(d.slot(value));
  if (shape.size() > DescriptorValue::maxRank)
    d.unsupported(op, "a tensor descriptor has at most 5 dimensions");
  return [=, base = d.slot(op.getBase()), out = d.define(op)](Frame &frame) {
    auto *to = frame.data<DescriptorValue>(out);
    *to = {};
    to->base = frame.scalar<uint64_t>(base);
    for (size_t i = 0; i < shape.size(); ++i) {
      to->shape[i] = frame.scalar<int64_t>(shape[i]);
      to->strides[i] = frame.scalar<int64_t>(strides[i]);
    }
  };
}

Step decodeDescField(tile::DescFieldOp op, Decoder &d) {
  Slot desc = d.slot(op.getDesc()), out = d.define(op);
  StringRef field = op.getField();
  if (field != "base" && field != "shape" && field != "stride" && field != "strides")
    d.unsupported(op, "a descriptor has no field `" + field.str() + "`");
  return [=,
          kind = field[0] == 'b'   ? 0
                 : field[1] == 'h' ? 1
                                   : 2,
          dim = op.getDim()](Frame &frame) {
    const auto *value = frame.data<DescriptorValue>(desc);
    *frame.data<int64_t>(out) = kind == 0   ? int64_t(value->base)
                                : kind == 1 ? value->shape[dim]
                                            : value->strides[dim];
  };
}

/// Calls visit(element, address or nothing) for each element of a block; nothing is outside of the
/// shape. `origin` has the block's first coordinate, and `rows`, if any, replaces the first one by
/// row.
template <typename Visit>
void forBlock(const DescriptorValue &desc, ArrayRef<int64_t> block, ArrayRef<int64_t> origin,
              const int32_t *rows, unsigned elementBytes, Visit visit) {
  size_t rank = block.size();
  uint32_t count = 1;
  for (int64_t extent : block)
    count *= extent;
  SmallVector<int64_t, 5> index(rank, 0);
  for (uint32_t element = 0; element < count; ++element) {
    bool inside = true;
    int64_t offset = 0;
    for (size_t d = 0; d < rank; ++d) {
      int64_t at = rows && d == 0 ? rows[index[0]] : origin[d] + index[d];
      inside &= at >= 0 && at < desc.shape[d];
      offset += at * desc.strides[d];
    }
    visit(element,
          inside ? std::optional(desc.base + uint64_t(offset) * elementBytes) : std::nullopt);
    for (size_t d = rank; d-- > 0;) {
      if (++index[d] < block[d])
        break;
      index[d] = 0;
    }
  }
}

/// What the five accesses through a descriptor have in common.
struct BlockAccess {
  Slot desc;
  SmallVector<Slot> offsets; ///< i32 scalars; of gather and scatter only the column's
  std::optional<Slot> rows;
  SmallVector<int64_t> block; ///< shape of the tile, with the descriptor's rank
  Storage inMemory;
  AccessSite site;
  std::optional<Slot> stored; ///< what a store writes, if its bits are those of memory

  template <typename Op> BlockAccess(Op op, Type tileType, AccessKind kind, Decoder &d) {
    auto type = cast<tile::DescType>(op.getDesc().getType());
    desc = d.slot(op.getDesc());
    inMemory = Decoder::storageInMemory(type.getElementType());
    if constexpr (requires { op.getRows(); }) {
      rows = d.slot(op.getRows());
      offsets.push_back(d.slot(op.getColumn()));
      block.assign(tile::shapeOf(tileType).begin(), tile::shapeOf(tileType).end());
    } else {
      for (Value offset : op.getOffsets())
        offsets.push_back(d.slot(offset));
      block.assign(type.getBlockShape().begin(), type.getBlockShape().end());
    }
    site.kind = kind;
    site.shape.assign(tile::shapeOf(tileType).begin(), tile::shapeOf(tileType).end());
  }

  template <typename Visit> void visit(Frame &frame, Visit visit) const {
    frame.machine.beginAccess(frame, site);
    SmallVector<int64_t, 5> origin;
    if (rows)
      origin.push_back(0);
    for (Slot offset : offsets)
      origin.push_back(frame.scalar<int32_t>(offset));
    unsigned bytes = widthOf(inMemory);
    const std::byte *bits = stored ? frame.data<std::byte>(*stored) : nullptr;
    auto &statistics = frame.machine.statistics;
    forBlock(*frame.data<DescriptorValue>(desc), block, origin,
             rows ? frame.data<int32_t>(*rows) : nullptr, bytes,
             [&](uint32_t element, std::optional<uint64_t> address) {
               Memory::Spot spot;
               if (address) {
                 spot = frame.machine.reach(frame, site, *address, bytes, element,
                                            bits ? bits + size_t(element) * bytes : nullptr);
                 (site.kind == AccessKind::Load ? statistics.bytesLoaded
                                                : statistics.bytesStored) += bytes;
               }
               visit(element, spot, address.has_value());
             });
  }
};

template <typename Op> Step decodeRead(Op op, Decoder &d) {
  BlockAccess access(op, op.getType(), AccessKind::Load, d);
  Slot out = d.define(op);
  bool nan = cast<tile::DescType>(op.getDesc().getType()).getPaddingIsNan();
  if (d.wide() && isFloat(access.inMemory))
    return [=](Frame &frame) {
      double *to = frame.data<double>(out);
      access.visit(frame, [&](uint32_t i, const Memory::Spot &spot, bool inside) {
        to[i] = spot ? Memory::loadWide(spot, access.inMemory) : nan && !inside ? std::nan("") : 0;
      });
    };
  return dispatchWidth(access.inMemory, [&]<typename T>() -> Step {
    T padding = 0;
    if (nan && isFloat(access.inMemory))
      dispatchFloat<true>(access.inMemory, [&]<typename F>() {
        if constexpr (sizeof(F) == sizeof(T))
          padding = std::bit_cast<T>(narrow<F>(std::nan("")));
      });
    return [=](Frame &frame) {
      T *to = frame.data<T>(out);
      access.visit(frame, [&](uint32_t i, const Memory::Spot &spot, bool inside) {
        if (spot)
          std::memcpy(to + i, spot.host(), sizeof(T));
        else
          to[i] = inside ? T() : padding;
      });
    };
  });
}

template <typename Op> Step decodeWrite(Op op, Decoder &d) {
  BlockAccess access(op, op.getValue().getType(), AccessKind::Store, d);
  Slot value = d.slot(op.getValue());
  bool wide = d.wide();
  if (!wide || !isFloat(access.inMemory))
    access.stored = value;
  return [=](Frame &frame) {
    const auto *from = frame.data<std::byte>(value);
    unsigned width = widthOf(value.storage);
    access.visit(frame, [&](uint32_t i, const Memory::Spot &spot, bool) {
      if (!spot)
        return;
      if (wide && isFloat(access.inMemory)) {
        ++frame.writes;
        ++frame.machine.changes;
        return Memory::storeWide(spot, access.inMemory, frame.data<double>(value)[i]);
      }
      frame.machine.write(frame, spot, from + i * width, width);
      Memory::refreshWide(spot, width);
    });
  };
}

Step decodeReduceInto(tile::DescReduceOp op, Decoder &d) {
  BlockAccess access(op, op.getValue().getType(), AccessKind::Atomic, d);
  access.site.answers = false;
  Slot value = d.slot(op.getValue());
  return [=, kind = op.getKind()](Frame &frame) {
    const auto *from = frame.data<std::byte>(value);
    access.visit(frame, [&](uint32_t i, const Memory::Spot &spot, bool) {
      if (spot)
        applyAtomic(frame, spot, kind, access.inMemory, from + i * widthOf(value.storage), nullptr);
    });
  };
}

} // namespace

void attachDescriptorModels(MLIRContext *c) {
  using namespace tile;
  attach<MakeDescOp, decodeMakeDesc>(c);
  attach<DescFieldOp, decodeDescField>(c);
  attach<DescLoadOp, decodeRead<DescLoadOp>>(c);
  attach<DescGatherOp, decodeRead<DescGatherOp>>(c);
  attach<DescStoreOp, decodeWrite<DescStoreOp>>(c);
  attach<DescScatterOp, decodeWrite<DescScatterOp>>(c);
  attach<DescReduceOp, decodeReduceInto>(c);
}

} // namespace nereid::ref
