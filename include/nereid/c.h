/* The C interface: what nereid/engine.h, pack.h and profile.h offer, over opaque handles. All but
 * engines, programs, kernels and configurations is in the library nereid_runtime too, which has no
 * compiler.
 *
 * Calls that can fail return a nereid_status; nereid_last_error() then says what failed on this
 * thread, and handles that were asked for are null. Nothing throws or ends the process. Each handle
 * is given back with its _destroy function, in any order: what is still in use stays alive. Handles
 * may be used by several threads, streams by one at a time. */
#ifndef NEREID_C_H
#define NEREID_C_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define NEREID_C_API __attribute__((visibility("default")))
#else
#define NEREID_C_API
#endif

/* In C++ too an enumeration of this interface holds any int. */
#ifdef __cplusplus
#define NEREID_C_INT : int
extern "C" {
#else
#define NEREID_C_INT
#endif

typedef enum nereid_status NEREID_C_INT {
  NEREID_OK = 0,
  NEREID_FAILED = 1, /* refused or impossible: nereid_last_error() says why */
  NEREID_OUT_OF_MEMORY = 2,
  NEREID_BAD_CALL = 3 /* a null handle or pointer */
} nereid_status;

/* Element types, numbered as nereid::DType. */
typedef enum nereid_dtype NEREID_C_INT {
  NEREID_INT1,
  NEREID_INT8,
  NEREID_INT16,
  NEREID_INT32,
  NEREID_INT64,
  NEREID_UINT8,
  NEREID_UINT16,
  NEREID_UINT32,
  NEREID_UINT64,
  NEREID_FLOAT16,
  NEREID_BFLOAT16,
  NEREID_FLOAT32,
  NEREID_FLOAT64,
  NEREID_FLOAT8E4NV,
  NEREID_FLOAT8E5,
  NEREID_FLOAT8E4B8,
  NEREID_FLOAT8E5B16,
  NEREID_FLOAT8E4B15
} nereid_dtype;

typedef struct nereid_engine nereid_engine;
typedef struct nereid_program nereid_program;
typedef struct nereid_kernel nereid_kernel;
typedef struct nereid_device nereid_device;
typedef struct nereid_stream nereid_stream;
typedef struct nereid_event nereid_event;
typedef struct nereid_graph nereid_graph;
typedef struct nereid_tensor nereid_tensor;
typedef struct nereid_descriptor nereid_descriptor;
typedef struct nereid_configuration nereid_configuration;
typedef struct nereid_pack nereid_pack;
typedef struct nereid_packed_kernel nereid_packed_kernel;

/* What failed last on this thread, with diagnostics and hints; never null, good until the next
 * failure. */
NEREID_C_API const char *nereid_last_error(void);

/* A message about the user's source: 1-based line, 0-based column, 0 and "" where there is none. */
typedef struct nereid_diagnostic {
  const char *severity; /* "error", "warning", "note" */
  const char *code;     /* a stable name, as "DotShapeMismatch" */
  const char *message, *hint, *file;
  uint32_t line, column;
} nereid_diagnostic;
/* The diagnostics of what failed last on this thread; NEREID_FAILED past the last one. What they
 * point to is good until the next failure. */
NEREID_C_API nereid_status nereid_last_diagnostic(size_t index, nereid_diagnostic *diagnostic);
/* "0.1.0" */
NEREID_C_API const char *nereid_version(void);

/* Told of each kernel that a launch compiles or reads from the disk, on the thread that launches.
 */
typedef void (*nereid_compile_callback)(void *data, const char *kernel, const char *signature,
                                        const char *target, double seconds, int from_disk);

/* Zeroed but for `size`, every field has its default. */
typedef struct nereid_engine_options {
  size_t size;                 /* sizeof(nereid_engine_options) */
  const char *cache_directory; /* null: the user's */
  int no_disk_cache;
  nereid_compile_callback on_compile; /* null: nobody is told */
  void *on_compile_data;
  const char *tuning_file; /* null: the `tuned.json` beside a program's file, which is only read */
  const char *const *definitions; /* "NAME=VALUE", as EngineOptions::definitions */
  size_t definition_count;
} nereid_engine_options;

/* `options` may be null. */
NEREID_C_API nereid_status nereid_engine_create(const nereid_engine_options *options,
                                                nereid_engine **engine);
NEREID_C_API void nereid_engine_destroy(nereid_engine *engine);

/* What a launch does that needs code which is not built yet: nereid::Freeze. */
typedef enum nereid_freeze NEREID_C_INT {
  NEREID_FREEZE_OFF,
  NEREID_FREEZE_WARN,
  NEREID_FREEZE_BACKGROUND,
  NEREID_FREEZE_GENERIC,
  NEREID_FREEZE_REFUSE
} nereid_freeze;
NEREID_C_API nereid_status nereid_engine_freeze(nereid_engine *engine, nereid_freeze mode);

typedef struct nereid_engine_counts {
  size_t size; /* sizeof(nereid_engine_counts) */
  uint64_t compiled, from_memory, from_disk, repaired, not_stored;
} nereid_engine_counts;
/* How often code was found and made since the engine was created. */
NEREID_C_API nereid_status nereid_engine_count(nereid_engine *engine, nereid_engine_counts *counts);

/* A Python file, or text that messages call `name`. */
NEREID_C_API nereid_status nereid_program_load(nereid_engine *engine, const char *path,
                                               nereid_program **program);
NEREID_C_API nereid_status nereid_program_load_text(nereid_engine *engine, const char *text,
                                                    size_t size, const char *name,
                                                    nereid_program **program);
NEREID_C_API void nereid_program_destroy(nereid_program *program);
/* The kernels, in order of lines: null past the last, good while the program lives. */
NEREID_C_API const char *nereid_program_kernel(nereid_program *program, size_t index);

typedef void (*nereid_text_callback)(void *data, const char *text);
/* A line for each kernel that this process compiled or loaded of the program. */
NEREID_C_API nereid_status nereid_program_recorded_keys(nereid_program *program,
                                                        nereid_text_callback callback, void *data);
/* Builds what such lines say, on all processors; `built` may be null. */
NEREID_C_API nereid_status nereid_program_build_ahead(nereid_program *program,
                                                      const char *const *keys, size_t count,
                                                      size_t *built);
/* Writes it into a pack; `add` keeps what the file has. */
NEREID_C_API nereid_status nereid_program_pack(nereid_program *program, const char *path,
                                               const char *const *keys, size_t count, int add);
/* The same with grids for launches that name none: of kernel i `grids[i]`, as "cdiv(n, BLOCK)". */
NEREID_C_API nereid_status nereid_program_pack_with_grids(nereid_program *program, const char *path,
                                                          const char *const *keys, size_t count,
                                                          int add, const char *const *kernels,
                                                          const char *const *grids,
                                                          size_t grid_count);

typedef struct nereid_compile_options {
  size_t size;                                        /* sizeof(nereid_compile_options) */
  int num_warps, num_stages, num_ctas, max_registers; /* 0: 4, 3, 1, the compiler's choice */
  int debug;                                          /* keep tl.device_assert */
  const char *input_precision;                        /* null: "tf32" */
  int launch_pdl;                 /* start early and wait by `gdc_wait`, where the kernel does */
  int launch_cooperative_grid;    /* all programs run at once, or the launch fails */
  const char *const *extern_libs; /* names and files of LLVM bitcode by turns; ends with null */
} nereid_compile_options;

/* `options` may be null. */
NEREID_C_API nereid_status nereid_kernel_get(nereid_program *program, const char *name,
                                             const nereid_compile_options *options,
                                             nereid_kernel **kernel);
NEREID_C_API void nereid_kernel_destroy(nereid_kernel *kernel);
/* Its parameters: null past the last, good while the kernel lives; `is_constexpr` may be null. */
NEREID_C_API const char *nereid_kernel_parameter(nereid_kernel *kernel, size_t index,
                                                 int *is_constexpr);

/* "cpu", "cuda", "cuda:1" */
NEREID_C_API nereid_status nereid_device_open(const char *name, nereid_device **device);
/* A GPU in a context of the program (CUcontext), which must stay while the device is used. */
NEREID_C_API nereid_status nereid_device_in_context(void *native, nereid_device **device);
NEREID_C_API void nereid_device_destroy(nereid_device *device);
/* Memory of the device; null data on failure. Freed by nereid_device_free. */
NEREID_C_API nereid_status nereid_device_allocate(nereid_device *device, size_t bytes, void **data);
NEREID_C_API nereid_status nereid_device_free(nereid_device *device, void *data);
NEREID_C_API nereid_status nereid_device_synchronize(nereid_device *device);
/* "cuda:0", "NVIDIA H200", "sm_90a"; good while the process lives. */
NEREID_C_API const char *nereid_device_name(const nereid_device *device);
NEREID_C_API const char *nereid_device_description(const nereid_device *device);
NEREID_C_API const char *nereid_device_architecture(const nereid_device *device);
/* Multiprocessors, or processors that this process may use. */
NEREID_C_API unsigned nereid_device_units(const nereid_device *device);

/* Bytes that Nereid holds there now and held at most, and how often it asked for some; from here on
 * the most is counted anew if `reset_peak`. */
typedef struct nereid_memory_use {
  uint64_t current, peak, allocations;
} nereid_memory_use;
NEREID_C_API nereid_status nereid_device_memory(nereid_device *device, int reset_peak,
                                                nereid_memory_use *use);

/* The program's own memory management: nereid::Allocator. `release`, which may be null, is called
 * when nothing uses it any more. */
typedef struct nereid_allocator {
  void *data;
  void *(*allocate)(void *data, size_t bytes, void *stream);
  void (*free)(void *data, void *pointer, size_t bytes, void *stream);
  void (*release)(void *data);
} nereid_allocator;
/* Null goes back to Nereid's own. */
NEREID_C_API nereid_status nereid_device_set_allocator(nereid_device *device,
                                                       const nereid_allocator *allocator);

/* The program's own threads, for launches on a CPU: nereid::Executor. */
typedef struct nereid_executor {
  void *data;
  unsigned concurrency; /* the most bodies at a time */
  /* Calls body(body_data, w) for w = 0 and any further distinct w below `workers`, possibly at the
   * same time, and returns when all these calls have. */
  void (*run)(void *data, unsigned workers, void (*body)(void *body_data, unsigned w),
              void *body_data);
  void (*release)(void *data);
} nereid_executor;
/* Null goes back to Nereid's own pool. */
NEREID_C_API nereid_status nereid_device_set_executor(nereid_device *device,
                                                      const nereid_executor *executor);

/* The device's own stream, a new one, or one around a native handle (CUstream). */
NEREID_C_API nereid_status nereid_stream_default(nereid_device *device, nereid_stream **stream);
NEREID_C_API nereid_status nereid_stream_create(nereid_device *device, nereid_stream **stream);
NEREID_C_API nereid_status nereid_stream_wrap(nereid_device *device, void *native,
                                              nereid_stream **stream);
NEREID_C_API void nereid_stream_destroy(nereid_stream *stream);
NEREID_C_API nereid_status nereid_stream_synchronize(nereid_stream *stream);
/* Between memory of the device and, on a GPU, of the host and of other GPUs. */
NEREID_C_API nereid_status nereid_stream_copy(nereid_stream *stream, void *to, const void *from,
                                              size_t bytes);
/* CUstream; null on a CPU. */
NEREID_C_API void *nereid_stream_native(const nereid_stream *stream);

/* Points in streams. */
NEREID_C_API nereid_status nereid_event_create(nereid_device *device, nereid_event **event);
NEREID_C_API void nereid_event_destroy(nereid_event *event);
NEREID_C_API nereid_status nereid_stream_record(nereid_stream *stream, nereid_event *event);
NEREID_C_API nereid_status nereid_stream_wait(nereid_stream *stream, nereid_event *event);
NEREID_C_API nereid_status nereid_event_synchronize(nereid_event *event);
NEREID_C_API nereid_status nereid_event_query(nereid_event *event, int *is_reached);
NEREID_C_API nereid_status nereid_event_seconds(nereid_event *start, nereid_event *end,
                                                double *seconds);

/* Launches between the two calls are recorded and not run; the graph runs them again. */
NEREID_C_API nereid_status nereid_stream_begin_capture(nereid_stream *stream);
NEREID_C_API nereid_status nereid_stream_end_capture(nereid_stream *stream, nereid_graph **graph);
NEREID_C_API nereid_status nereid_stream_launch_graph(nereid_stream *stream, nereid_graph *graph);
NEREID_C_API size_t nereid_graph_nodes(const nereid_graph *graph);
NEREID_C_API void nereid_graph_destroy(nereid_graph *graph);

/* A view of memory: sizes and strides in elements, `rank` of each; row-major if `strides` is null.
 */
NEREID_C_API nereid_status nereid_tensor_wrap(nereid_device *device, void *data, nereid_dtype dtype,
                                              size_t rank, const int64_t *shape,
                                              const int64_t *strides, nereid_tensor **tensor);
/* New row-major memory with undefined contents. */
NEREID_C_API nereid_status nereid_tensor_empty(nereid_device *device, nereid_dtype dtype,
                                               size_t rank, const int64_t *shape,
                                               nereid_tensor **tensor);
/* Takes over what dlpack.h calls a DLManagedTensor, which on failure is still the caller's. */
struct DLManagedTensor;
NEREID_C_API nereid_status nereid_tensor_from_dlpack(struct DLManagedTensor *from,
                                                     nereid_tensor **tensor);
NEREID_C_API nereid_status nereid_tensor_to_dlpack(const nereid_tensor *tensor,
                                                   struct DLManagedTensor **to);
NEREID_C_API void nereid_tensor_destroy(nereid_tensor *tensor);
NEREID_C_API void *nereid_tensor_data(const nereid_tensor *tensor);
/* All elements of a contiguous tensor, from and to the host; waits. */
NEREID_C_API nereid_status nereid_tensor_upload(nereid_tensor *tensor, const void *host);
NEREID_C_API nereid_status nereid_tensor_download(const nereid_tensor *tensor, void *host);

/* `TensorDescriptor` of Triton: a tensor that kernels read and write by blocks of a size for each
 * dimension. Elements out of bounds read as zero, or as NaN if `pad_nan`. */
NEREID_C_API nereid_status nereid_descriptor_create(const nereid_tensor *tensor,
                                                    const int64_t *block, int pad_nan,
                                                    nereid_descriptor **descriptor);
NEREID_C_API void nereid_descriptor_destroy(nereid_descriptor *descriptor);

typedef enum nereid_argument_kind NEREID_C_INT {
  NEREID_ARG_DEFAULT = 0, /* the parameter's default */
  NEREID_ARG_NONE,
  NEREID_ARG_BOOL,    /* integer */
  NEREID_ARG_INT,     /* integer; typed as Triton types Python's ints */
  NEREID_ARG_FLOAT,   /* number */
  NEREID_ARG_POINTER, /* pointer, dtype */
  NEREID_ARG_TEXT,    /* text; for constexprs */
  NEREID_ARG_DTYPE,   /* dtype; for constexprs */
  NEREID_ARG_TENSOR,  /* tensor, which lives until the call returns */
  NEREID_ARG_DESCRIPTOR
} nereid_argument_kind;

typedef struct nereid_argument {
  nereid_argument_kind kind;
  nereid_dtype dtype;
  const char *name; /* of the parameter; null: by position */
  union {
    int64_t integer;
    double number;
    void *pointer;
    const char *text;
    const nereid_tensor *tensor;
    const nereid_descriptor *descriptor;
  } value;
} nereid_argument;

/* Queues grid[0] * grid[1] * grid[2] programs. The first launch of its kind compiles. */
NEREID_C_API nereid_status nereid_kernel_launch(nereid_kernel *kernel, nereid_stream *stream,
                                                const uint32_t grid[3],
                                                const nereid_argument *arguments, size_t count);
/* Compiles and loads what such a launch needs. */
NEREID_C_API nereid_status nereid_kernel_prepare(nereid_kernel *kernel, nereid_device *device,
                                                 const nereid_argument *arguments, size_t count);

/* A configuration of `@triton.autotune`: "BLOCK=1024 num_warps=4 num_stages=3", good while it
 * lives, and the value of a constant that is an integer, 0 if there is none of that name. */
NEREID_C_API const char *nereid_configuration_text(const nereid_configuration *configuration);
NEREID_C_API int64_t nereid_configuration_integer(const nereid_configuration *configuration,
                                                  const char *name);
NEREID_C_API void nereid_configuration_destroy(nereid_configuration *configuration);
/* The one to take for such a launch: what was tuned, else the first. Arguments that a configuration
 * chooses are left out. */
NEREID_C_API nereid_status nereid_kernel_configuration(nereid_kernel *kernel, nereid_device *device,
                                                       const nereid_argument *arguments,
                                                       size_t count,
                                                       nereid_configuration **configuration);
/* The one with this number of those that such a launch can take; null past the last. */
NEREID_C_API nereid_status nereid_kernel_nth_configuration(nereid_kernel *kernel,
                                                           const nereid_argument *arguments,
                                                           size_t count, size_t index,
                                                           nereid_configuration **configuration);
/* The kernel with the constants and options of a configuration; launches leave its constants out.
 */
NEREID_C_API nereid_status nereid_kernel_with(nereid_kernel *kernel,
                                              const nereid_configuration *configuration,
                                              nereid_kernel **configured);

typedef struct nereid_tune_options {
  size_t size;                         /* sizeof(nereid_tune_options) */
  double seconds;                      /* for each configuration; 0: 0.05 */
  const nereid_tensor *const *outputs; /* contiguous, compared and brought back */
  size_t output_count;
} nereid_tune_options;
typedef void (*nereid_grid_callback)(void *data, const nereid_configuration *configuration,
                                     uint32_t grid[3]);
/* Told of each configuration, the fastest first; `failure`, if not "", says why it cannot be taken.
 */
typedef void (*nereid_tune_callback)(void *data, const nereid_configuration *configuration,
                                     double seconds, const char *failure);
/* Compiles all configurations in parallel and times them one by one: nereid::Kernel::tune. `data`
 * is given to both functions; `options` and `told` may be null. */
NEREID_C_API nereid_status nereid_kernel_tune(nereid_kernel *kernel, nereid_stream *stream,
                                              nereid_grid_callback grid,
                                              const nereid_argument *arguments, size_t count,
                                              const nereid_tune_options *options,
                                              nereid_tune_callback told, void *data);

/* Told of what kernels printed and which assertions failed in them, and in which program. */
typedef void (*nereid_message_callback)(void *data, const char *text, int is_assert,
                                        const uint32_t program[3]);
/* Hands over the messages of launches that are done, each once. */
NEREID_C_API nereid_status nereid_kernel_take_messages(nereid_kernel *kernel,
                                                       nereid_message_callback callback,
                                                       void *data);

/* A pack that `nereid compile --emit pack` made, mapped. A launch that it has no code for is
 * refused. */
NEREID_C_API nereid_status nereid_pack_open(const char *path, nereid_pack **pack);
NEREID_C_API void nereid_pack_destroy(nereid_pack *pack);
/* How many kernels it has, and the name of one: null past the last, good while the pack lives. */
NEREID_C_API size_t nereid_pack_count(const nereid_pack *pack);
NEREID_C_API const char *nereid_pack_name(const nereid_pack *pack, size_t index);
NEREID_C_API nereid_status nereid_pack_kernel(nereid_pack *pack, const char *name,
                                              nereid_packed_kernel **kernel);
NEREID_C_API void nereid_packed_kernel_destroy(nereid_packed_kernel *kernel);
/* As their namesakes of kernels from source. A null `grid` is the one that the pack brings along.
 */
NEREID_C_API nereid_status nereid_packed_kernel_launch(nereid_packed_kernel *kernel,
                                                       nereid_stream *stream,
                                                       const uint32_t grid[3],
                                                       const nereid_argument *arguments,
                                                       size_t count);
NEREID_C_API nereid_status nereid_packed_kernel_prepare(nereid_packed_kernel *kernel,
                                                        nereid_device *device,
                                                        const nereid_argument *arguments,
                                                        size_t count);
NEREID_C_API nereid_status nereid_packed_kernel_take_messages(nereid_packed_kernel *kernel,
                                                              nereid_message_callback callback,
                                                              void *data);

/* Records what all threads do from now on (nereid/profile.h). */
NEREID_C_API void nereid_profile_start(void);
/* Ends that. `path`, if it is not null, is the file of a trace for Chrome's viewer and Perfetto;
 * `callback`, if it is not null, is given a table as text, the longest first. */
NEREID_C_API nereid_status nereid_profile_stop(const char *path, nereid_text_callback callback,
                                               void *data);
/* The same with samples of the program counters of a GPU, "cuda:0": where its kernels wait. What
 * stands in the way is a note of what nereid_profile_finish reads. */
NEREID_C_API nereid_status nereid_profile_start_lines(const char *device);

/* What one line of a kernel's source waits for, as nereid::profile::Line. */
typedef struct nereid_profile_line {
  const char *kernel, *file; /* file: "" for code that belongs to no line */
  uint32_t line;             /* from 1 */
  uint64_t samples;
  const char *waits_for; /* the most frequent reason in words; "" if it does not wait */
  const char *hint;      /* what helps; may be "" */
  const char *from_file; /* where the results come from that it waits for; "" if not known */
  uint32_t from_line;
  size_t reason_count; /* samples by reason, as the chip's counters name those */
  const char *const *reasons;
  const uint64_t *reason_samples;
  size_t caller_count; /* the calls that brought the kernel there, the innermost first */
  const char *const *caller_files;
  const uint32_t *caller_lines;
} nereid_profile_line;
/* What it points to is good during the call. */
typedef void (*nereid_line_callback)(void *data, const nereid_profile_line *line);

/* Who is told what of a recording; zeroed but for `size`, nobody is. All are given `data`. */
typedef struct nereid_profile_reader {
  size_t size;                /* sizeof(nereid_profile_reader) */
  const char *trace;          /* a file for Chrome's viewer and Perfetto */
  nereid_text_callback table; /* what took how long, the longest first */
  nereid_text_callback note;  /* each thing that is missing, and why */
  nereid_line_callback line;  /* each line that was sampled, the hottest of each kernel first */
  nereid_text_callback line_table; /* the hottest of them, with their source and hints */
  void *data;
} nereid_profile_reader;
/* As nereid_profile_stop, for all that a recording has; `reader` may be null. */
NEREID_C_API nereid_status nereid_profile_finish(const nereid_profile_reader *reader);
/* A part of the program between two calls of one thread; parts nest. */
NEREID_C_API void nereid_range_begin(const char *name);
NEREID_C_API void nereid_range_end(void);

#ifdef __cplusplus
}
#endif
#endif
