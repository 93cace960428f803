// The part of the C interface that compiles: engines, programs, kernels.
#include "api/CHandles.h"
#include "nereid/engine.h"

using namespace nereid;
using namespace nereid::c;

struct nereid_engine {
  Engine engine;
};
struct nereid_program {
  explicit nereid_program(Program program) : program(std::move(program)) {
    names = this->program.kernels();
  }
  Program program;
  std::vector<std::string> names;
};
struct nereid_kernel {
  Kernel kernel;
};
struct nereid_configuration {
  explicit nereid_configuration(Configuration configuration)
      : configuration(std::move(configuration)), text(this->configuration.text()) {}
  Configuration configuration;
  std::string text;
};

namespace {
std::vector<std::string> lines(const char *const *keys, size_t count) {
  std::vector<std::string> all;
  for (size_t i = 0; i < count; ++i)
    all.emplace_back(keys[i] ? keys[i] : "");
  return all;
}
} // namespace

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
    if (given.tuning_file)
      to.tuningFile = given.tuning_file;
    if (given.definitions)
      to.definitions = lines(given.definitions, given.definition_count);
    return give(engine, Engine::create(std::move(to)));
  });
}
void nereid_engine_destroy(nereid_engine *engine) { delete engine; }

static_assert(int(NEREID_FREEZE_REFUSE) == int(Freeze::Refuse));
nereid_status nereid_engine_freeze(nereid_engine *engine, nereid_freeze mode) {
  return guarded(engine, [&]() -> Status {
    if (unsigned(mode) > unsigned(NEREID_FREEZE_REFUSE))
      return Error{"mode " + std::to_string(int(mode)) + " of nereid_engine_freeze is not known",
                   {}};
    engine->engine.freeze(Freeze(mode));
    return Success{};
  });
}
nereid_status nereid_engine_count(nereid_engine *engine, nereid_engine_counts *counts) {
  return guarded(engine && counts, [&]() -> Status {
    nereid_engine_counts to = sized(counts); // refuses a size that was not set
    EngineStatistics now = engine->engine.statistics();
    to = {std::min(to.size, sizeof to),
          now.compiled,
          now.fromMemory,
          now.fromDisk,
          now.repaired,
          now.notStored};
    std::memcpy(counts, &to, to.size);
    return Success{};
  });
}

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
const char *nereid_program_kernel(nereid_program *program, size_t index) {
  return program && index < program->names.size() ? program->names[index].c_str() : nullptr;
}
nereid_status nereid_program_recorded_keys(nereid_program *program, nereid_text_callback callback,
                                           void *data) {
  return guarded(program && callback, [&]() -> Status {
    for (const std::string &key : program->program.recordedKeys())
      callback(data, key.c_str());
    return Success{};
  });
}
nereid_status nereid_program_build_ahead(nereid_program *program, const char *const *keys,
                                         size_t count, size_t *built) {
  return guarded(program && (keys || !count), [&]() -> Status {
    auto done = program->program.buildAhead(lines(keys, count));
    if (!done)
      return done.takeError();
    if (built)
      *built = *done;
    return Success{};
  });
}
nereid_status nereid_program_pack(nereid_program *program, const char *path,
                                  const char *const *keys, size_t count, int add) {
  return nereid_program_pack_with_grids(program, path, keys, count, add, nullptr, nullptr, 0);
}

nereid_status nereid_program_pack_with_grids(nereid_program *program, const char *path,
                                             const char *const *keys, size_t count, int add,
                                             const char *const *kernels, const char *const *grids,
                                             size_t grid_count) {
  return guarded(program && path && (keys || !count) && ((kernels && grids) || !grid_count), [&] {
    PackOptions options;
    options.add = add != 0;
    for (size_t i = 0; i < grid_count; ++i)
      options.grids.emplace_back(kernels[i], grids[i]);
    return program->program.pack(path, lines(keys, count), options);
  });
}

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
    for (auto *word = given.extern_libs; word && word[0] && word[1]; word += 2)
      to.externLibs.emplace_back(word[0], word[1]);
    return give(kernel, program->program.kernel(name, to));
  });
}
void nereid_kernel_destroy(nereid_kernel *kernel) { delete kernel; }
const char *nereid_kernel_parameter(nereid_kernel *kernel, size_t index, int *isConstexpr) {
  if (!kernel || index >= kernel->kernel.parameters().size())
    return nullptr;
  const KernelParameter &parameter = kernel->kernel.parameters()[index];
  if (isConstexpr)
    *isConstexpr = parameter.isConstexpr;
  return parameter.name.c_str();
}

const char *nereid_configuration_text(const nereid_configuration *configuration) {
  return configuration ? configuration->text.c_str() : "";
}
int64_t nereid_configuration_integer(const nereid_configuration *configuration, const char *name) {
  return configuration && name ? configuration->configuration.integer(name) : 0;
}
void nereid_configuration_destroy(nereid_configuration *configuration) { delete configuration; }
nereid_status nereid_kernel_configuration(nereid_kernel *kernel, nereid_device *device,
                                          const nereid_argument *arguments, size_t count,
                                          nereid_configuration **configuration) {
  return guarded(kernel && device && (arguments || !count) && configuration, [&] {
    return give(configuration,
                kernel->kernel.configuration(device->device, Arguments(arguments, count).all()));
  });
}
nereid_status nereid_kernel_nth_configuration(nereid_kernel *kernel,
                                              const nereid_argument *arguments, size_t count,
                                              size_t index, nereid_configuration **configuration) {
  return guarded(kernel && (arguments || !count) && configuration, [&]() -> Status {
    *configuration = nullptr;
    auto all = kernel->kernel.configurations(Arguments(arguments, count).all());
    if (!all)
      return all.takeError();
    if (index < all->size())
      *configuration = new nereid_configuration(std::move((*all)[index]));
    return Success{};
  });
}
nereid_status nereid_kernel_with(nereid_kernel *kernel, const nereid_configuration *configuration,
                                 nereid_kernel **configured) {
  return guarded(kernel && configuration && configured, [&] {
    return give(configured, kernel->kernel.with(configuration->configuration));
  });
}
nereid_status nereid_kernel_tune(nereid_kernel *kernel, nereid_stream *stream,
                                 nereid_grid_callback grid, const nereid_argument *arguments,
                                 size_t count, const nereid_tune_options *options,
                                 nereid_tune_callback told, void *data) {
  return guarded(kernel && stream && grid && (arguments || !count), [&]() -> Status {
    nereid_tune_options given = sized(options);
    TuneOptions to;
    if (given.seconds > 0)
      to.seconds = given.seconds;
    for (size_t i = 0; given.outputs && i < given.output_count; ++i)
      if (given.outputs[i])
        to.outputs.push_back(given.outputs[i]->tensor);
    auto gridOf = [&](const Configuration &configuration) {
      nereid_configuration one(configuration);
      uint32_t axes[3] = {1, 1, 1};
      grid(data, &one, axes);
      return Grid{axes[0], axes[1], axes[2]};
    };
    auto rows = kernel->kernel.tune(stream->stream, gridOf, Arguments(arguments, count).all(), to);
    if (!rows)
      return rows.takeError();
    for (const TuneRow &row : *rows) {
      nereid_configuration one(row.configuration);
      if (told)
        told(data, &one, row.seconds, row.failure.c_str());
    }
    return Success{};
  });
}

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
