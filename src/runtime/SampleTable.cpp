// What samples say of the lines of a kernel, in words.
#include "runtime/PcSampling.h"
#include "support/Table.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <tuple>

namespace nereid::runtime {

namespace {

using SourceOf = std::function<std::string(const std::string &, uint32_t)>;

std::string percent(uint64_t part, uint64_t all) {
  char text[16];
  std::snprintf(text, sizeof text, "%.0f%%",
                100 * double(part) / double(std::max<uint64_t>(all, 1)));
  return text;
}

std::string shortName(const std::string &file) { return file.substr(file.rfind('/') + 1); }

// "kernel.py:3 < 8": line 3 of a helper that line 8 calls.
std::string placeOf(const LineSamples &line) {
  if (line.file.empty())
    return "no line";
  std::string place = shortName(line.file) + ":" + std::to_string(line.line);
  for (const auto &[file, number] : line.callers)
    place += (file == line.file ? " < " : " < " + shortName(file) + ":") + std::to_string(number);
  return place;
}

// " of line 15": where a result comes from; empty if it is the line itself.
std::string ofPlace(const LineSamples &line, const Place &from) {
  if (from == Place(line.file, line.line))
    return "";
  return " of " + (from.first == line.file ? "line " : shortName(from.first) + ":") +
         std::to_string(from.second);
}

// The functions that a line of source calls, each once: "`tl.exp`, `tl.max`".
std::string callsIn(std::string_view code) {
  std::vector<std::string_view> names;
  auto isOfName = [](char c) { return std::isalnum(uint8_t(c)) || c == '_' || c == '.'; };
  for (size_t at = 0; at < code.size() && code[at] != '#'; ++at) {
    if (code[at] != '(')
      continue;
    size_t begin = at;
    while (begin > 0 && isOfName(code[begin - 1]))
      --begin;
    std::string_view name = code.substr(begin, at - begin);
    bool isDefinition = code.substr(0, begin).ends_with("def ");
    if (!name.empty() && !isDefinition && std::ranges::find(names, name) == names.end())
      names.push_back(name);
  }
  std::string text;
  for (std::string_view name : names)
    text += (text.empty() ? "`" : ", `") + std::string(name) + "`";
  return text;
}

// The reasons of a line, the most frequent first.
std::vector<std::pair<uint64_t, const StallReason *>> waitsOf(const LineSamples &line) {
  std::vector<std::pair<uint64_t, const StallReason *>> waits;
  for (const auto &[reason, count] : line.reasons)
    waits.emplace_back(count, reason);
  std::ranges::sort(waits, [](const auto &a, const auto &b) {
    return std::tie(b.first, a.second) < std::tie(a.first, b.second);
  });
  return waits;
}

// "a load of global memory of line 15 73%"
std::string waitText(const LineSamples &line, uint64_t count, const StallReason *reason) {
  std::string words(reason->words);
  if (const Place *from = line.mainSource(reason))
    words += ofPlace(line, *from);
  return words + " " + percent(count, line.samples);
}

// "kernel.py:16 for `tl.load` of line 15": what a line's most frequent wait is for.
std::string awaitedText(const LineSamples &line, const StallReason *wait, const SourceOf &source) {
  if (line.file.empty())
    return placeOf(line);
  const Place *from = line.mainSource(wait);
  std::string calls =
      callsIn(from ? source(from->first, from->second) : source(line.file, line.line));
  std::string of = from ? ofPlace(line, *from) : "";
  if (calls.empty() && of.empty())
    return placeOf(line);
  return placeOf(line) + " for " + (calls.empty() ? "that" : calls) + of;
}

// What helps, once for each reason, with the lines that wait for it.
class Hints {
public:
  void add(const LineSamples &line, const KernelSamples &kernel, const SourceOf &source) {
    constexpr uint64_t worthHinting = 20; // of a kernel's samples, one in so many
    const StallReason *wait = line.mainWait();
    if (!wait || wait->hint.empty() || line.reasons.at(wait) * worthHinting < kernel.samples)
      return;
    auto known = std::ranges::find(hints, wait, &Hint::first);
    std::string place = awaitedText(line, wait, source);
    if (known == hints.end())
      hints.emplace_back(wait, std::move(place));
    else
      known->second += "; " + place;
  }
  std::string text() const {
    std::string text;
    for (const auto &[wait, places] : hints)
      text += "hint: " + std::string(wait->words) + " (" + places +
              "): " + std::string(wait->hint) + "\n";
    return text;
  }

private:
  using Hint = std::pair<const StallReason *, std::string>;
  std::vector<Hint> hints; // in the order of their lines
};

std::string kernelTable(const KernelSamples &kernel, const SourceOf &source, size_t most) {
  std::vector<std::vector<std::string>> rows = {{"share", "line", "waits for", "", "source"}};
  Hints hints;
  size_t hidden = 0;
  uint64_t rest = 0;
  for (const LineSamples &line : kernel.lines) {
    constexpr uint64_t leastShare = 200; // half a percent
    if (rows.size() > most || line.samples * leastShare < kernel.samples) {
      rest += line.samples;
      ++hidden;
      continue;
    }
    std::string first, second;
    if (auto waits = waitsOf(line); !waits.empty()) {
      first = waitText(line, waits[0].first, waits[0].second);
      constexpr uint64_t worthSaying = 5; // of a line's samples, one in so many
      if (waits.size() > 1 && waits[1].first * worthSaying >= line.samples)
        second = waitText(line, waits[1].first, waits[1].second);
    }
    std::string code = line.file.empty() ? "" : source(line.file, line.line);
    code.erase(0, code.find_first_not_of(" \t"));
    rows.push_back({percent(line.samples, kernel.samples), placeOf(line), first, second, code});
    hints.add(line, kernel, source);
  }
  std::string text = support::tableText(rows, rows[0].size());
  if (hidden)
    text += percent(rest, kernel.samples) + " in " + std::to_string(hidden) + " more line" +
            (hidden == 1 ? "" : "s") + "\n";
  return text + hints.text();
}

} // namespace

const StallReason *LineSamples::mainWait() const {
  const StallReason *most = nullptr;
  for (const auto &[reason, count] : reasons)
    if (reason->isWait && (!most || count > reasons.at(most)))
      most = reason;
  return most;
}

const Place *LineSamples::mainSource(const StallReason *reason) const {
  auto found = awaited.find(reason);
  if (found == awaited.end() || found->second.empty())
    return nullptr;
  return &std::ranges::max_element(found->second, {}, [](const auto &from) {
            return from.second;
          })->first;
}

std::string sampleTable(const SampleReport &report, const SourceOf &source, size_t most) {
  std::string text;
  for (const KernelSamples &kernel : report.kernels) {
    text += (text.empty() ? "" : "\n") + kernel.kernel + ": " + std::to_string(kernel.samples) +
            " samples";
    if (report.periodCycles)
      text += ", one each " + std::to_string(report.periodCycles) + " cycles";
    text += "\n" + kernelTable(kernel, source, most);
  }
  return text;
}

std::vector<std::string> hottestLines(const KernelSamples &kernel, size_t most) {
  std::vector<std::string> out;
  for (const LineSamples &line : kernel.lines) {
    if (out.size() == most)
      break;
    auto waits = waitsOf(line);
    out.push_back(percent(line.samples, kernel.samples) + " " + placeOf(line) +
                  (waits.empty() ? "" : ": " + waitText(line, waits[0].first, waits[0].second)));
  }
  return out;
}

} // namespace nereid::runtime
