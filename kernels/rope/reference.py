import numpy as np


def turn(x, cos, sin, positions, interleaved):
    """x is [B, S, H, D]; the tables have a row a position and a column a pair."""
    B, S, H, D = x.shape
    pairs = cos.shape[1]
    rows = np.broadcast_to(np.arange(S), (B, S)) if positions is None else positions
    c = np.take(cos, rows.reshape(B * S), axis=0).reshape(B, S, 1, pairs)
    s = np.take(sin, rows.reshape(B * S), axis=0).reshape(B, S, 1, pairs)
    rest = x[:, :, :, 2 * pairs :]
    if interleaved:
        parts = x[:, :, :, : 2 * pairs].reshape(B, S, H, pairs, 2)
        a, b = parts[:, :, :, :, 0], parts[:, :, :, :, 1]
        turned = np.stack([a * c - b * s, b * c + a * s], axis=4).reshape(B, S, H, 2 * pairs)
    else:
        a, b = x[:, :, :, :pairs], x[:, :, :, pairs : 2 * pairs]
        turned = np.concatenate([a * c - b * s, b * c + a * s], axis=3)
    return np.concatenate([turned, rest], axis=3)


def forward(x, cos, sin, positions, interleaved):
    return dict(y=turn(x, cos, sin, positions, interleaved))


def backward(dy, cos, sin, positions, interleaved):
    return dict(dx=turn(dy, cos, -sin, positions, interleaved))
