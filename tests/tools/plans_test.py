# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans that are changed in the text of phase `kernels`: other code, the same
result. What a kernel does not allow is refused, never computed wrongly.

usage: PYTHONPATH=tests/support python plans_test.py BIN_DIR
"""

import json
import re

import numpy as np

import tool_test

CPU = "x86-64-v3"  # Any machine that the tests run on is one.


def weight(name, *shape):
    data = np.random.default_rng(len(name)).normal(0, 0.2, shape)
    return {
        "name": name,
        "dtype": "f32",
        "shape": shape,
        "data": data.astype(np.float32).ravel().tolist(),
    }


def bytes_weight(name, *shape):
    data = np.random.default_rng(len(name)).integers(0, 256, shape)
    return {"name": name, "dtype": "u8", "shape": shape, "data": data.ravel().tolist()}


def node(op, inputs, output, **attributes):
    return {"op": op, "inputs": inputs, "outputs": [output], "attributes": attributes}


def model(shapes, nodes, *weights):
    """The last node's output is the model's."""
    return {
        "tinh": 1,
        "inputs": [
            {"name": name, "dtype": "f32", "shape": shape}
            for name, shape in shapes.items()
        ],
        "weights": list(weights),
        "nodes": nodes,
        "outputs": [nodes[-1]["outputs"][0]],
    }


def weight_gradient(groups):
    return node(
        "conv_weight_gradient",
        ["x", "dy"],
        "z",
        kernel=[3, 3],
        strides=[1, 1],
        padding=[1, 1, 1, 1],
        dilations=[1, 1],
        groups=groups,
    )


# Of each strategy at least one.
MODELS = {
    "product": model(
        {"x": [37, 50], "y": [50, 70]},
        [node("matmul", ["x", "y"], "p"), node("relu", ["p"], "z")],
    ),
    "quantized": model(
        {"x": [13, 64]},
        [
            node("unpack_int4", ["w"], "u", axis=1, dtype="i8", shape=[4, 16, 40]),
            node("dequantize", ["u", "scale"], "d", dtype="f32"),
            node("reshape", ["d"], "r", shape=[64, 40]),
            node("matmul", ["x", "r"], "z"),
        ],
        bytes_weight("w", 4, 8, 40),
        weight("scale", 4, 1, 40),
    ),
    "convolution": model(
        {"x": [1, 8, 19, 23]},
        [
            node(
                "conv", ["x", "w"], "c", strides=[1, 1], padding=[1, 1, 1, 1]
            ),
            node("relu", ["c"], "z"),
        ],
        weight("w", 24, 8, 3, 5),
    ),
    "winograd": model(
        {"x": [1, 48, 21, 22]},
        [
            node(
                "conv", ["x", "w"], "c", strides=[1, 1], padding=[1, 1, 1, 1]
            ),
            node("relu", ["c"], "z"),
        ],
        weight("w", 40, 48, 3, 3),
    ),
    "attention": model(
        {"q": [2, 3, 24, 16], "k": [2, 3, 16, 24], "v": [2, 3, 24, 16]},
        [
            node("matmul", ["q", "k"], "s"),
            node("softmax", ["s"], "p", axis=3),
            node("matmul", ["p", "v"], "z"),
        ],
    ),
    "rows": model(
        {"x": [33, 300]},
        [node("softmax", ["x"], "s", axis=1), node("exp", ["s"], "z")],
    ),
    "elements": model({"x": [5000]}, [node("exp", ["x"], "z")]),
    "windows": model(
        {"x": [1, 16, 21, 30]},
        [
            node(
                "max_pool",
                ["x"],
                "z",
                kernel=[3, 3],
                strides=[1, 1],
                padding=[1, 1, 1, 1],
            )
        ],
    ),
    "gradient": model(
        {"x": [2, 24, 11, 13], "dy": [2, 24, 11, 13]},
        [weight_gradient(groups=1)],
    ),
    "winograd_gradient": model(
        {"x": [3, 24, 31, 29], "dy": [3, 32, 31, 29]},
        [weight_gradient(groups=1)],
    ),
    "depthwise_gradient": model(
        {"x": [2, 20, 11, 13], "dy": [2, 20, 11, 13]},
        [weight_gradient(groups=20)],
    ),
    "transpose": model({"x": [70, 90]}, [node("transpose", ["x"], "z", permutation=[1, 0])]),
}

# What else each number of a plan may be; much of it a kernel does not allow.
NUMBERS = {
    "tile": ["[1, 8]", "[3, 16]", "[5, 24]", "[2, 32]"],
    "block": ["[1, 1, 1]", "[2, 1, 2]", "[1, 2, 1]", "100", "[8, 16]", "[6, 2]"],
    "depth": ["1", "7", "20"],
    "left": ["staged", "in_place"],
    "right": ["copied", "in_place", "packed"],
    "lanes": ["1", "4", "8", "16", "sliding", "plain"],
    "outputs": ["1", "3", "5"],
    "channels": ["8", "16"],
    "units": ["0", "-1", "1", "3", "1000"],
    "outer": ["0", "1", "2"],
    "merged": ["1", "2"],
    "side": ["2", "4", "8"],
    "taps": ["1", "3"],
    "positions": ["3", "4"],
    "level": ["0", "1", "2"],
    "sums": ["1", "3", "100"],
    "rows": ["3", "16", "64"],
}

FIELD = re.compile(r"(\w+) = (\[[\d, ]+\]|[\w-]+)")


class Plans(tool_test.ToolTest):
    def write(self, name, suffix, text):
        path = self.folder / f"{name}{suffix}"
        path.write_text(text)
        return path

    def results(self, name, text):
        """What the module computes, and its code; nothing if it is refused."""
        path = self.write(name, ".mlir", text)
        library = self.folder / f"{name}.so"
        done = self.run_tool(
            "graph-compile", path, "--from=kernels", "--model-dir", self.folder,
            "-o", library,
        )
        if done.returncode != 0:
            self.fails(done)
            self.assertNotIn("internal error", done.stderr)
            return None
        arguments = []
        for input_name in self.inputs:
            arguments += ["--input", f"{input_name}={self.folder / input_name}.npy"]
        folder = self.folder / f"{name}-outputs"
        done = self.run_tool(
            "graph-run", library, *arguments, "--output-dir", folder, "--threads", 2
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return np.load(folder / "z.npy"), library.read_bytes()

    def draw_inputs(self, text):
        random = np.random.default_rng(1)
        self.inputs = []
        for tensor in text["inputs"]:
            value = random.normal(0, 1, tensor["shape"]).astype(np.float32)
            np.save(self.folder / f"{tensor['name']}.npy", value)
            self.inputs.append(tensor["name"])

    def check(self, name):
        self.draw_inputs(MODELS[name])
        source = self.write(name, ".json", json.dumps(MODELS[name]))
        kernels = self.folder / "kernels.mlir"
        self.compile(source, kernels, "--emit=kernels", f"--cpu={CPU}")
        text = kernels.read_text()
        expected, code = self.results("as-chosen", text)
        changed, refused = set(), 0
        for place in re.finditer(r"graph\.plan = #cpu\.\w+<([^>]*(?:<[^>]*>[^>]*)?)>", text):
            for field in FIELD.finditer(text, *place.span(1)):
                for value in NUMBERS.get(field[1], []):
                    if value == field[2]:
                        continue
                    edited = text[: field.start(2)] + value + text[field.end(2) :]
                    found = self.results("edited", edited)
                    if found is None:
                        refused += 1
                        continue
                    np.testing.assert_allclose(
                        found[0], expected, rtol=1e-4, atol=1e-5,
                        err_msg=f"{name}: {field[0]} became {value}",
                    )
                    if found[1] != code:
                        changed.add(field[1])
        return changed, refused

    def test_product(self):
        changed, refused = self.check("product")
        self.assertGreaterEqual(
            changed, {"tile", "block", "depth", "left", "right"}, changed
        )
        self.assertGreater(refused, 0)

    def test_quantized(self):
        changed, refused = self.check("quantized")
        self.assertGreaterEqual(changed, {"tile", "block", "depth", "right"})
        self.assertGreater(refused, 0)

    def test_convolution(self):
        changed, _ = self.check("convolution")
        self.assertGreaterEqual(changed, {"tile", "block", "depth"})

    def test_winograd(self):
        changed, refused = self.check("winograd")
        self.assertGreaterEqual(changed, {"rows", "block", "units"})
        self.assertGreater(refused, 0)

    def test_winograd_gradient(self):
        changed, refused = self.check("winograd_gradient")
        self.assertGreaterEqual(changed, {"tile", "block", "lanes", "level", "sums"})
        # Others than the default allows are less exact.
        self.assertNotIn("positions", changed)
        self.assertGreater(refused, 0)

    def test_attention(self):
        # Its products are of all of the depth.
        changed, refused = self.check("attention")
        self.assertGreaterEqual(changed, {"units", "lanes"})
        self.assertGreater(refused, 0)

    def test_rows(self):
        changed, _ = self.check("rows")
        self.assertGreaterEqual(changed, {"lanes", "units", "outer"})

    def test_elements(self):
        changed, _ = self.check("elements")
        self.assertGreaterEqual(changed, {"lanes", "block", "units"})

    def test_windows(self):
        changed, _ = self.check("windows")
        self.assertGreaterEqual(changed, {"lanes", "outputs", "units"})

    def test_gradient(self):
        changed, refused = self.check("gradient")
        self.assertGreaterEqual(changed, {"lanes", "tile", "block", "level", "sums"})
        self.assertGreater(refused, 0)

    def test_depthwise_gradient(self):
        changed, refused = self.check("depthwise_gradient")
        self.assertGreaterEqual(changed, {"tile", "level", "sums"})
        self.assertGreater(refused, 0)

    def test_transpose(self):
        changed, _ = self.check("transpose")
        self.assertGreaterEqual(changed, {"side", "rows", "units"})


if __name__ == "__main__":
    tool_test.main()
