// The registry of diagnostics: each code that a message to the user may carry.
#pragma once

#include <span>
#include <string_view>

namespace nereid {

struct DiagnosticCode {
  std::string_view name;
  std::string_view summary;
};

/// All codes, in the order of DiagnosticCodes.def.
std::span<const DiagnosticCode> diagnosticCodes();
/// Whether `name` is one of them.
bool isDiagnosticCode(std::string_view name);

} // namespace nereid
