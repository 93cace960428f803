#include "tools/InspectParts.h"

#include <algorithm>

namespace nereid::tools {

std::string bytesText(double bytes) {
  if (bytes < 1024)
    return text("%.0f B", bytes);
  const char *units[] = {"KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (bytes /= 1024; bytes >= 1024 && unit + 1 < std::size(units); ++unit)
    bytes /= 1024;
  return text("%.4g %s", bytes, units[unit]);
}

std::string placeText(const analysis::SourceLine &place) {
  size_t slash = place.file.rfind('/');
  std::string at = place.file.substr(slash == std::string::npos ? 0 : slash + 1) + ":" +
                   std::to_string(place.line);
  return place.calledFrom.empty() ? at : at + " (from " + place.calledFrom + ")";
}

std::string placeText(const Json &row) {
  return placeText(analysis::SourceLine{row["file"], row["line"], row["called_from"]});
}

Json placeJson(const analysis::SourceLine &place) {
  return {{"file", place.file}, {"line", place.line}, {"called_from", place.calledFrom}};
}

Work workOf(const analysis::Explanation &lines, const LaunchFacts &launch,
            const support::Artifact &artifact) {
  double programs = std::max<double>(1, double(launch.programs()));
  double read = programs * double(lines.bytesRead), written = programs * double(lines.bytesWritten);
  Work work;
  work.requested = read + written;
  work.operations = programs * double(lines.operations);
  double allRead = 0, allWritten = 0;
  for (const support::SlotRecord &slot : artifact.slots()) {
    auto found = launch.tensorBytes.find(std::string(artifact.text(slot.name)));
    if (found == launch.tensorBytes.end())
      continue;
    allRead += slot.access & support::AccessRead ? found->second : 0;
    allWritten += slot.access & support::AccessWrite ? found->second : 0;
  }
  bool known = launch.programs() && !launch.tensorBytes.empty();
  work.least = known ? std::min(read, allRead) + std::min(written, allWritten) : work.requested;
  return work;
}

Json linesJson(const analysis::Explanation &lines) {
  Json json = Json::array();
  for (const analysis::ExplainedLine &line : lines.lines)
    if (line.bytesRead + line.bytesWritten + line.operations > 0)
      json.push_back({{"file", line.file},
                      {"line", line.line},
                      {"called_from", line.calledFrom},
                      {"loop_depth", line.loopDepth},
                      {"bytes_read", line.bytesRead},
                      {"bytes_written", line.bytesWritten},
                      {"operations", line.operations}});
  return json;
}

Json workJson(const analysis::Explanation &lines, const Work &work) {
  return {{"bytes_read", lines.bytesRead},
          {"bytes_written", lines.bytesWritten},
          {"operations", lines.operations},
          {"loops_unknown", lines.hasLoops},
          {"launch_bytes_requested", work.requested},
          {"launch_bytes_least", work.least},
          {"launch_operations", work.operations}};
}

void printLines(const analysis::Explanation &lines) {
  std::vector<std::vector<std::string>> table = {{"line", "reads", "writes", "operations"}};
  for (const analysis::ExplainedLine &line : lines.lines)
    if (line.bytesRead + line.bytesWritten + line.operations > 0)
      table.push_back({placeText(analysis::SourceLine{line.file, line.line, line.calledFrom}),
                       bytesText(line.bytesRead), bytesText(line.bytesWritten),
                       text("%.0f", line.operations)});
  std::printf("\none program%s:\n", lines.hasLoops ? " (loops of unknown length count once)" : "");
  printTable(table, 1);
}

} // namespace nereid::tools
