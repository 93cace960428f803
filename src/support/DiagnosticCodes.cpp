#include "support/DiagnosticCodes.h"

namespace nereid {
namespace {

constexpr DiagnosticCode Codes[] = {
#define CODE(name, summary) {#name, summary},
#include "support/DiagnosticCodes.def"
#undef CODE
};

} // namespace

std::span<const DiagnosticCode> diagnosticCodes() { return Codes; }

bool isDiagnosticCode(std::string_view name) {
  for (const DiagnosticCode &code : Codes)
    if (code.name == name)
      return true;
  return false;
}

} // namespace nereid
