#include "../runtime/FakeCuda.h"
#include "launch/Launcher.h"

#include "../runtime/TestArtifacts.h"
#include "runtime/CpuDevice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <new>
#include <set>
#include <thread>

using namespace nereid;
using namespace nereid::launch;
using namespace nereid::support;
namespace test = nereid::runtime::test;

// Counts allocations of this thread, for the test that a launch makes none. The thread sanitizer
// brings its own operator new.
static thread_local uint64_t allocations = 0;
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define NEREID_CANNOT_COUNT 1
#endif
#endif
#ifndef NEREID_CANNOT_COUNT
void *operator new(size_t size) {
  ++allocations;
  if (void *memory = std::malloc(size))
    return memory;
  throw std::bad_alloc();
}
void *operator new(size_t size, std::align_val_t alignment) {
  ++allocations;
  if (void *memory =
          std::aligned_alloc(size_t(alignment), (size + size_t(alignment) - 1) / size_t(alignment) *
                                                    size_t(alignment)))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void *memory, size_t, std::align_val_t) noexcept { std::free(memory); }
#endif

namespace {

const Signature oneInt = {"kernel", {{.name = "n"}}};

LaunchKey keyOf(const Signature &signature, std::vector<Argument> arguments, uint32_t variant = 0) {
  LaunchKey key;
  Status status = KeyMaker(signature).make(arguments, variant, key);
  EXPECT_TRUE(status) << status.error().what;
  return key;
}

std::string classOf(const Signature &signature, std::vector<Argument> arguments) {
  auto specialization = specialize(signature, arguments);
  return specialization ? specialization->text() : "error: " + specialization.error().what;
}

TEST(LaunchKey, SevenIntegersSevenKeys) {
  // Rule 8: n = 1, 16, 17, 2**31 and None; multiples of 8 and 4 in between.
  std::vector<Argument> values = {Argument::integer(1),  Argument::integer(16),
                                  Argument::integer(17), Argument::integer(8),
                                  Argument::integer(4),  Argument::integer(int64_t(1) << 31),
                                  Argument::none()};
  const char *classes[] = {"i32:1", "i32:16", "i32", "i32:8", "i32:4", "i64:16", "None"};
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(classOf(oneInt, {values[i]}), classes[i]);
    for (size_t j = 0; j < values.size(); ++j)
      EXPECT_EQ(keyOf(oneInt, {values[i]}) == keyOf(oneInt, {values[j]}), i == j);
  }
  EXPECT_EQ(keyOf(oneInt, {Argument::integer(17)}), keyOf(oneInt, {Argument::integer(-5)}));
  EXPECT_EQ(keyOf(oneInt, {Argument::integer(17)}), keyOf(oneInt, {Argument::integer(18)}));
  EXPECT_EQ(keyOf(oneInt, {Argument::integer(32)}), keyOf(oneInt, {Argument::integer(0)}));
  EXPECT_EQ(keyOf(oneInt, {Argument::integer(1000)}), keyOf(oneInt, {Argument::integer(-8)}));
  EXPECT_EQ(keyOf(oneInt, {Argument::integer(4)}), keyOf(oneInt, {Argument::integer(12)}));
  EXPECT_EQ(classOf(oneInt, {Argument::unsignedInteger(uint64_t(1) << 63)}), "u64:16");
  EXPECT_EQ(classOf(oneInt, {Argument::integer(INT32_MIN)}), "i32:16");
  EXPECT_EQ(classOf(oneInt, {Argument::boolean(true)}), "i1");
  EXPECT_EQ(classOf(oneInt, {Argument::floating(1.0)}), "fp32");
  EXPECT_EQ(classOf(oneInt, {Argument::typed(DType::Int64, int64_t(1))}), "i64:1");
}

TEST(LaunchKey, HonoursDoNotSpecialize) {
  Signature value = {"kernel", {{.name = "n", .doNotSpecialize = true}}};
  Signature alignment = {"kernel", {{.name = "n", .doNotSpecializeOnAlignment = true}}};
  EXPECT_EQ(classOf(value, {Argument::integer(1)}), "i32");
  EXPECT_EQ(classOf(value, {Argument::integer(16)}), "i32");
  EXPECT_EQ(classOf(value, {Argument::integer(8)}), "i32");
  EXPECT_EQ(keyOf(value, {Argument::integer(1)}), keyOf(value, {Argument::integer(16)}));
  EXPECT_EQ(classOf(alignment, {Argument::integer(1)}), "i32:1");
  EXPECT_EQ(classOf(alignment, {Argument::integer(16)}), "i32");
  EXPECT_EQ(classOf(alignment, {Argument::integer(4)}), "i32");
  alignas(16) char memory[32];
  EXPECT_EQ(classOf(value, {Argument::pointer(memory, DType::Float32)}), "*fp32");
  EXPECT_EQ(classOf(oneInt, {Argument::pointer(memory, DType::Float32)}), "*fp32:16");
  EXPECT_EQ(classOf(oneInt, {Argument::pointer(memory + 8, DType::Float32)}), "*fp32");
  Signature constant = {"kernel", {{.name = "p", .isConst = true}}};
  EXPECT_EQ(classOf(constant, {Argument::pointer(memory, DType::Float16)}), "*kfp16:16");
}

TEST(LaunchKey, HonoursAnnotations) {
  Signature wide = {"kernel", {{.name = "n", .annotated = DType::Int64}}};
  EXPECT_EQ(classOf(wide, {Argument::integer(1)}), "i64");
  EXPECT_EQ(classOf(wide, {Argument::integer(48)}), "i64:16");
  Signature narrow = {"kernel", {{.name = "n", .annotated = DType::Int8}}};
  EXPECT_EQ(classOf(narrow, {Argument::integer(-128)}), "i8:16");
  EXPECT_EQ(classOf(narrow, {Argument::integer(128)}),
            "error: cannot launch `kernel`: argument `n` is 128, which does not fit int8");
  Signature real = {"kernel", {{.name = "n", .annotated = DType::Float64}}};
  EXPECT_EQ(classOf(real, {Argument::floating(0.1)}), "fp64");
  EXPECT_EQ(classOf(real, {Argument::integer(3)}), "fp64");
}

TEST(LaunchKey, CompilesConstexprsIn) {
  Signature constant = {"kernel", {{.name = "C", .isConstexpr = true}}};
  std::vector<Argument> elements = {Argument::integer(1), Argument::string("x")};
  std::vector<Argument> values = {
      Argument::integer(1),       Argument::integer(2),
      Argument::boolean(true),    Argument::floating(1.0),
      Argument::string("relu"),   Argument::string("gelu"),
      Argument::function("relu"), Argument::dtype(DType::Float16),
      Argument::none(),           Argument(),
      Argument::tuple(elements),  Argument::unsignedInteger(~uint64_t(0)),
      Argument::integer(-1)};
  const char *classes[] = {"1",      "2",      "True",     "1.0",
                           "'relu'", "'gelu'", "fn:relu",  "tl.float16",
                           "None",   "None",   "(1, 'x')", "18446744073709551615",
                           "-1"};
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(classOf(constant, {values[i]}), classes[i]);
    for (size_t j = 0; j < values.size(); ++j)
      EXPECT_EQ(keyOf(constant, {values[i]}) == keyOf(constant, {values[j]}), i == j)
          << i << " " << j;
  }
  EXPECT_FALSE(keyOf(constant, {values[0]}, 0) == keyOf(constant, {values[0]}, 1));
  char memory[4];
  EXPECT_TRUE(classOf(constant, {Argument::pointer(memory, DType::Int8)}).starts_with("error: "));
  EXPECT_TRUE(classOf(oneInt, {Argument::integer(1), Argument::integer(2)})
                  .find("2 arguments for 1 parameters") != std::string::npos);
}

TEST(LaunchKey, EqualKeysMeanEqualClasses) {
  // Random calls with nested tuples; keys and canonical texts must partition them alike, also where
  // the classes overflow the key.
  srand(1);
  std::map<std::string, LaunchKey> byText;
  Signature signature = {"kernel",
                         {{.name = "a"}, {.name = "b"}, {.name = "C", .isConstexpr = true}}};
  std::set<std::string> hashes;
  for (int round = 0; round < 4000; ++round) {
    std::vector<std::vector<Argument>> pool;
    pool.reserve(64);
    auto leaf = [&]() {
      switch (rand() % 4) {
      case 0:
        return Argument::integer(std::array{1, 3, 4, 8, 12, 16}[size_t(rand()) % 6]);
      case 1:
        return Argument::none();
      case 2:
        return Argument::floating(1);
      default:
        return Argument::pointer(reinterpret_cast<void *>(uintptr_t(rand() % 2 ? 64 : 4)),
                                 rand() % 2 ? DType::Float16 : DType::Int8);
      }
    };
    auto make = [&](auto &&self, int depth) -> Argument {
      if (depth == 0 || rand() % 2)
        return leaf();
      std::vector<Argument> elements;
      int count = rand() % (round % 10 == 0 ? 200 : 4);
      for (int i = 0; i < count; ++i)
        elements.push_back(i < 3 ? self(self, depth - 1) : leaf());
      pool.push_back(std::move(elements));
      return Argument::tuple(pool.back());
    };
    std::vector<Argument> arguments = {make(make, 2), make(make, 1), Argument::integer(rand() % 3)};
    LaunchKey key = keyOf(signature, arguments);
    auto [found, isNew] = byText.emplace(classOf(signature, arguments), key);
    EXPECT_TRUE(found->second == key);
    if (isNew) {
      std::string bytes(reinterpret_cast<const char *>(key.data().data()), key.data().size_bytes());
      EXPECT_TRUE(hashes.insert(bytes).second) << found->first;
    }
  }
}

// --- launching ---

// out[p] = x[p] * scale + bias for programs p, on f32; out, x, n, scale are passed.
const char *scaleSource = R"(
typedef struct { float *out; const float *x; int n; float scale; } Args;
void run(u64 first, u64 count, const Context *c) {
  const Args *a = c->arguments;
  for (u64 p = first; p < first + count && p < (u64)a->n; ++p) a->out[p] = a->x[p] * a->scale;
})";

// Builds artifacts as the compiler would: slots for what is passed, constants for the rest.
class ScaleSource final : public KernelSource {
public:
  Result<Artifact> kernelFor(const Specialization &specialization, std::span<const uint32_t>,
                             uint32_t) override {
    ++compiled;
    lastText = specialization.text();
    if (object.empty())
      object = test::compileC(std::string(test::kernelPrelude) + scaleSource);
    ArtifactBuilder builder;
    builder.kernel.name = builder.text("scale");
    const char *names[] = {"out", "x", "n", "scale", "BLOCK"};
    for (uint32_t i = 0; i < 5; ++i) {
      ParameterRecord parameter;
      parameter.name = builder.text(names[i]);
      if (i < 4) {
        parameter.firstSlot = i;
        parameter.slotCount = 1;
      } else {
        parameter.kind = uint32_t(ParameterKind::Constexpr);
        parameter.value = builder.text(specialization.arguments[4].text());
      }
      builder.parameters.push_back(parameter);
    }
    builder.addSlot("out", SlotKind::Pointer, DType::Float32, 0);
    builder.addSlot("x", SlotKind::Pointer, DType::Float32, 1);
    builder.addSlot("n", SlotKind::Int, DType::Int32, 2);
    builder.addSlot("scale", SlotKind::Float, DType::Float32, 3);
    HostExpressionBuilder grid; // cdiv(n, BLOCK) * BLOCK
    auto blocks = grid.binary(HostOp::Cdiv, grid.argument(2), grid.argument(4));
    auto programs = grid.binary(HostOp::Multiply, blocks, grid.argument(4));
    builder.expressions.push_back(
        {{}, uint32_t(ExpressionRole::Grid), 0, builder.blob(*grid.finish(programs))});
    CodeRecord code;
    code.arch = builder.text("x86-64");
    code.entry = builder.text("run");
    code.code = builder.blob(object);
    builder.codes.push_back(code);
    return builder.finish();
  }
  std::atomic<int> compiled = 0;
  std::string lastText;
  std::vector<uint8_t> object;
};

const Signature scaleSignature = {"scale",
                                  {{.name = "out"},
                                   {.name = "x"},
                                   {.name = "n"},
                                   {.name = "scale"},
                                   {.name = "BLOCK", .isConstexpr = true}}};

struct ScaleCall {
  explicit ScaleCall(int64_t n)
      : out(*runtime::Tensor::empty(runtime::cpuDevice(), DType::Float32, {&n, 1})),
        x(*runtime::Tensor::empty(runtime::cpuDevice(), DType::Float32, {&n, 1})) {
    for (int64_t i = 0; i < n; ++i) {
      static_cast<float *>(x.data())[i] = float(i);
      static_cast<float *>(out.data())[i] = -1;
    }
    arguments = {Argument::tensor(out), Argument::tensor(x), Argument::integer(n),
                 Argument::floating(0.5), Argument::integer(64)};
  }
  void check() const {
    for (int64_t i = 0; i < out.numel(); ++i)
      ASSERT_EQ(static_cast<float *>(out.data())[i], float(i) * 0.5f);
  }
  runtime::Tensor out, x;
  std::array<Argument, 5> arguments;
};

TEST(Launcher, CompilesOncePerKeyAndLaunches) {
  ScaleSource source;
  Launcher launcher(scaleSignature, runtime::cpuDevice(), source);
  runtime::Stream &stream = runtime::cpuDevice().defaultStream();
  ScaleCall call(1000), other(1016);
  Status status = launcher.launch(stream, call.arguments, Launcher::Grid{1000, 1, 1});
  ASSERT_TRUE(status) << status.error().what;
  call.check();
  EXPECT_EQ(source.lastText, "*fp32:16, *fp32:16, i32:8, fp32, 64");
  status = launcher.launch(stream, other.arguments, std::nullopt); // the artifact's own grid
  ASSERT_TRUE(status) << status.error().what;
  other.check();
  EXPECT_EQ(source.compiled, 1);
  ScaleCall aligned(1024);
  ASSERT_TRUE(launcher.launch(stream, aligned.arguments, std::nullopt));
  aligned.check();
  EXPECT_EQ(source.compiled, 2);
  EXPECT_EQ(launcher.preparedCount(), 2u);
}

// Gives code that leaves `out` as it is until `finish` is called.
class SlowSource final : public KernelSource {
public:
  Result<Artifact> kernelFor(const Specialization &specialization,
                             std::span<const uint32_t> defaulted, uint32_t variant) override {
    return best.kernelFor(specialization, defaulted, variant);
  }
  std::optional<StandIn> standInFor(const Specialization &specialization,
                                    std::span<const uint32_t> defaulted) override {
    if (idle.object.empty())
      idle.object = test::compileC(std::string(test::kernelPrelude) +
                                   "void run(u64 first, u64 count, const Context *c) {}");
    asked = specialization;
    later = std::make_shared<Later>();
    return StandIn{*idle.kernelFor(specialization, defaulted, 0), later};
  }
  void finish(bool works) {
    if (works)
      later->artifact = *best.kernelFor(asked, {}, 0);
    later->isDone = true;
    later->isDone.notify_all();
  }
  ScaleSource best, idle;
  Specialization asked;
  std::shared_ptr<Later> later;
};

TEST(Launcher, TakesAStandInUntilTheBestIsDone) {
  runtime::Stream &stream = runtime::cpuDevice().defaultStream();
  for (bool works : {true, false}) {
    SlowSource source;
    Launcher launcher(scaleSignature, runtime::cpuDevice(), source);
    ScaleCall call(1000);
    auto launch = [&] {
      Status status = launcher.launch(stream, call.arguments, Launcher::Grid{1000, 1, 1});
      ASSERT_TRUE(status) << status.error().what;
    };
    auto hasRun = [&] { return static_cast<float *>(call.out.data())[999] != -1; };
    for (int i = 0; i < 3; ++i) {
      launch();
      EXPECT_FALSE(hasRun());
    }
    source.finish(works);
    for (int i = 0; i < 3; ++i) {
      launch();
      EXPECT_EQ(hasRun(), works);
    }
    EXPECT_EQ(source.idle.compiled, 1);
    EXPECT_EQ(launcher.preparedCount(), 1u);
  }
}

TEST(Launcher, PreparesTheBest) {
  runtime::Stream &stream = runtime::cpuDevice().defaultStream();
  ScaleCall call(1000);
  SlowSource first; // nothing stands in for what is prepared ahead
  Launcher ahead(scaleSignature, runtime::cpuDevice(), first);
  ASSERT_TRUE(ahead.prepare(call.arguments));
  ASSERT_TRUE(ahead.launch(stream, call.arguments, Launcher::Grid{1000, 1, 1}));
  call.check();
  EXPECT_EQ(first.idle.compiled, 0);
  SlowSource second; // and what was launched before is waited for
  Launcher behind(scaleSignature, runtime::cpuDevice(), second);
  ScaleCall other(1000);
  ASSERT_TRUE(behind.launch(stream, other.arguments, Launcher::Grid{1000, 1, 1}));
  std::thread compiler([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    second.finish(true);
  });
  ASSERT_TRUE(behind.prepare(other.arguments));
  EXPECT_TRUE(second.later->isDone);
  compiler.join();
  ASSERT_TRUE(behind.launch(stream, other.arguments, Launcher::Grid{1000, 1, 1}));
  other.check();
}

TEST(Launcher, AllocatesNothingOnAHit) {
#ifdef NEREID_CANNOT_COUNT
  GTEST_SKIP() << "the thread sanitizer allocates by itself";
#endif
  ScaleSource source;
  Launcher launcher(scaleSignature, runtime::cpuDevice(), source);
  runtime::Stream &stream = runtime::cpuDevice().defaultStream();
  ScaleCall call(1000);
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(launcher.launch(stream, call.arguments, std::nullopt));
  uint64_t before = allocations;
  bool good = true;
  for (int i = 0; i < 100; ++i) {
    good &= bool(launcher.launch(stream, call.arguments, std::nullopt));
    good &= bool(launcher.launch(stream, call.arguments, Launcher::Grid{1000, 1, 1}));
  }
  uint64_t after = allocations;
  EXPECT_TRUE(good);
  EXPECT_EQ(after, before);
}

// Prints what a launch costs; the bound only catches a change of kind.
TEST(Launcher, LaunchIsCheap) {
  ScaleSource source;
  Launcher launcher(scaleSignature, runtime::cpuDevice(), source);
  runtime::Stream &stream = runtime::cpuDevice().defaultStream();
  ScaleCall call(1);
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 1000; ++i)
      (void)launcher.launch(stream, call.arguments, Launcher::Grid{1, 1, 1});
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count() / 1000);
  }
  std::printf("launch of one program with 5 arguments: %.0f ns\n", best * 1e9);
  EXPECT_LT(best, 20e-6);
}

TEST(Launcher, ThreadsThatMissTogetherCompileOnce) {
  ScaleSource source;
  Launcher launcher(scaleSignature, runtime::cpuDevice(), source);
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      ScaleCall call(500);
      for (int round = 0; round < 50; ++round)
        if (!launcher.launch(runtime::cpuDevice().defaultStream(), call.arguments, std::nullopt))
          ++failures;
      call.check();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(source.compiled, 1);
}

TEST(Launcher, ReportsWhatIsWrong) {
  ScaleSource source;
  Launcher launcher(scaleSignature, runtime::cpuDevice(), source);
  runtime::Stream &stream = runtime::cpuDevice().defaultStream();
  ScaleCall call(100);
  auto errorWith = [&](size_t position, Argument argument) {
    auto arguments = call.arguments;
    arguments[position] = argument;
    Status status = launcher.launch(stream, arguments, std::nullopt);
    return status ? std::string("none") : status.error().what;
  };
  EXPECT_EQ(errorWith(0, Argument::integer(7)),
            "cannot launch `scale`: argument `out` is no pointer or tensor");
  EXPECT_EQ(errorWith(4, Argument::integer(0)),
            "cannot launch `scale`: axis 0 of its grid, `(triton.cdiv(n, BLOCK) * BLOCK)`: "
            "division by zero");
  EXPECT_EQ(errorWith(2, Argument::integer(-100)),
            "cannot launch `scale`: axis 0 of its grid, `(triton.cdiv(n, BLOCK) * BLOCK)`: "
            "it is -64");
  EXPECT_EQ(errorWith(3, Argument::string("x")),
            "cannot launch `scale`: argument `scale` is no number");
}

// In a process of its own, which has GPUs (test/fake_cuda).
[[noreturn]] void launchWithTensorsElsewhere() {
  ScaleSource source;
  Launcher launcher(scaleSignature, runtime::cpuDevice(), source);
  ScaleCall call(100);
  int64_t n = 100;
  auto far = runtime::device("cuda:1");
  if (!far)
    std::exit(2);
  auto tensor = *runtime::Tensor::empty(**far, DType::Float32, {&n, 1});
  call.arguments[1] = Argument::tensor(tensor);
  Status status =
      launcher.launch(runtime::cpuDevice().defaultStream(), call.arguments, std::nullopt);
  std::string said = status ? "" : status.error().what;
  std::fprintf(stderr, "%s\n", said.c_str());
  std::exit(said == "cannot launch `scale`: argument `x` is on cuda:1, the launch is on cpu" ? 0
                                                                                             : 1);
}

TEST(Launcher, RefusesTensorsOfOtherDevices) {
  test::FakeDriver driver;
  EXPECT_EXIT(launchWithTensorsElsewhere(), testing::ExitedWithCode(0), "");
}

TEST(Packing, FillsEveryKindOfSlot) {
  ArtifactBuilder builder;
  builder.kernel.name = builder.text("all");
  DescriptorRecord descriptor;
  descriptor.rank = 2;
  descriptor.type = uint8_t(DType::Float16);
  builder.descriptors.push_back(descriptor);
  const std::pair<SlotKind, DType> slots[] = {
      {SlotKind::Int, DType::Int8},      {SlotKind::Int, DType::UInt64},
      {SlotKind::Float, DType::Float16}, {SlotKind::Float, DType::BFloat16},
      {SlotKind::Float, DType::Float64}, {SlotKind::Int, DType::Int1}};
  for (uint32_t i = 0; i < 6; ++i) {
    builder.parameters.push_back({builder.text("p" + std::to_string(i)), {}, 0, i, 1});
    builder.addSlot("p" + std::to_string(i), slots[i].first, slots[i].second, i);
  }
  builder.parameters.push_back({builder.text("d"), {}, 0, 6, 1});
  uint32_t slot = builder.addSlot("d", SlotKind::Descriptor, DType::Float16, 6, 8 + 32);
  builder.slots[slot].descriptor = 0;
  // Code for other chips may want the tensor map of the same descriptor; this device has none.
  slot = builder.addSlot("d", SlotKind::TensorMap, DType::Float16, 6);
  builder.slots[slot].descriptor = 0;
  auto artifact = builder.finish();
  ASSERT_TRUE(artifact);
  auto plan = PackPlan::make(*artifact, runtime::cpuDevice());
  ASSERT_TRUE(plan);

  int64_t shape[] = {8, 16}, strides[] = {32, 1};
  alignas(16) static uint16_t memory[8 * 32];
  DescriptorArgument argument{
      *runtime::Tensor::wrap(runtime::cpuDevice(), memory, DType::Float16, shape, strides), {4, 8}};
  Argument arguments[] = {Argument::integer(-3),         Argument::unsignedInteger(~uint64_t(0)),
                          Argument::floating(1.5),       Argument::integer(2),
                          Argument::floating(0.1),       Argument::boolean(true),
                          Argument::descriptor(argument)};
  Leaves leaves;
  ASSERT_TRUE(flatten(arguments, [](size_t) { return false; }, leaves));
  struct {
    int8_t a;
    uint64_t b;
    uint16_t c, d;
    double e;
    uint8_t f;
    void *base;
    int64_t shape[2], strides[2];
    alignas(64) char map[support::tensorMapBytes];
  } block = {};
  ASSERT_EQ(plan->bytes(), sizeof block);
  Status status = plan->pack(leaves.all(), &block);
  ASSERT_TRUE(status) << status.error().what;
  EXPECT_EQ(block.a, -3);
  EXPECT_EQ(block.b, ~uint64_t(0));
  EXPECT_EQ(block.c, 0x3e00);
  EXPECT_EQ(block.d, 0x4000);
  EXPECT_EQ(block.e, 0.1);
  EXPECT_EQ(block.f, 1);
  EXPECT_EQ(block.base, memory);
  EXPECT_EQ(block.shape[0], 8);
  EXPECT_EQ(block.shape[1], 16);
  EXPECT_EQ(block.strides[0], 32);
  EXPECT_EQ(block.strides[1], 1);
  EXPECT_TRUE(std::ranges::all_of(block.map, [](char byte) { return byte == 0; }));
}

// Calls in random pairs: where the pattern of the first one knows the second, both have one key,
// and the block is what the plan packs.
TEST(LaunchPattern, KnowsOnlyCallsOfItsKey) {
  Signature signature = {"all",
                         {{.name = "p"},
                          {.name = "q", .doNotSpecializeOnAlignment = true},
                          {.name = "n"},
                          {.name = "m", .doNotSpecialize = true},
                          {.name = "wide", .annotated = DType::Int64},
                          {.name = "small", .annotated = DType::Int8},
                          {.name = "scale"},
                          {.name = "exact", .annotated = DType::Float64},
                          {.name = "C", .isConstexpr = true}}};
  alignas(16) static char memory[64];
  runtime::Tensor tensors[2];
  for (int i = 0; i < 2; ++i) {
    int64_t shape[] = {4};
    tensors[i] =
        *runtime::Tensor::wrap(runtime::cpuDevice(), memory + 20 * i, DType::Float32, shape);
  }
  const int64_t numbers[] = {0,
                             1,
                             2,
                             3,
                             4,
                             8,
                             12,
                             15,
                             16,
                             17,
                             18,
                             32,
                             48,
                             49,
                             63,
                             64,
                             72,
                             100,
                             -1,
                             -16,
                             int64_t(1) << 31,
                             (int64_t(1) << 31) + 16};
  std::srand(7);
  auto pointer = [&]() -> Argument {
    if (rand() % 3 == 0)
      return Argument::tensor(tensors[rand() % 2]);
    return Argument::pointer(memory + rand() % 3 * 8, DType::Float32);
  };
  auto call = [&]() -> std::vector<Argument> {
    auto number = [&] { return Argument::integer(numbers[size_t(rand()) % std::size(numbers)]); };
    return {pointer(),
            pointer(),
            rand() % 8 ? number() : Argument::typed(DType::Int32, int64_t(rand() % 40)),
            number(),
            number(),
            Argument::integer(rand() % 20),
            Argument::floating(rand() % 4 * 0.1),
            rand() % 2 ? Argument::floating(0.1) : Argument::integer(rand() % 4),
            rand() % 4 ? Argument::integer(rand() % 2) : Argument::none()};
  };
  int known = 0, ofKey = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<Argument> first = call(), second = first;
    for (size_t i = 0, changes = size_t(rand() % 3); i < changes; ++i) {
      size_t at = size_t(rand()) % first.size();
      second[at] = call()[at];
    }
    auto specialization = specialize(signature, first);
    ASSERT_TRUE(specialization);
    ArtifactBuilder builder;
    builder.kernel.name = builder.text("all");
    uint32_t slots = 0;
    for (uint32_t i = 0; i < first.size(); ++i) {
      const ArgumentClass &one = specialization->arguments[i];
      bool isPassed = one.kind != ArgumentClass::Kind::Constant && !one.isOne;
      std::string name = signature.parameters[i].name;
      builder.parameters.push_back({builder.text(name), {}, 0, slots, isPassed});
      slots += isPassed;
      if (!isPassed)
        builder.parameters.back().kind = uint32_t(ParameterKind::Constexpr);
      else
        builder.addSlot(name,
                        one.kind == ArgumentClass::Kind::Pointer ? SlotKind::Pointer
                        : one.kind == ArgumentClass::Kind::Int   ? SlotKind::Int
                                                                 : SlotKind::Float,
                        one.type, i);
    }
    auto artifact = builder.finish();
    ASSERT_TRUE(artifact) << artifact.error().what;
    auto plan = PackPlan::make(*artifact, runtime::cpuDevice());
    ASSERT_TRUE(plan) << plan.error().what;
    auto pattern = LaunchPattern::make(signature, first, plan->leafSlots(), plan->bytes());

    alignas(64) uint8_t packed[256], expected[256] = {};
    std::memset(packed, 0xcc, sizeof packed);
    bool isSame = keyOf(signature, first) == keyOf(signature, second);
    ofKey += isSame;
    if (!pattern.pack(std::span<const Argument>(second), &runtime::cpuDevice(), packed))
      continue;
    ++known;
    ASSERT_TRUE(isSame) << specialize(signature, first)->text() << " is no "
                        << specialize(signature, second)->text();
    ASSERT_TRUE(plan->pack(std::span<const Argument>(second), expected));
    for (const SlotRecord &slot : artifact->slots())
      ASSERT_EQ(std::memcmp(packed + slot.offset, expected + slot.offset, slot.width), 0)
          << artifact->text(slot.name);
    for (size_t i = plan->bytes() + LaunchPattern::slack; i < sizeof packed; ++i)
      ASSERT_EQ(packed[i], 0xcc);
  }
  // Half of the calls convert an integer to a float, which no pattern knows.
  EXPECT_GT(known, ofKey / 3);
}

TEST(LaunchPattern, LeavesTuplesAndTextToTheKey) {
  Signature signature = {"kernel", {{.name = "C", .isConstexpr = true}}};
  Argument element = Argument::integer(1);
  LeafSlot none;
  for (Argument argument : {Argument::string("x"), Argument::tuple({&element, 1})}) {
    auto pattern = LaunchPattern::make(signature, {&argument, 1}, {&none, 1}, 0);
    alignas(64) uint8_t block[64];
    EXPECT_FALSE(
        pattern.pack(std::span<const Argument>(&argument, 1), &runtime::cpuDevice(), block));
  }
}

TEST(KernelCache, GrowsUnderReaders) {
  KernelCache<int> cache;
  std::atomic<bool> stop = false;
  auto keyFor = [](uint32_t number) { return keyOf(oneInt, {Argument::integer(5)}, number); };
  std::thread reader([&] {
    uint32_t number = 0;
    while (!stop) {
      int *value = cache.find(keyFor(number % 500));
      if (value)
        EXPECT_EQ(*value, int(number % 500));
      ++number;
    }
  });
  for (uint32_t i = 0; i < 500; ++i)
    cache.insert(keyFor(i), std::make_unique<int>(int(i)));
  stop = true;
  reader.join();
  for (uint32_t i = 0; i < 500; ++i)
    ASSERT_EQ(*cache.find(keyFor(i)), int(i));
  EXPECT_EQ(cache.find(keyFor(500)), nullptr);
}

} // namespace
