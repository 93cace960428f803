// Random weights, on the host. Matrices are [inputs, outputs].
#pragma once

#include "Sizes.h"

#include <vector>

struct LayerWeights {
  std::vector<float> attentionNorm, qkv, attentionOut, mlpNorm, gateUp, down;
};

struct Weights {
  Weights(const Sizes &sizes, uint64_t seed);
  std::vector<float> embedding, norm, head;
  std::vector<LayerWeights> layers;
};
