// The paged cache of keys and values: writing it, and attention over it.
#include "kernels/Call.h"

#include "support/Specialization.h"

#include <algorithm>
#include <cmath>

namespace nereid::kernels {

using support::Constant;

namespace {

constexpr KernelSource appendKernel{"paged_attention", "kernel.py", "append"},
    storeKernel{"paged_attention", "store.py", "store_tokens"},
    decodeKernel{"paged_attention", "kernel.py", "decode"},
    decodeSplit{"paged_attention", "kernel.py", "decode_split"},
    decodeJoined{"paged_attention", "kernel.py", "decode_joined"},
    joinSplits{"paged_attention", "kernel.py", "join_splits"},
    prefillKernel{"paged_attention", "prefill.py", "prefill"};

constexpr Types cacheTypes = floats | eightBits;

/// Keys and values are addressed by the same strides.
template <typename Call> std::string checkCaches(Bound &bound) {
  auto &call = bound.as<Call>();
  if (!std::equal(call.kCache.strides().begin(), call.kCache.strides().end(),
                  call.vCache.strides().begin()))
    return "`vCache` is " + textOf(call.vCache) + ", and must have the strides of `kCache`, " +
           textOf(call.kCache);
  if (bound['S'] == 0)
    return "`kCache` is " + textOf(call.kCache) + ": its pages have no place for a token";
  if constexpr (requires { call.kScale; }) {
    const bool isNarrow = info(call.kCache.type()).bytes == 1;
    const bool needsScale =
        call.kCache.type() == DType::Int8 || Call::operation == Operation::StoreKv;
    if (isNarrow && needsScale && !call.kScale)
      return "`kCache` is " + textOf(call.kCache) + ", and `kScale` is missing beside it";
    if (!isNarrow && call.kScale)
      return "`kScale` is given, and `kCache` is " + textOf(call.kCache) +
             ": only a cache of 8 bits has scales";
    if (call.kScale && !call.kCache.isContiguous())
      return "`kCache` is " + textOf(call.kCache) +
             ", and must be row-major without gaps beside scales";
    if (bool(call.kScale) != bool(call.vScale))
      return "`" + std::string(call.kScale ? "vScale" : "kScale") + "` is missing beside `" +
             (call.kScale ? "kScale" : "vScale") + "`";
  }
  if constexpr (requires { call.q; }) {
    if (bound['G'] == 0 ? bound['H'] != 0 : bound['H'] % bound['G'] != 0)
      return "`kCache` is " + textOf(call.kCache) + ", and the " + std::to_string(bound['H']) +
             " heads of `q` must be a multiple of its " + std::to_string(bound['G']);
    if (bound['D'] > 256)
      return "`q` is " + textOf(call.q) + ", and heads must have at most 256 columns";
    if (!std::isfinite(call.scale))
      return "`scale` is " + textOf(call.scale);
  }
  if constexpr (requires { call.table; })
    bound.bind('L', bound['W'] * bound['S']);
  if constexpr (requires { call.maxQ; }) {
    if (call.maxQ < 0 || call.maxQ > bound['T'] || (call.maxQ == 0 && bound['T'] > 0))
      return "`maxQ` is " + std::to_string(call.maxQ) + ", and must be in [1, " +
             std::to_string(bound['T']) + "], the rows of `q`";
    bound.bind('M', call.maxQ);
  }
  return "";
}

/// Lengths within the table's reach, and pages within the cache, as far as a sequence reads them.
template <typename Call> Result<std::string> verifyTable(const Bound &bound, const Stream &stream) {
  auto &call = bound.as<Call>();
  if constexpr (requires { call.cuQ; }) {
    auto problem = verifyOffsets("cuQ", call.cuQ, bound['T'], call.maxQ, stream);
    if (!problem || !problem->empty())
      return problem;
  }
  auto lengths = numbersOf(call.lengths, stream), table = numbersOf(call.table, stream);
  if (!lengths)
    return lengths.takeError();
  if (!table)
    return table.takeError();
  const int64_t width = bound['W'], pages = bound['P'], page = bound['S'];
  // Behind a shared prefix there may be nothing.
  const int64_t least = Call::operation == Operation::PagedSharedPrefix ? 0 : 1;
  for (size_t b = 0; b < lengths->size(); ++b) {
    const int64_t length = (*lengths)[b];
    if (length < least || length > width * page)
      return "`lengths` has " + std::to_string(length) + " at " + std::to_string(b) +
             ", and must be in [" + std::to_string(least) + ", " + std::to_string(width * page) +
             "]: `table` has " + std::to_string(width) + " pages of " + std::to_string(page) +
             " tokens a sequence";
    for (int64_t i = 0; i < blocks(length, page); ++i)
      if (int64_t named = (*table)[b * size_t(width) + size_t(i)]; named < 0 || named >= pages)
        return "`table` has page " + std::to_string(named) + " at [" + std::to_string(b) + ", " +
               std::to_string(i) + "], and the cache has pages 0 to " + std::to_string(pages - 1);
  }
  if constexpr (requires { call.cuQ; }) {
    auto starts = numbersOf(call.cuQ, stream);
    if (!starts)
      return starts.takeError();
    for (size_t b = 0; b < lengths->size(); ++b)
      if ((*starts)[b + 1] - (*starts)[b] > (*lengths)[b])
        return "`lengths` has " + std::to_string((*lengths)[b]) + " at " + std::to_string(b) +
               ", fewer than the sequence's " + std::to_string((*starts)[b + 1] - (*starts)[b]) +
               " queries";
  }
  return std::string();
}

// ---- append_kv

constexpr ArgumentRow appendArguments[] = {
    {"k", argument<&AppendKv::k>, Role::In, "B G D", cacheTypes, -1, Layout::Pages},
    {"v", argument<&AppendKv::v>, Role::In, "B G D", cacheTypes, 0, Layout::Pages},
    {"table", argument<&AppendKv::table>, Role::In, "B W", int32, -1, Layout::Rows},
    {"lengths", argument<&AppendKv::lengths>, Role::In, "B", int32},
    {"kCache", argument<&AppendKv::kCache>, Role::Out, "P S G D", cacheTypes, 0, Layout::Pages},
    {"vCache", argument<&AppendKv::vCache>, Role::Out, "P S G D", cacheTypes, 0, Layout::Pages},
};

constexpr Variant appendVariants[] = {
    {"append.scatter", "", nullptr, [](const Bound &) { return Config(); },
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<AppendKv>();
       const int64_t row = bound['G'] * bound['D'];
       return to.launch(appendKernel, config.options(), {bound['B'], blocks(row, 512)},
                        {call.k, call.v, call.kCache, call.vCache, call.table, call.lengths, row,
                         call.kCache.strides()[0], bound.rowStride[2], call.k.strides()[0],
                         call.v.strides()[0], named("PAGE", bound['S']), named("BLOCK", 512)});
     }},
};

// ---- store_kv

constexpr ArgumentRow storeArguments[] = {
    {"k", argument<&StoreKv::k>, Role::In, "T G D", floats, -1, Layout::Pages},
    {"v", argument<&StoreKv::v>, Role::In, "T G D", floats, 0, Layout::Pages},
    {"slots", argument<&StoreKv::slots>, Role::In, "T", indices},
    {"kCache", argument<&StoreKv::kCache>, Role::Out, "P S G D", cacheTypes, -1, Layout::Pages},
    {"vCache", argument<&StoreKv::vCache>, Role::Out, "P S G D", cacheTypes, 3, Layout::Pages},
    {"kScale", argument<&StoreKv::kScale>, Role::Out, "P S G", float32, -1, Layout::Dense, true},
    {"vScale", argument<&StoreKv::vScale>, Role::Out, "P S G", float32, -1, Layout::Dense, true},
};

Result<std::string> verifySlots(const Bound &bound, const Stream &stream) {
  auto slots = numbersOf(bound.as<StoreKv>().slots, stream);
  if (!slots)
    return slots.takeError();
  for (int64_t slot : *slots)
    if (slot >= bound['P'] * bound['S'])
      return "`slots` has " + std::to_string(slot) + ", and the cache has places 0 to " +
             std::to_string(bound['P'] * bound['S'] - 1);
  return std::string();
}

constexpr Variant storeVariants[] = {
    {"store.slots", "", nullptr, [](const Bound &) { return Config{{"num_warps", 1}}; },
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<StoreKv>();
       return to.launch(storeKernel, config.options(), {bound['T'], bound['G']},
                        {call.k, call.v, call.kCache, call.vCache, call.slots, call.kScale,
                         call.vScale, bound['G'], call.kCache.strides()[0], call.k.strides()[0],
                         call.v.strides()[0], named("PAGE", bound['S']), named("D", bound['D']),
                         named("BLOCK_D", powerOfTwo(bound['D'])),
                         named("LARGEST", largestOf(call.kCache.type()))});
     }},
};

// ---- paged_attention

constexpr ArgumentRow pagedArguments[] = {
    {"q", argument<&PagedAttention::q>, Role::In, "B H D", floats, -1, Layout::Pages},
    {"kCache", argument<&PagedAttention::kCache>, Role::In, "P S G D", cacheTypes, -1,
     Layout::Pages},
    {"vCache", argument<&PagedAttention::vCache>, Role::In, "P S G D", cacheTypes, 1,
     Layout::Pages},
    {"table", argument<&PagedAttention::table>, Role::In, "B W", int32, -1, Layout::Rows},
    {"lengths", argument<&PagedAttention::lengths>, Role::In, "B", int32},
    {"kScale", argument<&PagedAttention::kScale>, Role::In, "P S G", float32, -1, Layout::Dense,
     true},
    {"vScale", argument<&PagedAttention::vScale>, Role::In, "P S G", float32, -1, Layout::Dense,
     true},
    {"out", argument<&PagedAttention::out>, Role::Out, "B H D", floats},
};

/// Splits of a sequence that give every processor a few programs, each of a length that pays.
int64_t splitsRule(const Bound &bound) {
  const int64_t programs = std::max<int64_t>(bound['B'] * bound['G'], 1);
  const int64_t wanted = blocks((bound.isCpu ? 1 : 4) * int64_t(bound.units), programs);
  return std::clamp<int64_t>(std::min(wanted, bound['L'] / 256), 1, 64);
}

/// Key heads and their share of the queries, the scale, and strides of caches, tables and queries.
template <typename Call> Arguments cacheFacts(const Bound &bound) {
  auto &call = bound.as<Call>();
  return {bound['G'],           bound['H'] / bound['G'],
          scaleOf<Call>(bound), call.kCache.strides()[0],
          bound.rowStride[3],   call.q.strides()[0]};
}

Arguments decodeConstants(const Bound &bound, const Config &config) {
  auto &call = bound.as<PagedAttention>();
  const int64_t group = bound['H'] / bound['G'];
  return {named("D", bound['D']),
          named("BLOCK_D", blockD(bound)),
          named("BLOCK_G", std::max<int64_t>(powerOfTwo(group), 16)),
          named("PAGE", bound['S']),
          named("BLOCK_N", config["BLOCK_N"]),
          named("PRECISION", precisionName(bound.type(), call.precision)),
          named("k_scale_ptr", call.kScale),
          named("v_scale_ptr", call.vScale)};
}

/// Tokens of a slice, and slices of a sequence. The table's width bounds the lengths, which only
/// the device knows.
std::pair<int64_t, int64_t> slicesOf(const Bound &bound, const Config &config) {
  const int64_t block = config["BLOCK_N"];
  const int64_t tokens =
      std::max<int64_t>(blocks(blocks(bound['L'], config["SPLITS"]), block), 1) * block;
  return {tokens, blocks(bound['L'], tokens)};
}

constexpr Variant pagedVariants[] = {
    {"decode.one_pass", "BLOCK_N", nullptr,
     [](const Bound &) { return Config{{"BLOCK_N", 64}, {"num_warps", 4}}; },
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<PagedAttention>();
       Arguments arguments{call.q, call.kCache, call.vCache, call.table, call.lengths, call.out};
       arguments.add(cacheFacts<PagedAttention>(bound)).add(decodeConstants(bound, config));
       return to.launch(decodeKernel, config.options(), {bound['B'], bound['G']}, arguments);
     },
     [](const Bound &bound) { return splitsRule(bound) > 1; }},
    {"decode.split_kv", "BLOCK_N SPLITS", nullptr,
     [](const Bound &bound) {
       return Config{{"BLOCK_N", 64}, {"SPLITS", splitsRule(bound)}, {"num_warps", 4}};
     },
     [](const Bound &bound, const Config &config, Launches &to) -> Status {
       auto &call = bound.as<PagedAttention>();
       const int64_t heads = bound['H'];
       const auto [tokens, splits] = slicesOf(bound, config);
       Argument part = to.scratch(DType::Float32, bound['B'] * heads * splits * bound['D']);
       Argument m = to.scratch(DType::Float32, bound['B'] * heads * splits);
       Argument l = to.scratch(DType::Float32, bound['B'] * heads * splits);
       Arguments arguments{call.q, call.kCache, call.vCache, call.table, call.lengths, part, m, l};
       arguments.add(cacheFacts<PagedAttention>(bound)).add({tokens});
       arguments.add(decodeConstants(bound, config));
       if (Status status = to.launch(decodeSplit, config.options(),
                                     {bound['B'], bound['G'], splits}, arguments);
           !status)
         return status;
       return to.launch(joinSplits, {}, {bound['B'], heads},
                        {part, m, l, call.lengths, call.out, heads, splits, tokens,
                         named("D", bound['D']), named("BLOCK_D", blockD(bound)),
                         named("BLOCK_S", powerOfTwo(splits))});
     }},
    {"decode.split_kv_joined", "BLOCK_N SPLITS", nullptr,
     [](const Bound &bound) {
       return Config{{"BLOCK_N", 64}, {"SPLITS", splitsRule(bound)}, {"num_warps", 4}};
     },
     [](const Bound &bound, const Config &config, Launches &to) -> Status {
       auto &call = bound.as<PagedAttention>();
       const auto [tokens, splits] = slicesOf(bound, config);
       const int64_t parts = bound['B'] * bound['H'] * splits;
       Argument part = to.scratch(DType::Float32, parts * bound['D']);
       Argument m = to.scratch(DType::Float32, parts);
       Argument l = to.scratch(DType::Float32, parts);
       auto done = to.counters(bound['B'] * bound['G']);
       if (!done)
         return done.takeError();
       // What a step of the join holds in registers: 64 numbers a thread.
       const int64_t group = powerOfTwo(bound['H'] / bound['G']);
       const int64_t most = config.options().numWarps * 2048 / (group * blockD(bound));
       Arguments arguments{call.q,   call.kCache, call.vCache, call.table, call.lengths,
                           call.out, part,        m,           l,          *done};
       arguments.add(cacheFacts<PagedAttention>(bound)).add({tokens});
       arguments.add(decodeConstants(bound, config));
       arguments.add({named("JOIN_G", group),
                      named("JOIN_S", std::min(powerOfTwo(splits), std::max<int64_t>(most, 1)))});
       return to.launch(decodeJoined, config.options(), {bound['B'], bound['G'], splits},
                        arguments);
     }},
};

constexpr SizeName pagedSizes[] = {{"tokens", 'B', SizeName::Count},
                                   {"tokens", 'L', SizeName::Largest},
                                   {"H", 'H'},
                                   {"KV", 'G'},
                                   {"D", 'D'},
                                   {"PAGE", 'S'}};

template <typename Call>
bool agreesOnCache(const Bound &bound, std::string_view name, const Constant &value) {
  if (name != "cache")
    return false;
  const DType type = bound.as<Call>().kCache.type();
  return value == (type == bound.type()        ? Constant::none()
                   : type == DType::Int8       ? Constant::string("i8")
                   : type == DType::Float8E4NV ? Constant::string("f8e4nv")
                                               : Constant::string("f8e5"));
}

// ---- paged_prefill

constexpr ArgumentRow prefillArguments[] = {
    {"q", argument<&PagedPrefill::q>, Role::In, "T H D", floats, -1, Layout::Pages},
    {"kCache", argument<&PagedPrefill::kCache>, Role::In, "P S G D", cacheTypes, -1, Layout::Pages},
    {"vCache", argument<&PagedPrefill::vCache>, Role::In, "P S G D", cacheTypes, 1, Layout::Pages},
    {"table", argument<&PagedPrefill::table>, Role::In, "B W", int32, -1, Layout::Rows},
    {"cuQ", argument<&PagedPrefill::cuQ>, Role::In, "B+1", int32},
    {"lengths", argument<&PagedPrefill::lengths>, Role::In, "B", int32},
    {"kScale", argument<&PagedPrefill::kScale>, Role::In, "P S G", float32, -1, Layout::Dense,
     true},
    {"vScale", argument<&PagedPrefill::vScale>, Role::In, "P S G", float32, -1, Layout::Dense,
     true},
    {"out", argument<&PagedPrefill::out>, Role::Out, "T H D", floats},
};

constexpr Variant prefillVariants[] = {
    {"prefill.chunks", "BLOCK_M BLOCK_N", nullptr,
     [](const Bound &bound) {
       const bool isWide = bound.type() == DType::Float32 || blockD(bound) > 128;
       return Config{{"BLOCK_M", 64},
                     {"BLOCK_N", isWide ? 32 : 64},
                     {"num_warps", 4},
                     {"num_stages", isWide ? 2 : 3}};
     },
     [](const Bound &bound, const Config &config, Launches &to) {
       auto &call = bound.as<PagedPrefill>();
       const int64_t group = bound['H'] / bound['G'];
       Arguments arguments{call.q,       call.kCache, call.vCache, call.table, call.cuQ,
                           call.lengths, call.out,    call.kScale, call.vScale};
       arguments.add(cacheFacts<PagedPrefill>(bound));
       arguments.add({named("D", bound['D']), named("BLOCK_D", blockD(bound)),
                      named("BLOCK_M", config["BLOCK_M"]), named("PAGE", bound['S']),
                      named("BLOCK_N", config["BLOCK_N"]),
                      named("PRECISION", precisionName(bound.type(), call.precision))});
       return to.launch(prefillKernel, config.options(),
                        {blocks(call.maxQ * group, config["BLOCK_M"]), bound['B'], bound['G']},
                        arguments);
     }},
};

constexpr SizeName prefillSizes[] = {{"tokens", 'B', SizeName::Count},
                                     {"tokens", 'L', SizeName::Largest},
                                     {"queries", 'T', SizeName::Sum},
                                     {"queries", 'M', SizeName::Largest},
                                     {"H", 'H'},
                                     {"KV", 'G'},
                                     {"D", 'D'},
                                     {"PAGE", 'S'}};

// ---- paged_shared_prefix

constexpr KernelSource attendPrefix{"paged_attention", "prefix.py", "attend_prefix"},
    attendRest{"paged_attention", "prefix.py", "attend_rest"},
    joinParts{"paged_attention", "prefix.py", "join_parts"};

constexpr ArgumentRow prefixArguments[] = {
    {"q", argument<&PagedSharedPrefix::q>, Role::In, "B H D", floats, -1, Layout::Pages},
    {"kCache", argument<&PagedSharedPrefix::kCache>, Role::In, "P S G D", cacheTypes, -1,
     Layout::Pages},
    {"vCache", argument<&PagedSharedPrefix::vCache>, Role::In, "P S G D", cacheTypes, 1,
     Layout::Pages},
    {"prefix", argument<&PagedSharedPrefix::prefix>, Role::In, "X", int32},
    {"table", argument<&PagedSharedPrefix::table>, Role::In, "B W", int32, -1, Layout::Rows},
    {"lengths", argument<&PagedSharedPrefix::lengths>, Role::In, "B", int32},
    {"kScale", argument<&PagedSharedPrefix::kScale>, Role::In, "P S G", float32, -1, Layout::Dense,
     true},
    {"vScale", argument<&PagedSharedPrefix::vScale>, Role::In, "P S G", float32, -1, Layout::Dense,
     true},
    {"out", argument<&PagedSharedPrefix::out>, Role::Out, "B H D", floats},
};

constexpr Variant prefixVariants[] = {
    {"shared_prefix.once", "BLOCK_R BLOCK_N SPLIT_TOKENS", nullptr,
     [](const Bound &bound) {
       return Config{{"BLOCK_R", bound['B'] * bound['H'] >= 64 * bound['G'] ? 64 : 32},
                     {"BLOCK_N", 32},
                     {"SPLIT_TOKENS", 256},
                     {"num_warps", 4}};
     },
     [](const Bound &bound, const Config &config, Launches &to) -> Status {
       auto &call = bound.as<PagedSharedPrefix>();
       const int64_t heads = bound['H'], keyHeads = bound['G'], group = heads / keyHeads;
       const int64_t tokens = config["SPLIT_TOKENS"], prefix = bound['X'] * bound['S'];
       const int64_t shared = blocks(prefix, tokens), parts = shared + blocks(bound['L'], tokens);
       const int64_t rows = bound['B'] * heads, page = call.kCache.strides()[0];
       const double scale = scaleOf<PagedSharedPrefix>(bound);
       Argument part = to.scratch(DType::Float32, rows * parts * bound['D']);
       Argument m = to.scratch(DType::Float32, rows * parts);
       Argument l = to.scratch(DType::Float32, rows * parts);
       Argument d = named("D", bound['D']), width = named("BLOCK_D", blockD(bound)),
                pageTokens = named("PAGE", bound['S']),
                blockN = named("BLOCK_N", config["BLOCK_N"]),
                precision = named("PRECISION", precisionName(bound.type(), call.precision)),
                kScale = named("k_scale_ptr", call.kScale),
                vScale = named("v_scale_ptr", call.vScale);
       if (Status status =
               to.launch(attendPrefix, config.options(),
                         {blocks(bound['B'] * group, config["BLOCK_R"]), keyHeads, shared},
                         {call.q,
                          call.kCache,
                          call.vCache,
                          call.prefix,
                          part,
                          m,
                          l,
                          bound['B'],
                          keyHeads,
                          group,
                          prefix,
                          tokens,
                          parts,
                          scale,
                          page,
                          call.q.strides()[0],
                          d,
                          width,
                          named("BLOCK_R", config["BLOCK_R"]),
                          pageTokens,
                          blockN,
                          precision,
                          kScale,
                          vScale});
           !status)
         return status;
       if (Status status =
               to.launch(attendRest, config.options(), {bound['B'], keyHeads, parts - shared},
                         {call.q,
                          call.kCache,
                          call.vCache,
                          call.table,
                          call.lengths,
                          part,
                          m,
                          l,
                          keyHeads,
                          group,
                          tokens,
                          shared,
                          parts,
                          scale,
                          page,
                          bound.rowStride[4],
                          call.q.strides()[0],
                          d,
                          width,
                          named("BLOCK_G", std::max<int64_t>(powerOfTwo(group), 16)),
                          pageTokens,
                          blockN,
                          precision,
                          kScale,
                          vScale});
           !status)
         return status;
       return to.launch(
           joinParts, {}, {rows},
           {part, m, l, call.out, parts, d, width, named("BLOCK_S", powerOfTwo(parts))});
     }},
};

constexpr SizeName prefixSizes[] = {{"tokens", 'B', SizeName::Count},
                                    {"tokens", 'L', SizeName::Largest},
                                    {"prefix", 'Y'},
                                    {"H", 'H'},
                                    {"KV", 'G'},
                                    {"D", 'D'},
                                    {"PAGE", 'S'}};

constexpr OperationRow pagedTable[] = {
    {Operation::AppendKv, "append_kv", "paged_attention", appendArguments, appendVariants,
     pagedSizes, "BGD", checkCaches<AppendKv>, verifyTable<AppendKv>},
    {Operation::StoreKv, "store_kv", "paged_attention", storeArguments, storeVariants, pagedSizes,
     "TGD", checkCaches<StoreKv>, verifySlots},
    {Operation::PagedAttention, "paged_attention", "paged_attention", pagedArguments, pagedVariants,
     pagedSizes, "BHD", checkCaches<PagedAttention>, verifyTable<PagedAttention>,
     agreesOnCache<PagedAttention>, argument<&PagedAttention::workspace>},
    {Operation::PagedPrefill, "paged_prefill", "paged_attention", prefillArguments, prefillVariants,
     prefillSizes, "BTHD", checkCaches<PagedPrefill>, verifyTable<PagedPrefill>,
     agreesOnCache<PagedPrefill>},
    {Operation::PagedSharedPrefix, "paged_shared_prefix", "paged_attention", prefixArguments,
     prefixVariants, prefixSizes, "BHD",
     [](Bound &bound) -> std::string {
       if (bound['X'] + bound['W'] == 0)
         return "`prefix` and `table` name no page";
       bound.bind('Y', bound['X'] * bound['S']);
       return checkCaches<PagedSharedPrefix>(bound);
     },
     [](const Bound &bound, const Stream &stream) {
       auto problem =
           verifyBelow("prefix", bound.as<PagedSharedPrefix>().prefix, bound['P'], stream);
       return problem && problem->empty() ? verifyTable<PagedSharedPrefix>(bound, stream) : problem;
     },
     agreesOnCache<PagedSharedPrefix>, argument<&PagedSharedPrefix::workspace>},
};

} // namespace

std::span<const OperationRow> pagedRows() { return pagedTable; }

} // namespace nereid::kernels
