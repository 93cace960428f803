// What the exercises share: numbers, tensors, and a comparison.
#pragma once

#include <nereid/engine.h>

#include <cmath>
#include <cstdio>
#include <random>

using namespace nereid;

inline std::vector<float> randomNumbers(int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float &number : numbers)
    number = normal(generator);
  return numbers;
}

inline Tensor upload(const Device &device, const std::vector<float> &values, Shape shape) {
  Tensor tensor = must(Tensor::empty(device, DType::Float32, shape));
  must(tensor.upload(values.data()));
  return tensor;
}

inline Tensor empty(const Device &device, Shape shape) {
  return must(Tensor::empty(device, DType::Float32, shape));
}

inline std::vector<float> download(const Tensor &tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.size()));
  must(tensor.download(values.data()));
  return values;
}

inline uint32_t blocks(int64_t size, int64_t block) {
  return static_cast<uint32_t>((size + block - 1) / block);
}

/// Whether the two agree, which is said on a line.
template <typename Wanted>
bool equal(const char *name, const std::vector<float> &found, const std::vector<Wanted> &wanted,
           double tolerance) {
  double worst = found.size() == wanted.size() ? 0 : INFINITY;
  for (size_t i = 0; i < found.size() && i < wanted.size(); ++i) {
    double error = std::abs(double(found[i]) - double(wanted[i]));
    worst = error <= worst ? worst : error; // a NaN stays
  }
  bool good = worst <= tolerance;
  std::printf("%s: %s, greatest error %.3g of %.3g\n", name, good ? "right" : "WRONG", worst,
              tolerance);
  return good;
}

/// `main` of an exercise: the root of this repository, then the device.
template <typename Body> int exercise(int argc, char **argv, Body body) {
  try {
    std::string root = argc > 1 ? argv[1] : ".";
    Device device = must(Device::open(argc > 2 ? argv[2] : "cpu"));
    std::printf("%s: %s\n", device.name().c_str(), device.description().c_str());
    return body(root, device, must(Engine::create())) ? 0 : 1;
  } catch (const Exception &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
