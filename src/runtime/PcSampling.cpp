#include "runtime/PcSampling.h"

#include "runtime/CudaObjects.h"
#include "runtime/Cupti.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>

namespace nereid::runtime {

using namespace cupti;

namespace {
std::atomic<bool> runs = false;

template <typename Call> Call callFor(void *context) {
  Call call;
  call.size = sizeof call;
  call.context = static_cast<cupti::Context>(context);
  return call;
}

// Room for what the library fills in.
struct PcBuffer {
  PcBuffer(size_t places, size_t reasonCount) : records(places), reasons(places * reasonCount) {
    for (size_t i = 0; i < places; ++i) {
      records[i] = {};
      records[i].size = sizeof(PcRecord);
      records[i].reasons = &reasons[i * reasonCount];
    }
    data.size = sizeof data;
    data.capacity = places;
    data.records = records.data();
  }
  PcBuffer(const PcBuffer &) = delete;

  std::vector<PcRecord> records;
  std::vector<StallCount> reasons;
  PcData data = {};
};

// Instructions of all kernels that run while samples are taken; more are fetched in turns.
constexpr size_t places = 8192;

std::string readable(const std::string &name) {
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? text.get() : name;
}
} // namespace

class PcSampler::State {
public:
  State(const cupti::Functions &library, cuda::CudaDevice &gpu) : library(library), gpu(gpu) {}
  ~State() {
    end();
    runs = false;
  }

  Status begin();
  Result<SampleReport> finish();

private:
  Status check(Code code) {
    if (code == NoError)
      return Success{};
    return Error{"cannot sample " + gpu.name() + ": " + library.explain(code), {}};
  }
  template <typename Call> Call call() const { return callFor<Call>(gpu.context); }
  void end();
  void know(std::span<const uint8_t> cubin);
  void collect(PcData &data);
  SampleReport report();

  static void onModule(void *user, uint32_t domain, uint32_t id, const void *data) {
    if (domain != ResourceDomain || id != ModuleLoaded)
      return;
    const auto *module =
        static_cast<const ModuleData *>(static_cast<const ResourceData *>(data)->about);
    if (module && module->cubin)
      static_cast<State *>(user)->know(
          {reinterpret_cast<const uint8_t *>(module->cubin), module->cubinBytes});
  }

  const cupti::Functions &library;
  cuda::CudaDevice &gpu;
  Subscriber subscriber = nullptr;
  bool isOn = false;
  std::map<uint32_t, const StallReason *> reasons; // by the library's number
  std::unique_ptr<PcBuffer> atEnd, inBetween;

  std::mutex mutex;                                // of the next two
  std::unordered_map<uint64_t, CubinLines> cubins; // by checksum

  // By cubin, function and offset.
  std::map<std::tuple<uint64_t, std::string, uint64_t>, std::map<const StallReason *, uint64_t>>
      samples;
  uint64_t elsewhere = 0, dropped = 0, period = 0;
  bool isFull = false;
};

// Only code with lines is kept: the checksum of a large library's takes time.
void PcSampler::State::know(std::span<const uint8_t> cubin) {
  auto lines = readCubinLines(cubin);
  if (!lines || lines->functions.empty())
    return;
  CrcCall crc;
  crc.cubin = cubin.data();
  crc.cubinBytes = cubin.size();
  if (library.cuptiGetCubinCrc(&crc) != NoError)
    return;
  std::lock_guard lock(mutex);
  cubins.emplace(crc.crc, *std::move(lines));
}

Status PcSampler::State::begin() {
  cuda::Current current(gpu);
  // Before anything else of the library: what is loaded by then is known to it only if this is what
  // starts it (CUDA 12.8 and 13.0 on an H100; samples fall outside of user code otherwise).
  auto enable = call<SamplingCall>();
  if (Status status = check(library.cuptiPCSamplingEnable(&enable)); !status)
    return status;
  isOn = true;
  if (Status status = check(library.cuptiSubscribe(&subscriber, &onModule, this)); !status) {
    subscriber = nullptr;
    return status;
  }
  if (Status status =
          check(library.cuptiEnableCallback(1, subscriber, ResourceDomain, ModuleLoaded));
      !status)
    return status;
  {
    std::lock_guard lock(gpu.kernelMutex);
    for (const cuda::CudaKernel *kernel : gpu.kernels)
      if (cuda::CodeKind(kernel->record->kind) == cuda::CodeKind::Cubin)
        know(kernel->source.blob(kernel->record->code));
  }

  size_t count = 0;
  auto countCall = call<ReasonCountCall>();
  countCall.count = &count;
  if (Status status = check(library.cuptiPCSamplingGetNumStallReasons(&countCall)); !status)
    return status;
  std::vector<uint32_t> indices(count);
  std::vector<std::array<char, reasonNameBytes>> texts(count);
  std::vector<char *> names;
  for (auto &text : texts)
    names.push_back(text.data());
  auto nameCall = call<ReasonNamesCall>();
  nameCall.count = count;
  nameCall.indices = indices.data();
  nameCall.names = names.data();
  if (Status status = check(library.cuptiPCSamplingGetStallReasons(&nameCall)); !status)
    return status;
  std::vector<uint32_t> wanted;
  for (size_t i = 0; i < count; ++i)
    if (const StallReason *reason = stallReason({names[i], ::strnlen(names[i], reasonNameBytes)})) {
      reasons[indices[i]] = reason;
      wanted.push_back(indices[i]);
    }

  atEnd = std::make_unique<PcBuffer>(places, wanted.size());
  inBetween = std::make_unique<PcBuffer>(places, wanted.size());
  std::vector<SamplingSetting> settings;
  settings.reserve(8); // references to them stay good
  auto set = [&](SamplingAttribute attribute) -> SamplingSetting & {
    settings.push_back({});
    settings.back().attribute = attribute;
    return settings.back();
  };
  set(CollectionMode).number = ContinuousMode;
  SamplingSetting &which = set(StallReasons);
  which.reasons.count = wanted.size();
  which.reasons.indices = wanted.data();
  set(StartStopControl).number = 1;
  set(OutputFormat).number = ParsedOutput;
  set(DataBuffer).buffer = &atEnd->data;
  auto configure = call<SettingsCall>();
  configure.count = settings.size();
  configure.settings = settings.data();
  if (Status status = check(library.cuptiPCSamplingSetConfigurationAttribute(&configure)); !status)
    return status;
  SamplingSetting asked;
  auto ask = call<SettingsCall>();
  ask.count = 1;
  ask.settings = &asked;
  if (library.cuptiPCSamplingGetConfigurationAttribute(&ask) == NoError && asked.number < 32)
    period = uint64_t(1) << asked.number;
  auto start = call<SamplingCall>();
  return check(library.cuptiPCSamplingStart(&start));
}

void PcSampler::State::end() {
  if (gpu.isLost())
    return;
  cuda::Current current(gpu);
  auto disable = call<SamplingCall>();
  if (std::exchange(isOn, false))
    library.cuptiPCSamplingDisable(&disable);
  if (Subscriber old = std::exchange(subscriber, nullptr))
    library.cuptiUnsubscribe(old);
}

void PcSampler::State::collect(PcData &data) {
  for (size_t i = 0; i < std::min(data.count, data.capacity); ++i) {
    PcRecord &record = data.records[i];
    std::string name = record.name ? record.name : "";
    auto &into = samples[{record.cubin, name, record.offset}];
    for (size_t j = 0; j < record.reasonCount; ++j)
      if (auto reason = reasons.find(record.reasons[j].reason); reason != reasons.end())
        into[reason->second] += record.reasons[j].samples;
  }
  elsewhere += data.samplesElsewhere;
  dropped += data.dropped;
  isFull |= data.isBufferFull != 0;
}

Result<SampleReport> PcSampler::State::finish() {
  if (Status status = gpu.synchronize(); !status)
    return status.takeError();
  cuda::Current current(gpu);
  auto stop = call<SamplingCall>();
  if (Status status = check(library.cuptiPCSamplingStop(&stop)); !status)
    return status.takeError();
  auto fetch = call<DataCall>();
  fetch.data = &inBetween->data;
  do {
    inBetween->data.count = inBetween->data.remaining = 0;
    inBetween->data.dropped = inBetween->data.samplesElsewhere = 0;
    Code code = library.cuptiPCSamplingGetData(&fetch);
    if (code == OutOfMemory)
      isFull = true; // and what is there is fetched
    else if (Status status = check(code); !status)
      return status.takeError();
    collect(inBetween->data);
  } while (inBetween->data.remaining && inBetween->data.count);
  end();
  collect(atEnd->data);
  return report();
}

SampleReport PcSampler::State::report() {
  SampleReport report;
  report.elsewhere = elsewhere;
  report.periodCycles = period;
  std::map<std::string, KernelSamples> kernels;
  std::map<std::pair<std::string, std::vector<Place>>, LineSamples> lines;
  std::lock_guard lock(mutex);
  for (const auto &[key, counts] : samples) {
    const auto &[cubin, function, offset] = key;
    std::vector<Place> chain;
    auto known = cubins.find(cubin);
    if (known != cubins.end())
      for (const CubinRow &row : known->second.find(function, offset))
        chain.emplace_back(known->second.files[row.file], row.line);
    std::string name = readable(function);
    LineSamples &line = lines[{name, chain}];
    if (!chain.empty()) {
      std::tie(line.file, line.line) = chain.front();
      line.callers.assign(chain.begin() + 1, chain.end());
    }
    std::optional<Place> from;
    if (known != cubins.end())
      if (auto at = known->second.awaitedBy(function, offset))
        if (auto rows = known->second.find(function, *at); !rows.empty())
          from.emplace(known->second.files[rows[0].file], rows[0].line);
    for (const auto &[reason, count] : counts) {
      line.reasons[reason] += count;
      line.samples += count;
      if (from && reason->isForResult)
        line.awaited[reason][*from] += count;
    }
  }
  for (auto &[key, line] : lines) {
    KernelSamples &kernel = kernels[key.first];
    kernel.kernel = key.first;
    kernel.samples += line.samples;
    report.samples += line.samples;
    kernel.lines.push_back(std::move(line));
  }
  for (auto &[name, kernel] : kernels) {
    std::ranges::sort(kernel.lines, [](const LineSamples &a, const LineSamples &b) {
      return std::tie(b.samples, a.file, a.line, a.callers) <
             std::tie(a.samples, b.file, b.line, b.callers);
    });
    report.kernels.push_back(std::move(kernel));
  }
  std::ranges::sort(report.kernels, [](const KernelSamples &a, const KernelSamples &b) {
    return std::tie(b.samples, a.kernel) < std::tie(a.samples, b.kernel);
  });
  if (isFull || dropped)
    report.notes.push_back(std::to_string(dropped) +
                           " samples were dropped: the GPU's buffer was full; fewer launches at a "
                           "time lose none");
  if (elsewhere > report.samples / 100)
    report.notes.push_back(
        std::to_string(elsewhere) +
        " samples lie in code that CUPTI does not know: it was loaded before sampling began");
  return report;
}

bool PcSampler::isRunning() { return runs; }

Result<std::unique_ptr<PcSampler>> PcSampler::start(Device &gpu) {
  auto *cuda = dynamic_cast<cuda::CudaDevice *>(&gpu);
  if (!cuda)
    return Error{"cannot sample " + gpu.name() + ": only NVIDIA GPUs sample their program counters",
                 {}};
  auto library = cupti::library();
  if (!library)
    return Error{"cannot sample " + gpu.name() + ": " + library.error().what, {}};
  if (!(*library)->canSample())
    return Error{"cannot sample " + gpu.name() + ": this CUPTI takes no samples", {}};
  if (runs.exchange(true))
    return Error{"cannot sample " + gpu.name() + ": the process takes samples already", {}};
  auto state = std::make_unique<State>(**library, *cuda);
  if (Status status = state->begin(); !status)
    return status.takeError();
  return std::unique_ptr<PcSampler>(new PcSampler(std::move(state)));
}

PcSampler::PcSampler(std::unique_ptr<State> state) : state(std::move(state)) {}
PcSampler::~PcSampler() = default;
Result<SampleReport> PcSampler::finish() { return state->finish(); }

} // namespace nereid::runtime
