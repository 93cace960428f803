#include "engine/FolderCompare.h"

#include "engine/SpecModule.h"

#include <algorithm>
#include <cstdio>

namespace nereid::engine {

namespace {

// Whether an element holds what memory does that nobody has written.
bool isPoison(const support::HostTensor &memory, size_t element) {
  std::vector<uint8_t> poison = support::HostTensor(memory.dtype(), {1}).packed();
  std::vector<uint8_t> all = memory.packed();
  return std::equal(poison.begin(), poison.end(), all.begin() + element * poison.size());
}

} // namespace

Status compareOutputs(KernelFolder &folder, const FolderInstance &instance, Runner &on,
                      const std::map<std::string, support::Array> &wanted, FolderRow &row) {
  row.passed = true;
  double worst = -1;
  for (const auto &[name, value] : instance.outputs) {
    auto *tensor = value.as<SpecTensor>();
    auto want = wanted.find(name);
    if (!tensor || want == wanted.end())
      continue;
    if (Status status = on.fetch(tensor->memory); !status)
      return status;
    auto tolerance = folder.tolerance(instance, name);
    if (!tolerance)
      return tolerance.takeError();
    support::Comparison comparison;
    try {
      comparison = support::compare(tensor->memory, want->second, *tolerance);
    } catch (support::ArrayError &error) {
      return Error{"`" + name + "`: " + error.message, {}};
    }
    double badness =
        comparison.tolerance > 0 ? comparison.error / comparison.tolerance : comparison.error;
    if (comparison.worstIndex >= 0 && badness > worst) {
      worst = badness;
      row.maxError = comparison.error;
      row.tolerance = comparison.tolerance;
    }
    if (!comparison.passed) {
      row.passed = false;
      char text[256];
      std::snprintf(
          text, sizeof text,
          "`%s` differs in %lld of %lld elements, worst at %lld: %.9g, expected %.9g +- %.3g",
          name.c_str(), (long long)comparison.failures, (long long)want->second.size(),
          (long long)comparison.worstIndex, comparison.got, comparison.want, comparison.tolerance);
      row.failure = text;
      if (tensor->recipe == SpecTensor::Recipe::Empty &&
          isPoison(tensor->memory, size_t(comparison.worstIndex)))
        row.failure += ", as if nothing was stored there";
      else if (comparison.tolerance == 0 && info(tensor->dtype).isFloat)
        row.failure += "; `tolerance` in spec.py says what may differ";
    }
  }
  return Success{};
}

} // namespace nereid::engine
