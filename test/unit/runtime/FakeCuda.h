// Puts the driver of test/fake_cuda before the machine's own. A process opens a driver once, so
// what runs on it is a death test, in a process of its own.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace nereid::runtime::test {

/// Variables for as long as it lives; a test may set FAKE_CUDA to a scenario.
class FakeDriver {
public:
  FakeDriver() {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    const char *path = std::getenv("LD_LIBRARY_PATH");
    before = path ? path : "";
    ::setenv("LD_LIBRARY_PATH", NEREID_BINARY_DIR "/fake_cuda", 1);
    ::setenv("FAKE_CUDA", "", 1);
    ::setenv("NEREID_CUPTI", "off", 1); // the machine's own knows nothing of this driver
  }
  ~FakeDriver() {
    ::setenv("LD_LIBRARY_PATH", before.c_str(), 1);
    ::unsetenv("FAKE_CUDA");
    ::unsetenv("NEREID_CUPTI");
  }
  FakeDriver(const FakeDriver &) = delete;

private:
  std::string before;
};

class FakeCuda : public testing::Test {
  FakeDriver driver;
};

} // namespace nereid::runtime::test
