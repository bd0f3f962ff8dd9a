"""Small models for the tests of the Python packages."""

import resource

import numpy as np


def two_layer(rows=4, inputs=8, hidden=6, outputs=3):
    """y = relu(x w1) w2, a graph in the JSON format, and its weights."""
    random = np.random.default_rng(0)
    w1 = random.standard_normal((inputs, hidden)).astype("f4")
    w2 = random.standard_normal((hidden, outputs)).astype("f4")

    def weight(name, array):
        shape = list(array.shape)
        return {"name": name, "dtype": "f32", "shape": shape, "memory": name}

    graph = {
        "tinh": 1,
        "name": "two_layer",
        "inputs": [{"name": "x", "dtype": "f32", "shape": [rows, inputs]}],
        "weights": [weight("w1", w1), weight("w2", w2)],
        "nodes": [
            {"op": "matmul", "name": "fc1", "inputs": ["x", "w1"], "outputs": ["h"]},
            {"op": "relu", "inputs": ["h"], "outputs": ["r"]},
            {"op": "matmul", "name": "fc2", "inputs": ["r", "w2"], "outputs": ["y"]},
        ],
        "outputs": ["y"],
    }
    return graph, {"w1": w1, "w2": w2}


class OnlyDlpack:
    """An array of another library."""

    def __init__(self, data):
        self.data = data

    def __dlpack__(self, **options):
        return self.data.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.data.__dlpack_device__()


def resident():
    """Bytes of the process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def expected_two_layer(x, memory):
    return np.maximum(x @ memory["w1"], 0) @ memory["w2"]


def graph(inputs, nodes, outputs):
    """inputs: {name: (dtype, shape)}; nodes: (op, inputs, output, attributes)."""
    return {
        "tinh": 1,
        "inputs": [
            {"name": name, "dtype": dtype, "shape": list(shape)}
            for name, (dtype, shape) in inputs.items()
        ],
        "nodes": [
            {"op": op, "inputs": list(given), "outputs": [made], "attributes": options}
            for op, given, made, options in nodes
        ],
        "outputs": list(outputs),
    }


def onnx_add():
    """y = x + x in ONNX's wire format, for x of three floats."""

    def field(number, content):
        if isinstance(content, int):
            return bytes([number << 3, content])
        if isinstance(content, str):
            content = content.encode()
        return bytes([number << 3 | 2, len(content)]) + content

    node = field(1, "x") + field(1, "x") + field(2, "y") + field(3, "n")
    node += field(4, "Add")

    def value(name):
        shape = field(1, field(1, 3))
        type = field(1, field(1, 1) + field(2, shape))
        return field(1, name) + field(2, type)

    graph = field(1, node) + field(2, "g") + field(11, value("x"))
    graph += field(12, value("y"))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))


def seeded_inputs(types):
    """Arrays of these types (["f32", 2, 3]), the same each time: small numbers,
    positive ones where they may be variances, and indices that any table has."""
    random = np.random.default_rng(0)
    arrays = []
    for dtype, *shape in types:
        if dtype == "bool":
            arrays.append(random.random(shape) < 0.7)
        elif dtype.startswith(("i", "u")):
            kind = f"{dtype[0]}{int(dtype[1:]) // 8}"
            arrays.append(random.integers(0, 2, shape).astype(kind))
        else:
            x = random.standard_normal(shape) * 0.1
            if len(shape) < 2:
                x = np.abs(x) + 0.05
            arrays.append(np.asarray(x, f"f{int(dtype[1:]) // 8}"))
    return arrays


def summary(array):
    """What a test keeps of a large array: some elements, and how large all are."""
    flat = np.asarray(array, "f8").reshape(-1)
    step = max(len(flat) // 32, 1)
    scale = float(np.abs(flat).max()) if len(flat) else 0.0
    return {"scale": scale, "elements": flat[::step].tolist()}
