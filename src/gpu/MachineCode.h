// What `ptxas` made of a kernel, by its instructions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace nereid::gpu {

struct MachineCode {
  uint32_t instructions = 0;
  /// Bytes of global loads that a thread has on their way when it waits for the first of them, in
  /// the mean of its waits: 64 where four loads of 16 begin together, 16 where each is waited for
  /// before the next begins. 0 without loads.
  double bytesTogether = 0;
  /// The share of spills among the instructions that are issued, each loop taken to run eight times
  /// where the one around it runs once.
  double spilledShare = 0;
};

/// Of the kernels of a cubin; nothing if it is none. Instructions have had 128 bits, with the
/// scoreboards that they set and wait for in the same places, since sm_70; how branches write their
/// distance has changed since, but every kernel ends in a branch to itself that shows it.
std::optional<MachineCode> readMachineCode(std::span<const uint8_t> cubin);

} // namespace nereid::gpu
