#include "Weights.h"

#include <cmath>
#include <random>

Weights::Weights(const Sizes &sizes, uint64_t seed) {
  std::mt19937_64 generator(seed);
  auto matrix = [&](int64_t inputs, int64_t outputs, double spread) {
    std::normal_distribution<float> normal(0, float(spread / std::sqrt(double(inputs))));
    std::vector<float> numbers(size_t(inputs * outputs));
    for (float &number : numbers)
      number = normal(generator);
    return numbers;
  };
  auto gains = [&] {
    std::uniform_real_distribution<float> near(0.5f, 1.5f);
    std::vector<float> numbers(size_t(sizes.width));
    for (float &number : numbers)
      number = near(generator);
    return numbers;
  };
  embedding = matrix(1, sizes.vocabulary * sizes.width, 1);
  // Queries and keys that are wide apart make attention look at few tokens, so that a wrong one is
  // seen.
  for (int64_t layer = 0; layer < sizes.layers; ++layer)
    layers.push_back({gains(), matrix(sizes.width, sizes.qkvRow(), 1.5),
                      matrix(sizes.queryRow(), sizes.width, 1), gains(),
                      matrix(sizes.width, 2 * sizes.hidden, 1),
                      matrix(sizes.hidden, sizes.width, 1)});
  norm = gains();
  head = matrix(sizes.width, sizes.vocabulary, 2);
}
