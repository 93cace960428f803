#include "runtime/Fibers.h"

#include <chrono>
#include <cstring>
#include <deque>
#include <random>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NEREID_ASAN_FIBERS 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if __has_feature(thread_sanitizer)
#define NEREID_TSAN_FIBERS 1
#include <sanitizer/tsan_interface.h>
#endif
#endif

namespace nereid::runtime {

// --- switching stacks ---

#if defined(__x86_64__)
// void nereidSwitchStack(void **save, void *load): saves what the System V ABI lets a callee own
// (registers, floating-point control words) on this stack, and goes on where `load` was saved.
// nereidStartFiber is where a new stack begins: r12 holds the function, r13 its argument.
extern "C" void nereidSwitchStack(void **save, void *load);
extern "C" void nereidStartFiber();
__asm__(R"(
  .text
  .p2align 4
  .hidden nereidSwitchStack
  .globl nereidSwitchStack
  .type nereidSwitchStack, @function
nereidSwitchStack:
  .cfi_startproc
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  subq $8, %rsp
  stmxcsr (%rsp)
  fnstcw 4(%rsp)
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  ldmxcsr (%rsp)
  fldcw 4(%rsp)
  addq $8, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  retq
  .cfi_endproc
  .size nereidSwitchStack, . - nereidSwitchStack

  .p2align 4
  .hidden nereidStartFiber
  .globl nereidStartFiber
  .type nereidStartFiber, @function
nereidStartFiber:
  .cfi_startproc
  .cfi_undefined rip
  movq %r13, %rdi
  callq *%r12
  ud2
  .cfi_endproc
  .size nereidStartFiber, . - nereidStartFiber
)");
#endif

namespace {
// A stack with a page below it that faults.
class FiberStack {
public:
  explicit FiberStack(size_t wanted) {
    auto page = size_t(::sysconf(_SC_PAGESIZE));
    size_t rounded = (wanted + page - 1) / page * page + page;
    void *memory = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
      return;
    if (::mprotect(memory, page, PROT_NONE) != 0) {
      ::munmap(memory, rounded);
      return;
    }
    base = memory;
    bytes = rounded;
    guard = page;
  }
  ~FiberStack() {
    if (base)
      ::munmap(base, bytes);
  }
  FiberStack(const FiberStack &) = delete;
  explicit operator bool() const { return base; }
  void *bottom() const { return static_cast<char *>(base) + guard; }
  size_t size() const { return bytes - guard; }
  void *top() const { return static_cast<char *>(base) + bytes; }

private:
  void *base = nullptr;
  size_t bytes = 0, guard = 0;
};
} // namespace

/// One program under way, or the means for the next.
class Fiber {
public:
  explicit Fiber(size_t stackBytes) : stack(stackBytes) {}
  ~Fiber() {
#ifdef NEREID_TSAN_FIBERS
    if (tsanFiber)
      __tsan_destroy_fiber(tsanFiber);
#endif
  }

  bool prepare(uint32_t arenaBytes) {
    return stack && (arena.size() >= arenaBytes || arena.allocate(arenaBytes));
  }

  /// Sets the fiber up to run `program` of `run` when it is next resumed.
  void start(FiberRun &newRun, uint64_t newProgram) {
    run = &newRun;
    program = newProgram;
    ended = false;
#if defined(__x86_64__)
    auto **slot = static_cast<void **>(stack.top());
    *--slot = nullptr; // two words, so that the call in nereidStartFiber is 16-byte aligned
    *--slot = nullptr;
    *--slot = reinterpret_cast<void *>(&nereidStartFiber);
    *--slot = nullptr;                                // rbp
    *--slot = nullptr;                                // rbx
    *--slot = reinterpret_cast<void *>(&Fiber::main); // r12
    *--slot = this;                                   // r13
    *--slot = nullptr;                                // r14
    *--slot = nullptr;                                // r15
    --slot;
    uint32_t controls[2] = {};
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(controls[0]), "=m"(controls[1]));
    std::memcpy(slot, controls, sizeof controls);
    own = slot;
#else
    ::getcontext(&ownContext);
    ownContext.uc_stack.ss_sp = stack.bottom();
    ownContext.uc_stack.ss_size = stack.size();
    ownContext.uc_link = nullptr;
    auto address = reinterpret_cast<uintptr_t>(this);
    ::makecontext(&ownContext, reinterpret_cast<void (*)()>(&Fiber::mainOfHalves), 2,
                  unsigned(address), unsigned(uint64_t(address) >> 32));
#endif
#ifdef NEREID_ASAN_FIBERS
    // The frames of the program before this one never returned.
    __asan_unpoison_memory_region(stack.bottom(), stack.size());
#endif
#ifdef NEREID_TSAN_FIBERS
    if (tsanFiber)
      __tsan_destroy_fiber(tsanFiber);
    tsanFiber = __tsan_create_fiber(0);
#endif
  }

  /// Runs it until it yields or ends; true if it ended. Called by the worker.
  bool resume() {
#ifdef NEREID_ASAN_FIBERS
    void *fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, stack.bottom(), stack.size());
#endif
#ifdef NEREID_TSAN_FIBERS
    tsanWorker = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsanFiber, 0);
#endif
    switchTo();
#ifdef NEREID_ASAN_FIBERS
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
    return ended;
  }

  /// Goes back to the worker. Called on the fiber.
  void suspend() {
#ifdef NEREID_ASAN_FIBERS
    __sanitizer_start_switch_fiber(ended ? nullptr : &fakeStack, workerStack, workerStackSize);
#endif
#ifdef NEREID_TSAN_FIBERS
    __tsan_switch_to_fiber(tsanWorker, 0);
#endif
    switchBack();
#ifdef NEREID_ASAN_FIBERS
    __sanitizer_finish_switch_fiber(fakeStack, &workerStack, &workerStackSize);
#endif
  }

  uint64_t program = 0;

private:
  static void main(Fiber *fiber) {
#ifdef NEREID_ASAN_FIBERS
    __sanitizer_finish_switch_fiber(nullptr, &fiber->workerStack, &fiber->workerStackSize);
#endif
    FiberRun &run = *fiber->run;
    run.program(run.data, fiber->program, fiber->arena.data(), fiber);
    fiber->ended = true;
    fiber->suspend();
    __builtin_unreachable();
  }

#if defined(__x86_64__)
  void switchTo() { nereidSwitchStack(&worker, own); }
  void switchBack() { nereidSwitchStack(&own, worker); }
  void *own = nullptr, *worker = nullptr;
#else
  static void mainOfHalves(unsigned low, unsigned high) {
    main(reinterpret_cast<Fiber *>(uintptr_t(uint64_t(high) << 32 | low)));
  }
  void switchTo() { ::swapcontext(&workerContext, &ownContext); }
  void switchBack() { ::swapcontext(&ownContext, &workerContext); }
  ucontext_t ownContext, workerContext;
#endif

  FiberStack stack;
  HostBlock arena;
  FiberRun *run = nullptr;
  bool ended = true;
#ifdef NEREID_ASAN_FIBERS
  const void *workerStack = nullptr;
  size_t workerStackSize = 0;
  void *fakeStack = nullptr;
#endif
#ifdef NEREID_TSAN_FIBERS
  void *tsanFiber = nullptr, *tsanWorker = nullptr;
#endif
};

// --- scheduling ---

namespace {
using Clock = std::chrono::steady_clock;

int64_t nanoseconds() { return Clock::now().time_since_epoch().count(); }

// A turn that takes longer is a program that computes and not one that waits.
constexpr int64_t computingNanoseconds = 200'000'000;
} // namespace

void FiberRun::yield(Fiber *self) { self->suspend(); }

Status FiberRun::run(Executor &executor) {
  auto workers = unsigned(std::min<uint64_t>(executor.concurrency(), programs));
  turnStart = std::vector<std::atomic<int64_t>>(workers);
  executor.run(
      workers, [](void *run, unsigned worker) { static_cast<FiberRun *>(run)->work(worker); },
      this);
  if (next.load() < programs) // an executor that ended early
    work(0);
  if (outOfMemory)
    return Error{"no memory for the stacks and arenas of " + std::to_string(live.load() + 1) +
                     " programs that wait for each other",
                 {}};
  if (waiting)
    return Error{"deadlock: " + std::to_string(waiting.load()) +
                     " programs wait for memory that nobody writes",
                 {}};
  return Success{};
}

// Whether nothing has moved for `stallSeconds`: no program started or ended, none computes.
bool FiberRun::stalled(Stall &stall) {
  int64_t now = nanoseconds();
  uint64_t progressNow = progress.load(std::memory_order_relaxed);
  bool moves = progressNow != stall.progress;
  for (const auto &start : turnStart) {
    int64_t began = start.load(std::memory_order_relaxed);
    moves |= began && now - began > computingNanoseconds;
  }
  if (moves) {
    stall = {progressNow, now};
    return false;
  }
  return double(now - stall.since) * 1e-9 > options.stallSeconds;
}

void FiberRun::work(unsigned worker) {
  std::vector<std::unique_ptr<Fiber>> idle;
  std::deque<std::unique_ptr<Fiber>> waitingHere; // in the order in which they yielded
  std::mt19937_64 random(options.seed + worker);
  Stall stall{progress.load(), nanoseconds()};

  for (uint64_t turns = 1;; ++turns) {
    // What waits after a fault is dropped: kernels own nothing.
    if (waiting || outOfMemory || (fault && __atomic_load_n(fault, __ATOMIC_RELAXED)))
      return;
    bool mayStart = next.load(std::memory_order_relaxed) < programs &&
                    live.load(std::memory_order_relaxed) < options.maxLive;
    if (mayStart && options.seed && !waitingHere.empty())
      mayStart = random() & 1;

    std::unique_ptr<Fiber> fiber;
    if (mayStart) {
      if (idle.empty()) {
        fiber = std::make_unique<Fiber>(options.stackBytes);
      } else {
        fiber = std::move(idle.back());
        idle.pop_back();
      }
      if (!fiber->prepare(arenaBytes)) {
        outOfMemory = true;
        return;
      }
      uint64_t mine = next.fetch_add(1, std::memory_order_relaxed);
      if (mine >= programs) {
        idle.push_back(std::move(fiber));
        continue;
      }
      live.fetch_add(1, std::memory_order_relaxed);
      progress.fetch_add(1, std::memory_order_relaxed);
      fiber->start(*this, mine);
    } else if (!waitingHere.empty()) {
      if (options.seed)
        std::swap(waitingHere.front(), waitingHere[random() % waitingHere.size()]);
      fiber = std::move(waitingHere.front());
      waitingHere.pop_front();
    } else {
      if (next.load(std::memory_order_relaxed) >= programs)
        return;
      std::this_thread::yield(); // the limit is reached by others; one of theirs may end soon
    }

    if (fiber) {
      turnStart[worker].store(nanoseconds(), std::memory_order_relaxed);
      bool ended = fiber->resume();
      turnStart[worker].store(0, std::memory_order_relaxed);
      if (ended) {
        live.fetch_sub(1, std::memory_order_relaxed);
        progress.fetch_add(1, std::memory_order_relaxed);
        idle.push_back(std::move(fiber));
      } else {
        waitingHere.push_back(std::move(fiber));
      }
    }
    if (turns % 64 == 0 && !waitingHere.empty())
      std::this_thread::yield(); // who holds the lock may want this processor
    if (turns % 1024 == 0 && options.stallSeconds > 0 && stalled(stall))
      waiting = live.load();
  }
}

} // namespace nereid::runtime
