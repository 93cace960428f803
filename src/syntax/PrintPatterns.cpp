// The patterns of `match` statements to source text.
#include "syntax/PrinterImpl.h"

namespace nereid::syntax {

void Printer::pattern(const Pattern &pattern) {
  auto patterns = [&](const Span<Pattern *> &values) {
    list(values, [&](const Pattern *value) { this->pattern(*value); });
  };
  // Alternatives and the pattern before `as` are closed patterns.
  auto closed = [&](const Pattern *value, bool allowOr) {
    const auto *as = dynCast<MatchAs>(value);
    bool parenthesised = (as && as->pattern) || (isa<MatchOr>(value) && !allowOr);
    out += parenthesised ? "(" : "";
    this->pattern(*value);
    out += parenthesised ? ")" : "";
  };
  switch (pattern.kind) {
  case PatternKind::MatchValue:
    return expression(*cast<MatchValue>(&pattern).value);
  case PatternKind::MatchSingleton:
    return constant(cast<MatchSingleton>(&pattern).value);
  case PatternKind::MatchSequence:
    out += '[';
    patterns(cast<MatchSequence>(&pattern).patterns);
    out += ']';
    return;
  case PatternKind::MatchMapping: {
    const auto &node = cast<MatchMapping>(&pattern);
    out += '{';
    for (size_t i = 0; i < node.keys.size(); ++i) {
      out += i ? ", " : "";
      expression(*node.keys[i]);
      out += ": ";
      this->pattern(*node.patterns[i]);
    }
    if (!node.rest.empty()) {
      out += node.keys.empty() ? "**" : ", **";
      out += node.rest;
    }
    out += '}';
    return;
  }
  case PatternKind::MatchClass: {
    const auto &node = cast<MatchClass>(&pattern);
    expression(*node.cls);
    out += '(';
    patterns(node.patterns);
    for (size_t i = 0; i < node.kwdAttrs.size(); ++i) {
      out += i || !node.patterns.empty() ? ", " : "";
      out += node.kwdAttrs[i];
      out += '=';
      this->pattern(*node.kwdPatterns[i]);
    }
    out += ')';
    return;
  }
  case PatternKind::MatchStar: {
    Identifier name = cast<MatchStar>(&pattern).name;
    out += '*';
    out += name.empty() ? "_" : name;
    return;
  }
  case PatternKind::MatchAs: {
    const auto &node = cast<MatchAs>(&pattern);
    if (node.pattern) {
      closed(node.pattern, true);
      out += " as ";
    }
    out += node.name.empty() ? "_" : node.name;
    return;
  }
  case PatternKind::MatchOr:
    return list(
        cast<MatchOr>(&pattern).patterns, [&](const Pattern *value) { closed(value, false); },
        " | ");
  }
}

} // namespace nereid::syntax
