"""What some recorded kernels compute, as plain formulas: they check the recorded results, which came
from an interpreter, by other means. A formula receives the launch's arguments by name (tensors as flat
lists, scalars and constexprs as values) and returns the tensors that it speaks of."""
import math


def rows(values, n):
    return [values[i:i + n] for i in range(0, len(values), n)]


def flat(parts):
    return [value for part in parts for value in part]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def softmax(row):
    peak = max(row)
    e = [math.exp(x - peak) for x in row]
    return [value / math.fsum(e) for value in e]


def rms(row, eps):
    return 1 / math.sqrt(math.fsum(x * x for x in row) / len(row) + eps)


def ligerSoftmax(X_ptr, n_cols, **_):
    return dict(Y_ptr=flat(softmax(row) for row in rows(X_ptr, n_cols)))


def ligerSoftmaxBackward(dy_ptr, y_ptr, n_cols, **_):
    pairs = zip(rows(dy_ptr, n_cols), rows(y_ptr, n_cols))
    return dict(dx_ptr=flat([y * (dy - math.fsum(a * b for a, b in zip(dys, ys))) for dy, y in zip(dys, ys)] for dys, ys in pairs))


def ligerSwiglu(a_ptr, b_ptr, gate_multiplier, **_):
    return dict(c_ptr=[a * gate_multiplier * sigmoid(a * gate_multiplier) * b for a, b in zip(a_ptr, b_ptr)])


def ligerGeglu(a, b, **_):
    return dict(c=[0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) * y for x, y in zip(a, b)])


def ligerReluSquared(X_ptr, **_):
    return dict(Y_ptr=[max(x, 0) ** 2 for x in X_ptr])


def ligerReluSquaredBackward(X_ptr, dY_ptr, **_):
    return dict(dX_ptr=[2 * max(x, 0) * dy for x, dy in zip(X_ptr, dY_ptr)])


def ligerRmsNorm(X_ptr, W_ptr, n_cols, eps, offset, **_):
    scales = [rms(row, eps) for row in rows(X_ptr, n_cols)]
    return dict(Y_ptr=flat([x * scale * (w + offset) for x, w in zip(row, W_ptr)] for row, scale in zip(rows(X_ptr, n_cols), scales)),
                RSTD_ptr=scales)


def ligerFusedAddRmsNorm(X_ptr, R_ptr, W_ptr, n_cols, eps, offset, **_):
    total = [x + r for x, r in zip(X_ptr, R_ptr)]
    return dict(S_ptr=total, **ligerRmsNorm(total, W_ptr, n_cols, eps, offset))


def ligerLayerNorm(X_ptr, W_ptr, B_ptr, n_cols, eps, **_):
    out, means, scales = [], [], []
    for row in rows(X_ptr, n_cols):
        mean = math.fsum(row) / n_cols
        scale = rms([x - mean for x in row], eps)
        means.append(mean)
        scales.append(scale)
        out += [(x - mean) * scale * w + b for x, w, b in zip(row, W_ptr, B_ptr)]
    return dict(Y_ptr=out, Mean_ptr=means, RSTD_ptr=scales)


def ligerElementMul(X_ptr, grad_output_ptr, **_):
    return dict(X_ptr=[x * grad_output_ptr[0] for x in X_ptr])


def ligerEmbedding(embeddings_ptr, indices_ptr, embedding_dim, **_):
    table = rows(embeddings_ptr, embedding_dim)
    return dict(output_ptr=flat(table[i] for i in indices_ptr))


def unslothRmsNorm(X, W, n_cols, eps, **_):
    scales = [rms(row, eps) for row in rows(X, n_cols)]
    return dict(Y=flat([x * scale * w for x, w in zip(row, W)] for row, scale in zip(rows(X, n_cols), scales)), r=scales)


def unslothGemmaRmsNorm(X, W, n_cols, eps, **_):
    return unslothRmsNorm(X, [w + 1 for w in W], n_cols, eps)


def unslothSwiglu(e, g, **_):
    return dict(h=[x * sigmoid(x) * y for x, y in zip(e, g)])


def unslothGegluExact(e, g, **_):
    return dict(h=[0.5 * x * (1 + math.erf(x / math.sqrt(2))) * y for x, y in zip(e, g)])


def unslothGegluTanh(e, g, **_):
    return dict(h=[0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) * y for x, y in zip(e, g)])


FORMULAS = {
    "_softmax_single_block_forward_kernel": ligerSoftmax,
    "_softmax_single_block_backward_kernel": ligerSoftmaxBackward,
    "_swiglu_forward_kernel": ligerSwiglu,
    "_swiglu_forward_kernel_tiled": ligerSwiglu,
    "_geglu_tanh_forward_kernel": ligerGeglu,
    "_relu_squared_forward_kernel": ligerReluSquared,
    "_relu_squared_backward_kernel": ligerReluSquaredBackward,
    "_rms_norm_forward_kernel": ligerRmsNorm,
    "_fused_add_rms_norm_forward_kernel": ligerFusedAddRmsNorm,
    "_layer_norm_forward_kernel": ligerLayerNorm,
    "element_mul_kernel": ligerElementMul,
    "embedding_forward_kernel": ligerEmbedding,
    "_rms_layernorm_forward": unslothRmsNorm,
    "_gemma_rms_layernorm_forward": unslothGemmaRmsNorm,
    "_fg_kernel": unslothSwiglu,
    "_exact_forward_kernel": unslothGegluExact,
    "_approx_forward_kernel": unslothGegluTanh,
}
