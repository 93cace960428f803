#include "engine/Runner.h"

#include "analysis/Explain.h"
#include "engine/Compile.h"
#include "gpu/Ptxas.h"
#include "launch/LaunchKey.h"
#include "launch/Launcher.h"
#include "pipeline/Cpu.h"
#include "pipeline/Gpu.h"
#include "runtime/Device.h"
#include "runtime/Recorder.h"
#include "support/Hash.h"
#include "support/Records.h"
#include "target/Gpu.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace nereid::engine {

namespace {

using Clock = std::chrono::steady_clock;
using launch::Argument;
using support::HostTensor;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The launch arguments of a request; objects that they point at live here.
struct BoundArguments {
  std::vector<Argument> arguments;
  std::list<runtime::Tensor> tensors;
  std::list<launch::DescriptorArgument> descriptors;
  std::list<std::vector<Argument>> tuples;
};

// Where a tensor's first element lies on the device.
using AddressOf = std::function<Result<void *>(const HostTensor &, const std::string &name)>;

Result<Argument> bindOne(const HostArgument &from, runtime::Device &device,
                         const AddressOf &addressOf, BoundArguments &into) {
  auto wrap = [&](const HostTensor &tensor) -> Result<runtime::Tensor *> {
    auto address = addressOf(tensor, from.name);
    if (!address)
      return address.takeError();
    auto wrapped =
        runtime::Tensor::wrap(device, *address, tensor.dtype(), tensor.shape(), tensor.strides());
    if (!wrapped)
      return wrapped.takeError();
    into.tensors.push_back(std::move(*wrapped));
    return &into.tensors.back();
  };
  if (from.isTuple) {
    std::vector<Argument> elements;
    for (const HostArgument &element : from.elements) {
      auto bound = bindOne(element, device, addressOf, into);
      if (!bound)
        return bound.takeError();
      elements.push_back(*bound);
    }
    into.tuples.push_back(std::move(elements));
    return Argument::tuple(into.tuples.back());
  }
  if (from.descriptor) {
    auto tensor = wrap(*from.descriptor->tensor);
    if (!tensor)
      return tensor.takeError();
    launch::DescriptorArgument descriptor;
    descriptor.tensor = **tensor;
    if (from.descriptor->block.size() > descriptor.block.size())
      return Error{"a descriptor block of rank " + std::to_string(from.descriptor->block.size()),
                   {}};
    std::copy(from.descriptor->block.begin(), from.descriptor->block.end(),
              descriptor.block.begin());
    descriptor.padNan = from.descriptor->padNan;
    into.descriptors.push_back(descriptor);
    return Argument::descriptor(into.descriptors.back());
  }
  if (from.tensor) {
    auto tensor = wrap(*from.tensor);
    if (!tensor)
      return tensor.takeError();
    return Argument::tensor(**tensor);
  }
  if (from.value.kind == Argument::Kind::String)
    return Argument::string(from.text);
  return from.value;
}

Result<BoundArguments> bindAll(const std::vector<HostArgument> &arguments, runtime::Device &device,
                               const AddressOf &addressOf) {
  BoundArguments bound;
  for (const HostArgument &argument : arguments) {
    auto one = bindOne(argument, device, addressOf, bound);
    if (!one)
      return one.takeError();
    bound.arguments.push_back(*one);
  }
  return bound;
}

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

// --- the interpreter ---

class ReferenceRunner final : public Runner {
public:
  explicit ReferenceRunner(RunnerOptions options) : options(std::move(options)) { name = "ref"; }

  Status bind(HostTensor &tensor, std::string tensorName, bool initialized) override {
    ref::MemoryRange range;
    range.base = reinterpret_cast<uint64_t>(tensor.allocation());
    range.bytes = tensor.allocationBytes();
    range.name = std::move(tensorName);
    range.dtype = tensor.dtype();
    range.shape = tensor.shape();
    range.strides = tensor.strides();
    range.initialized = initialized;
    memory.push_back(std::move(range));
    return Success{};
  }
  Status fetch(HostTensor &) override { return Success{}; }
  void unbind(HostTensor &tensor) override {
    std::erase_if(memory, [&](const ref::MemoryRange &range) {
      return range.base == reinterpret_cast<uint64_t>(tensor.allocation());
    });
  }
  void unbindAll() override { memory.clear(); }

  Result<Timing> time(std::span<const RunRequest> requests, const TimeOptions &options) override {
    return sampled(options, [&]() -> Result<double> {
      double seconds = 0;
      for (const RunRequest &request : requests) {
        auto outcome = run(request);
        if (!outcome)
          return outcome.takeError();
        seconds += outcome->seconds;
      }
      return seconds;
    });
  }
  Result<double> copyRate() override { return 0.0; }

  Result<RunOutcome> run(const RunRequest &request) override {
    RunOutcome outcome;
    auto bound = bindAll(request.arguments, **runtime::device("cpu"),
                         [](const HostTensor &tensor, const std::string &) -> Result<void *> {
                           return tensor.data();
                         });
    if (!bound)
      return bound.takeError();
    auto compiled = prepare(request, bound->arguments, outcome);
    if (!compiled)
      return compiled.takeError();
    ref::Launch launch;
    launch.grid = request.grid;
    launch.memory = memory;
    if (Status status =
            addLeaves(bound->arguments, (*compiled)->specialization.arguments, launch.arguments);
        !status)
      return status.takeError();
    launch.onPrint = [&](const ref::Printed &printed) { outcome.prints.push_back(printed.text); };
    launch.onFinding = [&](const ref::Finding &finding) { outcome.findings.push_back(finding); };
    launch.onProgress = options.onProgress;
    auto start = Clock::now();
    auto statistics = (*compiled)->interpreter->launch(launch);
    outcome.seconds = since(start);
    if (!statistics)
      return statistics.takeError();
    outcome.statistics = *statistics;
    return outcome;
  }

private:
  struct Compiled {
    EmittedKernel emitted;
    support::Specialization specialization;
    std::optional<ref::Interpreter> interpreter;
  };

  Result<Compiled *> prepare(const RunRequest &request, std::span<const Argument> arguments,
                             RunOutcome &outcome) {
    auto signature = signatureOf(*request.program, request.kernel);
    if (!signature)
      return signature.takeError();
    std::vector<uint32_t> defaulted;
    auto specialization = launch::specialize(*signature, arguments, &defaulted);
    if (!specialization)
      return specialization.takeError();
    auto key = std::make_tuple(request.program, request.kernel,
                               specialization->text() + optionsText(request.options));
    auto &slot = compiled[key];
    if (!slot) {
      auto start = Clock::now();
      auto emitted =
          emitKernel(*request.program, request.kernel, *specialization, defaulted, request.options);
      if (!emitted)
        return emitted.takeError();
      auto fresh = std::make_unique<Compiled>();
      fresh->emitted = std::move(*emitted);
      fresh->specialization = fresh->emitted.specialization;
      auto interpreter = ref::Interpreter::prepare(fresh->emitted.kernel(), options.reference);
      if (!interpreter)
        return interpreter.takeError();
      fresh->interpreter.emplace(std::move(*interpreter));
      outcome.compileSeconds = since(start);
      outcome.notes = fresh->emitted.diagnostics;
      slot = std::move(fresh);
    }
    return slot.get();
  }

  // One value a parameter of the function: leaves that were compiled in have none.
  Status addLeaves(std::span<const Argument> arguments,
                   std::span<const support::ArgumentClass> classes,
                   std::vector<ref::Argument> &out) {
    using Kind = support::ArgumentClass::Kind;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const Argument &argument = arguments[i];
      const support::ArgumentClass &kind = classes[i];
      if (kind.kind == Kind::Constant || (kind.kind == Kind::Int && kind.isOne))
        continue;
      switch (argument.kind) {
      case Argument::Kind::Tuple:
      case Argument::Kind::NamedTuple:
        if (Status status = addLeaves(argument.elements(), kind.elements, out); !status)
          return status;
        break;
      case Argument::Kind::Tensor:
        out.push_back(int64_t(reinterpret_cast<uint64_t>(argument.asTensor().data())));
        break;
      case Argument::Kind::Descriptor: {
        const runtime::Tensor &tensor = argument.asDescriptor().tensor;
        out.push_back(ref::DescriptorArgument{reinterpret_cast<uint64_t>(tensor.data()),
                                              {tensor.shape().begin(), tensor.shape().end()},
                                              {tensor.strides().begin(), tensor.strides().end()}});
        break;
      }
      case Argument::Kind::Float:
      case Argument::Kind::TypedFloat:
        out.push_back(argument.number);
        break;
      default:
        if (kind.kind == Kind::Float) // an int for a parameter annotated as float
          out.push_back(double(int64_t(argument.bits)));
        else
          out.push_back(int64_t(argument.bits));
      }
    }
    return Success{};
  }

  RunnerOptions options;
  std::vector<ref::MemoryRange> memory;
  std::map<std::tuple<emit::Program *, std::string, std::string>, std::unique_ptr<Compiled>>
      compiled;
};

// --- devices of the runtime ---

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
      return since(start);
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
          return since(start);
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
    outcome.compileSeconds = since(start);
    outcome.notes = (*kernel)->takeNotes();
    start = Clock::now();
    if (Status status =
            (*kernel)->launcher->launch(on.defaultStream(), bound->arguments, request.grid);
        !status)
      return status.takeError();
    if (Status status = on.synchronize(); !status)
      return status.takeError();
    outcome.seconds = since(start);
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

// What the assembler took in this process. PTX that it takes for one chip it takes for those after
// it, so of kernels that differ in `.target` alone it reads the first.
class TakenPtx {
public:
  static TakenPtx &get() {
    static TakenPtx taken;
    return taken;
  }

  Status assemble(const std::string &ptxas, const std::string &ptx, const target::GpuChip &chip) {
    std::string header, body;
    std::istringstream lines(ptx);
    for (std::string line; std::getline(lines, line);)
      (line.starts_with(".target") || line.starts_with(".version") ? header : body) += line + "\n";
    support::Hash128 hash = support::hash128(body);
    {
      std::lock_guard lock(mutex);
      auto found = bodies.find(hash);
      if (found != bodies.end() && headers.contains(header) &&
          std::ranges::any_of(found->second, [&](const target::GpuChip *before) {
            return before == &chip ||
                   (!before->onlyThisChip && before->capability <= chip.capability);
          }))
        return Success{};
    }
    if (auto cubin = gpu::assemble(ptxas, ptx, chip.name); !cubin)
      return cubin.takeError();
    std::lock_guard lock(mutex);
    bodies[hash].push_back(&chip);
    headers.insert(header);
    return Success{};
  }

private:
  std::mutex mutex;
  std::map<support::Hash128, std::vector<const target::GpuChip *>> bodies;
  std::set<std::string> headers; ///< `.version` and `.target`, once taken
};

// Compiles for a chip that need not be there: to PTX that the assembler takes. Which of several
// codes is the best does not matter here.
class ChipRunner final : public Runner {
public:
  ChipRunner(std::string_view chip, bool describe) : describe(describe) { name = chip; }

  Status bind(HostTensor &, std::string, bool) override { return Success{}; }
  Status fetch(HostTensor &) override { return Success{}; }
  void unbind(HostTensor &) override {}
  void unbindAll() override {}

  Result<RunOutcome> run(const RunRequest &request) override {
    RunOutcome outcome;
    auto signature = signatureOf(*request.program, request.kernel);
    if (!signature)
      return signature.takeError();
    std::vector<uint32_t> defaulted;
    auto specialization = specializeHost(*signature, request.arguments, defaulted);
    if (!specialization)
      return specialization.takeError();
    auto key = std::make_tuple(request.program, request.kernel, specialization->text(),
                               optionsText(request.options));
    if (auto found = compiled.find(key); found != compiled.end()) {
      outcome.isAssembled = found->second;
      return outcome;
    }
    auto start = Clock::now();
    auto emitted =
        emitKernel(*request.program, request.kernel, *specialization, defaulted, request.options);
    if (!emitted)
      return emitted.takeError();
    outcome.notes = emitted->diagnostics;
    if (describe) {
      auto code = described(request.kernel + "(" + specialization->text() + ") " +
                                optionsText(request.options),
                            *emitted);
      if (!code)
        return code.takeError();
      outcome.code = *std::move(code);
      outcome.isAssembled = true;
      compiled.emplace(std::move(key), true);
      return outcome;
    }
    auto isAssembled = assemble(*emitted);
    if (!isAssembled)
      return isAssembled.takeError();
    outcome.isAssembled = *isAssembled;
    outcome.compileSeconds = since(start);
    compiled.emplace(std::move(key), outcome.isAssembled);
    return outcome;
  }

  Result<Timing> time(std::span<const RunRequest>, const TimeOptions &) override {
    return Error{"nothing runs on " + name + ": it is only compiled for", {}};
  }
  Result<double> copyRate() override { return 0.0; }

private:
  // False without an assembler.
  Result<bool> assemble(EmittedKernel &emitted) const {
    const target::GpuChip &chip = *target::gpuChip(name);
    std::string ptxas = gpu::findPtxas();
    mlir::OwningOpRef<mlir::ModuleOp> module(emitted.module->clone());
    auto ptx = pipeline::emitForGpu(*module, chip, pipeline::GpuStage::Ptx);
    if (!ptx)
      return ptx.takeError();
    if (ptxas.empty())
      return false;
    if (TakenPtx::get().assemble(ptxas, *ptx, chip))
      return true;
    // There may be code that needs fewer registers; else the message is the whole story's.
    auto artifact = buildArtifact(emitted, name);
    if (!artifact)
      return artifact.takeError();
    return true;
  }

  Result<std::vector<std::string>> described(const std::string &what,
                                             EmittedKernel &emitted) const {
    mlir::OwningOpRef<mlir::ModuleOp> module(emitted.module->clone());
    auto report = pipeline::inspectForGpu(*module, *target::gpuChip(name));
    if (!report)
      return report.takeError();
    if (!report->isAssembled)
      return Error{"there is no `ptxas` to say what the code is made of", {}};
    const support::CodeRecord &code = report->artifact->codes().front();
    std::vector<std::string> out = {what};
    auto add = [&](std::string line) {
      if (std::ranges::find(out, line) == out.end())
        out.push_back(std::move(line));
    };
    add("spills " + std::to_string(code.spillStoreBytes + code.spillLoadBytes));
    for (const std::string &warning : report->warnings)
      add("warning " + warning.substr(0, warning.find(" in function")));
    for (const gpu::InstructionFact &fact : report->instructions)
      if (fact.kind == "wgmma" || fact.kind == "mma.sync" || fact.kind == "bulk tensor")
        add(fact.name.empty() ? fact.kind : fact.name);
    std::vector<std::pair<std::string, size_t>> accesses; // in the order of their first
    for (const gpu::AccessFact &fact : report->accesses) {
      analysis::SourceLine place = analysis::sourceLine(fact.where);
      bool isGlobal = fact.space == gpu::MemorySpace::Global;
      std::string line = std::filesystem::path(place.file).filename().string() + ":" +
                         std::to_string(place.line) + (isGlobal ? " " : " shared ") + fact.what +
                         " " + std::to_string(fact.bytes) + " bytes, " +
                         std::to_string(fact.transactions) + " of " + std::to_string(fact.fewest) +
                         (isGlobal ? " sectors" : " cycles");
      auto found = std::ranges::find(accesses, line, &std::pair<std::string, size_t>::first);
      if (found == accesses.end())
        found = accesses.emplace(accesses.end(), std::move(line), 0);
      found->second += fact.count;
    }
    for (const auto &[line, count] : accesses)
      out.push_back(std::to_string(count) + "x " + line);
    return out;
  }

  bool describe = false;
  std::map<std::tuple<emit::Program *, std::string, std::string, std::string>, bool> compiled;
};

} // namespace

Result<support::Specialization> specializeHost(const launch::Signature &signature,
                                               const std::vector<HostArgument> &arguments,
                                               std::vector<uint32_t> &defaulted) {
  auto bound = bindAll(arguments, **runtime::device("cpu"),
                       [](const HostTensor &tensor, const std::string &) -> Result<void *> {
                         return tensor.data();
                       });
  if (!bound)
    return bound.takeError();
  return launch::specialize(signature, bound->arguments, &defaulted);
}

Result<Timing> Runner::timePass(const std::function<Status(runtime::Stream &)> &,
                                const TimeOptions &) {
  return Error{name + " has no streams", {}};
}

Result<std::unique_ptr<Runner>> Runner::create(std::string_view device, RunnerOptions options) {
  if (device == "ref")
    return std::unique_ptr<Runner>(std::make_unique<ReferenceRunner>(std::move(options)));
  if (target::gpuChip(device))
    return std::unique_ptr<Runner>(std::make_unique<ChipRunner>(device, options.describe));
  auto found = runtime::device(device);
  if (!found)
    return found.takeError();
  return std::unique_ptr<Runner>(std::make_unique<DeviceRunner>(**found));
}

} // namespace nereid::engine
