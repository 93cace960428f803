// What the GPU back end asks of an op of level 2.

#ifndef NEREID_GPU_INTERFACES
#define NEREID_GPU_INTERFACES

include "mlir/IR/OpBase.td"

def RegistersOpInterface : OpInterface<"RegistersOpInterface"> {
  let cppNamespace = "::nereid::gpu";
  let description = [{
    Code for the part of an op that one thread does: it reads the registers of the operands and sets those
    of the results. All threads of the block run it together.
  }];
  let methods = [
    InterfaceMethod<"Emits the op.", "void", "emitRegisters",
      (ins "::nereid::gpu::RegisterEmitter &":$emitter)>,
  ];
}

#endif
