// The sizes of the model.
#pragma once

#include <cstdint>

struct Sizes {
  int64_t vocabulary = 2048, width = 256, layers = 4;
  int64_t heads = 8, keyHeads = 2, headWidth = 32;
  int64_t hidden = 768; ///< of the gated layer
  static constexpr float epsilon = 1e-5f;
  static constexpr double log2RotaryBase = 13.287712379549449; ///< of 10000

  int64_t group() const { return heads / keyHeads; } ///< query heads of a key head
  int64_t queryRow() const { return heads * headWidth; }
  int64_t keyRow() const { return keyHeads * headWidth; }
  int64_t qkvRow() const { return queryRow() + 2 * keyRow(); }
};
