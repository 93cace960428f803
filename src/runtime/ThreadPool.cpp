#include "runtime/ThreadPool.h"

#include <algorithm>
#include <bit>
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
  invitations = std::vector<std::atomic<uint64_t>>(count / 64 + 1);
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
  if (workers <= 1 || insideBody) { // also in a forked child, which never takes the lock
    wantedBody(wantedData, 0);
    return;
  }
  std::lock_guard lock(submit);
  body = wantedBody;
  data = wantedData;
  finished.store(0, std::memory_order_relaxed);
  for (unsigned word = 0; word <= (workers - 1) / 64; ++word) {
    unsigned end = std::min(workers - 64 * word, 64u);
    uint64_t all = end == 64 ? ~uint64_t(0) : (uint64_t(1) << end) - 1;
    invitations[word].store(word ? all : all & ~uint64_t(1), std::memory_order_release);
  }
  epoch.fetch_add(1);
  if (sleepers.load() != 0)
    epoch.notify_all();

  insideBody = true;
  wantedBody(wantedData, 0);
  insideBody = false;

  // Whoever has not come by now finds no work left: take back its invitation.
  uint32_t taken = workers - 1;
  for (unsigned word = 0; word <= (workers - 1) / 64; ++word)
    taken -= uint32_t(std::popcount(invitations[word].exchange(0, std::memory_order_acq_rel)));
  for (int spin = 0; finished.load(std::memory_order_acquire) != taken; ++spin) {
    uint32_t seen = finished.load(std::memory_order_acquire);
    if (spin < spinsBeforeSleep)
      pause();
    else if (seen != taken)
      finished.wait(seen);
  }
}

void ThreadPool::work(unsigned worker) {
  insideBody = true; // a launch from within a kernel's helper runs inline
  std::atomic<uint64_t> &invitation = invitations[worker / 64];
  const uint64_t mine = uint64_t(1) << worker % 64;
  uint32_t seen = epoch.load();
  while (!stopping.load(std::memory_order_relaxed)) {
    if (invitation.load(std::memory_order_relaxed) & mine &&
        invitation.fetch_and(~mine, std::memory_order_acq_rel) & mine) {
      body(data, worker);
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
