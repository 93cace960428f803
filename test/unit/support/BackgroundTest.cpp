#include "support/Background.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace nereid::support;

namespace {

// Whether `condition` holds within a minute.
template <typename Condition> bool comes(Condition condition) {
  for (int i = 0; i < 60000 && !condition(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return condition();
}

TEST(Background, RunsTasksInOrder) {
  static std::atomic<int> done = 0, early = 0;
  for (int i = 0; i < 100; ++i)
    inBackground([i] { early += done++ != i; });
  EXPECT_TRUE(comes([] { return done == 100; }));
  inBackground([] { ++done; }); // the thread may have ended
  EXPECT_TRUE(comes([] { return done == 101; }));
  EXPECT_EQ(early, 0);
}

TEST(Background, RunsNothingWhileItIsPaused) {
  static std::atomic<int> done = 0;
  static std::atomic<bool> isInside = false;
  inBackground([] {
    isInside = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ++done;
  });
  inBackground([] { ++done; });
  ASSERT_TRUE(comes([] { return isInside.load(); }));
  pauseBackground();
  EXPECT_EQ(done, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(done, 1);
  resumeBackground(false);
  EXPECT_TRUE(comes([] { return done == 2; }));
}

TEST(Background, WorksInAForkedChild) {
  static std::atomic<int> done = 0;
  inBackground([] { ++done; });
  pauseBackground();
  pid_t child = ::fork();
  if (child == 0) {
    resumeBackground(true);
    done = 0;
    inBackground([] { ++done; });
    ::_exit(comes([] { return done == 1; }) ? 0 : 1);
  }
  resumeBackground(false);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(comes([] { return done == 1; }));
}

} // namespace
