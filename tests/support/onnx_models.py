# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small ONNX models for tests of the tools, and ONNX Runtime's view of them."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


def write(path, nodes, weights, inputs, outputs):
    """An ONNX model of nodes (op, inputs, output, attributes)."""
    info = lambda tensors: [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in tensors.items()
    ]
    made = [
        helper.make_node(op, reads, [output], name=output, **attributes)
        for op, reads, output, attributes in nodes
    ]
    constants = [numpy_helper.from_array(a, name) for name, a in weights.items()]
    graph = helper.make_graph(made, "main", info(inputs), info(outputs), constants)
    opset = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)
    return path


def run(path, x):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Its own products of bytes saturate where the CPU has no instruction for them.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"]
    )
    name = session.get_inputs()[0].name
    batch = session.get_inputs()[0].shape[0]
    parts = np.split(x, len(x) // batch)
    return np.concatenate([session.run(None, {name: part})[0] for part in parts])


class Network:
    """An ONNX model of one input that is built node by node. `draw` gives random
    floats of a shape."""

    def __init__(self, draw, shape):
        self.draw = draw
        self.nodes, self.weights = [], {}
        self.shapes = {"x": shape}

    def add(self, op, inputs, shape, **attributes):
        output = f"t{len(self.nodes)}"
        self.nodes.append((op, inputs, output, attributes))
        self.shapes[output] = tuple(shape)
        return output

    def weight(self, *shape, scale=1.0):
        name = f"w{len(self.weights)}"
        self.weights[name] = self.draw(*shape) * np.float32(scale)
        return name

    def integers(self, *values):
        name = f"w{len(self.weights)}"
        self.weights[name] = np.array(values, np.int64)
        return name

    def conv(self, x, outputs, kernel=3, group=1):
        n, c, *size = self.shapes[x]
        fan = c // group * kernel**2
        w = self.weight(outputs, c // group, kernel, kernel, scale=fan**-0.5)
        pads = {"pads": [kernel // 2] * 4, "group": group}
        return self.add("Conv", [x, w, self.weight(outputs)], (n, outputs, *size), **pads)

    def norm(self, x):
        c = self.shapes[x][1]
        vectors = [self.weight(c) for _ in range(4)]
        self.weights[vectors[3]] = np.abs(self.weights[vectors[3]]) + np.float32(0.5)
        return self.add("BatchNormalization", [x, *vectors], self.shapes[x])

    def same(self, op, *inputs):
        return self.add(op, list(inputs), self.shapes[inputs[0]])

    def pool(self, x, op="MaxPool"):
        n, c, *size = self.shapes[x]
        window = {"kernel_shape": [2, 2], "strides": [2, 2]}
        return self.add(op, [x], (n, c, *[s // 2 for s in size]), **window)

    def concat(self, *inputs):
        n, _, *size = self.shapes[inputs[0]]
        channels = sum(self.shapes[x][1] for x in inputs)
        return self.add("Concat", list(inputs), (n, channels, *size), axis=1)

    def slice(self, x, begin, end):
        n, _, *size = self.shapes[x]
        bounds = [self.integers(v) for v in (begin, end, 1)]
        return self.add("Slice", [x, *bounds], (n, end - begin, *size))

    def flatten(self, x):
        n, *rest = self.shapes[x]
        return self.add("Flatten", [x], (n, int(np.prod(rest))))

    def dense(self, x, outputs):
        n, k = self.shapes[x]
        w, b = self.weight(outputs, k, scale=k**-0.5), self.weight(outputs)
        return self.add("Gemm", [x, w, b], (n, outputs), transB=1)

    def transposed(self, x, permutation):
        shape = [self.shapes[x][i] for i in permutation]
        return self.add("Transpose", [x], shape, perm=permutation)

    def reshaped(self, x, *shape):
        return self.add("Reshape", [x, self.integers(*shape)], shape)

    def product(self, a, b):
        shape = (*self.shapes[a][:-1], self.shapes[b][-1])
        return self.add("MatMul", [a, b], shape)

    def matrix(self, rows, columns):
        name = self.weight(rows, columns, scale=rows**-0.5)
        self.shapes[name] = (rows, columns)
        return name

    def shuffled(self, x):
        """Channels of two halves in turns."""
        n, c, *size = self.shapes[x]
        split = self.reshaped(x, n, 2, c // 2, *size)
        turned = self.transposed(split, [0, 2, 1, 3, 4])
        return self.reshaped(turned, n, c, *size)

    def squeeze(self, x):
        """Channels weighted by what they all are on average."""
        n, c, *_ = self.shapes[x]
        mean = self.add("GlobalAveragePool", [x], (n, c, 1, 1))
        less = self.same("Relu", self.conv(mean, max(c // 2, 2), 1))
        return self.same("Mul", x, self.same("Sigmoid", self.conv(less, c, 1)))

    def attention(self, x, heads):
        """Of [batch, length, width]."""
        n, length, width = self.shapes[x]

        def project(turn):
            all = self.product(x, self.matrix(width, width))
            split = self.reshaped(all, n, length, heads, width // heads)
            return self.transposed(split, turn)

        query, key = project([0, 2, 1, 3]), project([0, 2, 3, 1])
        scores = self.same("Softmax", self.product(query, key))
        mixed = self.product(scores, project([0, 2, 1, 3]))
        merged = self.reshaped(self.transposed(mixed, [0, 2, 1, 3]), n, length, width)
        return self.product(merged, self.matrix(width, width))

    def write(self, path, last):
        nodes = self.nodes[:-1] + [(*self.nodes[-1][:2], "y", self.nodes[-1][3])]
        assert last == self.nodes[-1][2]
        return write(
            path, nodes, self.weights,
            {"x": self.shapes["x"]}, {"y": self.shapes[last]},
        )  # fmt: skip


def random_network(path, draw, seed):
    """All that couples channels, in an order that depends on `seed`."""
    choose = np.random.default_rng(seed)
    net = Network(draw, (2, 3, 8, 8))
    values = [net.same("Relu", net.conv("x", 12))]

    def pick(like=None):
        fit = [
            v for v in values
            if like is None or net.shapes[v][2:] == net.shapes[like][2:]
        ]  # fmt: skip
        return fit[choose.integers(len(fit))]

    def alike(x):
        return [v for v in values if v != x and net.shapes[v] == net.shapes[x]]

    def conv(x):
        return net.conv(x, int(choose.choice([8, 12, 16])), int(choose.choice([1, 3])))

    def add(x):
        others = alike(x)
        other = others[choose.integers(len(others))] if others else net.conv(x, net.shapes[x][1])
        return net.same("Add", x, other)

    def grouped(x):
        return net.conv(x, net.shapes[x][1], 3, group=2)

    def depthwise(x):
        channels = net.shapes[x][1]
        return net.conv(x, channels * int(choose.integers(1, 3)), 3, group=channels)

    def upsampled(x):
        n, c, h, w = net.shapes[x]
        weights = net.weight(c, 8, 2, 2, scale=0.2)
        strides = {"strides": [2, 2]}
        return net.add("ConvTranspose", [x, weights], (n, 8, 2 * h, 2 * w), **strides)

    steps = [
        conv, conv, add, add, grouped, depthwise, upsampled,
        net.shuffled, net.squeeze, net.norm, net.norm,
        lambda x: net.same("Relu", x),
        lambda x: net.same("Sigmoid", x),
        lambda x: net.pool(x, choose.choice(["MaxPool", "AveragePool"])) if net.shapes[x][2] > 2 else x,
        lambda x: net.concat(x, pick(like=x)),
        lambda x: net.slice(x, 2, net.shapes[x][1] - 1),
        lambda x: net.slice(x, 0, net.shapes[x][1] // 2 // 2 * 2),
    ]  # fmt: skip
    for _ in range(12):
        x = pick()
        if net.shapes[x][1] % 4 == 0 and net.shapes[x][1] >= 8:
            values.append(steps[choose.integers(len(steps))](x))
        else:
            values.append(net.conv(x, 12))
    for x in values[-4:]:
        n, c, *_ = net.shapes[x]
        values.append(net.flatten(net.add("GlobalAveragePool", [x], (n, c, 1, 1))))
    both = net.add("Concat", values[-4:], (2, sum(net.shapes[v][1] for v in values[-4:])), axis=1)
    return net.write(path, net.dense(net.same("Relu", net.dense(both, 16)), 5))
