import numpy as np


def forward(a, b, offsets):
    parts = [a[int(offsets[g]) : int(offsets[g + 1])] @ b[g] for g in range(b.shape[0])]
    return dict(c=np.concatenate(parts, axis=0))


def weight_gradient(a, dc, offsets):
    parts = [a[int(offsets[g]) : int(offsets[g + 1])].T @ dc[int(offsets[g]) : int(offsets[g + 1])] for g in range(offsets.shape[0] - 1)]
    return dict(db=np.stack(parts))
