// Where the lanes of an access stand beside each other, if that is known while compiling.
#pragma once

#include "cpu/LaneEmitter.h"

namespace nereid::cpu {

/// How far the lanes of some numbers or addresses (in bytes) are from the first of them.
///
///   2 * (0 1 2 3)      0 2 4 6
///   (0 1 2 3) // 2     0 0 1 1
///
/// Nothing if that depends on what is not known. Numbers do not wrap around within a vector, as in
/// AxisAnalysis.
std::optional<llvm::SmallVector<int64_t>> laneOffsets(mlir::Value tile, const Lanes &where,
                                                      LaneEmitter &emitter);

/// Elements at fixed distances, all within a few vectors: whole vectors cover them, and their lanes
/// are exchanged in registers. So a gather becomes a few loads.
class NearLanes {
public:
  /// Nothing if elements at these offsets from a pointer are too few or too far apart.
  static std::optional<NearLanes> find(llvm::ArrayRef<int64_t> offsets, mlir::Type element);

  /// Lanes `stride` elements apart.
  static std::optional<NearLanes> everyNth(int64_t stride, int64_t lanes, mlir::Type element);

  /// Lanes that `mask` has off, if there is one, have any value.
  mlir::Value load(mlir::Value first, mlir::Type element, mlir::Value mask, bool isVolatile,
                   LaneEmitter &emitter) const;
  /// No two lanes may stand at one place.
  void store(mlir::Value first, mlir::Type element, mlir::Value value, mlir::Value mask,
             LaneEmitter &emitter) const;
  bool allDiffer() const;
  /// True if the processor has masks for the vectors that cover the lanes, and few lanes stand at
  /// one place.
  bool takesMasks(mlir::Type element, const LaneEmitter &emitter) const;

private:
  void forEachPart(llvm::function_ref<void(int64_t begin, int64_t width)> body) const;
  mlir::Value maskOfPart(mlir::Value mask, int64_t begin, int64_t width, int64_t covered,
                         LaneEmitter &emitter) const;
  llvm::SmallVector<int64_t> places; // of each lane, in elements from the least on
  int64_t least = 0, extent = 0;
};

} // namespace nereid::cpu
