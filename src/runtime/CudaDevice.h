// NVIDIA GPUs as devices, through the driver API.
#pragma once

#include "runtime/Device.h"

namespace nereid::runtime {

/// The device `cuda:ordinal`, made on the first call, on the device's primary context (which the
/// CUDA runtime, PyTorch and most programs share).
Result<Device *> cudaDevice(unsigned ordinal);

/// The device of a context of the host program (CUcontext); `cudaDevice` for a primary one.
Result<Device *> cudaDeviceIn(void *context);

/// How many GPUs there are; 0 without a driver.
unsigned cudaDeviceCount();

/// Makes the context of a CUDA device current while it lives, for libraries that work in whichever
/// is; does nothing for other devices and for none.
class CurrentContext {
public:
  explicit CurrentContext(Device *device);
  ~CurrentContext();
  CurrentContext(const CurrentContext &) = delete;

private:
  bool isPushed = false;
};

} // namespace nereid::runtime
