// What holds for all calls: choices, workspaces, graphs, freezing.
#include "../runtime/FakeCuda.h"
#include "Examples.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

namespace nereid::kernels::test {
namespace {

namespace fs = std::filesystem;

/// A folder of tables that goes with the test.
struct Tables {
  fs::path folder = fs::temp_directory_path() / ("nereid_tables_" + std::to_string(::getpid()));
  ~Tables() { fs::remove_all(folder); }
  void write(const std::string &rows, std::string_view kernels = "softmax") const {
    fs::create_directories(folder / kernels);
    std::ofstream(folder / kernels / "tuned.json")
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
  EXPECT_NE(broken.error().what.find("row 0 of `rows` cannot be read"), std::string::npos);
}

[[noreturn]] void chooseOnAModel() {
  Engine engine = must(Engine::create({.cacheOnDisk = false}));
  Device device = must(Device::open("cuda:0"));
  Tensor x = must(Tensor::empty(device, F32, {8, 1000}));
  auto choose = [&](const std::string &rows) {
    Tables tables;
    tables.write(rows);
    Library library = must(Library::create(engine, {.tuned = tables.folder.string()}));
    return must(library.choose(Softmax{.x = x, .y = x}));
  };
  auto row = [&](const std::string &target, const std::string &on, int block, double seconds,
                 int columns = 1000) {
    return R"({"variant": "forward.online", "target": ")" + target + R"(", "device": ")" + on +
           R"(", "case": {"M": 8, "N": )" + std::to_string(columns) +
           R"(, "dtype": "f32"}, "config": {"BLOCK": )" + std::to_string(block) +
           R"(, "num_warps": 2}, "seconds": )" + std::to_string(seconds) + "}";
  };
  std::string elsewhere = row("sm_80", "another", 256, 1), other = row("sm_90a", "another", 128, 1);
  Choice choice = choose(other + "," + elsewhere);
  EXPECT_EQ(choice.configuration, "BLOCK=256 num_warps=2 num_stages=3");
  EXPECT_EQ(choice.reason, "measured for M=8 N=1000 dtype='f32', on another");
  EXPECT_EQ(choose(other).reason.substr(0, 6), "a rule");
  // What was measured here goes first, however slow.
  EXPECT_EQ(choose(elsewhere + "," + row("sm_80", device.description(), 512, 2)).configuration,
            "BLOCK=512 num_warps=2 num_stages=3");
  // A shape that is little off, too; one of twice the columns stands behind a sibling's own.
  auto beside = [&](int columns) {
    return choose(elsewhere + "," + row("sm_80", device.description(), 512, 2, columns))
        .configuration.substr(0, 9);
  };
  EXPECT_EQ(beside(1200), "BLOCK=512");
  EXPECT_EQ(beside(2000), "BLOCK=256");
  std::_Exit(testing::Test::HasFailure() ? 1 : 0);
}

TEST(Library, TakesWhatWasMeasuredOnAGpuWithTheSameCode) {
  runtime::test::FakeDriver driver;
  ::setenv("FAKE_CUDA", "runs", 1);
  EXPECT_EXIT(chooseOnAModel(), testing::ExitedWithCode(0), "");
}

TEST(Library, ANormWithAResidualHasRowsOfItsOwn) {
  Tables tables;
  tables.write(R"(
    {"variant": "forward.persistent", "case": {"M": 8, "N": 64, "dtype": "f32"}, "config": {"PROGRAMS": 4, "STAGES": 2, "num_warps": 1}, "seconds": 1.0},
    {"variant": "residual.row", "case": {"M": 8, "N": 64, "dtype": "f32"}, "config": {"num_warps": 2}, "seconds": 3.0})",
               "rms_norm");
  Library library = must(Library::create(setup().engine, {.tuned = tables.folder.string()}));
  Tensor x = make(F32, {8, 64}), w = make(F32, {64}), y = make(F32, {8, 64});
  RmsNorm call{.x = x, .w = w, .y = y};
  EXPECT_EQ(must(library.choose(call)).kernel, "rms_norm: forward.persistent");
  call.residual = make(F32, {8, 64});
  call.sum = make(F32, {8, 64});
  EXPECT_EQ(must(library.choose(call)).kernel, "rms_norm: residual.row");
  EXPECT_EQ(must(library.choose(call)).configuration, "num_warps=2 num_stages=3");
  RmsNorm wide{.x = make(F32, {1, 70000}),
               .w = make(F32, {70000}),
               .y = make(F32, {1, 70000}),
               .residual = make(F32, {1, 70000}),
               .sum = make(F32, {1, 70000})};
  Status status = library.run(setup().stream, wide);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().what,
            "`rms_norm`: no kernel takes a residual with rows of more than 65536");
}

/// A row for every shape that has `variant` with the configuration of its rule.
std::string pinned(std::string_view variant, const Config &config) {
  std::string text = "{\"variant\": \"" + std::string(variant) + "\", \"case\": {}, \"config\": {";
  std::istringstream words(config.text());
  const char *comma = "";
  for (std::string word; words >> word; comma = ", ") {
    size_t at = word.find('=');
    text += comma + ("\"" + word.substr(0, at)) + "\": " + word.substr(at + 1);
  }
  return text + "}, \"seconds\": 1}";
}

/// Where the elements of a tensor lie, row by row.
std::vector<int64_t> placesOf(const Tensor &tensor) {
  std::vector<int64_t> places = {0};
  for (size_t axis = 0; axis < tensor.shape().size(); ++axis) {
    std::vector<int64_t> more;
    for (int64_t place : places)
      for (int64_t i = 0; i < tensor.shape()[axis]; ++i)
        more.push_back(place + i * tensor.strides()[axis]);
    places = std::move(more);
  }
  return places;
}

void fillInputs(const Bound &bound, unsigned seed) {
  std::mt19937 generator(seed);
  for (size_t i = 0; i < bound.operation.arguments.size(); ++i)
    if (const Tensor *tensor = bound.tensors[i];
        tensor && bound.operation.arguments[i].role == Role::In && floats.has(tensor->type()))
      for (int64_t place : placesOf(*tensor))
        setNumberAt(tensor->type(), tensor->data(), place,
                    std::uniform_real_distribution(0.1, 1.0)(generator));
}

std::vector<std::vector<double>> resultsOf(const Bound &bound) {
  std::vector<std::vector<double>> found;
  for (size_t i = 0; i < bound.operation.arguments.size(); ++i)
    if (const Tensor *tensor = bound.tensors[i];
        tensor && bound.operation.arguments[i].role == Role::Out) {
      auto &numbers = found.emplace_back();
      for (int64_t place : placesOf(*tensor))
        numbers.push_back(numberAt(tensor->type(), tensor->data(), place));
    }
  return found;
}

void expectAlike(const std::vector<std::vector<double>> &found,
                 const std::vector<std::vector<double>> &wanted, double tolerance) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i)
    for (size_t at = 0; at < found[i].size(); ++at)
      ASSERT_NEAR(found[i][at], wanted[i][at], tolerance * (1 + std::abs(wanted[i][at])))
          << "result " << i << ", element " << at;
}

// Rules take a few of the variants, tuned tables any of them: each must do what the first does.
TEST(Library, EveryVariantComputesTheSame) {
  const DType half = DType::Float16;
  auto of = [](DType type, std::vector<int64_t> shape) { return Array::random(type, shape, 1); };
  Array transposed = Array::random(F32, {72, 40}, 2);
  // Calls without what all but one variant of them lack, in shapes that all take.
  std::vector<Example> calls = examples();
  for (Example &more : std::vector<Example>{
           example(
               Matmul{.a = of(half, {40, 24}), .b = of(half, {24, 72}), .c = of(half, {40, 72})}),
           // The whole epilogue, and tiles that no number of programs divides.
           example(Matmul{.a = of(half, {40, 24}),
                          .b = of(half, {24, 72}),
                          .c = of(half, {40, 72}),
                          .bias = of(half, {72}),
                          .residual = of(half, {40, 72}),
                          .alpha = 0.5f,
                          .activation = Activation::Silu}),
           example(Matmul{.a = of(half, {40, 32}),
                          .b = of(half, {32, 80}),
                          .c = of(DType::Float8E4NV, {40, 80}),
                          .scale = of(F32, {1}),
                          .activation = Activation::Relu}),
           example(Matmul{.a = of(half, {130, 100}),
                          .b = of(half, {100, 56}),
                          .c = of(half, {130, 56}),
                          .bias = of(half, {56}),
                          .activation = Activation::Gelu}),
           example(Matmul{.a = of(F32, {1, 40}),
                          .b = transposed.view({40, 72}, {1, 40}),
                          .c = of(F32, {1, 72})}),
           example(MatmulBatched{
               .a = of(half, {3, 40, 24}), .b = of(half, {3, 24, 72}), .c = of(half, {3, 40, 72})}),
           example(MatmulScaled{.a = of(DType::Int8, {40, 48}),
                                .b = of(DType::Int8, {64, 48}),
                                .c = of(F32, {40, 64}),
                                .aScale = of(F32, {40}),
                                .bScale = of(F32, {64})}),
           example(
               MatmulGroupedWeightGradient{.a = of(half, {40, 24}),
                                           .dc = of(half, {40, 72}),
                                           .offsets = Array::of(DType::Int32, {4}, {0, 9, 9, 40}),
                                           .db = of(half, {3, 24, 72})}),
           example(Gelu{.x = of(F32, {30}), .y = of(F32, {30}), .exact = true}),
           example(GeluBackward{
               .x = of(F32, {30}), .dy = of(F32, {30}), .dx = of(F32, {30}), .exact = true}),
           example(RmsNorm{.x = of(F32, {5, 30}), .w = of(F32, {30}), .y = of(F32, {5, 30})}),
           example(Cumsum{.x = of(F32, {1, 3000}), .y = of(F32, {1, 3000})}),
           example(Attention{.q = of(half, {2, 4, 40, 40}),
                             .k = of(half, {2, 2, 70, 40}),
                             .v = of(half, {2, 2, 70, 40}),
                             .out = of(half, {2, 4, 40, 40}),
                             .slopes = of(F32, {4}),
                             .causal = true,
                             .window = 50,
                             .softCap = 3}),
       })
    calls.push_back(more);

  std::set<std::string> seen, all;
  unsigned seed = 0;
  for (const Example &call : calls) {
    const OperationRow &row = rowOf(call.operation);
    SCOPED_TRACE(std::string(row.name));
    auto name = [&](const Variant &variant) {
      return std::string(row.name) + " " + std::string(variant.name);
    };
    for (const Variant &variant : row.variants)
      all.insert(name(variant));
    Bound bound = must(bind(row, call.call.get(), nullptr));
    fillInputs(bound, ++seed);
    std::optional<std::vector<std::vector<double>>> first;
    for (const Variant &variant : row.variants) {
      if (variant.unfit && variant.unfit(bound))
        continue;
      SCOPED_TRACE(std::string(variant.name));
      Tables tables;
      tables.write(pinned(variant.name.substr(0, variant.name.find(' ')), variant.rule(bound)),
                   row.folder);
      Library library = must(Library::create(setup().engine, {.tuned = tables.folder.string()}));
      Status status = call.run(library, setup().stream);
      ASSERT_TRUE(status.ok()) << describe(status.error());
      seen.insert(name(variant));
      auto found = resultsOf(bound);
      if (first)
        expectAlike(found, *first, 4e-3);
      else
        first = found;
    }
  }
  for (const std::string &name : all)
    EXPECT_TRUE(seen.count(name)) << name << ": no call here can have it";
}

/// Memory of which only pages that are touched exist.
struct SparseMemory {
  size_t bytes;
  void *data;
  explicit SparseMemory(size_t bytes)
      : bytes(bytes), data(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  SparseMemory(const SparseMemory &) = delete;
  ~SparseMemory() {
    if (data != MAP_FAILED)
      munmap(data, bytes);
  }
};

// Where rows may be apart, their distances are no 32-bit numbers of elements.
TEST(Library, RowsMayBeFarApart) {
  unsigned seed = 0, moved = 0;
  for (const Example &call : examples()) {
    if (call.operation == Operation::StoreKv)
      continue; // a cache with scales has no gaps
    const OperationRow &row = rowOf(call.operation);
    SCOPED_TRACE(std::string(row.name));
    Bound bound = must(bind(row, call.call.get(), nullptr));
    fillInputs(bound, ++seed);
    Status status = call.run(setup().library, setup().stream);
    ASSERT_TRUE(status.ok()) << describe(status.error());
    auto wanted = resultsOf(bound);

    std::vector<std::unique_ptr<SparseMemory>> memory;
    std::vector<std::pair<Tensor *, Tensor>> before;
    for (size_t i = 0; i < row.arguments.size(); ++i) {
      const Tensor *tensor = bound.tensors[i];
      if (!tensor || row.arguments[i].layout == Layout::Dense || tensor->shape().size() < 2 ||
          tensor->size() == tensor->shape().back())
        continue;
      // Pages are dense inside; of others only the last dimension is.
      auto shape = tensor->shape();
      const size_t inside = row.arguments[i].layout == Layout::Pages ? 1 : shape.size() - 1;
      std::vector<int64_t> strides(shape.size(), 1);
      int64_t rows = 1;
      for (size_t axis = 0; axis < inside; ++axis)
        rows *= shape[axis];
      if (rows < 2)
        continue;
      const int64_t apart = ((int64_t(1) << 31) / (rows - 1) + 64) / 16 * 16;
      for (size_t axis = shape.size() - 1; axis-- > 0;)
        strides[axis] = axis + 1 == inside ? apart : strides[axis + 1] * shape[axis + 1];
      memory.push_back(
          std::make_unique<SparseMemory>(size_t(rows * apart * info(tensor->type()).bytes)));
      if (memory.back()->data == MAP_FAILED)
        GTEST_SKIP() << "no address space";
      Tensor far = must(Tensor::wrap(tensor->device(), memory.back()->data, tensor->type(),
                                     std::vector(shape.begin(), shape.end()), strides));
      auto from = placesOf(*tensor), to = placesOf(far);
      for (size_t at = 0; at < from.size(); ++at)
        setNumberAt(far.type(), far.data(), to[at],
                    row.arguments[i].role == Role::In
                        ? numberAt(tensor->type(), tensor->data(), from[at])
                        : 77);
      auto *member = const_cast<Tensor *>(&row.arguments[i].of(call.call.get()));
      before.emplace_back(member, *member);
      *member = far;
      ++moved;
    }
    if (before.empty())
      continue;
    status = call.run(setup().library, setup().stream);
    ASSERT_TRUE(status.ok()) << describe(status.error());
    Bound again = must(bind(row, call.call.get(), nullptr));
    expectAlike(resultsOf(again), wanted, 1e-5);
    for (auto &[member, tensor] : before)
      *member = tensor;
  }
  EXPECT_GT(moved, 40u);
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

// A kernel that counts its programs leaves the count at 0: calls follow one another, in workspaces
// of the library and in the caller's, whatever lies there.
TEST(Library, CountersAreZeroAtEachLaunch) {
  const std::vector<int64_t> lengths = {300, 1, 129}; // of 5, 1 and 3 slices
  Array q = Array::random(F32, {3, 4, 16}, 1), kCache = Array::random(F32, {21, 16, 2, 16}, 2),
        vCache = Array::random(F32, {21, 16, 2, 16}, 3), table = Array::make(DType::Int32, {3, 19}),
        counts = Array::make(DType::Int32, {3}), out = Array::make(F32, {3, 4, 16}),
        wanted = Array::make(F32, {3, 4, 16});
  for (int64_t i = 0; i < table.size(); ++i)
    setNumberAt(DType::Int32, table.tensor.data(), i, double(i * 11 % 21));
  for (int64_t b = 0; b < 3; ++b)
    setNumberAt(DType::Int32, counts.tensor.data(), b, double(lengths[size_t(b)]));
  PagedAttention call{
      .q = q, .kCache = kCache, .vCache = vCache, .table = table, .lengths = counts, .out = wanted};
  Tables tables;
  auto only = [&](const char *variant) {
    tables.write("{\"variant\": \"" + std::string(variant) +
                     "\", \"case\": {}, \"config\": {\"BLOCK_N\": 32, \"SPLITS\": 5}, "
                     "\"seconds\": 1}",
                 "paged_attention");
    return must(Library::create(setup().engine, {.tuned = tables.folder.string()}));
  };
  must(only("decode.split_kv").run(setup().stream, call));
  call.out = out;
  auto expectSame = [&] {
    must(setup().stream.synchronize());
    expectNear(out, [&](int64_t i) { return wanted[i]; }, 1e-6, 1e-6);
    std::memset(out.tensor.data(), 0, out.tensor.bytes());
  };
  Library library = only("decode.split_kv_joined");
  Choice choice = must(library.choose(call));
  EXPECT_EQ(choice.kernel, "paged_attention: decode.split_kv_joined");
  for (int round = 0; round < 3; ++round) {
    must(library.run(setup().stream, call));
    expectSame();
  }
  Array own = Array::make(DType::Int8, {int64_t(choice.workspaceBytes + 256)});
  call.workspace = own;
  for (int round = 0; round < 2; ++round) {
    std::memset(own.tensor.data(), 0x55, own.tensor.bytes());
    must(library.run(setup().stream, call));
    expectSame();
  }
  // A graph clears the caller's workspace each time it runs.
  Stream stream = must(setup().device.createStream());
  for (bool isOwn : {false, true}) {
    call.workspace = isOwn ? own.tensor : Tensor();
    must(library.prepare(stream, call));
    must(stream.beginCapture());
    must(library.run(stream, call));
    Graph graph = must(stream.endCapture());
    for (int round = 0; round < 2; ++round) {
      std::memset(own.tensor.data(), 0x55, own.tensor.bytes());
      must(stream.launch(graph));
      must(stream.synchronize());
      expectSame();
    }
  }
}

TEST(Library, CallsOfRecordedKeysRunFrozen) {
  Array x = Array::random(DType::Float32, {4, 100}, 1), y = Array::make(DType::Float32, {4, 100});
  std::vector<std::string> keys;
  {
    Library first = must(Library::create(must(Engine::create({.cacheOnDisk = false}))));
    must(first.run(setup().stream, Softmax{.x = x, .y = y}));
    must(first.prepare(setup().stream, Gelu{.x = x, .y = y}));
    keys = first.recordedKeys();
  }
  EXPECT_EQ(keys.size(), 2u);
  Engine engine = must(Engine::create({.cacheOnDisk = false}));
  Library library = must(Library::create(engine));
  EXPECT_GE(must(library.buildAhead(keys)), 2u);
  const uint64_t compiled = engine.statistics().compiled;
  engine.freeze(Freeze::Refuse);
  must(library.run(setup().stream, Softmax{.x = x, .y = y}));
  must(library.run(setup().stream, Gelu{.x = x, .y = y}));
  EXPECT_FALSE(library.run(setup().stream, Add{.x = x, .y = x, .out = y}).ok());
  EXPECT_EQ(engine.statistics().compiled, compiled);

  for (const char *wrong : {"", "softmax/kernel.py", "nothing/kernel.py\tkey"}) {
    auto built = library.buildAhead(std::vector<std::string>{wrong});
    ASSERT_FALSE(built.ok()) << wrong;
    EXPECT_NE(built.error().what.find("no "), std::string::npos) << built.error().what;
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
