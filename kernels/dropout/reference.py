import numpy as np
from nereid.reference import uniform


def forward(x, p, seed):
    keep = uniform(seed, np.arange(x.shape[0])) > p
    return dict(y=np.where(keep, x / (1 - p), 0))


def forward_four_words(x, p, seed, block):
    # Element i of a run of 4 * block takes word i // block of the counter i % block.
    at = np.arange(x.shape[0])
    run, i = at // (4 * block), at % (4 * block)
    counter = run * block + i % block
    words = [uniform(seed, counter, word) for word in range(4)]
    r = np.where(i // block == 0, words[0], np.where(i // block == 1, words[1], np.where(i // block == 2, words[2], words[3])))
    return dict(y=np.where(r > p, x / (1 - p), 0))


def backward(dy, p, seed):
    keep = uniform(seed, np.arange(dy.shape[0])) > p
    return dict(dx=np.where(keep, dy / (1 - p), 0))
