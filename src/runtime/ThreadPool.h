// The runtime's own executor: threads that stay, sleep when idle and wake in microseconds.
#pragma once

#include "runtime/Executor.h"
#include "support/Forks.h"

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace nereid::runtime {

class ThreadPool final : public Executor {
public:
  /// `threads` counts the caller; 0 means one a processor that this process may use.
  explicit ThreadPool(unsigned threads = 0);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  /// 1 in a forked child, which has none of the threads.
  unsigned concurrency() const override {
    return support::forkCount() == madeAfter ? unsigned(threads.size()) + 1 : 1;
  }
  void run(unsigned workers, Body body, void *data) override;

private:
  void work(unsigned index);

  // One job at a time. The fields of a job are written before the invitations and read only by who
  // took its own, and the next job waits until every one that was taken is `finished`. Thread w is
  // worker w of each job, so that it has the same part of the work again.
  std::mutex submit;
  Body body = nullptr;
  void *data = nullptr;
  std::vector<std::atomic<uint64_t>> invitations; ///< a bit for each worker who may come
  alignas(64) std::atomic<uint32_t> finished = 0;
  alignas(64) std::atomic<uint32_t> epoch = 0; ///< changes when there is news for sleepers
  std::atomic<uint32_t> sleepers = 0;
  std::atomic<bool> stopping = false;
  const unsigned madeAfter = support::forkCount(); ///< forks
  std::vector<std::thread> threads;
};

/// Processors that this process may run on.
unsigned availableProcessors();

} // namespace nereid::runtime
