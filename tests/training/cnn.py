# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small network with batch norms, its weights and a batch.

    python tests/training/cnn.py        # with PyTorch: writes cnn.json anew
"""

import json
import pathlib

import numpy as np

RECORDED = pathlib.Path(__file__).parent / "cnn.json"
STEPS = 20
# Weights by name, and the standard deviation of their elements; 1 and 0: all
# ones and zeros.
WEIGHTS = {
    "conv1.weight": ((6, 3, 3, 3), 0.3),
    "norm1.weight": ((6,), 1),
    "norm1.bias": ((6,), 0),
    "norm1.running_mean": ((6,), 0),
    "norm1.running_var": ((6,), 1),
    "conv2.weight": ((8, 6, 3, 3), 0.2),
    "norm2.weight": ((8,), 1),
    "norm2.bias": ((8,), 0),
    "norm2.running_mean": ((8,), 0),
    "norm2.running_var": ((8,), 1),
    "fc.weight": ((8, 4), 0.5),
    "fc.bias": ((4,), 0),
}


def make():
    """Weights, images and labels."""
    random = np.random.default_rng(3)
    weights = {
        name: np.full(shape, spread, np.float32)
        if spread in (0, 1)
        else (random.random(shape) * 2 - 1).astype(np.float32) * np.float32(spread)
        for name, (shape, spread) in WEIGHTS.items()
    }
    x = (random.random((5, 3, 10, 10)) * 2 - 1).astype(np.float32)
    return weights, x, random.integers(0, 4, 5)


def graph(weights, x):
    """The network in the JSON format."""
    nodes = []

    def add(op, inputs, output, **attributes):
        nodes.append(
            {"op": op, "inputs": inputs, "outputs": [output], "attributes": attributes}
        )

    def add_norm(number, source):
        names = ("weight", "bias", "running_mean", "running_var")
        inputs = [source] + [f"norm{number}.{name}" for name in names]
        add("batch_norm", inputs, f"n{number}", epsilon=1e-5)
        add("relu", [f"n{number}"], f"r{number}")

    add("conv", ["x", "conv1.weight"], "c1", padding=[1, 1, 1, 1])
    add_norm(1, "c1")
    add("max_pool", ["r1"], "p", kernel=[2, 2], strides=[2, 2])
    add("conv", ["p", "conv2.weight"], "c2", strides=[2, 2], padding=[1, 1, 1, 1])
    add_norm(2, "c2")
    add("reduce", ["r2"], "m", kind="mean", axes=[2, 3])
    add("matmul", ["m", "fc.weight"], "f")
    add("add", ["f", "fc.bias"], "y")
    return {
        "tinh": 1,
        "name": "cnn",
        "inputs": [{"name": "x", "dtype": "f32", "shape": list(x.shape)}],
        "weights": [
            {
                "name": name,
                "dtype": "f32",
                "shape": list(value.shape),
                "data": [float(v) for v in value.flat],
            }
            for name, value in weights.items()
        ],
        "nodes": nodes,
        "outputs": ["y"],
    }


def record():
    """PyTorch's losses, in f64, and what the running statistics are then."""
    import torch
    from torch.nn import functional as f

    weights, x, labels = make()
    p = {name: torch.tensor(value).double() for name, value in weights.items()}
    parameters = [v.requires_grad_() for k, v in p.items() if "running" not in k]
    optimizer = torch.optim.SGD(parameters, 0.05, momentum=0.9)

    def norm(number, y):
        mean, variance, scale, shift = (
            p[f"norm{number}.{name}"]
            for name in ("running_mean", "running_var", "weight", "bias")
        )
        return f.relu(f.batch_norm(y, mean, variance, scale, shift, training=True))

    losses = []
    for _ in range(STEPS):
        y = norm(1, f.conv2d(torch.tensor(x).double(), p["conv1.weight"], padding=1))
        y = f.conv2d(f.max_pool2d(y, 2), p["conv2.weight"], stride=2, padding=1)
        y = norm(2, y).mean((2, 3)) @ p["fc.weight"] + p["fc.bias"]
        loss = f.cross_entropy(y, torch.tensor(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    statistics = {k: v.tolist() for k, v in p.items() if "running" in k}
    return {"losses": losses, "statistics": statistics}


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(record(), indent=1) + "\n")
