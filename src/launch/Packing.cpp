#include "launch/Packing.h"

#include "support/FloatFormat.h"
#include "support/LaunchAbi.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

namespace nereid::launch {

using support::HostValue;
using support::SlotKind;
using Kind = Argument::Kind;

// Slots whose type says no more than their width.
static bool canRun(SlotKind kind) { return kind == SlotKind::Pointer || kind == SlotKind::Int; }

Result<PackPlan> PackPlan::make(const support::Artifact &artifact, runtime::Device &device) {
  PackPlan plan;
  plan.kernel = std::string(artifact.name());
  plan.device = &device;
  plan.blockBytes = artifact.kernel().packedBytes;
  plan.leaves = uint32_t(artifact.parameters().size());
  plan.descriptors.assign(artifact.descriptors().begin(), artifact.descriptors().end());
  bool hasMaps = false;
  for (const support::SlotRecord &slot : artifact.slots()) {
    if (SlotKind(slot.kind) == SlotKind::TensorMap && !device.hasTensorMaps())
      continue; // the code for this device takes the plain fields
    Step step = {SlotKind(slot.kind),         DType(slot.type),         uint16_t(slot.width),
                 uint16_t(slot.parameter),    uint16_t(slot.offset),    1,
                 uint16_t(plan.names.size()), uint16_t(slot.descriptor)};
    Step *last = plan.steps.empty() ? nullptr : &plan.steps.back();
    if (last && canRun(step.kind) && last->kind == step.kind && last->width == step.width &&
        step.leaf == last->leaf + last->count &&
        step.offset == last->offset + last->count * last->width)
      ++last->count;
    else
      plan.steps.push_back(step);
    plan.names.emplace_back(artifact.text(slot.name));
    hasMaps |= SlotKind(slot.kind) == SlotKind::TensorMap;
    if (SlotKind(slot.kind) == SlotKind::Bytes)
      return Error{"kernel `" + plan.kernel + "` takes `" + plan.names.back() +
                       "` as bytes, which only a caller that packs its own block can pass",
                   {}};
  }
  if (plan.leaves > maxLeaves)
    return Error{"kernel `" + plan.kernel + "` takes " + std::to_string(plan.leaves) +
                     " values, at most " + std::to_string(maxLeaves) + " can be passed",
                 {}};
  if (hasMaps)
    plan.maps = std::make_shared<MapCache>();
  return plan;
}

std::vector<LeafSlot> PackPlan::leafSlots() const {
  std::vector<LeafSlot> slots(leaves);
  for (const Step &step : steps)
    for (uint32_t i = 0; i < step.count; ++i) {
      LeafSlot &slot = slots[step.leaf + i];
      bool isFloat = step.kind == SlotKind::Float;
      // A descriptor is several slots.
      slot.kind = slot.kind != LeafSlot::None              ? LeafSlot::Other
                  : canRun(step.kind)                      ? LeafSlot::Bits
                  : isFloat && step.type == DType::Float32 ? LeafSlot::Float32
                  : isFloat && step.type == DType::Float64 ? LeafSlot::Float64
                                                           : LeafSlot::Other;
      slot.offset = uint16_t(step.offset + i * step.width);
    }
  return slots;
}

Error PackPlan::wrongArgument(size_t slot, const std::string &what) const {
  return Error{"cannot launch `" + kernel + "`: argument `" + names[slot] + "` " + what, {}};
}

Status PackPlan::packTensor(size_t slot, const Argument &argument, void *to) const {
  if (argument.kind != Kind::Tensor)
    return wrongArgument(slot, "is no pointer or tensor");
  const runtime::Tensor &tensor = argument.asTensor();
  if (tensor.device() != device && tensor.device())
    return wrongArgument(slot, "is on " + tensor.device()->name() + ", the launch is on " +
                                   device->name());
  void *address = tensor.data();
  std::memcpy(to, &address, sizeof address);
  return Success{};
}

Status PackPlan::packDescriptor(const Step &step, const Argument &argument, void *to) const {
  if (argument.kind != Kind::Descriptor)
    return wrongArgument(step.slot, "is no tensor descriptor");
  const DescriptorArgument &descriptor = argument.asDescriptor();
  const support::DescriptorRecord &record = descriptors[step.descriptor];
  const runtime::Tensor &tensor = descriptor.tensor;
  if (tensor.device() != device && tensor.device())
    return wrongArgument(step.slot, "is on " + tensor.device()->name() + ", the launch is on " +
                                        device->name());
  uint32_t rank = record.rank;
  if (tensor.rank() != rank)
    return wrongArgument(step.slot, "describes " + std::to_string(tensor.rank()) +
                                        " dimensions, the kernel expects " + std::to_string(rank));
  if (step.kind == SlotKind::Descriptor) {
    void *base = tensor.data();
    auto *bytes = static_cast<uint8_t *>(to);
    std::memcpy(bytes, &base, 8);
    std::memcpy(bytes + 8, tensor.shape().data(), rank * 8);
    std::memcpy(bytes + 8 + rank * 8, tensor.strides().data(), rank * 8);
    return Success{};
  }
  std::lock_guard lock(maps->mutex);
  auto matches = [&](const EncodedMap &entry) {
    return entry.base == tensor.data() && entry.descriptor == step.descriptor &&
           std::equal(tensor.shape().begin(), tensor.shape().end(), entry.shape.begin()) &&
           std::equal(tensor.strides().begin(), tensor.strides().end(), entry.strides.begin());
  };
  auto found = std::find_if(std::begin(maps->entries), std::end(maps->entries), matches);
  if (found == std::end(maps->entries)) {
    found = &maps->entries[maps->next];
    found->descriptor = UINT32_MAX;
    if (Status status = device->encodeTensorMap(record, tensor.data(), tensor.shape(),
                                                tensor.strides(), found->map);
        !status)
      return wrongArgument(step.slot, "cannot be passed: " + status.error().what);
    found->base = tensor.data();
    found->descriptor = step.descriptor;
    std::copy(tensor.shape().begin(), tensor.shape().end(), found->shape.begin());
    std::copy(tensor.strides().begin(), tensor.strides().end(), found->strides.begin());
    maps->next = (maps->next + 1) % MapCache::size;
  }
  std::memcpy(to, found->map, sizeof found->map);
  return Success{};
}

Status PackPlan::pack(std::span<const Argument *const> given, void *block) const {
  return packFrom(
      given.size(), [&](size_t leaf) -> const Argument & { return *given[leaf]; }, block);
}
Status PackPlan::pack(std::span<const Argument> given, void *block) const {
  return packFrom(
      given.size(), [&](size_t leaf) -> const Argument & { return given[leaf]; }, block);
}

template <typename At> Status PackPlan::packFrom(size_t count, At &&at, void *block) const {
  if (count != leaves) [[unlikely]]
    return Error{"cannot launch `" + kernel + "`: " + std::to_string(count) + " values, it takes " +
                     std::to_string(leaves),
                 {}};
  auto *bytes = static_cast<uint8_t *>(block);
  for (const Step &step : steps) {
    uint8_t *to = bytes + step.offset;
    switch (step.kind) {
    case SlotKind::Pointer:
      for (uint32_t i = 0; i < step.count; ++i, to += 8) {
        const Argument &argument = at(step.leaf + i);
        if (argument.kind == Kind::Pointer) [[likely]]
          std::memcpy(to, &argument.bits, 8);
        else if (Status status = packTensor(step.slot + i, argument, to); !status)
          return status;
      }
      break;
    case SlotKind::Int:
      for (uint32_t i = 0; i < step.count; ++i, to += step.width) {
        const Argument &argument = at(step.leaf + i);
        if (argument.kind != Kind::Int && argument.kind != Kind::TypedInt &&
            argument.kind != Kind::Bool) [[unlikely]]
          return wrongArgument(step.slot + i, "is no integer");
        if (step.width == 4)
          std::memcpy(to, &argument.bits, 4); // little-endian: the low bytes
        else if (step.width == 8)
          std::memcpy(to, &argument.bits, 8);
        else
          std::memcpy(to, &argument.bits, step.width);
      }
      break;
    case SlotKind::Float: {
      const Argument &argument = at(step.leaf);
      double value = argument.number;
      if (argument.kind == Kind::Int || argument.kind == Kind::TypedInt ||
          argument.kind == Kind::Bool)
        value =
            argument.type == DType::UInt64 ? double(argument.bits) : double(int64_t(argument.bits));
      else if (argument.kind != Kind::Float && argument.kind != Kind::TypedFloat) [[unlikely]]
        return wrongArgument(step.slot, "is no number");
      if (step.type == DType::Float64) {
        std::memcpy(to, &value, 8);
      } else if (step.type == DType::Float32) {
        auto narrow = float(value);
        std::memcpy(to, &narrow, 4);
      } else {
        uint32_t narrow = support::encodeFloat(support::formatOf(step.type), value);
        std::memcpy(to, &narrow, step.width);
      }
      break;
    }
    case SlotKind::Descriptor:
    case SlotKind::TensorMap:
      if (Status status = packDescriptor(step, at(step.leaf), to); !status)
        return status;
      break;
    case SlotKind::Bytes:
      break; // refused by `make`
    }
  }
  return Success{};
}

Argument Argument::constant(const support::Constant &constant) {
  using From = support::Constant::Kind;
  switch (constant.kind) {
  case From::Bool:
    return boolean(constant.flag);
  case From::Int:
    return integer(std::strtoll(constant.text.c_str(), nullptr, 10));
  case From::Float:
    return floating(constant.number);
  case From::String:
    return string(constant.text);
  case From::Type:
    return dtype(constant.type);
  case From::Function:
    return function(constant.text);
  case From::None:
    break;
  }
  return none();
}

// --- host expressions ---

HostValue hostValueOf(const Argument &argument) {
  switch (argument.kind) {
  case Kind::Default:
    return HostValue::missing();
  case Kind::None:
    return HostValue::none();
  case Kind::Bool:
    return HostValue::boolean(argument.bits != 0);
  case Kind::Int:
  case Kind::TypedInt:
    return argument.type == DType::UInt64 && argument.bits >> 63
               ? HostValue::missing()
               : HostValue::of(int64_t(argument.bits));
  case Kind::Float:
  case Kind::TypedFloat:
    return HostValue::of(argument.number);
  default:
    return HostValue::other();
  }
}

bool hostFactsOf(const Argument &argument, support::HostTensorFacts &facts) {
  if (argument.kind == Kind::Pointer) {
    facts = {{}, {}, info(argument.type).bytes, argument.type, argument.object, false};
    return true;
  }
  if (argument.kind != Kind::Tensor && argument.kind != Kind::Descriptor)
    return false;
  const runtime::Tensor &tensor =
      argument.kind == Kind::Tensor ? argument.asTensor() : argument.asDescriptor().tensor;
  facts = {tensor.shape(), tensor.strides(), tensor.elementBytes(), tensor.type(), tensor.data()};
  return true;
}

HostValue ExpressionArguments::argument(uint32_t leaf) const {
  if (leaf >= leaves.size())
    return HostValue::none();
  return isCompiledIn[leaf] ? constants[leaf] : hostValueOf(*leaves[leaf]);
}

HostValue ExpressionArguments::meta(uint32_t number) const {
  return number < options.size() ? options[number] : HostValue::none();
}

const support::HostTensorFacts *ExpressionArguments::tensor(uint32_t leaf) const {
  if (leaf >= leaves.size())
    return nullptr;
  if (!hostFactsOf(*leaves[leaf], facts))
    return nullptr;
  return &facts;
}

} // namespace nereid::launch
