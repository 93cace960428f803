#include "binding/Messages.h"

#include "binding/Arguments.h"

#include "support/Records.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <dlfcn.h>
#include <map>
#include <optional>

namespace nereid::python {

void drain(runtime::LoadedKernel &kernel) {
  if (!kernel.hasRecords())
    return;
  uint64_t lost = 0;
  auto records = orRaise(kernel.takeRecords(lost));
  std::string failure;
  Ref print = Ref::borrow(PyDict_GetItemString(PyEval_GetBuiltins(), "print"));
  auto say = [&](const std::string &text) {
    Ref ignored = Ref::take(PyObject_CallFunctionObjArgs(print.get(), str(text).get(), nullptr));
  };
  for (const support::DecodedRecord &record : support::decodeRecords(kernel.artifact(), records))
    if (record.kind != support::RecordKind::Assert)
      say(record.text());
    else if (failure.empty())
      failure = record.text();
  if (lost)
    say("(" + std::to_string(lost) + " records were lost: the buffer was full)");
  if (!failure.empty())
    raise(PyExc_RuntimeError, "device-side assert triggered: " + failure);
}

namespace {

// All of this is read and written with the interpreter's lock held, but for what is atomic.

/// A kernel with launches on their way.
struct Waiting {
  std::shared_ptr<runtime::LoadedKernel> kernel; // null: the place is free
  int device = 0;
  uint64_t launched = 0;
  bool captured = false; // in a graph, which may run at any time
  std::atomic<uint64_t> done = 0;

  bool isIdle() const { return done.load(std::memory_order_acquire) >= launched; }
};

std::deque<Waiting> &waiting() {
  static auto *all = new std::deque<Waiting>; // its elements stay where they are
  return *all;
}

// Launches that may be queued already and are not counted yet.
int launching = 0;
bool isPostponed = false;
std::atomic<bool> isCalled = false, isSilent = false;

/// Fails with the first failed assertion; what other kernels wrote is then left.
void drainIdle() {
  // A reset of a buffer must not meet a kernel that writes to it.
  if (launching > 0) {
    isPostponed = true;
    return;
  }
  for (Waiting &one : waiting())
    if (one.kernel && one.isIdle()) {
      auto kernel = one.kernel;
      if (!one.captured) {
        one.kernel = nullptr;
        one.launched = 0;
        one.done = 0;
      }
      drain(*kernel);
    }
}

int pendingCall(void *);

// From any thread. One of the driver comes here, which must not call the driver.
void wake() {
  if (!isSilent && !isCalled.exchange(true) && Py_AddPendingCall(pendingCall, nullptr) != 0)
    isCalled = false;
}

int pendingCall(void *) {
  isCalled = false;
  PyObject *result = guarded([] {
    drainIdle();
    return Ref::borrow(Py_None);
  });
  if (!result)
    wake();
  Py_XDECREF(result);
  return result ? 0 : -1;
}

// A kernel that wrote nothing is nobody's business: Python goes on.
void launchDone(void *data) {
  auto &one = *static_cast<Waiting *>(data);
  bool wrote = one.kernel->hasRecords();
  one.done.fetch_add(1, std::memory_order_release);
  if (wrote)
    wake();
}
void replayDone(void *) { wake(); }

struct DriverCalls {
  int (*launchHostFunction)(void *stream, void (*function)(void *), void *data) = nullptr;
  int (*streamIsCapturing)(void *stream, int *status) = nullptr;

  DriverCalls() {
    // The runtime has loaded it.
    if (void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)) {
      launchHostFunction =
          reinterpret_cast<decltype(launchHostFunction)>(dlsym(driver, "cuLaunchHostFunc"));
      streamIsCapturing =
          reinterpret_cast<decltype(streamIsCapturing)>(dlsym(driver, "cuStreamIsCapturing"));
    }
  }
};

/// A stream of a device that waits for others in their place: a call-back that stands between two
/// kernels of a program costs it tens of microseconds.
struct Aside {
  Stream stream;
  Event event;
};

// Null where there is none.
Aside *asideOf(int device) {
  static auto *all = new std::map<int, std::optional<Aside>>;
  auto [it, isNew] = all->try_emplace(device);
  if (isNew) {
    Device on = deviceOf(device);
    auto stream = on.createStream();
    auto event = on.createEvent();
    if (stream && event)
      it->second = Aside{*std::move(stream), *std::move(event)};
  }
  return it->second ? &*it->second : nullptr;
}

// The stream that gets to a call-back when `native` does. What prints is waited for with its
// stream.
void *whereToCallBack(runtime::LoadedKernel &kernel, int device, void *native) {
  auto prints = [](const support::SiteRecord &site) {
    return support::RecordKind(site.kind) != support::RecordKind::Assert;
  };
  auto sites = kernel.artifact().sites();
  Aside *aside = std::any_of(sites.begin(), sites.end(), prints) ? nullptr : asideOf(device);
  if (!aside || !streamOf(device, native).record(aside->event) || !aside->stream.wait(aside->event))
    return native;
  return aside->stream.native();
}

} // namespace

GpuLaunch::GpuLaunch() { ++launching; }
GpuLaunch::~GpuLaunch() {
  if (--launching == 0 && std::exchange(isPostponed, false))
    wake();
}

void GpuLaunch::queued(const std::shared_ptr<runtime::LoadedKernel> &kernel, int device,
                       void *stream) {
  if (!(kernel->code().flags & support::CodeRecords))
    return;
  static const DriverCalls driver;
  Waiting *place = nullptr;
  for (Waiting &one : waiting())
    if (one.kernel == kernel)
      place = &one;
    else if (one.kernel && !one.captured && one.isIdle() && !one.kernel->hasRecords())
      one.kernel = nullptr;
  for (Waiting &one : waiting())
    if (!place && !one.kernel)
      place = &one;
  if (!place)
    place = &waiting().emplace_back();
  if (!place->kernel) // else a call-back of the driver may be reading it
    place->kernel = kernel;
  place->device = device;
  int capturing = 0;
  if (driver.streamIsCapturing && driver.streamIsCapturing(stream, &capturing) == 0 && capturing) {
    place->captured = true;
    driver.launchHostFunction(stream, replayDone, nullptr);
    return;
  }
  ++place->launched;
  if (driver.launchHostFunction &&
      driver.launchHostFunction(whereToCallBack(*kernel, device, stream), launchDone, place) == 0)
    return;
  // Without a call-back: wait.
  orRaise([&] {
    Unlocked unlocked;
    return deviceOf(device).synchronize();
  }());
  ++place->done;
  wake();
}

void finishRecords() {
  closeThreads();
  for (Waiting &one : waiting())
    if (one.kernel) {
      Device device = deviceOf(one.device);
      orRaise([&] {
        Unlocked unlocked;
        return device.synchronize();
      }());
    }
  isSilent = true;
  drainIdle();
}

} // namespace nereid::python
