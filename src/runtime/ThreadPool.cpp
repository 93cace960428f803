#include "runtime/ThreadPool.h"

#include <algorithm>
#include <sched.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nereid::runtime {

namespace {
// Long enough to catch the next of a sequence of small launches, short enough to cost nothing when
// a program goes on to something else: about 20 us.
constexpr int spinsBeforeSleep = 500;

thread_local bool insideBody = false;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}
} // namespace

unsigned availableProcessors() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

ThreadPool::ThreadPool(unsigned count) {
  if (count == 0)
    count = availableProcessors();
  threads.reserve(count - 1);
  for (unsigned i = 1; i < count; ++i)
    threads.emplace_back([this, i] { work(i); });
}

ThreadPool::~ThreadPool() {
  stopping = true;
  epoch.fetch_add(1);
  epoch.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void ThreadPool::run(unsigned workers, Body wantedBody, void *wantedData) {
  workers = std::min(workers, concurrency());
  if (workers <= 1 || insideBody) {
    wantedBody(wantedData, 0);
    return;
  }
  std::lock_guard lock(submit);
  body = wantedBody;
  data = wantedData;
  finished.store(0, std::memory_order_relaxed);
  tickets.store(workers - 1, std::memory_order_release);
  epoch.fetch_add(1);
  if (sleepers.load() != 0)
    epoch.notify_all();

  insideBody = true;
  wantedBody(wantedData, 0);
  insideBody = false;

  // Whoever has not come by now finds no work left: take back its ticket.
  uint32_t taken = workers - 1 - tickets.exchange(0, std::memory_order_acq_rel);
  for (int spin = 0; finished.load(std::memory_order_acquire) != taken; ++spin) {
    uint32_t seen = finished.load(std::memory_order_acquire);
    if (spin < spinsBeforeSleep)
      pause();
    else if (seen != taken)
      finished.wait(seen);
  }
}

void ThreadPool::work(unsigned) {
  insideBody = true; // a launch from within a kernel's helper runs inline
  uint32_t seen = epoch.load();
  while (!stopping.load(std::memory_order_relaxed)) {
    uint32_t ticket = tickets.load(std::memory_order_relaxed);
    while (ticket != 0 &&
           !tickets.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel))
      ;
    if (ticket != 0) {
      body(data, ticket);
      finished.fetch_add(1, std::memory_order_acq_rel);
      finished.notify_one();
      continue;
    }
    int spin = 0;
    while (epoch.load(std::memory_order_acquire) == seen && spin < spinsBeforeSleep) {
      pause();
      ++spin;
    }
    if (spin == spinsBeforeSleep) {
      sleepers.fetch_add(1);
      epoch.wait(seen);
      sleepers.fetch_sub(1);
    }
    seen = epoch.load();
  }
}

} // namespace nereid::runtime
