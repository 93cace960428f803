// What holds for all calls: choices, workspaces, graphs, freezing.
#include "Examples.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace nereid::kernels::test {
namespace {

namespace fs = std::filesystem;

/// A folder of tables that goes with the test.
struct Tables {
  fs::path folder = fs::temp_directory_path() / ("nereid_tables_" + std::to_string(::getpid()));
  Tables() { fs::create_directories(folder / "softmax"); }
  ~Tables() { fs::remove_all(folder); }
  void write(const std::string &rows) const {
    std::ofstream(folder / "softmax" / "tuned.json")
        << "{\"version\": 1, \"rows\": [" << rows << "]}";
  }
};

Choice choiceFor(const Library &library, int64_t rows, int64_t columns,
                 DType type = DType::Float32) {
  Array x = Array::make(type, {rows, columns});
  return must(library.choose(Softmax{.x = x, .y = x}));
}

TEST(Library, TakesTheNearestMeasuredShape) {
  Engine engine = must(Engine::create({.cacheOnDisk = false}));
  Tables tables;
  tables.write(R"(
    {"variant": "forward.online", "case": {"M": 8, "N": 1000, "dtype": "f32"}, "config": {"BLOCK": 256, "num_warps": 2}, "seconds": 2.0},
    {"variant": "forward.single_pass", "case": {"M": 8, "N": 1000, "dtype": "f32"}, "config": {}, "seconds": 3.0},
    {"variant": "forward.single_pass", "case": {"M": 8, "N": 4000, "dtype": "f32"}, "config": {}, "seconds": 1.0},
    {"variant": "forward.online", "case": {"M": 8, "N": 1000, "dtype": "f16"}, "config": {"BLOCK": 512, "num_warps": 8}, "seconds": 1.0},
    {"variant": "forward.online", "case": {"M": 8, "N": 4000, "dtype": "f32"}, "config": {"LANES": 1}, "seconds": 0.1},
    {"variant": "forward.online", "case": {"M": 8, "N": 1000, "dtype": "f32", "padding": 4}, "config": {"BLOCK": 128, "num_warps": 1}, "seconds": 0.1},
    {"variant": "forward.online", "device": "another", "case": {"M": 8, "N": 1000, "dtype": "f32"}, "config": {"BLOCK": 64, "num_warps": 1}, "seconds": 0.1},
    {"variant": "forward.gone", "case": {"M": 8, "N": 1000, "dtype": "f32"}, "config": {}, "seconds": 0.1})");
  Library library = must(Library::create(engine, {.tuned = tables.folder.string()}));
  // The fastest of what was measured there, on this device and for this type.
  Choice choice = choiceFor(library, 8, 1000);
  EXPECT_EQ(choice.kernel, "softmax: forward.online");
  EXPECT_EQ(choice.configuration, "BLOCK=256 num_warps=2 num_stages=3");
  EXPECT_EQ(choice.reason.substr(0, 40), "measured for M=8 N=1000 dtype='f32', on ");
  // Near it; nearer to the other one.
  EXPECT_EQ(choiceFor(library, 16, 700).kernel, "softmax: forward.online");
  EXPECT_EQ(choiceFor(library, 16, 700).reason.substr(0, 24), "measured near, for M=8 N");
  choice = choiceFor(library, 8, 3000);
  EXPECT_EQ(choice.kernel, "softmax: forward.single_pass");
  EXPECT_EQ(choice.configuration, "num_warps=8 num_stages=3"); // what the row leaves open
  EXPECT_EQ(choiceFor(library, 8, 1000, DType::Float16).configuration,
            "BLOCK=512 num_warps=8 num_stages=3");
  // Far from all, and of a type that nobody measured.
  EXPECT_EQ(choiceFor(library, 1000, 1000).reason.substr(0, 6), "a rule");
  EXPECT_EQ(choiceFor(library, 8, 1000, DType::BFloat16).reason.substr(0, 6), "a rule");

  // And the choice runs.
  Array x = Array::random(DType::Float32, {8, 1000}, 1), y = Array::make(DType::Float32, {8, 1000}),
        z = Array::make(DType::Float32, {8, 1000});
  must(library.run(setup().stream, Softmax{.x = x, .y = y}));
  setup().run(Softmax{.x = x, .y = z});
  expectNear(y, [&](int64_t i) { return z[i]; }, 1e-6, 0);

  tables.write("{\"config\": 1}");
  auto broken = Library::create(engine, {.tuned = tables.folder.string()});
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.error().what.find("row 0 cannot be read"), std::string::npos);
}

/// Counts what it gives.
struct CountingAllocator : Allocator {
  size_t given = 0, held = 0;
  void *allocate(size_t bytes, void *) override {
    ++given;
    held += bytes;
    return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  }
  void free(void *pointer, size_t bytes, void *) override {
    held -= bytes;
    std::free(pointer);
  }
};

TEST(Library, WorkspacesComeFromTheCaller) {
  Array x = Array::random(DType::Float32, {40, 30}, 1), w = Array::random(DType::Float32, {30}, 2),
        y = Array::make(DType::Float32, {40, 30});
  LayerNorm call{.x = x, .w = w, .b = w, .y = y};
  auto allocator = std::make_shared<CountingAllocator>();
  {
    Library library = must(Library::create(setup().engine, {.allocator = allocator}));
    const size_t bytes = must(library.workspaceBytes(call));
    EXPECT_GE(bytes, 2u * 40 * 4);
    EXPECT_EQ(allocator->given, 0u);
    must(library.prepare(setup().stream, call));
    EXPECT_EQ(allocator->given, 1u);
    EXPECT_GE(allocator->held, bytes);
    library.layer_norm(setup().stream, call);
    library.layer_norm(setup().stream, call);
    EXPECT_EQ(allocator->given, 1u);
    // One that the call brings.
    Array own = Array::make(DType::Float32, {int64_t(bytes + 256) / 4}),
          small = Array::make(DType::Int8, {16});
    call.workspace = own;
    library.layer_norm(setup().stream, call);
    EXPECT_EQ(allocator->given, 1u);
    call.workspace = small;
    Array untouched = Array::make(DType::Float32, {40, 30});
    call.y = untouched;
    Status status = library.run(setup().stream, call);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().what.find("`workspace` has 16 bytes, and the call needs "),
              std::string::npos);
    expectNear(untouched, [](int64_t) { return 77.0; }, 0, 0);
  }
  EXPECT_EQ(allocator->held, 0u);
}

TEST(Library, CallsCanBeCaptured) {
  Library library = must(Library::create(setup().engine));
  Stream stream = must(setup().device.createStream());
  Array x = Array::random(DType::Float32, {40, 30}, 1), w = Array::random(DType::Float32, {30}, 2),
        y = Array::make(DType::Float32, {40, 30}), z = Array::make(DType::Float32, {40, 30});
  LayerNorm norm{.x = x, .w = w, .b = w, .y = y};
  Softmax softmax{.x = y, .y = z};
  must(stream.beginCapture());
  Status early = library.run(stream, norm);
  must(stream.endCapture());
  ASSERT_FALSE(early.ok());
  EXPECT_NE(early.error().what.find("prepare the call before"), std::string::npos);

  must(library.prepare(stream, norm));
  must(library.prepare(stream, softmax));
  uint64_t compiled = setup().engine.statistics().compiled,
           allocations = setup().device.memory().allocations;
  must(stream.beginCapture());
  library.layer_norm(stream, norm);
  library.softmax(stream, softmax);
  Graph graph = must(stream.endCapture());
  EXPECT_EQ(graph.nodeCount(), 2u);
  EXPECT_EQ(setup().engine.statistics().compiled, compiled);
  EXPECT_EQ(setup().device.memory().allocations, allocations);
  for (unsigned seed : {5u, 6u}) {
    Array fresh = Array::random(DType::Float32, {40, 30}, seed),
          expected = Array::make(DType::Float32, {40, 30});
    std::memcpy(x.tensor.data(), fresh.tensor.data(), x.tensor.bytes());
    must(stream.launch(graph));
    must(stream.synchronize());
    setup().run(LayerNorm{.x = x, .w = w, .b = w, .y = expected});
    setup().run(Softmax{.x = expected, .y = expected});
    expectNear(z, [&](int64_t i) { return expected[i]; }, 0, 0);
  }
}

// What a captured call leaves is what the call itself leaves.
TEST(Library, EveryCallCanBeCaptured) {
  Library library = must(Library::create(setup().engine));
  Stream stream = must(setup().device.createStream());
  for (const Example &one : examples()) {
    const OperationRow &operation = rowOf(one.operation);
    SCOPED_TRACE(std::string(operation.name));
    std::vector<const Tensor *> results;
    for (const ArgumentRow &row : operation.arguments)
      if (const Tensor &tensor = row.of(one.call.get()); tensor && row.role == Role::Out)
        results.push_back(&tensor);
    auto take = [&] {
      std::string bytes;
      for (const Tensor *tensor : results) {
        bytes.append(tensor->data<char>(), tensor->bytes());
        std::memset(tensor->data(), 0, tensor->bytes());
      }
      return bytes;
    };
    take(); // so that both begin with zeros
    must(one.prepare(library, stream));
    const uint64_t compiled = setup().engine.statistics().compiled,
                   allocations = setup().device.memory().allocations;
    must(stream.beginCapture());
    Status status = one.run(library, stream);
    Graph graph = must(stream.endCapture());
    ASSERT_TRUE(status.ok()) << describe(status.error());
    EXPECT_EQ(setup().engine.statistics().compiled, compiled);
    EXPECT_EQ(setup().device.memory().allocations, allocations);
    must(stream.launch(graph));
    must(stream.synchronize());
    std::string captured = take();
    must(one.run(library, stream));
    must(stream.synchronize());
    EXPECT_EQ(captured, take());
  }
}

TEST(Library, FrozenCallsNameThemselves) {
  Engine engine = must(Engine::create({.cacheOnDisk = false}));
  Library library = must(Library::create(engine));
  Array x = Array::random(DType::Float32, {4, 100}, 1), y = Array::make(DType::Float32, {4, 100});
  must(library.prepare(setup().stream, Softmax{.x = x, .y = y}));
  library.freeze();
  must(library.run(setup().stream, Softmax{.x = x, .y = y}));
  Status status = library.run(
      setup().stream, Softmax{.x = y.view({4, 50}, {100, 1}), .y = x.view({4, 50}, {100, 1})});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().what.find("`softmax` of x float32 [4, 50] with strides [100, 1]"),
            std::string::npos)
      << status.error().what;
  EXPECT_NE(status.error().what.find("frozen"), std::string::npos);
  // Kernels of the same engine that are not the library's still compile.
  Program own = must(engine.loadText("import triton\nimport triton.language as "
                                     "tl\n@triton.jit\ndef one(x):\n    tl.store(x, 1.0)\n"));
  must(own.kernel("one"))(setup().stream, {1}, x.tensor);
  EXPECT_EQ(x[0], 1.0);
  library.freeze(false);
  must(library.run(setup().stream, Gelu{.x = x, .y = y}));
}

} // namespace
} // namespace nereid::kernels::test
