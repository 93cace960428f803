# nereid: compile %s:kernel --signature "*fp32, i32" --emit tile
import triton
import triton.language as tl


def keep(configs, named_args, **kwargs):
    return [c for c in configs if c.kwargs["BLOCK"] <= named_args["n"]]


@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (16, 32)], key=["n"], prune_configs_by={"early_config_prune": keep})
@triton.jit
def kernel(p, n, BLOCK: tl.constexpr):  # note: .:1 PruneFailed all 2 configurations of `kernel` are kept
    i = tl.arange(0, BLOCK)
    tl.store(p + i, 0.0, mask=i < n)
# hint: choose with `--config`
