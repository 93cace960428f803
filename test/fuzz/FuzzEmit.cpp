// Fuzzes the evaluator and the emitter: the input is a module; each kernel in it is emitted with a
// signature made from its parameters. Whatever comes out verifies or is refused with a diagnostic.
#include "emit/Program.h"

#include "TokenMutator.h"

using namespace nereid;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 16384)
    return 0;
  emit::SourceUnit unit;
  unit.text.assign(reinterpret_cast<const char *>(data), size);
  unit.file = "fuzz.py";
  emit::HostOptions options;
  options.limits.steps = 20'000;
  options.limits.operations = 5'000;
  emit::LoadedProgram loaded = emit::Program::load(unit, options);
  if (!loaded.program)
    return 0;
  unsigned emitted = 0;
  for (const emit::KernelSummary &kernel : loaded.program->kernels()) {
    if (++emitted > 4)
      break;
    support::Specialization specialization;
    for (const emit::ParameterSummary &parameter : kernel.parameters) {
      // The name chooses the class, so that a mutation can reach each.
      uint8_t choice = parameter.name.empty() ? 0 : uint8_t(parameter.name[0]);
      if (parameter.isConstexpr)
        specialization.arguments.push_back(
            support::ArgumentClass::compiledIn(support::Constant::integer(1 << (choice % 8))));
      else if (choice % 3 == 0)
        specialization.arguments.push_back(support::ArgumentClass::scalar(DType::Int32, 16));
      else
        specialization.arguments.push_back(
            support::ArgumentClass::pointer(DType(choice % 14), choice % 2 ? 16 : 1));
    }
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    emit::Emitted result =
        loaded.program->emit(context, kernel.name, specialization, {}, ops::CompileOptions());
    // A refusal has a reason; the verifier refuses nothing that the emitter let pass.
    bool hasError = false;
    for (const Diagnostic &diagnostic : result.diagnostics) {
      hasError |= diagnostic.severity == Severity::Error;
      if (diagnostic.code == "InternalError")
        __builtin_trap();
    }
    if (!result.module && !hasError)
      __builtin_trap();
    (void)loaded.program->sourceHash(kernel.name);
  }
  return 0;
}
