doc = "Matrix products of microscaled operands: weights of 4 bits beside bf16 (mxfp4), both of 8 bits (mxfp8), both of 4 bits (nvfp4)"


def halves(rows, K):
    return randint((rows, K // 2), 0, 256, "u8")


def powers(rows, K):
    # e8m0: 2^-3 to 2.
    return randint((rows, K // 32), 124, 129, "u8")


def weights_inputs(M, N, K, dtype="bf16"):
    return dict(a=randn((M, K), dtype), a_scale=None, b=halves(N, K), b_scale=powers(N, K), group=32)


def mxfp8_inputs(M, N, K):
    return dict(a=randn((M, K), "f8e4nv"), a_scale=powers(M, K), b=randn((N, K), "f8e4nv"), b_scale=powers(N, K), group=32)


def nvfp4_inputs(M, N, K):
    return dict(a=halves(M, K), a_scale=rand((M, K // 16), "f8e4nv", low=0.125, high=2), b=halves(N, K),
                b_scale=rand((N, K // 16), "f8e4nv", low=0.125, high=2), group=16)


def outputs(M, N, out="f32"):
    return dict(c=empty((M, N), out))


def format_of(x):
    return dict(u8="e2m1", f8e4nv="e4m3", bf16="bf16", f16="fp16")[x.dtype]


def pointers(a, a_scale, b, b_scale, c, M, N, K, group, BLOCK_M, BLOCK_N, BLOCK_K, GROUP_M, num_warps, num_stages):
    return [launch("matmul_microscaled", (cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N),), a, a_scale, b, b_scale, c, M, N, K,
                   a.stride(0), b.stride(0), c.stride(0), A_FORMAT=format_of(a), B_FORMAT=format_of(b), GROUP=group,
                   BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=GROUP_M, num_warps=num_warps, num_stages=num_stages)]


def tile(m, n, k, warps, stages):
    return dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, GROUP_M=8, num_warps=warps, num_stages=stages)


variants = dict(pointers=dict(run=pointers, configs=[tile(128, 128, 64, 8, 3), tile(128, 128, 128, 8, 2), tile(128, 256, 64, 8, 3), tile(64, 128, 128, 4, 3),
                                                     tile(64, 64, 64, 4, 3), tile(16, 128, 128, 4, 3)]))


def tolerance(largest, out="f32"):
    # An operand times its scale has at most 8 significant bits: it is exact in bf16, and so are the products in f32. Of a sum of K
    # products a tensor core keeps 24 bits; `largest` is the standard deviation of a product, of which six reach any sum's terms.
    return lambda K, out=out: dict(rel=eps(out) / 2 + 2 * eps("f32"), abs=K * eps("f32") * 6 * largest)


# What eager PyTorch does: the weights as f32, then a product.
dequantised = ("torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], device=b.device)"
               "[torch.stack([b & 15, b >> 4], -1).long().reshape(b.shape[0], -1)] * torch.exp2(b_scale.float() - 127).repeat_interleave(32, 1)")

# Standard deviations: of uniform e2m1 codes 2.9, of the powers 1.1 in the root of the mean square, of the scales of nvfp4 1.2.
tasks = dict(
    weights=dict(
        inputs=weights_inputs, outputs=outputs, tolerance=tolerance(2.9 * 1.1), variants=variants, flops=lambda M, N, K: 2 * M * N * K,
        cases=[dict(M=m, N=n, K=k) for (m, n, k) in ((64, 64, 64), (1, 1, 32), (33, 200, 96), (5, 70, 416), (0, 16, 32))]
              + [dict(M=33, N=70, K=160, dtype="f16"), dict(M=33, N=70, K=160, out="bf16"), dict(M=33, N=70, K=160, special="a")],
        demo=[dict(check=True, M=256, N=256, K=256)],
        bench=[dict(M=m, N=4096, K=4096, out="bf16") for m in (16, 512, 4096)],
        peers=dict(torch="torch.matmul(a.float(), (" + dequantised + ").T)"),
    ),
    mxfp8=dict(
        inputs=mxfp8_inputs, outputs=outputs, tolerance=tolerance(1.1 * 1.1), variants=variants, flops=lambda M, N, K: 2 * M * N * K,
        cases=[dict(M=m, N=n, K=k) for (m, n, k) in ((64, 64, 64), (1, 1, 32), (33, 200, 96))],
        demo=[dict(check=True, M=256, N=256, K=256)],
        bench=[dict(M=4096, N=4096, K=4096, out="bf16")],
    ),
    nvfp4=dict(
        inputs=nvfp4_inputs, outputs=outputs, tolerance=tolerance(2.9 * 2.9 * 1.2 * 1.2), variants=variants, flops=lambda M, N, K: 2 * M * N * K,
        cases=[dict(M=m, N=n, K=k) for (m, n, k) in ((64, 64, 64), (1, 1, 16), (33, 200, 80), (5, 70, 400))],
        demo=[dict(check=True, M=256, N=256, K=256)],
        bench=[dict(M=4096, N=4096, K=4096, out="bf16")],
    ),
)
