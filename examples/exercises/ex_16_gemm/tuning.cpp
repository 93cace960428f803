// Tuning from a program: every configuration compiled, timed and compared; the best one launched.
//
//   tuning ROOT [DEVICE]
#include "common.h"

int main(int argc, char **argv) {
  return exercise(argc, argv, [](const std::string &root, const Device &device, Engine engine) {
    const int64_t m = 200, n = 150, k = 170;
    auto as = randomNumbers(m * k, 1), bs = randomNumbers(k * n, 2);
    Tensor a = upload(device, as, {m, k}), b = upload(device, bs, {k, n}),
           c = empty(device, {m, n});
    Kernel gemm =
        must(must(engine.load(root + "/examples/exercises/ex_16_gemm/kernel.py")).kernel("gemm"));

    auto grid = [&](const Configuration &configuration) {
      return Grid{blocks(m, configuration.integer("BLOCK_M")) *
                  blocks(n, configuration.integer("BLOCK_N"))};
    };
    std::vector<Argument> arguments = {a, b, c, m, n, k};
    TuneOptions options;
    options.seconds = 0.02;
    options.outputs = {c}; // compared: a fast configuration that is wrong is none
    auto rows = must(gemm.tune(device.stream(), grid, arguments, options));
    for (const TuneRow &row : rows)
      std::printf("  %-60s %s\n", row.configuration.text().c_str(),
                  row.failure.empty() ? (std::to_string(1e6 * row.seconds) + " us").c_str()
                                      : row.failure.c_str());

    must(must(gemm.with(rows[0].configuration))
             .launch(device.stream(), grid(rows[0].configuration), arguments));
    std::vector<double> wanted(size_t(m * n));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t l = 0; l < k; ++l)
        for (int64_t j = 0; j < n; ++j)
          wanted[i * n + j] += double(as[i * k + l]) * bs[l * n + j];
    bool sorted = true;
    for (size_t i = 1; i < rows.size(); ++i)
      sorted &= !rows[i].failure.empty() || rows[i - 1].seconds <= rows[i].seconds;
    return equal("A B by the fastest configuration", download(c), wanted, 3 * k * 1.2e-7) &&
           sorted && rows.size() == 4;
  });
}
