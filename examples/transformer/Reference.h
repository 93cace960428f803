// The same model in plain loops and double precision, without any kernel.
#pragma once

#include "Weights.h"

#include <span>

/// Logits for what follows the last of `tokens`.
std::vector<double> referenceLogits(const Sizes &sizes, const Weights &weights,
                                    std::span<const int32_t> tokens);
