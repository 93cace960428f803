#include "engine/FolderPeers.h"

#include "runtime/CudaDevice.h"

#include <regex>

namespace nereid::engine {

using emit::Keywords;

Result<double> FolderPeers::sameCopy(Runner &on, double bytes) {
  runtime::Device *device = on.runtimeDevice();
  const size_t half = size_t(bytes / 2) & ~size_t(15);
  if (!device || device->kind() == runtime::DeviceKind::Cpu || half == 0)
    return 0.0;
  auto [known, isNew] = sameCopies.try_emplace({device, half}, 0);
  if (!isNew)
    return known->second;
  auto blocks = device->allocate(2 * half);
  if (!blocks)
    return 0.0; // there is no room for it beside the tensors
  auto *from = static_cast<char *>(blocks->data());
  if (Status status = device->defaultStream().fill(from, 0x9e3779b9, 4, half / 2); !status)
    return status.takeError();
  TimeOptions how = *options.time;
  how.seconds = std::min(how.seconds, 0.05);
  auto timing = on.timePass(
      [&](runtime::Stream &stream) { return stream.copy(from + half, from, half); }, how);
  if (!timing)
    return timing.takeError();
  return known->second = timing->median;
}

Status FolderPeers::add(const FolderInstance &instance, Runner &on,
                        const std::set<SpecTensor *> &bound, FolderRow &row) {
  runtime::Device *device = on.runtimeDevice();
  if (!device || device->kind() != runtime::DeviceKind::Cuda)
    return Success{};
  auto texts = folder.peers(instance.which.task);
  if (!texts)
    return texts.takeError();
  auto text = texts->find("torch");
  if (text == texts->end())
    return Success{};
  static const std::regex product(R"(torch\.matmul\((\w+), (\w+)\))");
  std::smatch match;
  if (!std::regex_match(text->second, match, product))
    return Success{};
  auto tensorOf = [&](const Keywords &values, const std::string &name) -> SpecTensor * {
    for (const auto &[key, value] : values)
      if (key == name || name.empty())
        if (auto *tensor = value.as<SpecTensor>())
          return tensor;
    return nullptr;
  };
  SpecTensor *a = tensorOf(instance.inputs, match[1]), *b = tensorOf(instance.inputs, match[2]),
             *out = tensorOf(instance.outputs, "");
  if (!a || !b || !out)
    return Success{};
  std::string key = instance.which.task + "\n" + instance.which.label + "\n" + on.device();
  if (key != peerFor) {
    peer = {};
    peer.row.name = "cublaslt";
    if (Status status = timeProduct(instance, on, *device, *a, *b, *out); !status)
      peer.row.failure = failureText(status.error());
    peerFor = key;
  }
  PeerRow mine = peer.row;
  if (peer.out && bound.contains(out)) {
    if (Status status = on.fetch(out->memory); !status)
      return status;
    auto tolerance = folder.tolerance(instance, out->name);
    if (!tolerance)
      return tolerance.takeError();
    auto compared = support::compare(out->memory, peer.array,
                                     {2 * tolerance->relative, 2 * tolerance->absolute});
    mine.agrees = compared.passed;
    mine.maxError = compared.error;
  }
  row.peers.push_back(std::move(mine));
  return Success{};
}

Status FolderPeers::timeProduct(const FolderInstance &instance, Runner &on, runtime::Device &device,
                                const SpecTensor &a, const SpecTensor &b, const SpecTensor &out) {
  runtime::CurrentContext current(&device);
  if (!cublasLt) {
    auto opened = runtime::CublasLt::open();
    if (!opened)
      return opened.takeError();
    cublasLt = *std::move(opened);
  }
  const support::HostTensor &left = a.memory, &right = b.memory;
  if (left.shape().size() != 2 || right.shape().size() != 2 || left.shape()[1] != right.shape()[0])
    return Error{"its factors are no matrices that fit", {}};
  peer.out = std::make_unique<support::HostTensor>(out.memory.dtype(), out.memory.shape(),
                                                   out.memory.strides());
  runtime::MatrixProduct product;
  product.m = left.shape()[0];
  product.n = right.shape()[1];
  product.k = left.shape()[1];
  product.a = left.dtype();
  product.b = right.dtype();
  product.c = peer.out->dtype();
  for (size_t i = 0; i < 2; ++i) {
    product.aStrides[i] = left.strides()[i];
    product.bStrides[i] = right.strides()[i];
    product.cStrides[i] = peer.out->strides()[i];
  }
  for (const auto &[name, value] : instance.which.bindings)
    if (name == "precision" && value.isStr())
      product.tf32 = value.asStr() == "tf32";
  auto measured = timeWays(product, on, device, on.address(left), on.address(right));
  on.unbind(*peer.out);
  if (!measured) {
    peer.out.reset();
    return measured.takeError();
  }
  peer.row.seconds = *measured;
  peer.array = peer.out->toArray();
  return Success{};
}

Result<double> FolderPeers::timeWays(const runtime::MatrixProduct &product, Runner &on,
                                     runtime::Device &device, const void *a, const void *b) {
  if (Status status = on.bind(*peer.out, "peer", false); !status)
    return status.takeError();
  auto workspace = device.allocate(runtime::CublasLt::workspaceBytes);
  if (!workspace)
    return workspace.takeError();
  auto plan = cublasLt->plan(product);
  if (!plan)
    return plan.takeError();
  auto timed = [&](size_t way, TimeOptions how) -> Result<double> {
    auto timing = on.timePass(
        [&](runtime::Stream &stream) {
          return cublasLt->run(*plan, way, a, b, on.address(*peer.out), workspace->data(),
                               stream.native());
        },
        how);
    if (!timing)
      return timing.takeError();
    return timing->median;
  };
  size_t best = 0;
  double least = 0;
  TimeOptions briefly = *options.time;
  briefly.seconds /= 8;
  briefly.minSamples = 3;
  for (size_t way = 0; way < plan->count(); ++way) {
    auto seconds = timed(way, briefly);
    if (seconds && (least == 0 || *seconds < least)) {
      least = *seconds;
      best = way;
    }
  }
  auto seconds = timed(best, *options.time);
  if (!seconds)
    return seconds;
  if (Status status = on.fetch(*peer.out); !status)
    return status.takeError();
  return seconds;
}

} // namespace nereid::engine
