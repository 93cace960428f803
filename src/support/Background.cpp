#include "support/Background.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace nereid::support {

namespace {

class Background {
public:
  // Made after everything that a task uses and that is static, so it ends before that.
  static Background &get() {
    static Background instance;
    return instance;
  }
  ~Background() {
    std::unique_lock lock(mutex);
    queue.clear();
    lock.unlock();
    if (thread.joinable())
      thread.join();
  }

  void add(std::function<void()> task) {
    std::lock_guard lock(mutex);
    queue.push_back(std::move(task));
    start();
  }
  void pause() {
    std::unique_lock lock(mutex);
    ++pauses;
    changed.wait(lock, [&] { return !isInTask; });
  }
  void resume(bool inForkedChild) {
    std::lock_guard lock(mutex);
    --pauses;
    if (inForkedChild && thread.joinable()) {
      thread.detach(); // it is the parent's
      isRunning = false;
      queue.clear();
    }
    start();
  }

private:
  void start() {
    if (isRunning || pauses || queue.empty())
      return;
    if (thread.joinable())
      thread.join(); // has let go of the lock for good
    isRunning = true;
    thread = std::thread([this] { work(); });
  }
  void work() {
    std::unique_lock lock(mutex);
    while (!pauses && !queue.empty()) {
      std::function<void()> task = std::move(queue.front());
      queue.pop_front();
      isInTask = true;
      lock.unlock();
      task();
      task = nullptr; // what it holds ends here, without the lock
      lock.lock();
      isInTask = false;
      changed.notify_all();
    }
    isRunning = false;
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  std::thread thread;
  bool isRunning = false, isInTask = false;
  int pauses = 0;
};

} // namespace

void inBackground(std::function<void()> task) { Background::get().add(std::move(task)); }
void pauseBackground() { Background::get().pause(); }
void resumeBackground(bool inForkedChild) { Background::get().resume(inForkedChild); }

} // namespace nereid::support
