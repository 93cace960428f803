#include "gpu/EmitKernel.h"

#include "gpu/BulkCopies.h"
#include "gpu/RegisterEmitter.h"
#include "gpu/Rings.h"
#include "gpu/SharedOperand.h"
#include "ir/FloatOptions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "support/LaunchAbi.h"

using namespace mlir;

namespace nereid::gpu {

// The type in which the launch passes a value.
static Type parameterType(Type type) {
  return type.isInteger(1) ? IntegerType::get(type.getContext(), 8) : registerType(type);
}

EmittedKernel emitKernel(FunctionOpInterface kernel, const target::GpuChip &chip, unsigned warps) {
  MLIRContext *context = kernel.getContext();
  Location loc = kernel.getLoc();
  OpBuilder b(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  if (kernel->getParentOfType<ModuleOp>()->hasAttr(tile::noReflectFtzAttr))
    module->getOperation()->setAttr(tile::noReflectFtzAttr, b.getUnitAttr());
  b.setInsertionPointToStart(module->getBody());

  // Dynamic shared memory: the launch says how much there is. Swizzled operands start at a
  // multiple of 1024.
  b.create<LLVM::GlobalOp>(loc, LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/false,
                           LLVM::Linkage::External, "nereid_shared", Attribute(),
                           SharedOperand::alignment,
                           /*addrSpace=*/3);

  // One parameter a slot of the launch ABI: the fields of a descriptor (base, shape, strides) go by
  // value.
  SmallVector<Type> parameters;
  SmallVector<std::pair<unsigned, Type>> byValue;
  for (BlockArgument argument : kernel.getArguments()) {
    if (auto desc = dyn_cast<tile::DescType>(argument.getType())) {
      SmallVector<Type> fields = {LLVM::LLVMPointerType::get(context, 1)};
      fields.append(2 * desc.getBlockShape().size(), b.getI64Type());
      byValue.push_back(
          {unsigned(parameters.size()), LLVM::LLVMStructType::getLiteral(context, fields)});
      parameters.push_back(LLVM::LLVMPointerType::get(context));
    } else {
      parameters.push_back(parameterType(argument.getType()));
    }
  }
  parameters.push_back(LLVM::LLVMPointerType::get(context, 1)); // GpuContext
  std::vector<ParameterMap> maps;
  std::vector<TensorMap> madeMaps;
  for (TensorMap &map : tensorMapsOf(kernel)) {
    if (auto argument = dyn_cast<BlockArgument>(map.desc))
      maps.push_back({argument.getArgNumber(), map.box, map.swizzle});
    else
      madeMaps.push_back(map);
  }
  llvm::sort(maps, [](auto &a, auto &b) { return a.argument < b.argument; });
  auto mapType = LLVM::LLVMArrayType::get(b.getI8Type(), support::tensorMapBytes);
  const unsigned firstMap = parameters.size();
  parameters.append(maps.size(), LLVM::LLVMPointerType::get(context));
  auto function = b.create<LLVM::LLVMFuncOp>(
      loc, kernel.getName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), parameters));
  for (auto [index, type] : byValue) {
    function.setArgAttr(index, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(type));
    function.setArgAttr(index, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(8));
  }
  // The copy engine reads a map where the launch put it.
  for (unsigned i = firstMap; i < parameters.size(); ++i) {
    function.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(mapType));
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(64));
    function.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
  }
  function->setAttr("nvvm.kernel", b.getUnitAttr());
  function->setAttr("nvvm.reqntid", b.getDenseI32ArrayAttr({int32_t(warps * lanesPerWarp), 1, 1}));
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToEnd(entry);

  analysis::AxisAnalysis axes(kernel);
  RegisterEmitter emitter(b, axes, chip, warps);
  emitter.setLocation(loc);
  emitter.takesTurns =
      kernel->walk([](OpenTurnsOp) { return WalkResult::interrupt(); }).wasInterrupted();
  for (BlockArgument argument : kernel.getArguments()) {
    Value value = entry->getArgument(argument.getArgNumber());
    if (isa<tile::DescType>(argument.getType())) {
      auto type = cast<LLVM::LLVMStructType>(
          function
              .getArgAttrOfType<TypeAttr>(argument.getArgNumber(),
                                          LLVM::LLVMDialect::getByValAttrName())
              .getValue());
      SmallVector<Value> fields;
      for (auto [at, field] : llvm::enumerate(type.getBody())) {
        Value place = b.create<LLVM::GEPOp>(loc, value.getType(), type, value,
                                            ArrayRef<LLVM::GEPArg>{0, int32_t(at)});
        fields.push_back(b.create<LLVM::LoadOp>(loc, field, place));
      }
      emitter.setDescriptor(argument, std::move(fields));
      continue;
    }
    if (argument.getType().isInteger(1))
      value = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, value,
                                      emitter.number(b.getI8Type(), 0));
    emitter.setScalar(argument, value);
  }
  emitter.context = entry->getArgument(firstMap - 1);
  emitter.thread = b.create<NVVM::ThreadIdXOp>(loc, b.getI32Type());
  emitter.lane = b.create<arith::AndIOp>(loc, emitter.thread, emitter.i32(lanesPerWarp - 1));
  emitter.warp = b.create<arith::ShRUIOp>(loc, emitter.thread, emitter.i32(5));
  emitter.hasWarpGroups =
      kernel
          ->walk([](tile::DotOp dot) {
            return isWgmma(dot) ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
  // The shuffle is not for kernels that don't want it: nobody drops it.
  emitter.uniformWarp = emitter.hasWarpGroups ? emitter.uniform(emitter.warp) : emitter.warp;
  for (auto [i, map] : llvm::enumerate(maps)) {
    Value address = entry->getArgument(firstMap + i);
    emitter.setTensorMap(kernel.getArgument(map.argument), address);
    emitter.assembly("@$1 prefetch.tensormap [$0];", "l,b,~{memory}", {},
                     {address, emitter.isFirstThread()}, false);
  }

  EmittedKernel out;
  // Maps that the kernel writes lie one behind the other in the scratch memory of the program.
  out.scratchBytes = madeMaps.size() * support::tensorMapBytes;
  if (!madeMaps.empty()) {
    Type pointer = LLVM::LLVMPointerType::get(context, 1);
    Value scratch = b.create<LLVM::LoadOp>(loc, pointer, emitter.context);
    static_assert(offsetof(support::GpuContext, scratch) == 0);
    Value offset = b.create<arith::MulIOp>(loc, emitter.programIndex(),
                                           emitter.i64(int64_t(out.scratchBytes)));
    for (auto [i, map] : llvm::enumerate(madeMaps)) {
      Value own = emitter.add(offset, emitter.i64(int64_t(i * support::tensorMapBytes)));
      emitter.setTensorMap(map.desc,
                           b.create<LLVM::GEPOp>(loc, pointer, b.getI8Type(), scratch, own));
    }
  }
  emitter.madeMaps = madeMaps;
  // A store of one step is waited for in the next.
  kernel->walk([&](Operation *op) {
    emitter.mayStillBeRead |=
        op->hasAttr(bulkStoreAttr) && !isa<FunctionOpInterface>(op->getParentOp());
  });

  emitter.emit(kernel.getFunctionBody().front());
  emitter.waitForStores();
  b.create<LLVM::ReturnOp>(loc, ValueRange{});

  emitter.finishKept();
  out.sharedBytes = emitter.sharedBytes();
  out.kept = emitter.kept;
  out.sharedBuffers.assign(emitter.sharedBuffers().begin(), emitter.sharedBuffers().end());
  out.sites.assign(emitter.recordSites().begin(), emitter.recordSites().end());
  out.maps = std::move(maps);
  out.accesses = std::move(emitter.accesses);
  if (!emitter.failed())
    out.module = std::move(module);
  return out;
}

} // namespace nereid::gpu
