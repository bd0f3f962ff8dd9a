# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A residual network for small images, in the JSON format, before it is trained."""

import json

import numpy as np

WIDTHS, CLASSES = (32, 64, 128), 10


class Graph:
    """Nodes and weights, where each method adds a layer and gives its output."""

    def __init__(self):
        self.nodes, self.weights = [], []
        self.random = np.random.default_rng(1)

    def weight(self, name, shape, data):
        entry = {"name": name, "dtype": "f32", "shape": shape, "data": data}
        self.weights.append(entry)
        return name

    def drawn(self, name, shape, inputs):
        """Weights of a layer with a ReLU behind it (He et al., 2015)."""
        values = self.random.normal(0, np.sqrt(2 / inputs), np.prod(shape))
        return self.weight(name, shape, values.round(6).tolist())

    def add(self, op, output, inputs, **attributes):
        node = {"op": op, "inputs": inputs, "outputs": [output]}
        self.nodes.append({**node, "attributes": attributes})
        return output

    def conv(self, name, x, sizes, kernel=3, stride=1):
        """A convolution with a batch norm; sizes are channels in and out."""
        channels, outputs = sizes
        shape = [outputs, channels, kernel, kernel]
        filters = self.drawn(f"{name}.weight", shape, channels * kernel**2)
        options = {"strides": [stride] * 2, "padding": [kernel // 2] * 4}
        y = self.add("conv", name, [x, filters], **options)
        starts = {"scale": 1, "bias": 0, "running_mean": 0, "running_var": 1}
        norm = [
            self.weight(f"{name}.norm.{key}", [outputs], value)
            for key, value in starts.items()
        ]
        return self.add("batch_norm", f"{name}.norm", [y, *norm])

    def relu(self, x):
        return self.add("relu", f"{x}.relu", [x])

    def block(self, name, x, sizes, stride):
        """Two convolutions beside a shortcut."""
        channels, outputs = sizes
        y = self.relu(self.conv(f"{name}.conv1", x, sizes, stride=stride))
        y = self.conv(f"{name}.conv2", y, (outputs, outputs))
        if channels != outputs:
            x = self.conv(f"{name}.shortcut", x, sizes, kernel=1, stride=stride)
        return self.relu(self.add("add", f"{name}.sum", [y, x]))

    def classifier(self, x, channels):
        x = self.add("reduce", "mean", [x], kind="mean", axes=[2, 3])
        factor = self.drawn("fc.weight", [channels, CLASSES], channels)
        y = self.add("matmul", "fc", [x, factor])
        return self.add("add", "output0", [y, self.weight("fc.bias", [CLASSES], 0)])


def write_resnet(path, shape):
    """For images of a shape, with a stage of one block for each width."""
    graph, channels = Graph(), WIDTHS[0]
    y = graph.relu(graph.conv("stem", "input0", (shape[1], channels)))
    for stage, width in enumerate(WIDTHS):
        stride = 1 if stage == 0 else 2
        y = graph.block(f"stage{stage}", y, (channels, width), stride)
        channels = width
    output = graph.classifier(y, channels)
    image = {"name": "input0", "dtype": "f32", "shape": shape}
    model = {"tinh": 1, "name": "resnet", "inputs": [image], "weights": graph.weights}
    path.write_text(json.dumps(model | {"nodes": graph.nodes, "outputs": [output]}))
