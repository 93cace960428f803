// What `check` finds, each beside its nearest harmless relative.
#include "Harness.h"

namespace nereid::ref {
namespace {

// Eight elements a program: %o are its offsets, %xa and %ya where they lie in the tensors.
constexpr const char *head = R"(
    func.func @k(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %n: i32) attributes {tile.kernel} {
      %pid = tile.program_id 0
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c8 = arith.constant 8 : i32
      %one = arith.constant dense<1.0> : tensor<8xf32>
      %zero = arith.constant dense<0.0> : tensor<8xf32>
      %start = arith.muli %pid, %c8 : i32
      %r = tile.arange 0 to 8 : tensor<8xi32>
      %c7s = arith.constant dense<7> : tensor<8xi32>
      %back = arith.subi %c7s, %r : tensor<8xi32>
      %starts = tile.splat %start : i32 -> tensor<8xi32>
      %o = arith.addi %starts, %r : tensor<8xi32>
      %ns = tile.splat %n : i32 -> tensor<8xi32>
      %m = arith.cmpi slt, %o, %ns : tensor<8xi32>
      %xp = tile.splat %x : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
      %yp = tile.splat %y : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
      %xa = tile.addptr %xp, %o : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
      %ya = tile.addptr %yp, %o : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
)";
#define LOAD(result, pointers)                                                                     \
  "\n" result " = tile.load " pointers " : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>\n"
#define LOAD_MASKED(result, pointers, mask)                                                        \
  "\n" result " = tile.load " pointers " mask " mask                                               \
  " : tensor<8xi1> : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>\n"
#define STORE(pointers, value)                                                                     \
  "\ntile.store " pointers ", " value " : tensor<8x!tile.ptr<f32>>, tensor<8xf32>\n"
#define STORE_MASKED(pointers, value, mask)                                                        \
  "\ntile.store " pointers ", " value " mask " mask                                                \
  " : tensor<8xi1> : tensor<8x!tile.ptr<f32>>, tensor<8xf32>\n"
#define ADDPTR(result, base, offsets)                                                              \
  "\n" result " = tile.addptr " base ", " offsets " : tensor<8x!tile.ptr<f32>>, tensor<8xi32>\n"

/// A checked launch of `body` behind `head`, on tensors `x` and `y`.
struct Checked {
  explicit Checked(const std::string &body, size_t xs = 16, size_t ys = 16)
      : text(head + body + "\nreturn\n}"), x(xs), y(ys), kernel(text, {.check = true}) {
    for (size_t i = 0; i < xs; ++i)
      x[i] = float(i) + 1;
    kernel.tensor("x", x).tensor("y", y);
  }
  Checked &run(int64_t n, uint32_t programs) {
    kernel.value(n);
    auto result = kernel.tryRun(programs);
    EXPECT_TRUE(result.ok()) << result.error().what;
    return *this;
  }
  /// The 1-based line of the first place of `fragment` in the text.
  uint32_t lineOf(const std::string &fragment) const {
    size_t at = text.find(fragment);
    EXPECT_NE(at, std::string::npos) << fragment;
    return 1 + std::count(text.begin(), text.begin() + at, '\n');
  }
  std::string codes() const {
    std::string all;
    for (const Finding &finding : kernel.findings)
      all += (all.empty() ? "" : " ") + finding.diagnostic.code;
    return all;
  }
  const Finding &only(const std::string &code, const std::string &atFragment) {
    static const Finding none;
    EXPECT_EQ(codes(), code);
    if (kernel.findings.empty())
      return none;
    const Finding &finding = kernel.findings.front();
    EXPECT_EQ(finding.diagnostic.where.begin.line, lineOf(atFragment))
        << finding.diagnostic.message;
    return finding;
  }

  std::string text;
  std::vector<float> x, y;
  Kernel kernel;
};

// --- bounds ---

TEST(Check, LoadPastTheEnd) {
  Checked faulty(LOAD("%v", "%xa") STORE_MASKED("%ya", "%v", "%m"), 13, 13);
  const Finding &finding = faulty.run(13, 2).only("OutOfBounds", "%v = tile.load");
  EXPECT_EQ(finding.tensor, "x");
  EXPECT_EQ(finding.count, 3u);
  EXPECT_EQ(finding.program, (std::array<uint32_t, 3>{1, 0, 0}));
  EXPECT_EQ(finding.index, (std::vector<int64_t>{5}));
  EXPECT_EQ(finding.diagnostic.message,
            "load outside of `x`: element 13 of 13, 1 past the end (3 times)");
  Checked clean(LOAD_MASKED("%v", "%xa", "%m") STORE_MASKED("%ya", "%v", "%m"), 13, 13);
  EXPECT_EQ(clean.run(13, 2).codes(), "");
}

TEST(Check, AMaskThatLetsOneTooManyThrough) {
  Checked faulty(LOAD_MASKED("%v", "%xa", "%m") STORE_MASKED("%ya", "%v", "%m"), 13, 14);
  const Finding &finding = faulty.run(14, 2).only("OutOfBounds", "%v = tile.load");
  EXPECT_NE(finding.diagnostic.hint.find("the mask is true"), std::string::npos);
}

TEST(Check, ARowBeforeTheTensor) {
  Checked faulty("%m8 = arith.constant dense<-8> : tensor<8xi32>" ADDPTR("%p", "%xa", "%m8")
                     LOAD("%v", "%p") STORE("%ya", "%v"));
  faulty.kernel.launch.memory[0].shape = {2, 8};
  faulty.kernel.launch.memory[0].strides = {8, 1};
  const Finding &finding = faulty.run(16, 2).only("OutOfBounds", "%v = tile.load");
  EXPECT_EQ(finding.diagnostic.message,
            "load outside of `x`: element (-1, 0) of 2 x 8, 8 before the start (8 times)");
}

// What lies between the rows of a slice of columns belongs to another tensor.
TEST(Check, BetweenTheRowsOfASlice) {
  const char *body = LOAD_MASKED("%v", "%xa", "%m") STORE_MASKED("%ya", "%v", "%m");
  auto slice = [](Checked &checked) {
    checked.kernel.launch.memory[0].shape = {2, 4};
    checked.kernel.launch.memory[0].strides = {10, 1};
    checked.kernel.launch.memory[0].bytes = 14 * sizeof(float);
  };
  Checked faulty(body), clean(body);
  slice(faulty);
  slice(clean);
  faulty.run(5, 1).only("OutOfBounds", "%v = tile.load");
  EXPECT_EQ(clean.run(4, 1).codes(), "");
}

// --- uninitialised memory ---

TEST(Check, ReadBeforeTheFirstStore) {
  Checked faulty(LOAD("%v", "%ya") STORE("%ya", "%v"));
  faulty.kernel.launch.memory[1].initialized = false;
  const Finding &finding = faulty.run(16, 2).only("UninitialisedRead", "%v = tile.load");
  EXPECT_EQ(finding.tensor, "y");
  EXPECT_EQ(finding.count, 16u);
  Checked clean(STORE("%ya", "%one") LOAD("%v", "%ya") STORE("%xa", "%v"));
  clean.kernel.launch.memory[1].initialized = false;
  EXPECT_EQ(clean.run(16, 2).codes(), "");
}

TEST(Check, UninitialisedTensorThatIsOnlyRead) {
  Checked faulty(LOAD("%v", "%xa") STORE("%ya", "%v"));
  faulty.kernel.launch.memory[0].initialized = false;
  faulty.run(16, 2).only("UninitialisedRead", "%v = tile.load");
  Checked clean(LOAD_MASKED("%v", "%xa", "%m") STORE("%ya", "%v"));
  clean.kernel.launch.memory[0].initialized = false;
  EXPECT_EQ(clean.run(0, 2).codes(), "");
}

// --- programs ---

TEST(Check, TwoProgramsStoreToOneElement) {
  // Each program stores its number to the first eight elements.
  const std::string value =
      "%f = arith.sitofp %pid : i32 to f32\n"
      "%fs = tile.splat %f : f32 -> tensor<8xf32>\n" ADDPTR("%p", "%yp", "%r");
  Checked faulty(value + STORE("%p", "%fs"));
  const Finding &finding = faulty.run(16, 2).only("DataRace", "tile.store %p");
  EXPECT_EQ(finding.diagnostic.severity, Severity::Error);
  EXPECT_EQ(finding.tensor, "y");
  ASSERT_EQ(finding.diagnostic.labels.size(), 1u);
  EXPECT_EQ(finding.diagnostic.labels[0].where.begin.line, faulty.lineOf("tile.store %p"));
  Checked clean(value + STORE("%ya", "%fs"));
  EXPECT_EQ(clean.run(16, 2).codes(), "");
}

TEST(Check, TwoProgramsStoreOneValue) {
  Checked kernel(ADDPTR("%p", "%yp", "%r") STORE("%p", "%one"));
  EXPECT_EQ(kernel.run(16, 3).only("DataRace", "tile.store %p").diagnostic.severity,
            Severity::Warning);
}

TEST(Check, AProgramReadsWhatAnotherStores) {
  Checked faulty(STORE("%ya", "%one") ADDPTR("%p", "%yp", "%r") LOAD("%v", "%p")
                     STORE("%xa", "%v"));
  faulty.run(16, 2).only("DataRace", "%v = tile.load");
  // The store comes after the load here.
  Checked later(LOAD("%v", "%ya") ADDPTR("%p", "%yp", "%r") STORE("%p", "%v"));
  EXPECT_EQ(later.run(16, 1).codes(), "");
  Checked both(ADDPTR("%p", "%yp", "%back") LOAD("%v", "%p") "tile.barrier\n" STORE("%ya", "%v"));
  both.run(16, 2).only("DataRace", "%v = tile.load");
}

TEST(Check, AtomicsDoNotRaceWithEachOther) {
  const char *add = "%old = tile.atomic_rmw <fadd>, <relaxed>, <gpu>, %p, %one : "
                    "tensor<8x!tile.ptr<f32>>, tensor<8xf32> -> tensor<8xf32>\n";
  Checked clean(ADDPTR("%p", "%yp", "%r") + std::string(add));
  EXPECT_EQ(clean.run(16, 4).codes(), "");
  Checked faulty(ADDPTR("%p", "%yp", "%r") + std::string(add) +
                 LOAD("%v", "%p") STORE("%xa", "%v"));
  // Program 0 has loaded what program 1 adds to; that they race the other way round too is not
  // told.
  faulty.run(16, 2).only("DataRace", "%old = tile.atomic_rmw");
}

// A lock in x[0], as an i32, guards an element of y.
std::string withLock(const char *take, const char *give, const char *between = "") {
  return std::string(R"(
      %lock = tile.bitcast %x : !tile.ptr<f32> -> !tile.ptr<i32>
      scf.while : () -> () {
        %old = tile.atomic_cas )") +
         take + R"(, <gpu>, %lock, %c0, %c1 : !tile.ptr<i32>, i32 -> i32
        %taken = arith.cmpi ne, %old, %c0 : i32
        scf.condition(%taken)
      } do {
        scf.yield
      }
      %v = tile.load %y : !tile.ptr<f32> -> f32
      %by = arith.constant 1.0 : f32
      %w = arith.addf %v, %by : f32
      tile.store %y, %w : !tile.ptr<f32>, f32
      %unused = tile.atomic_rmw <xchg>, )" +
         give + ", <gpu>, %lock, %c0 : !tile.ptr<i32>, i32 -> i32\n" + between;
}

TEST(Check, ALockOrdersPrograms) {
  for (auto [take, give] :
       {std::pair("<acq_rel>", "<acq_rel>"), std::pair("<acquire>", "<release>")}) {
    Checked clean(withLock(take, give));
    clean.x.assign(16, 0);
    EXPECT_EQ(clean.run(0, 5).codes(), "") << take;
    EXPECT_EQ(clean.y[0], 5);
  }
  for (auto [take, give] :
       {std::pair("<relaxed>", "<release>"), std::pair("<acquire>", "<relaxed>")}) {
    Checked faulty(withLock(take, give));
    faulty.x.assign(16, 0);
    EXPECT_EQ(faulty.run(0, 5).codes(), "DataRace DataRace") << take;
  }
}

TEST(Check, AStoreAfterTheReleaseIsNotOrdered) {
  Checked faulty(withLock("<acq_rel>", "<acq_rel>", "tile.store %y, %v : !tile.ptr<f32>, f32\n"));
  faulty.x.assign(16, 0);
  EXPECT_NE(faulty.run(0, 3).codes().find("DataRace"), std::string::npos);
}

TEST(Check, LocksAreFoundUnderAllSchedules) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Checked clean(withLock("<acquire>", "<release>"));
    clean.x.assign(16, 0);
    clean.kernel.options.seed = seed;
    EXPECT_EQ(clean.run(0, 5).codes(), "") << seed;
  }
}

TEST(Check, ADeadlockIsAFinding) {
  Checked faulty(withLock("<acq_rel>", "<acq_rel>"));
  faulty.x.assign(16, 1); // taken by nobody
  faulty.run(0, 2).only("Deadlock", "scf.while");
}

// A pointer that the kernel loads points into one tensor, and no offset leads to the next.
TEST(Check, PointersFromMemory) {
  const char *body = R"(
      %table = tile.bitcast %x : !tile.ptr<f32> -> !tile.ptr<i64>
      %address = tile.load %table : !tile.ptr<i64> -> i64
      %p = tile.int_to_ptr %address : i64 -> !tile.ptr<f32>
      %at = tile.addptr %p, %n : !tile.ptr<f32>, i32
      %v = tile.load %at : !tile.ptr<f32> -> f32
      tile.store %y, %v : !tile.ptr<f32>, f32
)";
  for (int64_t n : {0, 15, 16, -1}) {
    Checked kernel(body);
    uint64_t address = reinterpret_cast<uint64_t>(kernel.y.data());
    std::memcpy(kernel.x.data(), &address, sizeof address);
    kernel.run(n, 1);
    EXPECT_EQ(kernel.codes(), n == 0 || n == 15 ? "" : "OutOfBounds") << n;
    if (!kernel.kernel.findings.empty())
      EXPECT_EQ(kernel.kernel.findings[0].tensor, "y");
  }
}

// --- threads of a program ---

TEST(Check, LoadsOfOtherElementsNeedABarrier) {
  const std::string store =
      STORE("%ya", "%one") ADDPTR("%yb", "%yp", "%starts") ADDPTR("%p", "%yb", "%back");
  const std::string load = LOAD("%v", "%p") STORE("%xa", "%v");
  Checked faulty(store + load);
  faulty.run(16, 2).only("MissingBarrier", "%v = tile.load");
  EXPECT_EQ(Checked(store + "tile.barrier\n" + load).run(16, 2).codes(), "");
  // The same elements of the same tile.
  EXPECT_EQ(Checked(STORE("%ya", "%one") LOAD("%v", "%ya") STORE("%xa", "%v")).run(16, 2).codes(),
            "");
}

TEST(Check, ABarrierBeforeTheStoreIsNoneAfterIt) {
  const std::string store =
      STORE("%ya", "%one") ADDPTR("%yb", "%yp", "%starts") ADDPTR("%p", "%yb", "%back");
  Checked faulty("tile.barrier\n" + store + LOAD("%v", "%p") + STORE("%xa", "%v"));
  faulty.run(16, 2).only("MissingBarrier", "%v = tile.load");
}

// A store must not overtake another thread's load of the same element.
TEST(Check, AStoreToWhatOtherThreadsLoad) {
  const std::string addresses = ADDPTR("%yb", "%yp", "%starts") ADDPTR("%p", "%yb", "%back");
  const std::string load = addresses + LOAD("%v", "%p"), store = STORE("%ya", "%v");
  Checked faulty(load + store);
  const Finding &finding = faulty.run(16, 2).only("MissingBarrier", "tile.store %ya");
  EXPECT_EQ(finding.diagnostic.message, "store to element 0 of `y`, which another thread loads "
                                        "before, with no barrier between (16 times)");
  ASSERT_EQ(finding.diagnostic.labels.size(), 1u);
  EXPECT_EQ(finding.diagnostic.labels[0].where.begin.line, faulty.lineOf("%v = tile.load"));
  EXPECT_EQ(Checked(load + "tile.barrier\n" + store).run(16, 2).codes(), "");
  EXPECT_EQ(Checked("tile.barrier\n" + load + store).run(16, 2).codes(), "MissingBarrier");
  // What a thread has loaded itself, before and after another one.
  EXPECT_EQ(Checked(LOAD("%v", "%ya") STORE("%ya", "%v")).run(16, 2).codes(), "");
  EXPECT_EQ(Checked(load + LOAD("%w", "%ya") + store).run(16, 2).codes(), "MissingBarrier");
  EXPECT_EQ(Checked(LOAD("%w", "%ya") + load + store).run(16, 2).codes(), "MissingBarrier");
}

// Threads that give each other elements have loaded them.
TEST(Check, AReductionWaitsForTheLoads) {
  const std::string load =
      ADDPTR("%yb", "%yp", "%starts") ADDPTR("%p", "%yb", "%back") LOAD("%v", "%p");
  const std::string sum = R"(
      %s = tile.reduce (%v) axis 0 : (tensor<8xf32>) -> f32 {
      ^bb0(%a: f32, %b: f32):
        %t = arith.addf %a, %b : f32
        tile.yield %t : f32
      }
)",
                    store = STORE("%ya", "%one");
  EXPECT_EQ(Checked(load + sum + store).run(16, 2).codes(), "");
  EXPECT_EQ(Checked(load + store + sum).run(16, 2).codes(), "MissingBarrier");
  // A load after it is not waited for.
  EXPECT_EQ(Checked(LOAD("%v", "%xa") + sum +
                    ADDPTR("%yb", "%yp", "%starts") ADDPTR("%p", "%yb", "%back") LOAD("%w", "%p") +
                    store)
                .run(16, 2)
                .codes(),
            "MissingBarrier");
}

// One thread opens the lock; the others may still be at their stores.
TEST(Check, AReleaseDoesNotWaitForOtherThreads) {
  auto body = [](const char *barrier) {
    return std::string(R"(
      %flag = tile.bitcast %x : !tile.ptr<f32> -> !tile.ptr<i32>
      %first = arith.cmpi eq, %pid, %c0 : i32
      scf.if %first {
)") + ADDPTR("%p", "%yp", "%r") +
           STORE("%p", "%one") + barrier + R"(
        %old = tile.atomic_rmw <xchg>, <release>, <gpu>, %flag, %c1 : !tile.ptr<i32>, i32 -> i32
      } else {
        scf.while : () -> () {
          %seen = tile.atomic_cas <acquire>, <gpu>, %flag, %c1, %c1 : !tile.ptr<i32>, i32 -> i32
          %wait = arith.cmpi ne, %seen, %c1 : i32
          scf.condition(%wait)
        } do {
          scf.yield
        }
)" + ADDPTR("%p", "%yp", "%r") +
           LOAD("%v", "%p") + "}";
  };
  Checked faulty(body(""));
  faulty.x.assign(16, 0);
  faulty.run(0, 2).only("MissingBarrier", "%old = tile.atomic_rmw");
  Checked clean(body("tile.barrier"));
  clean.x.assign(16, 0);
  EXPECT_EQ(clean.run(0, 2).codes(), "");
}

// --- wrapped addresses ---

TEST(Check, AnOffsetThatWraps) {
  // n * 65536 for n = 65536 + pid: 32 bits keep pid * 65536.
  const std::string narrow = R"(
      %stride = arith.constant 65536 : i32
      %offset = arith.muli %n, %stride : i32
      %offsets = tile.splat %offset : i32 -> tensor<8xi32>
      %sum = arith.addi %offsets, %r : tensor<8xi32>
)" ADDPTR("%p", "%xp", "%sum");
  Checked faulty(narrow + LOAD("%v", "%p") + STORE("%ya", "%v"));
  const Finding &finding = faulty.run(65536, 1).only("AddressOverflow", "%offset = arith.muli");
  EXPECT_EQ(
      finding.diagnostic.message,
      "`65536 * 65536` does not fit 32 bits, and the wrapped result addresses memory (8 times)");
  ASSERT_EQ(finding.diagnostic.labels.size(), 1u);
  EXPECT_EQ(finding.diagnostic.labels[0].where.begin.line, faulty.lineOf("%v = tile.load"));
  // Lanes that a mask drops may point anywhere.
  Checked masked(narrow + "%none = arith.constant dense<false> : tensor<8xi1>" +
                 LOAD_MASKED("%v", "%p", "%none") + STORE("%ya", "%v"));
  EXPECT_EQ(masked.run(65536, 1).codes(), "");
  EXPECT_EQ(Checked(narrow + LOAD("%v", "%p") + STORE("%ya", "%v")).run(0, 1).codes(), "");
}

TEST(Check, AWrapIsFollowedThroughLoopsAndBranches) {
  Checked faulty(R"(
      %big = arith.constant 1073741824 : i32
      %true = arith.constant true
      %end = scf.for %i = %c0 to %c8 step %c1 iter_args(%at = %c0) -> (i32) : i32 {
        %next = arith.addi %at, %big : i32
        scf.yield %next : i32
      }
      %kept = scf.if %true -> (i32) {
        scf.yield %end : i32
      } else {
        scf.yield %c0 : i32
      }
      %wide = arith.extsi %kept : i32 to i64
      %p0 = tile.addptr %x, %wide : !tile.ptr<f32>, i64
      %v = tile.load %p0 : !tile.ptr<f32> -> f32
      tile.store %y, %v : !tile.ptr<f32>, f32
)");
  faulty.run(0, 1).only("AddressOverflow", "%next = arith.addi");
}

TEST(Check, UnsignedOffsetsMayUseTheUpperBit) {
  auto body = [](const char *factor) {
    return std::string("%f = arith.constant ") + factor + R"( : i32
      %product = arith.muli %n, %f : i32
      %wide = arith.extui %product : i32 to i64
      %minus = arith.constant -2147483648 : i64
      %offset = arith.addi %wide, %minus : i64
      %p0 = tile.addptr %x, %offset : !tile.ptr<f32>, i64
      %v = tile.load %p0 : !tile.ptr<f32> -> f32
      tile.store %y, %v : !tile.ptr<f32>, f32
)";
  };
  // 2^31 fits an unsigned number, 2^31 * 3 does not, and both have the same lower bits.
  EXPECT_EQ(Checked(body("2147483648")).run(1, 1).codes(), "");
  Checked(body("2147483648")).run(3, 1).only("AddressOverflow", "%product = arith.muli");
}

TEST(Check, HashesMayWrap) {
  const std::string hash = R"(
      %prime = arith.constant dense<-1640531535> : tensor<8xi32>
      %h = arith.muli %o, %prime : tensor<8xi32>
)";
  const std::string use = ADDPTR("%p", "%xp", "%i") LOAD("%v", "%p") STORE("%ya", "%v");
  Checked masked(hash +
                 "%fifteen = arith.constant dense<15> : tensor<8xi32>\n"
                 "%i = arith.andi %h, %fifteen : tensor<8xi32>" +
                 use);
  EXPECT_EQ(masked.run(16, 2).codes(), "");
  Checked shifted(hash +
                  "%bits = arith.constant dense<28> : tensor<8xi32>\n"
                  "%i = tile.shru %h, %bits : tensor<8xi32>" +
                  use);
  EXPECT_EQ(shifted.run(16, 2).codes(), "");
}

TEST(Check, ScalarDivisionByZero) {
  Checked faulty("%q = tile.divsi %c8, %n : i32");
  faulty.run(0, 1).only("DivisionByZero", "%q = tile.divsi");
  EXPECT_EQ(Checked("%q = tile.divsi %c8, %n : i32").run(1, 1).codes(), "");
}

// --- NaN ---

TEST(Check, TheFirstNaNIsNamed) {
  Checked faulty("%q = arith.divf %zero, %zero : tensor<8xf32>\n"
                 "%s = arith.addf %q, %one : tensor<8xf32>" STORE("%ya", "%s"));
  const Finding &finding = faulty.run(0, 1).only("NotANumber", "%q = arith.divf");
  ASSERT_EQ(finding.diagnostic.labels.size(), 1u);
  EXPECT_EQ(finding.diagnostic.labels[0].where.begin.line, faulty.lineOf("tile.store"));
}

TEST(Check, NaNThroughAReductionAndAProduct) {
  Checked sum(R"(
      %q = arith.divf %zero, %zero : tensor<8xf32>
      %s = tile.reduce (%q) axis 0 : (tensor<8xf32>) -> f32 {
      ^bb0(%a: f32, %b: f32):
        %c = arith.addf %a, %b : f32
        tile.yield %c : f32
      }
      tile.store %y, %s : !tile.ptr<f32>, f32
)");
  sum.run(0, 1).only("NotANumber", "%q = arith.divf");
  Checked made(R"(
      %low = arith.constant dense<0xFF800000> : tensor<8xf32>
      %high = arith.constant dense<0x7F800000> : tensor<8xf32>
      %odd = arith.constant dense<[true, false, true, false, true, false, true, false]> : tensor<8xi1>
      %t = arith.select %odd, %low, %high : tensor<8xi1>, tensor<8xf32>
      %s = tile.reduce (%t) axis 0 : (tensor<8xf32>) -> f32 {
      ^bb0(%a: f32, %b: f32):
        %c = arith.addf %a, %b : f32
        tile.yield %c : f32
      }
      tile.store %y, %s : !tile.ptr<f32>, f32
)");
  made.run(0, 1).only("NotANumber", "%s = tile.reduce");
  Checked product(R"(
      %zeros = arith.constant dense<0.0> : tensor<16x16xf32>
      %q = arith.divf %zeros, %zeros : tensor<16x16xf32>
      %d = tile.dot %zeros, %q, %zeros : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
      %s = tile.reduce (%d) axis 1 : (tensor<16x16xf32>) -> tensor<16xf32> {
      ^bb0(%a: f32, %b: f32):
        %c = arith.maximumf %a, %b : f32
        tile.yield %c : f32
      }
      %r16 = tile.arange 0 to 16 : tensor<16xi32>
      %y16 = tile.splat %y : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
      %p16 = tile.addptr %y16, %r16 : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
      tile.store %p16, %s : tensor<16x!tile.ptr<f32>>, tensor<16xf32>
)");
  product.run(0, 1).only("NotANumber", "%q = arith.divf");
}

TEST(Check, NaNThatDoesNoHarm) {
  const std::string make = "%q = arith.divf %zero, %zero : tensor<8xf32>\n";
  // Not stored, replaced, or made of a NaN that came with the data.
  EXPECT_EQ(Checked(make + STORE_MASKED("%ya", "%q", "%m")).run(0, 1).codes(), "");
  EXPECT_EQ(Checked(make +
                    "%isNaN = arith.cmpf uno, %q, %q : tensor<8xf32>\n"
                    "%s = arith.select %isNaN, %one, %q : tensor<8xi1>, tensor<8xf32>" +
                    STORE("%ya", "%s"))
                .run(0, 1)
                .codes(),
            "");
  Checked input(make + LOAD("%v", "%xa") + "%s = arith.addf %v, %one : tensor<8xf32>" +
                STORE("%ya", "%s"));
  input.x.assign(16, NAN);
  EXPECT_EQ(input.run(0, 1).codes(), "");
  EXPECT_EQ(Checked("%nan = arith.constant dense<0x7FC00000> : tensor<8xf32>" STORE("%ya", "%nan"))
                .run(0, 1)
                .codes(),
            "");
}

// Tags follow elements, not tiles: here the elements that are stored are not those that went wrong.
TEST(Check, NaNOfOtherElements) {
  auto body = [](const char *mask) {
    return std::string(R"(
      %half = arith.constant dense<[1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]> : tensor<8xf32>
      %q = arith.divf %half, %half : tensor<8xf32>
      %grid = tile.reshape %q : tensor<8xf32> -> tensor<2x4xf32>
      %turned = tile.trans %grid [1, 0] : tensor<2x4xf32> -> tensor<4x2xf32>
      %flat = tile.reshape %turned : tensor<4x2xf32> -> tensor<8xf32>
      %mask = arith.constant dense<)") +
           mask + "> : tensor<8xi1>" + STORE_MASKED("%ya", "%flat", "%mask");
  };
  EXPECT_EQ(Checked(body("[true, false, true, false, true, false, true, false]")).run(0, 1).codes(),
            "");
  Checked faulty(body("[true, false, true, false, true, false, true, true]"));
  const Finding &finding = faulty.run(0, 1).only("NotANumber", "%q = arith.divf");
  EXPECT_EQ(finding.index, (std::vector<int64_t>{7}));
  EXPECT_EQ(finding.count, 1u);
}

// --- promises ---

std::string hinted(const char *promise) {
  return std::string("%t = tile.hint %o {") + promise + " = array<i64: 4>} : tensor<8xi32>" +
         ADDPTR("%p", "%xp", "%t") + LOAD("%v", "%p") + STORE("%ya", "%v");
}

TEST(Check, FalsePromises) {
  EXPECT_EQ(Checked(hinted("divisibility")).run(0, 2).codes(), "");
  EXPECT_EQ(Checked(hinted("contiguity")).run(0, 2).codes(), "");
  Checked(hinted("constancy")).run(0, 2).only("FalseHint", "%t = tile.hint");

  Checked(std::string("%t = tile.hint %back {contiguity = array<i64: 2>} : tensor<8xi32>"
                      "%p = tile.addptr %xp, %t : tensor<8x!tile.ptr<f32>>, tensor<8xi32>"))
      .run(0, 1)
      .only("FalseHint", "%t = tile.hint");
  const std::string scalar = "%t = tile.hint %n {divisibility = array<i64: 16>} : i32";
  EXPECT_EQ(Checked(scalar).run(32, 1).codes(), "");
  Checked(scalar).run(24, 1).only("FalseHint", "%t = tile.hint");
}

// A run of consecutive values may wrap round in the middle of a group; what it promises is its
// first one.
TEST(Check, APromiseAboutTheStartOfRuns) {
  Checked wrapped("%size = arith.constant dense<12> : tensor<8xi32>\n"
                  "%at = tile.remsi %o, %size : tensor<8xi32>\n"
                  "%t = tile.hint %at {divisibility = array<i64: 4>} : tensor<8xi32>");
  EXPECT_EQ(wrapped.run(0, 2).codes(), "");
  Checked uneven("%size = arith.constant dense<11> : tensor<8xi32>\n"
                 "%at = arith.addi %o, %size : tensor<8xi32>\n"
                 "%t = tile.hint %at {divisibility = array<i64: 4>} : tensor<8xi32>");
  uneven.run(0, 2).only("FalseHint", "%t = tile.hint");
}

// --- the launch goes on ---

TEST(Check, EachPlaceIsToldOnceWithItsCount) {
  Checked faulty(LOAD("%v", "%xa") LOAD("%w", "%xa") STORE_MASKED("%ya", "%v", "%m"), 8, 16);
  faulty.run(16, 2);
  EXPECT_EQ(faulty.codes(), "OutOfBounds OutOfBounds");
  for (const Finding &finding : faulty.kernel.findings)
    EXPECT_EQ(finding.count, 8u);
  EXPECT_EQ(faulty.y[15], 0);
}

} // namespace
} // namespace nereid::ref
