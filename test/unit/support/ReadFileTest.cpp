// Files as bytes: bounds, and what is no plain file.
#include "support/ReadFile.h"

#include <gtest/gtest.h>

#include <fstream>
#include <unistd.h>

namespace nereid::support {
namespace {

namespace fs = std::filesystem;

struct ReadFile : testing::Test {
  fs::path folder = fs::temp_directory_path() / ("nereid-read-" + std::to_string(getpid()));
  fs::path file = folder / "file";
  ReadFile() { fs::create_directories(folder); }
  ~ReadFile() override { fs::remove_all(folder); }
  void write(size_t bytes) {
    std::ofstream(file, std::ios::binary) << std::string(bytes, 'a') + '\0';
  }
};

TEST_F(ReadFile, GivesAllBytes) {
  for (size_t bytes : {0u, 1u, 65'535u, 65'536u, 200'000u}) {
    write(bytes);
    auto read = readFile(file, bytes + 1);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(*read, std::string(bytes, 'a') + '\0');
  }
}

TEST_F(ReadFile, RefusesWhatIsLonger) {
  write(200'000);
  for (uint64_t most : {0u, 1u, 200'000u}) {
    auto read = readFile(file, most);
    ASSERT_FALSE(read.ok());
    EXPECT_NE(read.error().what.find("more than " + std::to_string(most) + " bytes"),
              std::string::npos);
  }
  EXPECT_FALSE(readFile("/dev/zero", 1 << 20).ok());
}

TEST_F(ReadFile, ReadsWhatDoesNotKnowItsSize) {
  auto read = readFile("/proc/self/status", largestSource);
  ASSERT_TRUE(read.ok());
  EXPECT_NE(read->find("Name:"), std::string::npos);
}

TEST_F(ReadFile, RefusesFoldersAndNothing) {
  EXPECT_NE(readFile(folder, 100).error().what.find("is a directory"), std::string::npos);
  EXPECT_NE(readFile(folder / "none", 100).error().what.find("cannot read"), std::string::npos);
}

} // namespace
} // namespace nereid::support
