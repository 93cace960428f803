// Arguments against the rows of their operation.
#include "kernels/Call.h"

#include <algorithm>
#include <cstdio>

namespace nereid::kernels {

std::string Types::text() const {
  std::string all;
  unsigned left = unsigned(std::popcount(bits));
  for (unsigned i = 0; i < 32; ++i)
    if (bits >> i & 1) {
      all += info(DType(i)).name;
      --left;
      all += left > 1 ? ", " : left == 1 ? " or " : "";
    }
  return all;
}

Error wrong(const OperationRow &operation, const std::string &what) {
  return Error{"`" + std::string(operation.name) + "`: " + what, {}};
}

namespace {

std::string listed(std::span<const int64_t> sizes) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i)
    text += (i ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}

std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

/// One argument being bound. Failures are texts, empty if there is none.
struct Binder {
  Bound &bound;
  const ArgumentRow &row;
  size_t index;
  const Tensor &tensor;
  std::span<const int64_t> shape = tensor.shape(), strides = tensor.strides();
  /// The leading dimensions of the first argument that has some.
  std::span<const int64_t> &leading;
  std::string_view &leadingOf;

  std::string seen() const { return quoted(row.name) + " is " + textOf(tensor); }

  std::string bind() {
    if (!row.types.has(tensor.type()))
      return seen() + ", and must be " + row.types.text();
    if (row.sameTypeAs >= 0) {
      size_t other = size_t(row.sameTypeAs);
      if (bound.tensors[other] && bound.tensors[other]->type() != tensor.type())
        return seen() + ", and must have the type of " +
               quoted(bound.operation.arguments[other].name) + ", " +
               std::string(info(bound.tensors[other]->type()).name);
    }
    std::string failure = bindShape();
    return failure.empty() ? checkLayout() : failure;
  }

  /// The dimensions of the pattern.
  std::string bindShape() {
    if (row.shape == "*") {
      if (std::string failure = bindLeading(shape); !failure.empty())
        return failure;
      bound.bind('n', tensor.size());
      return "";
    }
    std::array<std::string_view, Tensor::maxRank> items;
    size_t count = 0;
    for (std::string_view rest = row.shape; !rest.empty();) {
      size_t end = std::min(rest.find(' '), rest.size());
      items[count++] = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    const bool folds = count && items[0] == "...";
    const size_t named = count - folds;
    if (folds ? shape.size() < named : shape.size() != named)
      return seen() + ", and must have " + (folds ? "at least " : "") + std::to_string(named) +
             " dimension" + (named == 1 ? "" : "s") + ", [" + patternText() + "]";
    auto trailing = shape.last(named);
    for (size_t i = 0; i < named; ++i)
      if (std::string failure = bindSize(items[i + folds], trailing[i]); !failure.empty())
        return failure;
    if (folds) {
      auto front = shape.first(shape.size() - named);
      if (std::string failure = bindLeading(front); !failure.empty())
        return failure;
      int64_t rows = 1;
      for (int64_t size : front)
        rows *= size;
      bound.bind('M', rows);
    }
    return "";
  }

  std::string patternText() const {
    std::string text;
    for (char c : row.shape)
      text += c == ' ' ? std::string(", ") : std::string(1, c);
    return text;
  }

  std::string bindLeading(std::span<const int64_t> front) {
    if (leadingOf.empty()) {
      leading = front;
      leadingOf = row.name;
    } else if (!std::equal(front.begin(), front.end(), leading.begin(), leading.end())) {
      return seen() + ", and must have the dimensions " + listed(leading) + " of " +
             quoted(leadingOf) + (row.shape == "*" ? "" : " before [" + patternText() + "]");
    }
    return "";
  }

  std::string bindSize(std::string_view item, int64_t size) {
    int64_t wanted = 0;
    if (item[0] >= '0' && item[0] <= '9') {
      for (char digit : item)
        wanted = wanted * 10 + (digit - '0');
    } else if (item.size() == 1) {
      if (!bound.isBound(item[0])) {
        bound.bind(item[0], size);
        return "";
      }
      wanted = bound[item[0]];
    } else if (item[1] == '*') {
      wanted = bound[item[0]] * bound[item[2]];
    } else if (item[1] == '/') {
      int64_t part = 0;
      for (char digit : item.substr(2))
        part = part * 10 + (digit - '0');
      wanted = blocks(bound[item[0]], part);
    } else {
      const int64_t more = item[2] - '0';
      if (!bound.isBound(item[0]) && size >= more) {
        bound.bind(item[0], size - more);
        return "";
      }
      wanted = std::max<int64_t>(bound[item[0]], 0) + more;
    }
    if (size == wanted)
      return "";
    return seen() + ", and its dimensions [" + patternText() + "] must have " + std::string(item) +
           " = " + std::to_string(wanted) + whence(item[0]);
  }

  /// Which argument a size comes from.
  std::string whence(char letter) const {
    for (size_t i = 0; i < index; ++i) {
      const ArgumentRow &other = bound.operation.arguments[i];
      if (bound.tensors[i] && other.shape.find(letter) != std::string_view::npos)
        return " of " + quoted(other.name) + ", " + textOf(*bound.tensors[i]);
    }
    return "";
  }

  std::string checkLayout() {
    if (tensor.size() == 0)
      return "";
    if (row.role == Role::Out)
      for (size_t i = 0; i < shape.size(); ++i)
        if (strides[i] == 0 && shape[i] > 1)
          return seen() + ": a result can't have a stride of 0, which puts elements in one place";
    if (row.layout == Layout::Strided)
      return "";
    if (row.layout == Layout::Dense)
      return tensor.isContiguous() ? "" : seen() + ", and must be row-major without gaps";
    if (!shape.empty() && shape.back() > 1 && strides.back() != 1)
      return seen() + ", and must be contiguous along its last dimension";
    if (row.layout == Layout::Last)
      return "";
    if (row.layout == Layout::Pages) {
      int64_t expected = 1;
      for (size_t i = shape.size(); i-- > 1; expected *= shape[i])
        if (shape[i] > 1 && strides[i] != expected)
          return seen() + ", and must be without gaps behind its first dimension";
      return "";
    }
    // Rows: leading dimensions, those of size 1 left out, are multiples of each other.
    std::optional<int64_t> step;
    int64_t expected = 0;
    for (size_t i = shape.size() - 1; i-- > 0;) {
      if (shape[i] == 1)
        continue;
      if (!step)
        step = strides[i];
      else if (strides[i] != expected)
        return seen() + ": its rows must be evenly spaced";
      expected = strides[i] * shape[i];
    }
    bound.rowStride[index] = step.value_or(shape.back());
    return "";
  }
};

/// Whether the memory of two dense tensors meets.
bool meet(const Tensor &a, const Tensor &b) {
  auto *first = a.data<char>(), *second = b.data<char>();
  return a.size() && b.size() && first < second + b.bytes() && second < first + a.bytes();
}

// A result that lies over another argument, other than in its place, would be read after it is
// written. Strided views of one memory may be apart element by element, so only dense tensors
// count.
std::string overlap(const Bound &bound) {
  auto rows = bound.operation.arguments;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].role != Role::Out || !bound.tensors[i] || !bound.tensors[i]->isContiguous())
      continue;
    const Tensor &result = *bound.tensors[i];
    for (size_t j = 0; j < rows.size(); ++j) {
      if (j == i || !bound.tensors[j] || !bound.tensors[j]->isContiguous() ||
          (rows[j].role == Role::Out && j > i))
        continue;
      const Tensor &other = *bound.tensors[j];
      bool inPlace = rows[i].mayBe >> j & 1 && result.data() == other.data() &&
                     result.bytes() == other.bytes();
      if (!inPlace && meet(result, other))
        return quoted(rows[i].name) + " lies over " + quoted(rows[j].name) + " in memory";
    }
  }
  return "";
}

} // namespace

Result<std::string> verifyBelow(std::string_view name, const Tensor &tensor, int64_t end,
                                const Stream &stream) {
  auto numbers = numbersOf(tensor, stream);
  if (!numbers)
    return numbers.takeError();
  for (int64_t number : *numbers)
    if (number < 0 || number >= end)
      return quoted(name) + " has " + std::to_string(number) + ", and must be in [0, " +
             std::to_string(end) + ")";
  return std::string();
}

Result<std::string> verifyOffsets(std::string_view name, const Tensor &tensor, int64_t total,
                                  int64_t most, const Stream &stream) {
  auto offsets = numbersOf(tensor, stream);
  if (!offsets)
    return offsets.takeError();
  int64_t before = 0;
  for (size_t i = 0; i < offsets->size(); ++i) {
    const int64_t offset = (*offsets)[i];
    auto has = [&] {
      return quoted(name) + " has " + std::to_string(offset) + " at " + std::to_string(i);
    };
    if (i == 0 && offset != 0)
      return has() + ", and must begin with 0";
    if (offset < before)
      return has() + ", below the one before it";
    if (most && offset - before > most)
      return has() + ", " + std::to_string(offset - before) + " above the one before it, and " +
             std::to_string(most) + " is given as the most";
    before = offset;
  }
  return before == total ? std::string()
                         : quoted(name) + " ends with " + std::to_string(before) +
                               ", and must end with " + std::to_string(total);
}

std::string textOf(const Tensor &tensor) {
  std::string text = std::string(info(tensor.type()).name) + " " + listed(tensor.shape());
  if (!tensor.isContiguous())
    text += " with strides " + listed(tensor.strides());
  return text;
}

std::string textOf(float number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", double(number));
  return text;
}

Result<Bound> bind(const OperationRow &operation, const void *call, const Device *device) {
  Bound bound(operation, call);
  std::span<const int64_t> leading;
  std::string_view leadingOf;
  std::optional<Device> where;
  if (device)
    where = *device;
  for (size_t i = 0; i < operation.arguments.size(); ++i) {
    const ArgumentRow &row = operation.arguments[i];
    const Tensor &tensor = row.of(call);
    if (!tensor) {
      if (row.optional)
        continue;
      return wrong(operation, quoted(row.name) + " is missing");
    }
    if (!where)
      where = tensor.device();
    else if (!(tensor.device() == *where))
      return wrong(operation, quoted(row.name) + " lies on " + tensor.device().name() + ", " +
                                  (device ? "the stream" : "the other arguments") + " on " +
                                  where->name());
    Binder binder{.bound = bound,
                  .row = row,
                  .index = i,
                  .tensor = tensor,
                  .leading = leading,
                  .leadingOf = leadingOf};
    if (std::string failure = binder.bind(); !failure.empty())
      return wrong(operation, failure);
    bound.tensors[i] = &tensor;
  }
  if (operation.check)
    if (std::string failure = operation.check(bound); !failure.empty())
      return wrong(operation, failure);
  if (std::string failure = overlap(bound); !failure.empty())
    return wrong(operation, failure);
  bound.isCpu = where->isCpu();
  bound.units = where->units();
  return bound;
}

} // namespace nereid::kernels
