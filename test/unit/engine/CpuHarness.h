// Compiles a kernel written in tile IR and runs it on the CPU, in this process.
#pragma once

#include "pipeline/Cpu.h"
#include "runtime/CpuKernel.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cstring>

namespace nereid::test {

/// What a failed step reported, for test output.
inline std::string explain(const Error &error) {
  std::string text = error.what;
  for (const Diagnostic &diagnostic : error.diagnostics)
    text += "\n  " + diagnostic.message;
  return text;
}

/// Packs launch arguments by the rule of support/LaunchAbi.h.
class Arguments {
public:
  template <typename T> Arguments &add(T value) {
    size_t at = (bytes.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    bytes.resize(at + sizeof(T));
    std::memcpy(bytes.data() + at, &value, sizeof(T));
    return *this;
  }
  std::vector<uint8_t> bytes;
};

struct CompiledCpuKernel {
  std::unique_ptr<runtime::CpuKernel> kernel;
  std::string failure;

  void run(const Arguments &arguments, std::array<uint32_t, 3> grid) {
    ASSERT_TRUE(kernel) << failure;
    runtime::LaunchArguments launch;
    launch.packed = arguments.bytes.data();
    launch.packedBytes = uint32_t(arguments.bytes.size());
    launch.grid = grid;
    runtime::InlineExecutor executor;
    Status status = kernel->launch(launch, executor);
    ASSERT_TRUE(status) << explain(status.error());
  }
};

inline mlir::DialectRegistry &testRegistry() {
  static mlir::DialectRegistry *registry = [] {
    auto *made = new mlir::DialectRegistry;
    pipeline::registerCpuPipeline(*made);
    return made;
  }();
  return *registry;
}

inline CompiledCpuKernel compileForCpu(mlir::MLIRContext &context, const std::string &source,
                                       const pipeline::CpuOptions &options = {}) {
  CompiledCpuKernel out;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  if (!module) {
    out.failure = "the test's tile IR does not parse";
    return out;
  }
  auto artifact = pipeline::compileForCpu(*module, options);
  if (!artifact) {
    out.failure = explain(artifact.error());
    return out;
  }
  auto kernel = runtime::CpuKernel::load(*artifact, options.features);
  if (!kernel)
    out.failure = explain(kernel.error());
  else
    out.kernel = std::move(*kernel);
  return out;
}

inline CompiledCpuKernel compileForCpu(const std::string &source,
                                       const pipeline::CpuOptions &options = {}) {
  mlir::MLIRContext context(testRegistry(), mlir::MLIRContext::Threading::DISABLED);
  return compileForCpu(context, source, options);
}

} // namespace nereid::test
