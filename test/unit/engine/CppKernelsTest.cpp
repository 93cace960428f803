// Kernels written in C++ (nereid/tl.h) against the same ones in the Triton language.
#include "../../../examples/cpp/written_twice.h"
#include "engine/Compile.h"
#include "engine/Files.h"
#include "engine/Recording.h"
#include "engine/Runner.h"
#include "nereid/engine.h"
#include "nereid/tl.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>

using namespace nereid;

namespace {

constexpr const char *header = R"(
import triton
import triton.language as tl
from triton.language.extra import libdevice
)";

std::string irOf(const std::string &text, const std::string &kernel, const std::string &signature) {
  emit::SourceUnit unit;
  unit.text = text;
  unit.file = "kernels.py";
  emit::LoadedProgram loaded = emit::Program::load(unit);
  if (!loaded.program)
    return "cannot be read: " + render(loaded.diagnostics.at(0), {{"kernels.py", text}});
  auto specialization = support::Specialization::parse(signature);
  if (!specialization)
    return "bad signature " + signature;
  auto emitted = engine::emitKernel(*loaded.program, kernel, *specialization, {}, {});
  if (!emitted)
    return describe(emitted.error()) + "\n" + text;
  std::string ir;
  llvm::raw_string_ostream(ir) << *emitted->module;
  return ir;
}

std::string fileText(const std::string &path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(CppKernels, HaveTheTileIrOfTheirTwins) {
  std::string python = fileText(NEREID_SOURCE_DIR "/examples/cpp/written_twice.py");
  std::string cpp = written_twice::module().text();
  for (auto [kernel, signature] : std::vector<std::pair<const char *, const char *>>{
           {"add", "*fp32:16, *fp32:16, *fp32:16, i32, 1024"},
           {"add", "*bf16, *fp32, *fp16, i64, 64"},
           {"softmax", "*fp32:16, *fp32:16, i32:16, i32, 1024"},
           {"matmul", "*fp32:16, *fp32:16, *fp32:16, i32, i32:16, i32, 32, 32, 32, False"},
           {"matmul", "*fp32:16, *fp32:16, *fp32:16, i32, i32:16, i32, 64, 32, 16, True"},
           {"attention", "*fp32, *fp32, *fp32, *fp32, i32, fp32, 64, 32, 32, False"},
           {"attention", "*fp32, *fp32, *fp32, *fp32, i32, fp32, 64, 32, 32, True"}}) {
    std::string wanted = irOf(python, kernel, signature);
    EXPECT_NE(wanted.find("tile.store"), std::string::npos) << wanted;
    EXPECT_EQ(irOf(cpp, kernel, signature), wanted) << cpp;
  }
}

// The kernel `k` recorded from `body` has the IR of a function of the text.
template <typename F>
void expectTwin(const char *parameters, F body, const std::string &python,
                const std::string &signature) {
  tl::Module module;
  module.kernel("k", parameters, body);
  const engine::Recording &recording = engine::recordingOf(module);
  ASSERT_TRUE(recording.diagnostics.empty()) << render(recording.diagnostics[0], {});
  std::string wanted = irOf(header + python, "k", signature);
  EXPECT_NE(wanted.find("func.func"), std::string::npos) << wanted;
  EXPECT_EQ(irOf(module.text(), "k", signature), wanted) << module.text();
}

TEST(CppKernels, CarryValuesThroughLoopsAndBranches) {
  expectTwin(
      "x, n",
      [](tl::Value x, tl::Value n) {
        tl::Value a = 1, b = 1;
        tl::Value chosen;
        tl::while_([&] { return a < n; },
                   [&] {
                     auto next = a + b;
                     a = b;
                     b = next;
                   });
        tl::if_(b > 100, [&] { chosen = a; }, [&] { chosen = b; });
        auto copy = chosen;
        copy += 5;
        for (auto i : tl::static_range(3))
          tl::store(x + i, chosen + copy * i);
        // C++'s own loop and branch run while recording.
        for (int i = 0; i < 2; ++i)
          if (i == 1)
            tl::store(x + (10 + i), tl::choose(n > 3, a, b));
      },
      R"(
@triton.jit
def k(x, n):
    a = 1
    b = 1
    while a < n:
        next = a + b
        a = b
        b = next
    if b > 100:
        chosen = a
    else:
        chosen = b
    copy = chosen
    copy += 5
    for i in tl.static_range(3):
        tl.store(x + i, chosen + copy * i)
    tl.store(x + 11, a if n > 3 else b)
)",
      "*i32, i32");
}

TEST(CppKernels, CombineByFunctions) {
  expectTwin(
      "x, out",
      [](tl::Value x, tl::Value out) {
        auto i = tl::arange(0, 16);
        auto v = tl::load(x + i);
        auto product = tl::reduce(v, 0, [](tl::Value a, tl::Value b) { return a * b; });
        auto [sums, peaks] = tl::associative_scan({v, v}, 0,
                                                  [](const tl::Value &a, const tl::Value &b,
                                                     const tl::Value &c, const tl::Value &d) {
                                                    return std::tuple(a + c, tl::maximum(b, d));
                                                  })
                                 .unpack<2>();
        auto [best, place] = tl::max(v, 0, {.return_indices = true}).unpack<2>();
        tl::store(out + i, sums + peaks + product + best + place);
        tl::store(out + i, tl::libdevice::tanh(v).to(tl::float16));
      },
      R"(
@triton.jit
def times(a, b):
    return a * b
@triton.jit
def both(a, b, c, d):
    return a + c, tl.maximum(b, d)
@triton.jit
def k(x, out):
    i = tl.arange(0, 16)
    v = tl.load(x + i)
    product = tl.reduce(v, 0, times)
    sums, peaks = tl.associative_scan((v, v), 0, both)
    best, place = tl.max(v, 0, return_indices=True)
    tl.store(out + i, sums + peaks + product + best + place)
    tl.store(out + i, libdevice.tanh(v).to(tl.float16))
)",
      "*fp32, *fp32");
}

TEST(CppKernels, TakeDescriptorsAndOptionsByName) {
  expectTwin(
      "x, out, n, B: tl.constexpr",
      [](tl::Value x, tl::Value out, tl::Value n, tl::Value B) {
        auto desc = tl::make_tensor_descriptor(x, {n, n}, {n, 1}, {B, B});
        auto tile = desc.load({0, B});
        auto more = tl::load(tl::make_block_ptr(x, {n, n}, {n, 1}, {0, 0}, {B, B}, {1, 0}),
                             {.boundary_check = {0, 1}, .padding_option = "zero"});
        auto rows = tl::sum(tile, 1, {.keep_dims = true}) + tl::cumsum(more, {.axis = 1});
        tl::device_print("rows", {n, rows}, {.hex = true});
        tl::store(out + tl::arange(0, B)[{tl::all, tl::None}] * B + tl::arange(0, B),
                  rows.trans().reshape({B, B}));
        tl::if_(n == 3, [] { tl::return_(); });
        tl::atomic_add(out, 1.5, {.sem = "relaxed"});
      },
      R"(
@triton.jit
def k(x, out, n, B: tl.constexpr):
    desc = tl.make_tensor_descriptor(x, [n, n], [n, 1], [B, B])
    tile = desc.load([0, B])
    more = tl.load(tl.make_block_ptr(x, (n, n), (n, 1), (0, 0), (B, B), (1, 0)),
                   boundary_check=(0, 1), padding_option="zero")
    rows = tl.sum(tile, 1, keep_dims=True) + tl.cumsum(more, axis=1)
    tl.device_print("rows", n, rows, hex=True)
    tl.store(out + tl.arange(0, B)[:, None] * B + tl.arange(0, B), rows.trans().reshape(B, B))
    if n == 3:
        return
    tl.atomic_add(out, 1.5, sem="relaxed")
)",
      "*fp32:16, *fp32:16, i32:16, 16");
}

// What `body` is refused for.
unsigned kernelLine = 0;
template <typename F> std::string mistake(const char *parameters, F body) {
  tl::Module module;
  kernelLine = __LINE__ + 1;
  module.kernel("k", parameters, body);
  auto program = must(Engine::create({.cacheOnDisk = false})).load(module);
  return program ? "no mistake:\n" + module.text() : describe(program.error());
}

TEST(CppKernels, MistakesAreDiagnostics) {
  auto expect = [](const std::string &found, const char *code, unsigned line) {
    EXPECT_NE(found.find(std::string("[") + code + "]"), std::string::npos) << found;
    EXPECT_NE(found.find("CppKernelsTest.cpp:" + std::to_string(line) + ":"), std::string::npos)
        << "line " << line << " is not in\n"
        << found;
  };
  std::string text = mistake("x, n", [](tl::Value x) { tl::store(x, 1); });
  expect(text, "RecordedParameters", kernelLine);

  unsigned line = __LINE__ + 3;
  text = mistake("x, n", [](tl::Value x, tl::Value n) {
    // `break` of C++ would end the loop in its first round.
    for (auto i : tl::range(n)) {
      tl::store(x, i);
      break;
    }
  });
  expect(text, "RecordedExit", line);

  line = __LINE__ + 3;
  text = mistake("x, n", [](tl::Value x, tl::Value n) {
    tl::store(
        x, tl::reduce(tl::arange(0, 16), 0, [&](tl::Value a, tl::Value b) { return a + b + n; }));
  });
  expect(text, "RecordedScope", line);

  line = __LINE__ + 3;
  text = mistake("x, n", [](tl::Value x, tl::Value n) {
    auto m = n + 1;
    tl::store(x, tl::maximum(std::move(m), m)); // NOLINT
  });
  expect(text, "RecordedMove", line);

  line = __LINE__ + 2;
  text = mistake("x, n", [](tl::Value x, tl::Value n) {
    tl::while_(
        [&] {
          n -= 1;
          return n > 0;
        },
        [&] { tl::store(x, n); });
  });
  expect(text, "RecordedCondition", line);

  EXPECT_THROW(tl::arange(0, 16), Exception);
}

TEST(CppKernels, MessagesNameTheLinesOfCpp) {
  tl::Module module("mine.cpp");
  unsigned line = 0;
  module.kernel("k", "x, BLOCK: tl.constexpr", [&](tl::Value x, tl::Value BLOCK) {
    auto i = tl::arange(0, BLOCK);
    auto wide = i + tl::arange(0, 64);
    line = __LINE__ + 1;
    auto sum = wide + tl::arange(0, 32);
    tl::store(x + i, sum);
  });
  Program program = must(must(Engine::create({.cacheOnDisk = false})).load(module));
  Kernel kernel = must(program.kernel("k"));
  Tensor out = must(Tensor::empty(must(Device::open("cpu")), DType::Int32, {64}));
  Status status = kernel.launch(must(Device::open("cpu")).stream(), {1}, {out, named("BLOCK", 64)});
  ASSERT_FALSE(status.ok());
  std::string text = describe(status.error());
  EXPECT_NE(text.find("CppKernelsTest.cpp:" + std::to_string(line) + ":"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("mine.cpp"), std::string::npos) << text;
}

TEST(CppKernels, RunLikeOnesFromAFile) {
  Engine engine = must(Engine::create({.cacheOnDisk = false}));
  Device cpu = must(Device::open("cpu"));
  Program cpp = must(engine.load(written_twice::module()));
  Program python = must(engine.load(NEREID_SOURCE_DIR "/examples/cpp/written_twice.py"));
  const int64_t n = 77, D = 32;
  std::vector<float> values(3 * n * D);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = float((i * 2654435761u) % 1000) / 500 - 1;
  Tensor inputs = must(Tensor::empty(cpu, DType::Float32, {3, n, D}));
  must(inputs.upload(values.data()));
  std::vector<std::vector<float>> results;
  for (const Program &program : {cpp, python}) {
    Tensor out = must(Tensor::empty(cpu, DType::Float32, {n, D}));
    const float *at = static_cast<const float *>(inputs.data());
    must(program.kernel("attention"))(cpu.stream(), {3}, at, at + n * D, at + 2 * n * D, out, n,
                                      0.125f, D, 32, 32, true);
    results.emplace_back(size_t(n * D));
    must(out.download(results.back().data()));
  }
  EXPECT_EQ(results[0], results[1]);
  // The first query sees the first key only.
  for (int64_t i = 0; i < D; ++i)
    EXPECT_NEAR(results[0][size_t(i)], values[size_t(2 * n * D + i)], 1e-6);
}

// Every kernel of the module, by the interpreter and by the CPU, against plain loops.
TEST(CppKernels, RunOnTheInterpreterAndTheCpu) {
  emit::SourceUnit unit;
  unit.text = written_twice::module().text();
  unit.file = "written_twice.h";
  emit::LoadedProgram loaded = emit::Program::load(unit);
  ASSERT_TRUE(loaded.program);

  const int64_t rows = 6, n = 37, m = 20, k = 33, D = 16;
  auto tensor = [](std::vector<int64_t> shape, const char *seed) {
    support::HostTensor made(DType::Float32, shape);
    support::fillUniform(made, seed, -1, 1);
    return made;
  };
  support::HostTensor a = tensor({rows, n}, "a"), b = tensor({rows, n}, "b"),
                      x = tensor({m, k}, "x"), y = tensor({k, m}, "y"), q = tensor({2, n, D}, "q"),
                      keys = tensor({2, n, D}, "keys"), values = tensor({2, n, D}, "values");
  auto at = [](const support::HostTensor &of, int64_t i) { return of.get(i); };

  struct Case {
    const char *kernel;
    std::vector<support::HostTensor *> inputs;
    std::vector<launch::Argument> scalars;
    std::array<uint32_t, 3> grid;
    std::vector<double> expected;
  };
  auto integer = [](int64_t value) { return launch::Argument::integer(value); };
  std::vector<Case> cases = {
      {"add", {&a, &b}, {integer(rows * n), integer(64)}, {4, 1, 1}, {}},
      {"softmax", {&a}, {integer(n), integer(n), integer(64)}, {uint32_t(rows), 1, 1}, {}},
      {"matmul",
       {&x, &y},
       {integer(m), integer(m), integer(k), integer(16), integer(16), integer(16),
        launch::Argument::boolean(true)},
       {2, 2, 1},
       {}},
      {"attention",
       {&q, &keys, &values},
       {integer(n), launch::Argument::floating(0.25), integer(D), integer(16), integer(16),
        launch::Argument::boolean(true)},
       {3, 2, 1},
       {}}};
  for (int64_t i = 0; i < rows * n; ++i)
    cases[0].expected.push_back(at(a, i) + at(b, i));
  for (int64_t i = 0; i < rows * n; ++i) {
    double sum = 0;
    for (int64_t j = i / n * n; j < i / n * n + n; ++j)
      sum += std::exp(at(a, j));
    cases[1].expected.push_back(std::exp(at(a, i)) / sum);
  }
  for (int64_t i = 0; i < m * m; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < k; ++j)
      sum += at(x, i / m * k + j) * at(y, j * m + i % m);
    cases[2].expected.push_back(std::max(sum, 0.0));
  }
  for (int64_t i = 0; i < 2 * n; ++i)
    for (int64_t d = 0; d < D; ++d) {
      double weights = 0, sum = 0;
      for (int64_t j = i / n * n; j <= i; ++j) {
        double score = 0;
        for (int64_t e = 0; e < D; ++e)
          score += at(q, i * D + e) * at(keys, j * D + e);
        weights += std::exp(score * 0.25);
        sum += std::exp(score * 0.25) * at(values, j * D + d);
      }
      cases[3].expected.push_back(sum / weights);
    }

  for (const char *device : {"ref", "cpu"}) {
    auto runner = engine::Runner::create(device);
    ASSERT_TRUE(runner) << describe(runner.error());
    for (Case &one : cases) {
      support::HostTensor out = tensor({int64_t(one.expected.size())}, "out");
      engine::RunRequest request;
      request.program = loaded.program.get();
      request.kernel = one.kernel;
      request.grid = one.grid;
      std::vector<support::HostTensor *> tensors = one.inputs;
      tensors.push_back(&out);
      for (support::HostTensor *bound : tensors) {
        ASSERT_TRUE((*runner)->bind(*bound, "tensor"));
        request.arguments.push_back({.tensor = bound});
      }
      for (const launch::Argument &scalar : one.scalars)
        request.arguments.push_back({.value = scalar});
      auto outcome = (*runner)->run(request);
      ASSERT_TRUE(outcome) << device << " " << one.kernel << ": " << describe(outcome.error());
      ASSERT_TRUE((*runner)->fetch(out));
      for (size_t i = 0; i < one.expected.size(); ++i)
        ASSERT_NEAR(at(out, int64_t(i)), one.expected[i], 2e-5)
            << device << " " << one.kernel << " " << i;
      (*runner)->unbindAll();
    }
  }
}

} // namespace
