// Runs kernels on tensors of the host, on any device: the interpreter (`ref`), the CPU, a GPU.
//
// For tools: `nereid run`, `check` and `test` use it, programs use the launch path itself. A Runner
// keeps what it compiled, so a second launch of the same specialisation costs a launch.
#pragma once

#include "emit/Program.h"
#include "engine/Compile.h"
#include "engine/Timing.h"
#include "launch/Argument.h"
#include "launch/Signature.h"
#include "ref/Interpreter.h"
#include "support/HostTensor.h"

#include <functional>
#include <memory>

namespace nereid::runtime {
class Device;
class Stream;
} // namespace nereid::runtime

namespace nereid::engine {

/// `descriptor(tensor, block)`.
struct HostDescriptor {
  support::HostTensor *tensor = nullptr;
  std::vector<int64_t> block;
  bool padNan = false;
};

/// An argument as a tool has it: a value, a tensor of the host, a descriptor, or a tuple.
struct HostArgument {
  launch::Argument value; ///< when nothing below is set; Kind::Default if left open
  std::string text;       ///< owns the characters of a string value
  support::HostTensor *tensor = nullptr;
  std::string name; ///< of the tensor, for messages
  std::optional<HostDescriptor> descriptor;
  std::vector<HostArgument> elements;
  bool isTuple = false;
};

struct RunRequest {
  emit::Program *program = nullptr;
  std::string kernel;
  std::vector<HostArgument> arguments; ///< one a parameter, in order
  std::array<uint32_t, 3> grid = {1, 1, 1};
  CodeOptions options;
};

struct RunOutcome {
  double seconds = 0;        ///< of the launch itself
  double compileSeconds = 0; ///< 0 on a hit
  std::vector<std::string> prints;
  std::vector<ref::Finding> findings;
  ref::Statistics statistics;    ///< on `ref` only
  std::vector<Diagnostic> notes; ///< of the compiler
  bool isAssembled = false;      ///< by a chip's runner: there is machine code
  /// By a chip's runner that describes: the kernel and its specialisation, then what its code is
  /// made of, each once.
  std::vector<std::string> code;
};

struct RunnerOptions {
  ref::Options reference;                                ///< how `ref` runs
  bool describe = false;                                 ///< what a chip's code is made of
  std::function<void(const ref::Progress &)> onProgress; ///< of launches on `ref`
};

/// The classes of arguments, as the launch path finds them. `defaulted` lists what was left open.
Result<support::Specialization> specializeHost(const launch::Signature &signature,
                                               const std::vector<HostArgument> &arguments,
                                               std::vector<uint32_t> &defaulted);

class Runner {
public:
  /// `device` is "ref", "cpu" or "cuda:N"; or a chip ("sm_90a"), for which launches are compiled
  /// and assembled, and nothing is run.
  static Result<std::unique_ptr<Runner>> create(std::string_view device,
                                                RunnerOptions options = {});
  virtual ~Runner() = default;

  /// Makes the tensor's memory known to the device; its name is for messages. Contents are sent.
  virtual Status bind(support::HostTensor &tensor, std::string name, bool initialized = true) = 0;
  /// Brings the contents back.
  virtual Status fetch(support::HostTensor &tensor) = 0;
  /// Forgets one tensor, or all.
  virtual void unbind(support::HostTensor &tensor) = 0;
  virtual void unbindAll() = 0;

  /// What `run` would compile for a request, as work that any thread can do at any time from now
  /// on, with the tensors gone too; empty where compiling ahead gains nothing. Tensors need not be
  /// bound.
  virtual Result<std::function<Status()>> compilation(const RunRequest &) {
    return std::function<Status()>();
  }
  /// Launches once and waits. Tensors of the arguments must be bound.
  virtual Result<RunOutcome> run(const RunRequest &request) = 0;

  /// Measures passes over `requests`, which have run before. On a GPU by events in the stream,
  /// after overwriting the second-level cache; elsewhere by the clock, with caches as the pass
  /// before left them.
  virtual Result<Timing> time(std::span<const RunRequest> requests, const TimeOptions &options) = 0;
  /// The device of the runtime behind this runner; null for the interpreter.
  virtual runtime::Device *runtimeDevice() { return nullptr; }
  /// Where the first element of a bound tensor is on the device; null if it is on none.
  virtual void *address(const support::HostTensor &) { return nullptr; }
  /// Measures what `pass` queues in a stream as `time` does.
  virtual Result<Timing> timePass(const std::function<Status(runtime::Stream &)> &pass,
                                  const TimeOptions &options);
  /// Bytes read plus bytes written a second by a large copy on this device: on a GPU measured once,
  /// on a CPU, whose memory others share, at each call, by all threads and past the caches.
  virtual Result<double> copyRate() = 0;

  const std::string &device() const { return name; }

protected:
  std::string name;
};

} // namespace nereid::engine
