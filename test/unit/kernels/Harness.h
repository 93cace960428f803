// Tensors on the CPU with numbers in double beside them, for plain loops to be compared with.
#pragma once

#include "nereid/kernels.h"
#include "support/FloatFormat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace nereid::kernels::test {

constexpr DType F32 = DType::Float32;
constexpr DType floatTypes[] = {DType::Float32, DType::Float16, DType::BFloat16};

inline double numberAt(DType type, const void *data, int64_t at) {
  auto *bytes = static_cast<const char *>(data);
  auto read = [&]<typename T>(T value) {
    std::memcpy(&value, bytes + at * int64_t(sizeof(T)), sizeof(T));
    return value;
  };
  switch (type) {
  case DType::Float32:
    return read(0.0f);
  case DType::Float64:
    return read(0.0);
  case DType::Int8:
    return read(int8_t(0));
  case DType::Int32:
    return read(int32_t(0));
  case DType::Int64:
    return double(read(int64_t(0)));
  default:
    return support::decodeFloat(support::formatOf(type),
                                info(type).bytes == 2 ? read(uint16_t(0)) : read(uint8_t(0)));
  }
}

inline void setNumberAt(DType type, void *data, int64_t at, double number) {
  auto *bytes = static_cast<char *>(data);
  auto write = [&]<typename T>(T value) {
    std::memcpy(bytes + at * int64_t(sizeof(T)), &value, sizeof(T));
  };
  switch (type) {
  case DType::Float32:
    return write(float(number));
  case DType::Float64:
    return write(number);
  case DType::Int8: // the nearest there is
    return write(int8_t(std::clamp(number, -128.0, 127.0)));
  case DType::Int32:
    return write(int32_t(number));
  case DType::Int64:
    return write(int64_t(number));
  default:
    uint32_t bits = support::encodeFloat(support::formatOf(type), number);
    return info(type).bytes == 2 ? write(uint16_t(bits)) : write(uint8_t(bits));
  }
}

/// A tensor of the CPU.
struct Array {
  Tensor tensor;

  /// Row-major memory, filled with a number that no result has.
  static Array make(DType type, std::vector<int64_t> shape) {
    Array array{must(Tensor::empty(must(Device::open("cpu")), type, shape))};
    for (int64_t i = 0; i < array.size(); ++i)
      array.set(i, 77);
    return array;
  }
  /// Normal numbers.
  static Array random(DType type, std::vector<int64_t> shape, unsigned seed, double deviation = 1) {
    Array array = make(type, std::move(shape));
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal(0, deviation);
    for (int64_t i = 0; i < array.size(); ++i)
      array.set(i, normal(generator));
    return array;
  }
  static Array of(DType type, std::vector<int64_t> shape, const std::vector<double> &numbers) {
    Array array = make(type, std::move(shape));
    for (int64_t i = 0; i < array.size(); ++i)
      array.set(i, numbers[size_t(i)]);
    return array;
  }

  int64_t size() const { return tensor.size(); }
  int64_t extent(size_t axis) const { return tensor.shape()[axis]; }
  double operator[](int64_t at) const { return numberAt(tensor.type(), tensor.data(), at); }
  void set(int64_t at, double number) const {
    setNumberAt(tensor.type(), tensor.data(), at, number);
  }
  /// Another view of the same memory.
  Tensor view(std::vector<int64_t> shape, std::vector<int64_t> strides, int64_t first = 0) const {
    return must(Tensor::wrap(tensor.device(),
                             tensor.data<char>() + first * info(tensor.type()).bytes, tensor.type(),
                             shape, strides));
  }
  operator const Tensor &() const { return tensor; }
};

/// Half a unit in the last place of a number of order 1.
inline double unitOf(DType type) {
  switch (type) {
  case DType::Float16:
    return std::ldexp(1, -11);
  case DType::BFloat16:
    return std::ldexp(1, -8);
  case DType::Float8E4NV:
    return std::ldexp(1, -4);
  case DType::Float8E5:
    return std::ldexp(1, -3);
  default:
    return std::ldexp(1, -24);
  }
}

/// Each element is within rel * |expected| + abs.
template <typename Expected>
void expectNear(const Array &found, Expected &&expected, double rel, double abs) {
  for (int64_t i = 0; i < found.size(); ++i) {
    double wanted = expected(i), seen = found[i];
    if (seen == wanted ||
        (std::isnan(wanted) ? std::isnan(seen)
                            : std::abs(seen - wanted) <= rel * std::abs(wanted) + abs))
      continue;
    ADD_FAILURE() << "element " << i << " is " << seen << ", not " << wanted;
    return;
  }
}

/// A library that keeps no kernel on disk, and its stream.
struct Setup {
  Engine engine = must(Engine::create({.cacheOnDisk = false}));
  Library library = must(Library::create(engine));
  Device device = must(Device::open("cpu"));
  Stream stream = device.stream();

  template <typename Call> void run(const Call &call) {
    Status status = library.run(stream, call);
    ASSERT_TRUE(status.ok()) << describe(status.error());
  }
  template <typename Call> std::string failure(const Call &call) {
    Status status = library.run(stream, call);
    return status ? "" : describe(status.error());
  }
};

/// One for all tests of a binary: what one compiled, others find.
inline Setup &setup() {
  static Setup one;
  return one;
}

} // namespace nereid::kernels::test
