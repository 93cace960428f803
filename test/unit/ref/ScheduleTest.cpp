// Programs that wait for each other.
#include "Harness.h"

namespace nereid::ref {
namespace {

constexpr const char *spinLock = R"(
    func.func @count(%lock: !tile.ptr<i32>, %n: !tile.ptr<i32>) attributes {tile.kernel} {
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      scf.while : () -> () {
        %old = tile.atomic_cas <acquire>, <gpu>, %lock, %zero, %one : !tile.ptr<i32>, i32 -> i32
        %taken = arith.cmpi ne, %old, %zero : i32
        scf.condition(%taken)
      } do {
        scf.yield
      }
      %v = tile.load %n : !tile.ptr<i32> -> i32
      %w = arith.addi %v, %one : i32
      tile.store %n, %w : !tile.ptr<i32>, i32
      tile.barrier
      %o = tile.atomic_rmw <xchg>, <release>, <gpu>, %lock, %zero : !tile.ptr<i32>, i32 -> i32
      return
    })";

TEST(Schedule, ASpinLockCountsExactlyUnderEverySeed) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<int32_t> lock{0}, n{0};
    Kernel kernel(spinLock, {.seed = seed});
    kernel.tensor("lock", lock).tensor("n", n).run(50);
    EXPECT_EQ(n[0], 50) << "seed " << seed;
    EXPECT_EQ(lock[0], 0);
  }
}

// Without the lock some seed loses an update: seeds do interleave programs.
TEST(Schedule, SeedsInterleavePrograms) {
  bool lost = false;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<int32_t> n{0};
    Kernel kernel(R"(
      func.func @count(%n: !tile.ptr<i32>) {
        %one = arith.constant 1 : i32
        %v = tile.load %n : !tile.ptr<i32> -> i32
        %w = arith.addi %v, %one : i32
        tile.store %n, %w : !tile.ptr<i32>, i32
        return
      })",
                  {.seed = seed});
    kernel.tensor("n", n).run(50);
    lost |= n[0] != 50;
  }
  EXPECT_TRUE(lost);
}

constexpr const char *chain = R"(
    func.func @chain(%flags: !tile.ptr<i32>, %step: i32) attributes {tile.kernel} {
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %pid = tile.program_id 0
      %other = arith.addi %pid, %step : i32
      %mine = tile.addptr %flags, %pid : !tile.ptr<i32>, i32
      %theirs = tile.addptr %flags, %other : !tile.ptr<i32>, i32
      scf.while : () -> () {
        %v = tile.load %theirs volatile : !tile.ptr<i32> -> i32
        %wait = arith.cmpi eq, %v, %zero : i32
        scf.condition(%wait)
      } do {
        scf.yield
      }
      tile.store %mine, %one : !tile.ptr<i32>, i32
      return
    })";

TEST(Schedule, ProgramsWaitForLaterOnes) {
  std::vector<int32_t> flags(301);
  flags[300] = 1;
  Kernel kernel(chain);
  kernel.tensor("flags", flags).value(1).run(300);
  EXPECT_EQ(flags, std::vector<int32_t>(301, 1));
}

TEST(Schedule, ADeadlockIsToldWithItsPlace) {
  std::vector<int32_t> flags(301);
  Kernel kernel(chain);
  auto result = kernel.tensor("flags", flags).value(1).tryRun(300);
  ASSERT_FALSE(result.ok());
  const Diagnostic &diagnostic = result.error().diagnostics[0];
  EXPECT_EQ(diagnostic.code, "Deadlock");
  EXPECT_EQ(diagnostic.where.begin.line, 9u);
  ASSERT_EQ(diagnostic.notes.size(), 1u);
  EXPECT_NE(diagnostic.notes[0].message.find("300 programs wait here"), std::string::npos)
      << diagnostic.notes[0].message;
}

TEST(Schedule, ALockThatIsNeverReleasedIsADeadlock) {
  std::string text = spinLock;
  text.erase(text.find("%o = tile.atomic_rmw"),
             text.find("return") - text.find("%o = tile.atomic_rmw"));
  std::vector<int32_t> lock{0}, n{0};
  Kernel kernel(text);
  auto result = kernel.tensor("lock", lock).tensor("n", n).tryRun(5);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().diagnostics[0].code, "Deadlock");
}

// A loop that looks at memory often, and ends by its count.
TEST(Schedule, ALoopThatCountsItsLooksIsNoDeadlock) {
  constexpr const char *looks = R"(
    func.func @look(%flag: !tile.ptr<i32>, %n: i32) attributes {tile.kernel} {
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %end = scf.while (%i = %zero) : (i32) -> i32 {
        %old = tile.atomic_cas <acquire>, <gpu>, %flag, %one, %one : !tile.ptr<i32>, i32 -> i32
        %more = arith.cmpi slt, %i, %n : i32
        scf.condition(%more) %i : i32
      } do {
      ^bb0(%j: i32):
        %next = arith.addi %j, %one : i32
        scf.yield %next : i32
      }
      return
    })";
  for (unsigned programs : {1u, 3u}) {
    std::vector<int32_t> flag{1};
    Kernel kernel(looks);
    auto result = kernel.tensor("flag", flag).value(5000).tryRun(programs);
    EXPECT_TRUE(result.ok()) << result.error().what;
  }
}

TEST(Schedule, AHugeGridNeedsNoMemoryAProgram) {
  Kernel kernel("func.func @k() { return }");
  Statistics statistics = kernel.run(65536, 16, 2);
  EXPECT_EQ(statistics.programs, uint64_t(65536) * 32);
  EXPECT_LT(statistics.peakBytes, 4u << 20);
}

} // namespace
} // namespace nereid::ref
