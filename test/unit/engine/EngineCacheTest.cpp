// What an engine keeps of built kernels: on disk, in memory, by key, in a pack; and frozen engines.
#include "../runtime/FakeCuda.h"
#include "ApiFixture.h"
#include "nereid/pack.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>

using namespace nereid;
using namespace nereid::test;
namespace fs = std::filesystem;
using runtime::test::FakeCuda;

namespace {

// Warps and stages are no matter of a CPU; each key finds the code, also on the disk.
TEST_F(ApiTest, ConfigurationsOfOneCodeAreCompiledOnce) {
  auto inEach = [](const Engine &engine) {
    Program program = must(engine.loadText(text, "text.py"));
    for (int n : {4, 8, 1}) {
      CompileOptions options{.numWarps = n, .numStages = n, .maxRegisters = 8 * n};
      EXPECT_TRUE(scaleWorks(must(program.kernel("scale", options)), 100));
    }
  };
  Engine one = engine();
  inEach(one);
  EXPECT_EQ(one.statistics().compiled, 1u);
  Engine next = engine();
  inEach(next);
  EXPECT_EQ(next.statistics().compiled, 0u);
  EXPECT_EQ(next.statistics().fromDisk, 3u);
}

TEST_F(ApiTest, AKernelThatAsksForItsWarpsIsCompiledForEach) {
  constexpr const char *asks = R"(
import triton
import triton.language as tl
from triton.language import core

@core.builtin
def warps(_semantic=None):
    return core.constexpr(_semantic.builder.options.num_warps)

@triton.jit
def show(out):
    tl.store(out, warps())
)";
  Engine one = engine();
  Program program = must(one.loadText(asks, "asks.py"));
  for (int n : {4, 8, 4}) {
    int32_t out = 0;
    must(program.kernel("show", {.numWarps = n}))(cpu().stream(), {1}, &out);
    EXPECT_EQ(out, n);
  }
  EXPECT_EQ(one.statistics().compiled, 2u);
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
  other.fpFusion = false;
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

// What a callback throws leaves the launch; the next launch of that kind finds nothing in its way.
TEST_F(ApiTest, CallbacksMayThrow) {
  for (bool inStep : {false, true}) {
    bool throws = true;
    EngineOptions options;
    options.cacheOnDisk = false;
    options.onCompile = [&](const CompileEvent &) {
      if (throws && !inStep)
        throw std::runtime_error("compile");
    };
    options.onStep = [&](const CompileStep &) {
      if (throws && inStep)
        throw std::runtime_error("step");
    };
    std::vector<std::string> keys;
    {
      Engine one = must(Engine::create(options));
      Program program = must(one.loadText(text, "text.py"));
      Kernel scale = must(program.kernel("scale"));
      EXPECT_THROW(scaleWorks(scale, 100), std::runtime_error);
      throws = false;
      EXPECT_TRUE(scaleWorks(scale, 100));
      keys = program.recordedKeys();
    }
    ASSERT_FALSE(keys.empty());
    keys.resize(4, keys[0]); // on threads of the engine
    throws = true;
    Engine other = must(Engine::create(options));
    Program program = must(other.loadText(text, "text.py"));
    EXPECT_THROW(static_cast<void>(program.buildAhead(keys)), std::runtime_error);
    throws = false;
    EXPECT_EQ(must(program.buildAhead(keys)), 8u);
  }
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

// Vectors of a CPU begin anywhere: it has no use for classes that Triton does not tell apart.
TEST_F(ApiTest, MultiplesOfEightAndFourShareTheCodeOfACpu) {
  Engine one = engine();
  Kernel scale = kernel(one, "scale");
  for (int n : {63, 56, 60})
    EXPECT_TRUE(scaleWorks(scale, n));
  EXPECT_EQ(one.statistics().compiled, 1u);
}

[[noreturn]] void launchByDivisors() {
  std::vector<std::string> signatures;
  EngineOptions options{.cacheOnDisk = false};
  options.onCompile = [&](const CompileEvent &event) { signatures.push_back(event.signature); };
  Engine one = must(Engine::create(options)), other = must(Engine::create(options));
  Device device = must(Device::open("cuda:0"));
  Tensor x = must(Tensor::empty(device, DType::Float32, {1024}));
  auto launch = [&](Kernel &kernel, int n) {
    return kernel.launch(device.stream(), {16}, {x, x, n, 2.0, named("BLOCK", 64)}).ok();
  };
  Program program = must(one.loadText(text, "text.py"));
  Kernel scale = must(program.kernel("scale"));
  bool works = true;
  for (int n : {1001, 1000, 1004, 1012, 1016, 1002, 1008, 992})
    works &= launch(scale, n);
  auto built = [](const char *n) { return std::string("*fp32:16, *fp32:16, ") + n + ", fp32, 64"; };
  works &= signatures == std::vector{built("i32"), built("i32:8"), built("i32:4"), built("i32:16")};

  // Frozen, what is closest and built runs; a multiple of 16 is none of these.
  std::vector<std::string> keys;
  for (const std::string &key : program.recordedKeys())
    if (key.find("i32:") == std::string::npos)
      keys.push_back(key);
  Program frozen = must(other.loadText(text, "text.py"));
  works &= keys.size() == 1 && must(frozen.buildAhead(keys)) == 2;
  other.freeze(Freeze::Refuse);
  Kernel again = must(frozen.kernel("scale"));
  works &= launch(again, 1001) && launch(again, 1000) && launch(again, 1004);
  works &= !launch(again, 1008) && other.statistics().compiled == 2;
  other.freeze(Freeze::Generic);
  works &= launch(again, 1008);
  for (const std::string &signature : signatures)
    std::fprintf(stderr, "%s\n", signature.c_str());
  std::_Exit(works ? 0 : 1);
}

TEST_F(FakeCuda, MultiplesOfEightAndFourHaveCodeOfTheirOwn) {
  EXPECT_EXIT(launchByDivisors(), testing::ExitedWithCode(0), "");
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
  Status gridless = scale.launch(cpu.stream(), {x, again, 4, 3.0f, named("BLOCK", 64)});
  ASSERT_FALSE(gridless.ok());
  EXPECT_EQ(gridless.error().what, "cannot launch `scale`: no grid is given, and the code brings "
                                   "none along (`nereid compile --grid`)");
  Status few = scale.launch(cpu.stream(), {1}, {x, again, named("BLOCK", 64)});
  ASSERT_FALSE(few.ok());
  EXPECT_EQ(few.error().what, "cannot launch `scale`: nothing is given for `n`, `factor`");
  EXPECT_FALSE(pack.kernel("pair").ok());
  // Adding keeps what is there.
  must(must(program.kernel("scale")).prepare(cpu, {x, out, 4, 2.0f, named("BLOCK", 128)}));
  must(program.pack(path, program.recordedKeys(), {.add = true}));
  Pack larger = must(Pack::open(path));
  must(must(larger.kernel("scale")).prepare(cpu, std::vector<Argument>{x, again, 4, 3.0f, 128}));
  EXPECT_FALSE(
      program.pack((directory / "missing" / "a.pack").string(), program.recordedKeys()).ok());
}

} // namespace
