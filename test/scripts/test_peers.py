"""The expressions of `peers` in kernel folders: Python over names that they are given, and, where this Python has torch, what they
compute is what the folder's reference computes. Speed is bench/peers.py's."""
import ast
import builtins
import importlib.util
import inspect
import math
import pathlib
import sys
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = sorted(spec.parent for spec in ROOT.glob("kernels/*/spec.py"))
GIVEN = {"torch", "F", "math", "unsupported", "backward"}
SIZES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "i1": 1, "i8": 1, "u8": 1, "i32": 4, "i64": 8, "f8e4nv": 1, "f8e5": 1}


class Tensor:
    """The shape of an input, which is all that a spec sees of it."""

    def __init__(self, shape, dtype="f32", strides=None):
        self.shape, self.dtype = (shape,) if isinstance(shape, int) else tuple(shape), dtype
        self.strides = strides or tuple(math.prod(self.shape[i + 1:]) for i in range(len(self.shape)))
        self.nbytes = self.numel() * self.element_size()

    def stride(self, i):
        return self.strides[i]

    def numel(self):
        return math.prod(self.shape)

    def element_size(self):
        return SIZES[self.dtype]


class Unsupported(Exception):
    pass


def unsupported(why):
    raise Unsupported(why)


def names_of_a_spec():
    def made(shape, *values, dtype="f32", strides=None, **_):
        return Tensor(shape, next((v for v in values if v in SIZES), dtype), strides)
    names = {name: made for name in "randn rand randint zeros ones empty full special computed".split()}
    return names | dict(
        arange=lambda n, dtype: Tensor(n, dtype), permutation=lambda n, dtype: Tensor(n, dtype), values=lambda data, dtype: Tensor(len(data), dtype),
        launch=lambda *words, **named: None, descriptor=lambda *words, **named: None, unsupported=unsupported, cdiv=lambda a, b: -(-a // b),
        next_power_of_2=lambda n: 1 << max(n - 1, 0).bit_length(), prod=math.prod, sqrt=math.sqrt, exp=math.exp, log=math.log, log2=math.log2,
        eps=lambda dtype: 2.0 ** -10, sizeof=lambda dtype: SIZES[dtype], inf=math.inf, nan=math.nan)


def call(function, *spaces):
    given = {name: next(space[name] for space in spaces if name in space) for name, parameter in inspect.signature(function).parameters.items()
             if parameter.default is parameter.empty or any(name in space for space in spaces)}
    return function(**given)


def tasks_of(folder, names):
    """(task, its fields) of a spec: what the task lacks is the folder's."""
    spec = dict(names)
    exec(compile((folder / "spec.py").read_text(), str(folder / "spec.py"), "exec"), spec)
    for task, own in (spec.get("tasks") or {"": {}}).items():
        yield task, types.SimpleNamespace(**{name: own.get(name, spec.get(name)) for name in ("inputs", "outputs", "cases", "bench", "peers")})


class Expressions(unittest.TestCase):
    def test_names(self):
        seen = 0
        for folder in FOLDERS:
            for task, fields in tasks_of(folder, names_of_a_spec()):
                for peer, text in (fields.peers or {}).items():
                    with self.subTest(folder=folder.name, task=task, peer=peer):
                        seen += 1
                        tree = ast.parse(text, mode="eval")
                        bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
                        bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
                        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - bound - GIVEN - set(dir(builtins))
                        for case in fields.bench or []:
                            given = set(call(fields.inputs, case)) | set(case)
                            self.assertLessEqual(used, given, f"{case}")
        self.assertGreater(seen, 40)

    def test_folders_with_rows_have_a_peer(self):
        # What PyTorch has nothing for, or would be given nothing of: a task that writes into what is given, two kernels side by side.
        for folder in FOLDERS:
            tasks = list(tasks_of(folder, names_of_a_spec()))
            if any(fields.bench for _, fields in tasks):
                self.assertTrue(any(fields.peers for _, fields in tasks), folder.name)


@unittest.skipUnless(importlib.util.find_spec("torch") and importlib.util.find_spec("numpy"), "this Python has no torch")
class Results(unittest.TestCase):
    """On the CPU, of the first small case that a peer supports."""

    def builders(self, torch):
        kinds = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "i1": torch.bool, "i8": torch.int8,
                 "u8": torch.uint8, "i32": torch.int32, "i64": torch.int64, "f8e4nv": torch.float8_e4m3fn, "f8e5": torch.float8_e5m2}
        generator = torch.Generator().manual_seed(7)

        def made(fill):
            def build(shape, *values, dtype=None, strides=None, **named):
                shape = (shape,) if isinstance(shape, int) else tuple(shape)
                dtype = dtype or next((v for v in values if isinstance(v, str)), "f32")
                tensor = fill(shape, *[v for v in values if not isinstance(v, str)], **named).to(kinds[dtype])
                tensor.kind = dtype
                return tensor
            return build
        normal = made(lambda shape, mean=0, std=1, **_: torch.randn(shape, generator=generator) * std + mean)
        return names_of_a_spec() | dict(
            randn=normal, special=normal, computed=normal, empty=made(lambda shape: torch.zeros(shape)), zeros=made(lambda shape: torch.zeros(shape)),
            ones=made(lambda shape: torch.ones(shape)), full=made(lambda shape, value: torch.full(shape, float(value))),
            rand=made(lambda shape, low=0, high=1: torch.rand(shape, generator=generator) * (high - low) + low),
            randint=made(lambda shape, low, high, **_: torch.randint(low, high, shape, generator=generator)),
            arange=lambda n, dtype: torch.arange(n).to(kinds[dtype]), permutation=lambda n, dtype: torch.randperm(n, generator=generator).to(kinds[dtype]),
            values=lambda data, dtype: torch.tensor(data).to(kinds[dtype]))

    def reference(self, folder, task):
        import numpy
        module = types.ModuleType("nereid.reference")
        module.erf, module.uniform = numpy.vectorize(math.erf, otypes=[float]), None
        sys.modules.setdefault("nereid", types.ModuleType("nereid"))
        sys.modules["nereid.reference"] = module
        space = {}
        exec(compile((folder / "reference.py").read_text(), str(folder / "reference.py"), "exec"), space)
        return space.get(task) or space["reference"]

    def check(self, name, task="", peer="torch", cases=()):
        import numpy
        import torch
        import torch.nn.attention.bias  # as bench/peers.py
        folder = ROOT / "kernels" / name
        fields = dict(tasks_of(folder, self.builders(torch)))[task]
        compared = 0
        for case in [*cases, *fields.cases]:
            if "special" in case or case.get("dtype", "f32") != "f32" or compared == 3:
                continue
            bindings = {k: v for k, v in case.items() if k not in ("label", "check")}
            inputs = call(fields.inputs, bindings)

            def backward(function, given, dout):
                leaves = [x.detach().requires_grad_() for x in given]
                return torch.autograd.grad(function(*leaves), leaves, dout)
            names = dict(torch=torch, F=torch.nn.functional, math=math, unsupported=unsupported, backward=backward, **(inputs | bindings))
            try:
                found = eval(fields.peers[peer], names)
            except Unsupported:
                continue
            found = [one.detach().double().numpy() for one in (found if isinstance(found, (tuple, list)) else [found])]
            arrays = {k: v.double().numpy() if isinstance(v, torch.Tensor) and v.is_floating_point() else v.numpy() if isinstance(v, torch.Tensor) else v
                      for k, v in (inputs | bindings).items()}
            expected = call(self.reference(folder, task), arrays)
            expected = [numpy.asarray(expected[key]) for key in call(fields.outputs, bindings, inputs) if key in expected]
            for got in found:
                self.assertTrue(any(got.shape == want.shape and numpy.allclose(got, want, rtol=1e-3, atol=1e-3) for want in expected),
                                f"{name} {task} {case}: {got.shape} beside {[want.shape for want in expected]}")
            compared += 1
        self.assertGreater(compared, 0, f"{name} {task}: no case is supported")

    def test_experts(self):
        for task in ("route", "order", "permute", "combine", "combine_backward", "layer"):
            with self.subTest(task=task):
                self.check("moe", task)

    def test_paged_attention(self):
        shape = dict(H=4, KV=2, D=32, PAGE=16, dtype="f32")
        for task, cases in dict(decode=[dict(tokens=[37, 37], **shape)], prefill=[dict(tokens=[60], queries=[25], **shape), dict(tokens=[20], queries=[20], **shape)],
                                shared_prefix=[dict(prefix=32, tokens=[21, 21, 21], **shape)]).items():
            with self.subTest(task=task):
                self.check("paged_attention", task, cases=cases)

    def test_perceptron(self):
        self.check("mlp")

    def test_attention(self):
        self.check("attention_standard")
        self.check("attention_standard", peer="sdpa")

    def test_older_ones(self):
        for name, task in (("softmax", "forward"), ("rms_norm", "forward"), ("layer_norm", "forward"), ("cross_entropy", "forward"), ("sort", "sort")):
            with self.subTest(folder=name):
                self.check(name, task)


if __name__ == "__main__":
    unittest.main()
