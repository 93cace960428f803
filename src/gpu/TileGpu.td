// The tilegpu dialect: tile ops on tensors that carry a layout.
//
// Level 2 keeps the ops of the tile, arith, math and scf dialects; their tensors have an encoding, the
// one layout attribute below, that says which register of which lane of which warp holds an element.
// What only exists on a GPU has an op here.

#ifndef NEREID_TILE_GPU
#define NEREID_TILE_GPU

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "gpu/GpuInterfaces.td"

def TileGpu_Dialect : Dialect {
  let name = "tilegpu";
  let cppNamespace = "::nereid::gpu";
  let summary = "Tiles spread over the threads of a block";
  let useDefaultAttributePrinterParser = 1;
}

def TileGpu_Layout : AttrDef<TileGpu_Dialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "A linear layout (ir/LinearLayout.h)";
  let description = [{
    `#tilegpu.layout<2, register = [[0, 1]], lane = [[0, 2], [1, 0]], warp = [[2, 0]]>`: the rank, then a
    basis vector for each bit of the register, lane, warp and block index. A lane or warp bit with a zero
    basis holds copies.
  }];
  let parameters = (ins "unsigned":$rank, ArrayRefParameter<"int32_t">:$registers,
                    ArrayRefParameter<"int32_t">:$lanes, ArrayRefParameter<"int32_t">:$warps,
                    ArrayRefParameter<"int32_t">:$blocks);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::nereid::tile::LinearLayout getLayout() const;
    static LayoutAttr get(::mlir::MLIRContext *context, const ::nereid::tile::LinearLayout &layout);
  }];
}

class TileGpu_Op<string mnemonic, list<Trait> traits = []> : Op<TileGpu_Dialect, mnemonic, traits>;

def TileGpu_ConvertLayoutOp : TileGpu_Op<"convert_layout", [Pure]> {
  let summary = "The same tile in another layout";
  let description = [{ Moves elements between registers, lanes or (through shared memory) warps. }];
  let arguments = (ins AnyRankedTensor:$source);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

#endif
