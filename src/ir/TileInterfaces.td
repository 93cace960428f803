// What passes, the interpreter and the back ends ask of an op. An analysis asks an interface and never
// lists ops; upstream arith, math and scf ops get theirs as external models.

#ifndef NEREID_TILE_INTERFACES
#define NEREID_TILE_INTERFACES

include "mlir/IR/OpBase.td"

def MemoryAccessOpInterface : OpInterface<"MemoryAccessOpInterface"> {
  let cppNamespace = "::nereid::tile";
  let description = [{
    An op that reads or writes global memory through pointers or a descriptor. Facts only; the effects
    themselves are the op's MLIR memory effects on `GlobalMemory`.
  }];
  let methods = [
    InterfaceMethod<"The pointers (a pointer, a tensor of pointers) or the descriptor accessed.",
      "::mlir::Value", "getAccessed", (ins)>,
    InterfaceMethod<"The mask, or null: lanes where it is false touch no memory.",
      "::mlir::Value", "getAccessMask", (ins), [{}], [{ return {}; }]>,
    InterfaceMethod<"True if memory may be read.", "bool", "readsMemory", (ins)>,
    InterfaceMethod<"True if memory may be written.", "bool", "writesMemory", (ins)>,
    InterfaceMethod<"True if each access is atomic.", "bool", "isAtomicAccess", (ins), [{}],
      [{ return false; }]>,
    InterfaceMethod<"The type in memory of one element.", "::mlir::Type", "getAccessElementType", (ins)>,
  ];
}

def AxisFactsOpInterface : OpInterface<"AxisFactsOpInterface"> {
  let cppNamespace = "::nereid::tile";
  let description = [{
    The transfer function of contiguity, divisibility and constancy (`ir/AxisFacts.h`). An op without it
    gives results about which nothing is known.
  }];
  let methods = [
    InterfaceMethod<"Facts about each result, given facts about each operand.",
      "::llvm::SmallVector<::nereid::tile::AxisFacts>", "transferAxisFacts",
      (ins "::llvm::ArrayRef<::nereid::tile::AxisFacts>":$operands)>,
  ];
}

def LayoutOpInterface : OpInterface<"LayoutOpInterface"> {
  let cppNamespace = "::nereid::tile";
  let description = [{
    How linear layouts (`ir/LinearLayout.h`) pass through an op: the layout of a result that costs nothing
    for a given operand layout, and back. Empty if only a conversion can give it.
  }];
  let methods = [
    InterfaceMethod<"The layout of result `result` that follows from `layout` on operand `operand`.",
      "::std::optional<::nereid::tile::LinearLayout>", "forwardLayout",
      (ins "unsigned":$operand, "const ::nereid::tile::LinearLayout &":$layout, "unsigned":$result), [{}],
      [{ return ::std::nullopt; }]>,
    InterfaceMethod<"The layout of operand `operand` that gives `layout` on result `result`.",
      "::std::optional<::nereid::tile::LinearLayout>", "backwardLayout",
      (ins "unsigned":$result, "const ::nereid::tile::LinearLayout &":$layout, "unsigned":$operand), [{}],
      [{ return ::std::nullopt; }]>,
  ];
}

def LanesOpInterface : OpInterface<"LanesOpInterface"> {
  let cppNamespace = "::nereid::tile";
  let description = [{
    Code for a tile op on the CPU, in one of two ways. Most ops are lazy: given where some lanes stand, the
    op asks for the lanes of its operands and computes its own; the fusion plan decides which operands are
    recomputed and which are read from a buffer, and the op does not know. An op that runs whole (a store, a
    reduction, a product) is emitted at its place in program order and leaves its results in buffers.
  }];
  let methods = [
    InterfaceMethod<"Emits the lanes of result `result` that `lanes` names.",
      "::mlir::Value", "emitLanes", (ins "::nereid::cpu::LaneEmitter &":$emitter, "unsigned":$result,
      "const ::nereid::cpu::Lanes &":$lanes), [{}], [{ return {}; }]>,
    InterfaceMethod<"True if the op is emitted whole, by `emitWhole`.", "bool", "runsWhole", (ins), [{}],
      [{ return false; }]>,
    InterfaceMethod<"Emits the whole op; it sets the buffer or scalar of each result.",
      "void", "emitWhole", (ins "::nereid::cpu::LaneEmitter &":$emitter), [{}], [{ return; }]>,
    InterfaceMethod<"True if the op reads operand `operand` at places of its own choice, so that the operand "
      "must lie in a buffer.", "bool", "needsBuffer", (ins "unsigned":$operand), [{}], [{ return false; }]>,
    InterfaceMethod<"True if computing a lane again costs more than reading it from a buffer.",
      "bool", "isCostlyLane", (ins), [{}], [{ return false; }]>,
  ];
}

def ReferenceOpInterface : OpInterface<"ReferenceOpInterface"> {
  let cppNamespace = "::nereid::tile";
  let description = [{
    What the op means: the interpreter runs this, plainly. An op is decoded once a kernel; the step it gives
    reads the slots of the operands from a frame and writes those of the results.
  }];
  let methods = [
    InterfaceMethod<"The step that computes the results; asks `decoder` where values lie.",
      "::nereid::ref::Step", "decode", (ins "::nereid::ref::Decoder &":$decoder)>,
  ];
}

def ScratchOpInterface : OpInterface<"ScratchOpInterface"> {
  let cppNamespace = "::nereid::tile";
  let description = [{ An op whose lowering needs scratch memory that no value names. }];
  let methods = [
    InterfaceMethod<"Bytes of shared memory (GPU) or arena (CPU) that one program needs while the op runs.",
      "uint64_t", "scratchBytes", (ins)>,
  ];
}

#endif
