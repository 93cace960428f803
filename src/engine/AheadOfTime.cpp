#include "engine/AheadOfTime.h"

#include "pipeline/Cpu.h"
#include "support/LaunchAbi.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace nereid::engine {

using support::Artifact;
using support::SlotKind;
using support::SlotRecord;

namespace {

// What C calls an element; narrow floats are passed as their bits.
std::string_view typeInC(DType type) {
  switch (type) {
  case DType::Int8:
    return "int8_t";
  case DType::Int16:
    return "int16_t";
  case DType::Int32:
    return "int32_t";
  case DType::Int64:
    return "int64_t";
  case DType::UInt16:
  case DType::Float16:
  case DType::BFloat16:
    return "uint16_t";
  case DType::UInt32:
    return "uint32_t";
  case DType::UInt64:
    return "uint64_t";
  case DType::Float32:
    return "float";
  case DType::Float64:
    return "double";
  default: // Int1, UInt8 and all of 8 bits
    return "uint8_t";
  }
}

// "pair[0].scale" as a name of C.
std::string nameInC(std::string_view name) {
  std::string text;
  for (char c : name)
    text += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  while (!text.empty() && text.back() == '_')
    text.pop_back();
  return text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) ? "_" + text : text;
}

// Features that C compilers can ask for by the name that LLVM gives them. Those left out come with
// one of these on every processor.
constexpr std::string_view askable[] = {
    "sse3",     "ssse3",    "sse4.1",   "sse4.2",     "popcnt",     "avx",
    "avx2",     "fma",      "bmi",      "bmi2",       "avx512f",    "avx512bw",
    "avx512cd", "avx512dq", "avx512vl", "avx512vbmi", "avx512vnni", "avx512bf16"};

/// The C parameters of a slot and the statements that put them into the block.
struct SlotText {
  std::string fields, parameters, assignments, arguments;
};

SlotText textOf(const Artifact &artifact, const SlotRecord &slot) {
  std::string name = nameInC(artifact.text(slot.name));
  std::string type(typeInC(DType(slot.type)));
  auto one = [&](const std::string &parameterType, const std::string &member) {
    SlotText text;
    text.fields = "  " + parameterType + member + ";\n";
    text.parameters = parameterType + member;
    text.assignments = "  block." + member + " = " + member + ";\n";
    text.arguments = member;
    return text;
  };
  std::string pointer =
      (slot.access & (support::AccessWrite | support::AccessAtomic) ? "" : "const ") + type + " *";
  if (SlotKind(slot.kind) == SlotKind::Pointer)
    return one(pointer, name);
  if (SlotKind(slot.kind) != SlotKind::Descriptor)
    return one(type + " ", name);
  uint32_t rank = artifact.descriptors()[slot.descriptor].rank;
  std::string count = std::to_string(rank);
  SlotText text;
  text.fields = "  " + pointer + name + ";\n  int64_t " + name + "_shape[" + count + "], " + name +
                "_strides[" + count + "];\n";
  text.parameters =
      pointer + name + ", const int64_t *" + name + "_shape, const int64_t *" + name + "_strides";
  text.arguments = name + ", " + name + "_shape, " + name + "_strides";
  text.assignments = "  block." + name + " = " + name + ";\n";
  for (uint32_t i = 0; i < rank; ++i)
    for (const char *part : {"_shape", "_strides"}) {
      std::string element = name + part + "[" + std::to_string(i) + "]";
      text.assignments += "  block." + element + " = " + element + ";\n";
    }
  return text;
}

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
  uint32_t grid[3], reserved;
  void *arena, *scratch, *records;
  void (*yield)(const struct nereid_cpu_context *);
  void *yield_state;
  uint32_t *fault;
} nereid_cpu_context;

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
typedef char $NAME_check_arguments[sizeof($NAME_arguments) >= $BYTES && sizeof(nereid_cpu_context) == 72 ? 1 : -1];

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
  context.reserved = 0;
  context.arena = arena;
  context.scratch = context.records = context.yield_state = 0;
  context.yield = 0;
  context.fault = &fault;
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

#ifdef __cplusplus
}
#endif
#endif
)";

std::string replaced(std::string_view text,
                     const std::vector<std::pair<std::string_view, std::string>> &values) {
  std::string out;
  while (!text.empty()) {
    const std::pair<std::string_view, std::string> *hit = nullptr;
    if (text[0] == '$')
      for (const auto &value : values)
        if (text.substr(1).starts_with(value.first))
          hit = &value;
    if (hit) {
      out += hit->second;
      text.remove_prefix(1 + hit->first.size());
    } else {
      out += text[0];
      text.remove_prefix(1);
    }
  }
  return out;
}

// Text of the user in a C comment.
std::string inComment(std::string text) {
  for (size_t at; (at = text.find("*/")) != std::string::npos;)
    text.insert(at + 1, " ");
  for (char &c : text)
    if (c == '\n')
      c = ' ';
  return text;
}

std::string writeHeader(const Artifact &artifact, const std::string &name,
                        target::CpuFeatureSet features) {
  const support::CodeRecord &code = artifact.codes()[0];
  SlotText all;
  std::string checks, constants, given;
  for (const SlotRecord &slot : artifact.slots()) {
    SlotText text = textOf(artifact, slot);
    all.fields += text.fields;
    all.parameters += ", " + text.parameters;
    all.assignments += text.assignments;
    all.arguments += ", " + text.arguments;
    if (slot.divisibility > 1 &&
        (SlotKind(slot.kind) == SlotKind::Pointer || SlotKind(slot.kind) == SlotKind::Int))
      checks += "  if (" +
                std::string(SlotKind(slot.kind) == SlotKind::Pointer ? "(uintptr_t)" : "") +
                nameInC(artifact.text(slot.name)) + " % " + std::to_string(slot.divisibility) +
                ")\n    return NEREID_KERNEL_UNALIGNED;\n";
  }
  if (all.fields.empty())
    all.fields = "  char none;\n";
  for (const support::ParameterRecord &parameter : artifact.parameters())
    if (support::ParameterKind(parameter.kind) != support::ParameterKind::Slots)
      constants += (constants.empty() ? "" : ", ") + std::string(artifact.text(parameter.name)) +
                   "=" + std::string(artifact.text(parameter.value));
  std::string supported;
  for (std::string_view feature : askable)
    if (features.has(feature))
      supported += (supported.empty() ? "" : " &&\n         ") +
                   ("__builtin_cpu_supports(\"" + std::string(feature) + "\")");
  std::string upper = name;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return char(std::toupper(c)); });
  return replaced(headerText,
                  {{"KERNEL", inComment(std::string(artifact.name()))},
                   {"ARGUMENTS",
                    inComment("(" + std::string(artifact.text(artifact.kernel().signature)) + ")")},
                   {"CONSTANTS", constants.empty() ? "nothing" : inComment(constants)},
                   {"NAME", name},
                   {"UPPER", upper},
                   {"ARENA", std::to_string(code.arenaBytes)},
                   {"FIELDS", all.fields},
                   {"BYTES", std::to_string(artifact.kernel().packedBytes)},
                   {"FEATURES", features.text().empty() ? "any x86-64" : features.text()},
                   {"SUPPORTED", supported.empty() ? "1" : supported},
                   {"PARAMETERS", all.parameters},
                   {"CHECKS", checks},
                   {"ASSIGNMENTS", all.assignments},
                   {"GIVEN", all.arguments}});
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
  if (name.empty() || nameInC(name) != name)
    return Error{"`" + name + "` cannot begin the names of C functions", {}};
  pipeline::CpuOptions options;
  options.features = features;
  options.entry = name + "_programs";
  auto bytes = buildArtifact(emitted, "cpu", {}, options);
  if (!bytes)
    return bytes.takeError();
  auto artifact = Artifact::take(*std::move(bytes));
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
  AheadOfTime out;
  auto object = artifact->blob(code.code);
  out.object.assign(object.begin(), object.end());
  mlir::OwningOpRef<mlir::ModuleOp> module(emitted.module->clone());
  auto assembly = pipeline::emitForCpu(*module, pipeline::CpuStage::Asm, options);
  if (!assembly)
    return assembly.takeError();
  out.source = writeSource(*assembly, name);
  out.header = writeHeader(*artifact, name, features);
  return out;
}

} // namespace nereid::engine
