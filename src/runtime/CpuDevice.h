// The CPU as a device.
#pragma once

#include "runtime/Device.h"
#include "runtime/Fibers.h"

#include <memory>

namespace nereid::runtime {

struct StreamRoll;

class CpuDevice final : public Device {
public:
  CpuDevice();
  ~CpuDevice() override;

  DeviceKind kind() const override { return DeviceKind::Cpu; }
  const DeviceInfo &info() const override { return description; }
  Stream &defaultStream() override { return *inlineStream; }
  Result<std::unique_ptr<Stream>> createStream() override;
  Result<std::unique_ptr<Stream>> wrapStream(void *native) override;
  Result<std::unique_ptr<Event>> createEvent() override;
  Status synchronize() override;
  Result<std::shared_ptr<LoadedKernel>> load(const support::Artifact &artifact) override;

  /// Whose threads run launches. Null goes back to the runtime's pool, which starts when first
  /// needed.
  void setExecutor(std::shared_ptr<Executor> executor);
  std::shared_ptr<Executor> executor();

  /// The streams that were created and live.
  const std::shared_ptr<StreamRoll> roll;

  /// How kernels run whose programs wait for each other. Set it before launches, not beside them.
  FiberOptions fibers;

protected:
  std::shared_ptr<Allocator> ownAllocator() override;

private:
  const std::shared_ptr<Allocator> hostAllocator;
  DeviceInfo description;
  std::unique_ptr<Stream> inlineStream;
  std::shared_ptr<Executor> chosen; // accessed atomically
};

} // namespace nereid::runtime
