// A model of a GPU that runs the PTX of a kernel: threads, warps, a block's shared memory and what
// is copied into it behind the threads' backs. It is slow and exact where a GPU is fast and
// lenient: what two warps do to one byte of shared memory needs a barrier between, a slot that a
// copy still fills may not be read, and accesses to global memory stay within allocations.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace ptx {

struct Kernel;

/// The kernel of a PTX text; null with `problem` set if there is something that is not known.
std::shared_ptr<const Kernel> parse(std::string_view text, std::string &problem);

struct Launch {
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned sharedBytes = 0;
  void **arguments = nullptr;
  /// Whether so many bytes of global memory may be accessed.
  std::function<bool(uint64_t address, unsigned bytes)> isAllocated;
  unsigned seed = 1; ///< of the order of the warps
  /// Whether accesses of a block's warps to global memory need an order as those to shared memory
  /// do.
  bool ordersGlobal = false;
};

/// Runs all blocks, one after the other. Empty, or what went wrong.
std::string run(const Kernel &kernel, const Launch &launch);

} // namespace ptx
