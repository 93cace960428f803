// A function with a gradient, and a tape that runs gradients backwards: attention under a squared
// loss.
//
//   autograd ROOT [DEVICE]
#include "common.h"

#include <functional>

namespace {

/// What ran, and what takes its gradient back; backwards in the opposite order.
class Tape {
public:
  void push(std::function<void()> back) { steps.push_back(std::move(back)); }
  void backward() {
    for (; !steps.empty(); steps.pop_back())
      steps.back()();
  }

private:
  std::vector<std::function<void()>> steps;
};

/// A tensor and, after `Tape::backward`, its gradient.
struct Variable {
  Tensor value, gradient;
};

constexpr int64_t H = 2, M = 40, D = 32;

class Attention {
public:
  Attention(const Engine &engine, const std::string &root, const Device &device)
      : device(device), forward(must(engine.load(root + "/kernels/flash_attention/kernel.py"))),
        backward(must(engine.load(root + "/kernels/flash_attention/backward.py"))) {}

  Variable operator()(Tape &tape, Variable &q, Variable &k, Variable &v) {
    Tensor out = empty(device, {1, H, M, D}), lse = empty(device, {1, H, M});
    must(must(forward.kernel("flash_forward"))
             .launch(device.stream(), {tiles, H},
                     joined({q.value, k.value, v.value,   nullptr, out,       lse,       H * M * D,
                             M * D,   D,       H * M * D, M * D,   D,         H * M * D, M * D,
                             D,       0,       0,         0,       H * M * D, M * D,     D})));
    auto result = std::make_shared<Variable>(Variable{out, empty(device, {1, H, M, D})});
    tape.push([this, &q, &k, &v, lse, result] {
      Tensor delta = empty(device, {1, H, M});
      Stream stream = device.stream();
      must(backward.kernel("row_delta"))(stream, {blocks(H * M, 64)}, result->value,
                                         result->gradient, delta, H * M, named("D", D),
                                         named("BLOCK_D", D), named("BLOCK_M", 64));
      must(must(backward.kernel("backward_dk_dv"))
               .launch(stream, {tiles, H},
                       joined({q.value, k.value, v.value, nullptr, result->gradient, lse, delta,
                               k.gradient, v.gradient, 0, 0, 0})));
      must(must(backward.kernel("backward_dq"))
               .launch(stream, {tiles, H},
                       joined({q.value, k.value, v.value, nullptr, result->gradient, lse, delta,
                               q.gradient, 0, 0, 0})));
      must(stream.synchronize()); // before `delta` goes
    });
    return *result;
  }

private:
  // What all three kernels end with: heads, queries' heads a key's head, M, N, scale, dropout, and
  // the tiles.
  static std::vector<Argument> joined(std::vector<Argument> arguments) {
    for (Argument argument :
         {Argument(H), Argument(1), Argument(M), Argument(M), Argument(1 / std::sqrt(float(D))),
          Argument(0.0f), Argument(0), named("D", D), named("BLOCK_D", D), named("BLOCK_M", 32),
          named("BLOCK_N", 32), named("CAUSAL", true), named("DROPOUT", false),
          named("PRECISION", "ieee")})
      arguments.push_back(argument);
    return arguments;
  }

  static constexpr uint32_t tiles = (M + 31) / 32;
  Device device;
  Program forward, backward;
};

/// 1/2 sum((O - T)^2) in f64, for finite differences.
double lossOf(const std::vector<double> &q, const std::vector<double> &k,
              const std::vector<double> &v, const std::vector<float> &target) {
  double loss = 0;
  for (int64_t h = 0; h < H; ++h)
    for (int64_t i = 0; i < M; ++i) {
      std::vector<double> out(D);
      double sum = 0;
      for (int64_t j = 0; j <= i; ++j) {
        double score = 0;
        for (int64_t d = 0; d < D; ++d)
          score += q[(h * M + i) * D + d] * k[(h * M + j) * D + d];
        double weight = std::exp(score / std::sqrt(double(D)));
        sum += weight;
        for (int64_t d = 0; d < D; ++d)
          out[d] += weight * v[(h * M + j) * D + d];
      }
      for (int64_t d = 0; d < D; ++d)
        loss += 0.5 * std::pow(out[d] / sum - target[(h * M + i) * D + d], 2);
    }
  return loss;
}

} // namespace

int main(int argc, char **argv) {
  return exercise(argc, argv, [](const std::string &root, const Device &device, Engine engine) {
    const int64_t n = H * M * D;
    std::vector<float> numbers[3] = {randomNumbers(n, 1), randomNumbers(n, 2), randomNumbers(n, 3)},
                       target = randomNumbers(n, 4);
    Variable inputs[3];
    for (int i = 0; i < 3; ++i)
      inputs[i] = {upload(device, numbers[i], {1, H, M, D}), empty(device, {1, H, M, D})};

    Tape tape;
    Attention attention(engine, root, device);
    Variable out = attention(tape, inputs[0], inputs[1], inputs[2]);
    must(device.synchronize());
    // The loss's own gradient, O - T, starts the way back.
    std::vector<float> difference = download(out.value);
    for (size_t i = 0; i < difference.size(); ++i)
      difference[i] -= target[i];
    must(out.gradient.upload(difference.data()));
    tape.backward();

    // Every 37th element moved up and down.
    bool good = true;
    const char *names[3] = {"dQ", "dK", "dV"};
    for (int i = 0; i < 3; ++i) {
      std::vector<float> gradient = download(inputs[i].gradient), found;
      std::vector<double> wanted;
      for (int64_t at = 0; at < n; at += 37) {
        double moved[2];
        for (int up = 0; up < 2; ++up) {
          std::vector<double> x[3];
          for (int j = 0; j < 3; ++j)
            x[j].assign(numbers[j].begin(), numbers[j].end());
          x[i][at] += up ? 1e-4 : -1e-4;
          moved[up] = lossOf(x[0], x[1], x[2], target);
        }
        wanted.push_back((moved[1] - moved[0]) / 2e-4);
        found.push_back(gradient[at]);
      }
      good &= equal(names[i], found, wanted, 1e-4);
    }
    return good;
  });
}
