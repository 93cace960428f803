// NVIDIA's own matrix products, opened at run time as the driver is: what `nereid bench` puts
// beside ours. Our own declarations of the part we use; nothing needs CUDA to build or to load.
#pragma once

#include "nereid/base.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace nereid::runtime {

/// C[m, n] = A[m, k] * B[k, n]. Strides are in elements; of each matrix one stride is 1.
struct MatrixProduct {
  int64_t m = 0, n = 0, k = 0;
  DType a = DType::Float16, b = DType::Float16, c = DType::Float16;
  int64_t aStrides[2] = {}, bStrides[2] = {}, cStrides[2] = {}; ///< of rows, of columns
  bool tf32 = false;                                            ///< round operands of f32 to tf32
};

class CublasLt {
public:
  /// Opens `library`; empty: the knob's, else where the linker and CUDA toolkits keep it.
  static Result<std::unique_ptr<CublasLt>> open(const char *library = "");
  ~CublasLt();
  CublasLt(const CublasLt &) = delete;

  /// Memory that every product may use while it runs.
  static constexpr size_t workspaceBytes = size_t(64) << 20;

  /// A product made ready, with the ways that the library proposes for it, its favourite first.
  class Plan {
  public:
    size_t count() const;

  private:
    friend class CublasLt;
    struct State;
    std::shared_ptr<State> state;
  };
  /// Fails on types and layouts that the library does not multiply. With the device's context
  /// current.
  Result<Plan> plan(const MatrixProduct &product);
  /// Queues it in a native stream (CUstream), in the way numbered `which`.
  Status run(const Plan &plan, size_t which, const void *a, const void *b, void *c, void *workspace,
             void *stream);

  size_t version() const { return versionNumber; } ///< 130100 is 13.1.0

private:
  CublasLt() = default;
  struct Functions;
  std::unique_ptr<Functions> functions;
  void *handle = nullptr;
  size_t versionNumber = 0;
};

} // namespace nereid::runtime
