// From the text of a recording back to C++: diagnostics, locations, keys.
#include "engine/Recorder.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Location.h"

namespace nereid::engine {

const Recording &recordingOf(const tl::Module &module) { return tl::Recorder::recordingOf(module); }

const Recording::Place *Recording::find(SourcePos position) const {
  auto line = places.find(position.line);
  if (line == places.end())
    return nullptr;
  const Place *innermost = nullptr;
  for (const Place &place : line->second)
    if (place.begin <= position.column && position.column < place.end)
      if (!innermost || place.end - place.begin <= innermost->end - innermost->begin)
        innermost = &place;
  return innermost ? innermost : &line->second.front();
}

Diagnostic Recording::translate(Diagnostic diagnostic) const {
  // "`v3`" means nothing to who wrote C++: a note says where it is made.
  std::string function;
  if (diagnostic.where.file == name)
    if (auto after = functions.upper_bound(diagnostic.where.begin.line); after != functions.begin())
      function = std::prev(after)->second;
  std::set<std::string> told;
  for (size_t at = 0; (at = diagnostic.message.find('`', at)) != std::string::npos;) {
    size_t end = diagnostic.message.find('`', ++at);
    if (end == std::string::npos)
      break;
    std::string word = diagnostic.message.substr(at, end - at);
    at = end + 1;
    auto variable = variables.find(function + "." + word);
    if (variable == variables.end() || !told.insert(word).second)
      continue;
    Diagnostic note;
    note.severity = Severity::Note;
    note.message = "`" + word + "` is made here";
    note.where = {variable->second.file, variable->second.position, variable->second.position};
    ++note.where.end.column;
    diagnostic.notes.push_back(std::move(note));
  }
  auto move = [&](SourceRange &range) {
    if (range.file != name)
      return;
    if (const Place *place = find(range.begin)) {
      range = {place->file, place->position, place->position};
      ++range.end.column;
    }
  };
  move(diagnostic.where);
  for (Diagnostic::Label &label : diagnostic.labels)
    move(label.where);
  for (Diagnostic &note : diagnostic.notes)
    note = translate(std::move(note));
  return diagnostic;
}

Error Recording::translate(Error error) const {
  for (Diagnostic &diagnostic : error.diagnostics)
    diagnostic = translate(std::move(diagnostic));
  return error;
}

void Recording::relocate(mlir::ModuleOp module) const {
  mlir::MLIRContext *context = module.getContext();
  mlir::AttrTypeReplacer replacer;
  replacer.addReplacement([&](mlir::FileLineColLoc location) -> std::optional<mlir::Attribute> {
    if (location.getFilename().strref() != name)
      return std::nullopt;
    const Place *place = find({location.getLine(), location.getColumn() - 1});
    if (!place)
      return std::nullopt;
    return mlir::Attribute(mlir::FileLineColLoc::get(mlir::StringAttr::get(context, place->file),
                                                     place->position.line,
                                                     place->position.column + 1));
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/false, /*replaceLocs=*/true);
}

std::string Recording::placesText() const {
  std::string text;
  for (const auto &[line, all] : places)
    for (const Place &place : all)
      text += std::to_string(line) + ":" + std::to_string(place.begin) + " " + place.file + ":" +
              std::to_string(place.position.line) + ":" + std::to_string(place.position.column) +
              "\n";
  return text;
}

} // namespace nereid::engine
