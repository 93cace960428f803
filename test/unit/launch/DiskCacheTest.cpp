#include "launch/DiskCache.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace nereid;
using namespace nereid::launch;
using namespace nereid::support;
namespace fs = std::filesystem;

namespace {

Hash128 keyNumber(uint64_t number) { return Hasher().add(number).finish(); }

// An artifact whose size depends on its number.
std::vector<uint8_t> artifactNumber(uint64_t number) {
  ArtifactBuilder builder;
  builder.kernel.name = builder.text("kernel" + std::to_string(number));
  builder.kernel.key = keyNumber(number);
  std::vector<uint8_t> filling(1000 + number * 100, uint8_t(number));
  CodeRecord code;
  code.kind = uint32_t(CodeKind::Cubin);
  code.arch = builder.text("sm_90a");
  code.entry = builder.text("entry");
  code.code = builder.blob(filling);
  builder.codes.push_back(code);
  auto artifact = builder.finish();
  EXPECT_TRUE(artifact) << artifact.error().what;
  return {artifact->bytes().begin(), artifact->bytes().end()};
}

class DiskCacheTest : public ::testing::Test {
protected:
  void SetUp() override {
    directory = fs::temp_directory_path() /
                ("nereid-disk-" + std::to_string(::getpid()) + "-" +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(directory);
  }
  void TearDown() override { fs::remove_all(directory); }
  size_t filesThere() const {
    size_t count = 0;
    for (const auto &entry : fs::recursive_directory_iterator(directory))
      count += entry.is_regular_file();
    return count;
  }
  static bool holds(DiskCache &cache, uint64_t number) {
    auto found = cache.find(keyNumber(number));
    return found && found->name() == "kernel" + std::to_string(number);
  }
  fs::path directory;
};

TEST_F(DiskCacheTest, FindsWhatWasStored) {
  DiskCache cache(directory.string());
  EXPECT_FALSE(cache.find(keyNumber(1)));
  EXPECT_TRUE(cache.store(keyNumber(1), artifactNumber(1)));
  EXPECT_TRUE(holds(cache, 1));
  DiskCache other(directory.string());
  EXPECT_TRUE(holds(other, 1));
  EXPECT_EQ(filesThere(), 1u);
}

TEST_F(DiskCacheTest, EveryDamageIsFoundAndRemoved) {
  std::vector<uint8_t> good = artifactNumber(1);
  DiskCache cache(directory.string());
  ASSERT_TRUE(cache.store(keyNumber(1), good));
  fs::path path = cache.entries().at(0).path;
  auto expectDamage = [&](std::span<const uint8_t> bytes, const std::string &what) {
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char *>(bytes.data()), std::streamsize(bytes.size()));
    uint64_t before = cache.damaged();
    EXPECT_FALSE(cache.find(keyNumber(1))) << what;
    EXPECT_EQ(cache.damaged(), before + 1) << what;
    EXPECT_FALSE(fs::exists(path)) << what;
  };
  for (size_t size = 0; size < good.size(); size += 97)
    expectDamage(std::span(good).first(size), "cut to " + std::to_string(size));
  for (size_t at = 0; at < good.size(); at += 61) {
    std::vector<uint8_t> changed = good;
    changed[at] ^= 0x10;
    expectDamage(changed, "changed at " + std::to_string(at));
  }
  expectDamage(artifactNumber(2), "the artifact of another key");
  EXPECT_TRUE(cache.store(keyNumber(1), good));
  EXPECT_TRUE(holds(cache, 1));
}

TEST_F(DiskCacheTest, DirectoriesBeforeTheLastAreOnlyRead) {
  const std::string first = directory / "first", second = directory / "second",
                    own = directory / "own";
  ASSERT_TRUE(DiskCache(first).store(keyNumber(1), artifactNumber(1)));
  ASSERT_TRUE(DiskCache(second).store(keyNumber(2), artifactNumber(2)));
  DiskCache cache(first + ":" + second + "::" + own);
  EXPECT_EQ(DiskCache::written(first + ":" + own), own);
  EXPECT_TRUE(holds(cache, 1) && holds(cache, 2));
  EXPECT_FALSE(cache.find(keyNumber(3)));
  EXPECT_TRUE(cache.store(keyNumber(3), artifactNumber(3)));
  EXPECT_TRUE(holds(cache, 3));
  EXPECT_EQ(cache.entries().size(), 1u);
  EXPECT_EQ(DiskCache(first).entries().size() + DiskCache(second).entries().size(), 2u);
  // What is damaged there is missing, and stays.
  fs::path damaged = DiskCache(second).entries()[0].path;
  fs::resize_file(damaged, 100);
  EXPECT_FALSE(cache.find(keyNumber(2)));
  EXPECT_TRUE(fs::exists(damaged));
  EXPECT_EQ(cache.trim(0), 1u);
  EXPECT_TRUE(holds(cache, 1));
  // With nothing behind the last ':' nothing is written.
  DiskCache reader(first + ":");
  EXPECT_TRUE(holds(reader, 1));
  EXPECT_FALSE(reader.store(keyNumber(4), artifactNumber(4)));
}

TEST_F(DiskCacheTest, StoresUpToItsBound) {
  uint64_t one = 0;
  for (uint64_t i = 0; i < 102; ++i)
    one = std::max<uint64_t>(one, artifactNumber(i).size());
  auto bytesThere = [&] {
    uint64_t bytes = 0;
    for (const DiskCache::Entry &entry : DiskCache(directory.string()).entries())
      bytes += entry.bytes;
    return bytes;
  };
  DiskCache cache(directory.string(), 16 * one);
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(cache.store(keyNumber(i), artifactNumber(i)));
    ASSERT_TRUE(holds(cache, i));
    ASSERT_LE(bytesThere(), 16 * one) << i;
  }
  EXPECT_GE(bytesThere(), 6 * one);
  // The next process begins with what is there.
  DiskCache next(directory.string(), 8 * one);
  EXPECT_TRUE(next.store(keyNumber(100), artifactNumber(100)));
  EXPECT_LE(bytesThere(), 8 * one);
  DiskCache tiny(directory.string(), one / 2); // holds the last one all the same
  EXPECT_TRUE(tiny.store(keyNumber(101), artifactNumber(101)));
  EXPECT_TRUE(holds(tiny, 101));
  EXPECT_EQ(tiny.entries().size(), 1u);
}

TEST_F(DiskCacheTest, WritersThatAreKilledLeaveNothingBroken) {
  DiskCache cache(directory.string());
  for (int round = 0; round < 20; ++round) {
    pid_t child = ::fork();
    if (child == 0) {
      DiskCache own(directory.string());
      std::vector<uint8_t> bytes[8];
      for (uint64_t i = 0; i < 8; ++i)
        bytes[i] = artifactNumber(i);
      for (uint64_t i = 0;; ++i)
        own.store(keyNumber(i % 8), bytes[i % 8]);
    }
    ::usleep(useconds_t(2000 + round * 300));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    for (uint64_t i = 0; i < 8; ++i)
      cache.find(keyNumber(i));
    ASSERT_EQ(cache.damaged(), 0u);
  }
  EXPECT_TRUE(holds(cache, 0));
  // What they left behind goes once it is old.
  std::ofstream(cache.entries()[0].path.string() + ".1.1.tmp") << "half an artifact";
  for (const auto &entry : fs::recursive_directory_iterator(directory))
    if (entry.path().extension() == ".tmp")
      fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(2));
  DiskCache next(directory.string());
  EXPECT_TRUE(next.store(keyNumber(9), artifactNumber(9)));
  EXPECT_EQ(filesThere(), next.entries().size());
}

TEST_F(DiskCacheTest, ProcessesReadAndWriteAtOnce) {
  std::vector<pid_t> children;
  for (int process = 0; process < 4; ++process) {
    pid_t child = ::fork();
    if (child == 0) {
      DiskCache own(directory.string());
      bool good = true;
      for (uint64_t i = 0; i < 400; ++i) {
        uint64_t number = (i * 7 + uint64_t(process)) % 16;
        if (auto found = own.find(keyNumber(number)))
          good &= found->name() == "kernel" + std::to_string(number);
        else
          good &= own.store(keyNumber(number), artifactNumber(number));
        if (i % 40 == 39)
          own.trim(8000);
      }
      ::_exit(good && own.damaged() == 0 ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST_F(DiskCacheTest, ADiskWithoutRoomKeepsNothing) {
  pid_t child = ::fork();
  if (child == 0) {
    // A limit on the size of files fails a write half way, as a full disk does.
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = {512, 512};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    DiskCache cache(directory.string());
    bool good = !cache.store(keyNumber(1), artifactNumber(1)) && cache.notStored() == 1 &&
                !cache.find(keyNumber(1)) && cache.damaged() == 0;
    ::_exit(good ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(filesThere(), 0u);
}

TEST_F(DiskCacheTest, NoDirectoryIsNoError) {
  DiskCache none("");
  EXPECT_FALSE(none.store(keyNumber(1), artifactNumber(1)));
  EXPECT_FALSE(none.find(keyNumber(1)));
  DiskCache impossible("/proc/nereid");
  EXPECT_FALSE(impossible.store(keyNumber(1), artifactNumber(1)));
  EXPECT_EQ(impossible.notStored(), 1u);
}

// As another user reads what an administrator put there.
TEST_F(DiskCacheTest, ADirectoryThatMayOnlyBeReadIsRead) {
  {
    DiskCache writer(directory.string());
    ASSERT_TRUE(writer.store(keyNumber(1), artifactNumber(1)));
    ASSERT_TRUE(writer.store(keyNumber(2), artifactNumber(2)));
    for (const DiskCache::Entry &entry : writer.entries())
      if (entry.key == keyNumber(2))
        fs::resize_file(entry.path, entry.bytes / 2);
  }
  constexpr auto readable = fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
  constexpr auto searchable =
      fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
  std::vector<fs::path> all = {directory};
  for (const auto &entry : fs::recursive_directory_iterator(directory))
    all.push_back(entry.path());
  for (const fs::path &path : all)
    fs::permissions(path, fs::is_directory(path) ? readable | searchable : readable);
  pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t nobody = 65534;
    if (::getuid() == 0 && ::setuid(nobody) != 0) // nothing is forbidden to root
      ::_exit(2);
    DiskCache reader(directory.string());
    bool good = holds(reader, 1) && !reader.store(keyNumber(3), artifactNumber(3)) &&
                reader.notStored() == 1 && !reader.find(keyNumber(2)) && reader.damaged() == 1 &&
                reader.trim(0) == 0;
    ::_exit(good ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  for (const fs::path &path : all)
    fs::permissions(path, fs::perms::owner_all);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(filesThere(), 2u);
}

TEST_F(DiskCacheTest, VersionsShareADirectory) {
  DiskCache cache(directory.string());
  ASSERT_TRUE(cache.store(keyNumber(1), artifactNumber(1)));
  // What another version keeps lies beside, under the same key and in a format of its own.
  fs::path mine = cache.entries().at(0).path,
           theirs = directory / "v999" / fs::relative(mine, cache.directory());
  ASSERT_NE(cache.directory(), directory);
  fs::create_directories(theirs.parent_path());
  std::ofstream(theirs) << "an artifact of another version";
  EXPECT_TRUE(holds(cache, 1));
  EXPECT_EQ(cache.entries().size(), 1u);
  EXPECT_EQ(cache.verify(), 0u);
  EXPECT_EQ(cache.trim(0), 1u);
  EXPECT_TRUE(fs::exists(theirs));
  EXPECT_FALSE(fs::exists(mine));
  // A file of another version under our name is damage.
  ASSERT_TRUE(cache.store(keyNumber(1), artifactNumber(1)));
  fs::copy_file(theirs, mine, fs::copy_options::overwrite_existing);
  EXPECT_FALSE(cache.find(keyNumber(1)));
  EXPECT_EQ(cache.damaged(), 1u);
}

TEST_F(DiskCacheTest, TrimRemovesTheLongestUnused) {
  DiskCache cache(directory.string());
  auto now = fs::file_time_type::clock::now();
  for (uint64_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(cache.store(keyNumber(i), artifactNumber(i)));
    for (const DiskCache::Entry &entry : cache.entries())
      if (entry.key == keyNumber(i))
        fs::last_write_time(entry.path, now - std::chrono::hours(100 - i));
  }
  EXPECT_TRUE(holds(cache, 0)); // reading makes it the latest
  uint64_t bytes = 0;
  for (const DiskCache::Entry &entry : cache.entries())
    bytes += entry.bytes;
  EXPECT_EQ(cache.trim(bytes - 1), 1u);
  EXPECT_FALSE(holds(cache, 1));
  EXPECT_TRUE(holds(cache, 0) && holds(cache, 2) && holds(cache, 3));
  std::ofstream(cache.entries()[0].path) << "damage";
  EXPECT_EQ(cache.verify(), 1u);
  EXPECT_EQ(cache.entries().size(), 2u);
  EXPECT_EQ(cache.trim(0), 2u);
}

} // namespace
