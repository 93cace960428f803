// What launches of a pack leave open: constants of heuristics and configurations, and the grid.
#include "ApiFixture.h"
#include "nereid/c.h"
#include "nereid/pack.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace nereid;
using namespace nereid::test;
namespace fs = std::filesystem;

namespace {

const char *kernels = R"(
import torch
import triton
import triton.language as tl

WIDE = 32

def block(args):
    """As many as there are, in steps."""
    n = args["n"]
    if args["x"].dtype == torch.float64:
        return 8
    if n > WIDE:
        return 64
    elif n > 16:
        return 32
    return 16

@triton.heuristics({"BLOCK": block,
                    "EVEN": lambda args: args["n"] % args["BLOCK"] == 0,
                    "HAS_BIAS": lambda args: args["bias"] is not None,
                    "HALF": lambda args: args["x"].dtype in (torch.float16, torch.bfloat16)})
@triton.jit
def fill(x, bias, n, BLOCK: tl.constexpr, EVEN: tl.constexpr, HAS_BIAS: tl.constexpr, HALF: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = BLOCK + (1000 if EVEN else 2000) + (0.5 if HALF else 0.0)
    if HAS_BIAS:
        value += tl.load(bias)
    tl.store(x + i, value, mask=i < n)

# What a configuration is shows in what it stores.
@triton.autotune([triton.Config({"BLOCK": b}, num_warps=w) for b in (16, 32) for w in (1, 2)], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def tuned(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, BLOCK * 10 + tl.extra.cuda.num_warps() + (0.5 if EVEN else 0.0), mask=i < n)

@triton.autotune([triton.Config({"BLOCK": b}) for b in (16, 32)], key=["n"],
                 prune_configs_by={"early_config_prune": lambda configs, args, **more: configs[1:]})
@triton.jit
def pruned(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), BLOCK)
)";

struct PackedDecisions : ApiTest {
  void SetUp() override {
    ApiTest::SetUp();
    fs::create_directories(directory);
    file = directory / "kernels.pack";
    EngineOptions options;
    options.cacheOnDisk = false;
    options.tuningFile = directory / "tuned.json";
    engine = must(Engine::create(options));
    program = must(engine.loadText(kernels, "decisions.py"));
  }
  PackedKernel packed(const char *name, const PackOptions &options = {}) {
    must(program.pack(file, program.recordedKeys(), options));
    return must(must(Pack::open(file)).kernel(name));
  }
  // What a launch of one program stores first.
  template <typename Kernel> double stored(const Kernel &kernel, std::vector<Argument> arguments) {
    must(kernel.launch(stream, Grid{1}, arguments));
    must(stream.synchronize());
    return x[0];
  }

  std::string file;
  Engine engine;
  Program program;
  Stream stream = cpu().stream();
  std::vector<float> x = std::vector<float>(256);
};

TEST_F(PackedDecisions, HeuristicsAreComputedAtEachLaunch) {
  Kernel fill = must(program.kernel("fill"));
  float bias = 100;
  std::vector<std::vector<Argument>> launches;
  for (int n : {16, 17, 32, 64, 100})
    for (bool hasBias : {false, true})
      launches.push_back({x.data(), hasBias ? Argument(&bias) : Argument(nullptr), n});
  std::vector<double> wanted;
  for (const auto &launch : launches)
    wanted.push_back(stored(fill, launch));
  EXPECT_EQ(wanted[0], 1016);
  EXPECT_EQ(wanted[3], 2132);
  PackedKernel again = packed("fill");
  for (size_t i = 0; i < launches.size(); ++i)
    EXPECT_EQ(stored(again, launches[i]), wanted[i]) << i;
  // What is given stays; and code that nobody built is not there, whichever way it is chosen.
  EXPECT_EQ(stored(again, {x.data(), nullptr, 100, named("BLOCK", 64)}), 2064);
  std::vector<double> wide(64);
  EXPECT_FALSE(again.launch(stream, {1}, {wide.data(), nullptr, 16}));
  // A rule that fails is shown.
  Status status = again.launch(stream, {1}, {x.data(), nullptr, 64, named("BLOCK", 0)});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().what,
            "cannot launch `fill`: its heuristic for `EVEN` is `((n % BLOCK) == "
            "0)`: division by zero");
}

TEST_F(PackedDecisions, HeuristicsAskTensorsForTheirType) {
  Kernel fill = must(program.kernel("fill"));
  std::vector<double> wide(64);
  fill(stream, {1}, wide.data(), nullptr, 64);
  EXPECT_EQ(wide[0], 1008);
  Tensor half = must(Tensor::empty(cpu(), DType::Float16, {64}));
  fill(stream, {1}, half, nullptr, 16);
  must(stream.synchronize());
  EXPECT_EQ(*half.data<uint16_t>(), 0x63f1); // 1016.5
  PackedKernel again = packed("fill");
  wide[0] = 0;
  again(stream, {1}, wide.data(), nullptr, 64);
  must(stream.synchronize());
  EXPECT_EQ(wide[0], 1008);
}

TEST_F(PackedDecisions, ConfigurationsAreChosenByKey) {
  Kernel tuned = must(program.kernel("tuned"));
  auto all = must(tuned.configurations());
  ASSERT_EQ(all.size(), 4u);
  for (const Configuration &one : all)
    for (int n : {16, 40, 64})
      stored(must(tuned.with(one)), {x.data(), n});
  std::ofstream(directory / "tuned.json") << R"({"version": 1, "rows": [
{"kernel": "tuned", "case": {"n": 40, "x": "fp32"}, "config": {"BLOCK": 16, "num_warps": 2, "num_stages": 3}},
{"kernel": "tuned", "case": {"n": 64}, "config": {"BLOCK": 16, "num_warps": 1, "num_stages": 3}},
{"kernel": "tuned", "case": {"n": 64}, "target": "x86-64", "config": {"BLOCK": 32, "num_warps": 2, "num_stages": 3}},
{"kernel": "tuned", "case": {"n": 64}, "target": "sm_90", "config": {"BLOCK": 16, "num_warps": 1, "num_stages": 3}},
{"kernel": "tuned", "case": {"n": 16}, "config": {"BLOCK": 256, "num_warps": 1, "num_stages": 3}},
{"kernel": "fill", "case": {"n": 16}, "config": {"BLOCK": 64}}]})";
  auto chosen = [&](int n) {
    const Argument arguments[] = {x.data(), n};
    return stored(must(tuned.with(must(tuned.configuration(cpu(), arguments)))), {x.data(), n});
  };
  PackedKernel again = packed("tuned");
  EXPECT_EQ(stored(again, {x.data(), 40}), 162);
  EXPECT_EQ(stored(again, {x.data(), 64}), 322.5);
  EXPECT_EQ(stored(again, {x.data(), 16}), 161.5); // nobody measured it: the first one
  for (int n : {16, 40, 64})
    EXPECT_EQ(stored(again, {x.data(), n}), chosen(n)) << n;
  // Given constants are kept, with the configuration that has them.
  EXPECT_EQ(stored(again, {x.data(), 40, named("BLOCK", 32)}), 321);
  // A second pack over the first keeps the choices.
  must(program.pack(file, {}, {.add = true}));
  again = must(must(Pack::open(file)).kernel("tuned"));
  EXPECT_EQ(stored(again, {x.data(), 40}), 162);
  EXPECT_EQ(stored(again, {x.data(), 64}), 322.5);
}

TEST_F(PackedDecisions, WhatPruningDecidesIsNotGuessed) {
  Kernel pruned = must(program.kernel("pruned"));
  for (const Configuration &one : must(pruned.configurations()))
    stored(must(pruned.with(one)), {x.data(), 8});
  std::ofstream(directory / "tuned.json")
      << R"({"version": 1, "rows": [{"kernel": "pruned", "case": {"n": 8}, "config": {"BLOCK": 32}}]})";
  PackedKernel again = packed("pruned");
  EXPECT_EQ(stored(again, {x.data(), 8}), 32);
  Status status = again.launch(stream, {1}, {x.data(), 9});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().what,
            "cannot launch `pruned`: `BLOCK` is left open, and none of the pack's 1 configurations "
            "is for these arguments on this device");
}

TEST_F(PackedDecisions, GridsGoAlong) {
  Kernel fill = must(program.kernel("fill"));
  for (int n : {16, 100})
    stored(fill, {x.data(), nullptr, n});
  PackedKernel again =
      packed("fill", {.grids = {{"fill", "lambda meta: (triton.cdiv(n, meta['BLOCK']),)"}}});
  x.assign(256, 0);
  must(again.launch(stream, {x.data(), nullptr, 100}));
  must(stream.synchronize());
  EXPECT_EQ(x[99], 2064);
  EXPECT_EQ(x[100], 0);
  EXPECT_FALSE(program.pack(file, program.recordedKeys(), {.grids = {{"fill", "m // 2"}}}));
  EXPECT_FALSE(program.pack(file, program.recordedKeys(), {.grids = {{"tuned", "1"}}}));
}

TEST_F(PackedDecisions, CProgramsPackGrids) {
  nereid_engine *c = nullptr;
  nereid_program *loaded = nullptr;
  ASSERT_EQ(nereid_engine_create(nullptr, &c), NEREID_OK);
  ASSERT_EQ(nereid_program_load_text(c, kernels, std::char_traits<char>::length(kernels), "c.py",
                                     &loaded),
            NEREID_OK);
  stored(must(program.kernel("fill")), {x.data(), nullptr, 100});
  std::string key = program.recordedKeys().at(0);
  const char *keys[] = {key.c_str()}, *names[] = {"fill"}, *grids[] = {"cdiv(n, BLOCK)"};
  ASSERT_EQ(nereid_program_pack_with_grids(loaded, file.c_str(), keys, 1, 0, names, grids, 1),
            NEREID_OK)
      << nereid_last_error();
  EXPECT_EQ(nereid_program_pack_with_grids(loaded, file.c_str(), keys, 1, 0, nullptr, nullptr, 1),
            NEREID_BAD_CALL);
  nereid_program_destroy(loaded);
  nereid_engine_destroy(c);
  nereid_pack *pack = nullptr;
  nereid_packed_kernel *fill = nullptr;
  nereid_stream *on = nullptr;
  nereid_device *device = nullptr;
  ASSERT_EQ(nereid_device_open("cpu", &device), NEREID_OK);
  ASSERT_EQ(nereid_stream_create(device, &on), NEREID_OK);
  ASSERT_EQ(nereid_pack_open(file.c_str(), &pack), NEREID_OK);
  ASSERT_EQ(nereid_pack_kernel(pack, "fill", &fill), NEREID_OK);
  x.assign(256, 0);
  nereid_argument arguments[3] = {{NEREID_ARG_POINTER, NEREID_FLOAT32, nullptr, {0}},
                                  {NEREID_ARG_NONE, NEREID_FLOAT32, nullptr, {0}},
                                  {NEREID_ARG_INT, NEREID_INT32, nullptr, {0}}};
  arguments[0].value.pointer = x.data();
  arguments[2].value.integer = 100;
  ASSERT_EQ(nereid_packed_kernel_launch(fill, on, nullptr, arguments, 3), NEREID_OK)
      << nereid_last_error();
  ASSERT_EQ(nereid_stream_synchronize(on), NEREID_OK);
  EXPECT_EQ(x[99], 2064);
  nereid_packed_kernel_destroy(fill);
  nereid_pack_destroy(pack);
  nereid_stream_destroy(on);
  nereid_device_destroy(device);
}

} // namespace
