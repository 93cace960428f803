#include "ref/Program.h"

#include "ref/CheckValues.h"
#include "ref/Machine.h"

#include <cstring>

using namespace mlir;

namespace nereid::ref {

unsigned widthOf(Storage storage) {
  switch (storage) {
  case Storage::I16:
  case Storage::F16:
  case Storage::BF16:
    return 2;
  case Storage::I32:
  case Storage::F32:
    return 4;
  case Storage::I64:
  case Storage::F64:
    return 8;
  case Storage::Descriptor:
    return sizeof(DescriptorValue);
  default:
    return 1;
  }
}

// --- frames ---

static constexpr size_t alignment = 64;

Frame::Frame(Machine &machine, const Program &program)
    : machine(machine), program(program), storage(new std::byte[program.frameBytes + alignment]) {
  auto address = reinterpret_cast<uintptr_t>(storage.get());
  bases[0] = storage.get() + (alignment - address % alignment) % alignment;
  // Steps never write constants.
  bases[1] = const_cast<std::byte *>(program.constants.data());
}

void Frame::run(const Code &code) {
  machine.charge(*this, code.steps.size());
  for (size_t i = 0; i < code.steps.size(); ++i) {
    place = code.places[i];
    code.steps[i](*this);
  }
}

void Frame::runOn(std::byte *values, std::byte *constants, const Step &step) {
  std::byte *own[2] = {std::exchange(bases[0], values), std::exchange(bases[1], constants)};
  step(*this);
  std::copy(own, own + 2, bases);
}

// --- slots ---

uint32_t SlotAllocator::allocate(size_t bytes) {
  bytes = (std::max<size_t>(bytes, 1) + alignment - 1) & ~(alignment - 1);
  for (auto it = free.begin(); it != free.end(); ++it) {
    auto [offset, size] = *it;
    if (size < bytes)
      continue;
    free.erase(it);
    if (size > bytes)
      free[offset + bytes] = size - bytes;
    used[offset] = bytes;
    return offset;
  }
  uint32_t offset = end;
  end += bytes;
  used[offset] = bytes;
  return offset;
}

void SlotAllocator::release(uint32_t offset) {
  auto entry = used.find(offset);
  size_t bytes = entry->second;
  used.erase(entry);
  auto after = free.lower_bound(offset);
  if (after != free.end() && after->first == offset + bytes) {
    bytes += after->second;
    after = free.erase(after);
  }
  if (after != free.begin()) {
    auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free[offset] = bytes;
}

Storage Decoder::storageInMemory(Type type) {
  Type element = tile::elementType(type);
  if (isa<tile::DescType>(element))
    return Storage::Descriptor;
  if (isa<tile::PtrType, IndexType>(element))
    return Storage::I64;
  if (auto integer = dyn_cast<IntegerType>(element)) {
    switch (integer.getWidth()) {
    case 1:
      return Storage::I1;
    case 8:
      return Storage::I8;
    case 16:
      return Storage::I16;
    case 32:
      return Storage::I32;
    default:
      return Storage::I64;
    }
  }
  if (element.isF16())
    return Storage::F16;
  if (element.isBF16())
    return Storage::BF16;
  if (element.isF64())
    return Storage::F64;
  if (element.isFloat8E4M3FN())
    return Storage::E4M3FN;
  if (element.isFloat8E5M2())
    return Storage::E5M2;
  if (element.isFloat8E4M3FNUZ())
    return Storage::E4M3FNUZ;
  if (element.isFloat8E5M2FNUZ())
    return Storage::E5M2FNUZ;
  if (element.isFloat8E4M3B11FNUZ())
    return Storage::E4M3B15;
  return Storage::F32;
}

Storage Decoder::storageOf(Type type) const {
  Storage storage = storageInMemory(type);
  return wide() && isFloat(storage) ? Storage::F64 : storage;
}

uint32_t Decoder::countOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getNumElements() : 1;
}

Slot Decoder::slot(Value value) const {
  auto it = slots.find(value);
  assert(it != slots.end() && "an operand is decoded before its use");
  return it->second;
}

uint32_t Decoder::acquire(size_t bytes) {
  uint32_t offset = allocator.allocate(bytes);
  sharers[offset] = 1;
  return offset;
}

Slot Decoder::define(Value value) {
  auto [it, isNew] = slots.try_emplace(value);
  if (!isNew)
    return it->second;
  Slot slot;
  slot.storage = storageOf(value.getType());
  slot.count = isa<RankedTensorType>(value.getType()) ? countOf(value.getType()) : laneCount;
  slot.offset = acquire(slot.bytes());
  it->second = slot;
  // The arguments of a region live as long as its op, whose loop may write them again.
  if (isa<BlockArgument>(value))
    temporaries.push_back(slot.offset);
  return slot;
}

Slot Decoder::alias(Value value, Value source) {
  Slot slot = this->slot(source);
  slot.storage = storageOf(value.getType());
  slots[value] = slot;
  if (!slot.constant)
    ++sharers[slot.offset];
  return slot;
}

Slot Decoder::temporary(Storage storage, uint32_t count) {
  Slot slot{0, count, storage, false};
  slot.offset = acquire(slot.bytes());
  temporaries.push_back(slot.offset);
  return slot;
}

Slot Decoder::constant(Value value, Storage storage, uint32_t count, std::byte *&bytes) {
  Slot slot{uint32_t(program.constants.size()), count, storage, true};
  program.constants.resize((slot.offset + slot.bytes() + alignment - 1) & ~(alignment - 1));
  bytes = program.constants.data() + slot.offset;
  slots[value] = slot;
  return slot;
}

void Decoder::forget(Value value) {
  auto it = slots.find(value);
  if (it == slots.end())
    return;
  Slot slot = it->second;
  slots.erase(it);
  if (!slot.constant && --sharers[slot.offset] == 0)
    allocator.release(slot.offset);
}

// --- blocks ---

uint32_t Decoder::place(Location loc) {
  auto [it, isNew] = placeIndex.try_emplace(loc, program.places.size());
  if (isNew)
    program.places.push_back(loc);
  return it->second;
}

void Decoder::unsupported(Operation *op, std::string what, std::string hint) {
  throw Unsupported{op->getLoc(), std::move(what), std::move(hint)};
}

void Decoder::decodeOp(Operation &op, Code &code) {
  auto model = dyn_cast<tile::ReferenceOpInterface>(op);
  if (!model)
    unsupported(&op, "`" + op.getName().getStringRef().str() + "` is not known to the interpreter");
  size_t mark = temporaries.size();
  if (Step step = model.decode(*this)) {
    if (watch)
      step = watch->watch(&op, std::move(step), *this);
    code.steps.push_back(std::move(step));
    code.places.push_back(place(op.getLoc()));
  }
  while (temporaries.size() > mark) {
    uint32_t offset = temporaries.back();
    temporaries.pop_back();
    if (--sharers[offset] == 0)
      allocator.release(offset);
  }
}

Code Decoder::decode(Block &block, llvm::function_ref<void(Code &)> also) {
  // The op of this block after which no one reads a value that the block defines.
  llvm::DenseMap<Operation *, SmallVector<Value>> dying;
  for (Operation &op : block)
    for (Value result : op.getResults()) {
      Operation *last = &op;
      for (Operation *user : result.getUsers()) {
        Operation *here = block.findAncestorOpInBlock(*user);
        if (here && last->isBeforeInBlock(here))
          last = here;
      }
      dying[last].push_back(result);
    }

  Code code;
  if (watch)
    if (Step step = watch->enter(block, *this)) {
      code.steps.push_back(std::move(step));
      code.places.push_back(place(block.getParentOp()->getLoc()));
    }
  for (Operation &op : block.without_terminator()) {
    decodeOp(op, code);
    for (Value value : dying[&op])
      forget(value);
  }
  if (also)
    also(code);
  for (Value value : dying[block.getTerminator()])
    forget(value);
  return code;
}

Code Decoder::decodeLanes(Block &block, unsigned lanes, llvm::function_ref<void(Code &)> also) {
  // Values from outside of the region are scalars; give each its lanes at the start.
  SmallVector<std::pair<Value, Slot>> outside;
  Code prologue;
  for (Operation &op : block)
    for (Value operand : op.getOperands()) {
      if (operand.getParentBlock() == &block || lanes == 1)
        continue;
      Slot one = slot(operand);
      if (one.count == lanes)
        continue;
      Slot all = temporary(one.storage, lanes);
      outside.emplace_back(operand, one);
      slots[operand] = all;
      prologue.steps.push_back([one, all](Frame &frame) {
        size_t width = widthOf(one.storage);
        auto *from = frame.data<std::byte>(one), *to = frame.data<std::byte>(all);
        for (uint32_t i = 0; i < all.count; ++i)
          std::memcpy(to + i * width, from, width);
      });
      prologue.places.push_back(place(op.getLoc()));
    }
  unsigned before = std::exchange(laneCount, lanes);
  for (BlockArgument argument : block.getArguments())
    define(argument);
  Code code = decode(block, also);
  laneCount = before;
  for (auto &[value, one] : outside)
    slots[value] = one;
  prologue.steps.insert(prologue.steps.end(), code.steps.begin(), code.steps.end());
  prologue.places.insert(prologue.places.end(), code.places.begin(), code.places.end());
  return prologue;
}

Step Decoder::copyAll(ArrayRef<Slot> to, ArrayRef<Slot> from) {
  // Where a source is another copy's target, it is saved first.
  std::vector<std::pair<Slot, Slot>> saves, copies;
  for (size_t i = 0; i < to.size(); ++i) {
    if (!from[i].constant && from[i].offset == to[i].offset)
      continue;
    Slot source = from[i];
    for (size_t j = 0; j < to.size(); ++j)
      if (j != i && !source.constant && to[j].offset == source.offset) {
        Slot saved = temporary(source.storage, source.count);
        saves.emplace_back(saved, source);
        source = saved;
        break;
      }
    copies.emplace_back(to[i], source);
  }
  if (copies.empty())
    return {};
  Step step = [saves, copies](Frame &frame) {
    for (auto &[target, source] : saves)
      frame.copy(target, source);
    for (auto &[target, source] : copies)
      frame.copy(target, source);
  };
  return watch ? ValueWatch::moving(std::move(step)) : step;
}

void Decoder::decodeFunction(func::FuncOp kernel) {
  if (!kernel.getBody().hasOneBlock())
    throw Unsupported{kernel.getLoc(), "a kernel has one block of structured control flow", {}};
  Block &entry = kernel.getBody().front();
  if (program.options.check) {
    watch = std::make_shared<ValueWatch>(kernel);
    program.checkFacts = watch->facts;
  }
  for (BlockArgument argument : entry.getArguments()) {
    program.arguments.push_back(define(argument));
    program.argumentTypes.push_back(argument.getType());
  }
  program.body = decode(entry);
  program.frameBytes = allocator.highWater();
}

} // namespace nereid::ref
