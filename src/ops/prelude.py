# Composites of the vocabulary, written in the language itself.
#
# A row of the op table marked `prelude` is the function of the same name below. Names that start with an underscore
# are helpers. Random numbers follow Philox 4x32-10 and 4x64-10 (Salmon et al., SC'11) bit for bit as Triton draws
# them; sorting networks follow Batcher's bitonic sort (AFIPS 1968).
import triton
import triton.language as tl


# --- random numbers ---


@triton.jit
def philox_impl(c0, c1, c2, c3, k0, k1, n_rounds: tl.constexpr = 10):
    if c0.dtype == tl.uint32:
        WEYL_0: tl.constexpr = 0x9E3779B9
        WEYL_1: tl.constexpr = 0xBB67AE85
        MULTIPLIER_0: tl.constexpr = 0xD2511F53
        MULTIPLIER_1: tl.constexpr = 0xCD9E8D57
    else:
        tl.static_assert(c0.dtype == tl.uint64, "philox counters are uint32 or uint64")
        WEYL_0: tl.constexpr = 0x9E3779B97F4A7C15
        WEYL_1: tl.constexpr = 0xBB67AE8584CAA73B
        MULTIPLIER_0: tl.constexpr = 0xD2E7470EE14C6C93
        MULTIPLIER_1: tl.constexpr = 0xCA5A826395121157
    for _ in tl.static_range(n_rounds):
        high_0 = tl.umulhi(c0, MULTIPLIER_0)
        high_2 = tl.umulhi(c2, MULTIPLIER_1)
        low_0 = tl.mul(c0, MULTIPLIER_0, sanitize_overflow=False)
        low_2 = tl.mul(c2, MULTIPLIER_1, sanitize_overflow=False)
        c0 = high_2 ^ c1 ^ k0
        c1 = low_2
        c2 = high_0 ^ c3 ^ k1
        c3 = low_0
        k0 = tl.add(k0, WEYL_0, sanitize_overflow=False)
        k1 = tl.add(k1, WEYL_1, sanitize_overflow=False)
    return c0, c1, c2, c3


@triton.jit
def philox(seed, c0, c1, c2, c3, n_rounds: tl.constexpr = 10):
    seed = tl.to_tensor(seed)
    tl.static_assert(seed.dtype.is_int(), "the seed is an integer")
    seed = seed.to(tl.uint64)
    c0 = tl.to_tensor(c0)
    c1 = tl.to_tensor(c1)
    c2 = tl.to_tensor(c2)
    c3 = tl.to_tensor(c3)
    if c0.dtype.primitive_bitwidth == 32:
        word: tl.constexpr = tl.uint32
        k0 = (seed & 0xFFFFFFFF).to(tl.uint32)
        k1 = ((seed >> 32) & 0xFFFFFFFF).to(tl.uint32)
    else:
        tl.static_assert(c0.dtype.primitive_bitwidth == 64, "philox counters have 32 or 64 bits")
        word: tl.constexpr = tl.uint64
        k0 = seed
        k1 = tl.full((1,), 0, tl.uint64)
    return philox_impl(c0.to(word, bitcast=True), c1.to(word, bitcast=True), c2.to(word, bitcast=True),
                       c3.to(word, bitcast=True), k0, k1, n_rounds)


@triton.jit
def randint4x(seed, offset, n_rounds: tl.constexpr = 10):
    low = offset.to(tl.uint32)
    zero = low * 0
    if offset.dtype.primitive_bitwidth > 32:
        high = (offset >> 32).to(tl.uint32)
    else:
        high = zero
    return philox(seed, low, high, zero, zero, n_rounds)


@triton.jit
def randint(seed, offset, n_rounds: tl.constexpr = 10):
    first, _, _, _ = randint4x(seed, offset, n_rounds)
    return first


@triton.jit
def uint_to_uniform_float(x):
    # The scale is the largest for which the greatest integer stays below 1.0 after rounding to f32.
    if x.dtype == tl.uint32 or x.dtype == tl.int32:
        bits = x.to(tl.int32, bitcast=True)
        scale: tl.constexpr = 4.6566127342e-10
    else:
        tl.static_assert(x.dtype == tl.uint64 or x.dtype == tl.int64, "expected integers of 32 or 64 bits")
        bits = x.to(tl.int64, bitcast=True)
        scale: tl.constexpr = 1.0842020432385337e-19
    return tl.where(bits < 0, -bits - 1, bits) * scale


@triton.jit
def rand(seed, offset, n_rounds: tl.constexpr = 10):
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


@triton.jit
def rand4x(seed, offsets, n_rounds: tl.constexpr = 10):
    a, b, c, d = randint4x(seed, offsets, n_rounds)
    return uint_to_uniform_float(a), uint_to_uniform_float(b), uint_to_uniform_float(c), uint_to_uniform_float(d)


@triton.jit
def pair_uniform_to_normal(u1, u2):
    # Box-Muller; 0 has no logarithm.
    u1 = tl.maximum(1.0e-7, u1)
    angle = 6.283185307179586 * u2
    radius = tl.sqrt(-2.0 * tl.log(u1))
    return radius * tl.cos(angle), radius * tl.sin(angle)


@triton.jit
def randn(seed, offset, n_rounds: tl.constexpr = 10):
    a, b, _, _ = randint4x(seed, offset, n_rounds)
    first, _ = pair_uniform_to_normal(uint_to_uniform_float(a), uint_to_uniform_float(b))
    return first


@triton.jit
def randn4x(seed, offset, n_rounds: tl.constexpr = 10):
    a, b, c, d = rand4x(seed, offset, n_rounds)
    n1, n2 = pair_uniform_to_normal(a, b)
    n3, n4 = pair_uniform_to_normal(c, d)
    return n1, n2, n3, n4


# --- softmax ---


@triton.jit
def softmax(x, dim: tl.constexpr = None, keep_dims: tl.constexpr = False, ieee_rounding: tl.constexpr = False):
    axis: tl.constexpr = 0 if dim is None else dim
    e = tl.exp(x - tl.max(x, axis, keep_dims=keep_dims))
    return tl.fdiv(e, tl.sum(e, axis, keep_dims=keep_dims), ieee_rounding)


# --- sorting networks ---
#
# A network step compares elements `distance` apart. Rows of length n are seen as (rows, n / (2 distance), 2, distance),
# so the two sides of every comparator are the halves of one dimension of size two.


@triton.constexpr_function
def _log2_exact(n):
    bits = 0
    while n > 1:
        assert n % 2 == 0, "sizes of sorted dimensions are powers of two"
        n = n // 2
        bits += 1
    return bits


@triton.jit
def _halves(x, rows: tl.constexpr, blocks: tl.constexpr, distance: tl.constexpr):
    return tl.split(tl.permute(tl.reshape(x, [rows, blocks, 2, distance]), [0, 1, 3, 2]))


@triton.jit
def _joined(low, high, rows: tl.constexpr, blocks: tl.constexpr, distance: tl.constexpr):
    pairs = tl.permute(tl.join(low, high), [0, 1, 3, 2])
    return tl.reshape(pairs, [rows, 2 * blocks * distance])


# Puts each pair in order: ascending where `descending` is false.
@triton.jit
def _compare_exchange(x, descending, rows: tl.constexpr, blocks: tl.constexpr, distance: tl.constexpr):
    low, high = _halves(x, rows, blocks, distance)
    swap = (low > high) != descending
    return _joined(tl.where(swap, high, low), tl.where(swap, low, high), rows, blocks, distance)


# Sorts every run of 2**stage elements, each of which is bitonic. Runs alternate in direction unless `last`, when all
# take `descending`.
@triton.jit
def _merge_runs(x, rows: tl.constexpr, n: tl.constexpr, stage: tl.constexpr, last: tl.constexpr,
                descending: tl.constexpr):
    for step in tl.static_range(stage):
        distance: tl.constexpr = 2**(stage - 1 - step)
        blocks: tl.constexpr = n // (2 * distance)
        if last:
            direction = tl.full([1, 1, 1], descending, tl.int1)
        else:
            run = (tl.arange(0, blocks) * (2 * distance)) >> stage
            direction = (run & 1).to(tl.int1)[None, :, None]
        x = _compare_exchange(x, direction, rows, blocks, distance)
    return x


@triton.jit
def bitonic_merge(x, dim: tl.constexpr = None, descending: tl.constexpr = False):
    axis: tl.constexpr = len(x.shape) - 1 if dim is None else dim
    tl.static_assert(axis == len(x.shape) - 1, "only the last dimension can be merged")
    n: tl.constexpr = x.shape[axis]
    rows: tl.constexpr = x.numel // n
    stage: tl.constexpr = _log2_exact(n)
    return tl.reshape(_merge_runs(tl.reshape(x, [rows, n]), rows, n, stage, True, descending), x.shape)


@triton.jit
def sort(x, dim: tl.constexpr = None, descending: tl.constexpr = False):
    axis: tl.constexpr = len(x.shape) - 1 if dim is None else dim
    tl.static_assert(axis == len(x.shape) - 1, "only the last dimension can be sorted")
    n: tl.constexpr = x.shape[axis]
    rows: tl.constexpr = x.numel // n
    stages: tl.constexpr = _log2_exact(n)
    y = tl.reshape(x, [rows, n])
    for stage in tl.static_range(1, stages + 1):
        y = _merge_runs(y, rows, n, stage, stage == stages, descending)
    return tl.reshape(y, x.shape)


# Runs of k are sorted in alternating directions; then the better of each pair of neighbouring runs survives,
# element by element, which is bitonic and holds the k best of both. The survivors have the result type of `tl.max`.
@triton.jit
def topk(x, k: tl.constexpr, dim: tl.constexpr = None, descending: tl.constexpr = True):
    axis: tl.constexpr = len(x.shape) - 1 if dim is None else dim
    tl.static_assert(axis == len(x.shape) - 1, "only the last dimension can be searched")
    n: tl.constexpr = x.shape[axis]
    tl.static_assert(k > 0, "topk: k must be greater than 0")
    tl.static_assert(k & (k - 1) == 0, "topk: k must be a power of two")
    tl.static_assert(k <= n, "topk: k must not exceed the size of the dimension")
    rows: tl.constexpr = x.numel // n
    stages: tl.constexpr = _log2_exact(n)
    kept: tl.constexpr = _log2_exact(k)
    y = tl.reshape(x, [rows, n])
    for stage in tl.static_range(1, kept + 1):
        y = _merge_runs(y, rows, n, stage, stage == stages, descending)
    for fold in tl.static_range(kept, stages):
        left: tl.constexpr = 2**(stages - 1 - fold + kept)
        pairs = tl.reshape(y, [rows, left // k, 2, k])
        if descending:
            best = tl.max(pairs, 2)
        else:
            best = tl.min(pairs, 2)
        y = _merge_runs(tl.reshape(best, [rows, left]), rows, left, kept, fold == stages - 1, descending)
    return tl.reshape(y, x.shape[:-1] + [k])


@triton.jit
def flip(x, dim: tl.constexpr = None):
    rank: tl.constexpr = len(x.shape)
    asked: tl.constexpr = rank - 1 if dim is None else dim
    tl.static_assert(-rank <= asked and asked < rank, "flip: no such dimension")
    axis: tl.constexpr = asked + rank if asked < 0 else asked
    n: tl.constexpr = x.shape[axis]
    at = tl.reshape(-tl.arange(0, n) + (n - 1), [1] * axis + [n] + [1] * (rank - 1 - axis))
    return tl.gather(x, tl.broadcast_to(at, x.shape), axis)


# --- how reductions combine two values, by the names under which programs pass them to `tl.reduce` ---


# The first value where `first` says so or, if ties are broken, where it is equal and its index lower; else the second.
@triton.jit
def _first_or_second(first, value1, index1, value2, index2, tie_break_left: tl.constexpr):
    if tie_break_left:
        first = first | ((value1 == value2) & (index1 < index2))
    return tl.where(first, value1, value2), tl.where(first, index1, index2)


@triton.jit
def _argmax_combine(value1, index1, value2, index2, tie_break_left: tl.constexpr):
    return _first_or_second(value1 > value2, value1, index1, value2, index2, tie_break_left)


@triton.jit
def _argmax_combine_tie_break_left(value1, index1, value2, index2):
    return _argmax_combine(value1, index1, value2, index2, True)


@triton.jit
def _argmax_combine_tie_break_fast(value1, index1, value2, index2):
    return _argmax_combine(value1, index1, value2, index2, False)


@triton.jit
def _argmin_combine(value1, index1, value2, index2, tie_break_left: tl.constexpr):
    return _first_or_second(value1 < value2, value1, index1, value2, index2, tie_break_left)


@triton.jit
def _argmin_combine_tie_break_left(value1, index1, value2, index2):
    return _argmin_combine(value1, index1, value2, index2, True)


@triton.jit
def _argmin_combine_tie_break_fast(value1, index1, value2, index2):
    return _argmin_combine(value1, index1, value2, index2, False)


@triton.jit
def _elementwise_max(a, b):
    return tl.maximum(a, b)


@triton.jit
def _elementwise_min(a, b):
    return tl.minimum(a, b)


@triton.jit
def _sum_combine(a, b):
    return a + b


@triton.jit
def _prod_combine(a, b):
    return a * b


@triton.jit
def _xor_combine(a, b):
    return a ^ b


@triton.jit
def _or_combine(x, y):
    return x | y


# --- index arithmetic ---


# Row-major (i, j) of a size_i x size_j grid, taken column by column inside groups of size_g rows.
@triton.jit
def swizzle2d(i, j, size_i, size_j, size_g):
    linear = i * size_j + j
    group = linear // (size_g * size_j)
    first = group * size_g
    height = tl.minimum(size_i - first, size_g)
    inside = linear % (size_g * size_j)
    return first + inside % height, inside // height


# --- memory that other programs read and write meanwhile ---
#
# Reads are read-modify-writes that change nothing, so they have one order with the atomics that set what is read.


@triton.jit
def _atomic_words(pointer):
    """The same memory as integers."""
    element: tl.constexpr = pointer.dtype.element_ty
    tl.static_assert(element.is_int() or element.is_floating(), "atomic_load and atomic_store take numbers")
    bits: tl.constexpr = element.primitive_bitwidth
    word: tl.constexpr = tl.int8 if bits <= 8 else tl.get_int_dtype(bits, True)
    return pointer.to(tl.pointer_type(word), bitcast=True)


@triton.jit
def atomic_load(pointer, mask=None, sem: tl.constexpr = None, scope: tl.constexpr = None):
    order: tl.constexpr = "acquire" if sem is None else sem
    tl.static_assert(order == "acquire" or order == "relaxed", "`sem` of atomic_load is `acquire` or `relaxed`")
    word = tl.atomic_or(_atomic_words(pointer), 0, mask=mask, sem=order, scope=scope)
    if pointer.dtype.element_ty == tl.int1:
        return word != 0
    else:
        return word.to(pointer.dtype.element_ty, bitcast=True)


@triton.jit
def atomic_store(pointer, val, mask=None, sem: tl.constexpr = None, scope: tl.constexpr = None):
    order: tl.constexpr = "release" if sem is None else sem
    tl.static_assert(order == "release" or order == "relaxed", "`sem` of atomic_store is `release` or `relaxed`")
    words = _atomic_words(pointer)
    element: tl.constexpr = pointer.dtype.element_ty
    value = tl.to_tensor(val).to(element).to(words.dtype.element_ty, bitcast=element != tl.int1)
    tl.atomic_xchg(words, value, mask=mask, sem=order, scope=scope)


@triton.jit
def _all(truth):
    return tl.min(truth.to(tl.int32)) == 1 if truth.type.is_block() else truth


# Compares and swaps `expected` for itself: 16 bits, too, and a scalar's or each element's.
@triton.jit
def atomic_poll(pointer, expected, sem: tl.constexpr = None, scope: tl.constexpr = None, timeout_ns=None):
    order: tl.constexpr = "acquire" if sem is None else sem
    tl.static_assert(order == "acquire" or order == "relaxed", "`sem` of atomic_poll is `acquire` or `relaxed`")
    wanted = tl.to_tensor(expected).to(pointer.dtype.element_ty)
    matched = tl.atomic_cas(pointer, wanted, wanted, sem=order, scope=scope) == wanted
    if timeout_ns is None:
        while not _all(matched):
            matched |= tl.atomic_cas(pointer, wanted, wanted, sem=order, scope=scope) == wanted
    else:
        start = tl.extra.cuda.globaltimer()
        while not _all(matched) and tl.extra.cuda.globaltimer() - start < timeout_ns:
            matched |= tl.atomic_cas(pointer, wanted, wanted, sem=order, scope=scope) == wanted
    return matched
