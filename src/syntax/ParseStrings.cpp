// Numbers, strings, f-strings, and their concatenation.
#include "syntax/Literals.h"
#include "syntax/ParserImpl.h"

namespace nereid::syntax {

Expr *Parser::parseNumberToken() {
  auto *node = make<Constant>(here());
  const Token &t = cur();
  if (auto error = parseNumber(textOf(t), node->value, arena))
    fail(error->code, error->message, range(t), error->hint);
  advance();
  return finish(node);
}

// The value of a string token or of a piece of an f-string; without escapes, a view of the source.
std::string_view Parser::decode(const Token &t, std::string_view body, uint8_t flags,
                                bool fstring) {
  StringDecoding how;
  how.raw = flags & RawString;
  how.bytes = flags & BytesString;
  how.doubledBraces = fstring && !(flags & FormatSpec);
  auto place = [&](uint32_t offset, uint32_t length) {
    // Culprits stand on one line; count the lines of the token before them.
    std::string_view before = std::string_view(unit.text).substr(
        t.offset, body.data() - unit.text.data() + offset - t.offset);
    SourcePos begin = beginOf(t);
    for (char c : before)
      if (c == '\n')
        begin = {begin.line + 1, unit.firstColumn};
      else
        ++begin.column;
    return SourceRange{unit.file, begin, {begin.line, begin.column + length}};
  };
  if (how.bytes)
    for (size_t i = 0; i < body.size(); ++i)
      if (body[i] & 0x80)
        fail("InvalidCharacter", "a bytes literal holds ASCII characters only",
             place(uint32_t(i), 1), "write `\\xNN` for other bytes");
  if (!needsDecoding(body, how))
    return body;
  std::string text;
  UnknownName unknown;
  if (auto error = decodeString(body, how, text, unknown))
    fail(error->code, error->message, place(error->offset, error->length), error->hint);
  if (unknown.length) {
    Diagnostic warning;
    warning.severity = Severity::Warning;
    warning.code = "UnknownCharacterName";
    warning.message = "characters are not known by name here; U+FFFD stands for this one";
    warning.where = place(unknown.offset, unknown.length);
    warning.hint = "write the character itself, or `\\uNNNN`";
    warnings.push_back(std::move(warning));
  }
  return arena.copy(text);
}

// What adjacent strings and f-strings have been so far: finished values, then literal text that the
// next piece may still lengthen.
struct Parser::StringPieces {
  ListBuilder<Expr *> values;
  bool isFString = false;
  bool hasText = false;
  std::string_view text; // while there is one piece
  std::string joined;    // once there are several
  SourcePos begin, end;  // of the pending text
  bool unicodePrefix = false;

  explicit StringPieces(Parser &parser) : values(parser) {}

  void append(std::string_view piece, SourcePos from, SourcePos to) {
    if (!hasText) {
      hasText = true;
      text = piece;
      joined.clear();
      begin = from;
    } else {
      if (joined.empty())
        joined = text;
      joined += piece;
      text = {};
    }
    end = to;
  }

  std::string_view take(Arena &arena) {
    hasText = false;
    std::string_view result = joined.empty() ? text : arena.copy(joined);
    joined.clear();
    text = {};
    return result;
  }

  void flush(Parser &parser) {
    if (!hasText)
      return;
    SourcePos from = begin, to = end;
    std::string_view value = take(parser.arena);
    if (value.empty())
      return;
    auto *constant = parser.make<Constant>(from);
    constant->end = to;
    constant->value.kind = ConstantValue::Kind::Str;
    constant->value.text = value;
    constant->value.unicodePrefix = unicodePrefix;
    values.push(constant);
  }
};

// strings = (STRING | fstring)+
Expr *Parser::parseStrings() {
  SourcePos begin = here();
  const Token &first = cur();
  StringPieces pieces(*this);
  pieces.unicodePrefix = first.flags & UnicodeString;
  bool bytes = first.flags & BytesString;
  while (at(TokenKind::String) || at(TokenKind::FStringStart)) {
    if (bool(cur().flags & BytesString) != bytes)
      fail("MixedBytes", "cannot join a bytes literal and a string", range(cur()),
           "give both a `b` prefix, or none", {{range(first), "the first part"}});
    if (at(TokenKind::String))
      parsePlainString(pieces);
    else
      parseFString(pieces);
  }
  if (pieces.isFString) {
    pieces.flush(*this);
    auto *joined = make<JoinedStr>(begin);
    joined->values = pieces.values.finish();
    return finish(joined);
  }
  auto *constant = make<Constant>(begin);
  constant->value.kind = bytes ? ConstantValue::Kind::Bytes : ConstantValue::Kind::Str;
  constant->value.text = pieces.take(arena);
  constant->value.unicodePrefix = pieces.unicodePrefix;
  return finish(constant);
}

void Parser::parsePlainString(StringPieces &pieces) {
  const Token &t = advance();
  std::string_view text = textOf(t);
  size_t quotes = t.flags & TripleString ? 3 : 1;
  size_t open = text.find_first_of("'\"") + quotes;
  std::string_view body = text.substr(open, text.size() - open - quotes);
  pieces.append(decode(t, body, t.flags, false), beginOf(t), endOf(t));
}

// fstring = FSTRING_START (FSTRING_MIDDLE | replacement_field)* FSTRING_END
void Parser::parseFString(StringPieces &pieces) {
  DepthGuard guard(*this);
  pieces.isFString = true;
  advance();
  parseMiddle(pieces, TokenKind::FStringEnd, "the end of the f-string");
  advance();
}

// (FSTRING_MIDDLE | replacement_field)*
void Parser::parseMiddle(StringPieces &pieces, TokenKind end, std::string_view what) {
  while (!at(end)) {
    if (at(TokenKind::FStringMiddle)) {
      const Token &t = advance();
      pieces.append(decode(t, textOf(t), t.flags, true), beginOf(t), endOf(t));
    } else if (at(TokenKind::LBrace)) {
      parseField(pieces);
    } else {
      failUnexpected(what);
    }
  }
}

// The source text from the end of one token to the begin of another, without comments.
std::string_view Parser::sourceBetween(const Token &from, const Token &to) {
  std::string_view source = unit.text;
  uint32_t at = from.offset + from.length;
  std::string_view text = source.substr(at, to.offset - at);
  if (text.find('#') == std::string_view::npos)
    return text;
  std::string out;
  for (const Token *t = &from + 1; t <= &to; ++t) {
    std::string_view gap = source.substr(at, t->offset - at);
    for (size_t comment; (comment = gap.find('#')) != std::string_view::npos;) {
      out += gap.substr(0, comment);
      gap.remove_prefix(std::min(gap.find('\n', comment), gap.size()));
    }
    out += gap;
    if (t != &to)
      out += textOf(*t);
    at = t->offset + t->length;
  }
  return arena.copy(out);
}

// replacement_field = "{" (yield_expr | star_expressions) "="? ("!" NAME)? (":" format_spec)? "}"
// With `=`, the text up to what follows it goes before the value.
void Parser::parseField(StringPieces &pieces) {
  const Token &opener = advance();
  if (at(TokenKind::RBrace) || at(TokenKind::Exclamation) || at(TokenKind::Colon) ||
      at(TokenKind::Equal))
    fail("BadFString", "no expression in this replacement field of an f-string",
         {unit.file, beginOf(opener), endOf(cur())}, "write `{{` for the character itself");
  auto *field = make<FormattedValue>(beginOf(opener));
  field->value = parseStarExpressionsOrYield();
  bool debug = accept(TokenKind::Equal);
  if (debug)
    pieces.append(sourceBetween(opener, cur()), endOf(opener), here());
  if (at(TokenKind::Exclamation)) {
    const Token &mark = advance();
    std::string_view name = textOf(cur());
    if (mark.offset + 1 != cur().offset)
      fail("BadFString", "the conversion must follow the `!` at once", range(mark));
    if (!at(TokenKind::Name) || (name != "s" && name != "r" && name != "a"))
      fail("BadFString", "the conversion after `!` is `s`, `r` or `a`, not " + describe(cur()),
           range(cur()));
    field->conversion = name[0];
    advance();
  }
  if (at(TokenKind::Colon))
    field->formatSpec = parseFormatSpec();
  if (!at(TokenKind::RBrace) || !(cur().flags & FieldBrace)) {
    checkLexError();
    for (uint32_t open : buffer.unclosed)
      if (&buffer.tokens[open] == &opener)
        fail("BadFString", "the replacement field of this f-string is not closed", range(opener),
             "add `}`");
    fail("BadFString", "expected `}` to end this replacement field, not " + describe(cur()),
         range(cur()), "", {{range(opener), "opened here"}});
  }
  advance();
  if (debug && field->conversion == -1 && !field->formatSpec)
    field->conversion = 'r';
  pieces.flush(*this);
  pieces.values.push(finish(field));
}

// format_spec = (FSTRING_MIDDLE | replacement_field)*
Expr *Parser::parseFormatSpec() {
  DepthGuard guard(*this);
  auto *spec = make<JoinedStr>(here());
  advance();
  StringPieces pieces(*this);
  parseMiddle(pieces, TokenKind::RBrace, "the end of the format specification");
  pieces.flush(*this);
  spec->values = pieces.values.finish();
  return finish(spec);
}

} // namespace nereid::syntax
