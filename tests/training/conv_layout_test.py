# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights of convolutions, and such that are moved or cast before, in layouts of
their own beside those that lie as their types say: the same arithmetic, but for
products and sums of single elements that may be contracted in other ways.

usage: PYTHONPATH=tests/support:benchmarks python tests/training/conv_layout_test.py
           BIN_DIR LIBRARY [unittest's options]
"""

import json
import pathlib
import re
import sys

import numpy as np

import tool_test
from tinh_runtime import Model

LIBRARY = None  # libtinh_runtime.so.
PLAIN = "--plain-variables"
MOMENTUM = "sgd,lr=0.05,momentum=0.9"
STEPS = 8


class Network:
    """Convolutions of all kinds, whose numbers of channels fill no panels."""

    # One filter a channel; a gradient that is reshaped, and would be packed then;
    # and weights that products of few rows read where they lie.
    PLAIN = {"depthwise", "matrix", "fc"}

    def __init__(self):
        self.random = np.random.default_rng(3)
        self.weights, self.nodes = {}, []
        self.feed = {
            "x": self.random.normal(size=(8, 6, 15, 13)).astype(np.float32),
            "target": self.random.normal(size=(8, 10)).astype(np.float32),
        }
        h = self.conv("x", "first", (20, 6, 3, 3), padding=[1, 1, 1, 1])
        h = self.conv(h, "strided", (24, 20, 3, 3), strides=[2, 2], padding=[1] * 4)
        h = self.conv(h, "grouped", (48, 12, 3, 3), padding=[1] * 4, groups=2)
        h = self.conv(h, "pointwise", (33, 48, 1, 1))
        h = self.conv(h, "depthwise", (33, 1, 3, 3), padding=[1] * 4, groups=33)
        h = self.conv(h, "downsample", (17, 33, 1, 1), strides=[2, 2])
        h = self.transposed_weights(h)
        h = self.conv(h, "up", (21, 12, 3, 3), op="conv_transpose", strides=[2, 2])
        self.node("reduce", [h], "m", kind="mean", axes=[2, 3])
        self.node("matmul", ["m", self.weight("fc", (12, 10))], "y")

    def weight(self, name, shape):
        spread = (2 / np.prod(shape[1:])) ** 0.5
        self.weights[name] = self.random.normal(0, spread, shape).astype(np.float32)
        return name

    def node(self, op, inputs, output, **attributes):
        node = {"op": op, "inputs": inputs, "outputs": [output]}
        if attributes:
            node["attributes"] = attributes
        self.nodes.append(node)
        return output

    def conv(self, x, name, shape, op="conv", **attributes):
        return self.filter(x, self.weight(name, shape), name, op, **attributes)

    def filter(self, x, weights, name, op="conv", **attributes):
        self.node(op, [x, weights], name + ".y", **attributes)
        return self.node("relu", [name + ".y"], name + ".relu")

    def transposed_weights(self, x):
        """Whose dimensions are in another order, and those of a matrix."""
        w = self.weight("channels_first", (17, 19, 3, 3))
        w = self.node("transpose", [w], "filters_first", permutation=[1, 0, 2, 3])
        x = self.filter(x, w, "behind_transpose", padding=[1] * 4)
        w = self.weight("matrix", (21, 19))
        w = self.node("reshape", [w], "filters", shape=[21, 19, 1, 1])
        return self.filter(x, w, "behind_reshape")

    def json(self):
        return {
            "tinh": 1,
            "name": "network",
            "inputs": [{"name": "x", "dtype": "f32", "shape": [8, 6, 15, 13]}],
            "weights": [
                {
                    "name": name,
                    "dtype": "f32",
                    "shape": list(value.shape),
                    "data": [float(v) for v in value.flat],
                }
                for name, value in self.weights.items()
            ],
            "nodes": self.nodes,
            "outputs": ["y"],
        }


class ConvLayoutTest(tool_test.ToolTest):
    def setUp(self):
        super().setUp()
        self.network = Network()
        self.write("network.json", json.dumps(self.network.json()))

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def compile_network(self, output, optimizer, *options):
        train = ("--train", "--loss=mse", f"--optimizer={optimizer}")
        done = self.run_tool(
            "graph-compile", "network.json", "-o", output, *train, *options
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.folder / output

    def plan(self, *options):
        return self.compile_network(
            "step.plan", MOMENTUM, "--emit=plan", *options
        ).read_text()

    def compare(self, name, optimizer, *options, tolerance=1e-5):
        paths = [
            self.compile_network(f"{name}{i}.so", optimizer, *options, *more)
            for i, more in enumerate([(PLAIN,), ()])
        ]
        models = [Model(LIBRARY, paths[0], 1, "train_step")]
        models += [Model(LIBRARY, paths[1], n, "train_step") for n in (1, 3)]
        runs = [model.bind(self.network.feed) for model in models]
        losses = []
        for _ in range(STEPS):
            for run, _ in runs:
                run()
            losses.append([float(results["loss"]) for _, results in runs])
            expected, *found = losses[-1]
            np.testing.assert_allclose(found, [expected] * 2, rtol=tolerance)
        self.assertLess(losses[-1][0], losses[0][0])
        for weight, value in self.network.weights.items():
            expected, *found = (m.read_variable(weight, value.shape) for m in models)
            self.assertFalse(np.array_equal(expected, value), weight)
            for other in found:
                np.testing.assert_allclose(
                    other, expected, rtol=tolerance, atol=tolerance, err_msg=weight
                )

    def test_trains_as_without(self):
        for cpu in ("native", "x86-64-v3"):
            with self.subTest(cpu=cpu):
                self.compare(cpu, MOMENTUM, f"--cpu={cpu}")
                # It divides by gradients, which may be small.
                self.compare(
                    f"{cpu}-adamw", "adamw,lr=0.003", f"--cpu={cpu}", tolerance=1e-3
                )

    def test_precision(self):
        for cpu in ("native", "x86-64-v3"):
            with self.subTest(cpu=cpu):
                options = ("--precision=bf16", f"--cpu={cpu}")
                self.compare(f"bf16-{cpu}", MOMENTUM, *options, tolerance=2e-3)

    def test_memory_budget(self):
        self.compare("budget", MOMENTUM, "--memory-budget=80%")

    def test_weights_lie_in_panels(self):
        weights = set(self.network.weights) - Network.PLAIN
        state = {f"optimizer.{name}.momentum_buffer" for name in weights}
        laid_out = re.findall(r'plan.variable "([^"]+)".* layout <', self.plan())
        self.assertEqual(set(laid_out), weights | state)
        self.assertNotIn(" layout <", self.plan(PLAIN))

    def test_no_step_packs_what_the_one_before_has_left(self):
        plan = self.plan()
        step = plan[plan.index("plan.function @train_step") :]
        step = step[: step.index("plan.function", 1)]
        names = re.findall(r'"([^"]+)": ', step[: step.index("outputs(")])
        for name in set(self.network.weights) - Network.PLAIN:
            place = f"input {names.index(name)}["
            uses = [line for line in step.splitlines() if place in line]
            written = [use for use in uses if "writes(" + place in use]
            self.assertEqual(len(written), 1, name)
            for use in uses:
                self.assertIn("plan.dispatch", use)  # It is not copied.
                self.assertNotRegex(use, r"@\w+_unpack\b")
            # The product that the layout is for reads it first.
            self.assertNotRegex(uses[0], r"@\w+_pack\b")


if __name__ == "__main__":
    LIBRARY = str(pathlib.Path(sys.argv.pop(2)).resolve())
    tool_test.main()
