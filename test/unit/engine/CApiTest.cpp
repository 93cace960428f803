// nereid/c.h: the C interface.
#include "../runtime/FakeCuda.h"
#include "ApiFixture.h"
#include "gpu/Ptxas.h"
#include "nereid/c.h"
#include "nereid/pack.h"
#include "runtime/CudaDriver.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <numeric>
#include <unistd.h>

using namespace nereid;
using namespace nereid::test;
namespace fs = std::filesystem;
using runtime::test::FakeCuda;

namespace {

TEST(CApiTest, BadCallsAreRefused) {
  EXPECT_EQ(nereid_engine_create(nullptr, nullptr), NEREID_BAD_CALL);
  nereid_engine_options options = {sizeof options, nullptr, 1,       nullptr,
                                   nullptr,        nullptr, nullptr, 0};
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
  auto lastStream = reinterpret_cast<cuda::StreamHandle (*)()>(
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
  nereid_engine_options options = {sizeof options, nullptr, 1,       nullptr,
                                   nullptr,        nullptr, nullptr, 0};
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

// The lines of a profile through C: a CUPTI without a GPU samples the first instructions.
[[noreturn]] void readsLines() {
  constexpr const char *source = "import triton\nimport triton.language as tl\n\n@triton.jit\n"
                                 "def put(x, VALUE: tl.constexpr):\n    tl.store(x, VALUE)\n";
  nereid_engine_options options = {};
  options.size = sizeof options;
  options.no_disk_cache = 1;
  nereid_engine *engine = nullptr;
  nereid_program *program = nullptr;
  nereid_kernel *kernel = nullptr;
  nereid_device *device = nullptr;
  nereid_stream *stream = nullptr;
  void *memory = nullptr;
  auto check = [](nereid_status status) {
    if (status == NEREID_OK)
      return;
    std::fprintf(stderr, "%s\n", nereid_last_error());
    std::_Exit(1);
  };
  check(nereid_device_open("cuda:0", &device));
  check(nereid_stream_create(device, &stream));
  check(nereid_device_allocate(device, 4, &memory));
  check(nereid_engine_create(&options, &engine));
  check(nereid_program_load_text(engine, source, std::strlen(source), "put.py", &program));
  check(nereid_kernel_get(program, "put", nullptr, &kernel));
  check(nereid_profile_start_lines("cuda:0"));
  nereid_argument arguments[2] = {{NEREID_ARG_POINTER, NEREID_INT32, nullptr, {0}},
                                  {NEREID_ARG_INT, NEREID_INT32, nullptr, {7}}};
  arguments[0].value.pointer = memory;
  const uint32_t grid[3] = {1, 1, 1};
  check(nereid_kernel_launch(kernel, stream, grid, arguments, 2));
  check(nereid_stream_synchronize(stream));

  struct Seen {
    uint64_t samples = 0;
    bool isGood = true;
    std::string table;
  } seen;
  nereid_profile_reader reader = {};
  reader.size = sizeof reader;
  reader.data = &seen;
  reader.line = [](void *to, const nereid_profile_line *line) {
    auto &seen = *static_cast<Seen *>(to);
    uint64_t ofReasons = 0;
    for (size_t i = 0; i < line->reason_count; ++i)
      ofReasons += *line->reasons[i] ? line->reason_samples[i] : 0;
    seen.samples += line->samples;
    seen.isGood &= line->kernel == std::string("put") && ofReasons == line->samples &&
                   (!*line->file || (line->file == std::string("put.py") && line->line >= 5)) &&
                   line->caller_count == 0;
  };
  reader.line_table = [](void *to, const char *text) { static_cast<Seen *>(to)->table = text; };
  reader.note = [](void *, const char *text) { std::fprintf(stderr, "%s\n", text); };
  check(nereid_profile_finish(&reader));
  std::fprintf(stderr, "%s", seen.table.c_str());
  std::_Exit(seen.isGood && seen.samples && seen.table.starts_with("put: ") ? 0 : 1);
}

TEST_F(FakeCuda, CReadsTheLinesOfAProfile) {
  // First: all variables are read at once.
  ::setenv("NEREID_CUPTI", NEREID_BINARY_DIR "/fake_cuda/libfake_cupti.so", 1);
  ::setenv("FAKE_CUPTI", "", 1);
  if (gpu::findPtxas().empty())
    GTEST_SKIP() << "no `ptxas`";
  EXPECT_EXIT(readsLines(), testing::ExitedWithCode(0), "");
  ::unsetenv("FAKE_CUPTI");
}

TEST_F(FakeCuda, CLaunchesOnAStreamOfTheProgram) {
  EXPECT_EXIT(onStreamsOfTheProgram(), testing::ExitedWithCode(0), "");
}

} // namespace
