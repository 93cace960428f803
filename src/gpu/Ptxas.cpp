#include "gpu/Ptxas.h"

#include "support/Knobs.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <set>
#include <spawn.h>
#include <sstream>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace nereid::gpu {

namespace {

bool isProgram(const std::string &path) { return !path.empty() && access(path.c_str(), X_OK) == 0; }

// A folder that goes with what is in it.
class TemporaryFolder {
public:
  TemporaryFolder() {
    const char *root = std::getenv("TMPDIR");
    path = std::string(root && *root ? root : "/tmp") + "/nereid-XXXXXX";
    if (!mkdtemp(path.data()))
      path.clear();
  }
  ~TemporaryFolder() {
    if (path.empty())
      return;
    for (const char *name : {"/in.ptx", "/in.cubin", "/out.cubin", "/log"})
      unlink((path + name).c_str());
    rmdir(path.c_str());
  }
  std::string path;
};

std::string readAll(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The number in front of `text`, as in "32 bytes stack frame", summed over the log.
uint32_t numberBefore(const std::string &log, const char *text) {
  uint32_t sum = 0;
  for (size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) {
    size_t begin = at;
    while (begin > 0 && (log[begin - 1] == ' '))
      --begin;
    while (begin > 0 && log[begin - 1] >= '0' && log[begin - 1] <= '9')
      --begin;
    sum += uint32_t(std::strtoul(log.c_str() + begin, nullptr, 10));
  }
  return sum;
}

// A program of a CUDA toolkit: on the PATH, or in the toolkit's usual place.
std::string findProgram(const std::string &name) {
  if (const char *path = std::getenv("PATH")) {
    std::string all = path;
    for (size_t begin = 0; begin <= all.size();) {
      size_t end = std::min(all.find(':', begin), all.size());
      std::string candidate = all.substr(begin, end - begin) + "/" + name;
      if (end > begin && isProgram(candidate))
        return candidate;
      begin = end + 1;
    }
  }
  std::string usual = "/usr/local/cuda/bin/" + name;
  return isProgram(usual) ? usual : "";
}

// Whether a process ends within so many seconds.
bool endsWithin(pid_t process, double seconds) {
  int handle = int(syscall(SYS_pidfd_open, process, 0));
  if (handle < 0)
    return true; // this kernel cannot say: it is waited for
  pollfd end = {handle, POLLIN, 0};
  const auto last = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  int ready;
  do {
    std::chrono::duration<double, std::milli> left = last - std::chrono::steady_clock::now();
    ready = poll(&end, 1, int(std::clamp(std::ceil(left.count()), 0.0, 1e9)));
  } while (ready < 0 && errno == EINTR);
  close(handle);
  return ready != 0;
}

// Runs a program with its output in a file; gives what waitpid says. After `limit` seconds, if that
// is above 0, the program is ended.
Result<int> runProgram(std::vector<std::string> words, const std::string &logPath,
                       double limit = 0) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, logPath.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t process = 0;
  int failure =
      posix_spawn(&process, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure)
    return Error{"cannot start `" + words[0] + "`: " + std::strerror(failure), {}};
  bool isLate = limit > 0 && !endsWithin(process, limit);
  if (isLate)
    kill(process, SIGKILL);
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR)
    ;
  if (isLate) {
    std::ostringstream text;
    text << "`" << words[0] << "` did not end within " << limit
         << " s; smaller blocks or more warps give it less to do, NEREID_PTXAS_SECONDS more time";
    return Error{text.str(), {}};
  }
  return status;
}

bool succeeded(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

} // namespace

std::string findPtxas(const std::string &hint) {
  for (const std::string &told : {hint, support::knobs().ptxas}) {
    if (isProgram(told))
      return told;
    if (told == nvJitLink)
      return hasNvJitLink() ? told : "";
  }
  std::string program = findProgram("ptxas");
  return !program.empty() || !hasNvJitLink() ? program : nvJitLink;
}

std::string findDisassembler() { return findProgram("nvdisasm"); }

Result<std::string> disassemble(const std::string &nvdisasm, std::span<const uint8_t> cubin) {
  TemporaryFolder folder;
  if (folder.path.empty())
    return Error{std::string("cannot make a temporary folder: ") + std::strerror(errno), {}};
  std::string in = folder.path + "/in.cubin", out = folder.path + "/log";
  std::ofstream file(in, std::ios::binary);
  if (!file.write(reinterpret_cast<const char *>(cubin.data()), std::streamsize(cubin.size()))
           .flush())
    return Error{"cannot write `" + in + "`", {}};
  auto status = runProgram({nvdisasm, "-c", in}, out);
  if (!status)
    return status.takeError();
  std::string text = readAll(out);
  if (!succeeded(*status))
    return Error{"`" + nvdisasm + "` fails:\n" + text, {}};
  return text;
}

// With a directive behind the number of threads.
static std::string withDirective(const std::string &ptx, const std::string &directive) {
  size_t at = ptx.find(".reqntid");
  size_t end = at == std::string::npos ? at : ptx.find('\n', at);
  if (end == std::string::npos)
    return ptx;
  return ptx.substr(0, end + 1) + directive + "\n" + ptx.substr(end + 1);
}

std::string limitRegisters(const std::string &ptx, uint32_t registers) {
  return withDirective(ptx, ".maxnreg " + std::to_string(registers));
}

std::string limitBlocks(const std::string &ptx, uint32_t blocks) {
  return withDirective(ptx, ".minnctapersm " + std::to_string(blocks));
}

std::string withSumsSet(const std::string &ptx) {
  std::set<std::string> sums;
  for (size_t at = 0; (at = ptx.find("wgmma.mma_async", at)) != std::string::npos;) {
    at = ptx.find('{', at);
    size_t end = ptx.find('}', at);
    if (end == std::string::npos)
      break;
    for (size_t reg = at; (reg = ptx.find('%', reg)) < end;) {
      size_t behind = ptx.find_first_of(", }", reg);
      sums.insert(ptx.substr(reg, behind - reg));
      reg = behind;
    }
  }
  std::string values;
  for (const std::string &reg : sums)
    values += reg.starts_with("%f") ? "\tmov.f32 " + reg + ", 0f00000000;\n"
                                    : "\tmov.b32 " + reg + ", 0;\n";
  // Behind the declarations that the function begins with.
  size_t at = ptx.find("\n\t.reg ");
  if (at == std::string::npos)
    return ptx;
  for (++at; ptx.compare(at, 6, "\t.reg ") == 0;)
    at = ptx.find('\n', at) + 1;
  return std::string(ptx).insert(at, values);
}

uint32_t blocksByRegisters(const target::GpuChip &chip, uint32_t registers, unsigned warps) {
  uint32_t block = warps * 32 * ((std::max(registers, 1u) + 7) / 8 * 8);
  return std::min<uint32_t>(
      {target::registersPerSm / block, chip.warpsPerSm / warps, chip.blocksPerSm});
}

uint32_t registersForOneMoreBlock(const target::GpuChip &chip, uint32_t registers, unsigned warps,
                                  uint64_t sharedBytes) {
  // A warp gets its registers in units of 256, 8 a thread; each block pays 1 KiB of shared memory.
  uint32_t threads = warps * 32;
  auto blocksWith = [&](uint32_t each) {
    return target::registersPerSm / (threads * ((each + 7) / 8 * 8));
  };
  uint32_t wanted = blocksWith(std::max(registers, 1u)) + 1;
  if ((wanted - 1) * warps * 4 > chip.warpsPerSm || wanted > chip.warpsPerSm / warps ||
      wanted > chip.blocksPerSm || wanted > chip.sharedBytesPerSm / (sharedBytes + 1024))
    return 0;
  uint32_t limit = target::registersPerSm / (threads * wanted) / 8 * 8;
  return 5 * limit >= 4 * registers ? limit : 0;
}

uint64_t bytesForKept(const target::GpuChip &chip, uint32_t registers, unsigned warps,
                      uint64_t sharedBytes, uint64_t stepBytes, uint64_t steps) {
  constexpr uint32_t usual = 40;      // registers of a thread that walks along a row
  constexpr uint64_t perBlock = 1024; // what the driver takes of each
  auto left = [&](uint64_t blocks) -> uint64_t {
    uint64_t each =
        std::min<uint64_t>(chip.sharedBytesPerSm / blocks, chip.sharedBytesPerBlock + perBlock);
    return each < sharedBytes + perBlock ? 0 : each - perBlock - sharedBytes;
  };
  uint64_t blocks =
      std::min<uint64_t>(blocksByRegisters(chip, registers ? registers : usual, warps),
                         chip.sharedBytesPerSm / (sharedBytes + perBlock));
  blocks = std::max<uint64_t>(blocks, 1);
  uint64_t all = steps * stepBytes;
  if (all > left(blocks))
    for (uint64_t fewer = blocks - 1; fewer && fewer * warps * 2 >= chip.warpsPerSm; --fewer)
      if (all <= left(fewer))
        return all;
  uint64_t room = left(blocks) / stepBytes * stepBytes;
  // Of a row of unknown length one step alone fits: most likely it is the whole row, and what it
  // would take of the first-level cache holds it as well, without a write.
  if (!steps && room == stepBytes)
    return 0;
  return steps ? std::min(room, all) : room;
}

namespace {
Result<Cubin> runPtxas(const std::string &ptxas, const std::string &ptx, std::string_view arch) {
  TemporaryFolder folder;
  if (folder.path.empty())
    return Error{std::string("cannot make a temporary folder: ") + std::strerror(errno), {}};
  std::string in = folder.path + "/in.ptx", out = folder.path + "/out.cubin",
              logPath = folder.path + "/log", archOption = "-arch=" + std::string(arch);
  if (!(std::ofstream(in) << ptx).flush())
    return Error{"cannot write `" + in + "`", {}};

  auto status = runProgram({ptxas, archOption, "-v", "-O3", in, "-o", out}, logPath,
                           support::knobs().ptxasSeconds);
  if (!status)
    return status.takeError();
  Cubin cubin;
  cubin.log = readAll(logPath);
  if (!succeeded(*status))
    return Error{"`ptxas` rejects the kernel for " + std::string(arch) + ":\n" + cubin.log, {}};
  std::string code = readAll(out);
  if (code.empty())
    return Error{"`ptxas` made no cubin:\n" + cubin.log, {}};
  cubin.code.assign(code.begin(), code.end());
  return cubin;
}
} // namespace

Result<Cubin> assemble(const std::string &ptxas, const std::string &ptx, std::string_view arch) {
  auto assembled = ptxas == nvJitLink ? assembleInProcess(ptx, arch) : runPtxas(ptxas, ptx, arch);
  if (!assembled)
    return assembled;
  Cubin &cubin = *assembled;
  if (size_t at = cubin.log.find("Used "); at != std::string::npos)
    cubin.registers = uint32_t(std::strtoul(cubin.log.c_str() + at + 5, nullptr, 10));
  std::istringstream lines(cubin.log);
  for (std::string line; std::getline(lines, line);)
    if (line.find("Performance Loss") != std::string::npos ||
        line.find("warning") != std::string::npos)
      cubin.warnings.push_back(line);
  cubin.stackBytes = numberBefore(cubin.log, "bytes stack frame");
  cubin.spillStoreBytes = numberBefore(cubin.log, "bytes spill stores");
  cubin.spillLoadBytes = numberBefore(cubin.log, "bytes spill loads");
  return assembled;
}

} // namespace nereid::gpu
