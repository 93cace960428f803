#!/usr/bin/env python3
"""Records the launches that a public kernel package makes, as plain facts.

    scripts/corpus-record.py liger   DIR -o test/corpus/liger.json
    scripts/corpus-record.py unsloth DIR -o test/corpus/unsloth.json

DIR holds the unpacked package. Its own Python runs on small CPU tensors, and every kernel launch is
noted: kernel, argument names, dtypes, shapes, strides, ranges of values, constexprs, options, grid.
The kernel then runs in Triton's interpreter where that is able to, so that the host code goes on
with sensible values. No source text is kept.

Each launch whose tensors are small is then replayed in the interpreter on inputs made by a formula
(`scripts/corpus_inputs.py`), and a digest of each tensor that it changed is kept as `expect`: what
another engine should find for the same inputs.

Needs torch (CPU), triton and numpy below 2.4. A by-hand tool: its results are committed.
"""
import argparse
import contextlib
import importlib
import importlib.machinery
import inspect
import json
import logging
import os
import pathlib
import sys
import traceback
import types

os.environ["TRITON_INTERPRET"] = "1"
os.environ["TORCHDYNAMO_DISABLE"] = "1"
sys.dont_write_bytecode = True

import numpy as np  # noqa: E402
import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.runtime.autotuner import Autotuner  # noqa: E402
from triton.runtime.interpreter import InterpretedFunction  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from corpus_inputs import digest, makeInput  # noqa: E402

SIGNATURE = {
    torch.bool: "i1", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.uint8: "u8",
    torch.uint16: "u16", torch.uint32: "u32", torch.uint64: "u64", torch.float16: "fp16", torch.bfloat16: "bf16",
    torch.float32: "fp32", torch.float64: "fp64", torch.float8_e4m3fn: "fp8e4nv", torch.float8_e5m2: "fp8e5",
}
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
REPLAY_LIMIT = 1 << 16  # elements in all tensors of a launch
REPLAY_PROGRAMS = 2048


class Recorder:
    def __init__(self, package, root):
        self.package, self.root = package, pathlib.Path(root).resolve()
        self.launches, self.by = {}, ""

    def relative(self, function):
        path = pathlib.Path(inspect.getsourcefile(function)).resolve()
        try:
            return str(path.relative_to(self.root))
        except ValueError:
            return None

    def constant(self, value):
        """A constexpr as JSON that keeps apart what Triton keeps apart."""
        if isinstance(value, tl.constexpr):
            return self.constant(value.value)
        if isinstance(value, tl.dtype):
            return {"dtype": str(value)}
        if isinstance(value, torch.dtype):
            return {"dtype": SIGNATURE[value]}
        if isinstance(value, InterpretedFunction):
            return {"function": value.fn.__name__}
        if isinstance(value, (tuple, list)):
            return {"tuple": [self.constant(v) for v in value]}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        return {"unknown": type(value).__name__}

    def argument(self, name, value, isConstexpr):
        if isConstexpr:
            return {"name": name, "kind": "constexpr", "value": self.constant(value)}
        if value is None:
            return {"name": name, "kind": "none"}
        if isinstance(value, torch.Tensor):
            fact = {"name": name, "kind": "pointer", "dtype": SIGNATURE[value.dtype], "shape": list(value.shape),
                    "strides": list(value.stride()), "aligned": value.data_ptr() % 16 == 0}
            if value.numel():
                if value.dtype.is_floating_point:
                    finite = value.detach().to(torch.float64)
                    finite = finite[torch.isfinite(finite)]
                    if finite.numel():
                        fact["range"] = [round(float(finite.min()), 4), round(float(finite.max()), 4)]
                else:
                    fact["range"] = [int(value.min()), int(value.max())]
                    # Indices must fit together, so they are kept as they were.
                    if fact["range"][0] != fact["range"][1] and value.numel() <= 512 and value.is_contiguous():
                        fact["values"] = value.flatten().long().tolist()
            return fact
        if isinstance(value, bool):
            return {"name": name, "kind": "bool", "value": value}
        if isinstance(value, int):
            return {"name": name, "kind": "int", "type": "i32" if -(1 << 31) <= value < 1 << 31 else "i64", "value": value}
        if isinstance(value, float):
            return {"name": name, "kind": "float", "value": value}
        if isinstance(value, (tuple, list)):
            return {"name": name, "kind": "tuple", "items": [self.argument("", v, False) for v in value]}
        if hasattr(value, "base") and hasattr(value, "block_shape"):
            fact = self.argument(name, value.base, False)
            return {**fact, "kind": "descriptor", "block_shape": list(value.block_shape)}
        return {"name": name, "kind": "unknown", "type": type(value).__name__}

    def note(self, kernel, args, kwargs, grid):
        """The launch's facts and its bound arguments; None for a kernel from elsewhere."""
        function = kernel.fn
        file = self.relative(function)
        if file is None:
            return None, None, None
        options = {k: v for k, v in kwargs.items() if k in OPTIONS and k not in kernel.arg_names}
        signature = inspect.signature(function)
        bound = signature.bind(*args, **{k: v for k, v in kwargs.items() if k in kernel.arg_names})
        bound.apply_defaults()
        facts = []
        for name, value in bound.arguments.items():
            annotation = signature.parameters[name].annotation
            isConstexpr = annotation is tl.constexpr or "constexpr" in str(annotation)
            facts.append(self.argument(name, value, isConstexpr))
        shape = grid(dict(bound.arguments)) if callable(grid) else grid
        shape = [int(n) for n in (shape if isinstance(shape, (tuple, list)) else (shape,))]
        launch = {"file": file, "kernel": function.__name__, "args": facts, "options": options, "grid": shape, "by": self.by}
        return launch, bound.arguments, shape

    def keep(self, launch):
        # The same kernel with the same types, constexprs, specialisation and scalars is one launch.
        key = json.dumps({k: launch[k] for k in ("file", "kernel", "options", "grid")}, sort_keys=True)
        key += json.dumps([{k: v for k, v in a.items() if k not in ("range", "values")} for a in launch["args"]], sort_keys=True)
        known = key in self.launches
        self.launches.setdefault(key, launch)
        return not known


def replay(kernel, arguments, launch):
    """Runs the launch on inputs made by formula and keeps digests of what it changed."""
    pointers = [a for a in launch["args"] if a["kind"] == "pointer"]
    if any(a["kind"] in ("descriptor", "tuple", "unknown") for a in launch["args"]) or not pointers:
        return
    if any(a["dtype"] not in ("fp32", "i32", "i64", "i8", "u8", "i1", "fp64", "i16") for a in pointers):
        return
    if np.prod(launch["grid"]) > REPLAY_PROGRAMS:
        return
    total = sum(int(np.prod(a["shape"])) for a in pointers)
    if total > REPLAY_LIMIT or any(0 in a["shape"] for a in pointers):
        return
    made, values = {}, dict(arguments)
    for index, fact in enumerate(launch["args"]):
        if fact["kind"] == "pointer":
            flat = makeInput(fact, index)
            base = torch.zeros(len(flat), dtype=arguments[fact["name"]].dtype)
            base.copy_(torch.tensor(flat, dtype=torch.float64 if fact["dtype"].startswith("fp") else torch.int64))
            made[fact["name"]] = (base, base.clone())
            values[fact["name"]] = base.as_strided(fact["shape"], fact["strides"])
    InterpretedFunction.original(kernel, **values, grid=tuple(launch["grid"]), warmup=False)
    expect = {}
    for name, (base, before) in made.items():
        if not torch.equal(base.nan_to_num(nan=7e37), before.nan_to_num(nan=7e37)) if base.is_floating_point() else not torch.equal(base, before):
            expect[name] = digest(base.double().tolist())
    if expect:
        launch["expect"] = expect


def replayApart(kernel, arguments, launch):
    """In a process of its own: made-up inputs may lead a kernel out of bounds."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(Exception):
            replay(kernel, arguments, launch)
            os.write(writer, json.dumps(launch.get("expect", {})).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    expect = json.loads(text) if text else {}
    if expect:
        launch["expect"] = expect


def install(recorder, values):
    original = InterpretedFunction.run
    InterpretedFunction.original = original

    def run(self, *args, grid, warmup, **kwargs):
        launch, arguments, shape = recorder.note(self, args, kwargs, grid)
        if launch is None:
            return original(self, *args, grid=grid, warmup=warmup, **kwargs)
        fresh = recorder.keep(launch)
        try:
            original(self, *args, grid=tuple(shape), warmup=warmup, **kwargs)
        except Exception as error:  # The interpreter lacks much; the facts are still good.
            launch["uninterpreted"] = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        else:
            if values and fresh:
                replayApart(self, arguments, launch)

    InterpretedFunction.run = run

    def tuned(self, *args, **kwargs):
        # The first configuration that survives pruning stands for all.
        self.nargs = dict(zip(self.arg_names, args))
        config = self.best_config = self.prune_configs(kwargs)[0]
        if config.pre_hook is not None:
            config.pre_hook({**self.nargs, **kwargs, **config.all_kwargs()})
        return self.fn.run(*args, **kwargs, **config.all_kwargs())

    Autotuner.run = tuned


def installInterpreter():
    """Fills gaps of Triton's interpreter: float arguments are f32 scalars, and tanh and rsqrt exist."""
    from triton.runtime import interpreter
    convert = interpreter._implicit_cvt

    def convertFloatsToo(value):
        if isinstance(value, float):
            return tl.tensor(interpreter.TensorHandle(np.array([value], dtype=np.float32), tl.float32), tl.float32)
        return convert(value)

    interpreter._implicit_cvt = convertFloatsToo
    for name in ("triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice"):
        with contextlib.suppress(ImportError):
            library = importlib.import_module(name)
            library.tanh = lambda x: 2 * tl.sigmoid(2 * x) - 1
            library.rsqrt = lambda x: 1.0 / tl.sqrt(x)


def installCuda():
    """The few questions about a GPU that host code asks before it launches."""
    class Properties:
        multi_processor_count = 132
        name = "NVIDIA H200"
        major, minor = 9, 0
        total_memory = 141 << 30
        max_threads_per_multi_processor = 2048
        shared_memory_per_block_optin = 232448
        warp_size = 32
        gcnArchName = ""

    torch.cuda.get_device_properties = lambda *a: Properties()
    torch.cuda.get_device_capability = lambda *a: (9, 0)
    torch.cuda.current_device = lambda: 0
    torch.cuda.synchronize = lambda *a: None

    class Device(contextlib.nullcontext):
        idx, prev_idx = 0, 0

        def __init__(self, *args):
            super().__init__()

    torch.cuda.device = Device
    torch._C._cuda_getCurrentRawStream = lambda *a: 0


class Anything(types.ModuleType):
    """A module that isn't here: any attribute of it exists and does nothing."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("logger", "log"):
            return logging.getLogger(name)
        return type(name, (), {"__init__": lambda self, *a, **k: None, "forward": lambda self, *a, **k: None})


class MissingPackages:
    """Lets host code import packages that play no part in its kernels."""

    def __init__(self, *names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        if name.startswith("transformers.integrations"):
            return None
        if name.split(".")[0] in self.names:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Anything(spec.name)

    def exec_module(self, module):
        pass


def leaf(*shape, dtype=torch.float32, low=None):
    value = torch.randn(shape).to(dtype) if low is None else (torch.rand(shape) + low).to(dtype)
    return value.requires_grad_()


def backward(result):
    results = result if isinstance(result, (tuple, list)) else (result,)
    results = [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
    sum(r.float().sum() for r in results).backward() if results else None


def ligerCalls(dtype):
    """name -> a call into the package's own functions, forward and backward."""
    import torch.nn.functional as F
    module = lambda name: importlib.import_module(f"liger_kernel.ops.{name}")
    x = lambda *shape, **k: leaf(*shape, dtype=dtype, **k)
    cosSin = lambda B, T, D: (torch.randn(B, T, D).to(dtype), torch.randn(B, T, D).to(dtype))
    logp = lambda *shape: F.log_softmax(torch.randn(*shape), -1).requires_grad_()
    prob = lambda *shape: F.softmax(torch.randn(*shape), -1).requires_grad_()
    target = lambda n, v: torch.randint(0, v, (n,))
    calls = {}

    def add(name, function, *args, **kwargs):
        calls[name] = lambda: backward(function(*args, **kwargs))

    module("dyt").infer_device = lambda: "cuda"
    for N in (64, 100, 1030):
        for mode in ("llama", "gemma", "none"):
            add(f"rms_norm {mode} {N}", module("rms_norm").LigerRMSNormFunction.apply, x(6, N), x(N), 1e-6, 0.0 if mode != "gemma" else 1.0, mode)
        add(f"layer_norm {N}", module("layer_norm").LigerLayerNormFunction.apply, x(6, N), x(N), x(N), 1e-6)
        add(f"softmax {N}", module("softmax").LigerSoftmaxFunction.apply, x(4, N))
        add(f"sparsemax {N}", module("sparsemax").LigerSparsemaxFunction.apply, x(4, N), -1)
        add(f"swiglu {N}", module("swiglu").LigerSiLUMulFunction.apply, x(2, 3, N), x(2, 3, N))
        add(f"swiglu fused {N}", module("swiglu").LigerFusedGateUpSiLUMulFunction.apply, x(6, 2 * N))
        add(f"geglu {N}", module("geglu").LigerGELUMulFunction.apply, x(2, 3, N), x(2, 3, N))
        add(f"relu_squared {N}", module("relu_squared").LigerReLUSquaredFunction.apply, x(6, N))
        add(f"dyt {N}", module("dyt").LigerDyTFunction.apply, x(2, 3, N), x(1), x(N), x(N))
        add(f"fused_add_rms_norm {N}", module("fused_add_rms_norm").LigerFusedAddRMSNormFunction.apply, x(6, N), x(6, N), x(N), 1e-6)
        add(f"modulated_rms_norm {N}", module("modulated_rms_norm").LigerModulatedRMSNormFunction.apply, x(2, 3, N), x(N), x(2, N), x(2, N), 1e-6)
        add(f"poly_norm {N}", module("poly_norm").LigerPolyNormFunction.apply, x(6, N), x(3), x())
        add(f"kl_div {N}", module("kl_div").LigerKLDivLossFunction.apply, logp(4, N), prob(4, N).detach())
        add(f"kl_div log {N}", module("kl_div").LigerKLDivLossFunction.apply, logp(4, N), logp(4, N).detach(), "none", True)
        add(f"jsd {N}", module("jsd").LigerJSDFunction.apply, logp(4, N), logp(4, N).detach(), target(4, N), 0.3)
        for beta in (0.0, 1.0):
            add(f"jsd beta {beta} {N}", module("jsd").LigerJSDFunction.apply, logp(4, N), logp(4, N).detach(), None, beta)
        add(f"tvd {N}", module("tvd").LigerTVDLossFunction.apply, prob(4, N), prob(4, N).detach(), target(4, N))
        for reduction in ("mean", "sum", "none"):
            add(f"cross_entropy {reduction} {N}", module("cross_entropy").LigerCrossEntropyFunction.apply, x(5, N), target(5, N), None, -100, 0.0, 0.0, reduction)
        add(f"cross_entropy all {N}", module("cross_entropy").LigerCrossEntropyFunction.apply, x(5, N), target(5, N), torch.rand(N), 2, 1e-4, 0.1, "mean", 30.0, True, True, True)
        add(f"fused_ce_tvd {N}", module("fused_ce_tvd").LigerFusedCETVDFunction.apply, x(4, N), torch.randn(4, N).to(dtype), target(4, N))
        add(f"embedding {N}", module("experimental.embedding").LigerEmbeddingFunction.apply, x(20, N), torch.randint(0, 20, (2, 3)))
    add("group_norm", module("group_norm").LigerGroupNormFunction.apply, x(2, 8, 50), x(8), x(8), 8, 4, 1e-6)
    add("group_norm one", module("group_norm").LigerGroupNormFunction.apply, x(2, 6, 16), x(6), x(6), 6, 1, 1e-6)
    add("rope", module("rope").LigerRopeFunction.apply, x(2, 4, 8, 32), x(2, 2, 8, 32), *cosSin(1, 8, 32))
    add("rope batch", module("rope").LigerRopeFunction.apply, x(2, 4, 8, 24), x(2, 4, 8, 24), *cosSin(2, 8, 24))
    add("qwen2vl_mrope", module("qwen2vl_mrope").LigerQwen2VLMRopeFunction.apply, x(2, 4, 8, 32), x(2, 2, 8, 32), *cosSin(3, 2 * 8, 32)[0:1],
        torch.randn(3, 2 * 8, 32).to(dtype), [4, 6, 6])
    calls["qwen2vl_mrope"] = lambda: backward(module("qwen2vl_mrope").LigerQwen2VLMRopeFunction.apply(
        x(2, 4, 8, 32), x(2, 2, 8, 32), torch.randn(3, 2, 8, 32).to(dtype), torch.randn(3, 2, 8, 32).to(dtype), [4, 6, 6]))
    add("llama4_rope", module("llama4_rope").LigerLlama4RopeFunction.apply, x(2, 8, 4, 32), x(2, 8, 2, 32), torch.randn(8, 16, dtype=torch.complex64))
    add("fused_linear_cross_entropy", module("fused_linear_cross_entropy").LigerFusedLinearCrossEntropyFunction.apply, x(6, 32), x(100, 32), target(6, 100), x(100))
    add("fused_linear_jsd", module("fused_linear_jsd").LigerFusedLinearJSDFunction.apply, x(6, 32), x(100, 32), torch.randn(6, 48).to(dtype), torch.randn(100, 48).to(dtype), target(6, 100))
    add("fused_linear_kl_div", module("fused_linear_kl_div").LigerFusedLinearKLDivFunction.apply, x(6, 32), x(100, 32), F.softmax(torch.randn(6, 100), -1).to(dtype), target(6, 100))
    add("attn_res", module("attn_res").LigerAttnResFunction.apply, x(4, 2, 3, 64), x(64), x(64), 1e-6)
    add("multi_token_attention", module("multi_token_attention").LigerMultiTokenAttentionFunction.apply, x(1, 2, 20, 20), x(2, 2, 3, 3), x(2), 1, 1, 1, 1)
    add("multi_token_attention sparse", module("multi_token_attention").LigerMultiTokenAttentionFunction.apply, x(1, 2, 20, 20), x(2, 2, 3, 3), x(2), 1, 1, 1, 1, True)
    add("fused_neighborhood_attention", module("fused_neighborhood_attention").LigerFusedNeighborhoodAttentionFunction.apply, x(1, 2, 40, 32), x(1, 2, 40, 32), x(1, 2, 40, 32), 7, 1)
    add("mlp", module("mlp").LigerMLPFunction.apply, x(2, 20, 64), x(96, 64), x(96, 64), x(64, 96))
    add("grpo token", module("grpo_loss").GrpoLossFunction.apply, x(2, 9, 60), None, torch.randn(2, 8), torch.randint(0, 60, (2, 8)), torch.randn(2), torch.ones(2, 8, dtype=torch.int32), 0.9, 0.04, 0.2, 0.4, False)
    add("grpo old", module("grpo_loss").GrpoLossFunction.apply, x(2, 9, 60), torch.randn(2, 8) - 3, None, torch.randint(0, 60, (2, 8)), torch.randn(2), torch.ones(2, 8, dtype=torch.int32), 1.0, 0.0, 0.2, 0.2, True)
    add("grpo sequence", module("grpo_loss").GrpoLossFunction.apply, x(2, 9, 60), torch.randn(2, 8) - 3, torch.randn(2, 8) - 3, torch.randint(0, 60, (2, 8)), torch.randn(2), torch.ones(2, 8, dtype=torch.int32), 1.0, 0.04, 0.2, 0.2, False, "grpo", None, True, "sequence")
    for kind in ("dapo", "bnpo", "dr_grpo", "cispo", "sapo"):
        add(f"grpo {kind}", module("grpo_loss").GrpoLossFunction.apply, x(2, 9, 60), torch.randn(2, 8) - 3, torch.randn(2, 8) - 3, torch.randint(0, 60, (2, 8)), torch.randn(2), torch.ones(2, 8, dtype=torch.int32), 1.0, 0.04, 0.2, 0.2, False, kind, 8)
    add("fused_moe", module("fused_moe").LigerFusedMoEFunction.apply, x(12, 32), x(4, 64, 32), x(4, 32, 32), torch.stack([torch.randperm(4)[:2] for _ in range(12)]), torch.rand(12, 2).to(dtype).requires_grad_())
    mhc = module("mhc")
    # Four hyper-connections: a mix of 4 * 4 + 2 * 4 columns.
    add("mhc coefficients", mhc.LigerMHCCoeffsFunction.apply, x(2, 5, 4, 32), leaf(128, 24), leaf(24), leaf(), leaf(), leaf(), True, 8, 1e-6, 1e-6, 1e-6, 2.0)
    add("mhc pre", mhc.LigerMHCPreFunction.apply, x(2, 5, 4, 32), leaf(2, 5, 4))
    add("mhc post", mhc.LigerMHCPostResFunction.apply, x(2, 5, 4, 32), x(2, 5, 32), leaf(2, 5, 4), leaf(2, 5, 4, 4))

    add("mhc sinkhorn", lambda *a: mhc.mhc_sinkhorn_bwd(*a, tmax=8, sinkhorn_eps=1e-6), torch.randn(10, 24), torch.randn(24), torch.ones(1), torch.randn(10, 4, 4))
    parallel = module("vocab_parallel_cross_entropy").LigerVocabParallelCEFunction.apply
    add("vocab_parallel_ce", parallel, x(5, 1, 100), torch.randint(0, 100, (5, 1)), None, -100, 0.0, "pytorch", "global")
    add("rms_norm many rows", module("rms_norm").LigerRMSNormFunction.apply, x(4096 * 8, 16), x(16), 1e-6)

    def scaledLoss():
        logits = x(5, 100)
        (3 * module("cross_entropy").LigerCrossEntropyFunction.apply(logits, target(5, 100), None)[0]).backward()

    calls["cross_entropy scaled"] = scaledLoss

    def onBlackwell():
        swiglu = module("swiglu")
        keep, swiglu.infer_device_arch = swiglu.infer_device_arch, lambda: "blackwell"
        backward(swiglu.LigerSiLUMulFunction.apply(x(2, 9000), x(2, 9000)))
        swiglu.infer_device_arch = keep

    calls["swiglu tiled"] = onBlackwell
    plainMlp = calls["mlp"]

    def mlp():
        keep, torch.Tensor.is_cuda = torch.Tensor.is_cuda, property(lambda self: True)
        try:
            plainMlp()
            with torch.no_grad():
                module("mlp").LigerMLPFunction.apply(x(2, 20, 64), x(96, 64), x(96, 64), x(64, 96))
        finally:
            torch.Tensor.is_cuda = keep

    calls["mlp"] = mlp

    def int2():
        mm = module("experimental.mm_int8int2")
        mm.matmul(torch.randint(-128, 127, (64, 512), dtype=torch.int8), mm.pack_weights(torch.randint(-1, 2, (512, 64)) + 1))

    calls["mm_int8int2"] = int2
    return calls


def unslothCalls(dtype, root):
    """As above. The package's own __init__ wants a GPU and much else, so its kernels are imported by themselves."""
    package = types.ModuleType("unsloth")
    package.__path__ = [str(root / "unsloth")]
    package.DEVICE_TYPE = "cuda"
    sys.modules["unsloth"] = package
    device = types.ModuleType("unsloth.device_type")
    device.is_hip = lambda: False
    device.get_device_type = lambda: "cuda"
    device.cuda_visible_capabilities = lambda: [(9, 0)]
    device.DEVICE_TYPE = device.DEVICE_TYPE_TORCH = "cuda"
    device.DEVICE_COUNT, device.ALLOW_PREQUANTIZED_MODELS = 1, True
    sys.modules["unsloth.device_type"] = device
    bnb = types.ModuleType("unsloth.bnb_availability")
    bnb.native_kernels_ready = lambda *a: False
    sys.modules["unsloth.bnb_availability"] = bnb
    kernels = types.ModuleType("unsloth.kernels")
    kernels.__path__ = [str(root / "unsloth" / "kernels")]
    sys.modules["unsloth.kernels"] = kernels
    sys.meta_path.append(MissingPackages("unsloth_zoo", "transformers", "peft", "pandas"))
    from packaging.version import Version
    importlib.import_module("unsloth_zoo.utils").Version = Version
    importlib.import_module("unsloth_zoo.temporary_patches.common").torch_compile = lambda f=None, **k: f if f else (lambda g: g)
    importlib.import_module("unsloth_zoo.patching_utils").patch_layernorm = lambda *a: None

    def module(name):
        loaded = importlib.import_module(f"unsloth.kernels.{name}")
        # The interpreter does not see through a module's own name for a builtin.
        if hasattr(loaded, "triton_cast"):
            loaded.triton_cast = lambda value, dtype: value.to(dtype) if hasattr(value, "to") else value
        return loaded

    x = lambda *shape: leaf(*shape, dtype=dtype)
    calls = {}

    def add(name, call):
        calls[name] = lambda: backward(call())

    class Norm:
        def __init__(self, n):
            self.weight, self.bias = torch.randn(n).to(dtype).requires_grad_(), torch.randn(n).to(dtype).requires_grad_()
            self.variance_epsilon = self.eps = 1e-6

    for N in (64, 100, 1030):
        add(f"cross_entropy {N}", lambda N=N: module("cross_entropy_loss").fast_cross_entropy_loss(x(1, 5, N), torch.randint(0, N, (1, 5))))
        add(f"cross_entropy cap {N}", lambda N=N: module("cross_entropy_loss").fast_cross_entropy_loss(x(1, 5, N), torch.randint(0, N, (1, 5)), 30.0, 0.5))
        add(f"rms_layernorm {N}", lambda N=N: module("rms_layernorm").fast_rms_layernorm(Norm(N), x(2, 3, N)))
        add(f"rms_layernorm gemma {N}", lambda N=N: module("rms_layernorm").fast_rms_layernorm(Norm(N), x(2, 3, N), True))
        add(f"layernorm {N}", lambda N=N: module("layernorm").fast_layernorm(torch.nn.LayerNorm(N, dtype=dtype), x(2, 3, N)))
        add(f"swiglu {N}", lambda N=N: module("swiglu").swiglu_fg_kernel(torch.randn(2, 3, N).to(dtype), torch.randn(2, 3, N).to(dtype)))
        add(f"swiglu backward {N}", lambda N=N: module("swiglu").swiglu_DWf_DW_dfg_kernel(*[torch.randn(6, N).to(dtype) for _ in range(3)]))
        for form in ("exact", "approx"):
            add(f"geglu {form} {N}", lambda N=N, form=form: getattr(module("geglu"), f"geglu_{form}_forward_kernel")(torch.randn(2, 3, N).to(dtype), torch.randn(2, 3, N).to(dtype)))
            add(f"geglu {form} backward {N}", lambda N=N, form=form: getattr(module("geglu"), f"geglu_{form}_backward_kernel")(*[torch.randn(6, N).to(dtype) for _ in range(3)]))
        add(f"fused_add_rms {N}", lambda N=N: module("fused_add_rms_layernorm").fast_add_rms_layernorm_inference(torch.randn(1, 1, N).to(dtype), torch.randn(1, 1, N).to(dtype), torch.randn(N).to(dtype), 1e-6))
    add("cross_entropy chunked", lambda: module("cross_entropy_loss").fast_cross_entropy_loss(x(1, 2, 70000), torch.randint(0, 70000, (1, 2))))
    add("rms_layernorm many rows", lambda: module("rms_layernorm").fast_rms_layernorm(Norm(128), x(4, 64, 128)))
    add("rope", lambda: module("rope_embedding").fast_rope_embedding(x(2, 4, 8, 32), x(2, 2, 8, 32), torch.randn(8, 32).to(dtype), torch.randn(8, 32).to(dtype)))
    add("rope positions", lambda: module("rope_embedding").fast_rope_embedding(x(2, 4, 8, 32), x(2, 2, 8, 32), torch.randn(16, 32).to(dtype), torch.randn(16, 32).to(dtype), torch.randint(0, 16, (2, 8), dtype=torch.int32)))
    add("rope one", lambda: module("rope_embedding").Fast_RoPE_Embedding.apply(x(2, 8, 4, 32), torch.randn(8, 32).to(dtype), torch.randn(8, 32).to(dtype)))
    add("qk_norm_rope", lambda: module("qk_norm_rope").Fast_QK_Norm_RoPE.apply(
        x(2, 8, 4, 32), x(2, 8, 2, 32), x(32), x(32), torch.randn(8, 32).to(dtype), torch.randn(8, 32).to(dtype),
        torch.zeros(1, dtype=torch.int32), 1e-6, 1e-6, False))
    add("weight_dequant", lambda: module("fp8").weight_dequant_block(torch.randn(200, 256).to(torch.float8_e4m3fn), torch.rand(2, 2), 128, dtype))
    add("act_quant", lambda: module("fp8").act_quant(torch.randn(6, 256).to(dtype), 128))
    add("w8a8 matmul", lambda: module("fp8").w8a8_block_fp8_matmul_triton(
        torch.randn(40, 256).to(torch.float8_e4m3fn), torch.randn(128, 256).to(torch.float8_e4m3fn), torch.rand(40, 2), torch.rand(1, 2), [128, 128], dtype))
    add("fp8 rowwise gemv", lambda: module("fp8").fp8_rowwise_gemv(torch.randn(1, 256).to(dtype), torch.randn(64, 256).to(torch.float8_e4m3fn), torch.rand(64, 1)))
    add("e4m3fn bytes", lambda: module("fp8")._e4m3fn_bytes_dequant(torch.randn(128, 256).to(torch.float8_e4m3fn), torch.rand(1, 2), 128, 128, dtype))
    add("e4m3fn scale", lambda: module("fp8")._scale_dequant_one_pass(torch.randn(64, 256).to(torch.float8_e4m3fn), torch.rand(64, 1), dtype))
    add("fp8 small m", lambda: module("fp8").fp8_block_small_m_linear(torch.randn(4, 256).to(dtype), torch.randn(128, 256).to(torch.float8_e4m3fn), torch.rand(1, 2)))
    add("fp8 block gemv", lambda: module("fp8").fp8_block_gemv(torch.randn(1, 256).to(dtype), torch.randn(128, 256).to(torch.float8_e4m3fn), torch.rand(1, 2)))
    add("large_head_attention", lambda: module("large_head_attention")._bwd_impl(
        *[torch.randn(1, 2, 40, 256).to(dtype)] * 2, *[torch.randn(1, 1, 40, 256).to(dtype)] * 2,
        *module("large_head_attention")._fwd_impl(torch.randn(1, 2, 40, 256).to(dtype), torch.randn(1, 1, 40, 256).to(dtype), torch.randn(1, 1, 40, 256).to(dtype),
                                                  *module("large_head_attention")._dense_intervals(1, 40, True, "cpu"), 0.0625)[:2],
        *module("large_head_attention")._dense_intervals(1, 40, True, "cpu"), 0.0625))
    add("nvfp4 dequant", lambda: module("nvfp4")._nvfp4_dequantize_triton(torch.randint(0, 255, (64, 32), dtype=torch.uint8), torch.randint(0, 120, (64, 4), dtype=torch.uint8), torch.rand(1), dtype))

    nf4 = lambda: (torch.randint(0, 255, (64 * 128 // 2, 1), dtype=torch.uint8), torch.randint(0, 255, (128,), dtype=torch.uint8),
                   torch.rand(256), torch.rand(1), torch.rand(1), torch.linspace(-1, 1, 16))

    def dequantise():
        W, absmax, code2, absmax2, offset, code = nf4()
        module("nf4").dequantize_nf4(W, absmax, code2, absmax2, offset, code, 64, 256, torch.Size((64, 128)), dtype)

    add("nf4 dequant", dequantise)

    def gemv():
        W, absmax, code2, absmax2, offset, code = nf4()
        module("nf4_gemv").gemv_nf4(torch.randn(1, 1, 128).to(dtype), W, absmax, code2, absmax2, offset, code, 64, 256, torch.Size((64, 128)), dtype)

    add("nf4 gemv", gemv)

    # Its host code asserts that tensors are on a GPU.
    loader = importlib.machinery.SourceFileLoader
    loader.source_to_code = lambda self, data, path, *, _optimize=-1: compile(data, path, "exec", dont_inherit=True, optimize=1 if "grouped_gemm" in path else -1)
    grouped = lambda: module("moe.grouped_gemm.interface")
    sizes = lambda: torch.tensor([5, 0, 12, 7], dtype=torch.int32)
    order = lambda: torch.randperm(24).to(torch.int32)
    for permute_x, permute_y in ((False, False), (True, False), (False, True)):
        name = f"grouped_gemm x {permute_x} y {permute_y}"
        permuted = dict(permute_x=permute_x, permute_y=permute_y)
        X = lambda p=permute_x: torch.randn(12 if p else 24, 64).to(dtype)
        add(name, lambda o=permuted, X=X: grouped()._grouped_gemm_forward_impl(X(), torch.randn(4, 96, 64).to(dtype), 2, sizes(), order(), **o))
        add(name + " dX", lambda o=permuted: grouped()._grouped_gemm_dX_impl(torch.randn(24, 96).to(dtype), torch.randn(4, 96, 64).to(dtype), order(), sizes(), 2, **o))
        add(name + " dW", lambda o=permuted, X=X: grouped()._grouped_gemm_dW_impl(X(), torch.randn(24, 96).to(dtype), sizes(), order(), 2, **o))
    return calls


def shortened(value):
    """Floats to ten digits, which is more than they are compared to."""
    if isinstance(value, dict):
        return {k: shortened(v) for k, v in value.items()}
    if isinstance(value, list):
        return [shortened(v) for v in value]
    return float(f"{value:.10g}") if isinstance(value, float) else value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("package", choices=("liger", "unsloth"))
    parser.add_argument("root")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--only", default="", help="only calls whose name contains this")
    parser.add_argument("--no-values", action="store_true", help="facts alone, without replays")
    parser.add_argument("--trace", action="store_true", help="show where a call fails")
    options = parser.parse_args()
    root = pathlib.Path(options.root).resolve()
    sys.path.insert(0, str(root))
    recorder = Recorder(options.package, root)
    # torch.empty then holds NaN, not whatever was there: the facts are the same each time.
    torch.use_deterministic_algorithms(True, warn_only=True)
    installInterpreter()
    installCuda()
    install(recorder, not options.no_values)
    failures = []
    for dtype in (torch.float32, torch.bfloat16):
        torch.manual_seed(0)
        calls = ligerCalls(dtype) if options.package == "liger" else unslothCalls(dtype, root)
        for name, call in calls.items():
            if options.only not in name:
                continue
            recorder.by = f"{name} {SIGNATURE[dtype]}"
            before = len(recorder.launches)
            try:
                call()
            except Exception as error:
                failures.append((recorder.by, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"))
                if options.trace:
                    traceback.print_exc()
            print(f"{recorder.by}: {len(recorder.launches) - before} launches", flush=True)
    versions = dict(liger="liger-kernel==0.8.5", unsloth="unsloth==2026.10.9")
    launches = sorted(recorder.launches.values(), key=lambda l: (l["file"], l["kernel"], l["by"]))
    with open(options.output, "w") as out:
        out.write('{"package": ' + json.dumps(versions[options.package]) + f', "recorded_with": "triton {triton.__version__} interpreter", "launches": [\n')
        out.write(",\n".join(json.dumps({**launch, "expect": shortened(launch["expect"])} if "expect" in launch else launch) for launch in launches))
        out.write("\n]}\n")
    for name, reason in failures:
        print(f"failed: {name}: {reason}")
    kernels = {(l["file"], l["kernel"]) for l in launches}
    print(f"{len(launches)} launches of {len(kernels)} kernels, {sum('expect' in l for l in launches)} with expected results, "
          f"{sum('uninterpreted' in l for l in launches)} not run by the interpreter, {len(failures)} calls failed")


if __name__ == "__main__":
    main()
