// tile: the program's place, creation and shape. Elements move, none is read.
#include "ref/Machine.h"
#include "ref/Models.h"

using namespace mlir;

namespace nereid::ref {
namespace {

Step decodeProgramId(tile::ProgramIdOp op, Decoder &d) {
  return [out = d.define(op), axis = op.getAxis()](Frame &frame) {
    std::fill_n(frame.data<uint32_t>(out), out.count, frame.id[axis]);
  };
}
Step decodeNumPrograms(tile::NumProgramsOp op, Decoder &d) {
  return [out = d.define(op), axis = op.getAxis()](Frame &frame) {
    std::fill_n(frame.data<uint32_t>(out), out.count, frame.machine.launch.grid[axis]);
  };
}

Step decodeArange(tile::ArangeOp op, Decoder &d) {
  std::byte *bytes;
  Slot out = d.constant(op, Storage::I32, Decoder::countOf(op.getType()), bytes);
  for (uint32_t i = 0; i < out.count; ++i) {
    uint32_t value = op.getStart() + i;
    std::memcpy(bytes + 4 * i, &value, 4);
  }
  return {};
}

Step decodeSplat(tile::SplatOp op, Decoder &d) {
  Slot in = d.slot(op.getSource()), out = d.define(op);
  return dispatchWidth(out.storage, [&]<typename T>() -> Step {
    return [=](Frame &frame) { std::fill_n(frame.data<T>(out), out.count, frame.scalar<T>(in)); };
  });
}

template <typename Op> Step decodeSameBytes(Op op, Decoder &d) {
  d.alias(op->getResult(0), op->getOperand(0));
  return {};
}

/// Result element i is element `from[i]` of the source.
Step permute(Slot out, Slot in, std::vector<uint32_t> from) {
  return dispatchWidth(out.storage, [&]<typename T>() -> Step {
    return [out, in, from = std::move(from)](Frame &frame) {
      const T *source = frame.data<T>(in);
      T *to = frame.data<T>(out);
      for (uint32_t i = 0; i < out.count; ++i)
        to[i] = source[from[i]];
    };
  });
}

Step decodeBroadcast(tile::BroadcastOp op, Decoder &d) {
  Slot in = d.slot(op.getSource()), out = d.define(op);
  auto from = tile::shapeOf(op.getSource().getType()), to = tile::shapeOf(op.getType());
  // Runs along the minor dimensions are copied whole or filled.
  int64_t rank = to.size(), inner = 1;
  int64_t dim = rank;
  while (dim > 0 && from[dim - 1] == to[dim - 1])
    inner *= to[--dim];
  int64_t repeat = 1;
  while (dim > 0 && from[dim - 1] == 1)
    repeat *= to[--dim];
  // Now dimension `dim` and the ones before it are left: their rows, in order.
  std::vector<uint32_t> rows{0};
  int64_t rowElements = inner;
  SmallVector<int64_t> strides(rank, 0);
  for (int64_t k = dim, stride = 1; k-- > 0;) {
    strides[k] = from[k] == 1 ? 0 : stride;
    stride *= from[k];
  }
  for (int64_t k = 0; k < dim; ++k) {
    std::vector<uint32_t> next;
    for (uint32_t row : rows)
      for (int64_t i = 0; i < to[k]; ++i)
        next.push_back(row + i * strides[k]);
    rows = std::move(next);
  }
  return dispatchWidth(out.storage, [&]<typename T>() -> Step {
    return [=](Frame &frame) {
      const T *source = frame.data<T>(in);
      T *to = frame.data<T>(out);
      for (uint32_t row : rows) {
        const T *run = source + row * rowElements;
        if (rowElements == 1) {
          to = std::fill_n(to, repeat, *run);
          continue;
        }
        for (int64_t r = 0; r < repeat; ++r)
          to = std::copy_n(run, rowElements, to);
      }
    };
  });
}

Step decodeTrans(tile::TransOp op, Decoder &d) {
  Slot in = d.slot(op.getSource()), out = d.define(op);
  auto shape = tile::shapeOf(op.getSource().getType()), to = tile::shapeOf(op.getType());
  size_t rank = shape.size();
  SmallVector<int64_t> strides(rank, 1);
  for (size_t k = rank; k-- > 1;)
    strides[k - 1] = strides[k] * shape[k];
  std::vector<uint32_t> from(out.count);
  for (uint32_t i = 0; i < out.count; ++i) {
    auto index = indexOf(i, to);
    uint32_t at = 0;
    for (size_t k = 0; k < rank; ++k)
      at += index[k] * strides[op.getPerm()[k]];
    from[i] = at;
  }
  return permute(out, in, std::move(from));
}

Step decodeJoin(tile::JoinOp op, Decoder &d) {
  Slot a = d.slot(op.getLhs()), b = d.slot(op.getRhs()), out = d.define(op);
  return dispatchWidth(out.storage, [&]<typename T>() -> Step {
    return [=](Frame &frame) {
      const T *x = frame.data<T>(a), *y = frame.data<T>(b);
      T *to = frame.data<T>(out);
      for (uint32_t i = 0; i < out.count / 2; ++i) {
        to[2 * i] = x[i];
        to[2 * i + 1] = y[i];
      }
    };
  });
}

Step decodeSplit(tile::SplitOp op, Decoder &d) {
  Slot in = d.slot(op.getSource()), a = d.define(op.getLhs()), b = d.define(op.getRhs());
  return dispatchWidth(in.storage, [&]<typename T>() -> Step {
    return [=](Frame &frame) {
      const T *source = frame.data<T>(in);
      T *x = frame.data<T>(a), *y = frame.data<T>(b);
      for (uint32_t i = 0; i < a.count; ++i) {
        x[i] = source[2 * i];
        y[i] = source[2 * i + 1];
      }
    };
  });
}

Step decodeCat(tile::CatOp op, Decoder &d) {
  Slot a = d.slot(op.getLhs()), b = d.slot(op.getRhs()), out = d.define(op);
  return [=](Frame &frame) {
    std::byte *to = frame.data<std::byte>(out);
    std::memcpy(to, frame.data<std::byte>(a), a.bytes());
    std::memcpy(to + a.bytes(), frame.data<std::byte>(b), b.bytes());
  };
}

Step decodeGather(tile::GatherOp op, Decoder &d) {
  Slot in = d.slot(op.getSource()), indices = d.slot(op.getIndices()), out = d.define(op);
  auto shape = tile::shapeOf(op.getSource().getType());
  unsigned axis = op.getAxis();
  int64_t extent = shape[axis], inner = 1;
  for (int64_t size : shape.drop_front(axis + 1))
    inner *= size;
  int64_t resultExtent = tile::shapeOf(op.getType())[axis];
  SmallVector<int64_t> resultShape(tile::shapeOf(op.getType()));
  return dispatchInt(indices.storage, [&]<typename I>() -> Step {
    return dispatchWidth(out.storage, [&]<typename T>() -> Step {
      return [=](Frame &frame) {
        const T *source = frame.data<T>(in);
        const auto *index = frame.data<typename I::Unsigned>(indices);
        T *to = frame.data<T>(out);
        for (uint32_t i = 0; i < out.count; ++i) {
          int64_t k = I::sext(index[i]);
          if (k < 0 || k >= extent) {
            Finding found = frame.machine.finding(frame, Severity::Error, "GatherOutOfBounds",
                                                  "index " + std::to_string(k) +
                                                      " of `tl.gather` along an axis of " +
                                                      std::to_string(extent));
            found.index = indexOf(i, resultShape);
            if (!frame.machine.checker)
              frame.machine.stop(std::move(found));
            frame.machine.report(frame, std::move(found));
            to[i] = 0;
            continue;
          }
          int64_t outer = i / (inner * resultExtent);
          to[i] = source[(outer * extent + k) * inner + i % inner];
        }
      };
    });
  });
}

Step decodeHistogram(tile::HistogramOp op, Decoder &d) {
  Slot in = d.slot(op.getSource()), out = d.define(op);
  bool masked = bool(op.getMask());
  Slot mask = masked ? d.slot(op.getMask()) : Slot();
  return dispatchInt(in.storage, [&]<typename I>() -> Step {
    return [=](Frame &frame) {
      const auto *source = frame.data<typename I::Unsigned>(in);
      const uint8_t *keep = masked ? frame.data<uint8_t>(mask) : nullptr;
      auto *bins = frame.data<uint32_t>(out);
      std::fill_n(bins, out.count, 0);
      for (uint32_t i = 0; i < in.count; ++i)
        if ((!keep || keep[i]) && I::zext(source[i]) < out.count)
          ++bins[source[i]];
    };
  });
}

} // namespace

void attachShapeModels(MLIRContext *c) {
  using namespace tile;
  attach<ProgramIdOp, decodeProgramId>(c);
  attach<NumProgramsOp, decodeNumPrograms>(c);
  attach<ArangeOp, decodeArange>(c);
  attach<SplatOp, decodeSplat>(c);
  attach<UnsplatOp, decodeSameBytes<UnsplatOp>>(c);
  attach<BroadcastOp, decodeBroadcast>(c);
  attach<ExpandDimsOp, decodeSameBytes<ExpandDimsOp>>(c);
  // A reshape that may reorder keeps the order: the plainest permutation.
  attach<ReshapeOp, decodeSameBytes<ReshapeOp>>(c);
  attach<TransOp, decodeTrans>(c);
  attach<JoinOp, decodeJoin>(c);
  attach<SplitOp, decodeSplit>(c);
  attach<CatOp, decodeCat>(c);
  attach<GatherOp, decodeGather>(c);
  attach<HistogramOp, decodeHistogram>(c);
}

} // namespace nereid::ref
