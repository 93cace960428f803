// What fuzzers of engines share: the memory of a kernel, the interpreter's opinion, shrinking.
#pragma once

#include "CpuHarness.h"
#include "KernelWriter.h"

#include "pipeline/Cpu.h"
#include "pipeline/Gpu.h"
#include "ref/Interpreter.h"
#include "ref/Reference.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <mutex>
#include <new>
#include <optional>
#include <regex>
#include <span>
#include <thread>
#include <unistd.h>

namespace nereid::test {

// Around an array lies as much memory that is nobody's: a planted miscompile may miss it.
template <typename T> struct WithMargins {
  using value_type = T;
  WithMargins() = default;
  template <typename U> WithMargins(const WithMargins<U> &) {}
  static constexpr size_t margin = size_t(arrayElements);
  T *allocate(size_t count) {
    auto *all = static_cast<T *>(std::calloc(count + 2 * margin, sizeof(T)));
    return all ? all + margin : throw std::bad_alloc();
  }
  void deallocate(T *data, size_t) { std::free(data - margin); }
  bool operator==(const WithMargins &) const = default;
};
template <typename T> using Array = std::vector<T, WithMargins<T>>;

struct Arrays {
  Array<float> f32 = Array<float>(arrayElements);
  Array<int32_t> i32 = Array<int32_t>(arrayElements);
  Array<_Float16> f16 = Array<_Float16>(arrayElements);
  Array<int8_t> i8 = Array<int8_t>(arrayElements);
  Array<int64_t> i64 = Array<int64_t>(arrayElements);
  Array<int8_t> i1 = Array<int8_t>(arrayElements);
  // By their bits: any NaN is as good as another, see `sameBits`.
  Array<uint16_t> bf16 = Array<uint16_t>(arrayElements);
  Array<uint8_t> e4m3 = Array<uint8_t>(arrayElements);
  Array<uint8_t> e5m2 = Array<uint8_t>(arrayElements);
  // Small whole numbers.
  Array<_Float16> smallHalf = Array<_Float16>(smallElements);
  Array<uint16_t> smallBrain = Array<uint16_t>(smallElements);
  Array<float> smallFloat = Array<float>(smallElements);
  Array<uint8_t> smallByte = Array<uint8_t>(smallElements);

  // Kernels read the work part; the others are copies of it.
  explicit Arrays(uint32_t seed) {
    std::mt19937 random(seed);
    constexpr float special[] = {0.f, -0.f, INFINITY, -INFINITY, NAN, 1e-40f, 3e38f, 65504.f};
    for (int64_t i = 0; i < workElements; ++i) {
      f32[i] = random() % 16 ? float(int32_t(random())) / 65536.f : special[random() % 8];
      i32[i] = random() % 4 ? int32_t(random() % 64) - 32 : int32_t(random());
      f16[i] = _Float16(f32[random() % (i + 1)]);
      i8[i] = int8_t(random());
      uint32_t bits = std::bit_cast<uint32_t>(f32[random() % (i + 1)]);
      bf16[i] = uint16_t(bits >> 16);
      e4m3[i] = uint8_t(random());
      e5m2[i] = uint8_t(random());
    }
    for (int64_t i = 0; i < smallElements; ++i) {
      auto any = [&] { return float(int(random() % 9) - 4); };
      smallHalf[i] = _Float16(any());
      smallBrain[i] = uint16_t(std::bit_cast<uint32_t>(any()) >> 16);
      smallFloat[i] = any();
      // It has the exponent of a half.
      smallByte[i] = uint8_t(std::bit_cast<uint16_t>(_Float16(any())) >> 8);
    }
    repeat(f32);
    repeat(i32);
    repeat(f16);
    repeat(i8);
    repeat(bf16);
    repeat(e4m3);
    repeat(e5m2);
  }

  /// Calls `one` with each array, in the order of the kernel's parameters, and its name.
  template <typename One> void each(One one) {
    one(f32, "f32");
    one(i32, "i32");
    one(f16, "f16");
    one(i8, "i8");
    one(i64, "i64");
    one(i1, "i1");
    one(bf16, "bf16");
    one(e4m3, "e4m3");
    one(e5m2, "e5m2");
    one(smallHalf, "small f16");
    one(smallBrain, "small bf16");
    one(smallFloat, "small f32");
    one(smallByte, "small e5m2");
  }

private:
  template <typename T> static void repeat(Array<T> &array) {
    for (int64_t i = workElements; i < arrayElements; i += workElements)
      std::copy_n(array.begin(), workElements, array.begin() + i);
  }
};

template <typename T> bool sameBytes(const Array<T> &a, const Array<T> &b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <typename T>
::testing::AssertionResult same(const char *name, const Array<T> &got, const Array<T> &want) {
  if (sameBytes(got, want))
    return ::testing::AssertionSuccess();
  for (size_t i = 0; i < got.size(); ++i) {
    bool equal = got[i] == want[i];
    if constexpr (!std::is_integral_v<T>)
      equal |= std::isnan(double(got[i])) && std::isnan(double(want[i]));
    if (!equal)
      return ::testing::AssertionFailure() << name << "[" << i << "] is " << double(got[i])
                                           << ", the interpreter has " << double(want[i]);
  }
  return ::testing::AssertionSuccess();
}

// Floats as bits, of which those above `infinity` are NaN in either sign.
template <typename T>
::testing::AssertionResult sameBits(const char *name, const Array<T> &got, const Array<T> &want,
                                    unsigned infinity) {
  if (sameBytes(got, want))
    return ::testing::AssertionSuccess();
  constexpr unsigned sign = 1u << (8 * sizeof(T) - 1);
  for (size_t i = 0; i < got.size(); ++i) {
    unsigned a = got[i], b = want[i];
    bool bothNan = (a & ~sign) > infinity && (b & ~sign) > infinity;
    bool bothZero = !(a & ~sign) && !(b & ~sign);
    if (a != b && !bothNan && !bothZero)
      return ::testing::AssertionFailure()
             << name << "[" << i << "] is 0x" << std::hex << a << ", the interpreter has 0x" << b;
  }
  return ::testing::AssertionSuccess();
}

inline unsigned numberFrom(const char *name, unsigned otherwise) {
  const char *text = std::getenv(name);
  return text ? unsigned(std::strtoul(text, nullptr, 10)) : otherwise;
}

// The number that kernels take behind their arrays.
constexpr int32_t lastArgument = 100;

// One for many kernels of a thread, as it takes as long to make as they to interpret; not for all,
// as it keeps every type and constant. Nothing of a kernel may be left when the next one asks.
inline mlir::MLIRContext &threadContext() {
  static mlir::DialectRegistry *registry = [] {
    auto *made = new mlir::DialectRegistry;
    pipeline::registerCpuPipeline(*made);
    pipeline::registerGpuPipeline(*made);
    ref::registerReferenceModels(*made);
    return made;
  }();
  thread_local std::optional<mlir::MLIRContext> context;
  thread_local unsigned uses = 0;
  if (uses++ % 64 == 0)
    context.emplace(*registry, mlir::MLIRContext::Threading::DISABLED);
  return *context;
}

// What the interpreter makes of a kernel. Gives what is wrong with it, or nothing.
inline std::string interpret(const std::string &source, Arrays &into) {
  mlir::MLIRContext &context = threadContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
  if (!module)
    return "the fuzzer writes bad IR";
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  auto interpreter = ref::Interpreter::prepare(function, {});
  if (!interpreter)
    return explain(interpreter.error());
  ref::Launch launch;
  launch.grid = {2, 1, 1};
  into.each([&](auto &array, const char *name) {
    launch.arguments.push_back(int64_t(reinterpret_cast<uintptr_t>(array.data())));
    launch.memory.push_back({.base = reinterpret_cast<uintptr_t>(array.data()),
                             .bytes = array.size() * sizeof(array[0]),
                             .name = name});
  });
  launch.arguments.push_back(int64_t(lastArgument));
  auto done = interpreter->launch(launch);
  return done ? "" : explain(done.error());
}

inline ::testing::AssertionResult same(const Arrays &got, const Arrays &want) {
  ::testing::AssertionResult results[] = {same("f32", got.f32, want.f32),
                                          same("i32", got.i32, want.i32),
                                          same("f16", got.f16, want.f16),
                                          same("i8", got.i8, want.i8),
                                          same("i64", got.i64, want.i64),
                                          same("i1", got.i1, want.i1),
                                          sameBits("bf16", got.bf16, want.bf16, 0x7f80),
                                          sameBits("e4m3", got.e4m3, want.e4m3, 0x7e),
                                          sameBits("e5m2", got.e5m2, want.e5m2, 0x7c)};
  for (auto &result : results)
    if (!result)
      return result;
  return results[0];
}

inline bool isKernel(const std::string &source) {
  mlir::MLIRContext &context = threadContext();
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) { return mlir::success(); });
  return bool(mlir::parseSourceString<mlir::ModuleOp>(source, &context));
}

// Leaves out as many lines as it can while `fails` holds: pieces of half the kernel, then of a
// quarter, and so on. What does not parse does not count; a loop goes with all of its lines.
// Barriers stay, without which a kernel may mean something else, where they do not meet.
inline std::string shrunk(const std::string &source,
                          const std::function<bool(const std::string &)> &fails) {
  std::vector<std::string> lines;
  std::istringstream text(source);
  for (std::string line; std::getline(text, line);)
    lines.push_back(line);
  const std::string barrier = "  tile.barrier";
  auto without = [&](size_t from, size_t to) {
    std::vector<std::string> out;
    for (size_t i = 0; i < lines.size(); ++i)
      if (lines[i] == barrier ? out.empty() || out.back() != barrier : i < from || i >= to)
        out.push_back(lines[i]);
    return out;
  };
  auto joined = [](const std::vector<std::string> &lines) {
    std::string out;
    for (const std::string &line : lines)
      out += line + "\n";
    return out;
  };
  for (bool again = true; again;) {
    again = false;
    for (size_t piece = lines.size() / 2; piece; piece /= 2)
      // From the end: what nobody uses any more goes first.
      for (size_t end = lines.size() - 1; end > piece; --end) {
        std::vector<std::string> less = without(end - piece, end);
        if (less.size() == lines.size() || !isKernel(joined(less)) || !fails(joined(less)))
          continue;
        lines = std::move(less);
        end = std::min(end, lines.size());
        again = true;
        if (end <= piece)
          break;
      }
  }
  return joined(lines);
}

/// A problem without its numbers: what shrinking must not lose.
inline std::string sortOf(const std::string &problem) {
  std::string out = problem.substr(0, problem.find_first_of("[\n"));
  std::erase_if(out, [](char c) { return std::isdigit(static_cast<unsigned char>(c)); });
  return out;
}

/// What an engine made of a kernel.
struct Outcome {
  std::string failure;    ///< empty: it ran
  bool isRefused = false; ///< rightly: it wants more of something than there is
};

/// An engine under test. `run` compiles a kernel, in a way that the seed chooses, and runs it.
struct Subject {
  const char *name;
  KernelWriter::Kind kind;
  std::function<Outcome(const std::string &source, Arrays &into, unsigned seed)> run;

  std::string kernel(unsigned seed) const { return KernelWriter(seed, kind).kernel(); }
};

enum class Verdict { Same, Refused, NoKernel, Failed, Different };

/// Runs a kernel on both. `compiled`: what the compiler reads in place of the kernel.
inline Verdict judge(const Subject &subject, const std::string &source, const std::string &compiled,
                     unsigned seed, std::string &problem) {
  const Arrays before(seed);
  Arrays want = before, got = before;
  if (problem = interpret(source, want); !problem.empty())
    return Verdict::NoKernel; // it reads memory that is not there
  Outcome outcome = subject.run(compiled, got, seed);
  problem = outcome.failure;
  if (!problem.empty())
    return outcome.isRefused ? Verdict::Refused : Verdict::Failed;
  auto equal = same(got, want);
  problem = equal ? "" : equal.message();
  return equal ? Verdict::Same : Verdict::Different;
}

// The ops of a kernel, one a line.
inline void count(const std::string &source, std::map<std::string, unsigned> &ops) {
  std::istringstream text(source);
  for (std::string line; std::getline(text, line);) {
    size_t equals = line.find(" = ");
    bool defines = line.find_first_not_of(' ') == line.find('%') && equals != std::string::npos;
    size_t from = defines ? equals + 3 : line.find_first_not_of(' ');
    size_t dot = line.find('.', from), to = from;
    while (to < line.size() && (std::isalnum(line[to]) || line[to] == '_' || line[to] == '.'))
      ++to;
    if (dot < to)
      ++ops[line.substr(from, to - from)];
  }
}

inline double processorSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

/// The seeds that threads are at: what a crash was about.
inline std::atomic<unsigned> seedsAtWork[2];
inline void tellSeeds(int signal) {
  // Nothing but what a handler may call.
  auto number = [](unsigned value) {
    char text[12];
    size_t at = sizeof text;
    text[--at] = '\n';
    do
      text[--at] = char('0' + value % 10);
    while (value /= 10);
    (void)!write(2, text + at, sizeof text - at);
  };
  const char says[] = "a crash at one of the seeds\n";
  (void)!write(2, says, sizeof says - 1);
  for (auto &seed : seedsAtWork)
    number(seed);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Two threads take seeds until there are enough kernels, or their processor time is up, or three
/// times as much by the clock: a busy machine takes longer for as many. NEREID_FUZZ_ROUNDS,
/// NEREID_FUZZ_SECONDS and NEREID_FUZZ_SEED change how many and which; a seed of `new` is of now.
/// With NEREID_FUZZ_KERNEL, a file, its kernel alone runs, as under the seed.
/// With NEREID_FUZZ_FOUND, a folder, every find is written there, as it is, and the search goes on.
inline void expectAgreement(const Subject &subject, unsigned rounds, unsigned seconds) {
  rounds = numberFrom("NEREID_FUZZ_ROUNDS", rounds);
  seconds = numberFrom("NEREID_FUZZ_SECONDS", seconds);
  const char *wanted = std::getenv("NEREID_FUZZ_SEED"), *folder = std::getenv("NEREID_FUZZ_FOUND");
  unsigned seed = wanted && !std::strcmp(wanted, "new") ? unsigned(std::time(nullptr)) % 1000000000
                                                        : numberFrom("NEREID_FUZZ_SEED", 1);
  auto kernel = [&subject, given = std::getenv("NEREID_FUZZ_KERNEL")](unsigned seed) {
    std::ostringstream text;
    if (given)
      text << std::ifstream(given).rdbuf();
    return given ? text.str() : subject.kernel(seed);
  };
  if (std::getenv("NEREID_FUZZ_KERNEL"))
    rounds = 1;
  for (int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL})
    std::signal(signal, tellSeeds);
  double start = processorSeconds();
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3 * seconds);
  std::mutex mutex;
  std::map<std::string, unsigned> coverage;
  std::atomic<unsigned> next = 0, done = 0, refused = 0, finds = 0;
  struct Failure {
    unsigned seed;
    Verdict verdict;
    std::string problem;
  };
  std::optional<Failure> failed;
  auto work = [&](unsigned thread) {
    for (unsigned i; (i = next++) < rounds && processorSeconds() - start < seconds &&
                     std::chrono::steady_clock::now() < end;) {
      seedsAtWork[thread] = seed + i;
      std::string source = kernel(seed + i), problem;
      Verdict verdict = judge(subject, source, source, seed + i, problem);
      ++done;
      std::lock_guard lock(mutex);
      if (verdict == Verdict::Refused) {
        ++refused;
        continue;
      }
      count(source, coverage);
      if (verdict == Verdict::Same)
        continue;
      ++finds;
      if (folder) {
        std::ofstream(std::string(folder) + "/" + subject.name + "-" + std::to_string(seed + i))
            << "// " << problem << "\n"
            << source;
        continue;
      }
      if (!failed || seed + i < failed->seed)
        failed = {seed + i, verdict, problem};
      next = rounds;
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  std::printf("%s: %u kernels from seed %u, %u refused, %.1f a second of processor time, %zu ops:",
              subject.name, done.load(), seed, refused.load(),
              done.load() / (processorSeconds() - start), coverage.size());
  for (const auto &[name, times] : coverage)
    std::printf(" %s %u", name.c_str(), times);
  std::printf("\n");
  EXPECT_EQ(failed ? 0 : finds.load(), 0u) << "they are in " << folder;
  EXPECT_LE(refused * 20, done + 20) << "of the kernels that it writes most must run";
  if (!failed)
    return;
  auto fails = [&](const std::string &kernel) {
    std::string problem;
    return judge(subject, kernel, kernel, failed->seed, problem) == failed->verdict &&
           sortOf(problem) == sortOf(failed->problem);
  };
  FAIL() << "seed " << failed->seed << ": " << failed->problem << "\nshrunk:\n"
         << shrunk(kernel(failed->seed), fails) << "seed " << failed->seed << ": "
         << failed->problem;
}

/// A miscompile that is planted: text that the engine reads in place of what is right.
struct Fault {
  const char *pattern, *instead;
};

/// The fuzzer is worth what it finds: an engine with one of these faults must disagree with the
/// interpreter within a few kernels. `tries` says whether a kernel shows a fault, and nothing if
/// it cannot.
inline void
expectFaultsCaught(std::span<const Fault> faults, unsigned rounds,
                   const std::function<bool(const std::regex &, const Fault &, unsigned)> &shows) {
  // Two threads take one fault after the other until the time is up: a slow machine looks for
  // fewer.
  auto end = std::chrono::steady_clock::now() +
             std::chrono::seconds(numberFrom("NEREID_FUZZ_SECONDS", 90));
  std::atomic<unsigned> next = 0, caught = 0, tried = 0;
  std::mutex mutex;
  std::string missed;
  auto work = [&] {
    for (unsigned i; (i = next++) < faults.size();) {
      const Fault &fault = faults[i];
      std::regex pattern(fault.pattern);
      bool found = false;
      for (unsigned round = 1; round < rounds && !found; ++round) {
        if (std::chrono::steady_clock::now() > end)
          return;
        found = shows(pattern, fault, round);
      }
      ++tried;
      caught += found;
      if (found)
        continue;
      std::lock_guard lock(mutex);
      missed += std::string("\n") + fault.pattern + " -> " + fault.instead;
    }
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(missed, "") << "not caught";
  EXPECT_GT(tried, 0u) << "no time";
  std::printf("%u of %u planted miscompiles caught, of %zu\n", caught.load(), tried.load(),
              faults.size());
}

/// Whether a fault in the text of a kernel shows.
inline bool disagrees(const Subject &subject, const std::string &source,
                      const std::string &compiled, unsigned seed) {
  std::string problem;
  Verdict verdict = judge(subject, source, compiled, seed, problem);
  return verdict == Verdict::Different;
}
inline bool showsInText(const Subject &subject, const std::regex &pattern, const Fault &fault,
                        unsigned seed) {
  std::string source = subject.kernel(seed);
  std::string changed = std::regex_replace(source, pattern, fault.instead);
  // The change may not fit the types here.
  return changed != source && isKernel(changed) && disagrees(subject, source, changed, seed);
}

} // namespace nereid::test
