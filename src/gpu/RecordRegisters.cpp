// device_print and device_assert: records in a buffer of the launch (support/LaunchAbi.h).
#include "gpu/RegisterModels.h"
#include "support/LaunchAbi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace nereid::gpu {

namespace {

// void nereid_record(context, site, operand | kind << 16, program, index, value): claims a slot and
// fills it in, the kind last.
LLVM::LLVMFuncOp recordFunction(RegisterEmitter &emitter, ModuleOp module) {
  if (auto found = module.lookupSymbol<LLVM::LLVMFuncOp>("nereid_record"))
    return found;
  OpBuilder &b = emitter.builder;
  OpBuilder::InsertionGuard guard(b);
  Location loc = module.getLoc(), outer = emitter.loc();
  emitter.setLocation(loc);
  b.setInsertionPointToStart(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(b.getContext(), 1), i32 = b.getI32Type(),
       i64 = b.getI64Type();
  auto function = b.create<LLVM::LLVMFuncOp>(
      loc, "nereid_record",
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                  {pointer, i32, i32, i64, i32, i64}),
      LLVM::Linkage::Internal);
  function->setAttr("passthrough", b.getArrayAttr({b.getStringAttr("noinline")}));
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  auto at = [&](Value base, size_t offset) -> Value {
    return b.create<LLVM::GEPOp>(loc, pointer, b.getI8Type(), base,
                                 ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  };
  Value records = b.create<LLVM::LoadOp>(
      loc, pointer, at(entry->getArgument(0), offsetof(support::GpuContext, records)));
  Value operandAndKind = entry->getArgument(2);
  Value kind = b.create<arith::ShRUIOp>(loc, operandAndKind, emitter.i32(16));
  Value isAssert = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, kind,
                                           emitter.i32(int(support::RecordKind::Assert)));
  emitter.assembly("@$1 red.relaxed.gpu.global.add.u32 [$0], 1;", "l,b", {},
                   {at(records, offsetof(support::RecordBuffer, failures)), isAssert}, false);
  Value slot = emitter.assembly("atom.relaxed.gpu.global.add.u64 $0, [$1], 1;", "=l,l", i64,
                                at(records, offsetof(support::RecordBuffer, claimed)), false);
  Value capacity =
      b.create<LLVM::LoadOp>(loc, i64, at(records, offsetof(support::RecordBuffer, capacity)));
  Value fits = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, slot, capacity);
  emitter.when(fits, [&] {
    Value offset = b.create<arith::MulIOp>(loc, slot, emitter.i64(sizeof(support::Record)));
    Value record = b.create<LLVM::GEPOp>(loc, pointer, b.getI8Type(),
                                         at(records, sizeof(support::RecordBuffer)), offset);
    auto store = [&](size_t field, Value value) {
      b.create<LLVM::StoreOp>(loc, value, at(record, field));
    };
    auto narrow = [&](Value value) {
      return b.create<arith::TruncIOp>(loc, b.getI16Type(), value);
    };
    store(offsetof(support::Record, site), entry->getArgument(1));
    store(offsetof(support::Record, operand), narrow(operandAndKind));
    store(offsetof(support::Record, program), entry->getArgument(3));
    store(offsetof(support::Record, value), entry->getArgument(5));
    store(offsetof(support::Record, index), entry->getArgument(4));
    store(offsetof(support::Record, reserved), emitter.i32(0));
    emitter.assembly("st.release.gpu.global.b16 [$0], $1;", "l,h", {},
                     {at(record, offsetof(support::Record, kind)), narrow(kind)}, false);
  });
  b.create<LLVM::ReturnOp>(loc, ValueRange{});
  emitter.setLocation(outer);
  return function;
}

void emitRecord(RegisterEmitter &emitter, uint32_t site, unsigned operand, support::RecordKind kind,
                Value index, Value value) {
  OpBuilder &b = emitter.builder;
  auto module = b.getBlock()->getParentOp()->getParentOfType<ModuleOp>();
  Type type = value.getType();
  unsigned width = isa<LLVM::LLVMPointerType>(type) ? 64 : type.getIntOrFloatBitWidth();
  Value bits = emitter.cast(value, b.getIntegerType(width));
  if (width < 64)
    bits = b.create<arith::ExtUIOp>(emitter.loc(), b.getI64Type(), bits);
  b.create<LLVM::CallOp>(emitter.loc(), recordFunction(emitter, module),
                         ValueRange{emitter.context, emitter.i32(site),
                                    emitter.i32(operand | uint32_t(kind) << 16),
                                    emitter.programIndex(), index, bits});
}

// Calls `body` for each register of a value with its row-major index, in one of the threads that
// hold the element.
void forEachElement(RegisterEmitter &emitter, Value value,
                    llvm::function_ref<void(unsigned, Value)> body) {
  if (!isa<RankedTensorType>(value.getType()))
    return emitter.when(emitter.isFirstThread(), [&] { body(0, emitter.i32(0)); });
  LinearLayout layout = layoutOf(value.getType());
  auto shape = tile::shapeOf(value.getType());
  emitter.when(emitter.isOwner(layout), [&] {
    for (unsigned reg = 0; reg < registersOf(layout); ++reg)
      body(reg, emitter.rowMajorIndex(layout, shape, reg));
  });
}

struct PrintRegisters : RegisterModel<PrintRegisters, tile::PrintOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    uint32_t site = emitter.recordSite(op, uint32_t(support::RecordKind::Print));
    auto values = cast<tile::PrintOp>(op).getValues();
    if (values.empty()) // a text alone, once a program
      emitter.when(emitter.isFirstThread(), [&] {
        emitRecord(emitter, site, 0, support::RecordKind::Print, emitter.i32(0), emitter.i64(0));
      });
    for (auto [i, value] : llvm::enumerate(values))
      forEachElement(emitter, value, [&, i = i, value = value](unsigned reg, Value index) {
        emitRecord(emitter, site, i, support::RecordKind::Print, index,
                   emitter.operand(value, reg + 1)[reg]);
      });
  }
};

struct AssertRegisters : RegisterModel<AssertRegisters, tile::AssertOp> {
  void emitRegisters(Operation *op, RegisterEmitter &emitter) const {
    auto check = cast<tile::AssertOp>(op);
    OpBuilder &b = emitter.builder;
    uint32_t site = emitter.recordSite(op, uint32_t(support::RecordKind::Assert));
    forEachElement(emitter, check.getCondition(), [&](unsigned reg, Value index) {
      Value fails = b.create<arith::XOrIOp>(emitter.loc(),
                                            emitter.operand(check.getCondition(), reg + 1)[reg],
                                            emitter.number(b.getI1Type(), 1));
      if (check.getMask())
        fails = emitter.both(fails, emitter.operand(check.getMask(), reg + 1)[reg]);
      emitter.when(fails, [&] {
        emitRecord(emitter, site, 0, support::RecordKind::Assert, index, emitter.i64(0));
      });
    });
  }
};

} // namespace

void registerRecordRegisters(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    tile::PrintOp::attachInterface<PrintRegisters>(*context);
    tile::AssertOp::attachInterface<AssertRegisters>(*context);
  });
}

} // namespace nereid::gpu
