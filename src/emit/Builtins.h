// Rows of Python's builtins, and what their functions share.
#pragma once

#include "emit/Interp.h"

#include <span>

namespace nereid::emit {

struct BuiltinRow {
  const char *name;
  Value (*function)(Interp &interp, std::vector<Value> &args, Keywords &keywords);
};
/// Makes something of the items of one iterable, or of none.
struct CollectionRow {
  const char *name;
  Value (*function)(Interp &interp, std::vector<Value> items);
};
std::span<const BuiltinRow> numberBuiltins();
std::span<const BuiltinRow> sequenceBuiltins();
std::span<const CollectionRow> collectionBuiltins();

void needArgs(Interp &interp, const char *name, std::vector<Value> &args, size_t least,
              size_t most);
/// What comes of unknown values is unknown.
std::optional<Value> unknownAmong(Interp &interp, const std::vector<Value> &args);
Value keyword(Keywords &keywords, std::string_view name);

} // namespace nereid::emit
