// The launch path: arguments in, a running kernel out. On a hit one key, one probe, one packed
// block on the stack, one call of the device; on a miss it asks its source for an artifact.
#pragma once

#include "launch/Argument.h"
#include "launch/KernelCache.h"
#include "launch/Packing.h"
#include "launch/Signature.h"
#include "runtime/Device.h"
#include "support/LaunchAbi.h"

#include <atomic>
#include <condition_variable>
#include <optional>

namespace nereid::launch {

/// An artifact that another thread makes.
struct Later {
  std::optional<support::Artifact> artifact; ///< none if it could not be made
  std::atomic<bool> isDone = false;          ///< `artifact` is not read before
};

/// What launches take until something better is made.
struct StandIn {
  support::Artifact artifact;
  std::shared_ptr<Later> better; ///< null if this is the best there will be
};

/// Where artifacts come from when a launch needs one: the compiler, a cache, a pack, a policy that
/// refuses.
class KernelSource {
public:
  virtual ~KernelSource() = default;
  /// The kernel for these classes of arguments. `defaulted` lists the arguments that the call left
  /// open; `variant` is the number that the caller of `launch` gave. Called by several threads.
  virtual Result<support::Artifact> kernelFor(const support::Specialization &specialization,
                                              std::span<const uint32_t> defaulted,
                                              uint32_t variant) = 0;
  /// What a launch takes that is not to wait for `kernelFor`; nothing: it waits.
  virtual std::optional<StandIn> standInFor(const support::Specialization &specialization,
                                            std::span<const uint32_t> defaulted) {
    return std::nullopt;
  }
};

/// A kernel that is loaded, with what every launch of it needs again.
struct PreparedKernel {
  std::shared_ptr<runtime::LoadedKernel> kernel;
  LaunchPattern pattern; ///< of the call for which it was prepared
  uint32_t variant = 0;  ///< of that call
  PackPlan plan;
  std::optional<support::HostExpression> grid[3]; ///< if the artifact brings its grid
  std::vector<support::HostValue> constants, options;
  std::unique_ptr<bool[]> isCompiledIn; ///< by leaf
  bool hasTuple = false;                ///< an argument of its key is a tuple
  /// What takes its place when it is done; null if nothing does. While it waits for that, `pattern`
  /// knows no call.
  std::atomic<Later *> better = nullptr;
  std::shared_ptr<Later> betterOwner;

  static Result<std::unique_ptr<PreparedKernel>> make(const support::Artifact &artifact,
                                                      runtime::Device &device);
  /// The grid that the artifact's expressions give for these leaves.
  Result<std::array<uint32_t, 3>> gridFor(std::span<const Argument *const> leaves) const;
};

/// Launches one kernel function on one device. Any number of threads.
class Launcher {
public:
  Launcher(Signature signature, runtime::Device &device, KernelSource &source)
      : signature(std::move(signature)), keys(this->signature), device(device), source(source) {}

  using Grid = std::array<uint32_t, 3>;

  /// One argument a parameter, in order. Without `grid`, the artifact must bring one. `variant`
  /// stands for the options of the call (see makeKey).
  Status launch(runtime::Stream &stream, std::span<const Argument> arguments,
                std::optional<Grid> grid, uint32_t variant = 0) {
    if (auto launched = launchPrepared(stream, arguments, grid, variant); !launched)
      return launched.takeError();
    return Success{};
  }
  /// The block of a launch.
  struct Block {
    alignas(support::packedAlignment) uint8_t bytes[support::packedLimit + LaunchPattern::slack];
  };
  /// What was launched last, if this is such a call, with the block packed for it; else null. Only
  /// `runtime::Stream::launch` is left to do. The arguments are read as by LaunchPattern::pack.
  template <typename From>
  const PreparedKernel *packAgain(std::span<const From> arguments, uint32_t variant,
                                  Block &block) const {
    const PreparedKernel *last = cache.found();
    bool isSame =
        last && last->variant == variant && last->pattern.pack(arguments, &device, block.bytes);
    return isSame ? last : nullptr;
  }
  /// As `launch`; gives what was launched.
  Result<const PreparedKernel *> launchPrepared(runtime::Stream &stream,
                                                std::span<const Argument> arguments,
                                                std::optional<Grid> grid, uint32_t variant = 0);

  /// Compiles and loads what such a launch needs, and launches nothing.
  Result<const PreparedKernel *> prepare(std::span<const Argument> arguments, uint32_t variant = 0);

  size_t preparedCount() const { return cache.size(); }
  /// Calls `visit` with each PreparedKernel.
  template <typename Visit> void forEachPrepared(Visit &&visit) const { cache.forEach(visit); }

private:
  enum class Need { Launch, Best }; // what stands in for the best will do for a launch
  Result<PreparedKernel *> miss(const LaunchKey &key, std::span<const Argument> arguments,
                                uint32_t variant, Need need);
  PreparedKernel *improve(PreparedKernel &standIn, const LaunchKey &key,
                          std::span<const Argument> arguments);
  Result<std::unique_ptr<PreparedKernel>>
  make(const support::Artifact &artifact, std::span<const Argument> arguments, uint32_t variant);

  const Signature signature;
  const KeyMaker keys;
  runtime::Device &device;
  KernelSource &source;
  KernelCache<PreparedKernel> cache;
  // Keys on their way, so that threads that miss together compile once.
  std::mutex missMutex;
  std::condition_variable missDone;
  std::vector<LaunchKey> pending;
};

} // namespace nereid::launch
