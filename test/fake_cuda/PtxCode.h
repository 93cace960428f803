// A kernel's PTX as the parser leaves it for the machine.
#pragma once

#include "PtxMachine.h"

#include <map>
#include <memory>
#include <vector>

namespace ptx {

// clang-format off
#define NEREID_PTX_OPS(X) \
  X(abs) X(activemask) X(add) X(and) X(atom) X(bar) X(barrier) X(bfe) X(bfi) X(bfind) \
  X(bra) X(brev) X(clz) X(copysign) X(cos) X(cp) X(createpolicy) X(cvt) X(cvta) X(div) X(dp4a) X(ex2) X(exit) \
  X(fence) X(fma) X(griddepcontrol) X(ld) X(ldmatrix) X(lg2) X(lop3) X(mad) X(mad24) X(max) \
  X(mbarrier) X(membar) X(min) X(mma) X(mov) X(mul) X(mul24) X(nanosleep) X(neg) X(not) X(or) X(popc) X(prefetch) X(prmt) \
  X(rcp) X(red) X(redux) X(rem) X(ret) X(rsqrt) X(selp) X(set) X(setp) X(shf) X(shfl) \
  X(shl) X(shr) X(sin) X(sqrt) X(st) X(stmatrix) X(sub) X(tanh) X(tensormap) X(trap) \
  X(vote) X(wgmma) X(xor)
// clang-format on

enum class Op : uint8_t {
#define NEREID_PTX_OP(one) one##_,
  NEREID_PTX_OPS(NEREID_PTX_OP)
#undef NEREID_PTX_OP
      unknown_,
};
Op opOf(std::string_view name);

enum class Kind {
  Pred,
  Bits,
  Unsigned,
  Signed,
  Half,
  Brain,
  Float,
  HalfPair,
  BrainPair,
  E4M3,
  E5M2,
  E4M3Pair,
  E5M2Pair,
};
struct Type {
  Kind kind = Kind::Bits;
  unsigned bytes = 4;
  bool isFloat() const { return kind >= Kind::Half; }
};

struct Fault {
  std::string text;
};
[[noreturn]] void fail(const std::string &text);

struct Operand {
  enum { Register, Constant, Special, Parameter, Local, Label, List } kind = Register;
  unsigned index = 0;     // of a register or parameter
  int second = -1;        // the register behind `|`
  bool isNegated = false; // `!p`
  bool isAddress = false;
  bool isFloat = false; // a constant, as bits
  uint64_t bits = 0;
  int64_t offset = 0;
  std::string name;          // of a special register
  std::vector<Operand> list; // of an address: coordinates behind it
};

struct Instruction {
  std::string name, full;         // `ld` of `ld.global.b32`, and all of it
  std::vector<std::string> words; // what is no type
  std::vector<Type> types;
  std::vector<Operand> operands;
  int predicate = -1;
  bool negated = false;
  Op op = Op::unknown_;
  // Words that are asked for often.
  char rounding = 'n'; // to nearest, `z`ero, `m`inus or `p`lus infinity
  bool isShared = false, isWide = false, isHi = false, isFtz = false, isSat = false, isNaN = false,
       isWarp = false, isRelu = false, isXorSign = false;
  size_t target = 0;
  unsigned m = 0, n = 0, k = 0; // of a product
  unsigned line = 0;            // of the source, 0 if that is not known

  bool has(std::string_view word) const {
    for (const std::string &one : words)
      if (one == word)
        return true;
    return false;
  }
};

struct Parameter {
  std::string name;
  size_t bytes = 0, align = 0;
};

// A variable of the module, with the values that it starts from.
struct Global {
  std::unique_ptr<uint64_t[]> memory;
  size_t bytes = 0;
};

struct Kernel {
  std::vector<Parameter> parameters;
  std::vector<Instruction> code;
  std::map<std::string, uint64_t> symbols; // places in shared memory, and of variables
  std::map<std::string, Global> globals;
  unsigned registers = 0;
  unsigned localBytes = 0;    // of a thread
  bool hasProducts = false;   // wgmma
  bool hasBulkCopies = false; // of tensors
};

} // namespace ptx
