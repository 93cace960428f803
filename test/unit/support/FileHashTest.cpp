// A file is read once as long as it stays as it is, and again whenever it may have changed.
#include "support/FileHash.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace nereid::support {
namespace {

namespace fs = std::filesystem;

struct FileHash : testing::Test {
  fs::path folder = fs::temp_directory_path() / ("nereid-hash-" + std::to_string(getpid()));
  fs::path file = folder / "file";
  FileHash() { fs::create_directories(folder); }
  ~FileHash() override { fs::remove_all(folder); }
  void write(std::string_view text) { std::ofstream(file, std::ios::binary) << text; }
  uint64_t reads(const fs::path &path) {
    uint64_t before = filesHashed();
    hashOfFile(path);
    return filesHashed() - before;
  }
};

// Of the system, so that its times are old.
TEST_F(FileHash, ReadsAFileThatStaysOnce) {
  fs::path old = fs::canonical("/bin/sh");
  auto first = hashOfFile(old);
  ASSERT_TRUE(first);
  EXPECT_EQ(reads(old), 0u);
  EXPECT_EQ(hashOfFile(old), first);
}

// Same size, same inode, and a time of modification that was set back: a program may do that. The
// time of change is of this moment, so that the file is not yet one that is remembered.
TEST_F(FileHash, ReadsWhatWasJustWrittenAgain) {
  write("first");
  auto first = hashOfFile(file);
  EXPECT_EQ(first, hash128("first"));
  struct stat before;
  ASSERT_EQ(::stat(file.c_str(), &before), 0);
  write("other");
  timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  EXPECT_EQ(hashOfFile(file), hash128("other"));
  timespec old[] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), old, 0), 0);
  EXPECT_EQ(reads(file), 1u);
  EXPECT_EQ(reads(file), 1u);
}

// Of a program that forks while other threads ask for hashes.
TEST_F(FileHash, AChildIsNotLockedOut) {
  fs::path old = fs::canonical("/bin/sh");
  auto hash = hashOfFile(old);
  std::atomic<bool> isDone = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!isDone)
        hashOfFile(old);
    });
  int wrong = 0;
  for (int i = 0; i < 300 && !wrong; ++i) {
    pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      ::_exit(hashOfFile(old) == hash ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    wrong += status != 0;
  }
  isDone = true;
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(FileHash, FollowsAPathToAnotherFile) {
  fs::path link = folder / "link";
  fs::create_symlink(fs::canonical("/bin/sh"), link);
  auto first = hashOfFile(link);
  EXPECT_EQ(reads(link), 0u);
  fs::remove(link);
  write("other");
  fs::create_symlink(file, link);
  EXPECT_EQ(hashOfFile(link), hash128("other"));
  fs::remove(link);
  fs::create_symlink(fs::canonical("/bin/sh"), link);
  EXPECT_EQ(hashOfFile(link), first);
}

TEST_F(FileHash, GivesNothingForWhatCannotBeRead) {
  EXPECT_FALSE(hashOfFile(folder));
  EXPECT_FALSE(hashOfFile(file));
}

} // namespace
} // namespace nereid::support
