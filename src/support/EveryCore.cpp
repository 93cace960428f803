#include "support/EveryCore.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace nereid::support {

void onEveryCore(size_t count, const std::function<void(size_t)> &part) {
  std::atomic<size_t> next = 0;
  std::once_flag once;
  std::exception_ptr thrown;
  auto work = [&] {
    try {
      for (size_t i; (i = next++) < count;)
        part(i);
    } catch (...) {
      next = count; // nobody begins another
      std::call_once(once, [&] { thrown = std::current_exception(); });
    }
  };
  {
    std::vector<std::jthread> threads; // joined last
    size_t workers = std::min<size_t>(count, std::max(1u, std::thread::hardware_concurrency()));
    for (size_t i = 1; i < workers; ++i)
      threads.emplace_back(work);
    work();
  }
  if (thrown)
    std::rethrow_exception(thrown);
}

} // namespace nereid::support
