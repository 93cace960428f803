// Kernels from a pack, for programs without the compiler: the library `nereid_runtime` is enough.
//
//   auto pack = must(nereid::Pack::open("kernels.pack"));
//   auto add = must(pack.kernel("add"));
//   add(device.stream(), {blocks}, x, y, out, n, named("BLOCK", 1024));
//
// `nereid compile --emit pack` and `Program::pack` make packs. Launches may leave open what
// `@triton.heuristics` computes and what `@triton.autotune` chooses by its key: the pack knows both
// (docs/ahead-of-time.md). A launch that it has no code for is refused.
#pragma once

#include "nereid/launch.h"

namespace nereid {

struct PackState;
struct PackedKernelState;

/// A kernel of a pack. Any number of threads may launch it.
class NEREID_API PackedKernel {
public:
  /// Of one that is default-constructed or moved from all calls fail.
  explicit operator bool() const { return state != nullptr; }
  const std::string &name() const;
  std::span<const KernelParameter> parameters() const;

  /// Queues a launch, as Kernel::launch does.
  Status launch(const Stream &stream, Grid grid, std::span<const Argument> arguments) const;
  Status launch(const Stream &stream, Grid grid, std::initializer_list<Argument> arguments) const {
    return launch(stream, grid, std::span(arguments.begin(), arguments.size()));
  }
  /// The same on the grid that the pack brings along (`nereid compile --grid`,
  /// PackOptions); an error if it brings none.
  Status launch(const Stream &stream, std::span<const Argument> arguments) const;
  Status launch(const Stream &stream, std::initializer_list<Argument> arguments) const {
    return launch(stream, std::span(arguments.begin(), arguments.size()));
  }
  /// Queues a launch; throws.
  template <typename... Values>
  void operator()(const Stream &stream, Grid grid, Values &&...values) const {
    must(launch(stream, grid, {Argument(std::forward<Values>(values))...}));
  }
  /// Loads what such a launch needs, and launches nothing.
  Status prepare(const Device &device, std::span<const Argument> arguments) const;

  /// As Kernel::takeMessages.
  Result<std::vector<KernelMessage>> takeMessages() const;

private:
  friend class Pack;
  std::shared_ptr<PackedKernelState> state;
};

/// A pack that is mapped. Its file may be replaced, by renaming, but not changed.
class NEREID_API Pack {
public:
  /// Of one that is default-constructed or moved from all calls fail.
  explicit operator bool() const { return state != nullptr; }
  /// Fails on what is no pack, a pack of another version or a damaged one, and if the program was
  /// compiled with headers of another version.
  static Result<Pack> open(const std::string &path) {
    if (const char *problem = abiMismatch(Abi()))
      return Error{problem, {}};
    return map(path);
  }

  std::vector<std::string> kernels() const;
  Result<PackedKernel> kernel(std::string_view name) const;

private:
  static Result<Pack> map(const std::string &path);
  std::shared_ptr<PackState> state;
};

} // namespace nereid
