// Module-level Python: what the evaluator makes of whole files, and what it refuses to know.

#include "Harness.h"

#include "syntax/Parser.h"

namespace nereid::emit {
namespace {

class ModuleTest : public testing::Test {
protected:
  /// The value of `name` after running `source`, as repr; "unusable: ..." if it must not be used.
  std::string value(const std::string &source, const std::string &name, HostOptions options = {}) {
    SourceUnit unit;
    unit.text = source;
    unit.file = "pkg/test.py";
    unit.module = "pkg.test";
    unit.resolver = resolver;
    unit.globals = globals;
    LoadedProgram loaded = Program::load(unit, options);
    if (!loaded.program)
      return "does not parse";
    facts = loaded.program->interp().facts();
    const Binding *binding = loaded.program->module()->names->find(name);
    if (!binding)
      return "undefined";
    if (binding->unusable)
      return "unusable: " + binding->unusable->code;
    return loaded.program->interp().repr(binding->value);
  }
  bool hasFact(const std::string &kind, const std::string &name) const {
    for (const Fact &fact : facts)
      if (fact.kind == kind && fact.name == name)
        return true;
    return false;
  }

  Resolver resolver;
  std::map<std::string, InjectedValue> globals;
  std::set<Fact> facts;
};

TEST_F(ModuleTest, ParametersOfFunctions) {
  const std::string head = "import inspect\nimport triton\nimport triton.language as tl\n";
  auto of = [&](const std::string &expression) { return value(head + "x = " + expression, "x"); };
  EXPECT_EQ(of("'input_precision' in inspect.signature(tl.dot).parameters"), "True");
  EXPECT_EQ(of("'_semantic' in inspect.signature(tl.load).parameters.keys()"), "True");
  EXPECT_EQ(of("'_builder' in inspect.signature(tl.load).parameters"), "False");
  EXPECT_EQ(value(head + "@triton.jit\ndef f(a, /, b, *rest, c: tl.constexpr = 1):\n    pass\n"
                         "x = list(inspect.signature(f).parameters)",
                  "x"),
            "['a', 'b', 'rest', 'c']");
  // What is no function known here stays unknown, and with it what depends on it.
  EXPECT_EQ(
      value(head + "if 'a' in inspect.signature(print).parameters:\n    x = 1\nelse:\n    x = 2",
            "x"),
      "unusable: UnknownDefinition");
}

TEST_F(ModuleTest, Arithmetic) {
  EXPECT_EQ(value("x = -7 // 2, -7 % 3, 7 % -3, 2 ** 100", "x"),
            "(-4, 2, -2, 1267650600228229401496703205376)");
  EXPECT_EQ(value("x = 7 / 2, 1e308 * 10, -7.5 // 2, 7.5 % -2", "x"), "(3.5, inf, -4.0, -0.5)");
  EXPECT_EQ(value("x = 1 << 70 >> 68, ~5, True + 1, 6 & 3 | 8 ^ 1", "x"), "(4, -6, 2, 11)");
  EXPECT_EQ(value("x = 3 if not 0 else 4, 1 < 2 < 3, 1 < 3 < 2", "x"), "(3, True, False)");
  EXPECT_EQ(value("x = 'ab' * 3 + 'c', [1] * 2 + [2], (1,) + (2, 3)", "x"),
            "('abababc', [1, 1, 2], (1, 2, 3))");
  EXPECT_EQ(value("x = 2 in [1, 2], 'b' not in 'abc', 3 in {3: 1}", "x"), "(True, False, True)");
  EXPECT_EQ(value("x = (10**30) / (10**29 * 3)", "x"), "3.3333333333333335");
}

TEST_F(ModuleTest, ComprehensionsAndSlices) {
  EXPECT_EQ(value("x = [(a, b) for a in range(3) for b in 'xy' if a != 1]", "x"),
            "[(0, 'x'), (0, 'y'), (2, 'x'), (2, 'y')]");
  EXPECT_EQ(value("x = {k: v * 2 for k, v in zip('ab', (1, 2))}", "x"), "{'a': 2, 'b': 4}");
  EXPECT_EQ(value("x = list(range(10))[-3:1:-2], 'hello'[1:], (1, 2, 3)[::-1]", "x"),
            "([7, 5, 3], 'ello', (3, 2, 1))");
  EXPECT_EQ(value("a, *b, (c, d) = 1, 2, 3, (4, 5)\nx = a, b, c, d", "x"), "(1, [2, 3], 4, 5)");
}

// Strides beyond what is sliced, also where a place and a stride have no sum.
TEST_F(ModuleTest, SlicesWithFarStrides) {
  EXPECT_EQ(value("x = (1, 2, 3)[1::9223372036854775807], [1, 2, 3][::-9223372036854775807]", "x"),
            "((2,), [3])");
  EXPECT_EQ(value("x = 'abc'[::4] + 'abc'[-1::-3] + ''[::-7]", "x"), "'ac'");
}

TEST_F(ModuleTest, FunctionsClosuresAndDefaults) {
  EXPECT_EQ(value(R"(
def outer(n, *rest, scale=2, **others):
    total = [0]
    def add(k):
        nonlocal n
        n += k
        total.append(n * scale)
        return total
    for r in rest:
        add(r)
    return total, others

x = outer(1, 2, 3, scale=10, name="a")
)",
                  "x"),
            "([0, 30, 60], {'name': 'a'})");
  EXPECT_EQ(value("fs = [lambda x, k=k: x + k for k in range(3)]\nx = [f(10) for f in fs]", "x"),
            "[10, 11, 12]");
  EXPECT_EQ(
      value("def g():\n    for i in range(3):\n        yield i * i\nx = sum(g()), max(g())", "x"),
      "(5, 4)");
}

TEST_F(ModuleTest, ClassesEnumsAndDataclasses) {
  EXPECT_EQ(value(R"(
from enum import Enum
from dataclasses import dataclass

class Mode(Enum):
    A = 1
    B = "b"

@dataclass
class Point:
    x: int
    y: int = 5

    def sum(self):
        return self.x + self.y

    @property
    def double(self):
        return self.sum() * 2

class Base:
    kind = "base"
    def __init__(self, n):
        self.n = n
    def name(self):
        return self.kind + str(self.n)

class Derived(Base):
    kind = "derived"

p = Point(3)
x = (Mode.B.value, Mode("b") is Mode.B, [m.name for m in Mode], p.double, p, Derived(4).name(),
     isinstance(Derived(1), Base))
)",
                  "x"),
            "('b', True, ['A', 'B'], 16, Point(x=3, y=5), 'derived4', True)");
}

TEST_F(ModuleTest, Exceptions) {
  EXPECT_EQ(value(R"(
def f(n):
    try:
        if n == 0:
            return 1 / 0
        if n == 1:
            raise ValueError("bad", n)
        return {}["k"]
    except ZeroDivisionError:
        return "zero"
    except (KeyError, ValueError) as e:
        return type(e).__name__ + str(e.args)
    finally:
        log.append(n)

log = []
x = [f(i) for i in range(3)], log
)",
                  "x"),
            "(['zero', \"ValueError('bad', 1)\", \"KeyError('k',)\"], [0, 1, 2])");
}

TEST_F(ModuleTest, MethodsOfContainers) {
  EXPECT_EQ(value(R"(
def refused(call):
    try:
        call()
    except (KeyError, TypeError, ValueError) as e:
        return type(e).__name__

some = [3, 1]
some.insert(-5, 7)
some.extend((5, 3))
some.sort(reverse=True)
table = {'a': 1}
table.update([('b', 2)], c=3)
tags = {1, 2}
tags.discard(4)
x = (some, some.count(3), (4, 5).index(5), table.pop('a'), table.get('z', 9), table.setdefault('z', 8), list(table),
     sorted(tags.union([9]).difference([1])),
     [refused(f) for f in (lambda: tags.remove(4), lambda: table.pop('q'), lambda: some.remove(4),
                           lambda: some.append(1, 2), lambda: some.clear(1))])
)",
                  "x"),
            "([7, 5, 3, 3, 1], 2, 1, 1, 9, 8, ['b', 'c', 'z'], [2, 9], "
            "['KeyError', 'KeyError', 'ValueError', 'TypeError', 'TypeError'])");
}

TEST_F(ModuleTest, AFailedStatementPoisonsOnlyItsNames) {
  const char *source = "a = 1\nb = undefined + 1\nc = a + 1\nd = b + 1\n";
  EXPECT_EQ(value(source, "c"), "2");
  EXPECT_EQ(value(source, "b"), "unusable: ModuleLevelFailure");
  EXPECT_EQ(value(source, "d"), "unusable: ModuleLevelFailure");
}

Definition definition(const std::string &text) {
  auto parsed = syntax::parseExpression(text, "--define");
  return {text, parsed.module, parsed.expr};
}

TEST_F(ModuleTest, UnknownValuesSpreadAndUnknownBranchesBindBoth) {
  const char *source = R"(
import torch
import other_library as lib
n = lib.device_count()
m = n + 1
if n > 2:
    same = 5
    different = 1
    only = 7
else:
    same = 5
    different = 2
)";
  EXPECT_EQ(value(source, "m"), "other_library.device_count(...)");
  EXPECT_EQ(value(source, "same"), "5");
  EXPECT_EQ(value(source, "only"), "7");
  EXPECT_EQ(value(source, "different"), "unusable: UnknownDefinition");
  HostOptions options;
  options.defines["n"] = definition("3");
  EXPECT_EQ(value(source, "different", options), "1");
  EXPECT_TRUE(hasFact("define", "n"));
  options.defines.clear();
  options.defines["other_library.device_count(...)"] = definition("1");
  EXPECT_EQ(value(source, "different", options), "2");
}

// A definition may use the module's names, also those that come later, but not itself.
TEST_F(ModuleTest, DefinitionsAreExpressions) {
  std::string source = R"(
import somewhere
size = 64
dtype = somewhere.dtype
early = somewhere.op
missing = somewhere.other
def later(): return 7
)";
  HostOptions options;
  options.defines = {{"dtype", definition("torch.bfloat16")},
                     {"size", definition("size * 2")},
                     {"only", definition("later() + 1")},
                     {"early", definition("later")},
                     {"missing", definition("nothing")}};
  EXPECT_EQ(value(source, "dtype", options), value("import torch\nx = torch.bfloat16", "x"));
  EXPECT_EQ(value(source, "only", options), "8");
  EXPECT_EQ(value(source, "early", options), value(source, "later"));
  EXPECT_EQ(value(source, "missing", options), "--define missing=nothing");
}

TEST_F(ModuleTest, ABranchNobodyKnowsLeavesObjectsToTheOther) {
  std::string source = R"(
import somewhere
class C: pass
one, two, same, c = [1], [1], [1], C()
table, tags = {'a': 1, 'b': 2}, {1}
nested = {'inner': [1]}
c.x = c.y = 0
c.rows = [1, 2]
class Holder:
    rows = [1]
if somewhere.flag:
    one.append(2)
    seen = len(two)
    made = []
    made.append(1)
    table['a'] = 5
    table['c'] = 3
    c.x = 1
    two += [3]
    nested['inner'].append(2)
    c.rows.append(3)
    Holder.rows.append(2)
    tags.add(2)
else:
    also = list(one)
    table.pop('b')
    c.x = 2
    two += [4]
    same.append(1)
    same.pop()
    more = {}
    more['k'] = 1
alias = same
y = c.y
)";
  // Each branch started from the state before the `if`.
  EXPECT_EQ(value(source, "seen"), "1");
  EXPECT_EQ(value(source, "also"), "[1]");
  // Sequences that differ have no value; what only one branch made has.
  EXPECT_EQ(value(source, "one"), "unusable: UnknownDefinition");
  EXPECT_EQ(value(source, "two"), "unusable: UnknownDefinition");
  EXPECT_EQ(value(source, "tags"), "unusable: UnknownDefinition");
  EXPECT_EQ(value(source + "z = len(nested['inner'])", "z"), "somewhere.flag");
  EXPECT_EQ(value(source + "z = len(c.rows)", "z"), "somewhere.flag");
  EXPECT_EQ(value(source + "z = len(Holder.rows)", "z"), "unusable: ModuleLevelFailure");
  EXPECT_EQ(value(source, "same"), "[1]");
  EXPECT_EQ(value(source, "made"), "[1]");
  EXPECT_EQ(value(source, "more"), "{'k': 1}");
  EXPECT_EQ(value(source, "y"), "0");
  // Entries differ one by one.
  EXPECT_EQ(value(source + "z = table['b'], table['c']", "z"), "(2, 3)");
  EXPECT_NE(value(source + "z = table['a'] + 1", "z"), "6");
  EXPECT_NE(value(source + "z = table['a'] + 1", "z"), "2");
  EXPECT_NE(value(source + "z = c.x + 1", "z"), "3");
  EXPECT_NE(value(source + "z = nested['inner'][0] + 1", "z"), "2");
  // A branch that raises is not taken, and its changes go with it.
  EXPECT_EQ(value("import somewhere\nxs = [1]\ndef f():\n    if somewhere.flag:\n"
                  "        xs.append(2)\n        raise ValueError\n    xs.append(3)\nf()",
                  "xs"),
            "[1, 3]");
  EXPECT_EQ(
      value("import somewhere\nxs = [1]\ndef f():\n    if somewhere.flag:\n"
            "        xs.append(2)\n    else:\n        xs.clear()\n        raise ValueError\nf()",
            "xs"),
      "[1, 2]");
  // An outer branch takes back what inner ones did.
  EXPECT_EQ(value("import somewhere\nxs = [1]\nif somewhere.a:\n    if somewhere.b:\n"
                  "        xs.append(2)\nelse:\n    seen = list(xs)",
                  "seen"),
            "[1]");
}

TEST_F(ModuleTest, AReturnUnderAnUnknownConditionIsNotSkipped) {
  auto result = [&](std::string body) {
    return value("import lib\ndef f():\n" + body + "x = f()\n", "x");
  };
  EXPECT_EQ(result("    if lib.fact():\n        return 1\n    return 2\n"), "lib.fact(...)");
  EXPECT_EQ(result("    if lib.fact():\n        return 1\n    else:\n        return 2\n"),
            "lib.fact(...)");
  EXPECT_EQ(result("    if lib.fact():\n        return 1\n    y = 1\n    return y\n"), "1");
  EXPECT_EQ(result("    if lib.fact():\n        y = 1\n    else:\n        return 2\n"),
            "lib.fact(...)"); // or None
  EXPECT_EQ(result("    if lib.fact():\n        if lib.other():\n            return 1\n"
                   "    y = 1\n    return y + 1\n"),
            "lib.other(...)");
  // A branch that raises leaves the other one.
  EXPECT_EQ(result("    if lib.fact():\n        raise ValueError('no')\n    return 2\n"), "2");
  EXPECT_EQ(result("    if lib.fact():\n        return 2\n    raise ValueError('no')\n"), "2");
  // A return that fails is a return.
  EXPECT_EQ(result("    if lib.fact():\n        return 1 / 0\n    return 2\n"), "lib.fact(...)");
  // Leaving a loop is not known either.
  EXPECT_EQ(result("    y = 3\n    for i in range(4):\n        if lib.fact():\n            break\n"
                   "        y += 1\n    return y\n"),
            "unusable: ModuleLevelFailure");
}

TEST_F(ModuleTest, ImportedModulesHaveSpecs) {
  const char *source = R"(
import importlib
import importlib.util
def find(name):
    for place in ("triton.language.math", "no.such.place"):
        if spec := importlib.util.find_spec(place):
            module = importlib.util.module_from_spec(spec)
            assert spec.loader is not None
            spec.loader.exec_module(module)
            return getattr(module, name)
x = importlib.util.find_spec("triton") is not None
import triton.language as tl
z = find("rsqrt") is tl.math.rsqrt
)";
  EXPECT_EQ(value(source, "x"), "True");
  EXPECT_EQ(value(source, "z"), "True");
}

TEST_F(ModuleTest, FactsAreRecorded) {
  HostOptions options;
  options.environment["FAST"] = "1";
  EXPECT_EQ(value("import os\nimport torch\nimport triton\n"
                  "x = os.environ.get('FAST', '0'), os.getenv('SLOW', 'none'), torch.version.hip\n"
                  "v = triton.__version__",
                  "x", options),
            "('1', 'none', None)");
  EXPECT_TRUE(hasFact("env", "FAST"));
  EXPECT_TRUE(hasFact("env", "SLOW"));
  EXPECT_TRUE(hasFact("device", "torch.version.hip"));
  EXPECT_TRUE(hasFact("version", "triton"));
}

TEST_F(ModuleTest, VersionsCompare) {
  EXPECT_EQ(value("import triton\nfrom packaging.version import Version\n"
                  "x = Version(triton.__version__) >= Version('3.0.0'), "
                  "Version('3.10.1') > Version('3.9'), Version('2.11.0+cu130') == Version('2.11')",
                  "x"),
            "(True, True, True)");
}

TEST_F(ModuleTest, ImportsGoThroughTheResolver) {
  auto helper = std::make_shared<SourceUnit>();
  helper->text = "SIZE = 4\ndef double(x):\n    return x * 2\n";
  helper->file = "pkg/helper.py";
  helper->module = "pkg.helper";
  resolver = [&](const std::string &module) -> std::shared_ptr<const SourceUnit> {
    return module == "pkg.helper" ? helper : nullptr;
  };
  EXPECT_EQ(value("from .helper import double, SIZE as N\nfrom . import helper\n"
                  "x = double(N), helper.SIZE",
                  "x"),
            "(8, 4)");
  EXPECT_TRUE(hasFact("import", "pkg.helper"));
  EXPECT_EQ(
      value("try:\n    from .helper import missing\nexcept ImportError:\n    x = 'no'\n", "x"),
      "'no'");
}

TEST_F(ModuleTest, ACircularImportFindsWhatAModuleDefinesFurtherDown) {
  std::map<std::string, std::string> texts = {
      {"p", "import p.user\nversion = 1"},
      {"p.utils", "from p.low import helper\nfrom p.late import FLAG\ndef twice(x): return 2 * x"},
      {"p.low", "from p import version\nhelper = 5"},
      {"p.late", "FLAG = True"},
      {"p.user", "from p.utils import FLAG, twice\nchoice = 'yes' if FLAG else 'no'\nx = twice(4)"},
      // Nothing defines `gone`.
      {"p.bad", "from p.worse import gone"},
      {"p.worse", "from p.bad import gone"}};
  resolver = [&](const std::string &name) -> std::shared_ptr<const SourceUnit> {
    auto it = texts.find(name);
    if (it == texts.end())
      return nullptr;
    auto unit = std::make_shared<SourceUnit>();
    unit->module = name;
    unit->text = it->second;
    unit->file = name == "p" ? "p/__init__.py" : name + ".py";
    unit->resolver = resolver;
    return unit;
  };
  EXPECT_EQ(
      value("from p.utils import helper\nfrom p.user import choice, x\ny = choice, x, helper", "y"),
      "('yes', 8, 5)");
  EXPECT_EQ(value("from p.bad import gone", "gone"), "unusable: ModuleLevelFailure");
}

// `__getattr__` of a module that is half-way answers too.
TEST_F(ModuleTest, ACircularImportFindsWhatAModuleMakesWhenAsked) {
  std::map<std::string, std::string> texts = {
      {"p.platforms", "from p.user import kind\ndef __getattr__(name): return 5"},
      {"p.user", "try:\n    from p.platforms import current\n    kind = 'found'\n"
                 "except ImportError:\n    kind = 'missing'"}};
  resolver = [&](const std::string &name) -> std::shared_ptr<const SourceUnit> {
    auto it = texts.find(name);
    if (it == texts.end())
      return nullptr;
    auto unit = std::make_shared<SourceUnit>();
    unit->module = name;
    unit->text = it->second;
    unit->file = name + ".py";
    unit->resolver = resolver;
    return unit;
  };
  EXPECT_EQ(value("import p.platforms\nfrom p.user import kind", "kind"), "'found'");
}

// Whatever decorates a kernel launches it: the name stands for the kernel.
TEST_F(ModuleTest, DecoratorsDoNotHideAKernel) {
  std::string source = R"(
import triton
from somewhere import unknown_wrapper
class Entry:
    def __init__(self, fn): self.fn = fn
    def __getitem__(self, grid): return self.fn[grid]
def entry(): return lambda fn: Entry(fn)
def broken(fn): return {}[fn.__name__]
def counted(fn):
    def launch(*args): fn(*args)
    return launch
@entry()
@triton.jit
def a(x): pass
@broken
@triton.jit
def b(x): pass
@counted
@triton.jit
def c(x): pass
@unknown_wrapper(3)
@triton.jit
def d(x): pass
@entry()
def plain(x): pass
x = [isinstance(f, triton.runtime.JITFunction) for f in (a, b, c, d, plain)]
)";
  EXPECT_EQ(value(source, "x"), "[True, True, True, True, False]");
}

TEST_F(ModuleTest, KernelsAreOfTheClassesOfTheirWrappers) {
  std::string source = R"(
import triton
from triton.runtime import JITFunction
class Entry(triton.KernelInterface):
    def __init__(self, fn):
        self.rounds = 0
        while not isinstance(fn, triton.runtime.JITFunction):
            fn = fn.fn
            self.rounds += 1
def plain(): pass
@triton.jit
def k(x): pass
@triton.autotune(configs=[], key=[])
@triton.jit
def tuned(x): pass
rounds = Entry(k).rounds + Entry(tuned).rounds
x = [isinstance(k, JITFunction), isinstance(plain, JITFunction), isinstance(3, JITFunction),
     isinstance(k, triton.runtime.autotuner.Autotuner),
     isinstance(tuned, triton.runtime.autotuner.Autotuner),
     isinstance(tuned, triton.runtime.autotuner.Heuristics)]
)";
  EXPECT_EQ(value(source, "x"), "[True, False, False, False, True, False]");
  EXPECT_EQ(value(source, "rounds"), "0");
}

// Imported modules share what a statement without end leaves.
TEST_F(ModuleTest, ModulesWithoutEndAreFewSteps) {
  resolver = [&](const std::string &name) -> std::shared_ptr<const SourceUnit> {
    if (!name.starts_with("endless"))
      return nullptr;
    auto unit = std::make_shared<SourceUnit>();
    unit->module = unit->file = name;
    unit->text = "while True:\n    pass\nx = 1";
    unit->resolver = resolver;
    return unit;
  };
  HostOptions options;
  options.limits.steps = 500'000;
  auto seconds = [&](int modules) {
    std::string source;
    for (int i = 0; i < modules; ++i)
      source += "import endless" + std::to_string(i) + "\n";
    std::clock_t begin = std::clock(); // others may have the processor
    value(source, "y", options);
    return double(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  EXPECT_LT(seconds(100), 20 * seconds(1));
}

// What a recursion under unknown conditions returns is unknown, and is not waited for.
TEST_F(ModuleTest, RecursionUnderUnknownConditionsIsCutShort) {
  std::string source = R"(
import missing

def key(value):
    if missing.is_pair(value):
        return (key(value.a), key(value.b))
    if missing.is_list(value):
        return [key(value.a), key(value.b)]
    return 0

def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)

digest = key(missing.thing)
if missing.large:
    count = factorial(10)
else:
    count = 3628800
)";
  HostOptions options;
  options.limits.steps = 100'000;
  EXPECT_EQ(value(source, "count", options), "3628800");
  EXPECT_EQ(value(source, "digest", options), "missing.is_list(...)");
}

// Code that tries the modules of other vendors goes on to the next.
TEST_F(ModuleTest, ModulesThatTritonLacksAreMissing) {
  std::string source = R"(
import importlib
names = []
for vendor in ('nowhere', 'cuda'):
    try:
        importlib.import_module('triton.language.extra.' + vendor + '.libdevice')
        names.append(vendor)
    except ImportError:
        names.append('no ' + vendor)
try:
    from triton.language.extra.nowhere.extension import thing
except ModuleNotFoundError:
    names.append('none')
)";
  EXPECT_EQ(value(source, "names"), "['no nowhere', 'cuda', 'none']");
}

TEST_F(ModuleTest, UnknownValuesAreImported) {
  auto hardware = std::make_shared<SourceUnit>();
  hardware->text = "import platform\nARM = platform.machine() in ('arm64',)\nSIZE = 4\n";
  hardware->file = "pkg/hardware.py";
  hardware->module = "pkg.hardware";
  resolver = [&](const std::string &module) -> std::shared_ptr<const SourceUnit> {
    return module == "pkg.hardware" ? hardware : nullptr;
  };
  EXPECT_EQ(value("from pkg.hardware import ARM, SIZE\nx = SIZE", "x"), "4");
  EXPECT_EQ(value("import importlib\nx = importlib.import_module('pkg.hardware').SIZE", "x"), "4");
  EXPECT_EQ(value("import importlib\nx = importlib.import_module('no.such').SIZE", "x"),
            "no.such.SIZE");
}

// Packages import Triton through a module of their own, which a single file comes without.
TEST_F(ModuleTest, TritonIsFoundBehindAModuleThatIsNot) {
  EXPECT_EQ(
      value("from vllm.triton_utils import HAS_TRITON, tl, triton\nx = triton.cdiv(9, 4), tl.int32",
            "x"),
      "(3, int32)");
}

// Whatever the condition asks: both are Triton's.
TEST_F(ModuleTest, NamesakesOfTritonInBothBranches) {
  EXPECT_EQ(value(R"(
from package.utils import is_new
if is_new():
    from triton.language.extra.libdevice import rsqrt
else:
    from triton.language.math import rsqrt
)",
                  "rsqrt"),
            "<function tl.libdevice.rsqrt>");
}

TEST_F(ModuleTest, InjectedGlobals) {
  InjectedValue size, flag, sqrt;
  size.constant = support::Constant::integer(64);
  size.isConstexpr = true;
  flag.constant = support::Constant::boolean(true);
  sqrt.kind = InjectedValue::Kind::Attribute;
  sqrt.module = "math";
  sqrt.function = "sqrt";
  globals = {{"SIZE", size}, {"FLAG", flag}, {"root", sqrt}};
  EXPECT_EQ(value("x = SIZE * 2, FLAG, root(16)", "x"), "(128, True, 4.0)");
}

TEST_F(ModuleTest, NothingReachesTheWorld) {
  EXPECT_EQ(value("x = open('/etc/passwd').read()", "x"), "open(...).read(...)");
  EXPECT_EQ(value("import subprocess\nx = subprocess.run(['ls'])", "x"), "subprocess.run(...)");
  EXPECT_EQ(value("x = __import__('os').system('true')", "x"), "__import__(...).system(...)");
}

TEST_F(ModuleTest, FormattedText) {
  EXPECT_EQ(
      value("x = f'{3:>4}|{2.5:.3f}|{255:#x}|{1234567:,}|{\"a\":^5}|{True!r}|{0.1}|{7:03d}'", "x"),
      "'   3|2.500|0xff|1,234,567|  a  |True|0.1|007'");
  EXPECT_EQ(
      value("x = '%d of %s' % (3, 'x'), '{} {1} {n}'.replace('{1}', '{}').format(1, 2, n=3)", "x"),
      "('3 of x', '1 2 3')");
}

TEST_F(ModuleTest, FormattedNumbers) {
  EXPECT_EQ(value("x = f'{-5:+d}|{5: d}|{-255:#X}|{5:#010b}|{True}|{True:d}|{True:>6}'", "x"),
            "'-5| 5|-0XFF|0b00000101|True|1|     1'");
  EXPECT_EQ(value("x = f'{0.5:.0%}|{1e300:.3g}|{-0.0:.1f}|{float(\"nan\"):5}|{1234.5:,.2f}'", "x"),
            "'50%|1e+300|-0.0|  nan|1,234.50'");
  EXPECT_EQ(value("x = f'{\"abcdef\":.3}|{\"a\":*<3}|{None!s:>5}'", "x"), "'abc|a**| None'");
  for (const char *bad : {"1.5:d", "1:s", "\"a\":d", "1:10001", "1:.3.3", "1:zz", "1.5:n"})
    EXPECT_EQ(value("x = f'{" + std::string(bad) + "}'", "x"), "unusable: ModuleLevelFailure")
        << bad;
}

TEST_F(ModuleTest, FunctionsOfMath) {
  EXPECT_EQ(value("import math\nx = math.gcd(12, -18), math.lcm(4, 6), math.lcm(0, 3)", "x"),
            "(6, 12, 0)");
  EXPECT_EQ(value("import math\nx = math.lcm(2 ** 62, 3 ** 30)", "x"),
            "949505255199079225315801165725696");
  EXPECT_EQ(value("import math\nx = math.isqrt(9223372036854775807), math.factorial(20)", "x"),
            "(3037000499, 2432902008176640000)");
  EXPECT_EQ(value("import math\nx = math.floor(-1.5), math.ceil(2 ** 70), math.trunc(1e20)", "x"),
            "(-2, 1180591620717411303424, 100000000000000000000)");
  EXPECT_EQ(value("import math\nx = math.hypot(3, 4), math.log(8, 2), math.isinf(math.inf)", "x"),
            "(5.0, 3.0, True)");
  for (const char *bad : {"sqrt(-1)", "log(0)", "pow(2)", "isqrt(-1)", "floor(math.inf)", "exp()"})
    EXPECT_EQ(value("import math\nx = math." + std::string(bad), "x"),
              "unusable: ModuleLevelFailure")
        << bad;
}

TEST_F(ModuleTest, LibraryPieces) {
  EXPECT_EQ(value("import math, itertools, functools\n"
                  "x = math.ceil(2.1), list(itertools.product([1, 2], 'a')), "
                  "functools.reduce(lambda a, b: a * b, [1, 2, 3, 4]), "
                  "functools.partial(max, 5)(3)",
                  "x"),
            "(3, [(1, 'a'), (2, 'a')], 24, 5)");
  EXPECT_EQ(value("import functools\n"
                  "def logged(f):\n"
                  "    @functools.wraps(f)\n"
                  "    def call(*a):\n"
                  "        return 'called', f(*a)\n"
                  "    return call\n"
                  "@logged\n"
                  "def add(a, b): return a + b\n"
                  "x = add(1, 2)",
                  "x"),
            "('called', 3)");
  EXPECT_EQ(
      value("import torch\nx = torch.finfo(torch.float16).max, torch.iinfo(torch.int8).min", "x"),
      "(65504.0, -128)");
  EXPECT_EQ(value("import triton\nx = triton.cdiv(10, 4), triton.next_power_of_2(781)", "x"),
            "(3, 1024)");
}

TEST_F(ModuleTest, KernelsAreListedWhereverTheyAre) {
  SourceUnit unit;
  unit.file = "k.py";
  unit.text = R"(
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({'B': b}, num_warps=4) for b in (32, 64)], key=['n'])
@triton.heuristics({'EVEN': lambda args: args['n'] % args['B'] == 0})
@triton.jit(do_not_specialize=['n'])
def tuned(x, n: tl.int64, B: tl.constexpr, EVEN: "tl.constexpr" = True):
    pass

if unknown_thing():
    @triton.jit
    def branch(x):
        pass

def factory(K):
    @triton.jit
    def inner(p):
        tl.store(p, 1)
    return inner

def plain(x):
    pass
)";
  LoadedProgram loaded = Program::load(unit);
  ASSERT_TRUE(loaded.program);
  std::vector<KernelSummary> kernels = loaded.program->kernels();
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].name, "tuned");
  EXPECT_TRUE(kernels[0].autotuned);
  EXPECT_EQ(kernels[0].line, 8u);
  ASSERT_EQ(kernels[0].parameters.size(), 4u);
  EXPECT_EQ(kernels[0].parameters[1].annotation, "tl.int64");
  EXPECT_TRUE(kernels[0].parameters[3].isConstexpr);
  EXPECT_EQ(kernels[0].parameters[3].defaultValue, "True");
  EXPECT_EQ(kernels[1].name, "branch");
  EXPECT_EQ(kernels[2].name, "factory.inner");
  mlir::MLIRContext context;
  auto specialization = support::Specialization::parse("*i32");
  Emitted emitted = loaded.program->emit(context, "factory.inner", *specialization, {}, {});
  EXPECT_TRUE(emitted.module);
}

TEST_F(ModuleTest, KernelsMadeByACall) {
  SourceUnit unit;
  unit.file = "k.py";
  unit.text = R"(import triton
import triton.language as tl
import cutlass.cute as cute
from numba import jit

@cute.jit
def foreign(x):
    pass

@jit
def another(x):
    pass

def plain(x, B: tl.constexpr):
    tl.store(x, B)

plain = triton.jit(plain, do_not_specialize=["x"])
plain = triton.heuristics({'B': lambda args: 4})(plain)
tuned = triton.autotune(configs=[triton.Config({'B': 4})], key=[])(plain)
alias = tuned

@triton.jit
def decorated(x):
    tl.store(x, 1)

again = decorated
)";
  LoadedProgram loaded = Program::load(unit);
  ASSERT_TRUE(loaded.program);
  std::vector<std::string> names;
  std::vector<KernelSummary> kernels = loaded.program->kernels();
  for (const KernelSummary &kernel : kernels)
    names.push_back(kernel.name);
  ASSERT_EQ(names, (std::vector<std::string>{"plain", "tuned", "decorated"}));
  EXPECT_EQ(kernels[0].line, 14u);
  EXPECT_FALSE(kernels[0].autotuned);
  EXPECT_TRUE(kernels[1].autotuned);
  KernelSummary summary = loaded.program->summary("alias");
  ASSERT_EQ(summary.parameters.size(), 2u);
  EXPECT_TRUE(summary.parameters[0].doNotSpecialize);
  EXPECT_TRUE(summary.parameters[1].isConstexpr);
  mlir::MLIRContext context;
  auto specialization = support::Specialization::parse("*i32, 4");
  EXPECT_TRUE(loaded.program->emit(context, "tuned", *specialization, {}, {}).module);
}

TEST_F(ModuleTest, TheSourceHashFollowsWhatTheKernelReaches) {
  auto hash = [](const std::string &text) {
    SourceUnit unit;
    unit.file = "k.py";
    unit.text = text;
    LoadedProgram loaded = Program::load(unit);
    auto result = loaded.program->sourceHash("f");
    return result.ok() ? result->hex() : "error: " + result.error().what;
  };
  std::string base = R"(import triton
import triton.language as tl
N = tl.constexpr(4)
@triton.jit
def g(x):
    return x + N
@triton.jit
def f(p):
    tl.store(p, g(1))
def other():
    return 1
)";
  auto changed = [&](const std::string &from, const std::string &to) {
    std::string text = base;
    text.replace(text.find(from), from.size(), to);
    return hash(text);
  };
  EXPECT_EQ(hash(base).size(), 32u);
  EXPECT_EQ(changed("return 1", "return 2"), hash(base));
  EXPECT_NE(changed("constexpr(4)", "constexpr(5)"), hash(base));
  EXPECT_NE(changed("x + N", "x - N"), hash(base));
  EXPECT_NE(changed("g(1)", "g(2)"), hash(base));
}

TEST_F(ModuleTest, GlobalsOfKernelsMustBeConstexprs) {
  SourceUnit unit;
  unit.file = "k.py";
  unit.text =
      "import triton\nimport triton.language as tl\nN = 4\nM: tl.constexpr = tl.constexpr(2)\n"
      "K = M * 3\n@triton.jit\ndef f(p):\n    tl.store(p, N)\n"
      "@triton.jit\ndef g(p):\n    tl.store(p, M + K)\n";
  HostOptions options;
  for (bool allowed : {false, true}) {
    options.allowGlobals = allowed;
    LoadedProgram loaded = Program::load(unit, options);
    mlir::MLIRContext context;
    auto specialization = support::Specialization::parse("*i32");
    Emitted emitted = loaded.program->emit(context, "f", *specialization, {}, {});
    EXPECT_EQ(bool(emitted.module), allowed);
    if (!allowed)
      EXPECT_EQ(emitted.diagnostics.at(0).code, "GlobalNotConstexpr");
    EXPECT_TRUE(loaded.program->emit(context, "g", *specialization, {}, {}).module);
  }
}

} // namespace
} // namespace nereid::emit
