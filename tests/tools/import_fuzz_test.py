# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damaged models: graph-compile accepts or refuses them, and never crashes.

Small models of each format are cut at many lengths, have bytes changed at
random places and numbers set to extreme values; the random generator's seed is
fixed. FUZZ_FACTOR=20 in the environment tries twenty times as many places.
"""

import json
import os
import random
import resource
import struct

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import tool_test
from tool_test import ToolTest

FACTOR = int(os.environ.get("FUZZ_FACTOR", "1"))
MEMORY = 1 << 30  # Bytes; to import a small file takes far less.
CUTS, CHANGES = 15, 30
EXTREMES = [-(1 << 63), -1, 0, 1 << 31, (1 << 63) - 1]


def float_info(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def onnx_model(nodes, constants, shape=(1, 3, 8, 8)):
    """A model with input x and output y; `constants` by name."""
    graph = helper.make_graph(
        nodes,
        "fuzzed",
        [float_info("x", shape)],
        [float_info("y", None)],
        [numpy_helper.from_array(np.array(v), n) for n, v in constants.items()],
    )
    opset = helper.make_opsetid("", 18)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8)


def node(op, inputs, output="y", **attributes):
    return helper.make_node(op, inputs.split(" "), [output], **attributes)


def loop(initial):
    """Adds a tensor to itself, three times, and stacks the sums."""
    body = helper.make_graph(
        [node("Add", "a a", "b"), node("Identity", "go", "on")],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            float_info("a", None),
        ],
        [
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            float_info("b", None),
            float_info("b", None),
        ],
    )
    return helper.make_node("Loop", ["three", "", initial], ["", "y"], body=body)


def scan(**axes):
    """Running sums along an axis."""
    body = helper.make_graph(
        [node("Add", "a r", "b")],
        "body",
        [float_info("a", None), float_info("r", None)],
        [float_info("b", None), float_info("b", None)],
    )
    return helper.make_node(
        "Scan", ["zero", "x"], ["", "y"], body=body, num_scan_inputs=1, **axes
    )


def small_onnx_model():
    """Convolution, a computed shape, packed and raw constants, a branch, a loop."""
    relu, info = node("Relu", "m", "b"), float_info("b", None)
    branch = helper.make_graph([relu], "branch", [], [info])
    nodes = [
        node("Conv", "x w", "c", strides=[2, 2], pads=[1, 1, 1, 1], name="conv"),
        node("Shape", "c", "s"),
        node("Slice", "s from to", "n"),
        node("Concat", "n rest", "t", axis=0),
        node("Reshape", "c t", "r"),
        node("MatMul", "r v", "m"),
        node("If", "yes", "i", then_branch=branch, else_branch=branch),
        loop("i"),
    ]
    model = onnx_model(
        nodes,
        {
            "w": np.ones((4, 3, 3, 3), np.float32),
            "from": np.array([0]),
            "to": np.array([1]),
            "rest": np.array([-1]),
            "yes": np.array(True),
            "three": np.array(3),
        },
    )
    values = [i / 64 for i in range(64 * 8)]
    model.graph.initializer.append(
        helper.make_tensor("v", TensorProto.FLOAT, [64, 8], values)
    )
    return model


def extreme_onnx_models():
    """Models with numbers to change: in attributes and in constants."""
    image = {"kernel_shape": [2, 2], "strides": [1, 1], "pads": [0, 0, 1, 1]}
    yield onnx_model(
        [node("Conv", "x w", dilations=[1, 1], group=3, **image)],
        {"w": np.ones((3, 1, 2, 2), np.float32)},
    )
    yield onnx_model([node("MaxPool", "x", ceil_mode=0, **image)], {})
    yield onnx_model([node("LRN", "x", size=3)], {})
    yield onnx_model(
        [node("ConvTranspose", "x w", output_padding=[0, 1], strides=[1, 2])],
        {"w": np.ones((3, 1, 2, 2), np.float32)},
    )
    yield onnx_model([node("Transpose", "x", perm=[0, 2, 3, 1])], {})
    yield onnx_model([loop("x")], {"three": np.array(3)})
    axes = {"scan_input_axes": [2], "scan_output_axes": [1]}
    yield onnx_model([scan(**axes)], {"zero": np.zeros((1, 3, 8), np.float32)})
    yield onnx_model([node("Softmax", "x", axis=1)], {})
    yield onnx_model([node("Flatten", "x", axis=1)], {})
    yield onnx_model([node("Concat", "x x", axis=1)], {})
    yield onnx_model([node("Gather", "x i", axis=1)], {"i": np.array([0, 2])})
    yield onnx_model([node("Reshape", "x s")], {"s": np.array([0, 3, -1])})
    yield onnx_model([node("Expand", "x s")], {"s": np.array([2, 3, 8, 8])})
    yield onnx_model([node("Tile", "x s")], {"s": np.array([1, 2, 1, 1])})
    yield onnx_model([node("Pad", "x p")], {"p": np.array([0, 0, 1, 1, 0, 0, 1, 1])})
    yield onnx_model([node("Squeeze", "x a")], {"a": np.array([0])})
    yield onnx_model([node("Unsqueeze", "x a")], {"a": np.array([0, 3])})
    yield onnx_model([node("ReduceSum", "x a")], {"a": np.array([1, 2])})
    yield onnx_model([node("Split", "x s", axis=1)], {"s": np.array([3])})
    yield onnx_model(
        [node("Slice", "x b e a t")],
        {name: np.array([value]) for name, value in zip("beat", (0, 5, 2, 2))},
    )
    yield onnx_model(
        [node("Resize", "x   s")], {"s": np.array([1, 3, 16, 16])}
    )
    yield onnx_model(
        [node("ConstantOfShape", "s", "z"), node("Add", "x z")],
        {"s": np.array([1, 3, 1, 1])},
    )
    yield onnx_model(
        [
            node("Range", "from to step", "r"),
            node("Cast", "r", "f", to=1),
            node("Add", "x f"),
        ],
        {"from": np.array(0), "to": np.array(8), "step": np.array(1)},
    )
    yield onnx_model(
        [
            node("OneHot", "i d v", "o", axis=0),
            node("ReduceMax", "o", "m"),
            node("Add", "x m"),
        ],
        {"i": np.array([0, 1]), "d": np.array(3), "v": np.ones(2, np.float32)},
    )


def integers(model):
    """What each integer of the model is, and a function that changes it."""

    def attribute(n, a, i):
        def change(changed, value):
            target = changed.graph.node[n].attribute[a]
            if target.ints:
                target.ints[i] = value
            else:
                target.i = value

        return change

    def constant(c, i):
        def change(changed, value):
            target = changed.graph.initializer[c]
            array = numpy_helper.to_array(target).copy()
            array.reshape(-1)[i] = value
            target.CopyFrom(numpy_helper.from_array(array, target.name))

        return change

    for n, one in enumerate(model.graph.node):
        for a, entry in enumerate(one.attribute):
            for i in range(max(1, len(entry.ints))):
                yield f"{entry.name} {i}", attribute(n, a, i)
    for c, tensor in enumerate(model.graph.initializer):
        if tensor.data_type == TensorProto.INT64:
            for i in range(numpy_helper.to_array(tensor).size):
                yield f"{tensor.name} {i}", constant(c, i)


class Fuzz(ToolTest):
    def setUp(self):
        super().setUp()
        self.generator = random.Random(20)

    def check(self, model, emit):
        """Exit code 0 with an output, or 1 with a message and without."""
        output = self.folder / "out"
        done = self.run_tool(
            "graph-compile",
            model,
            "-o",
            output,
            f"--emit={emit}",
            "--cpu=x86-64-v3",
            preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_DATA, (MEMORY, MEMORY)
            ),
        )
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertEqual(output.exists(), done.returncode == 0, done.stderr)
        if done.returncode:
            self.assertIn("error: ", done.stderr)
            self.assertNotIn("internal error", done.stderr)
        else:
            output.unlink()
        if emit == "graph":
            self.assertNotIn("out of memory", done.stderr)
        return done.returncode

    def check_damaged(self, path, model, letters=bytes(range(256))):
        """Cuts `path`, part of `model`, and puts `letters` into it."""
        good = path.read_bytes()
        self.assertEqual(self.check(model, "graph"), 0)
        codes = set()
        step = max(1, len(good) // (CUTS * FACTOR))
        for length in range(0, len(good), step):
            with self.subTest("cut", length=length):
                path.write_bytes(good[:length])
                codes.add(self.check(model, "graph"))
        for i in range(CHANGES * FACTOR):
            data = bytearray(good)
            for _ in range(self.generator.choice((1, 1, 2, 8))):
                place = self.generator.randrange(len(data))
                data[place] = self.generator.choice(letters)
            with self.subTest("changed", number=i):
                path.write_bytes(data)
                codes.add(self.check(model, "graph"))
        self.assertEqual(codes, {0, 1})  # Or the test would test nothing.

    def test_onnx(self):
        path = self.folder / "m.onnx"
        path.write_bytes(small_onnx_model().SerializeToString())
        self.check_damaged(path, path)

    def test_json(self):
        path = self.write_model(width=6, layers=1)
        model = json.loads(path.read_text())
        model["weights"][0].update(shape=[64, 1], data=1)
        model["comment"] = "Letters that change here change nothing else."
        path.write_text(json.dumps(model))
        self.check_damaged(path, path, b'0123456789-.,:"[]{}axy \n')

    def test_safetensors(self):
        model = self.write_large_model(side=4)
        self.check_damaged(self.folder / "large.weights", model)

    def test_extreme_numbers(self):
        path = self.folder / "m.onnx"
        for model in extreme_onnx_models():
            op = model.graph.node[0].op_type
            path.write_bytes(model.SerializeToString())
            with self.subTest(op):
                self.assertEqual(self.check(path, "so"), 0)
            for what, change in integers(model):
                count = min(3 * FACTOR, len(EXTREMES))
                for value in self.generator.sample(EXTREMES, count):
                    changed = type(model)()
                    changed.CopyFrom(model)
                    change(changed, value)
                    path.write_bytes(changed.SerializeToString())
                    with self.subTest(op, changed=f"{what} = {value}"):
                        self.check(path, "so")


if __name__ == "__main__":
    tool_test.main()
