# Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps that add up the gradients of several batches.

usage: PYTHONPATH=tests/support:benchmarks python tests/training/accumulate_test.py
           BIN_DIR LIBRARY [unittest's options]
"""

import json
import pathlib
import sys

import numpy as np

import tool_test
from tinh_runtime import Model

LIBRARY = None  # libtinh_runtime.so.
BATCH, INPUTS, OUTPUTS = 4, 5, 3
TRAIN = ("--train", "--optimizer=sgd,lr=0.1,momentum=0.9")


class AccumulateTest(tool_test.ToolTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(4)
        self.w = self.random.normal(size=(INPUTS, OUTPUTS)).astype(np.float32)

    def step(self, name, batch, *options, norm=False):
        """A step of y = norm(x w), compiled for so large a batch."""
        vector = [OUTPUTS]
        weights = {"w": self.w}
        nodes = [{"op": "matmul", "inputs": ["x", "w"], "outputs": ["a"]}]
        if norm:
            for weight, value in zip(("scale", "shift", "mean", "variance"), (1, 0, 0, 1)):
                weights[weight] = np.full(vector, value, np.float32)
            nodes.append(
                {
                    "op": "batch_norm",
                    "inputs": ["a", "scale", "shift", "mean", "variance"],
                    "outputs": ["b"],
                    "attributes": {"epsilon": 1e-5, "layout": "channels_first"},
                }
            )
        model = {
            "tinh": 1,
            "name": "accumulated",
            "inputs": [{"name": "x", "dtype": "f32", "shape": [batch, INPUTS]}],
            "weights": [
                {"name": k, "dtype": "f32", "shape": v.shape, "data": v.flatten().tolist()}
                for k, v in weights.items()
            ],
            "nodes": nodes,
            "outputs": [nodes[-1]["outputs"][0]],
        }
        (self.folder / f"{name}.json").write_text(json.dumps(model))
        self.compile(f"{name}.json", f"{name}.so", *TRAIN, *options)
        return Model(LIBRARY, self.folder / f"{name}.so", 2, "train_step")

    def feeds(self, rows, steps):
        for _ in range(steps):
            yield {
                "x": self.random.normal(size=(rows, INPUTS)).astype(np.float32),
                "target": self.random.normal(size=(rows, OUTPUTS)).astype(np.float32),
            }

    def test_is_a_step_on_all(self):
        """Losses that are means over examples, and sums."""
        for loss in ("mse", "l1,reduction=sum"):
            kind = loss[:2]
            parts = self.step(f"{kind}3", BATCH, f"--loss={loss}", "--accumulate=3")
            whole = self.step(f"{kind}1", 3 * BATCH, f"--loss={loss}")
            for feed in self.feeds(3 * BATCH, 4):
                found, expected = parts.run(feed)["loss"], whole.run(feed)["loss"]
                np.testing.assert_allclose(found, expected, rtol=1e-5)
            for name in ("w", "optimizer.w.momentum_buffer"):
                shape = self.w.shape
                np.testing.assert_allclose(
                    parts.read_variable(name, shape),
                    whole.read_variable(name, shape),
                    rtol=1e-4,
                    atol=1e-6,
                )

    def test_running_statistics_go_on_from_part_to_part(self):
        options = ("--loss=mse", "--trainable=shift")
        parts = self.step("parts", BATCH, *options, "--accumulate=2", norm=True)
        single = self.step("single", BATCH, *options, norm=True)
        (feed,) = self.feeds(2 * BATCH, 1)
        parts.run(feed)
        for half in (slice(BATCH), slice(BATCH, None)):
            single.run({name: value[half] for name, value in feed.items()})
        for name in ("mean", "variance"):
            np.testing.assert_array_equal(
                parts.read_variable(name, (OUTPUTS,)),
                single.read_variable(name, (OUTPUTS,)),
            )

    def test_refused(self):
        self.step("parts", BATCH, "--loss=mse", norm=True)
        done = self.run_tool(
            "graph-compile", "parts.json", "-o", "no.so", *TRAIN, "--loss=mse",
            "--accumulate=2", "--data-parallel", "--sync-batch-norm",
        )  # fmt: skip
        self.fails(done, "not synchronised in a step that accumulates")
        model = {
            "tinh": 1,
            "inputs": [{"name": "x", "dtype": "f32", "shape": [BATCH]}],
            "weights": [{"name": "w", "dtype": "f32", "shape": [BATCH], "data": 1}],
            "nodes": [{"op": "matmul", "inputs": ["x", "w"], "outputs": ["y"]}],
            "outputs": ["y"],
        }
        (self.folder / "dot.json").write_text(json.dumps(model))
        done = self.run_tool(
            "graph-compile", "dot.json", "-o", "no.so", *TRAIN, "--loss=mse", "--accumulate=2"
        )
        self.fails(done, "the target of the loss is a scalar")


if __name__ == "__main__":
    LIBRARY = str(pathlib.Path(sys.argv.pop(2)).resolve())
    tool_test.main()
