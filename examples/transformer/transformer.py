"""What a decoder needs beside the calls of nereid/kernels.h: embedding and sampling; and the reading that it is compared with."""
import triton
import triton.language as tl


@triton.jit
def embed(token_ptr, table_ptr, x_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    token = tl.load(token_ptr + row).to(tl.int64)
    tl.store(x_ptr + row * N + columns, tl.load(table_ptr + token * N + columns, mask=columns < N), mask=columns < N)


@triton.jit
def read(x_ptr, sum_ptr, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """Reads all of x once; how fast that goes is what a step of decoding is compared with."""
    program = tl.program_id(0)
    x_ptr += program.to(tl.int64) * STEPS * BLOCK
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for step in tl.static_range(STEPS):
        total += tl.load(x_ptr + step * BLOCK + tl.arange(0, BLOCK))
    tl.store(sum_ptr + program, tl.sum(total, axis=0))


@triton.jit
def draw(logits_ptr, row, N, inverse_temperature, seed, BLOCK: tl.constexpr, GREEDY: tl.constexpr):
    """A token by its softmax probability: the maximum of logits with Gumbel noise."""
    columns = tl.arange(0, BLOCK)
    scores = tl.load(logits_ptr + row * N + columns, mask=columns < N, other=-float("inf")).to(tl.float32)
    if not GREEDY:
        uniform = tl.maximum(tl.rand(seed, row * BLOCK + columns), 1e-20)
        scores = scores * inverse_temperature - tl.log(-tl.log(uniform))
        scores = tl.where(columns < N, scores, -float("inf"))
    return tl.argmax(scores, axis=0).to(tl.int32)


@triton.jit(do_not_specialize=["seed"])
def sample(logits_ptr, token_ptr, N, inverse_temperature, seed, BLOCK: tl.constexpr, GREEDY: tl.constexpr):
    """A token a row."""
    row = tl.program_id(0).to(tl.int64)
    tl.store(token_ptr + row, draw(logits_ptr, row, N, inverse_temperature, seed, BLOCK, GREEDY))


@triton.jit(do_not_specialize=["seed"])
def sample_next(logits_ptr, token_ptr, position_ptr, length_ptr, step_ptr, N, inverse_temperature, seed, SEED_STEP, BLOCK: tl.constexpr,
                GREEDY: tl.constexpr):
    """The same, and moves its sequence on by that token: what the next step reads is in memory, so that a graph of a step can be run again and again."""
    row = tl.program_id(0).to(tl.int64)
    step = tl.load(step_ptr + row)
    seed += step.to(tl.int64) * SEED_STEP
    tl.store(token_ptr + row, draw(logits_ptr, row, N, inverse_temperature, seed, BLOCK, GREEDY))
    tl.store(step_ptr + row, step + 1)
    tl.store(position_ptr + row, tl.load(position_ptr + row) + 1)
    tl.store(length_ptr + row, tl.load(length_ptr + row) + 1)
