#include "nereid/profile.h"

#include "runtime/Recorder.h"

#include <fstream>

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
  return runtime::writeTrace(path, events ? *events : std::vector<runtime::TraceEvent>());
}

void start() {
  recorder().take();
  recorder().enable(true);
}

Profile stop() {
  recorder().enable(false);
  Profile profile;
  profile.lost = recorder().dropped();
  profile.events = std::make_shared<const std::vector<runtime::TraceEvent>>(recorder().take());
  return profile;
}

Range::Range(std::string_view name) {
  event = runtime::beginEvent(runtime::TraceKind::Range, name);
}
Range::~Range() { runtime::endEvent(std::move(event)); }

} // namespace nereid::profile
