// The names of a module, each once.
#pragma once

#include "syntax/Arena.h"
#include "syntax/Lexer.h"

#include <cstring>

namespace nereid::syntax {

inline constexpr std::string_view SoftSpellings[] = {"match", "case", "type", "_", "print", "exec"};
static_assert(std::size(SoftSpellings) == SoftCount);

/// Open addressing; keywords are in it from the start, so one probe tells names from keywords.
class NameTable {
public:
  NameTable(std::vector<Identifier> &names, Arena &arena) : names(names), arena(arena) {
    slots.resize(1024);
    for (int kind = int(TokenKind::KwFalse); kind < int(TokenKind::Count); ++kind)
      insert(spelling(TokenKind(kind)), TokenKind(kind));
    for (std::string_view soft : SoftSpellings)
      lookup(soft);
  }

  struct Slot {
    const char *text = nullptr;
    uint32_t length = 0;
    uint32_t hash = 0;
    uint32_t index = 0;
    TokenKind kind = TokenKind::Name;
  };

  const Slot &lookup(std::string_view text) {
    uint32_t hash = hashOf(text);
    for (size_t i = hash & (slots.size() - 1);; i = (i + 1) & (slots.size() - 1)) {
      Slot &slot = slots[i];
      if (!slot.text)
        return insert(arena.copy(text), TokenKind::Name);
      if (slot.hash == hash && slot.length == text.size() &&
          !std::memcmp(slot.text, text.data(), text.size()))
        return slot;
    }
  }

private:
  static uint32_t hashOf(std::string_view text) {
    uint64_t hash = 0xcbf29ce484222325;
    for (unsigned char c : text)
      hash = (hash ^ c) * 0x100000001b3;
    return uint32_t(hash ^ hash >> 32);
  }

  Slot &place(const Slot &slot) {
    size_t i = slot.hash & (slots.size() - 1);
    while (slots[i].text)
      i = (i + 1) & (slots.size() - 1);
    return slots[i] = slot;
  }

  const Slot &insert(std::string_view text, TokenKind kind) {
    if (++used * 2 > slots.size()) {
      std::vector<Slot> old(slots.size() * 2);
      old.swap(slots);
      for (const Slot &slot : old)
        if (slot.text)
          place(slot);
    }
    Slot slot{text.data(), uint32_t(text.size()), hashOf(text), 0, kind};
    if (kind == TokenKind::Name) {
      slot.index = uint32_t(names.size());
      names.push_back(text);
    }
    return place(slot);
  }

  std::vector<Slot> slots;
  size_t used = 0;
  std::vector<Identifier> &names;
  Arena &arena;
};

} // namespace nereid::syntax
