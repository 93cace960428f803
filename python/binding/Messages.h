// What kernels print, and their failed assertions, brought to Python when a launch is done.
#pragma once

#include "binding/Object.h"

#include "runtime/Device.h"

#include <memory>

namespace nereid::python {

/// Prints what finished launches of a kernel wrote; a failed assertion is a RuntimeError.
void drain(runtime::LoadedKernel &kernel);

/// Around a launch on a GPU, with the interpreter's lock held at both ends.
class GpuLaunch {
public:
  GpuLaunch();
  ~GpuLaunch();
  GpuLaunch(const GpuLaunch &) = delete;
  /// The kernel that was queued. If it writes records, they are taken when the stream has got
  /// there, on the main thread, between two instructions of the program: of a kernel that prints
  /// before a call that waits for the stream is followed by another, of one that may only fail an
  /// assertion before one that waits for the device is.
  void queued(const std::shared_ptr<runtime::LoadedKernel> &kernel, int device, void *stream);
};

/// Waits for the launches whose records are still to come, and takes them.
void finishRecords();

} // namespace nereid::python
