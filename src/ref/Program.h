// A kernel decoded for the interpreter: where each value lies, and one closure an op.
//
// Decoding happens once a kernel. It gives every SSA value a slot in a frame (values that are not
// alive at the same time share bytes), chooses the typed loop of each op, and leaves a list of
// steps. A frame holds the values of one program; constants lie outside of it and are shared.
#pragma once

#include "ref/Interpreter.h"
#include "ref/Number.h"

#include "ir/TileOps.h"

#include "llvm/ADT/DenseMap.h"

#include <cstring>
#include <map>
#include <vector>

namespace nereid::ref {

class Machine;
class ValueWatch;
struct CheckFacts;
struct FrameCheck;

/// How an element is kept in a slot. i1 is a byte of 0 or 1.
enum class Storage : uint8_t {
  I1,
  I8,
  I16,
  I32,
  I64, ///< also addresses
  F16,
  BF16,
  F32,
  F64,
  E4M3FN,
  E5M2,
  E4M3FNUZ,
  E5M2FNUZ,
  E4M3B15,
  Descriptor, ///< a DescriptorValue
};
unsigned widthOf(Storage storage);

/// Where a value lies: `count` elements, contiguous and in row-major order.
struct Slot {
  uint32_t offset = 0; ///< in the frame, or among the constants
  uint32_t count = 0;
  Storage storage = Storage::I32;
  bool constant = false;
  size_t bytes() const { return size_t(count) * widthOf(storage); }
};

/// The value of a tensor descriptor.
struct DescriptorValue {
  static constexpr unsigned maxRank = 5;
  uint64_t base;
  int64_t shape[maxRank], strides[maxRank];
};

/// A straight run of steps; `places` has the location of each, as an index in the program.
struct Code {
  std::vector<Step> steps;
  std::vector<uint32_t> places;
};

class Program {
public:
  Options options;
  Code body;
  std::vector<Slot> arguments;
  std::vector<mlir::Type> argumentTypes;
  std::vector<mlir::Location> places;
  std::vector<std::byte> constants;
  size_t frameBytes = 0;
  std::shared_ptr<const CheckFacts> checkFacts; ///< null unless Options::check
};

/// The values of one program of the grid while it runs.
class Frame {
public:
  Frame(Machine &machine, const Program &program);
  Frame(const Frame &) = delete;

  template <typename T> T *data(const Slot &slot) {
    return reinterpret_cast<T *>(bases[slot.constant] + slot.offset);
  }
  template <typename T> T scalar(const Slot &slot) { return *data<T>(slot); }
  /// Copies all elements; the slots have one storage and count.
  void copy(const Slot &to, const Slot &from) {
    std::memcpy(data<std::byte>(to), data<std::byte>(from), to.bytes());
  }
  void run(const Code &code);
  /// Runs a step that only moves elements on other bytes than the frame's and the constants'.
  void runOn(std::byte *values, std::byte *constants, const Step &step);

  Machine &machine;
  const Program &program;
  std::array<uint32_t, 3> id{}; ///< the program's index in the grid
  uint64_t linearId = 0;        ///< x fastest
  uint32_t place = 0;           ///< of the step that runs
  // What a loop did since it was last looked at; a loop that only reads may wait for another
  // program.
  uint64_t writes = 0, reads = 0, syncReads = 0;
  FrameCheck *check = nullptr; ///< of the running program, if the launch is checked

private:
  std::unique_ptr<std::byte[]> storage;
  std::byte *bases[2];
};

/// Gives a frame's bytes to values and takes them back.
class SlotAllocator {
public:
  uint32_t allocate(size_t bytes);
  void release(uint32_t offset);
  size_t highWater() const { return end; }

private:
  std::map<uint32_t, size_t> used; ///< offset -> bytes
  std::map<uint32_t, size_t> free;
  size_t end = 0;
};

/// Builds a Program. Ops are asked through ReferenceOpInterface; what they throw reaches `prepare`.
class Decoder {
public:
  struct Unsupported {
    mlir::Location loc;
    std::string what, hint;
  };

  explicit Decoder(Program &program) : program(program) {}

  void decodeFunction(mlir::func::FuncOp kernel);

  // --- for the models of ops ---

  bool wide() const { return program.options.precision == Precision::Wide; }
  const Options &options() const { return program.options; }
  /// Scalars are this many lanes: inside a combine region that runs on whole slices.
  unsigned lanes() const { return laneCount; }

  Storage storageOf(mlir::Type type) const;
  /// How an element lies in memory: never widened.
  static Storage storageInMemory(mlir::Type type);
  static uint32_t countOf(mlir::Type type);

  /// The slot of an operand, which has been decoded before.
  Slot slot(mlir::Value value) const;
  /// The slot of a result or block argument; made on the first call.
  Slot define(mlir::Value value);
  /// Makes `value` another name of `source`'s bytes, read as `value`'s type.
  Slot alias(mlir::Value value, mlir::Value source);
  /// Bytes that live while the current op runs.
  Slot temporary(Storage storage, uint32_t count);
  /// A value known now, outside of the frame; the bytes start out zero.
  Slot constant(mlir::Value value, Storage storage, uint32_t count, std::byte *&bytes);

  /// The ops of a block without its terminator. Its arguments have been defined; `also` runs before
  /// the values of the block lose their slots, to decode what becomes of the terminator's operands.
  Code decode(mlir::Block &block, llvm::function_ref<void(Code &)> also = {});
  /// The same with scalars as `lanes` lanes; defines the block's arguments.
  Code decodeLanes(mlir::Block &block, unsigned lanes, llvm::function_ref<void(Code &)> also);
  /// A step that copies `from` to `to` all at once: no copy reads what another has written.
  Step copyAll(llvm::ArrayRef<Slot> to, llvm::ArrayRef<Slot> from);

  uint32_t place(mlir::Location loc);
  [[noreturn]] void unsupported(mlir::Operation *op, std::string what, std::string hint = {});

private:
  struct Bytes {
    uint32_t offset;
    unsigned names = 0; ///< values that share them
  };
  void decodeOp(mlir::Operation &op, Code &code);
  void forget(mlir::Value value);
  uint32_t acquire(size_t bytes);

  Program &program;
  std::shared_ptr<ValueWatch> watch; ///< null unless Options::check
  SlotAllocator allocator;
  llvm::DenseMap<mlir::Value, Slot> slots;
  llvm::DenseMap<uint32_t, unsigned> sharers; ///< frame offset -> values that name it
  std::vector<uint32_t> temporaries;
  llvm::DenseMap<mlir::Location, uint32_t> placeIndex;
  unsigned laneCount = 1;
};

/// Calls `f.template operator()<T>()` with the C++ type of a float storage. f8 included with
/// `WithF8`.
template <bool WithF8, typename F> auto dispatchFloat(Storage storage, F &&f) {
  if constexpr (WithF8) {
    switch (storage) {
    case Storage::E4M3FN:
      return f.template operator()<E4M3FN>();
    case Storage::E5M2:
      return f.template operator()<E5M2>();
    case Storage::E4M3FNUZ:
      return f.template operator()<E4M3FNUZ>();
    case Storage::E5M2FNUZ:
      return f.template operator()<E5M2FNUZ>();
    case Storage::E4M3B15:
      return f.template operator()<E4M3B15>();
    default:
      break;
    }
  }
  switch (storage) {
  case Storage::F16:
    return f.template operator()<F16>();
  case Storage::BF16:
    return f.template operator()<BF16>();
  case Storage::F64:
    return f.template operator()<double>();
  default:
    return f.template operator()<float>();
  }
}

/// An integer of `Bits` bits as it lies in a slot.
template <unsigned Bits> struct Int {
  using Unsigned = std::conditional_t<
      Bits <= 8, uint8_t,
      std::conditional_t<Bits == 16, uint16_t, std::conditional_t<Bits == 32, uint32_t, uint64_t>>>;
  static constexpr unsigned bits = Bits;
  static constexpr uint64_t mask = Bits == 64 ? ~uint64_t(0) : (uint64_t(1) << Bits) - 1;
  static uint64_t zext(Unsigned value) { return value; }
  static int64_t sext(Unsigned value) {
    return int64_t(uint64_t(value) << (64 - Bits)) >> (64 - Bits);
  }
  static Unsigned wrap(uint64_t value) { return Unsigned(value & mask); }
};

/// Calls `f.template operator()<Int<Bits>>()` for an integer storage.
template <typename F> auto dispatchInt(Storage storage, F &&f) {
  switch (storage) {
  case Storage::I1:
    return f.template operator()<Int<1>>();
  case Storage::I8:
    return f.template operator()<Int<8>>();
  case Storage::I16:
    return f.template operator()<Int<16>>();
  case Storage::I64:
    return f.template operator()<Int<64>>();
  default:
    return f.template operator()<Int<32>>();
  }
}

inline bool isFloat(Storage storage) {
  return storage >= Storage::F16 && storage <= Storage::E4M3B15;
}

/// Calls `f.template operator()<T>()` with an unsigned integer type as wide as the storage: for ops
/// that move elements without reading them.
template <typename F> auto dispatchWidth(Storage storage, F &&f) {
  switch (widthOf(storage)) {
  case 1:
    return f.template operator()<uint8_t>();
  case 2:
    return f.template operator()<uint16_t>();
  case 4:
    return f.template operator()<uint32_t>();
  default:
    return f.template operator()<uint64_t>();
  }
}

} // namespace nereid::ref
