// What the machine can do at most, measured with kernels of this engine.
#pragma once

#include <nereid/kernels.h>

#include <algorithm>
#include <functional>

struct Rates {
  double bytesPerSecond;      ///< reading a buffer again and again, wherever it comes to lie
  double operationsPerSecond; ///< of a product of `productSize`^3 in f32
  int64_t bufferBytes, productSize;

  /// The least time in which so many bytes can be read and so many operations be done.
  double secondsFor(int64_t bytes, int64_t operations) const {
    return std::max(double(bytes) / bytesPerSecond, double(operations) / operationsPerSecond);
  }
  bool boundByBytes(int64_t bytes, int64_t operations) const {
    return double(bytes) / bytesPerSecond >= double(operations) / operationsPerSecond;
  }
};

/// The fastest of some passes that take 0.2 s together, each waited for; one before them compiles.
double fastestSeconds(const nereid::Stream &stream, const std::function<void()> &pass);

/// `read` is the kernel of transformer.py. The buffer has about `bytes`: as many as a step reads,
/// so that it lies where those do, in a cache or behind it.
Rates measureRates(const nereid::Kernel &read, const nereid::kernels::Library &library,
                   const nereid::Stream &stream, int64_t bytes);
