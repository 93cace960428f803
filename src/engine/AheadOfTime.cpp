#include "engine/AheadOfTime.h"

#include "engine/AheadOfTimeText.h"
#include "engine/GridExpression.h"
#include "pipeline/Cpu.h"
#include "support/LaunchAbi.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace nereid::engine {

using support::Artifact;

namespace {

// Features that C compilers can ask for by the name that LLVM gives them. Those left out come with
// one of these on every processor.
constexpr std::string_view askable[] = {
    "sse3",     "ssse3",    "sse4.1",   "sse4.2",     "popcnt",     "avx",
    "avx2",     "fma",      "bmi",      "bmi2",       "avx512f",    "avx512bw",
    "avx512cd", "avx512dq", "avx512vl", "avx512vbmi", "avx512vnni", "avx512bf16"};

// $NAME is the prefix, $UPPER the same in capitals.
constexpr std::string_view headerText =
    R"(/* Kernel `$KERNEL` for $ARGUMENTS, made by nereid compile.
 * Compiled in: $CONSTANTS
 *
 * $NAME_run(gx, gy, gz, ...) runs a grid of programs on the calling thread. To use several, give each a range of
 * the gx * gy * gz programs and an arena of its own, with $NAME_run_range. Both give a status. */
#ifndef NEREID_KERNEL_$UPPER_H
#define NEREID_KERNEL_$UPPER_H

#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef NEREID_CPU_CONTEXT
#define NEREID_CPU_CONTEXT
/* What compiled code is called with. */
typedef struct nereid_cpu_context {
  const void *arguments;
  uint32_t grid[3], stream_above_kib;
  void *arena, *scratch, *records;
  void (*yield)(const struct nereid_cpu_context *);
  void *yield_state;
  uint32_t *fault;
  uint32_t is_alone, reserved;
} nereid_cpu_context;

/* A grid that writes more than this to memory it does not read writes past the cache, as far as rows begin at multiples
 * of 64 bytes; a quarter of the last cache is a good number. 0: none does. */
#ifndef NEREID_STREAM_ABOVE_KIB
#define NEREID_STREAM_ABOVE_KIB 8192
#endif

enum nereid_kernel_status {
  NEREID_KERNEL_OK = 0,
  NEREID_KERNEL_TRAP = 1,        /* the kernel reached tl.device_trap */
  NEREID_KERNEL_NO_MEMORY = 2,   /* no memory for the arena */
  NEREID_KERNEL_BAD_GRID = 3,    /* x from 2^31 up, y or z from 2^16 up, or a range outside of the grid */
  NEREID_KERNEL_UNSUPPORTED = 4, /* this processor lacks an instruction set that the code uses */
  NEREID_KERNEL_UNALIGNED = 5    /* an argument is not the multiple that the signature promises */
};
#endif

/* Bytes of memory, at a multiple of 64, that each thread running programs needs for itself. */
#define $UPPER_ARENA_BYTES $ARENA

/* Arguments as the code reads them. */
typedef struct $NAME_arguments {
$FIELDS} $NAME_arguments;
typedef char $NAME_check_arguments[sizeof($NAME_arguments) >= $BYTES && sizeof(nereid_cpu_context) == 80 ? 1 : -1];

/* In the object: runs programs first to first + count - 1. */
void $NAME_programs(uint64_t first, uint64_t count, const nereid_cpu_context *context);

/* Whether this processor can run the code: $FEATURES */
static inline int $NAME_supported(void) {
  return $SUPPORTED;
}

/* Runs programs first to first + count - 1 of the grid, x fastest. `arena` may be null if
 * $UPPER_ARENA_BYTES is 0. Any number of threads at once, on disjoint ranges. */
static inline int $NAME_run_range(uint64_t first, uint64_t count, uint32_t gx, uint32_t gy, uint32_t gz,
                                  void *arena$PARAMETERS) {
  $NAME_arguments block;
  nereid_cpu_context context;
  uint32_t fault = 0;
  if (gx > 0x7fffffffu || gy > 0xffffu || gz > 0xffffu || first > (uint64_t)gx * gy * gz ||
      count > (uint64_t)gx * gy * gz - first)
    return NEREID_KERNEL_BAD_GRID;
  if (!$NAME_supported())
    return NEREID_KERNEL_UNSUPPORTED;
$CHECKS$ASSIGNMENTS  context.arguments = &block;
  context.grid[0] = gx;
  context.grid[1] = gy;
  context.grid[2] = gz;
  context.stream_above_kib = NEREID_STREAM_ABOVE_KIB;
  context.arena = arena;
  context.scratch = context.records = context.yield_state = 0;
  context.yield = 0;
  context.fault = &fault;
  context.is_alone = context.reserved = 0;
  if (count)
    $NAME_programs(first, count, &context);
  return fault ? NEREID_KERNEL_TRAP : NEREID_KERNEL_OK;
}

/* Runs the whole grid on the calling thread. */
static inline int $NAME_run(uint32_t gx, uint32_t gy, uint32_t gz$PARAMETERS) {
  void *memory = 0, *arena = 0;
  int status;
  if ($UPPER_ARENA_BYTES) {
    memory = malloc((size_t)$UPPER_ARENA_BYTES + 63);
    if (!memory)
      return NEREID_KERNEL_NO_MEMORY;
    arena = (void *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
  }
  status = $NAME_run_range(0, (uint64_t)gx * gy * gz, gx, gy, gz, arena$GIVEN);
  free(memory);
  return status;
}
$WHOLE
#ifdef __cplusplus
}
#endif
#endif
)";

std::string writeHeader(const Artifact &artifact, const std::string &name,
                        target::CpuFeatureSet features, const std::string &wholeGrid) {
  const support::CodeRecord &code = artifact.codes()[0];
  ParameterText all = parametersOf(artifact, name, "NEREID_KERNEL_UNALIGNED");
  if (all.fields.empty())
    all.fields = "  char none;\n";
  std::string supported;
  for (std::string_view feature : askable)
    if (features.has(feature))
      supported += (supported.empty() ? "" : " &&\n         ") +
                   ("__builtin_cpu_supports(\"" + std::string(feature) + "\")");
  return replaced(headerText,
                  {{"KERNEL", inComment(std::string(artifact.name()))},
                   {"ARGUMENTS", signatureOf(artifact)},
                   {"CONSTANTS", constantsOf(artifact)},
                   {"NAME", name},
                   {"UPPER", upperCase(name)},
                   {"ARENA", std::to_string(code.arenaBytes)},
                   {"FIELDS", all.fields},
                   {"BYTES", std::to_string(artifact.kernel().packedBytes)},
                   {"FEATURES", features.text().empty() ? "any x86-64" : features.text()},
                   {"SUPPORTED", supported.empty() ? "1" : supported},
                   {"PARAMETERS", all.parameters},
                   {"CHECKS", all.checks},
                   {"ASSIGNMENTS", all.assignments},
                   {"GIVEN", all.given},
                   {"WHOLE", wholeGrid}});
}

// The assembly as statements of a C file, each with as long a string as every C compiler takes.
// Directives about the file as a whole, and LLVM's own, are left to the compiler of that file.
std::string writeSource(const std::string &assembly, const std::string &name) {
  constexpr size_t longest = 4095;
  std::string out =
      "/* The code of kernel `" + name + "`; " + name + ".h declares how to run it. */\n__asm__(\n";
  size_t length = 0;
  std::istringstream lines(assembly);
  for (std::string line; std::getline(lines, line);) {
    size_t start = line.find_first_not_of(" \t");
    if (start == std::string::npos)
      continue;
    std::string_view word = std::string_view(line).substr(start);
    if (word.starts_with(".file") || word.starts_with(".ident") || word.starts_with(".addrsig"))
      continue;
    if (length && length + line.size() + 1 > longest) {
      out += "  );\n__asm__(\n";
      length = 0;
    }
    length += line.size() + 1;
    out += "  \"";
    for (char c : line)
      if (c == '\t')
        out += "\\t";
      else
        (c == '"' || c == '\\' ? out += '\\' : out) += c;
    out += "\\n\"\n";
  }
  return out + "  );\n__asm__(\".text\\n\");\n";
}

} // namespace

Result<AheadOfTime> buildAheadOfTime(EmittedKernel &emitted, const std::string &name,
                                     target::CpuFeatureSet features) {
  if (Status status = checkPrefix(name); !status)
    return status.takeError();
  // Tiles want a permission of the operating system, for which only the runtime asks.
  for (std::string_view tiles : {"amx-tile", "amx-bf16", "amx-int8"})
    features.remove(tiles);
  pipeline::CpuOptions options;
  options.features = features;
  options.entry = name + "_programs";
  auto artifact = buildArtifact(emitted, "cpu", {}, options);
  if (!artifact)
    return artifact.takeError();
  const support::CodeRecord &code = artifact->codes()[0];
  if (code.flags & support::CodeRecords)
    return Error{"`" + std::string(artifact->name()) +
                     "` prints or asserts, which needs the runtime: it cannot stand alone",
                 {}};
  if (code.flags & support::CodeYields)
    return Error{"programs of `" + std::string(artifact->name()) +
                     "` wait for each other, which needs the runtime: it cannot stand alone",
                 {}};
  auto wholeGrid = wholeGridInC(*artifact, name, /*isGpu=*/false);
  if (!wholeGrid)
    return wholeGrid.takeError();
  AheadOfTime out;
  auto object = artifact->blob(code.code);
  out.object.assign(object.begin(), object.end());
  mlir::OwningOpRef<mlir::ModuleOp> module(emitted.module->clone());
  auto assembly = pipeline::emitForCpu(*module, pipeline::CpuStage::Asm, options);
  if (!assembly)
    return assembly.takeError();
  out.source = writeSource(*assembly, name);
  out.header = writeHeader(*artifact, name, features, *wholeGrid);
  return out;
}

} // namespace nereid::engine
