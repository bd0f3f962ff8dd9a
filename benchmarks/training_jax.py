"""The networks of training_tasks.py in JAX, each step compiled as a whole."""

import functools

import jax
import jax.numpy as jnp

import training_tasks


def two_layer(p, x):
    return jax.nn.relu(x @ p["w1"]) @ p["w2"], {}


def mlp(p, x):
    for layer in ("0", "2", "4"):
        x = x @ p[f"{layer}.weight"].T + p[f"{layer}.bias"]
        if layer != "4":
            x = jax.nn.relu(x)
    return x, {}


def resnet18(p, x):
    """NCHW outside, as PyTorch; NHWC inside, which XLA is faster with."""
    moved = {}  # The running statistics after the step.

    def convolution(name, x, stride=1):
        weight = p[f"{name}.weight"].transpose(2, 3, 1, 0)
        padding = [(weight.shape[0] // 2,) * 2] * 2
        return jax.lax.conv_general_dilated(
            x,
            weight,
            (stride, stride),
            padding,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )

    def norm(name, x):
        mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
        count = x.size // x.shape[-1]
        unbiased = variance * (count / (count - 1))
        for key, value in {"mean": mean, "var": unbiased}.items():
            key = f"{name}.running_{key}"
            moved[key] = 0.9 * p[key] + 0.1 * value
        scale = p[f"{name}.weight"] * jax.lax.rsqrt(variance + 1e-5)
        return (x - mean) * scale + p[f"{name}.bias"]

    def block(name, x, stride):
        y = norm(f"{name}.bn1", convolution(f"{name}.conv1", x, stride))
        y = convolution(f"{name}.conv2", jax.nn.relu(y))
        y = norm(f"{name}.bn2", y)
        if f"{name}.downsample.0.weight" in p:
            x = convolution(f"{name}.downsample.0", x, stride)
            x = norm(f"{name}.downsample.1", x)
        return jax.nn.relu(x + y)

    x = convolution("conv1", x.transpose(0, 2, 3, 1), 2)
    x = jax.nn.relu(norm("bn1", x))
    window, padding = (1, 3, 3, 1), [(0, 0), (1, 1), (1, 1), (0, 0)]
    x = jax.lax.reduce_window(
        x, -jnp.inf, jax.lax.max, window, (1, 2, 2, 1), padding
    )
    for layer in range(1, 5):
        for index in range(2):
            stride = 2 if layer > 1 and index == 0 else 1
            x = block(f"layer{layer}.{index}", x, stride)
    return x.mean((1, 2)) @ p["fc.weight"].T + p["fc.bias"], moved


def lstm_classifier(p, x):
    """The input's products for all steps at once, as XLA does not of itself."""
    hidden = p["lstm.weight_hh_l0"].shape[1]
    bias = p["lstm.bias_ih_l0"] + p["lstm.bias_hh_l0"]
    inputs = x.transpose(1, 0, 2) @ p["lstm.weight_ih_l0"].T + bias

    def step(state, inputs):
        h, c = state
        gates = inputs + h @ p["lstm.weight_hh_l0"].T
        i, f, g, o = jnp.split(gates, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zeros = jnp.zeros((x.shape[0], hidden))
    (h, _), _ = jax.lax.scan(step, (zeros, zeros), inputs)
    return h @ p["head.weight"].T + p["head.bias"], {}


def transformer(p, x, heads=4):
    def linear(name, x, weight="weight", bias="bias"):
        return x @ p[f"{name}.{weight}"].T + p[f"{name}.{bias}"]

    def norm(name, x):
        centred = x - x.mean(-1, keepdims=True)
        variance = (centred**2).mean(-1, keepdims=True)
        scaled = centred * jax.lax.rsqrt(variance + 1e-5)
        return scaled * p[f"{name}.weight"] + p[f"{name}.bias"]

    def attention(name, x):
        batch, length, width = x.shape
        projected = linear(name, x, "in_proj_weight", "in_proj_bias")
        q, k, v = projected.reshape(batch, length, 3, heads, -1).transpose(2, 0, 3, 1, 4)
        scores = q @ k.transpose(0, 1, 3, 2) / (width // heads) ** 0.5
        mixed = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3)
        return linear(f"{name}.out_proj", mixed.reshape(batch, length, width))

    for layer in range(2):
        name = f"encoder.layers.{layer}"
        x = norm(f"{name}.norm1", x + attention(f"{name}.self_attn", x))
        wide = jax.nn.relu(linear(f"{name}.linear1", x))
        x = norm(f"{name}.norm2", x + linear(f"{name}.linear2", wide))
    return linear("head", x.mean(1)), {}


NETWORKS = {
    "TwoLayer": two_layer,
    "Sequential": mlp,
    "ResNet": resnet18,
    "LstmClassifier": lstm_classifier,
    "Transformer": transformer,
}


def mse(y, target, reduction="mean"):
    return getattr(jnp, reduction)((y - target) ** 2)


def cross_entropy(y, target):
    logs = jax.nn.log_softmax(y)
    return -jnp.take_along_axis(logs, target[:, None], axis=1).mean()


def make_step(task):
    module = task.module()
    if type(module).__name__ not in NETWORKS:
        raise SystemExit(f"{type(module).__name__} is not written in JAX")
    network = NETWORKS[type(module).__name__]
    name, options = training_tasks.parse(task.loss)
    loss = functools.partial(
        {"mse": mse, "cross_entropy": cross_entropy}[name], **options
    )
    name, settings = training_tasks.parse(task.optimizer)
    if name != "sgd" or not {"lr", "momentum"} >= set(settings):
        raise SystemExit(f"{task.optimizer} is not written in JAX")
    lr, momentum = settings["lr"], settings.get("momentum")

    def loss_of(trained, kept, x, target):
        y, moved = network({**trained, **kept}, x)
        return loss(y, target), moved

    @functools.partial(jax.jit, donate_argnums=0)
    def step(state, x, target):
        trained, kept, velocity = state
        (value, moved), gradients = jax.value_and_grad(loss_of, has_aux=True)(
            trained, kept, x, target
        )
        if momentum:
            velocity = jax.tree.map(
                lambda v, g: momentum * v + g, velocity, gradients
            )
        trained = jax.tree.map(
            lambda w, d: w - lr * d, trained, velocity if momentum else gradients
        )
        return (trained, {**kept, **moved}, velocity), value

    # Copies, for what is donated must not be shared with PyTorch.
    take = lambda tensors: {
        k: jnp.array(v.detach().numpy(), copy=True)
        for k, v in tensors
        if v.is_floating_point()
    }
    trained = take(module.named_parameters())
    velocity = jax.tree.map(jnp.zeros_like, trained) if momentum else {}
    state = (trained, take(module.named_buffers()), velocity)
    x, target = (jnp.array(value.numpy()) for value in task.batch())

    def run():
        nonlocal state
        state, value = step(state, x, target)
        return value.block_until_ready()

    return run
