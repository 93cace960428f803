// Source units as the package describes them: tuples of plain values.
#pragma once

#include "binding/Object.h"

#include "emit/SourceUnit.h"

#include <map>
#include <memory>
#include <mutex>

namespace nereid::python {

/// The units of one program, by name. The engine asks for them on any thread.
class Units : public std::enable_shared_from_this<Units> {
public:
  /// A list of (name, text, file, first line, first column, {global: value}), where a value is
  /// ("c", constant), ("d", dtype), ("f", key of a function), ("m", module), ("a", module, name),
  /// ("t", (value, ...), names or None) or ("x", value) for a `tl.constexpr`. Names that are known
  /// stay as they are.
  void add(PyObject *list);
  std::shared_ptr<const emit::SourceUnit> find(const std::string &name) const;

private:
  mutable std::mutex mutex;
  std::map<std::string, std::shared_ptr<const emit::SourceUnit>> units;
};

} // namespace nereid::python
