// What a kernel keeps for each device that it runs on.
#pragma once

#include "api/Arguments.h"
#include "runtime/Device.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace nereid {

/// Finds the `One` of a device, which has it as its member `device`. The first eight devices are
/// found without a lock; any number of threads may ask.
template <typename One> class PerDeviceTable {
public:
  /// `make` gives a `std::unique_ptr<One>` when the device is new.
  template <typename Make> One &on(runtime::Device &device, Make make) {
    for (const std::atomic<One *> &slot : slots) {
      One *one = slot.load(std::memory_order_acquire);
      if (!one)
        break;
      if (&one->device == &device)
        return *one;
    }
    std::lock_guard lock(mutex);
    for (const auto &one : all)
      if (&one->device == &device)
        return *one;
    all.push_back(make());
    // Devices beyond the slots are found under the lock.
    if (all.size() <= std::size(slots))
      slots[all.size() - 1].store(all.back().get(), std::memory_order_release);
    return *all.back();
  }

  template <typename Visit> void forEach(Visit visit) {
    std::lock_guard lock(mutex);
    for (const auto &one : all)
      visit(*one);
  }

private:
  std::atomic<One *> slots[8] = {};
  std::mutex mutex;
  std::vector<std::unique_ptr<One>> all;
};

/// The messages of a kernel's launches on all its devices; the first failure, if there is one.
template <typename One>
Result<std::vector<KernelMessage>> takeMessages(PerDeviceTable<One> &devices) {
  std::vector<KernelMessage> messages;
  std::optional<Error> failure;
  devices.forEach([&](One &device) {
    if (Status status = takeMessagesOf(device.launcher, messages); !status && !failure)
      failure = status.takeError();
  });
  if (failure)
    return *std::move(failure);
  return messages;
}

} // namespace nereid
