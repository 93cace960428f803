#include "nereid/profile.h"

#include "runtime/Device.h"
#include "runtime/PcSampling.h"
#include "runtime/Recorder.h"

#include <fstream>
#include <mutex>
#include <tuple>

namespace nereid::profile {

using runtime::recorder;

std::vector<Row> Profile::rows() const {
  std::vector<Row> rows;
  if (events)
    for (const runtime::TraceRow &row : runtime::summarize(*events))
      rows.push_back({std::string(runtime::name(row.kind)), row.name, row.device, row.count,
                      double(row.total) * 1e-9, double(row.least) * 1e-9,
                      double(row.greatest) * 1e-9, row.bytes, row.operations});
  return rows;
}

std::string Profile::table() const {
  return runtime::traceTable(events ? runtime::summarize(*events)
                                    : std::vector<runtime::TraceRow>());
}

Status Profile::writeTrace(const std::string &path) const {
  return runtime::writeTrace(path, events ? *events : std::vector<runtime::TraceEvent>(),
                             samples.get());
}

std::vector<Line> Profile::lines() const {
  std::vector<Line> lines;
  if (!samples)
    return lines;
  for (const runtime::KernelSamples &kernel : samples->kernels)
    for (const runtime::LineSamples &seen : kernel.lines) {
      Line line;
      line.kernel = kernel.kernel;
      line.file = seen.file;
      line.line = seen.line;
      line.callers = seen.callers;
      line.samples = seen.samples;
      for (const auto &[reason, count] : seen.reasons)
        if (count)
          line.reasons.emplace_back(reason->name, count);
      if (const runtime::StallReason *wait = seen.mainWait()) {
        line.waitsFor = wait->words;
        line.hint = wait->hint;
        if (const runtime::Place *from = seen.mainSource(wait))
          std::tie(line.fromFile, line.fromLine) = *from;
      }
      lines.push_back(std::move(line));
    }
  return lines;
}

std::string Profile::lineTable() const {
  if (!samples)
    return "";
  auto source = [](const std::string &file, uint32_t number) {
    std::ifstream text(file);
    std::string line;
    for (uint32_t i = 0; i < number; ++i)
      if (!std::getline(text, line))
        return std::string();
    return line;
  };
  return runtime::sampleTable(*samples, source);
}

namespace {
// Of the recording that runs.
std::mutex samplingMutex;
std::unique_ptr<runtime::PcSampler> sampler;
std::vector<std::string> samplingNotes;

void startSampling(const std::string &device) {
  std::lock_guard lock(samplingMutex);
  samplingNotes.clear();
  sampler = nullptr;
  if (device.empty())
    return;
  auto gpu = runtime::device(device);
  auto started = gpu ? runtime::PcSampler::start(**gpu) : gpu.takeError();
  if (started)
    sampler = *std::move(started);
  else
    samplingNotes.push_back(started.error().what);
}

std::shared_ptr<const runtime::SampleReport> stopSampling(std::vector<std::string> &notes) {
  std::lock_guard lock(samplingMutex);
  notes = std::exchange(samplingNotes, {});
  auto running = std::exchange(sampler, nullptr);
  if (!running)
    return nullptr;
  auto report = running->finish();
  if (!report) {
    notes.push_back(report.error().what);
    return nullptr;
  }
  notes.insert(notes.end(), report->notes.begin(), report->notes.end());
  return std::make_shared<const runtime::SampleReport>(*std::move(report));
}
} // namespace

void start(const Options &options) {
  recorder().take();
  recorder().takeNotes();
  startSampling(options.lines);
  recorder().enable(true);
}

Profile stop() {
  recorder().enable(false);
  Profile profile;
  profile.samples = stopSampling(profile.remarks);
  profile.lost = recorder().dropped();
  profile.events = std::make_shared<const std::vector<runtime::TraceEvent>>(recorder().take());
  for (std::string &note : recorder().takeNotes())
    profile.remarks.push_back(std::move(note));
  return profile;
}

Range::Range(std::string_view name) {
  event = runtime::beginEvent(runtime::TraceKind::Range, name);
}
Range::~Range() { runtime::endEvent(std::move(event)); }

} // namespace nereid::profile
