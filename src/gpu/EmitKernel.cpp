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

namespace {

// What the launch passes: one parameter a slot of the launch ABI, the context, the tensor maps.
struct Parameters {
  SmallVector<Type> types;
  // The fields of a descriptor (base, shape, strides) go by value.
  SmallVector<std::pair<unsigned, LLVM::LLVMStructType>> descriptors;
  unsigned context = 0, firstMap = 0; // their places
};

Parameters parametersOf(FunctionOpInterface kernel, size_t maps) {
  MLIRContext *context = kernel.getContext();
  Parameters out;
  for (BlockArgument argument : kernel.getArguments()) {
    if (auto desc = dyn_cast<tile::DescType>(argument.getType())) {
      SmallVector<Type> fields = {LLVM::LLVMPointerType::get(context, 1)};
      fields.append(2 * desc.getBlockShape().size(), IntegerType::get(context, 64));
      out.descriptors.push_back(
          {unsigned(out.types.size()), LLVM::LLVMStructType::getLiteral(context, fields)});
      out.types.push_back(LLVM::LLVMPointerType::get(context));
    } else {
      out.types.push_back(memoryType(argument.getType()));
    }
  }
  out.context = out.types.size();
  out.types.push_back(LLVM::LLVMPointerType::get(context, 1)); // GpuContext
  out.firstMap = out.types.size();
  out.types.append(maps, LLVM::LLVMPointerType::get(context));
  return out;
}

// Dynamic shared memory: the launch says how much there is. Swizzled operands start at a multiple
// of 1024.
void declareSharedMemory(OpBuilder &b, Location loc) {
  b.create<LLVM::GlobalOp>(loc, LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/false,
                           LLVM::Linkage::External, "nereid_shared", Attribute(),
                           SharedOperand::alignment,
                           /*addrSpace=*/3);
}

LLVM::LLVMFuncOp declareFunction(OpBuilder &b, FunctionOpInterface kernel,
                                 const Parameters &parameters, unsigned warps) {
  auto function = b.create<LLVM::LLVMFuncOp>(
      kernel.getLoc(), kernel.getName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), parameters.types));
  auto passByValue = [&](unsigned index, Type type, int64_t alignment) {
    function.setArgAttr(index, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(type));
    function.setArgAttr(index, LLVM::LLVMDialect::getAlignAttrName(),
                        b.getI64IntegerAttr(alignment));
  };
  for (auto [index, type] : parameters.descriptors)
    passByValue(index, type, 8);
  // The copy engine reads a map where the launch put it.
  auto map = LLVM::LLVMArrayType::get(b.getI8Type(), support::tensorMapBytes);
  for (unsigned i = parameters.firstMap; i < parameters.types.size(); ++i) {
    passByValue(i, map, 64);
    function.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
  }
  function->setAttr("nvvm.kernel", b.getUnitAttr());
  function->setAttr("nvvm.reqntid", b.getDenseI32ArrayAttr({int32_t(warps * lanesPerWarp), 1, 1}));
  return function;
}

// Whether a kernel has an op of a kind, of which `isOne` is true.
template <typename Op> bool hasOp(FunctionOpInterface kernel, llvm::function_ref<bool(Op)> isOne) {
  return kernel
      ->walk([&](Op op) { return isOne(op) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

// Gives the kernel's arguments what the function has for them.
void bindArguments(FunctionOpInterface kernel, const Parameters &parameters, Block &entry,
                   RegisterEmitter &emitter) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  const auto *descriptor = parameters.descriptors.begin();
  for (BlockArgument argument : kernel.getArguments()) {
    Value value = entry.getArgument(argument.getArgNumber());
    if (isa<tile::DescType>(argument.getType())) {
      LLVM::LLVMStructType type = (descriptor++)->second;
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
  emitter.context = entry.getArgument(parameters.context);
}

// Says which thread of the block it is.
void bindThread(FunctionOpInterface kernel, RegisterEmitter &emitter) {
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  emitter.thread = b.create<NVVM::ThreadIdXOp>(loc, b.getI32Type());
  emitter.lane = b.create<arith::AndIOp>(loc, emitter.thread, emitter.i32(lanesPerWarp - 1));
  emitter.warp = b.create<arith::ShRUIOp>(loc, emitter.thread, emitter.i32(5));
  emitter.hasWarpGroups = hasWgmma(kernel);
  // The shuffle is not for kernels that don't want it: nobody drops it.
  emitter.uniformWarp = emitter.hasWarpGroups ? emitter.uniform(emitter.warp) : emitter.warp;
}

// Maps that the host encodes are parameters.
void bindTensorMaps(FunctionOpInterface kernel, ArrayRef<ParameterMap> maps, unsigned firstMap,
                    Block &entry, RegisterEmitter &emitter) {
  for (auto [i, map] : llvm::enumerate(maps)) {
    Value address = entry.getArgument(firstMap + i);
    emitter.setTensorMap(kernel.getArgument(map.argument), address);
    emitter.assembly("@$1 prefetch.tensormap [$0];", "l,b,~{memory}", {},
                     {address, emitter.isFirstThread()}, false);
  }
}

// Maps that the kernel writes lie one behind the other in the scratch memory of the program. Gives
// its bytes.
uint64_t placeMadeMaps(ArrayRef<TensorMap> maps, RegisterEmitter &emitter) {
  if (maps.empty())
    return 0;
  OpBuilder &b = emitter.builder;
  Location loc = emitter.loc();
  uint64_t bytes = maps.size() * support::tensorMapBytes;
  Type pointer = LLVM::LLVMPointerType::get(b.getContext(), 1);
  Value scratch = b.create<LLVM::LoadOp>(loc, pointer, emitter.context);
  static_assert(offsetof(support::GpuContext, scratch) == 0);
  Value offset = b.create<arith::MulIOp>(loc, emitter.programIndex(), emitter.i64(int64_t(bytes)));
  for (auto [i, map] : llvm::enumerate(maps)) {
    Value own = emitter.add(offset, emitter.i64(int64_t(i * support::tensorMapBytes)));
    emitter.setTensorMap(map.desc,
                         b.create<LLVM::GEPOp>(loc, pointer, b.getI8Type(), scratch, own));
  }
  return bytes;
}

} // namespace

EmittedKernel emitKernel(FunctionOpInterface kernel, const target::GpuChip &chip, unsigned warps) {
  EmittedKernel out;
  Location loc = kernel.getLoc();
  OpBuilder b(kernel.getContext());
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  if (kernel->getParentOfType<ModuleOp>()->hasAttr(tile::noReflectFtzAttr))
    module->getOperation()->setAttr(tile::noReflectFtzAttr, b.getUnitAttr());
  b.setInsertionPointToStart(module->getBody());

  std::vector<TensorMap> madeMaps;
  for (TensorMap &map : tensorMapsOf(kernel)) {
    if (auto argument = dyn_cast<BlockArgument>(map.desc))
      out.maps.push_back({argument.getArgNumber(), map.box, map.swizzle});
    else
      madeMaps.push_back(map);
  }
  llvm::sort(out.maps, [](auto &a, auto &b) { return a.argument < b.argument; });

  declareSharedMemory(b, loc);
  Parameters parameters = parametersOf(kernel, out.maps.size());
  LLVM::LLVMFuncOp function = declareFunction(b, kernel, parameters, warps);
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToEnd(entry);

  analysis::AxisAnalysis axes(kernel);
  RegisterEmitter emitter(b, axes, chip, warps);
  emitter.setLocation(loc);
  emitter.takesTurns = hasOp<OpenTurnsOp>(kernel, [](OpenTurnsOp) { return true; });
  // A store of one step is waited for in the next.
  emitter.mayStillBeRead = hasOp<Operation *>(kernel, [](Operation *op) {
    return op->hasAttr(bulkStoreAttr) && !isa<FunctionOpInterface>(op->getParentOp());
  });
  bindArguments(kernel, parameters, *entry, emitter);
  bindThread(kernel, emitter);
  bindTensorMaps(kernel, out.maps, parameters.firstMap, *entry, emitter);
  out.scratchBytes = placeMadeMaps(madeMaps, emitter);
  emitter.madeMaps = madeMaps;

  emitter.emit(kernel.getFunctionBody().front());
  emitter.waitForStores();
  b.create<LLVM::ReturnOp>(loc, ValueRange{});

  emitter.finishKept();
  out.sharedBytes = emitter.sharedBytes();
  out.kept = emitter.kept;
  out.sharedBuffers.assign(emitter.sharedBuffers().begin(), emitter.sharedBuffers().end());
  out.sites.assign(emitter.recordSites().begin(), emitter.recordSites().end());
  out.accesses = std::move(emitter.accesses);
  if (!emitter.failed())
    out.module = std::move(module);
  return out;
}

} // namespace nereid::gpu
