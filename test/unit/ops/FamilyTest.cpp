// The families: result types, the IR they make and the errors they give.

#include "Fixture.h"

namespace nereid::ops::test {
namespace {

Value ints(std::vector<int64_t> numbers) { return Value::tuple({numbers.begin(), numbers.end()}); }
Value dtype(DType type) { return Value::type(Type::scalar(type)); }

using FamilyTest = OpsTest;

// --- creation and shape ---

TEST_F(FamilyTest, Creation) {
  EXPECT_EQ(typeOf(call("program_id", {Value(1)})), "int32");
  EXPECT_EQ(typeOf(call("arange", {Value(2), Value(10)})), "<['8'], int32>");
  EXPECT_EQ(typeOf(call("zeros", {ints({4, 8}), dtype(DType::Float16)})), "<['4', '8'], fp16>");
  EXPECT_EQ(typeOf(call("full", {ints({}), Value(3), dtype(DType::Int64)})), "int64");
  EXPECT_EQ(typeOf(call("full", {ints({4}), argument(DType::Int32), dtype(DType::Float32)})),
            "<['4'], fp32>");
  EXPECT_EQ(typeOf(call("zeros_like", {argument(DType::Int8, {4})})), "<['4'], int8>");
  expectIr("tile.arange 2 to 10");
  expectIr("dense<0.000000e+00> : tensor<4x8xf16>");
}

TEST_F(FamilyTest, CreationErrors) {
  EXPECT_EQ(errorOf([&] { call("program_id", {Value(3)}); }), "AxisOutOfRange");
  EXPECT_EQ(errorOf([&] { call("arange", {Value(0), Value(100)}); }), "ShapeNotPowerOfTwo");
  EXPECT_EQ(errorOf([&] { call("arange", {Value(4), Value(4)}); }), "ArangeRange");
  EXPECT_EQ(errorOf([&] { call("arange", {Value(0), argument(DType::Int32)}); }), "NotConstexpr");
  EXPECT_EQ(errorOf([&] { call("arange", {Value(0), Value(int64_t(1) << 40)}); }), "ArangeRange");
  EXPECT_EQ(errorOf([&] { call("zeros", {ints({1024, 2048}), dtype(DType::Int8)}); }),
            "TileTooLarge");
  EXPECT_EQ(errorOf([&] {
              call("zeros", {ints({int64_t(1) << 40, int64_t(1) << 40}), dtype(DType::Int8)});
            }),
            "TileTooLarge");
  EXPECT_EQ(errorOf([&] { call("full", {ints({4}), Value(300), dtype(DType::Int8)}); }),
            "LiteralOutOfRange");
  OpError error;
  EXPECT_EQ(errorOf([&] { call("zeros", {Value(4), dtype(DType::Int8)}); }, &error),
            "WrongArgument");
  EXPECT_EQ(error.hint, "write `[4]`");
}

TEST_F(FamilyTest, Shapes) {
  Value x = argument(DType::Float32, {4, 8});
  EXPECT_EQ(typeOf(call("trans", {x})), "<['8', '4'], fp32>");
  EXPECT_EQ(typeOf(call("permute", {x, Value(1), Value(0)})), "<['8', '4'], fp32>");
  EXPECT_EQ(typeOf(call("reshape", {x, ints({2, 16})})), "<['2', '16'], fp32>");
  EXPECT_EQ(typeOf(call("reshape", {x}, {{"shape", ints({32})}})), "<['32'], fp32>");
  EXPECT_EQ(typeOf(method(x, "reshape", {Value(32)})), "<['32'], fp32>");
  EXPECT_EQ(typeOf(call("ravel", {x})), "<['32'], fp32>");
  EXPECT_EQ(typeOf(call("expand_dims", {x, ints({0, -1})})), "<['1', '4', '8', '1'], fp32>");
  EXPECT_EQ(typeOf(call("broadcast_to", {argument(DType::Int1, {1, 8}), Value(4), Value(8)})),
            "<['4', '8'], int1>");
  EXPECT_EQ(typeOf(call("join", {x, x})), "<['4', '8', '2'], fp32>");
  EXPECT_EQ(typeOf(call("join", {Value(1), Value(2)})), "<['2'], int32>");
  EXPECT_EQ(typeOf(call("interleave", {x, x})), "<['4', '16'], fp32>");
  Value parts = call("split", {argument(DType::Int8, {4, 2})});
  EXPECT_EQ(typeOf(parts.items()[1]), "<['4'], int8>");
  EXPECT_EQ(typeOf(call("split", {argument(DType::Int8, {2})}).items()[0]), "int8");
  EXPECT_EQ(typeOf(call("cat", {argument(DType::Int8, {4}), argument(DType::Int8, {4})},
                        {{"can_reorder", Value(true)}})),
            "<['8'], int8>");
  EXPECT_EQ(typeOf(call("cat", {x, x})), "<['8', '8'], fp32>");
  EXPECT_EQ(typeOf(call("cat", {x, x}, {{"dim", Value(-1)}})), "<['4', '16'], fp32>");
  EXPECT_EQ(typeOf(call("gather", {x, argument(DType::Int32, {4, 2}), Value(1)})),
            "<['4', '2'], fp32>");
  EXPECT_EQ(typeOf(call("squeeze", {argument(DType::Int8, {1, 4}), Value(0)})), "<['4'], int8>");
  EXPECT_EQ(typeOf(method(argument(DType::Int8, {1, 1}), "item", {})), "int8");
  EXPECT_EQ(typeOf(call("reshape", {argument(DType::Int8, {1}), ints({})})), "int8");
  body();
}

TEST_F(FamilyTest, ShapeErrors) {
  Value x = argument(DType::Float32, {4, 8});
  EXPECT_EQ(errorOf([&] { call("reshape", {x, ints({4, 4})}); }), "ReshapeCount");
  EXPECT_EQ(errorOf([&] { call("permute", {x, Value(0), Value(0)}); }), "NotAPermutation");
  EXPECT_EQ(errorOf([&] { call("trans", {argument(DType::Int8, {4})}); }), "NotAPermutation");
  EXPECT_EQ(errorOf([&] { call("broadcast_to", {x, ints({8, 8})}); }), "IncompatibleShapes");
  EXPECT_EQ(errorOf([&] { call("expand_dims", {x, Value(4)}); }), "AxisOutOfRange");
  EXPECT_EQ(errorOf([&] { call("split", {x}); }), "SplitShape");
  EXPECT_EQ(errorOf([&] { method(x, "item", {}); }), "NotOneElement");
}

// --- math ---

TEST_F(FamilyTest, Math) {
  Value x = argument(DType::Float32, {4}), h = argument(DType::BFloat16, {4});
  EXPECT_EQ(typeOf(call("exp", {x})), "<['4'], fp32>");
  EXPECT_EQ(typeOf(call("math.exp2", {Value(1.0)})), "fp32");
  EXPECT_EQ(typeOf(call("abs", {h})), "<['4'], bf16>");
  EXPECT_EQ(typeOf(call("maximum", {h, h})), "<['4'], fp32>");
  EXPECT_EQ(typeOf(call("minimum", {argument(DType::UInt8), argument(DType::UInt8)})), "uint8");
  EXPECT_EQ(typeOf(call("clamp", {x, Value(0.0), Value(1.0)})), "<['4'], fp32>");
  EXPECT_EQ(typeOf(call("fdiv", {argument(DType::Float16), argument(DType::Float16)})), "fp16");
  EXPECT_EQ(typeOf(call("fma", {x, Value(2.0), Value(1.0)})), "<['4'], fp32>");
  EXPECT_EQ(typeOf(call("umulhi", {argument(DType::UInt32), argument(DType::UInt32)})), "uint32");
  EXPECT_EQ(typeOf(call("cdiv", {argument(DType::Int32), Value(16)})), "int32");
  EXPECT_EQ(typeOf(call("cdiv", {Value(10), Value(4)})), "int32");
  EXPECT_EQ(typeOf(method(x, "sigmoid", {})), "<['4'], fp32>");
  expectIr("arith.maxnumf");
  expectIr("arith.minui");
  expectIr("math.fma");
  OpError error;
  EXPECT_EQ(errorOf([&] { call("exp", {argument(DType::Float16)}); }, &error), "UnsupportedDType");
  EXPECT_EQ(error.message, "`tl.exp` takes `fp32` or `fp64`, not `fp16`");
  EXPECT_EQ(errorOf([&] { call("sqrt_rn", {argument(DType::Float64)}); }), "UnsupportedDType");
  EXPECT_EQ(errorOf([&] { call("clamp", {argument(DType::Int32), Value(0), Value(1)}); }),
            "UnsupportedDType");
}

TEST_F(FamilyTest, NanIsDroppedUnlessAskedFor) {
  Value x = argument(DType::Float32);
  call("maximum", {x, x}, {{"propagate_nan", find("PropagateNan.ALL")->constant()}});
  expectIr("arith.maximumf");
  EXPECT_TRUE(equal(*attribute(*op, find("PropagateNan")->constant(), "ALL"),
                    find("PropagateNan.ALL")->constant()));
  EXPECT_EQ(errorOf([&] { call("maximum", {x, x}, {{"propagate_nan", Value(true)}}); }),
            "WrongArgument");
}

TEST_F(FamilyTest, Where) {
  Value c = argument(DType::Int1, {4});
  EXPECT_EQ(typeOf(call("where", {c, argument(DType::Int8), Value(1)})), "<['4'], int8>");
  EXPECT_EQ(typeOf(call("where", {c, Value(1), Value(0.5)})), "<['4'], fp32>");
  Value p = pointers(DType::Float32);
  EXPECT_EQ(typeOf(call("where", {argument(DType::Int1), p, p})), "pointer<fp32>");
  EXPECT_TRUE(notes.empty());
  call("where", {argument(DType::Int32, {4}), Value(1), Value(0)});
  EXPECT_EQ(notes, std::vector<std::string>{"ConditionNotBoolean"});
  body();
}

TEST_F(FamilyTest, Libdevice) {
  EXPECT_EQ(typeOf(call("libdevice.tanh", {argument(DType::Float32, {4})})), "<['4'], fp32>");
  expectIr("tile.extern \"__nv_tanhf\"(%arg0)");
  call("libdevice.pow", {argument(DType::Float32, {4}), Value(2)});
  expectIr("__nv_powif");
  EXPECT_EQ(typeOf(call("libdevice.isnan", {argument(DType::Float64)})), "int1");
  expectIr("__nv_isnand");
  OpError error;
  EXPECT_EQ(errorOf([&] { call("libdevice.tanh", {argument(DType::Float16)}); }, &error),
            "UnsupportedDType");
  EXPECT_EQ(error.message, "`libdevice.tanh` takes `(fp32)` or `(fp64)`, not `(fp16)`");
}

// --- memory ---

TEST_F(FamilyTest, LoadsAndStores) {
  Value p = pointers(DType::Float16, {8}), m = argument(DType::Int1, {8});
  EXPECT_EQ(typeOf(call("load", {p, m}, {{"other", Value(0)}})), "<['8'], fp16>");
  expectIr("other %cst : tensor<8xf16>");
  EXPECT_EQ(typeOf(call("load", {pointers(DType::Int1)})), "int1");
  call("load", {p},
       {{"cache_modifier", Value::str(".cg")},
        {"eviction_policy", Value::str("evict_last")},
        {"volatile", Value(true)}});
  expectIr("cache <cg> evict <evict_last> volatile");
  call("load", {p}, {{"cache_modifier", Value::str(".cs")}});
  expectIr("cache <cs>");
  EXPECT_TRUE(call("store", {p, argument(DType::Float32), m}).isNone());
  expectIr("arith.truncf");
  expectIr("tile.store");
}

TEST_F(FamilyTest, MemoryErrors) {
  Value p = pointers(DType::Float32, {8}), scalar = pointers(DType::Float32);
  Value m = argument(DType::Int1, {8});
  auto load = [&](std::vector<Value> args, Keywords keywords = {}) {
    return errorOf([&] { call("load", std::move(args), std::move(keywords)); });
  };
  EXPECT_EQ(load({argument(DType::Int64)}), "NotAPointer");
  EXPECT_EQ(load({p}, {{"other", Value(0)}}), "OtherWithoutMask");
  EXPECT_EQ(load({scalar, m}), "IncompatibleShapes");
  EXPECT_EQ(load({p, argument(DType::Int32, {8})}), "MaskNotBoolean");
  EXPECT_EQ(load({p, argument(DType::Int1, {4})}), "IncompatibleShapes");
  EXPECT_EQ(load({p}, {{"boundary_check", ints({0})}}), "WrongArgument");
  EXPECT_EQ(load({p}, {{"cache_modifier", Value::str(".wb")}}), "WrongArgument");
  auto store = [&](std::vector<Value> args) {
    return errorOf([&] { call("store", std::move(args)); });
  };
  EXPECT_EQ(store({scalar, argument(DType::Float32, {8})}), "IncompatibleShapes");
  EXPECT_EQ(store({p, argument(DType::Float32, {4, 8})}), "IncompatibleShapes");
  EXPECT_EQ(store({argument(Type::pointer(float32(), true)), Value(1.0)}), "ConstPointer");
}

TEST_F(FamilyTest, BlockPointers) {
  Value n = argument(DType::Int32);
  Value block = call("make_block_ptr",
                     {pointers(DType::Float16), ints({100, 64}), Value::tuple({n, Value(1)}),
                      ints({0, 0}), ints({16, 32}), ints({1, 0})});
  EXPECT_EQ(attribute(*op, block, "dtype")->repr(), "pointer<<['16', '32'], fp16>>");
  EXPECT_FALSE(block.isConstexpr());
  Value loaded =
      call("load", {block}, {{"boundary_check", ints({0})}, {"padding_option", Value::str("nan")}});
  EXPECT_EQ(typeOf(loaded), "<['16', '32'], fp16>");
  Value moved = method(block, "advance", {ints({0, 32})});
  EXPECT_TRUE(moved.as<BlockPointer>()->sameShape(*block.as<BlockPointer>()));
  call("store", {moved, argument(DType::Float16, {16, 32})});
  expectIr("0x7E00");
  expectIr("tile.addptr");
  // The same block around other tiles.
  auto tiles = block.as<BlockPointer>()->tiles();
  EXPECT_EQ(tiles.size(), 7u);
  EXPECT_EQ(block.as<BlockPointer>()->withTiles(tiles).repr(), block.repr());
  EXPECT_EQ(errorOf([&] { call("load", {block, Value(true)}); }), "WrongArgument");
  EXPECT_EQ(errorOf([&] { call("load", {block}, {{"boundary_check", ints({2})}}); }),
            "AxisOutOfRange");
  EXPECT_EQ(errorOf([&] { call("advance", {block, ints({1})}); }), "WrongArgument");
  EXPECT_EQ(errorOf([&] { call("advance", {pointers(DType::Int8), ints({1})}); }), "WrongArgument");
}

TEST_F(FamilyTest, Descriptors) {
  Value n = argument(DType::Int32);
  Value desc = call("make_tensor_descriptor", {pointers(DType::Float16), Value::tuple({n, n}),
                                               Value::tuple({n, Value(1)}), ints({16, 32})});
  EXPECT_EQ(typeOf(desc), "tensor_descriptor<<['16', '32'], fp16>>");
  EXPECT_EQ(typeOf(method(desc, "load", {Value::tuple({n, Value(0)})})), "<['16', '32'], fp16>");
  method(desc, "store", {ints({0, 0}), argument(DType::Float32, {16, 32})});
  method(desc, "atomic_add", {ints({0, 0}), argument(DType::Float16, {16, 32})});
  EXPECT_EQ(typeOf(attribute(*op, desc, "shape")->items()[0]), "int32");
  EXPECT_EQ(typeOf(attribute(*op, desc, "strides")->items()[0]), "int64");
  Value row = call("make_tensor_descriptor", {pointers(DType::Float32), Value::tuple({n, n}),
                                              Value::tuple({n, Value(1)}), ints({1, 32})});
  EXPECT_EQ(typeOf(method(row, "gather", {argument(DType::Int32, {16}), Value(0)})),
            "<['16', '32'], fp32>");
  expectIr("tile.desc_reduce <fadd>");
  expectIr("tile.desc_gather");
  auto make = [&](const Value &last, std::vector<int64_t> block) {
    return errorOf([&] {
      call("make_tensor_descriptor",
           {pointers(DType::Float16), Value::tuple({n, n}), Value::tuple({n, last}), ints(block)});
    });
  };
  EXPECT_EQ(make(n, {16, 32}), "DescriptorStride");
  EXPECT_EQ(make(Value(1), {16, 4}), "DescriptorBlock");
  EXPECT_EQ(errorOf([&] { method(desc, "load", {ints({0})}); }), "WrongArgument");
  EXPECT_EQ(errorOf([&] { method(desc, "load", {Value::tuple({argument(DType::Int64), n})}); }),
            "WrongArgument");
}

TEST_F(FamilyTest, Atomics) {
  Value p = pointers(DType::Int32, {8});
  EXPECT_EQ(typeOf(call("atomic_add", {p, Value(1)})), "<['8'], int32>");
  expectIr("tile.atomic_rmw <add>, <acq_rel>, <gpu>");
  call("atomic_max", {pointers(DType::UInt64), Value(1)},
       {{"sem", Value::str("relaxed")}, {"scope", Value::str("sys")}});
  expectIr("<umax>, <relaxed>, <sys>");
  call("atomic_min", {pointers(DType::Float32), Value(1)});
  expectIr("<fmin>");
  EXPECT_EQ(typeOf(call("atomic_cas", {pointers(DType::Int64), Value(0), Value(1)})), "int64");
  expectIr("tile.atomic_cas");
  EXPECT_EQ(errorOf([&] { call("atomic_max", {pointers(DType::Float16), Value(1)}); }),
            "UnsupportedDType");
  EXPECT_EQ(errorOf([&] { call("atomic_add", {pointers(DType::Int8), Value(1)}); }),
            "UnsupportedDType");
  EXPECT_EQ(errorOf([&] { call("atomic_add", {p, Value(1)}, {{"sem", Value::str("x")}}); }),
            "WrongArgument");
}

// --- reductions and scans ---

TEST_F(FamilyTest, ResultTypesOfReductions) {
  using enum DType;
  auto reduced = [&](const char *name, DType type, Keywords keywords = {{"axis", Value(0)}}) {
    return typeOf(call(name, {argument(type, {8})}, std::move(keywords)));
  };
  EXPECT_EQ(reduced("sum", Int8), "int32");
  EXPECT_EQ(reduced("sum", UInt8), "uint32");
  EXPECT_EQ(reduced("sum", Int1), "uint32");
  EXPECT_EQ(reduced("sum", Int64), "int64");
  EXPECT_EQ(reduced("sum", Float16), "fp16");
  EXPECT_EQ(reduced("sum", BFloat16), "bf16");
  EXPECT_EQ(reduced("sum", Float16, {{"dtype", dtype(Float32)}}), "fp32");
  EXPECT_EQ(reduced("max", Float16), "fp32");
  EXPECT_EQ(reduced("max", BFloat16), "fp32");
  EXPECT_EQ(reduced("min", Int8), "int32");
  EXPECT_EQ(reduced("min", UInt16), "int32");
  EXPECT_EQ(reduced("max", UInt32), "uint32");
  EXPECT_EQ(reduced("argmax", BFloat16), "int32");
  EXPECT_EQ(reduced("xor_sum", Int8), "int8");
  EXPECT_EQ(reduced("cumsum", BFloat16), "<['8'], fp32>");
  EXPECT_EQ(reduced("cumsum", Int16), "<['8'], int32>");
  EXPECT_EQ(reduced("cumprod", Int16), "<['8'], int16>");
  body();
}

TEST_F(FamilyTest, ShapesOfReductions) {
  Value x = argument(DType::Float32, {4, 8});
  EXPECT_EQ(typeOf(call("sum", {x}, {{"axis", Value(-1)}})), "<['4'], fp32>");
  EXPECT_EQ(typeOf(call("sum", {x})), "fp32");
  EXPECT_EQ(typeOf(call("sum", {x}, {{"keep_dims", Value(true)}})), "<['1', '1'], fp32>");
  EXPECT_EQ(typeOf(call("max", {x}, {{"axis", Value(0)}, {"keep_dims", Value(true)}})),
            "<['1', '8'], fp32>");
  Value both = call("max", {x, Value(1)}, {{"return_indices", Value(true)}});
  EXPECT_EQ(both.repr(), "(<['4'], fp32>, <['4'], int32>)");
  EXPECT_EQ(typeOf(call("histogram", {argument(DType::Int32, {64}), Value(16)})),
            "<['16'], int32>");
  EXPECT_EQ(errorOf([&] { call("sum", {x}, {{"axis", Value(2)}}); }), "AxisOutOfRange");
  EXPECT_EQ(errorOf([&] { call("sum", {argument(DType::Float32)}); }), "AxisOutOfRange");
  EXPECT_EQ(errorOf([&] { call("argmax", {x, None{}}); }), "MissingArgument");
  body();
}

// A combine function as the emitter would pass one.
struct Function : Callable {
  using Body = std::function<Value(OpContext &, std::vector<Value>)>;
  explicit Function(Body body) : body(std::move(body)) {}
  std::string name() const override { return "combine"; }
  Value call(OpContext &context, std::vector<Value> args,
             std::vector<std::pair<std::string, Value>>) override {
    return body(context, std::move(args));
  }
  Body body;
};

TEST_F(FamilyTest, CombineFunctionsOfTheProgram) {
  Value add = std::make_shared<Function>([](OpContext &context, std::vector<Value> args) {
    return binary(context, BinaryOperator::Add, args[0], args[1]);
  });
  Value x = argument(DType::Float32, {8}), i = argument(DType::Int32, {8});
  EXPECT_EQ(typeOf(call("reduce", {x, Value(0), add})), "fp32");
  EXPECT_EQ(typeOf(call("associative_scan", {x, Value(0), add}, {{"reverse", Value(true)}})),
            "<['8'], fp32>");
  expectIr("reverse");
  Value pair = std::make_shared<Function>(
      [](OpContext &, std::vector<Value> args) { return Value::tuple({args[0], args[3]}); });
  EXPECT_EQ(call("reduce", {Value::tuple({x, i}), Value(0), pair}).repr(), "(fp32, int32)");
  body();
  Value wrong =
      std::make_shared<Function>([](OpContext &, std::vector<Value>) { return Value(1); });
  OpError error;
  EXPECT_EQ(errorOf([&] { call("reduce", {x, Value(0), wrong}); }, &error), "CombineResult");
  EXPECT_EQ(error.message, "`combine` must return `fp32` as value 0, but returns `int32`");
  EXPECT_EQ(errorOf([&] { call("reduce", {x, Value(0), Value(1)}); }), "WrongArgument");
}

TEST_F(FamilyTest, MapElementwise) {
  Value both = std::make_shared<Function>([](OpContext &context, std::vector<Value> args) {
    return Value::tuple({binary(context, BinaryOperator::Add, args[0], args[1]),
                         binary(context, BinaryOperator::Lt, args[0], args[1])});
  });
  Value x = argument(DType::Float32, {8});
  EXPECT_EQ(call("map_elementwise", {both, x, Value(1.0)}).repr(),
            "(<['8'], fp32>, <['8'], int1>)");
  Value negate = std::make_shared<Function>([](OpContext &context, std::vector<Value> args) {
    return Value::tuple({unary(context, UnaryOperator::Neg, args[0]), args[1]});
  });
  EXPECT_EQ(call("map_elementwise", {negate, x}, {{"pack", Value(2)}}).repr(), "(<['8'], fp32>,)");
  expectIr("tile.map pack 2");
}

// --- products ---

TEST_F(FamilyTest, DotResultTypes) {
  using enum DType;
  auto dot = [&](DType type, Keywords keywords = {}) {
    return typeOf(
        call("dot", {argument(type, {16, 32}), argument(type, {32, 64})}, std::move(keywords)));
  };
  EXPECT_EQ(dot(Float16), "<['16', '64'], fp32>");
  EXPECT_EQ(dot(Float16, {{"out_dtype", dtype(Float16)}}), "<['16', '64'], fp16>");
  EXPECT_EQ(dot(BFloat16), "<['16', '64'], fp32>");
  EXPECT_EQ(dot(Float64), "<['16', '64'], fp64>");
  EXPECT_EQ(dot(Int8), "<['16', '64'], int32>");
  EXPECT_EQ(dot(Float8E5), "<['16', '64'], fp32>");
  EXPECT_EQ(typeOf(call("dot", {argument(Float8E5, {16, 32}), argument(Float8E4NV, {32, 16})})),
            "<['16', '16'], fp32>");
  EXPECT_EQ(typeOf(call("dot", {argument(Float32, {2, 16, 32}), argument(Float32, {2, 32, 16})})),
            "<['2', '16', '16'], fp32>");
  EXPECT_EQ(
      typeOf(call("dot", {argument(Float32, {2, 2, 16, 16}), argument(Float32, {2, 2, 16, 16})})),
      "<['2', '2', '16', '16'], fp32>");
  body();
}

TEST_F(FamilyTest, DotPrecision) {
  Value a = argument(DType::Float32, {16, 16});
  call("dot", {a, a});
  expectIr("precision <tf32>");
  call("dot", {a, a}, {{"allow_tf32", Value(false)}});
  EXPECT_EQ(notes, std::vector<std::string>{"OldSpelling"});
  call("dot", {a, a}, {{"input_precision", Value::str("tf32x3")}});
  expectIr("precision <tf32x3>");
  EXPECT_EQ(errorOf([&] { call("dot", {a, a}, {{"input_precision", Value::str("fp32")}}); }),
            "WrongArgument");
}

TEST_F(FamilyTest, DotErrors) {
  using enum DType;
  auto dot = [&](const Tile &a, const Tile &b, Keywords keywords = {}) {
    return errorOf([&] { call("dot", {a, b}, std::move(keywords)); });
  };
  OpError error;
  EXPECT_EQ(
      errorOf([&] { call("dot", {argument(Float16, {16, 32}), argument(Float16, {64, 16})}); },
              &error),
      "DotShapeMismatch");
  EXPECT_EQ(error.message,
            "inner dimensions of `tl.dot` differ: 32 and 64, of operands 16 x 32 and 64 x 16");
  EXPECT_EQ(dot(argument(Float16, {16}), argument(Float16, {16})), "DotShapeMismatch");
  EXPECT_EQ(dot(argument(Float16, {16, 8}), argument(Float16, {8, 16})), "DotTooSmall");
  EXPECT_EQ(dot(argument(Int8, {16, 16}), argument(Int8, {16, 16})), "DotTooSmall");
  EXPECT_EQ(dot(argument(Float64, {8, 2}), argument(Float64, {2, 8})), "DotTooSmall");
  EXPECT_EQ(dot(argument(Float16, {16, 16}), argument(Float32, {16, 16})), "DotOperandType");
  EXPECT_EQ(dot(argument(Int32, {16, 16}), argument(Int32, {16, 16})), "DotOperandType");
  EXPECT_EQ(dot(argument(Float16, {16, 16}), argument(Float16, {16, 16}),
                {{"out_dtype", dtype(BFloat16)}}),
            "DotOperandType");
  EXPECT_EQ(dot(argument(Float16, {16, 16}), argument(Float16, {16, 16}),
                {{"acc", argument(Float16, {16, 16})}, {"out_dtype", dtype(Float32)}}),
            "DotAccumulatorType");
  EXPECT_EQ(dot(argument(Float16, {16, 16}), argument(Float16, {16, 16}),
                {{"acc", argument(Float32, {16, 32})}}),
            "DotShapeMismatch");
}

TEST_F(FamilyTest, DotScaled) {
  using enum DType;
  Value result = call("dot_scaled",
                      {argument(UInt8, {32, 32}), argument(UInt8, {32, 2}), Value::str("e2m1"),
                       argument(Float8E5, {64, 32}), argument(UInt8, {32, 2}), Value::str("e5m2")});
  EXPECT_EQ(typeOf(result), "<['32', '32'], fp32>");
  result = call("dot_scaled",
                {argument(UInt8, {32, 32}), argument(Float8E4NV, {32, 4}), Value::str("e2m1"),
                 argument(Float8E5, {64, 32}), argument(UInt8, {32, 2}), Value::str("e5m2")});
  EXPECT_EQ(typeOf(result), "<['32', '32'], fp32>");
  body();
  EXPECT_EQ(errorOf([&] {
              call("dot_scaled",
                   {argument(UInt8, {32, 32}), argument(UInt8, {32, 8}), Value::str("e2m1"),
                    argument(Float8E5, {64, 32}), None{}, Value::str("e5m2")});
            }),
            "DotShapeMismatch");
}

// --- hints, debugging, names ---

TEST_F(FamilyTest, Hints) {
  Value x = argument(DType::Int32, {8});
  EXPECT_EQ(typeOf(call("multiple_of", {x, Value(8)})), "<['8'], int32>");
  expectIr("divisibility = array<i64: 8>");
  call("max_contiguous", {x, ints({8})});
  expectIr("contiguity = array<i64: 8>");
  call("assume", {argument(DType::Int1)});
  expectIr("tile.assume");
  call("debug_barrier", {});
  expectIr("tile.barrier");
  EXPECT_EQ(errorOf([&] { call("multiple_of", {x, ints({8, 8})}); }), "WrongArgument");
  EXPECT_EQ(errorOf([&] { call("assume", {Value(false)}); }), "FalseAssumption");
}

TEST_F(FamilyTest, Printing) {
  call("device_print", {Value::str("pid"), argument(DType::UInt8), Value(-1)});
  expectIr("tile.print \" pid: \" hex false signed [false, true]");
  call("static_print", {Value::str("a"), Value(1)}, {{"sep", Value::str("-")}});
  EXPECT_EQ(notes, std::vector<std::string>{"StaticPrint"});
  EXPECT_EQ(noted, "a-1");
}

TEST_F(FamilyTest, Assertions) {
  Value c = argument(DType::Int1, {4});
  call("device_assert", {c, Value::str("no")});
  EXPECT_EQ(body().find("tile.assert"), std::string::npos);
  options.debug = true;
  call("device_assert", {c, Value::str("no")}, {{"mask", argument(DType::Int1)}});
  expectIr("tile.assert");
  call("static_assert", {Value(true)});
  OpError error;
  EXPECT_EQ(errorOf([&] { call("static_assert", {Value(1 == 2), Value::str("why")}); }, &error),
            "StaticAssertFailed");
  EXPECT_EQ(error.message, "`tl.static_assert` failed: why");
  EXPECT_EQ(errorOf([&] { call("static_assert", {c}); }), "NotConstexpr");
}

TEST_F(FamilyTest, InlineAssembly) {
  Value x = argument(DType::Int32, {8});
  Value result = call("inline_asm_elementwise",
                      {Value::str("add.s32 $0, $1, $2;"), Value::str("=r,r,r"),
                       Value::tuple({x, Value(1)}), dtype(DType::Int32), Value(true), Value(1)});
  EXPECT_EQ(typeOf(result), "<['8'], int32>");
  Value several =
      call("inline_asm_elementwise",
           {Value::str("mov"), Value::str("=r,=r,r"), Value::tuple({x}),
            Value::tuple({dtype(DType::Int32), dtype(DType::Float32)}), Value(true), Value(1)});
  EXPECT_EQ(several.repr(), "(<['8'], int32>, <['8'], fp32>)");
  expectIr("tile.inline_asm");
}

TEST_F(FamilyTest, Ranges) {
  Value range = call("range", {argument(DType::Int32)}, {{"num_stages", Value(3)}});
  auto *value = range.as<RangeValue>();
  ASSERT_TRUE(value);
  EXPECT_EQ(value->start.repr(), "0");
  EXPECT_TRUE(value->stop.isTile());
  EXPECT_EQ(value->numStages.repr(), "3");
  Value down = call("static_range", {Value(7), Value(-1), Value(-2)});
  EXPECT_TRUE(down.as<RangeValue>()->isStatic);
  EXPECT_EQ(errorOf([&] { call("static_range", {argument(DType::Int32)}); }), "NotConstexpr");
  EXPECT_EQ(errorOf([&] { call("range", {Value(1.5)}); }), "RangeBound");
  EXPECT_EQ(errorOf([&] { call("range", {Value(1), Value(2), Value(0)}); }), "RangeBound");
}

TEST_F(FamilyTest, Target) {
  options.targetArch = 90;
  EXPECT_TRUE(call("target_info.cuda_capability_geq", {Value(9), Value(0)}).asBool());
  EXPECT_FALSE(call("target_info.cuda_capability_geq", {Value(10)}).asBool());
  options.targetBackend = "cpu";
  EXPECT_FALSE(call("target_info.is_cuda", {}).asBool());
  EXPECT_EQ(call("extra.cuda.num_threads", {}).repr(), "128");
  EXPECT_EQ(call("get_int_dtype", {Value(16), Value(false)}).repr(), "uint16");
  EXPECT_EQ(call("_log2", {Value(64)}).repr(), "6");
}

} // namespace
} // namespace nereid::ops::test
