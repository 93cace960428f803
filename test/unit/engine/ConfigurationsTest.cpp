// Configurations of @triton.autotune: listed, chosen, tuned, kept, with their hooks.
#include "../runtime/FakeCuda.h"
#include "ApiFixture.h"
#include "engine/Compile.h"
#include "engine/Heuristics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <unistd.h>

using namespace nereid;
using namespace nereid::test;
namespace fs = std::filesystem;
using runtime::test::FakeCuda;

namespace {

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

const char *heuristicKernels = R"(
import triton
import triton.language as tl

LIMIT = 16

def short(args):
    return next(args["n"] <= limit for limit in [LIMIT])

@triton.heuristics({"BLOCK": lambda args: min(64, triton.next_power_of_2(args["n"])), "SHORT": short})
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0,
                    "HAS_BIAS": lambda args: args["bias"] is not None})
@triton.jit
def fill(x, bias, n, BLOCK: tl.constexpr, EVEN: tl.constexpr, HAS_BIAS: tl.constexpr, SHORT: tl.constexpr = True):
    i = tl.arange(0, BLOCK)
    value = 1.0 if EVEN else 2.0
    if HAS_BIAS:
        value += tl.load(bias)
    if SHORT:
        value += 100.0
    tl.store(x + i, value, mask=i < n)

@triton.heuristics({"BLOCK": lambda args: 64})
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def arithmetic(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    tl.store(x, n)

@triton.heuristics({"BLOCK": lambda args: args["m"] // 2})
@triton.jit
def fails(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)
)";

TEST_F(ApiTest, LaunchesApplyHeuristics) {
  Engine one = engine();
  Program program = must(one.loadText(heuristicKernels, "heuristics.py"));
  Kernel fill = must(program.kernel("fill"));
  Stream stream = cpu().stream();
  // `SHORT` needs the evaluator, which remembers what it said last.
  auto filled = [&](const Kernel &kernel, int n, const float *bias) {
    std::vector<float> x(64);
    for (int again = 0; again < 2; ++again)
      kernel(stream, {1}, x.data(), bias ? Argument(bias) : Argument(nullptr), n);
    EXPECT_EQ(n == 64 || x[size_t(n)] == 0, true) << n;
    return x[size_t(n) - 1];
  };
  float bias = 10;
  EXPECT_EQ(filled(fill, 64, nullptr), 1);
  EXPECT_EQ(filled(fill, 63, nullptr), 2);
  EXPECT_EQ(filled(fill, 16, &bias), 111);
  EXPECT_EQ(filled(fill, 17, &bias), 12);
  EXPECT_EQ(filled(fill, 64, &bias), 11);
  // What is given stays, and decides what follows from it.
  std::vector<float> x(64);
  fill(stream, {1}, x.data(), nullptr, 16, named("BLOCK", 64), named("SHORT", false));
  EXPECT_EQ(x[15], 2);
  must(fill.prepare(cpu(), {x.data(), nullptr, 8}));
  // A configuration was asked for one launch, and serves others.
  const Argument arguments[] = {x.data(), nullptr, 64};
  Kernel chosen = must(fill.with(must(fill.configuration(cpu(), arguments))));
  EXPECT_EQ(filled(chosen, 64, nullptr), 1);
  EXPECT_EQ(filled(chosen, 63, nullptr), 2);

  Status status = must(program.kernel("fails")).launch(stream, {1}, {x.data(), 8});
  ASSERT_FALSE(status);
  EXPECT_NE(describe(status.error()).find("heuristics.py:29:43: error: "), std::string::npos)
      << describe(status.error());
}

// What a tensor is, decorators see also where the evaluator answers them; and another tensor is
// asked anew.
TEST_F(ApiTest, DecoratorsSeeWhatTensorsAre) {
  Engine one = engine();
  Program program = must(one.loadText(R"(
import torch
import triton
import triton.language as tl

def rows(args):
    count = 1
    for size in args["x"].shape[:-1]:
        count *= size
    return count * args["x"].size(-1) // args["x"].stride(0) * args["x"].ndim

def wide(args):
    return any(args["x"].dtype == dtype for dtype in [torch.float64, torch.int64])

@triton.heuristics({"ROWS": rows})
@triton.jit
def shaped(x, out, ROWS: tl.constexpr):
    tl.store(out, ROWS)

@triton.heuristics({"WIDE": wide, "BYTES": lambda args: max(args["x"].element_size() for _ in [0])})
@triton.jit
def typed(x, out, WIDE: tl.constexpr, BYTES: tl.constexpr):
    tl.store(out, BYTES * 10 + WIDE)

@triton.autotune([triton.Config({"BLOCK": b}) for b in (16, 32)], key=[],
                 prune_configs_by={"early_config_prune": lambda configs, args, **more:
                                   [c for c in configs if c.kwargs["BLOCK"] <= args["x"].numel()]})
@triton.jit
def pruned(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 1.0)
)"));
  float out = 0;
  auto result = [&](const char *kernel, Argument x) {
    must(program.kernel(kernel))(cpu().stream(), {1}, x, &out);
    return out;
  };
  Tensor tall = must(Tensor::empty(cpu(), DType::Float32, {6, 2})),
         flat = must(Tensor::empty(cpu(), DType::Float32, {2, 3, 4}));
  Kernel shaped = must(program.kernel("shaped"));
  for (int round = 0; round < 2; ++round) {
    shaped(cpu().stream(), {1}, tall, &out);
    EXPECT_EQ(out, 12);
    shaped(cpu().stream(), {1}, flat, &out);
    EXPECT_EQ(out, 6);
  }
  std::vector<double> doubles(4);
  EXPECT_EQ(result("typed", tall), 40);
  EXPECT_EQ(result("typed", doubles.data()), 81);
  // Of a bare pointer nothing but the type is known.
  Status status = shaped.launch(cpu().stream(), {1}, {doubles.data(), &out});
  ASSERT_FALSE(status);
  EXPECT_NE(describe(status.error()).find("the argument `x`"), std::string::npos)
      << describe(status.error());
  const Argument arguments[] = {flat};
  EXPECT_EQ(must(must(program.kernel("pruned")).configurations(arguments)).size(), 1u);
}

// Arithmetic of the arguments is computed without the evaluator, other functions are not.
TEST_F(ApiTest, HeuristicsAreHostExpressions) {
  emit::SourceUnit unit;
  unit.text = heuristicKernels;
  unit.file = "heuristics.py";
  auto loaded = emit::Program::load(unit);
  ASSERT_TRUE(loaded.program);
  auto of = [&](const char *kernel) {
    return must(
        engine::heuristicsOf(*loaded.program, must(engine::signatureOf(*loaded.program, kernel))));
  };
  std::vector<launch::Argument> arguments(4);
  arguments[0] = launch::Argument::pointer(arguments.data(), DType::Float32);
  arguments[1] = launch::Argument::integer(128);
  EXPECT_FALSE(of("arithmetic").fill(arguments)); // nothing is left open
  EXPECT_EQ(arguments[2].bits, 64u);
  EXPECT_TRUE(arguments[3].kind == launch::Argument::Kind::Bool && arguments[3].bits == 1);
  arguments.assign(7, launch::Argument::none());
  arguments[2] = launch::Argument::integer(63);
  for (size_t i = 3; i < 7; ++i)
    arguments[i] = launch::Argument();
  launch::Heuristics fill = of("fill");
  const launch::Heuristics::Rule *open = fill.fill(arguments);
  ASSERT_TRUE(open);
  EXPECT_EQ(open->parameter, 6u); // `short` makes a generator
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
  // 400 samples, of which a glance is a quarter, and a quarter of that shows that there is no hope;
  // 40 in each of three turns of the two that are close.
  auto calls = reinterpret_cast<long (*)(const char *)>(
      ::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), "fake_cuda_calls"));
  std::fprintf(stderr, "%ld\n", calls("cuEventElapsedTime"));
  std::_Exit(rows.size() == 3 && rows[0].seconds == rows[1].seconds &&
                     std::abs(rows[0].seconds - 1e-3) < 1e-6 &&
                     std::abs(rows[2].seconds - 2e-3) < 1e-6 &&
                     calls("cuEventElapsedTime") == 100 + 25 + 100 + 240
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

} // namespace
