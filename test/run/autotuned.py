# run: ref cpu
# Configurations and heuristics fill the constexprs that the caller leaves open; what the caller gives stays.
import triton
import triton.language as tl


def keep_small(configs, named_args, **kwargs):
    return [c for c in configs if c.kwargs["BLOCK"] <= 4 * named_args["n"]]


@triton.autotune(configs=[triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((1024, 8), (16, 2), (8, 4))],
                 key=["n"], prune_configs_by={"early_config_prune": keep_small})
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0, "num_warps": lambda args: args["num_warps"] // 2})
@triton.jit
def tuned(y, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.arange(0, 16)
    tl.store(y + i, tl.where(i == 0, BLOCK, tl.where(i == 1, EVEN, 7)), mask=i < 3)

# 1024 is pruned, so 16 comes first.
# expect: tuned(y=zeros(3,i32), n=4) -> y == [16, 0, 7]
# expect: tuned(y=zeros(3,i32), n=32) -> y == [16, 1, 7]
# expect: tuned(y=zeros(3,i32), n=1024) -> y == [1024, 1, 7]
# expect: tuned(y=zeros(3,i32), n=12, BLOCK=4) -> y == [4, 1, 7]
# expect: tuned(y=zeros(3,i32), n=4, EVEN=True) -> y == [16, 1, 7]


@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (64, 32, 16)], key=["n"],
                 prune_configs_by={"perf_model": lambda n, BLOCK, **_: abs(n - BLOCK), "top_k": 2})
@triton.jit
def modelled(y, n, BLOCK: tl.constexpr):
    tl.store(y, BLOCK)

# expect: modelled(y=zeros(1,i32), n=20) -> y == [16]
# expect: modelled(y=zeros(1,i32), n=40) -> y == [32]
