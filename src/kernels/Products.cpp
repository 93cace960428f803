// Products of two matrices, of batches of them, and of a matrix and a vector.
#include "kernels/Products.h"

#include "support/Specialization.h"

#include <algorithm>

namespace nereid::kernels {

using support::Constant;

namespace {

struct Tile {
  int64_t m, n, k, warps, stages;
};

/// The largest of the tiles, which go down in size, that the product fills and that gives every
/// processor one, or the last. Larger ones read less, smaller ones leave fewer processors idle.
template <size_t count>
Config tileRule(const Tile (&tiles)[count], int64_t m, int64_t n, int64_t batches,
                const Bound &bound) {
  // Threads of a CPU that are done early wait: for at most an eighth of the time.
  auto leavesIdle = [&](const Tile &tile) {
    int64_t all = blocks(m, tile.m) * blocks(n, tile.n) * batches;
    return all < bound.units ||
           (bound.isCpu && 8 * blocks(all, bound.units) * bound.units > 9 * all);
  };
  const Tile *chosen = tiles;
  while (chosen != &tiles[count - 1] &&
         (chosen->m > powerOfTwo(m) || chosen->n > powerOfTwo(n) || leavesIdle(*chosen)))
    ++chosen;
  return {{"BLOCK_M", chosen->m}, {"BLOCK_N", chosen->n},       {"BLOCK_K", chosen->k},
          {"GROUP_M", 8},         {"num_warps", chosen->warps}, {"num_stages", chosen->stages}};
}

constexpr Tile gpuTiles[] = {
    {128, 256, 64, 8, 3}, {128, 128, 64, 8, 3}, {64, 128, 32, 4, 4}, {64, 64, 32, 4, 3}};
constexpr Tile lowTiles[] = {{16, 128, 64, 4, 4}};
// A CPU packs both tiles: the larger, the less.
constexpr Tile cpuTiles[] = {{256, 256, 128, 4, 3},
                             {128, 128, 128, 4, 3},
                             {64, 128, 128, 4, 3},
                             {64, 64, 64, 4, 3},
                             {32, 64, 32, 4, 3}};
// Few rows take the time of reading b: as much as possible of it where its elements lie adjacent
// (docs/design/cpu-speed.md, "A few rows times a matrix").
constexpr Tile lowCpuTiles[] = {
    {16, 512, 16, 4, 3}, {16, 256, 32, 4, 3}, {16, 128, 64, 4, 3}, {16, 64, 32, 4, 3}};
constexpr Tile lowCpuTilesAlongK[] = {{16, 16, 512, 4, 3}};
constexpr Tile lowByteTilesAlongK[] = {{16, 64, 1024, 4, 3}, {16, 16, 1024, 4, 3}};
constexpr Tile lowFp8Tiles[] = {{16, 64, 32, 4, 3}};

} // namespace

Config tilesFor(int64_t m, int64_t n, int64_t batches, const Tensor &b, const Bound &bound) {
  if (m > 16)
    return bound.isCpu ? tileRule(cpuTiles, m, n, batches, bound)
                       : tileRule(gpuTiles, m, n, batches, bound);
  if (!bound.isCpu)
    return tileRule(lowTiles, m, n, batches, bound);
  // Rows of bytes are [N, K], as `vpdpbusd` reads them.
  if (b.type() == DType::Int8)
    return tileRule(lowByteTilesAlongK, m, n, batches, bound);
  if (info(b.type()).bytes == 1)
    return tileRule(lowFp8Tiles, m, n, batches, bound);
  return b.strides()[b.strides().size() - 2] == 1
             ? tileRule(lowCpuTilesAlongK, m, n, batches, bound)
             : tileRule(lowCpuTiles, m, n, batches, bound);
}

std::string checkScale(const Tensor &result, const Tensor &scale, const char *name) {
  if (info(result.type()).bytes == 1 && !scale)
    return "`c` is " + textOf(result) + ", and `" + name + "` is missing beside it";
  if (info(result.type()).bytes != 1 && scale)
    return "`" + std::string(name) + "` is given, and `c` is " + textOf(result) +
           ": only a result of 8 bits is divided by one";
  return "";
}

namespace {

// ---- matmul

constexpr KernelSource matmul{"matmul", "kernel.py", "matmul"},
    matmulDescriptors{"matmul", "kernel.py", "matmul_descriptors"},
    matmulPersistent{"matmul", "persistent.py", "matmul_persistent"},
    matmulSplitK{"matmul", "kernel.py", "matmul_split_k"},
    matmulSumSplits{"matmul", "kernel.py", "sum_splits"},
    matmulStreamK{"matmul", "stream_k.py", "matmul_stream_k"},
    matmulJoinRuns{"matmul", "stream_k.py", "join_runs"};
constexpr KernelSource matvecRows{"matvec", "kernel.py", "matvec_rows"},
    matvecSplitK{"matvec", "kernel.py", "matvec_split_k"},
    matvecJoin{"matvec", "kernel.py", "join_splits"};

constexpr ArgumentRow matmulArguments[] = {
    {"a", argument<&Matmul::a>, Role::In, "M K", floats | narrowFloats, -1, Layout::Strided},
    {"b", argument<&Matmul::b>, Role::In, "K N", floats | narrowFloats, 0, Layout::Strided},
    {"bias", argument<&Matmul::bias>, Role::In, "N", floats, -1, Layout::Dense, true},
    {"residual", argument<&Matmul::residual>, Role::In, "M N", floats, -1, Layout::Strided, true},
    {"scale", argument<&Matmul::scale>, Role::In, "1", float32, -1, Layout::Dense, true},
    {"c", argument<&Matmul::c>, Role::Out, "M N", floats | narrowFloats, -1, Layout::Strided, false,
     0b1000},
};

std::string checkMatmul(Bound &bound) {
  auto &call = bound.as<Matmul>();
  if (call.activation == Activation::Sigmoid || !activationName(call.activation))
    return "`activation` is Sigmoid, and must be None, Relu, Silu or Gelu";
  if (call.residual && !std::equal(call.c.strides().begin(), call.c.strides().end(),
                                   call.residual.strides().begin()))
    return "`residual` is " + textOf(call.residual) + ", and must have the strides of `c`, " +
           textOf(call.c);
  return checkScale(call.c, call.scale, "scale");
}

/// What the kernels that add up parts, and those of one row, have no epilogue for.
const char *needsPlain(const Bound &bound) {
  auto &call = bound.as<Matmul>();
  return call.residual     ? "a residual"
         : call.scale      ? "a result of 8 bits"
         : call.alpha != 1 ? "an alpha other than 1"
                           : nullptr;
}

const char *needsPointers(const Bound &bound) {
  auto &call = bound.as<Matmul>();
  return whyNotDescribed({&call.a, &call.b, &call.c});
}

/// On a CPU a descriptor is no faster, and small products do not fill the tiles of one.
bool persistentDoesNotPay(const Bound &bound) {
  return bound.isCpu || blocks(bound['M'], 128) * blocks(bound['N'], 256) < bound.units;
}

/// One row of a against a b that lies transposed is a matrix times a vector, which reads b as tiles
/// do and computes nothing else.
const char *needsTiles(const Bound &bound) {
  auto &call = bound.as<Matmul>();
  if (const char *why = needsPlain(bound))
    return why;
  if (call.activation != Activation::None)
    return "an activation";
  if (bound['M'] != 1)
    return "more than one row";
  return call.a.strides()[1] == 1 && call.b.strides()[0] == 1 && call.c.strides()[1] == 1
             ? nullptr
             : "rows that are not contiguous";
}

/// On a CPU one row at a time, in as many lanes as registers hold: more are spilled, and a row of
/// 256 leaves half of 512 lanes empty (docs/design/cpu-speed.md, "A row times a matrix").
Config matvecRule(const Bound &bound) {
  return bound.isCpu ? Config{{"BLOCK_N", 1}, {"BLOCK_K", 64}, {"num_warps", 4}}
                     : Config{{"BLOCK_N", 4}, {"BLOCK_K", 512}, {"num_warps", 4}};
}

Status matmulOfRow(const Bound &bound, const Config &config, Launches &to) {
  auto &call = bound.as<Matmul>();
  const int64_t n = config["BLOCK_N"], k = config["BLOCK_K"];
  return to.launch(matvecRows, config.options(), {blocks(bound['N'], n)},
                   {call.b, call.a, nullptr, call.bias, call.c, bound['N'], bound['K'],
                    call.b.strides()[1], named("BLOCK_N", n), named("BLOCK_K", k),
                    named("EVEN_K", bound['K'] % k == 0)});
}

Status matmulDescribed(const Bound &bound, const Config &config, Launches &to,
                       const KernelSource &kernel, bool isPersistent) {
  auto &call = bound.as<Matmul>();
  const int64_t m = config["BLOCK_M"], n = config["BLOCK_N"], k = config["BLOCK_K"];
  const bool halves = isPersistent && config["HALVES"];
  auto a = TensorDescriptor::make(call.a, {m, k}), b = TensorDescriptor::make(call.b, {k, n}),
       c = TensorDescriptor::make(call.c, {m, halves ? n / 2 : n});
  for (auto *descriptor : {&a, &b, &c})
    if (!*descriptor)
      return descriptor->takeError();
  int64_t tiles = blocks(bound['M'], m) * blocks(bound['N'], n);
  Arguments arguments = {*a,
                         *b,
                         call.bias,
                         *c,
                         bound['M'],
                         bound['N'],
                         bound['K'],
                         named("BLOCK_M", m),
                         named("BLOCK_N", n),
                         named("BLOCK_K", k),
                         named("GROUP_M", config["GROUP_M"]),
                         named("ACTIVATION", activationName(call.activation)),
                         named("PRECISION", precisionName(bound.type(), call.precision))};
  if (isPersistent)
    arguments.add({named("HALVES", halves)});
  if (call.residual)
    arguments.add({named("residual_ptr", call.residual),
                   named("residual_stride", call.residual.strides()[0])});
  if (call.scale)
    arguments.add({named("scale_ptr", call.scale)});
  if (call.alpha != 1)
    arguments.add({named("alpha", call.alpha)});
  return to.launch(kernel, config.options(),
                   {isPersistent ? std::min<int64_t>(bound.units, tiles) : tiles}, arguments);
}

/// As many programs as there are processors take whole tiles in full waves; what is left of the
/// tiles is cut into equal runs of K steps, whose parts a second launch adds up.
Status matmulStreamed(const Bound &bound, const Config &config, Launches &to) {
  auto &call = bound.as<Matmul>();
  auto a = call.a.strides(), b = call.b.strides(), c = call.c.strides();
  const int64_t m = config["BLOCK_M"], n = config["BLOCK_N"], k = config["BLOCK_K"];
  const int64_t programs = config["PROGRAMS"],
                tiles = blocks(bound['M'], m) * blocks(bound['N'], n);
  const int64_t left = tiles % programs, steps = blocks(bound['K'], k);
  const int64_t run = std::max<int64_t>(blocks(left * steps, programs), 1);
  Argument partial = to.scratch(DType::Float32, programs * 2 * m * n);
  Argument activation = named("ACTIVATION", activationName(call.activation));
  const std::initializer_list<Argument> tile = {named("BLOCK_M", m), named("BLOCK_N", n),
                                                named("BLOCK_K", k),
                                                named("GROUP_M", config["GROUP_M"]), activation};
  Arguments products = {call.a,     call.b,     call.bias,    call.c, partial, bound['M'],
                        bound['N'], bound['K'], tiles - left, run,    a[0],    a[1],
                        b[0],       b[1],       c[0],         c[1]};
  products.add(tile).add({named("EVEN_K", bound['K'] % k == 0),
                          named("PRECISION", precisionName(bound.type(), call.precision))});
  if (Status status = to.launch(matmulStreamK, config.options(), {programs}, products); !status)
    return status;
  if (left == 0)
    return Success{};
  Arguments joined = {partial,    call.bias,    call.c, bound['M'], bound['N'],
                      bound['K'], tiles - left, run,    c[0],       c[1]};
  constexpr int64_t rows = 16; // of a tile, each program's
  joined.add(tile).add({named("ROWS", rows)});
  return to.launch(matmulJoinRuns, {}, {left, m / rows}, joined);
}

constexpr Variant matmulVariants[] = {
    {"row", "BLOCK_N BLOCK_K", needsTiles, matvecRule, matmulOfRow},
    {"persistent", "BLOCK_M BLOCK_N BLOCK_K GROUP_M HALVES", needsPointers,
     [](const Bound &) {
       return Config{{"BLOCK_M", 128}, {"BLOCK_N", 256}, {"BLOCK_K", 64},  {"GROUP_M", 8},
                     {"HALVES", 1},    {"num_warps", 8}, {"num_stages", 3}};
     },
     [](const Bound &bound, const Config &config, Launches &to) {
       return matmulDescribed(bound, config, to, matmulPersistent, true);
     },
     persistentDoesNotPay},
    {"grouped row_order", "BLOCK_M BLOCK_N BLOCK_K GROUP_M", nullptr, productRule<Matmul>,
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<Matmul>();
       auto a = call.a.strides(), b = call.b.strides(), c = call.c.strides();
       const int64_t m = config["BLOCK_M"], n = config["BLOCK_N"];
       return to.launch(
           matmul, config.options(), {blocks(bound['M'], m) * blocks(bound['N'], n)},
           {call.a,
            call.b,
            call.bias,
            call.c,
            bound['M'],
            bound['N'],
            bound['K'],
            a[0],
            a[1],
            b[0],
            b[1],
            c[0],
            c[1],
            named("BLOCK_M", m),
            named("BLOCK_N", n),
            named("BLOCK_K", config["BLOCK_K"]),
            named("GROUP_M", config["GROUP_M"]),
            named("ACTIVATION", activationName(call.activation)),
            named("PRECISION", precisionName(bound.type(), call.precision)),
            named("residual_ptr", call.residual),
            named("scale_ptr", call.scale),
            named("alpha", call.alpha == 1 ? Argument(nullptr) : Argument(call.alpha))});
     }},
    {"descriptors", "BLOCK_M BLOCK_N BLOCK_K GROUP_M", needsPointers, productRule<Matmul>,
     [](const Bound &bound, const Config &config, Launches &to) {
       return matmulDescribed(bound, config, to, matmulDescriptors, false);
     }},
    {"stream_k", "BLOCK_M BLOCK_N BLOCK_K GROUP_M PROGRAMS", needsPlain,
     [](const Bound &bound) {
       Config config = productRule<Matmul>(bound);
       config.set("PROGRAMS", bound.units);
       return config;
     },
     matmulStreamed},
    {"split_k", "BLOCK_M BLOCK_N BLOCK_K SPLITS", needsPlain,
     [](const Bound &) {
       return Config{{"BLOCK_M", 32}, {"BLOCK_N", 64}, {"BLOCK_K", 64}, {"SPLITS", 4}};
     },
     [](const Bound &bound, const Config &config, Launches &to) -> Status {
       auto &call = bound.as<Matmul>();
       auto a = call.a.strides(), b = call.b.strides(), c = call.c.strides();
       const int64_t m = config["BLOCK_M"], n = config["BLOCK_N"], k = config["BLOCK_K"];
       const int64_t depth =
           std::max<int64_t>(blocks(blocks(bound['K'], config["SPLITS"]), k), 1) * k;
       const int64_t splits = std::max<int64_t>(blocks(bound['K'], depth), 1);
       Argument partial = to.scratch(DType::Float32, splits * bound['M'] * bound['N']);
       if (Status status = to.launch(
               matmulSplitK, config.options(),
               {blocks(bound['M'], m) * blocks(bound['N'], n), splits},
               {call.a, call.b, partial, bound['M'], bound['N'], bound['K'], depth, a[0], a[1],
                b[0], b[1], named("BLOCK_M", m), named("BLOCK_N", n), named("BLOCK_K", k),
                named("PRECISION", precisionName(bound.type(), call.precision))});
           !status)
         return status;
       return to.launch(matmulSumSplits, {}, {bound['M'], blocks(bound['N'], 512)},
                        {partial, call.bias, call.c, bound['M'], bound['N'], splits, c[0], c[1],
                         named("BLOCK", 512),
                         named("ACTIVATION", activationName(call.activation))});
     }},
};

bool agreesOnMatmul(const Bound &bound, std::string_view name, const Constant &value) {
  auto &call = bound.as<Matmul>();
  if (name == "precision")
    return value == Constant::string(precisionName(DType::Float32, call.precision));
  if (name == "activation")
    return value == Constant::string(activationName(call.activation));
  if (name == "bias" || name == "residual" || name == "quantised")
    return value == Constant::boolean(bool(name == "bias"       ? call.bias
                                           : name == "residual" ? call.residual
                                                                : call.scale));
  if (name != "transposed")
    return false;
  std::string transposed;
  for (auto [letter, tensor] : {std::pair("a", &call.a), {"b", &call.b}})
    if (tensor->strides()[1] != 1 && tensor->strides()[0] == 1)
      transposed += letter;
  return value == Constant::string(transposed);
}

// ---- matmul_batched

constexpr KernelSource matmulBatched{"matmul_batched", "kernel.py", "matmul_batched"},
    matmulBatchedDescriptors{"matmul_batched", "kernel.py", "matmul_batched_descriptors"},
    matmulBatchedPersistent{"matmul_batched", "kernel.py", "matmul_batched_persistent"};

constexpr ArgumentRow matmulBatchedArguments[] = {
    {"a", argument<&MatmulBatched::a>, Role::In, "B M K", floats, -1, Layout::Strided},
    {"b", argument<&MatmulBatched::b>, Role::In, "B K N", floats, 0, Layout::Strided},
    {"c", argument<&MatmulBatched::c>, Role::Out, "B M N", floats, -1, Layout::Last},
};

Config batchedRule(const Bound &bound) {
  return tilesFor(bound['M'], bound['N'], bound['B'], bound.as<MatmulBatched>().b, bound);
}

const char *batchedNeedsPointers(const Bound &bound) {
  auto &call = bound.as<MatmulBatched>();
  return whyNotDescribed({&call.a, &call.b, &call.c});
}

Status batchedDescribed(const Bound &bound, const Config &config, Launches &to, bool isPersistent) {
  auto &call = bound.as<MatmulBatched>();
  const int64_t m = config["BLOCK_M"], n = config["BLOCK_N"], k = config["BLOCK_K"];
  auto a = TensorDescriptor::make(call.a, {1, m, k}), b = TensorDescriptor::make(call.b, {1, k, n}),
       c = TensorDescriptor::make(call.c, {1, m, n});
  for (auto *descriptor : {&a, &b, &c})
    if (!*descriptor)
      return descriptor->takeError();
  const int64_t tiles = blocks(bound['M'], m) * blocks(bound['N'], n);
  Arguments arguments{*a, *b, *c};
  if (isPersistent)
    arguments.add({bound['B']});
  arguments.add({bound['M'], bound['N'], bound['K'], named("BLOCK_M", m), named("BLOCK_N", n),
                 named("BLOCK_K", k),
                 named("PRECISION", precisionName(bound.type(), call.precision))});
  if (isPersistent)
    return to.launch(matmulBatchedPersistent, config.options(),
                     {std::min<int64_t>(bound.units, tiles * bound['B'])}, arguments);
  return to.launch(matmulBatchedDescriptors, config.options(), {tiles, bound['B']}, arguments);
}

constexpr Variant matmulBatchedVariants[] = {
    {"pointers", "BLOCK_M BLOCK_N BLOCK_K GROUP_M", nullptr, batchedRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<MatmulBatched>();
       auto a = call.a.strides(), b = call.b.strides(), c = call.c.strides();
       const int64_t m = config["BLOCK_M"], n = config["BLOCK_N"], k = config["BLOCK_K"];
       return to.launch(matmulBatched, config.options(),
                        {blocks(bound['M'], m) * blocks(bound['N'], n), bound['B']},
                        {call.a,
                         call.b,
                         call.c,
                         bound['M'],
                         bound['N'],
                         bound['K'],
                         a[0],
                         a[1],
                         a[2],
                         b[0],
                         b[1],
                         b[2],
                         c[0],
                         c[1],
                         named("BLOCK_M", m),
                         named("BLOCK_N", n),
                         named("BLOCK_K", k),
                         named("GROUP_M", config["GROUP_M"]),
                         named("EVEN_K", bound['K'] % k == 0),
                         named("PRECISION", precisionName(bound.type(), call.precision))});
     }},
    {"descriptors", "BLOCK_M BLOCK_N BLOCK_K", batchedNeedsPointers, batchedRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       return batchedDescribed(bound, config, to, false);
     }},
    {"persistent", "BLOCK_M BLOCK_N BLOCK_K", batchedNeedsPointers, batchedRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       return batchedDescribed(bound, config, to, true);
     }},
};

constexpr SizeName batchedSizes[] = {{"B", 'B'}, {"M", 'M'}, {"N", 'N'}, {"K", 'K'}};

// ---- matvec

constexpr ArgumentRow matvecArguments[] = {
    {"w", argument<&Matvec::w>, Role::In, "N K", floats | Types{DType::Int8}, -1, Layout::Last},
    {"x", argument<&Matvec::x>, Role::In, "K", floats},
    {"scale", argument<&Matvec::scale>, Role::In, "N", float32, -1, Layout::Dense, true},
    {"bias", argument<&Matvec::bias>, Role::In, "N", floats, -1, Layout::Dense, true},
    {"y", argument<&Matvec::y>, Role::Out, "N", floats},
};

constexpr Variant matvecVariants[] = {
    {"plain.rows int8_weights.rows", "BLOCK_N BLOCK_K", nullptr, matvecRule,
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<Matvec>();
       const int64_t n = config["BLOCK_N"], k = config["BLOCK_K"];
       return to.launch(matvecRows, config.options(), {blocks(bound['N'], n)},
                        {call.w, call.x, call.scale, call.bias, call.y, bound['N'], bound['K'],
                         call.w.strides()[0], named("BLOCK_N", n), named("BLOCK_K", k),
                         named("EVEN_K", bound['K'] % k == 0)});
     }},
    {"plain.split_k int8_weights.split_k", "BLOCK_N BLOCK_K SPLITS", nullptr,
     [](const Bound &) {
       return Config{{"BLOCK_N", 4}, {"BLOCK_K", 512}, {"SPLITS", 4}, {"num_warps", 4}};
     },
     [](const Bound &bound, const Config &config, Launches &to) -> Status {
       auto &call = bound.as<Matvec>();
       const int64_t n = config["BLOCK_N"], k = config["BLOCK_K"];
       const int64_t depth =
           std::max<int64_t>(blocks(blocks(bound['K'], config["SPLITS"]), k), 1) * k;
       const int64_t splits = blocks(bound['K'], depth);
       Argument part = to.scratch(DType::Float32, splits * bound['N']);
       if (Status status =
               to.launch(matvecSplitK, config.options(), {blocks(bound['N'], n), splits},
                         {call.w, call.x, part, bound['N'], bound['K'], call.w.strides()[0], depth,
                          named("BLOCK_N", n), named("BLOCK_K", k)});
           !status)
         return status;
       return to.launch(
           matvecJoin, {}, {blocks(bound['N'], 256)},
           {part, call.scale, call.bias, call.y, bound['N'], splits, named("BLOCK", 256)});
     }},
};

constexpr SizeName matvecSizes[] = {{"N", 'N'}, {"K", 'K'}};

constexpr OperationRow productTable[] = {
    {Operation::Matmul, "matmul", "matmul", matmulArguments, matmulVariants, productSizes, "MN",
     checkMatmul, nullptr, agreesOnMatmul, argument<&Matmul::workspace>},
    {Operation::MatmulBatched, "matmul_batched", "matmul_batched", matmulBatchedArguments,
     matmulBatchedVariants, batchedSizes, "BMN"},
    {Operation::Matvec, "matvec", "matvec", matvecArguments, matvecVariants, matvecSizes, "N",
     [](Bound &bound) -> std::string {
       auto &call = bound.as<Matvec>();
       return call.w.type() == DType::Int8 && !call.scale
                  ? "`w` is " + textOf(call.w) + ", and `scale` is missing beside it"
                  : "";
     },
     nullptr, nullptr, argument<&Matvec::workspace>, 1},
};

} // namespace

const char *whyNotDescribed(std::initializer_list<const Tensor *> tensors) {
  auto canBeDescribed = [](const Tensor *tensor) {
    auto strides = tensor->strides();
    int64_t bytes = info(tensor->type()).bytes;
    return tensor->bytes() != 0 && strides.back() == 1 &&
           reinterpret_cast<uintptr_t>(tensor->data()) % 16 == 0 &&
           std::all_of(strides.begin(), strides.end() - 1,
                       [&](int64_t stride) { return stride > 0 && stride * bytes % 16 == 0; });
  };
  return std::all_of(tensors.begin(), tensors.end(), canBeDescribed)
             ? nullptr
             : "a shape or strides that a tensor descriptor can't have";
}

const char *activationName(Activation activation) {
  switch (activation) {
  case Activation::None:
    return "none";
  case Activation::Relu:
    return "relu";
  case Activation::Silu:
    return "silu";
  case Activation::Gelu:
    return "gelu";
  case Activation::Sigmoid:
    return "sigmoid";
  }
  return nullptr;
}

const char *precisionName(DType type, Precision precision) {
  if (type != DType::Float32)
    return "tf32"; // says nothing: other types have one way
  return precision == Precision::Ieee ? "ieee" : precision == Precision::Tf32 ? "tf32" : "tf32x3";
}

std::span<const OperationRow> productRows() { return productTable; }

} // namespace nereid::kernels
