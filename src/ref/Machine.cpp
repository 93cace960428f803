#include "ref/Machine.h"

#include "ref/Check.h"

#include "mlir/IR/Location.h"

#include <cassert>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/common_interface_defs.h>
#define NEREID_ASAN_FIBERS 1
#else
#define NEREID_ASAN_FIBERS 0
#endif

using namespace mlir;

namespace nereid::ref {

// --- places ---

void setPlace(Diagnostic &diagnostic, Location loc) {
  if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    setPlace(diagnostic, call.getCallee());
    Diagnostic note;
    note.severity = Severity::Note;
    note.message = "called from here";
    setPlace(note, call.getCaller());
    std::vector<Diagnostic> callers = std::move(note.notes);
    note.notes.clear();
    diagnostic.notes.push_back(std::move(note));
    for (Diagnostic &caller : callers)
      diagnostic.notes.push_back(std::move(caller));
    return;
  }
  if (auto name = dyn_cast<NameLoc>(loc))
    return setPlace(diagnostic, name.getChildLoc());
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations()) {
      setPlace(diagnostic, part);
      if (diagnostic.where.begin.valid())
        return;
      diagnostic.notes.clear();
    }
    return;
  }
  if (auto file = dyn_cast<FileLineColLoc>(loc)) {
    diagnostic.where.file = file.getFilename().str();
    // MLIR counts columns from 1.
    uint32_t column = file.getColumn() ? file.getColumn() - 1 : 0;
    diagnostic.where.begin = diagnostic.where.end = {file.getLine(), column};
  }
}

std::vector<int64_t> indexOf(uint64_t element, ArrayRef<int64_t> shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = element % shape[d];
    element /= shape[d];
  }
  return index;
}

// --- fibers ---

// Steps nest as deep as the kernel's control flow; the pages are made when touched.
static constexpr size_t fiberStackBytes = 256 << 10;
// Programs that wait at the same time; all of them hold their tiles.
static constexpr size_t maxFibers = 16384;
static constexpr uint64_t maxFiberBytes = uint64_t(2) << 30;
// A loop whose iterations only read memory plainly may be a search; it yields after so many.
static constexpr uint64_t patience = 1000;
// How often each waiting program looks again, nothing having changed, before it is a deadlock.
static constexpr uint64_t looksBeforeDeadlock = 1000;
// A loop that counts may end by its count: so many of its looks weigh as one of a loop that only
// looks.
static constexpr uint64_t looksThatCount = 1000;

namespace {
struct Unwind {}; // leaves a program that will never go on
} // namespace

Fiber::Fiber(Machine &machine, const Program &program) : frame(machine, program) {
  size_t page = sysconf(_SC_PAGESIZE);
  stackBytes = fiberStackBytes + page;
  stack = mmap(nullptr, stackBytes, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED)
    throw std::bad_alloc();
  // The lowest page is a guard.
  mprotect(stack, page, PROT_NONE);
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = stackBytes;
  context.uc_link = nullptr;
  auto address = reinterpret_cast<uintptr_t>(this);
  makecontext(&context, reinterpret_cast<void (*)()>(&Machine::enter), 2, unsigned(address >> 32),
              unsigned(address));
}

Fiber::~Fiber() { munmap(stack, stackBytes); }

Machine::Machine(const Program &program, const Launch &launch)
    : program(program), launch(launch), memory(launch.memory, program.options) {
  if (program.options.maxOperations)
    operationLimit = program.options.maxOperations;
  nextLook = launch.onProgress ? 0 : operationLimit;
  preemptive = program.options.seed.has_value();
  programCount = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  fiberLimit = std::min<uint64_t>(
      maxFibers, std::max<uint64_t>(2, maxFiberBytes / (program.frameBytes + fiberStackBytes)));
  if (preemptive) {
    randomState = *program.options.seed;
    window = std::min<size_t>(fiberLimit, 2u << random() % 5);
  }
  if (program.options.check)
    checker = std::make_unique<Checker>(*this);
}
Machine::~Machine() = default;

uint64_t Machine::random() { // splitmix64
  uint64_t z = (randomState += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

void Machine::enter(unsigned high, unsigned low) {
  auto *fiber = reinterpret_cast<Fiber *>(uintptr_t(high) << 32 | low);
#if NEREID_ASAN_FIBERS
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
  fiber->frame.machine.fiberMain(*fiber);
}

void Machine::fiberMain(Fiber &fiber) {
  try {
    while (takeProgram(fiber.frame)) {
      fiber.frame.run(program.body);
      if (checker)
        checker->endProgram(fiber.frame);
      if (preemptive)
        yield(fiber.frame, false);
    }
  } catch (Stop &stop) {
    if (!fault)
      fault = std::move(stop.finding);
    ending = true;
  } catch (Unwind) {
    assert(ending && "programs are unwound at the end alone");
  } catch (std::bad_alloc &) {
    if (!fault)
      fault = finding(fiber.frame, Severity::Error, "OutOfMemory", "out of memory");
    ending = true;
  }
  fiber.finished = true;
#if NEREID_ASAN_FIBERS
  void *fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, schedulerStack, schedulerStackBytes);
#endif
  swapcontext(&fiber.context, &scheduler);
}

bool Machine::takeProgram(Frame &frame) {
  if (ending || nextProgram == programCount)
    return false;
  uint64_t linear = nextProgram++;
  frame.linearId = linear;
  frame.id = {uint32_t(linear % launch.grid[0]), uint32_t(linear / launch.grid[0] % launch.grid[1]),
              uint32_t(linear / launch.grid[0] / launch.grid[1])};
  frame.writes = frame.reads = frame.syncReads = 0;
  ++statistics.programs;
  ++changes; // a new program is progress
  if (checker)
    checker->beginProgram(frame);
  return true;
}

// The values shared by all programs that run in this frame.
void Machine::passArguments(Frame &frame) {
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const Slot &slot = program.arguments[i];
    const Argument &argument = launch.arguments[i];
    if (auto *integer = std::get_if<int64_t>(&argument)) {
      uint64_t bits = *integer;
      if (isa<tile::PtrType>(program.argumentTypes[i]))
        bits = memory.toKernel(bits);
      if (slot.storage == Storage::I1)
        bits = bits != 0;
      std::memcpy(frame.data<std::byte>(slot), &bits, widthOf(slot.storage));
    } else if (auto *number = std::get_if<double>(&argument)) {
      dispatchFloat<true>(slot.storage,
                          [&]<typename T>() { *frame.data<T>(slot) = narrow<T>(*number); });
    } else {
      const auto &from = std::get<DescriptorArgument>(argument);
      auto *to = frame.data<DescriptorValue>(slot);
      *to = {};
      to->base = memory.toKernel(from.base);
      std::copy(from.shape.begin(), from.shape.end(), to->shape);
      std::copy(from.strides.begin(), from.strides.end(), to->strides);
    }
  }
}

void Machine::resume(Fiber &fiber) {
  current = &fiber;
#if NEREID_ASAN_FIBERS
  void *fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, fiber.stack, fiber.stackBytes);
#endif
  swapcontext(&scheduler, &fiber.context);
#if NEREID_ASAN_FIBERS
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  current = nullptr;
  if (fiber.finished)
    fibers.erase(llvm::find_if(fibers, [&](auto &f) { return f.get() == &fiber; }));
}

void Machine::yield(Frame &frame, bool waiting, bool counting) {
  Fiber &fiber = *current;
  fiber.waiting = waiting;
  fiber.counting = counting;
  fiber.waitPlace = frame.place;
  ready.push_back(&fiber);
#if NEREID_ASAN_FIBERS
  void *fake = nullptr;
  __sanitizer_start_switch_fiber(&fake, schedulerStack, schedulerStackBytes);
#endif
  swapcontext(&fiber.context, &scheduler);
#if NEREID_ASAN_FIBERS
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  if (ending)
    throw Unwind();
}

void Machine::run() {
#if NEREID_ASAN_FIBERS
  // The scheduler's own stack, as the sanitizer wants to hear of it on each switch back.
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &schedulerStack, &schedulerStackBytes);
  pthread_attr_destroy(&attributes);
#endif
  try {
    while (true) {
      size_t alive = fibers.size();
      // Programs start in ascending order: without a seed when all that run wait, with one so that
      // a few are always under way.
      bool allWait = llvm::all_of(ready, [](Fiber *f) { return f->waiting; });
      if (!ending && nextProgram < programCount && alive < fiberLimit &&
          (allWait || (preemptive && alive < window))) {
        fibers.push_back(std::make_unique<Fiber>(*this, program));
        statistics.peakBytes = std::max<uint64_t>(
            statistics.peakBytes, (alive + 1) * (program.frameBytes + uint64_t(fiberStackBytes)));
        passArguments(fibers.back()->frame);
        resume(*fibers.back());
        continue;
      }
      if (ready.empty())
        break;
      // Has memory changed, or a program come to its end, since every program that waits looked?
      if (changes != changesSeen || alive != aliveSeen || !allWait) {
        changesSeen = changes;
        aliveSeen = alive;
        idleLooks = 0;
      } else if (!ending && idleLooks > looksBeforeDeadlock * looksThatCount * alive) {
        reportDeadlock();
      }
      size_t pick = preemptive && !ending ? random() % ready.size() : 0;
      Fiber *fiber = ready[pick];
      ready.erase(ready.begin() + pick);
      idleLooks += fiber->counting ? 1 : looksThatCount;
      resume(*fiber);
    }
  } catch (std::bad_alloc &) {
    Finding finding;
    finding.diagnostic.code = "OutOfMemory";
    finding.diagnostic.message =
        "out of memory with " + std::to_string(fibers.size()) + " programs under way";
    fault = std::move(finding);
    ending = true;
    while (!ready.empty()) {
      Fiber *fiber = ready.front();
      ready.pop_front();
      resume(*fiber);
    }
  }
  // What stops the kernel is a finding like others.
  if (checker && fault && fault->diagnostic.code != "OutOfMemory") {
    found.push_back(*std::exchange(fault, std::nullopt));
    ++statistics.findings;
  }
  if (checker && !fault && found.empty())
    statistics.neverStored = checker->neverStored();
  tellFindings();
}

void Machine::preempt(Frame &frame) {
  if (random() % 4 == 0)
    yield(frame, false);
}

void Machine::backEdge(Frame &frame, uint64_t &idle, bool counting) {
  bool waits = frame.writes == 0 && frame.reads != 0;
  bool yieldNow = waits && (frame.syncReads != 0 || ++idle >= patience);
  if (!waits)
    idle = 0;
  frame.writes = frame.reads = frame.syncReads = 0;
  if (yieldNow) {
    idle = 0;
    yield(frame, true, counting);
  }
}

void Machine::reportDeadlock() {
  std::map<uint32_t, std::pair<uint64_t, std::array<uint32_t, 3>>> places;
  for (Fiber *fiber : ready) {
    auto [it, isNew] = places.try_emplace(fiber->waitPlace, 0, fiber->frame.id);
    ++it->second.first;
  }
  auto programText = [](const std::array<uint32_t, 3> &id) {
    return "(" + std::to_string(id[0]) + ", " + std::to_string(id[1]) + ", " +
           std::to_string(id[2]) + ")";
  };
  bool all = nextProgram == programCount;
  std::string message = "deadlock: " + std::to_string(ready.size()) +
                        (all ? " programs wait and none is left to change what they read"
                             : " programs wait, as many as can be under way, and nothing changes");
  std::vector<Diagnostic> notes;
  for (auto &[place, waiting] : places) {
    Diagnostic note;
    setPlace(note, program.places[place]);
    note.message = std::to_string(waiting.first) + " program" +
                   (waiting.first == 1 ? " waits" : "s wait") + " here, among them " +
                   programText(waiting.second);
    note.severity = Severity::Note;
    notes.push_back(std::move(note));
  }
  // Each place is told by `check`, the first one by an error.
  size_t number = 0;
  for (auto &[place, waiting] : places) {
    Finding finding;
    finding.program = waiting.second;
    finding.diagnostic = notes[number++];
    finding.diagnostic.severity = Severity::Error;
    finding.diagnostic.code = "Deadlock";
    finding.diagnostic.message = message;
    finding.diagnostic.hint =
        "a lock that is taken must be released on every path, and a program may "
        "wait only for programs that can run at the same time";
    finding.diagnostic.notes.insert(finding.diagnostic.notes.end(), notes.begin(), notes.end());
    if (!fault) {
      fault = std::move(finding);
    } else if (checker) {
      found.push_back(std::move(finding));
      ++statistics.findings;
    }
  }
  ending = true;
}

// --- findings ---

Finding Machine::finding(Frame &frame, Severity severity, std::string code, std::string message,
                         std::string hint) {
  Finding finding;
  finding.program = frame.id;
  finding.diagnostic.severity = severity;
  finding.diagnostic.code = std::move(code);
  finding.diagnostic.message = std::move(message);
  finding.diagnostic.hint = std::move(hint);
  setPlace(finding.diagnostic, program.places[frame.place]);
  return finding;
}

void Machine::stop(Finding finding) { throw Stop{std::move(finding)}; }

bool Machine::foundBefore(Frame &frame, const std::string &code, const std::string &tensor,
                          Severity severity, std::optional<uint32_t> place) {
  auto it = foundAt.find({code, place.value_or(frame.place), tensor});
  if (it == foundAt.end() || found[it->second].diagnostic.severity < severity)
    return false;
  ++found[it->second].count;
  return true;
}

void Machine::report(Frame &frame, Finding finding, std::optional<uint32_t> place) {
  if (foundBefore(frame, finding.diagnostic.code, finding.tensor, finding.diagnostic.severity,
                  place))
    return;
  auto [it, isNew] = foundAt.try_emplace(
      {finding.diagnostic.code, place.value_or(frame.place), finding.tensor}, found.size());
  if (!isNew) {
    // The worst of its kind is told.
    Finding &first = found[it->second];
    finding.count = first.count + 1;
    first = std::move(finding);
    return;
  }
  found.push_back(std::move(finding));
  if (++statistics.findings >= program.options.maxFindings)
    stop(this->finding(frame, Severity::Error, "TooManyFindings",
                       "stopped after " + std::to_string(statistics.findings) + " findings"));
}

void Machine::tellFindings() {
  for (Finding &finding : found) {
    if (finding.count > 1)
      finding.diagnostic.message += " (" + std::to_string(finding.count) + " times)";
    if (launch.onFinding)
      launch.onFinding(finding);
  }
}

void Machine::assertionFailed(Frame &frame, Finding finding) {
  ++statistics.failedAsserts;
  if (checker)
    report(frame, std::move(finding));
  else if (statistics.failedAsserts <= program.options.maxFindings && launch.onFinding)
    launch.onFinding(finding);
}

void Machine::look(Frame &frame) {
  constexpr uint64_t operationsBetweenLooks = 256;
  if (statistics.operations > operationLimit)
    stop(finding(frame, Severity::Error, "OperationLimit",
                 "the launch has executed " + std::to_string(operationLimit) +
                     " tile operations, its limit",
                 "raise the limit, or look for a loop that does not end"));
  launch.onProgress({nextProgram, programCount, statistics.operations});
  nextLook = std::min(operationLimit, statistics.operations + operationsBetweenLooks);
}

void Machine::beginAccess(Frame &frame, const AccessSite &site) {
  if (preemptive)
    preempt(frame);
  if (site.kind != AccessKind::Store && site.answers) {
    ++frame.reads;
    frame.syncReads += site.kind != AccessKind::Load;
  }
  if (checker)
    checker->beginAccess(frame, site);
}

void Machine::checkAccess(Frame &frame, const AccessSite &site, const Memory::Spot &spot,
                          unsigned bytes, uint32_t element, const void *value) {
  checker->access(frame, site, spot, bytes, element, value);
}

void Machine::outOfBounds(Frame &frame, const AccessSite &site, uint64_t address,
                          uint32_t element) {
  if (checker)
    return checker->outOfBounds(frame, site, address, element);
  const Memory::Region *region = memory.nearest(address);
  std::string message = site.kind == AccessKind::Atomic  ? "atomic outside of "
                        : site.kind == AccessKind::Store ? "store outside of "
                                                         : "load outside of ";
  Finding found = finding(frame, Severity::Error, "OutOfBounds", {});
  if (region) {
    const MemoryRange &range = region->range;
    int64_t elementBytes = range.dtype ? info(*range.dtype).bytes : 1;
    std::string unit = range.dtype ? "element" : "byte";
    message += "`" + range.name + "`: ";
    int64_t offset = int64_t(address - region->begin);
    int64_t at =
        offset >= 0 ? offset / elementBytes : -((-offset + elementBytes - 1) / elementBytes);
    message +=
        unit + " " + std::to_string(at) + " of " + std::to_string(region->bytes / elementBytes);
    found.tensor = range.name;
    found.diagnostic.hint =
        "a mask such as `mask=offsets < n` keeps lanes from touching memory past the end";
  } else {
    char text[32];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)address);
    message += std::string("every tensor: address ") + text;
    if (address < 4096)
      found.diagnostic.hint = "the pointer is null";
  }
  found.diagnostic.message = std::move(message);
  found.index = indexOf(element, site.shape);
  stop(std::move(found));
}

} // namespace nereid::ref
