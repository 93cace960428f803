#include "tools/BenchPage.h"

#include "engine/Files.h"
#include "tools/FolderRows.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <tuple>

namespace nereid::tools {

namespace {

constexpr std::string_view head = R"(<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>nereid bench</title>
<style>
)";

// The colours of a page.
constexpr std::string_view colors =
    R"(:root { --paper: #fff; --ink: #1c1e21; --faint: #c9ced6; --soft: #5d6470;
  --c0: #1f6fd0; --c1: #c2410c; --c2: #15803d; --c3: #9333ea; --c4: #b7791f; --c5: #0e7490; --c6: #be185d; --c7: #4d5663; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171b; --ink: #e6e8eb; --faint: #3a4048; --soft: #9aa3af;
  --c0: #6cb0ff; --c1: #ff9a66; --c2: #5fd38a; --c3: #c99bff; --c4: #e8bf5c; --c5: #58cbe0; --c6: #ff8fc0; --c7: #aab3bf; } }
)";

// What lines and text of a plot look like.
constexpr std::string_view marks =
    R"(text { fill: var(--soft) } .name { fill: var(--ink); font-size: 14px }
.grid { stroke: var(--faint); stroke-width: .6 } .roof { stroke: var(--ink); stroke-width: 1.2 }
)";

constexpr std::string_view styles =
    R"(body { background: var(--paper); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
.plots { display: flex; flex-wrap: wrap; gap: 1.5rem }
figure { margin: 0; flex: 1 1 30rem; max-width: 36rem } figcaption { color: var(--soft); font-size: .85rem }
svg { width: 100%; height: auto } svg text { font-size: 11px }
.legend { font-size: .82rem; columns: 2; list-style: none; padding: 0; margin: .3rem 0 }
.swatch { display: inline-block; width: .8em; height: .8em; border-radius: 50%; margin-right: .4em }
.scroll { overflow-x: auto } table { border-collapse: collapse; font-size: .82rem }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid var(--faint); white-space: nowrap }
th:nth-child(-n+5), td:nth-child(-n+5) { text-align: left }
</style>
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text)
    out += c == '&'   ? "&amp;"
           : c == '<' ? "&lt;"
           : c == '>' ? "&gt;"
           : c == '"' ? "&quot;"
                      : std::string(1, c);
  return out;
}

std::string format(const char *pattern, auto... values) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

/// 1.5e6 as "1.5M".
std::string scaled(double value) {
  constexpr std::pair<double, const char *> steps[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"},
                                                       {1e3, "k"},  {1, ""},    {1e-3, "m"},
                                                       {1e-6, "u"}, {1e-9, "n"}};
  for (auto [step, name] : steps)
    if (std::fabs(value) >= step * 0.9999)
      return format("%.3g", value / step) + name;
  return format("%.3g", value);
}

// A column of the row, or what its case binds the name to.
std::optional<double> valueOf(const Json &row, const std::string &name) {
  if (auto column = numberOf(row, name.c_str()))
    return column;
  if (row.contains("case") && row["case"].is_object())
    return numberOf(row["case"], name.c_str());
  for (const char *key : {"shape", "config"}) {
    std::string text = " " + textOf(row, key);
    size_t at = text.find(" " + name + "=");
    if (at == std::string::npos)
      continue;
    const char *digits = text.c_str() + at + name.size() + 2;
    char *end = nullptr;
    double value = std::strtod(digits, &end);
    if (end != digits)
      return value;
  }
  return std::nullopt;
}

// The light colours in place of their names, which not every program that draws SVG knows.
std::string withColors(std::string text) {
  std::string_view light = colors.substr(0, colors.find('}'));
  for (size_t at = 0; (at = light.find("--", at)) != light.npos;) {
    size_t colon = light.find(':', at), end = light.find(';', colon);
    std::string name = "var(" + std::string(light.substr(at, colon - at)) + ")";
    std::string_view color = light.substr(colon + 2, end - colon - 2);
    for (size_t found; (found = text.find(name)) != text.npos;)
      text.replace(found, name.size(), color);
    at = end;
  }
  return text;
}

struct Point {
  double x, y;
  std::string label;
};

/// Series of points on two logarithmic axes.
class Plot {
public:
  Plot(std::string caption, std::string xLabel, std::string yLabel)
      : caption(std::move(caption)), xLabel(std::move(xLabel)), yLabel(std::move(yLabel)) {}

  void add(const std::string &series, Point point) {
    if (point.x > 0 && point.y > 0 && std::isfinite(point.x) && std::isfinite(point.y))
      points[series].push_back(std::move(point));
  }
  /// y = slope * x, as far as the plot goes.
  void roof(double slope, std::string label) { roofs.emplace_back(slope, std::move(label)); }
  bool connected = true;
  bool plainX = false; ///< numbers along x without a unit
  bool empty() const { return points.empty(); }

  /// A figure of a page.
  std::string svg() {
    std::string out = format("<figure><svg viewBox=\"0 0 %g %g\" role=\"img\">", width, height);
    draw(out);
    std::string legend = "<ul class=\"legend\">";
    int color = 0;
    for (const auto &[name, series] : points)
      legend += format("<li><span class=\"swatch\" style=\"background:var(--c%d)\"></span>",
                       color++ % 8) +
                escaped(name);
    return out + "</svg><figcaption>" + escaped(caption) + "</figcaption>" + legend +
           "</ul></figure>\n";
  }

  /// A file of its own, with `note` below the names of the series.
  std::string file(const std::string &note) {
    double top = 26, line = 17;
    size_t lines = (points.size() + 1) / 2;
    double below = top + height + line * double(lines) + 26;
    std::string out = format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" "
                             "role=\"img\" font-family=\"system-ui, sans-serif\" "
                             "font-size=\"11\">\n<style>\n",
                             width, below) +
                      std::string(marks) +
                      "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"var(--paper)\"/>\n";
    out += format("<text class=\"name\" x=\"%g\" y=\"18\">", left) + escaped(caption) + "</text>\n";
    out += format("<g transform=\"translate(0 %g)\">\n", top);
    draw(out);
    out += "\n</g>\n";
    int index = 0;
    for (const auto &[name, series] : points) {
      int row = index / 2;
      double x = index % 2 ? width / 2 : left, y = top + height + line * row + 12;
      out += format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"var(--c%d)\"/>", x, y - 4,
                    index % 8) +
             format("<text x=\"%.1f\" y=\"%.1f\">", x + 9, y) + escaped(name) + "</text>\n";
      ++index;
    }
    out += format("<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">", width - right, below - 8) +
           escaped(note) + "</text>\n</svg>\n";
    return withColors(std::move(out));
  }

private:
  void draw(std::string &out) {
    fit();
    axes(out);
    for (const auto &[slope, label] : roofs)
      drawRoof(out, slope, label);
    int color = 0;
    for (auto &[name, series] : points) {
      std::string ink = format("var(--c%d)", color++ % 8);
      std::sort(series.begin(), series.end(),
                [](const Point &a, const Point &b) { return a.x < b.x; });
      if (connected && series.size() > 1) {
        out += "<polyline fill=\"none\" stroke-width=\"1.6\" stroke=\"" + ink + "\" points=\"";
        for (const Point &point : series)
          out += format("%.1f,%.1f ", xOf(point.x), yOf(point.y));
        out += "\"/>";
      }
      for (const Point &point : series)
        out += format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\" fill=\"", xOf(point.x),
                      yOf(point.y)) +
               ink + "\"><title>" + escaped(point.label) + "</title></circle>";
    }
  }

  // Whole decades around the points, at least one.
  void fit() {
    double lowX = INFINITY, highX = 0, lowY = INFINITY, highY = 0;
    for (const auto &[name, series] : points)
      for (const Point &point : series) {
        lowX = std::min(lowX, point.x), highX = std::max(highX, point.x);
        lowY = std::min(lowY, point.y), highY = std::max(highY, point.y);
      }
    auto range = [](double low, double high, double &from, double &to) {
      from = std::floor(std::log10(low) + 1e-9);
      to = std::max(from + 1, std::ceil(std::log10(high) - 1e-9));
    };
    range(lowX, highX, fromX, toX);
    range(lowY, highY, fromY, toY);
  }
  double xOf(double x) const {
    return left + (std::log10(x) - fromX) / (toX - fromX) * (width - left - right);
  }
  double yOf(double y) const {
    return height - bottom - (std::log10(y) - fromY) / (toY - fromY) * (height - bottom - 12);
  }
  void axes(std::string &out) const {
    for (double e = fromX; e <= toX; ++e)
      out += format(
          "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"12\" y2=\"%.1f\"/>"
          "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>",
          xOf(std::pow(10, e)), xOf(std::pow(10, e)), height - bottom, xOf(std::pow(10, e)),
          height - bottom + 15,
          (plainX && e < 6 ? format("%g", std::pow(10, e)) : scaled(std::pow(10, e))).c_str());
    for (double e = fromY; e <= toY; ++e)
      out += format("<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                    "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
                    left, width - right, yOf(std::pow(10, e)), yOf(std::pow(10, e)), left - 6,
                    yOf(std::pow(10, e)) + 4, scaled(std::pow(10, e)).c_str());
    out += format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", (left + width) / 2,
                  height - 6) +
           escaped(xLabel) + "</text>";
    out += format("<text transform=\"translate(13 %.1f) rotate(-90)\" text-anchor=\"middle\">",
                  (height - bottom) / 2) +
           escaped(yLabel) + "</text>";
  }
  void drawRoof(std::string &out, double slope, const std::string &label) const {
    double first = std::max(std::pow(10, fromX), std::pow(10, fromY) / slope),
           last = std::min(std::pow(10, toX), std::pow(10, toY) / slope);
    if (first >= last)
      return;
    out += format("<line class=\"roof\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\">",
                  xOf(first), yOf(first * slope), xOf(last), yOf(last * slope)) +
           "<title>" + escaped(label) + "</title></line>";
  }

  static constexpr double width = 560, height = 340, left = 62, right = 20, bottom = 38;
  std::string caption, xLabel, yLabel;
  std::map<std::string, std::vector<Point>> points;
  std::vector<std::pair<double, std::string>> roofs;
  double fromX = 0, toX = 1, fromY = 0, toY = 1;
};

bool hasRun(const Json &row) {
  return textOf(row, "skipped_reason").empty() && !row.contains("failure");
}

bool isMeasured(const Json &row) { return numberOf(row, "seconds") && hasRun(row); }

std::string labelOf(const Json &row) {
  std::string label =
      textOf(row, "variant") + " on " + textOf(row, "device") + ", " + textOf(row, "shape");
  if (std::string config = textOf(row, "config"); !config.empty())
    label += ", " + config;
  if (auto seconds = numberOf(row, "seconds"))
    label += ": " + scaled(*seconds) + "s";
  return label;
}

// What makes rows of one line in a plot: all but their size.
std::string seriesOf(const Json &row) {
  std::string series = textOf(row, "variant");
  for (const char *key : {"dtype", "device"})
    if (std::string part = textOf(row, key); !part.empty())
      series += ", " + part;
  return series;
}

// Bytes a second that a row's device copies, by what the row says of itself.
std::optional<double> copyRate(const Json &row) {
  auto share = numberOf(row, "copy_share"), gbps = numberOf(row, "gbps");
  return share && gbps && *share > 0 ? std::optional(*gbps * 1e9 / *share) : std::nullopt;
}

// Dots below a line of slope "measured copy", one plot a device.
std::string rooflines(const Json &rows) {
  std::map<std::string, Plot> plots;
  std::map<std::string, double> copies;
  for (const Json &row : rows) {
    auto intensity = numberOf(row, "intensity"), gflops = numberOf(row, "gflops");
    if (!isMeasured(row) || !intensity || !gflops)
      continue;
    std::string device = textOf(row, "device");
    auto [plot, isNew] = plots.try_emplace(device,
                                           "Roofline of " + device +
                                               ": the line is what its measured copy "
                                               "allows",
                                           "operations a byte", "operations a second");
    plot->second.connected = false;
    plot->second.plainX = true;
    plot->second.add(textOf(row, "kernel"),
                     {*intensity, *gflops * 1e9, textOf(row, "kernel") + " " + labelOf(row)});
    if (auto rate = copyRate(row))
      copies[device] = *rate;
  }
  std::string out;
  for (auto &[device, plot] : plots) {
    if (plot.empty())
      continue;
    if (auto copy = copies.find(device); copy != copies.end())
      plot.roof(copy->second, "measured copy: " + scaled(copy->second) + "B/s");
    out += plot.svg();
  }
  return out.empty() ? "" : "<h2>Rooflines</h2>\n<div class=\"plots\">\n" + out + "</div>\n";
}

std::string scaling(const Json &rows) {
  std::vector<std::string> kernels;
  for (const Json &row : rows)
    if (std::string kernel = textOf(row, "kernel");
        std::find(kernels.begin(), kernels.end(), kernel) == kernels.end())
      kernels.push_back(kernel);
  std::string out;
  for (const std::string &kernel : kernels) {
    Plot time("Time by size, peers beside", "bytes moved", "seconds");
    Plot rate("Bandwidth by size", "bytes moved", "bytes a second");
    for (const Json &row : rows) {
      auto bytes = numberOf(row, "bytes_moved");
      if (textOf(row, "kernel") != kernel || !isMeasured(row) || !bytes)
        continue;
      time.add(seriesOf(row), {*bytes, *numberOf(row, "seconds"), labelOf(row)});
      for (const Json &peer : row.value("peers", Json::array()))
        if (auto seconds = numberOf(peer, "seconds"))
          time.add(textOf(peer, "name"), {*bytes, *seconds,
                                          textOf(peer, "name") + ", " + textOf(row, "shape") +
                                              ": " + scaled(*seconds) + "s"});
      if (auto gbps = numberOf(row, "gbps"))
        rate.add(seriesOf(row), {*bytes, *gbps * 1e9, labelOf(row)});
    }
    if (!time.empty())
      out += "<h2>" + escaped(kernel) + "</h2>\n<div class=\"plots\">\n" + time.svg() +
             (rate.empty() ? "" : rate.svg()) + "</div>\n";
  }
  return out;
}

std::string table(const Json &rows) {
  std::string out = "<h2>Rows</h2>\n<div class=\"scroll\"><table><tr><th>kernel<th>variant<th>"
                    "device<th>case<th>configuration<th>time<th>p20<th>p80<th>GB/s<th>of copy<th>"
                    "GFLOP/s<th>launches<th>peers\n";
  auto cell = [&](const std::optional<double> &value, const char *pattern, double by) {
    out += "<td>" + (value ? format(pattern, *value * by) : std::string("-"));
  };
  for (const Json &row : rows) {
    out += "<tr>";
    for (const char *key : {"kernel", "variant", "device", "shape", "config"})
      out += "<td>" + escaped(textOf(row, key));
    std::string why =
        row.contains("failure") ? textOf(row, "failure") : textOf(row, "skipped_reason");
    if (!why.empty()) {
      out += "<td colspan=\"8\" style=\"text-align:left\">" + escaped(why) + "\n";
      continue;
    }
    for (const char *key : {"seconds", "p20", "p80"}) {
      auto seconds = numberOf(row, key);
      out += "<td>" + (seconds ? scaled(*seconds) + "s" : "-");
    }
    cell(numberOf(row, "gbps"), "%.0f", 1);
    cell(numberOf(row, "copy_share"), "%.0f%%", 100);
    cell(numberOf(row, "gflops"), "%.0f", 1);
    cell(numberOf(row, "launches"), "%.0f", 1);
    std::string peers;
    for (const Json &peer : row.value("peers", Json::array()))
      if (auto seconds = numberOf(peer, "seconds"))
        peers += (peers.empty() ? "" : ", ") + textOf(peer, "name") + " " + scaled(*seconds) + "s";
    out += "<td>" + escaped(peers.empty() ? "-" : peers) + "\n";
  }
  return out + "</table></div>\n";
}

} // namespace

std::string benchPage(const Json &rows) {
  return std::string(head) + std::string(colors) + std::string(marks) + std::string(styles) +
         "<h1>nereid bench</h1>\n" + rooflines(rows) + scaling(rows) + table(rows) + "</html>\n";
}

Result<std::string> benchPlot(const Json &rows, const PlotWords &words, const std::string &note) {
  size_t colon = words.axes.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == words.axes.size())
    return Error{"`--axes " + words.axes + "` is not X:Y", {}};
  std::string x = words.axes.substr(0, colon), y = words.axes.substr(colon + 1);
  constexpr std::tuple<const char *, const char *, double> units[] = {
      {"seconds", "seconds", 1},
      {"gbps", "bytes a second", 1e9},
      {"gflops", "operations a second", 1e9},
      {"bytes_moved", "bytes moved", 1},
      {"peak_bytes", "bytes at most", 1},
      {"intensity", "operations a byte", 1}};
  auto unitOf = [&](const std::string &name) {
    for (const auto &[key, label, factor] : units)
      if (name == key)
        return std::pair(std::string(label), factor);
    return std::pair(name, 1.0);
  };
  auto [xLabel, xFactor] = unitOf(x);
  auto [yLabel, yFactor] = unitOf(y);
  Plot plot(words.title.empty() ? yLabel + " by " + xLabel : words.title, xLabel, yLabel);
  plot.plainX = xLabel == x || x == "intensity";
  // A roofline: rows are no curve, and none is above what a copy allows.
  bool isRoofline = x == "intensity" && y == "gflops";
  plot.connected = !isRoofline;
  std::optional<double> copy;
  for (const Json &row : rows) {
    if (isRoofline)
      copy = std::max(copy, copyRate(row));
    // Bytes and counts need no time.
    auto at = valueOf(row, x), value = valueOf(row, y);
    if (!hasRun(row) || !at || !value)
      continue;
    std::string name;
    for (const std::string &key : words.by) {
      std::string part = textOf(row, key.c_str());
      if (auto number = part.empty() ? valueOf(row, key) : std::nullopt)
        part = key + " " + format("%g", *number);
      if (!part.empty())
        name += (name.empty() ? "" : ", ") + part;
    }
    plot.add(name, {*at * xFactor, *value * yFactor, textOf(row, "kernel") + " " + labelOf(row)});
    // A peer's rates are to ours as our time is to its.
    for (const Json &peer : row.value("peers", Json::array()))
      if (auto seconds = numberOf(peer, "seconds");
          seconds && words.peers && *seconds > 0 && isMeasured(row)) {
        double theirs =
            y == "seconds" ? *seconds : *value * yFactor * *numberOf(row, "seconds") / *seconds;
        plot.add(textOf(peer, "name") + (name.empty() ? "" : ": " + name),
                 {*at * xFactor, theirs, textOf(peer, "name") + ", " + labelOf(row)});
      }
  }
  if (plot.empty())
    return Error{"no row has both `" + x + "` and `" + y + "`", {}};
  if (copy)
    plot.roof(*copy, "measured copy: " + scaled(*copy) + "B/s");
  return plot.file(note);
}

Json machinesOf(const Json &rows) {
  std::vector<std::string> devices;
  Json machines = Json::array();
  for (const Json &row : rows)
    if (std::string device = textOf(row, "device");
        std::find(devices.begin(), devices.end(), device) == devices.end()) {
      devices.push_back(device);
      machines.push_back(machineJson(device));
    }
  return machines;
}

Status writeFiles(const BenchFiles &files, const Json &rows, const Json &machines) {
  if (!files.html.empty())
    if (Status status = engine::writeFile(files.html, benchPage(rows)); !status)
      return status;
  if (!files.csv.empty())
    if (Status status = engine::writeFile(files.csv, benchCsv(rows)); !status)
      return status;
  if (files.plot.empty())
    return Success{};
  std::string note;
  for (const Json &machine : machines) {
    std::string name = textOf(machine, "description");
    note += (note.empty() ? "" : "; ") + (name.empty() ? textOf(machine, "device") : name) + ", " +
            textOf(machine, "date");
  }
  auto plot = benchPlot(rows, files.words, note);
  return plot ? engine::writeFile(files.plot, *plot) : plot.takeError();
}

std::string benchCsv(const Json &rows) {
  std::string out;
  auto field = [](const Json &value) {
    std::string text = value.is_null() ? "" : value.is_string() ? value.get<std::string>() : "";
    if (value.is_array()) { // peers
      for (const Json &peer : value)
        text += (text.empty() ? "" : "; ") + textOf(peer, "name") + "=" +
                peer.value("seconds", Json()).dump();
    } else if (!value.is_null() && !value.is_string()) {
      text = value.dump();
    }
    if (text.find_first_of(",\"\n\r") == std::string::npos)
      return text;
    std::string quoted = "\"";
    for (char c : text)
      quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + "\"";
  };
  std::vector<std::string> columns;
  for (const Json &row : rows)
    for (const auto &[key, value] : row.items())
      if (std::find(columns.begin(), columns.end(), key) == columns.end())
        columns.push_back(key);
  for (size_t i = 0; i < columns.size(); ++i)
    out += (i ? "," : "") + columns[i];
  out += "\n";
  for (const Json &row : rows) {
    for (size_t i = 0; i < columns.size(); ++i)
      out += (i ? "," : "") + (row.contains(columns[i]) ? field(row[columns[i]]) : std::string());
    out += "\n";
  }
  return out;
}

} // namespace nereid::tools
