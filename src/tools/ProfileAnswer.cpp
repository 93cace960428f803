#include "tools/ProfileAnswer.h"

#include "emit/Program.h"
#include "tools/Output.h"

#include <cstdio>
#include <functional>
#include <utility>

namespace nereid::tools {

namespace {

// The line of a file of the program. A table of lines may have the path in full.
std::string sourceLine(const emit::Program &program, const std::string &file, uint32_t number) {
  for (const auto &[name, text] : program.sources()) {
    if (name != file && !file.ends_with("/" + name) && !name.ends_with("/" + file))
      continue;
    std::string_view rest = text;
    for (uint32_t line = 1; line < number; ++line) {
      size_t end = rest.find('\n');
      if (end == rest.npos)
        return "";
      rest.remove_prefix(end + 1);
    }
    return std::string(rest.substr(0, rest.find('\n')));
  }
  return "";
}

Json lineJson(const runtime::LineSamples &line, const std::string &source) {
  Json json = {{"file", line.file},       {"line", line.line},        {"source", source},
               {"samples", line.samples}, {"callers", Json::array()}, {"reasons", Json::object()}};
  for (const auto &[file, number] : line.callers)
    json["callers"].push_back({{"file", file}, {"line", number}});
  for (const auto &[reason, count] : line.reasons)
    if (count)
      json["reasons"][std::string(reason->name)] = count;
  json["results_from"] = Json::array();
  for (const auto &[reason, places] : line.awaited)
    for (const auto &[place, count] : places)
      json["results_from"].push_back({{"reason", reason->name},
                                      {"file", place.first},
                                      {"line", place.second},
                                      {"samples", count}});
  const runtime::StallReason *wait = line.mainWait();
  json["waits_for"] = wait ? Json(wait->words) : Json();
  json["hint"] = wait && !wait->hint.empty() ? Json(wait->hint) : Json();
  return json;
}

Json rowsJson(const std::vector<runtime::TraceRow> &rows) {
  Json json = Json::array();
  for (const runtime::TraceRow &row : rows)
    json.push_back({{"kind", runtime::name(row.kind)},
                    {"name", row.name},
                    {"device", row.device},
                    {"count", row.count},
                    {"total_seconds", double(row.total) * 1e-9},
                    {"least_seconds", double(row.least) * 1e-9},
                    {"greatest_seconds", double(row.greatest) * 1e-9},
                    {"bytes", row.bytes < 0 ? Json() : Json(row.bytes)},
                    {"operations", row.operations < 0 ? Json() : Json(row.operations)},
                    {"registers", row.shape.registers ? Json(row.shape.registers) : Json()},
                    {"shared_bytes", row.shape.registers ? Json(row.shape.sharedBytes) : Json()}});
  return json;
}

} // namespace

void ProfileAnswer::sample(runtime::Device &gpu) {
  auto started = runtime::PcSampler::start(gpu);
  if (started)
    sampler = *std::move(started);
  else
    notes.push_back(started.error().what);
}

void ProfileAnswer::finishSamples() {
  if (!sampler)
    return;
  auto finished = sampler->finish();
  sampler = nullptr;
  if (!finished)
    return notes.push_back(finished.error().what);
  samples = *std::move(finished);
  notes.insert(notes.end(), samples->notes.begin(), samples->notes.end());
  if (!samples->samples)
    notes.push_back("no sample fell into the kernel: it is too short for that; more launches "
                    "(`--repeat`) or a larger grid give some");
}

void ProfileAnswer::takeEvents() {
  events = runtime::recorder().take();
  for (std::string &note : runtime::recorder().takeNotes())
    notes.push_back(std::move(note));
}

void ProfileAnswer::print(const emit::Program &program, bool json) const {
  auto source = [&](const std::string &file, uint32_t line) {
    return sourceLine(program, file, line);
  };
  std::vector<runtime::TraceRow> rows = runtime::summarize(events);
  if (json) {
    Json answer = {{"rows", rowsJson(rows)}};
    if (samples) {
      answer["kernels"] = Json::array();
      for (const runtime::KernelSamples &kernel : samples->kernels) {
        Json lines = Json::array();
        for (const runtime::LineSamples &line : kernel.lines)
          lines.push_back(lineJson(line, source(line.file, line.line)));
        answer["kernels"].push_back(
            {{"name", kernel.kernel}, {"samples", kernel.samples}, {"lines", std::move(lines)}});
      }
    }
    if (!notes.empty())
      answer["notes"] = notes;
    std::printf("%s\n", answer.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
    return;
  }
  for (const std::string &note : notes)
    std::fprintf(stderr, "nereid: note: %s\n", note.c_str());
  std::fputs(runtime::traceTable(rows).c_str(), stdout);
  if (samples && samples->samples)
    std::printf("\n%s", runtime::sampleTable(*samples, source).c_str());
}

} // namespace nereid::tools
