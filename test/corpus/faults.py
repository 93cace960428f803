"""Faults planted in this project's kernels, for `check` to find, each with the line it must name.

A launch is (kernel, grid, arguments as the command takes them); it is clean as it stands. A fault is one
replacement inside one function of that kernel's folder. It must be reported with its code at a line of
the statement that holds `at` (by default the replacement itself; `function:text` for another function)
after the replacement.
"""
from collections import namedtuple

Launch = namedtuple("Launch", "kernel grid arguments")
Fault = namedtuple("Fault", "launch function find replace code at", defaults=(None,))


def launch(kernel, grid, **arguments):
    return Launch(kernel, grid, arguments)


def rowMajor(*names, stride):
    return {name: stride for name in names}


ADD = dict(x_ptr="randn(1000,f32)", y_ptr="randn(1000,f32)", out_ptr="empty(1000,f32)", n=1000)
SOFTMAX = dict(x_ptr="randn(5x781,f32)", y_ptr="empty(5x781,f32)", x_stride=781, y_stride=781, N=781)
NORM = dict(x_ptr="randn(4x100,f32)", w_ptr="randn(100,f32)", b_ptr="randn(100,f32)", y_ptr="empty(4x100,f32)", mean_ptr="empty(4,f32)",
            rstd_ptr="empty(4,f32)", x_stride=100, y_stride=100, N=100, epsilon=1e-5)
NORM_BACKWARD = dict(x_ptr="randn(12x100,f32)", w_ptr="randn(100,f32)", dy_ptr="randn(12x100,f32)", mean_ptr="randn(12,f32)",
                     rstd_ptr="rand(12,f32)", dx_ptr="empty(12x100,f32)", N=100, BLOCK=128)
MATMUL = dict(a_ptr="randn(70x40,f16)", b_ptr="randn(40x100,f16)", M=70, N=100, K=40, stride_am=40, stride_ak=1, stride_bk=100, stride_bn=1,
              BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, PRECISION="'ieee'")
HEADS = dict(H=2, GROUP=1, M=40, N=40, scale=0.17, D=32, BLOCK_D=32, BLOCK_M=32, BLOCK_N=32, PRECISION="'ieee'")
# q, k, v and out are [1, heads, rows, 32].
FLASH = dict(q_ptr="randn(1x2x50x32,f32)", bias_ptr=None, out_ptr="empty(1x2x50x32,f32)", lse_ptr="empty(1x2x50,f32)",
             stride_qb=3200, stride_qh=1600, stride_qm=32, stride_kn=32, stride_vn=32, stride_bias_b=0, stride_bias_h=0, stride_bias_m=0,
             stride_ob=3200, stride_oh=1600, stride_om=32, H=2, M=50, scale=0.17, p=0.0, seed=1, D=32, BLOCK_D=32, BLOCK_M=32, BLOCK_N=32,
             DROPOUT=False, PRECISION="'ieee'")
FLASH_BACKWARD = dict(q_ptr="randn(1x2x50x32,f32)", k_ptr="randn(1x2x50x32,f32)", v_ptr="randn(1x2x50x32,f32)", bias_ptr=None,
                      do_ptr="randn(1x2x50x32,f32)", lse_ptr="rand(1x2x50,f32)", delta_ptr="randn(1x2x50,f32)",
                      stride_bias_b=0, stride_bias_h=0, stride_bias_m=0, H=2, GROUP=1, M=50, N=50, scale=0.17, p=0.0, seed=1,
                      D=32, BLOCK_D=32, BLOCK_M=32, BLOCK_N=32, CAUSAL=True, DROPOUT=False, PRECISION="'ieee'")
PAGED = dict(k_cache_ptr="randn(5x16x2x32,f32)", v_cache_ptr="randn(5x16x2x32,f32)", table_ptr="[[0, 2], [3, 4]]:i32", lengths_ptr="[20, 32]:i32",
             stride_page=1024, stride_table=2, PAGE=16)
DECODE = dict(**PAGED, q_ptr="randn(2x4x32,f32)", stride_q=128, KV=2, GROUP=2, scale=0.17, D=32, BLOCK_D=32, BLOCK_G=16, BLOCK_N=64, PRECISION="'ieee'")

LAUNCHES = dict(
    add=launch("vector_add/kernel.py:add", (2,), **ADD, BLOCK=512),
    addGridStride=launch("vector_add/kernel.py:add_grid_stride", (2,), **ADD, BLOCK=256),
    gelu=launch("gelu/kernel.py:gelu_tanh", (4,), x_ptr="randn(1000,f32)", y_ptr="empty(1000,f32)", n=1000, BLOCK=256),
    geluBackward=launch("gelu/kernel.py:gelu_erf_backward", (4,), x_ptr="randn(1000,f32)", dy_ptr="randn(1000,f32)", dx_ptr="empty(1000,f32)",
                        n=1000, BLOCK=256),
    softmax=launch("softmax/kernel.py:softmax_row", (5,), **SOFTMAX, BLOCK=1024),
    softmaxRows=launch("softmax/kernel.py:softmax_rows", (2,), **SOFTMAX, M=5, BLOCK=1024, STAGES=1),
    softmaxOnline=launch("softmax/kernel.py:softmax_online", (5,), **SOFTMAX, BLOCK=256),
    softmaxShort=launch("softmax/kernel.py:softmax_online", (2,), x_ptr="randn(2x100,f32)", y_ptr="empty(2x100,f32)", x_stride=100, y_stride=100,
                        N=100, BLOCK=256),
    softmaxThreePass=launch("softmax/three_pass.py:softmax_three_pass", (5,), **SOFTMAX, BLOCK=256),
    subtractRow=launch("softmax/unfused.py:subtract_row", (5, 4), x_ptr="randn(5x781,f32)", value_ptr="randn(5,f32)", out_ptr="empty(5x781,f32)",
                       x_stride=781, N=781, BLOCK=256),
    layerNorm=launch("layer_norm/kernel.py:layer_norm_row", (4,), **NORM, BLOCK=128),
    layerNormWelford=launch("layer_norm/kernel.py:layer_norm_welford", (4,), **NORM, BLOCK=64),
    layerNormLocked=launch("layer_norm/backward.py:backward_locked", (12,), **NORM_BACKWARD, dw_part_ptr="empty(4x100,f32)",
                           db_part_ptr="empty(4x100,f32)", lock_ptr="zeros(8,i32)", GROUPS=4),
    layerNormLockFree=launch("layer_norm/backward.py:backward_lock_free", (3,), **{**NORM_BACKWARD, **dict(
        x_ptr="randn(10x100,f32)", dy_ptr="randn(10x100,f32)", dx_ptr="empty(10x100,f32)")},
        dw_part_ptr="empty(3x100,f32)", db_part_ptr="empty(3x100,f32)", M=10, ROWS=4),
    sumPartials=launch("layer_norm/backward.py:sum_partials", (1,), dw_part_ptr="randn(3x100,f32)", db_part_ptr="randn(3x100,f32)",
                       dw_ptr="empty(100,f32)", db_ptr="empty(100,f32)", PARTS=3, N=100, BLOCK_M=4, BLOCK_N=128),
    rmsNorm=launch("rms_norm/kernel.py:rms_norm_row", (4,), x_ptr="randn(4x100,f32)", residual_ptr="randn(4x100,f32)", w_ptr="randn(100,f32)",
                   y_ptr="empty(4x100,f32)", sum_ptr="empty(4x100,f32)", rstd_ptr="empty(4,f32)", N=100, epsilon=1e-6, BLOCK=128),
    dropout=launch("dropout/kernel.py:dropout_seeded", (4,), x_ptr="randn(1000,f32)", y_ptr="empty(1000,f32)", n=1000, p=0.5, seed=7, BLOCK=256),
    dropoutStored=launch("dropout/kernel.py:dropout_stored", (4,), x_ptr="randn(1000,f32)", mask_ptr="ones(1000,i8)", y_ptr="empty(1000,f32)",
                         n=1000, p=0.5, BLOCK=256),
    matmul=launch("matmul/kernel.py:matmul", (4,), **MATMUL, bias_ptr="randn(100,f16)", c_ptr="empty(70x100,f16)", stride_cm=100, stride_cn=1,
                  GROUP_M=8, ACTIVATION="'relu'"),
    matmulSplitK=launch("matmul/kernel.py:matmul_split_k", (4, 2), **MATMUL, partial_ptr="empty(2x70x100,f32)", K_PER_SPLIT=32),
    sumSplits=launch("matmul/kernel.py:sum_splits", (70, 1), partial_ptr="randn(2x70x100,f32)", bias_ptr=None, c_ptr="empty(70x100,f16)", M=70,
                     N=100, SPLITS=2, stride_cm=100, stride_cn=1, BLOCK=128, ACTIVATION="'none'"),
    scores=launch("attention_standard/kernel.py:scores", (2, 2, 2), **HEADS, q_ptr="randn(2x40x32,f32)", k_ptr="randn(2x40x32,f32)",
                  s_ptr="empty(2x40x40,f32)"),
    applyMask=launch("attention_standard/kernel.py:apply_mask", (40, 1, 2), s_ptr="randn(2x40x40,f32)", bias_ptr=None, H=2, M=40, N=40,
                     stride_bias_b=0, stride_bias_h=0, stride_bias_m=0, BLOCK=64, CAUSAL=True),
    attentionSoftmax=launch("attention_standard/kernel.py:softmax", (80,), s_ptr="randn(2x40x40,f32)", p_ptr="empty(2x40x40,f32)",
                            lse_ptr="empty(2x40,f32)", N=40, BLOCK=64),
    weightedValues=launch("attention_standard/kernel.py:weighted_values", (2, 2), **{k: v for k, v in HEADS.items() if k != "scale"},
                          p_ptr="rand(2x40x40,f32)", v_ptr="randn(2x40x32,f32)", out_ptr="empty(2x40x32,f32)"),
    flash=launch("flash_attention/kernel.py:flash_forward", (2, 2), **FLASH, k_ptr="randn(1x2x50x32,f32)", v_ptr="randn(1x2x50x32,f32)",
                 stride_kb=3200, stride_kh=1600, stride_vb=3200, stride_vh=1600, GROUP=1, N=50, CAUSAL=True),
    # Two query heads on one key head, and more queries than keys, so that some see nothing.
    flashGrouped=launch("flash_attention/kernel.py:flash_forward", (2, 2), **FLASH, k_ptr="randn(1x1x20x32,f32)", v_ptr="randn(1x1x20x32,f32)",
                        stride_kb=640, stride_kh=640, stride_vb=640, stride_vh=640, GROUP=2, N=20, CAUSAL=True),
    flashDkDv=launch("flash_attention/backward.py:backward_dk_dv", (2, 2), **FLASH_BACKWARD, dk_ptr="empty(1x2x50x32,f32)",
                     dv_ptr="empty(1x2x50x32,f32)"),
    flashDq=launch("flash_attention/backward.py:backward_dq", (2, 2), **FLASH_BACKWARD, dq_ptr="empty(1x2x50x32,f32)"),
    decode=launch("paged_attention/kernel.py:decode", (2, 2), **DECODE, out_ptr="empty(2x4x32,f32)"),
    decodeSplit=launch("paged_attention/kernel.py:decode_split", (2, 2, 2), **{**DECODE, "BLOCK_N": 16}, part_ptr="empty(2x4x2x32,f32)",
                       m_ptr="empty(2x4x2,f32)", l_ptr="empty(2x4x2,f32)", SPLIT_TOKENS=16),
    append=launch("paged_attention/kernel.py:append", (2, 1), **PAGED, k_ptr="randn(2x2x32,f32)", v_ptr="randn(2x2x32,f32)", stride_k=64, stride_v=64,
                  ROW=64, BLOCK=64),
    storeTokens=launch("paged_attention/store.py:store_tokens", (3, 2), k_ptr="randn(3x2x24,f32)", v_ptr="randn(3x2x24,f32)",
                       k_cache_ptr="empty(2x4x2x24,i8)", v_cache_ptr="empty(2x4x2x24,i8)", slots_ptr="[5, -1, 7]:i32", k_scale_ptr="empty(2x4x2,f32)",
                       v_scale_ptr="empty(2x4x2,f32)", KV=2, stride_page=192, stride_k=48, stride_v=48, PAGE=4, D=24, BLOCK_D=32, LARGEST=127.0),
    prefill=launch("paged_attention/prefill.py:prefill", (2, 2, 2), **PAGED, q_ptr="randn(25x4x32,f32)", cu_q_ptr="[0, 20, 25]:i32",
                   out_ptr="empty(25x4x32,f32)", k_scale_ptr=None, v_scale_ptr=None, stride_q=128, KV=2, GROUP=2, scale=0.17, D=32, BLOCK_D=32, BLOCK_M=32,
                   BLOCK_N=16, PRECISION="'ieee'"),
    # Two sequences one after another, the first of them shorter than the grid.
    flashLengths=launch("flash_attention/kernel.py:flash_forward", (2, 4), **{**FLASH, **dict(
        q_ptr="randn(60x2x32,f32)", out_ptr="empty(60x2x32,f32)", lse_ptr="empty(60x2,f32)", stride_qh=32, stride_qm=64, stride_kn=64, stride_vn=64,
        stride_oh=32, stride_om=64)}, k_ptr="randn(70x2x32,f32)", v_ptr="randn(70x2x32,f32)", cu_q_ptr="[0, 15, 60]:i32", cu_k_ptr="[0, 20, 70]:i32",
        stride_kb=0, stride_kh=32, stride_vb=0, stride_vh=32, GROUP=1, N=0, CAUSAL=True, WINDOW=20),
    glu=launch("glu/kernel.py:glu_backward", (3, 2), gate_ptr="randn(3x100,f32)", up_ptr="randn(3x100,f32)", dy_ptr="randn(3x100,f32)",
               dgate_ptr="empty(3x100,f32)", dup_ptr="empty(3x100,f32)", **rowMajor("stride_gate", "stride_up", "stride_dy", "stride_dgate",
                                                                                   "stride_dup", stride=100), N=100, GATE="'silu'", BLOCK=64),
    rope=launch("rope/kernel.py:rope", (6, 2), x_ptr="randn(2x3x3x12,f32)", y_ptr="empty(2x3x3x12,f32)", cos_ptr="randn(3x4,f32)", sin_ptr="randn(3x4,f32)",
                position_ptr=None, S=3, H=3, stride_xb=108, stride_xs=36, stride_xh=12, stride_yb=108, stride_ys=36, stride_yh=12,
                D=12, ROTARY=8, BLOCK_P=4, BLOCK_H=2, INTERLEAVED=False, BACKWARD=False),
    crossEntropy=launch("cross_entropy/kernel.py:cross_entropy_fused", (3,), x_ptr="randn(3x100,f32)", target_ptr="[5, -100, 1000]:i64",
                        loss_ptr="empty(3,f32)", dx_ptr="empty(3x100,f32)", stride_x=100, stride_dx=100, N=100, ignore_index=-100, smoothing=0.1,
                        scale=1.0, first_row=0, SMOOTH=True, BLOCK=64),
    streamK=launch("matmul/stream_k.py:matmul_stream_k", (3,), **MATMUL, bias_ptr=None, c_ptr="empty(70x100,f16)", partial_ptr="empty(3x2x64x64,f32)",
                   WHOLE=3, RUN=1, stride_cm=100, stride_cn=1, GROUP_M=8, EVEN_K=False, ACTIVATION="'none'"),
    groupedSearch=launch("matmul_grouped/kernel.py:grouped_search", (5, 1), a_ptr="randn(40x24,f32)", b_ptr="randn(3x24x20,f32)", c_ptr="empty(40x20,f32)",
                         offsets_ptr="[0, 17, 17, 40]:i32", G=3, N=20, K=24, stride_am=24, stride_bg=480, stride_bk=20, stride_bn=1, stride_cm=20,
                         BLOCK_G=4, BLOCK_M=16, BLOCK_N=32, BLOCK_K=16, EVEN_K=False, PRECISION="'ieee'"),
    matvec=launch("matvec/kernel.py:matvec_rows", (3,), w_ptr="randn(10x100,f32)", x_ptr="randn(100,f32)", scale_ptr=None, bias_ptr="randn(10,f32)",
                  y_ptr="empty(10,f32)", N=10, K=100, stride_w=100, BLOCK_N=4, BLOCK_K=64, EVEN_K=False),
    cumsum=launch("scan/kernel.py:cumsum_rows", (2,), x_ptr="randn(2x100,f32)", y_ptr="empty(2x100,f32)", stride_x=100, N=100, BLOCK=64),
    lookBack=launch("scan/kernel.py:look_back", (4,), x_ptr="randn(200,f32)", y_ptr="empty(200,f32)", ticket_ptr="zeros(1,i32)", state_ptr="zeros(4,i64)",
                    n=200, BLOCK=64),
    histogram=launch("scan/kernel.py:histogram", (2,), x_ptr="iota(200,i32)", counts_ptr="zeros(10,i32)", n=200, BINS=10, BLOCK_BINS=16, BLOCK=64),
    topK=launch("sort/kernel.py:top_k_rows", (2,), x_ptr="randn(2x100,f32)", y_ptr="empty(2x5,f32)", index_ptr="empty(2x5,i32)", stride_x=100, N=100, K=5,
                BLOCK_K=8, BLOCK=32),
    moePlace=launch("moe/kernel.py:place", (2,), expert_ptr="[0, 1, 0, 2, 1, 0, 2, 2, 0, 1]:i32", starts_ptr="[[0, 4, 7], [3, 6, 8]]:i32",
                    row_ptr="empty(10,i32)", source_ptr="empty(10,i32)", N=10, E=3, BLOCK=8, BLOCK_E=4),
    moeStart=launch("moe/kernel.py:start", (1,), counts_ptr="[[3, 2, 1], [1, 1, 2]]:i32", offsets_ptr="empty(4,i32)", BLOCKS=2, E=3, BLOCK_B=4, BLOCK_E=4),
    unscale=launch("mixed_precision/kernel.py:unscale", (3,), grad_ptr="randn(100,f32)", out_ptr="empty(100,f32)", scale_ptr="[2.0]:f32", overflow_ptr="zeros(1,f32)", n=100, BLOCK=64),
    fp8Scales=launch("mixed_precision/kernel.py:update_fp8_scales", (2,), history_ptr="rand(5x7,f32)", amax_ptr="rand(5,f32)", scale_ptr="ones(5,f32)",
                     inverse_ptr="empty(5,f32)", T=5, LENGTH=7, LARGEST=448.0, margin=0.0, BLOCK_T=4, BLOCK_H=8),
)

FAULTS = [
    # Masks forgotten or off by one.
    Fault("add", "add", "x = tl.load(x_ptr + offsets, mask=mask)", "x = tl.load(x_ptr + offsets)", "OutOfBounds"),
    Fault("add", "add", "tl.store(out_ptr + offsets, x + y, mask=mask)", "tl.store(out_ptr + offsets, x + y)", "OutOfBounds"),
    Fault("add", "add", "mask = offsets < n", "mask = offsets <= n", "OutOfBounds", "x = tl.load"),
    Fault("addGridStride", "add_grid_stride", "tl.store(out_ptr + offsets, x + y, mask=mask)", "tl.store(out_ptr + offsets, x + y)", "OutOfBounds"),
    Fault("gelu", "gelu_tanh", "tl.arange(0, BLOCK)", "tl.arange(0, BLOCK) - 1", "OutOfBounds", "x = tl.load"),
    Fault("geluBackward", "gelu_erf_backward", "dy = tl.load(dy_ptr + offsets, mask=mask)", "dy = tl.load(dy_ptr + offsets + 1, mask=mask)", "OutOfBounds"),
    Fault("softmax", "softmax_row", "columns, mask=mask, other=-float(\"inf\"))", "columns)", "OutOfBounds"),
    Fault("softmax", "softmax_row", "y_ptr + row * y_stride", "y_ptr + row * (y_stride + 1)", "OutOfBounds"),
    Fault("softmaxRows", "softmax_rows", "tl.range(tl.program_id(0), M,", "tl.range(tl.program_id(0), M + 1,", "OutOfBounds", "x = tl.load"),
    Fault("softmaxOnline", "softmax_online", "mask = start + columns < N", "mask = start + columns < N + 1", "OutOfBounds", "mask=mask).to"),
    Fault("softmaxThreePass", "softmax_three_pass", "mask = start + columns < N", "mask = start + columns < N + 2", "OutOfBounds", "mask=mask).to"),
    Fault("subtractRow", "subtract_row", "tl.load(value_ptr + row)", "tl.load(value_ptr + row + 1)", "OutOfBounds"),
    Fault("subtractRow", "subtract_row", "mask = columns < N", "mask = columns < BLOCK * 4", "OutOfBounds", "x = tl.load"),
    Fault("layerNorm", "layer_norm_row", "w = tl.load(w_ptr + columns, mask=mask)", "w = tl.load(w_ptr + columns)", "OutOfBounds"),
    Fault("layerNorm", "layer_norm_row", "tl.store(mean_ptr + row, mean)", "tl.store(mean_ptr + row + 1, mean)", "OutOfBounds"),
    Fault("layerNormWelford", "layer_norm_welford", "b = tl.load(b_ptr + start + columns, mask=mask)", "b = tl.load(b_ptr + start + columns)", "OutOfBounds"),
    Fault("layerNormLocked", "row_gradient", "dx.to(dx_ptr.dtype.element_ty), mask=mask)", "dx.to(dx_ptr.dtype.element_ty))", "OutOfBounds"),
    Fault("layerNormLocked", "backward_locked", "dw_part_ptr + group * N", "dw_part_ptr + row * N", "OutOfBounds", "dw += tl.load"),
    Fault("layerNormLockFree", "backward_lock_free", "min(M, (program + 1) * ROWS)", "(program + 1) * ROWS", "OutOfBounds", "row_gradient:x = tl.load"),
    Fault("sumPartials", "sum_partials", "(rows[:, None] < PARTS) & (columns[None, :] < N)", "columns[None, :] < N", "OutOfBounds", "dw += tl.load"),
    Fault("rmsNorm", "rms_norm_row", "(x * rstd * w).to(y_ptr.dtype.element_ty), mask=mask)", "(x * rstd * w).to(y_ptr.dtype.element_ty))", "OutOfBounds"),
    Fault("dropout", "dropout_seeded", "inside = offsets < n", "inside = offsets < n + 3", "OutOfBounds", "x = tl.load"),
    Fault("dropoutStored", "dropout_stored", "keep = tl.load(mask_ptr + offsets, mask=inside, other=0)", "keep = tl.load(mask_ptr + offsets)", "OutOfBounds"),
    Fault("matmul", "matmul", "(m % M)", "m", "OutOfBounds", "a_tile = tl.load"),
    Fault("matmul", "matmul", "mask=k[None, :] < left", "mask=k[None, :] < BLOCK_K", "OutOfBounds"),
    Fault("matmul", "matmul", "tl.load(bias_ptr + n, mask=n < N, other=0.0)", "tl.load(bias_ptr + n)", "OutOfBounds"),
    Fault("matmul", "matmul", "mask=(m[:, None] < M) & (n[None, :] < N))", "mask=m[:, None] < M)", "OutOfBounds"),
    Fault("matmulSplitK", "matmul_split_k", "end = min(K, (split + 1) * K_PER_SPLIT)", "end = (split + 1) * K_PER_SPLIT", "OutOfBounds", "b_tile = tl.load"),
    Fault("sumSplits", "sum_splits", "range(SPLITS)", "range(SPLITS + 1)", "OutOfBounds", "acc += tl.load(partial_ptr"),
    Fault("scores", "scores", "mask=(rows[:, None] < M) & (d[None, :] < D), other=0.0)", "mask=d[None, :] < D, other=0.0)", "OutOfBounds"),
    Fault("weightedValues", "weighted_values", "mask=(columns[:, None] < N) & (d[None, :] < D), other=0.0)", "mask=d[None, :] < D, other=0.0)", "OutOfBounds"),
    Fault("flash", "load_rows", "inside = rows[:, None] < COUNT", "inside = rows[:, None] <= COUNT", "OutOfBounds", "return tl.load"),
    Fault("flash", "store_rows", "(rows[:, None] < COUNT) & (d[None, :] < D)", "d[None, :] < D", "OutOfBounds", "tl.store"),
    Fault("flash", "flash_forward", "lse, mask=rows < M)", "lse, mask=rows < M + 1)", "OutOfBounds"),
    Fault("flashGrouped", "flash_forward", "k_base = k_ptr + b * stride_kb + (h // GROUP) * stride_kh", "k_base = k_ptr + b * stride_kb + h * stride_kh",
          "OutOfBounds", "load_rows:return tl.load"),
    Fault("flashDq", "backward_dq", "delta = tl.load(delta_ptr + rows_before + rows * stride_lse, mask=rows < M, other=0.0)",
          "delta = tl.load(delta_ptr + rows_before + rows * stride_lse)", "OutOfBounds"),
    Fault("decode", "take_tokens", "tl.load(table_row + tokens // PAGE, mask=inside, other=0)", "tl.load(table_row + tokens // PAGE)", "OutOfBounds"),
    Fault("decode", "decode", "length = tl.load(lengths_ptr + sequence)", "length = tl.load(lengths_ptr + sequence + 1)", "OutOfBounds"),
    Fault("decodeSplit", "decode_split", "tl.store(m_ptr + slot, m, mask=members < GROUP)", "tl.store(m_ptr + slot, m)", "OutOfBounds"),
    Fault("append", "append", "last = tl.load(lengths_ptr + sequence) - 1", "last = tl.load(lengths_ptr + sequence)", "OutOfBounds", "page = tl.load"),
    Fault("storeTokens", "store_tokens", "if slot < 0:", "if slot < -1:", "OutOfBounds", "store_row:tl.store(scale_ptr"),
    Fault("prefill", "prefill", "(query[:, None] < queries) & (d[None, :] < D)", "d[None, :] < D", "OutOfBounds", "q = tl.load(q_ptr"),
    Fault("flashLengths", "flash_forward", "(tl.load(cu_k_ptr + b + 1) - first_k)", "tl.load(cu_k_ptr + b + 1)", "OutOfBounds", "load_rows:return tl.load"),
    Fault("glu", "glu_backward", "(dy * f).to(dup_ptr.dtype.element_ty), mask=mask)", "(dy * f).to(dup_ptr.dtype.element_ty))", "OutOfBounds"),
    Fault("rope", "rope", "present = heads[:, None] < H", "present = heads[:, None] <= H", "OutOfBounds", "first = tl.load"),
    Fault("crossEntropy", "loss_of", "mask=inside, other=float(\"nan\")", "", "OutOfBounds", "loss = lse - tl.load"),
    Fault("groupedSearch", "grouped_search", "if group >= G:\n        return\n", "pass\n", "OutOfBounds", "group_tile:a_tile = tl.load(a, mask"),
    Fault("groupedSearch", "group_tile", "tl.minimum(m, last - 1)", "m", "OutOfBounds", "a_tile = tl.load(a, mask"),
    Fault("matvec", "matvec_rows", "(n % N)", "n", "OutOfBounds", "weights = tl.load(w + start, mask"),
    Fault("topK", "top_k_rows", "mask = places < K", "mask = places < BLOCK_K", "OutOfBounds", "tl.store(y_ptr"),
    Fault("histogram", "histogram", "mask=(bins < BINS) & (counts > 0)", "mask=bins >= 0", "OutOfBounds", "tl.atomic_add"),
    Fault("fp8Scales", "update_fp8_scales", "mask=inside & (steps[None, :] > 0)", "mask=inside", "OutOfBounds", "older = tl.load"),
    # Memory that nobody has written.
    Fault("add", "add", "y = tl.load(y_ptr + offsets, mask=mask)", "y = tl.load(out_ptr + offsets, mask=mask)", "UninitialisedRead"),
    Fault("rmsNorm", "rms_norm_row", "x += tl.load(residual_ptr + row * N", "x += tl.load(sum_ptr + row * N", "UninitialisedRead"),
    # Programs that get in each other's way.
    Fault("add", "add", "tl.program_id(0) * BLOCK", "tl.program_id(0) * (BLOCK - 1)", "DataRace", "tl.store"),
    Fault("addGridStride", "add_grid_stride", "step = tl.num_programs(0) * BLOCK", "step = BLOCK", "DataRace", "tl.store"),
    Fault("softmax", "softmax_row", "y_ptr + row * y_stride", "y_ptr + row * (y_stride - 1)", "DataRace"),
    Fault("layerNorm", "layer_norm_row", "tl.store(rstd_ptr + row, rstd)", "tl.store(rstd_ptr, rstd)", "DataRace"),
    Fault("layerNormLockFree", "backward_lock_free", "range(program * ROWS,", "range(program * (ROWS - 1),", "DataRace", "row_gradient:tl.store(dx_ptr"),
    Fault("matmul", "matmul", "tile_of(tl.program_id(0),", "tile_of(tl.program_id(0) // 2,", "DataRace", "tl.store"),
    Fault("matmulSplitK", "matmul_split_k", "split.to(tl.int64) * M", "split.to(tl.int64) * (M - 1)", "DataRace", "tl.store"),
    Fault("applyMask", "apply_mask", "row = tl.program_id(0)", "row = tl.program_id(0) // 2", "DataRace", "tl.store"),
    Fault("attentionSoftmax", "softmax", "p_ptr + row * N", "p_ptr + row * (N - 1)", "DataRace"),
    Fault("layerNormLocked", "backward_locked", "while tl.atomic_cas(lock, 0, 1) == 1:\n        pass\n", "pass\n", "DataRace", "dw += tl.load"),
    Fault("layerNormLocked", "backward_locked", "tl.atomic_xchg(lock, 0)", "tl.atomic_xchg(lock, 0, sem=\"relaxed\")", "DataRace", "dw += tl.load"),
    Fault("layerNormLocked", "backward_locked", "tl.atomic_cas(lock, 0, 1)", "tl.atomic_cas(lock, 0, 1, sem=\"relaxed\")", "DataRace", "dw += tl.load"),
    Fault("layerNormLocked", "backward_locked", "tl.atomic_xchg(lock, 0)", "pass", "Deadlock", "while tl.atomic_cas"),
    Fault("streamK", "matmul_stream_k", "(pid * 2 + slot)", "slot", "DataRace", "tl.store(partial_ptr"),
    Fault("groupedSearch", "group_tile", "mask=(m[:, None] < last)", "mask=(m[:, None] < last + 1)", "DataRace", "tl.store(c"),
    Fault("moePlace", "place", "starts_ptr + block * E + expert", "starts_ptr + expert", "DataRace", "tl.store(source_ptr"),
    Fault("unscale", "unscale", "tl.program_id(0).to(tl.int64) * BLOCK", "tl.program_id(0).to(tl.int64) * (BLOCK - 1)", "DataRace", "tl.store(out_ptr"),
    # A program that reads what its other threads may not have written yet.
    Fault("softmax", "softmax_row", "y.to(y_ptr.dtype.element_ty), mask=mask)",
          "y.to(y_ptr.dtype.element_ty), mask=mask)\n    back = tl.load(y_ptr + row * y_stride + N - 1 - columns, mask=mask)\n"
          "    tl.store(x_ptr + row * x_stride + columns, back, mask=mask)", "MissingBarrier", "back = tl.load"),
    Fault("rmsNorm", "rms_norm_row", "x = rounded.to(tl.float32)", "x = tl.load(sum_ptr + row * N + N - 1 - columns, mask=mask, other=0.0)", "MissingBarrier"),
    # Arithmetic.
    Fault("softmaxShort", "softmax_online", "tl.full([BLOCK], LOWEST, tl.float32)", "tl.full([BLOCK], -float(\"inf\"), tl.float32)", "NotANumber", "s = s * tl.exp"),
    Fault("flashGrouped", "flash_forward", "tl.full([BLOCK_M], LOWEST, dtype=tl.float32)", "tl.full([BLOCK_M], -float(\"inf\"), dtype=tl.float32)",
          "NotANumber", "weigh:shrink = tl.exp2"),
    Fault("layerNorm", "centre", "/ N + epsilon)", "/ N - 1000000.0)", "NotANumber"),
    Fault("gelu", "gelu_tanh", "tl.program_id(0).to(tl.int64) * BLOCK", "tl.program_id(0) * 1073741824 * 4 + tl.program_id(0) * BLOCK", "AddressOverflow"),
    # What the kernel says of itself.
    Fault("softmax", "softmax_row", "row = tl.program_id(0).to(tl.int64)", "row = tl.multiple_of(tl.program_id(0), 4).to(tl.int64)", "FalseHint"),
    Fault("softmax", "softmax_row", "mask = columns < N", "mask = columns < N\n    tl.assume(N > 1000)", "FalseHint", "tl.assume"),
    Fault("gelu", "gelu_tanh", "mask = offsets < n", "mask = offsets < n\n    tl.device_assert(offsets < n, \"offset past the end\")", "AssertFailed", "tl.device_assert"),
]
