#include "nereid/kernels.h"

#include <algorithm>
#include <optional>

namespace nereid::kernels {

struct BlockManager::State {
  struct Sequence {
    int64_t tokens = 0;
    std::vector<int32_t> pages;
  };
  int64_t total, pageTokens;
  std::vector<int32_t> free; ///< pages; the last is given first
  std::vector<std::optional<Sequence>> sequences;
  std::vector<int64_t> closed; ///< numbers to be used again

  Sequence *find(int64_t number) {
    bool isOpen = number >= 0 && number < int64_t(sequences.size()) && sequences[size_t(number)];
    return isOpen ? &*sequences[size_t(number)] : nullptr;
  }
  int64_t pagesFor(int64_t tokens) const { return (tokens + pageTokens - 1) / pageTokens; }
  static Error none(int64_t number) {
    return Error{"there is no sequence " + std::to_string(number), {}};
  }
};

BlockManager::BlockManager(int64_t pages, int64_t tokensPerPage)
    : state(std::make_unique<State>(State{.total = std::max<int64_t>(pages, 0),
                                          .pageTokens = std::max<int64_t>(tokensPerPage, 1)})) {
  for (int64_t page = state->total; page-- > 0;)
    state->free.push_back(int32_t(page));
}
BlockManager::~BlockManager() = default;
BlockManager::BlockManager(BlockManager &&) noexcept = default;
BlockManager &BlockManager::operator=(BlockManager &&) noexcept = default;

int64_t BlockManager::open() {
  if (state->closed.empty()) {
    state->sequences.emplace_back(std::in_place);
    return int64_t(state->sequences.size()) - 1;
  }
  int64_t number = state->closed.back();
  state->closed.pop_back();
  state->sequences[size_t(number)].emplace();
  return number;
}

Status BlockManager::close(int64_t sequence) {
  auto *old = state->find(sequence);
  if (!old)
    return State::none(sequence);
  state->free.insert(state->free.end(), old->pages.begin(), old->pages.end());
  state->sequences[size_t(sequence)].reset();
  state->closed.push_back(sequence);
  return Success{};
}

bool BlockManager::canGrow(int64_t sequence, int64_t tokens) const {
  auto *grown = state->find(sequence);
  return grown && tokens >= 0 &&
         state->pagesFor(grown->tokens + tokens) - int64_t(grown->pages.size()) <= freePages();
}

Status BlockManager::grow(int64_t sequence, int64_t tokens) {
  auto *grown = state->find(sequence);
  if (!grown)
    return State::none(sequence);
  if (tokens < 0)
    return Error{"a sequence can't grow by " + std::to_string(tokens) + " tokens", {}};
  int64_t more = state->pagesFor(grown->tokens + tokens) - int64_t(grown->pages.size());
  if (more > freePages())
    return Error{"sequence " + std::to_string(sequence) + " needs " + std::to_string(more) +
                     " pages more, and " + std::to_string(freePages()) + " of " +
                     std::to_string(state->total) + " are free",
                 {}};
  for (; more > 0; --more) {
    grown->pages.push_back(state->free.back());
    state->free.pop_back();
  }
  grown->tokens += tokens;
  return Success{};
}

int64_t BlockManager::length(int64_t sequence) const {
  auto *found = state->find(sequence);
  return found ? found->tokens : 0;
}
std::span<const int32_t> BlockManager::pages(int64_t sequence) const {
  auto *found = state->find(sequence);
  return found ? std::span<const int32_t>(found->pages) : std::span<const int32_t>();
}
int64_t BlockManager::usedPages() const { return state->total - freePages(); }
int64_t BlockManager::freePages() const { return int64_t(state->free.size()); }
int64_t BlockManager::tokensPerPage() const { return state->pageTokens; }

Status BlockManager::slots(int64_t sequence, int64_t from, std::span<int32_t> slots) const {
  auto *found = state->find(sequence);
  if (!found)
    return State::none(sequence);
  if (from < 0 || from + int64_t(slots.size()) > found->tokens)
    return Error{"sequence " + std::to_string(sequence) + " has " + std::to_string(found->tokens) +
                     " tokens, and places " + std::to_string(from) + " to " +
                     std::to_string(from + int64_t(slots.size()) - 1) + " are asked for",
                 {}};
  for (size_t i = 0; i < slots.size(); ++i) {
    const int64_t place = from + int64_t(i);
    slots[i] = int32_t(found->pages[size_t(place / state->pageTokens)] * state->pageTokens +
                       place % state->pageTokens);
  }
  return Success{};
}

int64_t BlockManager::tableWidth(std::span<const int64_t> sequences) const {
  int64_t width = 0;
  for (int64_t sequence : sequences)
    width = std::max(width, int64_t(pages(sequence).size()));
  return width;
}

Status BlockManager::fill(std::span<const int64_t> sequences, int64_t width,
                          std::span<int32_t> table, std::span<int32_t> lengths) const {
  if (width < tableWidth(sequences))
    return Error{"a table of " + std::to_string(width) + " pages a sequence, and one has " +
                     std::to_string(tableWidth(sequences)),
                 {}};
  if (int64_t(table.size()) < int64_t(sequences.size()) * width ||
      lengths.size() < sequences.size())
    return Error{"room for " + std::to_string(table.size()) + " pages and " +
                     std::to_string(lengths.size()) + " lengths, and " +
                     std::to_string(int64_t(sequences.size()) * width) + " and " +
                     std::to_string(sequences.size()) + " are to be written",
                 {}};
  for (int64_t sequence : sequences)
    if (!state->find(sequence))
      return State::none(sequence);
  for (size_t i = 0; i < sequences.size(); ++i) {
    auto own = pages(sequences[i]);
    auto row = table.subspan(i * size_t(width), size_t(width));
    std::fill(std::copy(own.begin(), own.end(), row.begin()), row.end(), 0);
    lengths[i] = int32_t(length(sequences[i]));
  }
  return Success{};
}

} // namespace nereid::kernels
