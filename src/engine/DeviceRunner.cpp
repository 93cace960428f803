// Runs kernels on the devices of the runtime.
#include "engine/Runners.h"
#include "launch/Launcher.h"
#include "runtime/Device.h"
#include "runtime/Recorder.h"
#include "support/Records.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace nereid::engine {

using launch::Argument;
using support::HostTensor;

namespace {

// Past the caches, as kernels write large tensors. memcpy does so from a size on that the C library
// derives from what it believes of the caches, which is wrong inside many virtual machines.
void copyPastCaches(char *to, const char *from, size_t bytes) {
#if defined(__x86_64__)
  for (; bytes >= 64; bytes -= 64, from += 64, to += 64)
    for (int i = 0; i < 64; i += 16)
      _mm_stream_si128(reinterpret_cast<__m128i *>(to + i),
                       _mm_load_si128(reinterpret_cast<const __m128i *>(from + i)));
  _mm_sfence();
#endif
  std::memcpy(to, from, bytes);
}

class DeviceRunner final : public Runner {
public:
  explicit DeviceRunner(runtime::Device &device) : on(device) { name = device.name(); }

  Status bind(HostTensor &tensor, std::string, bool) override {
    if (on.kind() == runtime::DeviceKind::Cpu)
      return Success{};
    auto buffer = on.allocate(std::max<size_t>(tensor.allocationBytes(), 1));
    if (!buffer)
      return buffer.takeError();
    if (Status status =
            on.defaultStream().copy(buffer->data(), tensor.allocation(), tensor.allocationBytes());
        !status)
      return status;
    buffers[&tensor] = std::move(*buffer);
    return on.synchronize();
  }
  Status fetch(HostTensor &tensor) override {
    auto it = buffers.find(&tensor);
    if (it == buffers.end())
      return Success{};
    if (Status status = on.defaultStream().copy(tensor.allocation(), it->second.data(),
                                                tensor.allocationBytes());
        !status)
      return status;
    return on.synchronize();
  }
  void unbind(HostTensor &tensor) override { buffers.erase(&tensor); }
  void unbindAll() override { buffers.clear(); }

  Result<Timing> time(std::span<const RunRequest> requests, const TimeOptions &options) override {
    std::vector<std::pair<Kernel *, BoundArguments>> passes;
    for (const RunRequest &request : requests) {
      auto kernel = kernelFor(request);
      if (!kernel)
        return kernel.takeError();
      auto bound = bindFor(request);
      if (!bound)
        return bound.takeError();
      passes.emplace_back(*kernel, std::move(*bound));
    }
    return timePass(
        [&](runtime::Stream &stream) -> Status {
          for (size_t i = 0; i < passes.size(); ++i)
            if (Status status = passes[i].first->launcher->launch(
                    stream, passes[i].second.arguments, requests[i].grid);
                !status)
              return status;
          return Success{};
        },
        options);
  }

  runtime::Device *runtimeDevice() override { return &on; }
  void *address(const HostTensor &tensor) override {
    if (on.kind() == runtime::DeviceKind::Cpu)
      return tensor.data();
    auto it = buffers.find(&tensor);
    if (it == buffers.end())
      return nullptr;
    return static_cast<char *>(it->second.data()) +
           (static_cast<char *>(tensor.data()) - static_cast<char *>(tensor.allocation()));
  }

  Result<Timing> timePass(const std::function<Status(runtime::Stream &)> &pass,
                          const TimeOptions &options) override {
    runtime::Stream &stream = on.defaultStream();
    auto clocked = [&]() -> Result<double> {
      auto start = Clock::now();
      if (Status status = pass(stream); !status)
        return status.takeError();
      if (Status status = on.synchronize(); !status)
        return status.takeError();
      return secondsSince(start);
    };
    if (on.kind() == runtime::DeviceKind::Cpu) {
      // Caches, branch predictors and clocks settle first.
      auto warm = sampled({.seconds = options.seconds / 10, .minSamples = 2}, clocked);
      return warm ? sampled(options, clocked) : std::move(warm);
    }
    if (options.isCacheRead)
      if (Status status = openReader(); !status)
        return status.takeError();
    return timer.time(stream, pass, options,
                      options.isCacheRead
                          ? Pass([this](runtime::Stream &stream) { return readOver(stream); })
                          : nullptr);
  }

  Result<double> copyRate() override {
    bool isCpu = on.kind() == runtime::DeviceKind::Cpu;
    // A CPU's memory is shared with whatever else runs: measured again beside each row.
    if (measuredCopyRate && !isCpu)
      return *measuredCopyRate;
    // Out of every cache, both blocks together, and short enough to be repeated.
    size_t bytes =
        isCpu ? std::max<size_t>(4 * on.info().cacheBytes, size_t(64) << 20) : size_t(1) << 30;
    runtime::Stream &stream = on.defaultStream();
    if (!copied) {
      auto blocks = on.allocate(2 * bytes);
      if (!blocks)
        return blocks.takeError();
      copied = std::move(*blocks);
      if (Status status = stream.fill(copied.data(), 0x9e3779b9, 4, 2 * bytes / 4); !status)
        return status.takeError();
    }
    auto *from = static_cast<char *>(copied.data()), *to = from + bytes;
    auto timing =
        sampled({.seconds = 0.2, .minSamples = 5, .maxSamples = 40}, [&]() -> Result<double> {
          auto start = Clock::now();
          if (isCpu) {
            size_t each = bytes / on.info().units & ~size_t(63);
            std::vector<std::jthread> threads;
            for (size_t first = 0; first < bytes; first += each)
              threads.emplace_back(copyPastCaches, to + first, from + first,
                                   std::min(each, bytes - first));
          } else if (Status status = stream.copy(to, from, bytes); !status) {
            return status.takeError();
          }
          if (Status status = on.synchronize(); !status)
            return status.takeError();
          return secondsSince(start);
        });
    if (!timing)
      return timing.takeError();
    if (!isCpu)
      copied = {};
    measuredCopyRate = 2 * double(bytes) / timing->median;
    return *measuredCopyRate;
  }

  Result<std::function<Status()>> compilation(const RunRequest &request) override {
    auto kernel = kernelFor(request);
    if (!kernel)
      return kernel.takeError();
    struct Work {
      RunRequest request; // owns the text that arguments point at
      BoundArguments bound;
    };
    auto work = std::make_shared<Work>(Work{request, {}});
    // A tensor that is not bound will lie on the device as it does here, as far as alignment goes.
    auto bound = bindAll(work->request.arguments, on,
                         [this](const HostTensor &tensor, const std::string &) -> Result<void *> {
                           void *there = address(tensor);
                           return there ? there : tensor.data();
                         });
    if (!bound)
      return bound.takeError();
    work->bound = std::move(*bound);
    return std::function<Status()>([work, kernel = *kernel]() -> Status {
      auto prepared = kernel->launcher->prepare(work->bound.arguments);
      return prepared ? Status(Success{}) : prepared.takeError();
    });
  }

  Result<RunOutcome> run(const RunRequest &request) override {
    RunOutcome outcome;
    auto bound = bindFor(request);
    if (!bound)
      return bound.takeError();
    auto kernel = kernelFor(request);
    if (!kernel)
      return kernel.takeError();
    auto start = Clock::now();
    auto prepared = (*kernel)->launcher->prepare(bound->arguments);
    if (!prepared)
      return prepared.takeError();
    outcome.compileSeconds = secondsSince(start);
    outcome.notes = (*kernel)->takeNotes();
    start = Clock::now();
    if (Status status =
            (*kernel)->launcher->launch(on.defaultStream(), bound->arguments, request.grid);
        !status)
      return status.takeError();
    if (Status status = on.synchronize(); !status)
      return status.takeError();
    outcome.seconds = secondsSince(start);
    runtime::LoadedKernel &loaded = *(*prepared)->kernel;
    if (loaded.code().flags & support::CodeRecords)
      if (Status status = takeRecords(loaded, outcome); !status)
        return status.takeError();
    return outcome;
  }

private:
  // Compiles for this runner's device when the launcher misses.
  struct Kernel final : launch::KernelSource {
    emit::Program *program = nullptr;
    std::mutex *emitMutex = nullptr;
    std::string kernel, target;
    CodeOptions options;
    std::optional<launch::Launcher> launcher;

    std::vector<Diagnostic> takeNotes() {
      std::lock_guard lock(notesMutex);
      return std::exchange(notes, {});
    }
    Result<support::Artifact> kernelFor(const support::Specialization &specialization,
                                        std::span<const uint32_t> defaulted, uint32_t) override {
      runtime::TraceScope trace(runtime::TraceKind::Compile, kernel);
      // A program's evaluator is one thread's at a time; code is generated beside other threads.
      auto emitted = [&] {
        std::lock_guard lock(*emitMutex);
        return emitKernel(*program, kernel, specialization, defaulted, options);
      }();
      if (!emitted)
        return emitted.takeError();
      {
        std::lock_guard lock(notesMutex);
        notes = emitted->diagnostics;
      }
      return buildArtifact(*emitted, target);
    }

  private:
    std::mutex notesMutex;
    std::vector<Diagnostic> notes; // of the last compilation
  };

  Result<BoundArguments> bindFor(const RunRequest &request) {
    return bindAll(
        request.arguments, on,
        [this](const HostTensor &tensor, const std::string &tensorName) -> Result<void *> {
          if (void *there = address(tensor))
            return there;
          return Error{"tensor `" + tensorName + "` was not sent to " + name, {}};
        });
  }

  // A kernel that reads a buffer of its own and writes next to nothing.
  Status openReader() {
    if (reader)
      return Success{};
    const size_t bytes = std::max<size_t>(2 * on.info().cacheBytes, size_t(128) << 20);
    auto buffer = on.allocate(bytes);
    if (!buffer)
      return buffer.takeError();
    if (Status status = on.defaultStream().fill(buffer->data(), 0, 4, bytes / 4); !status)
      return status;
    emit::SourceUnit unit;
    unit.file = "read_over.py";
    unit.text = R"(import triton
import triton.language as tl


@triton.jit
def read_over(x, steps, BLOCK: tl.constexpr):
    at = tl.program_id(0) * steps * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.int32)
    for step in range(steps):
        total += tl.load(x + at + step * BLOCK)
    tl.store(x + tl.program_id(0) * steps * BLOCK, tl.sum(total, axis=0))
)";
    readerProgram = emit::Program::load(unit).program;
    RunRequest request{.program = readerProgram.get(), .kernel = "read_over"};
    auto kernel = kernelFor(request);
    if (!kernel)
      return kernel.takeError();
    readable = std::move(*buffer);
    reader = *kernel;
    return Success{};
  }
  Status readOver(runtime::Stream &stream) {
    constexpr uint32_t block = 2048, steps = 16;
    const launch::Argument arguments[] = {launch::Argument::pointer(readable.data(), DType::Int32),
                                          launch::Argument::integer(steps),
                                          launch::Argument::integer(block)};
    const auto programs = uint32_t(readable.bytes() / (size_t(block) * steps * 4));
    return reader->launcher->launch(stream, arguments, std::array<uint32_t, 3>{programs, 1, 1});
  }

  Result<Kernel *> kernelFor(const RunRequest &request) {
    auto key = std::make_tuple(request.program, request.kernel, optionsText(request.options));
    auto &slot = kernels[key];
    if (!slot) {
      auto signature = signatureOf(*request.program, request.kernel);
      if (!signature)
        return signature.takeError();
      auto fresh = std::make_unique<Kernel>();
      fresh->program = request.program;
      fresh->emitMutex = &emitMutex;
      fresh->kernel = request.kernel;
      fresh->target = on.kind() == runtime::DeviceKind::Cpu ? "cpu" : on.info().arch;
      fresh->options = request.options;
      fresh->launcher.emplace(std::move(*signature), on, *fresh);
      slot = std::move(fresh);
    }
    return slot.get();
  }

  Status takeRecords(runtime::LoadedKernel &loaded, RunOutcome &outcome) {
    uint64_t lost = 0;
    auto records = loaded.takeRecords(lost);
    if (!records)
      return records.takeError();
    for (const support::DecodedRecord &record :
         support::decodeRecords(loaded.artifact(), *records)) {
      if (record.kind != support::RecordKind::Assert) {
        outcome.prints.push_back(record.text());
        continue;
      }
      ref::Finding finding;
      finding.diagnostic.code = "AssertFailed";
      finding.diagnostic.message = record.text();
      finding.program = record.program;
      outcome.findings.push_back(std::move(finding));
    }
    if (lost)
      outcome.prints.push_back("(" + std::to_string(lost) +
                               " records were lost: the buffer was full)");
    return Success{};
  }

  runtime::Device &on;
  EventTimer timer{on};
  runtime::Buffer readable; // read behind that, where lines that were written shall not stay
  std::unique_ptr<emit::Program> readerProgram;
  Kernel *reader = nullptr;
  std::optional<double> measuredCopyRate;
  runtime::Buffer copied; // what the copy reads and writes
  std::map<const HostTensor *, runtime::Buffer> buffers;
  std::mutex emitMutex; // one for all programs: emission is a small part of a compilation
  std::map<std::tuple<emit::Program *, std::string, std::string>, std::unique_ptr<Kernel>> kernels;
};

} // namespace

std::unique_ptr<Runner> makeDeviceRunner(runtime::Device &device) {
  return std::make_unique<DeviceRunner>(device);
}

} // namespace nereid::engine
