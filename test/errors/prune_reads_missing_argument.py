# nereid: run %s:kernel --device ref --arg "y=zeros(1,i32)" --arg n=4
import triton
import triton.language as tl


def keep(configs, named_args, **kwargs):
    return [c for c in configs if c.kwargs["BLOCK"] <= kwargs["LIMIT"]]  # error: .:56 KeyError cannot choose a configuration of `kernel`: there is no key 'LIMIT'
# hint: decorators see the arguments that were given


@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (1, 2)], key=["n"], prune_configs_by={"early_config_prune": keep})
@triton.jit
def kernel(y, n, LIMIT: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(y, n)
