doc = "Training of a perceptron: layers without bias, relu between them, squared error, gradient descent"


def inputs(batch, width, layers):
    # Weights that keep the size of what passes through relu.
    return dict(x=randn((batch, width), "f32"), w=randn((layers, width, width), "f32", std=sqrt(2 / width)), target=randn((batch, width), "f32"), rate=0.05)


def outputs(width, layers):
    return dict(trained=empty((layers, width, width), "f32"))


def train(x, w, target, trained, batch, width, layers, steps, rate, BLOCK):
    size, square = batch * width, width * width
    h = empty((layers + 1, batch, width), "f32")  # what enters layer l
    dh = empty((layers + 1, batch, width), "f32")  # the gradient of it
    copy = lambda source, to, n: launch("copy", (cdiv(n, 1024),), source, to, 0, n, BLOCK=1024)

    def forward(l):
        return launch("product", (cdiv(batch, BLOCK), cdiv(width, BLOCK)), h, trained, h, None, l * size, l * square, (l + 1) * size, 0,
                      batch, width, width, width, 1, width, 1, 0.0, RELU=l < layers - 1, UPDATE=False, BLOCK=BLOCK, BLOCK_K=32)

    def backward(l):
        # dh[l] = dh[l + 1] W^T, W turned over by its strides; nobody asks for the gradient of the data.
        below = launch("product", (cdiv(batch, BLOCK), cdiv(width, BLOCK)), dh, trained, dh, h, (l + 1) * size, l * square, l * size, l * size,
                       batch, width, width, width, 1, 1, width, 0.0, RELU=False, UPDATE=False, BLOCK=BLOCK, BLOCK_K=32)
        # W -= rate * h[l]^T dh[l + 1], after dh[l] has used W.
        update = launch("product", (cdiv(width, BLOCK), cdiv(width, BLOCK)), h, dh, trained, None, l * size, (l + 1) * size, l * square, 0,
                        width, width, batch, 1, width, width, 1, rate, RELU=False, UPDATE=True, BLOCK=BLOCK, BLOCK_K=32)
        return [below, update] if l > 0 else [update]

    step = [
        *[forward(l) for l in range(layers)],
        launch("loss_gradient", (cdiv(size, 1024),), h, layers * size, target, dh, layers * size, size, 1 / batch, BLOCK=1024),
        *[part for back in range(layers) for part in backward(layers - 1 - back)],
    ]
    return [copy(w, trained, layers * square), copy(x, h, size), *[part for k in range(steps) for part in step]]


# Forward, autograd, and an update of each layer; the loss is half the mean of squared errors over the batch.
torch_step = ("[(h := x, [h := F.relu(h @ v) if l < layers - 1 else h @ v for l, v in enumerate(trained)], "
              "grads := torch.autograd.grad(((h - target) ** 2).sum() / (2 * batch), trained), [v.data.sub_(rate * g) for v, g in zip(trained, grads)])"
              " for k in range(steps)]")
peers = dict(torch=f"(trained := [v.clone().requires_grad_() for v in w], {torch_step}, torch.stack([v.data for v in trained]))[-1]")
variants = dict(train=dict(run=train, configs=[dict(BLOCK=b) for b in (32, 64)]))
cases = [dict(batch=b, width=w, layers=l, steps=s) for (b, w, l, s) in ((16, 16, 1, 1), (20, 24, 3, 1), (16, 32, 2, 3))]
demo = [dict(check=True, batch=64, width=64, layers=4, steps=2)]
bench = [dict(batch=256, width=256, layers=l, steps=1) for l in (1, 2, 4, 8)] + [dict(batch=256, width=256, layers=4, steps=s) for s in (2, 4, 8)]


def tolerance(width, batch, layers, steps):
    # An update is `rate` times a mean over the batch of terms of order 1. Each of its sums rounds `width` or `batch` times; each layer and step
    # passes on what it was given.
    return dict(rel=eps("f32"), abs=0.05 * layers * steps * (width + batch) * eps("f32"))


# Forward, back and update are a product each; the first layer passes no gradient on.
flops = lambda batch, width, layers, steps: steps * (3 * layers - 1) * 2 * batch * width * width
