// A CUDA driver without a GPU, for what the runtime makes of a driver's answers. Memory is the
// host's, kernels do nothing, and FAKE_CUDA in the environment says what goes wrong.
#pragma once

#include "runtime/CudaDriver.h"

using namespace nereid::runtime::cuda;

/// The error that a kernel left behind: every later call gives it.
extern Code sticky;
