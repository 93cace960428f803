// Constants, strings and f-strings to source text.
#include "syntax/PrinterImpl.h"
#include "syntax/Source.h"
#include "syntax/Unicode.h"

#include <cmath>

namespace nereid::syntax {

void Printer::constant(const ConstantValue &value) {
  using Kind = ConstantValue::Kind;
  switch (value.kind) {
  case Kind::None:
    out += "None";
    return;
  case Kind::True:
    out += "True";
    return;
  case Kind::False:
    out += "False";
    return;
  case Kind::Ellipsis:
    out += "...";
    return;
  case Kind::Int:
    // Decimal up to 1024 bits; its conversion takes quadratic time.
    out += value.text.size() <= 256 ? decimalDigits(value.text) : "0x" + std::string(value.text);
    return;
  case Kind::Float:
    out += std::isinf(value.number) ? "1e309" : reprFloat(value.number);
    return;
  case Kind::Complex:
    out += std::isinf(value.number) ? "1e309j" : reprImaginary(value.number);
    return;
  case Kind::Str:
    if (value.unicodePrefix)
      out += 'u';
    out += reprString(value.text);
    return;
  case Kind::Bytes:
    out += reprString(value.text, /*bytes=*/true);
    return;
  }
}

void Printer::joined(const JoinedStr &node) {
  for (const Expr *piece : node.values)
    if (const auto *text = dynCast<Constant>(piece); text && text->value.unicodePrefix) {
      out += "u'' ";
      break;
    }
  // Quotes alternate, so that strings one level deep can be read by Pythons before 3.12 too.
  char quote = fstringDepth++ % 2 ? '"' : '\'';
  out += 'f';
  out += quote;
  joinedPieces(node, quote, /*spec=*/false);
  out += quote;
  --fstringDepth;
}

void Printer::joinedPieces(const JoinedStr &node, char quote, bool spec) {
  for (const Expr *piece : node.values) {
    if (const auto *text = dynCast<Constant>(piece)) {
      literalText(text->value.text, quote, spec);
    } else if (const auto *field = dynCast<FormattedValue>(piece)) {
      out += '{';
      size_t start = out.size();
      // Below `Or` a `lambda` would have its `:` taken for that of the format.
      expression(*field->value, Or);
      if (out[start] == '{')
        out.insert(start, 1, ' ');
      if (field->conversion != -1) {
        out += '!';
        out += char(field->conversion);
      }
      if (const auto *format = dynCast<JoinedStr>(field->formatSpec)) {
        out += ':';
        joinedPieces(*format, quote, /*spec=*/true);
      }
      out += '}';
    }
  }
}

void Printer::literalText(std::string_view text, char quote, bool spec) {
  const char *p = text.data(), *end = p + text.size();
  while (p < end) {
    const char *start = p;
    uint32_t c = decodeUtf8(p);
    if (c == '{' || c == '}') {
      if (spec)
        out += c == '{' ? "\\x7b" : "\\x7d";
      else
        out.append(2, char(c));
    } else if (c == uint32_t(quote) || c == '\\') {
      out += '\\';
      out += char(c);
    } else if (isPrintable(c)) {
      out.append(start, p);
    } else {
      std::string escaped = reprString({start, size_t(p - start)});
      out += std::string_view(escaped).substr(1, escaped.size() - 2);
    }
  }
}

// A string that is a statement, with its lines as lines.
void Printer::docString(std::string_view text) {
  out += "\"\"\"";
  const char *p = text.data(), *end = p + text.size();
  while (p < end) {
    const char *start = p;
    uint32_t c = decodeUtf8(p);
    // Neither three quotes nor one at the end may stand bare.
    bool quote = c == '"' && (p == end || *p == '"');
    if (quote || c == '\\') {
      out += '\\';
      out += char(c);
    } else if (c == '\n' || isPrintable(c)) {
      out.append(start, p);
    } else {
      std::string escaped = reprString({start, size_t(p - start)});
      out += std::string_view(escaped).substr(1, escaped.size() - 2);
    }
  }
  out += "\"\"\"";
}

} // namespace nereid::syntax
