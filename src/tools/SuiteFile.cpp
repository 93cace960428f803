#include "engine/FolderModules.h"
#include "engine/SpecModule.h"
#include "support/ReadFile.h"
#include "syntax/Parser.h"
#include "tools/Suite.h"

#include <cmath>

namespace nereid::tools {

using emit::Interp;
using emit::Keywords;
using engine::answered;
using engine::entries;
using ops::Value;

namespace {

double number(Interp &interp, const Value &value, const std::string &what) {
  if (value.isFloat())
    return value.asFloat();
  if (value.isInt())
    return value.asInteger().toDouble();
  interp.raise("TypeError", what + " is a number, not `" + value.typeName() + "`");
}

Value toValue(const Json &json) {
  if (json.is_boolean())
    return Value(json.get<bool>());
  if (json.is_number_integer())
    return Value(json.get<int64_t>());
  if (json.is_number())
    return Value(json.get<double>());
  if (json.is_string())
    return Value::str(json.get<std::string>());
  if (json.is_array()) {
    std::vector<Value> items;
    for (const Json &item : json)
      items.push_back(toValue(item));
    return Value(std::make_shared<ops::List>(std::move(items)));
  }
  if (json.is_object()) {
    auto dict = std::make_shared<ops::Dict>();
    for (const auto &[key, item] : json.items())
      dict->entries.emplace_back(Value::str(key), toValue(item));
    return Value(dict);
  }
  return Value();
}

SuiteRow readRow(Interp &interp, const std::string &name, const Value &value, bool inList) {
  SuiteRow row;
  row.name = name;
  row.inList = inList;
  std::string what = "row `" + name + "`";
  for (auto &[key, entry] : entries(interp, value, what)) {
    if (key == "folder")
      row.folder = interp.str(entry);
    else if (key == "variant")
      row.variant = interp.str(entry);
    else if (key == "inspect")
      row.inspect = interp.str(entry);
    else if (key == "measure")
      row.measure = interp.str(entry);
    else if (key == "case")
      row.bindings = entries(interp, entry, "`case` of " + what);
    else if (key == "all_configs")
      row.allConfigs = interp.truth(entry);
    else
      interp.raise("KeyError", what + " has no field `" + key + "`");
  }
  if (row.folder.empty() + row.inspect.empty() + row.measure.empty() != 2)
    interp.raise("ValueError", what + " needs one of `folder`, `inspect` and `measure`");
  if (!row.folder.empty() && row.variant.empty())
    interp.raise("ValueError", what + " needs a `variant`");
  return row;
}

SuiteClaim readClaim(Interp &interp, const Value &value) {
  SuiteClaim claim;
  Keywords fields = entries(interp, value, "a claim");
  for (auto &[key, entry] : fields)
    if (key == "name")
      claim.name = interp.str(entry);
  std::string what = "claim `" + claim.name + "`";
  for (auto &[key, entry] : fields) {
    if (key == "name")
      continue;
    if (key == "claim") {
      claim.text = interp.str(entry);
    } else if (key == "unit") {
      claim.unit = interp.str(entry);
    } else if (key == "figure") {
      claim.figure = entry;
    } else if (key == "least") {
      claim.least = number(interp, entry, "`least` of " + what);
    } else if (key == "most") {
      claim.most = number(interp, entry, "`most` of " + what);
    } else if (key == "timed") {
      claim.timed = interp.truth(entry);
    } else if (key == "rows") {
      for (auto &[name, rows] : entries(interp, entry, "`rows` of " + what)) {
        if (!rows.isList()) {
          claim.rows.push_back(readRow(interp, name, rows, false));
          continue;
        }
        for (const Value &row : interp.iterate(rows))
          claim.rows.push_back(readRow(interp, name, row, true));
      }
    } else {
      interp.raise("KeyError", what + " has no field `" + key + "`");
    }
  }
  if (claim.name.empty() || claim.rows.empty() || !claim.figure.isCallable())
    interp.raise("ValueError", what + " needs `name`, `rows` and a function `figure`");
  if (!claim.least && !claim.most)
    interp.raise("ValueError", what + " needs `least` or `most`");
  return claim;
}

} // namespace

struct SuiteFile::State {
  Interp interp{emit::HostOptions{}};
  std::shared_ptr<emit::ModuleObject> module;
};

SuiteFile::SuiteFile() : state(std::make_unique<State>()) {}
SuiteFile::~SuiteFile() = default;

Result<std::unique_ptr<SuiteFile>> SuiteFile::open(const std::filesystem::path &path) {
  auto text = support::readFile(path, support::largestSource);
  if (!text)
    return text.takeError();
  emit::SourceUnit unit;
  unit.file = path.generic_string();
  unit.module = path.stem().string();
  unit.text = std::move(*text);
  syntax::ParseResult parsed = syntax::parseModule(unit.text, unit.file);
  if (!parsed.module)
    return Error{"`" + unit.file + "` cannot be parsed", parsed.diagnostics};
  std::unique_ptr<SuiteFile> file(new SuiteFile);
  return answered<std::unique_ptr<SuiteFile>>([&]() -> Result<std::unique_ptr<SuiteFile>> {
    file->state->module = file->state->interp.loadModule(unit, parsed.module, engine::specNames());
    return std::move(file);
  });
}

Result<std::vector<SuiteClaim>> SuiteFile::claims(const std::string &family) {
  return answered<std::vector<SuiteClaim>>([&] {
    Interp &interp = state->interp;
    const emit::Binding *binding = state->module->names->find("claims");
    if (!binding)
      interp.raise("NameError", "the suite has no function `claims`");
    if (binding->unusable)
      interp.raise("NameError", "`claims` " + binding->unusable->why);
    std::vector<SuiteClaim> out;
    for (const Value &value :
         interp.iterate(interp.callHost(binding->value, {Value::str(family)}, {})))
      out.push_back(readClaim(interp, value));
    return out;
  });
}

Result<double> SuiteFile::figure(const SuiteClaim &claim, const Json &rows) {
  return answered<double>([&] {
    Keywords named;
    for (const auto &[name, row] : rows.items())
      named.emplace_back(name, toValue(row));
    return number(state->interp, state->interp.callHost(claim.figure, {}, std::move(named)),
                  "the figure of claim `" + claim.name + "`");
  });
}

} // namespace nereid::tools
