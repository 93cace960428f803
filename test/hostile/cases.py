"""Hostile input: what the command is given, and what its refusal must say. test/harness/hostile_tests.py runs them.

A case: the files, the words of the command, and `expect`: parts of the answer, or None where nothing is wrong.
`seconds` and `megabytes` replace the common bounds.
"""
import random
import struct

CASES = {}
HEAD = "import triton\nimport triton.language as tl\n\n\n"
GOOD = HEAD + """@triton.jit
def copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)
"""
SPEC = """doc = "copy"


def inputs(n):
    return dict(x=randn((n,), "f32"))


def outputs(n):
    return dict(y=empty((n,), "f32"))


def single(x, y, n):
    return [launch("copy", (cdiv(n, 64),), x, y, n, BLOCK=64)]
"""


def case(name, files, command, *expect, **bounds):
    assert name not in CASES, name
    CASES[name] = dict(files=files, command=command, expect=list(expect) or None, **bounds)


def listing(name, text, *expect, **bounds):
    """The module as such is bad."""
    case(name, {"k.py": text}, ["list", "k.py"], *expect, **bounds)


def compiling(name, body, *expect, parameters="x", signature="*fp32", before="", **bounds):
    """The body of a kernel is bad."""
    text = HEAD + before + f"\n\n@triton.jit\ndef kernel({parameters}):\n" + "".join(f"    {line}\n" for line in body)
    case(name, {"k.py": text}, ["compile", "k.py:kernel", "--signature", signature, "--emit", "tile"], *expect, **bounds)


# --- files that are no text -------------------------------------------------------------------------

listing("empty_file", b"")
listing("zero_bytes", b"\0" * 100_000, "[")
listing("random_bytes", random.Random(1).randbytes(1_000_000), "[")
listing("elf_file", b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 64, "[")
listing("invalid_utf8", GOOD.encode() + b"\n# \xff\xfe\n", "[")
listing("utf16", GOOD.encode("utf-16"), "[")
listing("lone_carriage_returns", GOOD.replace("\n", "\r"))
listing("byte_order_mark", b"\xef\xbb\xbf" + GOOD.encode())
listing("null_byte_in_comment", GOOD.encode() + b"# a\0b\n", "[")
for cut in (40, 75, 90, 120, 150, 190, 205):
    case(f"truncated_at_{cut}", {"k.py": GOOD[:cut]}, ["compile", "k.py:copy", "--signature", "*fp32, *fp32, i32, 64"], "error:")
case("endless_device", {}, ["list", "/dev/zero"], "more than")
case("endless_device_as_array", {"k.py": GOOD}, ["run", "k.py:copy", "--arg", "x=load('/dev/zero')", "--arg", "y=zeros(8,f32)", "--arg", "n=8",
     "--arg", "BLOCK=8"], "not a .npy file")
case("directory_as_file", {"k.py/inside": "x"}, ["explain", "k.py:copy", "-s", "*fp32"], "is a directory")
case("folder_that_is_its_own", {"folder/wrong.py": "x = (", "folder/.hidden.py": "("}, ["list", "folder", "folder/../folder"], "UnclosedBracket")
case("no_such_file", {}, ["list", "k.py"], "error:")

# --- deep nesting, long lines, many things ----------------------------------------------------------

DEEP = 10_000
listing("nested_parentheses", "x = " + "(" * DEEP + ")" * DEEP + "\n", "[NestedTooDeep]")
listing("nested_lists", "x = " + "[" * DEEP + "]" * DEEP + "\n", "[NestedTooDeep]")
listing("nested_open_only", "x = " + "(" * 1_000_000, "[")
listing("nested_dictionaries", "x = " + "{0:" * DEEP + "0" + "}" * DEEP + "\n", "[NestedTooDeep]")
listing("nested_unary", "x = " + "-" * DEEP + "1\n", "[NestedTooDeep]")
listing("nested_not", "x = " + "not " * DEEP + "1\n", "[NestedTooDeep]")
listing("nested_lambdas", "x = " + "lambda: " * DEEP + "1\n", "[NestedTooDeep]")
listing("nested_calls", "x = " + "f(" * DEEP + ")" * DEEP + "\n", "[NestedTooDeep]")
listing("nested_conditionals", "x = " + "1 if 1 else " * DEEP + "1\n", "[NestedTooDeep]")
listing("nested_powers", "x = " + "1 ** " * DEEP + "1\n", "[NestedTooDeep]")
listing("nested_subscripts", "x = a" + "[0" * DEEP + "]" * DEEP + "\n", "[NestedTooDeep]")
listing("nested_f_strings", "x = " + "f'{" * DEEP + "1" + "}'" * DEEP + "\n", "[")
listing("nested_format_specs", "x = f'" + "{a:" * DEEP + "}" * DEEP + "'\n", "[")
listing("nested_blocks", "".join(" " * i + "if 1:\n" for i in range(3_000)) + " " * 3_000 + "pass\n", "[")
listing("nested_functions", "".join(" " * i + "def f():\n" for i in range(3_000)) + " " * 3_000 + "pass\n", "[")
listing("elif_chain", "if 0:\n    pass\n" + "elif 0:\n    pass\n" * 20_000)
listing("nested_patterns", "match x:\n    case " + "[" * DEEP + "]" * DEEP + ":\n        pass\n", "[NestedTooDeep]")
listing("attribute_chain", "x = a" + ".b" * DEEP + "\n")
listing("call_chain", "x = a" + "()" * DEEP + "\n")
listing("sum_chain", "x = 1" + " + 1" * 50_000 + "\n")
listing("comparison_chain", "x = 1" + " < 1" * 50_000 + "\n")
listing("target_chain", "x = " * DEEP + "1\n")
listing("line_of_1_mb", "x = " + "1 + " * 250_000 + "\n", "[")
listing("comment_of_1_mb", "# " + "a" * 1_000_000 + "\n" + GOOD)
listing("name_of_1_mb", "a" * 1_000_000 + " = 1\nx = = 1\n", "[")
listing("error_in_line_of_1_mb", "x = [" + "1, " * 300_000 + "] ]\n", "[")
listing("string_of_1_mb", "x = '" + "a" * 1_000_000 + "'\n" + GOOD)
listing("string_without_end", "x = '''" + "a\n" * 500_000, "[")
listing("backslash_lines", "x = " + "\\\n" * 100_000 + "1\n")
listing("blank_lines", "\n" * 1_000_000 + GOOD)
listing("semicolons", "x = 1;" * 100_000 + "\n")
listing("many_statements", "x = 1\n" * 200_000 + GOOD)
listing("many_kernels_errors", HEAD + "".join(f"@triton.jit\ndef k{i}(x):\n    import os\n" for i in range(500)))
listing("many_indents", "".join("if 1:\n" + " " * (1 + i % 50) + "pass\n" for i in range(20_000)))

# --- numbers and strings ----------------------------------------------------------------------------

DIGITS = "7" * 10_000
listing("integer_of_10000_digits", f"x = {DIGITS}\n" + GOOD)  # an error for a kernel that uses it
compiling("integer_of_10000_digits_in_kernel", [f"tl.store(x, {DIGITS})"], "[")
compiling("hexadecimal_of_10000_digits", [f"tl.store(x, 0x{'f' * 10_000})"], "[")
compiling("float_of_10000_digits", [f"tl.store(x, 1.{DIGITS})"])
compiling("float_exponent", ["tl.store(x, 1e999999999999999999999)"], seconds=2)
compiling("power_tower", ["N: tl.constexpr = 9 ** 9 ** 9 ** 9", "tl.store(x, N)"], "[")
compiling("shift_far", ["N: tl.constexpr = 1 << (1 << 62)", "tl.store(x, N)"], "[")
compiling("factorial", ["N: tl.constexpr = big()", "tl.store(x, N)"], "[IntegerTooLarge]",
          before="@tl.constexpr_function\ndef big():\n    n = 1\n    for i in range(1, 100000):\n        n = n * i\n    return n\n")
compiling("squaring", ["N: tl.constexpr = big()", "tl.store(x, N)"], "[",
          before="@tl.constexpr_function\ndef big():\n    n = 10\n    while True:\n        n = n * n\n")
compiling("string_product", ["N: tl.constexpr = 'a' * 10 ** 12", "tl.static_print(N)"], "[")
compiling("string_doubling", ["N: tl.constexpr = big()", "tl.static_print(N)"], "[",
          before="@tl.constexpr_function\ndef big():\n    s = 'ab'\n    while True:\n        s = s + s\n")
compiling("list_product", ["N: tl.constexpr = len([0] * 10 ** 12)", "tl.store(x, N)"], "[")
compiling("format_width", ["tl.static_print(f'{1:999999999999}')"], "[")
compiling("percent_width", ["tl.static_print('%999999999d' % 1)"], "[")
listing("module_integer_power", "x = 10 ** 10 ** 10\n" + GOOD)
listing("module_string_product", "x = 'a' * 10 ** 15\n" + GOOD)
listing("module_list_product", "x = [[0] * 10 ** 6] * 10 ** 6\n" + GOOD)
listing("module_tuple_doubling", "x = (1,)\nwhile True:\n    x = x + x\n" + GOOD)
listing("module_nested_value", "x = []\nfor i in range(10 ** 6):\n    x = [x]\ny = x == x\nprint(x)\n" + GOOD)
listing("module_list_in_itself", "x = []\nx.append(x)\ny = str(x)\nz = x == x\n" + GOOD)
listing("module_dictionary_in_itself", "x = {}\nx['a'] = x\ny = str(x)\n" + GOOD)
listing("module_join", "x = 'a' * 10 ** 6\nfor i in range(100):\n    x = x.replace('a', 'a' * 10 ** 6)\n" + GOOD)
listing("module_linked_list", "class A:\n    pass\nx = None\nfor i in range(300000):\n    y = A()\n    y.next = x\n    x = y\n" + GOOD)
listing("module_linked_closures", "def link(f):\n    return lambda: f\nx = None\nfor i in range(300000):\n    x = link(x)\n" + GOOD)
listing("module_nested_appends", "x = []\nfor i in range(300000):\n    y = []\n    y.append(x)\n    x = y\ny = x == x\nz = str(x)\n" + GOOD)
listing("module_nested_enumerate", "x = [0]\nfor i in range(300000):\n    x = list(enumerate(x))\n" + GOOD)
listing("module_big_set", "x = set(range(10 ** 6))\n" + GOOD)
listing("module_big_dictionary", "x = {}\nfor i in range(10 ** 6):\n    x[i] = i\n" + GOOD)
listing("module_membership", "x = list(range(10 ** 5))\nfor i in range(10 ** 5):\n    y = -1 in x\n" + GOOD)
listing("module_string_search", "x = 'a' * 10 ** 6\nfor i in range(10 ** 6):\n    y = x.find('b')\n" + GOOD)
listing("module_sorted", "x = sorted(range(10 ** 9))\n" + GOOD)
listing("module_range_list", "x = list(range(10 ** 12))\n" + GOOD)
listing("module_sum_range", "x = sum(range(10 ** 12))\n" + GOOD)

# --- loops and recursion ----------------------------------------------------------------------------

listing("module_while_true", "while True:\n    pass\n" + GOOD)
listing("module_for_range", "for i in range(10 ** 12):\n    pass\n" + GOOD)
listing("module_recursion", "def f(n):\n    return f(n + 1)\nx = f(0)\n" + GOOD)
listing("module_mutual_recursion", "def f(n):\n    return g(n)\ndef g(n):\n    return [f(n) for i in range(3)]\nx = f(0)\n" + GOOD)
listing("module_recursion_in_repr", "class A:\n    def __repr__(self):\n        return str(self)\nx = str(A())\n" + GOOD)
listing("module_branching_recursion", "def f(n):\n    return f(n - 1) + f(n - 1) if n else 1\nx = f(60)\n" + GOOD)
listing("module_import_of_itself", "from . import k\nfrom .k import *\n" + GOOD)
case("modules_import_each_other", {"a.py": "from .b import *\n" + GOOD, "b.py": "from .a import *\n"}, ["list", "a.py"])
listing("module_comprehension", "x = [i * j for i in range(10 ** 6) for j in range(10 ** 6)]\n" + GOOD)
case("loop_used_by_kernel", {"k.py": "N = 0\nwhile True:\n    N += 1\n" + GOOD.replace("* BLOCK", "* BLOCK + N")},
     ["compile", "k.py:copy", "--signature", "*fp32, *fp32, i32, 64", "--emit", "tile"], "[")
compiling("constexpr_recursion", ["tl.store(x, f(0))"], "[", before="@triton.jit\ndef f(n: tl.constexpr):\n    return f(n + 1)\n")
compiling("constexpr_function_recursion", ["N: tl.constexpr = f(0)", "tl.store(x, N)"], "[",
          before="@tl.constexpr_function\ndef f(n):\n    return f(n + 1)\n")
compiling("branching_helpers", ["tl.store(x, f(0, 60))"], "[",
          before="@triton.jit\ndef f(v, n: tl.constexpr):\n    if n == 0:\n        return v\n    return f(v, n - 1) + f(v + 1, n - 1)\n", seconds=4)
compiling("runtime_recursion", ["tl.store(x, f(0))"], "[", before="@triton.jit\ndef f(n):\n    return f(n + 1)\n")
compiling("static_range", ["for i in tl.static_range(10 ** 9):", "    tl.store(x + i, 0.0)"], "[")
compiling("static_range_nested", ["for i in tl.static_range(3000):", "    for j in tl.static_range(3000):", "        tl.store(x + i * j, 0.0)"], "[")
compiling("static_range_empty_body", ["for i in tl.static_range(10 ** 9):", "    pass"], "[")
compiling("while_constexpr", ["n: tl.constexpr = 0", "while True:", "    n = n + 1", "tl.store(x, n)"], "[")
compiling("huge_tuple", ["t = (0,) * 10 ** 9", "tl.store(x, t[0])"], "[")
compiling("tuple_doubling", ["t = (1, 2)", "for i in tl.static_range(64):", "    t = t + t", "tl.store(x, t[0])"], "[")
compiling("tuple_nesting", ["t = (1,)", "for i in tl.static_range(100000):", "    t = (t, t)", "tl.store(x, 1)"], "[")
compiling("many_statements_in_kernel", ["tl.store(x, 1.0)"] * 20_000)

# --- sizes ------------------------------------------------------------------------------------------

compiling("block_of_2_to_40", ["i = tl.arange(0, 2 ** 40)", "tl.store(x + i, 0.0)"], "[")
compiling("block_of_2_to_64", ["i = tl.arange(0, 2 ** 64)", "tl.store(x + i, 0.0)"], "[")
compiling("zeros_of_2_to_40", ["a = tl.zeros((2 ** 20, 2 ** 20), tl.float32)", "tl.store(x, tl.sum(a))"], "[")
compiling("product_of_extents", ["i = tl.arange(0, 1048576)", "a = i[:, None] + i[None, :]", "tl.store(x + a, 0.0)"], "[")
compiling("constexpr_argument_of_2_to_40", ["i = tl.arange(0, B)", "tl.store(x + i, 0.0)"], "[", parameters="x, B: tl.constexpr",
          signature=f"*fp32, {2 ** 40}")
compiling("rank_of_1000", ["a = tl.zeros(" + repr((1,) * 1000) + ", tl.float32)", "tl.store(x, tl.sum(a))"])
compiling("many_parameters", ["tl.store(x, 0.0)"], parameters="x, " + ", ".join(f"p{i}" for i in range(300)),
          signature="*fp32" + ", i32" * 300)
case("tensor_of_2_to_60", {"k.py": GOOD}, ["run", "k.py:copy", "--arg", "x=zeros(1152921504606846976,f32)", "--arg", "y=zeros(8,f32)",
     "--arg", "n=8", "--arg", "BLOCK=8"], "error:")
case("tensor_product_overflow", {"k.py": GOOD}, ["run", "k.py:copy", "--arg", "x=zeros(4294967296x4294967296,f32)", "--arg",
     "y=zeros(8,f32)", "--arg", "n=8", "--arg", "BLOCK=8"], "error:")
case("grid_of_2_to_40", {"k.py": GOOD}, ["run", "k.py:copy", "--arg", "x=zeros(8,f32)", "--arg", "y=zeros(8,f32)", "--arg", "n=8",
     "--arg", "BLOCK=8", "--grid", "(2 ** 40,)"], "error:")
case("grid_negative", {"k.py": GOOD}, ["run", "k.py:copy", "--arg", "x=zeros(8,f32)", "--arg", "y=zeros(8,f32)", "--arg", "n=8",
     "--arg", "BLOCK=8", "--grid", "(-1,)"], "error:")

# --- the words of the command -----------------------------------------------------------------------

for name, signature in (("nested", "(" * DEEP), ("digits", DIGITS), ("commas", "," * 100_000), ("bytes", "*fp32, \x01\x02")):
    case(f"signature_{name}", {"k.py": GOOD}, ["compile", "k.py:copy", "--signature", signature], "error:")
for name, value in (("nested", "[" * DEEP), ("digits", DIGITS), ("expression", "(" * DEEP + "1" + ")" * DEEP), ("power", "9 ** 9 ** 9 ** 9"),
                    ("list_product", "[0] * 10 ** 12"), ("missing_file", "none.npy"), ("text", "''")):
    case(f"argument_{name}", {"k.py": GOOD}, ["run", "k.py:copy", "--arg", f"x={value}", "--arg", "y=zeros(8,f32)", "--arg", "n=8",
         "--arg", "BLOCK=8"], "error:")
case("define_digits", {"k.py": GOOD}, ["compile", "k.py:copy", "--signature", "*fp32, *fp32, i32, 64", "--define", f"N={'(' * DEEP}"], "error:")
for verb in ("run", "check", "explain"):
    case(f"{verb}_of_random_bytes", {"k.py": random.Random(2).randbytes(10_000)}, [verb, "k.py:copy", "--arg", "x=zeros(8,f32)"], "error:")
    case(f"{verb}_of_truncated_file", {"k.py": GOOD[:150]}, [verb, "k.py:copy", "--arg", "x=zeros(8,f32)"], "error:")
    case(f"{verb}_of_endless_module", {"k.py": "def f(n):\n    return f(n)\nN = f(1)\n" + GOOD.replace("* BLOCK", "* BLOCK + N")},
         [verb, "k.py:copy", "--arg", "x=zeros(8,f32)", "--arg", "y=zeros(8,f32)", "--arg", "n=8", "--arg", "BLOCK=8"], "error:")


# --- .npy files -------------------------------------------------------------------------------------

def npy(header, data=b"", magic=b"\x93NUMPY\x01\x00"):
    header = header.encode() + b"\n"
    return magic + struct.pack("<H", len(header)) + header + data


def loading(name, content):
    case(f"npy_{name}", {"k.py": GOOD, "x.npy": content}, ["run", "k.py:copy", "--arg", "x=x.npy", "--arg", "y=zeros(8,f32)", "--arg", "n=8",
         "--arg", "BLOCK=8"], "error:")


loading("empty", b"")
loading("magic_only", b"\x93NUMPY")
loading("text", "hello")
loading("header_too_long", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{")
loading("no_data", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (8,), }"))
loading("too_little_data", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (8,), }", b"\0" * 31))
loading("huge_shape", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1152921504606846976, 16), }", b"\0" * 32))
loading("negative_shape", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-8,), }", b"\0" * 32))
loading("objects", npy("{'descr': '|O', 'fortran_order': False, 'shape': (8,), }", b"\0" * 64))
loading("deep_header", npy("{'descr': " + "(" * 20_000 + ")" * 20_000 + "}"))
loading("digits", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (" + "9" * 20_000 + ",), }"))
loading("many_dimensions", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (" + "1, " * 10_000 + "), }", b"\0" * 4))


# --- kernel folders ---------------------------------------------------------------------------------

def folder(name, spec, *expect, kernel=GOOD, **bounds):
    case(f"spec_{name}", {"f/spec.py": spec, "f/kernel.py": kernel}, ["test", "f", "--device", "cpu"], *(expect or ["error:"]), **bounds)


folder("empty", "")
folder("random_bytes", random.Random(3).randbytes(10_000))
folder("truncated", SPEC[:100])
folder("nested", "doc = " + "(" * DEEP)
folder("endless", "while True:\n    pass\n" + SPEC)
folder("endless_function", SPEC.replace("    return dict(x=", "    while True:\n        pass\n    return dict(x="))
folder("recursion", SPEC + "\n\ndef f(n):\n    return f(n)\n\n\nN = f(1)\n")
folder("huge_list", "x = [0] * 10 ** 12\n" + SPEC)
folder("no_kernel_file", SPEC, kernel="")
folder("kernel_of_random_bytes", SPEC, kernel=random.Random(4).randbytes(1000))
case("spec_missing", {"f/kernel.py": GOOD}, ["test", "f"], "error:")
case("spec_no_folder", {}, ["test", "f"], "error:")
