import numpy as np


def reference(x, w, target, layers, steps, batch, rate):
    weights = [w[l] for l in range(layers)]
    for step in range(steps):
        h = [x]
        for l in range(layers):
            z = h[l] @ weights[l]
            h = h + [np.maximum(z, 0) if l < layers - 1 else z]
        gradient = (h[layers] - target) / batch
        updated = weights
        for back in range(layers):
            l = layers - 1 - back
            below = gradient @ weights[l].T
            updated = updated[:l] + [weights[l] - rate * (h[l].T @ gradient)] + updated[l + 1 :]
            gradient = np.where(h[l] > 0, below, 0) if l > 0 else below
        weights = updated
    return dict(trained=np.stack(weights))
