// The part of the C interface that compiles: engines, programs, kernels.
#include "api/CHandles.h"
#include "nereid/engine.h"

using namespace nereid;
using namespace nereid::c;

struct nereid_engine {
  Engine engine;
};
struct nereid_program {
  Program program;
};
struct nereid_kernel {
  Kernel kernel;
};

extern "C" {

nereid_status nereid_engine_create(const nereid_engine_options *options, nereid_engine **engine) {
  return guarded(engine, [&] {
    nereid_engine_options given = sized(options);
    EngineOptions to;
    if (given.on_compile)
      to.onCompile = [call = given.on_compile, data = given.on_compile_data](const auto &event) {
        call(data, event.kernel.c_str(), event.signature.c_str(), event.target.c_str(),
             event.seconds, event.fromDisk);
      };
    if (given.cache_directory)
      to.cacheDirectory = given.cache_directory;
    to.cacheOnDisk = !given.no_disk_cache;
    return give(engine, Engine::create(std::move(to)));
  });
}
void nereid_engine_destroy(nereid_engine *engine) { delete engine; }

nereid_status nereid_program_load(nereid_engine *engine, const char *path,
                                  nereid_program **program) {
  return guarded(engine && path && program,
                 [&] { return give(program, engine->engine.load(path)); });
}
nereid_status nereid_program_load_text(nereid_engine *engine, const char *text, size_t size,
                                       const char *name, nereid_program **program) {
  return guarded(engine && (text || !size) && program, [&] {
    return give(program, engine->engine.loadText({text, size}, name ? name : "<text>"));
  });
}
void nereid_program_destroy(nereid_program *program) { delete program; }

nereid_status nereid_kernel_get(nereid_program *program, const char *name,
                                const nereid_compile_options *options, nereid_kernel **kernel) {
  return guarded(program && name && kernel, [&] {
    nereid_compile_options given = sized(options);
    CompileOptions to;
    if (given.num_warps)
      to.numWarps = given.num_warps;
    if (given.num_stages)
      to.numStages = given.num_stages;
    if (given.num_ctas)
      to.numCtas = given.num_ctas;
    to.maxRegisters = given.max_registers;
    to.debug = given.debug != 0;
    if (given.input_precision)
      to.inputPrecision = given.input_precision;
    to.launchPdl = given.launch_pdl != 0;
    to.launchCooperative = given.launch_cooperative_grid != 0;
    return give(kernel, program->program.kernel(name, to));
  });
}
void nereid_kernel_destroy(nereid_kernel *kernel) { delete kernel; }

nereid_status nereid_kernel_launch(nereid_kernel *kernel, nereid_stream *stream,
                                   const uint32_t grid[3], const nereid_argument *arguments,
                                   size_t count) {
  return guarded(kernel && stream && grid && (arguments || !count), [&] {
    return kernel->kernel.launch(stream->stream, {grid[0], grid[1], grid[2]},
                                 Arguments(arguments, count).all());
  });
}
nereid_status nereid_kernel_prepare(nereid_kernel *kernel, nereid_device *device,
                                    const nereid_argument *arguments, size_t count) {
  return guarded(kernel && device && (arguments || !count), [&] {
    return kernel->kernel.prepare(device->device, Arguments(arguments, count).all());
  });
}
nereid_status nereid_kernel_take_messages(nereid_kernel *kernel, nereid_message_callback callback,
                                          void *data) {
  return guarded(kernel && callback,
                 [&] { return tell(kernel->kernel.takeMessages(), callback, data); });
}
}
