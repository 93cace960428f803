// The addresses behind support/CpuSymbols.def.
#pragma once

#include <cstdint>
#include <string_view>

namespace nereid::runtime {

/// The address of a symbol that kernels may call, or 0.
uint64_t kernelSymbol(std::string_view name);

} // namespace nereid::runtime
