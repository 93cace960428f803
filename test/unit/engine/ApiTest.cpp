// The classes of nereid/engine.h: launches, tensors, devices, what they say of mistakes.
#include "ApiFixture.h"
#include "nereid/c.h"
#include "nereid/pack.h"
#include "nereid/profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <numeric>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace nereid;
using namespace nereid::test;
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

namespace {

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

  // Of a text the line is shown while its program lives, unless another one has the same name.
  EXPECT_NE(describe(refused.error()).find("\n   21 | "), std::string::npos)
      << describe(refused.error());
  EXPECT_NE(describe(unparsed.error()).find("\n    1 | def f(:"), std::string::npos)
      << describe(unparsed.error());
  {
    Program other = must(one.loadText("BLOCK = 1\n", "text.py"));
    EXPECT_EQ(describe(refused.error()).find("\n   21 | "), std::string::npos);
  }
  EXPECT_NE(describe(refused.error()).find("\n   21 | "), std::string::npos);

  // Of a source that is a file it is shown, too.
  auto file = std::filesystem::path(testing::TempDir()) / "nereid_shown.py";
  std::ofstream(file) << text;
  Status shown = must(must(one.load(file.string())).kernel("wrong"))
                     .launch(cpu().stream(), {1}, {x, named("BLOCK", 64)});
  ASSERT_FALSE(shown);
  EXPECT_NE(describe(shown.error()).find("\n   21 | "), std::string::npos)
      << describe(shown.error());

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
  // BLOCK is missing: a configuration has it. Other kernels take it by name.
  Status open = scale.launch(stream, {1}, {x, x, 64, 1.0});
  ASSERT_FALSE(open);
  EXPECT_NE(describe(open.error()).find("hint: `@triton.autotune` leaves that to a configuration"),
            std::string::npos);
  Status short_ = must(program.kernel("pair")).launch(stream, {1}, {});
  ASSERT_FALSE(short_);
  EXPECT_NE(describe(short_.error())
                .find("hint: a launch gives arguments by position, then by "
                      "name: in C++ `named(\"BLOCK\", 1024)`"),
            std::string::npos)
      << describe(short_.error());
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
  says(PackedKernel().launch(stream, arguments), "PackedKernel");
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
           {[](CompileOptions &o) { o.numWarps = 2048; }, "a power of two up to 1024"},
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

TEST_F(ApiTest, ThreadsWithKernelsOfTheirOwnCompileOnce) {
  Engine one = engine();
  Program program = must(one.loadText(text, "text.py"));
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { good += scaleWorks(must(program.kernel("scale")), 1000); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(good, 4);
  EXPECT_EQ(one.statistics().compiled, 1u);
}

TEST_F(ApiTest, DefinitionsAnswerWhatOnlyPythonKnows) {
  constexpr const char *source = R"(
import triton
import triton.language as tl
from package.utils import is_fast

FACTOR = tl.constexpr(2)
if is_fast():
    root = tl.sqrt
else:
    root = tl.exp

@triton.jit
def change(x):
    tl.store(x, root(tl.load(x)) * FACTOR)
)";
  auto change = [&](std::vector<std::string> definitions) -> std::string {
    EngineOptions options;
    options.cacheOnDisk = false;
    options.definitions = std::move(definitions);
    auto program = must(Engine::create(options)).loadText(source, "change.py");
    float x = 9;
    Status status = program ? must(program->kernel("change")).launch(cpu().stream(), {1}, {&x})
                            : Status(program.takeError());
    return status ? std::to_string(x) : describe(status.error());
  };
  EXPECT_EQ(change({"package.utils.is_fast(...)=True", "FACTOR=5"}), "15.000000");
  EXPECT_NE(change({}).find("`--define 'package.utils.is_fast(...)=True'`"), std::string::npos);
  EXPECT_EQ(change({"FACTOR"}), "definition `FACTOR` is not NAME=VALUE with an expression for the "
                                "value, as in `BLOCK=128`, `TYPE=tl.float16` or `ACTIVATION=relu`");
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
  EXPECT_TRUE(seen.notes().empty());
  // What cannot be sampled is a note, and the rest is recorded.
  profile::start({.lines = "cpu"});
  EXPECT_TRUE(scaleWorks(scale, 100));
  seen = profile::stop();
  ASSERT_EQ(seen.notes().size(), 1u);
  EXPECT_EQ(seen.notes()[0], "cannot sample cpu: only NVIDIA GPUs sample their program counters");
  EXPECT_TRUE(seen.lines().empty());
  EXPECT_EQ(seen.rows().size(), 1u);
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
  EXPECT_EQ(nereid_profile_start_lines(nullptr), NEREID_BAD_CALL);
  EXPECT_EQ(nereid_profile_start_lines("cpu"), NEREID_OK);
  nereid_profile_reader reader = {};
  EXPECT_EQ(nereid_profile_finish(&reader), NEREID_FAILED); // its size is missing
  reader.size = sizeof reader;
  reader.data = &table;
  reader.note = keep;
  EXPECT_EQ(nereid_profile_finish(&reader), NEREID_OK);
  EXPECT_EQ(table, "cannot sample cpu: only NVIDIA GPUs sample their program counters");
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
  EXPECT_FALSE(Tensor::empty(cpu(), DType(77), {1}));
  EXPECT_TRUE(Tensor::wrap(cpu(), nullptr, DType::Float32, {0}));
  EXPECT_FALSE(Device::open("tpu"));
  EXPECT_FALSE(cpu().createEvent().ok() && !cpu().isCpu());
}

TEST_F(ApiTest, AnExecutorThatEndsEarlyLeavesTheRestToTheCaller) {
  struct Idle final : Executor {
    unsigned workers;
    explicit Idle(unsigned workers) : workers(workers) {}
    unsigned concurrency() const override { return workers; }
    void run(unsigned, Body, void *) override {}
  };
  Engine one = engine();
  Kernel scale = kernel(one, "scale");
  for (unsigned workers : {0u, 4u}) {
    must(cpu().setExecutor(std::make_shared<Idle>(workers)));
    bool good = scaleWorks(scale, 1 << 20);
    must(cpu().setExecutor(nullptr));
    EXPECT_TRUE(good);
  }
}

// Other threads of the parent launch all the time: what they hold, the child never waits for.
TEST_F(ApiTest, AForkedChildLaunches) {
  Engine one = engine();
  Kernel scale = kernel(one, "scale");
  Stream parents = must(cpu().createStream());
  ASSERT_TRUE(scaleWorks(scale, 1 << 20));
  must(parents.copy(&one, &one, 0)); // its thread starts
  must(parents.synchronize());
  std::atomic<bool> stop = false;
  std::thread launching([&] {
    while (!stop)
      EXPECT_TRUE(scaleWorks(scale, 1 << 20));
  });
  for (int i = 0; i < 5; ++i) {
    pid_t child = ::fork();
    if (child == 0) {
      ::alarm(60);
      bool good = scaleWorks(scale, 1 << 20);
      Status refused = parents.copy(&i, &i, 0);
      good &= !refused && refused.error().what.find("before a fork") != std::string::npos;
      parents = Stream();
      good &= must(cpu().createStream()).synchronize().ok() && cpu().synchronize().ok();
      ::_exit(good ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  launching.join();
  must(parents.synchronize());
}

TEST_F(ApiTest, AnAllocatorMayThrowThatThereIsNoMemory) {
  struct Full final : Allocator {
    void *allocate(size_t, void *) override { throw std::bad_alloc(); }
    void free(void *, size_t, void *) override {}
  };
  cpu().setAllocator(std::make_shared<Full>());
  auto none = Tensor::empty(cpu(), DType::Float32, {10});
  cpu().setAllocator(nullptr);
  ASSERT_FALSE(none);
  EXPECT_TRUE(none.error().what.starts_with("no memory on cpu for 40 bytes")) << none.error().what;
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

} // namespace
