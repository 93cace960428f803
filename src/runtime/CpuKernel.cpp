#include "runtime/CpuKernel.h"

#include "runtime/AtomicGate.h"
#include "runtime/GridOrder.h"
#include "runtime/Recorder.h"
#include "runtime/Shares.h"
#include "target/Cpu.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

namespace nereid::runtime {

using support::CodeKind;
using support::CodeRecord;
using support::CpuContext;
using support::LaunchFault;
using support::Record;
using support::RecordBuffer;

namespace {
// Waking a sleeping worker and seeing it finish takes about this long.
constexpr float wakeNanoseconds = 5000;
// Others wait about as long at most for a launch that has atomics to itself.
constexpr float aloneNanoseconds = 50000;
// Pieces a worker: enough that uneven programs even out, few enough that taking one costs nothing.
constexpr uint64_t piecesPerWorker = 8;
// Memory that a thread keeps between launches.
constexpr size_t keptArenaBytes = size_t(64) << 20;

// The temporary memory of the kernels that run on this thread, one at a time.
thread_local HostBlock threadArena;

uint64_t monotonicTime() {
  return uint64_t(std::chrono::steady_clock::now().time_since_epoch().count());
}

} // namespace

struct CpuKernel::Job {
  support::CpuEntry entry;
  CpuContext context;
  uint32_t arenaBytes;
  uint64_t first = 0; ///< programs before it have run
  uint64_t programs;
  const GridOrder *order = nullptr;   ///< null: in the order of their numbers
  Shares *shares = nullptr;           ///< null: one worker runs all
  uint64_t piece = 0;                 ///< programs of a piece, but for the last one
  AtomicGate::Launch *gate = nullptr; ///< null: nothing is changed atomically
  std::atomic<bool> outOfMemory = false;
  uint32_t fault = 0;
  MemoryFault memoryFault; ///< of the first worker that has one

  void call(uint64_t first, uint64_t count, const CpuContext *workers) {
    MemoryFault seen;
    if (callKernel(entry, first, count, workers, seen))
      return;
    uint32_t none = uint32_t(LaunchFault::None);
    if (std::atomic_ref(fault).compare_exchange_strong(none, leftMemory))
      memoryFault = seen;
  }
};

void CpuKernel::runPieces(void *data, unsigned worker) {
  Job &job = *static_cast<Job *>(data);
  CpuContext context = job.context;
  if (job.arenaBytes) {
    if (threadArena.size() < job.arenaBytes && !threadArena.allocate(job.arenaBytes)) {
      job.outOfMemory = true;
      return;
    }
    context.arena = threadArena.data();
  }
  auto enter = [&](uint64_t first, uint64_t count) {
    if (!std::atomic_ref(job.fault).load(std::memory_order_relaxed))
      job.call(first, count, &context);
  };
  auto run = [&](uint64_t first, uint64_t count) {
    if (job.order)
      job.order->forRange(first, count, enter);
    else
      enter(first, count);
  };
  if (!job.shares)
    for (uint64_t first = job.first; first < job.programs; first += job.piece) {
      context.isAlone = job.gate && job.gate->staysAlone();
      run(first, std::min(job.piece, job.programs - first));
    }
  else
    for (uint64_t piece; job.shares->take(worker, piece);)
      run(job.first + piece * job.piece,
          std::min(job.piece, job.programs - job.first - piece * job.piece));
  if (threadArena.size() > keptArenaBytes)
    threadArena.release();
}

static void yieldFiber(const CpuContext *context) {
  KernelPause pause;
  FiberRun::yield(static_cast<Fiber *>(context->yieldState));
}

void CpuKernel::runOnFiber(void *data, uint64_t program, void *arena, Fiber *self) {
  Job &job = *static_cast<Job *>(data);
  CpuContext context = job.context;
  context.arena = arena;
  context.yield = yieldFiber;
  context.yieldState = self;
  job.call(program, 1, &context);
}

Result<std::unique_ptr<CpuKernel>> CpuKernel::load(const support::Artifact &artifact,
                                                   target::CpuFeatureSet features) {
  std::string tried;
  for (const CodeRecord &code : artifact.codes()) {
    if (CodeKind(code.kind) != CodeKind::X86Object)
      continue;
    std::string_view text = artifact.text(code.features);
    auto needed = target::CpuFeatureSet::parse(text);
    if (!needed) {
      tried += "; its code needs features that this build does not know: " + std::string(text);
      continue;
    }
    auto missing = needed->missingFrom(features);
    if (!missing.empty()) {
      tried += "; its code needs ";
      for (size_t i = 0; i < missing.size(); ++i)
        tried += (i ? ", " : "") + std::string(missing[i]);
      tried += ", which this processor lacks";
      continue;
    }
    auto image = LoadedObject::load(artifact.blob(code.code), artifact.name());
    if (!image)
      return image.takeError();
    catchKernelFaults();
    void *entry = image->symbol(artifact.text(code.entry));
    if (!entry)
      return Error{"cannot load kernel `" + std::string(artifact.name()) +
                       "`: its object has no `" + std::string(artifact.text(code.entry)) + "`",
                   {}};
    std::unique_ptr<CpuKernel> kernel(new CpuKernel(artifact, &code, std::move(*image),
                                                    reinterpret_cast<support::CpuEntry>(entry)));
    if (code.flags & support::CodeRecords) {
      size_t bytes = sizeof(RecordBuffer) + recordCapacity * sizeof(Record);
      if (!kernel->recordMemory.allocate(bytes))
        return Error{"cannot load kernel `" + std::string(artifact.name()) +
                         "`: no memory for its records",
                     {}};
      std::memset(kernel->recordMemory.data(), 0, bytes);
      static_cast<RecordBuffer *>(kernel->recordMemory.data())->capacity = recordCapacity;
    }
    return kernel;
  }
  return Error{"kernel `" + std::string(artifact.name()) + "` has no code for this CPU (" +
                   target::hostCpuName() + ")" + tried,
               {}};
}

Result<std::vector<support::Record>> CpuKernel::takeRecords(uint64_t &lost) {
  std::vector<Record> taken;
  lost = 0;
  auto *buffer = static_cast<RecordBuffer *>(recordMemory.data());
  if (!buffer)
    return taken;
  RecordGate::Taker taker(recordGate);
  auto *records = reinterpret_cast<Record *>(buffer + 1);
  uint64_t claimed = std::exchange(buffer->claimed, 0);
  uint64_t count = std::min(claimed, buffer->capacity);
  lost = claimed - count;
  taken.assign(records, records + count);
  return taken;
}

// One thread without locks may be faster than several with them. Both are measured once in a while,
// the former by some of the programs.
unsigned CpuKernel::tryAlone(Job &job, AtomicGate &gate, unsigned workers) {
  constexpr unsigned period = 64, parts = 32;
  unsigned turn = atomicLaunches.fetch_add(1, std::memory_order_relaxed) % period;
  float together = togetherCost.load(std::memory_order_relaxed),
        alone = aloneCost.load(std::memory_order_relaxed);
  if (turn == 1)
    return workers;
  if (turn == 0 || alone == 0) {
    uint64_t programs = job.programs;
    job.piece = job.programs = std::max<uint64_t>(1, programs / parts);
    AtomicGate::Launch some(&gate, /*wantsAlone=*/true);
    job.gate = &some;
    uint64_t start = monotonicTime();
    runPieces(&job, 0);
    alone = some.staysAlone() ? float(monotonicTime() - start) / float(job.programs) : 0;
    aloneCost.store(alone, std::memory_order_relaxed);
    job.first = std::exchange(job.programs, programs);
  }
  return alone > 0 && alone < together ? 1 : workers;
}

Status CpuKernel::launch(const LaunchArguments &arguments, Executor &executor,
                         const FiberOptions &fibers) {
  if (arguments.packedBytes != source.kernel().packedBytes)
    return Error{"cannot launch `" + std::string(source.name()) +
                     "`: " + std::to_string(arguments.packedBytes) +
                     " bytes of arguments, it takes " + std::to_string(source.kernel().packedBytes),
                 {}};
  Result<uint64_t> counted = countPrograms(source.name(), arguments.grid);
  if (!counted)
    return counted.takeError();
  uint64_t programs = *counted;
  if (programs == 0)
    return Success{};
  TraceScope trace(TraceKind::Launch, source.name(), "cpu");
  if (trace) {
    trace->grid = arguments.grid;
    describeWork(source, programs, *trace.operator->());
  }

  RecordGate::Launch inGate(record->flags & support::CodeRecords ? &recordGate : nullptr);
  Job job;
  job.entry = entry;
  job.arenaBytes = record->arenaBytes;
  job.context = {};
  job.context.arguments = arguments.packed;
  std::copy_n(arguments.grid.data(), 3, job.context.grid);
  // What is written is a part of what passes through the cache, which others share.
  job.context.streamAboveKiB = uint32_t(target::hostCacheBytes() / 4 >> 10);
  job.context.records = static_cast<RecordBuffer *>(recordMemory.data());
  job.context.fault = &job.fault;
  job.programs = programs;

  HostBlock scratch;
  if (record->scratchBytes) {
    uint64_t bytes;
    if (__builtin_mul_overflow(record->scratchBytes, programs, &bytes) ||
        !scratch.allocate(size_t(bytes)))
      return Error{"cannot launch `" + std::string(source.name()) + "`: no memory for " +
                       std::to_string(record->scratchBytes) + " bytes of scratch a program",
                   {}};
    job.context.scratch = scratch.data();
  }

  AtomicGate *gate = record->flags & support::CodeAtomics ? &AtomicGate::ofProcess() : nullptr;
  if (record->flags & support::CodeYields) {
    AtomicGate::Launch amongAtomics(gate, /*wantsAlone=*/false);
    FiberRun run(programs, record->arenaBytes, runOnFiber, &job, fibers, &job.fault);
    if (Status status = run.run(executor); !status)
      return Error{"kernel `" + std::string(source.name()) + "`: " + status.error().what, {}};
    return faultOf(job.fault, job.memoryFault, arguments.packed);
  }
  GridOrder order(arguments.grid, record->flags / support::CodeSharesX & 7);
  if (!order.isByNumber())
    job.order = &order;
  unsigned workers = unsigned(std::min<uint64_t>(executor.concurrency(), programs));
  float cost = programCost.load(std::memory_order_relaxed);
  if (workers > 1 && cost > 0 && cost * float(programs) < wakeNanoseconds)
    workers = 1;
  bool isTeam = workers > 1;
  if (gate && isTeam)
    workers = tryAlone(job, *gate, workers);
  AtomicGate::Launch amongAtomics(gate, workers <= 1);
  job.gate = gate ? &amongAtomics : nullptr;
  uint64_t start = monotonicTime(), count = programs - job.first;
  if (workers <= 1) {
    job.piece = count;
    if (gate)
      job.piece = uint64_t(std::clamp(cost > 0 ? aloneNanoseconds / cost : 1, 1.f, float(count)));
    runPieces(&job, 0);
  } else {
    Shares shares;
    job.shares = &shares;
    job.piece = std::max<uint64_t>(1, count / (workers * piecesPerWorker));
    // A band is in the cache that all workers have, so they go through it side by side. Other
    // programs are better where the ones before them were.
    shares.split((count + job.piece - 1) / job.piece, order.hasBands() ? 1 : workers);
    executor.run(workers, runPieces, &job);
    runPieces(&job, 0); // what an executor that ends early has left
  }
  float byClock = float(monotonicTime() - start) / float(count), seen = byClock * float(workers);
  programCost.store(cost > 0 ? cost + (seen - cost) / 4 : seen, std::memory_order_relaxed);
  if (gate && isTeam) {
    if (workers > 1)
      togetherCost.store(byClock, std::memory_order_relaxed);
    else // who has company looks again the next time
      aloneCost.store(amongAtomics.staysAlone() ? byClock : 0, std::memory_order_relaxed);
  }

  if (job.outOfMemory)
    return Error{"cannot launch `" + std::string(source.name()) + "`: no memory for an arena of " +
                     std::to_string(record->arenaBytes) + " bytes a worker",
                 {}};
  return faultOf(job.fault, job.memoryFault, arguments.packed);
}

// Notes at a place and at the calls that inlined it.
static std::vector<Diagnostic> calls(const support::Artifact &artifact,
                                     const support::LocationRecord &first, std::string what) {
  std::vector<Diagnostic> notes;
  for (const support::LocationRecord *place = &first;;
       place = &artifact.locations()[place->caller]) {
    SourcePos at{place->line, place->column};
    Diagnostic note;
    note.severity = Severity::Note;
    note.message = std::exchange(what, "called from here");
    note.where = {std::string(artifact.text(place->file)), at, at};
    notes.push_back(std::move(note));
    if (place->caller == support::none)
      return notes;
  }
}

// Whether what could not be written can be read: a file that is mapped so, constants.
static bool isReadOnly(const MemoryFault &memory) {
  if (!memory.isKnown || !memory.isWrite)
    return false;
  char byte;
  iovec to = {&byte, 1}, from = {reinterpret_cast<void *>(memory.address), 1};
  return ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) == 1;
}

Status CpuKernel::faultOf(uint32_t fault, const MemoryFault &memory, const void *arguments) const {
  if (LaunchFault(fault) == LaunchFault::None)
    return Success{};
  std::string kernel = "kernel `" + std::string(source.name()) + "`";
  if (fault != leftMemory)
    return Error{kernel + " trapped", {}};
  const support::LocationRecord *place = nullptr;
  if (uint64_t offset; image.codeOffset(memory.instruction, offset))
    place = source.locate(uint32_t(record - source.codes().data()), offset);
  const char *does = !memory.isKnown ? "reaches" : memory.isWrite ? "writes to" : "reads";
  std::vector<Diagnostic> shown;
  if (place)
    shown = calls(source, *place, std::string(does) + " it here");
  else if (source.kernel().location != support::none)
    place = &source.locations()[source.kernel().location];
  if (place)
    kernel += " (" + source.describe(*place) + ")";
  std::string what =
      kernel + " " + does + " memory that is " + (isReadOnly(memory) ? "read-only" : "not there");
  const std::string hint = "; `nereid check`, or the interpreter (TRITON_INTERPRET=1), says " +
                           std::string(shown.empty() ? "in which line" : "at which index");
  if (!memory.isKnown)
    return Error{what + ": no memory can have such an address" + hint, std::move(shown)};
  // The argument that the address was most likely computed from.
  const support::SlotRecord *nearest = nullptr;
  uintptr_t base = 0;
  for (const support::SlotRecord &slot : source.slots()) {
    auto kind = support::SlotKind(slot.kind);
    if (kind != support::SlotKind::Pointer && kind != support::SlotKind::Descriptor)
      continue;
    uintptr_t value;
    std::memcpy(&value, static_cast<const char *>(arguments) + slot.offset, sizeof value);
    if (value <= memory.address && (!nearest || value > base))
      nearest = &slot, base = value;
  }
  char at[32];
  std::snprintf(at, sizeof at, "0x%llx", static_cast<unsigned long long>(memory.address));
  what += std::string(", at ") + at;
  if (nearest) {
    std::string name(source.text(nearest->name));
    what += base == 0 ? ": its argument `" + name + "` is a null pointer"
                      : ", " + std::to_string(memory.address - base) +
                            " bytes from the start of `" + name + "`";
  }
  return Error{what + hint, std::move(shown)};
}

} // namespace nereid::runtime
