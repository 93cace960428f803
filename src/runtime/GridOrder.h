// The order in which the programs of a grid start on the CPU.
//
// Programs of one column of a product read the same tile of B, those of one row the same tile of A.
// In the order of their numbers they sweep all of A for each tile of B:
//
//     0  4  8 12              0  1  8  9        width 2: A of two rows stays in the cache,
//     1  5  9 13   becomes    2  3 10 11        and B is swept half as often as in the
//     2  6 10 14              4  5 12 13        other order, A by columns
//     3  7 11 15              6  7 14 15
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace nereid::runtime {

class GridOrder {
public:
  /// `shared`: bit a is set if programs that differ along axis a alone read some of the same
  /// memory.
  GridOrder(const std::array<uint32_t, 3> &grid, unsigned shared) {
    const uint64_t strides[] = {1, grid[0], uint64_t(grid[0]) * grid[1]};
    unsigned count = 0, sharing = 0;
    for (bool wanted : {true, false})
      for (unsigned axis = 0; axis < 3; ++axis)
        if (bool(shared >> axis & 1 && grid[axis] > 1) == wanted) {
          axes[count++] = {grid[axis], strides[axis]};
          sharing += wanted;
        }
    width = sharing < 2 ? axes[0].extent : std::min(axes[0].extent, bandWidth);
  }

  /// Whether that is the order of their numbers.
  bool isByNumber() const {
    return axes[0].stride <= axes[1].stride && axes[1].stride <= axes[2].stride && !hasBands();
  }
  /// Whether one band after the other is run along, that is, two axes share.
  bool hasBands() const { return width < axes[0].extent; }

  /// Calls `run(first, count)` for the programs at the places [first, first + count) of the order,
  /// as many of consecutive numbers as there are together.
  template <typename Run> void forRange(uint64_t first, uint64_t count, Run run) const {
    for (uint64_t at = first, end = first + count; at < end;) {
      uint64_t plane = axes[0].extent * axes[1].extent;
      uint64_t inPlane = at % plane, band = inPlane / (width * axes[1].extent) * width;
      uint64_t inBand = inPlane - band * axes[1].extent;
      uint64_t wide = std::min(width, axes[0].extent - band);
      uint64_t x = inBand % wide, here = std::min(wide - x, end - at);
      uint64_t program = (band + x) * axes[0].stride + inBand / wide * axes[1].stride +
                         at / plane * axes[2].stride;
      if (axes[0].stride == 1)
        run(program, here);
      else
        for (uint64_t i = 0; i < here; ++i)
          run(program + i * axes[0].stride, uint64_t(1));
      at += here;
    }
  }

private:
  // As many tiles of one operand as mostly fit in the last cache together.
  static constexpr uint64_t bandWidth = 8;
  struct Axis {
    uint64_t extent, stride;
  };
  Axis axes[3]; ///< the one that is run along first, the one of its bands, the last
  uint64_t width;
};

} // namespace nereid::runtime
