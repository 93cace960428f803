# A step of attention's gradients: five products, and a block that is added to memory.
import triton
import triton.language as tl


@triton.jit
def gradients(q_desc, do_desc, dq_desc, lse_desc, k_desc, dk_desc, M, KEYS: tl.constexpr, D: tl.constexpr):
    k = k_desc.load([0, 0])
    v = k_desc.load([KEYS, 0])
    dk = tl.zeros([KEYS, D], dtype=tl.float32)
    dv = tl.zeros([KEYS, D], dtype=tl.float32)
    for start in range(0, M, 64):
        q = q_desc.load([start, 0])
        do = do_desc.load([start, 0])
        p = tl.exp2(tl.dot(k, q.T) - lse_desc.load([0, start]))
        dp = tl.dot(v, do.T)
        dv = tl.dot(p.to(tl.float16), do, dv)
        ds = (p * dp).to(tl.float16)
        dk = tl.dot(ds, q, dk)
        dq_desc.atomic_add([start, 0], tl.dot(ds.T, k))
    dk_desc.store([0, 0], dk.to(tl.float16))
    dk_desc.store([KEYS, 0], dv.to(tl.float16))
