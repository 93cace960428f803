/* Vector add from C.
 *
 *   vector_add KERNEL_FOLDER [DEVICE] */
#include "call.h"

enum { count = 5000 };

int main(int argc, char **argv) {
  static float x[count], y[count], out[count];
  void *buffers[3];
  char path[1024];
  nereid_engine *engine;
  nereid_program *program;
  nereid_kernel *kernel;
  nereid_device *device;
  nereid_stream *stream;
  int i;

  snprintf(path, sizeof path, "%s/vector_add/kernel.py", argc > 1 ? argv[1] : "kernels");
  CHECK(nereid_engine_create(NULL, &engine));
  CHECK(nereid_program_load(engine, path, &program));
  CHECK(nereid_kernel_get(program, "add", NULL, &kernel));
  CHECK(nereid_device_open(argc > 2 ? argv[2] : "cpu", &device));
  CHECK(nereid_stream_default(device, &stream));

  for (i = 0; i < count; ++i) {
    x[i] = (float)i;
    y[i] = 0.5f * (float)i;
  }
  for (i = 0; i < 3; ++i)
    CHECK(nereid_device_allocate(device, sizeof x, &buffers[i]));
  CHECK(nereid_stream_copy(stream, buffers[0], x, sizeof x));
  CHECK(nereid_stream_copy(stream, buffers[1], y, sizeof y));

  const nereid_argument arguments[] = {pointer(buffers[0]), pointer(buffers[1]),
                                       pointer(buffers[2]), integer(NULL, count),
                                       integer("BLOCK", 1024)};
  const uint32_t grid[3] = {(count + 1023) / 1024, 1, 1};
  CHECK(nereid_kernel_launch(kernel, stream, grid, arguments, 5));
  CHECK(nereid_stream_copy(stream, out, buffers[2], sizeof out));
  CHECK(nereid_stream_synchronize(stream));
  for (i = 0; i < count; ++i)
    if (out[i] != 1.5f * (float)i) {
      fprintf(stderr, "element %d is %g\n", i, out[i]);
      return 1;
    }

  /* What is wrong is said, and nothing ends the process. */
  if (nereid_kernel_launch(kernel, stream, grid, arguments, 2) == NEREID_OK ||
      !*nereid_last_error() ||
      nereid_kernel_launch(NULL, stream, grid, arguments, 5) != NEREID_BAD_CALL)
    return 1;

  for (i = 0; i < 3; ++i)
    CHECK(nereid_device_free(device, buffers[i]));
  nereid_stream_destroy(stream);
  nereid_device_destroy(device);
  nereid_engine_destroy(engine);
  nereid_program_destroy(program);
  nereid_kernel_destroy(kernel);
  printf("%d sums are right (Nereid %s)\n", count, nereid_version());
  return 0;
}
