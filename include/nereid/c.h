/* The C interface: what nereid/engine.h and nereid/pack.h offer, over opaque handles. Devices,
 * streams and packs are in the library nereid_runtime too, which has no compiler.
 *
 * Calls that can fail return a nereid_status; nereid_last_error() then says what failed on this
 * thread. Nothing throws or ends the process. Each handle is given back with its _destroy function,
 * in any order: what is still in use stays alive. Handles may be used by several threads, streams
 * by one at a time. */
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
typedef struct nereid_pack nereid_pack;
typedef struct nereid_packed_kernel nereid_packed_kernel;

/* What failed last on this thread, with diagnostics and hints; never null, good until the next
 * failure. */
NEREID_C_API const char *nereid_last_error(void);
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
} nereid_engine_options;

/* `options` may be null. */
NEREID_C_API nereid_status nereid_engine_create(const nereid_engine_options *options,
                                                nereid_engine **engine);
NEREID_C_API void nereid_engine_destroy(nereid_engine *engine);

/* A Python file, or text that messages call `name`. */
NEREID_C_API nereid_status nereid_program_load(nereid_engine *engine, const char *path,
                                               nereid_program **program);
NEREID_C_API nereid_status nereid_program_load_text(nereid_engine *engine, const char *text,
                                                    size_t size, const char *name,
                                                    nereid_program **program);
NEREID_C_API void nereid_program_destroy(nereid_program *program);

typedef struct nereid_compile_options {
  size_t size;                                        /* sizeof(nereid_compile_options) */
  int num_warps, num_stages, num_ctas, max_registers; /* 0: 4, 3, 1, the compiler's choice */
  int debug;                                          /* keep tl.device_assert */
  const char *input_precision;                        /* null: "tf32" */
  int launch_pdl;              /* start early and wait by `gdc_wait`, where the kernel does */
  int launch_cooperative_grid; /* all programs run at once, or the launch fails */
} nereid_compile_options;

/* `options` may be null. */
NEREID_C_API nereid_status nereid_kernel_get(nereid_program *program, const char *name,
                                             const nereid_compile_options *options,
                                             nereid_kernel **kernel);
NEREID_C_API void nereid_kernel_destroy(nereid_kernel *kernel);

/* "cpu", "cuda", "cuda:1" */
NEREID_C_API nereid_status nereid_device_open(const char *name, nereid_device **device);
/* A GPU in a context of the program (CUcontext), which must stay while the device is used. */
NEREID_C_API nereid_status nereid_device_in_context(void *native, nereid_device **device);
NEREID_C_API void nereid_device_destroy(nereid_device *device);
/* Memory of the device; null data on failure. Freed by nereid_device_free. */
NEREID_C_API nereid_status nereid_device_allocate(nereid_device *device, size_t bytes, void **data);
NEREID_C_API nereid_status nereid_device_free(nereid_device *device, void *data);
NEREID_C_API nereid_status nereid_device_synchronize(nereid_device *device);

/* The device's own stream, or one around a native handle (CUstream). */
NEREID_C_API nereid_status nereid_stream_default(nereid_device *device, nereid_stream **stream);
NEREID_C_API nereid_status nereid_stream_wrap(nereid_device *device, void *native,
                                              nereid_stream **stream);
NEREID_C_API void nereid_stream_destroy(nereid_stream *stream);
NEREID_C_API nereid_status nereid_stream_synchronize(nereid_stream *stream);
/* Between memory of the device and, on a GPU, of the host. */
NEREID_C_API nereid_status nereid_stream_copy(nereid_stream *stream, void *to, const void *from,
                                              size_t bytes);

typedef enum nereid_argument_kind NEREID_C_INT {
  NEREID_ARG_DEFAULT = 0, /* the parameter's default */
  NEREID_ARG_NONE,
  NEREID_ARG_BOOL,    /* integer */
  NEREID_ARG_INT,     /* integer; typed as Triton types Python's ints */
  NEREID_ARG_FLOAT,   /* number */
  NEREID_ARG_POINTER, /* pointer, dtype */
  NEREID_ARG_TEXT,    /* text; for constexprs */
  NEREID_ARG_DTYPE    /* dtype; for constexprs */
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
  } value;
} nereid_argument;

/* Queues grid[0] * grid[1] * grid[2] programs. The first launch of its kind compiles. */
NEREID_C_API nereid_status nereid_kernel_launch(nereid_kernel *kernel, nereid_stream *stream,
                                                const uint32_t grid[3],
                                                const nereid_argument *arguments, size_t count);
/* Compiles and loads what such a launch needs. */
NEREID_C_API nereid_status nereid_kernel_prepare(nereid_kernel *kernel, nereid_device *device,
                                                 const nereid_argument *arguments, size_t count);

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
/* As their namesakes of kernels from source. */
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
NEREID_C_API nereid_status nereid_profile_stop(const char *path,
                                               void (*callback)(void *data, const char *table),
                                               void *data);
/* A part of the program between two calls of one thread; parts nest. */
NEREID_C_API void nereid_range_begin(const char *name);
NEREID_C_API void nereid_range_end(void);

#ifdef __cplusplus
}
#endif
#endif
