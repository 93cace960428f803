#include "support/FileHash.h"

#include "support/ReadFile.h"

#include <atomic>
#include <ctime>
#include <map>
#include <mutex>
#include <pthread.h>
#include <string>
#include <sys/stat.h>
#include <tuple>

namespace nereid::support {

namespace {

// Any change of a file's contents changes one of these, but for one within the same tick of the
// clock that its time of change is taken from. That time is not a program's to set.
struct Stamp {
  dev_t device;
  ino_t inode;
  off_t size;
  time_t modified, changed;
  long modifiedPart, changedPart;

  auto key() const {
    return std::tie(device, inode, size, modified, modifiedPart, changed, changedPart);
  }
  bool operator==(const Stamp &other) const { return key() == other.key(); }
};

std::optional<Stamp> stampOf(const std::filesystem::path &path) {
  struct stat found;
  if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode))
    return {};
  return Stamp{found.st_dev,          found.st_ino,         found.st_size,
               found.st_mtim.tv_sec,  found.st_ctim.tv_sec, //
               found.st_mtim.tv_nsec, found.st_ctim.tv_nsec};
}

// Ticks are 10 ms at most on local file systems, and 2 s on FAT.
constexpr time_t coarsest = 2;

bool isOlderThanATick(const Stamp &stamp, time_t now) {
  return stamp.changed + coarsest < now && stamp.modified + coarsest < now;
}

struct Known {
  Stamp stamp;
  Hash128 hash;
};

// A child has one thread: what another one held at the fork would be held for ever. So a fork waits
// until nobody has it.
class TableLock {
public:
  TableLock() {
    static const int registered =
        ::pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
    (void)registered;
    mutex.lock();
  }
  ~TableLock() { mutex.unlock(); }
  TableLock(const TableLock &) = delete;

private:
  static inline std::mutex mutex;
};

std::map<std::filesystem::path, Known> &known() {
  static auto *all = new std::map<std::filesystem::path, Known>; // outlives every user
  return *all;
}
std::atomic<uint64_t> hashed;

} // namespace

uint64_t filesHashed() { return hashed; }

std::optional<Hash128> hashOfFile(const std::filesystem::path &path) {
  std::optional<Stamp> before = stampOf(path);
  if (before) {
    TableLock lock;
    if (auto at = known().find(path); at != known().end() && at->second.stamp == *before)
      return at->second.hash;
  }
  time_t now = std::time(nullptr);
  ++hashed;
  auto bytes = readFile(path, uint64_t(1) << 40);
  if (!bytes)
    return {};
  Hash128 hash = hash128(*bytes);
  if (before && before == stampOf(path) && isOlderThanATick(*before, now)) {
    TableLock lock;
    known().insert_or_assign(path, Known{*before, hash});
  }
  return hash;
}

} // namespace nereid::support
