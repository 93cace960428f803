// Failures and arguments of the public classes.
#include "api/Arguments.h"

#include "support/Records.h"
#include "support/ShownDiagnostics.h"

#include <algorithm>

namespace nereid {

const char *abiMismatch(const Abi &program) {
  static_assert(std::string_view(NEREID_VERSION) == NEREID_PROJECT_VERSION,
                "include/nereid/api.h and CMakeLists.txt name different versions");
  Abi own;
  static thread_local std::string problem;
  if (std::string_view(program.version) != own.version)
    problem = "the program was compiled with headers of Nereid " + std::string(program.version) +
              " and runs with the library of Nereid " + own.version;
  else if (!std::equal(std::begin(own.sizes), std::end(own.sizes), program.sizes))
    problem =
        std::string("the program and the library of Nereid ") + own.version +
        " were compiled with different C++ libraries or compilers, whose types differ in size";
  else
    return nullptr;
  return problem.c_str();
}

// ---- Failures

std::string describe(const Error &error) {
  std::string text = error.what;
  for (const std::string &diagnostic : support::shown(error.diagnostics))
    text += "\n" + diagnostic;
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text;
}

Exception::Exception(Error error)
    : std::runtime_error(describe(error)),
      failure(std::make_shared<const Error>(std::move(error))) {}
Exception::~Exception() = default;

// ---- Arguments

Argument::Argument(const Tensor &tensor)
    : kind(tensor ? TensorView : None), type(tensor ? tensor.internal().type() : DType::Int32),
      object(tensor ? &tensor.internal() : nullptr) {}
Argument::Argument(const TensorDescriptor &descriptor)
    : kind(descriptor ? Descriptor : None),
      type(descriptor ? descriptor.internal().tensor.type() : DType::Int32),
      object(descriptor ? &descriptor.internal() : nullptr) {}
Argument::Argument(DType type) : kind(Type), type(type), bits(0) {}
Argument::Argument(const void *pointer, DType pointee)
    : kind(Pointer), type(pointee), object(pointer) {}
Argument::Argument(std::string_view text) : kind(Text), count(text.size()), object(text.data()) {}
Argument::Argument(std::span<const Argument> elements)
    : kind(Tuple), count(elements.size()), object(elements.data()) {}

// ---- Messages

Status takeMessagesOf(const launch::Launcher &launcher, std::vector<KernelMessage> &messages) {
  std::optional<Error> failure;
  launcher.forEachPrepared([&](const launch::PreparedKernel &prepared) {
    runtime::LoadedKernel &loaded = *prepared.kernel;
    if (failure || !(loaded.code().flags & support::CodeRecords))
      return;
    uint64_t lost = 0;
    auto records = loaded.takeRecords(lost);
    if (!records) {
      failure = records.takeError();
      return;
    }
    for (const support::DecodedRecord &record :
         support::decodeRecords(loaded.artifact(), *records)) {
      KernelMessage message;
      message.text = record.text();
      message.isAssert = record.kind == support::RecordKind::Assert;
      std::copy(record.program.begin(), record.program.end(), message.program);
      messages.push_back(std::move(message));
    }
    if (lost)
      messages.push_back({"(" + std::to_string(lost) + " records were lost: the buffer was full)"});
  });
  if (failure)
    return *std::move(failure);
  return Success{};
}

} // namespace nereid
