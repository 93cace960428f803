#include "../runtime/FakeCuda.h"
#include "nereid/c.h"
#include "nereid/engine.h"
#include "nereid/pack.h"
#include "nereid/profile.h"
#include "runtime/CudaDriver.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <new>
#include <numeric>
#include <sstream>
#include <thread>
#include <unistd.h>

using namespace nereid;
namespace fs = std::filesystem;

// Counts allocations of this thread, for the test that a launch makes none.
static thread_local uint64_t allocations = 0;
#if !defined(__has_feature) ||                                                                     \
    (!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
#define NEREID_COUNTS_ALLOCATIONS 1
void *operator new(size_t size) {
  ++allocations;
  if (void *memory = std::malloc(size ? size : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
#endif

// As dlpack.h declares them, under its names: a deleter is called through them from the other side.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
struct DLDevice {
  int32_t device_type, device_id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(DLManagedTensor *self);
};
}
// NOLINTEND(readability-identifier-naming)

namespace {

constexpr const char *text = R"(
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({"BLOCK": b}, num_warps=w) for b in (64, 128) for w in (4, 8)], key=["n"])
@triton.jit
def scale(x, out, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)

@triton.jit
def show(n):
    tl.device_print("n", n)

@triton.jit
def pair(xy, out):
    tl.store(out, xy[0] + xy[1])

@triton.jit
def wrong(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), undefined_name)

@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 48}),
                          triton.Config({"BLOCK": 128})], key=[])
@triton.jit
def increment(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    step = 1 if BLOCK != 32 else 2
    tl.store(x + i, tl.load(x + i, mask=i < n) + step, mask=i < n)

@triton.jit
def copy(source, target):
    target.store([0, 0], source.load([0, 0]))
)";

class ApiTest : public ::testing::Test {
protected:
  void SetUp() override {
    directory = fs::temp_directory_path() /
                ("nereid-api-" + std::to_string(::getpid()) + "-" +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(directory);
  }
  void TearDown() override { fs::remove_all(directory); }

  Engine engine(std::function<void(const CompileEvent &)> onCompile = {}) {
    EngineOptions options;
    options.cacheDirectory = directory;
    options.onCompile = std::move(onCompile);
    return must(Engine::create(std::move(options)));
  }
  Kernel kernel(const Engine &engine, const char *name) {
    return must(must(engine.loadText(text, "text.py")).kernel(name));
  }

  // Launches `scale` over n numbers and says whether the result is right.
  static bool scaleWorks(const Kernel &scale, int64_t n) {
    std::vector<float> x(static_cast<size_t>(n)), out(x.size(), -1);
    std::iota(x.begin(), x.end(), 1.0f);
    scale(cpu().stream(), {uint32_t((n + 63) / 64)}, must(Tensor::wrap(std::span(x), {n})),
          out.data(), n, 3.0, named("BLOCK", 64));
    for (size_t i = 0; i < x.size(); ++i)
      if (out[i] != 3 * x[i])
        return false;
    return true;
  }
  static Device cpu() { return must(Device::open("cpu")); }

  fs::path directory;
};

TEST_F(ApiTest, ProgramsOfOtherHeadersAreRefused) {
  EXPECT_EQ(abiMismatch(Abi()), nullptr);
  Abi other;
  other.version = "9.1.0";
  EXPECT_STREQ(abiMismatch(other),
               "the program was compiled with headers of Nereid 9.1.0 and runs with the library of "
               "Nereid " NEREID_VERSION);
  other = Abi();
  other.sizes[0] += 8;
  EXPECT_NE(std::string(abiMismatch(other)).find("types differ in size"), std::string::npos);
}

TEST_F(ApiTest, LaunchesFromTextWithArgumentsByPositionAndName) {
  Engine one = engine();
  EXPECT_TRUE(scaleWorks(kernel(one, "scale"), 1000));
  EXPECT_EQ(must(one.loadText(text)).kernels().size(), 6u);
}

TEST_F(ApiTest, FailuresAreValuesAndExceptions) {
  Engine one = engine();
  EXPECT_FALSE(one.load("/nonexistent/file.py"));
  auto unparsed = one.loadText("def f(:\n", "bad.py");
  ASSERT_FALSE(unparsed);
  ASSERT_FALSE(unparsed.error().diagnostics.empty());
  EXPECT_NE(describe(unparsed.error()).find("bad.py:1:"), std::string::npos);

  Program program = must(one.loadText(text, "text.py"));
  EXPECT_FALSE(program.kernel("missing"));
  Kernel wrong = must(program.kernel("wrong"));
  float x[64];
  Status refused = wrong.launch(cpu().stream(), {1}, {x, named("BLOCK", 64)});
  ASSERT_FALSE(refused);
  EXPECT_NE(describe(refused.error()).find("text.py:21"), std::string::npos)
      << describe(refused.error());
  try {
    wrong(cpu().stream(), {1}, x, named("BLOCK", 64));
    FAIL() << "nothing was thrown";
  } catch (const Exception &failure) {
    EXPECT_EQ(failure.error().diagnostics.size(), refused.error().diagnostics.size());
  }

  Kernel scale = must(program.kernel("scale"));
  Stream stream = cpu().stream();
  auto what = [&](std::initializer_list<Argument> arguments) {
    Status status = scale.launch(stream, {1}, arguments);
    return status ? std::string("launched") : status.error().what;
  };
  EXPECT_EQ(what({x, x, 64, 1.0, named("BLOK", 64)}),
            "cannot launch `scale`: it has no parameter `BLOK`; did you mean `BLOCK`?");
  EXPECT_EQ(what({x, x, 64, 1.0, 64, named("n", 3)}), "cannot launch `scale`: `n` is given twice");
  EXPECT_EQ(what({x, x, 64, 1.0, 64, 7}),
            "cannot launch `scale`: 6 arguments, it has 5 parameters");
  EXPECT_EQ(what({x, named("n", 64), 3}),
            "cannot launch `scale`: argument 2 is given by position behind one by name");
  EXPECT_NE(what({x, x, 64, 1.0}), "launched"); // BLOCK is missing
  Status large = scale.launch(stream, {0x80000000u}, {x, x, 64, 1.0, 64});
  EXPECT_FALSE(large);
  EXPECT_TRUE(scale.launch(stream, {0}, {x, x, 64, 1.0, 64}));
}

TEST_F(ApiTest, ASecondLaunchAllocatesNothing) {
#ifdef NEREID_COUNTS_ALLOCATIONS
  Engine one = engine();
  Kernel scale = kernel(one, "scale");
  Stream stream = cpu().stream();
  float x[64] = {}, out[64];
  Tensor tensor = must(Tensor::wrap(std::span(x), {64}));
  auto launch = [&] { scale(stream, {1}, tensor, out, 64, 2.0, named("BLOCK", 64)); };
  launch();
  uint64_t before = allocations;
  launch();
  EXPECT_EQ(allocations, before);
#else
  GTEST_SKIP() << "the sanitizer brings its own operator new";
#endif
}

TEST_F(ApiTest, TuplesDescriptorsAndMessages) {
  Engine one = engine();
  Stream stream = cpu().stream();
  int32_t out = 0;
  const Argument elements[] = {40, 2};
  kernel(one, "pair")(stream, {1}, std::span<const Argument>(elements), &out);
  EXPECT_EQ(out, 42);

  std::vector<float> from(16 * 16), to(16 * 16);
  std::iota(from.begin(), from.end(), 0.0f);
  auto describe2d = [&](std::vector<float> &data) {
    return must(TensorDescriptor::make(must(Tensor::wrap(std::span(data), {16, 16})), {16, 16}));
  };
  kernel(one, "copy")(stream, {1}, describe2d(from), describe2d(to));
  EXPECT_EQ(from, to);
  EXPECT_FALSE(TensorDescriptor::make(must(Tensor::wrap(std::span(to), {16, 16})), {16, 3}));

  Kernel show = kernel(one, "show");
  show(stream, {2}, 7);
  auto messages = must(show.takeMessages());
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_NE(messages[1].text.find('7'), std::string::npos);
  EXPECT_EQ(messages[1].program[0], 1u);
  EXPECT_TRUE(must(show.takeMessages()).empty());
}

TEST_F(ApiTest, ConfigurationsAreListedAndChosen) {
  Engine one = engine();
  Kernel scale = kernel(one, "scale");
  auto all = must(scale.configurations());
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[3].text(), "BLOCK=128 num_warps=8 num_stages=3");
  Kernel chosen = must(scale.with(all[3]));
  std::vector<float> x(300, 2), out(300);
  chosen(cpu().stream(), {3}, x.data(), out.data(), 300, 0.5);
  EXPECT_EQ(out, std::vector<float>(300, 1));
  EXPECT_TRUE(must(kernel(one, "pair").configurations()).empty());
  all[0].constants[0].first = "NOTHING";
  EXPECT_FALSE(scale.with(all[0]));
}

TEST_F(ApiTest, TuningTakesNoWrongConfiguration) {
  Engine one = engine();
  Kernel increment = kernel(one, "increment");
  std::vector<float> x(1000, 7);
  Tensor tensor = must(Tensor::wrap(std::span(x), {1000}));
  auto grid = [](const Configuration &configuration) {
    return Grid{uint32_t(1000 / configuration.integer("BLOCK") + 1)};
  };
  const Argument arguments[] = {tensor, 1000};
  TuneOptions options;
  options.seconds = 0.005;
  options.outputs = {tensor};
  auto rows = must(increment.tune(cpu().stream(), grid, arguments, options));
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(x, std::vector<float>(1000, 7)); // as it was
  for (const TuneRow &row : rows) {
    int64_t block = row.configuration.integer("BLOCK");
    EXPECT_EQ(row.failure.empty(), block == 64 || block == 128) << row.configuration.text();
    if (block == 32) // adds 2
      EXPECT_EQ(row.failure, "its result differs from that of 2 other configurations");
    if (block == 48) // no power of two
      EXPECT_NE(row.failure.find("power of "), std::string::npos) << row.failure;
    EXPECT_EQ(row.seconds > 0, row.failure.empty());
  }
  EXPECT_LE(rows[0].seconds, rows[1].seconds);
  Kernel best = must(increment.with(rows[0].configuration));
  best(cpu().stream(), grid(rows[0].configuration), tensor, 1000);
  EXPECT_EQ(x, std::vector<float>(1000, 8));
  EXPECT_FALSE(kernel(one, "pair").tune(cpu().stream(), grid, arguments, options));
}

TEST_F(ApiTest, EmptyHandlesSayWhatGivesThem) {
  auto says = [](const auto &failed, const char *type) {
    ASSERT_FALSE(failed);
    EXPECT_NE(failed.error().what.find(std::string("this `") + type + "` is empty"),
              std::string::npos)
        << failed.error().what;
  };
  Stream stream = cpu().stream();
  std::vector<float> x(64, 1);
  Tensor tensor = must(Tensor::wrap(std::span(x), {64}));
  const Argument arguments[] = {tensor, 64};
  says(Kernel().launch(stream, {1}, arguments), "Kernel");
  says(Kernel().prepare(cpu(), arguments), "Kernel");
  says(Kernel().configurations(), "Kernel");
  says(Kernel().configurations(arguments), "Kernel");
  says(Kernel().configuration(cpu(), arguments), "Kernel");
  says(Kernel().with({}), "Kernel");
  says(Kernel().tune(stream, [](const Configuration &) { return Grid(); }, arguments), "Kernel");
  says(Kernel().takeMessages(), "Kernel");
  EXPECT_EQ(Kernel().name(), "");
  EXPECT_TRUE(Kernel().parameters().empty());
  says(Program().kernel("f"), "Program");
  says(Program().pack("pack", {}), "Program");
  says(Program().buildAhead({}), "Program");
  says(Engine().load("text.py"), "Engine");
  says(Engine().loadText(""), "Engine");
  says(PackedKernel().launch(stream, {1}, arguments), "PackedKernel");
  says(PackedKernel().prepare(cpu(), arguments), "PackedKernel");
  says(Pack().kernel("f"), "Pack");
  says(Stream().synchronize(), "Stream");
  says(Stream().copy(x.data(), x.data(), 4), "Stream");
  says(Stream().beginCapture(), "Stream");
  says(Stream().endCapture(), "Stream");
  says(stream.record(Event()), "Event");
  says(stream.wait(Event()), "Event");
  says(Event().synchronize(), "Event");
  says(Event().query(), "Event");
  says(stream.launch(Graph()), "Graph");
  EXPECT_EQ(Graph().nodeCount(), 0u);
  says(Tensor().view({1}), "Tensor");
  says(Tensor().download(x.data()), "Tensor");
  says(Tensor().toDLPack(), "Tensor");
  says(TensorDescriptor::make(Tensor(), {1}), "Tensor");
  EXPECT_EQ(Tensor().shape().size() + size_t(Tensor().size()) + Tensor().bytes(), 0u);
  EXPECT_FALSE(Stream() || Event() || Graph() || Kernel() || Program() || TensorDescriptor());
  Engine one = engine();
  says(kernel(one, "scale").launch(Stream(), {1}, arguments), "Stream");
  EXPECT_FALSE(stream.copy(nullptr, x.data(), 4));
  EXPECT_FALSE(tensor.upload(nullptr));
}

TEST_F(ApiTest, OptionsThatNoCompilerTakesAreRefused) {
  Engine one = engine();
  Program program = must(one.loadText(text, "text.py"));
  for (auto [change, words] :
       std::initializer_list<std::pair<void (*)(CompileOptions &), const char *>>{
           {[](CompileOptions &o) { o.numWarps = 3; }, "`numWarps` of the compile options is 3"},
           {[](CompileOptions &o) { o.numWarps = 64; }, "a power of two up to 32"},
           {[](CompileOptions &o) { o.numStages = 0; }, "`numStages`"},
           {[](CompileOptions &o) { o.numCtas = -1; }, "`numCtas`"},
           {[](CompileOptions &o) { o.maxRegisters = -1; }, "`maxRegisters`"},
           {[](CompileOptions &o) { o.inputPrecision = "fp32"; }, "it can be \"tf32\""}}) {
    CompileOptions options;
    change(options);
    auto kernel = program.kernel("scale", options);
    ASSERT_FALSE(kernel) << words;
    EXPECT_NE(kernel.error().what.find(words), std::string::npos) << kernel.error().what;
  }
}

TEST_F(ApiTest, MistakesAroundConfigurationsAreExplained) {
  Engine one = engine();
  Kernel increment = kernel(one, "increment");
  std::vector<float> x(1000, 7);
  Tensor tensor = must(Tensor::wrap(std::span(x), {1000}));
  const Argument arguments[] = {tensor, 1000};
  // Which of its constants a configuration chooses, a launch of the kernel itself does not know.
  Status status = increment.launch(cpu().stream(), {1}, arguments);
  ASSERT_FALSE(status);
  EXPECT_NE(describe(status.error()).find("`kernel.with(c)`"), std::string::npos)
      << describe(status.error());
  auto fails = [&](const std::function<Grid(const Configuration &)> &grid, const char *words) {
    auto rows = increment.tune(cpu().stream(), grid, arguments, {.seconds = 0.001});
    ASSERT_FALSE(rows);
    EXPECT_NE(rows.error().what.find(words), std::string::npos) << rows.error().what;
  };
  fails(nullptr, "needs a function that gives the grid");
  fails([](const Configuration &c) { return Grid{uint32_t(c.integer("BLOK"))}; },
        "its grid of (0, 1, 1) has no program");
  status = increment.launch(cpu().stream(), {1}, {tensor, 1000, named("BLOK", 64)});
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().what.find("did you mean `BLOCK`?"), std::string::npos);
}

TEST_F(ApiTest, DecoratorsSeeTheArguments) {
  Engine one = engine();
  Kernel chosen = must(must(one.loadText(R"(
import triton
import triton.language as tl

def prune(configs, named_args, **kwargs):
    return [c for c in configs if c.kwargs["BLOCK"] <= named_args["n"]]

@triton.autotune([triton.Config({"BLOCK": b}, num_warps=b // 32) for b in (64, 128, 256)], key=["n"],
                 prune_configs_by={"early_config_prune": prune})
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def fill(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(x + i, 1.0)
    else:
        tl.store(x + i, 2.0, mask=i < n)

@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n"])})
@triton.jit
def whole(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, 3.0, mask=i < n)
)",
                                         "chosen.py"))
                           .kernel("fill"));
  std::vector<float> x(192);
  const Argument arguments[] = {x.data(), 192};
  auto all = must(chosen.configurations(arguments));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].text(), "BLOCK=64 EVEN=True num_warps=2 num_stages=3");
  EXPECT_EQ(all[1].text(), "BLOCK=128 EVEN=False num_warps=4 num_stages=3");
  must(chosen.with(all[1]))(cpu().stream(), {2}, x.data(), 192);
  EXPECT_EQ(x, std::vector<float>(192, 2));
  must(chosen.with(must(chosen.configuration(cpu(), arguments))))(cpu().stream(), {3}, x.data(),
                                                                  192);
  EXPECT_EQ(x, std::vector<float>(192, 1));
  // What a heuristic asks of must be given.
  EXPECT_FALSE(chosen.configurations(std::span<const Argument>(arguments, 1)));
}

TEST_F(ApiTest, HeuristicsAloneMakeOneConfiguration) {
  Engine one = engine();
  Kernel whole = must(must(one.loadText(R"(
import triton
import triton.language as tl

@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n"])})
@triton.jit
def whole(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, 3.0, mask=i < n)
)"))
                          .kernel("whole"));
  std::vector<float> x(100);
  const Argument arguments[] = {x.data(), 100};
  Configuration only = must(whole.configuration(cpu(), arguments));
  EXPECT_EQ(only.integer("BLOCK"), 128);
  must(whole.with(only))(cpu().stream(), {1}, x.data(), 100);
  EXPECT_EQ(x, std::vector<float>(100, 3));
  EXPECT_FALSE(kernel(one, "pair").configuration(cpu(), {}));
}

TEST_F(ApiTest, TheNextProgramTakesWhatWasTuned) {
  fs::create_directories(directory);
  EngineOptions options;
  options.cacheDirectory = directory / "cache";
  options.tuningFile = directory / "tuned.json";
  std::vector<float> x(1000, 7);
  auto grid = [](const Configuration &configuration) {
    return Grid{uint32_t(1000 / configuration.integer("BLOCK") + 1)};
  };
  const Argument arguments[] = {x.data(), 1000};
  TuneOptions tuning;
  tuning.seconds = 0.005;
  tuning.outputs = {must(Tensor::wrap(std::span(x), {1000}))};
  std::string best;
  {
    Engine first = must(Engine::create(options));
    Kernel increment = kernel(first, "increment");
    // Nothing was measured yet: the first of the list.
    EXPECT_EQ(must(increment.configuration(cpu(), arguments)).integer("BLOCK"), 64);
    best = must(increment.tune(cpu().stream(), grid, arguments, tuning))[0].configuration.text();
  }
  Engine second = must(Engine::create(options));
  Kernel increment = kernel(second, "increment");
  EXPECT_EQ(must(increment.configuration(cpu(), arguments)).text(), best);
  // Whichever it was, another one may be pinned.
  std::stringstream kept;
  kept << std::ifstream(options.tuningFile).rdbuf();
  std::string pinned = kept.str();
  size_t at = pinned.find("\"BLOCK\":");
  ASSERT_NE(at, std::string::npos) << pinned;
  at += 8;
  pinned.replace(at, pinned.find(',', at) - at, "128");
  std::ofstream(options.tuningFile) << pinned;
  EXPECT_EQ(must(increment.configuration(cpu(), arguments)).integer("BLOCK"), 128);
  // Another dtype is another launch.
  std::vector<double> wide(1000);
  const Argument others[] = {wide.data(), 1000};
  EXPECT_EQ(must(increment.configuration(cpu(), others)).integer("BLOCK"), 64);
  // Another source too.
  std::string edited = text;
  edited.replace(edited.find("step = 1"), 8, "step = 3");
  Kernel changed = must(must(second.loadText(edited, "text.py")).kernel("increment"));
  EXPECT_EQ(must(changed.configuration(cpu(), arguments)).integer("BLOCK"), 64);
  // A file that cannot be read is said, not passed over.
  std::ofstream(options.tuningFile) << "{";
  EXPECT_FALSE(increment.configuration(cpu(), arguments));
}

TEST_F(ApiTest, NoTensorIsNone) {
  Engine one = engine();
  Kernel maybe = must(must(one.loadText(R"(
import triton
import triton.language as tl

@triton.jit
def maybe(x, y):
    tl.store(y, 1 if x is None else 2)
)"))
                          .kernel("maybe"));
  int32_t y = 0;
  EXPECT_FALSE(Tensor());
  maybe(cpu().stream(), {1}, Tensor(), &y);
  EXPECT_EQ(y, 1);
  maybe(cpu().stream(), {1}, must(Tensor::wrap(std::span(&y, 1), {1})), &y);
  EXPECT_EQ(y, 2);
}

TEST_F(ApiTest, TheNextEngineReadsFromDisk) {
  {
    Engine first = engine();
    EXPECT_TRUE(scaleWorks(kernel(first, "scale"), 100));
    EXPECT_EQ(first.statistics().compiled, 1u);
  }
  Engine second = engine();
  EXPECT_TRUE(scaleWorks(kernel(second, "scale"), 100));
  EXPECT_EQ(second.statistics().compiled, 0u);
  EXPECT_EQ(second.statistics().fromDisk, 1u);
  EXPECT_TRUE(scaleWorks(kernel(second, "scale"), 100)); // a new handle, the same code
  EXPECT_EQ(second.statistics().fromMemory, 1u);
}

// With no room at all, only what a kernel holds is found again.
TEST_F(ApiTest, CodeFromACacheSaysWhatItsCompilationSaid) {
  constexpr const char *chatty = R"(
import triton
import triton.language as tl

@triton.jit
def chatty(x, BLOCK: tl.constexpr):
    tl.static_print("a block of", BLOCK)
    tl.store(x + tl.arange(0, BLOCK), 0.0)
)";
  std::vector<std::string> heard;
  EngineOptions options;
  options.cacheDirectory = directory;
  options.onNote = [&](const std::string &kernel, const Diagnostic &note) {
    heard.push_back(kernel + ":" + std::to_string(note.where.begin.line) + ": " + note.message);
  };
  float x[64];
  for (bool cached : {false, true}) {
    heard.clear();
    Engine one = *Engine::create(options);
    for (int program = 0; program < 2; ++program) { // the second finds the code in memory
      Kernel kernel = *(*one.loadText(chatty, "chatty.py")).kernel("chatty");
      for (int launch = 0; launch < 2; ++launch)
        ASSERT_TRUE(kernel.launch(cpu().stream(), {1}, {x, named("BLOCK", 64)}));
    }
    EXPECT_EQ(heard, std::vector<std::string>(2, "chatty:7: a block of 64"));
    EXPECT_EQ(one.statistics().compiled, cached ? 0u : 1u);
  }
}

TEST_F(ApiTest, TheMemoryOfAnEngineIsBounded) {
  EngineOptions options;
  options.cacheOnDisk = false;
  options.memoryBytes = 0;
  Engine one = must(Engine::create(std::move(options)));
  Program program = must(one.loadText(text, "text.py"));
  Kernel kept = must(program.kernel("scale"));
  EXPECT_TRUE(scaleWorks(kept, 64));
  // The same code for a second kernel, while the first lives.
  EXPECT_TRUE(scaleWorks(must(program.kernel("scale")), 64));
  EXPECT_EQ(one.statistics().compiled, 1u);
  EXPECT_EQ(one.statistics().fromMemory, 1u);
  CompileOptions other;
  other.numWarps = 8;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(scaleWorks(must(program.kernel("scale", other)), 64)); // and is dropped
    must(program.kernel("show"))(cpu().stream(), {1}, i + 7);
  }
  EXPECT_EQ(one.statistics().compiled, 5u);
  EXPECT_TRUE(scaleWorks(must(program.kernel("scale")), 64));
  EXPECT_EQ(one.statistics().compiled, 5u);
}

TEST_F(ApiTest, DamagedFilesAreRepaired) {
  {
    Engine first = engine();
    EXPECT_TRUE(scaleWorks(kernel(first, "scale"), 100));
  }
  int damaged = 0;
  for (const auto &entry : fs::recursive_directory_iterator(directory))
    if (entry.path().extension() == ".nka") {
      fs::resize_file(entry.path(), entry.file_size() / 2);
      ++damaged;
    }
  ASSERT_EQ(damaged, 1);
  for (bool repaired : {false, true}) {
    Engine next = engine();
    EXPECT_TRUE(scaleWorks(kernel(next, "scale"), 100));
    EXPECT_EQ(next.statistics().compiled, repaired ? 0u : 1u);
    EXPECT_EQ(next.statistics().repaired, repaired ? 0u : 1u);
  }
}

TEST_F(ApiTest, ADirectoryThatCannotBeWrittenIsNoError) {
  std::ofstream(directory) << "a file where the directory should be";
  Engine one = engine();
  EXPECT_TRUE(scaleWorks(kernel(one, "scale"), 100));
  EXPECT_EQ(one.statistics().notStored, 1u);
}

TEST_F(ApiTest, FrozenEnginesCompileNothing) {
  std::vector<CompileEvent> events;
  Engine one = engine([&](const CompileEvent &event) { events.push_back(event); });
  Kernel scale = kernel(one, "scale");
  one.freeze(Freeze::Refuse);
  float x[64], out[64];
  Status refused = scale.launch(cpu().stream(), {1}, {x, out, 63, 1.0, named("BLOCK", 64)});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("the engine is frozen"), std::string::npos);
  EXPECT_TRUE(events.empty());

  one.freeze(Freeze::Warn);
  EXPECT_TRUE(scaleWorks(scale, 63));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(events[0].frozen);
  EXPECT_EQ(events[0].kernel, "scale");
  EXPECT_FALSE(events[0].fromDisk);
}

TEST_F(ApiTest, RecordedKeysAreBuiltAheadWithGenericVariants) {
  std::vector<std::string> keys;
  {
    Engine first = engine();
    Program program = must(first.loadText(text, "text.py"));
    EXPECT_TRUE(scaleWorks(must(program.kernel("scale")), 64)); // n is a multiple of 16
    keys = program.recordedKeys();
    ASSERT_EQ(keys.size(), 1u);
  }
  fs::remove_all(directory);
  Engine second = engine();
  Program program = must(second.loadText(text, "text.py"));
  EXPECT_EQ(must(program.buildAhead(keys)), 2u);
  EXPECT_EQ(second.statistics().compiled, 2u);
  Kernel scale = must(program.kernel("scale"));
  second.freeze(Freeze::Generic);
  EXPECT_TRUE(scaleWorks(scale, 64));
  EXPECT_TRUE(scaleWorks(scale, 63)); // by the generic variant
  EXPECT_TRUE(scaleWorks(scale, 1));  // and this
  EXPECT_EQ(second.statistics().compiled, 2u);
  std::string broken[] = {"scale\tcpu\tx"};
  EXPECT_FALSE(program.buildAhead(broken));
}

TEST_F(ApiTest, LaunchesTakeTheGenericVariantWhileTheirOwnIsCompiled) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<CompileEvent> events;
  Engine one = engine([&](const CompileEvent &event) {
    std::lock_guard lock(mutex);
    events.push_back(event);
    changed.notify_all();
  });
  auto await = [&](size_t count) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::minutes(1), [&] { return events.size() >= count; });
  };
  one.freeze(Freeze::Background);
  Kernel scale = kernel(one, "scale");
  EXPECT_TRUE(scaleWorks(scale, 64));
  ASSERT_TRUE(await(2));
  EXPECT_FALSE(events[0].inBackground);
  EXPECT_EQ(events[0].signature, "*fp32, *fp32, i32, fp32, 64");
  EXPECT_TRUE(events[1].inBackground);
  EXPECT_EQ(events[1].signature, "*fp32:16, *fp32:16, i32:16, fp32, 64");
  EXPECT_TRUE(scaleWorks(scale, 64));
  EXPECT_TRUE(scaleWorks(scale, 1)); // the generic one is there: only the third is compiled
  ASSERT_TRUE(await(3));
  EXPECT_TRUE(scaleWorks(scale, 1));
  EXPECT_TRUE(events[2].inBackground);
  // A kernel that needs what it knows of its arguments is waited for.
  Kernel known = must(must(one.loadText(R"(
import triton
import triton.language as tl

@triton.jit
def needs_one(x, stride):
    tl.static_assert(stride == 1)
    tl.store(x + tl.arange(0, 16) * stride, 1.0)
)",
                                        "known.py"))
                          .kernel("needs_one"));
  float x[16] = {};
  known(cpu().stream(), {1}, x, 1);
  EXPECT_EQ(x[15], 1.0f);
  EXPECT_EQ(one.statistics().compiled, 4u);
  EXPECT_FALSE(events.back().inBackground);
}

TEST_F(ApiTest, AProfileHasWhatRanAndHowLong) {
  Engine one = engine();
  Kernel scale = kernel(one, "scale");
  EXPECT_TRUE(scaleWorks(scale, 16)); // not recorded
  profile::start();
  {
    profile::Range step("step");
    EXPECT_TRUE(scaleWorks(scale, 100));
    EXPECT_TRUE(scaleWorks(scale, 100));
  }
  profile::Profile seen = profile::stop();
  EXPECT_TRUE(scaleWorks(scale, 100));
  auto rows = seen.rows();
  auto row = [&](std::string_view kind, std::string_view name) {
    auto found = std::find_if(rows.begin(), rows.end(), [&](const profile::Row &row) {
      return row.kind == kind && row.name == name;
    });
    return found == rows.end() ? profile::Row() : *found;
  };
  EXPECT_EQ(row("compile", "scale").count, 1u);
  EXPECT_EQ(row("launch", "scale").count, 2u);
  EXPECT_EQ(row("launch", "scale").device, "cpu");
  EXPECT_EQ(row("launch", "scale").bytes, 2 * 2 * 128 * 4); // two blocks of 64, read and written
  EXPECT_EQ(row("range", "step").count, 1u);
  EXPECT_GE(row("range", "step").seconds, row("launch", "scale").seconds);
  EXPECT_EQ(rows[0].name, "step"); // the longest first
  EXPECT_NE(seen.table().find("range    step   host"), std::string::npos) << seen.table();
  EXPECT_EQ(seen.dropped(), 0u);
  fs::create_directories(directory);
  const std::string path = directory / "trace.json";
  ASSERT_TRUE(seen.writeTrace(path));
  std::ifstream file(path);
  std::string trace(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(trace.find("\"name\":\"step\",\"cat\":\"range\""), std::string::npos);
  Status refused = seen.writeTrace(directory / "missing" / "trace.json");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("No such file or directory"), std::string::npos);
  EXPECT_TRUE(profile::Profile().rows().empty());
  // The same from C.
  nereid_profile_start();
  nereid_range_begin("outer");
  nereid_range_begin("inner");
  nereid_range_end();
  nereid_range_end();
  nereid_range_end(); // one too many
  std::string table;
  auto keep = [](void *to, const char *text) { *static_cast<std::string *>(to) = text; };
  EXPECT_EQ(nereid_profile_stop(path.c_str(), keep, &table), NEREID_OK);
  EXPECT_NE(table.find("outer"), std::string::npos);
  EXPECT_NE(table.find("inner"), std::string::npos);
  EXPECT_EQ(nereid_profile_stop("/nonexistent/trace.json", nullptr, nullptr), NEREID_FAILED);
}

TEST_F(ApiTest, ObserversHearOfStepsAndLaunches) {
  std::vector<CompileStep> steps;
  std::vector<LaunchEvent> launches;
  EngineOptions options;
  options.cacheDirectory = directory;
  options.onStep = [&](const CompileStep &step) { steps.push_back(step); };
  options.onLaunch = [&](const LaunchEvent &event) { launches.push_back(event); };
  Engine one = must(Engine::create(options));
  Kernel scale = kernel(one, "scale");
  EXPECT_TRUE(scaleWorks(scale, 128));
  EXPECT_TRUE(scaleWorks(scale, 128));
  auto has = [&](std::string_view name) {
    return std::any_of(steps.begin(), steps.end(), [&](const CompileStep &step) {
      return step.name == name && step.kernel == "scale" && step.seconds >= 0;
    });
  };
  EXPECT_TRUE(has("front end") && has("canonicalize") && has("LLVM code generation"));
  ASSERT_EQ(launches.size(), 2u); // compiled once, launched twice
  EXPECT_EQ(launches[1].kernel, "scale");
  EXPECT_EQ(launches[1].device, "cpu");
  EXPECT_EQ(launches[1].grid[0], 2u);
  EXPECT_EQ(launches[1].bytes, 2 * 128 * 4); // read and written
  EXPECT_GT(launches[1].operations, 0);
  steps.clear();
  Engine next = must(Engine::create(options)); // from the disk: nothing is compiled
  EXPECT_TRUE(scaleWorks(kernel(next, "scale"), 128));
  EXPECT_TRUE(steps.empty());
  EXPECT_EQ(launches.size(), 3u);
}

TEST_F(ApiTest, ThreadsLaunchAtOnce) {
  Engine one = engine();
  Program program = must(one.loadText(text, "text.py"));
  Kernel scale = must(program.kernel("scale"));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int64_t n = 1; n < 40; n += 1 + t)
        wrong += !scaleWorks(scale, n);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(one.statistics().compiled, 9u); // ==1, %16 and the rest, times alignments
}

TEST_F(ApiTest, DLPackGoesBothWays) {
  static int deleted;
  deleted = 0;
  float data[6] = {0, 1, 2, 3, 4, 5};
  int64_t shape[] = {2, 2}, strides[] = {3, 1};
  DLManagedTensor given = {{data, {1, 0}, 2, {2, 32, 1}, shape, strides, 4},
                           nullptr,
                           [](DLManagedTensor *) { ++deleted; }};
  given.dl_tensor.dtype.lanes = 4;
  EXPECT_FALSE(Tensor::fromDLPack(&given));
  given.dl_tensor.dtype.lanes = 1;
  given.dl_tensor.device.device_type = 10;
  EXPECT_FALSE(Tensor::fromDLPack(&given));
  EXPECT_EQ(deleted, 0); // a refused tensor is still the caller's
  given.dl_tensor.device.device_type = 1;
  {
    Tensor tensor = must(Tensor::fromDLPack(&given));
    EXPECT_EQ(tensor.data<float>(), data + 1);
    EXPECT_EQ(tensor.type(), DType::Float32);
    EXPECT_EQ(tensor.strides()[0], 3);
    EXPECT_FALSE(tensor.isContiguous());
    DLManagedTensor *exported = must(tensor.toDLPack());
    EXPECT_EQ(exported->dl_tensor.data, data + 1);
    EXPECT_EQ(exported->dl_tensor.shape[1], 2);
    EXPECT_EQ(exported->dl_tensor.dtype.code, 2);
    tensor = must(Tensor::empty(cpu(), DType::Int8, {1}));
    EXPECT_EQ(deleted, 0); // the exported one holds it
    exported->deleter(exported);
  }
  EXPECT_EQ(deleted, 1);
}

TEST_F(ApiTest, ViewsKeepTheMemoryAndStayInside) {
  Tensor rows;
  {
    Tensor all = must(Tensor::empty(must(Device::open("cpu")), DType::Float32, {4, 6}));
    for (int i = 0; i < 24; ++i)
      all.data<float>()[i] = float(i);
    rows = must(all.view({2, 3}, {6, 2}, 7));
  }
  EXPECT_EQ(rows.data<float>()[rows.strides()[0] + 2 * rows.strides()[1]], 17);
  EXPECT_EQ(must(rows.view({2, 2}, {6, 2})).data<float>()[0], 7);
  EXPECT_EQ(must(rows.view({0, 5})).size(), 0);
  auto refusal = [&](Shape shape, Shape strides, int64_t first) {
    auto view = rows.view(shape, strides, first);
    return view ? "" : view.error().what;
  };
  EXPECT_EQ(refusal({2, 3}, {6, 2}, 1),
            "a view of 11 elements from 1 on of a tensor that spans 11");
  EXPECT_EQ(refusal({1}, {}, -1), "a view of elements from -1 on of a tensor that spans 11");
  EXPECT_EQ(refusal({1}, {}, 12), "a view of elements from 12 on of a tensor that spans 11");
  EXPECT_EQ(refusal({2}, {-1}, 3),
            "a view of elements at negative strides of a tensor that spans 11");
}

TEST_F(ApiTest, TensorsAreChecked) {
  float data[4];
  EXPECT_FALSE(Tensor::wrap(cpu(), nullptr, DType::Float32, {4}));
  EXPECT_FALSE(Tensor::wrap(std::span(data), {5}));
  EXPECT_FALSE(Tensor::wrap(cpu(), data, DType::Float32, {-1}));
  EXPECT_TRUE(Tensor::wrap(cpu(), nullptr, DType::Float32, {0}));
  EXPECT_FALSE(Device::open("tpu"));
  EXPECT_FALSE(cpu().createEvent().ok() && !cpu().isCpu());
}

TEST_F(ApiTest, ProgramsBringTheirOwnThreads) {
  struct Counting final : Executor {
    int runs = 0;
    unsigned concurrency() const override { return 2; }
    void run(unsigned, Body body, void *data) override {
      ++runs;
      body(data, 0);
    }
  };
  auto executor = std::make_shared<Counting>();
  Engine one = engine();
  Kernel scale = kernel(one, "scale");
  must(cpu().setExecutor(executor));
  bool good = scaleWorks(scale, 1 << 20);
  must(cpu().setExecutor(nullptr));
  EXPECT_TRUE(good);
  EXPECT_GT(executor->runs, 0);
}

TEST(CApiTest, BadCallsAreRefused) {
  EXPECT_EQ(nereid_engine_create(nullptr, nullptr), NEREID_BAD_CALL);
  nereid_engine_options options = {sizeof options, nullptr, 1, nullptr, nullptr};
  nereid_engine *engine = nullptr;
  ASSERT_EQ(nereid_engine_create(&options, &engine), NEREID_OK);
  nereid_program *program = nullptr;
  EXPECT_EQ(nereid_program_load(engine, "/nonexistent.py", &program), NEREID_FAILED);
  EXPECT_NE(std::string(nereid_last_error()).find("nonexistent"), std::string::npos);
  ASSERT_EQ(nereid_program_load_text(engine, text, std::strlen(text), "text.py", &program),
            NEREID_OK);
  nereid_kernel *kernel = nullptr;
  EXPECT_EQ(nereid_kernel_get(program, "missing", nullptr, &kernel), NEREID_FAILED);
  EXPECT_EQ(kernel, nullptr);
  nereid_compile_options unsized = {};
  unsized.num_warps = 8;
  EXPECT_EQ(nereid_kernel_get(program, "show", &unsized, &kernel), NEREID_FAILED);
  EXPECT_NE(std::string(nereid_last_error()).find("`size` of the options is 0"), std::string::npos);
  EXPECT_EQ(nereid_kernel_get(nullptr, "show", nullptr, &kernel), NEREID_BAD_CALL);
  EXPECT_EQ(std::string(nereid_last_error()),
            "a null handle or pointer is given to nereid_kernel_get");
  ASSERT_EQ(nereid_kernel_get(program, "show", nullptr, &kernel), NEREID_OK);
  nereid_device *device = nullptr;
  ASSERT_EQ(nereid_device_open("cpu", &device), NEREID_OK);
  nereid_stream *stream = nullptr;
  ASSERT_EQ(nereid_stream_default(device, &stream), NEREID_OK);
  nereid_argument argument = {nereid_argument_kind(99), NEREID_INT32, nullptr, {0}};
  const uint32_t grid[3] = {1, 1, 1};
  EXPECT_EQ(nereid_kernel_launch(kernel, stream, grid, &argument, 1), NEREID_FAILED);
  EXPECT_NE(std::string(nereid_last_error()).find("99"), std::string::npos);
  int local;
  EXPECT_EQ(nereid_device_free(device, &local), NEREID_FAILED);
  void *memory = nullptr;
  ASSERT_EQ(nereid_device_allocate(device, 64, &memory), NEREID_OK);
  EXPECT_EQ(nereid_device_free(device, memory), NEREID_OK);
  nereid_stream_destroy(stream);
  nereid_device_destroy(device);
  nereid_engine_destroy(engine);
  nereid_kernel_destroy(kernel);
  nereid_program_destroy(program);
}

// What a C program holds of one kernel of `text` on the CPU.
struct COpened {
  explicit COpened(const char *name, const char *tuningFile = nullptr) {
    nereid_engine_options options = {};
    options.size = sizeof options;
    options.no_disk_cache = 1;
    options.tuning_file = tuningFile;
    EXPECT_EQ(nereid_engine_create(&options, &engine), NEREID_OK);
    EXPECT_EQ(nereid_program_load_text(engine, text, std::strlen(text), "text.py", &program),
              NEREID_OK);
    EXPECT_EQ(nereid_kernel_get(program, name, nullptr, &kernel), NEREID_OK);
    EXPECT_EQ(nereid_device_open("cpu", &device), NEREID_OK);
    EXPECT_EQ(nereid_stream_default(device, &stream), NEREID_OK);
  }
  ~COpened() {
    nereid_stream_destroy(stream);
    nereid_device_destroy(device);
    nereid_kernel_destroy(kernel);
    nereid_program_destroy(program);
    nereid_engine_destroy(engine);
  }
  nereid_engine *engine = nullptr;
  nereid_program *program = nullptr;
  nereid_kernel *kernel = nullptr;
  nereid_device *device = nullptr;
  nereid_stream *stream = nullptr;
};
nereid_argument argumentOf(const nereid_tensor *tensor) {
  nereid_argument argument = {NEREID_ARG_TENSOR, NEREID_FLOAT32, nullptr, {0}};
  argument.value.tensor = tensor;
  return argument;
}
nereid_argument argumentOf(int64_t value, const char *name = nullptr) {
  return {NEREID_ARG_INT, NEREID_INT32, name, {value}};
}
constexpr uint32_t oneProgram[3] = {1, 1, 1};

TEST(CApiTest, TensorsStreamsAndGraphs) {
  COpened c("scale");
  const int64_t shape[] = {8, 8}, strides[] = {8, 1};
  std::vector<float> host(64), back(64);
  std::iota(host.begin(), host.end(), 1.0f);
  nereid_tensor *x = nullptr, *out = nullptr, *shared = nullptr;
  ASSERT_EQ(nereid_tensor_wrap(c.device, host.data(), NEREID_FLOAT32, 2, shape, strides, &x),
            NEREID_OK);
  ASSERT_EQ(nereid_tensor_empty(c.device, NEREID_FLOAT32, 2, shape, &out), NEREID_OK);
  EXPECT_EQ(nereid_tensor_data(x), host.data());
  nereid_argument arguments[] = {argumentOf(x), argumentOf(out), argumentOf(64), argumentOf(3),
                                 argumentOf(64, "BLOCK")};
  nereid_stream *stream = nullptr;
  ASSERT_EQ(nereid_stream_create(c.device, &stream), NEREID_OK);
  EXPECT_EQ(nereid_stream_native(stream), nullptr);
  ASSERT_EQ(nereid_stream_begin_capture(stream), NEREID_OK) << nereid_last_error();
  ASSERT_EQ(nereid_kernel_launch(c.kernel, stream, oneProgram, arguments, 5), NEREID_OK)
      << nereid_last_error();
  nereid_graph *graph = nullptr;
  ASSERT_EQ(nereid_stream_end_capture(stream, &graph), NEREID_OK);
  EXPECT_EQ(nereid_graph_nodes(graph), 1u);
  host[5] = 100;
  ASSERT_EQ(nereid_stream_launch_graph(stream, graph), NEREID_OK);
  nereid_event *first = nullptr, *second = nullptr;
  ASSERT_EQ(nereid_event_create(c.device, &first), NEREID_OK);
  ASSERT_EQ(nereid_event_create(c.device, &second), NEREID_OK);
  EXPECT_EQ(nereid_stream_record(stream, first), NEREID_OK);
  EXPECT_EQ(nereid_stream_record(stream, second), NEREID_OK);
  EXPECT_EQ(nereid_stream_wait(c.stream, second), NEREID_OK);
  EXPECT_EQ(nereid_event_synchronize(second), NEREID_OK);
  int reached = 0;
  double seconds = -1;
  EXPECT_EQ(nereid_event_query(second, &reached), NEREID_OK);
  EXPECT_EQ(reached, 1);
  EXPECT_EQ(nereid_event_seconds(first, second, &seconds), NEREID_OK);
  EXPECT_GE(seconds, 0);
  ASSERT_EQ(nereid_stream_synchronize(stream), NEREID_OK);
  ASSERT_EQ(nereid_tensor_download(out, back.data()), NEREID_OK);
  EXPECT_EQ(back[5], 300);
  EXPECT_EQ(back[63], 192);
  EXPECT_EQ(nereid_tensor_upload(out, host.data()), NEREID_OK);
  EXPECT_EQ(static_cast<float *>(nereid_tensor_data(out))[63], 64);
  // Through DLPack and back, the same memory.
  DLManagedTensor *packed = nullptr;
  ASSERT_EQ(nereid_tensor_to_dlpack(out, &packed), NEREID_OK);
  ASSERT_EQ(nereid_tensor_from_dlpack(packed, &shared), NEREID_OK);
  EXPECT_EQ(nereid_tensor_data(shared), nereid_tensor_data(out));
  nereid_memory_use use = {};
  EXPECT_EQ(nereid_device_memory(c.device, 1, &use), NEREID_OK);
  EXPECT_GE(use.current, 256u);
  EXPECT_GE(use.peak, use.current);
  EXPECT_EQ(std::string(nereid_device_name(c.device)), "cpu");
  EXPECT_EQ(std::string(nereid_device_architecture(c.device)), "x86-64");
  EXPECT_NE(std::string(nereid_device_description(c.device)), "");
  EXPECT_GE(nereid_device_units(c.device), 1u);
  const int64_t bad[] = {-1, 8};
  nereid_tensor *none = nullptr;
  EXPECT_EQ(nereid_tensor_empty(c.device, NEREID_FLOAT32, 2, bad, &none), NEREID_FAILED);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(nereid_tensor_wrap(c.device, host.data(), nereid_dtype(99), 2, shape, nullptr, &none),
            NEREID_FAILED);
  for (nereid_tensor *tensor : {x, out, shared})
    nereid_tensor_destroy(tensor);
  nereid_event_destroy(first);
  nereid_event_destroy(second);
  nereid_graph_destroy(graph);
  nereid_stream_destroy(stream);
}

TEST(CApiTest, DescriptorsAndDiagnostics) {
  COpened c("copy");
  const int64_t shape[] = {16, 16}, block[] = {8, 16};
  nereid_tensor *from = nullptr, *to = nullptr;
  ASSERT_EQ(nereid_tensor_empty(c.device, NEREID_FLOAT32, 2, shape, &from), NEREID_OK);
  ASSERT_EQ(nereid_tensor_empty(c.device, NEREID_FLOAT32, 2, shape, &to), NEREID_OK);
  std::vector<float> host(256, 7.0f);
  ASSERT_EQ(nereid_tensor_upload(from, host.data()), NEREID_OK);
  nereid_argument arguments[2] = {};
  nereid_descriptor *descriptors[2] = {};
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(nereid_descriptor_create(i ? to : from, block, 0, &descriptors[i]), NEREID_OK);
    arguments[i].kind = NEREID_ARG_DESCRIPTOR;
    arguments[i].value.descriptor = descriptors[i];
  }
  ASSERT_EQ(nereid_kernel_launch(c.kernel, c.stream, oneProgram, arguments, 2), NEREID_OK)
      << nereid_last_error();
  EXPECT_EQ(static_cast<float *>(nereid_tensor_data(to))[7 * 16 + 15], 7);
  arguments[0].value.descriptor = nullptr;
  EXPECT_EQ(nereid_kernel_launch(c.kernel, c.stream, oneProgram, arguments, 2), NEREID_FAILED);
  nereid_diagnostic diagnostic = {};
  EXPECT_EQ(nereid_last_diagnostic(0, &diagnostic), NEREID_FAILED); // no fault of the source
  nereid_kernel *wrong = nullptr;
  ASSERT_EQ(nereid_kernel_get(c.program, "wrong", nullptr, &wrong), NEREID_OK);
  nereid_argument bad[] = {argumentOf(to), argumentOf(64)};
  EXPECT_EQ(nereid_kernel_launch(wrong, c.stream, oneProgram, bad, 2), NEREID_FAILED);
  ASSERT_EQ(nereid_last_diagnostic(0, &diagnostic), NEREID_OK);
  EXPECT_EQ(std::string(diagnostic.severity), "error");
  EXPECT_NE(std::string(diagnostic.message).find("undefined_name"), std::string::npos);
  EXPECT_EQ(std::string(diagnostic.file), "text.py");
  EXPECT_GT(diagnostic.line, 10u);
  EXPECT_NE(std::string(diagnostic.code), "");
  EXPECT_EQ(nereid_last_diagnostic(0, nullptr), NEREID_BAD_CALL);
  nereid_kernel_destroy(wrong);
  for (int i = 0; i < 2; ++i)
    nereid_descriptor_destroy(descriptors[i]);
  nereid_tensor_destroy(from);
  nereid_tensor_destroy(to);
}

TEST(CApiTest, ConfigurationsTuningAndKeys) {
  const fs::path folder = fs::temp_directory_path() / ("nereid-c-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const std::string tuned = folder / "tuned.json";
  std::vector<std::string> keys;
  {
    COpened c("increment", tuned.c_str());
    EXPECT_EQ(std::string(nereid_program_kernel(c.program, 0)), "scale");
    EXPECT_EQ(nereid_program_kernel(c.program, 99), nullptr);
    int isConstexpr = -1;
    EXPECT_EQ(std::string(nereid_kernel_parameter(c.kernel, 2, &isConstexpr)), "BLOCK");
    EXPECT_EQ(isConstexpr, 1);
    EXPECT_EQ(nereid_kernel_parameter(c.kernel, 3, nullptr), nullptr);
    const int64_t shape[] = {300};
    nereid_tensor *x = nullptr;
    ASSERT_EQ(nereid_tensor_empty(c.device, NEREID_FLOAT32, 1, shape, &x), NEREID_OK);
    std::vector<float> zeros(300);
    ASSERT_EQ(nereid_tensor_upload(x, zeros.data()), NEREID_OK);
    nereid_argument arguments[] = {argumentOf(x), argumentOf(300)};
    nereid_configuration *one = nullptr;
    ASSERT_EQ(nereid_kernel_nth_configuration(c.kernel, arguments, 2, 3, &one), NEREID_OK);
    EXPECT_EQ(nereid_configuration_integer(one, "BLOCK"), 128);
    EXPECT_NE(std::string(nereid_configuration_text(one)).find("BLOCK=128"), std::string::npos);
    nereid_configuration_destroy(one);
    ASSERT_EQ(nereid_kernel_nth_configuration(c.kernel, arguments, 2, 4, &one), NEREID_OK);
    EXPECT_EQ(one, nullptr);
    auto grid = [](void *, const nereid_configuration *configuration, uint32_t axes[3]) {
      axes[0] = uint32_t(300 / nereid_configuration_integer(configuration, "BLOCK") + 1);
    };
    auto told = [](void *data, const nereid_configuration *configuration, double seconds,
                   const char *failure) {
      static_cast<std::vector<std::string> *>(data)->push_back(
          std::string(nereid_configuration_text(configuration)) + (*failure ? ": refused" : ""));
      EXPECT_EQ(seconds > 0, !*failure);
    };
    nereid_tune_options options = {};
    options.size = sizeof options;
    options.seconds = 0.001;
    options.outputs = &x;
    options.output_count = 1;
    std::vector<std::string> rows;
    ASSERT_EQ(nereid_kernel_tune(c.kernel, c.stream, grid, arguments, 2, &options, told, &rows),
              NEREID_OK)
        << nereid_last_error();
    ASSERT_EQ(rows.size(), 4u);
    EXPECT_EQ(rows[0].find("refused"), std::string::npos);
    EXPECT_NE(rows[3].find("refused"), std::string::npos); // one gives other results
    ASSERT_EQ(nereid_kernel_configuration(c.kernel, c.device, arguments, 2, &one), NEREID_OK);
    EXPECT_EQ(nereid_configuration_text(one), rows[0]);
    nereid_kernel *configured = nullptr;
    ASSERT_EQ(nereid_kernel_with(c.kernel, one, &configured), NEREID_OK);
    uint32_t programs[3] = {1, 1, 1};
    grid(nullptr, one, programs);
    ASSERT_EQ(nereid_kernel_launch(configured, c.stream, programs, arguments, 2), NEREID_OK);
    EXPECT_EQ(static_cast<float *>(nereid_tensor_data(x))[299], 1);
    auto keep = [](void *data, const char *key) {
      static_cast<std::vector<std::string> *>(data)->push_back(key);
    };
    ASSERT_EQ(nereid_program_recorded_keys(c.program, keep, &keys), NEREID_OK);
    EXPECT_GE(keys.size(), 3u);
    nereid_kernel_destroy(configured);
    nereid_configuration_destroy(one);
    nereid_tensor_destroy(x);
  }
  COpened next("increment", tuned.c_str());
  std::vector<const char *> lines;
  for (const std::string &key : keys)
    lines.push_back(key.c_str());
  size_t built = 0;
  ASSERT_EQ(nereid_program_build_ahead(next.program, lines.data(), lines.size(), &built),
            NEREID_OK);
  EXPECT_GE(built, keys.size());
  ASSERT_EQ(nereid_engine_freeze(next.engine, NEREID_FREEZE_REFUSE), NEREID_OK);
  EXPECT_EQ(nereid_engine_freeze(next.engine, nereid_freeze(9)), NEREID_FAILED);
  float x[300] = {};
  nereid_argument arguments[] = {
      {NEREID_ARG_POINTER, NEREID_FLOAT32, nullptr, {0}}, argumentOf(300), argumentOf(16)};
  arguments[0].value.pointer = x;
  EXPECT_EQ(nereid_kernel_launch(next.kernel, next.stream, oneProgram, arguments, 3),
            NEREID_FAILED);
  EXPECT_NE(std::string(nereid_last_error()).find("frozen"), std::string::npos);
  nereid_engine_counts counts = {};
  EXPECT_EQ(nereid_engine_count(next.engine, &counts), NEREID_FAILED); // `size` is not set
  counts.size = sizeof counts;
  EXPECT_EQ(nereid_engine_count(next.engine, &counts), NEREID_OK);
  EXPECT_EQ(counts.compiled, built);
  const std::string pack = folder / "kernels.pack";
  ASSERT_EQ(nereid_program_pack(next.program, pack.c_str(), lines.data(), lines.size(), 0),
            NEREID_OK)
      << nereid_last_error();
  nereid_pack *opened = nullptr;
  ASSERT_EQ(nereid_pack_open(pack.c_str(), &opened), NEREID_OK);
  EXPECT_EQ(std::string(nereid_pack_name(opened, 0)), "increment");
  nereid_pack_destroy(opened);
  fs::remove_all(folder);
}

TEST(CApiTest, ProgramsBringMemoryAndThreads) {
  COpened c("scale");
  struct Counts {
    int allocated = 0, freed = 0, runs = 0, released = 0;
  } counts;
  auto release = [](void *data) { ++static_cast<Counts *>(data)->released; };
  nereid_allocator allocator = {&counts,
                                [](void *data, size_t bytes, void *) {
                                  ++static_cast<Counts *>(data)->allocated;
                                  return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
                                },
                                [](void *data, void *pointer, size_t, void *) {
                                  ++static_cast<Counts *>(data)->freed;
                                  std::free(pointer);
                                },
                                release};
  ASSERT_EQ(nereid_device_set_allocator(c.device, &allocator), NEREID_OK);
  const int64_t shape[] = {1 << 20};
  nereid_tensor *x = nullptr;
  ASSERT_EQ(nereid_tensor_empty(c.device, NEREID_FLOAT32, 1, shape, &x), NEREID_OK);
  EXPECT_EQ(counts.allocated, 1);
  nereid_executor executor = {&counts, 2,
                              [](void *data, unsigned, void (*body)(void *, unsigned), void *of) {
                                ++static_cast<Counts *>(data)->runs;
                                body(of, 0);
                              },
                              release};
  ASSERT_EQ(nereid_device_set_executor(c.device, &executor), NEREID_OK);
  std::vector<float> ones(1 << 20, 1.0f);
  ASSERT_EQ(nereid_tensor_upload(x, ones.data()), NEREID_OK);
  nereid_argument arguments[] = {argumentOf(x), argumentOf(x), argumentOf(1 << 20), argumentOf(3),
                                 argumentOf(64, "BLOCK")};
  const uint32_t programs[3] = {1 << 14, 1, 1};
  EXPECT_EQ(nereid_kernel_launch(c.kernel, c.stream, programs, arguments, 5), NEREID_OK);
  EXPECT_GT(counts.runs, 0);
  EXPECT_EQ(static_cast<float *>(nereid_tensor_data(x))[(1 << 20) - 1], 3);
  EXPECT_EQ(nereid_device_set_executor(c.device, nullptr), NEREID_OK);
  EXPECT_EQ(nereid_device_set_allocator(c.device, nullptr), NEREID_OK);
  nereid_tensor_destroy(x);
  EXPECT_EQ(counts.freed, 1);
  EXPECT_EQ(counts.released, 2);
  executor.concurrency = 0;
  EXPECT_EQ(nereid_device_set_executor(c.device, &executor), NEREID_FAILED);
  allocator.free = nullptr;
  EXPECT_EQ(nereid_device_set_allocator(c.device, &allocator), NEREID_BAD_CALL);
}

TEST(CApiTest, TellsOfCompilationsAndMessages) {
  std::vector<std::string> compiled, messages;
  nereid_engine_options options = {};
  options.size = sizeof options;
  options.no_disk_cache = 1;
  options.on_compile = [](void *data, const char *kernel, const char *signature, const char *target,
                          double seconds, int fromDisk) {
    EXPECT_GT(seconds, 0);
    EXPECT_FALSE(fromDisk);
    static_cast<std::vector<std::string> *>(data)->push_back(std::string(kernel) + " " + target);
  };
  options.on_compile_data = &compiled;
  nereid_engine *engine = nullptr;
  nereid_program *program = nullptr;
  nereid_kernel *kernel = nullptr;
  nereid_device *device = nullptr;
  nereid_stream *stream = nullptr;
  ASSERT_EQ(nereid_engine_create(&options, &engine), NEREID_OK);
  constexpr const char *source = "import triton\nimport triton.language as tl\n\n@triton.jit\n"
                                 "def talk(n):\n    tl.device_print('n is', n)\n";
  ASSERT_EQ(nereid_program_load_text(engine, source, std::strlen(source), "talk.py", &program),
            NEREID_OK)
      << nereid_last_error();
  ASSERT_EQ(nereid_kernel_get(program, "talk", nullptr, &kernel), NEREID_OK);
  ASSERT_EQ(nereid_device_open("cpu", &device), NEREID_OK);
  ASSERT_EQ(nereid_stream_default(device, &stream), NEREID_OK);
  nereid_argument argument = {NEREID_ARG_INT, NEREID_INT32, nullptr, {41}};
  const uint32_t grid[3] = {2, 1, 1};
  ASSERT_EQ(nereid_kernel_launch(kernel, stream, grid, &argument, 1), NEREID_OK)
      << nereid_last_error();
  EXPECT_EQ(compiled, std::vector<std::string>{"talk cpu"});
  auto keep = [](void *data, const char *text, int isAssert, const uint32_t *) {
    EXPECT_FALSE(isAssert);
    static_cast<std::vector<std::string> *>(data)->push_back(text);
  };
  EXPECT_EQ(nereid_kernel_take_messages(kernel, nullptr, nullptr), NEREID_BAD_CALL);
  ASSERT_EQ(nereid_kernel_take_messages(kernel, keep, &messages), NEREID_OK);
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_NE(messages[0].find("n is"), std::string::npos) << messages[0];
  EXPECT_NE(messages[0].find("41"), std::string::npos) << messages[0];
  ASSERT_EQ(nereid_kernel_take_messages(kernel, keep, &messages), NEREID_OK);
  EXPECT_EQ(messages.size(), 2u); // each once
  nereid_stream_destroy(stream);
  nereid_device_destroy(device);
  nereid_kernel_destroy(kernel);
  nereid_program_destroy(program);
  nereid_engine_destroy(engine);
}

// On a driver without a GPU (test/fake_cuda), in a process of its own: streams and memory of a host
// program, through C.
[[noreturn]] void onStreamsOfTheProgram() {
  namespace cuda = runtime::cuda;
  auto check = [](bool good, const char *what) {
    if (!good) {
      std::fprintf(stderr, "%s: %s\n", what, nereid_last_error());
      std::_Exit(1);
    }
  };
  nereid_device *device = nullptr;
  check(nereid_device_open("cuda:0", &device) == NEREID_OK, "open");
  const cuda::Driver &driver = **cuda::driver();
  auto lastStream = reinterpret_cast<void *(*)()>(
      ::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), "fake_cuda_last_stream"));
  cuda::Context contexts[2], popped;
  cuda::StreamHandle streams[2];
  cuda::DevicePointer memory[2];
  for (int i : {0, 1}) {
    driver.cuDevicePrimaryCtxRetain(&contexts[i], i);
    driver.cuCtxPushCurrent(contexts[i]);
    driver.cuStreamCreate(&streams[i], 0);
    driver.cuMemAlloc(&memory[i], 4);
    driver.cuCtxPopCurrent(&popped);
  }
  nereid_stream *stream = nullptr;
  check(nereid_stream_wrap(device, streams[1], &stream) == NEREID_FAILED &&
            std::strstr(nereid_last_error(), "a stream of cuda:1"),
        "the stream of another device");
  check(nereid_stream_wrap(device, streams[0], &stream) == NEREID_OK, "wrap");

  constexpr const char *source = "import triton\nimport triton.language as tl\n\n@triton.jit\n"
                                 "def put(x, VALUE: tl.constexpr):\n    tl.store(x, VALUE)\n";
  nereid_engine_options options = {sizeof options, nullptr, 1, nullptr, nullptr};
  nereid_engine *engine = nullptr;
  nereid_program *program = nullptr;
  nereid_kernel *kernel = nullptr;
  check(nereid_engine_create(&options, &engine) == NEREID_OK, "engine");
  check(nereid_program_load_text(engine, source, std::strlen(source), "put.py", &program) ==
            NEREID_OK,
        "program");
  check(nereid_kernel_get(program, "put", nullptr, &kernel) == NEREID_OK, "kernel");
  const uint32_t grid[3] = {1, 1, 1};
  auto launch = [&](cuda::DevicePointer to) {
    nereid_argument arguments[2] = {{NEREID_ARG_POINTER, NEREID_INT32, nullptr, {0}},
                                    {NEREID_ARG_INT, NEREID_INT32, nullptr, {7}}};
    arguments[0].value.pointer = reinterpret_cast<void *>(to);
    return nereid_kernel_launch(kernel, stream, grid, arguments, 2);
  };
  check(launch(memory[1]) == NEREID_FAILED &&
            std::strstr(nereid_last_error(), "`x`: the memory is cuda:1's, not cuda:0's"),
        "memory of another device");
  check(launch(memory[0]) == NEREID_OK && lastStream() == streams[0], "launch");
  check(nereid_stream_synchronize(stream) == NEREID_OK, "synchronize");
  nereid_stream_destroy(stream);
  cuda::Context now = contexts[0];
  driver.cuCtxGetCurrent(&now);
  check(!now, "a context was left current");
  check(driver.cuStreamQuery(streams[0]) == 0 && driver.cuStreamDestroy(streams[0]) == 0,
        "the program's stream");
  std::_Exit(0);
}

using runtime::test::FakeCuda;

TEST_F(FakeCuda, CLaunchesOnAStreamOfTheProgram) {
  EXPECT_EXIT(onStreamsOfTheProgram(), testing::ExitedWithCode(0), "");
}

// Its events say a millisecond for four warps.
[[noreturn]] void tuneByEvents() {
  Device device = must(Device::open("cuda:0"));
  Engine engine = must(Engine::create({.cacheOnDisk = false}));
  Program program = must(engine.loadText("import triton\nimport triton.language as tl\n\n"
                                         "@triton.autotune([triton.Config({'BLOCK': 64}, "
                                         "num_warps=w) for w in (4, 8, 4)], key=['n'])\n"
                                         "@triton.jit\n"
                                         "def fill(x, n, BLOCK: tl.constexpr):\n"
                                         "    i = tl.arange(0, BLOCK)\n"
                                         "    tl.store(x + i, 1.0, mask=i < n)\n"));
  Tensor x = must(Tensor::empty(device, DType::Float32, {64}));
  Kernel fill = must(program.kernel("fill"));
  auto rows =
      must(fill.tune(must(device.createStream()), [](const Configuration &) { return Grid(); },
                     std::array<Argument, 2>{x, 64}, {.seconds = 0.4}));
  for (const TuneRow &row : rows)
    std::fprintf(stderr, "%s: %g\n", row.configuration.text().c_str(), row.seconds);
  // 400 samples, a quarter of them for the one that is hopeless.
  auto calls = reinterpret_cast<long (*)(const char *)>(
      ::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), "fake_cuda_calls"));
  std::fprintf(stderr, "%ld\n", calls("cuEventElapsedTime"));
  std::_Exit(rows.size() == 3 && rows[0].seconds == rows[1].seconds &&
                     std::abs(rows[0].seconds - 1e-3) < 1e-6 &&
                     std::abs(rows[2].seconds - 2e-3) < 1e-6 && calls("cuEventElapsedTime") == 900
                 ? 0
                 : 1);
}

TEST_F(FakeCuda, TuningMeasuresByEvents) {
  EXPECT_EXIT(tuneByEvents(), testing::ExitedWithCode(0), "");
}

// One of its configurations stores far outside of the tensor.
[[noreturn]] void tuneWithAFault(const std::string &file) {
  EngineOptions options;
  options.cacheOnDisk = false;
  options.tuningFile = file;
  Engine engine = must(Engine::create(options));
  Program program = must(engine.loadText(R"(
import triton
import triton.language as tl

@triton.autotune([triton.Config({"BLOCK": b}) for b in (16, 32, 64)], key=["n"])
@triton.jit
def fill(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i + (1 << 44 if BLOCK == 16 else 0), 1.0, mask=i < n)
)"));
  Device device = must(Device::open("cuda:0"));
  Tensor x = must(Tensor::empty(device, DType::Float32, {64}));
  Kernel fill = must(program.kernel("fill"));
  const std::array<Argument, 2> arguments = {x, 16};
  auto rows = fill.tune(must(device.createStream()), [](const Configuration &) { return Grid(); },
                        arguments, {.seconds = 0.001});
  if (!rows)
    std::fprintf(stderr, "%s\n", rows.error().what.c_str());
  else
    std::fprintf(stderr, "%s, not %s: %s\n",
                 must(fill.configuration(device, arguments)).text().c_str(),
                 rows->back().configuration.text().c_str(), rows->back().failure.c_str());
  std::_Exit(rows ? 0 : 1);
}

TEST_F(FakeCuda, AConfigurationThatFaultsIsPassedOverByTheNextProcess) {
  ::setenv("FAKE_CUDA", "runs lost", 1);
  ::setenv("NEREID_PTXAS", NEREID_SOURCE_DIR "/test/fake_cuda/ptxas.sh", 1);
  // The processes of a death test come here too.
  auto fileOf = [](pid_t pid) {
    return (fs::temp_directory_path() / ("nereid-fault-" + std::to_string(pid))).string();
  };
  const std::string file = fileOf(::getppid());
  EXPECT_EXIT(tuneWithAFault(file), testing::ExitedWithCode(1),
              "tuning `fill` ends at the configuration `BLOCK=16 num_warps=4 num_stages=3`: "
              ".*ILLEGAL_ADDRESS.*; `.*` refuses it from now on: start the process again");
  EXPECT_EXIT(tuneWithAFault(file), testing::ExitedWithCode(0),
              "BLOCK=(32|64) .*, not BLOCK=16 .*: refused since .*ILLEGAL_ADDRESS");
  fs::remove(fileOf(::getpid()));
  EXPECT_EXIT(tuneWithAFault(""), testing::ExitedWithCode(1),
              "with an `EngineOptions::tuningFile` the next process would pass over it");
  ::unsetenv("NEREID_PTXAS");
}

// Hooks of configurations and of tuning, by what they leave in memory.
constexpr const char *hooked = R"(
import triton
import triton.language as tl

def clear(args):
    args["seen"].fill_(args["BLOCK"])
    assert args["seen"].shape == (1,) and args["seen"].numel() == 1
    assert args["seen"].dtype == tl.int32

def count(args, reset_only=False):
    args["before"].fill_(7)

def after(args, exception=None):
    args["after"].fill_(9)

@triton.autotune(configs=[triton.Config({"BLOCK": b}, pre_hook=clear) for b in (32, 64)], key=["n"],
                 reset_to_zero=["sums"], restore_value=["x"], pre_hook=count, post_hook=after)
@triton.jit
def accumulate(x, sums, seen, before, after, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.atomic_add(sums, tl.sum(v, 0))
    tl.store(x + i, v + 1, mask=i < n)

def shape_blocks(args):
    args["source"].block_shape = [args["BLOCK"], args["BLOCK"]]
    args["target"].block_shape = [args["BLOCK"], args["BLOCK"]]

@triton.autotune(configs=[triton.Config({"BLOCK": b}, pre_hook=shape_blocks) for b in (16, 32)], key=[])
@triton.jit
def copy(source, target, BLOCK: tl.constexpr):
    at = [tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK]
    target.store(at, source.load(at))

def bad(args):
    args["x"].nonsense()

@triton.autotune(configs=[triton.Config({"BLOCK": 32}, pre_hook=bad)], key=[])
@triton.jit
def refused(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)

def early(configs, args, **words):
    return [c for c in configs if c.kwargs["BLOCK"] <= args["n"]]

@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (16, 32, 64, 128)], key=["n"],
                 prune_configs_by={"early_config_prune": early})
@triton.jit
def pruned(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, 2.0, mask=i < n)
)";

Tensor tensorOf(std::vector<float> values) {
  Tensor tensor =
      must(Tensor::empty(must(Device::open("cpu")), DType::Float32, {int64_t(values.size())}));
  must(tensor.upload(values.data()));
  return tensor;
}
Tensor number(int32_t value) {
  Tensor tensor = must(Tensor::empty(must(Device::open("cpu")), DType::Int32, {1}));
  must(tensor.upload(&value));
  return tensor;
}

TEST_F(ApiTest, TuningResetsAndRestoresAndCallsHooks) {
  Device cpu = must(Device::open("cpu"));
  Program program =
      must(must(Engine::create({.cacheOnDisk = false})).loadText(hooked, "hooked.py"));
  Kernel kernel = must(program.kernel("accumulate"));
  Tensor x = tensorOf(std::vector<float>(100, 1.0f)), sums = tensorOf({5});
  Tensor seen = number(0), before = number(0), after = number(0);
  std::vector<Argument> arguments = {x, sums, seen, before, after, 100};
  auto grid = [](const Configuration &configuration) {
    uint32_t block = uint32_t(configuration.integer("BLOCK"));
    return Grid{(100 + block - 1) / block};
  };
  auto rows = must(kernel.tune(cpu.stream(), grid, arguments, {.seconds = 0.001}));
  ASSERT_EQ(rows.size(), 2u);
  // Each started from the same contents, so both are right.
  EXPECT_EQ(rows[1].failure, "");
  EXPECT_EQ(x.data<float>()[0], 1);
  EXPECT_EQ(sums.data<float>()[0], 0);
  EXPECT_EQ(*before.data<int32_t>(), 7);
  EXPECT_EQ(*after.data<int32_t>(), 9);

  // A launch calls the configuration's own hook and no other.
  *before.data<int32_t>() = 0;
  Kernel best = must(kernel.with(rows[0].configuration));
  must(best.launch(cpu.stream(), grid(rows[0].configuration), arguments));
  must(cpu.stream().synchronize());
  EXPECT_EQ(*seen.data<int32_t>(), rows[0].configuration.integer("BLOCK"));
  EXPECT_EQ(*before.data<int32_t>(), 0);
  EXPECT_EQ(sums.data<float>()[0], 100);
}

TEST_F(ApiTest, HooksShapeTheBlocksOfDescriptors) {
  Device cpu = must(Device::open("cpu"));
  Program program =
      must(must(Engine::create({.cacheOnDisk = false})).loadText(hooked, "hooked.py"));
  Kernel kernel = must(program.kernel("copy"));
  std::vector<float> values(64 * 64);
  std::iota(values.begin(), values.end(), 0.0f);
  Tensor source = must(Tensor::empty(cpu, DType::Float32, {64, 64}));
  must(source.upload(values.data()));
  for (const Configuration &configuration : must(kernel.configurations())) {
    Tensor target = must(Tensor::empty(cpu, DType::Float32, {64, 64}));
    must(target.upload(std::vector<float>(64 * 64).data()));
    // The block that the host says does not matter.
    TensorDescriptor from = must(TensorDescriptor::make(source, {64, 64})),
                     to = must(TensorDescriptor::make(target, {64, 64}));
    uint32_t blocks = uint32_t(64 / configuration.integer("BLOCK"));
    must(must(kernel.with(configuration)).launch(cpu.stream(), {blocks, blocks}, {from, to}));
    must(cpu.stream().synchronize());
    EXPECT_EQ(std::vector<float>(target.data<float>(), target.data<float>() + 64 * 64), values);
  }
}

TEST_F(ApiTest, AHookThatFailsRefusesTheLaunch) {
  Device cpu = must(Device::open("cpu"));
  Program program =
      must(must(Engine::create({.cacheOnDisk = false})).loadText(hooked, "hooked.py"));
  Kernel kernel = must(program.kernel("refused"));
  kernel = must(kernel.with(must(kernel.configurations()).at(0)));
  Tensor x = tensorOf(std::vector<float>(32, 0.0f));
  Status status = kernel.launch(cpu.stream(), {1}, {x});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(describe(status.error()).find("a hook of the kernel fails"), std::string::npos)
      << describe(status.error());
  EXPECT_EQ(x.data<float>()[0], 0);
}

TEST_F(ApiTest, PrunedConfigurationsAreNotTuned) {
  Device cpu = must(Device::open("cpu"));
  Program program =
      must(must(Engine::create({.cacheOnDisk = false})).loadText(hooked, "hooked.py"));
  Tensor x = tensorOf(std::vector<float>(40, 0.0f));
  auto rows = must(must(program.kernel("pruned"))
                       .tune(cpu.stream(), [](const Configuration &) { return Grid{3}; },
                             std::vector<Argument>{x, 40}, {.seconds = 0.001, .outputs = {x}}));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_LE(rows[1].configuration.integer("BLOCK"), 32);
}

TEST_F(ApiTest, ProgramsPackWhatTheyLaunched) {
  Device cpu = must(Device::open("cpu"));
  Engine engine = must(Engine::create({.cacheOnDisk = false}));
  Program program = must(engine.loadText(text, "kernels.py"));
  Tensor x = tensorOf({1, 2, 3, 4}), out = tensorOf({0, 0, 0, 0});
  must(must(program.kernel("scale"))
           .launch(cpu.stream(), {1}, {x, out, 4, 2.0f, named("BLOCK", 64)}));
  fs::create_directories(directory);
  std::string path = (directory / "kernels.pack").string();
  must(program.pack(path, program.recordedKeys()));
  Pack pack = must(Pack::open(path));
  EXPECT_EQ(pack.kernels(), std::vector<std::string>{"scale"});
  PackedKernel scale = must(pack.kernel("scale"));
  Tensor again = tensorOf({0, 0, 0, 0});
  scale(cpu.stream(), {1}, x, again, 4, 3.0f, named("BLOCK", 64));
  must(cpu.stream().synchronize());
  EXPECT_EQ(again.data<float>()[3], 12);
  EXPECT_FALSE(scale.launch(cpu.stream(), {1}, {x, again, 4, 3.0f, named("BLOCK", 128)}).ok());
  EXPECT_FALSE(pack.kernel("pair").ok());
  // Adding keeps what is there.
  must(must(program.kernel("scale")).prepare(cpu, {x, out, 4, 2.0f, named("BLOCK", 128)}));
  must(program.pack(path, program.recordedKeys(), true));
  Pack larger = must(Pack::open(path));
  must(must(larger.kernel("scale")).prepare(cpu, std::vector<Argument>{x, again, 4, 3.0f, 128}));
  EXPECT_FALSE(
      program.pack((directory / "missing" / "a.pack").string(), program.recordedKeys()).ok());
}

} // namespace
