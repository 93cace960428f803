// Which tensors of a kernel folder's case a runner holds.
#pragma once

#include "engine/KernelFolder.h"
#include "engine/Runner.h"
#include "engine/SpecModule.h"

#include <set>

namespace nereid::engine {

/// What a runner holds of a case.
struct ResidentTensors {
  std::set<SpecTensor *> tensors;
  bool prepared = false; ///< the inputs that other launches make are made
};

/// The tensors of some launches, made known to a runner. Temporaries are forgotten at the end.
class BoundTensors {
public:
  BoundTensors(Runner &on, ResidentTensors &here, const FolderInstance &instance)
      : on(on), here(here) {
    for (const emit::Keywords *values : {&instance.inputs, &instance.outputs})
      for (const auto &[name, value] : *values)
        if (auto *tensor = value.as<SpecTensor>())
          lasting.insert(tensor);
  }
  ~BoundTensors() {
    for (SpecTensor *tensor : tensors)
      if (!lasting.contains(tensor)) {
        on.unbind(tensor->memory);
        here.tensors.erase(tensor);
      }
  }
  BoundTensors(const BoundTensors &) = delete;

  Status bind(const ops::Value &value) {
    SpecTensor *tensor = tensorOf(value);
    if (!tensor || !tensors.insert(tensor).second)
      return Success{};
    peak += double(tensor->memory.allocationBytes());
    if (!here.tensors.insert(tensor).second)
      return Success{};
    return on.bind(tensor->memory, tensor->name, tensor->recipe != SpecTensor::Recipe::Empty);
  }

  double moved = 0; ///< bytes, each tensor of a launch once
  double peak = 0;  ///< bytes of all tensors

private:
  Runner &on;
  ResidentTensors &here;
  std::set<SpecTensor *> tensors, lasting;
};

} // namespace nereid::engine
