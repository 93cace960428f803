#include "tools/FolderRows.h"

#include <cstdio>

namespace nereid::tools {

namespace {

template <typename T> Json orNull(const std::optional<T> &value) {
  return value ? Json(*value) : Json(nullptr);
}
Json orNull(const std::optional<double> &value) {
  return value ? numberJson(*value) : Json(nullptr);
}

} // namespace

Json rowJson(const engine::FolderRow &row) {
  Json json = {
      {"kernel", row.kernel},
      {"variant", row.variant},
      {"device", row.device},
      {"dtype", row.dtype},
      {"shape", row.shape},
      {"config", row.config},
      {"passed", orNull(row.passed)},
      {"assembled", nullptr},
      {"max_error", orNull(row.maxError)},
      {"tolerance", orNull(row.tolerance)},
      {"seconds", orNull(row.seconds)},
      {"p20", orNull(row.p20)},
      {"p80", orNull(row.p80)},
      {"samples", orNull(row.samples)},
      {"launches", orNull(row.launches)},
      {"bytes_moved", orNull(row.bytesMoved)},
      {"peak_bytes", orNull(row.peakBytes)},
      {"gflops", orNull(row.gflops)},
      {"gbps", orNull(row.gbps)},
      {"intensity", orNull(row.intensity)},
      {"peak_share", nullptr},
      {"copy_share", orNull(row.copyShare)},
      {"compile_seconds", orNull(row.compileSeconds)},
      {"skipped_reason", row.skippedReason.empty() ? Json(nullptr) : Json(row.skippedReason)},
      {"peers", Json::array()}};
  for (const engine::PeerRow &peer : row.peers) {
    Json entry = {{"name", peer.name},
                  {"seconds", orNull(peer.seconds)},
                  {"agrees", orNull(peer.agrees)},
                  {"max_error", orNull(peer.maxError)}};
    if (!peer.failure.empty())
      entry["failure"] = peer.failure;
    json["peers"].push_back(std::move(entry));
  }
  if (!row.failure.empty())
    json["failure"] = row.failure;
  return json;
}

std::string numberText(const std::optional<double> &value, const char *format) {
  if (!value)
    return "-";
  char text[32];
  std::snprintf(text, sizeof text, format, *value);
  return text;
}

} // namespace nereid::tools
