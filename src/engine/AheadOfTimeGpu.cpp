#include "engine/AheadOfTime.h"
#include "engine/AheadOfTimeText.h"
#include "engine/GridExpression.h"
#include "pipeline/Cpu.h"
#include "pipeline/Gpu.h"
#include "support/LaunchAbi.h"
#include "target/Gpu.h"

#include <algorithm>
#include <tuple>

namespace nereid::engine {

using support::Artifact;
using support::CodeKind;
using support::CodeRecord;

namespace {

// $NAME is the prefix, $UPPER the same in capitals.
constexpr std::string_view gpuHeaderText =
    R"header(/* Kernel `$KERNEL` for $ARGUMENTS, made by nereid compile.
 * Compiled in: $CONSTANTS
 * Code for: $CHIPS
 *
 * $NAME_launch(stream, gx, gy, gz, ...) starts a grid of programs in a stream of the current context and does not
 * wait. `stream` is a CUstream or cudaStream_t, null for the default one; pointers are to device memory. Without a
 * current context it takes the primary one of device 0. It gives a status, 0 if the launch was accepted;
 * nereid_cuda_text(status) says what another one means.
 *
 * The driver is opened when it is first needed: nothing of CUDA is needed to build, link or start a program (C
 * libraries before glibc 2.34 want -ldl). Any thread may launch. */
#ifndef NEREID_KERNEL_$UPPER_H
#define NEREID_KERNEL_$UPPER_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef NEREID_CUDA_STUB
#define NEREID_CUDA_STUB

enum nereid_cuda_status {
  NEREID_CUDA_OK = 0,             /* 1 to 9999: what the driver answered, a CUresult */
  NEREID_CUDA_NO_DRIVER = 10001,  /* there is no libcuda.so.1, or it lacks a function */
  NEREID_CUDA_NO_CODE = 10002,    /* the object holds no code that the device can run */
  NEREID_CUDA_BAD_GRID = 10003,   /* x from 2^31 up, y or z from 2^16 up */
  NEREID_CUDA_UNALIGNED = 10004,  /* an argument is not the multiple that the signature promises */
  NEREID_CUDA_CONTEXTS = 10005,   /* the kernel was loaded in 16 contexts already */
  NEREID_CUDA_OLD_DRIVER = 10006  /* the driver cannot start all programs of a launch at once */
};

/* As the driver has them: CUlaunchAttribute and CUlaunchConfig. */
typedef struct nereid_cuda_attribute {
  int id, unused;
  union {
    int flag;
    char room[64];
  } value;
} nereid_cuda_attribute;
typedef struct nereid_cuda_config {
  unsigned grid[3], block[3], shared;
  void *stream;
  nereid_cuda_attribute *attributes;
  unsigned count;
} nereid_cuda_config;

/* What is used of the driver. */
typedef struct nereid_cuda_driver {
  int state; /* 0: not opened yet, 1: open, 2: not there */
  int (*init)(unsigned);
  int (*context_get)(void **);
  int (*context_set)(void *);
  int (*context_device)(int *);
  int (*primary)(void **, int);
  int (*attribute)(int *, int, int);
  int (*load)(void **, const void *);
  int (*function)(void **, void *, const char *);
  int (*function_set)(void *, int, int);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
  int (*launch_with)(const nereid_cuda_config *, void *, void **, void **); /* null before CUDA 11.8 */
  int (*text)(int, const char **);
} nereid_cuda_driver;

/* Code for a kind of device. */
typedef struct nereid_cuda_code {
  const unsigned char *bytes;
  const char *entry;
  int is_ptx, capability, only_this; /* 90: compute capability 9.0 */
  unsigned threads, shared, blocks;  /* of a block, of a block, of a program */
  int early, together; /* starts before the launch ahead has ended; all programs at once, or none */
} nereid_cuda_code;

/* What was loaded, a row a context. */
typedef struct nereid_cuda_kernel {
  char lock;
  int count;
  struct {
    void *context, *function;
    const nereid_cuda_code *code;
  } loaded[16];
} nereid_cuda_kernel;

static inline void nereid_cuda_lock(char *lock) {
  while (__atomic_test_and_set(lock, __ATOMIC_ACQUIRE))
    ;
}
static inline void nereid_cuda_unlock(char *lock) { __atomic_clear(lock, __ATOMIC_RELEASE); }

static inline nereid_cuda_driver *nereid_cuda_open(void) {
  static nereid_cuda_driver driver;
  static char lock;
  nereid_cuda_lock(&lock);
  if (!driver.state) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    driver.state = library ? 1 : 2;
#define NEREID_CUDA_FIND(member, symbol)                                                                               \
  if (driver.state == 1 && !(*(void **)(void *)&driver.member = dlsym(library, symbol)))                               \
    driver.state = 2;
    NEREID_CUDA_FIND(init, "cuInit")
    NEREID_CUDA_FIND(context_get, "cuCtxGetCurrent")
    NEREID_CUDA_FIND(context_set, "cuCtxSetCurrent")
    NEREID_CUDA_FIND(context_device, "cuCtxGetDevice")
    NEREID_CUDA_FIND(primary, "cuDevicePrimaryCtxRetain")
    NEREID_CUDA_FIND(attribute, "cuDeviceGetAttribute")
    NEREID_CUDA_FIND(load, "cuModuleLoadData")
    NEREID_CUDA_FIND(function, "cuModuleGetFunction")
    NEREID_CUDA_FIND(function_set, "cuFuncSetAttribute")
    NEREID_CUDA_FIND(launch, "cuLaunchKernel")
    NEREID_CUDA_FIND(text, "cuGetErrorString")
#undef NEREID_CUDA_FIND
    if (driver.state == 1)
      *(void **)(void *)&driver.launch_with = dlsym(library, "cuLaunchKernelEx");
    if (driver.state == 1 && driver.init(0))
      driver.state = 2;
  }
  nereid_cuda_unlock(&lock);
  return driver.state == 1 ? &driver : 0;
}

/* What a status means; never null. */
static inline const char *nereid_cuda_text(int status) {
  const char *text = 0;
  nereid_cuda_driver *driver;
  switch (status) {
  case NEREID_CUDA_OK:
    return "no error";
  case NEREID_CUDA_NO_DRIVER:
    return "there is no CUDA driver on this machine that starts (libcuda.so.1)";
  case NEREID_CUDA_NO_CODE:
    return "the object holds no code that this device can run";
  case NEREID_CUDA_BAD_GRID:
    return "the grid is out of range: x is below 2^31, y and z are below 2^16";
  case NEREID_CUDA_UNALIGNED:
    return "an argument is not the multiple that the kernel was compiled for";
  case NEREID_CUDA_CONTEXTS:
    return "the kernel is loaded in 16 contexts already";
  case NEREID_CUDA_OLD_DRIVER:
    return "the CUDA driver is too old to start all programs of a launch at once: CUDA 11.8 is needed";
  }
  driver = nereid_cuda_open();
  if (driver && !driver->text(status, &text) && text)
    return text;
  return "an error of the CUDA driver that it does not know";
}

/* Finds, or loads, the code for the current context. */
static inline int nereid_cuda_find(nereid_cuda_driver *driver, nereid_cuda_kernel *kernel,
                                   const nereid_cuda_code *codes, int count, void **function,
                                   const nereid_cuda_code **code) {
  void *context = 0, *module = 0;
  int device = 0, major = 0, minor = 0, status = driver->context_get(&context), i;
  if (!status && !context && !(status = driver->primary(&context, 0)))
    status = driver->context_set(context);
  if (status)
    return status;
  for (i = 0; i < kernel->count; ++i)
    if (kernel->loaded[i].context == context) {
      *function = kernel->loaded[i].function;
      *code = kernel->loaded[i].code;
      return NEREID_CUDA_OK;
    }
  if (kernel->count == 16)
    return NEREID_CUDA_CONTEXTS;
  if ((status = driver->context_device(&device)) ||
      (status = driver->attribute(&major, 75, device)) ||
      (status = driver->attribute(&minor, 76, device)))
    return status;
  for (i = 0; i < count; ++i) {
    int capability = codes[i].capability, here = major * 10 + minor;
    if (codes[i].only_this         ? capability == here
        : codes[i].is_ptx          ? capability <= here
        : capability / 10 == major ? capability <= here
                                   : 0)
      break;
  }
  if (i == count)
    return NEREID_CUDA_NO_CODE;
  if ((status = driver->load(&module, codes[i].bytes)) ||
      (status = driver->function(function, module, codes[i].entry)) ||
      (codes[i].shared > 48 * 1024 &&
       (status = driver->function_set(*function, 8, (int)codes[i].shared))))
    return status;
  *code = &codes[i];
  kernel->loaded[kernel->count].context = context;
  kernel->loaded[kernel->count].function = *function;
  kernel->loaded[kernel->count++].code = *code;
  return NEREID_CUDA_OK;
}

static inline int nereid_cuda_launch(nereid_cuda_driver *driver, void *function, const nereid_cuda_code *code,
                                     unsigned gx, unsigned gy, unsigned gz, void *stream, void **places) {
  nereid_cuda_attribute attributes[2];
  nereid_cuda_config config = {{0, 0, 0}, {0, 1, 1}, 0, 0, 0, 0};
  /* What starts early waits in the kernel, where there is anything to wait for: in order it is right too. */
  if (!driver->launch_with && !code->together)
    return driver->launch(function, gx, gy, gz, code->threads, 1, 1, code->shared, stream, places, 0);
  if (!driver->launch_with)
    return NEREID_CUDA_OLD_DRIVER;
  config.grid[0] = gx;
  config.grid[1] = gy;
  config.grid[2] = gz;
  config.block[0] = code->threads;
  config.shared = code->shared;
  config.stream = stream;
  config.attributes = attributes;
  if (code->early)
    attributes[config.count++].id = 6; /* PROGRAMMATIC_STREAM_SERIALIZATION */
  if (code->together)
    attributes[config.count++].id = 2; /* COOPERATIVE */
  attributes[0].unused = attributes[1].unused = 0;
  attributes[0].value.flag = attributes[1].value.flag = 1;
  return driver->launch_with(&config, function, places, 0);
}
#endif

/* In the object. */
$DECLARATIONS
static inline int $NAME_launch(void *stream, uint32_t gx, uint32_t gy, uint32_t gz$PARAMETERS) {
  static const nereid_cuda_code codes[] = {
$ROWS  };
  static nereid_cuda_kernel kernel;
  struct {
$FIELDS  void *context;
  } block;
  void *places[] = {$PLACES&block.context};
  nereid_cuda_driver *driver = nereid_cuda_open();
  const nereid_cuda_code *code = 0;
  void *function = 0;
  int status;
  if (!driver)
    return NEREID_CUDA_NO_DRIVER;
  if (gx > 0x7fffffffu / $BLOCKS || gy > 0xffffu || gz > 0xffffu)
    return NEREID_CUDA_BAD_GRID;
$CHECKS  if (!gx || !gy || !gz)
    return NEREID_CUDA_OK;
$ASSIGNMENTS  block.context = 0;
  nereid_cuda_lock(&kernel.lock);
  status = nereid_cuda_find(driver, &kernel, codes, (int)(sizeof codes / sizeof codes[0]),
                            &function, &code);
  nereid_cuda_unlock(&kernel.lock);
  if (status)
    return status;
  return nereid_cuda_launch(driver, function, code, gx * code->blocks, gy, gz, stream, places);
}
$WHOLE
#ifdef __cplusplus
}
#endif
#endif
)header";

Status standsAlone(const Artifact &artifact) {
  std::string name = "`" + std::string(artifact.name()) + "`";
  for (const CodeRecord &code : artifact.codes()) {
    if (code.flags & support::CodeRecords)
      return Error{name + " prints or asserts, which needs the runtime: it cannot stand alone", {}};
    if (code.scratchBytes)
      return Error{name + " needs memory that the runtime makes: it cannot stand alone", {}};
    if (code.cluster[0] * code.cluster[1] * code.cluster[2] > 1)
      return Error{name + " runs in clusters, which a program without the runtime cannot launch",
                   {}};
  }
  for (const support::SlotRecord &slot : artifact.slots())
    if (support::SlotKind(slot.kind) == support::SlotKind::TensorMap)
      return Error{"`" + std::string(artifact.text(slot.name)) + "` of " + name +
                       " is a tensor map, which the runtime encodes: it cannot stand alone",
                   {}};
  return Success{};
}

} // namespace

Result<AheadOfTime> buildAheadOfTimeGpu(EmittedKernel &emitted, const std::string &name,
                                        std::string_view targets) {
  if (Status status = checkPrefix(name); !status)
    return status.takeError();
  (*emitted.module)->setAttr(pipeline::standsAloneAttr, mlir::UnitAttr::get(emitted.context.get()));
  auto artifact = buildArtifact(emitted, targets);
  if (!artifact)
    return artifact.takeError();
  if (Status status = standsAlone(*artifact); !status)
    return status.takeError();

  // A device takes the first code that it can run: cubins before PTX, the most specific first.
  struct Row {
    const CodeRecord *code;
    const target::GpuChip *chip;
    bool isPtx() const { return CodeKind(code->kind) == CodeKind::Ptx; }
  };
  std::vector<Row> rows;
  for (const CodeRecord &code : artifact->codes())
    rows.push_back({&code, target::gpuChip(artifact->text(code.arch))});
  std::stable_sort(rows.begin(), rows.end(), [](const Row &a, const Row &b) {
    return std::tuple(a.isPtx(), -int(a.chip->capability), !a.chip->onlyThisChip) <
           std::tuple(b.isPtx(), -int(b.chip->capability), !b.chip->onlyThisChip);
  });
  std::vector<pipeline::DataSymbol> symbols;
  std::string table, declarations, chips;
  uint32_t blocks = 1;
  for (const Row &row : rows) {
    const CodeRecord &code = *row.code;
    std::string kind = row.isPtx() ? "ptx" : "cubin", arch(row.chip->name);
    std::string symbol = name + "_" + kind + "_" + arch;
    symbols.push_back({symbol, artifact->blob(code.code)});
    declarations += "extern const unsigned char " + symbol + "[];\n";
    chips += (chips.empty() ? "" : ", ") + arch + (row.isPtx() ? " (PTX)" : "");
    table += "    {" + symbol + ", \"" + std::string(artifact->text(code.entry)) + "\", " +
             (row.isPtx() ? "1, " : "0, ") + std::to_string(row.chip->capability) + ", " +
             (row.chip->onlyThisChip ? "1, " : "0, ") + std::to_string(code.numWarps * 32) + ", " +
             std::to_string(code.sharedBytes) + ", " + std::to_string(code.blocksPerProgram) +
             (code.flags & support::CodePdl ? ", 1" : ", 0") +
             (code.flags & support::CodeCooperative ? ", 1" : ", 0") + "},\n";
    blocks = std::max(blocks, code.blocksPerProgram);
  }
  auto object = pipeline::dataObject(symbols);
  if (!object)
    return object.takeError();
  auto wholeGrid = wholeGridInC(*artifact, name, /*isGpu=*/true);
  if (!wholeGrid)
    return wholeGrid.takeError();
  ParameterText all = parametersOf(*artifact, name, "NEREID_CUDA_UNALIGNED");
  AheadOfTime out;
  out.object = *std::move(object);
  out.header = replaced(gpuHeaderText, {{"KERNEL", inComment(std::string(artifact->name()))},
                                        {"ARGUMENTS", signatureOf(*artifact)},
                                        {"CONSTANTS", constantsOf(*artifact)},
                                        {"CHIPS", chips},
                                        {"NAME", name},
                                        {"UPPER", upperCase(name)},
                                        {"DECLARATIONS", declarations},
                                        {"PARAMETERS", all.parameters},
                                        {"ROWS", table},
                                        {"FIELDS", all.fields},
                                        {"PLACES", all.places},
                                        {"BLOCKS", std::to_string(blocks)},
                                        {"CHECKS", all.checks},
                                        {"ASSIGNMENTS", all.assignments},
                                        {"WHOLE", *wholeGrid}});
  return out;
}

} // namespace nereid::engine
