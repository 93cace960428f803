#include "engine/Compile.h"

#include "analysis/AxisAnalysis.h"
#include "analysis/Explain.h"
#include "analysis/KernelFacts.h"
#include "engine/BuildId.h"
#include "engine/GridExpression.h"
#include "ir/FloatOptions.h"
#include "ir/LoopHints.h"
#include "pipeline/BackEnd.h"
#include "pipeline/ExternLibraries.h"
#include "pipeline/Gpu.h"
#include "ref/Reference.h"
#include "support/Artifact.h"
#include "support/FileHash.h"
#include "support/Steps.h"

#include <algorithm>
#include <set>

namespace nereid::engine {

using support::ArgumentClass;
using support::Constant;

namespace {

// Of a file's contents; empty if it cannot be read.
std::string fingerprint(const std::string &path) {
  auto hash = support::hashOfFile(path);
  return hash ? hash->hex() : "";
}

// The dtype that an annotation such as `tl.int64` names.
std::optional<DType> annotatedType(std::string_view annotation) {
  if (size_t dot = annotation.rfind('.'); dot != std::string_view::npos)
    return parseDType(annotation.substr(dot + 1));
  return std::nullopt;
}

// A row a leaf of the arguments: what was compiled in, what takes a slot. A tuple for a
// `tl.constexpr` is one leaf, as it is for the launch path.
void addParameters(support::ArtifactBuilder &builder, const std::string &name,
                   const ArgumentClass &argument, bool isConstexpr, uint32_t &slots,
                   std::vector<ExpressionLeaf> &leaves) {
  using Kind = support::ParameterKind;
  if (argument.kind == ArgumentClass::Kind::Tuple && !isConstexpr) {
    for (size_t i = 0; i < argument.elements.size(); ++i)
      addParameters(builder,
                    argument.names.empty() ? name + "[" + std::to_string(i) + "]"
                                           : name + "." + argument.names[i],
                    argument.elements[i], false, slots, leaves);
    return;
  }
  support::ParameterRecord record;
  record.name = builder.text(name);
  std::string value;
  if (argument.kind == ArgumentClass::Kind::Tuple) {
    record.kind = uint32_t(Kind::Constexpr);
    value = argument.text();
  } else if (argument.kind == ArgumentClass::Kind::Constant) {
    record.kind =
        uint32_t(argument.constant.kind == Constant::Kind::None ? Kind::None : Kind::Constexpr);
    value = argument.constant.source();
  } else if (argument.kind == ArgumentClass::Kind::Int && argument.isOne) {
    record.kind = uint32_t(Kind::One);
    value = "1";
  } else {
    record.kind = uint32_t(Kind::Slots);
    record.firstSlot = slots++;
    record.slotCount = 1;
  }
  if (!value.empty())
    record.value = builder.text(value);
  builder.parameters.push_back(record);
  leaves.push_back({name, value});
}

} // namespace

mlir::func::FuncOp EmittedKernel::kernel() {
  for (auto function : module->getOps<mlir::func::FuncOp>())
    if (function->hasAttr(tile::kernelAttr))
      return function;
  return {};
}

std::shared_ptr<mlir::MLIRContext> makeContext() {
  static const mlir::DialectRegistry *registry = [] {
    auto *made = new mlir::DialectRegistry;
    pipeline::registerCpuPipeline(*made);
    pipeline::registerGpuPipeline(*made);
    ref::registerReferenceModels(*made);
    return made;
  }();
  auto context =
      std::make_shared<mlir::MLIRContext>(*registry, mlir::MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false); // a user reads the source, not our IR
  return context;
}

std::string optionsText(const CodeOptions &o) {
  std::string text;
  auto add = [&](const char *name, const std::string &value) {
    text += std::string("\n") + name + "=" + value;
  };
  add("arch", std::to_string(o.targetArch));
  add("backend", o.targetBackend);
  add("debug", o.debug ? "1" : "0");
  for (const ops::ExternLibrary &library : o.externLibs)
    add("extern_lib", library.name + " " + library.path + " " + fingerprint(library.path));
  add("enable_fp_fusion", o.fpFusion ? "1" : "0");
  add("enable_reflect_ftz", o.reflectFtz ? "1" : "0");
  add("input_precision", o.defaultInputPrecision);
  add("launch_cooperative_grid", o.launchCooperative ? "1" : "0");
  add("launch_pdl", o.launchPdl ? "1" : "0");
  add("maxnreg", std::to_string(o.maxnreg));
  add("num_ctas", std::to_string(o.numCtas));
  add("num_stages", std::to_string(o.numStages));
  add("num_warps", std::to_string(o.numWarps));
  add("program_loops", o.programLoops);
  add("sanitize_overflow", o.sanitizeOverflow ? "1" : "0");
  return text;
}

Result<launch::Signature> signatureOf(emit::Program &program, const std::string &name) {
  emit::KernelSummary summary;
  try {
    summary = program.summary(name);
  } catch (emit::EvalError &error) {
    return Error{error.diagnostic.message, {error.diagnostic}};
  }
  launch::Signature signature;
  signature.name = name;
  for (const emit::ParameterSummary &from : summary.parameters) {
    launch::Parameter parameter;
    parameter.name = from.name;
    parameter.isConstexpr = from.isConstexpr;
    parameter.annotated = annotatedType(from.annotation);
    parameter.doNotSpecialize = from.doNotSpecialize;
    parameter.doNotSpecializeOnAlignment = from.doNotSpecializeOnAlignment;
    signature.parameters.push_back(std::move(parameter));
  }
  return signature;
}

Result<EmittedKernel> emitKernel(emit::Program &program, const std::string &name,
                                 const support::Specialization &specialization,
                                 std::span<const uint32_t> defaulted, const CodeOptions &options) {
  EmittedKernel out;
  out.specialization = specialization;
  auto signature = signatureOf(program, name);
  if (!signature)
    return signature.takeError();
  for (const launch::Parameter &parameter : signature->parameters) {
    out.parameters.push_back(parameter.name);
    out.constexprs.push_back(parameter.isConstexpr);
  }
  out.context = makeContext();
  emit::Emitted emitted = support::inStep("front end", [&] {
    return program.emit(*out.context, name, out.specialization, {}, options, defaulted);
  });
  out.diagnostics = std::move(emitted.diagnostics);
  if (!emitted.module)
    return Error{"`" + name + "` cannot be compiled", std::move(out.diagnostics)};
  out.module = std::move(emitted.module);
  if (auto problems = pipeline::findLibraryFunctions(*out.module, options.externLibs);
      !problems.empty())
    return Error{"`" + name + "` cannot be compiled", std::move(problems)};
  if (auto files = (*out.module)->getAttrOfType<mlir::ArrayAttr>(tile::librariesAttr))
    for (auto file : files.getAsRange<mlir::StringAttr>())
      out.readsOtherFiles |=
          std::ranges::none_of(options.externLibs, [&](const ops::ExternLibrary &library) {
            return file.getValue() == library.path;
          });
  auto yes = mlir::UnitAttr::get(out.context.get());
  if (!options.fpFusion)
    (*out.module)->setAttr(tile::noFpFusionAttr, yes);
  if (!options.reflectFtz)
    (*out.module)->setAttr(tile::noReflectFtzAttr, yes);
  if (options.programLoops != "off")
    (*out.module)
        ->setAttr(pipeline::programLoopsAttr,
                  mlir::StringAttr::get(out.context.get(), options.programLoops));
  if (options.launchPdl)
    (*out.module)->setAttr(pipeline::launchPdlAttr, yes);
  if (options.launchCooperative)
    (*out.module)->setAttr(pipeline::launchCooperativeAttr, yes);
  return out;
}

void noteIgnored(EmittedKernel &emitted, std::string_view target) {
  if (target == "cpu" || !emitted.module)
    return; // on a CPU all of them are about something that it does not have
  auto note = [&](mlir::Location at, std::string message, std::string hint) {
    Diagnostic diagnostic;
    diagnostic.severity = Severity::Note;
    diagnostic.code = "IgnoredOption";
    diagnostic.message = std::move(message);
    diagnostic.hint = std::move(hint);
    diagnostic.where = pipeline::sourceRange(at);
    for (const Diagnostic &other : emitted.diagnostics)
      if (other.code == diagnostic.code && other.message == diagnostic.message &&
          other.where.begin.line == diagnostic.where.begin.line)
        return;
    emitted.diagnostics.push_back(std::move(diagnostic));
  };
  mlir::ModuleOp module = *emitted.module;
  mlir::Location kernel = emitted.kernel().getLoc();
  auto blocks = module->getAttrOfType<mlir::IntegerAttr>(tile::numCtasAttr);
  if (blocks && blocks.getInt() > 1)
    note(kernel,
         "`num_ctas=" + std::to_string(blocks.getInt()) +
             "` changes nothing: each program runs as one block, with the same results",
         "leave it out, or give the program more warps");
  if (module->hasAttr(pipeline::launchPdlAttr) && !analysis::waitsForGrid(module))
    note(kernel,
         "`launch_pdl` changes nothing: the kernel does not wait for the one before it, so its "
         "launch does",
         "call `tl.extra.cuda.gdc_wait()` before the kernel reads what another kernel wrote");
  module.walk([&](mlir::Operation *loop) {
    if (loop->hasAttr(tile::warpSpecializeAttr))
      note(loop->getLoc(),
           "`warp_specialize` changes nothing: all warps do the same work, and one thread starts "
           "the copies",
           "");
    if (loop->hasAttr(tile::unrollAttr))
      note(loop->getLoc(),
           "`loop_unroll_factor` changes nothing: the assembler chooses how often a loop is "
           "unrolled",
           "use `tl.static_range` to unroll all of it");
  });
}

Error unknownTarget(std::string_view target, std::string wide) {
  std::string wanted = llvm::StringRef(target).upper(), hint;
  for (const target::GpuBoard &board : target::gpuBoards())
    if (board.name == wanted)
      hint = "; did you mean `" + std::string(board.chip) + "`, the chip of an " + wanted + "?";
  for (const target::GpuChip &row : target::gpuChips())
    wide += ", " + std::string(row.name);
  return Error{"unknown target `" + std::string(target) + "`; known are " + wide + hint, {}};
}

Result<support::Artifact> buildArtifact(EmittedKernel &emitted, std::string_view target,
                                        const support::Hash128 &key,
                                        const pipeline::CpuOptions &cpu) {
  support::ArtifactBuilder builder;
  builder.kernel.key = key;
  builder.kernel.build = builder.text(buildId());
  uint32_t slots = 0;
  size_t index = 0;
  std::vector<ExpressionLeaf> leaves;
  for (const ArgumentClass &argument : emitted.specialization.arguments) {
    addParameters(builder, emitted.parameters[index], argument, emitted.constexprs[index], slots,
                  leaves);
    ++index;
  }
  if (!emitted.grid.empty())
    if (Status status = addGrid(builder, emitted.grid, leaves); !status)
      return status.takeError();
  builder.kernel.signature = builder.text(emitted.specialization.text());
  builder.kernel.target = builder.text(target);
  // What one program moves and computes, for who observes launches.
  if (mlir::func::FuncOp kernel = emitted.kernel())
    if (analysis::Explanation work = analysis::explain(kernel); !work.hasLoops) {
      builder.kernel.bytesRead = work.bytesRead;
      builder.kernel.bytesWritten = work.bytesWritten;
      builder.kernel.operations = work.operations;
    }
  noteIgnored(emitted, target);
  // The pipeline changes the module; the emitted one stays as it is for further targets.
  mlir::OwningOpRef<mlir::ModuleOp> module(emitted.module->clone());
  Status status = Success{};
  if (target == "cpu") {
    status = pipeline::addCpuCode(*module, cpu, builder);
  } else {
    auto chips = target::gpuTargets(target);
    if (chips.empty())
      return unknownTarget(target);
    for (const target::GpuChip *chip : chips) {
      if (chip != chips.front())
        module = emitted.module->clone();
      if (status = pipeline::addGpuCode(*module, *chip, {}, builder); !status)
        break;
    }
  }
  if (!status)
    return status.takeError();
  for (const Diagnostic &note : emitted.diagnostics)
    builder.addNote(note);
  return builder.finish();
}

} // namespace nereid::engine
