// The tile dialect: what a Triton kernel means, before any target.
//
// Values are scalars (i1..i64, f16, bf16, f32, f64, f8*, !tile.ptr) or ranked tensors of them with static
// power-of-two shapes and no encoding. Elementwise arithmetic is upstream `arith` and `math` wherever
// those are total; where upstream leaves a case undefined (division by zero, over-wide shifts, float to
// int out of range) the dialect has its own op with a defined result. Integers are signless, ops say how
// they read them. Control flow is upstream `scf`; a kernel is a `func.func` with the attribute
// `tile.kernel`.
//
// Float8E4M3B11FNUZ carries the bits of `tl.float8e4b15`, which MLIR lacks (bias 15, no NaN); only
// `tile.fp_convert`, bit casts and memory ops see values of that type.

#ifndef NEREID_TILE_OPS
#define NEREID_TILE_OPS

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "ir/TileInterfaces.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::nereid::tile";
  let summary = "Triton kernels as tiles, before any target";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

// --- types ---

class Tile_Type<string name, string keyword, list<Trait> traits = []> : TypeDef<Tile_Dialect, name, traits> {
  let mnemonic = keyword;
}

def Tile_Ptr : Tile_Type<"Ptr", "ptr", [MemRefElementTypeInterface]> {
  let summary = "A pointer to global memory with its pointee";
  let description = [{ `!tile.ptr<f32>`. A pointer to `tl.int1` is `!tile.ptr<i1>` and addresses bytes. }];
  let parameters = (ins "::mlir::Type":$pointee);
  let assemblyFormat = "`<` $pointee `>`";
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::Type":$pointee), [{
    return $_get(pointee.getContext(), pointee);
  }]>];
}

def Tile_Desc : Tile_Type<"Desc", "desc"> {
  let summary = "A tensor descriptor: base, shape and strides, read and written a block at a time";
  let description = [{ `!tile.desc<64x32xf16>`, `!tile.desc<64x32xf16, nan>`: out of bounds reads as zero or NaN. }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$blockShape, "::mlir::Type":$elementType,
                    "bool":$paddingIsNan);
  let genVerifyDecl = 1;
  let hasCustomAssemblyFormat = 1;
}

def Tile_Int : AnyTypeOf<[I1, I8, I16, I32, I64]>;
def Tile_F8 : AnyTypeOf<[F8E4M3FN, F8E5M2, F8E4M3FNUZ, F8E5M2FNUZ, F8E4M3B11FNUZ]>;
def Tile_Float : AnyTypeOf<[F16, BF16, F32, F64, Tile_F8]>;
def Tile_Scalar : AnyTypeOf<[Tile_Int, Tile_Float, Tile_Ptr]>;
def Tile_Tensor : RankedTensorOf<[Tile_Scalar]>;
def Tile_Value : AnyTypeOf<[Tile_Scalar, Tile_Tensor]>;
def Tile_IntLike : AnyTypeOf<[Tile_Int, RankedTensorOf<[Tile_Int]>]>;
def Tile_FloatLike : AnyTypeOf<[Tile_Float, RankedTensorOf<[Tile_Float]>]>;
def Tile_BoolLike : AnyTypeOf<[I1, RankedTensorOf<[I1]>]>;
def Tile_PtrLike : AnyTypeOf<[Tile_Ptr, RankedTensorOf<[Tile_Ptr]>]>;

// --- attributes ---

class Tile_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::nereid::tile";
  let genSpecializedAttr = 0;
}
class Tile_EnumAttr<I32EnumAttr enum, string keyword> : EnumAttr<Tile_Dialect, enum, keyword> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_CacheModifier : Tile_Enum<"CacheModifier", "where a memory access is cached", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"CA", 1, "ca">, I32EnumAttrCase<"CG", 2, "cg">,
  I32EnumAttrCase<"CS", 3, "cs">, I32EnumAttrCase<"CV", 4, "cv">, I32EnumAttrCase<"WB", 5, "wb">,
  I32EnumAttrCase<"WT", 6, "wt">]>;
def Tile_EvictionPolicy : Tile_Enum<"EvictionPolicy", "how soon a cache line may go", [
  I32EnumAttrCase<"Normal", 0, "normal">, I32EnumAttrCase<"First", 1, "evict_first">,
  I32EnumAttrCase<"Last", 2, "evict_last">]>;
def Tile_MemSemantic : Tile_Enum<"MemSemantic", "memory order of an atomic", [
  I32EnumAttrCase<"Relaxed", 0, "relaxed">, I32EnumAttrCase<"Acquire", 1, "acquire">,
  I32EnumAttrCase<"Release", 2, "release">, I32EnumAttrCase<"AcqRel", 3, "acq_rel">]>;
def Tile_MemScope : Tile_Enum<"MemScope", "who observes an atomic", [
  I32EnumAttrCase<"Gpu", 0, "gpu">, I32EnumAttrCase<"Cta", 1, "cta">, I32EnumAttrCase<"Sys", 2, "sys">]>;
def Tile_AtomicKind : Tile_Enum<"AtomicKind", "read-modify-write operation", [
  I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"FAdd", 1, "fadd">, I32EnumAttrCase<"Max", 2, "max">,
  I32EnumAttrCase<"Min", 3, "min">, I32EnumAttrCase<"UMax", 4, "umax">, I32EnumAttrCase<"UMin", 5, "umin">,
  I32EnumAttrCase<"And", 6, "and">, I32EnumAttrCase<"Or", 7, "or">, I32EnumAttrCase<"Xor", 8, "xor">,
  I32EnumAttrCase<"Xchg", 9, "xchg">, I32EnumAttrCase<"FMax", 10, "fmax">, I32EnumAttrCase<"FMin", 11, "fmin">]>;
def Tile_InputPrecision : Tile_Enum<"InputPrecision", "how f32 operands enter a dot", [
  I32EnumAttrCase<"TF32", 0, "tf32">, I32EnumAttrCase<"TF32x3", 1, "tf32x3">, I32EnumAttrCase<"IEEE", 2, "ieee">,
  I32EnumAttrCase<"BF16x3", 3, "bf16x3">, I32EnumAttrCase<"BF16x6", 4, "bf16x6">]>;
def Tile_ScaledFormat : Tile_Enum<"ScaledFormat", "element format of a scaled dot operand", [
  I32EnumAttrCase<"E2M1", 0, "e2m1">, I32EnumAttrCase<"E4M3", 1, "e4m3">, I32EnumAttrCase<"E5M2", 2, "e5m2">,
  I32EnumAttrCase<"BF16", 3, "bf16">, I32EnumAttrCase<"FP16", 4, "fp16">]>;
def Tile_Rounding : Tile_Enum<"Rounding", "rounding of a float conversion", [
  I32EnumAttrCase<"RTNE", 0, "rtne">, I32EnumAttrCase<"RTZ", 1, "rtz">]>;

def CacheModifierAttr : Tile_EnumAttr<Tile_CacheModifier, "cache">;
def EvictionPolicyAttr : Tile_EnumAttr<Tile_EvictionPolicy, "evict">;
def MemSemanticAttr : Tile_EnumAttr<Tile_MemSemantic, "sem">;
def MemScopeAttr : Tile_EnumAttr<Tile_MemScope, "scope">;
def AtomicKindAttr : Tile_EnumAttr<Tile_AtomicKind, "atomic">;
def InputPrecisionAttr : Tile_EnumAttr<Tile_InputPrecision, "precision">;
def ScaledFormatAttr : Tile_EnumAttr<Tile_ScaledFormat, "format">;
def RoundingAttr : Tile_EnumAttr<Tile_Rounding, "rounding">;

// --- op classes ---

def GlobalMemory : Resource<"::nereid::tile::GlobalMemory">;
def ProgramOrder : Resource<"::nereid::tile::ProgramOrder">;

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;
// One lane of the result depends on the same lane of the operands only.
class Tile_Elementwise<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, !listconcat([Pure, Elementwise, SameOperandsAndResultShape], traits)>;
class Tile_Access<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, !listconcat([DeclareOpInterfaceMethods<MemoryAccessOpInterface,
        ["getAccessMask", "isAtomicAccess"]>], traits)>;

// --- the program ---

def Tile_ProgramIdOp : Tile_Op<"program_id", [Pure]> {
  let summary = "Index of this program along an axis of the grid";
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<2>]>:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict";
}
def Tile_NumProgramsOp : Tile_Op<"num_programs", [Pure]> {
  let summary = "Size of the grid along an axis";
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<2>]>:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict";
}

// --- creation and shape ---

def Tile_ArangeOp : Tile_Op<"arange", [Pure]> {
  let summary = "start, start + 1, ... end - 1";
  let arguments = (ins I32Attr:$start, I32Attr:$end);
  let results = (outs RankedTensorOf<[I32]>:$result);
  let assemblyFormat = "$start `to` $end attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Tile_SplatOp : Tile_Op<"splat", [Pure]> {
  let summary = "A tile whose every element is the scalar";
  let arguments = (ins Tile_Scalar:$source);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Tile_UnsplatOp : Tile_Op<"unsplat", [Pure]> {
  let summary = "The only element of a tile of one element";
  let arguments = (ins Tile_Tensor:$source);
  let results = (outs Tile_Scalar:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure, SameOperandsAndResultElementType]> {
  let summary = "Repeat dimensions of size one";
  let arguments = (ins Tile_Tensor:$source);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Tile_ExpandDimsOp : Tile_Op<"expand_dims", [Pure, SameOperandsAndResultElementType]> {
  let summary = "Insert a dimension of size one";
  let arguments = (ins Tile_Tensor:$source, I32Attr:$axis);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$source `axis` $axis attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Tile_ReshapeOp : Tile_Op<"reshape", [Pure, SameOperandsAndResultElementType]> {
  let summary = "The same elements in row-major order under another shape";
  let description = [{ With `reorder` the elements may come in any order (a permutation of the back end's choice). }];
  let arguments = (ins Tile_Tensor:$source, UnitAttr:$reorder);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$source (`reorder` $reorder^)? attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Tile_TransOp : Tile_Op<"trans", [Pure, SameOperandsAndResultElementType]> {
  let summary = "Permute dimensions: result dimension i is source dimension perm[i]";
  let arguments = (ins Tile_Tensor:$source, DenseI32ArrayAttr:$perm);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$source $perm attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
def Tile_JoinOp : Tile_Op<"join", [Pure, AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "Stack two tiles along a new minor dimension of size two";
  let arguments = (ins Tile_Value:$lhs, Tile_Value:$rhs);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_SplitOp : Tile_Op<"split", [Pure, TypesMatchWith<"halves have one type", "lhs", "rhs", "$_self">]> {
  let summary = "The two halves of a minor dimension of size two";
  let arguments = (ins Tile_Tensor:$source);
  let results = (outs Tile_Value:$lhs, Tile_Value:$rhs);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($lhs)";
  let hasVerifier = 1;
}
def Tile_CatOp : Tile_Op<"cat", [Pure]> {
  let summary = "Concatenate two tiles of rank one; the order of elements is lhs then rhs";
  let arguments = (ins Tile_Tensor:$lhs, Tile_Tensor:$rhs);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_GatherOp : Tile_Op<"gather", [Pure]> {
  let summary = "result[.., i, ..] = source[.., indices[.., i, ..], ..] along an axis";
  let arguments = (ins Tile_Tensor:$source, RankedTensorOf<[Tile_Int]>:$indices, I32Attr:$axis);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$source `[` $indices `]` `axis` $axis attr-dict `:` type($source) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_HistogramOp : Tile_Op<"histogram", [Pure]> {
  let summary = "Count how often each value below the bin count occurs; other values count nowhere";
  let arguments = (ins RankedTensorOf<[Tile_Int]>:$source, Optional<RankedTensorOf<[I1]>>:$mask);
  let results = (outs RankedTensorOf<[I32]>:$result);
  let assemblyFormat = "$source (`mask` $mask^ `:` type($mask))? attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

// --- total integer arithmetic ---

class Tile_IntBinary<string mnemonic> : Tile_Elementwise<mnemonic, [SameOperandsAndResultType]> {
  let arguments = (ins Tile_IntLike:$lhs, Tile_IntLike:$rhs);
  let results = (outs Tile_IntLike:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}
def Tile_DivSIOp : Tile_IntBinary<"divsi"> {
  let summary = "Signed quotient towards zero; x / 0 = -1, INT_MIN / -1 = INT_MIN";
  let hasFolder = 1;
}
def Tile_DivUIOp : Tile_IntBinary<"divui"> {
  let summary = "Unsigned quotient; x / 0 = all ones";
  let hasFolder = 1;
}
def Tile_RemSIOp : Tile_IntBinary<"remsi"> {
  let summary = "Signed remainder with the sign of the dividend; x % 0 = x, INT_MIN % -1 = 0";
  let hasFolder = 1;
}
def Tile_RemUIOp : Tile_IntBinary<"remui"> {
  let summary = "Unsigned remainder; x % 0 = x";
  let hasFolder = 1;
}
def Tile_ShLOp : Tile_IntBinary<"shl"> {
  let summary = "Shift left; an amount (read as unsigned) of the width or more gives 0";
  let hasFolder = 1;
}
def Tile_ShRSOp : Tile_IntBinary<"shrs"> {
  let summary = "Arithmetic shift right; an amount (read as unsigned) of the width or more gives the sign";
  let hasFolder = 1;
}
def Tile_ShRUOp : Tile_IntBinary<"shru"> {
  let summary = "Logical shift right; an amount (read as unsigned) of the width or more gives 0";
  let hasFolder = 1;
}
def Tile_MulHiUIOp : Tile_IntBinary<"mulhiui"> {
  let summary = "The upper half of the unsigned product";
}

// --- conversions and precise arithmetic ---

def Tile_FPToIntOp : Tile_Elementwise<"fp_to_int"> {
  let summary = "Float to integer towards zero, saturating; NaN gives 0";
  let arguments = (ins Tile_FloatLike:$source, UnitAttr:$isUnsigned);
  let results = (outs Tile_IntLike:$result);
  let assemblyFormat = "$source (`unsigned` $isUnsigned^)? attr-dict `:` type($source) `->` type($result)";
}
def Tile_FPConvertOp : Tile_Elementwise<"fp_convert"> {
  let summary = "Float to float with a stated rounding; conversions to f8 saturate to the largest finite value";
  let description = [{
    Used where upstream `arith.extf` and `arith.truncf` do not reach: any conversion from or to an 8-bit
    float, and narrowing that rounds towards zero. NaN stays NaN where the format has one.
  }];
  let arguments = (ins Tile_FloatLike:$source, DefaultValuedAttr<RoundingAttr, "Rounding::RTNE">:$rounding);
  let results = (outs Tile_FloatLike:$result);
  let assemblyFormat = "$source (`rounding` $rounding^)? attr-dict `:` type($source) `->` type($result)";
}
def Tile_BitcastOp : Tile_Elementwise<"bitcast"> {
  let summary = "The same bits as another type of the same width; pointers to pointers of another pointee too";
  let arguments = (ins Tile_Value:$source);
  let results = (outs Tile_Value:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Tile_PtrToIntOp : Tile_Elementwise<"ptr_to_int"> {
  let summary = "The address";
  let arguments = (ins Tile_PtrLike:$source);
  let results = (outs AnyTypeOf<[I64, RankedTensorOf<[I64]>]>:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
}
def Tile_IntToPtrOp : Tile_Elementwise<"int_to_ptr"> {
  let summary = "A pointer from an address";
  let arguments = (ins AnyTypeOf<[I64, RankedTensorOf<[I64]>]>:$source);
  let results = (outs Tile_PtrLike:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
}
class Tile_FloatUnary<string mnemonic> : Tile_Elementwise<mnemonic, [SameOperandsAndResultType]> {
  let arguments = (ins Tile_FloatLike:$source);
  let results = (outs Tile_FloatLike:$result);
  let assemblyFormat = "$source attr-dict `:` type($result)";
}
def Tile_SqrtRnOp : Tile_FloatUnary<"sqrt_rn"> { let summary = "Square root rounded to nearest even"; }
def Tile_DivRnOp : Tile_Elementwise<"div_rn", [SameOperandsAndResultType]> {
  let summary = "Quotient rounded to nearest even, denormals kept (`arith.divf` may be 2 ulp off)";
  let arguments = (ins Tile_FloatLike:$lhs, Tile_FloatLike:$rhs);
  let results = (outs Tile_FloatLike:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}
def Tile_ExternOp : Tile_Elementwise<"extern"> {
  let summary = "Apply a scalar function known by its libdevice name to each element";
  let arguments = (ins StrAttr:$symbol, Variadic<Tile_Value>:$inputs);
  let results = (outs Tile_Value:$result);
  let assemblyFormat = "$symbol `(` $inputs `)` attr-dict `:` functional-type($inputs, $result)";
}
def Tile_InlineAsmOp : Tile_Op<"inline_asm",
    [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "PTX applied to `pack` elements at a time";
  let arguments = (ins StrAttr:$text, StrAttr:$constraints, BoolAttr:$pure, I32Attr:$pack,
                   Variadic<Tile_Value>:$inputs);
  let results = (outs Variadic<Tile_Value>:$outputs);
  let assemblyFormat = "$text $constraints `pack` $pack `pure` $pure `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)";
  let hasVerifier = 1;
}
def Tile_LibraryCallOp : Tile_Op<"library_call",
    [Elementwise, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
     DeclareOpInterfaceMethods<ConditionallySpeculatable>]> {
  let summary = "Call a function of the program's own LLVM bitcode for each element";
  let description = [{
    `library` and `path` are the name and the file that the program gives, either of which may be empty;
    `tile.libraries` of the module has the files that are linked. What is not pure may read and write any memory.
  }];
  let arguments = (ins StrAttr:$symbol, StrAttr:$library, StrAttr:$path, BoolAttr:$pure, Variadic<Tile_Value>:$inputs);
  let results = (outs Tile_Value:$result);
  let assemblyFormat = "$symbol `of` $library $path `pure` $pure `(` $inputs `)` attr-dict `:` functional-type($inputs, $result)";
  let extraClassDeclaration = [{
    /// What code for one element calls, until the library is linked.
    std::string codeSymbol();
  }];
}
def Tile_MapOp : Tile_Op<"map", [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "Apply a region to each element (`pack` adjacent elements at a time)";
  let description = [{ The region takes pack x inputs scalars, grouped by input, and returns pack x outputs scalars. }];
  let arguments = (ins Variadic<Tile_Tensor>:$inputs, I32Attr:$pack);
  let results = (outs Variadic<Tile_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`pack` $pack `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $body";
  let hasVerifier = 1;
}

// --- facts given by the program ---

def Tile_HintOp : Tile_Op<"hint", [Pure, SameOperandsAndResultType]> {
  let summary = "The operand, about which the program promises facts";
  let description = [{
    Each list has one entry a dimension: every first element of a run is divisible by `divisibility`; values
    come in runs of `contiguity` consecutive integers, of `constancy` equal values. `check` verifies them.
  }];
  let arguments = (ins Tile_Value:$source, OptionalAttr<DenseI64ArrayAttr>:$divisibility,
                   OptionalAttr<DenseI64ArrayAttr>:$contiguity, OptionalAttr<DenseI64ArrayAttr>:$constancy);
  let results = (outs Tile_Value:$result);
  let assemblyFormat = "$source attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Tile_AssumeOp : Tile_Op<"assume", [MemoryEffects<[MemWrite<ProgramOrder>]>]> {
  let summary = "The program promises that the condition holds";
  let arguments = (ins I1:$condition);
  let assemblyFormat = "$condition attr-dict";
}

// --- pointers and memory ---

def Tile_AddPtrOp : Tile_Elementwise<"addptr", [AllTypesMatch<["pointer", "result"]>]> {
  let summary = "Pointer plus an offset in elements; the offset is sign-extended unless `unsigned`";
  let arguments = (ins Tile_PtrLike:$pointer, Tile_IntLike:$offset, UnitAttr:$isUnsigned);
  let results = (outs Tile_PtrLike:$result);
  let assemblyFormat = "$pointer `,` $offset (`unsigned` $isUnsigned^)? attr-dict `:` type($result) `,` type($offset)";
}
def Tile_LoadOp : Tile_Access<"load", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Read memory; a lane with a false mask touches none and gives `other`, or 0 without it";
  let arguments = (ins Tile_PtrLike:$pointer, Optional<Tile_BoolLike>:$mask, Optional<Tile_Value>:$other,
                   DefaultValuedAttr<CacheModifierAttr, "CacheModifier::None">:$cache,
                   DefaultValuedAttr<EvictionPolicyAttr, "EvictionPolicy::Normal">:$evict,
                   UnitAttr:$isVolatile);
  let results = (outs Tile_Value:$result);
  let assemblyFormat = "$pointer (`mask` $mask^ `:` type($mask))? (`other` $other^ `:` type($other))? (`cache` $cache^)? (`evict` $evict^)? (`volatile` $isVolatile^)? attr-dict `:` type($pointer) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_StoreOp : Tile_Access<"store", [MemoryEffects<[MemWrite<GlobalMemory>]>]> {
  let summary = "Write memory where the mask is true";
  let arguments = (ins Tile_PtrLike:$pointer, Tile_Value:$value, Optional<Tile_BoolLike>:$mask,
                   DefaultValuedAttr<CacheModifierAttr, "CacheModifier::None">:$cache,
                   DefaultValuedAttr<EvictionPolicyAttr, "EvictionPolicy::Normal">:$evict);
  let assemblyFormat = "$pointer `,` $value (`mask` $mask^ `:` type($mask))? (`cache` $cache^)? (`evict` $evict^)? attr-dict `:` type($pointer) `,` type($value)";
  let hasVerifier = 1;
}
def Tile_AtomicRMWOp : Tile_Access<"atomic_rmw", [MemoryEffects<[MemRead<GlobalMemory>, MemWrite<GlobalMemory>]>]> {
  let summary = "Atomic read-modify-write of each element once; gives the old value (0 where masked)";
  let arguments = (ins AtomicKindAttr:$kind, Tile_PtrLike:$pointer, Tile_Value:$value,
                   Optional<Tile_BoolLike>:$mask, MemSemanticAttr:$sem, MemScopeAttr:$scope);
  let results = (outs Tile_Value:$result);
  let assemblyFormat = "$kind `,` $sem `,` $scope `,` $pointer `,` $value (`mask` $mask^ `:` type($mask))? attr-dict `:` type($pointer) `,` type($value) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_AtomicCASOp : Tile_Access<"atomic_cas", [AllTypesMatch<["compare", "value"]>, MemoryEffects<[MemRead<GlobalMemory>, MemWrite<GlobalMemory>]>]> {
  let summary = "Atomic compare and swap of each element; gives the old value";
  let arguments = (ins Tile_PtrLike:$pointer, Tile_Value:$compare, Tile_Value:$value, MemSemanticAttr:$sem,
                   MemScopeAttr:$scope);
  let results = (outs Tile_Value:$result);
  let assemblyFormat = "$sem `,` $scope `,` $pointer `,` $compare `,` $value attr-dict `:` type($pointer) `,` type($value) `->` type($result)";
  let hasVerifier = 1;
}

// --- tensor descriptors ---

def Tile_MakeDescOp : Tile_Op<"make_desc", [Pure, SameVariadicOperandSize]> {
  let summary = "A descriptor from base, shape and strides in elements; the last stride is 1";
  let arguments = (ins Tile_Ptr:$base, Variadic<I64>:$shape, Variadic<I64>:$strides);
  let results = (outs Tile_Desc:$result);
  let assemblyFormat = "$base `,` `[` $shape `]` `,` `[` $strides `]` attr-dict `:` type($base) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_DescFieldOp : Tile_Op<"desc_field", [Pure]> {
  let summary = "Base address (as an integer), extent or stride of a descriptor";
  let arguments = (ins Tile_Desc:$desc, StrAttr:$field, DefaultValuedAttr<I32Attr, "0">:$dim);
  let results = (outs I64:$result);
  let assemblyFormat = "$desc $field $dim attr-dict `:` type($desc)";
  let hasVerifier = 1;
}
def Tile_DescLoadOp : Tile_Access<"desc_load", [MemoryEffects<[MemRead<GlobalMemory>]>]> {
  let summary = "Read a block at offsets; elements outside the shape read as the padding";
  let arguments = (ins Tile_Desc:$desc, Variadic<I32>:$offsets,
                   DefaultValuedAttr<CacheModifierAttr, "CacheModifier::None">:$cache,
                   DefaultValuedAttr<EvictionPolicyAttr, "EvictionPolicy::Normal">:$evict);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$desc `[` $offsets `]` (`cache` $cache^)? (`evict` $evict^)? attr-dict `:` type($desc) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_DescStoreOp : Tile_Access<"desc_store", [MemoryEffects<[MemWrite<GlobalMemory>]>]> {
  let summary = "Write a block at offsets; elements outside the shape are dropped";
  let arguments = (ins Tile_Desc:$desc, Variadic<I32>:$offsets, Tile_Tensor:$value);
  let assemblyFormat = "$desc `[` $offsets `]` `,` $value attr-dict `:` type($desc) `,` type($value)";
  let hasVerifier = 1;
}
def Tile_DescReduceOp : Tile_Access<"desc_reduce", [MemoryEffects<[MemRead<GlobalMemory>, MemWrite<GlobalMemory>]>]> {
  let summary = "Combine a block into memory atomically, element by element";
  let arguments = (ins AtomicKindAttr:$kind, Tile_Desc:$desc, Variadic<I32>:$offsets, Tile_Tensor:$value);
  let assemblyFormat = "$kind `,` $desc `[` $offsets `]` `,` $value attr-dict `:` type($desc) `,` type($value)";
  let hasVerifier = 1;
}
def Tile_DescGatherOp : Tile_Access<"desc_gather", [MemoryEffects<[MemRead<GlobalMemory>]>]> {
  let summary = "Read rows x[i] of a two-dimensional descriptor from column y";
  let arguments = (ins Tile_Desc:$desc, RankedTensorOf<[I32]>:$rows, I32:$column);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$desc `[` $rows `,` $column `]` attr-dict `:` type($desc) `,` type($rows) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_DescScatterOp : Tile_Access<"desc_scatter", [MemoryEffects<[MemWrite<GlobalMemory>]>]> {
  let summary = "Write rows x[i] of a two-dimensional descriptor from column y";
  let arguments = (ins Tile_Desc:$desc, RankedTensorOf<[I32]>:$rows, I32:$column, Tile_Tensor:$value);
  let assemblyFormat = "$desc `[` $rows `,` $column `]` `,` $value attr-dict `:` type($desc) `,` type($rows) `,` type($value)";
  let hasVerifier = 1;
}

// --- reductions, scans, products ---

def Tile_ReduceOp : Tile_Op<"reduce", [RecursiveMemoryEffects, SingleBlock, SameVariadicOperandSize]> {
  let summary = "Combine all elements along an axis with a region";
  let description = [{
    The region takes (left values..., right values...) and returns the combined values. It is associative; elements
    keep their order along the axis, the grouping is the back end's. A rank-one source gives scalars.
  }];
  let arguments = (ins Variadic<Tile_Tensor>:$sources, I32Attr:$axis);
  let results = (outs Variadic<Tile_Value>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = "`(` $sources `)` `axis` $axis attr-dict `:` functional-type($sources, $results) $combine";
  let hasVerifier = 1;
}
def Tile_ScanOp : Tile_Op<"scan", [RecursiveMemoryEffects, SingleBlock, SameVariadicOperandSize]> {
  let summary = "Inclusive prefix combination along an axis with a region, from the end if `reverse`";
  let arguments = (ins Variadic<Tile_Tensor>:$sources, I32Attr:$axis, UnitAttr:$reverse);
  let results = (outs Variadic<Tile_Tensor>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = "`(` $sources `)` `axis` $axis (`reverse` $reverse^)? attr-dict `:` functional-type($sources, $results) $combine";
  let hasVerifier = 1;
}
def Tile_YieldOp : Tile_Op<"yield", [Pure, ReturnLike, Terminator,
    ParentOneOf<["ReduceOp", "ScanOp", "MapOp"]>]> {
  let summary = "The values of a region of reduce, scan or map";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}
def Tile_DotOp : Tile_Op<"dot", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "lhs x rhs + acc over the last two dimensions; a leading dimension is a batch";
  let arguments = (ins Tile_Tensor:$lhs, Tile_Tensor:$rhs, Tile_Tensor:$acc,
                   DefaultValuedAttr<InputPrecisionAttr, "InputPrecision::IEEE">:$precision,
                   DefaultValuedAttr<I32Attr, "0">:$maxImpreciseAcc,
                   UnitAttr:$isUnsigned);
  let results = (outs Tile_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs `,` $acc (`precision` $precision^)? (`imprecise` $maxImpreciseAcc^)? (`unsigned` $isUnsigned^)? attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}
// Not AllTypesMatch: the type inference that it makes counts operands as if none were optional.
def Tile_DotScaledOp : Tile_Op<"dot_scaled", [Pure, AttrSizedOperandSegments,
    TypesMatchWith<"accumulator and result have one type", "result", "acc", "$_self">]> {
  let summary = "Product of microscaled operands: one scale for 32 (OCP MX) or 16 (nvfp4) elements along K";
  let description = [{
    Two E2M1 values share a byte, low half first, packed along K or, without the pack attribute, along M / N. A scale
    that is a byte s (e8m0) stands for 2^(s - 127), 255 for NaN, one that is an f8E4M3FN for itself; lhsScale is
    M x K/32 or M x K/16, rhsScale is N x K/32 or N x K/16.
  }];
  let arguments = (ins Tile_Tensor:$lhs, Optional<Tile_Tensor>:$lhsScale, Tile_Tensor:$rhs,
                   Optional<Tile_Tensor>:$rhsScale, Tile_Tensor:$acc, ScaledFormatAttr:$lhsFormat,
                   ScaledFormatAttr:$rhsFormat, BoolAttr:$lhsPackedK, BoolAttr:$rhsPackedK,
                   UnitAttr:$fastMath);
  let results = (outs Tile_Tensor:$result);
  let extraClassDeclaration = [{
    /// How many of `k` elements along K have one scale.
    static int64_t groupOf(int64_t k, ::mlir::Type scales);
  }];
  let assemblyFormat = "$lhs (`scale` $lhsScale^ `:` type($lhsScale))? $lhsFormat `,` $rhs (`scale` $rhsScale^ `:` type($rhsScale))? $rhsFormat `,` $acc `packed` $lhsPackedK $rhsPackedK (`fast` $fastMath^)? attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}

// --- order, debugging, hardware ---

def Tile_BarrierOp : Tile_Op<"barrier", [MemoryEffects<[MemRead<GlobalMemory>, MemWrite<GlobalMemory>]>]> {
  let summary = "All threads of the program wait for each other";
  let assemblyFormat = "attr-dict";
}
def Tile_PrintOp : Tile_Op<"print", [MemoryEffects<[MemWrite<ProgramOrder>]>]> {
  let summary = "Record values, each element once";
  let arguments = (ins StrAttr:$prefix, BoolAttr:$hex, DenseBoolArrayAttr:$isSigned, Variadic<Tile_Value>:$values);
  let assemblyFormat = "$prefix `hex` $hex `signed` $isSigned (`:` $values^ `:` type($values))? attr-dict";
  let hasVerifier = 1;
}
def Tile_AssertOp : Tile_Op<"assert", [MemoryEffects<[MemWrite<ProgramOrder>]>]> {
  let summary = "Record a failure for each element whose condition is false";
  let arguments = (ins Tile_BoolLike:$condition, StrAttr:$message, Optional<Tile_BoolLike>:$mask);
  let assemblyFormat = "$condition `,` $message (`mask` $mask^ `:` type($mask))? attr-dict `:` type($condition)";
  let hasVerifier = 1;
}
def Tile_ClockOp : Tile_Op<"clock", [MemoryEffects<[MemRead<ProgramOrder>, MemWrite<ProgramOrder>]>]> {
  let summary = "Nanoseconds of a global timer";
  let results = (outs I64:$result);
  let assemblyFormat = "attr-dict";
}
def Tile_SmIdOp : Tile_Op<"smid", [MemoryEffects<[MemRead<ProgramOrder>]>]> {
  let summary = "Index of the multiprocessor that runs the program";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}
def Tile_GridDependencyOp : Tile_Op<"grid_dependency", [MemoryEffects<[MemRead<GlobalMemory>, MemWrite<GlobalMemory>]>]> {
  let summary = "Programmatic dependent launch: wait for the grid before, or let the next one start";
  let arguments = (ins BoolAttr:$wait);
  let assemblyFormat = "`wait` $wait attr-dict";
}

#endif
