#include "PtxCode.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace ptx {

namespace {

const std::map<std::string, Type, std::less<>> types = {
    {"pred", {Kind::Pred, 1}},        {"b8", {Kind::Bits, 1}},
    {"b16", {Kind::Bits, 2}},         {"b32", {Kind::Bits, 4}},
    {"b64", {Kind::Bits, 8}},         {"u8", {Kind::Unsigned, 1}},
    {"u16", {Kind::Unsigned, 2}},     {"u32", {Kind::Unsigned, 4}},
    {"u64", {Kind::Unsigned, 8}},     {"s8", {Kind::Signed, 1}},
    {"s16", {Kind::Signed, 2}},       {"s32", {Kind::Signed, 4}},
    {"s64", {Kind::Signed, 8}},       {"f16", {Kind::Half, 2}},
    {"bf16", {Kind::Brain, 2}},       {"f32", {Kind::Float, 4}},
    {"f64", {Kind::Float, 8}},        {"f16x2", {Kind::HalfPair, 4}},
    {"bf16x2", {Kind::BrainPair, 4}}, {"tf32", {Kind::Float, 4}},
    {"e4m3", {Kind::E4M3, 1}},        {"e5m2", {Kind::E5M2, 1}},
    {"e4m3x2", {Kind::E4M3Pair, 2}},  {"e5m2x2", {Kind::E5M2Pair, 2}},
};

// The words that the machine acts on, or that change nothing that it models, by instruction.
const std::map<std::string, std::string, std::less<>> known = {
    {"abs", "ftz"},
    {"activemask", ""},
    {"add", "rn rz rm rp ftz sat"},
    {"and", ""},
    {"atom", "global shared shared::cta relaxed acquire release acq_rel cta gpu sys noftz "
             "add min max and or xor exch cas"},
    {"bar", "sync arrive warp"},
    {"barrier", "cta sync arrive aligned"},
    {"bfe", ""},
    {"bfi", ""},
    {"bra", "uni"},
    {"brev", ""},
    {"clz", ""},
    {"copysign", ""},
    {"cos", "approx ftz"},
    {"cp",
     "async ca cg shared shared::cta global commit_group wait_group wait_all "
     "L2::64B L2::128B L2::256B L2::cache_hint bulk tensor 1d 2d 3d 4d 5d tile shared::cluster "
     "mbarrier::complete_tx::bytes bulk_group read reduce add min max and or xor"},
    {"createpolicy", "fractional L2::evict_first L2::evict_last L2::evict_normal"},
    {"cvt", "rn rz rm rp rni rzi rmi rpi rna ftz sat relu satfinite"},
    {"cvta", "to global shared local param"},
    {"div", "rn rz rm rp approx full ftz"},
    {"dp4a", ""},
    {"ex2", "approx ftz"},
    {"exit", ""},
    {"fence", "sc acq_rel cta gpu sys cluster proxy async global shared::cta mbarrier_init release "
              "acquire tensormap::generic"},
    {"fma", "rn rz rm rp ftz sat relu"},
    {"griddepcontrol", "wait launch_dependents"},
    {"ld",
     "global const shared shared::cta local param relaxed acquire volatile weak cta gpu sys nc ca "
     "cg cs lu "
     "cv v2 v4 v8 L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last "
     "L1::no_allocate L2::evict_normal L2::evict_first L2::evict_last L2::cache_hint "
     "L2::64B L2::128B L2::256B"},
    {"ldmatrix", "sync aligned m8n8 x1 x2 x4 trans shared shared::cta"},
    {"lg2", "approx ftz"},
    {"lop3", ""},
    {"mad", "lo hi wide rn rz rm rp ftz sat"},
    {"mad24", "lo hi sat"},
    {"max", "ftz NaN xorsign abs"},
    {"mbarrier", "init inval arrive expect_tx try_wait parity shared shared::cta release acquire "
                 "relaxed cta"},
    {"membar", "cta gl sys"},
    {"min", "ftz NaN xorsign abs"},
    {"mma", "sync aligned row col m8n8k4 m16n8k4 m16n8k8 m16n8k16 m16n8k32"},
    {"mov", ""},
    {"mul", "lo hi wide rn rz rm rp ftz sat"},
    {"mul24", "lo hi"},
    {"nanosleep", ""},
    {"neg", "ftz"},
    {"not", ""},
    {"or", ""},
    {"popc", ""},
    {"prefetch", "tensormap"},
    {"prmt", ""},
    {"rcp", "rn rz rm rp approx ftz"},
    {"red", "global shared shared::cta relaxed release cta gpu sys noftz add min max and or xor "
            "v2 v4 v8"},
    {"redux", "sync add min max and or xor"},
    {"rem", ""},
    {"ret", "uni"},
    {"rsqrt", "approx ftz"},
    {"selp", ""},
    {"setp", "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan and or xor ftz"},
    {"shf", "l r wrap clamp"},
    {"shfl", "sync up down bfly idx"},
    {"shl", ""},
    {"shr", ""},
    {"sin", "approx ftz"},
    {"sqrt", "rn rz rm rp approx ftz"},
    {"st", "global shared shared::cta local relaxed release volatile weak cta gpu sys wb cg cs wt "
           "v2 v4 v8 L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last "
           "L1::no_allocate L2::evict_normal L2::evict_first L2::evict_last L2::cache_hint"},
    {"stmatrix", "sync aligned m8n8 x1 x2 x4 trans shared shared::cta"},
    {"sub", "rn rz rm rp ftz sat"},
    {"tanh", "approx"},
    {"tensormap", "replace tile global_address rank box_dim global_dim global_stride "
                  "element_stride elemtype interleave_layout swizzle_mode fill_mode b1024 "
                  "cp_fenceproxy global shared::cta tensormap::generic release gpu sync aligned"},
    {"trap", ""},
    {"vote", "sync all any ballot"},
    {"wgmma", "fence commit_group wait_group mma_async sync aligned"},
    {"xor", ""},
};

bool isOneOf(std::string_view word, std::string_view words) {
  while (!words.empty()) {
    size_t space = std::min(words.find(' '), words.size());
    if (words.substr(0, space) == word)
      return true;
    words.remove_prefix(std::min(space + 1, words.size()));
  }
  return false;
}

// What of an instruction the machine does not do; empty if nothing is.
std::string unknownOf(const Instruction &one) {
  auto words = known.find(one.name);
  if (one.op == Op::unknown_ || words == known.end())
    return one.name;
  for (const std::string &word : one.words)
    if (!isOneOf(word, words->second) && !(one.op == Op::wgmma_ && one.n))
      return "." + word;
  size_t types = one.op == Op::cvt_                          ? 2
                 : one.op == Op::mma_                        ? 4
                 : one.op == Op::dp4a_                       ? 2
                 : one.op == Op::wgmma_ && one.n             ? 3
                 : one.types.empty() || one.op == Op::fence_ ? one.types.size()
                                                             : 1;
  if (one.types.size() != types)
    return "its types";
  if (one.types.empty())
    return {};
  Type type = one.types[0];
  bool isNarrow = type.isFloat() && type.kind != Kind::Float, isWhole = !type.isFloat();
  if (one.op == Op::cvt_) {
    if ((one.full.find(".tf32") != std::string::npos) != one.has("rna"))
      return "such a rounding to tf32";
    if (one.isRelu && isWhole)
      return ".relu of whole numbers";
    auto isBytes = [](Type type) { return type.kind >= Kind::E4M3; };
    if (one.has("satfinite") != isBytes(type) ||
        (isBytes(one.types[1]) && type.kind != Kind::HalfPair))
      return "such a conversion";
    return {};
  }
  if (one.rounding != 'n' && isNarrow)
    return "such a rounding of narrow floats";
  if (one.isRelu && (isWhole || !isNarrow))
    return ".relu";
  bool isShort = one.op == Op::mul24_ || one.op == Op::mad24_;
  if (isWhole && (isShort || one.op == Op::mul_ || one.op == Op::mad_)) {
    if (one.isHi + one.isWide + one.has("lo") != 1)
      return "neither or several of .lo, .hi and .wide";
    if (isShort && (type.bytes != 4 || type.kind == Kind::Bits))
      return "its types";
  }
  bool saturates = one.op == Op::add_ || one.op == Op::sub_ ||
                   ((one.op == Op::mad_ || one.op == Op::mad24_) && one.isHi);
  if (one.isSat && isWhole && (type.kind != Kind::Signed || type.bytes != 4 || !saturates))
    return ".sat";
  if (one.isXorSign != one.has("abs"))
    return one.isXorSign ? ".xorsign" : ".abs";
  return {};
}

class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  std::shared_ptr<const Kernel> parse(std::string &problem) {
    kernel = std::make_shared<Kernel>();
    while (problem.empty()) {
      blanks();
      if (at == text.size())
        break;
      statement(problem);
    }
    for (auto &[index, names] : jumps) {
      auto found = labels.end();
      for (const std::string &name : names) // of the innermost block that has it
        if (found == labels.end())
          found = labels.find(name);
      if (!problem.empty())
        break;
      if (found == labels.end())
        problem = "the model does not know the label " + names.back();
      else
        kernel->code[index].target = found->second;
    }
    return problem.empty() ? kernel : nullptr;
  }

private:
  void blanks() {
    while (at < text.size()) {
      if (std::isspace(static_cast<unsigned char>(text[at])))
        ++at;
      else if (text.substr(at).starts_with("//"))
        at = std::min(text.find('\n', at), text.size());
      else
        break;
    }
  }
  bool take(char wanted) {
    blanks();
    if (at == text.size() || text[at] != wanted)
      return false;
    ++at;
    return true;
  }
  static bool isWord(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("_$%.", c);
  }
  std::string word() {
    blanks();
    size_t start = at;
    while (at < text.size() && (isWord(text[at]) || (text.substr(at).starts_with("::") && ++at)))
      ++at;
    return std::string(text.substr(start, at - start));
  }
  void skipTo(char end) {
    at = std::min(text.find(end, at), text.size());
    at += at < text.size();
  }

  void statement(std::string &problem) {
    if (take('{')) {
      if (opened) {
        scopes.emplace_back();
        numbers.push_back(++lastScope);
      }
      opened = true;
      return;
    }
    if (take('}')) {
      if (!scopes.empty())
        scopes.pop_back(), numbers.pop_back();
      else
        at = text.size(); // the kernel's end: what follows is for debuggers
      return;
    }
    if (take(';'))
      return;
    if (text[at] == '.')
      return directive(problem);
    Instruction made;
    if (take('@')) {
      made.negated = take('!');
      made.predicate = int(registerOf(word()));
    }
    std::string first = word();
    if (first.empty()) {
      problem = "cannot read `" + std::string(text.substr(at, 40)) + "`";
      return;
    }
    if (take(':')) {
      labels[nameInScope(first, scopes.size())] = kernel->code.size();
      return;
    }
    made.line = line;
    split(first, made, problem);
    while (problem.empty() && !take(';')) {
      take(',');
      made.operands.push_back(operand(made, problem));
    }
    kernel->code.push_back(std::move(made));
  }

  void directive(std::string &problem) {
    std::string name = word();
    if (name == ".reg") {
      word();
      do {
        std::string base = word();
        if (take('<'))
          skipTo('>');
        else if (!scopes.empty())
          scopes.back()[base] = kernel->registers++;
      } while (take(','));
      skipTo(';');
    } else if (name == ".version" || name == ".target" || name == ".address_size" ||
               name == ".file") {
      skipTo('\n');
    } else if (name == ".loc") {
      word(); // the file
      line = unsigned(std::strtoul(word().c_str(), nullptr, 10));
      skipTo('\n');
    } else if (name == ".local") {
      std::string declared(text.substr(at, text.find(';', at) - at));
      skipTo(';');
      size_t space = declared.find_last_of(" \t"), bracket = declared.find('[');
      kernel->localBytes = (kernel->localBytes + 15) / 16 * 16;
      locals[declared.substr(space + 1, bracket - space - 1)] = kernel->localBytes;
      kernel->localBytes += unsigned(std::strtoul(declared.c_str() + bracket + 1, nullptr, 10));
    } else if (name == ".extern" || name == ".shared") {
      std::string line(text.substr(at, text.find(';', at) - at));
      skipTo(';');
      size_t space = line.find_last_of(" \t"), bracket = line.find('[');
      kernel->symbols[line.substr(space + 1, bracket - space - 1)] = 0;
    } else if (name == ".global" || name == ".const") {
      global(problem);
    } else if (name == ".visible" || name == ".entry") {
      if (blanks(), text.substr(at).starts_with(".global") || text.substr(at).starts_with(".const"))
        return;
      skipTo('(');
      while (!take(')')) {
        word(); // .param
        std::string type = word();
        Parameter made;
        if (type == ".align") {
          made.align = std::stoul(word());
          type = word();
        }
        auto found = types.find(type.substr(1));
        if (found == types.end()) {
          problem = "parameter of type " + type;
          return;
        }
        made.bytes = found->second.bytes;
        made.align = std::max<size_t>(made.align, made.bytes);
        made.name = word();
        if (take('[')) {
          made.bytes = std::stoul(word());
          skipTo(']');
        }
        kernel->parameters.push_back(made);
        take(',');
      }
    } else if (name == ".reqntid" || name == ".maxntid" || name == ".minnctapersm" ||
               name == ".maxnreg") {
      skipTo('\n');
    } else if (name == ".section") {
      at = text.size();
    } else {
      problem = "the model does not know the directive " + name;
    }
  }

  // `.align 4 .u32 name[2] = {3, 4};`, where alignment, extent and values may be missing.
  void global(std::string &problem) {
    std::string type = word();
    if (type == ".align")
      word(), type = word();
    auto found = types.find(type.substr(1));
    std::string name = word();
    if (found == types.end() || !found->second.bytes)
      return void(problem = "the variable `" + name + "` of type " + type);
    size_t element = found->second.bytes, count = 1;
    if (take('['))
      count = std::stoul(word()), skipTo(']');
    Global made{std::make_unique<uint64_t[]>((count * element + 7) / 8), count * element};
    auto *to = reinterpret_cast<uint8_t *>(made.memory.get());
    if (take('=')) {
      bool isList = take('{');
      for (size_t i = 0; i == 0 || (isList && take(',')); ++i) {
        bool isMinus = take('-');
        std::string value = word();
        if (i == count || value.empty() || !std::isdigit(static_cast<unsigned char>(value[0])) ||
            value.starts_with("0f") || value.starts_with("0d"))
          return void(problem = "the value `" + value + "` of the variable `" + name + "`");
        uint64_t bits = std::strtoull(value.c_str(), nullptr, 0) * (isMinus ? -1 : 1);
        std::memcpy(to + i * element, &bits, element);
      }
    }
    skipTo(';');
    kernel->symbols[name] = reinterpret_cast<uintptr_t>(to);
    kernel->globals[name] = std::move(made);
  }

  void split(const std::string &text, Instruction &made, std::string &problem) {
    size_t from = 0;
    std::vector<std::string> parts;
    while (from <= text.size()) {
      size_t dot = std::min(text.find('.', from), text.size());
      parts.push_back(text.substr(from, dot - from));
      from = dot + 1;
    }
    made.name = parts[0];
    for (size_t i = 1; i < parts.size(); ++i) {
      if (auto found = types.find(parts[i]); found != types.end())
        made.types.push_back(found->second);
      else
        made.words.push_back(parts[i]);
    }
    made.full = text;
    made.op = opOf(made.name);
    if (made.op == Op::mma_ || made.op == Op::wgmma_)
      for (const std::string &one : made.words)
        std::sscanf(one.c_str(), "m%un%uk%u", &made.m, &made.n, &made.k);
    kernel->hasProducts |= made.op == Op::wgmma_;
    kernel->hasBulkCopies |= made.op == Op::cp_ && made.has("tensor");
    made.isShared = made.has("shared") || made.has("shared::cta");
    made.isWide = made.has("wide");
    made.isHi = made.has("hi");
    made.isFtz = made.has("ftz");
    made.isSat = made.has("sat");
    made.isNaN = made.has("NaN");
    made.isWarp = made.has("warp");
    made.isRelu = made.has("relu");
    made.isXorSign = made.has("xorsign");
    made.rounding = made.has("rz") ? 'z' : made.has("rm") ? 'm' : made.has("rp") ? 'p' : 'n';
    if (std::string unknown = unknownOf(made); !unknown.empty())
      problem = "the model does not know " +
                (unknown == made.name ? "`" + text + "`" : unknown + " of `" + text + "`");
  }

  unsigned registerOf(const std::string &name) {
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
      if (auto found = scope->find(name); found != scope->end())
        return found->second;
    auto [found, isNew] = names.try_emplace(name, kernel->registers);
    kernel->registers += isNew;
    return found->second;
  }

  Operand operand(const Instruction &of, std::string &problem) {
    Operand out;
    blanks();
    if (take('[')) {
      out = operand(of, problem);
      out.isAddress = true;
      bool isBehind = take('+'), isBefore = take('-'); // or both: `+-16`
      if (isBehind || isBefore)
        out.offset = (isBefore ? -1 : 1) * std::strtoll(word().c_str(), nullptr, 0);
      if (take(',') && (blanks(), text[at] != ']'))
        out.list.push_back(operand(of, problem)); // coordinates
      if (!take(']'))
        problem = "address of `" + of.full + "`";
      return out;
    }
    if (take('{')) {
      out.kind = Operand::List;
      do
        out.list.push_back(operand(of, problem));
      while (take(','));
      if (!take('}'))
        problem = "list of `" + of.full + "`";
      return out;
    }
    bool isNegated = take('!'), isMinus = !isNegated && take('-');
    std::string name = word();
    if (name.empty()) {
      problem = "operand of `" + of.full + "` at `" + std::string(text.substr(at, 30)) + "`";
      return out;
    }
    if (std::isdigit(static_cast<unsigned char>(name[0]))) {
      out.kind = Operand::Constant;
      if (name.starts_with("0f") || name.starts_with("0F") || name.starts_with("0d") ||
          name.starts_with("0D")) {
        out.bits = std::strtoull(name.c_str() + 2, nullptr, 16);
        out.isFloat = true;
      } else {
        if (name.back() == 'U')
          name.pop_back();
        out.bits = std::strtoull(name.c_str(), nullptr, 0);
      }
      if (isMinus)
        out.bits = -out.bits;
      return out;
    }
    if (name == "%tid.x" || name == "%tid.y" || name == "%tid.z" || name == "%laneid" ||
        name == "%warpid" || name.starts_with("%ctaid.") || name.starts_with("%nctaid.") ||
        name.starts_with("%ntid.") || name == "%clock" || name == "%clock64" ||
        name == "%globaltimer" || name == "%smid" || name == "%dynamic_smem_size") {
      out.kind = Operand::Special;
      out.name = name;
      return out;
    }
    bool isLocal = !scopes.empty() && registerOfScope(name);
    if (name[0] == '%' || isLocal || name == "_") {
      out.kind = Operand::Register;
      out.index = registerOf(name);
      out.isNegated = isNegated;
      if (take('|'))
        out.second = int(registerOf(word()));
      return out;
    }
    for (const Parameter &parameter : kernel->parameters)
      if (parameter.name == name) {
        out.kind = Operand::Parameter;
        out.index = unsigned(&parameter - kernel->parameters.data());
        return out;
      }
    if (auto found = kernel->symbols.find(name); found != kernel->symbols.end()) {
      out.kind = Operand::Constant;
      out.bits = found->second;
      return out;
    }
    if (auto found = locals.find(name); found != locals.end()) {
      out.kind = Operand::Local;
      out.bits = found->second;
      return out;
    }
    out.kind = Operand::Label;
    std::vector<std::string> scoped;
    for (size_t depth = scopes.size() + 1; depth-- > 0;)
      scoped.push_back(nameInScope(name, depth));
    jumps.emplace_back(kernel->code.size(), std::move(scoped));
    return out;
  }
  // A label of inline assembly is one of its block.
  std::string nameInScope(const std::string &name, size_t depth) const {
    return depth ? name + "@" + std::to_string(numbers[depth - 1]) : name;
  }
  bool registerOfScope(const std::string &name) const {
    for (const auto &scope : scopes)
      if (scope.contains(name))
        return true;
    return false;
  }

  std::string_view text;
  size_t at = 0;
  bool opened = false;
  std::shared_ptr<Kernel> kernel;
  std::map<std::string, size_t> labels;
  std::map<std::string, unsigned> names;
  std::vector<std::map<std::string, unsigned>> scopes; // of inline assembly
  std::vector<unsigned> numbers;                       // of the scopes
  unsigned lastScope = 0, line = 0;
  std::map<std::string, unsigned> locals;
  std::vector<std::pair<size_t, std::vector<std::string>>> jumps;
};

} // namespace

std::shared_ptr<const Kernel> parse(std::string_view text, std::string &problem) {
  problem.clear();
  return Parser(text).parse(problem);
}

} // namespace ptx
