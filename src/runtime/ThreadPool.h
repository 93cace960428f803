// The runtime's own executor: threads that stay, sleep when idle and wake in microseconds.
#pragma once

#include "runtime/Executor.h"

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

  unsigned concurrency() const override { return unsigned(threads.size()) + 1; }
  void run(unsigned workers, Body body, void *data) override;

private:
  void work(unsigned index);

  // One job at a time. The fields of a job are written before `tickets` becomes positive and read
  // only by who took a ticket, and the next job waits until every taken ticket is `finished`.
  std::mutex submit;
  Body body = nullptr;
  void *data = nullptr;
  alignas(64) std::atomic<uint32_t> tickets = 0; ///< places left; ticket t is worker t
  alignas(64) std::atomic<uint32_t> finished = 0;
  alignas(64) std::atomic<uint32_t> epoch = 0; ///< changes when there is news for sleepers
  std::atomic<uint32_t> sleepers = 0;
  std::atomic<bool> stopping = false;
  std::vector<std::thread> threads;
};

/// Processors that this process may run on.
unsigned availableProcessors();

} // namespace nereid::runtime
