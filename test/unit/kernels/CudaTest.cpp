// Every call on a GPU against the same call on the CPU, launched and captured. Skipped without one.
#include "Examples.h"

namespace nereid::kernels::test {
namespace {

/// The arguments of a call that it has.
std::vector<const ArgumentRow *> argumentsOf(const Example &one) {
  std::vector<const ArgumentRow *> rows;
  for (const ArgumentRow &row : rowOf(one.operation).arguments)
    if (row.of(one.call.get()))
      rows.push_back(&row);
  return rows;
}

TEST(Cuda, CallsGiveWhatTheCpuGives) {
  auto found = Device::open("cuda");
  if (!found)
    GTEST_SKIP() << found.error().what;
  Stream stream = must(found->createStream());
  Library library = must(Library::create(setup().engine));
  for (const Example &one : examples()) {
    SCOPED_TRACE(std::string(rowOf(one.operation).name));
    auto rows = argumentsOf(one);
    auto place = [&](const ArgumentRow &row) -> Tensor & {
      return const_cast<Tensor &>(row.of(one.call.get()));
    };
    unsigned seed = 0;
    for (const ArgumentRow *row : rows) {
      const Tensor &tensor = place(*row);
      std::vector<int64_t> shape(tensor.shape().begin(), tensor.shape().end());
      if (row->role == Role::Out)
        std::memset(tensor.data(), 0, tensor.bytes());
      else if (info(tensor.type()).isFloat)
        std::memcpy(tensor.data(), Array::random(tensor.type(), shape, ++seed).tensor.data(),
                    tensor.bytes());
    }
    std::vector<Tensor> host, device;
    for (const ArgumentRow *row : rows) {
      host.push_back(place(*row));
      device.push_back(must(Tensor::empty(*found, host.back().type(), Shape(host.back().shape()))));
      must(device.back().upload(host.back().data()));
    }
    must(one.run(setup().library, setup().stream));

    for (size_t i = 0; i < rows.size(); ++i)
      place(*rows[i]) = device[i];
    auto compare = [&](const char *how) {
      must(stream.synchronize());
      for (size_t i = 0; i < rows.size(); ++i) {
        if (rows[i]->role == Role::In)
          continue;
        SCOPED_TRACE(std::string(how) + ", " + std::string(rows[i]->name));
        std::vector<int64_t> shape(host[i].shape().begin(), host[i].shape().end());
        Array result = Array::make(host[i].type(), shape), expected{host[i]};
        must(device[i].download(result.tensor.data()));
        double largest = 1;
        for (int64_t at = 0; at < expected.size(); ++at)
          largest = std::max(largest, std::abs(expected[at]));
        const DType type = host[i].type();
        // A sum that falls between two numbers of 8 bits may go to either.
        expectNear(
            result, [&](int64_t at) { return expected[at]; }, 0,
            type == DType::Int8  ? 1
            : info(type).isFloat ? 2e-4 * largest
                                 : 0);
        std::memset(result.tensor.data(), 0, result.tensor.bytes());
        must(device[i].upload(result.tensor.data()));
      }
    };
    must(one.run(library, stream));
    compare("launched");
    must(one.prepare(library, stream));
    must(stream.beginCapture());
    Status captured = one.run(library, stream);
    Graph graph = must(stream.endCapture());
    ASSERT_TRUE(captured.ok()) << describe(captured.error());
    must(stream.launch(graph));
    compare("captured");
  }
}

TEST(Cuda, TablesAreVerifiedOnTheDevice) {
  auto found = Device::open("cuda");
  if (!found)
    GTEST_SKIP() << found.error().what;
  Stream stream = found->stream();
  auto onDevice = [&](const Tensor &host) {
    Tensor tensor = must(Tensor::empty(*found, host.type(), Shape(host.shape())));
    must(tensor.upload(host.data()));
    return tensor;
  };
  Array table = Array::of(DType::Int32, {1, 2}, {0, 5}),
        lengths = Array::of(DType::Int32, {1}, {8});
  Status status =
      setup().library.run(stream, PagedAttention{.q = onDevice(make(F32, {1, 2, 16})),
                                                 .kCache = onDevice(make(F32, {5, 4, 1, 16})),
                                                 .vCache = onDevice(make(F32, {5, 4, 1, 16})),
                                                 .table = onDevice(table),
                                                 .lengths = onDevice(lengths),
                                                 .out = onDevice(make(F32, {1, 2, 16}))});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().what,
            "`paged_attention`: `table` has page 5 at [0, 1], and the cache has pages 0 to 4");
}

// Assertions are told with their programs, and the device works on.
TEST(Cuda, FailedAssertionsAreMessages) {
  auto found = Device::open("cuda");
  if (!found)
    GTEST_SKIP() << found.error().what;
  Engine engine = must(Engine::create({.cacheOnDisk = false}));
  Program program = must(engine.loadText("import triton\n"
                                         "import triton.language as tl\n"
                                         "@triton.jit\n"
                                         "def half(x, y):\n"
                                         "    i = tl.program_id(0)\n"
                                         "    v = tl.load(x + i)\n"
                                         "    tl.device_assert(v % 2 == 0, 'is odd')\n"
                                         "    tl.store(y + i, v // 2)\n"));
  Kernel half = must(program.kernel("half", {.debug = true}));
  Stream stream = must(found->createStream());
  Tensor x = must(Tensor::empty(*found, DType::Int32, {4}));
  Tensor y = must(Tensor::empty(*found, DType::Int32, {4}));
  for (int32_t last : {7, 8}) {
    const std::vector<int32_t> values = {2, 4, 6, last};
    must(x.upload(values.data()));
    half(stream, {4}, x, y);
    must(stream.synchronize());
    auto messages = must(half.takeMessages());
    ASSERT_EQ(messages.size(), size_t(last % 2));
    if (last % 2) {
      EXPECT_TRUE(messages[0].isAssert);
      EXPECT_EQ(messages[0].program[0], 3u);
      EXPECT_NE(messages[0].text.find("is odd"), std::string::npos) << messages[0].text;
    }
    std::vector<int32_t> halves(4);
    must(y.download(halves.data()));
    EXPECT_EQ(halves, (std::vector<int32_t>{1, 2, 3, last / 2}));
  }
}

} // namespace
} // namespace nereid::kernels::test
