#include "engine/TuningFile.h"

#include "engine/Files.h"
#include "launch/MeasuredOn.h"
#include "nereid/api.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/file.h>
#include <unistd.h>

namespace nereid::engine {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using support::Constant;

namespace {

constexpr int version = 1;

// The text fields in the order in which they are written.
constexpr std::pair<const char *, std::string TuningRow::*> fields[] = {
    {"target", &TuningRow::target}, {"device", &TuningRow::device},
    {"kernel", &TuningRow::kernel}, {"variant", &TuningRow::variant},
    {"source", &TuningRow::source},
};
constexpr std::pair<const char *, std::string TuningRow::*> stamps[] = {
    {"why", &TuningRow::failure}, {"date", &TuningRow::date}, {"nereid", &TuningRow::nereid}};

Json toJson(const Constant &constant) {
  switch (constant.kind) {
  case Constant::Kind::None:
    return nullptr;
  case Constant::Kind::Bool:
    return constant.flag;
  case Constant::Kind::Int:
    if (constant.text.size() <= 18)
      return int64_t(std::stoll(constant.text));
    break;
  case Constant::Kind::Float:
    if (std::isfinite(constant.number))
      return constant.number;
    break;
  case Constant::Kind::String:
    return constant.text;
  case Constant::Kind::Type:
  case Constant::Kind::Function:
    break;
  }
  // Python source, marked as such: text alone is a string.
  return Json{{"python", constant.source()}};
}

std::optional<Constant> fromJson(const Json &json) {
  if (json.is_null())
    return Constant::none();
  if (json.is_boolean())
    return Constant::boolean(json.get<bool>());
  if (json.is_number_unsigned())
    return Constant::integer(std::to_string(json.get<uint64_t>()));
  if (json.is_number_integer())
    return Constant::integer(json.get<int64_t>());
  if (json.is_number())
    return Constant::floating(json.get<double>());
  if (json.is_string())
    return Constant::string(json.get<std::string>());
  if (json.is_object() && json.size() == 1 && json.contains("python") && json["python"].is_string())
    return Constant::parse(json["python"].get<std::string>());
  return std::nullopt;
}

Json toJson(const Bindings &bindings) {
  Json json = Json::object();
  for (const auto &[name, value] : bindings)
    json[name] = toJson(value);
  return json;
}

bool read(const Json &json, Bindings &into) {
  if (!json.is_object())
    return false;
  for (const auto &[name, value] : json.items()) {
    auto constant = fromJson(value);
    if (!constant)
      return false;
    into.emplace_back(name, *std::move(constant));
  }
  return true;
}

std::optional<TuningRow> rowFrom(const Json &json) {
  TuningRow row;
  if (!json.is_object() || !json.contains("config") || !read(json["config"], row.config) ||
      (json.contains("case") && !read(json["case"], row.which)))
    return std::nullopt;
  auto readText = [&](const auto &list) {
    for (auto [name, member] : list) {
      if (!json.contains(name))
        continue;
      if (!json[name].is_string())
        return false;
      row.*member = json[name].template get<std::string>();
    }
    return true;
  };
  if (!readText(fields) || !readText(stamps))
    return std::nullopt;
  if (json.contains("seconds")) {
    if (!json["seconds"].is_number())
      return std::nullopt;
    row.seconds = json["seconds"].get<double>();
  }
  return row;
}

const Constant *find(const Bindings &bindings, std::string_view name) {
  for (const auto &[key, value] : bindings)
    if (key == name)
      return &value;
  return nullptr;
}

} // namespace

bool sameBindings(Bindings a, Bindings b) {
  for (Bindings *bindings : {&a, &b})
    std::sort(bindings->begin(), bindings->end(),
              [](const auto &one, const auto &other) { return one.first < other.first; });
  return a == b;
}

bool TuningRow::serves(const TuningRow &launch, bool onSibling) const {
  if (!launch::holdsOn({launch.target, launch.device}, {target, device}, onSibling))
    return false;
  for (auto member : {&TuningRow::kernel, &TuningRow::variant, &TuningRow::source})
    if (!(this->*member).empty() && this->*member != launch.*member)
      return false;
  return std::all_of(which.begin(), which.end(), [&](const auto &binding) {
    const Constant *value = engine::find(launch.which, binding.first);
    return value && *value == binding.second;
  });
}

size_t TuningRow::specificity() const {
  size_t count = which.size();
  for (auto [name, member] : fields)
    count += !(this->*member).empty();
  return count;
}

Result<TuningFile> TuningFile::parse(std::string_view text, const std::string &name) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  auto broken = [&](const std::string &why) {
    return Error{"`" + name + "` is no tuning file: " + why, {}};
  };
  if (json.is_discarded())
    return broken("it is no JSON");
  if (!json.is_object() || !json.contains("version") || !json["version"].is_number_integer())
    return broken("it has no version");
  if (json["version"].get<int64_t>() != version)
    return broken("it is of version " + json["version"].dump() + ", this Nereid reads " +
                  std::to_string(version));
  if (!json.contains("rows") || !json["rows"].is_array())
    return broken("it has no list of rows");
  if (json.contains("refused") && !json["refused"].is_array())
    return broken("what it refuses is no list of rows");
  TuningFile file;
  for (auto [name, rows] : {std::pair("rows", &file.all), {"refused", &file.refused}}) {
    if (!json.contains(name))
      continue;
    for (const Json &one : json[name]) {
      auto row = rowFrom(one);
      if (!row)
        return broken("row " + std::to_string(rows->size()) + " of `" + name + "` cannot be read");
      if (rows == &file.refused && row->failure.empty())
        row->failure = "somebody wrote so";
      rows->push_back(*std::move(row));
    }
  }
  return file;
}

Result<TuningFile> TuningFile::read(const fs::path &path) {
  std::error_code failed;
  if (!fs::exists(path, failed) && !failed)
    return TuningFile();
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  if (!in || !(text << in.rdbuf()))
    return Error{"cannot read `" + path.string() + "`", {}};
  return parse(text.str(), path.string());
}

const TuningRow *TuningFile::find(const TuningRow &launch) const {
  for (bool onSibling : {false, true}) {
    const TuningRow *best = nullptr;
    for (const TuningRow &row : all)
      if (row.serves(launch, onSibling) && (!best || row.specificity() >= best->specificity()))
        best = &row;
    if (best)
      return best;
  }
  return nullptr;
}

const TuningRow *TuningFile::refusal(const TuningRow &launch, const Bindings &config) const {
  for (const TuningRow &row : refused)
    if (row.serves(launch) && sameBindings(row.config, config) &&
        (row.nereid.empty() || row.nereid == NEREID_VERSION))
      return &row;
  return nullptr;
}

void TuningFile::set(TuningRow row) {
  auto isOfLaunch = [&](const TuningRow &old) {
    return old.target == row.target && old.device == row.device && old.kernel == row.kernel &&
           old.variant == row.variant && sameBindings(old.which, row.which);
  };
  std::erase_if(refused, [&](const TuningRow &old) {
    return isOfLaunch(old) && sameBindings(old.config, row.config);
  });
  if (!row.failure.empty()) {
    refused.push_back(std::move(row));
    return;
  }
  std::erase_if(all, isOfLaunch);
  all.push_back(std::move(row));
}

std::string TuningFile::text() const {
  auto listed = [](const std::vector<TuningRow> &rows) {
    std::string out = "[";
    const char *before = "\n";
    for (const TuningRow &row : rows) {
      Json json = Json::object();
      for (auto [name, member] : fields)
        if (!(row.*member).empty())
          json[name] = row.*member;
      json["case"] = toJson(row.which);
      json["config"] = toJson(row.config);
      if (row.failure.empty())
        json["seconds"] = row.seconds;
      for (auto [name, member] : stamps)
        if (!(row.*member).empty())
          json[name] = row.*member;
      // One row a line, for diffs and merges.
      out += before + json.dump(-1, ' ', false, Json::error_handler_t::replace);
      before = ",\n";
    }
    return out + (rows.empty() ? "]" : "\n]");
  };
  return "{\"version\": " + std::to_string(version) + ", \"rows\": " + listed(all) +
         (refused.empty() ? "" : ", \"refused\": " + listed(refused)) + "}\n";
}

Status TuningFile::merge(const fs::path &path, std::span<const TuningRow> rows) {
  fs::path folder = path.parent_path().empty() ? "." : path.parent_path();
  std::error_code failed;
  fs::create_directories(folder, failed);
  // The folder is the lock: a file of its own would stay behind.
  int lock = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock < 0)
    return Error{"cannot write `" + path.string() + "`: there is no folder of that name", {}};
  struct Closer {
    int file;
    ~Closer() { ::close(file); }
  } closer{lock};
  ::flock(lock, LOCK_EX);
  auto file = read(path);
  if (!file)
    return file.takeError();
  for (const TuningRow &row : rows)
    file->set(row);
  return replaceFile(path, file->text());
}

std::string refusedBefore(const TuningRow &refusal, const fs::path &path) {
  return "refused" + (refusal.date.empty() ? "" : " since " + refusal.date) + ": " +
         refusal.failure + "; to try it again, remove it from `refused` of `" + path.string() + "`";
}

TuningRow stamped(TuningRow row) {
  std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &utc);
  row.date = text;
  row.nereid = NEREID_VERSION;
  return row;
}

} // namespace nereid::engine
