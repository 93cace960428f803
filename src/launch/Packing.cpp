#include "launch/Packing.h"

#include "support/FloatFormat.h"
#include "support/LaunchAbi.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace nereid::launch {

using support::HostValue;
using support::SlotKind;
using Kind = Argument::Kind;

Result<PackPlan> PackPlan::make(const support::Artifact &artifact, runtime::Device &device) {
  PackPlan plan;
  plan.kernel = std::string(artifact.name());
  plan.device = &device;
  plan.blockBytes = artifact.kernel().packedBytes;
  plan.leaves = artifact.parameters().size();
  plan.descriptors.assign(artifact.descriptors().begin(), artifact.descriptors().end());
  bool hasMaps = false;
  for (const support::SlotRecord &slot : artifact.slots()) {
    if (SlotKind(slot.kind) == SlotKind::TensorMap && !device.hasTensorMaps())
      continue; // the code for this device takes the plain fields
    plan.steps.push_back({SlotKind(slot.kind), DType(slot.type), uint16_t(slot.width),
                          slot.parameter, slot.offset, slot.descriptor});
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

Error PackPlan::wrongArgument(const Step &step, const std::string &what) const {
  return Error{"cannot launch `" + kernel + "`: argument `" + names[size_t(&step - steps.data())] +
                   "` " + what,
               {}};
}

Status PackPlan::packPointer(const Step &step, const Argument &argument, void *to) const {
  uint64_t address;
  if (argument.kind == Kind::Tensor) {
    const runtime::Tensor &tensor = argument.asTensor();
    if (tensor.device() != device && tensor.device())
      return wrongArgument(step, "is on " + tensor.device()->name() + ", the launch is on " +
                                     device->name());
    address = reinterpret_cast<uint64_t>(tensor.data());
  } else {
    return wrongArgument(step, "is no pointer or tensor");
  }
  std::memcpy(to, &address, sizeof address);
  return Success{};
}

Status PackPlan::packDescriptor(const Step &step, const Argument &argument, void *to) const {
  if (argument.kind != Kind::Descriptor)
    return wrongArgument(step, "is no tensor descriptor");
  const DescriptorArgument &descriptor = argument.asDescriptor();
  const support::DescriptorRecord &record = descriptors[step.descriptor];
  const runtime::Tensor &tensor = descriptor.tensor;
  if (tensor.device() != device && tensor.device())
    return wrongArgument(step, "is on " + tensor.device()->name() + ", the launch is on " +
                                   device->name());
  uint32_t rank = record.rank;
  if (tensor.rank() != rank)
    return wrongArgument(step, "describes " + std::to_string(tensor.rank()) +
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
      return wrongArgument(step, "cannot be passed: " + status.error().what);
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
  if (given.size() != leaves) [[unlikely]]
    return Error{"cannot launch `" + kernel + "`: " + std::to_string(given.size()) +
                     " values, it takes " + std::to_string(leaves),
                 {}};
  auto *bytes = static_cast<uint8_t *>(block);
  for (const Step &step : steps) {
    const Argument &argument = *given[step.leaf];
    void *to = bytes + step.offset;
    switch (step.kind) {
    case SlotKind::Pointer:
      if (argument.kind == Kind::Pointer) [[likely]]
        std::memcpy(to, &argument.bits, 8);
      else if (Status status = packPointer(step, argument, to); !status)
        return status;
      break;
    case SlotKind::Int:
      if (argument.kind != Kind::Int && argument.kind != Kind::TypedInt &&
          argument.kind != Kind::Bool) [[unlikely]]
        return wrongArgument(step, "is no integer");
      std::memcpy(to, &argument.bits, step.width); // little-endian: the low bytes
      break;
    case SlotKind::Float: {
      double value = argument.number;
      if (argument.kind == Kind::Int || argument.kind == Kind::TypedInt ||
          argument.kind == Kind::Bool)
        value =
            argument.type == DType::UInt64 ? double(argument.bits) : double(int64_t(argument.bits));
      else if (argument.kind != Kind::Float && argument.kind != Kind::TypedFloat) [[unlikely]]
        return wrongArgument(step, "is no number");
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
      if (Status status = packDescriptor(step, argument, to); !status)
        return status;
      break;
    case SlotKind::Bytes:
      break; // refused by `make`
    }
  }
  return Success{};
}

// ---- Host expressions
// ----------------------------------------------------------------------------

HostValue ExpressionArguments::argument(uint32_t leaf) const {
  if (leaf >= leaves.size())
    return HostValue::none();
  if (isCompiledIn[leaf])
    return constants[leaf];
  const Argument &argument = *leaves[leaf];
  switch (argument.kind) {
  case Kind::Bool:
    return HostValue::boolean(argument.bits != 0);
  case Kind::Int:
  case Kind::TypedInt:
  case Kind::Pointer:
    return HostValue::of(int64_t(argument.bits));
  case Kind::Float:
  case Kind::TypedFloat:
    return HostValue::of(argument.number);
  case Kind::Tensor:
    return HostValue::of(int64_t(reinterpret_cast<uint64_t>(argument.asTensor().data())));
  default:
    return HostValue::none();
  }
}

HostValue ExpressionArguments::meta(uint32_t number) const {
  return number < options.size() ? options[number] : HostValue::none();
}

const support::HostTensorFacts *ExpressionArguments::tensor(uint32_t leaf) const {
  if (leaf >= leaves.size())
    return nullptr;
  const Argument &argument = *leaves[leaf];
  const runtime::Tensor *tensor = argument.kind == Kind::Tensor ? &argument.asTensor()
                                  : argument.kind == Kind::Descriptor
                                      ? &argument.asDescriptor().tensor
                                      : nullptr;
  if (!tensor)
    return nullptr;
  facts = {tensor->shape(), tensor->strides(), tensor->itemBytes()};
  return &facts;
}

} // namespace nereid::launch
