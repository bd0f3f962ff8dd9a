# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps that are made to fit into a memory budget train to the same
losses as those that keep all their activations.

usage: PYTHONPATH=tests/support:benchmarks python
           tests/training/memory_budget_test.py BIN_DIR LIBRARY
           [unittest's options]
"""

import json
import pathlib
import sys

import numpy as np

import tool_test
from tinh_runtime import Model

LIBRARY = None  # libtinh_runtime.so.
BATCH, SIZE, CLASSES, STEPS = 8, 32, 4, 10
TRAIN = ("--train", "--loss=cross_entropy", "--optimizer=sgd,lr=0.05,momentum=0.9")


class ResNet:
    """A stem and residual blocks with batch norms, as a model in JSON."""

    def __init__(self):
        self.random = np.random.default_rng(5)
        self.weights, self.nodes = [], []
        value = self.norm("stem", self.conv("stem", "x", 3, 16, 3, 1))
        value = self.add("max_pool", [value], "pool", kernel=[2, 2], strides=[2, 2])
        for name, channels, stride in (("a", 16, 1), ("b", 16, 1), ("c", 32, 2)):
            value = self.block(name, value, 16, channels, stride)
        mean = self.add("reduce", [value], "mean", kind="mean", axes=[2, 3])
        self.weight("fc", self.random.normal(0, 0.3, (32, CLASSES)))
        self.add("matmul", [mean, "fc"], "y")
        self.x = self.random.normal(size=(BATCH, 3, SIZE, SIZE)).astype(np.float32)
        self.labels = self.random.integers(0, CLASSES, BATCH)

    def weight(self, name, values):
        values = np.asarray(values, np.float32)
        self.weights.append(
            {
                "name": name,
                "dtype": "f32",
                "shape": list(values.shape),
                "data": [float(v) for v in values.flat],
            }
        )

    def add(self, op, inputs, output, **attributes):
        self.nodes.append(
            {"op": op, "inputs": inputs, "outputs": [output], "attributes": attributes}
        )
        return output

    def conv(self, name, x, channels, outputs, kernel, stride):
        shape = (outputs, channels, kernel, kernel)
        scale = (2 / (channels * kernel**2)) ** 0.5
        self.weight(f"{name}.w", self.random.normal(0, scale, shape))
        return self.add(
            "conv",
            [x, f"{name}.w"],
            f"{name}.conv",
            strides=[stride, stride],
            padding=[kernel // 2] * 4,
        )

    def norm(self, name, x, relu=True):
        channels = len(self.weights[-1]["data"]) // int(
            np.prod(self.weights[-1]["shape"][1:])
        )
        parts = {"scale": 1, "shift": 0, "mean": 0, "var": 1}
        for part, value in parts.items():
            self.weight(f"{name}.{part}", np.full(channels, value))
        inputs = [x] + [f"{name}.{part}" for part in parts]
        x = self.add("batch_norm", inputs, f"{name}.norm", epsilon=1e-5)
        return self.add("relu", [x], f"{name}.relu") if relu else x

    def block(self, name, x, channels, outputs, stride):
        y = self.conv(f"{name}1", x, channels, outputs, 3, stride)
        y = self.norm(f"{name}1", y)
        y = self.conv(f"{name}2", y, outputs, outputs, 3, 1)
        y = self.norm(f"{name}2", y, relu=False)
        if stride > 1:
            x = self.conv(f"{name}0", x, channels, outputs, 1, stride)
            x = self.norm(f"{name}0", x, relu=False)
        y = self.add("add", [x, y], f"{name}.sum")
        return self.add("relu", [y], f"{name}.relu")

    def json(self):
        shape = [BATCH, 3, SIZE, SIZE]
        return {
            "tinh": 1,
            "name": "resnet",
            "inputs": [{"name": "x", "dtype": "f32", "shape": shape}],
            "weights": self.weights,
            "nodes": self.nodes,
            "outputs": ["y"],
        }


def read_report(text):
    """{function: {line: number}} of --report."""
    report, function = {}, ""
    for line in text.splitlines():
        words = line.split()
        if len(words) == 1:
            function = words[0]
        else:
            number = float(words[-1].replace(",", ""))
            report.setdefault(function, {})[" ".join(words[:-1])] = number
    return report


class MemoryBudgetTest(tool_test.ToolTest):
    def setUp(self):
        super().setUp()
        self.network = ResNet()
        (self.folder / "resnet.json").write_text(json.dumps(self.network.json()))

    def compile_step(self, output, *options, model="resnet.json", train=TRAIN):
        done = self.run_tool(
            "graph-compile", model, *train, *options, "-o", output, "--report"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.said = done.stderr
        return read_report(done.stdout)

    def train(self, artifact):
        """The losses of some steps, and a weight after them."""
        model = Model(LIBRARY, self.folder / artifact, 2, "train_step")
        feed = {"x": self.network.x, "target": self.network.labels}
        run, results = model.bind(feed)
        losses = []
        for _ in range(STEPS):
            run()
            losses.append(float(results["loss"]))
        taken = model.info.arena_size + model.state_size()
        return losses, model.read_variable("stem.w", (16, 3, 3, 3)), taken

    def test_shares(self):
        plain = self.compile_step("plain.so")
        losses, weights, peak = self.train("plain.so")
        self.assertLess(losses[-1], 0.5 * losses[0])
        state = plain[""]["variables, bytes"]
        arena = plain["train_step"]["arena, bytes"]
        self.assertEqual(peak, arena + state)
        for share in (60, 50):
            with self.subTest(share):
                name = f"step{share}.so"
                report = self.compile_step(name, f"--memory-budget={share}%")
                step = report["train_step"]
                found, weights_found, taken = self.train(name)
                self.assertEqual(taken, step["arena, bytes"] + state)
                self.assertLessEqual(taken, share / 100 * peak)
                np.testing.assert_allclose(found, losses, rtol=1e-4)
                np.testing.assert_allclose(weights_found, weights, rtol=1e-3, atol=1e-4)
                # What it cost is said.
                self.assertEqual(step["without the budget"], arena)
                self.assertGreater(step["kernels repeated"], 0)
                self.assertGreater(step["more arithmetic, %"], 0)
                self.assertLess(step["more arithmetic, %"], 100)
                self.assertIn("remark: @train_step takes ", self.said)
                self.assertIn("kernels are computed again", self.said)
                for function in ("evaluate", "predict"):
                    self.assertEqual(report[function], plain[function])

    def test_enough_memory(self):
        plain = self.compile_step("plain.so")
        report = self.compile_step("step.so", "--memory-budget=1GiB")
        self.assertEqual(report, plain)
        self.assertIn("are within the memory budget", self.said)
        same = [(self.folder / name).read_bytes() for name in ("plain.so", "step.so")]
        self.assertEqual(*same)

    def test_text_says_it(self):
        """Later phases need not be told of the budget."""
        budget = "--memory-budget=60%"
        report = self.compile_step("step.so", budget)
        done = self.run_tool(
            "graph-compile",
            "resnet.json",
            *TRAIN,
            budget,
            "--emit=optimised",
            "-o",
            "step.mlir",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        again = self.compile_step(
            "again.so", "--from=optimised", model="step.mlir", train=()
        )
        for line in ("dispatches", "arena, bytes"):
            self.assertEqual(again["train_step"][line], report["train_step"][line])

    def test_least(self):
        """What is said to be the least can be had."""
        done = self.run_tool(
            "graph-compile", "resnet.json", *TRAIN, "--memory-budget=1KB", "-o", "x.so"
        )
        self.fails(done, "does not fit into the memory budget of 1,000 bytes")
        words = done.stderr.split("reached is ")[1].split()
        least = int(words[0].rstrip(",").replace(",", ""))
        report = self.compile_step("step.so", f"--memory-budget={least}B")
        taken = report["train_step"]["arena, bytes"] + report[""]["variables, bytes"]
        self.assertLessEqual(taken, least)

    def test_inference(self):
        """A model that is only run may have values that wait, too."""
        nodes = [
            ("relu", ["x"], "a", {}),
            ("matmul", ["a", "w"], "b", {}),
            ("softmax", ["b"], "c", {"axis": 1}),
            ("softmax", ["c"], "d", {"axis": 0}),
            ("matmul", ["d", "a"], "y", {}),
        ]
        keys = ("op", "inputs", "outputs", "attributes")
        weights = np.random.default_rng(6).normal(size=(64, 64)).astype(np.float32)
        square = {"dtype": "f32", "shape": [64, 64]}
        model = {
            "tinh": 1,
            "inputs": [{"name": "x", **square}],
            "weights": [
                {"name": "w", **square, "data": [float(v) for v in weights.flat]}
            ],
            "nodes": [dict(zip(keys, (o, i, [y], a))) for o, i, y, a in nodes],
            "outputs": ["y"],
        }
        (self.folder / "main.json").write_text(json.dumps(model))
        results = []
        for share in (100, 70):
            name = f"main{share}.so"
            self.compile_step(
                name, f"--memory-budget={share}%", model="main.json", train=()
            )
            run = Model(LIBRARY, self.folder / name, 1)
            results.append((run.info.arena_size, run.run({"x": weights})["y"]))
        self.assertIn("@main takes", self.said)
        self.assertLessEqual(results[1][0], 0.7 * results[0][0])
        np.testing.assert_allclose(results[1][1], results[0][1], rtol=1e-5)


if __name__ == "__main__":
    LIBRARY = str(pathlib.Path(sys.argv.pop(2)).resolve())
    tool_test.main()
