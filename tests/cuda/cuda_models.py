# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models of the kinds that a GPU is to run, as JSON, with seeded weights."""

import numpy as np


class Builder:
    """Adds nodes by name; each gives the name of its output."""

    def __init__(self, name, seed=0):
        self.model = {"tinh": 1, "name": name, "inputs": [], "weights": [], "nodes": []}
        self.random = np.random.default_rng(seed)
        self.count = 0

    def input(self, name, *shape, dtype="f32"):
        self.model["inputs"].append({"name": name, "dtype": dtype, "shape": shape})
        return name

    def weight(self, name, *shape, value=None, spread=None):
        """Random ones of that spread, or all `value`."""
        count = int(np.prod(shape))
        spread = spread or 1 / np.sqrt(count / shape[-1] if len(shape) > 1 else 4)
        data = (self.random.normal(0, spread, count)).astype(np.float32).tolist()
        self.model["weights"].append(
            {
                "name": name,
                "dtype": "f32",
                "shape": shape,
                "data": data if value is None else value,
            }
        )
        return name

    def add(self, op, *inputs, **attributes):
        output = f"{op}{self.count}"
        self.count += 1
        self.model["nodes"].append(
            {
                "op": op,
                "inputs": inputs,
                "outputs": [output],
                "attributes": attributes,
            }
        )
        return output

    def dense(self, x, name, rows, columns):
        product = self.add("matmul", x, self.weight(f"{name}.weight", rows, columns))
        return self.add("add", product, self.weight(f"{name}.bias", columns))

    def conv(self, x, name, outputs, inputs, size, stride=1):
        spread = 1 / np.sqrt(inputs * size * size)
        weights = self.weight(
            f"{name}.weight", outputs, inputs, size, size, spread=spread
        )
        pad = size // 2
        return self.add("conv", x, weights, strides=[stride, stride], padding=[pad] * 4)

    def batch_norm(self, x, name, channels):
        parts = [
            self.weight(f"{name}.scale", channels),
            self.weight(f"{name}.bias", channels),
            self.weight(f"{name}.mean", channels),
            self.weight(f"{name}.variance", channels, value=0.7),
        ]
        return self.add("batch_norm", x, *parts)

    def scan(self, body, length, carried, rows):
        """`body` gives next values and rows for values, and a row of each of `rows`."""
        name = f"scan{self.count}"
        self.count += 1
        nodes, self.model["nodes"] = self.model["nodes"], []
        inputs = [f"{name}.in{i}" for i in range(1 + len(carried) + len(rows))]
        results = body(*inputs[1:])
        node = {
            "op": "scan",
            "inputs": [*carried, *rows],
            "outputs": [f"{name}.out{i}" for i in range(len(results))],
            "attributes": {"length": length, "carry": len(carried)},
            "body": {
                "inputs": inputs,
                "outputs": results,
                "nodes": self.model["nodes"],
            },
        }
        self.model["nodes"] = [*nodes, node]
        return node["outputs"]

    def finish(self, output):
        self.model["outputs"] = [output]
        return self.model


def convolution(
    x_shape,
    w_shape,
    constant=True,
    bias=False,
    residual=False,
    relu=True,
    dtype="f32",
    **attributes,
):
    """A convolution; `constant` are its weights. The residual is another one."""
    b = Builder("conv", 2)
    rank = len(x_shape) - 2
    attributes.setdefault("strides", [1] * rank)
    attributes.setdefault("padding", [0] * 2 * rank)
    x = b.input("x", *x_shape, dtype=dtype)
    if constant:
        w = b.weight("w", *w_shape, spread=1 / w_shape[1] ** 0.5)
        w = w if dtype == "f32" else b.add("cast", w, dtype=dtype)
    else:
        w = b.input("w", *w_shape, dtype=dtype)
    y = b.add("conv", x, w, **attributes)
    if bias:
        y = b.add("add", y, b.input("bias", w_shape[0], *[1] * rank, dtype=dtype))
    if residual:
        w = b.input("other", *w_shape, dtype=dtype)
        y = b.add("add", y, b.add("conv", x, w, **attributes))
    return b.finish(b.add("relu", y) if relu else y)


def two_layer():
    b = Builder("two_layer")
    x = b.input("x", 64, 100)
    h = b.add("relu", b.add("matmul", x, b.weight("w1", 100, 72)))
    return b.finish(b.add("matmul", h, b.weight("w2", 72, 10)))


def narrow_layers(dtype):
    """Products of f16 or bf16, which tensor cores take."""
    b = Builder(f"{dtype}_layers", 5)

    def weight(name, rows, columns):
        return b.add("cast", b.weight(name, rows, columns), dtype=dtype)

    x = b.add("cast", b.input("x", 48, 160), dtype=dtype)
    h = b.add("relu", b.add("matmul", x, weight("w1", 160, 128)))
    y = b.add("matmul", h, weight("w2", 128, 72))
    return b.finish(b.add("cast", y, dtype="f32"))


def mlp(batch=32):
    b = Builder("mlp", 1)
    x = b.input("x", batch, 60)
    x = b.add("relu", b.dense(x, "fc1", 60, 96))
    x = b.add("gelu", b.dense(x, "fc2", 96, 48))
    return b.finish(b.dense(x, "fc3", 48, 10))


def lenet(batch=4):
    b = Builder("lenet", 2)
    x = b.input("x", batch, 1, 28, 28)
    for i, (inputs, outputs) in enumerate(((1, 6), (6, 16))):
        x = b.add("relu", b.conv(x, f"conv{i}", outputs, inputs, 5))
        x = b.add("max_pool", x, kernel=[2, 2], strides=[2, 2])
    x = b.add("reshape", x, shape=[batch, 784])
    x = b.add("relu", b.dense(x, "fc1", 784, 84))
    return b.finish(b.dense(x, "fc2", 84, 10))


def resnet_block():
    """Two convolutions with batch norms, and a shortcut that is one, too."""
    b = Builder("resnet_block", 3)
    x = b.input("x", 2, 16, 14, 14)
    y = b.batch_norm(b.conv(x, "conv1", 32, 16, 3, stride=2), "norm1", 32)
    y = b.conv(b.add("relu", y), "conv2", 32, 32, 3)
    y = b.batch_norm(y, "norm2", 32)
    shortcut = b.batch_norm(b.conv(x, "conv3", 32, 16, 1, stride=2), "norm3", 32)
    y = b.add("relu", b.add("add", y, shortcut))
    return b.finish(b.add("reduce", y, kind="mean", axes=[2, 3]))


def transformer_layer(batch=2, tokens=24, width=64, heads=4):
    b = Builder("transformer_layer", 4)
    depth = width // heads

    def split(x):
        x = b.add("reshape", x, shape=[batch, tokens, heads, depth])
        return b.add("transpose", x, permutation=[0, 2, 1, 3])

    def norm(x, name):
        scale = b.weight(f"{name}.scale", width)
        return b.add("layer_norm", x, scale, b.weight(f"{name}.bias", width), axis=2)

    x = b.input("x", batch, tokens, width)
    h = norm(x, "norm1")
    q, k, v = (split(b.dense(h, n, width, width)) for n in ("query", "key", "value"))
    a = b.add("attention", q, k, v, scale=depth**-0.5)
    a = b.add("transpose", a, permutation=[0, 2, 1, 3])
    a = b.add("reshape", a, shape=[batch, tokens, width])
    x = b.add("add", x, b.dense(a, "out", width, width))
    h = b.add("gelu", b.dense(norm(x, "norm2"), "up", width, 4 * width))
    return b.finish(b.add("add", x, b.dense(h, "down", 4 * width, width)))


def lstm(batch=4, steps=6, inputs=12, width=16, layers=2):
    """Layers of an LSTM over a sequence, whose first dimension is time."""
    b = Builder("lstm", 6)

    def layer(x, name, inputs):
        zeros = b.weight(f"{name}.zeros", batch, width, value=0)

        def step(h, c, row):
            gates = b.dense(row, f"{name}.input", inputs, 4 * width)
            weights = b.weight(f"{name}.hidden", width, 4 * width)
            gates = b.add("add", gates, b.add("matmul", h, weights))
            i, f, g, o = (
                b.add(
                    "slice",
                    gates,
                    starts=[0, k * width],
                    sizes=[batch, width],
                    steps=[1, 1],
                )
                for k in range(4)
            )
            i, f, o = (b.add("sigmoid", gate) for gate in (i, f, o))
            c = b.add("mul", f, c), b.add("mul", i, b.add("tanh", g))
            c = b.add("add", *c)
            h = b.add("mul", o, b.add("tanh", c))
            return h, c, h

        return b.scan(step, steps, [zeros, zeros], [x])

    x = b.input("x", steps, batch, inputs)
    for i in range(layers):
        last, _, x = layer(x, f"layer{i}", inputs)
        inputs = width
    return b.finish(b.dense(last, "out", width, 10))
