// Kernels that apply an expression to each element of some tensors, many of one program: a runner
// keeps what it compiled by the program.
#pragma once

#include "emit/Program.h"
#include "engine/Runner.h"
#include "support/HostTensor.h"

#include <cstring>
#include <span>

namespace nereid::test {

/// The text of kernel `k<number>`, which stores `before` + its loaded inputs + `after`.
inline std::string elementwiseKernel(size_t number, size_t inputs, const std::string &before,
                                     const std::string &after) {
  std::string parameters, loads;
  for (size_t k = 0; k < inputs; ++k) {
    std::string name = "x" + std::to_string(k);
    parameters += name + ", ";
    loads += (k ? ", tl.load(" : "tl.load(") + name + " + i)";
  }
  return "\n\n@triton.jit\ndef k" + std::to_string(number) + "(" + parameters +
         "y, N: tl.constexpr):\n    i = tl.arange(0, N)\n    tl.store(y + i, " + before + loads +
         after + ")\n";
}

/// Runs it on tensors of the same size.
inline Status runElementwise(engine::Runner &runner, emit::Program &program, size_t number,
                             std::span<support::HostTensor> inputs, support::HostTensor &output) {
  engine::RunRequest request;
  request.program = &program;
  request.kernel = "k" + std::to_string(number);
  auto add = [&](support::HostTensor &tensor) {
    engine::HostArgument argument;
    argument.tensor = &tensor;
    request.arguments.push_back(argument);
    return runner.bind(tensor, "x" + std::to_string(request.arguments.size()));
  };
  for (support::HostTensor &input : inputs)
    if (Status status = add(input); !status)
      return status;
  if (Status status = add(output); !status)
    return status;
  engine::HostArgument size;
  size.value = launch::Argument::integer(output.numel());
  request.arguments.push_back(size);
  if (auto outcome = runner.run(request); !outcome)
    return outcome.error();
  Status status = runner.fetch(output);
  runner.unbindAll();
  return status;
}

inline uint64_t bitsOf(const support::HostTensor &tensor, int64_t i) {
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const char *>(tensor.data()) + i * int64_t(tensor.elementBytes()),
              tensor.elementBytes());
  return bits;
}

} // namespace nereid::test
