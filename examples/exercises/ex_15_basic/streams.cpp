// Streams and events: what runs when, and what a clock sees of it.
//
//   streams ROOT [DEVICE]
#include "common.h"

#include <chrono>

int main(int argc, char **argv) {
  return exercise(argc, argv, [](const std::string &root, const Device &device, Engine engine) {
    const int64_t n = 1 << 20;
    const int launches = 100;
    auto xs = randomNumbers(n, 1), ys = randomNumbers(n, 2);
    Tensor x = upload(device, xs, {n}), y = upload(device, ys, {n});
    Tensor sum = empty(device, {n}), out = empty(device, {n});
    Program program = must(engine.load(root + "/examples/exercises/ex_15_basic/kernel.py"));
    Kernel axpy = must(program.kernel("axpy")), scale = must(program.kernel("scale"));
    Grid grid{blocks(n, 1024)};

    // A first launch compiles: nothing may be timed before it.
    Stream first = must(device.createStream()), second = must(device.createStream());
    axpy(first, grid, x, y, sum, 0.75f, n, named("BLOCK", 1024));
    scale(first, grid, x, out, 2.0f, n, named("BLOCK", 1024));
    must(device.synchronize());

    using Clock = std::chrono::steady_clock;
    Event begin = must(device.createEvent()), end = must(device.createEvent());
    auto start = Clock::now();
    must(first.record(begin));
    for (int i = 0; i < launches; ++i)
      axpy(first, grid, x, y, sum, 0.75f, n, named("BLOCK", 1024));
    must(first.record(end));
    double queued = std::chrono::duration<double>(Clock::now() - start).count();
    must(first.synchronize());
    double done = std::chrono::duration<double>(Clock::now() - start).count();
    std::printf("%d launches: queued after %.0f us, done after %.0f us, %.0f us by events\n",
                launches, 1e6 * queued, 1e6 * done, 1e6 * must(end.secondsSince(begin)));

    // The second stream uses what the first one makes.
    Event ready = must(device.createEvent());
    axpy(first, grid, x, y, sum, 0.5f, n, named("BLOCK", 1024));
    must(first.record(ready));
    must(second.wait(ready));
    scale(second, grid, sum, out, 4.0f, n, named("BLOCK", 1024));
    must(second.synchronize());

    std::vector<double> wanted;
    for (int64_t i = 0; i < n; ++i)
      wanted.push_back(4 * (0.5 * double(xs[i]) + double(ys[i])));
    return equal("4 (x / 2 + y) by two streams", download(out), wanted, 4e-6) && done >= queued;
  });
}
