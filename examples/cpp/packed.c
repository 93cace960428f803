/* Launches a kernel from a pack, from C. Links `nereid_runtime`: there is no compiler in this
 * process.
 *
 *   nereid compile written_twice.py:add --signature "*fp32:16, *fp32:16, *fp32:16, i32, 1024" \
 *     --emit pack --grid "cdiv(n, BLOCK)" -o kernels.pack
 *   packed_c kernels.pack [DEVICE] */
#include "call.h"

enum { count = 5000 };

int main(int argc, char **argv) {
  static float x[count], y[count], out[count];
  void *buffers[3];
  nereid_device *device;
  nereid_stream *stream;
  nereid_pack *pack;
  nereid_packed_kernel *add, *missing;
  int i, wrong = 0;

  CHECK(nereid_pack_open(argc > 1 ? argv[1] : "kernels.pack", &pack));
  CHECK(nereid_pack_kernel(pack, "add", &add));
  CHECK(nereid_device_open(argc > 2 ? argv[2] : "cpu", &device));
  CHECK(nereid_stream_default(device, &stream));
  for (i = 0; i < (int)nereid_pack_count(pack); ++i)
    printf("%s%s", i ? ", " : "", nereid_pack_name(pack, (size_t)i));
  printf("\n");

  for (i = 0; i < count; ++i) {
    x[i] = (float)i;
    y[i] = 0.5f * (float)i;
  }
  for (i = 0; i < 3; ++i)
    CHECK(nereid_device_allocate(device, sizeof x, &buffers[i]));
  CHECK(nereid_stream_copy(stream, buffers[0], x, sizeof x));
  CHECK(nereid_stream_copy(stream, buffers[1], y, sizeof y));

  {
    const nereid_argument arguments[] = {pointer(buffers[0]), pointer(buffers[1]),
                                         pointer(buffers[2]), integer(NULL, count),
                                         integer("BLOCK", 1024)};
    const nereid_argument unpacked[] = {pointer(buffers[0]), pointer(buffers[1]),
                                        pointer(buffers[2]), integer(NULL, count),
                                        integer("BLOCK", 2048)};
    const uint32_t grid[3] = {(count + 1023) / 1024, 1, 1};
    CHECK(nereid_packed_kernel_prepare(add, device, arguments, 5));
    CHECK(nereid_packed_kernel_launch(add, stream, NULL, arguments, 5)); /* on the pack's grid */
    CHECK(nereid_stream_copy(stream, out, buffers[2], sizeof out));
    CHECK(nereid_stream_synchronize(stream));
    for (i = 0; i < count; ++i)
      wrong += out[i] != 1.5f * (float)i;
    printf("%d of %d sums are wrong\n", wrong, count);

    /* What the pack lacks is refused, not compiled. */
    if (nereid_packed_kernel_launch(add, stream, grid, unpacked, 5) != NEREID_FAILED)
      return 1;
    printf("refused: %s\n", nereid_last_error());
    if (nereid_pack_kernel(pack, "nothing", &missing) != NEREID_FAILED)
      return 1;
    printf("refused: %s\n", nereid_last_error());
    if (nereid_packed_kernel_launch(NULL, stream, grid, arguments, 5) != NEREID_BAD_CALL ||
        nereid_pack_open("/nonexistent.pack", &pack) != NEREID_FAILED)
      return 1;
  }

  for (i = 0; i < 3; ++i)
    CHECK(nereid_device_free(device, buffers[i]));
  nereid_stream_destroy(stream);
  nereid_device_destroy(device);
  nereid_pack_destroy(pack); /* the kernel keeps what it needs */
  nereid_packed_kernel_destroy(add);
  return wrong != 0;
}
