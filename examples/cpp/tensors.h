// What the programs beside this file share: random numbers, and the way of tensors to a device and
// back.
#pragma once

#include <nereid/launch.h>

#include <random>
#include <vector>

inline std::vector<float> randomNumbers(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(count);
  for (float &number : numbers)
    number = normal(generator);
  return numbers;
}

inline nereid::Tensor upload(const nereid::Device &device, const std::vector<float> &values,
                             nereid::Shape shape) {
  auto tensor = must(nereid::Tensor::empty(device, nereid::DType::Float32, shape));
  must(tensor.upload(values.data()));
  return tensor;
}

inline std::vector<float> download(const nereid::Tensor &tensor) {
  std::vector<float> values(size_t(tensor.size()));
  must(tensor.download(values.data()));
  return values;
}

/// How many blocks cover `size`.
inline uint32_t blocks(int64_t size, int64_t block) { return uint32_t((size + block - 1) / block); }
