"""Attention as a function of PyTorch with a gradient, by the kernels of kernels/flash_attention.

    python autograd.py          on the GPU if PyTorch sees one, else on the CPU

Checked against PyTorch's own attention, forward and backward.
"""
import math
import pathlib
import sys

import torch

import nereid

nereid.install()  # `import triton` below, and in the kernels, is Nereid's
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "kernels" / "flash_attention"))
import backward  # noqa: E402
import kernel  # noqa: E402
import triton  # noqa: E402

TILE = dict(BLOCK_M=32, BLOCK_N=32)


class Attention(torch.autograd.Function):
    """Causal attention of [batch, heads, tokens, D]; keys may have fewer heads."""

    @staticmethod
    def forward(ctx, q, k, v):
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        B, H, M, D = q.shape
        out, lse = torch.empty_like(q), torch.empty(B, H, M, dtype=torch.float32, device=q.device)
        ctx.last = (H, H // k.shape[1], M, k.shape[2], 1 / math.sqrt(D), 0.0, 0)
        ctx.tiles = dict(D=D, BLOCK_D=max(triton.next_power_of_2(D), 16), CAUSAL=True, DROPOUT=False, PRECISION="ieee", **TILE)
        strides = [*q.stride()[:3], *k.stride()[:3], *v.stride()[:3], 0, 0, 0, *out.stride()[:3]]
        kernel.flash_forward[(triton.cdiv(M, TILE["BLOCK_M"]), B * H)](q, k, v, None, out, lse, *strides, *ctx.last, **ctx.tiles)
        ctx.save_for_backward(q, k, v, out, lse)
        return out

    @staticmethod
    def backward(ctx, do):
        q, k, v, out, lse = ctx.saved_tensors
        do = do.contiguous()
        B, H, M, D = q.shape
        delta = torch.empty_like(lse)
        dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
        backward.row_delta[(triton.cdiv(B * H * M, 64),)](out, do, delta, B * H * M, D=D, BLOCK_D=ctx.tiles["BLOCK_D"], BLOCK_M=64)
        backward.backward_dk_dv[(triton.cdiv(k.shape[2], TILE["BLOCK_N"]), B * k.shape[1])](
            q, k, v, None, do, lse, delta, dk, dv, 0, 0, 0, *ctx.last, **ctx.tiles)
        backward.backward_dq[(triton.cdiv(M, TILE["BLOCK_M"]), B * H)](q, k, v, None, do, lse, delta, dq, 0, 0, 0, *ctx.last, **ctx.tiles)
        return dq, dk, dv


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    tensors = [torch.randn(2, heads, 70, 32, device=device, requires_grad=True) for heads in (4, 2, 2)]
    do = torch.randn(2, 4, 70, 32, device=device)
    out = Attention.apply(*tensors)
    found = (out, *torch.autograd.grad(out, tensors, do))
    expected = torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=True, enable_gqa=True)
    wanted = (expected, *torch.autograd.grad(expected, tensors, do))
    worst = 0.0
    for name, a, b in zip(("out", "dq", "dk", "dv"), found, wanted):
        error = (a - b).abs().max().item()
        worst = max(worst, error)
        print(f"{name}: greatest error {error:.2g}")
    return 0 if worst < 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
