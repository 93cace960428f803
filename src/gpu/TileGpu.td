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
  let useDefaultTypePrinterParser = 1;
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

// --- tiles in shared memory ---

def TileGpu_Ring : TypeDef<TileGpu_Dialect, "Ring"> {
  let mnemonic = "ring";
  let summary = "Slots of shared memory, each for one tile of two dimensions, in the order of SharedOperand";
  let parameters = (ins "unsigned":$slots, "::mlir::RankedTensorType":$tile);
  let assemblyFormat = "`<` $slots `,` $tile `>`";
}

def TileGpu_RingOp : TileGpu_Op<"ring"> {
  let summary = "Reserve shared memory until `drain`";
  let results = (outs TileGpu_Ring:$ring);
  let assemblyFormat = "attr-dict `:` type($ring)";
}
def TileGpu_CopyAsyncOp : TileGpu_Op<"copy_async"> {
  let summary = "Start to copy a tile from global memory to a slot";
  let description = [{
    `vector` adjacent elements move at once, 4 to 16 bytes. Elements of which the mask or `active` is false are
    not read and become zero. The slot may be read behind `commit_copies` and `wait_copies`. `evict` is a `tile::EvictionPolicy`.
  }];
  let arguments = (ins TileGpu_Ring:$ring, I32:$slot, AnyRankedTensor:$pointer, Optional<AnyRankedTensor>:$mask,
                   I1:$active, I32Attr:$vector, DefaultValuedAttr<I32Attr, "0">:$evict);
  let assemblyFormat = "$ring `[` $slot `]` `,` $pointer (`mask` $mask^ `:` type($mask))? `active` $active `vector` $vector (`evict` $evict^)? attr-dict `:` type($ring) `,` type($pointer)";
}
def TileGpu_CopyDescOp : TileGpu_Op<"copy_desc"> {
  let summary = "Start to copy a block of a tensor descriptor to a slot; what lies outside becomes zero";
  let arguments = (ins TileGpu_Ring:$ring, I32:$slot, AnyType:$desc, Variadic<I32>:$offsets, I1:$active,
                   I32Attr:$vector);
  let assemblyFormat = "$ring `[` $slot `]` `,` $desc `[` $offsets `]` `active` $active `vector` $vector attr-dict `:` type($ring) `,` type($desc)";
}
def TileGpu_Arrivals : TypeDef<TileGpu_Dialect, "Arrivals"> {
  let mnemonic = "arrivals";
  let summary = "Two mbarriers for each slot of the rings of a loop: for the bytes of bulk copies, and for the warps that are done with it";
  let parameters = (ins "unsigned":$slots);
  let assemblyFormat = "`<` $slots `>`";
}

def TileGpu_ArrivalsOp : TileGpu_Op<"arrivals"> {
  let summary = "Reserve mbarriers in shared memory until `drain`";
  let description = [{ What threads wrote before to the rings and to global memory is seen by bulk copies behind it. }];
  let results = (outs TileGpu_Arrivals:$arrivals);
  let assemblyFormat = "attr-dict `:` type($arrivals)";
}
def TileGpu_ExpectBulkOp : TileGpu_Op<"expect_bulk"> {
  let summary = "Say how many bytes bulk copies will bring to the slot";
  let arguments = (ins TileGpu_Arrivals:$arrivals, I32:$slot, I32Attr:$bytes, I1:$active);
  let assemblyFormat = "$arrivals `[` $slot `]` `bytes` $bytes `active` $active attr-dict `:` type($arrivals)";
}
def TileGpu_CopyBulkOp : TileGpu_Op<"copy_bulk"> {
  let summary = "Start a bulk copy of a block of a tensor descriptor, by its tensor map, to a slot";
  let description = [{
    One thread starts it; the copy engine checks the bounds, and what lies outside becomes zero. The slot may be
    read behind `wait_bulk`. The descriptor is a parameter of the kernel.
  }];
  let arguments = (ins TileGpu_Ring:$ring, I32:$slot, AnyType:$desc, Variadic<I32>:$offsets, TileGpu_Arrivals:$arrivals,
                   I1:$active);
  let assemblyFormat = "$ring `[` $slot `]` `,` $desc `[` $offsets `]` `active` $active `arrives` $arrivals attr-dict `:` type($ring) `,` type($desc) `,` type($arrivals)";
}
def TileGpu_WaitBulkOp : TileGpu_Op<"wait_bulk"> {
  let summary = "Each thread waits until the bulk copies to the slot have arrived";
  let description = [{ `phase` is 0 the first time round the ring, then 1, then 0. It is no barrier between the threads. }];
  let arguments = (ins TileGpu_Arrivals:$arrivals, I32:$slot, I32:$phase);
  let assemblyFormat = "$arrivals `[` $slot `]` `phase` $phase attr-dict `:` type($arrivals)";
}
def TileGpu_FreeSlotOp : TileGpu_Op<"free_slot"> {
  let summary = "The warp is done with the slot, when no more than `pending` products are in flight";
  let arguments = (ins TileGpu_Arrivals:$arrivals, I32:$slot, OptionalAttr<I32Attr>:$pending);
  let builders = [OpBuilder<(ins "mlir::Value":$arrivals, "mlir::Value":$slot), [{
    build($_builder, $_state, arrivals, slot, mlir::IntegerAttr());
  }]>];
  let assemblyFormat = "$arrivals `[` $slot `]` (`pending` $pending^)? attr-dict `:` type($arrivals)";
}
def TileGpu_AcquireSlotOp : TileGpu_Op<"acquire_slot"> {
  let summary = "Wait until all warps are done with the slot";
  let description = [{ `phase` is 0 the first time that the slot is freed, then 1, then 0. }];
  let arguments = (ins TileGpu_Arrivals:$arrivals, I32:$slot, I32:$phase);
  let assemblyFormat = "$arrivals `[` $slot `]` `phase` $phase attr-dict `:` type($arrivals)";
}
def TileGpu_IsCopyingWarpOp : TileGpu_Op<"is_copying_warp", [Pure]> {
  let summary = "True in the warp of which a thread starts bulk copies";
  let results = (outs I1:$result);
  let assemblyFormat = "attr-dict";
}
def TileGpu_CommitCopiesOp : TileGpu_Op<"commit_copies"> {
  let summary = "The copies since the last commit are one group";
  let assemblyFormat = "attr-dict";
}
def TileGpu_WaitCopiesOp : TileGpu_Op<"wait_copies"> {
  let summary = "All threads wait until all but the last `pending` groups have arrived";
  let arguments = (ins I32Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}
def TileGpu_MeetOp : TileGpu_Op<"meet"> {
  let summary = "All threads wait for each other: what they read of slots may be overwritten";
  let assemblyFormat = "attr-dict";
}
def TileGpu_WriteSlotOp : TileGpu_Op<"write_slot"> {
  let summary = "Put a tile into a slot, for all threads to read";
  let arguments = (ins TileGpu_Ring:$ring, I32:$slot, AnyRankedTensor:$tile);
  let assemblyFormat = "$ring `[` $slot `]` `,` $tile attr-dict `:` type($ring) `,` type($tile)";
}
def TileGpu_ReadSlotOp : TileGpu_Op<"read_slot"> {
  let summary = "The tile in a slot";
  let description = [{ Products on tensor cores read the slot where it is; for others it comes to registers. }];
  let arguments = (ins TileGpu_Ring:$ring, I32:$slot);
  let results = (outs AnyRankedTensor:$tile);
  let assemblyFormat = "$ring `[` $slot `]` attr-dict `:` type($ring) `->` type($tile)";
}
def TileGpu_DrainOp : TileGpu_Op<"drain"> {
  let summary = "Wait for all copies and give the rings' memory back";
  let description = [{ Names the rings and arrivals that were reserved last. }];
  let arguments = (ins Variadic<AnyTypeOf<[TileGpu_Ring, TileGpu_Arrivals]>>:$rings);
  let assemblyFormat = "$rings attr-dict `:` type($rings)";
}
// --- what a thread keeps for itself ---

def TileGpu_KeptStepsOp : TileGpu_Op<"kept_steps", [Pure]> {
  let summary = "How many steps of a loop have a place in shared memory for what they keep";
  let description = [{
    `bytes` is what a step takes. The launch decides: what it gives beyond what else the kernel needs is for these
    places. All such ops of a kernel mean the same ones. `most` is how many steps there are, where that is known.
  }];
  let arguments = (ins I64Attr:$bytes, OptionalAttr<I64Attr>:$most);
  let results = (outs I64:$count);
  let assemblyFormat = "`bytes` $bytes (`most` $most^)? attr-dict";
}
def TileGpu_KeepOp : TileGpu_Op<"keep"> {
  let summary = "Put what the threads have of a tile into the place of a step";
  let description = [{ Each thread has bytes of its own there, so that `kept` in the same layout needs no barrier. }];
  let arguments = (ins AnyRankedTensor:$tile, I64:$step, I64Attr:$offset, I64Attr:$bytes);
  let assemblyFormat = "$tile `[` $step `]` `at` $offset `of` $bytes attr-dict `:` type($tile)";
}
def TileGpu_KeptOp : TileGpu_Op<"kept"> {
  let summary = "The tile that was put there";
  let arguments = (ins I64:$step, I64Attr:$offset, I64Attr:$bytes);
  let results = (outs AnyRankedTensor:$tile);
  let assemblyFormat = "`[` $step `]` `at` $offset `of` $bytes attr-dict `->` type($tile)";
}

def TileGpu_OpenTurnsOp : TileGpu_Op<"open_turns"> {
  let summary = "The next turn is that of the first warp group";
  let description = [{
    Between `open_turns` and `close_turns` all warp groups take the same number of turns, one after the other: what
    one computes between two products runs beside the products of another.
  }];
  let assemblyFormat = "attr-dict";
}
def TileGpu_BeginTurnOp : TileGpu_Op<"begin_turn"> {
  let summary = "The warp group waits until the one before it has ended its turn";
  let assemblyFormat = "attr-dict";
}
def TileGpu_EndTurnOp : TileGpu_Op<"end_turn"> {
  let summary = "It is the next warp group's turn";
  let assemblyFormat = "attr-dict";
}
def TileGpu_CloseTurnsOp : TileGpu_Op<"close_turns"> {
  let summary = "The first warp group waits until the last one has ended its last turn";
  let assemblyFormat = "attr-dict";
}
def TileGpu_WaitProductsOp : TileGpu_Op<"wait_products", [AllTypesMatch<["sum", "result"]>]> {
  let summary = "The sum of products that may still be in flight; `pending` later ones stay so";
  let arguments = (ins AnyRankedTensor:$sum, DefaultValuedAttr<I32Attr, "0">:$pending);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$sum (`pending` $pending^)? attr-dict `:` type($sum)";
}
def TileGpu_UnsetOp : TileGpu_Op<"unset", [Pure]> {
  let summary = "A tile of which nobody reads an element";
  let description = [{ The sum of a product before its first step, which does not read it. }];
  let results = (outs AnyRankedTensor:$tile);
  let assemblyFormat = "attr-dict `:` type($tile)";
}

#endif
